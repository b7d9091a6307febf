//! Maps over columns with row-major consumers become maps over rows.
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
use super::readers::{Finder, stores};
use super::size::in_matrix;
use crate::flat::bulk::reads;
use par_ir::Vars;
use par_ir::access::Facts;
use par_ir::build::{Host, Statements};
use par_ir::flat::{Block, Kernel, Op, Param, Space, Stm};
use par_ir::prim::BinOp;
use par_ir::ty::{Dim, Var};
use par_ir::visit::Code;

/// Exchanges the dimensions of such maps of a block.
pub(super) fn sweep(block: &mut Block, facts: &Facts, vars: &mut Vars) {
    // Each one may make others such maps: those that read it.
    while (0..block.stms.len()).any(|at| exchange(block, at, facts, vars)) {}
}

fn exchange(block: &mut Block, at: usize, facts: &Facts, vars: &mut Vars) -> bool {
    let stm = &block.stms[at];
    let Some(by) = by_column(stm, facts) else { return false };
    let (made, size) = (stm.pat.iter().map(|p| p.var).collect::<Vec<Var>>(), by.size());
    let Some(readers) = Finder::new(block, size, facts, vars).readers(at, &made) else { return false };
    let mut host = Host::new(stm, vars);
    let kernel = by_row(&by, &mut host);
    let pat: Vec<Param> =
        stm.pat.iter().map(|p| Param { var: host.vars.fresh_like(p.var), ty: p.ty }).collect();
    let arrays = stm.pat.iter().zip(&pat).map(|(a, b)| (a.var, b.var)).collect();
    host.bind(pat, Op::Kernel(Box::new(kernel)));
    let stms = host.stms;
    readers.redirect(block, &arrays, facts, vars);
    block.stms.splice(at..=at, stms);
    true
}

/// A map along columns.
fn by_column<'k>(stm: &'k Stm, facts: &Facts) -> Option<ByColumn<'k>> {
    let Op::Kernel(kernel) = &stm.op else { return None };
    ByColumn::of(kernel, facts).filter(|_| stores(kernel))
}

fn by_row(by: &ByColumn, host: &mut Host) -> Kernel {
    let Kernel { kind, body, prologue, .. } = by.kernel;
    let size = by.size();
    let rows = size.rows(host);
    let vars = &mut *host.vars;
    let [row, column, pos] = ["row", "column", "pos"].map(|name| vars.fresh(name));
    let mut code = Statements::new(host.like.span);
    let start = code.arith("start", BinOp::Mul, row.into(), by.columns, vars);
    let (matrix, i) = in_matrix(&mut code, size.count.is_some(), (row.into(), by.length), vars);
    let in_row = std::mem::take(&mut code.stms);
    let number = code.arith("column", BinOp::Sub, pos.into(), start, vars);
    let mut names = by.names(&mut code, matrix, number, vars);
    names.extend(by.elements.iter().map(|v| (*v, i)));
    for stms in [prologue, &body.stms] {
        code.stms.extend(by.without_renamed(stms).substituted(&names));
    }
    let body = code.results(body.results.iter().map(|x| x.substituted(&names)).collect());
    let space = Space::rows(rows, Dim::Size(by.columns));
    let index = vec![row, column];
    let mut kernel = Kernel { kind: kind.clone(), space, index, row, pos, prologue: in_row, body };
    reads::simplify(&mut kernel);
    kernel.refreshed(vars)
}
