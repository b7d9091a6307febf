//! Programs that are rejected, as a person sees it, and programs that are not.

use par_check::consume::check;
use par_check::infer::infer;
use par_syntax::{Sources, parse, render};

/// Functions that consume, in front of every program here.
const STEPS: &str = "def step [n] (xs: *[n]i64) : *[n]i64 = xs with [0] = 1\n\
    def both [n][m] (xs: *[n]i64) (ys: *[m]i64) : (*[n]i64, *[m]i64) = (step xs, step ys)\n";

/// The diagnostics for a program, with the prelude in front of it.
fn diagnostics(text: &str) -> String {
    let prelude = include_str!("../../../stdlib/prelude.par");
    let mut sources = Sources::default();
    let texts = [("prelude", prelude, true), ("steps.par", STEPS, false), ("test.par", text, false)];
    let mut files = Vec::new();
    for (name, text, is_library) in texts {
        let index = sources.add(name, text, is_library);
        let (file, wrong) = parse(text, index);
        assert!(wrong.is_empty(), "{}", render(&wrong, &sources, false));
        files.push(file);
    }
    let (program, found) = infer(&files, &sources);
    let program = program.unwrap_or_else(|| panic!("{}", render(&found, &sources, false)));
    render(&check(&program), &sources, false)
}

/// One snapshot for every kind of mistake: the program and what a person sees.
macro_rules! rejected {
    ($($name:ident: $text:expr;)*) => {
        $(#[test]
        fn $name() {
            insta::assert_snapshot!(stringify!($name), format!("{}\n{}", $text, diagnostics($text)));
        })*
    };
}

rejected! {
    slice: "def f (n: i64) =\n  let xs = iota n\n  let zs = xs[1:]\n  let ys = step zs\n  in ys[0] + xs[0]\n";
    parameter: "def f (xs: []i64) =\n  step xs\n";
    lambda: "def f (n: i64) =\n  let xs = iota n\n  in map (\\i -> (step xs)[i]) [0, 1]\n";
    given_twice: "def f (n: i64) =\n  let xs = iota n\n  in both xs xs\n";
    start_of_a_loop: "def f (n: i64) =\n  let old = iota n\n  let new = loop xs = old for i < n do step xs\n  \
        in map2 (+) old new\n";
    old_value_for_the_next_iteration: "def f (n: i64) =\n  let old = iota n\n  in loop xs = copy old for i < n do\n       \
        let ys = step xs\n       in if ys[0] > 0 then old else ys\n";
}

/// The codes reported, and the names in the messages.
fn codes(text: &str) -> Vec<String> {
    let rendered = diagnostics(text);
    rendered
        .lines()
        .filter_map(|l| l.strip_prefix("[")?.split_once(']').map(|(c, _)| c.to_string()))
        .collect()
}

/// The body of a function of `n` and an array `a` that is its own.
fn body(text: &str) -> Vec<String> {
    codes(&format!("def f (n: i64) (b: bool) (a: *[]i64) =\n  {text}\n"))
}

#[test]
fn what_shares() {
    for text in [
        "let t = (a, 1) let y = step a in t.0[0] + y[0]",
        "let r = {x = a, y = n} let y = step r.x in a[0] + y[0]",
        "let c = if b then a else iota n let y = step c in a[0] + y[0]",
        "let get i = a[i] let y = step a in get y[0]",
        "let xss = map iota [n] let y = step xss[0] in y[0] + length xss",
        "let pick (xs: []i64) (ys: []i64) = if b then xs else ys let y = step (pick a (iota n)) in a[0] + y[0]",
        "let l = loop l = a for i < 3 do if b then l else iota n let y = step l in a[0] + y[0]",
        "let (xs, ys) = unzip (zip a a) let y = step xs in ys[0] + y[0]",
    ] {
        assert_eq!(body(text), ["E0602"], "{text}");
    }
}

#[test]
fn uses_and_copies() {
    for text in [
        "let y = a |> step in a[0] + y[0]",
        "(a, step a)",
        "let g (xs: *[]i64) (k: i64) = xs[k] let p = (a, 1) in g p.0 1 + p.0[0]",
        "loop xs = a for i < n do map (+ a[0]) (step xs)",
    ] {
        assert_eq!(body(text), ["E0601"], "{text}");
    }
    for text in [
        "let y = step (copy a) in a[0] + y[0]",
        "let y = step (map (+ 1) a) in a[0] + y[0]",
        "let c = a with [0] = 5 let y = step c in a[0] + y[0]",
        "let l = length a let y = step a in l + y[0]",
        "if b then step a else step (a with [0] = 2)",
        "let r = {x = a, y = iota n} let y = step r.x let r = r with x = y in r.x[0] + r.y[0]",
        "let (x, y) = loop (x, y) = (a, iota n) for i < n do (y, step x) in x[0] + y[0]",
        "map (\\i -> (step (iota i))[0] + a[0]) [1, 2]",
    ] {
        assert!(body(text).is_empty(), "{text}");
    }
}

#[test]
fn not_to_be_consumed() {
    assert_eq!(codes("def table = [1i64, 2]\ndef f = step table"), ["E0603"]);
    assert_eq!(codes("def f (xs: []i64) = loop ys = xs[1:] for i < 3 do step ys"), ["E0603"]);
    assert_eq!(body("loop s = 0 for i < n do s + length (step (id a))"), ["E0604"]);
    assert_eq!(body("let g i = (step a)[i] in g 0"), ["E0604"]);
    assert_eq!(body("loop (x, y) = (a, a) for i < n do (step x, y)"), ["E0605"]);
    assert_eq!(body("let g (xs: *[]i64) (f: i64 -> i64) = map f xs in g a (\\i -> a[i])"), ["E0605"]);
    assert_eq!(body("let g (xs: *[]i64) = xs[0] + a[0] in g a"), ["E0605"]);
    assert_eq!(body("loop (x, y) = (a, iota n) for i < n do let z = step x in (z, z)"), ["E0606"]);
}
