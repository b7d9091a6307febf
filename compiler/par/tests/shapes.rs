//! Calls with short rows run a program in which their lengths are constants, calls with rows of one length a program for matrices: with the same results.

use par::{Backend, CallOptions, Options, Program, RunFailure, Value, compile, print_value, read_values};
use par_runtime::{Array, Column, Prim, ValueType};

const NEAREST: &str = "
entry main [n] [k] [d] (ps: [n][d]f64) (cs: [k][d]f64) : [n]f64 =
  map (\\p -> f64.minimum (map (\\c -> f64.sum (map2 (\\x y -> (x - y) * (x - y)) p c)) cs)) ps
entry paired [n] [d] (ps: [n][d]f64) (qs: [n][d]f64) : [n]f64 = map2 (\\p q -> f64.sum (map2 (*) p q)) ps qs
entry ragged (rows: [][]f64) : []f64 = map f64.sum rows";

fn program(constant_sizes: Option<usize>) -> Program {
    let options = Options { verify: true, constant_sizes, ..Options::default() };
    compile(NEAREST, "sizes.par", &options).unwrap_or_else(|f| panic!("{}", f.render(false)))
}

fn points(n: usize, d: usize) -> Value {
    let elements = (0..n * d).map(|i| (i * i % 17) as f64).collect::<Vec<f64>>();
    let ty = ValueType::array(ValueType::array(ValueType::Prim(Prim::F64)));
    let data = Column::Data(Array::from_slice(&elements));
    Value { ty, columns: vec![Column::Size(n as i64), Column::Size(d as i64), data] }
}

fn constants(program: &Program, entry: &str, args: &[Value]) -> Option<Vec<String>> {
    let special = program.for_arguments(entry, args, &CallOptions::default()).expect("it compiles");
    special.map(|p| p.known_shapes().to_vec())
}

#[test]
fn lengths_of_short_rows_and_their_number() {
    let p = program(Some(0));
    let known = |n, k, d| constants(&p, "main", &[points(n, d), points(k, d)]).unwrap_or_default();
    assert_eq!(known(100, 16, 3), ["d = 3", "k = 16", "d = 3"].map(String::from).to_vec());
    assert_eq!(known(100, 17, 4), ["d = 4", "d = 4"].map(String::from).to_vec());
    assert!(known(100, 3, 5).is_empty());
    assert!(known(100, 3, 0).is_empty());
}

#[test]
fn what_has_few_elements_or_does_not_ask_runs_the_program_for_all_sizes() {
    let args = [points(100, 3), points(4, 3)];
    assert!(constants(&program(Some(312)), "main", &args).is_some());
    assert_eq!(constants(&program(Some(313)), "main", &args), None);
    assert_eq!(constants(&program(None), "main", &args), None);
    let ty = ValueType::array(ValueType::ragged(ValueType::Prim(Prim::F64)));
    let offsets = Column::Offsets(Array::from_slice(&[0i64, 2, 3]));
    let data = Column::Data(Array::from_slice(&[1.0, 2.0, 3.0]));
    let ragged = Value { ty, columns: vec![Column::Size(2), offsets, data] };
    assert_eq!(constants(&program(Some(0)), "ragged", &[ragged]), None);
}

#[test]
fn results_are_those_of_the_program_for_all_sizes() {
    let (sized, general) = (program(Some(0)), program(None));
    for (n, k, d) in [(100, 16, 3), (1, 1, 1), (50, 4, 4), (0, 2, 2), (7, 3, 2)] {
        let args = vec![points(n, d), points(k, d)];
        let run = |p: &Program, backend| p.run("main", args.clone(), backend, 2).expect("a result");
        let wanted = run(&general, Backend::Interp);
        assert_eq!(run(&sized, Backend::Cpu), wanted, "{n} {k} {d}");
        assert_eq!(run(&general, Backend::Cpu), wanted, "{n} {k} {d}");
    }
}

#[test]
fn sizes_that_differ_are_the_same_error() {
    let error = |p: &Program| match p.run("paired", vec![points(6, 3), points(6, 2)], Backend::Cpu, 1) {
        Err(RunFailure::Error(e)) => e.message,
        other => panic!("{other:?}"),
    };
    let wanted = error(&program(None));
    assert!(wanted.contains("size"), "{wanted}");
    assert_eq!(error(&program(Some(0))), wanted);
}

/// Also where there were ever other sizes before.
#[test]
fn a_call_does_not_depend_on_those_before() {
    let p = program(Some(0));
    let sized = |k, d| constants(&p, "paired", &[points(k, d), points(k, d)]);
    let first = sized(5, 2);
    assert!(first.is_some());
    for d in 1..=4 {
        (1..=17).for_each(|k| assert!(sized(k, d).is_some(), "{k} {d}"));
    }
    assert_eq!(sized(5, 2), first);
}

/// Arguments as a program's users write them, with the results of the program for all shapes.
const MATRICES: &str = "
entry product (a: [][]f64) (b: [][]f64) : [][]f64 = map (\\r -> map (\\c -> f64.sum (map2 (*) r c)) (transpose b)) a
entry kept (a: [][]i64) : [][]i64 = map (filter (> 3)) a
entry grown (a: [][]i64) (k: i64) : [][]i64 = loop a for _ < k do map (\\r -> r ++ filter (> 5) r) a
entry chosen (a: [][]i64) (b: [][]i64) (first: bool) : [][]i64 = if first then a else b
entry pairs (a: []([]i64, []i64)) : [][]i64 = map (\\(x, y) -> map2 (+) x y) a
entry planes (a: [][][]i64) : [][]i64 = map (\\m -> map i64.sum m) a
entry bumped (a: *[][]i64) : *[][]i64 = a with [0] = map (+ 1) a[0]
entry replaced (a: *[][]i64) (b: [][]i64) : (*[][]i64, i64) = (a with [:1] = b, trace (length b))
entry cleared (a: *[][]i64) : (*[][]i64, i64) = let k = length a[0] in (a with [:1] = [replicate k 0], trace k)
entry same (a: [][]i64) : [][]i64 = a
entry some (a: [](#row []i64 | #none)) : []i64 = map (\\x -> match x case #row r -> i64.sum r case #none -> 0) a
entry total (a: [](f64, [][]f64)) : f64 = f64.sum (map (\\(x, m) -> x * f64.sum (flatten m)) a)";

/// Calls the program for all shapes, and the one for these arguments: gives what the latter knows, and the result of both.
fn both(entry: &str, args: &str) -> (Vec<String>, String) {
    let [all, special] = [None, Some(0)].map(|constant_sizes| {
        let options = Options { verify: true, constant_sizes, ..Options::default() };
        compile(MATRICES, "matrices.par", &options).unwrap_or_else(|f| panic!("{}", f.render(false)))
    });
    let types: Vec<ValueType> =
        all.entry(entry).expect("it is there").params.iter().map(|p| p.1.clone()).collect();
    let values = read_values(args, &types).expect("values");
    let wanted = all.run(entry, values.clone(), Backend::Interp, 1).expect("a result");
    let found = special.run(entry, values.clone(), Backend::Cpu, 2).expect("a result");
    assert_eq!(found, wanted, "{entry} {args}");
    (constants(&special, entry, &values).unwrap_or_default(), print_value(&found))
}

#[test]
fn rows_of_one_length_are_matrices_and_results_as_declared() {
    let a = "[[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 9]]";
    let of_one_length = ["rows of one length in `a`"];
    for (entry, more, wanted) in [
        ("kept", "", "[[4, 5, 6], [6, 5, 4, 9]]"),
        ("grown", "1", "[[1, 2, 3, 4, 5, 6, 6], [6, 5, 4, 3, 2, 9, 6, 9]]"),
        ("grown", "0", a),
        ("chosen", "[[1], []] true", a),
        ("chosen", "[[1], []] false", "[[1], []]"),
        ("bumped", "", "[[2, 3, 4, 5, 6, 7], [6, 5, 4, 3, 2, 9]]"),
        ("same", "", a),
    ] {
        let (words, result) = both(entry, &format!("{a} {more}"));
        assert_eq!(words, of_one_length, "{entry}");
        assert_eq!(result.replace("i64", ""), wanted, "{entry}");
    }
}

/// Rows of a ragged array may become longer, which those of a matrix cannot. Nobody could call again: something is shown.
#[test]
fn arrays_with_rows_that_may_become_longer_are_no_matrices() {
    let (words, result) = both("replaced", "[[1, 2, 3, 4, 5]] [[7]]");
    assert_eq!((words, result.as_str()), (Vec::new(), "([[7i64]], 1i64)"));
    let (words, result) = both("cleared", "[[1, 2, 3, 4, 5], [1, 2, 3, 4, 5]]");
    assert_eq!(words, ["rows of one length in `a`"]);
    assert_eq!(result, "([[0i64, 0i64, 0i64, 0i64, 0i64], [1i64, 2i64, 3i64, 4i64, 5i64]], 5i64)");
}

#[test]
fn a_gpu_knows_matrices_not_lengths() {
    let p = program(Some(0));
    let rows = Column::Offsets(Array::from_slice(&[0i64, 2, 4]));
    let data = Column::Data(Array::from_slice(&[1.0, 2.0, 3.0, 4.0]));
    let ty = ValueType::array(ValueType::ragged(ValueType::Prim(Prim::F64)));
    let args = [Value { ty, columns: vec![Column::Size(2), rows, data] }];
    let words = |backend| {
        let options = CallOptions { backend, ..CallOptions::default() };
        let special = p.for_arguments("ragged", &args, &options).expect("it compiles");
        special.map(|p| p.known_shapes().to_vec())
    };
    let words_of = |text: &str| Some(text.split(", ").map(String::from).collect::<Vec<_>>());
    assert_eq!(words(Backend::Cuda), words_of("rows of one length in `rows`"));
    assert_eq!(words(Backend::Cpu), words_of("rows of length 2 in `rows`, n = 2"));
    assert_eq!(words(Backend::FlatInterp), None);
}

#[test]
fn each_ragged_dimension_is_asked() {
    let words = |entry, args| both(entry, args).0.join(", ");
    assert_eq!(
        words("product", "[[1, 2]] [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]"),
        "rows of length 2 in `a`, rows of one length in `b`, n = 1"
    );
    assert_eq!(words("chosen", "[[1, 2, 3, 4, 5]] [[1], []] true"), "rows of one length in `a`");
    assert_eq!(words("pairs", "[([1, 2, 3, 4, 5], [5, 4, 3, 2, 1])]"), "rows of one length in `a`");
    assert_eq!(
        words("planes", "[[[1, 2, 3, 4, 5], [1, 2, 3, 4, 5]], [[5, 4, 3, 2, 1]]]"),
        "rows of one length in `a`"
    );
    assert_eq!(
        words("planes", "[[[1], [], [2], [3], [4]], [[5], [], [], [], [6]]]"),
        "rows of one length in `a`"
    );
    assert_eq!(
        words("total", "[(2, [[1, 2], [3, 4]]), (3, [[5, 6], [7, 8]])]"),
        "rows of length 2 in `a`, n = 2"
    );
}

#[test]
fn ragged_arrays_rows_of_no_length_and_payloads_of_sums_are_as_they_are() {
    for (entry, args) in [
        ("kept", "[[1], [2, 3]]"),
        ("kept", "[[], []]"),
        ("kept", "empty([0][]i64)"),
        ("some", "[#row [1, 2], #row [3, 4]]"),
    ] {
        assert_eq!(both(entry, args).0, Vec::<String>::new(), "{entry} {args}");
    }
}
