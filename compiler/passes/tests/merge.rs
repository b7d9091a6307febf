//! Merging: which calls of a recursive function become one batch.

mod common;

use common::transformed;
use par_passes::pass::MERGE;

#[test]
fn two_independent_calls_become_a_map() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %xs: [%n]i64, %d: i64) -> (%k: i64, %r: [%k]i64) {
           let (%small: bool) = lt.i64 (%n, 2i64)
           let (%o: i64, %res: [%o]i64) = if %small then { in (%n, %xs) } else {
           let (%h: i64) = quot.i64 (%n, 2i64)
           let (%as: [%h]i64) = slice %xs (0i64, %h, 1i64)
           let (%d1: i64) = sub.i64 (%d, 1i64)
           let (%k1: i64, %r1: [%k1]i64) = call @0 (%h, %as, %d1)
           let (%first: i64) = %r1[0i64]
           let (%g: i64) = sub.i64 (%n, %h)
           let (%bs: [%g]i64) = slice %xs (%h, %g, 1i64)
           let (%k2: i64, %r2: [%k2]i64) = call @0 (%g, %bs, %d1)
           let (%m: i64) = add.i64 (%k1, %k2)
           let (%all: [%m]i64) = concat (%r1, %r2)
           in (%m, %all)
           }
           in (%o, %res)
         }",
        &[MERGE]
    ));
}

#[test]
fn a_call_that_needs_another_stays_behind_it() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %xs: [%n]i64) -> (%k: i64, %r: [%k]i64) {
           let (%small: bool) = lt.i64 (%n, 2i64)
           let (%o: i64, %res: [%o]i64) = if %small then { in (%n, %xs) } else {
             let (%g: i64) = quot.i64 (%n, 4i64)
             let (%ys: [%g]i64) = slice %xs (0i64, %g, 1i64)
             let (%k1: i64, %r1: [%k1]i64) = call @0 (%g, %ys)
             let (%k2: i64, %r2: [%k2]i64) = call @0 (%k1, %r1)
             in (%k2, %r2)
           }
           in (%o, %res)
         }",
        &[MERGE]
    ));
}

#[test]
fn matrices_of_different_widths_are_ragged_in_the_map() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %m: i64, %xs: [%n][%m]i64) -> (%k: i64, %w: i64, %r: [%k][%w]i64) {
           let (%small: bool) = lt.i64 (%n, 2i64)
           let (%o: i64, %p: i64, %res: [%o][%p]i64) = if %small then { in (%n, %m, %xs) } else {
             let (%h: i64) = quot.i64 (%n, 2i64)
             let (%top: [%h][%m]i64) = slice %xs (0i64, %h, 1i64)
             let (%wide: [%h][4i64]i64) = map %h (%top) \\(%row: [%m]i64) -> ([4i64]i64) {
               let (%four: [4i64]i64) = iota 4i64
               in (%four)
             }
             let (%k1: i64, %w1: i64, %r1: [%k1][%w1]i64) = call @0 (%h, %m, %top)
             let (%k2: i64, %w2: i64, %r2: [%k2][%w2]i64) = call @0 (%h, 4i64, %wide)
             let (%more: bool) = lt.i64 (%w1, %w2)
             let (%k3: i64, %w3: i64, %r3: [%k3][%w3]i64) = if %more then { in (%k1, %w1, %r1) } else { in (%k2, %w2, %r2) }
             in (%k3, %w3, %r3)
           }
           in (%o, %p, %res)
         }",
        &[MERGE]
    ));
}
