//! Thread pools, and running numbered chunks of work on them.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::any::Any;
use std::collections::HashMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::Thread;

/// Elements below which a bulk operation is not worth a second thread.
pub const SMALL: usize = 1 << 14;

/// The number of threads for a request: 0 stands for all processors, as many as there were at first use: asking takes longer than a
/// small call.
pub fn count(requested: usize) -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    match requested {
        0 => *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from)),
        n => n.min(1024),
    }
}

/// The pool of that many threads, made at first use; `None` if threads cannot be started. A process that was forked off has none of its
/// parent's threads, and makes its own.
fn pool(threads: usize) -> Option<Arc<ThreadPool>> {
    /// Pools by their numbers of threads, of one process.
    struct Pools(u32, HashMap<usize, Arc<ThreadPool>>);
    static POOLS: Mutex<Option<Pools>> = Mutex::new(None);
    let mut pools = POOLS.lock().unwrap_or_else(|e| e.into_inner());
    let process = std::process::id();
    if pools.as_ref().is_some_and(|Pools(owner, _)| *owner != process) {
        // Dropping a pool waits for its threads.
        std::mem::forget(pools.take());
    }
    let Pools(_, pools) = pools.get_or_insert_with(|| Pools(process, HashMap::new()));
    if let Some(pool) = pools.get(&threads) {
        return Some(pool.clone());
    }
    let built = ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("par-{i}")).build();
    let pool = Arc::new(built.ok()?);
    pools.insert(threads, pool.clone());
    Some(pool)
}

/// Numbered chunks that a caller and helpers from a pool take one after the other.
struct Work {
    /// Alive until the work is closed and no helper is at work.
    chunk: *const (dyn Fn(usize) + Sync),
    chunks: usize,
    next: AtomicUsize,
    /// Helpers that are at work, and [`CLOSED`].
    helpers: AtomicUsize,
    caller: Thread,
    panicked: Mutex<Option<Box<dyn Any + Send>>>,
}

/// No helper begins any more.
const CLOSED: usize = 1 << (usize::BITS - 1);

// SAFETY: `chunk` may be called from all threads, by those who have begun before the work was closed.
unsafe impl Send for Work {}
// SAFETY: as above.
unsafe impl Sync for Work {}

impl Work {
    fn take_chunks(&self) {
        loop {
            let i = self.next.fetch_add(1, Relaxed);
            if i >= self.chunks {
                return;
            }
            // SAFETY: the caller and the helpers that have begun get here, and for these it is alive.
            unsafe { (*self.chunk)(i) }
        }
    }

    /// Takes chunks unless the work is closed: then `chunk` may be gone.
    fn help(&self) {
        let begin = |helpers: usize| (helpers & CLOSED == 0).then_some(helpers + 1);
        if self.helpers.fetch_update(Acquire, Relaxed, begin).is_err() {
            return;
        }
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.take_chunks())) {
            *self.panicked.lock().unwrap_or_else(|e| e.into_inner()) = Some(panic);
        }
        if self.helpers.fetch_sub(1, Release) == CLOSED + 1 {
            self.caller.unpark();
        }
    }
}

/// Closes work and waits for the helpers that have begun, also when the caller unwinds.
struct Closing<'w>(&'w Work);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        const SPINS: usize = 200;
        let mut helpers = self.0.helpers.fetch_or(CLOSED, Acquire) | CLOSED;
        for spin in 0.. {
            if helpers == CLOSED {
                return;
            }
            if spin < SPINS {
                std::hint::spin_loop()
            } else {
                std::thread::park()
            }
            helpers = self.0.helpers.load(Acquire);
        }
    }
}

/// Runs `chunk(0)`, …, `chunk(n - 1)`, on this thread and on others of a pool. Chunks start in order, and whoever has started one runs it
/// without waiting for a later one, so that a chunk may wait for an earlier one. Nobody waits for a thread that has not begun.
pub fn run(threads: usize, n: usize, chunk: impl Fn(usize) + Sync) {
    match threads <= 1 || n <= 1 {
        true => (0..n).for_each(chunk),
        false => share(threads, n, &chunk),
    }
}

/// As [`run`], by several threads. There is one of it in the command, not one for each kind of work.
fn share(threads: usize, n: usize, chunk: &(dyn Fn(usize) + Sync)) {
    let Some(pool) = pool(threads) else {
        return (0..n).for_each(chunk);
    };
    let borrowed: *const (dyn Fn(usize) + Sync + '_) = chunk;
    let work = Arc::new(Work {
        // SAFETY: only the lifetime changes. This function is not left before all helpers who have begun are done, and none begins
        // any more.
        chunk: unsafe {
            std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const (dyn Fn(usize) + Sync)>(borrowed)
        },
        chunks: n,
        next: AtomicUsize::new(0),
        helpers: AtomicUsize::new(0),
        caller: std::thread::current(),
        panicked: Mutex::new(None),
    });
    let closing = Closing(&work);
    for _ in 1..threads.min(n) {
        let work = work.clone();
        pool.spawn(move || work.help());
    }
    work.take_chunks();
    drop(closing);
    if let Some(panic) = work.panicked.lock().unwrap_or_else(|e| e.into_inner()).take() {
        resume_unwind(panic);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_is_run_once() {
        for (threads, n) in [(1, 5), (4, 0), (4, 1), (4, 3), (3, 1000)] {
            let counts: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
            run(threads, n, |i| {
                counts[i].fetch_add(1, Relaxed);
            });
            assert!(counts.iter().all(|c| c.load(Relaxed) == 1), "{threads} threads, {n} chunks");
        }
    }

    #[test]
    fn work_inside_work_ends() {
        let count = AtomicUsize::new(0);
        run(2, 8, |_| {
            run(2, 8, |_| {
                count.fetch_add(1, Relaxed);
            });
        });
        assert_eq!(count.into_inner(), 64);
    }

    #[test]
    fn a_panic_of_any_chunk_is_the_callers() {
        for at in [0, 99] {
            let ran = catch_unwind(|| run(3, 100, |i| assert_ne!(i, at, "chunk {at}")));
            assert!(ran.is_err(), "chunk {at}");
        }
        let count = AtomicUsize::new(0);
        run(3, 100, |_| {
            count.fetch_add(1, Relaxed);
        });
        assert_eq!(count.into_inner(), 100);
    }

    #[test]
    fn many_callers_share_a_pool() {
        let count = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..10 {
                scope.spawn(|| {
                    (0..100).for_each(|_| {
                        run(2, 4, |_| {
                            count.fetch_add(1, Relaxed);
                        })
                    })
                });
            }
        });
        assert_eq!(count.into_inner(), 4000);
    }
}
