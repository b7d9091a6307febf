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
    halves_are_emitted_again, needs wide_vectors();
}

fn wide_vectors() -> Option<String> {
    (level() == Level::Baseline).then(|| "vectors of 256 bits".to_string())
}

/// The number of functions of a program that were emitted for wide vectors, and the reasons why some of them were emitted again.
fn emitted(text: &str, name: &str) -> (usize, Vec<String>) {
    let shown = |f: par::Failure| f.render(false);
    let program = compile(text, name, &Options::default()).unwrap_or_else(|f| panic!("{}", shown(f)));
    let code = program.clif().unwrap_or_else(|f| panic!("{}", shown(f)));
    let wide = code.lines().filter(|line| line.starts_with("; ") && line.contains(", vectors of ")).count();
    let again = code
        .lines()
        .filter_map(|line| line.strip_prefix("; ")?.split_once(" again, with vectors of 128 bits: "));
    (wide, again.map(|(kernel, why)| format!("{name}: {kernel}: {why}")).collect())
}

fn functions_have_wide_vectors() {
    let files: Vec<PathBuf> =
        FOLDERS.iter().flat_map(|folder| programs(&root().join("tests/golden").join(folder))).collect();
    assert!(files.len() > 50, "{} programs", files.len());
    let emitted = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).expect("a golden program");
        emitted(&text, &file.to_string_lossy())
    };
    let (wide, found): (Vec<usize>, Vec<Vec<String>>) = on_threads(&files, emitted).into_iter().unzip();
    let (wide, found) = (wide.iter().sum::<usize>(), found.concat());
    assert!(wide > 1000, "{wide} functions");
    let unknown: Vec<&String> =
        found.iter().filter(|why| !KNOWN.iter().any(|known| why.ends_with(known))).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

fn halves_are_emitted_again() {
    let text = "entry main (xs: []f16) : []f32 = map (\\x -> f32.f16 x * 2) xs";
    let (wide, again) = emitted(text, "halves.par");
    assert_eq!((wide, again.len()), (1, 1), "{again:?}");
    assert!(again[0].ends_with(KNOWN[0]), "{again:?}");
}
