//! Integers in lanes of other widths.
//!
//! ```text
//! w = uwiden_low.i16 x     d = vpmovzxbd x          w = band.i32 x 0xffff      d = vpmovdb x
//! d = uwiden_low.i32 w  =>                          n = unarrow.i16 w w
//!                                                   b = band.i16 n 0xff    =>
//!                                                   d = unarrow.i8 b b
//! ```

use super::codes::{self, Row};
use super::inst::{Source, View};
use super::select::{Result, Select};
use super::vectors::half;
use cranelift::prelude::*;
use cranelift_codegen::ir::{self, InstructionData, Opcode};
use iced_x86::Code;
use regalloc2::{RegClass, VReg};

impl Select<'_> {
    /// The lanes of two vectors at half their width.
    pub fn narrow_lanes(&mut self, opcode: Opcode, d: VReg, ty: Type, x: ir::Value, y: ir::Value) -> Result {
        if let Some((wide, lane, times)) = self.cut_off(opcode, x, y) {
            return self.truncate(d, wide, lane, times);
        }
        let row = match (opcode, self.ty(x).lane_type()) {
            (Opcode::Snarrow, types::I16) => codes::PACKSSWB,
            (Opcode::Snarrow, types::I32) => codes::PACKSSDW,
            (Opcode::Unarrow, types::I16) => codes::PACKUSWB,
            (Opcode::Unarrow, types::I32) => codes::PACKUSDW,
            _ => return Err(format!("{opcode}.{ty}")),
        };
        let code = self.row(row, ty)?;
        let (x, y) = (self.reg(x)?, self.source(y)?);
        let packed = if self.bytes_of(ty) == 16 { d } else { self.fresh(RegClass::Float) };
        self.three(code, self.view(ty), packed, x, y);
        self.unpack(d, packed, ty)
    }

    /// The vector whose lanes are cut off, if one vector is narrowed to its first half or quarter, with the bytes of its lanes, and
    /// how many times as wide they are as those of the result.
    fn cut_off(&self, opcode: Opcode, x: ir::Value, y: ir::Value) -> Option<(ir::Value, usize, usize)> {
        if opcode != Opcode::Unarrow || self.width == 16 || self.root(x) != self.root(y) {
            return None;
        }
        let wide = self.lower_halves(x)?;
        let lane = self.ty(x).lane_type().bytes() as usize;
        let again = match self.definition(wide) {
            Some(InstructionData::Binary { opcode: Opcode::Unarrow, args: [x, y] })
                if lane == 2 && self.ty(x).lane_type() == types::I32 && self.root(x) == self.root(y) =>
            {
                self.lower_halves(x)
            }
            _ => None,
        };
        Some(again.map_or((wide, lane, 2), |all| (all, 4, 4)))
    }

    /// Lanes of so many bytes without their upper parts.
    fn truncate(&mut self, d: VReg, x: ir::Value, lane: usize, times: usize) -> Result {
        let x = self.reg(x)?;
        if self.width == 64 {
            let (code, view) = match (lane, times) {
                (_, 4) => (Code::EVEX_Vpmovdb_xmmm128_k1z_zmm, View::X),
                (2, _) => (Code::EVEX_Vpmovwb_ymmm256_k1z_zmm, View::Y),
                _ => (Code::EVEX_Vpmovdw_ymmm256_k1z_zmm, View::Y),
            };
            self.two(code, (d, view), (Source::Reg(x), View::Z));
            return Ok(());
        }
        // In each 128 bits, then these.
        let kept = lane / times;
        let order: Vec<u8> =
            (0..32u8).map(|i| i % 16).map(|i| i / kept as u8 * lane as u8 + i % kept as u8).collect();
        let order = order.iter().map(|i| if *i < 16 { *i } else { 0x80 }).collect::<Vec<u8>>();
        let (order, packed) = (Source::Pool(self.constant(&order)), self.fresh(RegClass::Float));
        self.three(Code::VEX_Vpshufb_ymm_ymm_ymmm256, View::Y, packed, x, order);
        if times == 2 {
            return self.unpack(d, packed, types::I8X16);
        }
        let firsts: Vec<u8> = [0u32, 4, 1, 1, 1, 1, 1, 1].iter().flat_map(|i| i.to_le_bytes()).collect();
        let index = self.loaded(&firsts, View::Y);
        self.three(Code::VEX_Vpermd_ymm_ymm_ymmm256, View::Y, d, index, Source::Reg(packed));
        Ok(())
    }

    /// `x` where `v` is `x` without the upper halves of its lanes.
    fn lower_halves(&self, v: ir::Value) -> Option<ir::Value> {
        let half = self.ty(v).lane_type().bytes() as usize / 2;
        let Some(InstructionData::Binary { opcode: Opcode::Band, args: [x, mask] }) =
            self.definition(self.root(v))
        else {
            return None;
        };
        let mask = self.bytes(self.root(mask))?;
        let is_lower =
            mask.iter().enumerate().all(|(i, byte)| *byte == if i / half % 2 == 1 { 0 } else { 0xff });
        is_lower.then(|| self.root(x))
    }

    /// Half of a vector at twice the width, or a part of what that half was widened from.
    pub fn widen(&mut self, opcode: Opcode, d: VReg, ty: Type, x: ir::Value) -> Result {
        let (mut from, mut part, mut times) = (self.root(x), is_upper(opcode) as usize, 2);
        let at_once = |part: usize, times: usize| part == 0 || times == 2 || times == 4 && self.width == 64;
        while let Some(InstructionData::Unary { opcode: inner, arg }) = self.definition(from)
            && widens(inner) == widens(opcode)
            && self.ty(from).lane_type().bytes() as usize * times == ty.lane_type().bytes() as usize
            && at_once(part + times * is_upper(inner) as usize, 2 * times)
        {
            part += times * is_upper(inner) as usize;
            (from, times) = (self.root(arg), 2 * times);
        }
        let code = self.row(widening(widens(opcode) == Some(true), ty.lane_type(), times), ty)?;
        let source = match part {
            0 => self.source(from)?,
            _ => {
                let (whole, of) = (self.reg(from)?, self.fresh(RegClass::Float));
                match times {
                    2 => self.upper_into(of, whole, ty),
                    _ => self.part_into(of, whole, part),
                }
                Source::Reg(of)
            }
        };
        let view = if times == 2 { half(self.view(ty)) } else { View::X };
        self.two(code, (d, self.view(ty)), (source, view));
        Ok(())
    }
}

/// Signedness of a widening opcode: true for sign extension, false for zero extension. `None`: the opcode does not widen.
fn widens(opcode: Opcode) -> Option<bool> {
    match opcode {
        Opcode::SwidenLow | Opcode::SwidenHigh => Some(true),
        Opcode::UwidenLow | Opcode::UwidenHigh => Some(false),
        _ => None,
    }
}

fn is_upper(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::SwidenHigh | Opcode::UwidenHigh)
}

/// The instruction to lanes of a type from lanes that have a part of its width.
fn widening(signed: bool, lane: Type, times: usize) -> Row {
    let [with_sign, without] = match (lane, times) {
        (types::I16, _) => [codes::PMOVSXBW, codes::PMOVZXBW],
        (types::I32, 2) => [codes::PMOVSXWD, codes::PMOVZXWD],
        (types::I32, _) => [codes::PMOVSXBD, codes::PMOVZXBD],
        (_, 2) => [codes::PMOVSXDQ, codes::PMOVZXDQ],
        (_, 4) => [codes::PMOVSXWQ, codes::PMOVZXWQ],
        _ => [codes::PMOVSXBQ, codes::PMOVZXBQ],
    };
    if signed { with_sign } else { without }
}
