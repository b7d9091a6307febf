//! The elements that kernels read, and lists of what they scatter, for ranks that compute a part of the positions each.
//!
//! ```text
//! map over [n] \pos { xs[pos], xs[pos-1], ys[xs[pos]] }      xs: positions -1..=0 beside its own; ys: any element
//!
//! map (scatter ds) over [n] \pos { i, x }          ==>      map (elem i64) (elem f64) over [n] \pos { i, x }
//! ```

use par_ir::access::{Access, Facts, Form, Symbol, Value};
use par_ir::core::{At, Body, Exp, Stm};
use par_ir::flat::{Kernel, KernelKind, Out, Ty};
use par_ir::hash::HashMap;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::visit::Code as _;
use par_ir::{Prim, Var};
use par_runtime::plan::{Per, Reach, Stretch, Sum};

/// The reads of a kernel, per capture.
pub struct Reads {
    /// Host scalars that the sums are over.
    pub scalars: Vec<Var>,
    /// Per capture.
    pub reaches: Vec<Reach>,
    /// Per capture, true for an array or a rope.
    pub arrays: Vec<bool>,
    /// Of the only array that the kernel updates in place, if it does nothing else by index.
    pub own: Option<Reach>,
}

/// The reads of captured arrays.
pub fn of(kernel: &Kernel, captures: &[Var], facts: &Facts, types: &HashMap<Var, Ty>) -> Reads {
    let access = Access::divided(kernel, facts);
    let mut finder = Finder { access: &access, scalars: Vec::new() };
    let reach = |v: &Var| match (facts.offsets(*v), types.get(v)) {
        // All ranks have descriptors.
        (Some(_), _) => Reach::Within(Vec::new()),
        // Indices are those of the index space.
        (_, Some(Ty::Rope(_))) => Reach::Any,
        _ => finder.reach(kernel, *v),
    };
    let reaches = captures.iter().map(reach).collect();
    let own = finder.own(kernel, captures);
    let arrays = captures.iter().map(|v| matches!(types.get(v), Some(Ty::Array(_) | Ty::Rope(_)))).collect();
    Reads { scalars: finder.scalars, reaches, arrays, own }
}

struct Finder<'k> {
    access: &'k Access<'k>,
    scalars: Vec<Var>,
}

impl Finder<'_> {
    fn reach(&mut self, kernel: &Kernel, array: Var) -> Reach {
        // The analysis does not look into operators, nor into functions.
        let in_operator = match &kernel.kind {
            KernelKind::Reduce { op, .. } | KernelKind::Scan { op, .. } | KernelKind::Hist { op, .. } => {
                op.body.mentions(array)
            }
            KernelKind::Map(_) | KernelKind::Filter => false,
        };
        let access = self.access;
        let reads: Vec<_> = access.reads().filter(|r| r.array == array).collect();
        if in_operator || reads.is_empty() || kernel.bodies().into_iter().any(|b| is_passed(b, array)) {
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
        if owned != 1 || outs.iter().any(|o| matches!(o, Out::Scatter(_))) || calls_update(&kernel.body) {
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
        let outermost = Symbol::Index(0);
        let growth = |number: Option<Form>| number?.split(outermost).map(|(growth, _)| growth);
        if !index.symbols().iter().any(|s| !self.access.is_outside(*s)) {
            return self.around(Per::Nothing, 1.into(), Form::default(), index);
        }
        // What a row reads, it reads without positions, too.
        let is_inside = |s: &Symbol| matches!(s, Symbol::Index(dim) if *dim >= axes.rows());
        if axes.rows() > 0 && !index.symbols().iter().any(is_inside) {
            let (stride, rest) = index.split(outermost)?;
            return self.around(Per::Row, growth(axes.row())?, stride, &rest);
        }
        let position = axes.position();
        let own = position
            .as_ref()
            .and_then(|position| self.around(Per::Position, 1.into(), 1.into(), &index.minus(position)));
        if own.is_some() {
            return own;
        }
        let (stride, rest) = index.split(outermost)?;
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

/// True if a function that is called updates arrays.
fn calls_update(body: &Body) -> bool {
    let updates = |s: &Stm| matches!(s.exp, Exp::Call(..)) && s.pat.iter().any(|p| !p.ty.is_scalar());
    body.stms.iter().any(|s| updates(s) || s.exp.own_bodies().into_iter().any(calls_update))
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

/// True if a body passes an array to a function.
fn is_passed(body: &Body, array: Var) -> bool {
    body.stms.iter().any(|s| match &s.exp {
        Exp::Call(_, xs) => xs.contains(&array.into()),
        exp => exp.bodies().into_iter().any(|b| is_passed(b, array)),
    })
}

/// Calls `note` with the places of all updates in a statement.
fn each_update(stm: &Stm, note: &mut dyn FnMut(&[At])) {
    if let Exp::Update { at, .. } = &stm.exp {
        note(at);
    }
    stm.exp.for_each_body(|b| b.stms.iter().for_each(|s| each_update(s, note)));
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::cpu::facts;
    use crate::free::{captures, types};
    use par_ir::flat::Op;
    use par_ir::parse::parse_flat;

    /// Rows may have no positions, whatever their number.
    #[test]
    fn what_a_row_reads_is_told_by_its_number() {
        let text = "fun main@0 (n_1: i64, m_2: i64, some_3: []i64) -> ([]i64)
{
  let (r_4: []i64) = kernel reduce op \\(x_5: i64, y_6: i64) -> (i64) {
    let (t_7: i64) = xor.i64(x_5, y_6)
    in (t_7)
  } neutral (0i64) over [n_1] [m_2] \\row_8 pos_9 i_10 prologue {
    let (some_11: i64) = some_3[row_8]
    in ()
  } { in (some_11) }
  in (r_4)
}
";
        let program = parse_flat(text).unwrap_or_else(|e| panic!("{e}"));
        let Op::Kernel(kernel) = &program.funs[0].body.stms[0].op else { panic!("a kernel") };
        let reads = of(kernel, &captures(kernel), &facts(&program), &types(&program));
        let scalars = vec![0; reads.scalars.len()];
        assert_eq!(reads.reaches[0].elements(&scalars, 116..232, 0..0, 232), 116..232);
    }
}
