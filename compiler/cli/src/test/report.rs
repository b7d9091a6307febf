//! Output of `par test`.

use super::pool::{FileResult, Message, Pool};
use crate::progress;
use crate::status::{self, Status};
use par::testing::{ProblemKind, Test};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The results of all files.
pub struct Summary {
    /// In the order of the arguments.
    pub files: Vec<FileResult>,
    /// From the first process's start to the last one's end.
    pub time: Duration,
}

/// Tests the files, with a progress bar on a terminal, and prints failures as they come, then a summary.
pub fn run(pool: &Pool, files: &[PathBuf], list: bool) -> Result<Summary, String> {
    let start = Instant::now();
    let bar = progress::bar(files.len());
    let (mut results, mut printed) = (Vec::new(), Ok(()));
    pool.run(files, |message| match message {
        Message::Start(file) => bar.set_message(file.display().to_string()),
        Message::Done(result) => {
            let text = match (list, status::is_json()) {
                (true, _) => listed(&result),
                (false, true) => json(&result),
                (false, false) => failures(&result),
            };
            if !text.is_empty() && printed.is_ok() {
                printed = bar.suspend(|| print(&text));
            }
            bar.inc(1);
            results.push(result);
        }
    })?;
    bar.finish_and_clear();
    results.sort_by_key(|r| files.iter().position(|f| *f == r.file));
    let summary = Summary { files: results, time: start.elapsed() };
    if !list {
        let end = if status::is_json() { summary.json() } else { summary.lines() };
        printed = printed.and_then(|()| print(&end));
    }
    printed.map_err(|e| format!("cannot write to standard output: {e}"))?;
    Ok(summary)
}

/// Prints; a closed output is no error: its reader has seen enough.
fn print(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let result = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    result.or_else(|e| if e.kind() == ErrorKind::BrokenPipe { Ok(()) } else { Err(e) })
}

/// Tests without their back ends, each once.
fn listed(result: &FileResult) -> String {
    let mut lines: Vec<String> = Vec::new();
    for test in &result.tests {
        let line = match &test.problem {
            None => format!("{}: {}\n", test.place, test.name),
            Some(problem) => format!("{}: {}\n", test.place, problem.message),
        };
        if lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    lines.concat()
}

/// A line for every test on every back end.
fn json(result: &FileResult) -> String {
    let lines = result.tests.iter().map(|test| {
        let line = serde_json::json!({
            "file": result.file.display().to_string(),
            "place": test.place,
            "name": test.name,
            "target": test.target,
            "passed": test.problem.is_none(),
            "kind": test.problem.as_ref().map(|p| p.kind),
            "message": test.problem.as_ref().map(|p| &p.message),
            "seconds": test.time.as_secs_f64(),
        });
        format!("{line}\n")
    });
    lines.collect()
}

/// Failures; the same problem on several back ends once.
fn failures(result: &FileResult) -> String {
    let failed: Vec<&Test> = result.tests.iter().filter(|t| t.problem.is_some()).collect();
    let same = |a: &&Test, b: &&Test| {
        (&a.place, &a.name) == (&b.place, &b.name) && a.problem == b.problem && b.target.is_some()
    };
    let groups = failed.chunk_by(same).map(|tests| {
        let targets: Vec<&str> = tests.iter().filter_map(|t| t.target.as_deref()).collect();
        let target = (!targets.is_empty()).then(|| targets.join("; "));
        format!("FAILED {}\n", Test { target, ..tests[0].clone() })
    });
    groups.collect()
}

impl Summary {
    /// All tests of all files.
    pub fn tests(&self) -> impl Iterator<Item = &Test> {
        self.files.iter().flat_map(|f| &f.tests)
    }

    /// The last line of the results.
    fn json(&self) -> String {
        let failed = self.tests().filter(|t| t.problem.is_some()).count();
        let passed = self.tests().count() - failed;
        let line = serde_json::json!({
            "programs": self.files.len(),
            "passed": passed,
            "failed": failed,
            "seconds": self.time.as_secs_f64(),
        });
        format!("{line}\n")
    }

    fn lines(&self) -> String {
        let failed = self.tests().filter(|t| t.problem.is_some()).count();
        let passed = self.tests().count() - failed;
        let untested = self.files.iter().filter(|f| f.no_tests).count();
        let programs = match self.files.len() {
            1 => "1 program".to_string(),
            n => format!("{n} programs"),
        };
        let compiled = match (untested, self.files.len()) {
            (0, _) => String::new(),
            (1, 1) => "; it has no tests and was only compiled".to_string(),
            (1, _) => "; 1 has no tests and was only compiled".to_string(),
            (n, _) => format!("; {n} have no tests and were only compiled"),
        };
        let seconds = self.time.as_secs_f64();
        format!("{passed} passed, {failed} failed in {programs} ({seconds:.1} s){compiled}\n")
    }

    /// Status of the worst problem; that something is not implemented counts only if nothing else went wrong.
    pub fn status(&self) -> Status {
        match self.tests().filter_map(|t| t.problem.as_ref()).map(|p| p.kind).max() {
            None => Status::Success,
            Some(ProblemKind::Unsupported) => Status::Unsupported,
            Some(ProblemKind::Failed) => Status::Failed,
            Some(ProblemKind::Rejected) => Status::Rejected,
            Some(ProblemKind::Bug) => Status::Bug,
        }
    }
}
