//! Vectors of 16 bytes as AArch64 has them.

use std::arch::aarch64::*;

pub type Vector = uint8x16_t;

/// True if this processor has the instructions: every one of this architecture.
pub fn is_here() -> bool {
    true
}

/// The vector at an address.
///
/// # Safety
/// It is there.
#[inline(always)]
pub unsafe fn load(from: *const u8) -> Vector {
    // SAFETY: as the caller promises.
    unsafe { vld1q_u8(from) }
}

/// Stores a vector of chosen bytes of another one.
///
/// # Safety
/// There is room for it.
#[inline(always)]
pub unsafe fn store_chosen(to: *mut u8, x: Vector, bytes: &[u8; 16]) {
    // SAFETY: as the caller promises.
    unsafe { vst1q_u8(to, vqtbl1q_u8(x, vld1q_u8(bytes.as_ptr()))) }
}

/// A bit for each of 4 classes that is `c`. No instruction gathers a bit of each lane: lanes that are equal keep a bit of their own, and all are added.
///
/// # Safety
/// There are so many classes.
#[inline(always)]
pub unsafe fn equal_4(classes: *const u32, c: i32) -> usize {
    const BITS: [u32; 4] = [1, 2, 4, 8];
    // SAFETY: as the caller promises.
    unsafe {
        let same = vceqq_u32(vld1q_u32(classes), vdupq_n_u32(c as u32));
        vaddvq_u32(vandq_u32(same, vld1q_u32(BITS.as_ptr()))) as usize
    }
}

/// A bit for each of 2 classes that is `c`.
///
/// # Safety
/// There are so many classes.
#[inline(always)]
pub unsafe fn equal_2(classes: *const u32, c: i32) -> usize {
    // SAFETY: as the caller promises.
    unsafe { usize::from(*classes == c as u32) | usize::from(*classes.add(1) == c as u32) << 1 }
}

/// A bit for each of the 4 flags at an address.
///
/// # Safety
/// There are so many flags.
#[inline(always)]
pub unsafe fn set_4(flags: *const u8) -> usize {
    // SAFETY: as the caller promises.
    let flags = unsafe { flags.cast::<u32>().read_unaligned() } & 0x0101_0101;
    // Each flag is brought to the upper 8 bits once, at its own place, and elsewhere none meets another.
    (flags.wrapping_mul(0x0102_0408) >> 24) as usize
}

/// A bit for each of the 2 flags at an address.
///
/// # Safety
/// There are so many flags.
#[inline(always)]
pub unsafe fn set_2(flags: *const u8) -> usize {
    // SAFETY: as the caller promises.
    unsafe { usize::from(*flags != 0) | usize::from(*flags.add(1) != 0) << 1 }
}
