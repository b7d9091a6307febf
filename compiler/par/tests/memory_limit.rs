//! A limit of memory is kept by working in chunks. Where that is not enough it is an ordinary error on every back end, and does
//! not outlive the call.

use par::pipeline::{Splitting, Versions};
use par::{Backend, CallOptions, Options, Program, RunFailure, Scalar, Value, compile};
use par_runtime::Array;

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
    fails_and_fits(QUEENS, 7, 512, 16 << 20, 40);
}

#[test]
fn fibonacci_by_map() {
    fails_and_fits(FIB, 15, 64, 16 << 20, 610);
}

#[test]
fn rows_made_by_every_position() {
    // A row has 300 elements.
    fails_and_fits(ROWS, 300, 2 << 10, 64 << 20, 13_589_550);
}

/// Peak of a call's memory on one thread, in the flat version, with this limit.
fn peak(text: &str, n: i64, memory_limit: Option<usize>, backend: Backend) -> u64 {
    let options = Options { memory_limit, versions: Versions::Flat, ..Options::default() };
    let program = compile(text, "limit.par", &options).unwrap_or_else(|f| panic!("{}", f.render(false)));
    let call = CallOptions { backend, threads: 1, ..CallOptions::default() };
    let (_, profile) = program
        .profile("main", vec![Value::scalar(Scalar::I64(n))], &call, false)
        .unwrap_or_else(|f| panic!("{f:?}"));
    profile.peak_bytes
}

/// Programs that need more and more memory all at once stay below a limit in chunks.
#[track_caller]
fn stays_below(text: &str, sizes: [i64; 2], limit: usize) {
    for backend in [Backend::FlatInterp, Backend::Cpu] {
        let whole = sizes.map(|n| peak(text, n, None, backend));
        assert!(whole[0] > limit as u64 && whole[1] > 3 * whole[0], "{backend}: {whole:?} without a limit");
        let within = sizes.map(|n| peak(text, n, Some(limit), backend));
        assert!(within.iter().all(|bytes| *bytes <= limit as u64), "{backend}: {within:?} of {limit}");
    }
}

#[test]
fn trees_of_calls_run_in_chunks() {
    stays_below(QUEENS, [6, 8], 16 << 10);
    stays_below(FIB, [14, 18], 12 << 10);
}

#[test]
fn rows_run_in_chunks() {
    stays_below(ROWS, [200, 500], 100 << 10);
}

/// Calls a program that was compiled without a limit.
fn called(text: &str, arg: Value, memory_limit: Option<usize>, backend: Backend) -> Result<Value, String> {
    let program =
        compile(text, "limit.par", &Options::default()).unwrap_or_else(|f| panic!("{}", f.render(false)));
    let call = CallOptions { backend, memory_limit, ..CallOptions::default() };
    program.call("main", vec![arg], &call).map_err(|f| match f {
        RunFailure::Error(e) => e.message,
        other => panic!("{other:?}"),
    })
}

#[test]
fn what_runs_out_of_memory_runs_again_in_chunks() {
    for (text, n, limit) in [(QUEENS, 8, 20 << 10), (FIB, 18, 12 << 10), (ROWS, 500, 100 << 10)] {
        let arg = || Value::scalar(Scalar::I64(n));
        for backend in [Backend::FlatInterp, Backend::Cpu] {
            let whole = called(text, arg(), None, backend);
            assert!(whole.is_ok(), "{backend}: {whole:?}");
            assert_eq!(called(text, arg(), Some(limit), backend), whole, "{backend}");
            // All at once it would not have been enough.
            assert!(peak(text, n, None, backend) > limit as u64, "{backend}");
        }
    }
}

/// Values are shown once, so a program that shows some does not run again.
#[test]
fn what_shows_values_does_not_run_again() {
    let text = ROWS.replace("sum (map", "sum (trace (map").replace("(iota n))", "(iota n)))");
    let arg = || Value::scalar(Scalar::I64(500));
    let error = called(&text, arg(), Some(100 << 10), Backend::Cpu).expect_err("too little memory");
    assert!(error.starts_with("out of memory ("), "{error}");
}

const ONE_GIANT: &str = "
entry main (ns: []i64) : []i64 =
  map (\\n -> sum (map (\\i -> let xs = scan (+) 0 (map (+ i) (iota n)) in length (filter (> i) xs)) (iota n))) ns";

/// One position of the outer nest alone is too much: the nest inside it is cut.
#[test]
fn a_giant_position_is_cut_inside() {
    let arg = |n| Value::vector(Array::from_slice(&[3i64, n, 0, 1]));
    // Of the prefixes of row i, all but the first are greater than i.
    let expected = Value::vector(Array::from_slice(&[6i64, 400 * 399, 0, 0]));
    for backend in [Backend::FlatInterp, Backend::Cpu] {
        assert_eq!(called(ONE_GIANT, arg(400), Some(200 << 10), backend), Ok(expected.clone()), "{backend}");
    }
}

const ONE_ROW: &str = "
entry main (ns: []i64) : []i64 =
  map (\\n -> let xs = scan (+) 0 (iota n) in xs[xs[0] % n] + length (filter (> 3) xs)) ns";

/// A row of numbers is not cut: one that does not fit is an error, the same on every back end, and rows beside it make no difference.
#[test]
fn a_giant_row_is_an_error() {
    let arg = |n| Value::vector(Array::from_slice(&[3i64, n, 5, 1]));
    for backend in [Backend::FlatInterp, Backend::Cpu] {
        let error = called(ONE_ROW, arg(100_000), Some(100 << 10), backend).expect_err("too little memory");
        assert!(error.starts_with("out of memory ("), "{backend}: {error}");
        let fits = called(ONE_ROW, arg(1_000), Some(100 << 10), backend);
        assert_eq!(fits, Ok(Value::vector(Array::from_slice(&[0i64, 997, 2, 0]))), "{backend}");
    }
}

#[test]
fn results_of_any_shape_are_put_together() {
    let text = "
        entry main (n: i64) : ([][]i64, [][]i64, []bool) =
          let f i = let xs = scan (+) i (iota (i % 40)) in (filter (> 100) xs, take 2 (xs ++ [i, i]), length xs > 7)
          in unzip3 (map f (iota n))";
    let result = |options: Options, backend: Backend| {
        let program = compile(text, "limit.par", &options).unwrap_or_else(|f| panic!("{}", f.render(false)));
        run(&program, 100, backend).expect("enough memory")
    };
    let whole = result(Options::default(), Backend::Interp);
    for backend in [Backend::FlatInterp, Backend::Cpu] {
        let chunks = [Splitting::Rows(1), Splitting::Rows(7), Splitting::Rows(1000)];
        for splitting in chunks {
            assert_eq!(
                result(Options { splitting, ..Options::default() }, backend),
                whole,
                "{backend} {splitting:?}"
            );
        }
        let memory_limit = Some(70 << 10);
        assert_eq!(result(Options { memory_limit, ..Options::default() }, backend), whole, "{backend}");
    }
}

#[test]
fn the_interpreter_of_nested_code_keeps_to_it_too() {
    let error = run(&limited(ROWS, 1 << 10), 300, Backend::Interp).expect_err("too little memory");
    assert!(error.starts_with("out of memory ("), "{error}");
}

/// Loops whose state a derivative keeps: a stencil, halvings until a number is small, an array that grows, and a loop in a loop.
const GRADIENTS: [(&str, usize); 4] = [
    (
        "def step [n] (xs: [n]f64) : [n]f64 = tabulate n (\\i -> f64.sin (xs[i] + 0.1 * xs[(i + 1) % n]))
      entry main (n: i64) : [50]f64 =
        grad (\\xs -> f64.sum (loop ys = xs for _i < n do step ys)) (map (\\i -> f64.i64 i / 50) (iota 50))",
        80 << 10,
    ),
    (
        "def small (n: i64) (x: f64) = loop y = x while y > 150 / f64.i64 (100 + n) do y * (1 - 0.005 * y)
      entry main (n: i64) : f64 = grad (small n) 1.5",
        3 << 10,
    ),
    (
        "def grown (n: i64) (a: f64) = f64.sum (loop xs = [a] for _i < n do xs ++ [f64.cos (f64.maximum xs)])
      entry main (n: i64) : f64 = grad (grown n) 0.5",
        400 << 10,
    ),
    (
        "def walk (n: i64) (a: f64) =
        loop x = a for _i < n do loop x = x for j < 5 do f64.sin (x + a * f64.i64 j)
      entry main (n: i64) : f64 = grad (walk n) 0.5",
        3 << 10,
    ),
];

#[test]
fn gradients_make_states_again_where_memory_is_short() {
    for (text, limit) in GRADIENTS {
        let arg = || Value::scalar(Scalar::I64(1000));
        let bytes = |value: &Value| par::print_value(value);
        for backend in [Backend::FlatInterp, Backend::Cpu] {
            let whole = called(text, arg(), None, backend).expect("enough memory");
            assert!(peak(text, 1000, None, backend) > 2 * limit as u64, "{backend}: {text}");
            let less = called(text, arg(), Some(limit), backend).expect("enough memory for some states");
            assert_eq!(bytes(&less), bytes(&whole), "{backend}: {text}");
            let error = called(text, arg(), Some(limit / 50), backend).expect_err("too little memory");
            assert!(error.starts_with("out of memory ("), "{backend}: {error}");
        }
    }
}

/// With a loop around, 16 times as many iterations need 4 times the memory.
#[test]
fn checkpoints_take_the_root_of_the_memory() {
    let (text, _) = GRADIENTS[0];
    let peak = |n: i64, checkpoints| {
        let options = Options { checkpoints, ..Options::default() };
        let program = compile(text, "limit.par", &options).unwrap_or_else(|f| panic!("{}", f.render(false)));
        let call = CallOptions { threads: 1, ..CallOptions::default() };
        let args = vec![Value::scalar(Scalar::I64(n))];
        program.profile("main", args, &call, false).expect("enough memory").1.peak_bytes
    };
    assert!(peak(8000, 0) > 12 * peak(500, 0));
    assert!(peak(8000, 1) < 5 * peak(500, 1));
    assert!(peak(8000, 3) < 3 * peak(500, 3));
}
