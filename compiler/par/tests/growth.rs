//! The time of compiling grows with the program, not with its square or worse; chains of thousands of bindings are fine.

#[path = "../examples/growth/families.rs"]
mod families;

use families::{FAMILIES, FLATTENED, lets};
use par::{Backend, Options, Scalar, Value, compile};

/// Seconds that this thread has computed: what else the machine does is not measured.
fn computed() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place for the time is a valid one.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(status, 0, "the clock of a thread");
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The shortest of three compilations, in seconds; with machine code or without.
fn seconds(text: &str, all: bool) -> f64 {
    let options = Options { verify: false, ..Options::default() };
    let once = || {
        let start = computed();
        let program =
            compile(text, "program.par", &options).unwrap_or_else(|f| panic!("{}", f.render(false)));
        if all {
            program.prepare(Backend::Cpu).unwrap_or_else(|f| panic!("{}", f.render(false)));
        }
        computed() - start
    };
    (0..3).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// Four times the size takes at most sixteen times as long, times too short to measure aside. (How near to linear it is
/// says the example of this name, on a quiet machine.)
#[test]
fn compiling_is_not_exponential() {
    let families = FAMILIES.iter().map(|f| (f, false)).chain(FLATTENED.iter().map(|f| (f, true)));
    for ((name, program, sizes), all) in families {
        let (small, large) = (seconds(&program(sizes[1]), all), seconds(&program(sizes[3]), all));
        assert!(large < 16.0 * small.max(0.05), "{name}: {small} s, and four times the size {large} s");
    }
}

/// Result of the program of `lets` for 1.
fn lets_of_one(n: usize) -> i64 {
    let mut v = vec![1i64];
    for i in 0..n {
        v.push(v[i].wrapping_add((i as i64 % 7).wrapping_mul(v[i / 2])));
    }
    v[n]
}

#[test]
fn ten_thousand_bindings_run() {
    let n = 10_000;
    let program = compile(&lets(n), "lets.par", &Options::default()).expect("compiles");
    for backend in [Backend::Interp, Backend::FlatInterp, Backend::Cpu] {
        let result = program.run("main", vec![Value::scalar(Scalar::I64(1))], backend, 1);
        assert_eq!(result.ok(), Some(Value::scalar(Scalar::I64(lets_of_one(n)))), "{backend}");
    }
}

/// Definitions that nobody calls are looked at once, not again for each definition that calls them.
#[test]
fn a_chain_of_definitions_that_nobody_calls() {
    let n = 2000;
    let one = |i: usize| format!("def f{i} (x: i64) : i64 = f{} x + 1\n", i - 1);
    let chain = "def f0 (x: i64) : i64 = x\n".to_string() + &(1..n).map(one).collect::<String>();
    let called = seconds(&format!("{chain}entry main = f{} 0\n", n - 1), false);
    let alone = seconds(&format!("{chain}entry main = 0\n"), false);
    assert!(alone < 8.0 * called.max(0.05), "{alone} s, and {called} s if it is called");
}
