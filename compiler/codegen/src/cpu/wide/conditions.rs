//! Comparisons of scalars, and the conditions of branches and choices.

use super::inst::{Condition, Inst, Source, View};
use super::select::{Result, Select};
use super::values::{by_view, int_view};
use cranelift::prelude::*;
use cranelift_codegen::ir::condcodes::CondCode;
use cranelift_codegen::ir::{self, InstructionData, Opcode};
use iced_x86::Code;

impl Select<'_> {
    /// Flags of a bool, and the condition under which it holds.
    pub fn condition(&mut self, inst: &mut Inst, v: ir::Value) -> Result<Condition> {
        let v = self.func.dfg.resolve_aliases(v);
        if self.is_here(v) {
            match self.definition(v) {
                Some(InstructionData::IntCompare { args: [x, zero], cond: IntCC::Equal, .. })
                    if self.int(zero) == Some(0) && self.is_condition(x) =>
                {
                    return Ok(self.condition(inst, x)?.inverse());
                }
                Some(InstructionData::IntCompare { args: [x, y], cond, .. }) if !self.ty(x).is_vector() => {
                    return self.compare(inst, x, y, cond);
                }
                Some(InstructionData::FloatCompare { args, cond, .. }) if !self.ty(args[0]).is_vector() => {
                    if let Some(condition) = self.compare_floats(inst, args, cond)? {
                        return Ok(condition);
                    }
                }
                Some(InstructionData::Unary { opcode: Opcode::VanyTrue, arg }) => {
                    return self.any_lane(inst, arg);
                }
                Some(InstructionData::Unary { opcode: Opcode::VallTrue, arg }) => {
                    return self.all_lanes(inst, arg);
                }
                _ => {}
            }
        }
        let view = int_view(self.ty(v))?;
        let r = self.reg(v)?;
        let x = inst.using(r, view);
        inst.step(
            by_view(view, [Code::Test_rm8_r8, Code::Test_rm16_r16, Code::Test_rm32_r32, Code::Test_rm64_r64]),
            &[x, x],
        );
        Ok(Condition::NOT_EQUAL)
    }

    /// True if a bool is computed here, by what leaves flags.
    fn is_condition(&self, v: ir::Value) -> bool {
        let definition = self.definition(v).filter(|_| self.is_here(v));
        matches!(definition, Some(InstructionData::Unary { opcode: Opcode::VanyTrue | Opcode::VallTrue, .. }))
    }

    pub fn compare(&mut self, inst: &mut Inst, x: ir::Value, y: ir::Value, cond: IntCC) -> Result<Condition> {
        let view = int_view(self.ty(x))?;
        let (x, y, cond) = if self.int(x).is_some() { (y, x, cond.swap_args()) } else { (x, y, cond) };
        let a = self.reg(x)?;
        let a = inst.using(a, view);
        let y = self.source(y)?;
        let b = inst.source(y, view);
        let codes = match y {
            Source::Imm(_) => {
                [Code::Cmp_rm8_imm8, Code::Cmp_rm16_imm16, Code::Cmp_rm32_imm32, Code::Cmp_rm64_imm32]
            }
            _ => [Code::Cmp_r8_rm8, Code::Cmp_r16_rm16, Code::Cmp_r32_rm32, Code::Cmp_r64_rm64],
        };
        inst.step(by_view(view, codes), &[a, b]);
        Ok(int_condition(cond))
    }

    /// Flags of a comparison of floats, if one condition of theirs says all.
    pub fn compare_floats(
        &mut self,
        inst: &mut Inst,
        [x, y]: [ir::Value; 2],
        cond: FloatCC,
    ) -> Result<Option<Condition>> {
        let (swaps, condition) = match cond {
            FloatCC::GreaterThan => (false, Condition::ABOVE),
            FloatCC::GreaterThanOrEqual => (false, Condition::NOT_BELOW),
            FloatCC::LessThan => (true, Condition::ABOVE),
            FloatCC::LessThanOrEqual => (true, Condition::NOT_BELOW),
            FloatCC::Unordered => (false, Condition::PARITY),
            FloatCC::Ordered => (false, Condition::NO_PARITY),
            FloatCC::UnorderedOrLessThan => (false, Condition::BELOW),
            FloatCC::UnorderedOrLessThanOrEqual => (false, Condition::BELOW_EQUAL),
            FloatCC::UnorderedOrGreaterThan => (true, Condition::BELOW),
            FloatCC::UnorderedOrGreaterThanOrEqual => (true, Condition::BELOW_EQUAL),
            FloatCC::UnorderedOrEqual => (false, Condition::EQUAL),
            FloatCC::OrderedNotEqual => (false, Condition::NOT_EQUAL),
            FloatCC::Equal | FloatCC::NotEqual => return Ok(None),
        };
        let (x, y) = if swaps { (y, x) } else { (x, y) };
        let code = if self.ty(x) == types::F64 {
            Code::VEX_Vucomisd_xmm_xmmm64
        } else {
            Code::VEX_Vucomiss_xmm_xmmm32
        };
        let (a, b) = (self.reg(x)?, self.source(y)?);
        let (a, b) = (inst.using(a, View::X), inst.source(b, View::X));
        inst.step(code, &[a, b]);
        Ok(Some(condition))
    }
}

pub fn int_condition(cond: IntCC) -> Condition {
    match cond {
        IntCC::Equal => Condition::EQUAL,
        IntCC::NotEqual => Condition::NOT_EQUAL,
        IntCC::SignedLessThan => Condition::LESS,
        IntCC::SignedGreaterThanOrEqual => Condition::NOT_LESS,
        IntCC::SignedGreaterThan => Condition::GREATER,
        IntCC::SignedLessThanOrEqual => Condition::LESS_EQUAL,
        IntCC::UnsignedLessThan => Condition::BELOW,
        IntCC::UnsignedGreaterThanOrEqual => Condition::NOT_BELOW,
        IntCC::UnsignedGreaterThan => Condition::ABOVE,
        IntCC::UnsignedLessThanOrEqual => Condition::BELOW_EQUAL,
    }
}
