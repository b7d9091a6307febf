//! Slices with steps are passed on as what they are slices of.

mod common;

use common::transformed;
use par_passes::pass::STRIDES;

#[test]
fn an_arm_passes_on_what_it_slices() {
    assert_shows!(transformed(
        "fun f@0 (%n: i64, %xs: [%n]i64, %m: i64, %zs: [%m]i64, %c: bool) -> (%k: i64, %r: [%k]i64)
           entry f (xs: []i64, zs: []i64, c: bool) -> []i64
         {
           let (%h: i64) = quot.i64 (%n, 2i64)
           let (%k1: i64, %r1: [%k1]i64) = if %c then {
             let (%evens: [%h]i64) = slice %xs (0i64, %h, 2i64)
             in (%h, %evens)
           } else { in (%m, %zs) }
           in (%k1, %r1)
         }",
        &[STRIDES]
    ));
}

/// Rows with their lengths: both are slices of one kind, through a loop, a call and its results.
#[test]
fn steps_are_multiplied_in_iterations_and_calls() {
    assert_shows!(transformed(
        "fun main@0 (%w: i64, %sx: [%w]desc, %xs: [%w][~%sx]i64) -> (%e: i64, %sr: [%e]desc, %rs: [%e][~%sr]i64)
           entry main (xs: [][~]i64) -> [][~]i64
         {
           let (%k4: i64, %s4: [%k4]desc, %r4: [%k4][~%s4]i64) =
             loop (%k5: i64 = %w, %s5: [%k5]desc = %sx, %r5: [%k5][~%s5]i64 = %xs) while {
               let (%more: bool) = gt.i64 (%k5, 10i64)
               in (%more)
             } do {
               let (%half: i64) = quot.i64 (%k5, 2i64)
               let (%s6: [%half]desc) = slice %s5 (0i64, %half, 2i64)
               let (%r6: [%half][~%s6]i64) = slice %r5 (0i64, %half, 2i64)
               in (%half, %s6, %r6)
             }
           let (%k7: i64, %s7: [%k7]desc, %r7: [%k7][~%s7]i64) = call @1 (%k4, %s4, %r4, 1i64)
           in (%k7, %s7, %r7)
         }
         fun go@1 (%n: i64, %s: [%n]desc, %t: [%n][~%s]i64, %d: i64) -> (%k: i64, %u: [%k]desc, %r: [%k][~%u]i64)
         {
           let (%done: bool) = eq.i64 (%d, 0i64)
           let (%h: i64) = quot.i64 (%n, 2i64)
           let (%less: i64) = sub.i64 (%d, 1i64)
           let (%k1: i64, %s1: [%k1]desc, %r1: [%k1][~%s1]i64) = if %done then { in (%n, %s, %t) } else {
             let (%s2: [%h]desc) = slice %s (1i64, %h, 2i64)
             let (%t2: [%h][~%s2]i64) = slice %t (1i64, %h, 2i64)
             let (%k3: i64, %s3: [%k3]desc, %r3: [%k3][~%s3]i64) = call @1 (%h, %s2, %t2, %less)
             in (%k3, %s3, %r3)
           }
           in (%k1, %s1, %r1)
         }",
        &[STRIDES]
    ));
}

/// The copy costs no more than making the array did; and what is updated is copied anyway.
#[test]
fn slices_of_what_is_new_and_what_is_updated_stay() {
    let text = "fun f@0 (%n: i64, %xs: [%n]i64, %c: bool, %h: i64) -> (%k: i64, %r: [%k]i64)
           entry f (xs: []i64, c: bool, h: i64) -> []i64
         {
           let (%k1: i64, %r1: [%k1]i64) = if %c then {
             let (%new: [%n]i64) = iota %n
             let (%evens: [%h]i64) = slice %new (0i64, %h, 2i64)
             in (%h, %evens)
           } else { in (%n, %xs) }
           let (%k2: i64, %r2: [%k2]i64) = if %c then {
             let (%odds: [%h]i64) = slice %xs (1i64, %h, 2i64)
             in (%h, %odds)
           } else { in (%k1, %r1) }
           let (%r3: [%k2]i64) = %r2 with [0i64] = %k1
           in (%k2, %r3)
         }";
    let before = common::program(text);
    let mut after = before.clone();
    (STRIDES.run)(&mut after);
    assert!(before == after, "{}", par_ir::print::print_core(&after));
}
