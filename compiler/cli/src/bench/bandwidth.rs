//! How fast this machine copies memory.

use std::time::Instant;

/// Bytes of what is copied: more than caches hold.
const BYTES: usize = 128 << 20;
/// How often.
const RUNS: usize = 7;

/// Bytes read and written per second by a plain copy, by so many threads at once; the best of a few.
pub fn copy(threads: usize) -> f64 {
    let from = vec![1u8; BYTES];
    let mut to = vec![0u8; BYTES];
    let part = BYTES.div_ceil(threads.clamp(1, 64));
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for (to, from) in to.chunks_mut(part).zip(from.chunks(part)) {
                scope.spawn(|| to.copy_from_slice(from));
            }
        });
        best = best.min(start.elapsed().as_secs_f64());
        std::hint::black_box(&to);
    }
    2.0 * BYTES as f64 / best
}
