//! Failed checks of running programs say in which rows, iterations and calls they were, whatever ran the program.

use par::{Backend, CallOptions, Options, Program, RunFailure, compile};
use par_runtime::io::text::read_values;

const TEXT: &str = "\
def pick (xs: []i64) (i: i64) : i64 = xs[i]
def power (xs: []i64) (n: i64) : i64 = if n == 0 then xs[5] else n * power xs (n - 1)

entry rows (xss: [][]i64) (is: []i64) : []i64 =
  map2 (\\xs i ->
    pick xs i) xss is
entry zips (xss: [][]i64) (yss: [][]i64) : []i64 =
  map2 (\\xs ys -> i64.sum (map2 (*) xs ys)) xss yss
entry deep (xsss: [][][]i64) : [][]i64 =
  map (map (\\xs -> xs[1])) xsss
entry iterations (n: i64) (xs: []i64) : i64 =
  loop acc = 0 for i < n do acc + xs[i]
entry calls (ns: []i64) : []i64 =
  map (power ns) ns
entry powers (xs: []i64) : []i64 = map (\\x -> 2 ** x) xs
entry long (n: i64) : i64 = i64.sum (map (\\i -> assert (i < n - 1) i) (iota n))
def total (xs: []i64) : i64 =
  loop s = 0 for i < 2 do s + pick xs i
entry inlined (xss: [][]i64) : []i64 =
  map (total >-> (+ 1)) xss
def dot [n] (xs: [n]i64) (ys: [n]i64) : i64 = i64.sum (map2 (*) xs ys)
entry sized (xss: [][]i64) (ys: []i64) : []i64 = map (dot ys) xss
";

fn program(text: &str) -> Program {
    compile(text, "context.par", &Options::default()).unwrap()
}

/// The notes of the error that a call ends with.
fn notes(program: &Program, entry: &str, args: &[&str], options: &CallOptions) -> Vec<String> {
    let types: Vec<_> = program.entry(entry).unwrap().params.iter().map(|p| p.1.clone()).collect();
    let args = read_values(&args.join(" "), &types).unwrap();
    match program.call(entry, args, options) {
        Err(RunFailure::Error(error)) => program.diagnostic(&error).notes,
        other => panic!("{other:?}"),
    }
}

fn locating(backend: Backend) -> CallOptions {
    CallOptions { backend, locate: true, ..CallOptions::default() }
}

#[test]
fn failures_name_rows_iterations_and_calls() {
    let program = program(TEXT);
    let cases: [(&str, &[&str], &str); 8] = [
        ("rows", &["[[1,2],[3],[4]]", "[0,1,9]"], "called at line 6, in row 1 of the map at line 5"),
        ("zips", &["[[1],[1],[1,2],[3,4]]", "[[1],[1],[1,2],[3]]"], "in row 3 of the map at line 8"),
        (
            "deep",
            &["[[[1,2]],[[2,3],[2]]]"],
            "in row 1 of the map at line 10, in row 1 of the map at line 10",
        ),
        ("iterations", &["5", "[1,2,3]"], "in iteration 3 of the loop at line 12"),
        ("calls", &["[1,2]"], "called at line 2, called at line 14, in row 0 of the map at line 14"),
        ("powers", &["[1,0,-2]"], "in row 2 of the map at line 15"),
        (
            "inlined",
            &["[[1],[2,3]]"],
            "called at line 18, in iteration 1 of the loop at line 18, called at line 20, in row 0 of the map at line 20",
        ),
        ("sized", &["[[1],[2,3]]", "[1]"], "in row 1 of the map at line 22"),
    ];
    for (entry, args, expected) in cases {
        for backend in [Backend::Interp, Backend::FlatInterp, Backend::Cpu] {
            assert_eq!(notes(&program, entry, args, &locating(backend)), [expected], "{entry} {backend}");
        }
    }
}

#[test]
fn nobody_looks_unless_asked_and_not_for_long() {
    let program = program(TEXT);
    let none: [String; 0] = [];
    assert_eq!(notes(&program, "powers", &["[-1]"], &CallOptions::default()), none);
    assert_eq!(notes(&program, "long", &["1000"], &locating(Backend::Cpu)).len(), 1);
    assert_eq!(notes(&program, "long", &["3_000_000"], &locating(Backend::Cpu)), none);
}

#[test]
fn what_a_program_shows_is_shown_once() {
    let program = program("entry shows (xs: []i64) : []i64 = map (\\x -> trace (xs[x])) xs");
    let none: [String; 0] = [];
    assert_eq!(notes(&program, "shows", &["[0, 7]"], &locating(Backend::Cpu)), none);
}
