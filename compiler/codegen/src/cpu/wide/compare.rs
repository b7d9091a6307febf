//! Comparisons of lanes, choices by masks, and tests of masks.

use super::codes::{self, Row, by_bytes};
use super::inst::{Condition, Inst, Source, View};
use super::select::{Result, Select};
use cranelift::prelude::*;
use cranelift_codegen::ir::condcodes::CondCode;
use cranelift_codegen::ir::{self, InstructionData, Opcode};
use iced_x86::Code;
use regalloc2::{RegClass, VReg};

const EQUAL: [Row; 4] = [codes::PCMPEQB, codes::PCMPEQW, codes::PCMPEQD, codes::PCMPEQQ];

impl Select<'_> {
    pub fn compare_lanes(&mut self, d: VReg, ty: Type, [x, y]: [ir::Value; 2], cond: IntCC) -> Result {
        let view = self.view(ty);
        let greater = [codes::PCMPGTB, codes::PCMPGTW, codes::PCMPGTD, codes::PCMPGTQ];
        let least = [codes::PMINUB, codes::PMINUW, codes::PMINUD, codes::PMINUQ];
        let [equal, greater, least] =
            [EQUAL, greater, least].map(|rows| by_bytes(ty.lane_type().bytes(), rows));
        use IntCC::*;
        // x > y as y < x, and what is left as the opposite of something.
        let (x, y, cond) = match cond {
            SignedLessThan | UnsignedGreaterThanOrEqual | SignedGreaterThanOrEqual | UnsignedLessThan => {
                (y, x, cond.swap_args())
            }
            _ => (x, y, cond),
        };
        let inverts = matches!(cond, NotEqual | SignedLessThanOrEqual | UnsignedGreaterThan);
        let result = if inverts { self.fresh(RegClass::Float) } else { d };
        match cond {
            Equal | NotEqual => self.apply(equal, result, ty, [x, y])?,
            SignedGreaterThan | SignedLessThanOrEqual => self.apply(greater, result, ty, [x, y])?,
            // x <= y if the least of both is x.
            _ => {
                let (code, equal) = (self.row(least, ty)?, self.row(equal, ty)?);
                let (x, y, t) = (self.reg(x)?, self.source(y)?, self.fresh(RegClass::Float));
                self.three(code, view, t, x, y);
                self.three(equal, view, result, x, Source::Reg(t));
            }
        }
        if inverts {
            self.flip(d, ty, result)?;
        }
        Ok(())
    }

    /// Lanes of `x` where the mask is set, else of `y`.
    pub fn blend(&mut self, opcode: Opcode, d: VReg, ty: Type, [mask, x, y]: [ir::Value; 3]) -> Result {
        let view = self.view(ty);
        let lane = ty.lane_type().bytes();
        if let Some(row) = self.smaller_or_larger(mask, x, y) {
            return self.apply(row, d, ty, [x, y]);
        }
        if opcode == Opcode::Bitselect && !self.is_mask(mask, lane) {
            return self.blend_bits(d, ty, [mask, x, y]);
        }
        let row = match lane {
            4 => codes::BLENDVPS,
            8 => codes::BLENDVPD,
            2 if view == View::Z => codes::PBLENDMW,
            _ => codes::PBLENDVB,
        };
        let code = self.row(row, ty)?;
        let mask = if view == View::Z { self.mask(mask, lane)? } else { self.reg(mask)? };
        let (x, y) = (self.source(x)?, self.reg(y)?);
        let mut inst = Inst::new();
        let d = inst.def(d, view);
        let mask = if view == View::Z { inst.under(mask) } else { inst.using(mask, view) };
        let y = inst.using(y, view);
        let x = inst.source(x, view);
        inst.step(code, &[d, y, x, mask]);
        self.now.push(inst);
        Ok(())
    }

    /// The instruction of a choice of the smaller or larger float, and of the second if neither is.
    fn smaller_or_larger(&self, mask: ir::Value, x: ir::Value, y: ir::Value) -> Option<Row> {
        let InstructionData::FloatCompare { args: [a, b], cond, .. } = self.definition(self.root(mask))?
        else {
            return None;
        };
        if [a, b].map(|v| self.root(v)) != [x, y].map(|v| self.root(v)) {
            return None;
        }
        match (cond, self.ty(a).lane_type()) {
            (FloatCC::LessThan, types::F32) => Some(codes::MINPS),
            (FloatCC::LessThan, types::F64) => Some(codes::MINPD),
            (FloatCC::GreaterThan, types::F32) => Some(codes::MAXPS),
            (FloatCC::GreaterThan, types::F64) => Some(codes::MAXPD),
            _ => None,
        }
    }

    pub fn blend_bits(&mut self, d: VReg, ty: Type, [mask, x, y]: [ir::Value; 3]) -> Result {
        let view = self.view(ty);
        let (and, andn, or) =
            (self.row(codes::AND, ty)?, self.row(codes::ANDN, ty)?, self.row(codes::OR, ty)?);
        let (mask, x, y) = (self.reg(mask)?, self.source(x)?, self.source(y)?);
        let [yes, no] = [(); 2].map(|()| self.fresh(RegClass::Float));
        self.three(and, view, yes, mask, x);
        self.three(andn, view, no, mask, y);
        self.three(or, view, d, yes, Source::Reg(no));
        Ok(())
    }

    /// Flags of whether any bit of a vector is set.
    pub fn any_lane(&mut self, inst: &mut Inst, x: ir::Value) -> Result<Condition> {
        let ty = self.ty(x);
        if self.width == 64 {
            self.test_mask(inst, x, ty.lane_type().bytes())?;
            return Ok(Condition::NOT_EQUAL);
        }
        let x = self.reg(x)?;
        self.test(inst, x, self.view(ty))?;
        Ok(Condition::NOT_EQUAL)
    }

    pub fn test(&mut self, inst: &mut Inst, x: VReg, view: View) -> Result {
        let code = match view {
            View::X => Code::VEX_Vptest_xmm_xmmm128,
            View::Y => Code::VEX_Vptest_ymm_ymmm256,
            _ => return Err("a test of 512 bits".into()),
        };
        let x = inst.using(x, view);
        inst.step(code, &[x, x]);
        Ok(())
    }

    /// Flags of whether all lanes have a bit set.
    pub fn all_lanes(&mut self, inst: &mut Inst, x: ir::Value) -> Result<Condition> {
        let ty = self.ty(x);
        if self.width == 64 {
            self.test_mask(inst, x, ty.lane_type().bytes())?;
            // The carry flag: all bits are set.
            return Ok(Condition::BELOW);
        }
        let code = self.row(by_bytes(ty.lane_type().bytes(), EQUAL), ty)?;
        let view = self.view(ty);
        let x = self.reg(x)?;
        let (zero, empty) = (self.zero(), self.fresh(RegClass::Float));
        self.three(code, view, empty, x, Source::Reg(zero));
        self.test(inst, empty, view)?;
        Ok(Condition::EQUAL)
    }
}

/// The number of a comparison of floats that raises no exception for a quiet NaN.
pub fn predicate(cond: FloatCC) -> u8 {
    match cond {
        FloatCC::Equal => 0x00,
        FloatCC::LessThan => 0x11,
        FloatCC::LessThanOrEqual => 0x12,
        FloatCC::Unordered => 0x03,
        FloatCC::NotEqual => 0x04,
        FloatCC::UnorderedOrGreaterThanOrEqual => 0x15,
        FloatCC::UnorderedOrGreaterThan => 0x16,
        FloatCC::Ordered => 0x07,
        FloatCC::UnorderedOrEqual => 0x08,
        FloatCC::UnorderedOrLessThan => 0x19,
        FloatCC::UnorderedOrLessThanOrEqual => 0x1a,
        FloatCC::OrderedNotEqual => 0x0c,
        FloatCC::GreaterThanOrEqual => 0x1d,
        FloatCC::GreaterThan => 0x1e,
    }
}
