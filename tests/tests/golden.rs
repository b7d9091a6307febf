//! Every golden program and every example, on every back end.

use par::pipeline::Splitting;
use par::testing::{ALL_TARGETS, Target};
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
    run_all_with(&files, ALL_TARGETS, &Options { checkpoints: 2, ..Options::default() });
}

/// Folders in which nests, control flow and recursion are what matters.
const NESTS: [&str; 6] = ["control", "ragged", "reduce", "recursion", "fuzz", "update"];

/// Runs the programs of these folders where the options make a difference; on the other targets `golden` has run the very same.
fn nests(options: &Options, makes_a_difference: fn(Backend) -> bool) {
    let targets: Vec<Target> =
        ALL_TARGETS.iter().copied().filter(|t| makes_a_difference(t.backend)).collect();
    for folder in NESTS {
        let files = programs(&root().join("tests/golden").join(folder));
        assert!(!files.is_empty(), "no programs in {folder}");
        run_all_with(&files, &targets, options);
    }
}

/// Nests are split when they are flattened: CORE is the same.
fn in_chunks_of(rows: u64) {
    let options = Options { splitting: Splitting::Rows(rows), ..Options::default() };
    nests(&options, |backend| backend != Backend::Interp);
}

#[test]
fn in_chunks_of_one_row() {
    in_chunks_of(1);
}

#[test]
fn in_chunks_of_seven_rows() {
    in_chunks_of(7);
}

/// Programs for the sizes of small arguments, too; interpreters run the one for all sizes.
#[test]
fn with_constant_sizes() {
    let options = Options { constant_sizes: Some(0), ..Options::default() };
    nests(&options, |backend| !backend.is_interpreter());
}
