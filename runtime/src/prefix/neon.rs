//! Vectors of 16 bytes as AArch64 has them.

use super::sixteen::{Block, Lanes};
use std::arch::aarch64::*;

pub type Vector = uint8x16_t;

/// `yes` where the mask has bits.
#[inline(always)]
pub fn choose(mask: Vector, yes: Vector, no: Vector) -> Vector {
    // SAFETY: every processor of this architecture has the instructions.
    unsafe { vbslq_u8(mask, yes, no) }
}

#[inline(always)]
pub fn either(x: Vector, y: Vector) -> Vector {
    // SAFETY: as above.
    unsafe { vorrq_u8(x, y) }
}

#[inline(always)]
pub fn zero() -> Vector {
    // SAFETY: as above.
    unsafe { vdupq_n_u8(0) }
}

/// The last lane of 32 bits of a vector, and all but the last of the one that follows.
#[inline(always)]
pub fn up_one(before: Vector, x: Vector) -> Vector {
    // SAFETY: as above.
    unsafe { vextq_u8::<12>(before, x) }
}

/// The upper half of a vector, and the lower one of the one that follows.
#[inline(always)]
pub fn up_half(before: Vector, x: Vector) -> Vector {
    // SAFETY: as above.
    unsafe { vextq_u8::<8>(before, x) }
}

/// Masks of 32 bits of the 16 flags at an address.
///
/// # Safety
/// There are so many.
#[inline(always)]
pub unsafe fn masks_32(flags: *const u8) -> Block {
    // SAFETY: the caller's promise.
    unsafe {
        let flags = vld1q_u8(flags);
        let m = vreinterpretq_s8_u8(vtstq_u8(flags, flags));
        let halves = [vmovl_s8(vget_low_s8(m)), vmovl_high_s8(m)];
        let [a, b] = halves.map(|m| [vmovl_s16(vget_low_s16(m)), vmovl_high_s16(m)]);
        [a[0], a[1], b[0], b[1]].map(|m| vreinterpretq_u8_s32(m))
    }
}

/// Masks of 64 bits of the 8 flags at an address.
///
/// # Safety
/// There are so many.
#[inline(always)]
pub unsafe fn masks_64(flags: *const u8) -> Block {
    // SAFETY: the caller's promise.
    unsafe {
        let flags = vld1_u8(flags);
        let m = vmovl_s8(vreinterpret_s8_u8(vtst_u8(flags, flags)));
        let halves = [vmovl_s16(vget_low_s16(m)), vmovl_high_s16(m)];
        let [a, b] = halves.map(|m| [vmovl_s32(vget_low_s32(m)), vmovl_high_s32(m)]);
        [a[0], a[1], b[0], b[1]].map(|m| vreinterpretq_u8_s64(m))
    }
}

/// The vector at an address.
///
/// # Safety
/// It is there.
#[inline(always)]
pub unsafe fn load(from: *const u8) -> Vector {
    // SAFETY: the caller's promise.
    unsafe { vld1q_u8(from) }
}

/// Stores a vector.
///
/// # Safety
/// There is room for it.
#[inline(always)]
pub unsafe fn store(to: *mut u8, x: Vector) {
    // SAFETY: the caller's promise.
    unsafe { vst1q_u8(to, x) }
}

/// Stores a vector like any other: these processors see for themselves that a stream of stores fills whole lines.
///
/// # Safety
/// There is room for it.
#[inline(always)]
pub unsafe fn store_past_caches(to: *mut u8, x: Vector) {
    // SAFETY: the caller's promise.
    unsafe { store(to, x) }
}

/// The operators of a type. `vminq` and `vmaxq` would make no number of one, and order zeros by their signs.
macro_rules! operators {
    ($from:ident, $to:ident, $to_mask:ident, $add:ident, $less:ident, $equal:ident) => {
        #[inline(always)]
        fn sum(x: Vector, y: Vector) -> Vector {
            // SAFETY: every processor of this architecture has the instructions.
            unsafe { $to($add($from(x), $from(y))) }
        }
        #[inline(always)]
        fn lesser(x: Vector, y: Vector) -> Vector {
            // SAFETY: as above.
            unsafe {
                let (a, b) = ($from(x), $from(y));
                choose(vornq_u8($to_mask($less(a, b)), $to_mask($equal(b, b))), x, y)
            }
        }
        #[inline(always)]
        fn greater(x: Vector, y: Vector) -> Vector {
            // SAFETY: as above.
            unsafe {
                let (a, b) = ($from(x), $from(y));
                choose(vornq_u8($to_mask($less(b, a)), $to_mask($equal(b, b))), x, y)
            }
        }
    };
}

impl Lanes for f32 {
    #[inline(always)]
    fn splat(self) -> Vector {
        // SAFETY: every processor of this architecture has the instructions.
        unsafe { vreinterpretq_u8_f32(vdupq_n_f32(self)) }
    }
    #[inline(always)]
    fn first(x: Vector) -> f32 {
        // SAFETY: as above.
        unsafe { vgetq_lane_f32::<0>(vreinterpretq_f32_u8(x)) }
    }
    #[inline(always)]
    fn last(x: Vector) -> Vector {
        // SAFETY: as above.
        unsafe {
            let x = vreinterpretq_u32_u8(x);
            vreinterpretq_u8_u32(vdupq_laneq_u32::<3>(x))
        }
    }
    operators!(
        vreinterpretq_f32_u8,
        vreinterpretq_u8_f32,
        vreinterpretq_u8_u32,
        vaddq_f32,
        vcltq_f32,
        vceqq_f32
    );
}

impl Lanes for f64 {
    #[inline(always)]
    fn splat(self) -> Vector {
        // SAFETY: every processor of this architecture has the instructions.
        unsafe { vreinterpretq_u8_f64(vdupq_n_f64(self)) }
    }
    #[inline(always)]
    fn first(x: Vector) -> f64 {
        // SAFETY: as above.
        unsafe { vgetq_lane_f64::<0>(vreinterpretq_f64_u8(x)) }
    }
    #[inline(always)]
    fn last(x: Vector) -> Vector {
        // SAFETY: as above.
        unsafe {
            let x = vreinterpretq_u64_u8(x);
            vreinterpretq_u8_u64(vdupq_laneq_u64::<1>(x))
        }
    }
    operators!(
        vreinterpretq_f64_u8,
        vreinterpretq_u8_f64,
        vreinterpretq_u8_u64,
        vaddq_f64,
        vcltq_f64,
        vceqq_f64
    );
}
