//! Known results: what a function is sure to result in is no result of it.

mod common;

use common::transformed;
use par_passes::pass::{MERGE, RESULTS};

/// The width of the rows is an argument's, and in the other function a constant; how many there are is not known.
const WIDTHS: &str = "fun h@0 (%e: i64, %o: i64, %us: [%e][%o]i64) -> (%v: i64) {
       let (%c1: i64, %q1: i64, %d1: i64, %s1: [%d1][%q1]i64) = call @2 (%e, %o, %us, %us)
       let (%sum: i64) = add.i64 (%c1, %q1)
       in (%sum)
     }
     fun f@1 (%n: i64, %m: i64, %xs: [%n][%m]i64) -> (%k: i64, %w: i64, %r: [%k][%w]i64) {
       let (%h: i64) = quot.i64 (%n, 2i64)
       let (%top: [%h][%m]i64) = slice %xs (0i64, %h, 1i64)
       in (%h, %m, %top)
     }
     fun g@2 (%a: i64, %b: i64, %ys: [%a][%b]i64, %zs: [%a][%b]i64) -> (%c: i64, %q: i64, %d: i64, %s: [%d][%q]i64) {
       let (%k1: i64, %w1: i64, %r1: [%k1][%w1]i64) = call @1 (%a, %b, %ys)
       let (%k2: i64, %w2: i64, %r2: [%k2][%w2]i64) = call @1 (%a, %b, %zs)
       let (%same: bool) = eq.i64 (%w1, %w2)
       let (%one: i64) = if %same then { in (%k2) } else { in (%w1) }
       in (7i64, %w2, %k1, %r1)
     }";

#[test]
fn constants_and_sizes_of_arguments_are_no_results() {
    assert_shows!(transformed(WIDTHS, &[RESULTS]));
}

#[test]
fn calls_that_result_in_rows_of_one_width_are_merged() {
    assert_shows!(transformed(WIDTHS, &[RESULTS, MERGE]));
}
