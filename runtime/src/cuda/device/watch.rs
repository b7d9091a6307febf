//! Runs that may be cancelled while a kernel of theirs works: a thread for each device looks at their tokens, and notes in the
//! record of a cancelled one that it has failed. Loops in kernels look there now and then, and so do the kernels after it.

use super::driver::Address;
use crate::cancel::CancelToken;
use cudarc::driver::result::{self, DriverError, stream};
use cudarc::driver::sys;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two looks at the tokens.
const PAUSE: Duration = Duration::from_millis(20);

/// The watch over a device.
pub struct Watch {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    context: sys::CUcontext,
    /// A stream of its own: the other one is busy.
    stream: sys::CUstream,
    state: Mutex<State>,
    changed: Condvar,
}

// SAFETY: the handles are the driver's, which may be used from every thread that has made the context current.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

#[derive(Default)]
struct State {
    runs: Vec<Watched>,
    next: u64,
    /// The thread looks from time to time; else it waits for a run.
    looks: bool,
    ended: bool,
}

struct Watched {
    number: u64,
    token: CancelToken,
    record: Address,
}

/// A run that is watched, until this is dropped.
pub struct Guard {
    shared: Arc<Shared>,
    number: u64,
}

impl Watch {
    /// Over the device whose context is current.
    pub fn new(context: sys::CUcontext) -> Result<Watch, DriverError> {
        let stream = stream::create(stream::StreamKind::NonBlocking)?;
        let (state, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { context, stream, state, changed });
        Ok(Watch { shared, thread: Mutex::new(None) })
    }

    /// Watches a run whose record is there, as long as the guard lives.
    pub fn watch(&self, token: CancelToken, record: Address) -> Guard {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let shared = self.shared.clone();
            let started = std::thread::Builder::new().name("par-watch".into()).spawn(move || shared.look());
            // Without a thread, runs go on until their kernels end.
            *thread = started.ok();
        }
        let mut state = self.shared.lock();
        state.next += 1;
        let number = state.next;
        state.runs.push(Watched { number, token, record });
        if !state.looks {
            self.shared.changed.notify_one();
        }
        Guard { shared: self.shared.clone(), number }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_one();
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner);
        thread.take().into_iter().for_each(|t| _ = t.join());
        // SAFETY: nobody watches any more.
        let _ = unsafe { stream::destroy(self.shared.stream) };
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.shared.lock().runs.retain(|r| r.number != self.number);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self) {
        let mut state = self.lock();
        while !state.ended {
            // A guard that is dropped waits for the lock: the record is there.
            let cancelled = state.runs.extract_if(.., |r| r.token.is_cancelled());
            cancelled.for_each(|r| self.stop(r.record));
            state.looks = !state.runs.is_empty();
            state = if state.looks {
                self.changed.wait_timeout(state, PAUSE).unwrap_or_else(PoisonError::into_inner).0
            } else {
                self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
            };
        }
    }

    /// Says that a launch before all others has failed.
    fn stop(&self, record: Address) {
        // A copy from the host needs no processor of the device, all of which may be busy. What fails here leaves the run as it is.
        // SAFETY: the context lives as long as the device, and the record as long as its guard.
        let _ = unsafe {
            result::ctx::set_current(self.context)
                .and_then(|()| result::memcpy_htod_async(record, &[0u64], self.stream))
                .and_then(|()| stream::synchronize(self.stream))
        };
    }
}
