//! The speed of this machine, by two fixed pieces of work: a copy of memory, and arithmetic. What they take at one time and at another says how
//! much of a difference between two measurements is the machine's.

use super::stats::median_of;
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::time::Instant;

/// Bytes of what is copied: more than caches hold.
const BYTES: usize = 128 << 20;
/// Multiplications of each thread, one after the other.
const STEPS: u64 = 1 << 22;
/// Number of times that each is done.
const RUNS: usize = 7;

/// The nanoseconds of the fixed work at one time, with as many threads as calls have.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Pace {
    copy: u64,
    arithmetic: u64,
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

/// The greatest factor between two of these times that the same work took; 1 for none.
pub fn unrest<'a>(paces: impl Iterator<Item = &'a Pace> + Clone) -> f64 {
    let of = |work: fn(&Pace) -> u64| {
        let times = || paces.clone().map(work);
        match (times().min(), times().max()) {
            (Some(least), Some(most)) => most as f64 / least.max(1) as f64,
            _ => 1.0,
        }
    };
    of(|p| p.copy).max(of(|p| p.arithmetic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_that_differs_most_counts() {
        let paces = [(100, 50), (110, 50), (105, 75)].map(|(copy, arithmetic)| Pace { copy, arithmetic });
        assert_eq!(unrest(paces.iter()), 1.5);
        assert_eq!(unrest(paces[..2].iter()), 1.1);
        assert_eq!(unrest([].iter()), 1.0);
    }
}
