//! Results of tests.

use crate::failure::{Failure, RunFailure};
use crate::program::Backend;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// A back end with its number of threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct Target {
    pub backend: Backend,
    /// 0 stands for all processors.
    pub threads: usize,
}

/// Both interpreters, and machine code with one thread and with two.
pub const ALL_TARGETS: &[Target] = &[
    Target { backend: Backend::Interp, threads: 1 },
    Target { backend: Backend::FlatInterp, threads: 1 },
    Target { backend: Backend::Cpu, threads: 1 },
    Target { backend: Backend::Cpu, threads: 2 },
];

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.backend, self.threads) {
            (Backend::Cpu, 1) => write!(f, "cpu, 1 thread"),
            (Backend::Cpu, n) if n > 1 => write!(f, "cpu, {n} threads"),
            (backend, _) => write!(f, "{backend}"),
        }
    }
}

/// Something that was tested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// The file, with a line if it is about one.
    pub place: String,
    /// Subject of the test: an entry point, a structure, that the program compiles.
    pub name: String,
    /// The back end, if it was run.
    pub target: Option<String>,
    /// None if it went well.
    pub problem: Option<Problem>,
    /// Time that it took.
    pub time: Duration,
}

/// Failure of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// In which way.
    pub kind: ProblemKind,
    /// Actual and expected result; several lines.
    pub message: String,
}

/// The ways in which a test fails, mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ProblemKind {
    /// The program is legal, but uses something that is not implemented.
    Unsupported,
    /// Another outcome than the expected one, or a mistake in the test.
    Failed,
    /// The program does not compile.
    Rejected,
    /// Par is wrong, or its process ended.
    Bug,
}

impl Problem {
    /// Another outcome than the expected one.
    pub fn failed(message: impl Into<String>) -> Problem {
        Problem { kind: ProblemKind::Failed, message: message.into() }
    }

    /// A bug in Par.
    pub fn bug(message: impl Into<String>) -> Problem {
        Problem { kind: ProblemKind::Bug, message: message.into() }
    }
}

impl From<&Failure> for Problem {
    fn from(failure: &Failure) -> Problem {
        let kind = match failure {
            Failure::Bug(_) => ProblemKind::Bug,
            _ if failure.is_unsupported() => ProblemKind::Unsupported,
            Failure::Rejected { .. } => ProblemKind::Rejected,
            Failure::Unavailable(_) | Failure::Cancelled => ProblemKind::Failed,
        };
        Problem { kind, message: failure.to_string() }
    }
}

impl From<&RunFailure> for Problem {
    fn from(failure: &RunFailure) -> Problem {
        match failure {
            RunFailure::Compile(failure) => failure.into(),
            other => Problem::failed(other.to_string()),
        }
    }
}

impl Test {
    /// The name with the back end.
    pub fn full_name(&self) -> String {
        match &self.target {
            Some(target) => format!("{} ({target})", self.name),
            None => self.name.clone(),
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.full_name())?;
        let message = self.problem.as_ref().map_or("", |p| &p.message);
        message.lines().try_for_each(|line| write!(f, "\n    {line}"))
    }
}

/// Event that the runner reports while it works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// This test begins; if nothing follows, it is what the process ended in.
    Begin {
        /// As in [`Test`].
        place: String,
        /// As in [`Test`].
        name: String,
        /// As in [`Test`].
        target: Option<String>,
    },
    /// A test went this way.
    Done(Test),
    /// The file has no tests; it was only compiled.
    NoTests,
}

/// Results of the tests of a file.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Number of tests that passed.
    pub passed: usize,
    /// Failures.
    pub failures: Vec<Test>,
}

impl Report {
    /// Counts an event.
    pub fn add(&mut self, event: Event) {
        match event {
            Event::Done(test) if test.problem.is_some() => self.failures.push(test),
            Event::Done(_) => self.passed += 1,
            Event::Begin { .. } | Event::NoTests => {}
        }
    }
}
