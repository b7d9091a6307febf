//! Progress on a terminal: bars of commands that go through files and of reading a large one, a line for other work that takes long.

use indicatif::{ProgressBar, ProgressStyle};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A bar on standard error for so many files; hidden where nobody watches.
pub fn bar(files: usize) -> ProgressBar {
    styled(files as u64, "{elapsed_precise} [{bar:30}] {pos}/{len} {wide_msg}")
}

fn styled(all: u64, template: &str) -> ProgressBar {
    if !is_watched() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(all);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// True if somebody sees standard error and wants this (`PAR_NO_PROGRESS` is not set).
fn is_watched() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("PAR_NO_PROGRESS").is_none()
}

/// The time that work takes before a bar or a line is shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// A line that says what goes on, if it takes long; it is erased at the end.
pub struct Line {
    work: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Line {
    /// The work begins now.
    pub fn new(what: impl Into<Cow<'static, str>>) -> Line {
        const REDRAWN: Duration = Duration::from_millis(200);
        if !is_watched() {
            return Line { work: None };
        }
        let what = what.into();
        let (done, ended) = channel();
        let goes_on = move |time| ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
        let watch = move || {
            if !goes_on(PATIENCE) {
                return;
            }
            let line = ProgressBar::new_spinner().with_elapsed(PATIENCE).with_message(what);
            if let Ok(style) = ProgressStyle::with_template("{elapsed_precise} {wide_msg}") {
                line.set_style(style);
            }
            line.tick();
            while goes_on(REDRAWN) {
                line.tick();
            }
            line.finish_and_clear();
        };
        // Without a thread there is no line.
        let thread = std::thread::Builder::new().name("progress".into()).spawn(watch);
        Line { work: thread.ok().map(|thread| (done, thread)) }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.work.take() {
            drop(done);
            _ = thread.join();
        }
    }
}

/// The reading of a file, with a bar if it takes long.
pub struct Reading {
    name: String,
    start: Instant,
    bar: OnceCell<ProgressBar>,
}

impl Reading {
    /// The file is opened now.
    pub fn new(path: &Path) -> Reading {
        Reading { name: path.display().to_string(), start: Instant::now(), bar: OnceCell::new() }
    }

    /// So many bytes of all have been read.
    pub fn tell(&self, done: u64, all: u64) {
        if self.start.elapsed() < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_init(|| {
            let bar = styled(all, "{elapsed_precise} [{bar:30}] {bytes}/{total_bytes} {wide_msg}");
            bar.set_message(format!("reading {}", self.name));
            bar
        });
        bar.set_position(done);
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}
