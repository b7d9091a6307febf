//! Mask registers: at 512 bits a comparison leaves a bit per lane in one.
//!
//! What is made of comparisons stays in mask registers as long as choices and tests are all that use it; a vector is made of it where
//! one is asked for, and a mask of a vector (a parameter of a loop) by the highest bits of its lanes.

use super::codes::{self, Row};
use super::compare::predicate;
use super::inst::{Inst, Source, View, imm8};
use super::select::{Select, Unsupported};
use cranelift::prelude::*;
use cranelift_codegen::ir::{self, InstructionData, Opcode};
use iced_x86::Code;
use regalloc2::{RegClass, VReg};

impl Select<'_> {
    /// True if a value has a mask register of its own.
    pub fn has_mask(&self, v: ir::Value, lane: u32) -> bool {
        self.width == 64 && self.is_mask(v, lane)
    }

    /// The mask of a value whose lanes have so many bytes.
    pub fn mask(&mut self, v: ir::Value, lane: u32) -> Result<VReg, Unsupported> {
        let v = self.root(v);
        if self.has_mask(v, lane) {
            let next = self.masks[v].unwrap_or_else(|| self.fresh(RegClass::Vector));
            self.masks[v] = Some(next);
            return Ok(next);
        }
        let row = match lane {
            1 => codes::PMOVB2M,
            2 => codes::PMOVW2M,
            4 => codes::PMOVD2M,
            _ => codes::PMOVQ2M,
        };
        let code = row.at(View::Z).ok_or("a mask")?;
        let (d, x) = (self.fresh(RegClass::Vector), self.reg(v)?);
        let mut inst = Inst::new();
        let to = inst.def(d, View::K);
        let x = inst.using(x, View::Z);
        inst.step(code, &[to, x]);
        self.now.push(inst);
        Ok(d)
    }

    /// Computes a mask, and the vector of it if that is asked for.
    pub fn masks(&mut self, result: ir::Value, data: InstructionData) -> Result<(), Unsupported> {
        let k = self.masks[result].unwrap_or_else(|| self.fresh(RegClass::Vector));
        let lane = self.ty(result).lane_type().bytes();
        match data {
            InstructionData::IntCompare { args, cond, .. } => self.compare_ints(k, args, cond)?,
            InstructionData::FloatCompare { args: [x, y], cond, .. } => {
                let row = if self.ty(x).lane_type() == types::F64 { codes::CMPPD } else { codes::CMPPS };
                let code = row.at(View::Z).ok_or("a comparison")?;
                let (x, y) = (self.reg(x)?, self.source(y)?);
                self.compare_into(code, k, x, y, predicate(cond));
            }
            InstructionData::Unary { opcode: Opcode::Bnot, arg } => {
                let x = self.mask(arg, lane)?;
                let mut inst = Inst::new();
                let to = inst.def(k, View::K);
                let x = inst.using(x, View::K);
                inst.step(Code::VEX_Knotq_kr_kr, &[to, x]);
                self.now.push(inst);
            }
            InstructionData::Binary { opcode, args: [x, y] } => {
                self.combine_masks(opcode, k, lane, [x, y])?
            }
            _ => return Err("a mask register".into()),
        }
        if let Some(d) = self.registers[result] {
            self.vector_of_mask(d, k, lane)?;
        }
        Ok(())
    }

    fn combine_masks(
        &mut self,
        opcode: Opcode,
        k: VReg,
        lane: u32,
        [x, y]: [ir::Value; 2],
    ) -> Result<(), Unsupported> {
        let negated = |s: &Self, v: ir::Value| match s.definition(s.root(v)) {
            Some(InstructionData::Unary { opcode: Opcode::Bnot, arg }) => Some(arg),
            _ => None,
        };
        let (code, x, y) = match (opcode, negated(self, x), negated(self, y)) {
            // The first operand is the one that is inverted.
            (Opcode::Band, Some(x), _) => (Code::VEX_Kandnq_kr_kr_kr, x, y),
            (Opcode::Band, _, Some(y)) => (Code::VEX_Kandnq_kr_kr_kr, y, x),
            (Opcode::Band, ..) => (Code::VEX_Kandq_kr_kr_kr, x, y),
            (Opcode::Bor, ..) => (Code::VEX_Korq_kr_kr_kr, x, y),
            _ => (Code::VEX_Kxorq_kr_kr_kr, x, y),
        };
        let (x, y) = (self.mask(x, lane)?, self.mask(y, lane)?);
        let mut inst = Inst::new();
        let to = inst.def(k, View::K);
        let (x, y) = (inst.using(x, View::K), inst.using(y, View::K));
        inst.step(code, &[to, x, y]);
        self.now.push(inst);
        Ok(())
    }

    fn compare_into(&mut self, code: Code, k: VReg, x: VReg, y: Source, n: u8) {
        let mut inst = Inst::new();
        let to = inst.def(k, View::K);
        let x = inst.using(x, View::Z);
        let y = inst.source(y, View::Z);
        inst.step(code, &[to, x, y, imm8(n)]);
        self.now.push(inst);
    }

    /// A comparison whose result is a vector.
    pub fn compare_through_mask(&mut self, code: Code, d: VReg, x: VReg, y: Source, n: u8) {
        let k = self.fresh(RegClass::Vector);
        self.compare_into(code, k, x, y, n);
        self.spread(Code::EVEX_Vpmovm2d_zmm_kr, d, k);
    }

    fn compare_ints(&mut self, k: VReg, [x, y]: [ir::Value; 2], cond: IntCC) -> Result<(), Unsupported> {
        use IntCC::*;
        let is_unsigned = matches!(
            cond,
            UnsignedLessThan | UnsignedLessThanOrEqual | UnsignedGreaterThan | UnsignedGreaterThanOrEqual
        );
        let row: Row = match (self.ty(x).lane_type().bytes(), is_unsigned) {
            (1, false) => codes::PCMPB,
            (1, true) => codes::PCMPUB,
            (2, false) => codes::PCMPW,
            (2, true) => codes::PCMPUW,
            (4, false) => codes::PCMPD,
            (4, true) => codes::PCMPUD,
            (_, false) => codes::PCMPQ,
            (_, true) => codes::PCMPUQ,
        };
        let number = match cond {
            Equal => 0,
            SignedLessThan | UnsignedLessThan => 1,
            SignedLessThanOrEqual | UnsignedLessThanOrEqual => 2,
            NotEqual => 4,
            SignedGreaterThanOrEqual | UnsignedGreaterThanOrEqual => 5,
            SignedGreaterThan | UnsignedGreaterThan => 6,
        };
        let code = row.at(View::Z).ok_or("a comparison")?;
        let (x, y) = (self.reg(x)?, self.source(y)?);
        self.compare_into(code, k, x, y, number);
        Ok(())
    }

    /// All bits of the lanes whose bits are set.
    fn vector_of_mask(&mut self, d: VReg, k: VReg, lane: u32) -> Result<(), Unsupported> {
        let row = match lane {
            1 => codes::PMOVM2B,
            2 => codes::PMOVM2W,
            4 => codes::PMOVM2D,
            _ => codes::PMOVM2Q,
        };
        self.spread(row.at(View::Z).ok_or("a vector of a mask")?, d, k);
        Ok(())
    }

    fn spread(&mut self, code: Code, d: VReg, k: VReg) {
        let mut inst = Inst::new();
        let d = inst.def(d, View::Z);
        let k = inst.using(k, View::K);
        inst.step(code, &[d, k]);
        self.now.push(inst);
    }

    /// Flags of a mask: zero if no bit is set, carry if all are.
    pub fn test_mask(&mut self, inst: &mut Inst, v: ir::Value, lane: u32) -> Result<(), Unsupported> {
        let code = match lane {
            1 => Code::VEX_Kortestq_kr_kr,
            2 => Code::VEX_Kortestd_kr_kr,
            4 => Code::VEX_Kortestw_kr_kr,
            _ => Code::VEX_Kortestb_kr_kr,
        };
        let k = self.mask(v, lane)?;
        let k = inst.using(k, View::K);
        inst.step(code, &[k, k]);
        Ok(())
    }
}
