//! Arithmetic on positions: what stays a scalar and a step, or the same in all lanes, if the group is not at an edge.

use super::Group;
use super::class::Class;
use super::value::Lanes;
use crate::cpu::primop::int_condition;
use cranelift::prelude::*;
use par_ir::Prim;
use par_ir::prim::{BinOp, CmpOp, PrimOp};

/// First value and step.
fn parts(x: &Lanes) -> Option<(Value, i64)> {
    match x {
        Lanes::Same(x) => Some((*x, 0)),
        Lanes::Steps(x, s) => Some((*x, *s)),
        _ => None,
    }
}

impl Group<'_, '_> {
    /// The value of the last position that is here.
    fn last(&mut self, first: Value, step: i64) -> Value {
        match self.here.count {
            None => self.e.b.ins().iadd_imm_s(first, step * (self.lanes as i64 - 1)),
            Some(count) => {
                let before = self.e.b.ins().iadd_imm_s(count, -1);
                let steps = self.e.b.ins().imul_imm_s(before, step);
                self.e.b.ins().iadd(first, steps)
            }
        }
    }

    /// Leaves the group if the steps run over the end of the integers.
    fn stay_if_in_order(&mut self, first: Value, step: i64) {
        if step == 0 {
            return;
        }
        let last = self.last(first, step);
        let order = if step > 0 { IntCC::SignedLessThan } else { IntCC::SignedGreaterThan };
        let ok = self.e.b.ins().icmp(order, first, last);
        self.stay_if(ok);
    }

    /// Leaves the group unless its steps are numbers of 32 bits.
    pub fn small_steps(&mut self, first: Value, step: i64) {
        let last = self.last(first, step);
        for x in [first, last] {
            let narrow = self.e.b.ins().ireduce(types::I32, x);
            let wide = self.e.b.ins().sextend(types::I64, narrow);
            let same = self.e.b.ins().icmp(IntCC::Equal, wide, x);
            self.stay_if(same);
        }
        self.stay_if_in_order(first, step);
    }

    /// An operator on steps and scalars, if its result is of this class.
    pub fn steps(&mut self, op: PrimOp, xs: &[Lanes], class: Class) -> Option<Lanes> {
        let parts = xs.iter().map(parts).collect::<Option<Vec<_>>>()?;
        let first = match (op, parts.as_slice()) {
            (PrimOp::Cmp(op, _), [a, b]) => self.compare_steps(op, *a, *b),
            (PrimOp::Bin(op @ (BinOp::Min | BinOp::Max), _), [a, b]) => self.step_extremum(op, *a, *b),
            (PrimOp::Bin(bin, _), [(x, step), (y, _)]) if op.divides() => {
                self.step_division(bin, (*x, *step), *y)
            }
            (PrimOp::Select(_), [(flag, 0), a, b]) if a.1 != b.1 => self.step_select(*flag, *a, *b),
            (op, parts) => {
                let firsts: Vec<Value> = parts.iter().map(|(x, _)| *x).collect();
                self.e.prim(op, &firsts, None)
            }
        };
        match class {
            Class::Same => Some(Lanes::Same(first)),
            Class::Steps(step) => Some(Lanes::Steps(first, step)),
            Class::Each => None,
        }
    }

    /// The side that moves is the one taken.
    fn step_extremum(&mut self, op: BinOp, a: (Value, i64), b: (Value, i64)) -> Value {
        let order = if op == BinOp::Min { CmpOp::Le } else { CmpOp::Ge };
        let (moving, fixed) = if b.1 == 0 { (a, b) } else { (b, a) };
        let taken = self.compare_steps(order, moving, fixed);
        self.stay_if(taken);
        moving.0
    }

    /// The same.
    fn step_select(&mut self, flag: Value, a: (Value, i64), b: (Value, i64)) -> Value {
        let is_first = b.1 == 0;
        let taken = if is_first { flag } else { self.e.b.ins().icmp_imm_u(IntCC::Equal, flag, 0) };
        self.stay_if(taken);
        if is_first { a.0 } else { b.0 }
    }

    /// All lanes have one quotient, as long as the steps stay in one row.
    fn step_division(&mut self, op: BinOp, (x, step): (Value, i64), y: Value) -> Value {
        let zero = self.e.i64(0);
        let positive = self.e.b.ins().icmp(IntCC::SignedGreaterThanOrEqual, x, zero);
        self.stay_if(positive);
        let quotient = self.e.prim(PrimOp::Bin(BinOp::Quot, Prim::I64), &[x, y], None);
        let product = self.e.b.ins().imul(quotient, y);
        let rest = self.e.b.ins().isub(x, product);
        let last = self.last(rest, step);
        // False if the divisor is not positive.
        let inside = self.e.b.ins().icmp(IntCC::SignedLessThan, last, y);
        self.stay_if(inside);
        if matches!(op, BinOp::Div | BinOp::Quot) { quotient } else { rest }
    }

    /// Result of a comparison in all lanes; the group is left if lanes differ.
    fn compare_steps(&mut self, op: CmpOp, (x, s): (Value, i64), (y, t): (Value, i64)) -> Value {
        let condition = int_condition(op, Prim::I64);
        if s == t {
            // Both move alike: none of them may run over the end.
            self.stay_if_in_order(x, s);
            self.stay_if_in_order(y, t);
            return self.e.b.ins().icmp(condition, x, y);
        }
        self.stay_if_in_order(x, s);
        self.stay_if_in_order(y, t);
        let (x_last, y_last) = (self.last(x, s), self.last(y, t));
        match op {
            CmpOp::Eq | CmpOp::Ne => {
                let less = self.e.b.ins().icmp(IntCC::SignedLessThan, x, y);
                let still_less = self.e.b.ins().icmp(IntCC::SignedLessThan, x_last, y_last);
                let more = self.e.b.ins().icmp(IntCC::SignedGreaterThan, x, y);
                let still_more = self.e.b.ins().icmp(IntCC::SignedGreaterThan, x_last, y_last);
                let below = self.e.b.ins().band(less, still_less);
                let above = self.e.b.ins().band(more, still_more);
                let apart = self.e.b.ins().bor(below, above);
                self.stay_if(apart);
                self.e.b.ins().iconst(types::I8, (op == CmpOp::Ne) as i64)
            }
            _ => {
                let first = self.e.b.ins().icmp(condition, x, y);
                let last = self.e.b.ins().icmp(condition, x_last, y_last);
                let agree = self.e.b.ins().icmp(IntCC::Equal, first, last);
                self.stay_if(agree);
                first
            }
        }
    }
}
