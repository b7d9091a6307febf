//! Calls that are stopped from another thread, on every back end, and what is left afterwards.

use par::{Backend, CallOptions, CancelToken, Failure, Options, Program, RunFailure, compile, compile_until};
use std::thread;
use std::time::Duration;

fn program(text: &str) -> Program {
    compile(text, "cancel.par", &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// Calls `main` and stops it after a while. Nothing here ends by itself: a call that does not stop is a test that hangs.
fn stop(program: &Program, backend: Backend, threads: usize) {
    program.prepare(backend).unwrap();
    let options = CallOptions { backend, threads, ..CallOptions::default() };
    let token = options.cancel.clone();
    let stopper = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        token.cancel();
    });
    let result = program.call("main", vec![], &options);
    stopper.join().unwrap();
    assert!(matches!(result, Err(RunFailure::Cancelled)), "{backend}: {result:?}");
}

/// Programs that run as good as for ever, by what keeps them busy.
const ENDLESS: &[(&str, &str)] = &[
    ("a loop of the host", "entry main : i64 = loop x = 0 while x >= 0 do (x + 1) % 7"),
    ("a loop in a kernel", "entry main = map (\\i -> loop x = i while x >= 0 do (x + 1) % 7) (iota 100)"),
    (
        "loops of many elements",
        "entry main = map (\\i -> loop x = i for j < 100000000 do x * x + j) (iota 100000)",
    ),
    (
        "a reduction",
        "entry main = i64.sum (map (\\i -> loop x = i for j < 100000000 do x * x + j) (iota 100000))",
    ),
    (
        "a scan",
        "entry main = scan (+) 0 (map (\\i -> loop x = i for j < 100000000 do x * x + j) (iota 100000))",
    ),
    (
        "a filter of ragged rows",
        "entry main = map (\\n -> filter (\\i -> (loop x = i for j < 100000000 do x * x + j) > 0) (iota n)) (iota 999)",
    ),
    (
        "bulk operations in a loop",
        "entry main = loop xs = iota 1000 while xs[0] >= 0 do map (\\x -> (x + 1) % 1000) xs",
    ),
    (
        "a loop in place",
        "entry main = loop xs = replicate 100 0i64 for i < 1000000000000 do xs with [i % 100] = xs[i % 100] + i",
    ),
    (
        "recursion",
        "def f (n: i64) (x: i64) : i64 = if n == 0 then x else f (n - 1) (f (n - 1) (x + 1))\nentry main = f 62 0",
    ),
];

#[test]
fn endless_programs_stop_on_every_back_end() {
    for (what, text) in ENDLESS {
        let program = program(text);
        for (backend, threads) in
            [(Backend::Interp, 1), (Backend::FlatInterp, 1), (Backend::Cpu, 1), (Backend::Cpu, 4)]
        {
            println!("{what}, {backend} with {threads} threads");
            stop(&program, backend, threads);
        }
    }
}

#[test]
fn a_program_can_be_called_again() {
    let program =
        program("entry main = loop x = 0i64 while x >= 0 do (x + 1) % 7\nentry inc (x: i32) = x + 1");
    for backend in [Backend::Interp, Backend::FlatInterp, Backend::Cpu] {
        stop(&program, backend, 2);
        let result = program.run(
            "inc",
            vec![par::read_values("1", &[par::ValueType::Prim(par::Prim::I32)]).unwrap().remove(0)],
            backend,
            2,
        );
        assert_eq!(par::print_value(&result.unwrap()), "2i32");
    }
}

#[test]
fn calls_with_different_tokens_do_not_disturb_each_other() {
    let stop_one = |i: usize| {
        let program = program("entry main = loop x = 0i64 for i < 3000000 do (x + i) ^ i");
        let options = CallOptions { threads: 2, ..CallOptions::default() };
        if i.is_multiple_of(2) {
            options.cancel.cancel();
        }
        program.call("main", vec![], &options).is_ok()
    };
    let threads: Vec<_> = (0..4).map(|i| thread::spawn(move || stop_one(i))).collect();
    let ok: Vec<bool> = threads.into_iter().map(|t| t.join().unwrap()).collect();
    assert_eq!(ok, [false, true, false, true]);
}

#[test]
fn compiling_is_stopped_too() {
    let token = CancelToken::new();
    token.cancel();
    let result = compile_until("entry main = 1i32", "cancel.par", &Options::default(), &token);
    assert!(matches!(result, Err(Failure::Cancelled)));
}
