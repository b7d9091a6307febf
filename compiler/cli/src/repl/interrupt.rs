//! Ctrl-C. While a line is edited it is a key like others; while something is evaluated it stops that, and the session
//! goes on.

use crate::status;
use par::CancelToken;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Token that stops the present evaluation.
static CURRENT: Mutex<Option<CancelToken>> = Mutex::new(None);
/// Number of times that the present evaluation was asked to stop.
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// The status of a process that Ctrl-C has ended.
const KILLED: i32 = 130;

/// From now on Ctrl-C does not end the process.
pub fn install() {
    // Without a handler Ctrl-C ends the process, as it does elsewhere.
    let _ = ctrlc::set_handler(ask);
}

fn ask() {
    let current = CURRENT.lock().unwrap_or_else(|e| e.into_inner());
    let Some(token) = current.as_ref() else { return };
    token.cancel();
    match ASKED.fetch_add(1, Relaxed) {
        // Behind the terminal's `^C`.
        0 => status::say(""),
        1 => status::say("still stopping; Ctrl-C once more ends par"),
        _ => std::process::exit(KILLED),
    }
}

/// Runs `work` with a token that Ctrl-C uses.
pub fn interruptible<T>(work: impl FnOnce(&CancelToken) -> T) -> T {
    let token = CancelToken::new();
    ASKED.store(0, Relaxed);
    set(Some(token.clone()));
    let _end = End;
    work(&token)
}

/// The end of an evaluation, also by a panic.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        set(None);
    }
}

fn set(token: Option<CancelToken>) {
    *CURRENT.lock().unwrap_or_else(|e| e.into_inner()) = token;
}
