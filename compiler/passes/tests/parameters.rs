//! Known parameters: what all calls give as the same constant is no parameter.

mod common;

use common::transformed;
use par_passes::pass::PARAMETERS;

#[test]
fn constants_that_calls_pass_on_are_no_parameters() {
    assert_shows!(transformed(
        "fun h@0 (%a: i64, %b: i64, %zs: [%a][%b]i64) -> (%o: i64) entry main (zs: [a][b]i64) -> i64 {
           let (%ok: bool) = eq.i64 (%b, 3i64)
           check %ok size_mismatch \"size of zs\" (%b, 3i64)
           let (%same: [%a][3]i64) = %zs
           let (%v: i64) = call @1 (%a, 3i64, %same, 2i64, 1i64)
           let (%c: i64) = call @1 (%a, 3i64, %same, 3i64, 1i64)
           let (%sum: i64) = add.i64 (%v, %c)
           in (%sum)
         }
         fun f@1 (%n: i64, %m: i64, %xs: [%n][%m]i64, %d: i64, %one: i64) -> (%r: i64) {
           let (%end: bool) = le.i64 (%d, 0i64)
           let (%s: i64) = if %end then {
             let (%x: i64) = %xs[0i64, 2i64]
             in (%x)
           } else {
             let (%e: i64) = sub.i64 (%d, %one)
             let (%t: i64) = call @2 (%m, %e, %one, %n, %xs)
             in (%t)
           }
           in (%s)
         }
         fun g@2 (%w: i64, %k: i64, %step: i64, %rows: i64, %ys: [%rows][%w]i64) -> (%p: i64) {
           let (%u: i64) = call @1 (%rows, %w, %ys, %k, %step)
           let (%z: i64) = add.i64 (%u, %w)
           in (%z)
         }",
        &[PARAMETERS],
    ));
}

#[test]
fn a_constant_that_one_call_does_not_pass_stays_a_parameter() {
    let shown = transformed(
        "fun h@0 (%a: i64) -> (%o: i64) entry main (a: i64) -> i64 {
           let (%v: i64) = call @1 (%a, 3i64)
           in (%v)
         }
         fun f@1 (%d: i64, %k: i64) -> (%r: i64) {
           let (%end: bool) = le.i64 (%d, 0i64)
           let (%s: i64) = if %end then { in (%k) } else {
             let (%e: i64) = sub.i64 (%d, 1i64)
             let (%other: i64) = add.i64 (%k, 1i64)
             let (%t: i64) = call @1 (%e, %other)
             in (%t)
           }
           in (%s)
         }",
        &[PARAMETERS],
    );
    let (before, after) = shown.split_once("\n=>\n\n").expect("both programs");
    assert_eq!(before.trim(), after.trim());
}
