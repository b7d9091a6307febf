//! Reductions along columns, a block of rows at a time.
//!
//! ```text
//! s = kernel reduce (+) over rows m [n] {        b = (n + 255) quot 256
//!     let i = pos - row*n                        p = kernel map over rows b [m] {
//!     in xs[i*m + row] }                             let r = pos - row*m
//!                                                    in loop (acc = 0) for k < min(256, n - row*256) do
//!                                                       acc + xs[(row*256 + k)*m + r] }
//!                                          ==>   s = if b = 1 then p else
//!                                                    kernel reduce (+) over rows m [b] { p[(pos - row*b)*m + row] }
//! ```
//!
//! So it is with the columns of many matrices, of which there are as many as there are groups of `m` rows: `r = pos - row*m` is the column
//! and `p = row - b*groups` its group.
//!
//! The blocks depend on sizes only, so the order in which elements are combined does too.

use super::ByColumn;
use par_ir::Vars;
use par_ir::access::Facts;
use par_ir::build::{Host, Statements};
use par_ir::core::{self, Exp, Lambda};
use par_ir::flat::{Block, Kernel, KernelKind, Op, Out, Param, Space, Stm, Ty, VersionChoice};
use par_ir::loops::Loop;
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::tuning;
use par_ir::ty::{Atom, Dim, Type, Var};
use par_ir::visit::Code;
use par_runtime::{Prim, Span};

/// Replaces reductions of a block.
pub(super) fn sweep(block: &mut Block, facts: &Facts, vars: &mut Vars) {
    let mut stms = Vec::with_capacity(block.stms.len());
    for stm in std::mem::take(&mut block.stms) {
        match Reduction::of(&stm, facts) {
            Some(reduction) => reduction.in_blocks(&stm, &mut stms, vars),
            None => stms.push(stm),
        }
    }
    block.stms = stms;
}

/// A reduction along columns.
struct Reduction<'k> {
    by: ByColumn<'k>,
    op: &'k Lambda,
    neutral: &'k [Atom],
}

impl<'k> Reduction<'k> {
    fn of(stm: &'k Stm, facts: &Facts) -> Option<Reduction<'k>> {
        let Op::Kernel(kernel) = &stm.op else { return None };
        let KernelKind::Reduce { op, neutral } = &kernel.kind else { return None };
        let is_plain = stm.pat.len() == neutral.len();
        let by = is_plain.then(|| ByColumn::of(kernel, facts)).flatten()?;
        Some(Reduction { by, op, neutral })
    }

    /// The statements in place of a reduction.
    fn in_blocks(&self, stm: &Stm, out: &mut Vec<Stm>, vars: &mut Vars) {
        let mut host = Host::new(stm, vars);
        let more = host.arith("n", BinOp::Add, self.by.length, Atom::i64(tuning::COLUMN_BLOCK - 1));
        let blocks = host.arith("blocks", BinOp::Quot, more, Atom::i64(tuning::COLUMN_BLOCK));
        let one = host.compare("one", CmpOp::Eq, blocks, Atom::i64(1));
        let parts: Vec<Param> =
            stm.pat.iter().map(|p| Param { var: host.vars.fresh_like(p.var), ty: p.ty }).collect();
        let rows = match &self.by.groups {
            Some(g) => host.arith("rows", BinOp::Mul, blocks, g.count),
            None => blocks,
        };
        let of_blocks = self.of_blocks(rows, stm.span, host.vars);
        host.bind(parts.clone(), Op::Kernel(Box::new(of_blocks)));

        let sums: Vec<Param> =
            stm.pat.iter().map(|p| Param { var: host.vars.fresh_like(p.var), ty: p.ty }).collect();
        let of_parts = self.of_parts(blocks, &parts, stm.span, host.vars);
        let results = |of: &[Param]| of.iter().map(|p| Atom::Var(p.var)).collect();
        let then = Block { stms: vec![], results: results(&parts) };
        let combined = Stm { pat: sums.clone(), op: Op::Kernel(Box::new(of_parts)), ..stm.clone() };
        let other = Block { stms: vec![combined], results: results(&sums) };
        let versions = Some(VersionChoice::Columns { block: tuning::COLUMN_BLOCK });
        host.bind(stm.pat.clone(), Op::If { cond: one, versions, then, other });
        out.append(&mut host.stms);
    }

    /// Combines the elements of a block of every column.
    fn of_blocks(&self, rows: Atom, span: Span, vars: &mut Vars) -> Kernel {
        let (row, pos) = (vars.fresh("block"), vars.fresh("pos"));
        let column = vars.fresh("column");
        let mut code = Statements::new(span);
        let (block, matrix) = self.block_and_matrix(&mut code, row, vars);
        let lo = code.arith("lo", BinOp::Mul, block, Atom::i64(tuning::COLUMN_BLOCK), vars);
        let left = code.arith("left", BinOp::Sub, self.by.length, lo, vars);
        let count = code.arith("count", BinOp::Min, left, Atom::i64(tuning::COLUMN_BLOCK), vars);
        let start = code.arith("start", BinOp::Mul, row.into(), self.by.columns, vars);
        let prologue = std::mem::take(&mut code.stms);

        let difference = Exp::Prim(PrimOp::Bin(BinOp::Sub, Prim::I64), vec![pos.into(), start]);
        code.bind(vec![core::Param { var: column, ty: Type::I64 }], difference);
        let renamed = self.by.names(&mut code, matrix, column.into(), vars);
        code.stms.extend(self.by.without_renamed(&self.by.kernel.prologue).substituted(&renamed));

        let mut each = Loop::new(span, vars);
        let element = each.code.arith("i", BinOp::Add, lo, each.index.into(), vars);
        let mut renamed = renamed;
        renamed.extend(self.by.elements.iter().map(|v| (*v, element)));
        each.code.stms.extend(self.by.without_renamed(&self.by.kernel.body.stms).substituted(&renamed));
        each.fold(self.op, self.neutral);
        let values: Vec<Atom> = self.by.kernel.body.results.iter().map(|x| x.substituted(&renamed)).collect();
        each.combine(self.op.clone(), &values);
        let pat: Vec<core::Param> = each.state.iter().map(|(p, _)| p.fresh(vars)).collect();
        let results = pat.iter().map(|p| p.var.into()).collect();
        code.stms.push(each.finish(count, pat, self.op.body.results.clone()));
        let outs = self.op.ret.iter().map(|t| Out::Elem(t.prim())).collect();
        let space = Space::rows(rows, Dim::Size(self.by.columns));
        let index = vec![row, vars.fresh("i")];
        let body = code.results(results);
        let mut kernel = Kernel { kind: KernelKind::Map(outs), space, index, row, pos, prologue, body };
        crate::flat::bulk::reads::simplify(&mut kernel);
        kernel
    }

    /// The numbers of the block and of the matrix.
    fn block_and_matrix(&self, code: &mut Statements, row: Var, vars: &mut Vars) -> (Atom, Option<Atom>) {
        let Some(groups) = &self.by.groups else { return (row.into(), None) };
        let block = code.arith("block", BinOp::Quot, row.into(), groups.count, vars);
        let before = code.arith("before", BinOp::Mul, block, groups.count, vars);
        (block, Some(code.arith("matrix", BinOp::Sub, row.into(), before, vars)))
    }

    /// Combines what the blocks of every column result in.
    fn of_parts(&self, blocks: Atom, parts: &[Param], span: Span, vars: &mut Vars) -> Kernel {
        let (row, pos) = (vars.fresh("column"), vars.fresh("pos"));
        let mut code = Statements::new(span);
        let first = code.arith("first", BinOp::Mul, row.into(), blocks, vars);
        let prologue = std::mem::take(&mut code.stms);
        let block = code.arith("block", BinOp::Sub, pos.into(), first, vars);
        let start = code.arith("start", BinOp::Mul, block, self.by.all, vars);
        let at = code.arith("at", BinOp::Add, start, row.into(), vars);
        let mut results = Vec::new();
        for p in parts {
            let Ty::Array(prim) = p.ty else { unreachable!("reductions make arrays") };
            let part = core::Param { var: vars.fresh_like(p.var), ty: Type::scalar(prim) };
            results.push(part.var.into());
            code.index(part, p.var, vec![at]);
        }
        let kind = KernelKind::Reduce { op: self.op.refreshed(vars), neutral: self.neutral.to_vec() };
        let space = Space::rows(self.by.all, Dim::Size(blocks));
        let index = vec![row, vars.fresh("i")];
        Kernel { kind, space, index, row, pos, prologue, body: code.results(results) }
    }
}
