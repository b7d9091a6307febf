//! FLAT's passes one by one: a program before each, and after it.

#[path = "common/text.rs"]
#[macro_use]
mod text;

use par_ir::parse::parse_flat;
use par_ir::print::print_flat;
use par_ir::verify::verify_flat;
use par_passes::pass::{
    BULK, DIMENSIONS, FlatPass, IN_PLACE_LOOPS, INTERCHANGE, INVARIANT_CHECKS, LINEARISE, PRUNE,
    RANGE_CHECKS, REASSOCIATE, RECURRENCES, ROW_SPACES, TRANSPOSITIONS, WAVES,
};
use text::numbered;

/// The program before and after a pass, both valid.
fn passed(pass: FlatPass, text: &str) -> String {
    let text = numbered(text);
    let mut program = parse_flat(&text).unwrap_or_else(|e| panic!("{e} in\n{text}"));
    let before = print_flat(&program);
    verify_flat(&program).unwrap_or_else(|e| panic!("{e}\n{before}"));
    (pass.run)(&mut program);
    let after = print_flat(&program);
    verify_flat(&program).unwrap_or_else(|e| panic!("after {}: {e}\n{after}", pass.name));
    format!("{before}\n=>\n\n{after}")
}

#[test]
fn unused_outputs_and_statements_go_but_checks_stay() {
    assert_shows!(passed(
        PRUNE,
        "fun f@0 (%n: i64, %xs: []i64, %d: i64) -> ([]i64) {
           let (%m: i64) = mul.i64(%n, 2i64)
           let (%a: []i64, %b: []i64) = kernel map (elem i64, elem i64) over [%n] \\%row %pos {
             let (%x: i64) = %xs[%pos]
             let (%y: i64) = add.i64(%x, 1i64)
             let (%z: i64) = mul.i64(%x, %x)
             let (%ok: bool) = ne.i64(%d, 0i64)
             check %ok division_by_zero ()
             in (%y, %z)
           }
           in (%a)
         }"
    ));
}

#[test]
fn indices_that_sizes_keep_inside_are_checked_on_the_host() {
    assert_shows!(passed(
        RANGE_CHECKS,
        "fun f@0 (%n: i64, %m: i64, %a: i64, %b: i64, %xs: []f32) -> ([]f32) {
           let (%ys: []f32) = kernel map (elem f32) over [%n] [%m] \\%i %pos %j {
             let (%below: bool) = lt.i64(%i, %a)
             check %below bounds (%i, %a)
             let (%next: i64) = add.i64(%j, 1i64)
             let (%left: bool) = lt.i64(%next, %b)
             check %left bounds (%next, %b)
             let (%start: i64) = mul.i64(%i, %b)
             let (%at: i64) = add.i64(%start, %next)
             let (%x: f32) = %xs[%at]
             in (%x)
           }
           in (%ys)
         }"
    ));
}

#[test]
fn one_index_along_positions_is_left_to_code_generation() {
    let text = "fun f@0 (%n: i64, %a: i64, %xs: []f32) -> ([]f32) {
           let (%ys: []f32) = kernel map (elem f32) over [%n] \\%row %pos {
             let (%inside: bool) = lt.i64(%pos, %a)
             check %inside bounds (%pos, %a)
             let (%x: f32) = %xs[%pos]
             in (%x)
           }
           in (%ys)
         }";
    let shown = passed(RANGE_CHECKS, text);
    let (before, after) = shown.split_once("\n=>\n\n").expect("two programs");
    assert_eq!(before, after);
}

#[test]
fn a_check_without_a_position_is_made_on_the_host() {
    assert_shows!(passed(
        INVARIANT_CHECKS,
        "fun f@0 (%n: i64, %m: i64) -> ([]i64) {
           let (%ys: []i64) = kernel map (elem i64) over [%n] \\%row %pos {
             let (%ok: bool) = ne.i64(%m, 0i64)
             check %ok division_by_zero ()
             let (%y: i64) = quot.i64(%pos, %m)
             in (%y)
           }
           in (%ys)
         }"
    ));
}

#[test]
fn a_loop_of_maps_is_a_map_of_loops() {
    assert_shows!(passed(
        INTERCHANGE,
        "fun f@0 (%n: i64, %m: i64, %xs: []f32) -> ([]f32) {
           let (%ys: []f32) = loop (%acc: []f32 = %xs) for %k: i64 < %m do {
             let (%zs: []f32) = kernel map (elem f32) over [%n] \\%row %pos {
               let (%a: f32) = %acc[%pos]
               let (%b: f32) = mul.f32(%a, 2.0f32)
               in (%b)
             }
             in (%zs)
           }
           in (%ys)
         }"
    ));
}

#[test]
fn divided_positions_are_rows() {
    assert_shows!(passed(
        ROW_SPACES,
        "fun f@0 (%rows: i64, %m: i64, %xs: []i64) -> (i64, []i64)
           entry main (xs: [][]i64) -> []i64 {
           let (%n: i64) = mul.i64(%rows, %m)
           let (%ys: []i64) = kernel map (elem i64) over [%n] \\%row %pos {
             let (%i: i64) = quot.i64(%pos, %m)
             let (%j: i64) = rem.i64(%pos, %m)
             let (%y: i64) = sub.i64(%i, %j)
             in (%y)
           }
           in (%n, %ys)
         }"
    ));
}

#[test]
fn arrays_one_behind_the_other_are_computed_where_a_map_reads_them() {
    assert_shows!(passed(
        BULK,
        "fun f@0 (%n: i64, %xs: []i64, %x: i64) -> ([]i64) {
           let (%m: i64) = sub.i64(%n, 3i64)
           let (%first: []i64) = literal i64 [%x]
           let (%ys: []i64) = kernel map (elem i64) over [%m] \\%row %pos {
             let (%y: i64) = %xs[%pos]
             in (%y)
           }
           let (%last: []i64) = replicate (2i64, 7i64)
           let (%all: []i64) = concat (%first, %ys, %last)
           let (%r: []i64) = kernel map (elem i64) over [%n] \\%row2 %i {
             let (%a: i64) = %all[%i]
             let (%b: i64) = mul.i64(%a, 2i64)
             in (%b)
           }
           in (%r)
         }"
    ));
}

#[test]
fn arrays_put_together_in_a_loop_are_read_where_their_parts_are() {
    assert_shows!(passed(
        BULK,
        "fun f@0 (%n: i64, %k: i64, %xs: []i64) -> ([]i64) {
           let (%edge: []i64) = literal i64 [0i64]
           let (%r: []i64) = loop (%s: []i64 = %xs) for %l: i64 < %k do {
             let (%all: []i64) = concat (%edge, %s)
             let (%t: []i64) = kernel map (elem i64) over [%n] \\%row %i {
               let (%j: i64) = add.i64(%i, 1i64)
               let (%a: i64) = %all[%i]
               let (%b: i64) = %all[%j]
               let (%c: i64) = mul.i64(%a, %b)
               in (%c)
             }
             in (%t)
           }
           in (%r)
         }"
    ));
}

#[test]
fn prefixes_behind_the_neutral_element_are_an_exclusive_scan() {
    assert_shows!(passed(
        BULK,
        "fun f@0 (%n: i64, %xs: []i64) -> ([]i64, i64) {
           let (%is: []i64) = kernel scan op \\(%a: i64, %b: i64) -> (i64) {
             let (%c: i64) = add.i64(%a, %b)
             in (%c)
           } neutral (0i64) over [%n] \\%row %pos {
             let (%x: i64) = %xs[%pos]
             in (%x)
           }
           let (%last: i64) = sub.i64(%n, 1i64)
           let (%total: i64) = %is[%last]
           let (%zero: []i64) = literal i64 [0i64]
           let (%js: []i64) = kernel map (elem i64) over [%last] \\%row2 %j {
             let (%y: i64) = %is[%j]
             in (%y)
           }
           let (%zs: []i64) = concat (%zero, %js)
           in (%zs, %total)
         }"
    ));
}

#[test]
fn a_map_is_computed_where_a_reduction_reads_it() {
    assert_shows!(passed(
        BULK,
        "fun f@0 (%n: i64, %xs: []i64) -> (i64) {
           let (%ys: []i64) = kernel map (elem i64) over [%n] \\%row %pos {
             let (%x: i64) = %xs[%pos]
             let (%y: i64) = add.i64(%x, 1i64)
             in (%y)
           }
           let (%s: []i64) = kernel reduce op \\(%a: i64, %b: i64) -> (i64) {
             let (%c: i64) = add.i64(%a, %b)
             in (%c)
           } neutral (0i64) over [%n] \\%row2 %pos2 {
             let (%e: i64) = %ys[%pos2]
             in (%e)
           }
           let (%t: i64) = %s[0i64]
           in (%t)
         }"
    ));
}

#[test]
fn a_space_of_three_dimensions_is_one_of_rows() {
    assert_shows!(passed(
        LINEARISE,
        "fun f@0 (%n: i64, %m: i64, %k: i64) -> ([]i64) {
           let (%ys: []i64) = kernel map (elem i64) over [%n] [%m] [%k] \\%row %pos %i %j %l {
             let (%a: i64) = mul.i64(%i, %j)
             let (%y: i64) = add.i64(%a, %l)
             in (%y)
           }
           in (%ys)
         }"
    ));
}

#[test]
fn an_element_of_the_iteration_before_stays_in_a_variable() {
    assert_shows!(passed(
        RECURRENCES,
        "fun f@0 (%n: i64, %m: i64, %xs: []f32) -> ([]f32) {
           let (%len: i64) = length %xs
           let (%ys: []f32) = kernel map (own %xs as %a: [%len]f32) over [%n] \\%row %pos {
             let (%start: i64) = mul.i64(%pos, %m)
             let (%r: [%len]f32) = loop (%b: [%len]f32 = %a) for %k: i64 < %m do {
               let (%i: i64) = add.i64(%start, %k)
               let (%h: i64) = sub.i64(%i, 1i64)
               let (%x: f32) = %b[%h]
               let (%y: f32) = mul.f32(%x, 0.5f32)
               let (%c: [%len]f32) = %b with [%i] = %y
               in (%c)
             }
             in (%r)
           }
           in (%ys)
         }"
    ));
}

#[test]
fn columns_from_those_before_are_computed_row_after_row() {
    assert_shows!(passed(
        WAVES,
        "fun f@0 (%n: i64, %w: i64, %t: i64, %xs: []f32) -> ([]f32) {
           let (%r: []f32) = loop (%a: []f32 = %xs) for %q: i64 < %t do {
             let (%v: []f32) = kernel map (elem f32) over [%n] \\%row %pos {
               let (%s: i64) = mul.i64(%pos, %w)
               let (%i: i64) = add.i64(%s, %q)
               let (%ok: bool) = lt.i64(%i, %t)
               check %ok bounds (%i, %t)
               let (%x: f32) = %a[%i]
               let (%y: f32) = mul.f32(%x, 0.5f32)
               in (%y)
             }
             let (%b: []f32) = kernel map (scatter (%a)) over [%n] \\%row2 %pos2 {
               let (%s2: i64) = mul.i64(%pos2, %w)
               let (%i2: i64) = add.i64(%s2, %q)
               let (%j2: i64) = add.i64(%i2, 1i64)
               let (%e: f32) = %v[%pos2]
               in (%j2, %e)
             }
             in (%b)
           }
           in (%r)
         }"
    ));
}

/// A kernel that makes row after row of a table of `m` columns in a buffer, from the elements at `at`, and copies each to its place.
fn rows_in_a_buffer(at: &str) -> String {
    format!(
        "fun f@0 (%n: i64, %m: i64, %as: []i64, %k: i64, %bs: []i64) -> (i64, i64, []i64)
           entry f (table: [n][m]i64, row: [k]i64) -> [n][m]i64 {{
           let (%size: i64) = length %as
           let (%room: i64) = length %bs
           let (%cs: []i64, %ds: []i64) = kernel map (own %as as %table: [%size]i64, own %bs as %row: [%room]i64) over [1i64] \\%p %pos {{
             let (%last: [%size]i64, %rest: [%room]i64) = loop (%t: [%size]i64 = %table, %r: [%room]i64 = %row) for %i: i64 < %n do {{
               let (%start: i64) = mul.i64(%i, %m)
               let (%made: [%room]i64) = loop (%s: [%room]i64 = %r) for %j: i64 < %m do {{
                 {at}
                 let (%x: i64) = %t[%at]
                 let (%y: i64) = add.i64(%x, %i)
                 let (%s1: [%room]i64) = %s with [%j] = %y
                 in (%s1)
               }}
               let (%whole: [%size]i64) = loop (%u: [%size]i64 = %t) for %l: i64 < %m do {{
                 let (%v: i64) = %made[%l]
                 let (%to: i64) = add.i64(%start, %l)
                 let (%u1: [%size]i64) = %u with [%to] = %v
                 in (%u1)
               }}
               in (%whole, %made)
             }}
             in (%last, %rest)
           }}
           in (%n, %m, %cs)
         }}"
    )
}

#[test]
fn rows_are_made_where_they_belong() {
    // The element itself, and one behind it that is not written yet.
    assert_shows!(passed(IN_PLACE_LOOPS, &rows_in_a_buffer("let (%at: i64) = add.i64(%start, %j)")));
    let ahead = "let (%next: i64) = add.i64(%j, 1i64)  let (%at: i64) = add.i64(%start, %next)";
    let above = "let (%before: i64) = sub.i64(%start, %m)  let (%at: i64) = add.i64(%before, %j)";
    for at in [ahead, above] {
        assert!(
            !passed(IN_PLACE_LOOPS, &rows_in_a_buffer(at)).ends_with(&before(&rows_in_a_buffer(at))),
            "{at}"
        );
    }
}

#[test]
fn rows_from_elements_that_are_written_before_stay_in_a_buffer() {
    let behind = "let (%next: i64) = sub.i64(%j, 1i64)  let (%at: i64) = add.i64(%start, %next)";
    let reverse = "let (%next: i64) = sub.i64(%m, %j)  let (%at: i64) = add.i64(%start, %next)";
    for at in [behind, reverse] {
        assert!(
            passed(IN_PLACE_LOOPS, &rows_in_a_buffer(at)).ends_with(&before(&rows_in_a_buffer(at))),
            "{at}"
        );
    }
}

/// A program as it is printed.
fn before(text: &str) -> String {
    print_flat(&parse_flat(&numbered(text)).expect("a program"))
}

#[test]
fn records_are_transposed_field_by_field() {
    assert_shows!(passed(
        TRANSPOSITIONS,
        "fun f@0 (%n: i64, %m: i64, %as: []f32, %bs: []i64) -> ([]f32, []i64) {
           let (%cs: []f32, %ds: []i64) = kernel map (elem f32, elem i64) over [%m] [%n] \\%row %pos %i {
             let (%start: i64) = mul.i64(%i, %m)
             let (%at: i64) = add.i64(%start, %row)
             let (%a: f32) = %as[%at]
             let (%b: i64) = %bs[%at]
             in (%a, %b)
           }
           in (%cs, %ds)
         }"
    ));
}

#[test]
fn neighbours_in_rows_are_read_together() {
    let columns = |at: &str| {
        format!(
            "fun f@0 (%n: i64, %m: i64, %as: []f32) -> ([]f32, []f32) {{
               let (%cs: []f32, %ds: []f32) = kernel map (elem f32, elem f32) over [%n] [%m] \\%row %pos %i {{
                 {at}
                 let (%next: i64) = add.i64(%at, 1i64)
                 let (%a: f32) = %as[%at]
                 let (%b: f32) = %as[%next]
                 in (%a, %b)
               }}
               in (%cs, %ds)
             }}"
        )
    };
    let pairs = columns("let (%at: i64) = mul.i64(%pos, 2i64)");
    assert!(passed(TRANSPOSITIONS, &pairs).ends_with(&before(&pairs)));
    let square = columns("let (%start: i64) = mul.i64(%i, %n)  let (%at: i64) = add.i64(%start, %row)");
    assert!(!passed(TRANSPOSITIONS, &square).ends_with(&before(&square)));
}

#[test]
fn loop_carried_operands_are_combined_last() {
    assert_shows!(passed(
        REASSOCIATE,
        "fun f@0 (%n: i64, %m: i64, %as: []i32) -> ([]i32) {
           let (%ys: []i32) = kernel map (elem i32) over [%n] \\%row %pos {
             let (%h: i32, %s: i32, %f: f32) = loop (%l: i32 = 0i32, %t: i32 = 1i32, %g: f32 = 0f32) for %j: i64 < %m do {
               let (%a: i32) = %as[%j]
               let (%u: i32) = sub.i32(%l, 1i32)
               let (%v: i32) = max.i32(%u, %a)
               let (%b: i32) = mul.i32(%a, 3i32)
               let (%w: i32) = max.i32(%v, %b)
               let (%x: i32) = max.i32(%w, 0i32)
               let (%d: i32) = add.i32(%t, %t)
               let (%e: i32) = add.i32(%d, %a)
               let (%k: f32) = add.f32(%g, 1f32)
               let (%p: f32) = add.f32(%k, 2f32)
               in (%x, %e, %p)
             }
             let (%r: i32) = add.i32(%h, %s)
             in (%r)
           }
           in (%ys)
         }"
    ));
}

#[test]
fn loops_over_rows_of_the_inner_dimension_are_interchanged() {
    assert_shows!(passed(
        DIMENSIONS,
        "fun f@0 (%n: i64, %m: i64, %p: i64, %xs: []f32, %cs: []f32) -> ([]f32) {
           let (%ys: []f32) = kernel map (elem f32) over [%n] [%m] \\%i %pos %j prologue {
             let (%x: f32) = %xs[%i]
             in ()
           } {
             let (%first: i64) = mul.i64(%j, %p)
             let (%y: f32) = loop (%s: f32 = 0f32) for %k: i64 < %p do {
               let (%at: i64) = add.i64(%first, %k)
               let (%c: f32) = %cs[%at]
               let (%t: f32) = mul.f32(%s, %x)
               let (%next: f32) = add.f32(%t, %c)
               in (%next)
             }
             in (%y)
           }
           in (%ys)
         }"
    ));
}

#[test]
fn reductions_of_rows_of_the_inner_dimension_are_interchanged() {
    assert_shows!(passed(
        DIMENSIONS,
        "fun f@0 (%n: i64, %m: i64, %p: i64, %xs: []i32, %cs: []i32) -> ([]i64) {
           let (%ys: []i64) = kernel reduce op \\(%a: i64, %b: i64) -> (i64) {
             let (%sum: i64) = add.i64(%a, %b)
             in (%sum)
           } neutral (0i64) over [%n] [%m] [%p] \\%row %pos %i %j %k {
             let (%x: i32) = %xs[%i]
             let (%first: i64) = mul.i64(%j, %p)
             let (%at: i64) = add.i64(%first, %k)
             let (%c: i32) = %cs[%at]
             let (%below: bool) = lt.i32(%c, %x)
             let (%one: i64) = conv.bool.i64(%below)
             in (%one)
           }
           in (%ys)
         }"
    ));
}

/// Products of rows: elements of both are apart in one of the orders.
#[test]
fn loops_over_rows_of_both_dimensions_stay() {
    let shown = passed(
        DIMENSIONS,
        "fun f@0 (%n: i64, %m: i64, %p: i64, %xs: []f32, %cs: []f32) -> ([]f32) {
           let (%ys: []f32) = kernel map (elem f32) over [%n] [%m] \\%i %pos %j {
             let (%from: i64) = mul.i64(%i, %p)
             let (%first: i64) = mul.i64(%j, %p)
             let (%y: f32) = loop (%s: f32 = 0f32) for %k: i64 < %p do {
               let (%at: i64) = add.i64(%from, %k)
               let (%x: f32) = %xs[%at]
               let (%to: i64) = add.i64(%first, %k)
               let (%c: f32) = %cs[%to]
               let (%t: f32) = mul.f32(%c, %x)
               let (%next: f32) = add.f32(%s, %t)
               in (%next)
             }
             in (%y)
           }
           in (%ys)
         }",
    );
    let (before, after) = shown.split_once("\n=>\n\n").expect("both programs");
    assert_eq!(before.trim(), after.trim());
}
