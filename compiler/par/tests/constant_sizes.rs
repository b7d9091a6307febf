//! Calls with short rows run a program in which their lengths are constants: for the sizes that were there, with the same results and errors.

use par::{Backend, CallOptions, Options, Program, RunFailure, Value, compile};
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
    special.map(|p| p.constants().to_vec())
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
