//! Failures: a status, and a message for each thread.

use crate::status::Status;
use par_message::{Diagnostic, Sources, render};
use par_runtime::{ErrorKind, RuntimeError};
use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Why a function of C gives no result.
#[derive(Debug)]
pub struct Failure {
    status: c_int,
    message: String,
    /// A handle was NULL, which an earlier failure may have given.
    follows: bool,
}

/// A status of C only: the caller used a function in a wrong way.
const MISUSE: c_int = 4;
/// A status of C only: somebody used the token.
const CANCELLED: c_int = 5;

impl Failure {
    /// With a status of the command.
    pub fn new(status: Status, message: impl Into<String>) -> Failure {
        Failure { status: status as c_int, message: message.into(), follows: false }
    }

    /// Something that does not fit, or is not there.
    pub fn misuse(message: impl Into<String>) -> Failure {
        Failure { status: MISUSE, message: message.into(), follows: false }
    }

    /// A handle that leads nowhere.
    pub fn null_handle() -> Failure {
        Failure { follows: true, ..Failure::misuse("a handle is NULL") }
    }

    /// Stopped by a token.
    pub fn cancelled() -> Failure {
        Failure { status: CANCELLED, message: RuntimeError::cancelled().message, follows: false }
    }

    /// An error of a run, with its place.
    pub fn of_run(error: &RuntimeError, sources: &Sources) -> Failure {
        if error.kind == ErrorKind::Cancelled {
            return Failure::cancelled();
        }
        if let Some(message) = error.internal_message() {
            return Failure::new(Status::Bug, format!("a bug in Par: {message}"));
        }
        match error.span {
            Some(_) => {
                Failure::new(Status::Failed, render(&[Diagnostic::of_run(error, sources)], sources, false))
            }
            None => Failure::new(Status::Failed, error.message.clone()),
        }
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
    static STATUS: Cell<c_int> = const { Cell::new(0) };
    /// Nobody has asked for the message yet.
    static UNREAD: Cell<bool> = const { Cell::new(false) };
}

/// Does what a function of C is to do. A failure, or a panic, becomes this thread's message and its status. If a handle is NULL, and nobody
/// has asked yet for the message of the failure before, that one stays: it is why there is no handle.
pub fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, c_int> {
    let done = catch_unwind(AssertUnwindSafe(work));
    let done = done.unwrap_or_else(|_| Err(Failure::new(Status::Bug, "a bug in Par: it panicked")));
    done.map_err(|Failure { status, message, follows }| {
        if follows && UNREAD.get() {
            return STATUS.get();
        }
        UNREAD.set(true);
        let message = CString::new(message.trim_end().replace('\0', "?")).unwrap_or_default();
        LAST.set(message);
        STATUS.set(status);
        status
    })
}

/// The status of something done.
pub fn status_of(work: impl FnOnce() -> Result<(), Failure>) -> c_int {
    guarded(work).err().unwrap_or(Status::Success as c_int)
}

#[unsafe(no_mangle)]
extern "C" fn par_error_message() -> *const c_char {
    UNREAD.set(false);
    LAST.with_borrow(|message| message.as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn par_error_status() -> c_int {
    STATUS.get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn message() -> String {
        // SAFETY: the text of this thread, which nothing changes meanwhile.
        unsafe { CStr::from_ptr(par_error_message()) }.to_string_lossy().into_owned()
    }

    #[test]
    fn a_null_handle_does_not_hide_why_it_is_null() {
        let fail = |failure| guarded::<()>(|| Err(failure)).unwrap_err();
        assert_eq!(fail(Failure::null_handle()), MISUSE);
        assert_eq!(message(), "a handle is NULL");
        assert_eq!(fail(Failure::new(Status::Rejected, "first")), Status::Rejected as c_int);
        assert_eq!(fail(Failure::null_handle()), Status::Rejected as c_int);
        assert_eq!((message().as_str(), par_error_status()), ("first", Status::Rejected as c_int));
        // What was read is over.
        assert_eq!(fail(Failure::null_handle()), MISUSE);
        assert_eq!(message(), "a handle is NULL");
    }
}
