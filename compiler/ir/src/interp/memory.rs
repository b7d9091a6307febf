//! Limit on the memory that a program holds while it is interpreted.
//!
//! Asked before anything is made whose size the program chooses, so that a size of `2^62` is an error with a place in the
//! source and never a crash. What is counted is what the run's arrays take, and what the new value takes while it is
//! made: in CORE that is a [`Val`](super::value::Val) for each element.

use super::Outcome;
use par_runtime::{CheckKind, RuntimeError, Scalar, Span, pool};

/// Bytes that a program may hold. A back end may use all there is; the interpreters are for small inputs, and endless
/// recursion should not have to fill the machine before it fails.
const BUDGET: usize = 256 << 20;

/// The account of one run, which stays on one thread.
pub(super) struct Memory {
    at_start: isize,
    budget: usize,
}

impl Memory {
    pub(super) fn new() -> Memory {
        Memory { at_start: pool::thread_balance(), budget: BUDGET }
    }

    /// An account of a run that is not interpreted throughout: it may hold what there is.
    pub(super) fn ample() -> Memory {
        Memory { budget: usize::MAX, ..Memory::new() }
    }

    /// Checks that `n` elements of `size` bytes, made by way of `held` bytes each, fit. The error names the bytes of the
    /// array itself, as it does on every back end.
    pub(super) fn room(&self, n: usize, size: usize, held: usize, span: Span) -> Outcome<()> {
        let used = usize::try_from(pool::thread_balance() - self.at_start).unwrap_or(0);
        let needed = n.saturating_mul(size.max(held));
        let is_there = pool::live_bytes().saturating_add(needed) < pool::limit();
        if is_there && pool::may_take(needed) && used.saturating_add(needed) <= self.budget {
            return Ok(());
        }
        Err(out_of_memory((n as u64).saturating_mul(size as u64), span))
    }
}

/// The error of a request for so many bytes; those that no integer counts are the largest integer.
pub(super) fn out_of_memory(bytes: u64, span: Span) -> RuntimeError {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    RuntimeError::check(&CheckKind::OutOfMemory, &[Scalar::I64(bytes)], span)
}

/// A size that is not negative, as this machine counts elements: more than it can count are as many as it can.
pub(super) fn counted(n: i64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
