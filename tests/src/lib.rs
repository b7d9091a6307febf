//! Running golden programs: the files of a folder with their `-- ==` blocks, on every back end.

use par::testing::{ALL_TARGETS, Settings, run_file};
pub use par_trials::on_threads;
use std::fmt::Write;
use std::path::{Path, PathBuf};

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

/// Makes programs fail sooner in this process, if recursion does not end: the executor and the interpreter of FLAT then fill hundreds of megabytes of
/// stack instead of gigabytes. For tests that run all programs, but not for what is said when they fail.
pub fn end_recursion_early() {
    par_runtime::pool::limit_to(2 << 30);
}

/// Runs programs on every back end, verifying the IR after every pass and comparing costs; panics with all failures if there is one.
pub fn run_all(files: &[PathBuf]) {
    run_all_with(files, &Settings { targets: ALL_TARGETS.to_vec(), costs: true, ..Settings::default() });
}

/// As [`run_all`], with other settings.
pub fn run_all_with(files: &[PathBuf], settings: &Settings) {
    let mut settings = settings.clone();
    settings.options.verify = true;
    let mut failures = String::new();
    let (mut passed, mut failed) = (0, 0);
    for report in on_threads(files, |file| run_file(file, &settings)) {
        passed += report.passed;
        failed += report.failures.len();
        for failure in report.failures {
            let _ = writeln!(failures, "{failure}");
        }
    }
    println!("{passed} passed, {failed} failed");
    assert!(failures.is_empty(), "{passed} passed, {failed} failed\n{failures}");
}
