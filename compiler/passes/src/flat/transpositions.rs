//! A map that copies several arrays along their columns becomes a map for each of them.
//!
//! ```text
//! (xs, ys) = kernel map over [n] [m] \row pos i            xs = kernel map over [n] [m] { … as[i*n + row] }
//!     { …  x = as[i*n + row]  y = bs[i*n + row]     ==>    ys = kernel map over [n] [m] { … bs[i*n + row] }
//!       in (x, y) }
//! ```
//!
//! Each is a transposition, which runs in tiles: the columns of records, in memory an array for each field.

use super::walk;
use par_ir::Vars;
use par_ir::access::{Access, Facts, Symbol};
use par_ir::core::Exp;
use par_ir::effects::Effects;
use par_ir::flat::{Kernel, KernelKind, Op, Out, Program, Stm};
use par_ir::ty::Dim;
use par_ir::visit::Code;

/// In every function of a program.
pub(crate) fn run(program: &mut Program) {
    walk::replace(program, |stm, facts, vars| match &stm.op {
        Op::Kernel(k) if copies_columns(k, facts) => Some(one_for_each(stm, k, vars)),
        _ => None,
    });
}

/// True for a map that makes several arrays, all of them transpositions: neighbouring rows have neighbouring elements, those of a row are apart.
fn copies_columns(kernel: &Kernel, facts: &Facts) -> bool {
    let KernelKind::Map(outs) = &kernel.kind else { return false };
    let is_plain = outs.len() > 1
        && outs.iter().all(|o| matches!(o, Out::Elem(_)))
        && matches!(kernel.space.as_rows(), Some((_, Dim::Size(_))))
        && !kernel.has_effect()
        && kernel.body.stms.iter().all(|s| matches!(s.exp, Exp::Atom(_) | Exp::Index(..) | Exp::Prim(..)));
    if !is_plain {
        return false;
    }
    let access = Access::of(kernel, facts);
    let column = access.axes().count() - 1;
    kernel.body.results.iter().all(|result| {
        let Some(read) = access.opaque(*result).and_then(|v| access.read(v)) else { return false };
        let growth = |dim: usize| access.growth(&read.index, Symbol::Index(dim));
        let is_apart = growth(column).is_some_and(|g| g.as_constant().is_none_or(|n| n.unsigned_abs() > 1));
        is_apart && growth(column - 1).is_some_and(|g| g.as_constant() == Some(1))
    })
}

/// A map for each array.
fn one_for_each(stm: &Stm, kernel: &Kernel, vars: &mut Vars) -> Vec<Stm> {
    let one = |i: usize| {
        let mut kernel = kernel.refreshed(vars);
        kernel.body.results = vec![kernel.body.results[i]];
        if let KernelKind::Map(outs) = &mut kernel.kind {
            outs.swap(0, i);
            outs.truncate(1);
        }
        Stm { pat: vec![stm.pat[i]], op: Op::Kernel(Box::new(kernel)), span: stm.span, place: stm.place }
    };
    (0..stm.pat.len()).map(one).collect()
}
