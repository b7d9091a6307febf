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

use super::stage::for_each_use;
use par_ir::core::{Body, Exp, Lambda, Param, Stm};
use par_ir::effects::Effects;
use par_ir::flat::{Kernel, KernelKind};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::tuning;
use par_ir::ty::{Atom, Type};
use par_ir::{Prim, Scalar, Var};
use std::collections::{BTreeSet, HashMap};

/// What an element may be at most, or at least, so that the sum of a stretch fits.
const LARGEST: i128 = (1 << 31) / tuning::NARROW_STRETCH as i128 - 1;

/// A reduction some of whose sums have fewer bits.
pub struct Sums {
    /// The reduction of one stretch.
    pub kernel: Kernel,
    /// Its operator.
    pub op: Lambda,
}

/// The kernel with fewer bits in its sums, if that can be.
pub fn sums(kernel: &Kernel) -> Option<Sums> {
    let (KernelKind::Reduce { op, .. } | KernelKind::Scan { op, .. }) = &kernel.kind else { return None };
    let mut narrower = Narrower::new(&kernel.body);
    let k = op.params.len() / 2;
    let is_sum = |i: usize| {
        let is_result = |s: &&Stm| s.pat.iter().any(|p| Some(p.var) == op.body.results[i].var());
        let stm = op.body.stms.iter().find(is_result)?;
        matches!(stm.exp, Exp::Prim(PrimOp::Bin(BinOp::Add, Prim::I64), _)).then_some(())
    };
    let small = |r: Range| -LARGEST <= r.least && r.most <= LARGEST;
    let results = &kernel.body.results[..k.min(kernel.body.results.len())];
    let narrow: Vec<bool> = (0..results.len())
        .map(|i| is_sum(i).is_some() && narrower.ranges.of_atom(&results[i]).is_some_and(small))
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
    let kind = KernelKind::Reduce { op: op.clone(), neutral: vec![] };
    Some(Sums { kernel: Kernel { kind, prologue: vec![], body, ..kernel.clone() }, op })
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
    ranges: Ranges,
    bound: HashMap<Var, &'k Stm>,
    done: HashMap<Var, Atom>,
    stms: Vec<Stm>,
    /// No program has names from here on.
    names: u32,
}

impl<'k> Narrower<'k> {
    fn new(body: &'k Body) -> Narrower<'k> {
        let mut ranges = Ranges::default();
        ranges.body(body);
        let bound = body.stms.iter().flat_map(|s| s.pat.iter().map(move |p| (p.var, s))).collect();
        Narrower { ranges, bound, done: HashMap::new(), stms: vec![], names: u32::MAX / 4 }
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
        self.ranges.of_atom(a).is_some_and(|r| r.is_of(Prim::I32))
    }

    fn bind(&mut self, op: PrimOp, xs: Vec<Atom>) -> Atom {
        self.names -= 1;
        let var = Var(self.names);
        let pat = vec![Param { var, ty: Type::scalar(Prim::I32) }];
        self.stms.push(Stm { pat, exp: Exp::Prim(op, xs), span: Default::default() });
        var.into()
    }
}

/// What a whole number is at least and at most.
#[derive(Clone, Copy)]
struct Range {
    least: i128,
    most: i128,
}

impl Range {
    /// All numbers of a type; 0 and 1 for truth values.
    fn of(p: Prim) -> Option<Range> {
        match p {
            Prim::Bool => Some(Range { least: 0, most: 1 }),
            _ if !p.is_integer() => None,
            _ if p.is_signed() => {
                Some(Range { least: -(1 << (p.bits() - 1)), most: (1 << (p.bits() - 1)) - 1 })
            }
            _ => Some(Range { least: 0, most: (1 << p.bits()) - 1 }),
        }
    }

    fn is_of(self, p: Prim) -> bool {
        Range::of(p).is_some_and(|all| all.least <= self.least && self.most <= all.most)
    }

    fn join(self, other: Range) -> Range {
        Range { least: self.least.min(other.least), most: self.most.max(other.most) }
    }

    /// Of results that are largest and smallest where operands are.
    fn of_ends(self, other: Range, f: impl Fn(i128, i128) -> i128) -> Range {
        let (a, b) = (self, other);
        let all = [f(a.least, b.least), f(a.least, b.most), f(a.most, b.least), f(a.most, b.most)];
        Range { least: all.into_iter().min().unwrap_or(0), most: all.into_iter().max().unwrap_or(0) }
    }
}

/// What variables may be.
#[derive(Default)]
struct Ranges(HashMap<Var, Range>);

impl Ranges {
    fn of_atom(&self, a: &Atom) -> Option<Range> {
        match a {
            Atom::Const(c) => c.as_i64().map(|x| Range { least: x as i128, most: x as i128 }),
            Atom::Var(v) => self.0.get(v).copied(),
        }
    }

    fn body(&mut self, body: &Body) {
        for stm in &body.stms {
            let found = match &stm.exp {
                Exp::Atom(a) => vec![self.of_atom(a)],
                Exp::Prim(op, xs) => vec![self.prim(*op, xs)],
                Exp::If { then, other, .. } => {
                    self.body(then);
                    self.body(other);
                    let ends = then.results.iter().zip(&other.results);
                    ends.map(|(a, b)| Some(self.of_atom(a)?.join(self.of_atom(b)?))).collect()
                }
                _ => vec![],
            };
            for (i, p) in stm.pat.iter().enumerate() {
                let prim = p.ty.prim();
                let known = found.get(i).copied().flatten().filter(|r| r.is_of(prim));
                if let Some(range) = known.or_else(|| Range::of(prim)) {
                    self.0.insert(p.var, range);
                }
            }
        }
    }

    /// What an operator results in, unless that overflows.
    fn prim(&self, op: PrimOp, xs: &[Atom]) -> Option<Range> {
        let x = |i: usize| self.of_atom(&xs[i]);
        match op {
            PrimOp::Conv(from, to) if to != Prim::Bool && !from.is_float() => x(0),
            PrimOp::Select(_) => Some(x(1)?.join(x(2)?)),
            PrimOp::Bin(BinOp::And, _) => {
                let masks = [x(0), x(1)].into_iter().flatten().filter(|r| r.least >= 0);
                masks.map(|r| r.most).min().map(|most| Range { least: 0, most })
            }
            PrimOp::Bin(BinOp::Shr | BinOp::Lshr, _) => {
                x(0).filter(|r| r.least >= 0).map(|r| Range { least: 0, most: r.most })
            }
            PrimOp::Bin(op, _) => {
                let (a, b) = (x(0)?, x(1)?);
                match op {
                    BinOp::Add => Some(a.of_ends(b, i128::wrapping_add)),
                    BinOp::Sub => Some(a.of_ends(b, i128::wrapping_sub)),
                    BinOp::Mul => Some(a.of_ends(b, i128::saturating_mul)),
                    BinOp::Min => Some(a.of_ends(b, i128::min)),
                    BinOp::Max => Some(a.of_ends(b, i128::max)),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is known of the last variable of `let a: u32 = xs[0]` and these.
    fn range_of(stms: &[(PrimOp, Vec<Atom>)]) -> (i128, i128) {
        let stm = |(i, (op, xs)): (usize, &(PrimOp, Vec<Atom>))| {
            let pat = vec![Param { var: Var(i as u32 + 1), ty: Type::scalar(op.result()) }];
            Stm { pat, exp: Exp::Prim(*op, xs.clone()), span: Default::default() }
        };
        let mut ranges = Ranges::default();
        ranges.0.insert(Var(0), Range { least: 0, most: u32::MAX.into() });
        ranges.body(&Body { stms: stms.iter().enumerate().map(stm).collect(), results: vec![] });
        let found = ranges.0[&Var(stms.len() as u32)];
        (found.least, found.most)
    }

    fn constant(x: Scalar) -> Atom {
        Atom::Const(x)
    }

    #[test]
    fn small_numbers_stay_small() {
        let and = (PrimOp::Bin(BinOp::And, Prim::U32), vec![Var(0).into(), constant(Scalar::U32(7))]);
        let wide = (PrimOp::Conv(Prim::U32, Prim::I64), vec![Var(1).into()]);
        let sub = (PrimOp::Bin(BinOp::Sub, Prim::I64), vec![constant(Scalar::I64(1)), Var(2).into()]);
        assert_eq!(range_of(&[and.clone(), wide.clone(), sub]), (-6, 1));
        let square = (PrimOp::Bin(BinOp::Mul, Prim::I64), vec![Var(2).into(), Var(2).into()]);
        assert_eq!(range_of(&[and, wide, square]), (0, 49));
    }

    #[test]
    fn what_may_overflow_is_any_number() {
        let wide = (PrimOp::Conv(Prim::U32, Prim::I64), vec![Var(0).into()]);
        let square = (PrimOp::Bin(BinOp::Mul, Prim::I64), vec![Var(1).into(), Var(1).into()]);
        let more = (PrimOp::Bin(BinOp::Mul, Prim::I64), vec![Var(2).into(), constant(Scalar::I64(4))]);
        assert_eq!(range_of(&[wide, square, more]), (i64::MIN.into(), i64::MAX.into()));
        let add = (PrimOp::Bin(BinOp::Add, Prim::U32), vec![Var(0).into(), constant(Scalar::U32(1))]);
        assert_eq!(range_of(&[add]), (0, u32::MAX.into()));
        let narrow = (PrimOp::Conv(Prim::U32, Prim::I32), vec![Var(0).into()]);
        assert_eq!(range_of(&[narrow]), (i32::MIN.into(), i32::MAX.into()));
    }
}
