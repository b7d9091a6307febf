//! Sums of numbers of 64 bits whose elements are known to be small: the elements are computed, and added up for a stretch of positions, with
//! half as many bits, so that twice as many are in a vector.
//!
//! ```text
//! reduce (add.i64) over n                         for s in 0 .. n by tuning::NARROW_STRETCH
//!     a = and xs[pos] 1                               t = reduce (add.i32) over s .. s + tuning::NARROW_STRETCH
//!     b = conv.u32.i64 a                ==>               a = and xs[pos] 1
//!     c = sub.i64 1 b                                     b = conv.u32.i32 a
//!     in c                                                c = sub.i32 1 b
//!                                                         in c
//!                                                     sum = add.i64 sum (conv.i32.i64 t)
//! ```

use super::fresh::Fresh;
use super::lanes::any_order;
use crate::free::for_each_use;
use par_ir::access::{Access, Facts, Interval};
use par_ir::core::{Exp, Lambda, Param, Stm};
use par_ir::effects::Effects;
use par_ir::flat::{Kernel, KernelKind};
use par_ir::hash::HashMap;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::tuning;
use par_ir::ty::{Atom, Type};
use par_ir::{Prim, Scalar, Var};
use std::collections::BTreeSet;

/// Bound of an element's magnitude, so that the sum of a stretch fits.
const LARGEST: i128 = (1 << 31) / tuning::NARROW_STRETCH as i128 - 1;

/// A reduction some of whose sums have fewer bits.
pub struct Sums {
    /// The reduction of one stretch.
    pub kernel: Kernel,
}

/// The kernel with fewer bits in its sums, if that can be.
pub fn sums(kernel: &Kernel, fresh: &Fresh) -> Option<Sums> {
    let (KernelKind::Reduce { op, .. } | KernelKind::Scan { op, .. }) = &kernel.kind else { return None };
    if !any_order(op) {
        return None;
    }
    let k = op.params.len() / 2;
    let is_sum = |i: usize| {
        let is_result = |s: &&Stm| s.pat.iter().any(|p| Some(p.var) == op.body.results[i].var());
        let stm = op.body.stms.iter().find(is_result)?;
        matches!(stm.exp, Exp::Prim(PrimOp::Bin(BinOp::Add, Prim::I64), _)).then_some(())
    };
    if (0..k).all(|i| is_sum(i).is_none()) {
        return None;
    }
    let facts = Facts::default();
    let mut narrower = Narrower::new(kernel, &facts, fresh);
    let small = |r: Interval| -LARGEST <= r.least && r.most <= LARGEST;
    let results = &kernel.body.results[..k.min(kernel.body.results.len())];
    let narrow: Vec<bool> = (0..results.len())
        .map(|i| is_sum(i).is_some() && narrower.access.interval(results[i]).is_some_and(small))
        .collect();
    if !narrow.contains(&true) {
        return None;
    }
    let mut body = kernel.body.clone();
    for (result, _) in body.results.iter_mut().zip(&narrow).filter(|(_, n)| **n) {
        *result = narrower.atom(result);
    }
    body.stms.append(&mut narrower.stms);
    body.stms = needed(&body.stms, &body.results);
    let op = with_fewer_bits(op, &narrow);
    let kind = KernelKind::Reduce { op, neutral: vec![] };
    Some(Sums { kernel: Kernel { kind, prologue: vec![], body, ..kernel.clone() } })
}

/// An operator whose components are independent of each other, some of them of `i32` instead of `i64`.
fn with_fewer_bits(op: &Lambda, narrow: &[bool]) -> Lambda {
    let mut op = op.clone();
    let k = narrow.len();
    let ty = Type::scalar(Prim::I32);
    for i in (0..k).filter(|i| narrow[*i]) {
        op.params[i].ty = ty.clone();
        op.params[k + i].ty = ty.clone();
        op.ret[i] = ty.clone();
        let result = op.body.results[i].var();
        for stm in op.body.stms.iter_mut().filter(|s| s.pat.iter().any(|p| Some(p.var) == result)) {
            stm.pat.iter_mut().for_each(|p| p.ty = ty.clone());
            if let Exp::Prim(op, _) = &mut stm.exp {
                *op = PrimOp::Bin(BinOp::Add, Prim::I32);
            }
        }
    }
    op
}

/// The statements that results need, and those with effects.
pub fn needed(stms: &[Stm], results: &[Atom]) -> Vec<Stm> {
    let mut needed: BTreeSet<Var> = results.iter().filter_map(|a| a.var()).collect();
    let mut kept = Vec::new();
    for stm in stms.iter().rev() {
        if stm.has_effect() || stm.pat.iter().any(|p| needed.contains(&p.var)) {
            for_each_use(stm, &mut |v| _ = needed.insert(v));
            kept.push(stm.clone());
        }
    }
    kept.reverse();
    kept
}

/// Makes statements that compute numbers with 32 bits.
struct Narrower<'k> {
    access: Access<'k>,
    bound: HashMap<Var, &'k Stm>,
    done: HashMap<Var, Atom>,
    stms: Vec<Stm>,
    fresh: &'k Fresh,
}

impl<'k> Narrower<'k> {
    fn new(kernel: &'k Kernel, facts: &'k Facts, fresh: &'k Fresh) -> Narrower<'k> {
        let bound = kernel.body.stms.iter().flat_map(|s| s.pat.iter().map(move |p| (p.var, s))).collect();
        Narrower { access: Access::of(kernel, facts), bound, done: HashMap::default(), stms: vec![], fresh }
    }

    /// A number of 64 bits that fits into 32, with as many.
    fn atom(&mut self, a: &Atom) -> Atom {
        let v = match a {
            Atom::Const(c) => return Atom::Const(Scalar::I32(c.as_i64().unwrap_or(0) as i32)),
            Atom::Var(v) => *v,
        };
        if let Some(done) = self.done.get(&v) {
            return *done;
        }
        let narrow = match self.bound.get(&v).map(|s| &s.exp) {
            Some(Exp::Prim(op, xs)) => self.prim(*op, xs),
            _ => None,
        };
        let narrow = narrow.unwrap_or_else(|| self.bind(PrimOp::Conv(Prim::I64, Prim::I32), vec![*a]));
        self.done.insert(v, narrow);
        narrow
    }

    fn prim(&mut self, op: PrimOp, xs: &[Atom]) -> Option<Atom> {
        match op {
            PrimOp::Conv(Prim::I32, _) => Some(xs[0]),
            PrimOp::Conv(from, _) if from == Prim::Bool || from.is_integer() && from.size() <= 4 => {
                Some(self.bind(PrimOp::Conv(from, Prim::I32), xs.to_vec()))
            }
            PrimOp::Bin(op @ (BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Min | BinOp::Max), Prim::I64)
                if xs.iter().all(|x| self.fits(x)) =>
            {
                let xs = xs.iter().map(|x| self.atom(x)).collect();
                Some(self.bind(PrimOp::Bin(op, Prim::I32), xs))
            }
            PrimOp::Select(Prim::I64) if xs[1..].iter().all(|x| self.fits(x)) => {
                let (a, b) = (self.atom(&xs[1]), self.atom(&xs[2]));
                Some(self.bind(PrimOp::Select(Prim::I32), vec![xs[0], a, b]))
            }
            _ => None,
        }
    }

    fn fits(&self, a: &Atom) -> bool {
        self.access.interval(*a).is_some_and(|r| r.fits(Prim::I32))
    }

    fn bind(&mut self, op: PrimOp, xs: Vec<Atom>) -> Atom {
        let var = self.fresh.var("narrow");
        let pat = vec![Param { var, ty: Type::scalar(Prim::I32) }];
        self.stms.push(Stm { pat, exp: Exp::Prim(op, xs), span: Default::default() });
        var.into()
    }
}
