//! Estimates of what scalar code costs.

use crate::core::{Exp, Stm};
use crate::prim::{BinOp, PrimOp, UnOp};
use par_runtime::op::call::is_call;

/// Time of an operator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Time {
    /// A few cycles, and several at a time: cheaper than to read what it gave.
    Short,
    /// Tens of cycles: divisions and roots.
    Long,
    /// A call of a mathematical function.
    Call,
}

impl Time {
    /// The time in short operators, about.
    pub fn weight(self) -> i64 {
        match self {
            Time::Short => 1,
            Time::Long => 8,
            Time::Call => 16,
        }
    }
}

/// Time of an operator.
pub fn time(op: PrimOp) -> Time {
    match op {
        op if is_call(op) => Time::Call,
        PrimOp::Bin(BinOp::Div | BinOp::Mod | BinOp::Quot | BinOp::Rem, _) => Time::Long,
        PrimOp::Un(UnOp::Sqrt | UnOp::Recip | UnOp::Rsqrt, _) => Time::Long,
        _ => Time::Short,
    }
}

/// True for short operators on scalars, at most so many, and nothing else.
pub fn is_short_arithmetic<'s>(stms: impl IntoIterator<Item = &'s Stm>, most: usize) -> bool {
    let is_short = |s: &Stm| matches!(&s.exp, Exp::Prim(op, _) if time(*op) == Time::Short);
    stms.into_iter().enumerate().all(|(i, s)| i < most && is_short(s))
}

/// Number of operators of scalar code, choices of a branch's results included, if none takes longer than `longest` and there is
/// no loop, call or update. Reads and checks do not count.
pub fn operators(stms: &[Stm], longest: Time) -> Option<usize> {
    let of = |stm: &Stm| match &stm.exp {
        Exp::Prim(op, _) => (time(*op) <= longest).then_some(1),
        Exp::If { then, other, .. } => {
            Some(operators(&then.stms, longest)? + operators(&other.stms, longest)? + then.results.len())
        }
        Exp::Atom(_) | Exp::Index(..) | Exp::Check { .. } => Some(0),
        _ => None,
    };
    stms.iter().map(of).sum()
}
