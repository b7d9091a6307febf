//! Kernels over all elements become kernels over rows.
//!
//! ```text
//! kernel map over [n] {                              kernel map over [m] [~d] prologue {
//!     i = ids[pos]                                       i = numbers[row]
//!     check 0 <= i && i < k                  ==>         x = xs[i]
//!     x = xs[i]                                      } {
//!     …                                                  …
//! }                                                  }
//! ```
//!
//! Sums of 1 since a row began are differences of positions; other sums over segments are sums along rows.

use super::find::{self, Ids, Segmented};
use super::origin::Origins;
use super::starts::Starts;
use crate::flat::bulk::reads;
use par_ir::core::{Body, Exp, Lambda, Param, Stm as ScalarStm};
use par_ir::effects::Effects;
use par_ir::flat::{self, After, Kernel, KernelKind, Op, Out, Space, Stm, Ty};
use par_ir::hash::HashSet;
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::ty::{Atom, Dim, Type, Var, Vars};
use par_ir::visit::{Code, Subst};
use par_runtime::Prim;

/// The statements of the region for the case that there are rows, if that changes any kernel. `subst` has their names.
pub fn convert(
    region: Vec<Stm>,
    outside: &[Stm],
    subst: &Subst,
    ids: &Ids,
    made: &Starts,
    vars: &mut Vars,
) -> Option<Vec<Stm>> {
    let array = subst[&ids.array].var()?;
    let desc = vars.fresh("d");
    let like = region.first()?.clone();
    let bind = |var, ty, op| Stm { pat: vec![flat::Param { var, ty }], op, ..like.clone() };
    let mut converted = vec![bind(desc, Ty::Desc, Op::MakeDesc(made.lens))];
    let space = Space::rows(made.rows, Dim::Seg(desc));
    let host: Vec<&Stm> = outside.iter().chain(&region).collect();
    let by_row = by_row(&host, ids.k);
    let numbers = made.numbers;
    let flags = ids.flags.iter().map(|v| subst.get(v).and_then(|a| a.var()).unwrap_or(*v)).collect();
    let mut rows = Rows {
        array,
        flags,
        n: ids.n,
        k: ids.k,
        space,
        numbers,
        by_row,
        by_element: HashSet::default(),
        vars,
    };
    let mut any = false;
    for stm in &region {
        let new = match &stm.op {
            Op::Kernel(k) if stm.pat.iter().any(|p| p.var == array) => Some(rows.row_numbers(k)),
            Op::Kernel(k) => rows.kernel(k, &host).inspect(|_| any = true),
            _ => None,
        };
        if let Some(kernel) = new {
            rows.by_element.extend(stm.pat.iter().map(|p| p.var));
            converted.push(Stm { op: Op::Kernel(Box::new(kernel)), ..stm.clone() });
        } else {
            converted.push(stm.clone());
        }
    }
    any.then_some(converted)
}

/// Arrays with an element for each row number.
fn by_row(host: &[&Stm], k: Atom) -> HashSet<Var> {
    let mut found = HashSet::default();
    for stm in host {
        let all = match &stm.op {
            Op::Kernel(kernel) if kernel.space == Space::flat(k) => match &kernel.kind {
                KernelKind::Map(outs) => outs.iter().all(|o| matches!(o, Out::Elem(_))),
                KernelKind::Scan { after: None, .. } => true,
                _ => false,
            },
            Op::Iota(n) | Op::Replicate(n, _) => *n == k,
            _ => false,
        };
        if all {
            found.extend(stm.pat.iter().map(|p| p.var));
        }
    }
    found
}

struct Rows<'v> {
    /// The array of row numbers, one for each element, and number of elements.
    array: Var,
    n: Atom,
    /// Arrays of flags that are set where rows begin.
    flags: Vec<Var>,
    /// All row numbers are below.
    k: Atom,
    space: Space,
    /// The row numbers by row.
    numbers: Var,
    /// Arrays with an element for each row number.
    by_row: HashSet<Var>,
    /// Arrays that kernels over rows have made.
    by_element: HashSet<Var>,
    vars: &'v mut Vars,
}

impl Rows<'_> {
    /// The kernel that stores the row numbers.
    fn row_numbers(&mut self, k: &Kernel) -> Kernel {
        let [row, pos, i, number] = ["row", "pos", "i", "number"].map(|name| self.vars.fresh(name));
        let read = statement(number, Prim::I64, Exp::Index(self.numbers, vec![row.into()]), k);
        let body = Body { stms: vec![], results: vec![number.into()] };
        let kind = KernelKind::Map(vec![Out::Elem(Prim::I64)]);
        Kernel { kind, space: self.space.clone(), index: vec![row, i], row, pos, prologue: vec![read], body }
    }

    /// The kernel over rows that a kernel over elements becomes.
    fn kernel(&mut self, k: &Kernel, host: &[&Stm]) -> Option<Kernel> {
        if k.space != Space::flat(self.n) || k.uses_rows() {
            return None;
        }
        let mut related = false;
        reads::of_kernel(k, &mut |array, i| {
            let here = i == Atom::Var(k.pos);
            related |= here && (array == self.array || self.by_element.contains(&array));
        });
        if !related {
            return None;
        }
        let i = self.vars.fresh("i");
        let mut kernel = match &k.kind {
            KernelKind::Map(outs) if !outs.iter().any(|o| matches!(o, Out::Own { .. })) => k.clone(),
            KernelKind::Scan { op, neutral, exclusive: false, after: Some(after) } => {
                self.scan(k, op, neutral, after, i, host)?
            }
            _ => return None,
        };
        (kernel.space, kernel.index) = (self.space.clone(), vec![k.row, i]);
        let number = self.vars.fresh("number");
        kernel.prologue = vec![statement(number, Prim::I64, Exp::Index(self.numbers, vec![k.row.into()]), k)];
        let (array, pos) = (self.array, Atom::Var(k.pos));
        let row_number = |v: Var, i: Atom| (v == array && i == pos).then_some(Atom::Var(number));
        reads::replace(&mut kernel.body, &row_number);
        if let KernelKind::Scan { after: Some(after), .. } = &mut kernel.kind {
            reads::replace(&mut after.body, &row_number);
        }
        reads::simplify(&mut kernel);
        self.hoist(&mut kernel, number);
        Some(kernel)
    }

    /// A scan over segments along rows, or a map if all that it adds is 1.
    fn scan(
        &mut self,
        k: &Kernel,
        op: &Lambda,
        neutral: &[Atom],
        after: &After,
        i: Var,
        host: &[&Stm],
    ) -> Option<Kernel> {
        let segmented = find::segmented(op)?;
        let origins = Origins::new((self.array, &self.flags), (self.n, k.pos), &k.body, host);
        let flag_is_used = after.body.mentions(after.params[segmented.flag].var);
        let zeros = |i: &usize| matches!(neutral[*i], Atom::Const(c) if c.bits() == 0);
        if flag_is_used
            || !origins.begins(k.body.results[segmented.flag])
            || !segmented.values.iter().all(zeros)
        {
            return None;
        }
        let counts = |i: &usize| k.body.results[*i] == Atom::i64(1);
        if segmented.values.iter().all(counts) {
            return Some(self.count(k, &segmented, after, i));
        }
        Some(along_rows(k, op, neutral, &segmented, after))
    }

    /// The map that a scan is that counts elements of rows.
    fn count(&self, k: &Kernel, segmented: &Segmented, after: &After, i: Var) -> Kernel {
        let mut stms = k.body.stms.clone();
        for value in &segmented.values {
            let plus = Exp::Prim(PrimOp::Bin(BinOp::Add, Prim::I64), vec![i.into(), Atom::i64(1)]);
            stms.push(statement(after.params[*value].var, Prim::I64, plus, k));
        }
        stms.extend(after.body.stms.iter().cloned());
        let body = Body { stms, results: after.body.results.clone() };
        Kernel { kind: KernelKind::Map(after.outs.clone()), body, ..k.clone() }
    }

    /// Takes checks out that hold for row numbers, and puts into the prologue what depends on the row only.
    fn hoist(&self, k: &mut Kernel, number: Var) {
        let mut hoist = Hoist {
            rows: self,
            number: number.into(),
            by_row: HashSet::from_iter([number, k.row]),
            bound: HashSet::from_iter([k.pos, k.innermost()]),
            holds: HashSet::default(),
            may_read: true,
            prologue: std::mem::take(&mut k.prologue),
        };
        hoist.body(&mut k.body, true);
        if let KernelKind::Scan { after: Some(after), .. } = &mut k.kind {
            hoist.bound.extend(after.params.iter().map(|p| p.var));
            hoist.body(&mut after.body, true);
        }
        k.prologue = hoist.prologue;
    }
}

fn statement(var: Var, prim: Prim, exp: Exp, k: &Kernel) -> ScalarStm {
    let span = k.body.stms.first().map(|s| s.span).unwrap_or_default();
    ScalarStm { pat: vec![Param { var, ty: Type::scalar(prim) }], exp, span }
}

/// The same sums without flags.
fn along_rows(k: &Kernel, op: &Lambda, neutral: &[Atom], segmented: &Segmented, after: &After) -> Kernel {
    let width = op.ret.len();
    let values = || segmented.values.iter();
    let left = values().map(|i| op.params[*i].clone());
    let params = left.chain(values().map(|i| op.params[width + i].clone())).collect();
    let results = segmented.sums.iter().map(|s| s.pat[0].var.into()).collect();
    let op = Lambda {
        params,
        body: Body { stms: segmented.sums.clone(), results },
        ret: values().map(|i| op.ret[*i].clone()).collect(),
        schedule: op.schedule,
    };
    let after = After { params: values().map(|i| after.params[*i].clone()).collect(), ..after.clone() };
    let body = Body { stms: k.body.stms.clone(), results: values().map(|i| k.body.results[*i]).collect() };
    let neutral = values().map(|i| neutral[*i]).collect();
    let kind = KernelKind::Scan { op, neutral, exclusive: false, after: Some(Box::new(after)) };
    Kernel { kind, body, ..k.clone() }
}

/// Moves what depends on the row only to where it is computed once per row.
struct Hoist<'r, 'v> {
    rows: &'r Rows<'v>,
    number: Atom,
    /// Scalars that depend on the row only.
    by_row: HashSet<Var>,
    /// Scalars of the kernel that do not.
    bound: HashSet<Var>,
    /// Flags that are set.
    holds: HashSet<Var>,
    /// No check has been passed: what an element reads, its row may read.
    may_read: bool,
    prologue: Vec<ScalarStm>,
}

impl Hoist<'_, '_> {
    /// `always`: the code runs for every element.
    fn body(&mut self, body: &mut Body, always: bool) {
        for mut stm in std::mem::take(&mut body.stms) {
            stm.exp.for_each_body_mut(|inner| self.body(inner, false));
            if let Some(select) = selection(&stm) {
                stm.exp = select;
            }
            if self.is_true(&stm) {
                self.holds.extend(stm.pat.iter().map(|p| p.var));
            }
            if matches!(&stm.exp, Exp::Check { cond, .. } if self.is_set(*cond)) {
                continue;
            }
            if self.may_hoist(&stm.exp, always) {
                self.by_row.extend(stm.pat.iter().map(|p| p.var));
                self.prologue.push(stm);
                continue;
            }
            self.may_read &= !stm.has_effect();
            self.bound.extend(stm.pat.iter().map(|p| p.var));
            body.stms.push(stm);
        }
    }

    fn is_set(&self, a: Atom) -> bool {
        a == Atom::bool(true) || a.var().is_some_and(|v| self.holds.contains(&v))
    }

    /// True if a statement binds a flag that is set because row numbers are what they are.
    fn is_true(&self, stm: &ScalarStm) -> bool {
        let Exp::Prim(op, xs) = &stm.exp else { return false };
        let (zero, k) = (Atom::i64(0), self.rows.k);
        match op {
            PrimOp::Cmp(CmpOp::Le, Prim::I64) => xs[..] == [zero, self.number],
            PrimOp::Cmp(CmpOp::Ge, Prim::I64) => xs[..] == [self.number, zero],
            PrimOp::Cmp(CmpOp::Lt, Prim::I64) => xs[..] == [self.number, k],
            PrimOp::Cmp(CmpOp::Gt, Prim::I64) => xs[..] == [k, self.number],
            PrimOp::Bin(BinOp::And, Prim::Bool) => xs.iter().all(|x| self.is_set(*x)),
            _ => false,
        }
    }

    fn may_hoist(&self, exp: &Exp, always: bool) -> bool {
        let depends_on_row = |a: &Atom| a.var().is_none_or(|v| !self.bound.contains(&v));
        match exp {
            Exp::Prim(op, xs) => is_total(*op, xs) && xs.iter().all(depends_on_row),
            Exp::Index(array, is) => {
                let is_there = is[0] == self.number && self.rows.by_row.contains(array);
                let own = self.rows.by_element.contains(array) || *array == self.rows.array;
                depends_on_row(&is[0]) && !own && (is_there || always && self.may_read)
            }
            _ => false,
        }
    }
}

/// The selection that a branch without statements is.
fn selection(stm: &ScalarStm) -> Option<Exp> {
    let Exp::If { cond, then, other } = &stm.exp else { return None };
    let ([p], [a], [b]) = (stm.pat.as_slice(), then.results.as_slice(), other.results.as_slice()) else {
        return None;
    };
    let empty = then.stms.is_empty() && other.stms.is_empty();
    empty.then(|| Exp::Prim(PrimOp::Select(p.ty.prim()), vec![*cond, *a, *b]))
}

/// True if an operator is defined for all operands like these.
fn is_total(op: PrimOp, xs: &[Atom]) -> bool {
    match op {
        op if op.divides() => xs[1].as_i64().is_some_and(|c| c > 0),
        PrimOp::Bin(BinOp::Pow, p) => p.is_float(),
        _ => true,
    }
}
