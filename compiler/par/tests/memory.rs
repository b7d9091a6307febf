//! Most memory that programs hold: not much more than hand-written code with buffers for what it reads, writes and keeps.

use par::{Backend, CallOptions, Options, Value, compile};
use par_runtime::Array;
use std::sync::{Mutex, PoisonError};

const N: usize = 1 << 19;

/// Fails if a call on `N` numbers holds, with its input, more than one and a half times `live` bytes per number.
///
/// Held memory is counted for the whole process, so one call is measured at a time.
#[track_caller]
fn holds_at_most(text: &str, live: f64) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let program =
        compile(text, "memory.par", &Options::default()).unwrap_or_else(|f| panic!("{}", f.render(false)));
    let numbers: Vec<i64> = (0..N as i64).map(|i| i * 7919 % 10007).collect();
    for threads in [1, 2] {
        let options = CallOptions { backend: Backend::Cpu, threads, ..CallOptions::default() };
        let input = vec![Value::vector(Array::from_slice(&numbers))];
        let (_, profile) =
            program.profile("main", input, &options, false).unwrap_or_else(|e| panic!("{e:?}"));
        let held = profile.peak_bytes as f64 / N as f64 + 8.0;
        assert!(held <= 1.5 * live, "{held} bytes per number on {threads} threads, {live} are live\n{text}");
    }
}

#[test]
fn a_scan_holds_its_result() {
    holds_at_most("entry main (xs: []i64) : []i64 = map (+ 1) (scan (+) 0 (map (* 2) xs))", 16.0);
}

#[test]
fn sums_of_rows_hold_the_rows_results() {
    let text =
        "entry main [n] (xs: [n]i64) : []i64 = map (\\i -> i64.sum xs[16 * i:16 * i + 16]) (iota (n / 16))";
    holds_at_most(text, 8.5);
}

#[test]
fn a_filter_holds_a_buffer_for_all() {
    holds_at_most("entry main (xs: []i64) : []i64 = filter (\\x -> x & 1 == 0) xs", 16.0);
}

/// Input and two buffers that take turns.
#[test]
fn steps_of_a_radix_sort_hold_two_buffers() {
    let text = "def step [n] (xs: [n]i64) (b: i64) : [n]i64 =
  let odd = map (\\x -> (x >> b) & 1) xs
  let even = map (1 -) odd
  let to_even = map2 (*) even (scan (+) 0 even)
  let to_odd = map2 (*) odd (map (+ i64.sum even) (scan (+) 0 odd))
  in scatter (copy xs) (map2 (\\a b -> a + b - 1) to_even to_odd) xs
entry main [n] (xs: [n]i64) : [n]i64 = loop xs for b < 14 do step xs b";
    holds_at_most(text, 24.0);
}

#[test]
fn a_segmented_scan_holds_its_result() {
    let text = "entry main [n] (xs: [n]i64) : [n]i64 =
  let heads = map (\\i -> i == 0 || xs[i] < xs[i - 1]) (iota n)
  let op (f, x) (g, y) = (f || g, if g then y else x + y)
  in map (.1) (scan op (false, 0) (zip heads xs))";
    holds_at_most(text, 16.0);
}
