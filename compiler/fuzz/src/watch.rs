//! Limits on work that may go wrong: panics become messages, and a clock stops what takes too long.

use par::CancelToken;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
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
    let _end = Watched::new(limit, token.clone());
    work()
}

/// Work that is watched by the one thread that watches all of it. Starting one for each call took longer than most calls.
struct Watched(u64);

/// The work that is being watched, with the number of the next.
#[derive(Default)]
struct Watches {
    next: u64,
    open: Vec<Watch>,
}

struct Watch {
    number: u64,
    token: CancelToken,
    limit: Duration,
    start: Instant,
    /// For how long the process had computed when the watcher first looked, soon after the start.
    before: Option<Option<Duration>>,
}

static WATCHES: (Mutex<Watches>, Condvar) =
    (Mutex::new(Watches { next: 0, open: Vec::new() }), Condvar::new());

fn watches() -> MutexGuard<'static, Watches> {
    WATCHES.0.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watched {
    fn new(limit: Duration, token: CancelToken) -> Watched {
        static WATCHER: Once = Once::new();
        WATCHER.call_once(|| drop(std::thread::spawn(watch)));
        let mut watches = watches();
        watches.next += 1;
        let number = watches.next;
        watches.open.push(Watch { number, token, limit, start: Instant::now(), before: None });
        if watches.open.len() == 1 {
            WATCHES.1.notify_one();
        }
        Watched(number)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        watches().open.retain(|w| w.number != self.0);
    }
}

/// Looks at all that is watched every now and then.
fn watch() {
    const PAUSE: Duration = Duration::from_millis(20);
    let mut watches = watches();
    loop {
        if watches.open.is_empty() {
            watches = WATCHES.1.wait(watches).unwrap_or_else(PoisonError::into_inner);
        }
        drop(watches);
        std::thread::sleep(PAUSE);
        watches = self::watches();
        if watches.open.is_empty() {
            continue;
        }
        let now = computed(std::process::id());
        for w in &mut watches.open {
            let before = *w.before.get_or_insert(now);
            if is_over(w.limit, w.start, before, now) {
                w.token.cancel();
            }
        }
    }
}

/// True if a process has computed for longer than `limit` from `start` on: `before` and `now` are what it had computed then and has now. Other processes'
/// time does not count, unless it takes all the time there is.
fn is_over(limit: Duration, start: Instant, before: Option<Duration>, now: Option<Duration>) -> bool {
    const PATIENCE: u32 = 10;
    let elapsed = start.elapsed();
    let spent = before.zip(now).map_or(elapsed, |(a, b)| b.saturating_sub(a));
    spent >= limit || elapsed > PATIENCE * limit
}

/// Message that arrives before a process has computed for longer than `limit`, see [`is_over`].
pub fn recv_within<T>(channel: &Receiver<T>, limit: Duration, process: u32) -> Result<T, RecvTimeoutError> {
    let (start, before) = (Instant::now(), computed(process));
    let mut wait = limit;
    loop {
        match channel.recv_timeout(wait) {
            Err(RecvTimeoutError::Timeout) => {}
            other => return other,
        }
        let now = computed(process);
        if is_over(limit, start, before, now) {
            return Err(RecvTimeoutError::Timeout);
        }
        let spent = before.zip(now).map_or(limit, |(a, b)| b.saturating_sub(a));
        // With several threads time passes faster than on the clock.
        wait = (limit.saturating_sub(spent) / 2).max(Duration::from_millis(10));
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
