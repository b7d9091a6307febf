//! Vectors: operators on whole registers of 128, 256 or 512 bits.
//!
//! At 128 and 256 bits a comparison leaves all bits of a lane or none in a vector; for 512 bits see `masks`.

use super::access::load_code;
use super::codes::{self, Row};
use super::compare::predicate;
use super::inst::{Read, Source, View};
use super::scalar::rounding;
use super::select::{Result, Select};
use cranelift::prelude::*;
use cranelift_codegen::ir::{self, InstructionData, Opcode};
use iced_x86::Code;
use regalloc2::{RegClass, VReg};

/// Half of a vector.
pub fn half(view: View) -> View {
    if view == View::Z { View::Y } else { View::X }
}

impl Select<'_> {
    pub fn row(&self, row: Row, ty: Type) -> Result<Code> {
        row.at(self.view(ty)).ok_or_else(|| format!("an instruction on {ty}"))
    }

    pub fn vectors(&mut self, data: InstructionData, d: VReg, ty: Type) -> Result {
        let opcode = data.opcode();
        let view = self.view(ty);
        match data {
            InstructionData::Binary { args, .. } => self.vector_binary(opcode, d, ty, args),
            InstructionData::Unary { arg, .. } => self.vector_unary(opcode, d, ty, arg),
            InstructionData::IntCompare { args, cond, .. } => self.compare_lanes(d, ty, args, cond),
            InstructionData::FloatCompare { args: [x, y], cond, .. } => {
                let row = if self.ty(x).lane_type() == types::F64 { codes::CMPPD } else { codes::CMPPS };
                let code = self.row(row, ty)?;
                let (x, y) = (self.reg(x)?, self.source(y)?);
                self.three_by(code, view, d, x, y, predicate(cond));
                Ok(())
            }
            InstructionData::Ternary { opcode: Opcode::Select, args } => self.choose(d, ty, args),
            InstructionData::Ternary { opcode: Opcode::Bitselect | Opcode::Blendv, args } => {
                self.blend(opcode, d, ty, args)
            }
            InstructionData::Ternary { opcode: Opcode::Fma, args } => {
                let row = if ty.lane_type() == types::F64 { codes::FMADD213PD } else { codes::FMADD213PS };
                let code = self.row(row, ty)?;
                self.fused(code, view, d, args)
            }
            InstructionData::BinaryImm8 { opcode: Opcode::Extractlane, arg, imm } => {
                self.extract(d, ty, arg, imm as usize)
            }
            InstructionData::TernaryImm8 { opcode: Opcode::Insertlane, args, imm } => {
                self.insert(d, ty, args, imm)
            }
            InstructionData::Shuffle { args, imm, .. } => {
                let mask = self.func.dfg.immediates.get(imm).ok_or("a shuffle")?.as_slice().to_vec();
                self.shuffle(d, args, &mask)
            }
            _ => Err(format!("{opcode}.{ty}")),
        }
    }

    pub fn vector_binary(&mut self, opcode: Opcode, d: VReg, ty: Type, [x, y]: [ir::Value; 2]) -> Result {
        match opcode {
            Opcode::Ishl | Opcode::Ushr | Opcode::Sshr => return self.shift_lanes(opcode, d, ty, x, y),
            Opcode::Snarrow | Opcode::Unarrow | Opcode::Uunarrow => {
                return self.narrow_lanes(opcode, d, ty, x, y);
            }
            Opcode::Imul if ty.lane_type() == types::I64 && self.bytes_of(ty) < 64 => {
                return self.product_of_longs(d, ty, x, y);
            }
            Opcode::Smin | Opcode::Smax if ty.lane_type() == types::I64 && self.bytes_of(ty) < 64 => {
                return self.extremum_of_longs(opcode == Opcode::Smin, d, ty, [x, y]);
            }
            Opcode::Band => {
                if let Some((x, y)) = self.without(x, y).or_else(|| self.without(y, x)) {
                    let code = self.row(codes::ANDN, ty)?;
                    let (x, y) = (self.source(x)?, self.reg(y)?);
                    self.three(code, self.view(ty), d, y, x);
                    return Ok(());
                }
            }
            _ => {}
        }
        let row = binary(opcode, ty.lane_type()).ok_or_else(|| format!("{opcode}.{ty}"))?;
        let commutes = !matches!(opcode, Opcode::Isub | Opcode::Fsub | Opcode::Fdiv);
        self.apply(row, d, ty, if commutes && self.is_constant(x) { [y, x] } else { [x, y] })
    }

    /// An operator whose second operand may be in memory.
    pub fn apply(&mut self, row: Row, d: VReg, ty: Type, [x, y]: [ir::Value; 2]) -> Result {
        let code = self.row(row, ty)?;
        let (x, y) = (self.reg(x)?, self.source(y)?);
        self.three(code, self.view(ty), d, x, y);
        Ok(())
    }

    /// `x` and `y` of `x & !y`.
    pub fn without(&self, x: ir::Value, y: ir::Value) -> Option<(ir::Value, ir::Value)> {
        match self.definition(self.root(y))? {
            InstructionData::Unary { opcode: Opcode::Bnot, arg } if self.is_here(self.root(y)) => {
                Some((x, arg))
            }
            _ => None,
        }
    }

    fn is_constant(&self, v: ir::Value) -> bool {
        match self.definition(self.root(v)) {
            Some(InstructionData::UnaryConst { .. }) => true,
            Some(InstructionData::Unary { opcode: Opcode::Splat, arg }) => {
                let opcode = self.definition(arg).map(|d| d.opcode());
                matches!(opcode, Some(Opcode::Iconst | Opcode::F32const | Opcode::F64const))
            }
            _ => false,
        }
    }

    /// The smaller or larger of integers of 64 bits.
    fn extremum_of_longs(&mut self, least: bool, d: VReg, ty: Type, [x, y]: [ir::Value; 2]) -> Result {
        let view = self.view(ty);
        let (greater, blend) = (self.row(codes::PCMPGTQ, ty)?, self.row(codes::BLENDVPD, ty)?);
        let (x, y, mask) = (self.reg(x)?, self.reg(y)?, self.fresh(RegClass::Float));
        self.three(greater, view, mask, x, Source::Reg(y));
        // The second where the first is greater.
        let (a, b) = if least { (x, y) } else { (y, x) };
        self.of_registers(blend, view, d, [a, b, mask]);
        Ok(())
    }

    /// `x * y` of 64 bits: the product of the lower halves, and the sum of the mixed ones above.
    pub fn product_of_longs(&mut self, d: VReg, ty: Type, x: ir::Value, y: ir::Value) -> Result {
        let view = self.view(ty);
        let (x, y) = (self.reg(x)?, self.reg(y)?);
        let [a, b, ab, ba, mixed, high, low] = [(); 7].map(|()| self.fresh(RegClass::Float));
        let (times, up) = (self.row(codes::PMULUDQ, ty)?, self.row(codes::PSLLQ_BY, ty)?);
        let (down, plus) = (self.row(codes::PSRLQ_BY, ty)?, self.row(codes::PADDQ, ty)?);
        self.by(down, (a, view), (x, view), 32);
        self.by(down, (b, view), (y, view), 32);
        self.three(times, view, ab, a, Source::Reg(y));
        self.three(times, view, ba, x, Source::Reg(b));
        self.three(plus, view, mixed, ab, Source::Reg(ba));
        self.by(up, (high, view), (mixed, view), 32);
        self.three(times, view, low, x, Source::Reg(y));
        self.three(plus, view, d, low, Source::Reg(high));
        Ok(())
    }

    /// All lanes by the same count.
    pub fn shift_lanes(&mut self, opcode: Opcode, d: VReg, ty: Type, x: ir::Value, n: ir::Value) -> Result {
        let lane = ty.lane_type();
        if opcode == Opcode::Sshr && lane == types::I64 && self.bytes_of(ty) < 64 {
            return self.shift_of_longs(d, ty, x, n);
        }
        let (by_count, by_number) = match (opcode, lane) {
            (Opcode::Ishl, types::I16) => (codes::PSLLW, codes::PSLLW_BY),
            (Opcode::Ishl, types::I32) => (codes::PSLLD, codes::PSLLD_BY),
            (Opcode::Ishl, types::I64) => (codes::PSLLQ, codes::PSLLQ_BY),
            (Opcode::Ushr, types::I16) => (codes::PSRLW, codes::PSRLW_BY),
            (Opcode::Ushr, types::I32) => (codes::PSRLD, codes::PSRLD_BY),
            (Opcode::Ushr, types::I64) => (codes::PSRLQ, codes::PSRLQ_BY),
            (Opcode::Sshr, types::I16) => (codes::PSRAW, codes::PSRAW_BY),
            (Opcode::Sshr, types::I32) => (codes::PSRAD, codes::PSRAD_BY),
            (Opcode::Sshr, types::I64) => (codes::PSRAQ, codes::PSRAQ_BY),
            _ => return Err(format!("{opcode}.{ty}")),
        };
        let view = self.view(ty);
        let a = self.reg(x)?;
        if let Some(n) = self.int(n) {
            let code = self.row(by_number, ty)?;
            self.by(code, (d, view), (a, view), (n as u32 & (lane.bits() - 1)) as u8);
            return Ok(());
        }
        let code = self.row(by_count, ty)?;
        let count = self.count(n, lane)?;
        self.make(code, (d, view), &[Read::In(a, view), Read::Any(Source::Reg(count), View::X)]);
        Ok(())
    }

    /// A count of a shift, below the width of a lane, in a vector register.
    pub fn count(&mut self, n: ir::Value, lane: Type) -> Result<VReg> {
        let n = self.reg(n)?;
        let (masked, count) = (self.fresh(RegClass::Int), self.fresh(RegClass::Float));
        self.onto(Code::And_rm64_imm32, View::Q, masked, n, Source::Imm(lane.bits() as i32 - 1));
        self.two(Code::VEX_Vmovq_xmm_rm64, (count, View::X), (Source::Reg(masked), View::Q));
        Ok(count)
    }

    /// An arithmetic shift to the right that the processor does not have: with the sign flipped before, and taken off after.
    pub fn shift_of_longs(&mut self, d: VReg, ty: Type, x: ir::Value, n: ir::Value) -> Result {
        let view = self.view(ty);
        let sign = (1u64 << 63).to_le_bytes().repeat(self.bytes_of(ty) / ty.lane_type().bytes() as usize);
        let sign = self.constant(&sign);
        let x = self.reg(x)?;
        let [signs, shifted, mask, flipped] = [(); 4].map(|()| self.fresh(RegClass::Float));
        let load = self.row(codes::MOVUPS, ty)?;
        self.two(load, (signs, view), (Source::Pool(sign), view));
        let (xor, minus) = (self.row(codes::XOR, ty)?, self.row(codes::PSUBQ, ty)?);
        match self.int(n) {
            Some(n) => {
                let code = self.row(codes::PSRLQ_BY, ty)?;
                self.by(code, (shifted, view), (x, view), (n & 63) as u8);
                self.by(code, (mask, view), (signs, view), (n & 63) as u8);
            }
            None => {
                let code = self.row(codes::PSRLQ, ty)?;
                let count = self.count(n, types::I64)?;
                for (to, from) in [(shifted, x), (mask, signs)] {
                    let reads = [Read::In(from, view), Read::Any(Source::Reg(count), View::X)];
                    self.make(code, (to, view), &reads);
                }
            }
        }
        self.three(xor, view, flipped, shifted, Source::Reg(mask));
        self.three(minus, view, d, flipped, Source::Reg(mask));
        Ok(())
    }

    pub fn vector_unary(&mut self, opcode: Opcode, d: VReg, ty: Type, x: ir::Value) -> Result {
        let (view, lane) = (self.view(ty), ty.lane_type());
        let double = lane == types::F64;
        if let Some(mode) = rounding(opcode) {
            let code = self.row(if double { codes::ROUNDPD } else { codes::ROUNDPS }, ty)?;
            let x = self.source(x)?;
            self.two_by(code, (d, view), (x, view), mode);
            return Ok(());
        }
        match opcode {
            Opcode::Splat => self.splat(d, ty, x),
            Opcode::ScalarToVector => self.first_lane(d, x),
            Opcode::VanyTrue | Opcode::VallTrue => self.flag(d, InstructionData::Unary { opcode, arg: x }),
            Opcode::Bnot => {
                let x = self.reg(x)?;
                self.flip(d, ty, x)
            }
            Opcode::Fneg | Opcode::Fabs => {
                let (row, mask) = self.sign(opcode, lane, self.bytes_of(ty));
                let code = self.row(row, ty)?;
                let x = self.reg(x)?;
                self.three(code, view, d, x, mask);
                Ok(())
            }
            Opcode::Ineg => {
                let code = self.row(binary(Opcode::Isub, lane).ok_or("a negation")?, ty)?;
                let zero = self.zero();
                let x = self.source(x)?;
                self.three(code, view, d, zero, x);
                Ok(())
            }
            Opcode::Iabs => self.absolute_lanes(d, ty, x),
            Opcode::Sqrt => self.unary(if double { codes::SQRTPD } else { codes::SQRTPS }, d, ty, x),
            Opcode::SwidenLow | Opcode::UwidenLow | Opcode::SwidenHigh | Opcode::UwidenHigh => {
                self.widen(opcode, d, ty, x)
            }
            Opcode::FcvtFromSint => self.lanes_from_int(d, ty, x),
            Opcode::FcvtToSintSat if ty.lane_type() == types::I32 && self.ty(x).lane_type() == types::F32 => {
                self.lanes_to_int(d, ty, x)
            }
            Opcode::FvpromoteLow | Opcode::Fpromote => {
                let code = self.row(codes::CVTPS2PD, ty)?;
                let x = self.source(x)?;
                self.two(code, (d, view), (x, half(self.view(ty))));
                Ok(())
            }
            Opcode::Fvdemote | Opcode::Fdemote => {
                let from = self.ty(x);
                let code = self.row(codes::CVTPD2PS, from)?;
                let x = self.source(x)?;
                self.two(code, (d, half(self.view(ty))), (x, self.view(from)));
                Ok(())
            }
            _ => Err(format!("{opcode}.{ty}")),
        }
    }

    fn absolute_lanes(&mut self, d: VReg, ty: Type, x: ir::Value) -> Result {
        match ty.lane_type() {
            types::I8 => self.unary(codes::PABSB, d, ty, x),
            types::I16 => self.unary(codes::PABSW, d, ty, x),
            types::I32 => self.unary(codes::PABSD, d, ty, x),
            _ if self.bytes_of(ty) == 64 => self.unary(codes::PABSQ, d, ty, x),
            _ => self.absolute_longs(d, ty, x),
        }
    }

    pub fn unary(&mut self, row: Row, d: VReg, ty: Type, x: ir::Value) -> Result {
        let code = self.row(row, ty)?;
        let view = self.view(ty);
        let x = self.source(x)?;
        self.two(code, (d, view), (x, view));
        Ok(())
    }

    pub fn zero(&mut self) -> VReg {
        let r = self.fresh(RegClass::Float);
        self.clear(r);
        r
    }

    /// `d = !x`.
    pub fn flip(&mut self, d: VReg, ty: Type, x: VReg) -> Result {
        let ones = Source::Pool(self.constant(&vec![0xff; self.bytes_of(ty)]));
        let code = self.row(codes::XOR, ty)?;
        self.three(code, self.view(ty), d, x, ones);
        Ok(())
    }

    /// The larger of `x` and `-x`, by the sign of each lane.
    pub fn absolute_longs(&mut self, d: VReg, ty: Type, x: ir::Value) -> Result {
        let view = self.view(ty);
        let x = self.reg(x)?;
        let (zero, signs, flipped) = (self.zero(), self.fresh(RegClass::Float), self.fresh(RegClass::Float));
        let greater = self.row(codes::PCMPGTQ, ty)?;
        let (xor, minus) = (self.row(codes::XOR, ty)?, self.row(codes::PSUBQ, ty)?);
        self.three(greater, view, signs, zero, Source::Reg(x));
        self.three(xor, view, flipped, x, Source::Reg(signs));
        self.three(minus, view, d, flipped, Source::Reg(signs));
        Ok(())
    }

    /// The same scalar in all lanes.
    pub fn splat(&mut self, d: VReg, ty: Type, x: ir::Value) -> Result {
        let (view, lane) = (self.view(ty), ty.lane_type());
        let rows = [codes::PBROADCASTB, codes::PBROADCASTW, codes::PBROADCASTD, codes::PBROADCASTQ];
        let code = self.row(codes::by_bytes(lane.bytes(), rows), ty)?;
        let first = match self.read_here(x)? {
            Some(address) => Source::Mem(address),
            None => Source::Reg(self.in_vector(x)?),
        };
        self.two(code, (d, view), (first, View::X));
        Ok(())
    }

    /// A scalar in the first lane of a vector register.
    pub fn in_vector(&mut self, x: ir::Value) -> Result<VReg> {
        let r = self.reg(x)?;
        if r.class() == RegClass::Float {
            return Ok(r);
        }
        let t = self.fresh(RegClass::Float);
        self.two(Code::VEX_Vmovq_xmm_rm64, (t, View::X), (Source::Reg(r), View::Q));
        Ok(t)
    }

    pub fn first_lane(&mut self, d: VReg, x: ir::Value) -> Result {
        let ty = self.ty(x);
        if ty.is_float()
            && let Some(address) = self.read_here(x)?
        {
            self.two(load_code(ty, View::X)?, (d, View::X), (Source::Mem(address), View::X));
            return Ok(());
        }
        let r = self.reg(x)?;
        match r.class() {
            RegClass::Float => {
                self.two(Code::VEX_Vmovups_xmm_xmmm128, (d, View::X), (Source::Reg(r), View::X));
            }
            _ => self.two(Code::VEX_Vmovq_xmm_rm64, (d, View::X), (Source::Reg(r), View::Q)),
        }
        Ok(())
    }

    pub fn lanes_from_int(&mut self, d: VReg, ty: Type, x: ir::Value) -> Result {
        if ty.lane_type() == types::F32 {
            return self.unary(codes::CVTDQ2PS, d, ty, x);
        }
        // Numbers of 64 bits that were 32 before.
        let source = match self.definition(self.root(x)) {
            Some(InstructionData::Unary { opcode: Opcode::SwidenLow, arg }) => self.source(arg)?,
            Some(InstructionData::Unary { opcode: Opcode::SwidenHigh, arg }) => {
                let x = self.reg(arg)?;
                Source::Reg(self.upper(x, ty))
            }
            _ => return Err("a conversion from 64 bits".into()),
        };
        let (code, view) = (self.row(codes::CVTDQ2PD, ty)?, self.view(ty));
        self.two(code, (d, view), (source, half(view)));
        Ok(())
    }

    /// Floats towards zero, the nearest integer if that is too far away, and 0 of no number.
    pub fn lanes_to_int(&mut self, d: VReg, ty: Type, x: ir::Value) -> Result {
        let view = self.view(ty);
        let limit = (1u32 << 31) as f32;
        let limit = Source::Pool(
            self.constant(&limit.to_le_bytes().repeat(self.bytes_of(ty) / ty.lane_type().bytes() as usize)),
        );
        let compare = self.row(codes::CMPPS, ty)?;
        let (and, xor) = (self.row(codes::AND, ty)?, self.row(codes::XOR, ty)?);
        let convert = self.row(codes::CVTTPS2DQ, ty)?;
        let x = self.reg(x)?;
        let [ordered, number, above, converted] = [(); 4].map(|()| self.fresh(RegClass::Float));
        for (d, y, cond) in
            [(ordered, Source::Reg(x), FloatCC::Ordered), (above, limit, FloatCC::GreaterThanOrEqual)]
        {
            match view {
                View::Z => self.compare_through_mask(compare, d, x, y, predicate(cond)),
                _ => self.three_by(compare, view, d, x, y, predicate(cond)),
            }
        }
        self.three(and, view, number, x, Source::Reg(ordered));
        self.two(convert, (converted, view), (Source::Reg(number), view));
        // What is too large becomes the lowest number, all bits of which are flipped.
        self.three(xor, view, d, converted, Source::Reg(above));
        Ok(())
    }
}

/// The instruction of an operator whose second operand may be in memory.
fn binary(opcode: Opcode, lane: Type) -> Option<Row> {
    use Opcode::*;
    use codes::*;
    let float = |single, double| if lane == types::F32 { single } else { double };
    let int = |rows| by_bytes(lane.bytes(), rows);
    Some(match opcode {
        Fadd => float(ADDPS, ADDPD),
        Fsub => float(SUBPS, SUBPD),
        Fmul => float(MULPS, MULPD),
        Fdiv => float(DIVPS, DIVPD),
        Iadd => int([PADDB, PADDW, PADDD, PADDQ]),
        Isub => int([PSUBB, PSUBW, PSUBD, PSUBQ]),
        Imul => match lane {
            types::I16 => PMULLW,
            types::I32 => PMULLD,
            types::I64 => PMULLQ,
            _ => return None,
        },
        Band => AND,
        Bor => OR,
        Bxor => XOR,
        Smin => int([PMINSB, PMINSW, PMINSD, PMINSQ]),
        Smax => int([PMAXSB, PMAXSW, PMAXSD, PMAXSQ]),
        Umin => int([PMINUB, PMINUW, PMINUD, PMINUQ]),
        Umax => int([PMAXUB, PMAXUW, PMAXUD, PMAXUQ]),
        _ => return None,
    })
}
