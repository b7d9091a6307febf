//! Measured thresholds choose between the versions of a nest at run time, and never change a result.

use par::pipeline::{Measure, Target, Thresholds, Versions};
use par::tuning::Tuning;
use par::{Backend, CallOptions, Options, Program, Value, compile};

const ROWS: &str = "
entry main (xss: [][]i64) : []i64 =
  map (\\xs -> let m = i64.sum xs in i64.sum (map (\\x -> (x - m) * (x - m)) xs)) xss
entry uniform (xs: []i64) (n: i64) : []i64 =
  map (\\x -> let m = i64.sum (map (* x) (iota n)) in i64.maximum (map (\\i -> (i * x) % (m + 7)) (iota n))) xs";

const TREE: &str = "
def tree (n: i64) : i64 = if n < 2 then n else i64.sum (map tree (map (\\i -> n - 1 - i) (iota 2)))
entry main (ns: []i64) : []i64 = map tree ns";

fn program(text: &str, options: Options) -> Program {
    compile(text, "tuned.par", &options).unwrap_or_else(|f| panic!("{}", f.render(false)))
}

/// The program with these thresholds at all its choices.
fn tuned(text: &str, thresholds: &[(Measure, i64)]) -> Program {
    let plain = program(text, Options::default());
    let mut all = Thresholds::default();
    for choice in plain.choices(Target::Processor).expect("it is flattened") {
        let found = thresholds.iter().find(|t| t.0 == choice.measure);
        all.set(*choice, found.map_or(choice.measure.default_threshold(Target::Processor), |t| t.1));
    }
    let written = Tuning::new(&all, plain.sources()).to_string();
    let tuning = Some(Tuning::parse(&written).expect("it was written"));
    plain.variant(&Options { tuning, verify: true, ..Options::default() })
}

fn arguments(program: &Program, entry: &str, text: &str) -> Vec<Value> {
    let types: Vec<_> = program.entry(entry).expect("an entry").params.iter().map(|p| p.1.clone()).collect();
    par::read_values(text, &types).expect("values")
}

/// The result, and the launches.
fn run(program: &Program, entry: &str, text: &str, backend: Backend) -> (Value, u64) {
    let options = CallOptions { backend, threads: 2, ..CallOptions::default() };
    let done = program.profile(entry, arguments(program, entry, text), &options, true);
    let (value, profile) = done.unwrap_or_else(|f| panic!("{f:?}"));
    (value, profile.total.launches)
}

const INPUTS: [(&str, &str); 5] = [
    ("main", "[[1, 2, 3], [], [4], [5, 6]]"),
    ("main", "[[1, 2, 3, 4, 5, 6, 7, 8, 9], [], [4]]"),
    ("main", "empty([0][]i64)"),
    ("uniform", "[1, 2, 3, 4] 3i64"),
    ("uniform", "[1, 2] 0i64"),
];

#[test]
fn all_choices_give_the_same() {
    let flat = program(ROWS, Options { versions: Versions::Flat, ..Options::default() });
    for (entry, text) in INPUTS {
        let expected = run(&flat, entry, text, Backend::Cpu).0;
        for (rows, longest) in [(0, i64::MAX), (0, 0), (3, 3), (4, 100), (5, 100)] {
            let tuned = tuned(ROWS, &[(Measure::Rows, rows), (Measure::Longest, longest)]);
            for backend in [Backend::FlatInterp, Backend::Cpu] {
                let (value, _) = run(&tuned, entry, text, backend);
                assert_eq!(value, expected, "{entry} {text}: from {rows} rows of {longest} on {backend}");
            }
        }
    }
}

#[test]
fn sizes_choose() {
    let tuned = tuned(ROWS, &[(Measure::Rows, 3), (Measure::Longest, 4)]);
    let launches = |i: usize| run(&tuned, INPUTS[i].0, INPUTS[i].1, Backend::Cpu).1;
    // Enough short rows: the longest is looked for, then one kernel does it all.
    let by_rows = launches(0);
    // One row is too long; too few rows.
    let (too_long, too_few) = (launches(1), launches(2));
    assert!(by_rows < too_long, "{by_rows} launches, {too_long} with a long row");
    assert!(too_few < too_long, "{too_few} launches: nobody looks for the longest of few rows");
}

/// Without measurements, rows are worked through by themselves if they are many and none has more than a few elements.
#[test]
fn many_short_rows_are_loops() {
    let (auto, flat) = (
        program(ROWS, Options::default()),
        program(ROWS, Options { versions: Versions::Flat, ..Options::default() }),
    );
    let rows = |n: usize, length: usize, longest: usize| {
        let row =
            |i: usize| vec![i.to_string(); if i == n / 2 { longest } else { i % (length + 1) }].join(", ");
        let text = (0..n).map(|i| format!("[{}]", row(i))).collect::<Vec<_>>().join(", ");
        let of = |p: &Program| run(p, "main", &format!("[{text}]"), Backend::Cpu);
        let (a, b) = (of(&auto), of(&flat));
        assert_eq!(a.0, b.0, "{n} rows of {length}, one of {longest}");
        a.1 as i64 - b.1 as i64
    };
    // The longest is looked for, then there is one kernel instead of two.
    assert_eq!(rows(10_000, 4, 4), 0);
    assert_eq!(rows(10_000, 4, 100), 1);
    // Nobody looks for the longest of few rows, or of rows that are not short on average.
    assert_eq!(rows(1_000, 4, 4), 0);
    assert_eq!(rows(10_000, 20, 20), 0);
}

#[test]
fn batches_of_calls_have_a_threshold() {
    let calls = |n: i64| {
        let tuned = tuned(TREE, &[(Measure::Calls, n)]);
        run(&tuned, "main", "[9, 3, 10]", Backend::Cpu)
    };
    let (at_once, later, never) = (calls(1), calls(40), calls(i64::MAX));
    assert!(at_once.0 == later.0 && later.0 == never.0);
    assert!(at_once.1 < later.1 && later.1 < never.1, "{} {} {} launches", at_once.1, later.1, never.1);
}

#[test]
fn a_file_for_another_program_is_rejected() {
    let tuning = Some(Tuning::parse("tuned.par:99:1 rows = 5\n").expect("a tuning file"));
    let program = program(ROWS, Options { tuning, ..Options::default() });
    let failure = program.prepare(Backend::Cpu).expect_err("there is no such place");
    assert!(failure.render(false).contains("run `par tune` again"), "{}", failure.render(false));
}
