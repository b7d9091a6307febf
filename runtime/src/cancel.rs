//! Stopping a computation from outside.
//!
//! A [`CancelToken`] is given to a computation and kept by whoever may want to stop it. Running programs look at it
//! between statements, at every iteration of a loop (in machine code: of innermost counted ones only if they work in place, and then now and then; on GPUs now and then), and between the chunks of a bulk operation; they
//! end with [`RuntimeError::cancelled`](crate::RuntimeError::cancelled). The phases of the compiler, which give a program or diagnostics
//! and have no place for a third outcome, call [`poll`], which leaves [`watched`] by unwinding.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A request to stop that any thread may make. Clones are one token.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that nobody has used.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Asks everything that was given this token to stop. Nothing takes that back.
    pub fn cancel(&self) {
        self.0.store(true, Relaxed);
    }

    /// True if [`CancelToken::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// Address that machine code polls: that of a byte that is not zero after cancellation, as long as the token lives.
    pub(crate) fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }
}

/// Error of [`watched`] if the token was used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cancelled;

thread_local! {
    static WATCHED: RefCell<Option<CancelToken>> = const { RefCell::new(None) };
}

/// Runs `work` on this thread; [`poll`] inside it ends it once the token is cancelled.
pub fn watched<T>(token: &CancelToken, work: impl FnOnce() -> T) -> Result<T, Cancelled> {
    let outer = WATCHED.replace(Some(token.clone()));
    let result = catch_unwind(AssertUnwindSafe(work));
    WATCHED.set(outer);
    result.map_err(|panic| match panic.downcast::<Cancelled>() {
        Ok(cancelled) => *cancelled,
        Err(bug) => resume_unwind(bug),
    })
}

/// Ends the work that this thread watches if its token is cancelled; what is half done is dropped.
pub fn poll() {
    if WATCHED.with_borrow(|token| token.as_ref().is_some_and(CancelToken::is_cancelled)) {
        resume_unwind(Box::new(Cancelled));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_at_the_next_poll() {
        let token = CancelToken::new();
        assert_eq!(watched(&token, || 1), Ok(1));
        let result = watched(&token, || {
            poll();
            token.clone().cancel();
            poll();
            1
        });
        assert_eq!(result, Err(Cancelled));
        // Nobody watches any more.
        poll();
    }

    #[test]
    fn an_inner_token_leaves_the_outer_one_alone() {
        let (outer, inner) = (CancelToken::new(), CancelToken::new());
        inner.cancel();
        let result = watched(&outer, || {
            assert_eq!(watched(&inner, poll), Err(Cancelled));
            poll();
            outer.cancel();
            poll();
        });
        assert_eq!(result, Err(Cancelled));
    }

    #[test]
    fn other_panics_pass() {
        let passed = catch_unwind(|| watched(&CancelToken::new(), || resume_unwind(Box::new(7))));
        assert_eq!(passed.unwrap_err().downcast_ref::<i32>(), Some(&7));
    }
}
