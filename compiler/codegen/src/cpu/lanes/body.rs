//! Statements of a body in a group: operators, reads, checks, branches and loops.

use super::Group;
use super::class::Class;
use super::cost::WIDEST;
use super::division::Division;
use super::functions::strip_function;
use super::stays;
use super::value::{Form, Lanes};
use super::waits::pays_if_long;
use crate::cpu::absorbing;
use crate::cpu::convert;
use crate::cpu::emit::{Base, Result, args, arm_price};
use cranelift::prelude::*;
use par_ir::core::{At, Body, Exp, LoopForm, Param, Repeat, Stm};
use par_ir::prim::{CmpOp, PrimOp};
use par_ir::ty::Atom;
use par_ir::{Prim, Scalar, Var, tuning};
use par_runtime::op::call::is_call;

impl Group<'_, '_> {
    pub fn atom(&mut self, a: &Atom) -> Result<Lanes> {
        if let Some(x) = a.var().and_then(|v| self.kept.values.get(&v)) {
            return Ok(x.clone());
        }
        Ok(Lanes::Same(self.e.atom(a)?))
    }

    pub fn stms(&mut self, stms: &[Stm]) -> Result {
        stms.iter().try_for_each(|s| self.stm(s))
    }

    /// Binds a variable. What is the same in all lanes is a scalar for all code.
    pub fn bind(&mut self, v: Var, x: Lanes) {
        self.kept.values.remove(&v);
        match x {
            Lanes::Same(x) => _ = self.e.bound.scalars.insert(v, x),
            x => _ = self.kept.values.insert(v, x),
        }
    }

    fn stm(&mut self, stm: &Stm) -> Result {
        self.note_row(stm);
        self.leaving.has_stored |= self.leaving.must_stay && stays::updates(stm);
        let results = match &stm.exp {
            Exp::Atom(a) => vec![self.atom(a)?],
            Exp::Prim(op, xs) => vec![self.operator(*op, xs, stm.pat[0].var)?],
            Exp::Index(arr, index) => {
                let [i] = index.as_slice() else {
                    return Err("a kernel reads a flat array with several indices".into());
                };
                match self.kept.local.get(arr).copied() {
                    Some(local) => {
                        let place = self.atom(i)?;
                        vec![self.load_part(local, &place)]
                    }
                    None => match self.interleaved(stm.pat[0].var)? {
                        Some(column) => vec![column],
                        None => vec![self.gather(*arr, i, self.classes.is_apart(stm.pat[0].var))?],
                    },
                }
            }
            Exp::Check { cond, kind, args } => {
                match self.e.ranges.checked(cond, kind, args) {
                    Some((i, n)) if self.here.active.is_none() => self.check_range(cond, &i, &n)?,
                    Some((i, n)) => self.check_vectors(cond, &i, &n)?,
                    _ => self.check(cond)?,
                }
                vec![]
            }
            Exp::Update { arr, at, value } => {
                let [At::Index(i)] = &at[..] else {
                    return Err("a group updates more than an element".into());
                };
                let (index, x) = (self.atom(i)?, self.atom(value)?);
                match (self.kept.local.get(arr).copied(), self.e.bound.arrays.get(arr).copied()) {
                    (Some(local), _) => self.store_part(local, &index, &x),
                    (None, Some(base)) => self.store_own(base, &index, &x),
                    _ => return Err("a group updates an array that is not its own".into()),
                }
                vec![]
            }
            Exp::If { cond, then, other } => self.branch(cond, then, other, &stm.pat)?,
            Exp::Loop { params, form, body } => self.repeat(Repeat { params, form, body }, &stm.pat)?,
            _ => return Err("a kernel body contains an operation that is not scalar".into()),
        };
        self.e.bound.prims.extend(stm.pat.iter().map(|p| (p.var, p.ty.prim())));
        for (p, x) in stm.pat.iter().zip(results) {
            self.bind(p.var, x);
        }
        Ok(())
    }

    /// Notes neighbouring numbers of 32 bits that are read from memory, and what only widens them.
    fn note_row(&mut self, stm: &Stm) {
        let row = match &stm.exp {
            Exp::Index(arr, index) => {
                match (index.first().map(|i| self.atom(i)), self.e.bound.arrays.get(arr)) {
                    (Some(Ok(Lanes::Steps(first, 1))), Some(base))
                        if base.prim.is_integer() && base.prim.size() == 4 =>
                    {
                        Some(Row { base: *base, first })
                    }
                    _ => None,
                }
            }
            Exp::Atom(a) => self.row(a),
            Exp::Prim(PrimOp::Conv(Prim::I32 | Prim::U32, Prim::I64), xs) => self.row(&xs[0]),
            _ => None,
        };
        match (row, stm.pat.as_slice()) {
            (Some(row), [p]) => _ = self.kept.rows.insert(p.var, row),
            // The condition of a loop is there twice, and what was a row at first need not stay one.
            (_, pat) => pat.iter().for_each(|p| _ = self.kept.rows.remove(&p.var)),
        }
    }

    fn row(&self, a: &Atom) -> Option<Row> {
        a.var().and_then(|v| self.kept.rows.get(&v)).copied()
    }

    fn operator(&mut self, op: PrimOp, xs: &[Atom], var: Var) -> Result<Lanes> {
        let divisor = xs.get(1).and_then(|x| x.as_i64());
        self.e.ranges.note(var, op, xs);
        let operands: Vec<Lanes> = xs.iter().map(|a| self.atom(a)).collect::<Result<_>>()?;
        if let Some(scalars) = operands.iter().map(same).collect::<Option<Vec<Value>>>() {
            return Ok(Lanes::Same(self.e.prim(op, &scalars, divisor)));
        }
        if let class @ (Class::Same | Class::Steps(_)) = self.classes.var(var)
            && let Some(x) = self.steps(op, &operands, class)
        {
            return Ok(x);
        }
        if !self.classes.is_by_lane(op, xs, var) {
            return Ok(match Division::of(op, xs) {
                Some(division) => division.apply(self, &operands[0], &operands[1]),
                None => self.on_vectors(op, &operands),
            });
        }
        if !self.classes.is_apart(var)
            && let Some(function) = strip_function(op, &self.size())
        {
            return Ok(self.by_strip(function, &operands[0]));
        }
        let lanes = self.by_lane(op, &operands, divisor);
        if self.classes.is_apart(var) {
            return Ok(lanes);
        }
        let p = op.result();
        Ok(Lanes::Vector(self.vector(&lanes, p)))
    }

    /// A check that fails in a lane that is here fails once more in scalar code, which says where.
    fn check(&mut self, cond: &Atom) -> Result {
        let cond = self.atom(cond)?;
        self.check_lanes(cond);
        Ok(())
    }

    /// Leaves the group unless this holds in all lanes that are here.
    pub fn check_lanes(&mut self, cond: Lanes) {
        let ok = match (&cond, self.here.active.clone()) {
            (Lanes::Same(ok), _) => *ok,
            (_, None) => self.all(&cond),
            (_, Some(active)) => {
                let failed = self.without(&active, &cond);
                let any = self.any(&failed);
                self.e.b.ins().bxor_imm_s(any, 1)
            }
        };
        self.stay_if(ok);
    }

    /// A check whether an index in vectors is in a range: one comparison of unsigned numbers, where there is such.
    fn check_vectors(&mut self, cond: &Atom, i: &Atom, n: &Atom) -> Result {
        match (self.atom(i)?, self.atom(n)?) {
            (Lanes::Vector(indices), Lanes::Same(n)) if self.bytes == WIDEST => {
                let limit = self.splat(n, 1)[0];
                let below = |x| self.e.b.ins().icmp(IntCC::UnsignedLessThan, x, limit);
                let below = Lanes::Vector(indices.into_iter().map(below).collect());
                self.check_lanes(below);
                Ok(())
            }
            _ => self.check(cond),
        }
    }

    /// A check whether an index is in a range, where all lanes are here.
    fn check_range(&mut self, cond: &Atom, i: &Atom, n: &Atom) -> Result {
        let (Lanes::Apart(indices), Lanes::Same(n)) = (self.atom(i)?, self.atom(n)?) else {
            return self.check_vectors(cond, i, n);
        };
        let ok = match self.row(i) {
            Some(row) => self.row_below(row, n),
            None => {
                let below = |s: &mut Self, i| s.e.b.ins().icmp(IntCC::UnsignedLessThan, i, n);
                let flags: Vec<Value> = indices.into_iter().map(|i| below(self, i)).collect();
                self.all(&Lanes::Apart(flags))
            }
        };
        self.stay_if(ok);
        Ok(())
    }

    /// Test that all numbers of a row, which have 32 bits, are in `0..n`. It may fail for numbers in the range if `n` does not fit into 32 bits.
    fn row_below(&mut self, row: Row, n: Value) -> Value {
        let numbers = self.load_row(row.base, row.first);
        let regs = self.vector(&numbers, row.base.prim);
        let largest = self.tree(&regs, |s, a, b| s.e.b.ins().umax(a, b));
        let most = if row.base.prim.is_signed() { 1 << 31 } else { (1 << 32) - 1 };
        let most = self.e.i64(most);
        let limit = self.e.b.ins().umin(n, most);
        let limit = self.e.b.ins().ireduce(types::I32, limit);
        let limits = self.splat(limit, 1);
        let below = self.e.b.ins().icmp(IntCC::UnsignedLessThan, largest, limits[0]);
        self.e.b.ins().vall_true(below)
    }

    /// The form of a variable where paths of control meet.
    fn form(&self, v: Var) -> Form {
        match self.classes.var(v) {
            Class::Same => Form::Same,
            Class::Steps(s) => Form::Steps(s),
            Class::Each if self.classes.is_apart(v) => Form::Apart,
            Class::Each => Form::Vector,
        }
    }

    /// Scalars of several values, and how many each has.
    fn flatten_all(&mut self, xs: &[Lanes], forms: &[(Prim, Form)]) -> (Vec<Value>, Vec<usize>) {
        let (mut all, mut counts) = (vec![], vec![]);
        for (x, (p, form)) in xs.iter().zip(forms) {
            let scalars = self.flatten(x, *p, *form);
            counts.push(scalars.len());
            all.extend(scalars);
        }
        (all, counts)
    }

    fn gather_all(&self, xs: &[Value], forms: &[(Prim, Form)], counts: &[usize]) -> Vec<Lanes> {
        let mut at = 0;
        let mut take = |n: usize| {
            at += n;
            &xs[at - n..at]
        };
        forms.iter().zip(counts).map(|((_, form), n)| form.gather(take(*n))).collect()
    }

    fn forms(&self, pat: &[Param]) -> Vec<(Prim, Form)> {
        pat.iter().map(|p| (p.ty.prim(), self.form(p.var))).collect()
    }

    fn body(&mut self, body: &Body) -> Result<Vec<Lanes>> {
        self.stms(&body.stms)?;
        body.results.iter().map(|a| self.atom(a)).collect()
    }

    fn branch(&mut self, cond: &Atom, then: &Body, other: &Body, pat: &[Param]) -> Result<Vec<Lanes>> {
        let prices = arm_price(then).zip(arm_price(other));
        let is_cheap = prices.is_some_and(|(a, b)| a + b + pat.len() <= tuning::LANES_SELECT_OPERATORS);
        match self.atom(cond)? {
            Lanes::Same(cond) if is_cheap => self.same_of_two(cond, then, other, pat),
            Lanes::Same(cond) => self.together(cond, then, other, pat),
            cond => self.both_ways(cond, then, other, pat),
        }
    }

    /// All lanes take the results of the same one of two cheap bodies. Branches would part the code in which values are computed once: Cranelift
    /// computes a value in each block that uses it, unless one before has.
    fn same_of_two(&mut self, cond: Value, then: &Body, other: &Body, pat: &[Param]) -> Result<Vec<Lanes>> {
        let (a, b) = (self.body(then)?, self.body(other)?);
        let forms = self.forms(pat);
        let choose = |((a, b), (p, form)): ((&Lanes, &Lanes), (Prim, Form))| match form {
            Form::Same | Form::Steps(_) => {
                let (a, b) = (self.flatten(a, p, form), self.flatten(b, p, form));
                form.gather(&[self.e.b.ins().select(cond, a[0], b[0])])
            }
            _ => self.blend(&Lanes::Same(cond), a, b, p, form == Form::Apart),
        };
        Ok(a.iter().zip(&b).zip(forms).map(choose).collect())
    }

    /// All lanes go the same way.
    fn together(&mut self, cond: Value, then: &Body, other: &Body, pat: &[Param]) -> Result<Vec<Lanes>> {
        let forms = self.forms(pat);
        let (yes, no, join) = (self.e.b.create_block(), self.e.b.create_block(), self.e.b.create_block());
        self.e.b.ins().brif(cond, yes, &[], no, &[]);
        let before = std::mem::replace(&mut self.here.conditional, true);
        self.e.b.switch_to_block(yes);
        let results = self.body(then)?;
        let (flat, counts) = self.flatten_all(&results, &forms);
        let joined = self.e.params_like(join, &flat);
        self.e.b.ins().jump(join, &args(&flat));
        self.e.b.switch_to_block(no);
        let results = self.body(other)?;
        let (flat, _) = self.flatten_all(&results, &forms);
        self.e.b.ins().jump(join, &args(&flat));
        self.e.b.switch_to_block(join);
        self.here.conditional = before;
        Ok(self.gather_all(&joined, &forms, &counts))
    }

    /// Lanes differ: both bodies run, each for its lanes.
    fn both_ways(&mut self, cond: Lanes, then: &Body, other: &Body, pat: &[Param]) -> Result<Vec<Lanes>> {
        let (yes, no) = match self.here.active.clone() {
            Some(active) => (self.both(&active, &cond), self.without(&active, &cond)),
            None if needs_lanes(other) => {
                let regs = self.mask(&cond, None);
                let no = regs.into_iter().map(|r| self.e.b.ins().bnot(r)).collect();
                (cond.clone(), Lanes::Vector(no))
            }
            None => (cond.clone(), cond.clone()),
        };
        let forms = self.forms(pat);
        let a = self.for_lanes(yes, then, &forms)?;
        let b = self.for_lanes(no, other, &forms)?;
        let mut results = Vec::new();
        for ((a, b), (p, form)) in a.iter().zip(&b).zip(&forms) {
            results.push(self.blend(&cond, a, b, *p, *form == Form::Apart));
        }
        Ok(results)
    }

    /// A body for some lanes; what others get has no meaning. What must not run for none of them does not.
    fn for_lanes(&mut self, active: Lanes, body: &Body, forms: &[(Prim, Form)]) -> Result<Vec<Lanes>> {
        if !needs_lanes(body) {
            return self.body(body);
        }
        let any = self.any(&active);
        let (some, join) = (self.e.b.create_block(), self.e.b.create_block());
        let mut nothing = Vec::new();
        for (p, form) in forms {
            let zero = self.e.constant(Scalar::zero(*p));
            nothing.extend(self.flatten(&Lanes::Same(zero), *p, *form));
        }
        let joined = self.e.params_like(join, &nothing);
        self.e.b.ins().brif(any, some, &[], join, &args(&nothing));
        self.e.b.switch_to_block(some);
        let before = (self.here.active.replace(active), std::mem::replace(&mut self.here.conditional, true));
        let results = self.body(body)?;
        (self.here.active, self.here.conditional) = before;
        let (flat, counts) = self.flatten_all(&results, forms);
        self.e.b.ins().jump(join, &args(&flat));
        self.e.b.switch_to_block(join);
        Ok(self.gather_all(&joined, forms, &counts))
    }

    fn repeat(&mut self, of: Repeat, results: &[Param]) -> Result<Vec<Lanes>> {
        let Repeat { params, form, body } = of;
        let bodies = match form {
            LoopForm::For { .. } => vec![body],
            LoopForm::While(cond) => vec![cond, body],
        };
        let may_run_on = bodies.into_iter().all(takes_anything);
        let kept = results.iter().map(|p| !may_run_on || self.used.contains(&p.var)).collect();
        let pat: Vec<Param> = params.iter().map(|(p, _)| p.clone()).collect();
        self.e.bound.prims.extend(pat.iter().map(|p| (p.var, p.ty.prim())));
        let forms = self.forms(&pat);
        let initial: Vec<Lanes> = params.iter().map(|(_, x)| self.atom(x)).collect::<Result<_>>()?;
        let state = State { pat, forms, initial, kept, absorbing: absorbing::of_loop(params, body) };
        match form {
            LoopForm::For { index, prim, bound } => {
                self.e.bound.prims.insert(*index, *prim);
                let bound = self.atom(bound)?;
                let differs = !matches!(bound, Lanes::Same(_));
                if differs
                    && self.longest.is_none()
                    && !self.here.conditional
                    && pays_if_long(params, body, self.classes)
                {
                    self.stay_if_long(&bound, *prim);
                }
                self.count((*index, *prim), bound, body, &state)
            }
            LoopForm::While(cond) => self.while_loop(cond, body, &state),
        }
    }

    fn bind_state(&mut self, state: &State, xs: &[Lanes]) {
        for (p, x) in state.pat.iter().zip(xs) {
            self.bind(p.var, x.clone());
        }
    }

    /// `for index < bound`: lanes count together, those with a lower bound wait for the others. Where all may go on to the longest of their rows, they do, and
    /// keep what they have.
    fn count(
        &mut self,
        (index, prim): (Var, Prim),
        bound: Lanes,
        body: &Body,
        state: &State,
    ) -> Result<Vec<Lanes>> {
        let zero = self.e.constant(Scalar::zero(prim));
        let less = PrimOp::Cmp(CmpOp::Lt, prim);
        let limit = self.longest.map_or(bound.clone(), Lanes::Same);
        let together = matches!(limit, Lanes::Same(_));
        let mut looping = Looping::start(self, state);
        let enter = self.less(less, zero, &limit);
        // So what is added to the counter in an address is computed before.
        let around = self.longest.map(|_| self.e.begin_loop());
        looping.enter(self, together, enter, &[zero]);
        let i = looping.extra[0];
        self.bind(index, Lanes::Same(i));
        let inside = self.e.nest.loops;
        let mut next = looping.iterate(self, body)?;
        if self.e.nest.loops > inside {
            self.e.poll();
        }
        self.e.nest.loops += 1;
        let next_i = self.e.b.ins().iadd_imm_s(i, 1);
        let mut repeat = self.less(less, next_i, &limit);
        if self.longest.is_some() {
            let running = self.less(less, i, &bound);
            next = looping.kept(self, &running, next);
            // A row that has ended needs no more iterations.
            if state.absorbing.is_some() {
                repeat = self.both(&repeat, &running);
            }
        }
        let repeat = self.where_not_absorbed(state.absorbing, repeat, &next);
        let last = looping.end(self, repeat, &[next_i], next);
        self.e.nest.inside = around.unwrap_or(self.e.nest.inside);
        Ok(last)
    }

    /// Leaves the group if its lanes do not count far, or so differently that most of them would wait.
    fn stay_if_long(&mut self, bound: &Lanes, prim: Prim) {
        let counts = self.apart(bound, prim);
        let counts: Vec<Value> = counts.into_iter().map(|n| convert::widen(&mut self.e.b, prim, n)).collect();
        let most = self.tree(&counts, |s, a, b| s.e.b.ins().smax(a, b));
        let sum = self.tree(&counts, |s, a, b| s.e.b.ins().iadd(a, b));
        let all = self.e.b.ins().imul_imm_s(most, self.lanes as i64);
        let limit = self.e.b.ins().imul_imm_s(sum, tuning::LANES_EVEN);
        let even = self.e.b.ins().icmp(IntCC::SignedLessThanOrEqual, all, limit);
        let least = tuning::LANES_LONG * self.lanes as i64;
        let long = self.e.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, sum, least);
        let pays = self.e.b.ins().band(even, long);
        self.stay_if(pays);
    }

    fn less(&mut self, less: PrimOp, i: Value, bound: &Lanes) -> Lanes {
        match bound {
            Lanes::Same(bound) => Lanes::Same(self.e.prim(less, &[i, *bound], None)),
            bound => self.on_vectors(less, &[Lanes::Same(i), bound.clone()]),
        }
    }

    fn while_loop(&mut self, cond: &Body, body: &Body, state: &State) -> Result<Vec<Lanes>> {
        self.bind_state(state, &state.initial);
        let enter = self.single(cond)?;
        let mut looping = Looping::start(self, state);
        // All lanes may enter together, and leave one by one.
        let together = cond.results.iter().all(|a| self.classes.atom(a) == Class::Same);
        looping.enter(self, together, enter, &[]);
        let next = looping.iterate(self, body)?;
        self.e.nest.loops += 1;
        self.e.poll();
        self.bind_state(state, &next);
        let before = self.here.active.clone();
        if let Some(running) = &looping.running {
            self.here.active = Some(running.clone());
        }
        let repeat = self.single(cond)?;
        self.here.active = before;
        Ok(looping.end(self, repeat, &[], next))
    }

    fn single(&mut self, cond: &Body) -> Result<Lanes> {
        self.body(cond)?.into_iter().next().ok_or_else(|| "a condition without result".into())
    }
}

/// Neighbouring elements of an array.
#[derive(Clone, Copy)]
pub struct Row {
    base: Base,
    first: Value,
}

/// The variables that a loop carries.
struct State {
    pat: Vec<Param>,
    forms: Vec<(Prim, Form)>,
    initial: Vec<Lanes>,
    /// Lanes that have finished must keep it.
    kept: Vec<bool>,
    /// The absorbing value of its only variable, if the loop is a disjunction or conjunction.
    absorbing: Option<bool>,
}

/// A loop under construction: guarded, tested at the bottom.
struct Looping<'s> {
    state: &'s State,
    again: Block,
    exit: Block,
    counts: Vec<usize>,
    initial: Vec<Value>,
    /// The state at the start of an iteration.
    current: Vec<Lanes>,
    /// Scalars that the loop carries besides, at the start of an iteration.
    extra: Vec<Value>,
    /// The lanes that have not finished, if lanes finish on their own.
    running: Option<Lanes>,
    outer: Option<Lanes>,
    conditional: bool,
}

impl<'s> Looping<'s> {
    fn start(s: &mut Group, state: &'s State) -> Looping<'s> {
        let (initial, counts) = s.flatten_all(&state.initial, &state.forms);
        Looping {
            state,
            again: s.e.b.create_block(),
            exit: s.e.b.create_block(),
            counts,
            initial,
            current: vec![],
            extra: vec![],
            running: None,
            outer: s.here.active.clone(),
            conditional: s.here.conditional,
        }
    }

    /// Goes into the loop if any lane does.
    fn enter(&mut self, s: &mut Group, together: bool, cond: Lanes, extra: &[Value]) {
        let cond = match &self.outer {
            Some(outer) if !together => s.both(outer, &cond),
            _ => cond,
        };
        let any = s.any(&cond);
        let masks = if together { vec![] } else { s.mask(&cond, Some(super::value::MASK)) };
        let first = [extra, &masks, &self.initial].concat();
        let here = s.e.params_like(self.again, &first);
        s.e.params_like(self.exit, &self.initial);
        s.e.b.ins().brif(any, self.again, &args(&first), self.exit, &args(&self.initial));
        s.e.b.switch_to_block(self.again);
        let (extra, rest) = here.split_at(extra.len());
        let (masks, current) = rest.split_at(masks.len());
        self.extra = extra.to_vec();
        self.running = (!masks.is_empty()).then(|| Lanes::Vector(masks.to_vec()));
        self.initial = current.to_vec();
    }

    /// The state after an iteration; lanes that have finished keep theirs.
    fn iterate(&mut self, s: &mut Group, body: &Body) -> Result<Vec<Lanes>> {
        self.current = s.gather_all(&self.initial, &self.state.forms, &self.counts);
        s.bind_state(self.state, &self.current);
        s.here.conditional = true;
        if let Some(running) = &self.running {
            s.here.active = Some(running.clone());
        }
        let next = s.body(body)?;
        s.here.active = self.outer.clone();
        match self.running.clone() {
            Some(running) => Ok(self.kept(s, &running, next)),
            None => Ok(next),
        }
    }

    /// The state after an iteration, in lanes that have not finished; the others keep theirs.
    fn kept(&self, s: &mut Group, running: &Lanes, next: Vec<Lanes>) -> Vec<Lanes> {
        let lanes = next.into_iter().zip(&self.current).zip(&self.state.forms).zip(&self.state.kept);
        lanes
            .map(|(((next, old), (p, form)), kept)| match kept {
                true => s.blend(running, &next, old, *p, *form == Form::Apart),
                false => next,
            })
            .collect()
    }

    fn end(self, s: &mut Group, repeat: Lanes, extra: &[Value], next: Vec<Lanes>) -> Vec<Lanes> {
        let repeat = match &self.running {
            Some(running) => s.both(running, &repeat),
            None => repeat,
        };
        let any = s.any(&repeat);
        let masks = match &self.running {
            Some(_) => s.mask(&repeat, Some(super::value::MASK)),
            None => vec![],
        };
        let (flat, _) = s.flatten_all(&next, &self.state.forms);
        let following = [extra, &masks, &flat].concat();
        s.e.b.ins().brif(any, self.again, &args(&following), self.exit, &args(&flat));
        s.e.b.switch_to_block(self.exit);
        s.here.conditional = self.conditional;
        let last = s.e.b.block_params(self.exit).to_vec();
        s.gather_all(&last, &self.state.forms, &self.counts)
    }
}

fn same(x: &Lanes) -> Option<Value> {
    match x {
        Lanes::Same(x) => Some(*x),
        _ => None,
    }
}

/// True if a body may run on for lanes that have finished, whatever their values: it is pure, cannot trap, and is cheap.
fn takes_anything(body: &Body) -> bool {
    body.stms.iter().all(|s| match &s.exp {
        Exp::Atom(_) => true,
        Exp::Prim(op, _) => !op.divides() && !is_call(*op),
        Exp::If { then, other, .. } => takes_anything(then) && takes_anything(other),
        _ => false,
    })
}

/// True if a body needs the mask of its active lanes: it reads, checks or loops.
fn needs_lanes(body: &Body) -> bool {
    body.stms.iter().any(|s| match &s.exp {
        Exp::Atom(_) | Exp::Prim(..) => false,
        Exp::If { then, other, .. } => needs_lanes(then) || needs_lanes(other),
        _ => true,
    })
}
