//! Capacity: loops that append to arrays, before and after.

mod common;

use common::transformed;
use par_passes::pass::CAPACITY;

/// A loop under a map; the iteration results in the next size and array.
fn loop_with(iteration: &str) -> String {
    transformed(
        &format!(
            "fun f@0 (%n: i64, %ns: [%n]i64) -> (%r: [%n]i64) {{
               let (%none: [0i64]i64) = literal i64 []
               let (%zs: [%n]i64) = map %n (%ns) \\(%b: i64) -> (i64) {{
                 let (%m: i64, %all: [%m]i64) = loop (%k: i64 = 0i64, %xs: [%k]i64 = %none) for %i: i64 < %b do {{
                   {iteration}
                 }}
                 let (%s: i64) = %all[0i64]
                 in (%s)
               }}
               in (%zs)
             }}"
        ),
        &[CAPACITY],
    )
}

fn is_buffered(iteration: &str) -> bool {
    let shown = loop_with(iteration);
    let after = shown.split("=>").nth(1).unwrap_or_default();
    after.contains("zeros")
}

/// Push or pop.
const STACK: &str = "let (%c: bool) = lt.i64 (%i, 5i64)
  let (%k1: i64, %e: [%k1]i64) = if %c then {
    let (%p: i64) = add.i64 (%k, 1i64)
    let (%x: [1i64]i64) = literal i64 [%i]
    let (%q: [%p]i64) = concat (%xs, %x)
    in (%p, %q)
  } else {
    let (%d: i64) = sub.i64 (%k, 1i64)
    let (%h: [%d]i64) = slice %xs (0i64, %d, 1i64)
    in (%d, %h)
  }
  in (%k1, %e)";

#[test]
fn a_stack_is_a_buffer() {
    assert_shows!(loop_with(STACK));
}

/// Push two, pop one: the capacity covers the size in between.
#[test]
fn the_capacity_covers_sizes_within_an_iteration() {
    assert_shows!(loop_with(
        "let (%p: i64) = add.i64 (%k, 2i64)
         let (%x: [2i64]i64) = literal i64 [%i, %i]
         let (%q: [%p]i64) = concat (%xs, %x)
         let (%d: i64) = sub.i64 (%p, 1i64)
         let (%h: [%d]i64) = slice %q (0i64, %d, 1i64)
         in (%d, %h)"
    ));
}

/// Appends, followed by further statements.
fn appended(part: &str, then: &str) -> String {
    format!(
        "let (%p: i64) = add.i64 (%k, 1i64)
         let (%x: [1i64]i64) = literal i64 [%i]
         let (%q: [%p]i64) = {part}
         {then}"
    )
}

#[test]
fn arrays_that_are_live_or_not_appended_to_are_not_buffered() {
    let after = "in (%p, %q)";
    assert!(is_buffered(&appended("concat (%xs, %x)", after)));
    assert!(is_buffered(&appended("concat (%xs, %x)", "let (%e: i64) = %q[0i64] in (%p, %q)")));
    // At the front; of the version before; not by a constant.
    assert!(!is_buffered(&appended("concat (%x, %xs)", after)));
    assert!(!is_buffered(&appended("concat (%xs, %x)", "let (%e: i64) = %xs[0i64] in (%p, %q)")));
    let doubled = "let (%p: i64) = add.i64 (%k, %k) let (%q: [%p]i64) = concat (%xs, %xs) in (%p, %q)";
    assert!(!is_buffered(doubled));
}

#[test]
fn a_host_loop_keeps_its_original() {
    let shown = transformed(
        "fun f@0 (%n: i64, %ys: [%n]i64) -> (%m: i64, %r: [%m]i64) {
           let (%m1: i64, %all: [%m1]i64) = loop (%k: i64 = %n, %xs: [%k]i64 = %ys) for %i: i64 < %n do {
             let (%p: i64) = add.i64 (%k, 1i64)
             let (%x: [1i64]i64) = literal i64 [%i]
             let (%q: [%p]i64) = concat (%xs, %x)
             in (%p, %q)
           }
           in (%m1, %all)
         }",
        &[CAPACITY],
    );
    assert_shows!(shown);
}

#[test]
fn appends_after_the_loop_are_buffered() {
    let shown = transformed(
        "fun f@0 (%n: i64, %ns: [%n]i64) -> (%r: [%n]i64) {
           let (%none: [0i64]i64) = literal i64 []
           let (%zs: [%n]i64) = map %n (%ns) \\(%b: i64) -> (i64) {
             let (%m: i64, %all: [%m]i64) = loop (%k: i64 = 0i64, %xs: [%k]i64 = %none) for %i: i64 < %b do {
               let (%p: i64) = add.i64 (%k, 1i64)
               let (%x: [1i64]i64) = literal i64 [%i]
               let (%q: [%p]i64) = concat (%xs, %x)
               in (%p, %q)
             }
             let (%e: i64) = add.i64 (%m, 1i64)
             let (%y: [1i64]i64) = literal i64 [%b]
             let (%w: [%e]i64) = concat (%all, %y)
             let (%s: i64) = reduce %e (%w) \\(%j: i64) -> (i64) { in (%j) } op \\(%c: i64, %d: i64) -> (i64) {
               let (%o: i64) = add.i64 (%c, %d)
               in (%o)
             } neutral (0i64)
             in (%s)
           }
           in (%zs)
         }",
        &[CAPACITY],
    );
    assert_shows!(shown);
}
