//! Branches under maps: which go into the maps that their arms are.

mod common;

use common::transformed;
use par_passes::pass::IF_CONVERSION;

#[test]
fn arms_that_make_rows_are_arms_for_each_element() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %m: i64, %a: [%n][%m]i64, %p: [%m]i64, %k: i64) -> (%r: [%n][%m]i64) {
           let (%is: [%n]i64) = iota %n
           let (%ys: [%n][%m]i64) = map %n (%is, %a) \\(%i: i64, %row: [%m]i64) -> ([%m]i64) {
             let (%c: bool) = lt.i64 (%i, %k)
             let (%y: [%m]i64) = if %c then {
               let (%b: bool) = lt.i64 (0i64, %m)
               check %b bounds (0i64, %m)
               let (%x: i64) = %row[0i64]
               let (%u: [%m]i64) = map %m (%row, %p) \\(%v: i64, %w: i64) -> (i64) {
                 let (%s: i64) = add.i64 (%v, %w)
                 let (%t: i64) = add.i64 (%s, %x)
                 in (%t)
               }
               in (%u)
             } else {
               let (%z: [%m]i64) = replicate (%m, %i)
               in (%z)
             }
             in (%y)
           }
           in (%ys)
         }",
        &[IF_CONVERSION]
    ));
}

#[test]
fn a_row_that_is_only_named_goes_along_where_it_is_one() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %m: i64, %a: [%n][%m]i64, %p: [%m]i64, %k: i64) -> (%r: [%n][%m]i64, %s: [%n][%m]i64) {
           let (%is: [%n]i64) = iota %n
           let (%ys: [%n][%m]i64) = map %n (%is, %a) \\(%i: i64, %row: [%m]i64) -> ([%m]i64) {
             let (%c: bool) = eq.i64 (%i, %k)
             let (%y: [%m]i64) = if %c then { in (%p) } else {
               let (%u: [%m]i64) = map %m (%row) \\(%v: i64) -> (i64) {
                 let (%w: i64) = neg.i64 (%v)
                 in (%w)
               }
               in (%u)
             }
             in (%y)
           }
           let (%zs: [%n][%m]i64) = map %n (%is, %a) \\(%j: i64, %line: [%m]i64) -> ([%m]i64) {
             let (%d: bool) = lt.i64 (%j, 2i64)
             let (%z: [%m]i64) = if %d then { in (%p) } else {
               let (%o: [%m]i64) = map %m (%line) \\(%e: i64) -> (i64) {
                 let (%g: i64) = neg.i64 (%e)
                 in (%g)
               }
               in (%o)
             }
             in (%z)
           }
           in (%ys, %zs)
         }",
        &[IF_CONVERSION]
    ));
}

#[test]
fn a_row_that_is_only_named_goes_along_on_one_side_of_a_position() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %m: i64, %a: [%n][%m]i64, %k: i64) -> (%r: [%n][%m]i64) {
           let (%is: [%n]i64) = iota %n
           let (%zs: [%n][%m]i64) = map %n (%is, %a) \\(%j: i64, %line: [%m]i64) -> ([%m]i64) {
             let (%d: bool) = le.i64 (%j, %k)
             let (%z: [%m]i64) = if %d then { in (%line) } else {
               let (%o: [%m]i64) = map %m (%line) \\(%e: i64) -> (i64) {
                 let (%g: i64) = neg.i64 (%e)
                 in (%g)
               }
               in (%o)
             }
             in (%z)
           }
           in (%zs)
         }",
        &[IF_CONVERSION]
    ));
}

#[test]
fn a_branch_that_guards_against_no_elements_is_none_around_operators() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %s: [%n]desc, %a: [%n][~%s]i64) -> (%r: [%n]i64) {
           let (%ys: [%n]i64) = map %n (%s, %a) \\(%k: i64, %row: [%k]i64) -> (i64) {
             let (%c: bool) = lt.i64 (0i64, %k)
             let (%y: i64) = if %c then {
               let (%x: i64) = %row[0i64]
               let (%m: i64) = reduce %k (%row) \\(%v: i64) -> (i64) { in (%v) } op \\(%p: i64, %q: i64) -> (i64) {
                 let (%t: i64) = max.i64 (%p, %q)
                 in (%t)
               } neutral (%x)
               let (%d: i64) = sub.i64 (%m, %x)
               in (%d)
             } else { in (-1i64) }
             in (%y)
           }
           in (%ys)
         }",
        &[IF_CONVERSION]
    ));
}

#[test]
fn operators_that_may_fail_and_others_than_over_these_elements_stay() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %s: [%n]desc, %a: [%n][~%s]i64) -> (%r: [%n]i64, %u: [%n]i64) {
           let (%ys: [%n]i64, %zs: [%n]i64) = map %n (%s, %a) \\(%k: i64, %row: [%k]i64) -> (i64, i64) {
             let (%c: bool) = eq.i64 (%k, 0i64)
             let (%y: i64) = if %c then { in (0i64) } else {
               let (%m: i64) = reduce %k (%row) \\(%v: i64) -> (i64) {
                 let (%b: bool) = lt.i64 (%v, %n)
                 check %b bounds (%v, %n)
                 in (%v)
               } op \\(%p: i64, %q: i64) -> (i64) {
                 let (%t: i64) = max.i64 (%p, %q)
                 in (%t)
               } neutral (0i64)
               in (%m)
             }
             let (%z: i64) = if %c then { in (0i64) } else {
               let (%j: i64) = sub.i64 (%k, 1i64)
               let (%part: [%j]i64) = slice %row (0i64, %j, 1i64)
               let (%o: i64) = reduce %j (%part) \\(%w: i64) -> (i64) { in (%w) } op \\(%e: i64, %g: i64) -> (i64) {
                 let (%h: i64) = max.i64 (%e, %g)
                 in (%h)
               } neutral (0i64)
               in (%o)
             }
             in (%y, %z)
           }
           in (%ys, %zs)
         }",
        &[IF_CONVERSION]
    ));
}

#[test]
fn rows_that_are_written_out_are_chosen_element_by_element() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %a: [%n]i64) -> (%s: [%n]desc, %r: [%n][~%s]i64) {
           let (%t: [%n]desc, %ys: [%n][~%t]i64) = map %n (%a) \\(%x: i64) -> (i64, [%k]i64) {
             let (%c: bool) = lt.i64 (%x, 0i64)
             let (%k: i64, %y: [%k]i64) = if %c then {
               let (%l: [3]i64) = literal i64 [1i64, 2i64, 3i64]
               in (3i64, %l)
             } else {
               let (%d: bool) = lt.i64 (9i64, %x)
               let (%h: i64, %z: [%h]i64) = if %d then {
                 let (%e: [%x]i64) = replicate (%x, 7i64)
                 in (%x, %e)
               } else {
                 let (%w: i64) = add.i64 (%x, 1i64)
                 let (%g: [2]i64) = literal i64 [%x, %w]
                 in (2i64, %g)
               }
               in (%h, %z)
             }
             in (%k, %y)
           }
           in (%t, %ys)
         }",
        &[IF_CONVERSION]
    ));
}

#[test]
fn nothing_that_a_guard_holds_moves_past_a_check() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %s: [%n]desc, %a: [%n][~%s]i64, %m: i64, %t: [%m]i64, %at: [%n]i64) -> (%r: [%n]i64) {
           let (%ys: [%n]i64) = map %n (%s, %a, %at) \\(%k: i64, %row: [%k]i64, %i: i64) -> (i64) {
             let (%c: bool) = eq.i64 (%k, 0i64)
             let (%y: i64) = if %c then { in (0i64) } else {
               let (%b: bool) = lt.i64 (%i, %m)
               check %b bounds (%i, %m)
               let (%x: i64) = %t[%i]
               let (%z: i64) = reduce %k (%row) \\(%v: i64) -> (i64) { in (%v) } op \\(%p: i64, %q: i64) -> (i64) {
                 let (%u: i64) = max.i64 (%p, %q)
                 in (%u)
               } neutral (%x)
               in (%z)
             }
             in (%y)
           }
           in (%ys)
         }",
        &[IF_CONVERSION]
    ));
}
