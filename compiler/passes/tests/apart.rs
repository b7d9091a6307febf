//! Numbers that nests give are computed apart from what results in arrays.

mod common;

use common::transformed;
use par_passes::pass::APART;

/// The nearest of some rows: which it is comes from a map of its own, that of the rows then takes it.
#[test]
fn a_number_from_nested_operators_leaves_the_map() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %d: i64, %ps: [%n][%d]f64, %k: i64, %cs: [%k][%d]f64) -> (%r: [%n][%d]f64)
         {
           let (%ys: [%n][%d]f64) = map %n (%ps) \\(%p: [%d]f64) -> ([%d]f64) {
             let (%m: f64) = reduce %k (%cs) \\(%c: [%d]f64) -> (f64) {
               let (%s: f64) = reduce %d (%p, %c) \\(%x: f64, %y: f64) -> (f64) {
                 let (%t: f64) = mul.f64 (%x, %y)
                 in (%t)
               } op \\(%a: f64, %b: f64) -> (f64) { let (%ab: f64) = add.f64 (%a, %b) in (%ab) } neutral (0.0f64)
               in (%s)
             } op \\(%e: f64, %g: f64) -> (f64) { let (%eg: f64) = min.f64 (%e, %g) in (%eg) } neutral (f64.inf)
             let (%q: [%d]f64) = map %d (%p) \\(%z: f64) -> (f64) {
               let (%zm: f64) = mul.f64 (%z, %m)
               in (%zm)
             }
             in (%q)
           }
           in (%ys)
         }",
        &[APART]
    ));
}

/// A sum of a row is one operator: it stays, and so does what may fail.
#[test]
fn what_is_flat_or_may_fail_stays() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %d: i64, %ps: [%n][%d]f64, %k: i64, %cs: [%k][%d]f64) -> (%r: [%n][%d]f64, %r2: [%n][%d]f64)
         {
           let (%ys: [%n][%d]f64) = map %n (%ps) \\(%p: [%d]f64) -> ([%d]f64) {
             let (%m: f64) = reduce %d (%p) \\(%x: f64) -> (f64) { in (%x) }
               op \\(%a: f64, %b: f64) -> (f64) { let (%ab: f64) = add.f64 (%a, %b) in (%ab) } neutral (0.0f64)
             let (%q: [%d]f64) = map %d (%p) \\(%z: f64) -> (f64) { let (%zm: f64) = mul.f64 (%z, %m) in (%zm) }
             in (%q)
           }
           let (%zs: [%n][%d]f64) = map %n (%ps) \\(%p2: [%d]f64) -> ([%d]f64) {
             let (%m2: f64) = reduce %k (%cs) \\(%c: [%d]f64) -> (f64) {
               let (%s: f64) = reduce %d (%p2, %c) \\(%x2: f64, %y: f64) -> (f64) {
                 let (%ok: bool) = lt.f64 (%x2, %y)
                 check %ok division_by_zero ()
                 in (%x2)
               } op \\(%a2: f64, %b2: f64) -> (f64) { let (%ab2: f64) = add.f64 (%a2, %b2) in (%ab2) } neutral (0.0f64)
               in (%s)
             } op \\(%e: f64, %g: f64) -> (f64) { let (%eg: f64) = min.f64 (%e, %g) in (%eg) } neutral (f64.inf)
             let (%q2: [%d]f64) = map %d (%p2) \\(%z2: f64) -> (f64) { let (%zm2: f64) = mul.f64 (%z2, %m2) in (%zm2) }
             in (%q2)
           }
           in (%ys, %zs)
         }",
        &[APART]
    ));
}
