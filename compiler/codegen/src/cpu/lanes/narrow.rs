//! Loops whose indices have 32 bits, in groups: twice as many lanes of a register, and one gather for all of them.
//!
//! ```text
//! (lo, hi) = loop (lo = 0, hi = n) while lo < hi do      n' = n of 32 bits, unless it does not fit: leave the group
//!   mid = (lo + hi) / 2                                  (lo', hi') = loop (lo' = 0, hi' = n') while lo' < hi' do
//!   x = xs[mid]                                    ==>     mid' = (lo' + hi') >> 1
//!   …                                                      x = xs[mid']
//!   in (next, …)                                           leave the group unless all results fit
//!                                                          in (next', …)
//!                                                        lo, hi = lo', hi' of 64 bits
//! ```
//!
//! Elements of 64 bits have vectors of their own, and gain nothing where the processor gathers. A state fits if it is in `0..LIMIT`, which checks of indices
//! may say already. Then all operators between have results of 32 bits, or the loop stays as it is. Scalar code takes over a group that is
//! left, with the body as it was.

use par_ir::core::{Body, Exp, LoopForm, Param, Stm};
use par_ir::hash::{HashMap, HashSet};
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::ty::{Atom, Type};
use par_ir::visit::Code;
use par_ir::{CheckKind, Prim, Scalar, Var};
use par_runtime::Span;

/// States are below this: the sum of two has 32 bits.
const LIMIT: i64 = 1 << 30;

/// A body with such loops, if it has any; `with_long` those that read elements of 64 bits, too.
pub fn narrowed(body: &Body, with_long: bool) -> Option<Body> {
    let mut narrow = Narrow { next: u32::MAX, found: false, with_long };
    let body = narrow.body(body.clone());
    narrow.found.then_some(body)
}

struct Narrow {
    /// Variables are numbered from the end, where no program has any.
    next: u32,
    found: bool,
    with_long: bool,
}

/// A loop in the making.
#[derive(Default)]
struct Rewrite {
    /// Variables bound in the loop.
    bound: HashSet<Var>,
    /// Variables of 32 bits, and between which numbers they are.
    of: HashMap<Var, (i64, i64)>,
    /// Those for variables from outside.
    outside: Vec<(Var, Var)>,
    /// Flags that are set.
    set: HashSet<Var>,
    /// An element is read by an index of 32 bits.
    reads: bool,
}

impl Narrow {
    fn fresh(&mut self) -> Var {
        self.next -= 1;
        Var(self.next)
    }

    fn body(&mut self, mut body: Body) -> Body {
        let mut stms = Vec::with_capacity(body.stms.len());
        for mut stm in body.stms {
            for inner in stm.exp.own_bodies_mut() {
                *inner = self.body(std::mem::take(inner));
            }
            match self.repeat(&stm) {
                Some(all) => stms.extend(all),
                None => stms.push(stm),
            }
        }
        body.stms = stms;
        body
    }

    /// The statements for a loop.
    fn repeat(&mut self, stm: &Stm) -> Option<Vec<Stm>> {
        let Exp::Loop { params, form: LoopForm::While(cond), body } = &stm.exp else { return None };
        let is_index: Vec<bool> = params.iter().map(|(p, _)| p.ty == Type::scalar(Prim::I64)).collect();
        let mut rewrite = Rewrite { bound: stm.exp.bound().into_iter().collect(), ..Rewrite::default() };
        let state = |(p, is): (&(Param, Atom), &bool)| is.then_some((p.0.var, (0, LIMIT - 1)));
        rewrite.of = params.iter().zip(&is_index).filter_map(state).collect();
        let mut before = Vec::new();
        let mut narrow_params = Vec::new();
        for ((p, x), is) in params.iter().zip(&is_index) {
            if !is {
                narrow_params.push((p.clone(), *x));
                continue;
            }
            let (x, range) = self.operand(&mut rewrite, x)?;
            is_state(range).then_some(())?;
            narrow_params.push((Param { var: p.var, ty: Type::scalar(Prim::I32) }, x));
        }
        let cond = self.straight(&mut rewrite, cond)?;
        let mut body = self.straight(&mut rewrite, body)?;
        let mut next = Vec::new();
        for (x, _) in body.results.iter_mut().zip(&is_index).filter(|(_, is)| **is) {
            let range;
            (*x, range) = self.operand(&mut rewrite, x)?;
            next.extend((!is_state(range)).then_some(*x));
        }
        if !rewrite.reads {
            return None;
        }
        self.stay_if_small(&next, stm.span, &mut body.stms);
        for (v, small) in std::mem::take(&mut rewrite.outside) {
            self.narrow_outside(v, small, stm.span, &mut before);
        }
        let mut after = Vec::new();
        let mut pat = stm.pat.clone();
        for (p, _) in pat.iter_mut().zip(&is_index).filter(|(_, is)| **is) {
            let small = Param { var: self.fresh(), ty: Type::scalar(Prim::I32) };
            let wide = Exp::Prim(PrimOp::Conv(Prim::I32, Prim::I64), vec![small.var.into()]);
            after.push(Stm { pat: vec![std::mem::replace(p, small)], exp: wide, span: stm.span });
        }
        let exp = Exp::Loop { params: narrow_params, form: LoopForm::While(cond), body };
        self.found = true;
        before.push(Stm { pat, exp, span: stm.span });
        Some(before.into_iter().chain(after).collect())
    }

    /// A body without loops.
    fn straight(&mut self, rewrite: &mut Rewrite, body: &Body) -> Option<Body> {
        let stms = body.stms.iter().map(|s| self.stm(rewrite, s)).collect::<Option<_>>()?;
        Some(Body { stms, results: body.results.clone() })
    }

    /// A body that does not always run: what its checks say of variables from outside holds there only.
    fn arm(&mut self, rewrite: &mut Rewrite, body: &Body) -> Option<Body> {
        let outside = rewrite.of.clone();
        let body = self.straight(rewrite, body);
        rewrite.of.extend(outside);
        body
    }

    fn stm(&mut self, rewrite: &mut Rewrite, stm: &Stm) -> Option<Stm> {
        let is_small = |a: &Atom| a.var().is_some_and(|v| rewrite.of.contains_key(&v));
        let with = |exp: Exp| Some(Stm { exp, ..stm.clone() });
        match &stm.exp {
            Exp::Prim(op, xs) if xs.iter().any(is_small) => self.prim(rewrite, *op, xs, stm),
            // A choice of steps.
            Exp::Prim(PrimOp::Select(Prim::I64), xs) if xs[1..].iter().all(|x| x.as_i64().is_some()) => {
                self.prim(rewrite, PrimOp::Select(Prim::I64), xs, stm)
            }
            Exp::If { cond, then, other } => {
                let (mut then, mut other) = (self.arm(rewrite, then)?, self.arm(rewrite, other)?);
                let mut pat = stm.pat.clone();
                for ((p, x), y) in pat.iter_mut().zip(&mut then.results).zip(&mut other.results) {
                    if p.ty == Type::scalar(Prim::I64) {
                        let [(a, from), (b, to)] = self.operands(rewrite, &[*x, *y])?;
                        (*x, *y, p.ty) = (a, b, Type::scalar(Prim::I32));
                        rewrite.of.insert(p.var, (from.0.min(to.0), from.1.max(to.1)));
                    }
                }
                Some(Stm { pat, exp: Exp::If { cond: *cond, then, other }, span: stm.span })
            }
            Exp::Atom(a) if is_small(a) => {
                let range = rewrite.of[&a.var()?];
                rewrite.of.insert(stm.pat[0].var, range);
                small(stm, stm.exp.clone())
            }
            Exp::Index(_, index) if index.iter().any(is_small) => {
                rewrite.reads = true;
                let size = stm.pat[0].ty.prim().size();
                with(stm.exp.clone()).filter(|_| size == 4 || self.with_long && size == 8)
            }
            Exp::Prim(PrimOp::Bin(BinOp::And, Prim::Bool), xs)
                if xs[0].var().is_some_and(|v| rewrite.set.contains(&v)) =>
            {
                with(Exp::Atom(xs[1]))
            }
            Exp::Check { kind: CheckKind::Bounds, args, .. } if is_small(&args[0]) => {
                self.checked(rewrite, &args[0], &args[1]);
                with(stm.exp.clone())
            }
            Exp::Atom(_) | Exp::Prim(..) | Exp::Index(..) | Exp::Check { .. } => with(stm.exp.clone()),
            _ => None,
        }
    }

    /// Narrows the range of an index after its check.
    fn checked(&mut self, rewrite: &mut Rewrite, index: &Atom, size: &Atom) {
        let most = self.operand(rewrite, size).map_or(LIMIT, |(_, range)| range.1);
        let range = index.var().and_then(|v| rewrite.of.get_mut(&v));
        if let Some(range) = range {
            *range = (range.0.max(0), range.1.min(most - 1));
        }
    }

    /// An operator on numbers of 64 bits.
    fn prim(&mut self, rewrite: &mut Rewrite, op: PrimOp, xs: &[Atom], stm: &Stm) -> Option<Stm> {
        let with = |exp: Exp| Some(Stm { exp, ..stm.clone() });
        match op {
            PrimOp::Cmp(op, Prim::I64) => {
                let ([(x, from), (y, to)], op) = (self.operands(rewrite, xs)?, op);
                if op == CmpOp::Le && from.1 <= to.0 {
                    rewrite.set.insert(stm.pat[0].var);
                    return with(Exp::Atom(Atom::Const(Scalar::Bool(true))));
                }
                with(Exp::Prim(PrimOp::Cmp(op, Prim::I32), vec![x, y]))
            }
            PrimOp::Conv(Prim::I64, to) => {
                let x = self.operand(rewrite, &xs[0])?.0;
                with(if to == Prim::I32 {
                    Exp::Atom(x)
                } else {
                    Exp::Prim(PrimOp::Conv(Prim::I32, to), vec![x])
                })
            }
            PrimOp::Select(Prim::I64) => {
                let [(x, from), (y, to)] = self.operands(rewrite, &xs[1..])?;
                rewrite.of.insert(stm.pat[0].var, (from.0.min(to.0), from.1.max(to.1)));
                small(stm, Exp::Prim(PrimOp::Select(Prim::I32), vec![xs[0], x, y]))
            }
            PrimOp::Bin(op, Prim::I64) => {
                let [(x, from), (y, to)] = self.operands(rewrite, xs)?;
                let (exp, range) = arithmetic(op, (x, from), (y, to))?;
                let fits = |n: i64| i32::try_from(n).is_ok();
                if !fits(range.0) || !fits(range.1) {
                    return None;
                }
                rewrite.of.insert(stm.pat[0].var, range);
                small(stm, exp)
            }
            _ => None,
        }
    }

    fn operands(&mut self, rewrite: &mut Rewrite, xs: &[Atom]) -> Option<[(Atom, (i64, i64)); 2]> {
        let [x, y] = xs else { return None };
        Some([self.operand(rewrite, x)?, self.operand(rewrite, y)?])
    }

    /// An operand of 32 bits, and its range.
    fn operand(&mut self, rewrite: &mut Rewrite, x: &Atom) -> Option<(Atom, (i64, i64))> {
        let Atom::Var(v) = x else {
            let n = x.as_i64().filter(|n| i32::try_from(*n).is_ok())?;
            return Some((Atom::Const(Scalar::I32(n as i32)), (n, n)));
        };
        if let Some(range) = rewrite.of.get(v) {
            return Some((*x, *range));
        }
        if rewrite.bound.contains(v) {
            return None;
        }
        let known = rewrite.outside.iter().find(|(outer, _)| outer == v).map(|(_, small)| *small);
        let small = known.unwrap_or_else(|| {
            let small = self.fresh();
            rewrite.outside.push((*v, small));
            small
        });
        Some((small.into(), (0, LIMIT - 1)))
    }

    /// A variable of 32 bits for one from outside. The group is left if it does not fit.
    fn narrow_outside(&mut self, v: Var, small: Var, span: Span, stms: &mut Vec<Stm>) {
        let compare = PrimOp::Cmp(CmpOp::Le, Prim::I64);
        let [low, high, both] = [(); 3].map(|()| self.fresh());
        let mut bind = |var: Var, p: Prim, op: PrimOp, xs: Vec<Atom>| {
            let pat = vec![Param { var, ty: Type::scalar(p) }];
            stms.push(Stm { pat, exp: Exp::Prim(op, xs), span });
        };
        bind(low, Prim::Bool, compare, vec![Atom::i64(0), v.into()]);
        bind(high, Prim::Bool, compare, vec![v.into(), Atom::i64(LIMIT - 1)]);
        bind(both, Prim::Bool, PrimOp::Bin(BinOp::And, Prim::Bool), vec![low.into(), high.into()]);
        bind(small, Prim::I32, PrimOp::Conv(Prim::I64, Prim::I32), vec![v.into()]);
        stms.push(leave_unless(both, span));
    }

    /// Leaves the group unless all of some numbers of 32 bits are in `0..LIMIT`.
    fn stay_if_small(&mut self, all: &[Atom], span: Span, stms: &mut Vec<Stm>) {
        let mut bind = |op: PrimOp, xs: Vec<Atom>| {
            let var = self.fresh();
            stms.push(Stm {
                pat: vec![Param { var, ty: Type::scalar(op.result()) }],
                exp: Exp::Prim(op, xs),
                span,
            });
            var
        };
        let number = |n: i64| Atom::Const(Scalar::I32(n as i32));
        let Some((first, others)) = all.split_first() else { return };
        let or = |x: Atom, y: &Atom| bind(PrimOp::Bin(BinOp::Or, Prim::I32), vec![x, *y]).into();
        let bits: Atom = others.iter().fold(*first, or);
        let above = bind(PrimOp::Bin(BinOp::And, Prim::I32), vec![bits, number(!(LIMIT - 1))]);
        let ok = bind(PrimOp::Cmp(CmpOp::Eq, Prim::I32), vec![above.into(), number(0)]);
        stms.push(leave_unless(ok, span));
    }
}

/// True if all numbers of a range may be states.
fn is_state((low, high): (i64, i64)) -> bool {
    low >= 0 && high < LIMIT
}

/// Scalar code, which runs then, has no such check.
fn leave_unless(cond: Var, span: Span) -> Stm {
    let exp = Exp::Check { cond: cond.into(), kind: CheckKind::Assert(String::new()), args: vec![] };
    Stm { pat: vec![], exp, span }
}

/// A statement that binds a number of 32 bits.
fn small(stm: &Stm, exp: Exp) -> Option<Stm> {
    let pat = vec![Param { var: stm.pat[0].var, ty: Type::scalar(Prim::I32) }];
    Some(Stm { pat, exp, span: stm.span })
}

/// An operator on numbers between others, and between which its result is.
fn arithmetic(
    op: BinOp,
    (x, (a, b)): (Atom, (i64, i64)),
    (y, (c, d)): (Atom, (i64, i64)),
) -> Option<(Exp, (i64, i64))> {
    let same = |range| Some((Exp::Prim(PrimOp::Bin(op, Prim::I32), vec![x, y]), range));
    match op {
        BinOp::Add => same((a + c, b + d)),
        BinOp::Sub => same((a - d, b - c)),
        BinOp::Mul => {
            let all = [a * c, a * d, b * c, b * d];
            same((*all.iter().min()?, *all.iter().max()?))
        }
        BinOp::Min => same((a.min(c), b.min(d))),
        BinOp::Max => same((a.max(c), b.max(d))),
        BinOp::Div | BinOp::Quot if c == d && c > 0 && (a >= 0 || op == BinOp::Div) => {
            let range = (a.div_euclid(c), b.div_euclid(c));
            let shift = Atom::Const(Scalar::I32(c.trailing_zeros() as i32));
            match (c as u64).is_power_of_two() {
                true => Some((Exp::Prim(PrimOp::Bin(BinOp::Shr, Prim::I32), vec![x, shift]), range)),
                false => same(range),
            }
        }
        BinOp::Shr if c == d && (0..31).contains(&c) => same((a >> c, b >> c)),
        _ => None,
    }
}
