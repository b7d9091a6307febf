//! The values of a kernel's variables, statement by statement.

use super::{Access, Bound, Form, Interval, Level, Origin, Read, Symbol, Value};
use crate::core::{Body, Exp, LoopForm, Param, Stm};
use crate::flat::Kernel;
use crate::prim::{BinOp, CmpOp, PrimOp, UnOp};
use crate::ty::{Atom, Var};
use crate::visit::Code;
use par_runtime::{CheckKind, Prim, Scalar};
use std::collections::BTreeSet;

impl Access<'_> {
    /// Evaluates a kernel: its numbers of rows and positions, the code for rows, the body, and what is done with prefixes.
    pub(super) fn kernel(&mut self, kernel: &Kernel) {
        self.level = Level::Row;
        self.number(kernel.row, self.axes.row());
        self.level = Level::Position;
        self.number(kernel.pos, self.axes.position());
        for (d, v) in kernel.index.iter().enumerate().filter(|(_, v)| ![kernel.row, kernel.pos].contains(v)) {
            let is_inside = d + 1 == kernel.index.len();
            self.level = if is_inside { Level::Position } else { Level::Row };
            self.number(*v, self.axes.index(d));
        }
        self.level = Level::Row;
        self.stms(&kernel.prologue);
        self.level = Level::Position;
        self.body(&kernel.body);
        if let Some(after) = kernel.after() {
            after.params.iter().for_each(|p| self.bind(p.var, Origin::Other, BTreeSet::new()));
            self.body(&after.body);
        }
    }

    /// A variable that numbers rows or positions.
    pub(super) fn number(&mut self, v: Var, form: Option<Form>) {
        match form {
            Some(f) => _ = self.values.insert(v, Value::Form(f)),
            None => {
                let all = (0..self.axes.count()).map(Symbol::Index);
                self.bind(v, Origin::Other, all.collect());
            }
        }
    }

    /// Statements at the level where the evaluation stands.
    pub(super) fn stms(&mut self, stms: &[Stm]) {
        stms.iter().for_each(|s| self.stm(s));
    }

    pub(super) fn body(&mut self, body: &Body) {
        let guards = self.guards.len();
        self.stms(&body.stms);
        self.guards.truncate(guards);
    }

    /// A body that is not always run, or more than once.
    fn inside(&mut self, body: &Body, guard: Option<Form>) {
        let level = self.level;
        self.level = Level::Inside(if let Level::Inside(n) = level { n + 1 } else { 1 });
        let guards = self.guards.len();
        self.guards.extend(guard);
        self.body(body);
        self.guards.truncate(guards);
        self.level = level;
    }

    fn stm(&mut self, stm: &Stm) {
        match (&stm.exp, stm.pat.as_slice()) {
            (Exp::Atom(a), [p]) => {
                let interval = self.interval(*a);
                self.set(p, self.value(*a), interval);
            }
            (Exp::Prim(op, xs), [p]) => self.prim(p, *op, xs),
            (Exp::Index(array, index), [p]) if index.len() == 1 => self.element(p, *array, index[0]),
            (Exp::Check { kind: CheckKind::Bounds, args, .. }, []) => self.checked(args),
            (Exp::If { cond, then, other }, pat) => self.branch(stm, pat, *cond, [then, other]),
            (Exp::Loop { params, form, body }, pat) => {
                self.repeat(stm, params, form, body);
                pat.iter().for_each(|p| self.other(p, stm));
            }
            (_, pat) => pat.iter().for_each(|p| self.other(p, stm)),
        }
    }

    /// Behind a check an index is inside.
    fn checked(&mut self, args: &[Atom]) {
        if let [i, n] = args
            && let (Some(i), Some(n)) = (self.form(*i), self.form(*n))
        {
            let left = n.minus(&i).plus(&(-1).into());
            self.guards.extend([i, left]);
        }
    }

    fn set(&mut self, p: &Param, value: Value, interval: Option<Interval>) {
        let value = self.fixed.get(&p.var).map_or(value, |c| Value::Known(*c));
        self.values.insert(p.var, value);
        self.note_interval(p, interval);
    }

    fn note_interval(&mut self, p: &Param, found: Option<Interval>) {
        let prim = p.ty.prim();
        if let Some(interval) = found.filter(|i| i.fits(prim)).or(Interval::of(prim)) {
            self.intervals.insert(p.var, interval);
        }
    }

    /// A variable that is a symbol of its own, computed from others.
    fn bind(&mut self, v: Var, origin: Origin, from: BTreeSet<Symbol>) {
        let (level, order, varies) = (self.level, self.bound.len(), self.varies_with(&from));
        self.bound.insert(v, Bound { origin, level, order, from, varies });
        let value =
            self.fixed.get(&v).map_or_else(|| Value::Form(Symbol::Var(v).into()), |c| Value::Known(*c));
        self.values.insert(v, value);
    }

    /// Whatever a statement binds that depends on what is in it.
    fn other(&mut self, p: &Param, stm: &Stm) {
        let from = self.symbols(stm.exp.free());
        self.bind(p.var, Origin::Other, from);
        self.note_interval(p, None);
    }

    /// The symbols that the values of variables consist of.
    fn symbols(&self, vars: impl IntoIterator<Item = Var>) -> BTreeSet<Symbol> {
        vars.into_iter().flat_map(|v| symbols_of(&self.value(Atom::Var(v)))).collect()
    }

    fn element(&mut self, p: &Param, array: Var, index: Atom) {
        let index = self.form(index).unwrap_or_default();
        if let Some(start) = self.start(array, &index) {
            return self.set(p, Value::Form(start), None);
        }
        let from = index.symbols();
        let read = Read { array, index, guards: self.guards.clone() };
        self.reads.push((p.var, read.clone()));
        self.bind(p.var, Origin::Read(read), from);
        self.note_interval(p, None);
    }

    /// The start of the row, if that is what is read of a descriptor's offsets.
    fn start(&self, array: Var, index: &Form) -> Option<Form> {
        let descriptor = self.axes.descriptor()?;
        let is_ours =
            self.facts.offsets(array) == Some(descriptor) && self.axes.row().as_ref() == Some(index);
        is_ours.then(|| Symbol::Start.into())
    }

    fn prim(&mut self, p: &Param, op: PrimOp, xs: &[Atom]) {
        let values: Vec<Value> = xs.iter().map(|x| self.value(*x)).collect();
        let intervals: Vec<_> = xs.iter().map(|x| self.interval(*x)).collect();
        let interval = Interval::of_result(op, &intervals);
        if let Some(value) = self.result(op, &values) {
            return self.set(p, value, interval);
        }
        let from = values.iter().flat_map(symbols_of).collect();
        self.bind(p.var, Origin::Prim(op, values), from);
        self.note_interval(p, interval);
    }

    /// The result of an operator, if that is a constant or a polynomial.
    fn result(&mut self, op: PrimOp, xs: &[Value]) -> Option<Value> {
        let known = |x: &Value| if let Value::Known(c) = x { Some(*c) } else { None };
        if let Some(known) = xs.iter().map(known).collect::<Option<Vec<_>>>() {
            return op.fold(&known).map(Value::Known);
        }
        if let (PrimOp::Select(_), Some(Scalar::Bool(first))) = (op, known(&xs[0])) {
            return Some(if first { &xs[1] } else { &xs[2] }.clone());
        }
        let form = |x: &Value| match x {
            Value::Known(Scalar::I64(n)) => Some(Form::from(*n)),
            Value::Known(_) => None,
            Value::Form(f) => Some(f.clone()),
        };
        let found = match (op, xs) {
            (PrimOp::Un(UnOp::Neg, Prim::I64), [x]) => form(x)?.scaled(-1),
            (PrimOp::Bin(op, Prim::I64), [x, y]) => self.arithmetic(op, &form(x)?, &form(y)?)?,
            _ => return None,
        };
        let found = found.if_short()?;
        Some(found.as_constant().map_or(Value::Form(found), |n| Value::Known(Scalar::I64(n))))
    }

    fn arithmetic(&mut self, op: BinOp, x: &Form, y: &Form) -> Option<Form> {
        match op {
            BinOp::Add => Some(x.plus(y)),
            BinOp::Sub => Some(x.minus(y)),
            BinOp::Mul => x.times(y),
            BinOp::Quot | BinOp::Div => self.division(x, y).map(|(quotient, _)| quotient),
            BinOp::Rem | BinOp::Mod => self.division(x, y).map(|(_, rest)| rest),
            _ => None,
        }
    }

    fn branch(&mut self, stm: &Stm, pat: &[Param], cond: Atom, arms: [&Body; 2]) {
        if let Value::Known(Scalar::Bool(first)) = self.value(cond) {
            let arm = arms[usize::from(!first)];
            self.body(arm);
            for (p, a) in pat.iter().zip(&arm.results) {
                let interval = self.interval(*a);
                self.set(p, self.value(*a), interval);
            }
            // Those of the other arm are nobody's, and no host scalars.
            let other = arms[usize::from(first)].stms.iter().flat_map(Stm::bound);
            other.for_each(|v| self.bind(v, Origin::Other, BTreeSet::new()));
            return;
        }
        for (arm, holds) in arms.into_iter().zip([true, false]) {
            let guard = self.guard(cond, holds);
            self.inside(arm, guard);
        }
        for (i, p) in pat.iter().enumerate() {
            let [a, b] = arms.map(|arm| arm.results[i]);
            let join = self.interval(a).zip(self.interval(b)).map(|(a, b)| a.join(b));
            if self.value(a) == self.value(b) {
                self.set(p, self.value(a), join);
            } else {
                self.other(p, stm);
                self.note_interval(p, join);
            }
        }
    }

    /// The form that is not negative where a condition holds, or does not.
    fn guard(&self, cond: Atom, holds: bool) -> Option<Form> {
        let (PrimOp::Cmp(op, Prim::I64), [x, y]) = self.operator(self.opaque(cond)?)? else { return None };
        let form = |x: &Value| match x {
            Value::Known(c) => c.as_i64().map(Form::from),
            Value::Form(f) => Some(f.clone()),
        };
        let (x, y) = (form(x)?, form(y)?);
        let below = |x: &Form, y: &Form| y.minus(x).plus(&(-1).into());
        Some(match (op, holds) {
            (CmpOp::Lt, true) | (CmpOp::Ge, false) => below(&x, &y),
            (CmpOp::Gt, true) | (CmpOp::Le, false) => below(&y, &x),
            (CmpOp::Le, true) | (CmpOp::Gt, false) => y.minus(&x),
            (CmpOp::Ge, true) | (CmpOp::Lt, false) => x.minus(&y),
            _ => return None,
        })
    }

    fn repeat(&mut self, stm: &Stm, params: &[(Param, Atom)], form: &LoopForm, body: &Body) {
        let level = self.level;
        self.level = Level::Inside(if let Level::Inside(n) = level { n + 1 } else { 1 });
        let mut from = self.symbols(stm.exp.free());
        if let LoopForm::For { index, bound, .. } = form {
            let symbols = self.symbols(bound.var());
            match self.form(*bound) {
                Some(bound) => self.bind(*index, Origin::Counter(bound), symbols),
                None => self.bind(*index, Origin::Other, symbols),
            }
            from.insert(Symbol::Var(*index));
        }
        for (p, _) in params {
            self.bind(p.var, Origin::Other, from.clone());
            self.note_interval(p, None);
        }
        self.level = level;
        if let LoopForm::While(cond) = form {
            self.inside(cond, None);
        }
        self.inside(body, None);
    }
}

fn symbols_of(value: &Value) -> BTreeSet<Symbol> {
    match value {
        Value::Known(_) => BTreeSet::new(),
        Value::Form(f) => f.symbols(),
    }
}
