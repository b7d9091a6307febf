//! Reductions along the columns of ragged matrices: neighbouring columns are vectors.
//!
//! ```text
//! s = kernel reduce (+) over rows p * m [~d] {            s = kernel map over rows p [m] {
//!     let q = row quot m                                      let c = pos - row*m
//!     let i = pos - offsets d [row]                           loop (acc = 0) for i < offsets d [pos + 1] - offsets d [pos] do
//!     in a[q] * xs[(start[q] + i)*m + row - q*m] }   ==>          acc + a[row] * xs[(start[row] + i)*m + c] }
//! ```
//!
//! Products of ragged matrices under a map are such reductions. Lanes along a column would gather.

use super::ByColumn;
use par_ir::Vars;
use par_ir::access::Facts;
use par_ir::build::{Host, Statements};
use par_ir::core;
use par_ir::flat::{Block, Kernel, KernelKind, Op, Out, Space, Stm, Ty};
use par_ir::hash::HashSet;
use par_ir::loops::Loop;
use par_ir::prim::BinOp;
use par_ir::ty::{Atom, Dim, Type, Var};
use par_ir::visit::Code;
use par_runtime::Prim;

/// Replaces reductions of a block.
pub(super) fn sweep(block: &mut Block, facts: &Facts, vars: &mut Vars) {
    let mut stms = Vec::with_capacity(block.stms.len());
    for stm in std::mem::take(&mut block.stms) {
        match by_columns(&stm, facts, vars) {
            Some(changed) => stms.extend(changed),
            None => stms.push(stm),
        }
    }
    block.stms = stms;
}

fn by_columns(stm: &Stm, facts: &Facts, vars: &mut Vars) -> Option<Vec<Stm>> {
    let Op::Kernel(kernel) = &stm.op else { return None };
    let KernelKind::Reduce { op, neutral } = &kernel.kind else { return None };
    let (_, Dim::Seg(desc)) = kernel.space.as_rows().filter(|_| stm.pat.len() == neutral.len())? else {
        return None;
    };
    let (by, _) = ByColumn::along(kernel, Atom::i64(0), facts)?;
    let groups = by.groups.as_ref()?;
    let mut host = Host::new(stm, vars);
    let offsets = host.value("off", Ty::Array(Prim::I64), Op::Offsets(desc));
    let vars = &mut *host.vars;
    let [row, column, pos] = ["row", "column", "pos"].map(|name| vars.fresh(name));

    let mut code = Statements::new(stm.span);
    let start = code.arith("start", BinOp::Mul, row.into(), by.columns, vars);
    let number = code.arith("column", BinOp::Sub, pos.into(), start, vars);
    let end = code.arith("end", BinOp::Add, pos.into(), Atom::i64(1), vars);
    let [first, last] = [pos.into(), end].map(|at| {
        let p = core::Param { var: vars.fresh("off"), ty: Type::I64 };
        code.index(p.clone(), offsets, vec![at]);
        p.var.into()
    });
    let count = code.arith("count", BinOp::Sub, last, first, vars);
    let mut names = by.names(&mut code, Some(row.into()), number, vars);
    names.insert(kernel.row, pos.into());
    code.stms.extend(by.without_renamed(&kernel.prologue).substituted(&names));

    let mut each = Loop::new(stm.span, vars);
    names.extend(by.elements.iter().map(|v| (*v, each.index.into())));
    each.code.stms.extend(by.without_renamed(&kernel.body.stms).substituted(&names));
    each.fold(op, neutral);
    let values: Vec<Atom> = kernel.body.results.iter().map(|x| x.substituted(&names)).collect();
    each.combine(op.clone(), &values);
    let pat: Vec<core::Param> = each.state.iter().map(|(p, _)| p.fresh(vars)).collect();
    let results = pat.iter().map(|p| p.var.into()).collect();
    code.stms.push(each.finish(count, pat, op.body.results.clone()));

    let space = Space::rows(groups.count, Dim::Size(by.columns));
    let (prologue, stms) = split(code.stms, pos);
    let body = core::Body { stms, results };
    let kind = KernelKind::Map(op.ret.iter().map(|t| Out::Elem(t.prim())).collect());
    let mut changed = Kernel { kind, space, index: vec![row, column], row, pos, prologue, body };
    crate::flat::bulk::reads::simplify(&mut changed);
    let changed = changed.refreshed(vars);
    host.bind(stm.pat.clone(), Op::Kernel(Box::new(changed)));
    Some(host.stms)
}

/// Statements that are invariant in a row, and the others.
fn split(stms: Vec<core::Stm>, pos: Var) -> (Vec<core::Stm>, Vec<core::Stm>) {
    let mut of_position = HashSet::from_iter([pos]);
    stms.into_iter().partition(|s| {
        let differs = s.free().iter().any(|v| of_position.contains(v));
        of_position.extend(s.pat.iter().map(|p| p.var).filter(|_| differs));
        !differs
    })
}
