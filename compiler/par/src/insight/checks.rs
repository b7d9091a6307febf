//! Run-time checks: those that the program has as it is written, and those that are left.

use super::operations::Operation;
use super::places::Location;
use par_ir::core::{Body, Exp};
use par_ir::flat::{Op, Program, Stm};
use par_runtime::{CheckKind, Span};
use par_syntax::Sources;
use serde::Serialize;
use std::collections::{BTreeSet, HashSet};

/// Checks while the program runs.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Checks {
    /// Checks of the program as written that are not needed: proved to hold, or what they guard is not reached.
    pub proved: Vec<Check>,
    /// Checks that are left.
    pub kept: Vec<Check>,
}

/// One check.
#[derive(Clone, PartialEq, Eq, Debug, PartialOrd, Ord, Serialize)]
pub struct Check {
    /// Source place of the check.
    pub at: Location,
    /// Condition that is checked.
    pub what: String,
    /// Numbers of the operations it is done in for each element; none if it is done once.
    pub operations: Vec<usize>,
}

type Key = (Span, String);

pub(super) fn in_body(body: &Body, out: &mut Vec<(CheckKind, Span)>, calls: &mut Vec<u32>) {
    for stm in &body.stms {
        match &stm.exp {
            Exp::Check { kind, .. } => out.push((kind.clone(), stm.span)),
            Exp::Call(fun, _) => calls.push(fun.0),
            exp => exp.for_each_body(|b| in_body(b, out, calls)),
        }
    }
}

pub(super) fn of(
    written: &[(CheckKind, Span)],
    program: &Program,
    reached: &HashSet<usize>,
    operations: &[Operation],
    sources: &Sources,
) -> Checks {
    let mut left: Vec<(Key, Option<usize>)> = Vec::new();
    for (site, stm) in program.statements().into_iter().enumerate().filter(|(site, _)| reached.contains(site))
    {
        let number = operations.iter().find(|op| op.site == site).map(|op| op.number);
        of_statement(stm, number, &mut left);
    }
    let known: BTreeSet<Key> = written.iter().map(|(kind, span)| (*span, name(kind))).collect();
    let all_left: BTreeSet<&Key> = left.iter().map(|l| &l.0).collect();
    let check = |key: &Key| {
        let mut operations: Vec<usize> = left.iter().filter(|l| l.0 == *key).filter_map(|l| l.1).collect();
        operations.dedup();
        Check { at: Location::of(key.0, sources), what: key.1.clone(), operations }
    };
    Checks {
        proved: known.iter().filter(|k| !all_left.contains(k)).map(&check).collect(),
        kept: all_left.iter().map(|k| check(k)).collect(),
    }
}

fn of_statement(stm: &Stm, number: Option<usize>, out: &mut Vec<(Key, Option<usize>)>) {
    match &stm.op {
        Op::Check { kind, .. } => out.push(((stm.span, name(kind)), None)),
        Op::Kernel(k) => {
            let mut found = Vec::new();
            k.bodies().into_iter().for_each(|b| in_body(b, &mut found, &mut Vec::new()));
            out.extend(found.into_iter().map(|(kind, span)| ((span, name(&kind)), number)));
        }
        _ => {}
    }
}

fn name(kind: &CheckKind) -> String {
    match kind {
        CheckKind::Bounds => "the index is inside".into(),
        CheckKind::Slice => "the slice is inside".into(),
        CheckKind::DivisionByZero => "the divisor is not zero".into(),
        CheckKind::NegativeExponent => "the exponent is not negative".into(),
        CheckKind::NegativeSize => "the size is not negative".into(),
        CheckKind::SizeMismatch(what) => format!("sizes agree ({what})"),
        CheckKind::RowLength => "the row has the length of the others".into(),
        CheckKind::SegmentSum => "the segments cover the array".into(),
        CheckKind::Conflict => "no index gets two different values".into(),
        CheckKind::Assert(text) => format!("assert {text}"),
        CheckKind::Empty(what) => format!("{what}: not empty"),
        CheckKind::TooDeep => "the recursion is not too deep".into(),
        CheckKind::OutOfMemory => "there is memory".into(),
        CheckKind::ZeroStep => "the step is not zero".into(),
        CheckKind::Range => "the steps lead to the end of the range".into(),
        CheckKind::Other(text) => format!("not: {text}"),
    }
}
