//! Reads before the updates that replace what they read.

mod common;

use common::transformed;
use par_passes::pass::READS;

#[test]
fn the_old_version_is_read_before_the_update() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %xs: [%n]i64, %k: i64, %l: i64) -> (%r: [%n]i64) {
           let (%a: i64) = %xs[%k]
           let (%ys: [%n]i64) = %xs with [%l] = %a
           let (%m: i64) = add.i64 (%l, 1i64)
           let (%ok: bool) = lt.i64 (%m, %n)
           check %ok bounds (%m, %n)
           let (%b: i64) = %xs[%m]
           let (%c: i64) = %ys[%k]
           let (%d: i64) = add.i64 (%b, %c)
           let (%zs: [%n]i64) = %ys with [%k] = %d
           in (%zs)
         }",
        &[READS],
    ));
}

#[test]
fn a_read_that_depends_on_the_update_stays() {
    let shown = transformed(
        "fun f@0 (%n: i64, %xs: [%n]i64, %k: i64) -> (%r: [%n]i64) {
           let (%ys: [%n]i64) = %xs with [%k] = 1i64
           let (%c: i64) = %ys[%k]
           let (%b: i64) = %xs[%c]
           let (%zs: [%n]i64) = %ys with [%k] = %b
           in (%zs)
         }",
        &[READS],
    );
    let (before, after) = shown.split_once("\n=>\n\n").expect("both programs");
    assert_eq!(before.trim(), after.trim());
}
