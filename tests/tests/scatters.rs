//! Scatters of several values to one index on several threads: of indices that do not decrease the last one stays.

use par::{Backend, Context};

/// Heads of rows in every form of code: of indices that are read, computed, and prefixes; alone, and with a second scatter.
const TEXT: &str = "
  entry read [m] (starts: [m]i64) (n: i64) : []i64 = scatter (replicate n (-1)) starts (iota m)
  entry two [m] (starts: [m]i64) (n: i64) : ([]i64, []i32) =
    (scatter (replicate n (-1)) starts (iota m), scatter (replicate n 0) (map (/ 2) starts) (map i32.i64 (iota m)))
  entry computed (m: i64) (k: i64) (n: i64) : []i64 = scatter (replicate n (-1)) (map (/ k) (iota m)) (iota m)
  entry steps (m: i64) (k: i64) (n: i64) : []f64 =
    scatter (replicate n (-1)) (map (\\i -> if i < k then i else k) (iota m)) (map f64.i64 (iota m))
  entry scanned [m] (lens: [m]i64) (n: i64) : []i64 =
    scatter (replicate n (-1)) (map2 (-) (scan (+) 0 lens) lens) (iota m)
  entry rows [m] (lens: [m]i64) (n: i64) : []i64 =
    let ends = map i64.f64 (scan (+) 0 (map f64.i64 lens))
    in scatter (replicate n (-1)) (map2 (-) ends lens) (iota m)
";

fn last_of(starts: &[i64], n: usize) -> Vec<i64> {
    let mut last = vec![-1; n];
    for (row, at) in starts.iter().enumerate() {
        if let Some(place) = last.get_mut(*at as usize) {
            *place = row as i64;
        }
    }
    last
}

/// Lengths of rows: many are empty, sometimes many thousands one behind the other.
fn lengths(m: usize, seed: u64) -> Vec<i64> {
    let mut state = seed;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let mut lens = Vec::new();
    while lens.len() < m {
        let empty = if random() % 40 == 0 { random() % 60_000 } else { random() % 4 };
        lens.extend(std::iter::repeat_n(0, empty));
        lens.extend((0..random() % 30_000).map(|i| (i % 5 != 0) as i64));
    }
    lens.truncate(m);
    lens
}

#[test]
fn the_last_of_sorted_indices_stays() {
    for threads in [1, 2, 4] {
        let program = Context::new(Backend::Cpu).threads(threads).compile(TEXT).expect("it compiles");
        for (m, seed) in [(10, 1), (40_000, 2), (700_000, 3), (700_001, 4), (1_000_003, 5)] {
            let lens = lengths(m, seed);
            let starts: Vec<i64> = lens
                .iter()
                .scan(0, |end, n| {
                    *end += n;
                    Some(*end - n)
                })
                .collect();
            // Rows that begin at the end, or behind it, are nowhere.
            let n = (starts[m - 1] - starts[m - 1] / 10).max(1);
            let wanted = last_of(&starts, n as usize);
            let is =
                |found: &[i64], what: &str| assert!(found == wanted, "{what}: {m} rows, {threads} threads");
            is(&program.call::<_, Vec<i64>>("read", (&starts[..], n)).expect("it runs"), "read");
            is(&program.call::<_, Vec<i64>>("scanned", (&lens[..], n)).expect("it runs"), "scanned");
            is(&program.call::<_, Vec<i64>>("rows", (&lens[..], n)).expect("it runs"), "rows");
            let (a, b): (Vec<i64>, Vec<i32>) = program.call("two", (&starts[..], n)).expect("it runs");
            is(&a, "two");
            let halves: Vec<i64> = starts.iter().map(|x| x / 2).collect();
            let second: Vec<i64> = b.iter().map(|x| *x as i64).collect();
            let wanted: Vec<i64> = last_of(&halves, n as usize).iter().map(|x| (*x).max(0)).collect();
            assert!(second == wanted, "the second of two: {m} rows, {threads} threads");
        }
    }
}

#[test]
fn the_last_of_computed_indices_stays() {
    let (m, n) = (800_000i64, 300_000i64);
    for threads in [1, 2, 4] {
        let program = Context::new(Backend::Cpu).threads(threads).compile(TEXT).expect("it compiles");
        for k in [1, 3, 7, 100_000, 900_000] {
            let starts: Vec<i64> = (0..m).map(|i| i / k).collect();
            let found: Vec<i64> = program.call("computed", (m, k, n)).expect("it runs");
            assert!(found == last_of(&starts, n as usize), "by {k}, {threads} threads");
            let starts: Vec<i64> = (0..m).map(|i| i.min(k)).collect();
            let found: Vec<f64> = program.call("steps", (m, k, n)).expect("it runs");
            let wanted: Vec<f64> = last_of(&starts, n as usize).iter().map(|x| *x as f64).collect();
            assert!(found == wanted, "up to {k}, {threads} threads");
        }
    }
}
