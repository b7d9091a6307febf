//! Variations of existing programs: sub-expressions exchanged, replaced by parts of themselves or of each other.
//!
//! Most changes are not well-typed, which the compiler notices; enough are. Programs whose results may depend on an order
//! that the language leaves open are left out: after a change an operator need not be associative, nor writes to one
//! index equal.

use crate::case::{Call, Case};
use crate::rng::Rng;
use crate::shrink::tree;
use par_syntax::ast::{Exp, File};
use par_syntax::{Severity, parse, pretty};
use std::path::Path;

/// Words of programs that are left out.
const ORDERED: [&str; 4] = ["scatter", "spread", "reduce_comm", "hist"];

/// The program of a file with the inputs of its tests, if it has any.
pub fn with_inputs(file: &Path) -> Option<Case> {
    let text = std::fs::read_to_string(file).ok()?;
    let calls = par::testing::inputs(&text, file.parent()?).ok()?;
    let calls: Vec<Call> =
        calls.into_iter().map(|(entry, input)| Call { entry, args: vec![input] }).collect();
    if calls.is_empty() { None } else { Some(Case { source: text, calls }) }
}

/// The same for a program that may be varied.
pub fn original(file: &Path) -> Option<Case> {
    let case = with_inputs(file)?;
    let is_left_out = |word: &&str| case.source.contains(*word);
    if ORDERED.iter().chain(&["import"]).any(is_left_out) { None } else { Some(case) }
}

/// A program with some changes that compiles as far as types go, if one is found quickly.
pub fn variation(originals: &[Case], seed: u64) -> Option<Case> {
    let mut rng = Rng::new(seed);
    let case = rng.pick(originals).clone();
    let (file, diagnostics) = parse(&case.source, 0);
    if diagnostics.iter().any(|d| d.severity >= Severity::Unsupported) {
        return None;
    }
    const TRIES: usize = 12;
    let mut file = file;
    let mut changes = 1 + rng.below(3);
    for _ in 0..TRIES {
        let mut changed = file.clone();
        change(&mut changed, &mut rng);
        if changed != file && is_legal(&changed) {
            file = changed;
            changes -= 1;
        }
        if changes == 0 {
            break;
        }
    }
    Some(Case { source: pretty::file(&file), calls: case.calls })
}

fn is_legal(file: &File) -> bool {
    let options = par::Options { verify: false, ..par::Options::default() };
    let compiled = crate::watch::guarded(|| par::compile(&pretty::file(file), "fuzz.par", &options));
    // A panic is for the judge to find.
    compiled.map_or(true, |c| !matches!(c, Err(par::Failure::Rejected { .. })))
}

/// One change: an expression becomes another one of the program, or two are exchanged.
fn change(file: &mut File, rng: &mut Rng) {
    let count = tree::count(file);
    let (i, j) = (rng.below(count), rng.below(count));
    let expression = |file: &mut File, n| tree::at(file, n, |e: &mut Exp| e.clone());
    let (Some(a), Some(b)) = (expression(file, i), expression(file, j)) else { return };
    tree::at(file, i, |e| e.kind = b.kind.clone());
    // Where one is inside the other, numbers have changed: a copy is all that is wanted then.
    let apart = a.span.end <= b.span.start || b.span.end <= a.span.start;
    if apart && i > j && rng.chance(50) {
        tree::at(file, j, |e| e.kind = a.kind);
    }
}
