//! Peak memory of programs: ten times the input is ten times the memory, on the interpreter of FLAT and on the CPU.

use super::{program, size};
use par::{Backend, CallOptions};

/// Peak memory of `main` at a size and at ten times that size.
fn peaks(text: &str, n: i64, backend: Backend) -> [u64; 2] {
    let program = program(&format!("def rnd (i: i64) : i64 = (i * 7919 + 13) % 1000003\n{text}"));
    [n, 10 * n].map(|n| {
        let options = CallOptions { backend, threads: 1, ..CallOptions::default() };
        let done = program.profile("main", vec![size(n)], &options, false);
        let (_, profile) = done.unwrap_or_else(|f| panic!("{f:?}"));
        profile.peak_bytes
    })
}

/// At most ten times as much, and a part for buffers that are given out in sizes of their own; at the larger size at most so many bytes
/// for each of the `n`.
#[track_caller]
fn is_linear(text: &str, n: i64, bytes: u64) {
    for backend in [Backend::FlatInterp, Backend::Cpu] {
        let [small, large] = peaks(text, n, backend);
        assert!(large < 13 * small, "{backend}: {large} bytes after {small}");
        assert!(large <= bytes * 10 * n as u64, "{backend}: {large} bytes for {}", 10 * n);
    }
}

#[test]
fn a_branch_that_returns_a_shared_array() {
    is_linear(
        "entry main (n: i64) : i64 =
           let big = map rnd (iota n)
           let rows = map (\\i -> if rnd i % 2 == 0 then big else [i]) (iota n)
           in sum (map (\\r -> r[0]) rows)",
        1_000,
        120,
    );
}

#[test]
fn one_giant_row() {
    is_linear(
        "entry main (n: i64) : i64 =
           let row k = let xs = scan (+) 0 (map rnd (iota k)) in length (filter (> 5) xs)
           in sum (map (\\i -> row (if i == 7 then n else i % 2)) (iota n))",
        1_000,
        200,
    );
}

#[test]
fn a_giant_row_that_retires_last() {
    is_linear(
        "entry main (n: i64) : i64 =
           let halve xs = loop xs while length xs > 1 do map (\\i -> xs[i] + xs[i + length xs / 2]) (iota (length xs / 2))
           in sum (map (\\i -> length (halve (map rnd (iota (if i == 0 then n else i % 4))))) (iota n))",
        1_000,
        240,
    );
}

#[test]
fn recursion_in_the_form_of_a_tree() {
    is_linear(
        "def qsort (xs: []i64) : []i64 =
           if length xs < 2 then xs
           else let p = xs[length xs / 2]
                in qsort (filter (< p) xs) ++ filter (== p) xs ++ qsort (filter (> p) xs)
         entry main (n: i64) : i64 = (qsort (map rnd (iota n)))[n / 2]",
        500,
        800,
    );
}

#[test]
fn a_tree_of_calls_over_slices() {
    is_linear(
        "def total (xs: []i64) : i64 =
           let n = length xs in if n == 0 then 0 else if n == 1 then xs[0] else total xs[:n / 2] + total xs[n / 2:]
         entry main (n: i64) : i64 = total (map rnd (iota n))",
        500,
        400,
    );
}
