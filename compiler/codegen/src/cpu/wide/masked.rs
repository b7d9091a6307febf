//! Operators under masks: stores, packing of lanes; and lanes in reverse order.

use super::inst::{Address, Arg, Inst, Read, Source, View};
use super::own::cleared;
use super::select::{Result, Select};
use cranelift_codegen::ir;
use iced_x86::Code;
use regalloc2::{RegClass, VReg};

impl Select<'_> {
    /// Stores the lanes of a mask.
    pub fn store_lanes(&mut self, [address, mask, x]: [ir::Value; 3]) -> Result {
        let ty = self.ty(x);
        let (is_long, view) = (ty.lane_type().bytes() == 8, self.view(ty));
        let address = self.address(address, 0)?;
        let x = self.reg(x)?;
        let mut inst = Inst::new();
        if self.width == 64 {
            let mask = self.mask(mask, ty.lane_type().bytes())?;
            let to = inst.memory(address);
            let x = inst.using(x, view);
            let under = inst.under(mask);
            let codes = [Code::EVEX_Vmovups_zmmm512_k1z_zmm, Code::EVEX_Vmovupd_zmmm512_k1z_zmm];
            inst.step(codes[is_long as usize], &[to, x, under]);
        } else {
            let mask = self.reg(mask)?;
            let to = inst.memory(address);
            let (mask, x) = (inst.using(mask, view), inst.using(x, view));
            let codes = [Code::VEX_Vmaskmovps_m256_ymm_ymm, Code::VEX_Vmaskmovpd_m256_ymm_ymm];
            inst.step(codes[is_long as usize], &[to, mask, x]);
        }
        self.now.push(inst);
        Ok(())
    }

    /// Loads the lanes of a mask, and 0 in the others.
    pub fn load_lanes(&mut self, d: VReg, address: ir::Value, mask: ir::Value) -> Result {
        let ty = self.ty(mask);
        let (is_long, view) = (ty.lane_type().bytes() == 8, self.view(ty));
        let address = self.address(address, 0)?;
        let mut inst = Inst::new();
        if self.width == 64 {
            let mask = self.mask(mask, ty.lane_type().bytes())?;
            let to = cleared(&mut inst, d, view);
            let (under, from) = (inst.under(mask), inst.memory(address));
            let codes = [Code::EVEX_Vmovups_zmm_k1z_zmmm512, Code::EVEX_Vmovupd_zmm_k1z_zmmm512];
            inst.step(codes[is_long as usize], &[to, from, under]);
        } else {
            let mask = self.reg(mask)?;
            let (to, from) = (inst.early(d, view), inst.memory(address));
            let mask = inst.using(mask, view);
            let codes = [Code::VEX_Vmaskmovps_ymm_ymm_m256, Code::VEX_Vmaskmovpd_ymm_ymm_m256];
            inst.step(codes[is_long as usize], &[to, mask, from]);
        }
        self.now.push(inst);
        Ok(())
    }

    /// A bit for each lane of a mask, of 32 or 64 bits.
    pub fn bits_of_mask(&mut self, d: VReg, mask: ir::Value) -> Result {
        let ty = self.ty(mask);
        let lane = ty.lane_type().bytes();
        let (codes, mask) = match self.width {
            // Bits above those of the lanes may be set.
            64 => {
                let codes = [Code::VEX_Kmovw_r32_kr, Code::VEX_Kmovb_r32_kr];
                (codes, Read::In(self.mask(mask, lane)?, View::K))
            }
            _ => {
                let codes = [Code::VEX_Vmovmskps_r32_ymm, Code::VEX_Vmovmskpd_r32_ymm];
                (codes, Read::In(self.reg(mask)?, View::Y))
            }
        };
        self.make(codes[(lane == 8) as usize], (d, View::D), &[mask]);
        Ok(())
    }

    /// The lanes of a mask one after the other, and 0 or anything in the others.
    pub fn compress(&mut self, d: VReg, x: ir::Value, mask: ir::Value) -> Result {
        let ty = self.ty(x);
        let lane = ty.lane_type().bytes() as usize;
        if self.width < 64 {
            return self.compress_by_table(d, x, mask, lane);
        }
        let (x, mask) = (self.reg(x)?, self.mask(mask, lane as u32)?);
        let mut inst = Inst::new();
        let to = inst.early(d, View::Z);
        let Arg::Op(at, _) = to else { unreachable!("a register") };
        let low = Arg::Op(at, View::X);
        let x = inst.using(x, View::Z);
        let under = inst.under(mask);
        inst.step(Code::VEX_Vxorps_xmm_xmm_xmmm128, &[low, low, low]);
        let codes = [Code::EVEX_Vpcompressd_zmmm512_k1z_zmm, Code::EVEX_Vpcompressq_zmmm512_k1z_zmm];
        inst.step(codes[(lane == 8) as usize], &[to, x, under]);
        self.now.push(inst);
        Ok(())
    }

    /// A permutation of 32-bit lanes for each mask, of 8 bytes.
    fn compress_by_table(&mut self, d: VReg, x: ir::Value, mask: ir::Value, lane: usize) -> Result {
        let words = lane as u8 / 4;
        let permutation = |mask: usize| {
            let kept = (0..32 / lane).filter(move |l| mask >> l & 1 == 1);
            let mut bytes: Vec<u8> =
                kept.flat_map(|l| (0..words).map(move |w| l as u8 * words + w)).collect();
            bytes.resize(8, 0);
            bytes
        };
        let table: Vec<u8> = (0..1usize << (32 / lane)).flat_map(permutation).collect();
        let table = self.constant(&table);
        let [bits, start] = [(); 2].map(|()| self.fresh(RegClass::Int));
        let index = self.fresh(RegClass::Float);
        self.bits_of_mask(bits, mask)?;
        self.two(Code::Lea_r64_m, (start, View::Q), (Source::Pool(table), View::Q));
        let from = Source::Mem(Address { base: Some(start), index: Some((bits, 8)), offset: 0 });
        self.two(Code::VEX_Vpmovzxbd_ymm_xmmm64, (index, View::Y), (from, View::Y));
        let x = Source::Reg(self.reg(x)?);
        self.three(Code::VEX_Vpermd_ymm_ymm_ymmm256, View::Y, d, index, x);
        Ok(())
    }

    /// Lanes of 32 or 64 bits in reverse order.
    pub fn reverse_lanes(&mut self, d: VReg, x: ir::Value) -> Result {
        let lane = self.ty(x).lane_type().bytes() as usize;
        let x = self.reg(x)?;
        if self.width == 32 && lane == 8 {
            let x = (Source::Reg(x), View::Y);
            self.two_by(Code::VEX_Vpermq_ymm_ymmm256_imm8, (d, View::Y), x, 0b00_01_10_11);
            return Ok(());
        }
        let lanes = self.width / lane;
        let order: Vec<u8> = (0..lanes).rev().flat_map(|l| l.to_le_bytes()[..lane].to_vec()).collect();
        let (permute, view) = match (self.width, lane) {
            (64, 4) => (Code::EVEX_Vpermd_zmm_k1z_zmm_zmmm512b32, View::Z),
            (64, _) => (Code::EVEX_Vpermq_zmm_k1z_zmm_zmmm512b64, View::Z),
            _ => (Code::VEX_Vpermd_ymm_ymm_ymmm256, View::Y),
        };
        let index = self.loaded(&order, view);
        self.three(permute, view, d, index, Source::Reg(x));
        Ok(())
    }
}
