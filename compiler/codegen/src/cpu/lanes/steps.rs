//! Arithmetic on positions: what stays a scalar and a step, or the same in all lanes, if the group is not at an edge.

use super::Group;
use super::value::Lanes;
use crate::cpu::emit::Unsupported;
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
    fn last(&mut self, first: Value, step: i64) -> Value {
        self.e.b.ins().iadd_imm_s(first, step * (self.lanes as i64 - 1))
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

    /// An operator on steps and scalars, if its result is one.
    pub fn steps(&mut self, op: PrimOp, xs: &[Lanes]) -> Result<Option<Lanes>, Unsupported> {
        let Some(parts) = xs.iter().map(parts).collect::<Option<Vec<_>>>() else { return Ok(None) };
        Ok(match (op, parts.as_slice()) {
            (PrimOp::Un(..), [(x, s)]) => Some(Lanes::Steps(self.e.b.ins().ineg(*x), -s)),
            (PrimOp::Cmp(op, _), [a, b]) => Some(Lanes::Same(self.compare_steps(op, *a, *b))),
            (PrimOp::Select(p), [(c, _), (a, s), (b, _)]) => {
                let x = self.e.prim(PrimOp::Select(p), &[*c, *a, *b], None);
                Some(Lanes::Steps(x, *s))
            }
            (PrimOp::Bin(op, _), [a, b]) => self.step_arithmetic(op, *a, *b),
            _ => None,
        })
    }

    fn step_arithmetic(&mut self, op: BinOp, (x, s): (Value, i64), (y, t): (Value, i64)) -> Option<Lanes> {
        let value = |x: Value, s: i64| Some(if s == 0 { Lanes::Same(x) } else { Lanes::Steps(x, s) });
        match op {
            BinOp::Add => value(self.e.b.ins().iadd(x, y), s + t),
            BinOp::Sub => value(self.e.b.ins().isub(x, y), s - t),
            BinOp::Mul => self.step_product((x, s), (y, t)),
            BinOp::Min | BinOp::Max => {
                let order = if op == BinOp::Min { CmpOp::Le } else { CmpOp::Ge };
                let (moving, fixed, step) = if t == 0 { (x, y, s) } else { (y, x, t) };
                // Inside, the moving side is the one taken.
                let taken = self.compare_steps(order, (moving, step), (fixed, 0));
                self.stay_if(taken);
                value(moving, step)
            }
            BinOp::Div | BinOp::Quot | BinOp::Mod | BinOp::Rem => self.step_division(op, (x, s), y),
            _ => None,
        }
    }

    fn step_product(&mut self, (x, s): (Value, i64), (y, t): (Value, i64)) -> Option<Lanes> {
        let constant = |e: &Self, v: Value| {
            let definition = e.e.b.func.dfg.value_def(v).inst()?;
            match e.e.b.func.dfg.insts[definition] {
                cranelift_codegen::ir::InstructionData::UnaryImm { imm, .. } => Some(i64::from(imm)),
                _ => None,
            }
        };
        let step = if t == 0 { s * constant(self, y)? } else { t * constant(self, x)? };
        let product = self.e.b.ins().imul(x, y);
        Some(if step == 0 { Lanes::Same(product) } else { Lanes::Steps(product, step) })
    }

    /// All lanes have one quotient, as long as the steps stay in one row.
    fn step_division(&mut self, op: BinOp, (x, step): (Value, i64), y: Value) -> Option<Lanes> {
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
        Some(match op {
            BinOp::Div | BinOp::Quot => Lanes::Same(quotient),
            _ => Lanes::Steps(rest, step),
        })
    }

    /// What a comparison gives in all lanes; the group is left if lanes differ.
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
