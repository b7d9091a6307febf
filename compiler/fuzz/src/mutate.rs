//! Variations of existing programs: sub-expressions exchanged, replaced by parts of themselves or of each other.
//!
//! Most changes are not well-typed, which the compiler notices; enough are. What depends on an order that the language
//! leaves open must stay as it was: operators of reductions with their neutral elements; programs that scatter or that reduce
//! floats are left out.

use crate::case::{Call, Case};
use crate::rng::Rng;
use crate::shrink::tree;
use par_syntax::ast::{DecKind, Exp, ExpKind, File};
use par_syntax::{Severity, parse, pretty};
use std::collections::BTreeSet;
use std::path::Path;

/// Words of programs that are left out.
pub const LEFT_OUT: [&str; 9] =
    ["scatter", "spread", "reduce_comm", "hist", "index", "import", "f16", "f32", "f64"];

/// Functions whose first argument is an associative operator and the second its neutral element.
const FOLDS: [&str; 6] =
    ["reduce", "scan", "exscan", "segmented_scan", "segmented_exscan", "segmented_reduce"];

/// The program of a file with the inputs of its tests, if it has any.
pub fn with_inputs(file: &Path) -> Option<Case> {
    let text = std::fs::read_to_string(file).ok()?;
    let calls = par::testing::inputs(&text, file.parent()?).ok()?;
    let calls: Vec<Call> =
        calls.into_iter().map(|(entry, input)| Call { entry, args: vec![input] }).collect();
    if calls.is_empty() {
        None
    } else {
        Some(Case { source: text, calls, rounded: false, cuda: false, ranks: false })
    }
}

/// The same for a program that may be varied.
pub fn original(file: &Path) -> Option<Case> {
    let case = with_inputs(file)?;
    let left_out = LEFT_OUT.iter().any(|word| case.source.contains(word));
    if left_out { None } else { Some(case) }
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
    let known = operators(&mut file);
    let mut changes = 1 + rng.below(3);
    for _ in 0..TRIES {
        let mut changed = file.clone();
        change(&mut changed, &mut rng);
        if changed != file && operators(&mut changed).is_subset(&known) && is_legal(&changed) {
            file = changed;
            changes -= 1;
        }
        if changes == 0 {
            break;
        }
    }
    Some(Case { source: pretty::file(&file), ..case })
}

/// The operators of folds with their neutral elements, and the definitions that they name. A local name may stand for
/// anything: it is as it was only if the whole program is.
fn operators(file: &mut File) -> BTreeSet<String> {
    let whole = pretty::file(file);
    let (mut out, mut names, mut inner) = (BTreeSet::new(), Vec::new(), Vec::new());
    tree::find::<()>(file, &mut |e| {
        match &e.kind {
            ExpKind::Apply(f, args) if is_fold(f) => {
                out.extend(args.iter().take(2).map(pretty::exp));
                match args.first().map(|op| &op.kind) {
                    Some(ExpKind::Name(name)) if name.path.is_empty() => names.push(name.base.clone()),
                    Some(_) => mentioned(&mut args[0].clone(), &mut inner),
                    None => {}
                }
            }
            ExpKind::Name(name) if FOLDS.contains(&name.base.as_str()) => names.push(name.base.clone()),
            _ => {}
        }
        None
    });
    let definition = |name: &String| {
        file.decs.iter().find_map(|d| match &d.kind {
            DecKind::Def(def) if def.name.name == *name => Some(pretty::exp(&def.body)),
            _ => None,
        })
    };
    out.extend(inner.iter().filter_map(definition));
    for name in names {
        let is_fold = FOLDS.contains(&name.as_str());
        out.insert(definition(&name).unwrap_or_else(|| if is_fold { name } else { whole.clone() }));
    }
    out
}

fn is_fold(f: &Exp) -> bool {
    matches!(&f.kind, ExpKind::Name(name) if FOLDS.contains(&name.base.as_str()))
}

/// The names in an expression.
fn mentioned(e: &mut Exp, names: &mut Vec<String>) {
    if let ExpKind::Name(name) = &e.kind {
        names.push(name.base.clone());
    }
    tree::children(e).into_iter().for_each(|e| mentioned(e, names));
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
