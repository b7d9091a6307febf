//! Progress bars: of commands that go through files, and of reading a large one.

use indicatif::{ProgressBar, ProgressStyle};
use std::cell::OnceCell;
use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};

/// A bar on standard error for so many files; hidden where nobody watches.
pub fn bar(files: usize) -> ProgressBar {
    styled(files as u64, "{elapsed_precise} [{bar:30}] {pos}/{len} {wide_msg}")
}

fn styled(all: u64, template: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(all);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// How long reading a file takes before a bar is shown.
const PATIENCE: Duration = Duration::from_secs(1);

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
