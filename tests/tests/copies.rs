//! The warnings of updates that copy, held against runs of the golden programs: an update that copied when it ran was warned of.

use par::insight::{Insight, Operation, RunCost};
use par::pipeline::Target;
use par::pipeline::Versions;
use par::testing::{NoData, Settings, data_sets};
use par::{CallOptions, Options, Program, Value, print_value, read_values};
use par_tests::{on_threads, programs, root};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// The names of the operations that only update.
const UPDATES: [&str; 3] = ["scatter", "histogram", "write"];

/// Lines of the updates that a call made, and of those that copied.
fn updates(program: &Program, entry: &str, args: &[Value]) -> Option<(usize, BTreeSet<(usize, usize)>)> {
    let options = CallOptions { threads: 1, ..CallOptions::default() };
    let (_, profile) = program.profile(entry, unshared(program, entry, args)?, &options, true).ok()?;
    let run = RunCost {
        runs: 1,
        time: Duration::ZERO,
        profile,
        input_bytes: 0,
        target: Target::Processor,
        threads: 1,
        constants: Vec::new(),
    };
    let insight = Insight::new(program, entry, Target::Processor).ok()?.with_run(run);
    // What arms give is put together by scatters, which nobody wrote.
    let merges = |op: &&Operation| op.why.iter().any(|why| why.starts_with("merges the results of the arms"));
    let updates = insight.operations.iter().filter(|op| UPDATES.contains(&op.name.as_str()));
    let updates: Vec<_> = updates.filter(|op| !merges(op)).collect();
    let copied = updates.iter().filter(|op| op.cost.is_some_and(|c| c.counters.bytes_materialised > 0));
    Some((updates.len(), copied.map(|op| (op.at.line, op.at.column)).collect()))
}

/// Arguments that nobody else has: whether those of entry points are needed later is not known when compiling.
fn unshared(program: &Program, entry: &str, args: &[Value]) -> Option<Vec<Value>> {
    let types: Vec<_> = program.entry(entry)?.params.iter().map(|(_, ty)| ty.clone()).collect();
    read_values(&args.iter().map(print_value).collect::<Vec<_>>().join(" "), &types).ok()
}

/// The places of the warnings.
fn warned(program: &Program) -> BTreeSet<(usize, usize)> {
    let copies = program.warnings().iter().filter(|d| d.code == "W0601");
    copies
        .map(|d| {
            let span = d.labels[0].span;
            let before = &program.sources().files[span.file as usize].text[..span.start as usize];
            let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
            (before.matches('\n').count() + 1, column)
        })
        .collect()
}

/// The number of updates, and the copies without a warning.
fn check(path: &Path, versions: Versions) -> (usize, usize, String) {
    let mut options = Options { versions, ..Options::default() };
    options.warnings.set("copies").expect("a warning");
    let settings = Settings { options, ..Settings::default() };
    let (mut all, mut copies, mut silent) = (0, 0, String::new());
    let result = data_sets(path, &settings, &mut |program, set| {
        let Some((updates, copied)) = updates(program, &set.entry, &set.args) else { return };
        let warned = warned(program);
        all += updates;
        copies += copied.len();
        for place in copied.difference(&warned) {
            silent += &format!("{}: {}, {place:?}; warned of {warned:?}\n", path.display(), set.entry);
        }
    });
    if let Err(NoData::Mistake(message)) = result {
        silent += &format!("{message}\n");
    }
    (all, copies, silent)
}

#[test]
fn every_copy_was_warned_of() {
    let folders = [
        "update",
        "state",
        "control",
        "recursion",
        "reduce",
        "suite",
        "programs",
        "index",
        "scan",
        "structure",
    ];
    let files: Vec<_> = folders.iter().flat_map(|f| programs(&root().join("tests/golden").join(f))).collect();
    // Loops of the host that do little are one kernel, unless the flat version is asked for, and copy less.
    let flat = files.iter().map(|f| (f, Versions::Flat));
    let state = files.iter().filter(|f| f.components().any(|c| c.as_os_str() == "state"));
    let runs: Vec<_> = flat.chain(state.map(|f| (f, Versions::Auto))).collect();
    let results = on_threads(&runs, |(file, versions)| check(file, *versions));
    let all: usize = results.iter().map(|r| r.0).sum();
    let copies: usize = results.iter().map(|r| r.1).sum();
    let silent: String = results.into_iter().map(|r| r.2).collect();
    assert!(silent.is_empty(), "without a warning:\n{silent}");
    assert!(all > 200 && copies > 20, "only {copies} of {all} updates copied");
}
