//! Recognition of the elements that an iteration appends, with their rows, and removal of the appends.

use par_ir::core::{Body, Exp, Param, Stm};
use par_ir::effects::Effects;
use par_ir::hash::{HashMap, HashSet};
use par_ir::prim::{CmpOp, PrimOp};
use par_ir::stack::deeper;
use par_ir::visit::Code;
use par_ir::{Atom, Prim, Span, Type, Var, Vars};

/// An element that is appended to a row; to none if the row is negative.
#[derive(Clone)]
pub(super) struct Appended {
    pub row: Atom,
    /// Its components, one for each array.
    pub values: Vec<Atom>,
}

/// A body without the versions of the arrays that it makes.
pub(super) struct Stripped {
    /// Its other results are left.
    pub body: Body,
    /// The version that it begins with: the descriptor, then the arrays.
    pub start: Vec<Var>,
    /// In order.
    pub appended: Vec<Appended>,
    /// Some elements may be appended to no row.
    pub is_conditional: bool,
}

/// Recognition of the versions of some arrays.
pub(super) struct Chain<'a> {
    /// The expressions that variables of the loop are bound to.
    pub defs: &'a HashMap<Var, Exp>,
    /// The types of the arrays' elements.
    pub prims: &'a [Prim],
    pub vars: &'a mut Vars,
    /// All versions.
    pub versions: Vec<Var>,
    /// Source place of an append.
    pub span: Span,
}

impl Chain<'_> {
    /// A body without the versions that its results at these places go back to.
    pub fn stripped(&mut self, body: &Body, at: &[usize]) -> Option<Stripped> {
        let mut version: Vec<Var> = at.iter().map(|k| body.results[*k].var()).collect::<Option<_>>()?;
        let mut stms = body.stms.clone();
        let mut groups: Vec<Vec<Appended>> = Vec::new();
        let mut is_conditional = false;
        while let Some(k) = stms.iter().position(|s| s.pat.iter().any(|p| version.contains(&p.var))) {
            self.versions.extend(&version);
            let place = |v: &Var| stms[k].pat.iter().position(|p| p.var == *v);
            let places: Vec<usize> = version.iter().map(place).collect::<Option<_>>()?;
            match &stms[k].exp {
                Exp::Map { .. } => {
                    let (before, appended) = self.append(&stms[k], &places)?;
                    self.span = stms.remove(k).span;
                    groups.push(appended);
                    version = before;
                }
                Exp::If { .. } => {
                    let (branch, before, appended, either) = self.branch(&stms[k], &places)?;
                    stms[k] = branch;
                    groups.push(appended);
                    version = before;
                    is_conditional |= either;
                }
                _ => return None,
            }
        }
        let appended: Vec<Appended> = groups.into_iter().rev().flatten().collect();
        let results = without(&body.results, at);
        let used = results.iter().chain(appended.iter().flat_map(Appended::atoms));
        let stms = live(stms, used.copied().collect());
        Some(Stripped { body: Body { stms, results }, start: version, appended, is_conditional })
    }

    /// The version before a map that replaces one row by a longer one, and what is appended.
    fn append(&self, stm: &Stm, places: &[usize]) -> Option<(Vec<Var>, Vec<Appended>)> {
        let Exp::Map { inputs, lam, .. } = &stm.exp else { return None };
        let ([input], [x], [test, choice]) = (&inputs[..], &lam.params[..], &lam.body.stms[..]) else {
            return None;
        };
        let is_result = |(p, r): (&Param, &Atom)| Atom::Var(p.var) == *r;
        let Exp::If { cond, then, other } = &choice.exp else { return None };
        let fits = matches!(self.defs.get(input), Some(Exp::Iota(_)))
            && *cond == Atom::Var(test.pat[0].var)
            && choice.pat.len() == places.len()
            && choice.pat.iter().zip(&lam.body.results).all(is_result)
            && then.stms.is_empty();
        let Exp::Prim(PrimOp::Cmp(CmpOp::Eq, Prim::I64), xs) = &test.exp else { return None };
        let row = *xs.iter().find(|a| **a != x.var.into())?;
        if !fits || !xs.contains(&x.var.into()) {
            return None;
        }
        let read = |r: &Atom| {
            let stm = other.stms.iter().find(|s| Some(s.pat[0].var) == r.var())?;
            matches!(&stm.exp, Exp::Index(_, at) if at[..] == [x.var.into()]).then_some(&stm.exp)
        };
        let mut before = Vec::new();
        for k in places {
            let Exp::Index(array, _) = read(&other.results[*k])? else { return None };
            before.push(*array);
        }
        let mut columns = Vec::new();
        for (k, array) in places.iter().zip(&before).skip(1) {
            let Exp::Concat(parts) = self.defs.get(&then.results[*k].var()?)? else { return None };
            let [old, new] = parts[..] else { return None };
            let (Exp::Index(of, at), Exp::Literal(elements, _)) =
                (self.defs.get(&old)?, self.defs.get(&new)?)
            else {
                return None;
            };
            if of != array || at[..] != [row] {
                return None;
            }
            columns.push(elements);
        }
        let count = columns.first()?.len();
        let is_even = columns.iter().all(|c| c.len() == count);
        let element = |i: usize| Appended { row, values: columns.iter().map(|c| c[i]).collect() };
        is_even.then(|| (before, (0..count).map(element).collect()))
    }

    /// A branch without the versions, the version before it, and what its arms append; true if that is not the same number of elements.
    fn branch(&mut self, stm: &Stm, places: &[usize]) -> Option<(Stm, Vec<Var>, Vec<Appended>, bool)> {
        let Exp::If { cond, then, other } = &stm.exp else { return None };
        let [a, b] = [then, other].map(|arm| deeper(|| self.stripped(arm, places)));
        let (a, b) = (a?, b?);
        if a.start != b.start {
            return None;
        }
        let start = a.start.clone();
        let count = a.appended.len().max(b.appended.len());
        let is_conditional = a.is_conditional || b.is_conditional || a.appended.len() != b.appended.len();
        let mut pat = without(&stm.pat, places);
        let mut appended = Vec::new();
        for _ in 0..count {
            let row = Param { var: self.vars.fresh("row"), ty: Type::I64 };
            let value = |p: &Prim| Param { var: self.vars.fresh("value"), ty: Type::scalar(*p) };
            let values: Vec<Param> = self.prims.iter().map(value).collect();
            appended.push(Appended {
                row: row.var.into(),
                values: values.iter().map(|p| p.var.into()).collect(),
            });
            pat.push(row);
            pat.extend(values);
        }
        let arm = |Stripped { mut body, appended, .. }: Stripped| {
            let nothing = Appended::nothing(self.prims);
            let all = appended.into_iter().chain(std::iter::repeat(nothing)).take(count);
            all.for_each(|a| body.results.extend(a.atoms().copied()));
            body
        };
        let exp = Exp::If { cond: *cond, then: arm(a), other: arm(b) };
        Some((Stm { pat, exp, span: stm.span }, start, appended, is_conditional))
    }
}

impl Appended {
    /// Nothing.
    fn nothing(prims: &[Prim]) -> Appended {
        let zero = |p: &Prim| Atom::Const(par_ir::Scalar::zero(*p));
        Appended { row: Atom::i64(-1), values: prims.iter().map(zero).collect() }
    }

    /// The row and the components.
    fn atoms(&self) -> impl Iterator<Item = &Atom> {
        std::iter::once(&self.row).chain(&self.values)
    }
}

/// The elements at other places.
fn without<T: Clone>(all: &[T], places: &[usize]) -> Vec<T> {
    all.iter().enumerate().filter(|(k, _)| !places.contains(k)).map(|(_, x)| x.clone()).collect()
}

/// The statements that have effects or that these atoms need.
fn live(stms: Vec<Stm>, used: Vec<Atom>) -> Vec<Stm> {
    let mut live: HashSet<Var> = used.iter().filter_map(|a| a.var()).collect();
    let mut left: Vec<Stm> = Vec::new();
    for stm in stms.into_iter().rev() {
        if stm.has_effect() || stm.pat.iter().any(|p| live.contains(&p.var)) {
            stm.for_each_used(&mut |v| _ = live.insert(v));
            left.push(stm);
        }
    }
    left.reverse();
    left
}
