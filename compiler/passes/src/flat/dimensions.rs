//! Interchange of the dimensions of maps whose loops read rows that depend on the inner dimension only, and reductions like that.
//!
//! ```text
//! r = kernel map over [n] [m] \i pos j {                t = kernel map over [m] [n] \j pos i { … the same }
//!     let x = xs[i]                                     r = kernel map over [n] [m] \i pos j { t[j*n + i] }
//!     loop s = 0 for k < p do f s x (a[j*p + k])   ==>
//! }
//! ```
//!
//! Neighbouring positions read elements that are `p` apart, and in the other order the same one, which lanes share. The copy at the end is a transposition.
//! A reduction over `[n] [m] [p]` becomes a map with such loops, if its rows are short. It pays from a number of rows on, so the host chooses.

use super::walk;
use par_ir::access::{Access, Facts, Form, Level, Symbol};
use par_ir::build::{Host, Statements};
use par_ir::core::{Body, Exp, Param};
use par_ir::effects::Effects;
use par_ir::flat::{self, Kernel, KernelKind, Op, Out, Program, Space, Stm, Ty, VersionChoice};
use par_ir::loops::Loop;
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::ty::{Atom, Dim, Type};
use par_ir::visit::{Code, Subst};
use par_ir::{Prim, Span, Vars, tuning};

/// In every function of a program.
pub(crate) fn run(program: &mut Program) {
    walk::replace(program, |stm, facts, vars| Some(Interchange::of(stm, facts)?.versions(stm, vars)));
}

/// A kernel that is to have the other order of its two outer dimensions.
struct Interchange<'k> {
    kernel: &'k Kernel,
    /// Sizes of the two dimensions.
    sizes: [Atom; 2],
    /// Elements of a row that is reduced.
    length: Option<Atom>,
    prims: Vec<Prim>,
}

impl<'k> Interchange<'k> {
    fn of(stm: &'k Stm, facts: &Facts) -> Option<Interchange<'k>> {
        let Op::Kernel(kernel) = &stm.op else { return None };
        let size = |d: &Dim| if let Dim::Size(n) = d { Some(*n) } else { None };
        let sizes: Vec<Atom> = kernel.space.0.iter().map(size).collect::<Option<_>>()?;
        let (sizes, length) = match (&kernel.kind, &sizes[..]) {
            (KernelKind::Map(outs), &[n, m]) if outs.iter().all(|o| matches!(o, Out::Elem(_))) => {
                ([n, m], None)
            }
            (KernelKind::Reduce { neutral, .. }, &[n, m, p]) if neutral.len() == stm.pat.len() => {
                ([n, m], Some(p))
            }
            _ => return None,
        };
        let array = |p: &flat::Param| if let Ty::Array(prim) = p.ty { Some(prim) } else { None };
        let prims = stm.pat.iter().map(array).collect::<Option<_>>()?;
        let is_long = |p: Atom| p.as_i64().is_some_and(|p| p > tuning::INTERCHANGED_ROW);
        let pays = !length.is_some_and(is_long) && !kernel.has_effect() && is_better(kernel, facts);
        pays.then_some(Interchange { kernel, sizes, length, prims })
    }

    /// Both versions, and the choice between them.
    fn versions(&self, stm: &Stm, vars: &mut Vars) -> Vec<Stm> {
        let mut host = Host::new(stm, vars);
        let many = host.compare("many", CmpOp::Le, Atom::i64(tuning::INTERCHANGED), self.sizes[0]);
        let cond = match self.length {
            Some(p) if p.as_i64().is_none() => {
                let short = host.compare("short", CmpOp::Le, p, Atom::i64(tuning::INTERCHANGED_ROW));
                host.prim("short", PrimOp::Bin(BinOp::And, Prim::Bool), vec![many, short])
            }
            _ => many,
        };
        let fresh = |host: &mut Host| -> Vec<flat::Param> {
            stm.pat.iter().map(|p| flat::Param { var: host.vars.fresh_like(p.var), ty: p.ty }).collect()
        };
        let results = |pat: &[flat::Param]| pat.iter().map(|p| Atom::Var(p.var)).collect::<Vec<_>>();
        let then = host.block(|host| {
            let (other, all) = (fresh(host), fresh(host));
            let kernel = self.interchanged(stm.span, host.vars);
            host.bind(other.clone(), Op::Kernel(Box::new(kernel)));
            for ((from, to), prim) in other.iter().zip(&all).zip(&self.prims) {
                let kernel = self.transposition(from, *prim, stm.span, host.vars);
                host.bind(vec![*to], Op::Kernel(Box::new(kernel)));
            }
            results(&all)
        });
        let other = host.block(|host| {
            let same = fresh(host);
            host.bind(same.clone(), stm.op.clone());
            results(&same)
        });
        let versions = Some(VersionChoice::Dimensions { least: tuning::INTERCHANGED });
        host.bind(stm.pat.clone(), Op::If { cond, versions, then, other });
        host.stms
    }

    /// The map over the second dimension, and over the first one inside.
    fn interchanged(&self, span: Span, vars: &mut Vars) -> Kernel {
        let (k, [n, m]) = (self.kernel, self.sizes);
        let [row, pos, inner] = ["j", "pos", "i"].map(|name| vars.fresh(name));
        let mut code = Statements::new(span);
        let start = code.arith("start", BinOp::Mul, inner.into(), m, vars);
        let number = code.arith("number", BinOp::Add, start, row.into(), vars);
        let mut names = Subst::from_iter([(k.index[0], inner.into()), (k.index[1], row.into())]);
        let in_row = if self.length.is_some() { k.row } else { k.pos };
        names.insert(in_row, number);
        code.stms.extend(k.prologue.refreshed_with(vars, &mut names));
        let results = match (self.length, &k.kind) {
            (Some(p), KernelKind::Reduce { op, neutral }) => {
                let mut each = Loop::new(span, vars);
                let first = each.code.arith("first", BinOp::Mul, number, p, vars);
                let at = each.code.arith("at", BinOp::Add, first, each.index.into(), vars);
                names.extend([(k.index[2], each.index.into()), (k.pos, at)]);
                let body = k.body.refreshed_with(vars, &mut names);
                let op = op.refreshed(vars);
                each.code.stms.extend(body.stms);
                each.fold(&op, neutral);
                each.combine(op.clone(), &body.results);
                let pat: Vec<Param> = each.state.iter().map(|(p, _)| p.fresh(vars)).collect();
                let results = pat.iter().map(|p| p.var.into()).collect();
                code.stms.push(each.finish(p, pat, op.body.results.clone()));
                results
            }
            _ => {
                let body = k.body.refreshed_with(vars, &mut names);
                code.stms.extend(body.stms);
                body.results
            }
        };
        let kind = KernelKind::Map(self.prims.iter().map(|p| Out::Elem(*p)).collect());
        let (space, index) = (Space::rows(m, Dim::Size(n)), vec![row, inner]);
        Kernel { kind, space, index, row, pos, prologue: vec![], body: code.results(results) }
    }

    /// The copy of an array of the other order.
    fn transposition(&self, from: &flat::Param, prim: Prim, span: Span, vars: &mut Vars) -> Kernel {
        let [n, m] = self.sizes;
        let [row, pos, inner] = ["i", "pos", "j"].map(|name| vars.fresh(name));
        let mut code = Statements::new(span);
        let start = code.arith("start", BinOp::Mul, inner.into(), n, vars);
        let at = code.arith("at", BinOp::Add, start, row.into(), vars);
        let x = code.value("x", Type::scalar(prim), Exp::Index(from.var, vec![at]), vars);
        let (kind, space) = (KernelKind::Map(vec![Out::Elem(prim)]), Space::rows(n, Dim::Size(m)));
        let body: Body = code.results(vec![x.into()]);
        Kernel { kind, space, index: vec![row, inner], row, pos, prologue: vec![], body }
    }
}

/// True if elements that are read again and again are apart for neighbours in the second dimension, and none of them for neighbours in the first one.
fn is_better(kernel: &Kernel, facts: &Facts) -> bool {
    let has_loop = kernel.body.stms.iter().any(|s| matches!(s.exp, Exp::Loop { .. }));
    let dims = kernel.index.len();
    if dims == 2 && !has_loop {
        return false;
    }
    let access = Access::of(kernel, facts);
    let is_repeated = |f: &Form| match dims {
        2 => matches!(access.level(f), Level::Inside(_)),
        _ => access.varies(f, 2),
    };
    let repeated: Vec<&Form> = access.reads().map(|r| &r.index).filter(|f| is_repeated(f)).collect();
    let is_near = |f: &Form, dim: usize| {
        let Some((growth, rest)) = f.split(Symbol::Index(dim)) else { return false };
        growth.as_constant().is_some_and(|n| n.unsigned_abs() <= 1) && !access.varies(&rest, dim)
    };
    let is_apart =
        |f: &Form| f.split(Symbol::Index(1)).is_some_and(|(growth, _)| !growth.is_zero()) && !is_near(f, 1);
    repeated.iter().any(|f| is_apart(f)) && repeated.iter().all(|f| is_near(f, 0))
}
