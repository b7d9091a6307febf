//! Scatters that write several values to one index: any of them wins, the last one, or it is an error.

use par::{Backend, Options, Program, RunFailure, Scalar, Value, compile};

const BACKENDS: [Backend; 3] = [Backend::Interp, Backend::FlatInterp, Backend::Cpu];

/// `n` values, of which each of `k` indices gets many; a checksum that tells which have won.
const MANY: &str = "
entry main (n: i64) : i64 =
  let written = scatter (replicate 7 0) (map (% 7) (iota n)) (iota n)
  in i64.sum (map2 (*) written [1, 10, 100, 1000, 10000, 100000, 1000000])";

/// As `MANY`, the scatter below a map, of pairs, into rows.
const NESTED: &str = "
entry main (n: i64) : i64 =
  let row k = scatter (replicate 3 (0, 0)) (map (% 3) (iota (n / k))) (map (\\i -> (i, 2 * i)) (iota (n / k)))
  in i64.sum (map (\\k -> let r = row (k + 1) in r[0].0 + 10 * r[1].1 + 100 * r[2].0) (iota 50))";

fn program(text: &str, options: Options) -> Program {
    compile(text, "scatter.par", &options).unwrap_or_else(|f| panic!("{}", f.render(false)))
}

fn run(program: &Program, n: i64, backend: Backend) -> Result<Value, String> {
    program.run("main", vec![Value::scalar(Scalar::I64(n))], backend, 2).map_err(|f| match f {
        RunFailure::Error(e) => e.message,
        other => panic!("{other:?}"),
    })
}

#[track_caller]
fn gives(text: &str, n: i64, want: i64) {
    let reproducible = program(text, Options { reproducible: true, ..Options::default() });
    for backend in BACKENDS {
        let got = run(&reproducible, n, backend);
        assert_eq!(got, Ok(Value::scalar(Scalar::I64(want))), "{backend}");
    }
}

/// The last of `0..n` that is `r` modulo `k`.
fn last(n: i64, k: i64, r: i64) -> i64 {
    (0..n).rev().find(|i| i % k == r).unwrap_or(0)
}

#[test]
fn the_last_value_wins_where_that_is_wanted() {
    let n = 200_000;
    gives(MANY, n, (0..7).map(|r| last(n, 7, r) * 10i64.pow(r as u32)).sum());
    let row = |m| last(m, 3, 0) + 20 * last(m, 3, 1) + 100 * last(m, 3, 2);
    gives(NESTED, 3000, (1..=50).map(|k| row(3000 / k)).sum());
}

#[test]
fn a_conflict_is_found_where_that_is_wanted() {
    for text in [MANY, NESTED] {
        let checked = program(text, Options { check_scatter: true, ..Options::default() });
        for backend in BACKENDS {
            let error = run(&checked, 1000, backend).expect_err("a conflict");
            let (index, at) = if text == MANY { (0, "0 and 7") } else { (0, "0 and 3") };
            let want = format!("scatter writes different values to index {index}: those at positions {at}");
            assert_eq!(error, want, "{backend}");
        }
    }
}

#[test]
fn equal_values_and_indices_outside_are_no_conflict() {
    let text = "
entry main (n: i64) : i64 =
  i64.sum (scatter (replicate 4 1) (map (% 9) (iota n)) (map (\\i -> if i % 9 < 4 then 5 else i) (iota n)))";
    let checked = program(text, Options { check_scatter: true, ..Options::default() });
    for backend in BACKENDS {
        assert_eq!(run(&checked, 0, backend), Ok(Value::scalar(Scalar::I64(4))), "{backend}");
        assert_eq!(run(&checked, 1000, backend), Ok(Value::scalar(Scalar::I64(20))), "{backend}");
    }
}
