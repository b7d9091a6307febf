//! Moves with vectors of 16 bytes, whose lanes are packed by a shuffle from a table. Nearly every processor has it; those without move one by one.

#[cfg(target_arch = "aarch64")]
use super::neon as machine;
#[cfg(target_arch = "x86_64")]
use super::ssse3 as machine;
use super::sweep::{by_classes, settle};
use super::{Strip, pack};
use crate::math::STRIP;
use machine::*;
use std::mem::MaybeUninit;

/// For each choice of `LANES` lanes: the bytes of a vector that has them one behind the other, and how many they are.
struct Chosen<const LANES: usize, const CHOICES: usize> {
    bytes: [[u8; 16]; CHOICES],
    counts: [u8; CHOICES],
}

impl<const LANES: usize, const CHOICES: usize> Chosen<LANES, CHOICES> {
    const fn new() -> Self {
        let (mut bytes, mut counts) = ([[0; 16]; CHOICES], [0; CHOICES]);
        let size = 16 / LANES;
        let mut mask = 0;
        while mask < CHOICES {
            let mut byte = 0;
            while byte < 16 {
                if mask >> (byte / size) & 1 == 1 {
                    let to = counts[mask] as usize * size + byte % size;
                    bytes[mask][to] = byte as u8;
                    if byte % size == size - 1 {
                        counts[mask] += 1;
                    }
                }
                byte += 1;
            }
            mask += 1;
        }
        Chosen { bytes, counts }
    }

    /// Stores the chosen lanes, one behind the other, and anything in the rest of a vector; how many they are.
    ///
    /// # Safety
    /// There is room for a vector; the processor has the instructions.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "ssse3"))]
    unsafe fn store<T>(&self, to: *mut MaybeUninit<T>, mask: usize, x: Vector) -> usize {
        // SAFETY: as the caller promises; the mask has a bit for each lane.
        unsafe {
            store_chosen(to.cast(), x, self.bytes.get_unchecked(mask));
            usize::from(*self.counts.get_unchecked(mask))
        }
    }
}

static OF_FOUR: Chosen<4, 16> = Chosen::new();
static OF_TWO: Chosen<2, 4> = Chosen::new();

macro_rules! moves {
    ($move:ident, $sweep:ident, $pack:ident, $packs:ident, $t:ident, $lanes:literal, $most:literal, $equal:ident, $set:ident, $chosen:ident) => {
        /// Moves elements, and counts them if they are the first of their strip. False if nothing was done.
        ///
        /// # Safety
        /// As for [`super::Move`].
        pub unsafe fn $move(strip: &mut Strip<$t>) -> bool {
            let pays = strip.places.classes <= $most && is_here();
            // SAFETY: as the caller promises; the processor has the instructions.
            pays && unsafe { by_classes!($sweep, strip) }
        }

        /// # Safety
        /// As for [`super::Move`]; the processor has the instructions.
        #[cfg_attr(target_arch = "x86_64", target_feature(enable = "ssse3"))]
        unsafe fn $sweep<const K: usize>(strip: &mut Strip<$t>) -> bool {
            let Strip { from, classes, n, .. } = *strip;
            // A whole vector is stored where the last element goes.
            let mut packed = [const { [const { MaybeUninit::<$t>::uninit() }; STRIP + $lanes] }; K];
            let mut counts = [0; K];
            let whole = n - n % $lanes;
            for at in (0..whole).step_by($lanes) {
                // SAFETY: what is read is there; no more is packed than was read.
                unsafe {
                    let x = load(from.add(at).cast());
                    for c in 0..K {
                        let kept = $equal(classes.add(at), c as i32);
                        counts[c] += $chosen.store(packed[c].as_mut_ptr().add(counts[c]), kept, x);
                    }
                }
            }
            for at in whole..n {
                // SAFETY: as above.
                let (class, x) = unsafe { (*classes.add(at) as usize, *from.add(at)) };
                if class < K {
                    packed[class][counts[class]] = MaybeUninit::new(x);
                    counts[class] += 1;
                }
            }
            // SAFETY: as the caller promises; so many are packed.
            unsafe { settle(strip, (&packed, counts)) };
            true
        }

        /// Packs elements.
        ///
        /// # Safety
        /// As for [`super::Pack`].
        pub unsafe fn $pack(to: *mut $t, from: *const $t, flags: *const u8, n: usize) -> i64 {
            // SAFETY: as the caller promises; the processor has the instructions.
            unsafe { if is_here() { $packs(to, from, flags, n) } else { pack(to, from, flags, n) } }
        }

        /// # Safety
        /// As for [`super::Pack`]; the processor has the instructions.
        #[cfg_attr(target_arch = "x86_64", target_feature(enable = "ssse3"))]
        unsafe fn $packs(to: *mut $t, from: *const $t, flags: *const u8, n: usize) -> i64 {
            let whole = n - n % $lanes;
            let mut kept = 0;
            // SAFETY: what is read is there; a vector is stored where no more was kept than read, so there is room for it.
            unsafe {
                for at in (0..whole).step_by($lanes) {
                    let x = load(from.add(at).cast());
                    kept += $chosen.store(to.add(kept).cast::<MaybeUninit<$t>>(), $set(flags.add(at)), x);
                }
                kept as i64 + pack(to.add(kept), from.add(whole), flags.add(whole), n - whole)
            }
        }
    };
}

moves!(move_u32, sweep_u32, pack_u32, packs_u32, u32, 4, 8, equal_4, set_4, OF_FOUR);
moves!(move_u64, sweep_u64, pack_u64, packs_u64, u64, 2, 4, equal_2, set_2, OF_TWO);
