//! The work of compiling grows with the program, not with its square or worse; chains of thousands of bindings are fine.

#[path = "../examples/growth/families.rs"]
mod families;

use families::{FAMILIES, FLATTENED, lets};
use par::{Backend, Options, Scalar, Value, compile};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts the bytes that a thread asks for: work that does not depend on the machine or on what else it does.
struct Counting;

thread_local! {
    static BYTES: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: all is the system's allocator's; the counter is a number that needs no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.set(BYTES.get() + layout.size() as u64);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The bytes that a compilation asks for, in all; with machine code or without.
fn bytes(text: &str, all: bool) -> f64 {
    let options = Options { verify: false, ..Options::default() };
    let before = BYTES.get();
    let program = compile(text, "program.par", &options).unwrap_or_else(|f| panic!("{}", f.render(false)));
    if all {
        program.prepare(Backend::Cpu).unwrap_or_else(|f| panic!("{}", f.render(false)));
    }
    (BYTES.get() - before) as f64
}

/// Families in which work grows with the size.
const LINEAR: [&str; 8] = [
    "lines",
    "chain of lets",
    "chain of operators",
    "chain of definitions",
    "elements of a literal",
    "constructors",
    "constructors that become others",
    "constructors through recursion",
];

/// Four times the size takes at most sixteen times as much, six times where work is to be linear. (How near to linear the time is
/// says the example of this name.)
#[test]
fn compiling_is_not_exponential() {
    let families = FAMILIES.iter().map(|f| (f, false)).chain(FLATTENED.iter().map(|f| (f, true)));
    for ((name, program, sizes), all) in families {
        let (small, large) = (bytes(&program(sizes[1]), all), bytes(&program(sizes[3]), all));
        let most = if LINEAR.contains(name) { 6.0 } else { 16.0 };
        assert!(large < most * small, "{name}: {small} bytes, and four times the size {large}");
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
    let called = bytes(&format!("{chain}entry main = f{} 0\n", n - 1), false);
    let alone = bytes(&format!("{chain}entry main = 0\n"), false);
    assert!(alone < 4.0 * called, "{alone} bytes, and {called} if it is called");
}
