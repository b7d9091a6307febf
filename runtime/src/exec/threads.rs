//! Thread pools, and running numbered chunks of work on them.

use super::internal;
use crate::check::RuntimeError;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Elements below which a bulk operation is not worth a second thread.
pub const SMALL: usize = 1 << 14;

/// The number of threads for a request: 0 stands for all processors.
pub fn count(requested: usize) -> usize {
    match requested {
        0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
        n => n.min(1024),
    }
}

/// The pool of that many threads, made at first use.
pub fn pool(threads: usize) -> Result<Arc<ThreadPool>, RuntimeError> {
    static POOLS: Mutex<Option<HashMap<usize, Arc<ThreadPool>>>> = Mutex::new(None);
    let mut pools = POOLS.lock().unwrap_or_else(|e| e.into_inner());
    let pools = pools.get_or_insert_default();
    if let Some(pool) = pools.get(&threads) {
        return Ok(pool.clone());
    }
    let built = ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("par-{i}")).build();
    let pool = Arc::new(built.map_err(|e| internal(&format!("no threads: {e}")))?);
    pools.insert(threads, pool.clone());
    Ok(pool)
}

/// Runs `chunk(0)`, …, `chunk(n - 1)`. Chunks start in order, and whoever has started one runs it without waiting for
/// a later one, so that a chunk may wait for an earlier one.
pub fn run(threads: usize, n: usize, chunk: impl Fn(usize) + Sync) {
    if threads <= 1 || n <= 1 {
        return (0..n).for_each(chunk);
    }
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let i = next.fetch_add(1, Relaxed);
            if i >= n {
                return;
            }
            chunk(i);
        }
    };
    rayon::scope(|scope| {
        for _ in 1..threads.min(n) {
            scope.spawn(|_| work());
        }
        work();
    });
}

/// Neighbouring parts of `0..n`, one if more threads would not pay.
pub fn parts(threads: usize, n: usize) -> Vec<Range<usize>> {
    let size = if threads <= 1 || n < 2 * SMALL { n.max(1) } else { (n / (4 * threads)).max(SMALL) };
    (0..n).step_by(size).map(|lo| lo..(lo + size).min(n)).collect()
}

/// Fills a slice by parts: `part(start, elements)`.
pub fn fill<T: Send>(threads: usize, out: &mut [T], part: impl Fn(usize, &mut [T]) + Sync) {
    let parts = parts(threads, out.len());
    fill_parts(threads, &parts, out, |i, elements| part(parts[i].start, elements));
}

/// Fills a slice by these parts of it, which follow one another: `part(number, elements)`.
pub fn fill_parts<T: Send>(
    threads: usize,
    parts: &[Range<usize>],
    mut out: &mut [T],
    part: impl Fn(usize, &mut [T]) + Sync,
) {
    let mut slices = Vec::with_capacity(parts.len());
    for p in parts {
        let (elements, rest) = out.split_at_mut(p.len());
        slices.push(Mutex::new(elements));
        out = rest;
    }
    run(threads, parts.len(), |i| {
        let mut elements = slices[i].lock().unwrap_or_else(|e| e.into_inner());
        part(i, &mut elements);
    });
}
