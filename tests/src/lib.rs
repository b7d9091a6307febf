//! Running golden programs: the files of a folder with their `-- ==` blocks, on every back end.

use par::Options;
use par::testing::{ALL_TARGETS, run_file};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The repository's folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All programs below a folder, in order.
pub fn programs(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    let mut out = Vec::new();
    for path in paths {
        if path.is_dir() {
            out.extend(programs(&path));
        } else if path.extension().is_some_and(|e| e == "par" || e == "fut") {
            out.push(path);
        }
    }
    out
}

/// Runs programs on every back end, verifying the IR after every pass; panics with all failures if there is one.
pub fn run_all(files: &[PathBuf]) {
    run_all_with(files, &Options::default());
}

/// As [`run_all`], compiled in another way.
pub fn run_all_with(files: &[PathBuf], options: &Options) {
    let options = Options { verify: true, ..options.clone() };
    let mut failures = String::new();
    let (mut passed, mut failed) = (0, 0);
    for report in on_threads(files, |file| Some(run_file(file, ALL_TARGETS, &options))) {
        passed += report.passed;
        failed += report.failures.len();
        for failure in report.failures {
            let _ = writeln!(failures, "{failure}");
        }
    }
    println!("{passed} passed, {failed} failed");
    assert!(failures.is_empty(), "{passed} passed, {failed} failed\n{failures}");
}

/// Results of `work` for the items, on several threads with a deep stack as the command has, in order. Each takes the next item that nobody
/// has: one program may take as long as a hundred others.
pub fn on_threads<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> Option<R> + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get().min(8));
    let next = AtomicUsize::new(0);
    let take = || {
        let taken = std::iter::from_fn(|| {
            let i = next.fetch_add(1, Ordering::Relaxed);
            items.get(i).map(|item| (i, work(item)))
        });
        taken.collect::<Vec<_>>()
    };
    let mut out = Vec::with_capacity(items.len());
    std::thread::scope(|scope| {
        let builder = || std::thread::Builder::new().stack_size(256 << 20);
        let handles: Vec<_> =
            (0..threads).map(|_| builder().spawn_scoped(scope, take).expect("a thread")).collect();
        for handle in handles {
            match handle.join() {
                Ok(part) => out.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    out.sort_by_key(|(i, _)| *i);
    out.into_iter().filter_map(|(_, result)| result).collect()
}
