//! A limit of time for what a command does.

use crate::output;
use crate::status::{self, Status};
use par_runtime::{CancelToken, cancel};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Time that work has to stop after it was told to, before the process ends.
const GRACE: Duration = Duration::from_secs(2);

/// A number of seconds of the command line.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let number: Option<f64> = text.parse().ok().filter(|n| *n > 0.0);
    let duration = number.and_then(|n| Duration::try_from_secs_f64(n).ok());
    duration.ok_or_else(|| "a number of seconds is needed, as in 10 or 0.5".to_string())
}

/// Does some work, which the token stops when the time is over. What does not stop ends with the process.
pub fn within(
    limit: Option<Duration>,
    work: impl FnOnce(&CancelToken) -> Result<Status, Status>,
) -> Result<Status, Status> {
    let token = CancelToken::new();
    let Some(limit) = limit else { return work(&token) };
    let reason = format!("did not end within {} s", limit.as_secs_f64());
    status::explain_cancellation(&reason);
    let (done, ended) = channel::<()>();
    let stop = token.clone();
    let watchdog = move || {
        let is_over = |time| ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
        if !is_over(limit) {
            return;
        }
        stop.cancel();
        if is_over(GRACE) {
            status::fail(&reason);
            output::tidy();
            std::process::exit(Status::Failed as i32);
        }
    };
    if let Err(e) = std::thread::Builder::new().name("timeout".into()).spawn(watchdog) {
        return Err(status::fail(&format!("no thread to watch the time: {e}")));
    }
    let result = cancel::watched(&token, || work(&token));
    drop(done);
    result.unwrap_or_else(|_| Err(status::cancelled()))
}
