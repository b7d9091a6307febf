//! Hoisting: what leaves a map or a loop, and what may not.

mod common;

use common::transformed;
use par_passes::pass::HOIST;

#[test]
fn an_invariant_reduction_leaves_the_map() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %xs: [%n]f32, %m: i64, %ys: [%m]f32) -> (%r: [%n]f32) {
           let (%zs: [%n]f32) = map %n (%xs) \\(%x: f32) -> (f32) {
             let (%is: [%m]i64) = iota %m
             let (%t: f32) = reduce %m (%is) \\(%i: i64) -> (f32) {
               let (%y: f32) = %ys[%i]
               in (%y)
             } op \\(%a: f32, %b: f32) -> (f32) {
               let (%c: f32) = add.f32 (%a, %b)
               in (%c)
             } neutral (0.0f32)
             let (%z: f32) = mul.f32 (%x, %t)
             in (%z)
           }
           in (%zs)
         }",
        &[HOIST]
    ));
}

#[test]
fn what_a_check_guards_stays() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %xs: [%n]f32, %m: i64, %ys: [%m]f32, %j: i64, %d: i64) -> (%r: [%n]f32) {
           let (%zs: [%n]f32) = map %n (%xs) \\(%x: f32) -> (f32) {
             let (%c: bool) = lt.i64 (%j, %m)
             check %c bounds (%j, %m)
             let (%y: f32) = %ys[%j]
             let (%e: f32) = exp.f32 (%y)
             let (%q: i64) = div.i64 (%m, %d)
             let (%qs: [%q]i64) = iota %q
             let (%s: i64) = reduce %q (%qs) \\(%i: i64) -> (i64) { in (%i) } op \\(%a: i64, %b: i64) -> (i64) {
               let (%o: i64) = add.i64 (%a, %b)
               in (%o)
             } neutral (0i64)
             let (%sf: f32) = conv.i64.f32 (%s)
             let (%z: f32) = mul.f32 (%e, %sf)
             in (%z)
           }
           in (%zs)
         }",
        &[HOIST]
    ));
}

#[test]
fn a_table_leaves_the_loop() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %k: i64) -> (%r: i64) {
           let (%s: i64) = loop (%acc: i64 = 0i64) for %i: i64 < %n do {
             let (%t: [3i64]i64) = literal i64 [4i64, %k, 6i64]
             let (%j: i64) = mod.i64 (%i, 3i64)
             let (%x: i64) = %t[%j]
             let (%acc2: i64) = add.i64 (%acc, %x)
             in (%acc2)
           }
           in (%s)
         }",
        &[HOIST]
    ));
}

#[test]
fn what_depends_on_rows_further_in_leaves_all_maps_around() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %d: i64, %ps: [%n][%d]f32, %k: i64, %ws: [%k][%d]f32) -> (%r: [%n][%k]f32) {
           let (%zs: [%n][%k]f32) = map %n (%ps) \\(%p: [%d]f32) -> ([%k]f32) {
             let (%ys: [%k]f32) = map %k (%ws) \\(%w: [%d]f32) -> (f32) {
               let (%t: f32) = reduce %d (%p, %w) \\(%x: f32, %v: f32) -> (f32) {
                 let (%e: f32) = exp.f32 (%v)
                 let (%q: f32) = mul.f32 (%e, %x)
                 in (%q)
               } op \\(%a: f32, %b: f32) -> (f32) {
                 let (%c: f32) = add.f32 (%a, %b)
                 in (%c)
               } neutral (0.0f32)
               in (%t)
             }
             in (%ys)
           }
           in (%zs)
         }",
        &[HOIST]
    ));
}

#[test]
fn what_depends_on_inner_rows_only_leaves_the_outer_map() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %xs: [%n]f32, %m: i64, %ys: [%m]f32, %ws: [%n][%m]f32) -> (%r: [%n]f32) {
           let (%zs: [%n]f32) = map %n (%xs, %ws) \\(%x: f32, %w: [%m]f32) -> (f32) {
             let (%t: f32) = reduce %m (%ys, %w) \\(%y: f32, %v: f32) -> (f32) {
               let (%h: f32) = mul.f32 (%y, 0.5f32)
               let (%e: f32) = exp.f32 (%h)
               let (%o: f32) = exp.f32 (%v)
               let (%p: f32) = mul.f32 (%e, %x)
               let (%q: f32) = mul.f32 (%p, %o)
               in (%q)
             } op \\(%a: f32, %b: f32) -> (f32) {
               let (%c: f32) = add.f32 (%a, %b)
               in (%c)
             } neutral (0.0f32)
             in (%t)
           }
           in (%zs)
         }",
        &[HOIST]
    ));
}

#[test]
fn how_often_a_loop_repeats_is_known_before() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %xs: [%n]i64, %t: i64) -> (%r: [%n]i64) {
           let (%zs: [%n]i64) = map %n (%xs) \\(%x: i64) -> (i64) {
             let (%k: i32) = conv.i64.i32 (%t)
             let (%y: i64) = loop (%s: i64 = %x) for %i: i32 < %k do {
               let (%d: i64) = add.i64 (%s, %s)
               in (%d)
             }
             in (%y)
           }
           in (%zs)
         }",
        &[HOIST]
    ));
}

#[test]
fn a_table_that_an_arm_reads_leaves_it_and_the_map() {
    let shown = |arm: &str| {
        transformed(
            &format!(
                "fun f@0 (%n: i64, %xs: [%n]i64) -> (%r: [%n]i64) {{
                   let (%zs: [%n]i64) = map %n (%xs) \\(%x: i64) -> (i64) {{
                     let (%c: bool) = lt.i64 (%x, 3i64)
                     let (%y: i64) = if %c then {{
                       let (%t: [3i64]i64) = literal i64 [4i64, 5i64, 6i64]
                       {arm}
                     }} else {{ in (0i64) }}
                     in (%y)
                   }}
                   in (%zs)
                 }}"
            ),
            &[HOIST],
        )
    };
    assert_shows!(shown("let (%e: i64) = %t[%x] in (%e)"));
    // Rows that an arm makes stay: other passes look for them.
    let summed = shown(
        "let (%e: i64) = reduce 3i64 (%t) \\(%i: i64) -> (i64) { in (%i) } op \\(%a: i64, %b: i64) -> (i64) {
           let (%o: i64) = add.i64 (%a, %b)
           in (%o)
         } neutral (0i64)
         in (%e)",
    );
    let after = summed.split("=>").nth(1).expect("before and after");
    assert!(after.find("literal") > after.find("map"), "{after}");
}

#[test]
fn an_array_whose_size_is_half_of_another_leaves_the_map() {
    let made = |size: &str| {
        let shown = transformed(
            &format!(
                "fun f@0 (%n: i64, %xs: [%n]i64, %d: i64) -> (%r: [%n]i64) {{
                   let (%h: i64) = {size}
                   let (%zs: [%n]i64) = map %n (%xs) \\(%x: i64) -> (i64) {{
                     let (%is: [%h]i64) = iota %h
                     let (%s: i64) = reduce %h (%is) \\(%i: i64) -> (i64) {{ in (%i) }} op \\(%a: i64, %b: i64) -> (i64) {{
                       let (%o: i64) = add.i64 (%a, %b)
                       in (%o)
                     }} neutral (0i64)
                     let (%z: i64) = mul.i64 (%x, %s)
                     in (%z)
                   }}
                   in (%zs)
                 }}"
            ),
            &[HOIST],
        );
        let after = shown.split("=>").nth(1).expect("before and after").to_string();
        after.find("reduce") < after.find("map")
    };
    for size in ["div.i64 (%n, 2i64)", "add.i64 (%n, 1i64)", "max.i64 (%d, 0i64)", "min.i64 (%n, 5i64)"] {
        assert!(made(size), "{size}");
    }
    for size in [
        "div.i64 (%n, -2i64)",
        "div.i64 (%n, %d)",
        "add.i64 (%n, %d)",
        "min.i64 (%n, %d)",
        "sub.i64 (%n, 1i64)",
    ] {
        assert!(!made(size), "{size}");
    }
}
