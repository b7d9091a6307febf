//! All CORE passes in their order.

mod common;

use common::transformed;
use par_passes::pass::{CORE_PASSES, SIMPLIFY, TINY};

#[test]
fn a_sparse_product_is_one_nest() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %s: [%n]desc, %cols: [%n][~%s]i64, %vals: [%n][~%s]f32, %m: i64, %v: [%m]f32)
           -> (%r: [%n]f32) {
           let (%ys: [%n]f32) = map %n (%s, %cols, %vals) \\(%k: i64, %cs: [%k]i64, %xs: [%k]f32) -> (f32) {
             let (%gs: [%k]f32) = map %k (%cs) \\(%c: i64) -> (f32) {
               let (%l: bool) = le.i64 (0i64, %c)
               let (%u: bool) = lt.i64 (%c, %m)
               let (%ok: bool) = and.bool (%l, %u)
               check %ok bounds (%c, %m)
               let (%g: f32) = %v[%c]
               in (%g)
             }
             let (%ps: [%k]f32) = map %k (%gs, %xs) \\(%g2: f32, %x: f32) -> (f32) {
               let (%p: f32) = mul.f32 (%g2, %x)
               in (%p)
             }
             let (%t: f32) = reduce %k (%ps) \\(%p2: f32) -> (f32) { in (%p2) } op \\(%a: f32, %b: f32) -> (f32) {
               let (%w: f32) = add.f32 (%a, %b)
               in (%w)
             } neutral (0.0f32)
             in (%t)
           }
           in (%ys)
         }",
        CORE_PASSES
    ));
}

#[test]
fn means_and_variances_share_one_sweep() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %xs: [%n]f64) -> (%r: f64, %q: f64) {
           let (%c: bool) = lt.i64 (0i64, %n)
           check %c empty \"mean\" ()
           let (%is: [%n]i64) = iota %n
           let (%as: [%n]f64) = map %n (%is) \\(%i: i64) -> (f64) {
             let (%l: bool) = le.i64 (0i64, %i)
             let (%u: bool) = lt.i64 (%i, %n)
             let (%ok: bool) = and.bool (%l, %u)
             check %ok bounds (%i, %n)
             let (%a: f64) = %xs[%i]
             in (%a)
           }
           let (%s: f64) = reduce %n (%as) \\(%x: f64) -> (f64) { in (%x) } op \\(%d: f64, %e: f64) -> (f64) {
             let (%g: f64) = add.f64 (%d, %e)
             in (%g)
           } neutral (0.0f64)
           let (%bs: [%n]f64) = map %n (%xs) \\(%y: f64) -> (f64) {
             let (%one: f64) = mul.f64 (1.0f64, %y)
             let (%b: f64) = mul.f64 (%one, %y)
             in (%b)
           }
           let (%t: f64) = reduce %n (%bs) \\(%z: f64) -> (f64) { in (%z) } op \\(%h: f64, %j: f64) -> (f64) {
             let (%k: f64) = add.f64 (%h, %j)
             in (%k)
           } neutral (0.0f64)
           in (%s, %t)
         }",
        CORE_PASSES
    ));
}

/// One whose state is an array with room for more than a few elements stays, and so does one around it.
#[test]
fn loops_of_a_few_iterations_are_written_out() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %xs: [%n]i64, %yss: [%n][40]i64) -> (%r: [%n]i64, %q: [%n][40]i64) {
           let (%is: [%n]i64) = iota %n
           let (%ys: [%n]i64) = map %n (%is) \\(%i: i64) -> (i64) {
             let (%s: i64) = loop (%t: i64 = 0i64) for %j: i64 < 3i64 do {
               let (%k: i64) = mul.i64 (%i, %j)
               let (%odd: bool) = eq.i64 (%j, 1i64)
               let (%u: i64) = select.i64 (%odd, %k, %t)
               let (%v: i64) = add.i64 (%u, %j)
               in (%v)
             }
             in (%s)
           }
           let (%zss: [%n][40]i64) = map %n (%yss) \\(%row: [40]i64) -> ([40]i64) {
             let (%new: [40]i64) = loop (%a: [40]i64 = %row) for %j2: i64 < 2i64 do {
               let (%x: i64) = loop (%b: i64 = 0i64) for %j3: i64 < 2i64 do {
                 let (%c: i64) = add.i64 (%b, %j3)
                 in (%c)
               }
               let (%d: [40]i64) = %a with [%j2] = %x
               in (%d)
             }
             in (%new)
           }
           in (%ys, %zss)
         }",
        &[TINY, SIMPLIFY]
    ));
}
