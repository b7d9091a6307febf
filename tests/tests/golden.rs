//! Every golden program and every example, on every back end.

use par::Options;
use par::pipeline::Splitting;
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
    run_all_with(&files, &Options { checkpoints: 2, ..Options::default() });
}

/// Folders in which nests, control flow and recursion are what matters.
const NESTS: [&str; 6] = ["control", "ragged", "reduce", "recursion", "fuzz", "update"];

fn in_chunks_of(rows: u64) {
    let options = Options { splitting: Splitting::Rows(rows), ..Options::default() };
    for folder in NESTS {
        let files = programs(&root().join("tests/golden").join(folder));
        assert!(!files.is_empty(), "no programs in {folder}");
        run_all_with(&files, &options);
    }
}

#[test]
fn in_chunks_of_one_row() {
    in_chunks_of(1);
}

#[test]
fn in_chunks_of_seven_rows() {
    in_chunks_of(7);
}

/// Programs for the sizes of small arguments, too.
#[test]
fn with_constant_sizes() {
    let options = Options { constant_sizes: Some(0), ..Options::default() };
    for folder in NESTS {
        run_all_with(&programs(&root().join("tests/golden").join(folder)), &options);
    }
}
