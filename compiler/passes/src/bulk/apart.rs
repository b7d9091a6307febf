//! Scans and what they do with their prefixes apart again, for back ends whose scans only store.
//!
//! ```text
//! ys = kernel scan (+) over n { f x }            is = kernel scan (+) over n { f x }
//!          then \i { g i x }              ==>    ys = kernel map over n { let i = is[pos]  g i x }
//! ```
//!
//! What the scan's body has bound is computed once more by the map; a check in it that fails has failed in the scan.

use par_ir::Vars;
use par_ir::core::{self, Exp};
use par_ir::flat::{After, Block, Kernel, KernelKind, Op, Param, Program, Stm, Ty};
use par_ir::ty::{Atom, Var};
use par_ir::visit::{Code, Subst};

/// Takes every scan of a program apart.
pub fn apart(program: &mut Program) {
    let Program { funs, vars, .. } = program;
    funs.iter_mut().for_each(|f| block(&mut f.body, vars));
}

fn block(b: &mut Block, vars: &mut Vars) {
    let mut stms = Vec::with_capacity(b.stms.len());
    for mut stm in std::mem::take(&mut b.stms) {
        stm.op.blocks_mut().into_iter().for_each(|inner| block(inner, vars));
        match taken(&mut stm) {
            Some(after) => stms.extend(both(stm, after, vars)),
            None => stms.push(stm),
        }
    }
    b.stms = stms;
}

/// What a scan does with its prefixes, which it does not do any more.
fn taken(stm: &mut Stm) -> Option<After> {
    let Op::Kernel(k) = &mut stm.op else { return None };
    let KernelKind::Scan { after, .. } = &mut k.kind else { return None };
    after.take().map(|a| *a)
}

fn both(mut scan: Stm, after: After, vars: &mut Vars) -> [Stm; 2] {
    let Op::Kernel(k) = &scan.op else { unreachable!("a scan is a kernel") };
    let prefixes: Vec<Var> = after.params.iter().map(|p| vars.fresh_like(p.var)).collect();
    let reads = after.params.iter().zip(&prefixes).map(|(p, array)| core::Stm {
        pat: vec![p.clone()],
        exp: Exp::Index(*array, vec![Atom::Var(k.pos)]),
        span: scan.span,
    });
    let mut body = k.body.clone();
    body.stms.extend(reads);
    body.stms.extend(after.body.stms);
    body.results = after.body.results;
    let map = Kernel { kind: KernelKind::Map(after.outs), body, ..(**k).clone() };
    let map = map.refreshed_with(vars, &mut Subst::new());
    let stored = after.params.iter().zip(&prefixes);
    let stored = stored.map(|(p, array)| Param { var: *array, ty: Ty::Array(p.ty.prim()) }).collect();
    let pat = std::mem::replace(&mut scan.pat, stored);
    let map = Stm { pat, op: Op::Kernel(Box::new(map)), ..scan.clone() };
    [scan, map]
}
