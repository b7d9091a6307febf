//! Limits on work that may go wrong: panics become messages, and a clock stops what takes too long.

use par::CancelToken;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Makes panics quiet in this process: [`guarded`] tells of them.
pub fn quiet_panics() {
    std::panic::set_hook(Box::new(|info| LAST.set(Some(describe(info)))));
}

fn describe(info: &PanicHookInfo) -> String {
    let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line()));
    info.payload_as_str().unwrap_or("panic").to_string() + &place.unwrap_or_default()
}

/// What `work` gives, or the message of its panic.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    LAST.set(None);
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|s| s.to_string());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        LAST.take().or(text).unwrap_or_else(|| "a panic in another thread".into())
    })
}

/// Runs `work`, and uses the token when the time is over.
pub fn within<T>(limit: Duration, token: &CancelToken, work: impl FnOnce() -> T) -> T {
    let (done, waiting) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if waiting.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                token.cancel();
            }
        });
        let _end = done;
        work()
    })
}
