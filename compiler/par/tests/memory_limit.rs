//! A limit of memory is an ordinary error on every back end, and does not outlive the call.

use par::{Backend, Options, Program, RunFailure, Scalar, Value, compile};

const QUEENS: &str = "
def solve (n: i64) (placed: []i64) : i64 =
  let k = length placed
  let safe c = all (\\j -> placed[j] != c && i64.abs (placed[j] - c) != k - j) (iota k)
  in if k == n then 1 else sum (map (\\c -> if safe c then solve n (placed ++ [c]) else 0) (iota n))
entry main (n: i64) : i64 = solve n []";

const FIB: &str = "
def fib (n: i64) : i64 = if n < 2 then n else sum (map fib [n - 1, n - 2])
entry main (n: i64) : i64 = fib n";

const ROWS: &str = "
entry main (n: i64) : i64 =
  sum (map (\\i -> let xs = scan (+) i (iota n) in xs[n - 1] + length (filter (> i) xs)) (iota n))";

fn limited(text: &str, memory_limit: usize) -> Program {
    let options = Options { memory_limit: Some(memory_limit), ..Options::default() };
    compile(text, "limit.par", &options).unwrap_or_else(|f| panic!("{}", f.render(false)))
}

fn run(program: &Program, n: i64, backend: Backend) -> Result<Value, String> {
    program.run("main", vec![Value::scalar(Scalar::I64(n))], backend, 2).map_err(|f| match f {
        RunFailure::Error(e) => e.message,
        other => panic!("{other:?}"),
    })
}

#[track_caller]
fn fails_and_fits(text: &str, n: i64, too_little: usize, enough: usize, result: i64) {
    for backend in [Backend::FlatInterp, Backend::Cpu] {
        let error = run(&limited(text, too_little), n, backend).expect_err("too little memory");
        assert!(error.starts_with("out of memory ("), "{backend}: {error}");
        assert_eq!(
            run(&limited(text, enough), n, backend),
            Ok(Value::scalar(Scalar::I64(result))),
            "{backend}"
        );
    }
}

#[test]
fn queens() {
    fails_and_fits(QUEENS, 7, 4 << 10, 16 << 20, 40);
}

#[test]
fn fibonacci_by_map() {
    fails_and_fits(FIB, 15, 4 << 10, 16 << 20, 610);
}

#[test]
fn rows_made_by_every_position() {
    // 300 rows of 300 elements.
    fails_and_fits(ROWS, 300, 300 << 10, 64 << 20, 13_589_550);
}

#[test]
fn the_interpreter_of_nested_code_keeps_to_it_too() {
    let error = run(&limited(ROWS, 1 << 10), 300, Backend::Interp).expect_err("too little memory");
    assert!(error.starts_with("out of memory ("), "{error}");
}
