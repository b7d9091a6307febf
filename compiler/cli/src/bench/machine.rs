//! The speed of this machine, by two fixed pieces of work: a copy of memory, and arithmetic. What they take beside calls says how much of a
//! difference between two measurements is the machine's.

use super::stats::median_of;
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::time::Instant;

/// Bytes of what is copied: more than caches hold. A debug build, whose times say nothing, does less of both.
const BYTES: usize = if cfg!(debug_assertions) { 1 << 20 } else { 128 << 20 };
/// Multiplications of each thread, one after the other.
const STEPS: u64 = if cfg!(debug_assertions) { 1 << 12 } else { 1 << 22 };
/// Number of times that each is done.
const RUNS: usize = 7;

/// The nanoseconds of the fixed work, with as many threads as calls have.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Pace {
    copy: u64,
    arithmetic: u64,
}

impl Pace {
    /// Both times at two times together: before calls and after them.
    pub fn and(self, later: Pace) -> Pace {
        Pace { copy: self.copy + later.copy, arithmetic: self.arithmetic + later.arithmetic }
    }

    /// A time in parts of each work's time.
    pub fn of(self, nanoseconds: u64) -> [u64; 2] {
        const PARTS: u128 = 1_000_000_000;
        let of = |work: u64| (u128::from(nanoseconds) * PARTS / u128::from(work.max(1))) as u64;
        [of(self.copy), of(self.arithmetic)]
    }
}

/// Measures the pace; and the bytes read and written per second by a plain copy, the best of a few.
pub fn pace(threads: usize) -> (Pace, f64) {
    let from = vec![1u8; BYTES];
    let mut to = vec![0u8; BYTES];
    let part = BYTES.div_ceil(threads.clamp(1, 64));
    let copies = times(|| {
        std::thread::scope(|scope| {
            for (to, from) in to.chunks_mut(part).zip(from.chunks(part)) {
                scope.spawn(|| to.copy_from_slice(from));
            }
        });
        black_box(&to);
    });
    let arithmetic = times(|| {
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| black_box((0..STEPS).fold(black_box(1u64), |x, i| x.wrapping_mul(x | 1) ^ i)));
            }
        });
    });
    let best = copies.iter().min().copied().unwrap_or(1).max(1);
    let pace = Pace { copy: median_of(&copies), arithmetic: median_of(&arithmetic) };
    (pace, 2.0 * BYTES as f64 / (best as f64 / 1e9))
}

/// The nanoseconds of each run.
fn times(mut work: impl FnMut()) -> Vec<u64> {
    let mut time = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_nanos() as u64
    };
    (0..RUNS).map(&mut time).collect()
}
