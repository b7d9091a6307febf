//! Kernels in lanes have code for the widest vectors that the processor has: one instruction that `cpu::wide` does not know, even in what is left to
//! scalar code, makes the whole function one of 128 bits.

use par::{Options, compile};
use par_runtime::simd::{Level, level};
use par_tests::{on_threads, programs, root};
use std::path::PathBuf;

/// Folders of golden programs with most kernels in lanes.
const FOLDERS: [&str; 5] = ["lanes", "reduce", "scalar", "scan", "stdlib"];
/// Halves are expanded in vectors of 128 bits, and functions with several results have no registers for them.
const KNOWN: [&str; 2] = ["vectors of several widths", "a call with more than one result"];

par_trials::trials! {
    functions_have_wide_vectors, needs wide_vectors();
}

fn wide_vectors() -> Option<String> {
    (level() == Level::Baseline).then(|| "vectors of 256 bits".to_string())
}

/// Reasons why functions of a program were emitted again.
fn emitted_again(file: &PathBuf) -> Vec<String> {
    let text = std::fs::read_to_string(file).expect("a golden program");
    let Ok(program) = compile(&text, &file.to_string_lossy(), &Options::default()) else { return vec![] };
    let Ok(code) = program.clif() else { return vec![] };
    let again = code
        .lines()
        .filter_map(|line| line.strip_prefix("; ")?.split_once(" again, with vectors of 128 bits: "));
    again.map(|(kernel, why)| format!("{}: {kernel}: {why}", file.display())).collect()
}

fn functions_have_wide_vectors() {
    let files: Vec<PathBuf> =
        FOLDERS.iter().flat_map(|folder| programs(&root().join("tests/golden").join(folder))).collect();
    assert!(files.len() > 50, "{} programs", files.len());
    let found = on_threads(&files, emitted_again).concat();
    let unknown: Vec<&String> =
        found.iter().filter(|why| !KNOWN.iter().any(|known| why.ends_with(known))).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}
