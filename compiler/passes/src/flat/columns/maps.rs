//! Maps over columns whose results are read by rows go over rows.
//!
//! ```text
//! ys = kernel map over rows m [n] {                       ys = kernel map over rows n [m] {
//!     let i = pos - row*n                                     let c = pos - row*m
//!     in xs[i*m + row] - mean[row] }              ==>         in xs[row*m + c] - mean[c] }
//! t = kernel map over rows n [m] {                        t = ys
//!     let c = pos - row*m
//!     in ys[c*n + row] }
//! ```

use super::ByColumn;
use super::readers::Readers;
use crate::flat::bulk::reads;
use par_ir::Vars;
use par_ir::access::Facts;
use par_ir::build::Statements;
use par_ir::flat::{Block, Kernel, KernelKind, Op, Out, Param, Space, Stm};
use par_ir::prim::BinOp;
use par_ir::ty::{Atom, Dim, Var};
use par_ir::visit::{Code, Subst};

/// Exchanges the dimensions of such maps of a block.
pub(super) fn sweep(block: &mut Block, facts: &Facts, vars: &mut Vars) {
    // Each one may make others such maps: those that read it.
    while (0..block.stms.len()).any(|at| exchange(block, at, facts, vars)) {}
}

fn exchange(block: &mut Block, at: usize, facts: &Facts, vars: &mut Vars) -> bool {
    let stm = &block.stms[at];
    let Some(by) = by_column(stm, facts) else { return false };
    let (made, size) = (stm.pat.iter().map(|p| p.var).collect::<Vec<Var>>(), (by.columns, by.length));
    let Some(readers) = Readers::of(block, at, &made, size, facts, vars) else { return false };
    let by_row = by_row(stm, &by, vars);
    let arrays = stm.pat.iter().zip(&by_row.pat).map(|(a, b)| (a.var, b.var)).collect();
    block.stms[at] = by_row;
    readers.redirect(block, &arrays, facts, vars);
    true
}

/// A map along the columns of one matrix, which does no more in a row than to read.
fn by_column<'k>(stm: &'k Stm, facts: &Facts) -> Option<ByColumn<'k>> {
    let Op::Kernel(kernel) = &stm.op else { return None };
    let KernelKind::Map(outs) = &kernel.kind else { return None };
    let stores = outs.iter().all(|o| matches!(o, Out::Elem(_)));
    ByColumn::of(kernel, facts).filter(|by| stores && by.groups.is_none())
}

fn by_row(stm: &Stm, by: &ByColumn, vars: &mut Vars) -> Stm {
    let Kernel { kind, body, prologue, row, .. } = by.kernel;
    let [i, column, pos] = ["row", "column", "pos"].map(|name| vars.fresh(name));
    let mut code = Statements::new(stm.span);
    let start = code.arith("start", BinOp::Mul, i.into(), by.columns, vars);
    let in_row = std::mem::take(&mut code.stms);
    let number = code.arith("column", BinOp::Sub, pos.into(), start, vars);
    let mut names = Subst::from([(*row, number)]);
    names.extend(by.elements.iter().map(|v| (*v, Atom::Var(i))));
    for stms in [prologue, &body.stms] {
        code.stms.extend(by.without_renamed(stms).substituted(&names));
    }
    let body = code.results(body.results.iter().map(|x| x.substituted(&names)).collect());
    let space = Space::rows(by.length, Dim::Size(by.columns));
    let index = vec![i, column];
    let mut kernel = Kernel { kind: kind.clone(), space, index, row: i, pos, prologue: in_row, body };
    reads::simplify(&mut kernel);
    let kernel = kernel.refreshed(vars);
    let pat = stm.pat.iter().map(|p| Param { var: vars.fresh_like(p.var), ty: p.ty }).collect();
    Stm { pat, op: Op::Kernel(Box::new(kernel)), ..stm.clone() }
}
