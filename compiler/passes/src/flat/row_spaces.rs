//! A flat space in which positions are divided by the length of rows is a space of rows.
//!
//! ```text
//! n = rows * m
//! ys = kernel map over [n] \row pos {
//!     i = pos quot m                     ==>   ys = kernel map over [rows] [m] \row pos j { f row j }
//!     j = pos rem m
//!     in f i j }
//! ```
//!
//! A division takes longer than all else that is done for most elements. What is stored by position, scattered or put into a histogram comes out the
//! same; a reduction or a scan would not.

use super::walk;
use crate::flat::bulk::reads;
use par_ir::Vars;
use par_ir::access::{Access, Axes, Extent, Facts, Symbol};
use par_ir::core::{self, Exp};
use par_ir::flat::{Kernel, KernelKind, Out, Program, Space};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::ty::{Atom, Dim, Type};
use par_runtime::Prim;

/// In every function of a program.
pub(crate) fn run(program: &mut Program) {
    walk::kernels(program, by_rows);
}

/// Makes rows of a kernel's space, if it finds them by division.
fn by_rows(k: &mut Kernel, facts: &Facts, vars: &mut Vars) {
    let Some(n) = k.space.as_flat() else { return };
    let by_element = match &k.kind {
        KernelKind::Map(outs) => outs.iter().all(|o| !matches!(o, Out::Own { .. })),
        KernelKind::Hist { .. } => true,
        _ => false,
    };
    let Some([a, b]) = facts.factors(n).filter(|_| by_element) else { return };
    let divides = |s: &core::Stm| matches!(&s.exp, Exp::Prim(op, _) if op.divides());
    let fits = |(rows, m): &(Atom, Atom)| {
        let indices = indices(k, *rows, *m, facts);
        let worth = k.body.stms.iter().zip(&indices).any(|(s, i)| divides(s) && i.is_some());
        (worth && facts.is_size(*rows) && m.var().is_some()).then_some((*rows, *m, indices))
    };
    let Some((rows, m, indices)) = [(a, b), (b, a)].iter().find_map(fits) else { return };
    let (i, start) = (vars.fresh("i"), vars.fresh("start"));
    for (stm, index) in k.body.stms.iter_mut().zip(indices) {
        match index {
            Some(Symbol::Index(0)) => stm.exp = Exp::Atom(k.row.into()),
            Some(Symbol::Index(_)) => stm.exp = Exp::Atom(i.into()),
            _ => {}
        }
    }
    // Where the row starts, if the body computes that.
    let pat = vec![core::Param { var: start, ty: Type::I64 }];
    let exp = Exp::Prim(PrimOp::Bin(BinOp::Mul, Prim::I64), vec![k.row.into(), m]);
    k.prologue.push(core::Stm { pat, exp, span: k.body.stms[0].span });
    (k.space, k.index) = (Space::rows(rows, Dim::Size(m)), vec![k.row, i]);
    reads::simplify(k);
}

/// For every statement of a kernel: which index in a space of rows it computes, if it is one.
fn indices(k: &Kernel, rows: Atom, m: Atom, facts: &Facts) -> Vec<Option<Symbol>> {
    let axes = Axes::new(vec![Extent::Size(facts.form(rows)), Extent::Size(facts.form(m))], 0);
    let access = Access::within(axes, k, facts);
    let index = |stm: &core::Stm| match &stm.exp {
        Exp::Prim(..) => access.form(stm.pat[0].var.into())?.as_symbol(),
        _ => None,
    };
    k.body.stms.iter().map(|s| index(s).filter(|s| matches!(s, Symbol::Index(_)))).collect()
}
