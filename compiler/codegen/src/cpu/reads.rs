//! The elements that kernels read, and lists of what they scatter, for ranks that compute a part of the positions each.
//!
//! ```text
//! map over [n] \pos { xs[pos], xs[pos-1], ys[xs[pos]] }      xs: positions -1..=0 beside its own; ys: any element
//!
//! map (scatter ds) over [n] \pos { i, x }          ==>      map (elem i64) (elem f64) over [n] \pos { i, x }
//! ```

use par_ir::access::{Access, Facts, Form, Symbol, Value};
use par_ir::core::{At, Exp, Stm};
use par_ir::flat::{Kernel, KernelKind, Out, Ty};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::ty::Atom;
use par_ir::visit::Code as _;
use par_ir::{Prim, Var};
use par_runtime::plan::{Per, Reach, Stretch, Sum};
use std::collections::{BTreeSet, HashMap};

/// The reads of a kernel, per capture.
pub struct Reads {
    /// Host scalars that the sums are over.
    pub scalars: Vec<Var>,
    /// Per capture.
    pub reaches: Vec<Reach>,
    /// Per capture, true for an array.
    pub arrays: Vec<bool>,
    /// Of the only array that the kernel updates in place, if it does nothing else by index.
    pub own: Option<Reach>,
}

/// The reads of captured arrays.
pub fn of(kernel: &Kernel, captures: &[Var], facts: &Facts, types: &HashMap<Var, Ty>) -> Reads {
    let access = Access::divided(kernel, facts);
    let mut finder = Finder { access: &access, scalars: Vec::new() };
    let reach = |v: &Var| match facts.offsets(*v) {
        // All ranks have descriptors.
        Some(_) => Reach::Within(Vec::new()),
        None => finder.reach(kernel, *v),
    };
    let reaches = captures.iter().map(reach).collect();
    let own = finder.own(kernel, captures);
    let arrays = captures.iter().map(|v| matches!(types.get(v), Some(Ty::Array(_)))).collect();
    Reads { scalars: finder.scalars, reaches, arrays, own }
}

struct Finder<'k> {
    access: &'k Access<'k>,
    scalars: Vec<Var>,
}

impl Finder<'_> {
    fn reach(&mut self, kernel: &Kernel, array: Var) -> Reach {
        // The analysis does not look into operators.
        let in_operator = match &kernel.kind {
            KernelKind::Reduce { op, .. } | KernelKind::Scan { op, .. } | KernelKind::Hist { op, .. } => {
                op.body.mentions(array)
            }
            KernelKind::Map(_) | KernelKind::Filter => false,
        };
        let access = self.access;
        let mut reads = access.reads().filter(|r| r.array == array).peekable();
        if in_operator || reads.peek().is_none() {
            return Reach::Any;
        }
        let mut all: Vec<Stretch> = Vec::new();
        for read in reads {
            let Some(found) = self.stretches(&read.index) else { return Reach::Any };
            found.into_iter().for_each(|s| all.extend((!all.contains(&s)).then_some(s)));
        }
        Reach::Within(all)
    }

    /// The elements of an array that the kernel owns which positions read and update.
    fn own(&mut self, kernel: &Kernel, captures: &[Var]) -> Option<Reach> {
        let KernelKind::Map(outs) = &kernel.kind else { return None };
        let owned = outs.iter().filter(|o| matches!(o, Out::Own { .. })).count();
        if owned != 1 || outs.iter().any(|o| matches!(o, Out::Scatter(_))) {
            return None;
        }
        let mut indices: Vec<Form> = Vec::new();
        let access = self.access;
        // Versions of the array are bound in the body.
        let read = access.reads().filter(|r| !captures.contains(&r.array));
        indices.extend(read.map(|r| r.index.clone()));
        let mut all_found = true;
        kernel.body.stms.iter().for_each(|s| {
            each_update(s, &mut |at| match at {
                [At::Index(x)] => match access.form(*x) {
                    Some(form) => indices.push(form),
                    None => all_found = false,
                },
                _ => all_found = false,
            })
        });
        let mut all: Vec<Stretch> = Vec::new();
        for index in &indices {
            let found = self.stretches(index).filter(|_| all_found)?;
            found.into_iter().for_each(|s| all.extend((!all.contains(&s)).then_some(s)));
        }
        all_found.then_some(Reach::Within(all))
    }

    /// The places of an index: of one that is the smaller or larger of two, theirs.
    fn stretches(&mut self, index: &Form) -> Option<Vec<Stretch>> {
        if let Some(Symbol::Var(v)) = index.as_symbol()
            && let Some((PrimOp::Bin(BinOp::Min | BinOp::Max, Prim::I64), [x, y])) = self.access.operator(v)
            && let (Some(x), Some(y)) = (form(x), form(y))
            && let (Some(x), Some(y)) = (self.stretches(&x), self.stretches(&y))
        {
            return Some([x, y].concat());
        }
        self.stretch(index).map(|s| vec![s])
    }

    fn stretch(&mut self, index: &Form) -> Option<Stretch> {
        let axes = self.access.axes();
        if !index.symbols().iter().any(|s| !self.access.is_outside(*s)) {
            return self.around(Per::Nothing, 1.into(), Form::default(), index);
        }
        let position = axes.position();
        let own = position
            .as_ref()
            .and_then(|position| self.around(Per::Position, 1.into(), 1.into(), &index.minus(position)));
        if own.is_some() {
            return own;
        }
        let outermost = Symbol::Index(0);
        let (stride, rest) = index.split(outermost)?;
        let growth = |number: Option<Form>| number?.split(outermost).map(|(growth, _)| growth);
        let by_position = growth(position).filter(|g| !g.is_zero() && self.access.is_host(g));
        match by_position {
            Some(divisor) => self.around(Per::Position, divisor, stride, &rest),
            None => self.around(Per::Row, growth(axes.row())?, stride, &rest),
        }
    }

    /// An index that is `rest` besides what it grows with the quotient of a number.
    fn around(&mut self, by: Per, divisor: Form, stride: Form, rest: &Form) -> Option<Stretch> {
        let range = self.access.range(rest);
        let mut sums = |forms: Vec<Form>| -> Option<Vec<Sum>> {
            let sums: Vec<Sum> = forms.iter().filter_map(|f| self.sum(f)).collect();
            (!sums.is_empty()).then_some(sums)
        };
        let (least, most) = (sums(range.least)?, sums(range.most)?);
        Some(Stretch { by, divisor: self.sum(&divisor)?, stride: self.sum(&stride)?, least, most })
    }

    /// A polynomial over host scalars.
    fn sum(&mut self, f: &Form) -> Option<Sum> {
        if !self.access.is_host(f) {
            return None;
        }
        let mut number = |s: &Symbol| match s {
            Symbol::Var(v) => Some(self.scalars.iter().position(|w| w == v).unwrap_or_else(|| {
                self.scalars.push(*v);
                self.scalars.len() - 1
            })),
            _ => None,
        };
        let mut term = |(product, n): (&[Symbol], i64)| {
            Some((n, product.iter().map(&mut number).collect::<Option<Vec<usize>>>()?))
        };
        Some(Sum(f.terms().map(&mut term).collect::<Option<_>>()?))
    }
}

fn form(x: &Value) -> Option<Form> {
    match x {
        Value::Known(c) => c.as_i64().map(Form::from),
        Value::Form(f) => Some(f.clone()),
    }
}

/// The kernel that gives the indices and values of scatters, or of a histogram, instead of writing them, and the types of what it binds; none for a
/// kernel that writes nothing by index.
pub fn listed(kernel: &Kernel, types: &HashMap<Var, Ty>) -> Option<(Kernel, Vec<Ty>)> {
    let mut listed = kernel.clone();
    match &mut listed.kind {
        KernelKind::Map(outs) => *outs = listed_outs(outs, types)?,
        KernelKind::Scan { after: Some(after), .. } => after.outs = listed_outs(&after.outs, types)?,
        KernelKind::Hist { dests, .. } => {
            let outs = listed_outs(&[Out::Scatter(std::mem::take(dests))], types)?;
            listed.kind = KernelKind::Map(outs);
        }
        KernelKind::Scan { after: None, .. } | KernelKind::Reduce { .. } | KernelKind::Filter => return None,
    }
    let outs = match &listed.kind {
        KernelKind::Map(outs) => outs,
        KernelKind::Scan { after: Some(after), .. } => &after.outs,
        _ => return None,
    };
    let pattern = outs.iter().map(|o| match o {
        Out::Elem(p) | Out::Row(p, _) => Ty::Array(*p),
        Out::Scatter(_) | Out::Own { .. } => unreachable!("they were listed"),
    });
    let pattern = pattern.collect();
    Some((listed, pattern))
}

fn listed_outs(outs: &[Out], types: &HashMap<Var, Ty>) -> Option<Vec<Out>> {
    let scatters = |o: &Out| matches!(o, Out::Scatter(_));
    let owns = |o: &Out| matches!(o, Out::Own { .. });
    if !outs.iter().any(scatters) || outs.iter().any(owns) {
        return None;
    }
    let prim = |v: &Var| match types.get(v) {
        Some(Ty::Array(p)) => Some(Out::Elem(*p)),
        _ => None,
    };
    let mut all = Vec::new();
    for out in outs {
        match out {
            Out::Scatter(dests) => {
                all.push(Out::Elem(Prim::I64));
                all.extend(dests.iter().map(prim).collect::<Option<Vec<Out>>>()?);
            }
            other => all.push(other.clone()),
        }
    }
    Some(all)
}

/// The kernel that gives the indices at which other arrays are read than where positions say, and per result the capture that is read; none if there are
/// none, or they are known only after a branch, in a loop, in the code for rows, or after another such read.
pub fn inspector(kernel: &Kernel, captures: &[Var], reads: &Reads) -> Option<(Kernel, Vec<usize>)> {
    let is_random = |i: &usize| reads.arrays[*i] && reads.reaches[*i] == Reach::Any;
    let random: Vec<usize> = (0..captures.len()).filter(is_random).collect();
    let mut indices: Vec<(usize, Atom)> = Vec::new();
    let mut all_found = !random.is_empty() && kernel.after().is_none();
    let mut note = |array: Var, index: &[Atom]| {
        let Some(i) = random.iter().find(|i| captures[**i] == array) else { return };
        match index {
            [x] if !indices.contains(&(*i, *x)) => indices.push((*i, *x)),
            [_] => {}
            _ => all_found = false,
        }
    };
    kernel.body.stms.iter().for_each(|s| each_index(s, &mut note));
    // That of an empty row is at no position.
    let mut in_prologue = false;
    let mut note_row = |array: Var, _: &[Atom]| in_prologue |= random.iter().any(|i| captures[*i] == array);
    kernel.prologue.iter().for_each(|s| each_index(s, &mut note_row));
    let in_operator = random.iter().any(|i| !indices.iter().any(|(k, _)| k == i));
    if !all_found || in_operator || in_prologue {
        return None;
    }
    let is_near =
        |v: Var| captures.iter().position(|c| *c == v).is_some_and(|i| reads.reaches[i] != Reach::Any);
    let mut known: BTreeSet<Var> = captures.iter().copied().chain(kernel.binders()).collect();
    let prologue = computable(&kernel.prologue, &mut known, &is_near);
    let body = computable(&kernel.body.stms, &mut known, &is_near);
    let mut wanted: BTreeSet<Var> = indices.iter().filter_map(|(_, x)| x.var()).collect();
    if !wanted.is_subset(&known) {
        return None;
    }
    let body = needed(body, &mut wanted);
    let prologue = needed(prologue, &mut wanted);
    let mut inspector = kernel.clone();
    inspector.kind = KernelKind::Map(vec![Out::Elem(Prim::I64); indices.len()]);
    inspector.prologue = prologue;
    inspector.body.stms = body;
    inspector.body.results = indices.iter().map(|(_, x)| *x).collect();
    Some((inspector, indices.into_iter().map(|(i, _)| i).collect()))
}

/// Calls `note` with the places of all updates in a statement.
fn each_update(stm: &Stm, note: &mut dyn FnMut(&[At])) {
    if let Exp::Update { at, .. } = &stm.exp {
        note(at);
    }
    stm.exp.for_each_body(|b| b.stms.iter().for_each(|s| each_update(s, note)));
}

/// Calls `note` with all reads of arrays in a statement.
fn each_index(stm: &Stm, note: &mut dyn FnMut(Var, &[Atom])) {
    if let Exp::Index(array, index) = &stm.exp {
        note(*array, index);
    }
    stm.exp.for_each_body(|b| b.stms.iter().for_each(|s| each_index(s, note)));
}

/// The statements that can be run without reading anything but what is near, checks too; `known` are variables that are there.
fn computable(stms: &[Stm], known: &mut BTreeSet<Var>, is_near: &dyn Fn(Var) -> bool) -> Vec<Stm> {
    let mut kept = Vec::new();
    for stm in stms {
        let scalar = match &stm.exp {
            Exp::Atom(_) | Exp::Prim(..) | Exp::Check { .. } => true,
            Exp::Index(array, _) => is_near(*array),
            _ => false,
        };
        let mut all_known = true;
        stm.exp.for_each_operand(&mut |a| all_known &= a.var().is_none_or(|v| known.contains(&v)));
        if scalar && all_known {
            known.extend(stm.pat.iter().map(|p| p.var));
            kept.push(stm.clone());
        }
    }
    kept
}

/// Checks, and the statements that these and some variables are computed by; `wanted` is afterwards what they are computed from.
fn needed(stms: Vec<Stm>, wanted: &mut BTreeSet<Var>) -> Vec<Stm> {
    let mut kept = Vec::new();
    for stm in stms.into_iter().rev() {
        if matches!(stm.exp, Exp::Check { .. }) || stm.pat.iter().any(|p| wanted.contains(&p.var)) {
            stm.exp.for_each_operand(&mut |a| wanted.extend(a.var()));
            kept.push(stm);
        }
    }
    kept.reverse();
    kept
}
