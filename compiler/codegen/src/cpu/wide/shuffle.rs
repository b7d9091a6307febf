//! Lanes and parts of vectors: what leaves its place.

use super::codes;
use super::inst::{Inst, Read, Source, View};
use super::select::{Result, Select};
use cranelift::prelude::*;
use cranelift_codegen::ir;
use iced_x86::Code;
use regalloc2::{RegClass, VReg};

/// Restores the order of the 64 bits of two vectors that were packed in each 128 bits.
const UNPACK: u8 = 0b11_01_10_00;
/// Lanes 0 and 2 of both operands.
pub const EVEN: u8 = 0b10_00_10_00;
/// Lanes 1 and 3 of both operands.
const ODD: u8 = 0b11_01_11_01;

/// Instructions for an order of the lanes of two registers of 256 bits.
#[derive(Clone, Copy)]
enum By {
    /// Whole parts of 128 bits, by their numbers.
    Parts(u8),
    /// Halves of each part, alternating.
    Half(Code),
    /// Every other lane, packed in each part.
    Every(u8),
    /// The same of pairs of lanes.
    EveryPair(Code),
}

/// Orders that do not need an index for each lane.
const KNOWN: [([u8; 8], By); 8] = [
    ([0, 8, 1, 9, 4, 12, 5, 13], By::Half(Code::VEX_Vpunpckldq_ymm_ymm_ymmm256)),
    ([2, 10, 3, 11, 6, 14, 7, 15], By::Half(Code::VEX_Vpunpckhdq_ymm_ymm_ymmm256)),
    ([0, 1, 8, 9, 4, 5, 12, 13], By::Half(Code::VEX_Vpunpcklqdq_ymm_ymm_ymmm256)),
    ([2, 3, 10, 11, 6, 7, 14, 15], By::Half(Code::VEX_Vpunpckhqdq_ymm_ymm_ymmm256)),
    ([0, 2, 4, 6, 8, 10, 12, 14], By::Every(EVEN)),
    ([1, 3, 5, 7, 9, 11, 13, 15], By::Every(ODD)),
    ([0, 1, 4, 5, 8, 9, 12, 13], By::EveryPair(Code::VEX_Vpunpcklqdq_ymm_ymm_ymmm256)),
    ([2, 3, 6, 7, 10, 11, 14, 15], By::EveryPair(Code::VEX_Vpunpckhqdq_ymm_ymm_ymmm256)),
];

impl Select<'_> {
    /// Puts what was packed in each 128 bits in the order of the lanes.
    pub fn unpack(&mut self, d: VReg, packed: VReg, ty: Type) -> Result {
        match self.bytes_of(ty) {
            32 => {
                let packed = Source::Reg(packed);
                self.two_by(Code::VEX_Vpermq_ymm_ymmm256_imm8, (d, View::Y), (packed, View::Y), UNPACK);
            }
            64 => {
                let order: Vec<u8> =
                    [0u64, 2, 4, 6, 1, 3, 5, 7].iter().flat_map(|i| i.to_le_bytes()).collect();
                let index = self.loaded(&order, View::Z);
                self.three(Code::EVEX_Vpermq_zmm_k1z_zmm_zmmm512b64, View::Z, d, index, Source::Reg(packed));
            }
            _ => {}
        }
        Ok(())
    }

    /// The upper half of a vector, as the lower.
    pub fn upper(&mut self, x: VReg, ty: Type) -> VReg {
        let t = self.fresh(RegClass::Float);
        self.upper_into(t, x, ty);
        t
    }

    pub fn upper_into(&mut self, d: VReg, x: VReg, ty: Type) {
        match self.bytes_of(ty) {
            32 => self.by(Code::VEX_Vextracti128_xmmm128_ymm_imm8, (d, View::X), (x, View::Y), 1),
            64 => self.by(Code::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8, (d, View::Y), (x, View::Z), 1),
            _ => {
                let mut inst = Inst::new();
                let d = inst.def(d, View::X);
                let x = inst.using(x, View::X);
                inst.step(Code::VEX_Vpunpckhqdq_xmm_xmm_xmmm128, &[d, x, x]);
                self.now.push(inst);
            }
        }
    }

    pub fn extract(&mut self, d: VReg, ty: Type, x: ir::Value, lane: usize) -> Result {
        let bytes = ty.bytes() as usize;
        let mut x = self.reg(x)?;
        let per = 16 / bytes;
        if lane >= per {
            let part = self.fresh(RegClass::Float);
            self.part_into(part, x, lane / per);
            x = part;
        }
        let lane = (lane % per) as u8;
        let (code, view) = match (bytes, ty.is_int() && bytes < 16) {
            (1, true) => (Code::VEX_Vpextrb_r32m8_xmm_imm8, View::D),
            (2, true) => (Code::VEX_Vpextrw_r32_xmm_imm8, View::D),
            (4, true) if lane == 0 => (Code::VEX_Vmovd_rm32_xmm, View::D),
            (4, true) => (Code::VEX_Vpextrd_rm32_xmm_imm8, View::D),
            (_, true) if lane == 0 => (Code::VEX_Vmovq_rm64_xmm, View::Q),
            (_, true) => (Code::VEX_Vpextrq_rm64_xmm_imm8, View::Q),
            _ if lane == 0 => (Code::VEX_Vmovups_xmm_xmmm128, View::X),
            (4, _) => (Code::VEX_Vpermilps_xmm_xmmm128_imm8, View::X),
            _ => (Code::VEX_Vpermilpd_xmm_xmmm128_imm8, View::X),
        };
        match lane {
            0 if view == View::X || bytes >= 4 => self.make(code, (d, view), &[Read::In(x, View::X)]),
            lane => self.by(code, (d, view), (x, View::X), lane),
        }
        Ok(())
    }

    /// A lane of the first 128 bits; nothing is said about the bits above.
    pub fn insert(&mut self, d: VReg, ty: Type, [x, y]: [ir::Value; 2], lane: u8) -> Result {
        if lane as u32 >= ty.lane_count() {
            return Err(format!("a lane into {ty}"));
        }
        let is_whole = ty.lane_type().bytes() >= 4 && (ty.lane_type() != types::F64 || lane == 1);
        let read = if is_whole { self.read_here(y)? } else { None };
        let (x, y) = match read {
            Some(address) => (self.reg(x)?, Source::Mem(address)),
            None => (self.reg(x)?, self.operand(y)?),
        };
        if let (Source::Mem(_), types::F64, 1) = (&y, ty.lane_type(), lane) {
            self.three(Code::VEX_Vmovhpd_xmm_xmm_m64, View::X, d, x, y);
            return Ok(());
        }
        let (code, view, n) = match ty.lane_type() {
            types::I8 => (Code::VEX_Vpinsrb_xmm_xmm_r32m8_imm8, View::D, lane),
            types::I16 => (Code::VEX_Vpinsrw_xmm_xmm_r32m16_imm8, View::D, lane),
            types::I32 => (Code::VEX_Vpinsrd_xmm_xmm_rm32_imm8, View::D, lane),
            types::I64 => (Code::VEX_Vpinsrq_xmm_xmm_rm64_imm8, View::Q, lane),
            types::F32 => (Code::VEX_Vinsertps_xmm_xmm_xmmm32_imm8, View::X, lane << 4),
            // The lower lanes of both, or the second's lower and the first's upper.
            types::F64 if lane == 1 => (Code::VEX_Vshufpd_xmm_xmm_xmmm128_imm8, View::X, 0),
            types::F64 => (Code::VEX_Vblendpd_xmm_xmm_xmmm128_imm8, View::X, 1),
            _ => return Err(format!("a lane into {ty}")),
        };
        // A constant of 8 bytes is no vector in memory.
        if matches!(y, Source::Pool(_)) && ty.lane_type() == types::F64 {
            return Err("a constant lane".into());
        }
        let reads = [Read::In(x, View::X), Read::Any(y, view), Read::Any(Source::Byte(n), view)];
        self.make(code, (d, View::X), &reads);
        Ok(())
    }

    /// 128 bits of a register, as the first.
    pub fn part_into(&mut self, d: VReg, x: VReg, part: usize) {
        let (code, view) = match self.width {
            64 => (Code::EVEX_Vextracti32x4_xmmm128_k1z_zmm_imm8, View::Z),
            _ => (Code::VEX_Vextracti128_xmmm128_ymm_imm8, View::Y),
        };
        self.by(code, (d, View::X), (x, view), part as u8);
    }

    /// The choices of bytes that lanes make: what follows a place, the first parts of two registers, every other lane of 32 bits.
    pub fn shuffle(&mut self, d: VReg, [x, y]: [ir::Value; 2], mask: &[u8]) -> Result {
        let ty = types::I32X4;
        let takes = |at: usize, n: usize, from: usize| {
            mask[at..at + n].iter().zip(from..).all(|(m, i)| *m as usize == i)
        };
        let from = mask[0] as usize;
        if from > 0 && from < 16 && takes(0, 16 - from, from) {
            let x = self.reg(x)?;
            match from * self.width / 16 {
                at if at * 2 == self.width => self.upper_into(d, x, ty),
                at if at % 16 == 0 => self.part_into(d, x, at / 16),
                _ => return Err("a shuffle".into()),
            }
            return Ok(());
        }
        if let Some(n) = [4, 8].into_iter().find(|n| takes(0, *n, 0) && takes(*n, *n, 16)) {
            return self.concat(d, x, y, n * self.width / 16);
        }
        let even = |i: usize| (i / 4) * 8 + i % 4;
        if mask.iter().enumerate().all(|(i, m)| *m as usize == even(i)) {
            let (x, y) = (self.reg(x)?, self.source(y)?);
            let packed = if self.width == 16 { d } else { self.fresh(RegClass::Float) };
            let code = self.row(codes::SHUFPS, ty)?;
            self.three_by(code, self.view(ty), packed, x, y, EVEN);
            return self.unpack(d, packed, ty);
        }
        Err("a shuffle".into())
    }

    /// Lanes of 32 bits of two registers, by a constant order.
    pub fn permute(&mut self, d: VReg, xs: [ir::Value; 2], order: ir::Value) -> Result {
        let order = self.bytes(order).ok_or("an order that is no constant")?;
        let [x, y] = [self.reg(xs[0])?, self.reg(xs[1])?];
        if self.width == 64 {
            let index = self.loaded(&order, View::Z);
            let mut inst = Inst::new();
            let index = inst.using(index, View::Z);
            let d = inst.reuse(d, index, View::Z);
            let (x, y) = (inst.using(x, View::Z), inst.using(y, View::Z));
            inst.step(Code::EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32, &[d, x, y]);
            self.now.push(inst);
            return Ok(());
        }
        if self.width != 32 {
            return Err("a permutation".into());
        }
        let lanes: Vec<u8> = order.chunks(4).map(|lane| lane[0]).collect();
        let of_four = |at: usize| {
            let first = lanes[at];
            first.is_multiple_of(4) && (0..4).all(|l| lanes[at + l] == first + l as u8)
        };
        let parts = (of_four(0) && of_four(4)).then(|| By::Parts((lanes[0] / 4) | ((lanes[4] / 4) << 4)));
        let known = || KNOWN.iter().find(|(order, _)| order[..] == lanes).map(|(_, by)| *by);
        if let Some(by) = parts.or_else(known) {
            return self.permute_by(d, [x, y], by);
        }
        // The number of a lane in its register is what is looked at.
        let index = self.loaded(&order, View::Y);
        if let Some(from) = [(0, x), (8, y)].into_iter().find(|(n, _)| lanes.iter().all(|l| l & 8 == *n)) {
            self.three(Code::VEX_Vpermd_ymm_ymm_ymmm256, View::Y, d, index, Source::Reg(from.1));
            return Ok(());
        }
        let from_second = (0..8).filter(|l| lanes[*l] >= 8).fold(0u8, |mask, l| mask | 1 << l);
        let mut permuted = |from: VReg, first: u8| {
            let stays = |(l, at): (usize, &u8)| at & 8 != first || *at == l as u8 + first;
            if lanes.iter().enumerate().all(stays) {
                return from;
            }
            let to = self.fresh(RegClass::Float);
            self.three(Code::VEX_Vpermd_ymm_ymm_ymmm256, View::Y, to, index, Source::Reg(from));
            to
        };
        let (a, b) = (permuted(x, 0), permuted(y, 8));
        self.three_by(Code::VEX_Vpblendd_ymm_ymm_ymmm256_imm8, View::Y, d, a, Source::Reg(b), from_second);
        Ok(())
    }

    fn permute_by(&mut self, d: VReg, [x, y]: [VReg; 2], by: By) -> Result {
        let (y, view) = (Source::Reg(y), View::Y);
        let packed = self.fresh(RegClass::Float);
        match by {
            By::Parts(n) => self.three_by(Code::VEX_Vperm2i128_ymm_ymm_ymmm256_imm8, view, d, x, y, n),
            By::Half(code) => self.three(code, view, d, x, y),
            By::Every(n) => {
                self.three_by(Code::VEX_Vshufps_ymm_ymm_ymmm256_imm8, view, packed, x, y, n);
                self.unpack(d, packed, types::I32X4)?;
            }
            By::EveryPair(code) => {
                self.three(code, view, packed, x, y);
                self.unpack(d, packed, types::I32X4)?;
            }
        }
        Ok(())
    }

    /// The bytes of each 128 bits of the first bytes, by a constant order.
    pub fn swizzle(&mut self, d: VReg, x: ir::Value, order: ir::Value, bytes: usize) -> Result {
        let order = self.bytes(order).ok_or("an order that is no constant")?;
        let order = Source::Pool(self.constant(&order[..bytes]));
        let x = self.reg(x)?;
        let (code, view) = match bytes {
            16 => (Code::VEX_Vpshufb_xmm_xmm_xmmm128, View::X),
            32 => (Code::VEX_Vpshufb_ymm_ymm_ymmm256, View::Y),
            _ => (Code::EVEX_Vpshufb_zmm_k1z_zmm_zmmm512, View::Z),
        };
        self.three(code, view, d, x, order);
        Ok(())
    }

    /// A constant in a register of its own.
    pub fn loaded(&mut self, bytes: &[u8], view: View) -> VReg {
        let from = Source::Pool(self.constant(bytes));
        let to = self.fresh(RegClass::Float);
        let code =
            if view == View::Z { Code::EVEX_Vmovups_zmm_k1z_zmmm512 } else { Code::VEX_Vmovups_ymm_ymmm256 };
        self.two(code, (to, view), (from, view));
        to
    }

    /// The first bytes of two registers, one after the other.
    pub fn concat(&mut self, d: VReg, x: ir::Value, y: ir::Value, bytes: usize) -> Result {
        let (x, y) = (self.reg(x)?, self.reg(y)?);
        let (code, half, view) = match bytes {
            8 => {
                self.three(Code::VEX_Vpunpcklqdq_xmm_xmm_xmmm128, View::X, d, x, Source::Reg(y));
                return Ok(());
            }
            16 => (Code::VEX_Vinserti128_ymm_ymm_xmmm128_imm8, View::X, View::Y),
            32 => (Code::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8, View::Y, View::Z),
            _ => return Err("a shuffle".into()),
        };
        let reads = [Read::In(x, view), Read::Any(Source::Reg(y), half), Read::Any(Source::Byte(1), view)];
        self.make(code, (d, view), &reads);
        Ok(())
    }
}
