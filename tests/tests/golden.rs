//! Every golden program and every example, on every back end; the executor counts what the interpreter of FLAT counts, on one and on two threads.

use par::pipeline::{Splitting, Versions};
use par::testing::{ALL_TARGETS, Settings};
use par::{Backend, Options};
use par_tests::{programs, root, run_all, run_all_with};

fn folder(path: &str) {
    let files = programs(&root().join(path));
    assert!(!files.is_empty(), "no programs in {path}");
    run_all(&files);
}

#[test]
fn golden() {
    folder("tests/golden");
}

#[test]
fn examples() {
    folder("examples");
}

/// Programs that say that derivatives forward and backward agree.
#[test]
fn derivatives() {
    folder("tests/derivatives");
}

/// Derivatives that make the state of most iterations again.
#[test]
fn derivatives_with_checkpoints() {
    let mut files = programs(&root().join("tests/derivatives"));
    files.extend(programs(&root().join("tests/golden/derivatives")));
    assert!(files.len() > 10, "{files:?}");
    let options = Options { checkpoints: 2, ..Options::default() };
    run_all_with(&files, &Settings { targets: ALL_TARGETS.to_vec(), options, ..Settings::default() });
}

/// Runs the programs of folders where the options make a difference; on the other targets `golden` has run the very same.
fn folders(names: &[&str], options: Options, makes_a_difference: fn(Backend) -> bool, costs: bool) {
    let targets = ALL_TARGETS.iter().copied().filter(|t| makes_a_difference(t.backend)).collect();
    let settings = Settings { targets, options, costs, ..Settings::default() };
    for name in names {
        let files = programs(&root().join("tests/golden").join(name));
        assert!(!files.is_empty(), "no programs in {name}");
        run_all_with(&files, &settings);
    }
}

/// Folders in which nests, control flow and recursion are what matters.
const NESTS: [&str; 6] = ["control", "ragged", "reduce", "recursion", "fuzz", "update"];

/// Backends after flattening: options of flattening do not change CORE.
const FLATTENED: fn(Backend) -> bool = |backend| backend != Backend::Interp;

fn in_chunks_of(rows: u64, costs: bool) {
    let options = Options { splitting: Splitting::Rows(rows), ..Options::default() };
    folders(&NESTS, options, FLATTENED, costs);
}

#[test]
fn in_chunks_of_one_row() {
    in_chunks_of(1, false);
}

#[test]
fn in_chunks_of_seven_rows() {
    in_chunks_of(7, true);
}

#[test]
fn in_each_version() {
    for versions in [Versions::Flat, Versions::Sequential] {
        folders(&["recursion", "control"], Options { versions, ..Options::default() }, FLATTENED, true);
    }
}

/// Programs for the sizes of small arguments, too; interpreters run the one for all sizes.
#[test]
fn with_constant_sizes() {
    let options = Options { constant_sizes: Some(0), ..Options::default() };
    folders(&NESTS, options, |backend| !backend.is_interpreter(), false);
}
