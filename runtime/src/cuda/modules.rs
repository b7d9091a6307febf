//! Parts of a program that are compiled at the same time, each by a thread of its own.
//!
//! A kernel takes CUDA's compiler some 60 ms, and what all include about as long. So a part has two kernels at least, and there
//! are as many parts as processors at most ([`compile_on`]). Kernels that call functions are one part, so that each function is compiled once.

use super::Program;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

/// Kernels that a part has at least, if there are so many.
const KERNELS: usize = 2;

/// Bytes of stack of a thread: CUDA's compiler needs more than the 2 MiB that threads have else, on long programs.
const STACK: usize = 64 << 20;

/// Processors to compile on, if it was said.
static PROCESSORS: AtomicUsize = AtomicUsize::new(0);

/// Says on how many processors this process compiles a program's kernels: fewer than there are if other processes do the same.
pub fn compile_on(processors: usize) {
    PROCESSORS.store(processors, Relaxed);
}

fn processors() -> usize {
    match PROCESSORS.load(Relaxed) {
        0 => thread::available_parallelism().map_or(1, NonZero::get),
        said => said,
    }
}

/// The texts of parts that have these kernels together.
pub fn texts(program: &Program, kernels: Vec<usize>) -> Vec<String> {
    let (plain, calling): (Vec<usize>, _) =
        kernels.into_iter().partition(|k| program.kernels[*k].calls.is_empty());
    let lengths: Vec<usize> = plain.iter().map(|k| program.kernels[*k].text.len()).collect();
    let ends = ends(&lengths, processors().min(plain.len() / KERNELS).max(1));
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let parts = starts.zip(&ends).map(|(start, end)| &plain[start..*end]).chain([calling.as_slice()]);
    parts.filter(|p| !p.is_empty()).map(|p| program.text(p)).collect()
}

/// Ends of `parts` runs of about the same sum.
fn ends(lengths: &[usize], parts: usize) -> Vec<usize> {
    let total: usize = lengths.iter().sum();
    let sums: Vec<usize> = lengths
        .iter()
        .scan(0, |sum, n| {
            *sum += n;
            Some(*sum)
        })
        .collect();
    let mut ends: Vec<usize> =
        (1..parts).map(|p| sums.partition_point(|sum| sum * parts <= total * p)).collect();
    ends.push(lengths.len());
    ends
}

/// Results of `work` for each item, in order, by a thread for each; or its first error.
pub fn at_once<A: Sync, B: Send, E: Send>(
    items: &[A],
    work: impl Fn(&A) -> Result<B, E> + Sync,
) -> Result<Vec<B>, E> {
    let work = &work;
    thread::scope(|scope| {
        let start = |item| {
            let builder = thread::Builder::new().stack_size(STACK);
            builder.spawn_scoped(scope, move || work(item)).expect("the system has room for a thread")
        };
        let started: Vec<_> = items.iter().map(start).collect();
        let joined = started.into_iter().map(|t| t.join().unwrap_or_else(|e| std::panic::resume_unwind(e)));
        joined.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_about_equal() {
        assert_eq!(ends(&[1, 1, 1, 1], 2), [2, 4]);
        assert_eq!(ends(&[9, 1, 1, 1], 2), [0, 4]);
        assert_eq!(ends(&[1, 1, 1, 9], 3), [3, 3, 4]);
        assert_eq!(ends(&[5], 1), [1]);
        assert_eq!(ends(&[], 1), [0]);
    }

    #[test]
    fn results_are_in_order() {
        let double = |n: &i32| if *n < 9 { Ok(2 * n) } else { Err(*n) };
        assert_eq!(at_once(&[1, 2, 3], double), Ok(vec![2, 4, 6]));
        assert_eq!(at_once(&[1, 10, 11], double), Err(10));
    }
}
