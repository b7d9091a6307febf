//! Limits on work that may go wrong: panics become messages, and a clock stops what takes too long.

use par::CancelToken;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

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

/// Result of `work`, or the message of its panic.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    LAST.set(None);
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|s| s.to_string());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        LAST.take().or(text).unwrap_or_else(|| "a panic in another thread".into())
    })
}

/// Runs `work`, and uses the token when this process has computed for so long.
pub fn within<T>(limit: Duration, token: &CancelToken, work: impl FnOnce() -> T) -> T {
    let (done, waiting) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if recv_within(&waiting, limit, std::process::id()) == Err(RecvTimeoutError::Timeout) {
                token.cancel();
            }
        });
        let _end = done;
        work()
    })
}

/// Message that arrives before a process has computed for longer than `limit`. Other processes' time does not count, unless it takes
/// all the time there is.
pub fn recv_within<T>(channel: &Receiver<T>, limit: Duration, process: u32) -> Result<T, RecvTimeoutError> {
    const PATIENCE: u32 = 10;
    let (start, before) = (Instant::now(), computed(process));
    let mut wait = limit;
    loop {
        match channel.recv_timeout(wait) {
            Err(RecvTimeoutError::Timeout) => {}
            other => return other,
        }
        let spent = before.zip(computed(process)).map_or(limit, |(a, b)| b.saturating_sub(a));
        if spent >= limit || start.elapsed() > PATIENCE * limit {
            return Err(RecvTimeoutError::Timeout);
        }
        // With several threads time passes faster than on the clock.
        wait = ((limit - spent) / 2).max(Duration::from_millis(10));
    }
}

/// For how long a process has computed, where the system says so in files as Linux does.
fn computed(process: u32) -> Option<Duration> {
    const TICKS_PER_SECOND: u64 = 100;
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program stands in parentheses and may contain anything.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(Duration::from_millis((user + system) * (1000 / TICKS_PER_SECOND)))
}
