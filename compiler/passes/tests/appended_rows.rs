//! Appended rows: loops that append to rows of a ragged array, before and after.

mod common;

use common::transformed;
use par_passes::pass::APPENDED_ROWS;

/// The map that replaces row `%u` of `%xss` by one with the elements of `%e` more.
const APPEND: &str = "let (%k: i64) = %s[%u]
  let (%row: [%k]i64) = %xss[%u]
  let (%k1: i64) = add.i64 (%k, 1i64)
  let (%longer: [%k1]i64) = concat (%row, %e)
  let (%is: [%n]i64) = iota %n
  let (%s1: [%n]desc, %after: [%n][~%s1]i64) = map %n (%is) \\(%x: i64) -> (i64, [%k3]i64) {
    let (%t: bool) = eq.i64 (%x, %u)
    let (%k3: i64, %r: [%k3]i64) = if %t then { in (%k1, %longer) } else {
      let (%k2: i64) = %s[%x]
      let (%old: [%k2]i64) = %xss[%x]
      in (%k2, %old)
    }
    in (%k3, %r)
  }";

/// A loop over pairs of rows and elements; the iteration results in the next rows.
fn loop_with(iteration: &str) -> String {
    transformed(
        &format!(
            "fun f@0 (%n: i64, %s0: [%n]desc, %xss0: [%n][~%s0]i64, %m: i64, %us: [%m]i64, %xs: [%m]i64) -> (%s9: [%n]desc, %r9: [%n][~%s9]i64) {{
               let (%s8: [%n]desc, %r8: [%n][~%s8]i64) = loop (%s: [%n]desc = %s0, %xss: [%n][~%s]i64 = %xss0) for %i: i64 < %m do {{
                 let (%u: i64) = %us[%i]
                 let (%a: bool) = le.i64 (0i64, %u)
                 let (%b: bool) = lt.i64 (%u, %n)
                 let (%c: bool) = and.bool (%a, %b)
                 check %c bounds (%u, %n)
                 let (%v: i64) = %xs[%i]
                 let (%e: [1i64]i64) = literal i64 [%v]
                 {iteration}
               }}
               in (%s8, %r8)
             }}"
        ),
        &[APPENDED_ROWS],
    )
}

fn is_grouped(iteration: &str) -> bool {
    let shown = loop_with(iteration);
    shown.split("=>").nth(1).unwrap_or_default().contains("scatter")
}

#[test]
fn elements_are_grouped_by_row() {
    assert_shows!(loop_with(&format!("{APPEND} in (%s1, %after)")));
}

#[test]
fn elements_may_be_appended_in_a_branch() {
    assert_shows!(loop_with(&format!(
        "let (%some: bool) = lt.i64 (%v, 9i64)
         let (%s2: [%n]desc, %chosen: [%n][~%s2]i64) = if %some then {{ {APPEND} in (%s1, %after) }} else {{ in (%s, %xss) }}
         in (%s2, %chosen)"
    )));
}

/// Rows whose length a condition reads.
#[test]
fn rows_that_are_read_stay() {
    let read = format!(
        "let (%len: i64) = %s[%u]
         let (%some: bool) = lt.i64 (%len, 9i64)
         let (%s2: [%n]desc, %chosen: [%n][~%s2]i64) = if %some then {{ {APPEND} in (%s1, %after) }} else {{ in (%s, %xss) }}
         in (%s2, %chosen)"
    );
    assert!(!is_grouped(&read));
    assert!(is_grouped(&format!("{APPEND} in (%s1, %after)")));
}

/// Not what is appended to, but another row.
#[test]
fn rows_of_other_rows_stay() {
    let other = APPEND.replace("%row: [%k]i64) = %xss[%u]", "%row: [%k]i64) = %xss[0i64]");
    assert!(!is_grouped(&format!("{other} in (%s1, %after)")));
}
