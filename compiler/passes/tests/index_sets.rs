//! Index set splitting: maps in host loops that leave rows as they are, before and after.

mod common;

use common::transformed;
use par_passes::pass::INDEX_SETS;

fn split(text: &str) -> String {
    transformed(text, &[INDEX_SETS])
}

/// A step of an elimination in a loop: `row` for the rows that stay, and the array that is read for the others.
fn step(cond: &str, then: &str, other: &str) -> String {
    split(&format!(
        "fun f@0 (%n: i64, %m: i64, %k: i64, %a: [%n][%m]i64) -> (%r: i64, %q: i64, %c: [%r][%q]i64) {{
           let (%is: [%n]i64) = iota %n
           let (%b: [%n][%m]i64) = loop (%s: [%n][%m]i64 = %a) for %t: i64 < %n do {{
             let (%v: [%n][%m]i64) = map %n (%is, %s) \\(%i: i64, %row: [%m]i64) -> ([%m]i64) {{
               let (%d: bool) = {cond}
               let (%u: [%m]i64) = if %d then {{ {then} }} else {{ {other} }}
               in (%u)
             }}
             in (%v)
           }}
           in (%n, %m, %b)
         }}"
    ))
}

const OTHERS: &str = "let (%p: [%m]i64) = %s[%k]
  let (%w: [%m]i64) = map %m (%row, %p) \\(%x: i64, %y: i64) -> (i64) {
    let (%z: i64) = sub.i64 (%x, %y)
    in (%z)
  }
  in (%w)";

#[test]
fn rows_behind_a_position_are_updated() {
    assert_shows!(step("le.i64 (%i, %k)", "in (%row)", OTHERS));
}

#[test]
fn rows_before_a_position_are_updated() {
    assert_shows!(step("gt.i64 (%k, %i)", OTHERS, "in (%row)"));
}

#[test]
fn a_row_that_is_replaced_is_not_read_for_others() {
    let shown = step("lt.i64 (%i, %k)", "in (%row)", OTHERS);
    assert!(!shown.contains("slice"), "{shown}");
}

/// A step of which the rows that stay are read element by element, from `columns`.
fn step_of_elements(columns: &str) -> String {
    split(&format!(
        "fun f@0 (%n: i64, %m: i64, %k: i64, %js: [%m]i64, %a: [%n][%m]i64) -> (%r: i64, %q: i64, %c: [%r][%q]i64) {{
           let (%is: [%n]i64) = iota %n
           let (%ks: [%m]i64) = iota %m
           let (%b: [%n][%m]i64) = loop (%s: [%n][%m]i64 = %a) for %t: i64 < %n do {{
             let (%v: [%n][%m]i64) = map %n (%is) \\(%i: i64) -> ([%m]i64) {{
               let (%row: [%m]i64) = map %m ({columns}) \\(%j: i64) -> (i64) {{
                 let (%d: bool) = lt.i64 (%k, %i)
                 let (%x: i64) = %s[%i, %j]
                 let (%p: i64) = %s[%k, %j]
                 let (%y: i64) = add.i64 (%x, %p)
                 let (%z: i64) = select.i64 (%d, %y, %x)
                 in (%z)
               }}
               in (%row)
             }}
             in (%v)
           }}
           in (%n, %m, %b)
         }}"
    ))
}

#[test]
fn elements_in_another_order_are_not_the_row() {
    let is_update = |shown: &str| shown.contains("with [from_");
    let (in_order, permuted) = (step_of_elements("%ks"), step_of_elements("%js"));
    assert!(is_update(&in_order), "{in_order}");
    assert!(!is_update(&permuted), "{permuted}");
}

/// Loop and map are interchanged where each row is for itself.
#[test]
fn rows_alone_are_no_part() {
    let shown = step("le.i64 (%i, %k)", "in (%row)", &OTHERS.replace("%s[%k]", "iota %m"));
    assert!(!shown.contains("slice"), "{shown}");
}

/// There are no slices of descriptors.
#[test]
fn maps_over_lengths_of_rows_are_not_split() {
    let shown = |input: &str| {
        split(&format!(
            "fun f@0 (%n: i64, %m: i64, %k: i64, %ls: {input}, %a: [%n][%m]i64) -> (%r: i64, %q: i64, %c: [%r][%q]i64) {{
               let (%is: [%n]i64) = iota %n
               let (%b: [%n][%m]i64) = loop (%s: [%n][%m]i64 = %a) for %t: i64 < %n do {{
                 let (%v: [%n][%m]i64) = map %n (%is, %s, %ls) \\(%i: i64, %row: [%m]i64, %l: i64) -> ([%m]i64) {{
                   let (%d: bool) = le.i64 (%i, %k)
                   let (%u: [%m]i64) = if %d then {{ in (%row) }} else {{ {} }}
                   in (%u)
                 }}
                 in (%v)
               }}
               in (%n, %m, %b)
             }}",
            OTHERS.replace("sub.i64 (%x, %y)", "sub.i64 (%y, %l)")
        ))
    };
    assert!(shown("[%n]i64").contains("slice"));
    assert!(!shown("[%n]desc").contains("slice"));
}

/// A step that replaces elements where conditions hold on both indices, of a version of the state with an update.
fn step_of_a_part(condition: &str, after: &str) -> String {
    split(&format!(
        "fun f@0 (%n: i64, %m: i64, %a: [%n][%m]f64) -> (%r: i64, %q: i64, %c: [%r][%q]f64) {{
           let (%is: [%n]i64) = iota %n
           let (%js: [%m]i64) = iota %m
           let (%b: [%n][%m]f64) = loop (%s: [%n][%m]f64 = %a) for %k: i64 < %n do {{
             let (%o: [%m]f64) = %s[0i64]
             let (%u: [%n][%m]f64) = %s with [%k] = %o
             let (%v: [%n][%m]f64) = map %n (%is) \\(%i: i64) -> ([%m]f64) {{
               let (%w: [%m]f64) = map %m (%js) \\(%j: i64) -> (f64) {{
                 let (%d: bool) = gt.i64 (%i, %k)
                 let (%e: bool) = {condition}
                 let (%g: bool) = and.bool (%d, %e)
                 let (%x: f64) = %u[%i, %j]
                 let (%y: f64) = %u[%i, %k]
                 let (%z: f64) = %u[%k, %j]
                 let (%f: f64) = mul.f64 (%y, %z)
                 let (%h: f64) = sub.f64 (%x, %f)
                 let (%t: f64) = select.f64 (%g, %h, %x)
                 in (%t)
               }}
               in (%w)
             }}
             {after}
             in (%v)
           }}
           in (%n, %m, %b)
         }}"
    ))
}

#[test]
fn columns_before_a_position_stay_and_rows_are_read_before_they_are_replaced() {
    assert_shows!(step_of_a_part("ge.i64 (%j, %k)", ""));
}

#[test]
fn a_part_is_not_updated_where_the_array_is_used_later_or_a_condition_is_on_no_index() {
    let is_update = |shown: String| shown.contains("with [from_");
    assert!(is_update(step_of_a_part("ge.i64 (%j, %k)", "")));
    assert!(!is_update(step_of_a_part("ge.i64 (%j, %i)", "")));
    assert!(!is_update(step_of_a_part("ge.i64 (%n, %k)", "")));
    assert!(!is_update(step_of_a_part("ge.i64 (%j, %k)", "let (%p: f64) = %u[%k, %k]")));
}

#[test]
fn an_element_of_each_row_is_a_column() {
    let shown = |at: &str, next: &str| {
        split(&format!(
            "fun f@0 (%n: i64, %m: i64, %ns: [%n]i64) -> (%r: [%n]i64) {{
               let (%zs: [%n]i64) = map %n (%ns) \\(%b: i64) -> (i64) {{
                 let (%o: [%m]i64) = replicate (%m, 0i64)
                 let (%a: [%n][%m]i64) = replicate (%n, %o)
                 let (%is: [%n]i64) = iota %n
                 let (%c: [%n][%m]i64) = loop (%s: [%n][%m]i64 = %a) for %t: i64 < %b do {{
                   let (%v: [%n][%m]i64) = map %n (%s, %is) \\(%row: [%m]i64, %i: i64) -> ([%m]i64) {{
                     let (%x: i64) = %s[%b, 0i64]
                     let (%w: [%m]i64) = %row with [{at}] = %x
                     in (%w)
                   }}
                   {next}
                 }}
                 let (%y: i64) = %c[0i64, 0i64]
                 in (%y)
               }}
               in (%zs)
             }}"
        ))
    };
    assert_shows!(shown("%t", "in (%v)"));
    let is_column = |shown: String| shown.contains("column_");
    // Another element in each row, and an array that is used later.
    assert!(!is_column(shown("%i", "in (%v)")));
    assert!(!is_column(shown("%t", "let (%q: i64) = %s[0i64, 0i64] in (%v)")));
}
