//! The smallest program and input that still show the same.
//!
//! Candidates are made by edits of the syntax tree ([`program`]) and of the values' text ([`input`]) without regard to
//! types, and asked of an oracle: the compiler itself rejects what is not well-typed, which costs a few milliseconds.
//! Greedy: the first smaller program that shows the same kind of finding is kept, until a round finds none.

mod input;
mod program;
pub mod tree;

use crate::case::{Case, LAW};
use crate::judge::{Finding, Kind, Verdict};
use par_syntax::ast::File;
use par_syntax::{parse, pretty};
use std::time::{Duration, Instant};

/// Says what a case shows.
pub type Oracle<'a> = &'a mut dyn FnMut(&Case) -> Verdict;

/// The smallest case found within the time.
pub fn shrink(case: &Case, finding: &Finding, time: Duration, oracle: Oracle) -> (Case, Finding) {
    let mut s = Shrinker {
        case: case.clone(),
        finding: finding.clone(),
        kind: finding.kind,
        signature: finding.signature(),
        law: (finding.kind == Kind::Law).then(|| law_of(case)),
        end: Instant::now() + time,
        oracle,
    };
    s.keep_only_the_call();
    while s.program() | s.inputs() {}
    (s.case, s.finding)
}

struct Shrinker<'a> {
    case: Case,
    finding: Finding,
    kind: Kind,
    signature: String,
    /// Text of the law that does not hold, which stays.
    law: Option<String>,
    end: Instant,
    oracle: Oracle<'a>,
}

/// The entry point that says a law, which stands last.
fn law_of(case: &Case) -> String {
    let text = pretty::file(&parse(&case.source, 0).0);
    text.find(&format!("entry {LAW} ")).map_or(String::new(), |at| text[at..].to_string())
}

impl Shrinker<'_> {
    fn is_late(&self) -> bool {
        Instant::now() >= self.end
    }

    /// True if a case shows the same; if so it is the one to go on with.
    fn try_case(&mut self, case: Case) -> bool {
        if self.law.as_ref().is_some_and(|law| law_of(&case) != *law) {
            return false;
        }
        let Verdict::Finding(finding) = (self.oracle)(&case) else { return false };
        let same = match self.kind {
            Kind::Bug | Kind::Panic | Kind::Unsupported | Kind::Rejected => {
                finding.signature() == self.signature
            }
            kind => finding.kind == kind,
        };
        if same {
            self.case = case;
            self.finding = finding;
        }
        same
    }

    fn keep_only_the_call(&mut self) {
        let calls: Vec<usize> = match self.finding.call {
            Some(i) => vec![i],
            None => (0..self.case.calls.len()).collect(),
        };
        for i in calls {
            let calls = vec![self.case.calls[i].clone()];
            if self.try_case(Case { calls, ..self.case.clone() }) {
                return;
            }
        }
    }

    fn parsed(&self) -> File {
        parse(&self.case.source, 0).0
    }

    /// One round of smaller programs; whether one was kept.
    fn program(&mut self) -> bool {
        let mut kept = false;
        while self.any_of(program::declarations(&self.parsed()))
            || self.any_of(program::results(&self.parsed()))
        {
            kept = true;
        }
        // Outer expressions first: what is inside need not be tried if they can go.
        let mut n = 0;
        while let Some(smaller) = program::at(&mut self.parsed(), n) {
            if self.is_late() {
                return false;
            }
            if self.any_of(smaller) { kept = true } else { n += 1 }
        }
        self.parameters() || kept
    }

    /// Keeps the first of these that shows the same.
    fn any_of(&mut self, files: Vec<File>) -> bool {
        files.into_iter().any(|file| {
            !self.is_late() && self.try_case(Case { source: pretty::file(&file), ..self.case.clone() })
        })
    }

    fn parameters(&mut self) -> bool {
        for i in 0..self.case.calls.first().map_or(0, |c| c.args.len()) {
            let mut case = self.case.clone();
            let Some(file) = program::without_parameter(&self.parsed(), &case.calls[0].entry, i) else {
                continue;
            };
            case.source = pretty::file(&file);
            case.calls.iter_mut().for_each(|c| drop(c.args.remove(i)));
            if !self.is_late() && self.try_case(case) {
                return true;
            }
        }
        false
    }

    /// One round of smaller inputs; whether one was kept.
    fn inputs(&mut self) -> bool {
        let Some(call) = self.case.calls.first().cloned() else { return false };
        for (i, arg) in call.args.iter().enumerate() {
            for smaller in input::candidates(arg) {
                let mut case = self.case.clone();
                case.calls[0].args[i] = smaller;
                if self.is_late() {
                    return false;
                }
                if self.try_case(case) {
                    return true;
                }
            }
        }
        false
    }
}
