//! `par test`: the tests in programs.

use crate::run::BackendName;
use crate::status::Status;
use par::testing::{ALL_TARGETS, Report, Target, run_file};
use par::{Backend, Options};
use std::path::{Path, PathBuf};

/// Arguments of `par test`.
#[derive(clap::Args)]
pub struct Args {
    /// Programs, or folders with programs
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Only this back end [default: all]
    #[arg(long, value_enum)]
    backend: Option<BackendName>,
}

/// Runs all tests and prints those that fail.
pub fn test(args: &Args) -> Result<Status, Status> {
    let wanted = args.backend.map(Backend::from);
    let targets: Vec<Target> =
        ALL_TARGETS.iter().copied().filter(|t| wanted.is_none_or(|b| b == t.backend)).collect();
    let options = Options { verify: true, ..Options::default() };
    let mut total = Report::default();
    for file in args.files.iter().flat_map(|path| programs(path)) {
        let report = run_file(&file, &targets, &options);
        report.failures.iter().for_each(|failure| eprintln!("FAILED {failure}"));
        total.passed += report.passed;
        total.failures.extend(report.failures);
    }
    eprintln!("{} passed, {} failed", total.passed, total.failures.len());
    Ok(if total.failures.is_empty() { Status::Success } else { Status::Failed })
}

/// The file itself, or the programs in a folder and its folders, in order.
fn programs(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(path) else { return vec![path.to_path_buf()] };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    let is_program = |p: &Path| p.extension().is_some_and(|e| e == "par" || e == "fut");
    paths.retain(|p| p.is_dir() || is_program(p));
    paths.into_iter().flat_map(|p| programs(&p)).collect()
}
