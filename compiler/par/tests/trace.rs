//! Traces: the same lines on every back end, and no effect on results.

use par::{Backend, CallOptions, Options, Value};
use par_runtime::trace::captured;

/// Shown values and results of a program, on every back end and with one and two threads.
fn runs(program: &str, args: &str) -> (String, String) {
    let compiled =
        par::compile(program, "a.par", &Options::default()).unwrap_or_else(|e| panic!("{program}\n{e:?}"));
    let entry = compiled.entry("main").expect("the program has an entry point `main`");
    let types: Vec<_> = entry.params.iter().map(|p| p.1.clone()).collect();
    let args: Vec<Value> = par::io::text::read_values(args, &types).expect("arguments");
    let mut all = [(Backend::Interp, 1), (Backend::FlatInterp, 1), (Backend::Cpu, 1), (Backend::Cpu, 2)]
        .into_iter()
        .map(|(backend, threads)| {
            let options = CallOptions { backend, threads, ..CallOptions::default() };
            let (result, traces) = captured(|| compiled.call("main", args.clone(), &options));
            let result = result.unwrap_or_else(|e| panic!("{program}\n{backend}: {e:?}"));
            (traces, par::io::text::print_value(&result))
        });
    let first = all.next().expect("there is a back end");
    for other in all {
        assert_eq!(first, other, "{program}");
    }
    first
}

#[track_caller]
fn shows(program: &str, args: &str, traces: &[&str], result: &str) {
    let (shown, value) = runs(program, args);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines, traces, "{program}");
    assert_eq!(value, result, "{program}");
}

#[test]
fn values_outside_maps() {
    shows(
        "entry main (n: i32) = #[trace(tag)] [n, n + 1]",
        "1",
        &["a.par:1:23 tag: [1i32, 2i32]"],
        "[1i32, 2i32]",
    );
    shows(
        "entry main (x: i32) =\n  let p = trace (x, {a = true, b = \"hi\"})\n  in trace p.0 + x",
        "4",
        &["a.par:2:11: (4i32, {a = true, b = [104u8, 105u8]})", "a.par:3:6: 4i32"],
        "8i32",
    );
}

#[test]
fn unused_values_and_empty_arrays() {
    shows(
        "entry main (xs: []i32) = let _ = trace (map (+ 1) xs) in 7",
        "empty([0]i32)",
        &["a.par:1:34: empty([0]i32)"],
        "7i32",
    );
    shows(
        "entry main (m: [][]i32) = let t = #[trace] transpose (trace m) in length t",
        "[[1, 2], [3, 4], [5, 6]]",
        &[
            "a.par:1:55: [[1i32, 2i32], [3i32, 4i32], [5i32, 6i32]]",
            "a.par:1:35: [[1i32, 3i32, 5i32], [2i32, 4i32, 6i32]]",
        ],
        "2i64",
    );
}

#[test]
fn loops_show_every_iteration() {
    shows(
        "entry main (n: i32) = loop s = 0 for i < n do #[trace] (s + i)",
        "3",
        &["a.par:1:47: 0i32", "a.par:1:47: 1i32", "a.par:1:47: 3i32"],
        "3i32",
    );
}

#[test]
fn rows_of_a_map_together() {
    shows(
        "entry main (xs: []i32) = map (\\x -> 2 * trace x) xs",
        "[1, 2, 3]",
        &["a.par:1:41: [1i32, 2i32, 3i32]"],
        "[2i32, 4i32, 6i32]",
    );
    shows("entry main (xs: []i32) = map (\\x -> 2 * trace x) xs", "[]", &[], "empty([0]i32)");
    shows(
        "entry main (xs: []i64) = map (\\x -> i64.sum (trace (iota x))) xs",
        "[2, 0, 3]",
        &["a.par:1:46: [[0i64, 1i64], [], [0i64, 1i64, 2i64]]"],
        "[1i64, 0i64, 3i64]",
    );
    shows(
        "entry main (xss: [][]i64) = map (\\xs -> i64.sum (map (\\x -> (trace (x, true)).0) xs)) xss",
        "[[2], [], [0, 3]]",
        &["a.par:1:62: [(2i64, true), (0i64, true), (3i64, true)]"],
        "[2i64, 0i64, 3i64]",
    );
}

#[test]
fn matrices_of_different_shapes() {
    shows(
        "entry main (ns: []i64) = map (\\n -> length (trace (replicate n (iota (n + 1))))) ns",
        "[0, 1, 2]",
        &["a.par:1:45: [[], [[0i64, 1i64]], [[0i64, 1i64, 2i64], [0i64, 1i64, 2i64]]]"],
        "[0i64, 1i64, 2i64]",
    );
    shows(
        "entry main (xss: [][]i64) = map (\\xs -> length (trace (map iota xs))) xss",
        "[[1, 2], [], [0]]",
        &["a.par:1:49: [[[0i64], [0i64, 1i64]], [], [[]]]"],
        "[2i64, 0i64, 1i64]",
    );
}

#[test]
fn branches_and_loops_under_maps() {
    shows(
        "entry main (xs: []i32) = map (\\x -> if x > 1 then trace (x * 10) else #[trace(small)] x) xs",
        "[1, 2, 0, 3]",
        &["a.par:1:51: [20i32, 30i32]", "a.par:1:71 small: [1i32, 0i32]"],
        "[1i32, 20i32, 0i32, 30i32]",
    );
    shows(
        "entry main (xs: []i32) = map (\\x -> loop s = 0 for i < x do trace (s + i)) xs",
        "[1, 0, 3]",
        &["a.par:1:61: [0i32, 0i32]", "a.par:1:61: [1i32]", "a.par:1:61: [3i32]"],
        "[0i32, 0i32, 3i32]",
    );
    shows(
        "entry main (xs: []i32) = map (\\x -> loop x while trace (x > 1) do x / 2) xs",
        "[4, 1]",
        &["a.par:1:50: [true, false]", "a.par:1:50: [true]", "a.par:1:50: [false]"],
        "[1i32, 1i32]",
    );
}

#[test]
fn operators_and_recursion() {
    shows(
        "entry main (xs: []i32) = reduce (\\a b -> trace (a + b)) 0 xs",
        "[1, 2, 3, 4]",
        &["a.par:1:42: [3i32, 7i32]", "a.par:1:42: [10i32]"],
        "10i32",
    );
    shows(
        "entry main (xs: []i32) = hist (\\a b -> trace (a + b)) 0 2 [0, 1, 0] xs",
        "[1, 2, 3]",
        &["a.par:1:40: [4i32]", "a.par:1:40: [4i32, 2i32]"],
        "[4i32, 2i32]",
    );
    shows(
        "entry main (xs: []i32) = filter (\\x -> trace x > 1) xs",
        "[1, 2, 3]",
        &["a.par:1:40: [1i32, 2i32, 3i32]"],
        "[2i32, 3i32]",
    );
    shows(
        "def f (n: i64) : i64 = if trace n <= 0 then 0 else n + f (n - 1)\nentry main (xs: []i64) = (f 1, map f xs)",
        "[0, 2]",
        &[
            "a.par:1:27: 1i64",
            "a.par:1:27: 0i64",
            "a.par:1:27: [0i64, 2i64]",
            "a.par:1:27: [1i64]",
            "a.par:1:27: [0i64]",
        ],
        "(1i64, [0i64, 3i64])",
    );
}

#[test]
fn sums_keep_their_names() {
    shows(
        "type t = #some i32 | #none\ndef f (x: i32) : t = if x > 0 then #some x else #none\n\
         entry main (xs: []i32) = (length (trace (map f xs)), map (\\x -> match trace (f x) case #some y -> y case #none -> 0) xs)",
        "[1, 0]",
        &["a.par:3:35: [#some 1i32, #none]", "a.par:3:71: [#some 1i32, #none]"],
        "(2i64, [1i32, 0i32])",
    );
}

#[test]
fn a_function_cannot_be_shown() {
    let failure =
        par::compile("entry main (x: i32) = (#[trace] (\\y -> y + x)) 1", "a.par", &Options::default());
    assert!(format!("{:?}", failure.err()).contains("E0511"));
}
