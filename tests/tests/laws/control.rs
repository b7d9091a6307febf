//! Loops, recursion, filters and operators under nests: work is the sum of what the positions do, and the number of
//! operations that are launched is that of the longest of them.

use super::{count, program, size};
use par_ir::interp::Counters;

const HELPERS: &str = "def rnd (i: i64) : i64 = (i * 7919 + 13) % 1000003
";

/// Counters of `main` at two sizes.
fn at(text: &str, sizes: [i64; 2]) -> [Counters; 2] {
    let p = program(&format!("{HELPERS}{text}"));
    sizes.map(|n| count(&p, vec![size(n)]).0)
}

#[track_caller]
fn work_grows_at_most(c: &[Counters; 2], times: f64) {
    let growth = c[1].work as f64 / c[0].work as f64;
    assert!(growth <= times, "work grows by {growth}: {} after {}", c[1].work, c[0].work);
}

#[track_caller]
fn launches_stay(c: &[Counters; 2]) {
    assert_eq!((c[0].launches, c[0].syncs), (c[1].launches, c[1].syncs));
}

#[test]
fn one_long_loop_beside_many_short_ones_costs_their_sum() {
    let text = "entry main (n: i64) : i64 =
       let iterations i = loop (k, x) = (if i == 0 then n else 1, i) while k > 0 do (k - 1, x + sum (iota (k % 3)))
       in sum (map (\\i -> (iterations i).1) (iota n))";
    let c = at(text, [1_000, 10_000]);
    // As many iterations in one position as there are positions with one iteration.
    work_grows_at_most(&c, 10.5);
    assert!(c[1].work < 200 * 10_000, "{} operations", c[1].work);
}

#[test]
fn rows_are_not_packed_when_others_finish() {
    let text = "entry main (n: i64) (m: i64) : []i64 =
      let iterations i = loop (xs, k) = (iota m, i) while k > 0 do (filter (>= 0) xs, k - 1)
      in map (\\i -> i64.sum (iterations i).0) (iota n)";
    let (n, m) = (40, 200);
    let (c, _) = count(&program(text), vec![size(n), size(m)]);
    // In every iteration a row is through. The others are filtered, and not copied before.
    let made = (n * (n - 1) / 2 * m * 8) as u64;
    assert!(c.bytes_materialised < made * 3 / 2, "{} bytes, {made} of them kept", c.bytes_materialised);
}

/// Short rows go through all iterations in one kernel, also if they become shorter.
#[test]
fn rows_that_shrink_take_no_launch_per_iteration() {
    let text = "entry main (n: i64) : i64 =
      let left i = loop (xs: []i64, k) = (iota (i % 30), 0) while k < n do
        (if length xs > 20 then take 20 xs else filter (\\x -> (x + k) % 50 != i % 50) xs, k + 1)
      in sum (map (\\i -> i64.sum (left i).0) (iota 300))";
    launches_stay(&at(text, [5, 50]));
}

/// A few short rows of different lengths, too, by the work that all have together: it grows with the rows, and then no further.
#[test]
fn few_ragged_rows_take_no_launch_per_iteration() {
    let text = "entry main (n: i64) : []i64 =
      let prefixes i = loop xs = map rnd (iota (i * 7 % 23)) for k < n do
        map (% 100) (scan (+) k (map2 (*) xs (iota (length xs))))
      in map (\\i -> i64.sum (prefixes i)) (iota 3)";
    launches_stay(&at(text, [5, 50]));
    let long = text.replace("i * 7 % 23", "i * 70000 + 23");
    let [few, many] = at(&long, [2, 6]);
    assert!(many.launches >= few.launches + 4, "{} launches after {}", many.launches, few.launches);
}

#[test]
fn rows_that_a_branch_only_names_are_not_copied() {
    let text = "entry main (n: i64) (m: i64) : i64 =
      let xss = map (\\i -> map (\\j -> rnd (i + j)) (iota m)) (iota n)
      let xss = loop xss for k < 20 do map2 (\\i xs -> if i % n == k then map (+ 1) xs else xs) (iota n) xss
      in i64.sum (map (\\xs -> xs[m / 2]) xss)";
    let p = program(&format!("{HELPERS}{text}"));
    let (n, m) = (200, 500);
    let (c, _) = count(&p, vec![size(n), size(m)]);
    // All rows once, and one in every iteration.
    let made = (n * m * 8) as u64;
    assert!(c.bytes_materialised < 2 * made, "{} bytes, {made} of them the rows", c.bytes_materialised);
}

#[test]
fn elements_updated_in_a_loop_of_varying_length_cost_one_each() {
    let text = "entry main (n: i64) : i64 =
       let fill i = let m = if i == 0 then n else 3
                    in loop xs = replicate m i for j < m do xs with [j] = xs[j] + 1
       in sum (map (\\i -> (fill i)[0]) (iota n))";
    let c = at(text, [1_000, 10_000]);
    work_grows_at_most(&c, 10.5);
    assert!(c[1].work < 400 * 10_000, "{} operations", c[1].work);
}

#[test]
fn an_update_under_an_if_copies_only_the_rows_that_are_updated() {
    let text = "entry main (n: i64) : i64 =
       let xss = map (\\i -> iota (if i < 100 then 10 else n / 100)) (iota 200)
       let f i xs = if i < 100 then (copy xs) with [0] = i else xs
       in sum (map (\\r -> r[0]) (map2 f (iota 200) xss))";
    let p = program(&format!("{HELPERS}{text}"));
    let c = [100_000, 1_000_000].map(|n| count(&p, vec![size(n)]).0);
    // The rows are made once; those that are not updated are not even read.
    assert!(c[1].work < 4 * 1_000_000, "{} operations", c[1].work);
    launches_stay(&c);
}

#[test]
fn filters_of_ranges_that_are_never_stored() {
    let text = "entry main (n: i64) : i64 =
       sum (map (\\k -> length (filter (\\x -> x % 3 == 0) (iota (k % 20)))) (iota n))";
    let c = at(text, [1_000, 10_000]);
    work_grows_at_most(&c, 10.5);
    launches_stay(&c);
}

#[test]
fn a_branch_over_tiny_arrays() {
    let text = "entry main (n: i64) : i64 =
       sum (map (\\k -> sum (if k % 2 == 0 then [k, k + 1] else if k % 3 == 0 then [k] else [])) (iota n))";
    let c = at(text, [1_000, 10_000]);
    work_grows_at_most(&c, 10.5);
    launches_stay(&c);
}

#[test]
fn an_operator_on_arrays_inside_a_ragged_map() {
    let text = "entry main (n: i64) : i64 =
       sum (map (\\k -> sum (reduce (map2 (+)) [0, 0, 0] (map (\\j -> [j, k, 1]) (iota (k % 20))))) (iota n))";
    let c = at(text, [1_000, 10_000]);
    work_grows_at_most(&c, 10.5);
    launches_stay(&c);
}

#[test]
fn rounds_of_an_operator_on_arrays_by_the_longest_row() {
    let text = "entry main (n: i64) : i64 =
       let long k = if k == 0 then n else k % 5
       in sum (map (\\k -> length (reduce (++) [] (map (\\j -> [j, k, 1]) (iota (long k))))) (iota n))";
    let c = at(text, [1_000, 16_000]);
    work_grows_at_most(&c, 16.0 * 1.3);
    assert!(c[1].launches < 2 * c[0].launches, "{} after {}", c[1].launches, c[0].launches);
}

const MERGESORT: &str = "
def rank (equal: bool) (zs: []i64) (x: i64) : i64 =
  (loop (lo, hi) = (0, length zs) while lo < hi do
     let mid = (lo + hi) / 2
     in if zs[mid] < x || (equal && zs[mid] == x) then (mid + 1, hi) else (lo, mid)).0
def merge [n] [m] (xs: [n]i64) (ys: [m]i64) : []i64 =
  let r = scatter (replicate (n + m) 0) (map2 (\\i x -> i + rank false ys x) (iota n) xs) xs
  in scatter r (map2 (\\i y -> i + rank true xs y) (iota m) ys) ys
def msort (xs: []i64) : []i64 =
  let n = length xs in if n < 2 then xs else merge (msort xs[:n / 2]) (msort xs[n / 2:])
entry main (n: i64) : i64 = (msort (map rnd (iota n)))[n / 2]";

#[test]
fn mergesort_with_two_calls_launches_by_its_depth() {
    let c = at(MERGESORT, [500, 8_000]);
    // n log n steps of a binary search each.
    work_grows_at_most(&c, 16.0 * 2.2);
    assert!(c[1].launches < 2 * c[0].launches, "{} after {}", c[1].launches, c[0].launches);
}

#[test]
fn two_calls_on_scalars_that_give_arrays_launch_by_their_depth() {
    let text = "def f (n: i64) (a: i64) : []i64 = if n == 0 then [a] else f (n - 1) a ++ f (n - 1) (a + 1)
      entry main (n: i64) : i64 = i64.sum (f n 0)";
    let c = at(text, [7, 14]);
    // 128 times as many calls.
    assert!(c[1].launches < 3 * c[0].launches, "{} after {}", c[1].launches, c[0].launches);
}

const FFT: &str = "
type c = (f64, f64)
def add (a: c) (b: c) : c = (a.0 + b.0, a.1 + b.1)
def sub (a: c) (b: c) : c = (a.0 - b.0, a.1 - b.1)
def mul (a: c) (b: c) : c = (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
def fft (xs: []c) : []c =
  let n = length xs in if n < 2 then xs else
  let (e, o) = (fft xs[::2], fft xs[1::2])
  let h = n / 2
  let iteration k = let a = -2.0 * f64.pi * f64.i64 k / f64.i64 n in mul (f64.cos a, f64.sin a) o[k]
  let t = map iteration (iota h)
  in map2 add (e :> [h]c) t ++ map2 sub (e :> [h]c) t
entry main (n: i64) : i64 = length (fft (map (\\i -> (f64.i64 (rnd i), 0.0)) (iota n)))";

#[test]
fn fft_with_two_calls_launches_by_its_depth() {
    let c = at(FFT, [256, 4_096]);
    work_grows_at_most(&c, 16.0 * 1.6);
    assert!(c[1].launches < 2 * c[0].launches, "{} after {}", c[1].launches, c[0].launches);
}

#[test]
fn four_levels_of_maps() {
    let text = "entry main (n: i64) : i64 =
       let inner a b c = sum (map (\\d -> a + b + c + d) (iota (c % 3)))
       in sum (map (\\a -> sum (map (\\b -> sum (map (inner a b) (iota (b % 4)))) (iota (a % 5)))) (iota n))";
    let c = at(text, [1_000, 10_000]);
    work_grows_at_most(&c, 10.5);
    launches_stay(&c);
}

#[test]
fn quicksort_of_one_long_row_among_short_ones() {
    let text = "
def qsort (xs: []i64) : []i64 =
  if length xs < 2 then xs
  else let p = xs[length xs / 2]
       in qsort (filter (< p) xs) ++ filter (== p) xs ++ qsort (filter (> p) xs)
entry main (n: i64) : i64 =
  sum (map (\\r -> r[0]) (map qsort ([map rnd (iota n)] ++ map (\\i -> [i, 1]) (iota n))))";
    let c = at(text, [500, 8_000]);
    work_grows_at_most(&c, 16.0 * 2.2);
    assert!(c[1].launches < 2 * c[0].launches, "{} after {}", c[1].launches, c[0].launches);
}

/// The body of the loop is parallel, so that all positions take each iteration together; still an update costs what it writes.
#[test]
fn an_update_under_an_if_in_a_loop_with_a_parallel_body_copies_no_rows() {
    let text = |m: i64| {
        format!(
            "entry main (n: i64) : i64 =
               let step i j xs = if j % 3 == i % 2 then xs with [(i * j) % {m}] = sum (iota (j % 4)) else xs
               let iterations i = loop xs = replicate {m} i for j < i % 20 do step i j xs
               in sum (map (\\r -> r[0] + r[{m} - 1]) (map iterations (iota n)))"
        )
    };
    let [narrow, wide] = [100, 10_000].map(|m| at(&text(m), [200, 200])[0]);
    // What is made and read once for each row; nothing for each iteration.
    assert!(wide.work - narrow.work < 5 * 200 * 9_900, "{} after {}", wide.work, narrow.work);
    assert!(wide.bytes_materialised - narrow.bytes_materialised < 3 * 8 * 200 * 9_900);
}

/// State of an earlier iteration is used after an update: then rows of the positions that are still active are copied, not all.
#[test]
fn an_update_of_a_copy_costs_the_rows_that_are_active() {
    let text = "entry main (n: i64) : i64 =
       let step j xs = let ys = if j % 2 == 0 then copy xs with [0] = sum (iota (j % 4)) else xs
                       in if ys[0] > xs[1] then ys with [1] = xs[0] + sum (iota (j % 3)) else ys
       let iterations i = loop xs = replicate 50 0 for j < (if i == 0 then 100 else 1) do step j xs
       in sum (map (\\i -> (iterations i)[0]) (iota n))";
    let c = at(text, [100, 1_000]);
    // A hundred iterations of one position beside one iteration of the others.
    assert!(c[1].work < 60 * 50 * 1_000, "{} operations for {} before", c[1].work, c[0].work);
}
