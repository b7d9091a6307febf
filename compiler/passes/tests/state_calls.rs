//! State calls: recursive functions that update arrays, before and after.

mod common;

use common::transformed;
use par_passes::pass::{STATE_CALLS, STATE_LOOPS};

/// A function of an array and a number, and its caller.
fn function(ret: &str, body: &str, call: &str) -> String {
    transformed(
        &format!(
            "fun main@0 (%some: i64) -> (%r9: i64)
               entry main (some: i64) -> i64
             {{
               let (%few: i64) = min.i64 (%some, 4i64)
               let (%m: i64) = max.i64 (%few, 0i64)
               let (%zs: [%m]i64) = replicate (%m, 0i64)
               {call}
               let (%r8: i64) = add.i64 (%r7, 1i64)
               in (%r8)
             }}
             fun f@1 (%n: i64, %xs: [%n]i64, %i: i64) -> ({ret}) {{
               {body}
             }}"
        ),
        &[STATE_CALLS, STATE_LOOPS],
    )
}

/// Backtracking: the array before the update is used again after the call.
const TRIED: &str = "let (%end: bool) = eq.i64 (%i, %n)
  let (%j: i64) = add.i64 (%i, 1i64)
  let (%sum: i64) = if %end then { in (%i) } else {
    let (%ys: [%n]i64) = %xs with [%i] = 5i64
    let (%a: i64) = call @1 (%n, %ys, %j)
    let (%b: i64) = call @1 (%n, %xs, %j)
    let (%c: i64) = add.i64 (%a, %b)
    in (%c)
  }
  in (%sum)";

const CALL: &str = "let (%r7: i64) = call @1 (%m, %zs, 0i64)";

#[test]
fn what_is_used_again_is_restored() {
    assert_shows!(function("%r: i64", TRIED, CALL));
}

#[test]
fn arrays_that_are_given_back_are_not_restored() {
    let marked = "let (%end: bool) = eq.i64 (%i, %n)
      let (%j: i64) = add.i64 (%i, 1i64)
      let (%last: [%n]i64) = if %end then { in (%xs) } else {
        let (%ys: [%n]i64) = %xs with [%i] = 5i64
        let (%out: [%n]i64) = loop (%zs2: [%n]i64 = %ys) for %k: i64 < 2i64 do {
          let (%us: [%n]i64) = call @1 (%n, %zs2, %j)
          in (%us)
        }
        in (%out)
      }
      in (%last)";
    let call = "let (%vs: [%m]i64) = call @1 (%m, %zs, 0i64)
      let (%r7: i64) = %vs[0i64]";
    assert_shows!(function("%r: [%n]i64", marked, call));
}

fn has_state(body: &str) -> bool {
    let shown = function("%r: i64", body, CALL);
    shown.split("=>").nth(1).unwrap_or_default().contains("once")
}

/// A version that was updated, used after the one before was.
#[test]
fn versions_in_turns_stay() {
    assert!(has_state(TRIED));
    let turns = TRIED.replace("let (%c: i64)", "let (%d: i64) = %ys[0i64] let (%c: i64)");
    assert!(!has_state(&turns));
}

/// The array that is updated is one that the function makes.
#[test]
fn arrays_of_a_call_stay() {
    let own = TRIED
        .replace("%xs with", "%ws with")
        .replace("let (%end: bool)", "let (%ws: [%n]i64) = replicate (%n, 1i64) let (%end: bool)");
    assert!(!has_state(&own));
}

/// Functions that only read are called as they are.
#[test]
fn arrays_that_nothing_updates_stay() {
    let reads = TRIED.replace("%xs with [%i] = 5i64", "%xs");
    assert!(!has_state(&reads));
}
