//! Mask registers: at 512 bits a comparison leaves a bit per lane in one.
//!
//! Values computed from comparisons stay in mask registers as long as selects and tests are their only uses, in parameters of blocks as
//! well. A vector is made of a mask where a use needs one, and a mask of a vector by the highest bits of its lanes.

use super::codes::{self, Row};
use super::compare::predicate;
use super::inst::{Inst, Read, Source, View};
use super::select::{Result, Select};
use cranelift::prelude::*;
use cranelift_codegen::ir::{self, InstructionData, Opcode};
use iced_x86::Code;
use regalloc2::{RegClass, VReg};

/// Bytes of the lanes of masks that are made of two with longer lanes.
const NARROWED: u32 = 4;

/// True for the choice of every other lane of 32 bits, of two registers.
fn is_even(mask: &[u8]) -> bool {
    mask.iter().enumerate().all(|(i, m)| *m as usize == (i / 4) * 8 + i % 4)
}

impl Select<'_> {
    /// True if a value has a mask register of its own.
    pub fn has_mask(&self, v: ir::Value, lane: u32) -> bool {
        self.width == 64 && self.is_mask(v, lane)
    }

    /// The mask of a value whose lanes have so many bytes.
    pub fn mask(&mut self, v: ir::Value, lane: u32) -> Result<VReg> {
        let v = self.root(v);
        if let Some(bytes) = self.bytes(v) {
            return Ok(self.mask_constant(&bytes, lane));
        }
        if self.has_mask(v, lane) {
            let next = self.masks[v].unwrap_or_else(|| self.fresh(RegClass::Vector));
            self.masks[v] = Some(next);
            return Ok(next);
        }
        let rows = [codes::PMOVB2M, codes::PMOVW2M, codes::PMOVD2M, codes::PMOVQ2M];
        let code = codes::by_bytes(lane, rows).at(View::Z).ok_or("a mask")?;
        let (d, x) = (self.fresh(RegClass::Vector), self.reg(v)?);
        self.make(code, (d, View::K), &[Read::In(x, View::Z)]);
        Ok(d)
    }

    /// A mask that is known.
    fn mask_constant(&mut self, bytes: &[u8], lane: u32) -> VReg {
        let lanes = bytes.chunks(lane as usize).enumerate();
        let bits = lanes.fold(0u64, |bits, (i, x)| bits | ((x[x.len() - 1] >> 7) as u64) << i);
        let (k, r) = (self.fresh(RegClass::Vector), self.fresh(RegClass::Int));
        self.int_constant(r, bits as i64);
        self.flags_in_mask(k, r);
        k
    }

    /// The bits of a general register.
    fn flags_in_mask(&mut self, k: VReg, r: VReg) {
        self.make(Code::VEX_Kmovq_kr_r64, (k, View::K), &[Read::In(r, View::Q)]);
    }

    /// Computes a mask, and the vector of it if that is asked for.
    pub fn masks(&mut self, result: ir::Value, data: InstructionData) -> Result {
        let k = self.masks[result].unwrap_or_else(|| self.fresh(RegClass::Vector));
        let lane = match data {
            InstructionData::Shuffle { .. } => NARROWED,
            _ => self.ty(result).lane_type().bytes(),
        };
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
                self.of_registers(Code::VEX_Knotq_kr_kr, View::K, k, [x]);
            }
            InstructionData::Binary { opcode, args: [x, y] } => {
                self.combine_masks(opcode, k, lane, [x, y])?
            }
            InstructionData::Unary { opcode: Opcode::SwidenLow, arg } => {
                let x = self.mask(arg, lane / 2)?;
                self.of_registers(Code::VEX_Kmovq_kr_km64, View::K, k, [x]);
            }
            InstructionData::Unary { opcode: Opcode::SwidenHigh, arg } => {
                let x = (self.mask(arg, lane / 2)?, View::K);
                self.by(Code::VEX_Kshiftrq_kr_kr_imm8, (k, View::K), x, (64 / lane) as u8);
            }
            InstructionData::Shuffle { args: [x, y], .. } => {
                let (low, high) = (self.mask(x, 2 * lane)?, self.mask(y, 2 * lane)?);
                self.of_registers(Code::VEX_Kunpckbw_kr_kr_kr, View::K, k, [high, low]);
            }
            InstructionData::Unary { opcode: Opcode::Splat, arg } => {
                let r = self.reg(arg)?;
                self.flags_in_mask(k, r);
            }
            _ => return Err("a mask register".into()),
        }
        if let Some(d) = self.registers[result] {
            self.vector_of_mask(d, k, lane)?;
        }
        Ok(())
    }

    /// True if all bits of each lane are equal.
    pub fn is_mask(&self, v: ir::Value, lane: u32) -> bool {
        let v = self.root(v);
        let fits = self.ty(v).is_vector() && self.ty(v).lane_type().bytes() == lane;
        if let Some(bytes) = self.bytes(v).filter(|_| fits) {
            let is_even = |x: &[u8]| x.iter().all(|b| *b == x[0] && (*b == 0 || *b == 0xff));
            return bytes.chunks(lane as usize).all(is_even);
        }
        let Some(definition) = self.definition(v) else { return fits && self.mask_params.contains(&v) };
        match definition {
            InstructionData::IntCompare { .. } | InstructionData::FloatCompare { .. } => fits,
            InstructionData::Unary { opcode: Opcode::Bnot, arg } => self.is_mask(arg, lane),
            InstructionData::Unary { opcode: Opcode::SwidenLow | Opcode::SwidenHigh, arg } => {
                fits && self.is_mask(arg, lane / 2)
            }
            InstructionData::Unary { opcode: Opcode::Splat, arg } => {
                fits && lane > 1 && self.is_all_or_none(arg)
            }
            InstructionData::Shuffle { args: [x, y], imm, .. } => {
                let narrows = self.func.dfg.immediates.get(imm).is_some_and(|m| is_even(m.as_slice()));
                lane == NARROWED && narrows && self.is_mask(x, 2 * lane) && self.is_mask(y, 2 * lane)
            }
            InstructionData::Binary { opcode, args: [x, y] } => {
                use Opcode::*;
                matches!(opcode, Band | Bor | Bxor) && self.is_mask(x, lane) && self.is_mask(y, lane)
            }
            _ => false,
        }
    }

    /// True if the lower 32 bits of an integer are all equal.
    fn is_all_or_none(&self, v: ir::Value) -> bool {
        match self.definition(self.root(v)) {
            Some(InstructionData::Ternary { opcode: Opcode::Select, args: [_, x, y] }) => {
                self.int(x) == Some(-1) && self.int(y) == Some(0)
            }
            Some(InstructionData::Unary { opcode: Opcode::Bmask, .. }) => true,
            Some(InstructionData::Unary { opcode: Opcode::Ineg, arg }) => match self.definition(arg) {
                Some(InstructionData::Unary { opcode: Opcode::Uextend, arg }) => matches!(
                    self.definition(arg),
                    Some(InstructionData::IntCompare { .. } | InstructionData::FloatCompare { .. })
                ),
                _ => false,
            },
            _ => false,
        }
    }

    /// Finds the parameters of blocks that are masks wherever control comes from.
    pub fn find_mask_params(&mut self) {
        if self.width < 64 {
            return;
        }
        let func = self.func;
        let is_candidate = |v: &ir::Value| {
            let ty = func.dfg.value_type(*v);
            ty.is_vector() && ty.lane_type().is_int() && ty.lane_type().bytes() >= NARROWED
        };
        let entry = func.layout.entry_block();
        let blocks = || func.layout.blocks().filter(|b| Some(*b) != entry);
        self.mask_params =
            blocks().flat_map(|b| func.dfg.block_params(b)).copied().filter(is_candidate).collect();
        let edges = self.edges();
        loop {
            let is_other = |(param, arg): &&(ir::Value, ir::Value)| {
                let lane = func.dfg.value_type(*param).lane_type().bytes();
                self.mask_params.contains(param) && !self.is_mask(*arg, lane)
            };
            let others: Vec<ir::Value> = edges.iter().filter(is_other).map(|(param, _)| *param).collect();
            if others.is_empty() {
                return;
            }
            others.iter().for_each(|v| _ = self.mask_params.remove(v));
        }
    }

    /// The parameters of blocks with what is passed for them.
    fn edges(&self) -> Vec<(ir::Value, ir::Value)> {
        let dfg = &self.func.dfg;
        let mut edges = Vec::new();
        for block in self.func.layout.blocks() {
            let Some(last) = self.func.layout.last_inst(block) else { continue };
            for to in dfg.insts[last].branch_destination(&dfg.jump_tables, &dfg.exception_tables) {
                let params = dfg.block_params(to.block(&dfg.value_lists));
                let args = to.args(&dfg.value_lists).filter_map(|a| a.as_value());
                edges.extend(params.iter().copied().zip(args));
            }
        }
        edges
    }

    /// The register of a parameter that is a mask, with its vector if that is asked for.
    pub fn mask_param(&mut self, param: ir::Value) -> Result<VReg> {
        let lane = self.ty(param).lane_type().bytes();
        let k = self.mask(param, lane)?;
        if let Some(d) = self.registers[param] {
            self.vector_of_mask(d, k, lane)?;
        }
        Ok(k)
    }

    fn combine_masks(&mut self, opcode: Opcode, k: VReg, lane: u32, [x, y]: [ir::Value; 2]) -> Result {
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
        let operands = [self.mask(x, lane)?, self.mask(y, lane)?];
        self.of_registers(code, View::K, k, operands);
        Ok(())
    }

    fn compare_into(&mut self, code: Code, k: VReg, x: VReg, y: Source, n: u8) {
        let reads = [Read::In(x, View::Z), Read::Any(y, View::Z), Read::Any(Source::Byte(n), View::Z)];
        self.make(code, (k, View::K), &reads);
    }

    /// A comparison whose result is a vector.
    pub fn compare_through_mask(&mut self, code: Code, d: VReg, x: VReg, y: Source, n: u8) {
        let k = self.fresh(RegClass::Vector);
        self.compare_into(code, k, x, y, n);
        self.spread(Code::EVEX_Vpmovm2d_zmm_kr, d, k);
    }

    fn compare_ints(&mut self, k: VReg, [x, y]: [ir::Value; 2], cond: IntCC) -> Result {
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
    fn vector_of_mask(&mut self, d: VReg, k: VReg, lane: u32) -> Result {
        let rows = [codes::PMOVM2B, codes::PMOVM2W, codes::PMOVM2D, codes::PMOVM2Q];
        self.spread(codes::by_bytes(lane, rows).at(View::Z).ok_or("a vector of a mask")?, d, k);
        Ok(())
    }

    fn spread(&mut self, code: Code, d: VReg, k: VReg) {
        self.make(code, (d, View::Z), &[Read::In(k, View::K)]);
    }

    /// Flags of a mask: zero if no bit is set, carry if all are.
    pub fn test_mask(&mut self, inst: &mut Inst, v: ir::Value, lane: u32) -> Result {
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
