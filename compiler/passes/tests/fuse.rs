//! Fusion: which pairs become one operator, and which may not.

mod common;

use common::transformed;
use par_passes::pass::FUSE;

fn fused(text: &str) -> String {
    transformed(text, &[FUSE])
}

#[test]
fn maps_disappear_into_a_reduction() {
    assert_shows!(fused(
        "fun f@0 (%n: i64, %xs: [%n]f32, %ys: [%n]f32) -> (%r: f32) {
           let (%as: [%n]f32) = map %n (%xs, %ys) \\(%x: f32, %y: f32) -> (f32) {
             let (%a: f32) = mul.f32 (%x, %y)
             in (%a)
           }
           let (%bs: [%n]f32) = map %n (%as, %xs) \\(%a2: f32, %x2: f32) -> (f32) {
             let (%b: f32) = add.f32 (%a2, %x2)
             in (%b)
           }
           let (%s: f32) = reduce %n (%bs) \\(%b2: f32) -> (f32) { in (%b2) } op \\(%u: f32, %v: f32) -> (f32) {
             let (%w: f32) = add.f32 (%u, %v)
             in (%w)
           } neutral (0.0f32)
           in (%s)
         }"
    ));
}

#[test]
fn a_result_used_again_stays_a_result() {
    assert_shows!(fused(
        "fun f@0 (%n: i64, %xs: [%n]f32) -> (%r: [%n]f32, %q: f32) {
           let (%es: [%n]f32) = map %n (%xs) \\(%x: f32) -> (f32) {
             let (%e: f32) = exp.f32 (%x)
             in (%e)
           }
           let (%s: f32) = reduce %n (%es) \\(%e2: f32) -> (f32) { in (%e2) } op \\(%u: f32, %v: f32) -> (f32) {
             let (%w: f32) = add.f32 (%u, %v)
             in (%w)
           } neutral (0.0f32)
           let (%ys: [%n]f32) = map %n (%es) \\(%e3: f32) -> (f32) {
             let (%y: f32) = div.f32 (%e3, %s)
             in (%y)
           }
           in (%ys, %s)
         }"
    ));
}

#[test]
fn ragged_rows_never_exist() {
    assert_shows!(fused(
        "fun f@0 (%n: i64, %ks: [%n]i64) -> (%r: [%n]i64) {
           let (%s: [%n]desc, %yss: [%n][~%s]i64) = map %n (%ks) \\(%k: i64) -> (i64, [%k]i64) {
             let (%is: [%k]i64) = iota %k
             let (%ys: [%k]i64) = map %k (%is) \\(%i: i64) -> (i64) {
               let (%y: i64) = mul.i64 (%i, %i)
               in (%y)
             }
             in (%k, %ys)
           }
           let (%ts: [%n]i64) = map %n (%s, %yss) \\(%m: i64, %row: [%m]i64) -> (i64) {
             let (%t: i64) = reduce %m (%row) \\(%z: i64) -> (i64) { in (%z) } op \\(%u: i64, %v: i64) -> (i64) {
               let (%w: i64) = add.i64 (%u, %v)
               in (%w)
             } neutral (0i64)
             in (%t)
           }
           in (%ts)
         }"
    ));
}

#[test]
fn a_descriptor_in_other_types_stays() {
    assert_shows!(fused(
        "fun f@0 (%n: i64, %ks: [%n]i64) -> (%s0: [%n]desc, %r: [%n][~%s0]i64) {
           let (%s: [%n]desc, %yss: [%n][~%s]i64) = map %n (%ks) \\(%k: i64) -> (i64, [%k]i64) {
             let (%is: [%k]i64) = iota %k
             in (%k, %is)
           }
           let (%zss: [%n][~%s]i64) = map %n (%s, %yss) \\(%m: i64, %row: [%m]i64) -> ([%m]i64) {
             let (%zs: [%m]i64) = map %m (%row) \\(%a: i64) -> (i64) {
               let (%z: i64) = add.i64 (%a, 1i64)
               in (%z)
             }
             in (%zs)
           }
           in (%s, %zss)
         }"
    ));
}

#[test]
fn neighbours_share_their_reads() {
    assert_shows!(fused(
        "fun f@0 (%n: i64, %xs: [%n]f32) -> (%r: f32, %q: f32, %p: [%n]f32) {
           let (%s: f32) = reduce %n (%xs) \\(%a: f32) -> (f32) { in (%a) } op \\(%u: f32, %v: f32) -> (f32) {
             let (%w: f32) = add.f32 (%u, %v)
             in (%w)
           } neutral (0.0f32)
           let (%ys: [%n]f32) = map %n (%xs) \\(%b: f32) -> (f32) {
             let (%y: f32) = sqrt.f32 (%b)
             in (%y)
           }
           let (%t: f32) = reduce %n (%xs) \\(%c: f32) -> (f32) { in (%c) } op \\(%g: f32, %h: f32) -> (f32) {
             let (%m: f32) = max.f32 (%g, %h)
             in (%m)
           } neutral (-f32.inf)
           in (%s, %t, %ys)
         }"
    ));
}

#[test]
fn nothing_sinks_below_a_later_failure_or_an_update() {
    assert_shows!(fused(
        "fun f@0 (%n: i64, %xs: [%n]i64, %p: bool) -> (%r: [%n]i64, %q: [%n]i64) {
           let (%as: [%n]i64) = map %n (%xs) \\(%x: i64) -> (i64) {
             let (%ok: bool) = ne.i64 (%x, 0i64)
             check %ok division_by_zero ()
             let (%a: i64) = div.i64 (100i64, %x)
             in (%a)
           }
           check %p assert \"p\" ()
           let (%bs: [%n]i64) = map %n (%as) \\(%a2: i64) -> (i64) {
             let (%b: i64) = add.i64 (%a2, 1i64)
             in (%b)
           }
           let (%cs: [%n]i64) = map %n (%xs) \\(%x2: i64) -> (i64) {
             let (%c: i64) = add.i64 (%x2, 2i64)
             in (%c)
           }
           let (%ds: [%n]i64) = scatter (%xs) %n (%cs) \\(%c2: i64) -> (i64, i64) { in (%c2, 7i64) }
           in (%bs, %ds)
         }"
    ));
}

#[test]
fn a_change_of_type_does_not_separate() {
    assert_shows!(fused(
        "fun f@0 (%k: i64, %s: [%k]desc, %xss: [%k][~%s]f32, %n: i64, %ys: [%n]f32) -> (%r: f32) {
           let (%c: bool) = eq.i64 (%k, %n)
           let (%as: [%k]f32) = map %k (%s, %xss) \\(%l: i64, %xs: [%l]f32) -> (f32) {
             let (%a: f32) = reduce %l (%xs) \\(%x: f32) -> (f32) { in (%x) } op \\(%u0: f32, %v0: f32) -> (f32) {
               let (%w0: f32) = add.f32 (%u0, %v0)
               in (%w0)
             } neutral (0.0f32)
             in (%a)
           }
           let (%bs: [%k]f32) = map %k (%as) \\(%a2: f32) -> (f32) {
             let (%b: f32) = sqrt.f32 (%a2)
             in (%b)
           }
           check %c size_mismatch \"map2\" (%k, %n)
           let (%bs2: [%n]f32) = %bs
           let (%t: f32) = reduce %n (%bs2, %ys) \\(%b2: f32, %y: f32) -> (f32) {
             let (%p: f32) = mul.f32 (%b2, %y)
             in (%p)
           } op \\(%u: f32, %v: f32) -> (f32) {
             let (%w: f32) = add.f32 (%u, %v)
             in (%w)
           } neutral (0.0f32)
           in (%t)
         }"
    ));
}

#[test]
fn scalar_producers_enter_every_consumer() {
    assert_shows!(fused(
        "fun f@0 (%n: i64, %xs: [%n]i64, %d: [10i64]i64, %h: [10i64]i64)
           -> (%a: [%n]i64, %k: i64, %b: [%k]i64, %c: [10i64]i64, %e: [10i64]i64) {
           let (%as: [%n]i64) = map %n (%xs) \\(%x1: i64) -> (i64) {
             let (%y1: i64) = mul.i64 (%x1, 2i64)
             in (%y1)
           }
           let (%sc: [%n]i64) = scan %n (%as) \\(%z1: i64) -> (i64) { in (%z1) } op \\(%u: i64, %v: i64) -> (i64) {
             let (%w: i64) = add.i64 (%u, %v)
             in (%w)
           } neutral (0i64)
           let (%bs: [%n]i64) = map %n (%xs) \\(%x2: i64) -> (i64) {
             let (%y2: i64) = mul.i64 (%x2, 3i64)
             in (%y2)
           }
           let (%m: i64, %fs: [%m]i64) = filter %n (%bs) \\(%z2: i64) -> (bool, i64) {
             let (%p: bool) = lt.i64 (%z2, 9i64)
             in (%p, %z2)
           }
           let (%cs: [%n]i64) = map %n (%xs) \\(%x3: i64) -> (i64) {
             let (%y3: i64) = mod.i64 (%x3, 10i64)
             in (%y3)
           }
           let (%ws: [10i64]i64) = scatter (%d) %n (%cs) \\(%z3: i64) -> (i64, i64) { in (%z3, 1i64) }
           let (%es: [%n]i64) = map %n (%xs) \\(%x4: i64) -> (i64) {
             let (%y4: i64) = mod.i64 (%x4, 7i64)
             in (%y4)
           }
           let (%hs: [10i64]i64) = hist (%h) %n (%es) \\(%z4: i64) -> (i64, i64) { in (%z4, 1i64) }
             op \\(%g: i64, %i: i64) -> (i64) {
               let (%j: i64) = add.i64 (%g, %i)
               in (%j)
             } neutral (0i64)
           in (%sc, %m, %fs, %ws, %hs)
         }"
    ));
}

#[test]
fn a_producer_that_is_read_by_index_stays() {
    assert_shows!(fused(
        "fun f@0 (%n: i64, %xs: [%n]i64, %is: [%n]i64) -> (%r: [%n]i64) {
           let (%as: [%n]i64) = map %n (%xs) \\(%x: i64) -> (i64) {
             let (%a: i64) = mul.i64 (%x, 2i64)
             in (%a)
           }
           let (%bs: [%n]i64) = map %n (%as, %is) \\(%a2: i64, %i: i64) -> (i64) {
             let (%l: bool) = le.i64 (0i64, %i)
             let (%u: bool) = lt.i64 (%i, %n)
             let (%ok: bool) = and.bool (%l, %u)
             check %ok bounds (%i, %n)
             let (%b: i64) = %as[%i]
             let (%c: i64) = add.i64 (%a2, %b)
             in (%c)
           }
           in (%bs)
         }"
    ));
}

#[test]
fn what_a_reduction_passes_on_is_reduced_with_it() {
    assert_shows!(fused(
        "fun f@0 (%n: i64, %xs: [%n]i64) -> (%ra: i64, %rb: i64, %rc: [%n]i64) {
           let (%ys: [%n]i64, %zs: [%n]i64) = map %n (%xs) \\(%x: i64) -> (i64, i64) {
             let (%y: i64) = add.i64 (%x, 1i64)
             let (%z: i64) = mul.i64 (%x, 3i64)
             in (%y, %z)
           }
           let (%a: i64) = reduce %n (%ys) \\(%u: i64) -> (i64) {
             in (%u)
           } op \\(%p: i64, %q: i64) -> (i64) {
             let (%s: i64) = add.i64 (%p, %q)
             in (%s)
           } neutral (0i64)
           let (%b: i64) = reduce %n (%zs) \\(%v: i64) -> (i64) {
             in (%v)
           } op \\(%p2: i64, %q2: i64) -> (i64) {
             let (%s2: i64) = max.i64 (%p2, %q2)
             in (%s2)
           } neutral (0i64)
           let (%c: [%n]i64) = map %n (%zs) \\(%w: i64) -> (i64) {
             let (%d: i64) = sub.i64 (%w, %b)
             in (%d)
           }
           in (%a, %b, %c)
         }"
    ));
}

#[test]
fn of_a_map_of_which_one_row_is_used_that_row_is_made() {
    assert_shows!(transformed(
        "fun main@0 (%n: i64, %s: [%n]desc, %xss: [%n][~%s]i64, %i: i64, %j: i64) -> (%k: i64, %r: [%k]i64, %x: i64)
           entry main (xss: [][~]i64, i: i64, j: i64) -> ([]i64, i64)
         {
           let (%ts: [%n]desc, %yss: [%n][~%ts]i64) = map %n (%s, %xss) \\(%m: i64, %row: [%m]i64) -> (i64, [%m]i64) {
             let (%ys: [%m]i64) = map %m (%row) \\(%a: i64) -> (i64) {
               let (%b: i64) = mul.i64 (%a, %j)
               in (%b)
             }
             in (%m, %ys)
           }
           let (%lo: bool) = le.i64 (0i64, %i)
           let (%hi: bool) = lt.i64 (%i, %n)
           let (%both: bool) = and.bool (%lo, %hi)
           check %both bounds (%i, %n)
           let (%k1: i64) = %ts[%i]
           let (%r1: [%k1]i64) = %yss[%i]
           let (%x1: i64) = %yss[%i, %j]
           in (%k1, %r1, %x1)
         }",
        &[FUSE]
    ));
}

#[test]
fn elements_that_loops_read_are_computed_there() {
    assert_shows!(fused(
        "fun f@0 (%n: i64, %m: i64, %xss: [%n][%m]i64) -> (%r: [%n]i64) {
           let (%as: [%n]i64) = map %n (%xss) \\(%xs: [%m]i64) -> (i64) {
             let (%ys: [%m]i64) = map %m (%xs) \\(%x: i64) -> (i64) {
               let (%y: i64) = mul.i64 (%x, 3i64)
               in (%y)
             }
             let (%a: i64) = loop (%s: i64 = 0i64) for %i: i64 < %m do {
               let (%e: i64) = %ys[%i]
               let (%t: i64) = add.i64 (%s, %e)
               in (%t)
             }
             in (%a)
           }
           in (%as)
         }"
    ));
}

/// Rows, of which columns are summed; `again` is used, too.
fn columns(again: &str) -> String {
    fused(&format!(
        "fun f@0 (%n: i64, %m: i64, %xss: [%n][%m]f32) -> (%r: [%m]f32, %q: {again}) {{
           let (%rows: [%n][%m]f32) = map %n (%xss) \\(%xs: [%m]f32) -> ([%m]f32) {{
             let (%t: f32) = reduce %m (%xs) \\(%x: f32) -> (f32) {{ in (%x) }} op \\(%u: f32, %v: f32) -> (f32) {{
               let (%w: f32) = add.f32 (%u, %v)
               in (%w)
             }} neutral (0.0f32)
             let (%row: [%m]f32) = map %m (%xs) \\(%x2: f32) -> (f32) {{
               let (%y: f32) = mul.f32 (%x2, %t)
               in (%y)
             }}
             in (%row)
           }}
           let (%is: [%n]i64) = iota %n
           let (%js: [%m]i64) = iota %m
           let (%sums: [%m]f32) = map %m (%js) \\(%j: i64) -> (f32) {{
             let (%s: f32) = reduce %n (%is) \\(%i: i64) -> (f32) {{
               let (%e: f32) = %rows[%i, %j]
               in (%e)
             }} op \\(%a: f32, %b: f32) -> (f32) {{
               let (%c: f32) = add.f32 (%a, %b)
               in (%c)
             }} neutral (0.0f32)
             in (%s)
           }}
           in (%sums, {})
         }}",
        if again == "f32" { "0.0f32" } else { "%rows" }
    ))
}

#[test]
fn rows_of_which_columns_are_summed_never_exist() {
    assert_shows!(columns("f32"));
}

#[test]
fn rows_that_are_used_again_are_stored() {
    assert_shows!(columns("[%n][%m]f32"));
}

/// A product of two matrices for each row, or in a loop, as `body` says.
fn products(body: &str) -> String {
    fused(&format!(
        "fun f@0 (%n: i64, %a: [%n][%n]f32, %b: [%n][%n]f32, %t: i64) -> (%r: [%n][%n]f32) {{
           let (%is: [%n]i64) = iota %n
           let (%bt: [%n][%n]f32) = map %n (%is) \\(%j: i64) -> ([%n]f32) {{
             let (%row: [%n]f32) = map %n (%is) \\(%i: i64) -> (f32) {{
               let (%e: f32) = %b[%i, %j]
               in (%e)
             }}
             in (%row)
           }}
           {body}
           in (%c)
         }}"
    ))
}

const PRODUCT: &str = "map %n (%a) \\(%x: [%n]f32) -> ([%n]f32) {
             let (%z: [%n]f32) = map %n (%bt) \\(%y: [%n]f32) -> (f32) {
               let (%s: f32) = reduce %n (%x, %y) \\(%p: f32, %q: f32) -> (f32) {
                 let (%pq: f32) = mul.f32 (%p, %q)
                 in (%pq)
               } op \\(%u: f32, %v: f32) -> (f32) {
                 let (%w: f32) = add.f32 (%u, %v)
                 in (%w)
               } neutral (0.0f32)
               in (%s)
             }
             in (%z)
           }";

#[test]
fn exchanged_dimensions_are_read_where_they_are() {
    assert_shows!(products(&format!("let (%c: [%n][%n]f32) = {PRODUCT}")));
}

/// Once for all iterations, if it is not for each row of a nest.
#[test]
fn exchanged_dimensions_are_made_before_a_loop() {
    assert_shows!(products(&format!(
        "let (%c: [%n][%n]f32) = loop (%k: [%n][%n]f32 = %a) for %l: i64 < %t do {{
           let (%m: [%n][%n]f32) = {}
           in (%m)
         }}",
        PRODUCT.replace("%a", "%k")
    )));
}

#[test]
fn reductions_rise_to_the_first_but_past_no_check() {
    let reduce = |name: &str, value: &str| {
        format!(
            "let (%{name}: i64) = reduce %n (%xs) \\(%x{name}: i64) -> (i64) {{ {value} }} op \\(%a{name}: i64, %b{name}: i64) -> (i64) {{
               let (%c{name}: i64) = add.i64 (%a{name}, %b{name})
               in (%c{name})
             }} neutral (0i64)"
        )
    };
    let [first, second] =
        [reduce("r", "in (%xr)"), reduce("s", "let (%y: i64) = mul.i64 (%xs1, %xs1) in (%y)")];
    let second = second.replace("%xs1", "%xss").replace("%xs: i64", "%xss: i64");
    let third = reduce("t", "let (%z: i64) = %ys[%k] let (%w: i64) = add.i64 (%xt, %z) in (%w)");
    assert_shows!(fused(&format!(
        "fun f@0 (%n: i64, %xs: [%n]i64, %m: i64, %ys: [%m]i64, %k: i64) -> (%o: i64, %p: i64, %q: i64) {{
           {first}
           let (%twice: i64) = mul.i64 (%r, 2i64)
           {second}
           let (%ok: bool) = lt.i64 (%k, %m)
           check %ok bounds (%k, %m)
           {third}
           in (%twice, %s, %t)
         }}"
    )));
}
