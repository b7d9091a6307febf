//! Cost model of bodies on groups of positions: it decides whether groups pay, and how many positions a group has.

use super::class::{Class, Classes, Indices};
use super::columns::{columns, interleaving};
use super::division::Division;
use super::functions::strip_function;
use super::waits::waits;
use super::walks::walks;
use crate::cpu::emit::clif_type;
use crate::cpu::small_integers::needed;
use crate::free::for_each_use;
use par_ir::core::{At, Body, Exp, LoopForm, Repeat, Stm};
use par_ir::hash::HashSet;
use par_ir::prim::{BinOp, PrimOp, UnOp};
use par_ir::tuning;
use par_ir::ty::Atom;
use par_ir::visit::Code;
use par_ir::{Prim, Var};
use par_runtime::op::call::is_call;

/// Bytes of the vector registers that every processor has.
pub const BYTES: usize = 16;

/// Bytes of the widest vector registers that any processor has.
pub const WIDEST: usize = 64;

/// A group: its lanes, and the registers that it takes.
#[derive(Clone, Copy)]
pub struct Size {
    /// Positions of a group.
    pub lanes: usize,
    /// Bytes of a vector register.
    pub bytes: usize,
}

impl Size {
    /// The size of shorter groups, for what is left of a row that is not long.
    pub fn shorter(self) -> Option<Size> {
        let lanes = (self.lanes / 4).max(4);
        (lanes < self.lanes).then_some(Size { lanes, ..self })
    }
}
/// Operations of a group: on vectors, and one element after the other.
#[derive(Clone, Copy, Default)]
struct Cost {
    group: usize,
    single: usize,
}

/// Properties of a kernel and of the processor that decide the size of groups, besides the bodies.
#[derive(Clone, Copy)]
pub struct Setting {
    /// Elements are combined one after the other, which takes so many times as long as its operations would if they did not wait for
    /// each other.
    pub waits: usize,
    /// The space has rows of different lengths.
    pub is_ragged: bool,
    /// Results do not depend on the number of lanes.
    pub is_exact: bool,
    /// Bytes of the processor's widest registers.
    pub width: usize,
    /// Elements of every position that are fetched before and stored after it.
    pub moved: usize,
    /// Positions of a row, if all have as many.
    pub row: Option<usize>,
}

impl Setting {
    /// Of a map.
    pub fn of_map(width: usize) -> Setting {
        Setting { waits: 1, is_ragged: false, is_exact: true, width, moved: 0, row: None }
    }
}

/// Classes of variables, with the size of a group, if groups pay: `classes` are those with indices in a place.
///
/// Sums of floats depend on the number of lanes and on whether there are groups, which therefore are the same on every processor.
pub fn choose(
    classes: impl Fn(Indices) -> Classes,
    bodies: &[&Body],
    setting: Setting,
) -> Option<(Classes, Size)> {
    let apart = classes(Indices::Apart);
    let found = size(&apart, bodies, setting, false);
    let may_gather = apart.has_apart() && (setting.is_exact || found.is_some());
    let gathering = may_gather.then(|| classes(Indices::InVectors)).and_then(|classes| {
        let found = size(&classes, bodies, setting, true)?;
        Some((classes, found))
    });
    match (found, gathering) {
        (Some(found), Some((classes, other))) if other.is_cheaper(found) => Some((classes, other.size)),
        (Some(found), _) => Some((apart, found.size)),
        (None, other) => other.map(|(classes, found)| (classes, found.size)),
    }
}

/// A size, and what a group of it costs.
#[derive(Clone, Copy)]
struct Priced {
    size: Size,
    cost: usize,
}

impl Priced {
    /// By position.
    fn is_cheaper(self, other: Priced) -> bool {
        self.cost.saturating_mul(other.size.lanes) < other.cost.saturating_mul(self.size.lanes)
    }
}

/// True if lanes update neighbouring elements.
fn are_neighbours(classes: &Classes, at: &[At]) -> bool {
    matches!(at, [At::Index(i)] if classes.atom(i) == Class::Steps(1))
}

/// The size of a group, if groups pay.
fn size(classes: &Classes, bodies: &[&Body], setting: Setting, gathers: bool) -> Option<Priced> {
    let Setting { waits, is_ragged, is_exact, width, moved, row } = setting;
    let mut shape = Shape::new(classes);
    bodies.iter().for_each(|b| shape.body(b));
    if shape.widest == 0 {
        return None;
    }
    let accumulators: usize = bodies[1..].iter().map(|op| op.results.len()).sum();
    let held = accumulators + shape.live(bodies[0], &HashSet::default(), &|v| shape.is_in_vectors(v));
    let registers = shape.registers(held);
    let widest = match shape.widest_in_loops {
        widest if is_exact && widest > 0 => widest,
        _ => shape.widest,
    };
    // One vector of bytes is full, more of them are half full: where paths meet, masks are wider.
    let widest = if shape.is_bytes { widest } else { widest.max(registers.min(2)) };
    let bytes = match is_exact {
        // Stores one by one wait for caches, whose lines of many rows push each other out.
        true if shape.stores => width,
        // In a loop every operation waits for that of the iteration before, and gathers take their time: two of them can be under way, or
        // four that load one by one, which have shorter registers.
        true if shape.loops && gathers && width == BYTES => 2 * registers * width,
        true if shape.loops && (gathers || held * registers <= tuning::LANES_REGISTERS_STRAIGHT) => {
            registers * width
        }
        true => (registers * BYTES).max(width),
        false => tuning::LANES_SUMS,
    };
    let mut lanes = (bytes / widest).max(4);
    while is_exact && lanes > 4 && row.is_some_and(|row| row < lanes) {
        lanes /= 2;
    }
    if bodies.len() == 1 && !shape.loops {
        let apart = shape.live(bodies[0], &HashSet::default(), &|v| shape.is_by_lane(v));
        while lanes > 4 && apart * lanes > tuning::LANES_APART {
            lanes /= 2;
        }
    }
    let is_mixed = shape.narrowest < shape.widest && lanes == width / widest && width > BYTES;
    let may_double = is_exact && !shape.loops && 2 * held <= tuning::LANES_REGISTERS_STRAIGHT;
    if is_mixed && may_double && is_cheaper_doubled(classes, bodies[0], lanes, width) {
        lanes *= 2;
    }
    let size = Size { lanes, bytes: width };
    // Whether there are groups must not depend on the processor, if results do.
    let priced = if is_exact { size } else { Size { bytes: BYTES, ..size } };
    let pricing = Pricing { classes, size: priced, masked: false, inside: false };
    let mut total = pricing.body(bodies[0]);
    // As often as an iteration of a loop over them is assumed.
    total.group += 4 * lanes * moved.min(tuning::LANES_ITERATIONS);
    for op in &bodies[1..] {
        let cost = pricing.body(op);
        total = total.plus(Cost { single: cost.single * waits, ..cost });
    }
    let is_ragged = is_ragged && bodies.len() > 1;
    let less = if is_ragged { tuning::LANES_LESS_RAGGED } else { tuning::LANES_LESS };
    (10 * total.group < less * total.single).then_some(Priced { size, cost: total.group })
}

/// True if a group of twice as many positions, whose widest numbers take two registers, costs less than two groups: what is half as wide takes one.
fn is_cheaper_doubled(classes: &Classes, body: &Body, lanes: usize, bytes: usize) -> bool {
    let [once, doubled] = [lanes, 2 * lanes].map(|lanes| {
        let size = Size { lanes, bytes };
        Pricing { classes, size, masked: false, inside: false }.body(body).group
    });
    10 * doubled < tuning::LANES_DOUBLED * 2 * once
}

/// A group of rows, each in a lane, and what an iteration of the loop along them takes.
pub struct RowsPriced {
    pub size: Size,
    /// Operations of the group.
    pub group: usize,
    /// Operations of a row alone.
    pub single: usize,
    /// Arrays that lanes read.
    pub reads: usize,
}

/// The price of groups of rows with registers of up to `width` bytes.
pub fn of_rows(classes: &Classes, body: &Body, width: usize) -> Option<RowsPriced> {
    let mut shape = Shape::new(classes);
    shape.body(body);
    let widest = shape.widest_in_loops;
    if widest == 0 {
        return None;
    }
    let bytes = width.min(tuning::LANES_WIDTH_RAGGED);
    // Each lane has a start of its own, in a register for numbers.
    let lanes =
        if bytes == BYTES { (bytes / widest).clamp(4, tuning::LANES_ROWS) } else { tuning::LANES_ROWS };
    let size = Size { lanes, bytes };
    let pricing = Pricing { classes, size, masked: false, inside: true };
    let (mut cost, mut reads) = (Cost::default(), 0);
    for stm in &body.stms {
        let Exp::Loop { body, .. } = &stm.exp else { continue };
        // A check of an index is one comparison.
        let (checks, stms): (Vec<Stm>, Vec<Stm>) =
            body.stms.iter().cloned().partition(|s| matches!(s.exp, Exp::Check { .. }));
        let check = Cost { group: lanes, single: lanes };
        let stms = needed(&stms, &body.results);
        let differs = |a: &Atom| classes.atom(a) == Class::Each;
        reads += stms.iter().filter(|s| matches!(&s.exp, Exp::Index(_, i) if differs(&i[0]))).count();
        cost = stms.iter().map(|s| pricing.stm(s)).fold(cost, Cost::plus).plus(check.times(checks.len()));
    }
    Some(RowsPriced { size, group: cost.group, single: cost.single / lanes, reads })
}

impl Cost {
    fn plus(self, other: Cost) -> Cost {
        let add = usize::saturating_add;
        Cost { group: add(self.group, other.group), single: add(self.single, other.single) }
    }

    fn times(self, n: usize) -> Cost {
        Cost { group: self.group.saturating_mul(n), single: self.single.saturating_mul(n) }
    }
}

/// True if elements of a type are gathered by indices, with registers of so many bytes.
pub fn gathers(p: Prim, bytes: usize) -> bool {
    bytes > BYTES && matches!(p.size(), 4 | 8)
}

fn is_shift(op: PrimOp) -> bool {
    matches!(op, PrimOp::Bin(BinOp::Shl | BinOp::Shr | BinOp::Lshr, _))
}

/// True if the processor shifts every lane of a register by a count of its own.
pub fn shifts_by_lane(op: PrimOp, bytes: usize) -> bool {
    let PrimOp::Bin(op, p) = op else { return false };
    let is_signed_long = op == BinOp::Shr && p.is_signed() && p.size() == 8;
    match bytes {
        BYTES => multiplies(op, p),
        _ => p.size() >= 4 && (!is_signed_long || bytes == WIDEST),
    }
}

/// True for a shift that is a multiplication by powers of two, which are made by way of floats.
fn multiplies(op: BinOp, p: Prim) -> bool {
    cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) && op == BinOp::Shl && p.size() == 4
}

/// Bytes that a scalar takes in a vector.
pub fn width(p: Prim) -> usize {
    clif_type(p).bytes() as usize
}

struct Shape<'c> {
    classes: &'c Classes,
    /// Bytes of the widest scalars in vectors.
    widest: usize,
    /// Bytes of the narrowest ones that are no conditions.
    narrowest: usize,
    /// The same of those that loops bind: most of the time is spent there.
    widest_in_loops: usize,
    stms: usize,
    loops: bool,
    /// It looks at the body of a loop.
    inside: bool,
    /// Lanes store elements at places of their own.
    stores: bool,
    /// All in vectors are bytes, and no paths meet.
    is_bytes: bool,
}

impl<'c> Shape<'c> {
    fn new(classes: &'c Classes) -> Shape<'c> {
        let (loops, inside, stores, is_bytes) = (false, false, false, true);
        let narrowest = usize::MAX;
        Shape { classes, widest: 0, narrowest, widest_in_loops: 0, stms: 0, loops, inside, stores, is_bytes }
    }

    fn body(&mut self, body: &Body) {
        body.stms.iter().for_each(|s| self.stm(s));
    }

    /// Vector registers for a variable of a group, of whose variables so many are held at a time.
    fn registers(&self, held: usize) -> usize {
        match self.loops {
            true => tuning::LANES_VECTORS,
            false
                if self.stms <= tuning::LANES_STRAIGHT
                    && held * tuning::LANES_VECTORS_STRAIGHT <= tuning::LANES_REGISTERS_STRAIGHT =>
            {
                tuning::LANES_VECTORS_STRAIGHT
            }
            // One group is worked on while the one before is not finished: the processor sees to that.
            false if held * tuning::LANES_VECTORS >= tuning::LANES_REGISTERS => 1,
            false => tuning::LANES_VECTORS,
        }
    }

    fn is_in_vectors(&self, var: Var) -> bool {
        self.classes.var(var) == Class::Each && !self.classes.is_apart(var)
    }

    /// True for a variable with a scalar for each lane.
    fn is_by_lane(&self, var: Var) -> bool {
        self.classes.var(var) == Class::Each && self.classes.is_apart(var)
    }

    /// The most variables of a kind that are needed at the same time, besides those that are needed after the body.
    fn live(&self, body: &Body, after: &HashSet<Var>, counts: &dyn Fn(Var) -> bool) -> usize {
        let mut live = after.clone();
        live.extend(body.results.iter().filter_map(|a| a.var()).filter(|v| counts(*v)));
        let mut most = live.len();
        for stm in body.stms.iter().rev() {
            stm.pat.iter().for_each(|p| _ = live.remove(&p.var));
            let inside = stm.exp.own_bodies().into_iter().map(|b| self.live(b, &live, counts)).max();
            match stm.exp {
                // What a loop binds is gone when it ends; arms run one after the other, under masks that wait for both.
                Exp::Loop { .. } => live.extend(stm.free().into_iter().filter(|v| counts(*v))),
                _ => for_each_use(stm, &mut |v| _ = counts(v) && live.insert(v)),
            }
            most = most.max(live.len()).max(inside.unwrap_or(0));
        }
        most
    }

    fn stm(&mut self, stm: &Stm) {
        for p in &stm.pat {
            if self.is_in_vectors(p.var) {
                self.stms += 1;
                self.widens(p.ty.prim());
            }
        }
        self.is_bytes &= stm.exp.own_bodies().is_empty();
        match &stm.exp {
            Exp::Update { arr, at, .. } => {
                // Iterations of a loop store in one row after the other.
                let is_row = !self.inside && are_neighbours(self.classes, at);
                self.stores |= !self.classes.is_private(*arr) && !is_row;
            }
            Exp::If { then, other, .. } => {
                self.body(then);
                self.body(other);
            }
            Exp::Loop { params, form, body } => {
                self.loops = true;
                let outside = std::mem::replace(&mut self.inside, true);
                let states = params.iter().map(|(p, _)| p).filter(|p| self.is_in_vectors(p.var));
                states.map(|p| p.ty.prim()).collect::<Vec<_>>().into_iter().for_each(|p| self.widens(p));
                if let LoopForm::While(cond) = form {
                    self.body(cond);
                }
                self.body(body);
                self.inside = outside;
            }
            _ => {}
        }
    }

    fn widens(&mut self, p: Prim) {
        self.widest = self.widest.max(width(p));
        if p != Prim::Bool {
            self.narrowest = self.narrowest.min(width(p));
        }
        self.is_bytes &= matches!(p, Prim::U8 | Prim::I8);
        if self.inside {
            self.widest_in_loops = self.widest_in_loops.max(width(p));
        }
    }
}

#[derive(Clone, Copy)]
struct Pricing<'c> {
    classes: &'c Classes,
    size: Size,
    /// Not all lanes are here.
    masked: bool,
    /// In a loop or a branch, from where the group is not left because its lanes count differently.
    inside: bool,
}

impl Pricing<'_> {
    fn masked(self) -> Self {
        Pricing { masked: true, ..self }
    }

    fn inside(self) -> Self {
        Pricing { inside: true, ..self }
    }

    fn body(&self, body: &Body) -> Cost {
        body.stms.iter().map(|s| self.stm(s)).fold(Cost::default(), Cost::plus)
    }

    fn registers(&self, p: Prim) -> usize {
        (self.size.lanes * width(p)).div_ceil(self.size.bytes)
    }

    fn stm(&self, stm: &Stm) -> Cost {
        match &stm.exp {
            Exp::If { cond, then, other } => return self.branch(self.classes.atom(cond), then, other),
            Exp::Loop { params, form, body } => return self.repeat(Repeat { params, form, body }),
            _ => {}
        }
        let Some(p) = stm.pat.first() else { return self.without_result(&stm.exp) };
        let n = self.size.lanes;
        let each = self.classes.var(p.var) == Class::Each;
        match &stm.exp {
            Exp::Prim(op, xs) if each => self.prim(*op, xs, p.var).times(weight(*op, xs)),
            Exp::Index(array, at) if self.classes.is_private(*array) && self.is_same(&at[0]) => {
                Cost { group: self.registers(p.ty.prim()), single: n }
            }
            Exp::Index(_, index) if each => {
                let class = self.classes.atom(&index[0]);
                let in_a_row = class == Class::Steps(1);
                let column = self.column(p.var, p.ty.prim(), class);
                let in_vectors =
                    class == Class::Each && !index[0].var().is_some_and(|v| self.classes.is_apart(v));
                // Bytes enter registers by two operations.
                let narrow = if p.ty.prim().size() < 4 { tuning::LANES_NARROW } else { 0 };
                let group = match (in_a_row, self.classes.is_apart(p.var)) {
                    (true, false) if self.masked => 2 + self.registers(p.ty.prim()),
                    _ if in_vectors && self.gathers(p.ty.prim()) => tuning::LANES_GATHER * n,
                    (_, false) if in_vectors => (tuning::LANES_LOADS + narrow) * n,
                    (false, false) if column.is_some() => column.unwrap_or(0) * self.registers(p.ty.prim()),
                    // Lanes that are not here must not read: a choice per lane.
                    _ if self.masked => 5 * n,
                    (true, false) => self.registers(p.ty.prim()),
                    (_, true) => n,
                    (false, false) => (2 + narrow) * n,
                };
                Cost { group, single: n }
            }
            Exp::Prim(op, xs) => Cost { group: 1, single: n }.times(weight(*op, xs)),
            _ => Cost { group: 1, single: n },
        }
    }

    /// Operations for a register of what a variable is bound to, if it is a column of short rows.
    fn column(&self, v: Var, p: Prim, index: Class) -> Option<usize> {
        let Class::Steps(step) = index else { return None };
        let rows = self.classes.interleaved.column(v).and_then(|_| interleaving(p, step, self.size));
        let single = || columns(p, step, self.size).map(|registers| 2 * registers - 1);
        rows.or_else(single).filter(|_| !self.masked)
    }

    fn without_result(&self, exp: &Exp) -> Cost {
        let single = self.size.lanes;
        match exp {
            Exp::Update { arr, at, .. } if self.classes.is_private(*arr) && self.are_same(at) => {
                Cost { group: if self.masked { 4 } else { 2 }, single }
            }
            Exp::Update { at, .. } if !self.masked && !self.inside && are_neighbours(self.classes, at) => {
                Cost { group: 2, single }
            }
            Exp::Update { .. } => {
                let of_lane = tuning::LANES_STORE + if self.masked { 2 } else { 0 };
                Cost { group: of_lane * single, single }
            }
            _ => Cost { group: if self.masked { 8 } else { 2 }, single },
        }
    }

    fn is_same(&self, index: &Atom) -> bool {
        self.classes.atom(index) == Class::Same
    }

    fn are_same(&self, at: &[At]) -> bool {
        At::only_indices(at).is_some_and(|at| at.iter().all(|i| self.is_same(i)))
    }

    /// True if the processor gathers elements of a type.
    fn gathers(&self, p: Prim) -> bool {
        gathers(p, self.size.bytes)
    }

    fn prim(&self, op: PrimOp, xs: &[Atom], var: Var) -> Cost {
        let n = self.size.lanes;
        let counts_differ = xs.get(1).is_some_and(|count| self.classes.atom(count) != Class::Same);
        let by_lane = self.classes.is_by_lane(op, xs, var)
            || counts_differ && is_shift(op) && !shifts_by_lane(op, self.size.bytes);
        let multiplies = !by_lane && counts_differ && is_shift(op) && self.size.bytes == BYTES;
        if by_lane && !self.classes.is_apart(var) && strip_function(op, &self.size).is_some() {
            return Cost { group: n * tuning::LANES_FUNCTION, single: n * tuning::SINGLE_FUNCTION };
        }
        let group = match (by_lane, self.classes.is_apart(var)) {
            (false, _) => {
                let registers = op.operands().into_iter().map(|p| self.registers(p)).max().unwrap_or(1);
                match Division::of(op, xs) {
                    Some(_) if xs[1].var().is_some() && self.is_long(op) => {
                        tuning::LANES_DIVISION * registers
                    }
                    _ if multiplies => tuning::LANES_POWER * registers,
                    _ => registers,
                }
            }
            (true, true) if self.is_part_of_address(op, xs) => 0,
            (true, true) => n,
            (true, false) if is_call(op) => n,
            (true, false) => 3 * n,
        };
        Cost { group, single: n }
    }

    /// True for integers of 64 bits where vectors have no conversions of them to floats.
    fn is_long(&self, op: PrimOp) -> bool {
        width(op.result()) == 8 && self.size.bytes < 4 * BYTES
    }

    /// True for the sum of a lane's index and a number that all lanes share: reads add it themselves.
    fn is_part_of_address(&self, op: PrimOp, xs: &[Atom]) -> bool {
        let is_shared = |a: &Atom| self.classes.atom(a) == Class::Same;
        op == PrimOp::Bin(BinOp::Add, Prim::I64) && xs.iter().any(is_shared)
    }

    /// All lanes go both ways, if they differ.
    fn branch(&self, cond: Class, then: &Body, other: &Body) -> Cost {
        let inner = if cond == Class::Each { self.masked() } else { *self }.inside();
        let (a, b) = (inner.body(then), inner.body(other));
        let single = self.size.lanes + (a.single + b.single) / 2;
        let results: usize = then.results.len() * self.size.lanes / 4;
        match cond {
            Class::Each => Cost { group: (a.group + b.group + results).saturating_add(4), single },
            _ => Cost { group: 2 + a.group.max(b.group), single },
        }
    }

    fn repeat(&self, of: Repeat) -> Cost {
        let Repeat { params, form, body } = of;
        let (together, test) = match form {
            LoopForm::For { bound, .. } => (self.classes.atom(bound) == Class::Same, Cost::default()),
            LoopForm::While(cond) => {
                (self.classes.atom(&cond.results[0]) == Class::Same, self.inside().body(cond))
            }
        };
        let waits = (tuning::LANES_CHAIN - 1) * waits(params, body);
        let waits = Cost { group: waits, single: waits * self.size.lanes };
        let mut cost = self.inside().body(body).plus(test).plus(waits);
        if !together {
            cost.group = cost.group * self.waiting(of) / 16 + body.results.len();
        }
        cost.times(tuning::LANES_ITERATIONS)
    }

    /// Of 16: how long a loop takes whose lanes end on their own.
    fn waiting(&self, Repeat { params, form, body }: Repeat) -> usize {
        let waits_long = waits(params, body) >= tuning::LANES_LONG_WAIT;
        let counted = match form {
            LoopForm::For { .. } => self.classes.goes_apart(body),
            LoopForm::While(cond) => !waits_long && walks(params, cond, body, self.classes),
        };
        match counted {
            true if waits_long && !self.inside => tuning::LANES_WAITING_EVEN,
            true => tuning::LANES_WAITING_COUNTED,
            false => tuning::LANES_WAITING,
        }
    }
}

/// Cost of an operator relative to an addition, of scalars and of vectors.
fn weight(op: PrimOp, xs: &[Atom]) -> usize {
    match op {
        _ if Division::of(op, xs).is_some_and(Division::is_cheap) => 1,
        PrimOp::Bin(BinOp::Div, p) if p.is_float() => 5,
        PrimOp::Bin(BinOp::Div | BinOp::Mod | BinOp::Quot | BinOp::Rem, _) => 10,
        PrimOp::Conv(from, to) if from.is_float() != to.is_float() && from.size().max(to.size()) == 8 => 4,
        PrimOp::Un(UnOp::Sqrt | UnOp::Recip | UnOp::Rsqrt, _) => 5,
        _ if is_call(op) => 20,
        _ => 1,
    }
}
