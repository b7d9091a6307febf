//! Flattened nests: snapshots of FLAT for the programs whose shape matters most.

mod common;
#[path = "common/flat.rs"]
mod flattening;

use common::{program, transformed};
use par_ir::flat::Op;
use par_ir::print::print_flat;
use par_ir::verify::verify_flat;

/// The program as it was and flattened, both verified and printed.
fn flat(text: &str) -> String {
    let before = transformed(text, &[]);
    let core = program(text);
    let flat = flattening::flattened(&core);
    let shown = print_flat(&flat);
    verify_flat(&flat).unwrap_or_else(|e| panic!("{e}\n{shown}"));
    let before = before.split("\n=>\n").next().unwrap_or_default();
    format!("{before}\n=>\n\n{shown}")
}

#[test]
fn a_sparse_matrix_times_a_vector_is_one_reduction() {
    assert_shows!(flat(
        "fun f@0 (%m: i64, %rp: [%m]i64, %z: i64, %cols: [%z]i64, %z2: i64, %vals: [%z2]f32, %c: i64, %x: [%c]f32) -> (%n1: i64, %r: [%n1]f32)
           entry main (rp: []i64, cols: []i64, vals: []f32, x: []f32) -> []f32 {
           let (%n: i64) = sub.i64 (%m, 1i64)
           let (%is: [%n]i64) = iota %n
           let (%ys: [%n]f32) = map %n (%is) \\(%i: i64) -> (f32) {
             let (%s: i64) = %rp[%i]
             let (%j: i64) = add.i64 (%i, 1i64)
             let (%e: i64) = %rp[%j]
             let (%ok: bool) = le.i64 (%s, %e)
             check %ok slice (%s, %e, %z)
             let (%l: i64) = sub.i64 (%e, %s)
             let (%cs: [%l]i64) = slice %cols (%s, %l, 1i64)
             let (%vs: [%l]f32) = slice %vals (%s, %l, 1i64)
             let (%t: f32) = reduce %l (%cs, %vs) \\(%c1: i64, %v1: f32) -> (f32) {
               let (%xc: f32) = %x[%c1]
               let (%p: f32) = mul.f32 (%v1, %xc)
               in (%p)
             } op \\(%u: f32, %v: f32) -> (f32) {
               let (%w: f32) = add.f32 (%u, %v)
               in (%w)
             } neutral (0.0f32)
             in (%t)
           }
           in (%n, %ys)
         }"
    ));
}

#[test]
fn only_positions_of_the_arm_with_rows_are_selected() {
    assert_shows!(flat(
        "fun f@0 (%n: i64, %s: [%n]desc, %xss: [%n][~%s]i64) -> (%m: i64, %t: [%m]desc, %r: [%m][~%t]i64, %m2: i64, %q: [%m2]i64)
           entry main (xss: [][~]i64) -> ([][~]i64, []i64) {
           let (%u: [%n]desc, %yss: [%n][~%u]i64, %zs: [%n]i64) = map %n (%s, %xss) \\(%k: i64, %row: [%k]i64) -> (i64, [%l]i64, i64) {
             let (%c: bool) = lt.i64 (%k, 2i64)
             let (%l: i64, %ys: [%l]i64, %z: i64) = if %c then {
               let (%none: [0]i64) = literal i64 []
               let (%d: i64) = add.i64 (%k, 7i64)
               in (0i64, %none, %d)
             } else {
               let (%v: [%k]i64) = map %k (%row) \\(%e: i64) -> (i64) {
                 let (%w: i64) = neg.i64 (%e)
                 in (%w)
               }
               in (%k, %v, 1i64)
             }
             in (%l, %ys, %z)
           }
           in (%n, %u, %yss, %n, %zs)
         }"
    ));
}

#[test]
fn a_branch_between_rows_of_one_array_is_a_select() {
    assert_shows!(flat(
        "fun f@0 (%n: i64, %m: i64, %a: [%n][%m]i64, %k: i64) -> (%n1: i64, %m1: i64, %r: [%n1][%m1]i64)
           entry main (a: [][]i64, k: i64) -> [][]i64 {
           let (%is: [%n]i64) = iota %n
           let (%b: [%n][%m]i64) = map %n (%is) \\(%i: i64) -> ([%m]i64) {
             let (%c: bool) = eq.i64 (%i, %k)
             let (%row: [%m]i64) = if %c then {
               let (%p: [%m]i64) = %a[0i64]
               in (%p)
             } else {
               let (%q: [%m]i64) = %a[%i]
               in (%q)
             }
             in (%row)
           }
           in (%n, %m, %b)
         }"
    ));
}

#[test]
fn rows_of_a_ragged_array_keep_their_descriptor() {
    assert_shows!(flat(
        "fun f@0 (%n: i64, %s: [%n]desc, %xss: [%n][~%s]i64) -> (%n1: i64, %s1: [%n1]desc, %r: [%n1][~%s1]i64)
           entry main (xss: [][~]i64) -> [][~]i64 {
           let (%yss: [%n][~%s]i64) = map %n (%s, %xss) \\(%k: i64, %row: [%k]i64) -> ([%k]i64) {
             let (%t: i64) = reduce %k (%row) \\(%z: i64) -> (i64) { in (%z) } op \\(%u: i64, %v: i64) -> (i64) {
               let (%w: i64) = add.i64 (%u, %v)
               in (%w)
             } neutral (0i64)
             let (%ys: [%k]i64) = map %k (%row) \\(%x: i64) -> (i64) {
               let (%y: i64) = add.i64 (%x, %t)
               in (%y)
             }
             in (%ys)
           }
           in (%n, %s, %yss)
         }"
    ));
}

#[test]
fn a_recursive_quicksort_calls_its_lifted_form() {
    assert_shows!(flat(
        "fun qs@0 (%n: i64, %xs: [%n]i32) -> (%n1: i64, %r: [%n1]i32)
           entry main (xs: []i32) -> []i32 {
           let (%small: bool) = lt.i64 (%n, 2i64)
           let (%k: i64, %ys: [%k]i32) = if %small then { in (%n, %xs) } else {
             let (%h: i64) = quot.i64 (%n, 2i64)
             let (%p: i32) = %xs[%h]
             let (%a: i64, %lt: [%a]i32) = filter %n (%xs) \\(%x1: i32) -> (bool, i32) {
               let (%c1: bool) = lt.i32 (%x1, %p)
               in (%c1, %x1)
             }
             let (%b: i64, %eq: [%b]i32) = filter %n (%xs) \\(%x2: i32) -> (bool, i32) {
               let (%c2: bool) = eq.i32 (%x2, %p)
               in (%c2, %x2)
             }
             let (%c: i64, %gt: [%c]i32) = filter %n (%xs) \\(%x3: i32) -> (bool, i32) {
               let (%c3: bool) = gt.i32 (%x3, %p)
               in (%c3, %x3)
             }
             let (%ls: [2i64]i64) = literal i64 [%a, %c]
             let (%d: [2i64]desc) = makedesc %ls
             let (%pair: [2i64][~%d]i32) = literal i32 [%lt, %gt]
             let (%e: [2i64]desc, %sorted: [2i64][~%e]i32) = map 2i64 (%d, %pair) \\(%l: i64, %row: [%l]i32) -> (i64, [%l]i32) {
               let (%q: i64, %zs: [%q]i32) = call @0 (%l, %row)
               in (%q, %zs)
             }
             let (%s0: i64) = %e[0i64]
             let (%first: [%s0]i32) = %sorted[0i64]
             let (%s1: i64) = %e[1i64]
             let (%second: [%s1]i32) = %sorted[1i64]
             let (%t0: i64) = add.i64 (%s0, %b)
             let (%t1: i64) = add.i64 (%t0, %s1)
             let (%all: [%t1]i32) = concat (%first, %eq, %second)
             in (%t1, %all)
           }
           in (%k, %ys)
         }"
    ));
}

#[test]
fn a_loop_of_updates_under_a_map_is_one_kernel_in_place() {
    assert_shows!(flat(
        "fun f@0 (%n: i64, %s: [%n]desc, %xss: [%n][~%s]i64) -> (%n1: i64, %s1: [%n1]desc, %r: [%n1][~%s1]i64)
           entry main (xss: [][~]i64) -> [][~]i64 {
           let (%yss: [%n][~%s]i64) = map %n (%s, %xss) \\(%k: i64, %row: [%k]i64) -> ([%k]i64) {
             let (%last: [%k]i64, %sum: i64) = loop (%ys: [%k]i64 = %row, %t: i64 = 0i64) for %i: i64 < %k do {
               let (%x: i64) = %ys[%i]
               let (%first: i64) = %row[0i64]
               let (%y: i64) = add.i64 (%x, %first)
               let (%zs: [%k]i64) = %ys with [%i] = %y
               let (%u: i64) = add.i64 (%t, %y)
               in (%zs, %u)
             }
             let (%ok: bool) = lt.i64 (%sum, 100i64)
             check %ok assert \"small\" ()
             in (%last)
           }
           in (%n, %s, %yss)
         }"
    ));
}

/// A scan of segments, whose rows are found by a scan of scattered row numbers, is also one along rows, without a check of the row
/// numbers, and with half of `xs` computed once per row.
#[test]
fn sums_of_segments_are_sums_of_rows() {
    assert_shows!(flat(
        "fun main@0 (%k0: i64, %starts1: [%k0]i64, %k2: i64, %xs3: [%k2]i64, %n4: i64, %ys5: [%n4]i64) -> (%k56: i64, %r57: [%k56]i64)
  entry main (starts: [k]i64, xs: [k]i64, ys: [n]i64) -> [n]i64
{
  let (%t6: bool) = eq.i64(%k0, %k2)
  check %t6 size_mismatch \"size `k` of `starts` and of `xs`\" (%k0, %k2)
  let (%xs7: [%k0]i64) = %xs3
  let (%r8: [%n4]i64) = replicate (%n4, 0i64)
  let (%is9: [%k0]i64) = iota %k0
  let (%r10: [%n4]i64) = scatter (%r8) %k0 (%starts1, %is9) \\(%x11: i64, %x12: i64) -> (i64, i64) { in (%x11, %x12) }
  let (%rows17: [%n4]i64) = scan %n4 (%r10) \\(%x16: i64) -> (i64) { in (%x16) } op \\(%x13: i64, %y14: i64) -> (i64) {
    let (%t15: i64) = max.i64(%x13, %y14)
    in (%t15)
  } neutral (0i64)
  let (%is18: [%n4]i64) = iota %n4
  let (%r52: [%n4]bool, %r53: [%n4]i64) = scan %n4 (%is18, %rows17, %ys5) \\(%x19: i64, %x34: i64, %x35: i64) -> (bool, i64) {
    let (%t20: bool) = eq.i64(%x19, 0i64)
    let (%t21: i64) = sub.i64(%x19, 1i64)
    let (%r32: bool) = if %t20 then { in (true) } else {
      let (%t25: i64) = %rows17[%t21]
      let (%t29: i64) = %rows17[%x19]
      let (%t30: bool) = eq.i64(%t25, %t29)
      let (%t31: bool) = not.bool(%t30)
      in (%t31)
    }
    let (%t36: bool) = le.i64(0i64, %x34)
    let (%t37: bool) = lt.i64(%x34, %k0)
    let (%t38: bool) = and.bool(%t36, %t37)
    check %t38 bounds (%x34, %k0)
    let (%t39: i64) = %xs7[%x34]
    let (%t40: i64) = div.i64(%t39, 2i64)
    let (%t41: i64) = add.i64(%t40, %x35)
    in (%r32, %t41)
  } op \\(%x43: bool, %x44: i64, %y45: bool, %y46: i64) -> (bool, i64) {
    let (%t47: bool) = or.bool(%x43, %y45)
    let (%t48: i64) = add.i64(%x44, %y46)
    let (%r49: i64) = select.i64(%y45, %y46, %t48)
    in (%t47, %r49)
  } neutral (false, 0i64)
  in (%n4, %r53)
}"
    ));
}

#[test]
fn a_perfect_nest_has_an_index_per_dimension() {
    let core = program(
        "fun f@0 (%k: i64, %n: i64, %xs: [%n]i64, %m: i64, %ys: [%m]i64) -> (%a: i64, %b: i64, %c: i64, %r: [%a][%b][%c]i64)
           entry main (k: i64, xs: []i64, ys: []i64) -> [][][]i64 {
           let (%zs: [%n][%m][%k]i64) = map %n (%xs) \\(%x: i64) -> ([%m][%k]i64) {
             let (%us: [%m][%k]i64) = map %m (%ys) \\(%y: i64) -> ([%k]i64) {
               let (%js: [%k]i64) = iota %k
               let (%vs: [%k]i64) = map %k (%js) \\(%j: i64) -> (i64) {
                 let (%p: i64) = mul.i64 (%x, %j)
                 let (%q: i64) = add.i64 (%p, %y)
                 in (%q)
               }
               in (%vs)
             }
             in (%us)
           }
           in (%n, %m, %k, %zs)
         }",
    );
    let mut shown = Vec::new();
    flattening::flattened_by(&core, &mut |pass, program| {
        if ["flatten", "linearise"].contains(&pass) {
            shown.push(print_flat(program));
        }
    });
    assert_shows!(shown.join("\n=>\n\n"));
}

/// A loop that may not end comes before the check in the program, so the check stays behind it, in the kernel.
#[test]
fn a_check_that_is_the_same_at_every_position_stays_behind_a_loop_that_may_not_end() {
    assert_shows!(flat(
        "fun f@0 (%n: i64, %xs: [%n]i64, %m: i64) -> (%n1: i64, %r: [%n1]i64)
           entry main (xs: []i64, m: i64) -> []i64 {
           let (%ys: [%n]i64) = map %n (%xs) \\(%x: i64) -> (i64) {
             let (%end: i64) = loop (%v: i64 = %x) while {
               let (%more: bool) = lt.i64 (1i64, %v)
               in (%more)
             } do {
               let (%next: i64) = quot.i64 (%v, 2i64)
               in (%next)
             }
             let (%ok: bool) = lt.i64 (%m, 0i64)
             check %ok assert \"negative\" ()
             in (%end)
           }
           in (%n, %ys)
         }"
    ));
}

/// Deeper than the passes could go on a stack of [`STACK`] bytes without looking for more.
const DEPTH: usize = 500;
const STACK: usize = 512 << 10;

/// Loops in each other, of which the innermost sums numbers.
fn nested_loops() -> String {
    let open = |i: usize| format!("let (%a{i}: i64) = loop (%b{i}: i64 = %n) for %i{i}: i64 < %n do {{\n");
    let close = |i: usize| {
        let inner = if i + 1 == DEPTH { "%x".into() } else { format!("%a{}", i + 1) };
        format!("let (%c{i}: i64) = add.i64 ({inner}, %b{i})\nin (%c{i})\n}}\n")
    };
    let sum = "let (%is: [%n]i64) = iota %n
         let (%x: i64) = reduce %n (%is) \\(%i: i64) -> (i64) { in (%i) } op \\(%u: i64, %v: i64) -> (i64) {
           let (%w: i64) = add.i64 (%u, %v)
           in (%w)
         } neutral (0i64)\n";
    let text = (0..DEPTH).map(open).chain([sum.into()]).chain((0..DEPTH).rev().map(close));
    let text: String = text.collect();
    format!("fun f@0 (%n: i64) -> (%r: i64) entry main (n: i64) -> i64 {{\n{text}in (%a0)\n}}")
}

#[test]
fn passes_go_through_deeply_nested_code_on_a_small_stack() {
    let on_stack = |size: usize| std::thread::Builder::new().stack_size(size);
    let read = on_stack(64 << 20).spawn(|| program(&nested_loops())).expect("a thread");
    let core = read.join().expect("a program");
    let pass = move || {
        let flat = flattening::flattened(&core);
        flat.statements().iter().filter(|s| matches!(s.op, Op::Kernel(_))).count()
    };
    let kernels = on_stack(STACK).spawn(pass).expect("a thread").join().expect("a program in FLAT");
    // The outermost two loops have a version in which they are one kernel.
    assert_eq!(kernels, 1 + par_ir::tuning::NESTED_CHOICES);
}

/// A search that reads an array and passes it on, or a part of it.
const SEARCH: &str = "fun find@0 (%n: i64, %m: i64, %t: [%n][%m]i64, %x: i64) -> (%r: i64) {
       let (%none: bool) = le.i64 (%n, 1i64)
       let (%found: i64) = if %none then { in (0i64) } else {
         let (%h: i64) = quot.i64 (%n, 2i64)
         let (%k: i64) = %t[%h, 0i64]
         let (%less: bool) = lt.i64 (%k, %x)
         let (%up: i64) = if %less then {
           let (%l: i64) = sub.i64 (%n, %h)
           let (%part: [%l][%m]i64) = slice %t (%h, %l, 1i64)
           let (%a: i64) = call @0 (%l, %m, %part, %x)
           let (%b: i64) = add.i64 (%a, %h)
           in (%b)
         } else {
           let (%front: [%h][%m]i64) = slice %t (0i64, %h, 1i64)
           let (%c: i64) = call @0 (%h, %m, %front, %x)
           in (%c)
         }
         in (%up)
       }
       in (%found)
     }";

#[test]
fn kernels_pass_arrays_as_where_they_are() {
    assert_shows!(flat(&format!(
        "{SEARCH}
         fun f@1 (%q: i64, %xs: [%q]i64, %d: i64, %w: i64, %us: [%d][%w]i64) -> (%q1: i64, %rs: [%q1]i64)
           entry main (xs: []i64, us: [d][w]i64) -> []i64 {{
           let (%ys: [%q]i64) = map %q (%xs) \\(%y: i64) -> (i64) {{
             let (%z: i64) = call @0 (%d, %w, %us, %y)
             in (%z)
           }}
           in (%q, %ys)
         }}"
    )));
}

#[test]
fn calls_with_an_array_that_is_nowhere_are_lifted() {
    let text = format!(
        "{SEARCH}
         fun f@1 (%q: i64, %xs: [%q]i64) -> (%q1: i64, %rs: [%q1]i64) entry main (xs: []i64) -> []i64 {{
           let (%row: [3i64]i64) = iota 3i64
           let (%us: [4i64][3i64]i64) = replicate (4i64, %row)
           let (%ys: [%q]i64) = map %q (%xs) \\(%y: i64) -> (i64) {{
             let (%z: i64) = call @0 (4i64, 3i64, %us, %y)
             in (%z)
           }}
           in (%q, %ys)
         }}"
    );
    let flat = flattening::flattened(&program(&text));
    verify_flat(&flat).unwrap_or_else(|e| panic!("{e}"));
    assert!(flat.locals.is_empty() && flat.funs.iter().any(|f| f.name == "find^"), "{}", print_flat(&flat));
}

#[test]
fn merged_calls_are_single_ones_where_many_call() {
    assert_shows!(flat(
        "fun sum@0 (%n: i64, %left: [%n]i64, %v: i64) -> (%r: i64) {
           let (%low: bool) = lt.i64 (%v, 0i64)
           let (%high: bool) = le.i64 (%n, %v)
           let (%far: bool) = le.i64 (9i64, %v)
           let (%out: bool) = or.bool (%low, %high)
           let (%none: bool) = or.bool (%out, %far)
           let (%all: i64) = if %none then { in (0i64) } else {
             let (%x: i64) = %left[%v]
             let (%l: i64) = sub.i64 (%v, 1i64)
             let (%two: i64) = and.i64 (%x, 2i64)
             let (%k: i64) = sub.i64 (%l, %two)
             let (%both: [2]i64) = literal i64 [%l, %k]
             let (%sums: [2]i64) = map 2i64 (%both) \\(%u: i64) -> (i64) {
               let (%s: i64) = call @0 (%n, %left, %u)
               in (%s)
             }
             let (%a: i64) = %sums[0i64]
             let (%b: i64) = %sums[1i64]
             let (%t: i64) = add.i64 (%a, %b)
             in (%t)
           }
           in (%all)
         }
         fun f@1 (%q: i64, %xs: [%q]i64, %d: i64, %us: [%d]i64) -> (%q1: i64, %rs: [%q1]i64)
           entry main (xs: []i64, us: []i64) -> []i64 {
           let (%ys: [%q]i64) = map %q (%xs) \\(%y: i64) -> (i64) {
             let (%z: i64) = call @0 (%d, %us, %y)
             in (%z)
           }
           in (%q, %ys)
         }"
    ));
}
