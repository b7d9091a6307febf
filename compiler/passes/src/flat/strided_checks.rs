//! Checks of indices that grow by the same number from position to position hold everywhere, if they hold at both ends.
//!
//! ```text
//! ys = kernel map over [n] \row pos {           ys = kernel map over [n] \row pos prologue {
//!     i = a + pos * w                               end = a + (n-1) * w
//!     ok = 0 <= i && i < m             ==>          all = 0 <= a && a < m && 0 <= end && end < m      (and no product wraps)
//!     check ok bounds                           } {
//!     in xs[i]                                      x = if all then { xs[a + pos*w] } else { …  check ok bounds  in xs[i] }
//! }                                                 in x
//! ```
//!
//! Indices with stride one are left alone: code generation finds the positions at which a comparison changes, and needs no second body.
//! The body is duplicated only if some index has another stride.

use super::walk;
use par_ir::access::{Access, Emit, Facts, Form, Symbol};
use par_ir::core::{self, Body, Exp};
use par_ir::cost::{Time, time};
use par_ir::effects::Effects;
use par_ir::flat::{Kernel, KernelKind, Out, Program};
use par_ir::hash::{HashMap, HashSet};
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::tuning;
use par_ir::ty::{Atom, Dim, Type, Var};
use par_ir::visit::{Code, Subst};
use par_ir::{Prim, Vars};
use std::collections::BTreeSet;

/// In every function of a program.
pub(crate) fn run(program: &mut Program) {
    walk::kernels(program, |k, facts, vars| {
        if let Some(found) = found(k, facts, vars) {
            apart(k, found, vars);
        }
    });
}

/// Checks of a body, by their places, that hold if `all` does, which the prologue computes.
struct Found {
    checks: HashSet<usize>,
    prologue: Vec<core::Stm>,
    all: Atom,
}

fn found(k: &Kernel, facts: &Facts, vars: &mut Vars) -> Option<Found> {
    let stores = |outs: &[Out]| outs.iter().all(|o| matches!(o, Out::Elem(_)));
    let fits = match &k.kind {
        KernelKind::Map(outs) => stores(outs),
        KernelKind::Reduce { .. } => true,
        _ => false,
    };
    let Dim::Size(count) = k.space.innermost() else { return None };
    results(&k.body)?;
    if !fits || !k.has_effect() || k.body.stms.len() > tuning::TWICE_STATEMENTS || calls(&k.body) {
        return None;
    }
    let access = Access::of(k, facts);
    let outer = k.index.split_last()?.1.iter().enumerate().map(|(d, v)| (Symbol::Index(d), Atom::Var(*v)));
    let of_row = k.prologue.iter().flat_map(|s| &s.pat).map(|p| (Symbol::Var(p.var), Atom::Var(p.var)));
    let names = outer.chain(of_row);
    let code = Emit {
        vars,
        divisions: &BTreeSet::new(),
        names: names.collect(),
        stms: vec![],
        span: k.body.stms.first()?.span,
    };
    let index = Symbol::Index(k.index.len() - 1);
    let mut ends = Ends { access: &access, index, count, code, all: vec![], known: vec![], strided: false };
    let checks = (0..k.body.stms.len()).filter(|i| ends.covers(&k.body, *i)).collect::<HashSet<_>>();
    if checks.is_empty() || !ends.strided {
        return None;
    }
    let all = ends.conjunction()?;
    Some(Found { checks, prologue: ends.code.stms, all })
}

/// True if a body calls functions: those of neighbouring positions are called together.
pub(crate) fn calls(body: &Body) -> bool {
    body.stms.iter().any(|s| {
        let call = match &s.exp {
            Exp::Prim(op, _) => time(*op) == Time::Call,
            Exp::Call(..) => true,
            _ => false,
        };
        call || s.exp.own_bodies().into_iter().any(calls)
    })
}

/// Tests at both ends of the innermost dimension.
struct Ends<'e> {
    access: &'e Access<'e>,
    index: Symbol,
    count: Atom,
    code: Emit<'e>,
    /// The tests that have to hold.
    all: Vec<Atom>,
    /// First and last value of the forms so far.
    known: Vec<(Form, [Atom; 2])>,
    /// Something grows by another number than one.
    strided: bool,
}

/// Numbers up to these have products and sums that do not wrap.
const FACTOR: i64 = 1 << 31;
const START: i64 = 1 << 62;

impl Ends<'_> {
    /// Adds the tests of a check, if that is one and they can be made.
    fn covers(&mut self, body: &Body, i: usize) -> bool {
        let Exp::Check { cond, .. } = &body.stms[i].exp else { return false };
        let before = (self.code.stms.len(), self.all.len(), self.known.len(), self.strided);
        let names = self.code.names.clone();
        let found = self.holds(&body.stms[..i], *cond).is_some();
        if !found {
            self.code.stms.truncate(before.0);
            self.all.truncate(before.1);
            self.known.truncate(before.2);
            (self.strided, self.code.names) = (before.3, names);
        }
        found
    }

    fn holds(&mut self, stms: &[core::Stm], cond: Atom) -> Option<()> {
        let made = stms.iter().find(|s| s.pat.first().is_some_and(|p| Atom::Var(p.var) == cond))?;
        match &made.exp {
            Exp::Prim(PrimOp::Bin(BinOp::And, Prim::Bool), xs) => {
                self.holds(stms, xs[0])?;
                self.holds(stms, xs[1])
            }
            Exp::Prim(PrimOp::Cmp(op, Prim::I64), xs) if !matches!(op, CmpOp::Eq | CmpOp::Ne) => {
                let (x, y) = (self.ends(xs[0])?, self.ends(xs[1])?);
                let tests = if x[0] == x[1] && y[0] == y[1] { 1 } else { 2 };
                for end in 0..tests {
                    self.require(*op, x[end], y[end]);
                }
                Some(())
            }
            _ => None,
        }
    }

    /// The first and the last value of an integer; both are between sums that do not wrap.
    fn ends(&mut self, a: Atom) -> Option<[Atom; 2]> {
        let form = self.access.form(a)?;
        if let Some((_, ends)) = self.known.iter().find(|(f, _)| *f == form) {
            return Some(*ends);
        }
        let (growth, start) = form.split(self.index)?;
        if !growth.is_zero() && self.access.needs(&start).contains(&self.index) {
            return None;
        }
        let first = self.access.emit(&start, &mut self.code)?;
        let mut last = first;
        if !growth.is_zero() {
            self.strided |= growth.as_constant().is_none_or(|n| n.unsigned_abs() != 1);
            let by = self.access.emit(&growth, &mut self.code)?;
            self.require(CmpOp::Le, Atom::i64(-FACTOR), by);
            self.require(CmpOp::Le, by, Atom::i64(FACTOR));
            self.require(CmpOp::Le, self.count, Atom::i64(FACTOR));
            self.require(CmpOp::Le, Atom::i64(-START), first);
            self.require(CmpOp::Le, first, Atom::i64(START));
            let steps = self.operator(PrimOp::Bin(BinOp::Sub, Prim::I64), vec![self.count, Atom::i64(1)]);
            let way = self.operator(PrimOp::Bin(BinOp::Mul, Prim::I64), vec![steps, by]);
            last = self.operator(PrimOp::Bin(BinOp::Add, Prim::I64), vec![first, way]);
        }
        self.known.push((form, [first, last]));
        Some([first, last])
    }

    fn require(&mut self, op: CmpOp, x: Atom, y: Atom) {
        if let (Some(x), Some(y), CmpOp::Le) = (x.as_i64(), y.as_i64(), op)
            && x <= y
        {
            return;
        }
        let holds = self.operator(PrimOp::Cmp(op, Prim::I64), vec![x, y]);
        if !self.all.contains(&holds) {
            self.all.push(holds);
        }
    }

    /// The result of an operator, computed once.
    fn operator(&mut self, op: PrimOp, xs: Vec<Atom>) -> Atom {
        let exp = Exp::Prim(op, xs);
        if let Some(made) = self.code.stms.iter().find(|s| s.exp == exp) {
            return made.pat[0].var.into();
        }
        let var = self.code.vars.fresh("end");
        let pat = vec![core::Param { var, ty: Type::scalar(op.result()) }];
        self.code.stms.push(core::Stm { pat, exp, span: self.code.span });
        var.into()
    }

    fn conjunction(&mut self) -> Option<Atom> {
        let all = std::mem::take(&mut self.all).into_iter();
        let mut and = |x, y| self.operator(PrimOp::Bin(BinOp::And, Prim::Bool), vec![x, y]);
        all.reduce(&mut and)
    }
}

/// The types of a body's results, if it computes them.
fn results(body: &Body) -> Option<Vec<Type>> {
    let made: HashMap<Var, &Type> = body.stms.iter().flat_map(|s| &s.pat).map(|p| (p.var, &p.ty)).collect();
    let ty = |a: &Atom| match a {
        Atom::Const(c) => Some(Type::scalar(c.prim())),
        Atom::Var(v) => made.get(v).copied().cloned(),
    };
    body.results.iter().map(ty).collect()
}

/// Gives a kernel a body without the checks, where they hold, besides its own.
fn apart(k: &mut Kernel, found: Found, vars: &mut Vars) {
    let span = k.body.stms[0].span;
    let other = std::mem::replace(&mut k.body, Body { stms: vec![], results: vec![] });
    let stms = other.stms.iter().enumerate().filter(|(i, _)| !found.checks.contains(i));
    let mut then = Body { stms: stms.map(|(_, s)| s.clone()).collect(), results: other.results.clone() };
    remove_unused(&mut then);
    let types = results(&other).expect("found in bodies whose results have types");
    let pat: Vec<core::Param> =
        types.into_iter().map(|ty| core::Param { var: vars.fresh("element"), ty }).collect();
    let then = then.refreshed_with(vars, &mut Subst::default());
    k.prologue.extend(found.prologue);
    k.body.results = pat.iter().map(|p| p.var.into()).collect();
    k.body.stms = vec![core::Stm { pat, exp: Exp::If { cond: found.all, then, other }, span }];
}

/// Removes statements that nothing uses and that have no effect.
fn remove_unused(body: &mut Body) {
    let mut used: HashSet<Var> = body.results.iter().filter_map(|a| a.var()).collect();
    let mut kept = Vec::new();
    for stm in std::mem::take(&mut body.stms).into_iter().rev() {
        if stm.has_effect() || stm.pat.iter().any(|p| used.contains(&p.var)) {
            used.extend(stm.free());
            kept.push(stm);
        }
    }
    kept.reverse();
    body.stms = kept;
}
