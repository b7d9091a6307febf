//! The executor counts what the interpreter of FLAT counts: for every golden program and example, on one and on two threads.

use par::pipeline::{Splitting, Versions};
use par::testing::{NoData, Settings, data_sets};
use par::{Backend, CallOptions, Counters, Options, Program, Value};
use par_tests::{end_recursion_early, on_threads, programs, root};
use std::path::Path;

/// Cost of a call; `None` if it fails.
fn cost(
    program: &Program,
    entry: &str,
    args: &[Value],
    backend: Backend,
    threads: usize,
) -> Option<Counters> {
    let options = CallOptions { backend, threads, ..CallOptions::default() };
    program.profile(entry, args.to_vec(), &options, true).ok().map(|(_, profile)| profile.total)
}

/// Differences in a file, and how many calls were compared.
fn differences(path: &Path, options: &Options) -> (usize, String) {
    let (mut compared, mut found) = (0, String::new());
    let settings = Settings { options: options.clone(), ..Settings::default() };
    let result = data_sets(path, &settings, &mut |program, set| {
        let Some(wanted) = cost(program, &set.entry, &set.args, Backend::FlatInterp, 1) else { return };
        compared += 1;
        for threads in [1, 2] {
            let counted = cost(program, &set.entry, &set.args, Backend::Cpu, threads);
            if counted != Some(wanted) {
                let (path, name, entry) = (path.display(), &set.name, &set.entry);
                found +=
                    &format!("{path}: {entry}, {name}, {threads} threads\n  {wanted:?}\n  {counted:?}\n");
            }
        }
    });
    if let Err(NoData::Mistake(message)) = result {
        found += &format!("{message}\n");
    }
    (compared, found)
}

fn folder(path: &str) {
    folder_with(path, &Options::default());
}

fn folder_with(path: &str, options: &Options) {
    end_recursion_early();
    let files = programs(&root().join(Path::new(path)));
    let results = on_threads(&files, |file| differences(file, options));
    let compared: usize = results.iter().map(|r| r.0).sum();
    let found: Vec<&str> = results.iter().map(|r| r.1.as_str()).filter(|t| !t.is_empty()).collect();
    assert!(compared >= files.len() / 2, "only {compared} calls were compared");
    assert!(found.is_empty(), "{} of {compared} differ\n{}", found.len(), found.concat());
}

#[test]
fn golden_programs_cost_the_same() {
    folder("tests/golden");
}

#[test]
fn examples_cost_the_same() {
    folder("examples");
}

#[test]
fn chunks_cost_the_same() {
    let options = Options { splitting: Splitting::Rows(7), ..Options::default() };
    ["tests/golden/recursion", "tests/golden/ragged"].iter().for_each(|path| folder_with(path, &options));
}

#[test]
fn each_version_costs_the_same() {
    for versions in [Versions::Flat, Versions::Sequential] {
        folder_with("tests/golden/recursion", &Options { versions, ..Options::default() });
        folder_with("tests/golden/control", &Options { versions, ..Options::default() });
    }
}
