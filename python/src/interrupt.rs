//! Work without the interpreter's lock, which Ctrl-C stops.
//!
//! Python's handler of SIGINT notes the signal, and the interpreter raises `KeyboardInterrupt` when it is back on the main thread, which
//! may take long while Par computes there. So a handler before it also uses the token of the call that the main thread is in. It
//! is installed by a call if another one is in its place, and stays: it does nothing else.

use crate::python::{CURRENT_THREAD, MAIN_THREAD};
use par::CancelToken;
use pyo3::prelude::*;
use std::cell::Cell;

/// Runs `work` with a token that is used on Ctrl-C, if this is the main thread.
pub fn run<T: Send>(py: Python<'_>, work: impl Send + FnOnce(&CancelToken) -> T) -> PyResult<T> {
    if !is_main(py)? {
        return Ok(py.detach(|| work(&CancelToken::new())));
    }
    let watched = signal::watch();
    // A signal that came before somebody watched.
    py.check_signals()?;
    Ok(py.detach(|| work(watched.token())))
}

fn is_main(py: Python<'_>) -> PyResult<bool> {
    thread_local! {
        static IS_MAIN: Cell<Option<bool>> = const { Cell::new(None) };
    }
    if let Some(known) = IS_MAIN.get() {
        return Ok(known);
    }
    let found = MAIN_THREAD.get(py)?.call0()?.is(&CURRENT_THREAD.get(py)?.call0()?);
    IS_MAIN.set(Some(found));
    Ok(found)
}

#[cfg(unix)]
mod signal {
    use par::CancelToken;
    use std::cell::RefCell;
    use std::mem::MaybeUninit;
    use std::ptr::null_mut;
    use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};

    /// Token of the call that the main thread is in; null outside of calls.
    static IN_CALL: AtomicPtr<CancelToken> = AtomicPtr::new(null_mut());
    /// The handler before this one; an address.
    static BEFORE: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);

    thread_local! {
        /// The main thread's token. One that was used is never freed: a handler on another thread may just be using it.
        static TOKEN: RefCell<&'static CancelToken> = RefCell::new(Box::leak(Box::new(CancelToken::new())));
    }

    /// A call of the main thread.
    pub struct Watched(&'static CancelToken);

    impl Watched {
        pub fn token(&self) -> &CancelToken {
            self.0
        }
    }

    impl Drop for Watched {
        fn drop(&mut self) {
            IN_CALL.store(null_mut(), SeqCst);
        }
    }

    pub fn watch() -> Watched {
        install();
        let token = TOKEN.with_borrow_mut(|token| {
            if token.is_cancelled() {
                *token = Box::leak(Box::new(CancelToken::new()));
            }
            *token
        });
        IN_CALL.store(std::ptr::from_ref(token).cast_mut(), SeqCst);
        Watched(token)
    }

    extern "C" fn handle(signal: libc::c_int) {
        let token = IN_CALL.load(SeqCst);
        if !token.is_null() {
            // SAFETY: tokens are never freed, and using one is a store.
            unsafe { (*token).cancel() }
        }
        let before = BEFORE.load(SeqCst);
        if before != libc::SIG_DFL && before != libc::SIG_IGN {
            // SAFETY: it was the handler of this signal, and takes its number.
            let before = unsafe { std::mem::transmute::<usize, extern "C" fn(libc::c_int)>(before) };
            before(signal);
        }
    }

    /// Puts the handler before one that somebody else has installed. Where a signal ends the process or is ignored, nothing changes.
    fn install() {
        let mine = handle as extern "C" fn(libc::c_int) as usize;
        let mut current = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: both calls read and write actions that are there; a handler with more arguments than the number is left alone.
        unsafe {
            if libc::sigaction(libc::SIGINT, std::ptr::null(), current.as_mut_ptr()) != 0 {
                return;
            }
            let mut action = current.assume_init();
            let theirs = action.sa_sigaction;
            let is_plain = action.sa_flags & libc::SA_SIGINFO == 0;
            if theirs == mine || theirs == libc::SIG_DFL || theirs == libc::SIG_IGN || !is_plain {
                return;
            }
            BEFORE.store(theirs, SeqCst);
            action.sa_sigaction = mine;
            libc::sigaction(libc::SIGINT, &raw const action, null_mut());
        }
    }
}

#[cfg(not(unix))]
mod signal {
    use par::CancelToken;

    /// A call, which nothing stops here.
    pub struct Watched(CancelToken);

    impl Watched {
        pub fn token(&self) -> &CancelToken {
            &self.0
        }
    }

    pub fn watch() -> Watched {
        Watched(CancelToken::new())
    }
}
