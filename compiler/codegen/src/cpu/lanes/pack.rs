//! Filters of groups: the lanes that are kept, packed.
//!
//! ```text
//! x     = a b c d e f g h        keep  = 0 1 1 0 0 0 1 0
//! store   b c g . . . . .        behind what was kept before, which is further on by 3 then
//! ```
//!
//! Whole registers are stored: behind what is kept of the positions up to here there is room for as many elements as the group has. The
//! last group of a row, which has fewer positions, stores what it keeps and nothing else. Registers of 128 bits are packed and stored by
//! halves of two lanes: the second lane also comes first where the first one is not kept.

use super::Group;
use super::cost::BYTES;
use super::value::Lanes;
use crate::cpu::emit::{Base, output};
use cranelift::prelude::*;
use par_ir::Prim;

/// True if there is code that packs elements of a type.
pub fn packs(p: Prim) -> bool {
    matches!(p.size(), 4 | 8)
}

impl Group<'_, '_> {
    /// Stores the lanes of values for which a flag is set, from an index on; the index behind them.
    pub fn keep(&mut self, bases: &[Base], from: Value, keep: &Lanes, values: &[Lanes]) -> Value {
        let keep = match self.here.active.clone() {
            Some(active) => self.both(&active, keep),
            None => Lanes::Vector(self.mask(keep, None)),
        };
        let mut end = from;
        for (base, x) in bases.iter().zip(values) {
            end = self.keep_one(*base, from, &keep, x);
        }
        end
    }

    fn keep_one(&mut self, base: Base, mut at: Value, keep: &Lanes, x: &Lanes) -> Value {
        let regs = self.vector(x, base.prim);
        let masks = self.used_masks(keep, base.prim);
        for (x, mask) in regs.into_iter().zip(masks) {
            if self.bytes == BYTES {
                at = self.keep_pairs(base, at, mask, x);
                continue;
            }
            let bits = self.e.bits(mask);
            let count = self.e.b.ins().popcnt(bits);
            let packed = self.e.compress(x, mask);
            let address = self.e.element(base, at);
            if self.here.count.is_none() && self.lanes * base.prim.size() >= self.bytes {
                self.e.b.ins().store(output(), packed, address, 0);
            } else {
                let first = self.first_lanes(count, base.prim.size());
                self.e.store_under(address, first, packed);
            }
            at = self.e.b.ins().iadd(at, count);
        }
        at
    }

    /// Stores the lanes of a mask of a register of 128 bits, from an index on; the index behind them.
    fn keep_pairs(&mut self, base: Base, mut at: Value, mask: Value, x: Value) -> Value {
        let (size, ty) = (base.prim.size(), self.e.b.func.dfg.value_type(x));
        let lane_of_pair =
            |second: usize| move |i: usize| (i / (2 * size) * 2 * size + second * size + i % size) as u8;
        let seconds = self.shuffle(x, x, std::array::from_fn(lane_of_pair(1)), ty);
        let mask_type = self.e.b.func.dfg.value_type(mask);
        let firsts = self.shuffle(mask, mask, std::array::from_fn(lane_of_pair(0)), mask_type);
        let packed = self.blend_register(firsts, x, seconds);
        let bits = self.e.b.ins().vhigh_bits(types::I64, mask);
        for pair in 0..BYTES / (2 * size) {
            let address = self.e.element(base, at);
            let stored = match size {
                8 => packed,
                _ => {
                    let halves = self.cast(packed, types::I64X2);
                    self.e.b.ins().extractlane(halves, pair as u8)
                }
            };
            self.e.b.ins().store(output(), stored, address, 0);
            for lane in 2 * pair..2 * pair + 2 {
                let bit = self.e.b.ins().ushr_imm_u(bits, lane as i64);
                let kept = self.e.b.ins().band_imm_s(bit, 1);
                at = self.e.b.ins().iadd(at, kept);
            }
        }
        at
    }

    /// The mask of the first lanes of a register, of 32 or 64 bits.
    fn first_lanes(&mut self, count: Value, size: usize) -> Value {
        let p = if size == 8 { Prim::I64 } else { Prim::I32 };
        let zero = self.e.i64(0);
        let lanes = self.progression(zero, 1, p)[0];
        let count = if size == 8 { count } else { self.e.b.ins().ireduce(types::I32, count) };
        let limit = self.splat(count, 1)[0];
        self.e.b.ins().icmp(IntCC::SignedLessThan, lanes, limit)
    }
}
