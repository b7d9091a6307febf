//! Programs whose floats depend on the order in which they are combined.
//!
//! The language leaves that order open, so results may differ between versions and back ends, but only by rounding: numbers are
//! positive and nothing is subtracted, so that no digits are lost, and nothing is decided by a number that was rounded. In one
//! version on one back end they are the same bits for every number of threads.

use super::Generated;
use crate::case::{Call, Case};
use crate::rng::Rng;
use std::collections::BTreeMap;

/// Definitions of all programs; `t` is the type of floats.
const LIBRARY: &str = "\
type t = {T}
def number (k: i64) (i: i64) : t = {T}.i64 ((i * 7919 + k * 104729) % 1009 + 1) / 17
def affine (a: (t, t)) (b: (t, t)) : (t, t) = (a.0 * b.0, b.0 * a.1 + b.1)
def small (x: t) : (t, t) = (x / (x + 1), x)
def both (a: (t, t)) (b: (t, t)) : (t, t) = (a.0 + b.0, {T}.max a.1 b.1)
def halves (xs: []t) : t =
  if length xs <= 3 then {T}.sum xs else halves xs[:length xs / 2] + halves xs[length xs / 2:]
";

/// Lengths of rows.
const LENGTHS: [&str; 6] = [
    "map (\\i -> i % 7) (iota (n / 3))",
    "map (\\i -> if i == k % 5 then n else i % 3) (iota (i64.min n 40))",
    "replicate (n / 4) 4i64",
    "map (\\i -> if i % 3 == 0 then 0 else (i * i) % 90) (iota (n / 40))",
    "replicate n 1i64",
    "[n]",
];

/// Results over all numbers; `E` is a function of one.
const WHOLE: [&str; 14] = [
    "[{T}.sum (map E xs)]",
    "[reduce_comm (+) 0 (map E xs)]",
    "scan (+) 0 (map E xs)",
    "exscan (+) 0 (map E xs)",
    "[(reduce affine (1, 0) (map (\\x -> small (E x)) xs)).1]",
    "map (.1) (scan affine (1, 0) (map (\\x -> small (E x)) xs))",
    "(let (a, b) = reduce both (0, 0) (map (\\x -> (E x, x)) xs) in [a, b])",
    "reduce_by_index (replicate 5 0) (+) 0 (map (\\i -> (i * i) % 6) (indices xs)) (map E xs)",
    "hist (+) 0 300 (map (\\i -> (i * k) % 300) (indices xs)) (map E xs)",
    "[{T}.sum (map E (filter (> 20) xs))]",
    "segmented_reduce (+) 0 (map (\\i -> i % 11 == 0) (indices xs)) (map E xs)",
    "segmented_scan (+) 0 (map (\\i -> i * i % 50 == 0) (indices xs)) (map E xs)",
    "(let w = i64.min 40 n let m = map (\\i -> map (\\j -> number k (i * w + j)) (iota w)) (iota w) in \
     flatten (map (\\r -> map (\\c -> {T}.sum (map2 (\\x y -> x * E y) r c)) (transpose m)) m))",
    "[halves (map E (take (i64.min n 2000) xs))]",
];

/// Results of a row, under a map.
const ROWS: [&str; 12] = [
    "[{T}.sum (map E r)]",
    "(let s = {T}.sum r in [{T}.sum (map (\\x -> E x / (s + 1)) r)])",
    "(let s = {T}.sum r let p = {T}.maximum r in [{T}.sum (map (\\x -> E x * s) r), s, p])",
    "map E (scan (+) 0 r)",
    "exscan (+) 0 (map E r)",
    "(let s = scan (+) 0 r in [{T}.sum (map2 (\\x y -> E x * y) s r)])",
    "[(reduce affine (1, 0) (map (\\x -> small (E x)) r)).1]",
    "hist (+) 0 3 (map (\\i -> i % 4) (indices r)) (map E r)",
    "[loop a = 0 for x in r do a + E x]",
    "[{T}.sum (map E (filter (> 9) r))]",
    "[halves (map E r)]",
    "map E (segmented_scan (+) 0 (map (\\i -> i % 4 == 0) (indices r)) r)",
];

/// Functions of a number that do not make a small error a large one.
const ELEMENTS: [&str; 6] = [
    "(\\v -> v)",
    "(\\v -> v * v)",
    "(\\v -> {T}.sqrt v)",
    "(\\v -> 1 / (v + 1))",
    "(\\v -> {T}.log (v + 2))",
    "(\\v -> if v > 0 then v / 3 else 1)",
];

/// Sizes of inputs: nothing, a few, several chunks of the smallest size, several of the usual size.
const SIZES: [i64; 6] = [0, 1, 5, 300, 3000, 12_000];

/// The program of a seed.
pub(super) fn program(seed: u64) -> Generated {
    let mut rng = Rng::new(seed);
    let mut results: Vec<String> = (0..1 + rng.below(2)).map(|_| with(&mut rng, &WHOLE)).collect();
    for _ in 0..1 + rng.below(2) {
        let row = with(&mut rng, &ROWS);
        results.push(format!("flatten (map (\\r -> {row}) xss)"));
    }
    let lengths = rng.pick(&LENGTHS);
    let types = vec!["[]t"; results.len()].join(", ");
    let main = format!(
        "entry main (n: i64) (k: i64) : ({types}) =\n  let xs = map (number k) (iota n)\n  let lens = {lengths}\n  \
         let xss = segments lens (map (number (k + 1)) (iota (i64.sum lens)))\n  in ({})\n",
        results.join(",\n    ")
    );
    let float = *rng.pick(&["f32", "f64"]);
    let call = |n: i64, rng: &mut Rng| Call {
        entry: "main".into(),
        args: vec![format!("{n}i64"), format!("{}i64", rng.below(1000))],
    };
    let calls = SIZES.iter().map(|n| call(*n, &mut rng)).collect();
    let source = (LIBRARY.to_string() + &main).replace("{T}", float);
    let forms = BTreeMap::from([("order of floats", 1)]);
    Generated { case: Case { source, calls, rounded: true, cuda: false, ranks: false }, forms }
}

/// One of these, with a function of a number in it.
fn with(rng: &mut Rng, forms: &[&str]) -> String {
    let (form, element) = (*rng.pick(forms), *rng.pick(&ELEMENTS));
    form.replace('E', element)
}
