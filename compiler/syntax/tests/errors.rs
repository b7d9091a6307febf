//! Snapshots of syntax errors. Every one holds the source lines and what a person sees.

mod common;

use common::rendered;
use par_syntax::{Diagnostic, Severity, Sources, ast::Span, parse, parse_expression, parse_type, render};

fn errors(text: &str) -> String {
    let (_, diags) = parse(text, 0);
    rendered("test.par", text, &diags)
}

macro_rules! snapshot {
    ($name:ident, $text:expr) => {
        #[test]
        fn $name() {
            insta::assert_snapshot!(stringify!($name), errors($text));
        }
    };
}

snapshot!(missing_in, "def f (x: i32) : i32 =\n  let y = x + 1\n  let z = let w = 1 in w\n\ndef g x = x\n");
snapshot!(missing_else, "def f x = if x then 1\n\ndef g x = (if x then 1) + 2\n");
snapshot!(unclosed_bracket, "def f (x: i32 = x\n\ndef g x = [x, (x + 1]\n\ndef h x = x)\n");
snapshot!(unfinished_module, "module m = {\n  def x = 1\n\ndef y = 2\n");
snapshot!(several_declarations, "def f = 1 +\n\ndef g = 2\n\ntype = i32\n\nentry main x: i32 -> 3\n");
snapshot!(comparison_with_one_sign, "def f x = if x = 1 then 2 else 3\n");
snapshot!(glued_operators, "def f x y=-1\ndef g x = x*-1 ? 1\n");
snapshot!(branch_as_argument, "def f xs = map if null xs then id else id\n");
snapshot!(keyword_as_name, "def in (x: i32) = x\ndef f = let type = 1 in type\ndef g (val: i32) = 1\n");
snapshot!(no_declaration, "x = 1\n");
snapshot!(stray_in, "def f =\n  let x = 1\n  in x\n  in 2\n");
snapshot!(characters, "def größe (ä: i32) = ä ++ \"λ→é\" @ 3\ndef a = 'ab'\ndef b = {a = 1; b = 2}\n");
snapshot!(numbers, "def a = 12abc + 0b12\ndef b = 0xfffffffffffffffff\ndef c = 1.5i32\ndef d = 1f16\n");
snapshot!(strings, "def a = \"abc\ndef b = \"\\q\"\ndef c = '\\x110000'\n");
snapshot!(update_arrow, "def f a = a with [0] <- 3\n");
snapshot!(loop_without_names, "def f = loop (x, _) for i < 10 do (x, 1)\n");
snapshot!(crlf_and_tabs, "def f x =\r\n\tlet é = (x\r\n\tin\té + )\r\n\r\ndef g =");
snapshot!(wrong_patterns, "def f -1 = 2\ndef g = \\ -> 1\ndef h = match x case 1 + 2 -> 3\n");
snapshot!(wrong_types, "def f (x: ) = 1\ntype t = [n\ntype u = i32 ->\n");

#[test]
fn at_most_twenty() {
    let text = "def f = +\n".repeat(50);
    assert_eq!(parse(&text, 0).1.len(), 20);
}

#[test]
fn right_declarations_survive() {
    let (file, diags) = parse("def a = 1\ndef b = (\ndef c = 3\nlocal\ndef d = 4\n#[x]\ndef e = )\n", 0);
    assert_eq!((file.decs.len(), diags.len()), (3, 2));
}

/// A `let` at the margin is a declaration in old-style files, and part of an expression elsewhere.
#[test]
fn let_at_the_margin() {
    assert_eq!(parse("let f = (\nlet g = 1\nlet h = )\n", 0).1.len(), 2);
    assert_eq!(parse("def f =\nlet x = 1\nin x\n", 0).1.len(), 0);
    assert_eq!(parse("def f =\nlet x = 1 +\nin x\ndef g = 1", 0).1.len(), 1);
}

#[test]
fn expressions_and_types_alone() {
    let (exp, diags) = parse_expression("1 + (2", 0);
    assert!(exp.is_none());
    assert_eq!(diags[0].code, "E0102");
    assert_eq!(parse_expression("", 0).1.len(), 1);
    assert_eq!(parse_expression("1 def", 0).1.len(), 1);
    assert_eq!(parse_type("[n]i32 3", 0).1.len(), 1);
    assert!(parse_type("[n]i32", 0).1.is_empty());
}

#[test]
fn errors_of_running_programs_have_no_code() {
    let mut sources = Sources::default();
    let file = sources.add("main.par", "entry main (xs: []i32) = xs[7]\n", false);
    let error = Diagnostic::error("", "index 7 is outside [0,5)", Span { file, start: 25, end: 30 });
    let plain = Diagnostic { labels: Vec::new(), ..error.clone() };
    insta::assert_snapshot!(
        "run_time",
        render(&[error.note("called from main"), plain.note("a note")], &sources, false)
    );
}

#[test]
fn several_files_and_lines() {
    let mut sources = Sources::default();
    let a = sources.add("a.par", "def f x =\n  if x\n  then 1\n  else 2.0\n", false);
    let b = sources.add("b.par", "open import \"a\"\ndef ü = f 1\n", false);
    let diag =
        Diagnostic::new(Severity::Warning, "W0001", "types differ", Span { file: b, start: 24, end: 27 })
            .here("used here")
            .label(Span { file: a, start: 12, end: 38 }, "this `if`")
            .note("first note")
            .note("second note");
    insta::assert_snapshot!("two_files", render(&[diag], &sources, false));
}

#[test]
fn color_is_optional() {
    let (_, diags) = parse("def", 0);
    let mut sources = Sources::default();
    sources.add("x", "def", false);
    assert!(render(&diags, &sources, true).contains('\x1b'));
    assert!(!render(&diags, &sources, false).contains('\x1b'));
}

/// Spans may point anywhere: something is printed.
#[test]
fn spans_may_lie_anywhere() {
    for text in ["", "é", "a\nb", "a\r\nλλ\r\n\n\n", "\n", "\t\tx"] {
        let mut sources = Sources::default();
        sources.add("x", text, false);
        for (file, start, end) in
            (0..2).flat_map(|f| (0..10).flat_map(move |s| (0..10).map(move |e| (f, s, e))))
        {
            let span = Span { file, start, end };
            let other = Span { file: 0, start: end, end: u32::MAX };
            let diag = Diagnostic::new(Severity::Note, "", "message", span).label(other, "b");
            assert!(render(&[diag], &sources, false).contains("message"));
        }
    }
}
