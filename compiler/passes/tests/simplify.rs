//! The simplifier: each test is one rewriting, before and after.

mod common;

use common::transformed;
use par_passes::pass::SIMPLIFY;

fn simplified(text: &str) -> String {
    transformed(text, &[SIMPLIFY])
}

#[test]
fn arithmetic_is_folded() {
    assert_shows!(simplified(
        "fun f@0 (%x: i64, %y: f32) -> (%r: i64, %q: f32) {
           let (%a: i64) = add.i64 (2i64, 3i64)
           let (%b: i64) = mul.i64 (1i64, %x)
           let (%c: i64) = add.i64 (%b, %a)
           let (%d: i64) = sub.i64 (%c, 7i64)
           let (%e: f32) = mul.f32 (%y, 1.0f32)
           let (%g: f32) = add.f32 (%e, 0.0f32)
           in (%d, %g)
         }"
    ));
}

#[test]
fn copies_and_dead_code_vanish_but_checks_stay() {
    assert_shows!(simplified(
        "fun f@0 (%n: i64, %xs: [%n]f32, %i: i64) -> (%r: f32) {
           let (%m: i64) = %n
           let (%dead: [%m]i64) = iota %m
           let (%a: bool) = le.i64 (0i64, %i)
           let (%b: bool) = gt.i64 (%m, %i)
           let (%c: bool) = and.bool (%a, %b)
           check %c bounds (%i, %m)
           let (%x: f32) = %xs[%i]
           let (%d: bool) = lt.i64 (%i, %n)
           check %d bounds (%i, %n)
           let (%y: f32) = %xs[%i]
           let (%z: f32) = add.f32 (%x, %y)
           in (%z)
         }"
    ));
}

#[test]
fn an_index_from_an_iota_needs_no_check() {
    assert_shows!(simplified(
        "fun f@0 (%n: i64, %xs: [%n]f32) -> (%r: [%n]f32) {
           let (%ok: bool) = le.i64 (0i64, %n)
           check %ok negative_size (%n)
           let (%is: [%n]i64) = iota %n
           let (%ys: [%n]f32) = map %n (%is) \\(%i: i64) -> (f32) {
             let (%a: bool) = le.i64 (0i64, %i)
             let (%b: bool) = lt.i64 (%i, %n)
             let (%c: bool) = and.bool (%a, %b)
             check %c bounds (%i, %n)
             let (%x: f32) = %xs[%i]
             in (%x)
           }
           in (%ys)
         }"
    ));
}

#[test]
fn loop_state_that_stays_is_no_state() {
    assert_shows!(simplified(
        "fun f@0 (%n: i64, %xs: [%n]f32, %t: i64) -> (%k: i64, %r: [%k]f32) {
           let (%k2: i64, %zs: [%k2]f32, %u: f32) =
             loop (%m: i64 = %n, %ys: [%m]f32 = %xs, %w: f32 = 1.0f32) for %i: i64 < %t do {
               let (%w2: f32) = add.f32 (%w, 1.0f32)
               let (%c: bool) = lt.i64 (%i, %m)
               check %c bounds (%i, %m)
               let (%ys2: [%m]f32) = %ys with [%i] = 0.0f32
               in (%m, %ys2, %w2)
             }
           in (%k2, %zs)
         }"
    ));
}

#[test]
fn branches_are_decided_and_agree() {
    assert_shows!(simplified(
        "fun f@0 (%n: i64, %xs: [%n]f32, %p: bool, %q: bool) -> (%k: i64, %r: [%k]f32, %s: bool) {
           let (%k1: i64, %ys: [%k1]f32) = if %p then {
             let (%both: bool) = if %p then { in (%q) } else { in (false) }
             let (%y: f32) = select.f32 (%both, 1.0f32, 2.0f32)
             let (%as: [%n]f32) = replicate (%n, %y)
             in (%n, %as)
           } else { in (%n, %xs) }
           let (%t: bool) = if %p then { in (%q) } else { in (false) }
           in (%k1, %ys, %t)
         }"
    ));
}

#[test]
fn descriptors_are_shared() {
    assert_shows!(simplified(
        "fun f@0 (%n: i64, %ks: [%n]i64) -> (%s: [%n]desc, %r: [%n][~%s]i64, %ls: [%n]i64) {
           let (%s1: [%n]desc) = makedesc %ks
           let (%s2: [%n]desc) = makedesc %ks
           let (%l: [%n]i64) = lengths %s2
           let (%s3: [%n]desc, %xss: [%n][~%s3]i64, %l2: [%n]i64) =
             map %n (%s2, %l) \\(%k: i64, %l3: i64) -> (i64, [%k]i64, i64) {
               let (%is: [%k]i64) = iota %k
               in (%k, %is, %l3)
             }
           in (%s3, %xss, %l2)
         }"
    ));
}

#[test]
fn unused_results_and_inputs_go() {
    assert_shows!(simplified(
        "fun f@0 (%n: i64, %xs: [%n]f32, %ys: [%n]f32) -> (%r: [%n]f32, %s: f32) {
           let (%as: [%n]f32, %bs: [%n]f32) = map %n (%xs, %ys) \\(%x: f32, %y: f32) -> (f32, f32) {
             let (%a: f32) = sqrt.f32 (%x)
             let (%b: f32) = sqrt.f32 (%y)
             in (%a, %b)
           }
           let (%t: f32, %cs: [%n]f32) = reduce %n (%xs) \\(%z: f32) -> (f32, f32) {
             let (%c: f32) = sqrt.f32 (%z)
             in (%z, %c)
           } op \\(%u: f32, %v: f32) -> (f32) {
             let (%w: f32) = add.f32 (%u, %v)
             in (%w)
           } neutral (0.0f32)
           in (%as, %t)
         }"
    ));
}

#[test]
fn indices_read_through() {
    assert_shows!(simplified(
        "fun f@0 (%n: i64, %m: i64, %xss: [%n][%m]f32, %i: i64, %j: i64) -> (%r: f32, %q: f32, %z: i64) {
           let (%row: [%m]f32) = %xss[%i]
           let (%x: f32) = %row[%j]
           let (%h: i64) = sub.i64 (%m, 2i64)
           let (%ys: [%h]f32) = slice %row (2i64, %h, 1i64)
           let (%y: f32) = %ys[%j]
           let (%is: [%n]i64) = iota %n
           let (%k: i64) = %is[%j]
           in (%x, %y, %k)
         }"
    ));
}

#[test]
fn a_counter_of_another_type_needs_no_check_where_its_end_is_known() {
    let checks = |prim: &str, end: &str| {
        let shown = simplified(&format!(
            "fun f@0 (%xs: [30]u32) -> (%out: u32) {{
               let (%x: u32) = loop (%s: u32 = 0u32) for %b: {prim} < {end} do {{
                 let (%i: i64) = conv.{prim}.i64 (%b)
                 let (%low: bool) = le.i64 (0i64, %i)
                 let (%high: bool) = lt.i64 (%i, 30i64)
                 let (%c: bool) = and.bool (%low, %high)
                 check %c bounds (%i, 30i64)
                 let (%y: u32) = %xs[%i]
                 let (%z: u32) = xor.u32 (%s, %y)
                 in (%z)
               }}
               in (%x)
             }}"
        ));
        shown.split("=>").nth(1).expect("before and after").matches("check").count()
    };
    for prim in ["u32", "i32", "u8"] {
        assert_eq!(checks(prim, &format!("30{prim}")), 0);
        assert_eq!(checks(prim, &format!("31{prim}")), 1);
    }
}

#[test]
fn indices_from_ranges_are_proven() {
    assert_shows!(simplified(
        "fun f@0 (%n: i64, %xs: [%n]f32) -> (%out: f32) {
           let (%e: f32) = loop (%s: f32 = 0.0f32) for %k: i64 < %n do {
             let (%t: i64) = add.i64 (%k, 1i64)
             let (%m: i64) = sub.i64 (%n, %t)
             let (%l: i64) = max.i64 (%m, 0i64)
             let (%q: f32) = loop (%u: f32 = %s) for %i: i64 < %l do {
               let (%j: i64) = add.i64 (%t, %i)
               let (%a: bool) = le.i64 (0i64, %j)
               let (%b: bool) = lt.i64 (%j, %n)
               let (%c: bool) = and.bool (%a, %b)
               check %c bounds (%j, %n)
               let (%x: f32) = %xs[%j]
               let (%p: f32) = loop (%w: f32 = %u) for %h: i64 < %j do {
                 let (%d: bool) = lt.i64 (%h, %n)
                 check %d bounds (%h, %n)
                 let (%y: f32) = %xs[%h]
                 let (%z: f32) = mul.f32 (%x, %y)
                 in (%z)
               }
               in (%p)
             }
             in (%q)
           }
           in (%e)
         }"
    ));
}

#[test]
fn shifted_indices_are_proven() {
    assert_shows!(simplified(
        "fun f@0 (%n: i64, %xs: [%n]f32, %t: i64) -> (%k: i64, %r: [%k]f32, %q: f32) {
           let (%m: i64) = sub.i64 (%n, 2i64)
           let (%ok: bool) = le.i64 (0i64, %m)
           check %ok negative_size (%m)
           let (%is: [%m]i64) = iota %m
           let (%ys: [%m]f32) = map %m (%is) \\(%i: i64) -> (f32) {
             let (%j: i64) = add.i64 (%i, 2i64)
             let (%a: bool) = le.i64 (0i64, %j)
             let (%b: bool) = lt.i64 (%j, %n)
             let (%c: bool) = and.bool (%a, %b)
             check %c bounds (%j, %n)
             let (%x: f32) = %xs[%j]
             let (%j2: i64) = add.i64 (%i, 3i64)
             let (%d: bool) = lt.i64 (%j2, %n)
             check %d bounds (%j2, %n)
             let (%y: f32) = %xs[%j2]
             let (%z: f32) = add.f32 (%x, %y)
             in (%z)
           }
           let (%nz: bool) = ne.i64 (%n, 0i64)
           check %nz division_by_zero ()
           let (%l: i64) = mod.i64 (%t, %n)
           let (%e: bool) = le.i64 (0i64, %l)
           let (%f: bool) = lt.i64 (%l, %n)
           let (%g: bool) = and.bool (%e, %f)
           check %g bounds (%l, %n)
           let (%w: f32) = %xs[%l]
           in (%m, %ys, %w)
         }"
    ));
}

/// The index `n - back - i` for `i < n`, with its check.
fn counted_back(back: i64) -> String {
    simplified(&format!(
        "fun f@0 (%n: i64, %xs: [%n]f32) -> (%r: [%n]f32) {{
           let (%is: [%n]i64) = iota %n
           let (%last: i64) = sub.i64 (%n, {back}i64)
           let (%ys: [%n]f32) = map %n (%is) \\(%i: i64) -> (f32) {{
             let (%j: i64) = sub.i64 (%last, %i)
             let (%a: bool) = le.i64 (0i64, %j)
             let (%b: bool) = lt.i64 (%j, %n)
             let (%c: bool) = and.bool (%a, %b)
             check %c bounds (%j, %n)
             let (%x: f32) = %xs[%j]
             in (%x)
           }}
           in (%ys)
         }}"
    ))
}

#[test]
fn indices_counted_back_from_the_last_are_inside() {
    let checks = |back| counted_back(back).matches("check ").count();
    // Once in the text before, and once after.
    assert_eq!([0, 1, 2].map(checks), [2, 1, 2]);
}

#[test]
fn neighbours_around_a_ring_are_inside() {
    assert_shows!(simplified(
        "fun f@0 (%n: i64, %xs: [%n]f32) -> (%r: [%n]f32) {
           let (%is: [%n]i64) = iota %n
           let (%ys: [%n]f32) = map %n (%is) \\(%i: i64) -> (f32) {
             let (%last: i64) = sub.i64 (%n, 1i64)
             let (%first: bool) = eq.i64 (%i, 0i64)
             let (%before: i64) = sub.i64 (%i, 1i64)
             let (%j: i64) = select.i64 (%first, %last, %before)
             let (%a: bool) = le.i64 (0i64, %j)
             let (%b: bool) = lt.i64 (%j, %n)
             let (%c: bool) = and.bool (%a, %b)
             check %c bounds (%j, %n)
             let (%x: f32) = %xs[%j]
             let (%k: i64) = select.i64 (%first, %before, %last)
             let (%d: bool) = le.i64 (0i64, %k)
             check %d bounds (%k, %n)
             let (%y: f32) = %xs[%k]
             let (%z: f32) = add.f32 (%x, %y)
             in (%z)
           }
           in (%ys)
         }"
    ));
}

#[test]
fn what_was_read_before_an_update_is_not_read_again() {
    // Columns and rows are read through where they come from, unless that has been updated.
    assert_shows!(simplified(
        "fun f@0 (%n: i64, %m: [%n][%n]i64, %k: i64) -> (%r: [%n][%n]i64) {
           let (%is: [%n]i64) = iota %n
           let (%row: [%n]i64) = %m[%k]
           let (%column: [%n]i64) = map %n (%is) \\(%i: i64) -> (i64) { let (%x: i64) = %m[%i, %k] in (%x) }
           let (%a: i64) = %row[3i64]
           let (%b: i64) = %column[3i64]
           let (%c: i64) = add.i64 (%a, %b)
           let (%next: [%n][%n]i64) = %m with [%k, %k] = %c
           let (%d: i64) = %row[4i64]
           let (%e: i64) = %column[4i64]
           let (%g: i64) = add.i64 (%d, %e)
           let (%last: [%n][%n]i64) = %next with [%k, 0i64] = %g
           in (%last)
         }"
    ));
}

#[test]
fn neighbours_that_are_clamped_are_inside() {
    // The one before the first and the one behind the last; two behind the last are not kept from it.
    assert_shows!(simplified(
        "fun f@0 (%n: i64, %xs: [%n]f32, %k: i64) -> (%r: [%n]f32) {
           let (%is: [%n]i64) = iota %n
           let (%ys: [%n]f32) = map %n (%is) \\(%i: i64) -> (f32) {
             let (%before: i64) = sub.i64 (%i, 1i64)
             let (%j: i64) = max.i64 (0i64, %before)
             let (%a: bool) = lt.i64 (%j, %n)
             check %a bounds (%j, %n)
             let (%x: f32) = %xs[%j]
             let (%last: i64) = sub.i64 (%n, 1i64)
             let (%after: i64) = add.i64 (%i, 1i64)
             let (%l: i64) = min.i64 (%after, %last)
             let (%b: bool) = le.i64 (0i64, %l)
             let (%c: bool) = lt.i64 (%l, %n)
             let (%d: bool) = and.bool (%b, %c)
             check %d bounds (%l, %n)
             let (%y: f32) = %xs[%l]
             let (%m: i64) = max.i64 (%k, %before)
             let (%e: bool) = lt.i64 (%m, %n)
             check %e bounds (%m, %n)
             let (%z: f32) = %xs[%m]
             let (%p: i64) = min.i64 (%last, %k)
             let (%g: bool) = le.i64 (0i64, %p)
             check %g bounds (%p, %n)
             let (%w: f32) = %xs[%p]
             let (%s: f32) = add.f32 (%x, %y)
             let (%t: f32) = add.f32 (%z, %w)
             let (%u: f32) = add.f32 (%s, %t)
             in (%u)
           }
           in (%ys)
         }"
    ));
}

#[test]
fn harmless_arms_are_done_under_maps() {
    assert_shows!(simplified(
        "fun f@0 (%n: i64, %xs: [%n]i64, %c: bool, %l: i64) -> (%r: [%n]i64, %q: [%n]i64, %t: i64) {
           let (%is: [%n]i64) = iota %n
           let (%ys: [%n]i64, %zs: [%n]i64) = map %n (%is) \\(%i: i64) -> (i64, i64) {
             let (%a: i64) = if %c then { let (%x: i64) = %xs[%i] let (%x1: i64) = add.i64 (%x, 1i64) in (%x1) } else { in (%i) }
             let (%b: i64) = if %c then { let (%y: i64) = %xs[%l] in (%y) } else { in (%i) }
             in (%a, %b)
           }
           let (%z: i64) = if %c then { let (%w: i64) = add.i64 (%l, 1i64) in (%w) } else { in (%l) }
           in (%ys, %zs, %z)
         }"
    ));
}

#[test]
fn reading_in_order_is_mapping() {
    assert_shows!(simplified(
        "fun f@0 (%n: i64, %xs: [%n]f32, %ys: [%n]f32) -> (%r: [%n]f32) {
           let (%is: [%n]i64) = iota %n
           let (%zs: [%n]f32) = map %n (%is, %ys) \\(%i: i64, %y: f32) -> (f32) {
             let (%x: f32) = %xs[%i]
             let (%y2: f32) = %ys[%i]
             let (%a: f32) = mul.f32 (%x, %y)
             let (%b: f32) = add.f32 (%a, %y2)
             in (%b)
           }
           in (%zs)
         }"
    ));
}

#[test]
fn reading_rows_in_order_is_mapping() {
    assert_shows!(simplified(
        "fun f@0 (%n: i64, %s: [%n]desc, %xss: [%n][~%s]f32) -> (%r: [%n]f32) {
           let (%is: [%n]i64) = iota %n
           let (%zs: [%n]f32) = map %n (%is) \\(%i: i64) -> (f32) {
             let (%k: i64) = %s[%i]
             let (%row: [%k]f32) = %xss[%i]
             let (%t: f32) = reduce %k (%row) \\(%z: f32) -> (f32) { in (%z) } op \\(%h: f32, %j: f32) -> (f32) {
               let (%m: f32) = add.f32 (%h, %j)
               in (%m)
             } neutral (0.0f32)
             in (%t)
           }
           in (%zs)
         }"
    ));
}

#[test]
fn lengths_that_types_of_rows_mention_stay_inputs() {
    assert_shows!(simplified(
        "fun f@0 (%n: i64) -> (%m: i64, %s: [%m]desc, %r: [%m][~%s]i64, %m2: i64, %z: [%m2]i64) {
           let (%is: [%n]i64) = iota %n
           let (%u: [%n]desc) = map %n (%is) \\(%i: i64) -> (i64) {
             let (%j: i64) = add.i64 (%i, 1i64)
             in (%j)
           }
           let (%xss: [%n][~%u]i64) = map %n (%u) \\(%k: i64) -> ([%k]i64) {
             let (%xs: [%k]i64) = iota %k
             in (%xs)
           }
           let (%zs: [%n]i64) = map %n (%u, %xss) \\(%l: i64, %row: [%l]i64) -> (i64) {
             let (%t: i64) = reduce %l (%row) \\(%e: i64) -> (i64) { in (%e) } op \\(%g: i64, %h: i64) -> (i64) {
               let (%v: i64) = max.i64 (%g, %h)
               in (%v)
             } neutral (0i64)
             in (%t)
           }
           in (%n, %u, %xss, %n, %zs)
         }"
    ));
}

#[test]
fn a_branch_that_only_checks_is_merged_with_the_next_on_its_condition() {
    assert_shows!(simplified(
        "fun f@0 (%n: i64, %xs: [%n]i64, %i: i64, %j: i64) -> (%r: i64, %q: i64) {
           let (%c: bool) = ge.i64 (%i, %n)
           let () = if %c then { in () } else {
             let (%b: bool) = le.i64 (0i64, %i)
             check %b bounds (%i, %n)
             in ()
           }
           let (%k: i64) = add.i64 (%i, %j)
           let (%a: i64) = if %c then { in (%k) } else {
             let (%d: bool) = le.i64 (0i64, %i)
             check %d bounds (%i, %n)
             let (%x: i64) = %xs[%i]
             in (%x)
           }
           let () = if %c then { in () } else {
             let (%e: bool) = le.i64 (0i64, %j)
             check %e bounds (%j, %n)
             in ()
           }
           let (%y: i64) = %xs[%j]
           let (%z: i64) = if %c then { in (%y) } else {
             let (%s: i64) = add.i64 (%a, %y)
             in (%s)
           }
           in (%a, %z)
         }"
    ));
}

#[test]
fn what_both_arms_compute_is_computed_before_them() {
    assert_shows!(simplified(
        "fun f@0 (%n: i64, %xs: [%n]i64, %c: bool, %i: i64, %j: i64) -> (%r: i64) {
           let (%a: i64) = if %c then {
             let (%x: i64) = %xs[%i]
             let (%y: i64) = mul.i64 (%x, %n)
             let (%z: i64) = %xs[%j]
             let (%s: i64) = add.i64 (%y, %z)
             in (%s)
           } else {
             let (%u: i64) = %xs[%i]
             let (%v: i64) = mul.i64 (%u, %n)
             let (%b: bool) = lt.i64 (%j, %n)
             check %b bounds (%j, %n)
             let (%w: i64) = %xs[%j]
             let (%t: i64) = sub.i64 (%v, %w)
             in (%t)
           }
           in (%a)
         }"
    ));
}

#[test]
fn nested_concatenations_are_one() {
    assert_shows!(simplified(
        "fun f@0 (%n: i64, %xs: [%n]i64, %m: i64, %ys: [%m]i64) -> (%k: i64, %r: [%k]i64, %l: i64, %q: [%l]i64) {
           let (%a: i64) = add.i64 (%n, %m)
           let (%xy: [%a]i64) = concat (%xs, %ys)
           let (%b: i64) = add.i64 (%a, %n)
           let (%xyx: [%b]i64) = concat (%xy, %xs)
           let (%c: i64) = add.i64 (%b, %b)
           let (%all: [%c]i64) = concat (%xyx, %xyx)
           let (%d: i64) = add.i64 (%c, %b)
           let (%more: [%d]i64) = concat (%all, %xyx)
           in (%c, %all, %d, %more)
         }"
    ));
}

#[test]
fn concatenated_ragged_rows_keep_their_descriptors() {
    assert_shows!(simplified(
        "fun f@0 (%n: i64, %s: [%n]desc, %xs: [%n][~%s]i64) -> (%c: i64, %t: [%c]desc, %r: [%c][~%t]i64) {
           let (%a: i64) = add.i64 (%n, %n)
           let (%u: [%a]desc) = concat (%s, %s)
           let (%xx: [%a][~%u]i64) = concat (%xs, %xs)
           let (%b: i64) = add.i64 (%a, %n)
           let (%v: [%b]desc) = concat (%u, %s)
           let (%all: [%b][~%v]i64) = concat (%xx, %xs)
           in (%b, %v, %all)
         }"
    ));
}

/// Checks that are the same for all rows of a map.
#[test]
fn checks_of_no_row_leave_the_map() {
    let shown = |of_row: &str, inputs: &str, params: &str| {
        simplified(&format!(
            "fun f@0 (%n: i64, %m: i64, %j: i64, %is: [%n]i64, %ys: [%m]i64) -> (%r: i64) {{
               let () = map %n ({inputs}) \\({params}) -> () {{
                 let (%c: bool) = lt.i64 ({of_row}, %m)
                 check %c bounds ({of_row}, %m)
                 in ()
               }}
               in (%j)
             }}"
        ))
    };
    assert_shows!(shown("%j", "%is", "%i: i64"));
    let after = shown("%i", "%is", "%i: i64");
    assert!(after.split("=>").nth(1).is_some_and(|a| a.contains("map")), "{after}");
}
