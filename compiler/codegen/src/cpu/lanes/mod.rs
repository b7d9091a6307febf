//! Kernels on groups of neighbouring positions, each in a lane of vectors.
//!
//! ```text
//! for pos in start .. end              while pos + 8 <= end
//!     i = sub pos first                    i = steps
//!     c = lt i last                        c = lt, the same in all lanes: or go to `alone`
//!     x = if c then xs[i + 1] else 0       x = if c then 8 of xs from i + 1 else 0
//!     out[pos] = x * 2            ==>      8 of out from pos = x * splat 2
//!                                          pos += 8, again
//!                                      alone: the 8 positions as before, again
//!                                      the positions that are left as before
//! ```
//!
//! Values that are the same in all lanes stay scalar, and so do positions and affine functions of them (`class.rs`). Where lanes
//! differ in a condition, both branches run under masks, and a loop runs until its last lane is done. Whatever would need an
//! answer per lane that is hardly ever needed (a check that fails, an edge test that holds for some lanes) leaves the group:
//! scalar code does it once more, from its first position, so that values and errors are those of scalar code. A
//! group stores nothing before all that can leave it.
//!
//! Every lane is computed by the same operators as the scalar, so that results are the same to the bit. A reduction has an
//! accumulator in every lane, if its operator allows elements to be taken in any order; they are combined in a fixed order. If it does not, every
//! lane has a run of positions. What an operator mostly leaves as it is (the least of all so far) stays a scalar: scalar code takes over
//! where it changes (`operator.rs`).

mod affine;
mod bits;
mod body;
mod clamps;
mod class;
mod columns;
mod convert;
mod cost;
mod division;
mod edges;
mod folds;
mod functions;
mod groups;
mod interleaved;
mod iterations;
mod memory;
mod narrow;
mod operator;
mod pack;
mod parts;
mod prim;
mod private;
mod reduce;
mod rows;
mod scan;
mod segments;
mod stays;
mod steps;
mod value;
mod waits;
mod walks;
mod whole;

use super::absorbing;
use super::emit::{Base, Emitter, Result};
use super::kernel::KernelInfo;
use super::loops::has_loop;
use crate::free::for_each_use;
use body::Row;
use class::{Classes, Indices};
pub use cost::{BYTES, WIDEST};
use cost::{Setting, Size};
use cranelift::prelude::*;
pub use folds::{along_rows, folds};
pub use iterations::iterations;
use operator::Reduction;
pub use pack::packs;
use par_ir::core::{Body, Exp, Lambda, Stm};
use par_ir::effects::Effects;
use par_ir::flat::{Kernel, KernelKind, Out};
use par_ir::hash::{HashMap, HashSet};
use par_ir::tuning;
use par_ir::ty::{Atom, Dim};
use par_ir::visit::Code;
use par_ir::{Prim, Var};
use parts::Local;
pub use private::{Parts, Private, split as parts};
pub use reduce::{Accumulators, any_order};
pub use rows::{RowPlan, Rows, plan as plan_of_rows, rows};
pub use scan::{Scanning, scanning};
pub use segments::Segments;
use std::rc::Rc;
pub use value::Lanes;

/// Plan of a kernel on groups of positions.
#[derive(Clone)]
pub struct Plan {
    classes: Classes,
    size: Size,
    /// Variables that any code uses.
    used: HashSet<Var>,
    /// Its results are index and value in place of an array that is updated.
    body: Body,
    /// The arrays of which every position has a part, if some are held transposed.
    pub parts: Option<Rc<Parts>>,
    /// The groups where parts are too large.
    pub otherwise: Option<Rc<Plan>>,
    /// The combination of its results, if they are combined.
    pub reduction: Option<Rc<Reduction>>,
    /// The absorbing value of the operator of its combination.
    absorbing: Option<bool>,
    /// The last positions of a row, fewer than a group has, are a group under a mask.
    has_rest: bool,
    /// The last positions of a row, fewer than a group has, are computed together with some before them, whose results are stored twice.
    overlaps: bool,
}

impl Plan {
    /// Of bodies, the first of which is that of the positions.
    fn new((classes, size): (Classes, Size), bodies: &[&Body]) -> Plan {
        let body = bodies[0].clone();
        let (used, parts, otherwise, reduction, absorbing) = (used(bodies), None, None, None, None);
        let (has_rest, overlaps) = (false, false);
        Plan { classes, size, used, body, parts, otherwise, reduction, absorbing, has_rest, overlaps }
    }

    /// Lanes of a group.
    pub fn lanes(&self) -> usize {
        self.size.lanes
    }

    /// True if every lane has a run of neighbouring positions, which it combines in order.
    pub fn is_in_order(&self) -> bool {
        self.reduction.as_ref().is_some_and(|r| r.in_order)
    }

    /// True if its results are those of taking one element after the other, whatever the operator.
    pub fn is_sequential(&self) -> bool {
        self.reduction.as_ref().is_some_and(|r| r.is_sequential())
    }

    /// The absorbing value of the operator of its combination.
    pub fn absorbing(&self) -> Option<bool> {
        self.absorbing
    }

    /// From a position of one lane to that of the next.
    fn step(&self) -> i64 {
        if self.is_in_order() { tuning::LANES_RUN } else { 1 }
    }

    /// Positions of a group.
    pub fn positions(&self) -> i64 {
        self.size.lanes as i64 * self.step()
    }

    /// True if the last positions of a row, fewer than a group has, are a group under a mask.
    pub fn has_rest(&self) -> bool {
        self.has_rest
    }

    /// The same with single positions at the ends of rows.
    pub fn without_rest(&self) -> Plan {
        Plan { has_rest: false, ..self.clone() }
    }

    /// Groups that there must be for any of them to pay.
    fn least(&self) -> i64 {
        if self.reduction.as_ref().is_some_and(|r| r.keeps()) { tuning::LANES_KEPT } else { 1 }
    }

    /// The same on shorter groups, for what is left of a row that is not long.
    pub fn shorter(&self) -> Option<Plan> {
        self.size.shorter().map(|size| Plan { size, ..self.clone() })
    }
}

/// Bytes of the vector registers that a kernel uses, of those that the processor has at most.
pub fn width(info: &KernelInfo, most: usize) -> usize {
    let is_fold = matches!(info.kernel.kind, KernelKind::Reduce { .. } | KernelKind::Scan { .. });
    // A short row ends long before the widest accumulators pay.
    if is_fold && info.kernel.space.is_ragged() { most.min(tuning::LANES_WIDTH_RAGGED) } else { most }
}

/// Plan of a kernel on groups, with registers of up to `width` bytes. `None`: groups do not pay.
pub fn plan(info: &KernelInfo, width: usize) -> Option<Plan> {
    let kernel = info.kernel;
    let body = match &kernel.kind {
        KernelKind::Map(outs) => {
            match iterations::without_updates(&states(outs), &kernel.body).filter(is_pure) {
                Some(body) => match in_parts(info, width).filter(|_| !info.goes_along_rows()) {
                    Some(plan) => {
                        let otherwise = by_element(info, body, width).map(Rc::new);
                        return Some(Plan { otherwise, ..plan });
                    }
                    None => body,
                },
                None => return in_parts(info, width),
            }
        }
        _ => kernel.body.clone(),
    };
    if !is_pure(&body) || info.goes_along_rows() {
        return None;
    }
    match &kernel.kind {
        KernelKind::Filter if !info.packs() => None,
        KernelKind::Map(_) | KernelKind::Filter => by_element(info, body, width),
        KernelKind::Reduce { op, .. } | KernelKind::Scan { op, .. } => fold(kernel, op, body, width),
        _ => None,
    }
}

/// The plan of a map or a filter.
fn by_element(info: &KernelInfo, body: Body, width: usize) -> Option<Plan> {
    let pos = info.kernel.pos;
    let row = match info.kernel.space.innermost() {
        Dim::Size(n) if info.kernel.uses_rows() => n.as_i64().and_then(|n| usize::try_from(n).ok()),
        _ => None,
    };
    let has_rest = may_have_rest(info.kernel, &body) && info.stores_under_masks(width);
    let body = if width == BYTES { bits::by_masks(body) } else { body };
    let choose = |body: &Body| {
        let classes = |indices| Classes::new((pos, 1), body, indices);
        cost::choose(classes, &[body], Setting { row, ..Setting::of_map(width) })
    };
    let found = with_short_indices(body.clone(), width, choose);
    let (classes, size, body) = found.or_else(|| fill(info.kernel, body, width))?;
    let overlaps = match &info.kernel.kind {
        KernelKind::Map(outs) => outs.iter().all(|o| matches!(o, Out::Elem(_) | Out::Row(..))),
        _ => false,
    };
    Some(Plan { has_rest, overlaps, ..Plan::new((classes, size), &[&body]) })
}

/// The plan of a map for all elements of a short row at once, and some behind it, whatever they cost: what costs is the end of the row. None with the
/// registers that every processor has.
pub fn ahead(kernel: &Kernel, width: usize) -> Option<Plan> {
    let size = Size { lanes: tuning::AHEAD_LANES, bytes: width };
    let classes = || Classes::of_numbers(kernel.pos, &kernel.body);
    (width > BYTES).then(|| Plan::new((classes(), size), &[&kernel.body]))
}

/// Of a map whose results are bound outside, the same at all positions: all that it does is to store them.
fn fill(kernel: &Kernel, body: Body, width: usize) -> Option<(Classes, Size, Body)> {
    let KernelKind::Map(outs) = &kernel.kind else { return None };
    let stored = |o: &Out| if let Out::Elem(p) = o { Some(cost::width(*p)) } else { None };
    let widths = outs.iter().map(stored).collect::<Option<Vec<_>>>()?;
    let widest = widths.into_iter().max()?;
    let is_outside = |a: &Atom| a.var().is_none_or(|v| v != kernel.pos && !body.bound().contains(&v));
    if !body.results.iter().all(is_outside) || body.stms.iter().any(Stm::has_effect) {
        return None;
    }
    let body = Body { stms: vec![], results: body.results };
    let size = Size { lanes: tuning::LANES_VECTORS * width / widest, bytes: width };
    Some((Classes::default(), size, body))
}

/// The plan of a reduction.
fn fold(kernel: &Kernel, op: &Lambda, body: Body, width: usize) -> Option<Plan> {
    let reduction = Reduction::new(op)?;
    if reduction.in_order && body.results.len() > op.ret.len() {
        return None;
    }
    let step = if reduction.in_order { tuning::LANES_RUN } else { 1 };
    let combined = reduction.body(op);
    let setting = Setting {
        waits: if reduction.is_own() { 1 } else { tuning::LANES_CHAIN },
        is_ragged: kernel.space.is_ragged(),
        is_exact: reduction.is_own() && op.ret.iter().all(|t| !t.prim().is_float()),
        ..Setting::of_map(width)
    };
    let has_rest = may_have_rest(kernel, &body)
        && !reduction.in_order
        && !reduction.keeps()
        && body.results.len() == op.ret.len();
    let choose = |body: &Body| {
        let classes = |indices| {
            let classes = Classes::new((kernel.pos, step), body, indices);
            classes.with_operator(op, &reduction.kept(), &combined, body)
        };
        cost::choose(classes, &[body, &combined], setting)
    };
    let body = if width == BYTES && setting.is_exact { bits::by_masks(body) } else { body };
    let (classes, size, body) = match setting.is_exact {
        true => with_short_indices(body, width, choose)?,
        // Groups that are left change sums of floats, and there are short indices on some processors only.
        false => choose(&body).map(|(classes, size)| (classes, size, body))?,
    };
    let (reduction, absorbing) = (Some(Rc::new(reduction)), absorbing::of_operator(op, &kernel.body));
    Some(Plan { has_rest, reduction, absorbing, ..Plan::new((classes, size), &[&body, &combined]) })
}

/// A body's classes and size, with loops whose indices have 32 bits where they are in vectors.
fn with_short_indices(
    body: Body,
    width: usize,
    choose: impl Fn(&Body) -> Option<(Classes, Size)>,
) -> Option<(Classes, Size, Body)> {
    let found = choose(&body);
    let gathers = found.as_ref().is_none_or(|(classes, _)| !classes.has_apart());
    let narrowed = if gathers { narrow::narrowed(&body, width == BYTES) } else { None };
    let short = narrowed.and_then(|body| choose(&body).map(|(classes, size)| (classes, size, body)));
    short.or_else(|| found.map(|(classes, size)| (classes, size, body)))
}

/// True if the last positions of a row can be a group under a mask. Bodies with scalars for each lane are as fast one position after the other. In maps over
/// rows of one length it is for bodies with loops, if a row has fewer positions than a group: one after the other, 31 particles took 13 times as long as 32.
fn may_have_rest(kernel: &Kernel, body: &Body) -> bool {
    let classes = Classes::new((kernel.pos, 1), body, Indices::Apart);
    let is_long = matches!(kernel.kind, KernelKind::Map(_)) && has_loop(body);
    (kernel.space.is_ragged() || is_long) && !classes.has_apart()
}

/// The reason why a map or a reduction is not done on groups.
pub fn obstacle(info: &KernelInfo) -> &'static str {
    let kernel = info.kernel;
    let operator = match &kernel.kind {
        KernelKind::Reduce { op, .. } => Some(Reduction::new(op)),
        _ => None,
    };
    let mut called = Vec::new();
    kernel.body.callees(&mut called);
    let updates = |outs: &[Out]| outs.iter().any(|o| matches!(o, Out::Own { .. }));
    match &kernel.kind {
        _ if !called.is_empty() => "each position calls a function",
        _ if kernel.space.as_flat().is_some_and(|n| n.as_i64() == Some(1)) => "there is one position",
        KernelKind::Map(outs) if updates(outs) && info.scheduled.is_none_or(|s| s.parts.is_none()) => {
            "each position updates an array in an order of its own"
        }
        _ if matches!(operator, Some(None)) => "the operator is too long",
        _ => "vectors would not be faster",
    }
}

/// The plan, on groups, of a map that updates parts of arrays, or reads them again.
fn in_parts(info: &KernelInfo, width: usize) -> Option<Plan> {
    let parts = info.scheduled?.parts.clone()?;
    let arrays: HashSet<Var> = parts.transposed().map(|(p, _)| p.array).collect();
    let pos = (info.kernel.pos, 1);
    let classes = |indices| Classes::with_private(pos, &parts.body, indices, arrays.clone());
    let size = |part: Atom| part.as_i64().map_or(tuning::LANES_ITERATIONS, |n| n as usize);
    let moved = parts.transposed().map(|(_, part)| size(part)).sum();
    let setting = Setting { moved, ..Setting::of_map(width) };
    let (classes, size) = cost::choose(classes, &[&parts.body], setting)?;
    let plan = Plan::new((classes, size), &[&parts.body]);
    Some(Plan { parts: Some(parts), ..plan })
}

/// For each result of a map the array that it is a version of, if it is one.
fn states(outs: &[Out]) -> Vec<Option<Var>> {
    let of_out = |o: &Out| match o {
        Out::Own { state, .. } => vec![Some(state.var)],
        o => vec![None; o.results()],
    };
    outs.iter().flat_map(of_out).collect()
}

/// The variables that bodies use.
fn used(bodies: &[&Body]) -> HashSet<Var> {
    let mut used = HashSet::default();
    for body in bodies {
        body.stms.iter().for_each(|s| for_each_use(s, &mut |v| _ = used.insert(v)));
        used.extend(body.results.iter().filter_map(|a| a.var()));
    }
    used
}

/// True if a body can be left and begun again: it calls no function and updates no array.
fn is_pure(body: &Body) -> bool {
    body.stms.iter().all(|s| {
        let inner = s.exp.own_bodies();
        !matches!(s.exp, Exp::Call(..) | Exp::Update { .. }) && inner.into_iter().all(is_pure)
    })
}

/// A group of positions under construction.
pub struct Group<'e, 'a> {
    pub e: &'e mut Emitter<'a>,
    classes: &'e Classes,
    used: &'e HashSet<Var>,
    body: &'e Body,
    lanes: usize,
    /// Bytes of a vector register.
    bytes: usize,
    /// From a position of one lane to that of the next.
    step: i64,
    kept: Kept,
    here: Here,
    machine: Machine,
    leaving: Leaving,
    /// The longest of the rows that positions are, if they are rows.
    longest: Option<Value>,
    /// The block of scalar code that the group leaves to.
    alone: Block,
}

/// Values of a group's variables.
#[derive(Default)]
struct Kept {
    values: HashMap<Var, Lanes>,
    /// Variables that are kept apart and were neighbours in memory.
    rows: HashMap<Var, Row>,
    /// Parts of arrays.
    local: HashMap<Var, Local>,
    /// Columns of rows that are loaded as a whole, each in registers, by the number of those rows.
    columns: HashMap<usize, Vec<Vec<Value>>>,
}

/// Lanes that the code is for.
#[derive(Default)]
struct Here {
    /// The lanes that are here, if not all.
    active: Option<Lanes>,
    /// Positions of the group, if it is the last one of a row, which has fewer.
    count: Option<Value>,
    /// The lanes of those.
    first: Option<Lanes>,
    /// Control may not have come here, although the group did not leave.
    conditional: bool,
}

/// Vector instructions of the processor.
struct Machine {
    /// Blends by masks that are any values.
    blends: bool,
    /// An x86-64 without AVX: a comparison must not read a float from memory itself, as Cranelift has it do: that wants an address
    /// that is a multiple of 16. What is read as an integer is loaded before.
    lacks_avx: bool,
    /// Shuffles of the bytes of registers of 128 bits, in any order.
    shuffles: bool,
}

/// Exits of a group to the code for single positions.
#[derive(Default)]
struct Leaving {
    /// Exits exist.
    leaves: bool,
    /// None are allowed once the group has stored an element.
    must_stay: bool,
    has_stored: bool,
}

/// The values that groups carry: in lanes, and scalars.
pub type State = (Vec<Value>, Vec<Value>);

impl Group<'_, '_> {
    /// Leaves out all but the first lanes.
    fn only(&mut self, count: Value) {
        let zero = self.e.i64(0);
        let lanes = self.progression(zero, 1, Prim::I32);
        let limit = self.e.b.ins().ireduce(types::I32, count);
        let limit = self.splat(limit, 1)[0];
        let below = |r| self.e.b.ins().icmp(IntCC::SignedLessThan, r, limit);
        self.here.first = Some(Lanes::Vector(lanes.into_iter().map(below).collect()));
        self.here.active = self.here.first.clone();
        (self.here.count, self.here.conditional) = (Some(count), true);
    }

    /// The results of a kernel's body at the positions from `pos`.
    pub fn elements(&mut self, kernel: &Kernel, pos: Value) -> Result<Vec<Lanes>> {
        self.e.exits.pos = pos.into();
        self.results(kernel.pos, pos, self.step)
    }

    /// The results of the body for the values of `pos` from `first` on.
    fn results(&mut self, pos: Var, first: Value, step: i64) -> Result<Vec<Lanes>> {
        self.kept.values.insert(pos, Lanes::Steps(first, step));
        let body = self.body;
        self.stms(&body.stms)?;
        body.results.iter().map(|a| self.atom(a)).collect()
    }

    /// Stores a result at the positions from `pos`.
    pub fn store_result(&mut self, base: Base, pos: Value, x: &Lanes) {
        let regs = match base.prim {
            Prim::Bool => convert::stored_bools(self, x),
            p => self.vector(x, p),
        };
        self.store_registers(base, pos, &regs);
    }

    /// Stores values over the elements at the indices of a group, which are inside.
    pub fn replace(&mut self, base: Base, index: &Lanes, x: &Lanes) {
        if let Lanes::Steps(first, 1) = index {
            return self.store_result(base, *first, x);
        }
        let lanes = self.apart(index, Prim::I64).into_iter().zip(self.apart(x, base.prim));
        lanes.collect::<Vec<_>>().into_iter().for_each(|(i, x)| self.e.store(base, i, x));
    }

    /// Leaves the group unless the flag is set.
    pub fn stay_if(&mut self, flag: Value) {
        assert!(!self.leaving.has_stored, "a group is left that has updated what it reads");
        self.leaving.leaves = true;
        self.e.go_on_if(flag, self.alone, &[]);
    }
}
