//! No text makes the parser, the printer or the renderer panic or run out of stack, and what parses, prints.

mod common;

use common::{rendered, without_spans};
use par_syntax::{parse, pretty};
use proptest::prelude::*;

/// Pieces of which random programs consist.
const PIECES: &[&str] = &[
    "def",
    "entry",
    "let",
    "in",
    "if",
    "then",
    "else",
    "match",
    "case",
    "loop",
    "for",
    "while",
    "do",
    "with",
    "type",
    "module",
    "open",
    "local",
    "import",
    "val",
    "include",
    "assert",
    "x",
    "f",
    "m.x",
    "'t",
    "'^t",
    "#c",
    "#[a]",
    ".x",
    ".0",
    "1",
    "2.5f32",
    "0xff",
    "'c'",
    "\"s\"",
    "true",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    ":>",
    "=",
    "->",
    "\\",
    "_",
    "?",
    "???",
    "~",
    ".",
    "..",
    "...",
    "..<",
    "..>",
    "+",
    "-",
    "*",
    "<",
    "|",
    "^",
    "!",
    "&&",
    "|>",
    "<|",
    "**",
    "m.+",
    "`f`",
    ".(",
    ".[",
    "#[",
    "\n",
    "\ndef",
    "-- | doc\n",
    "--",
    "λ",
    "§",
];

/// Operands, operators and brackets that mostly make up expressions.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "x", "m.x", "1", "-1", "2.5", "'c'", "#c", "???", "(+)", "(.a)", "(.[0])", "(x +)", "(* x)", "()",
        "[]", "true",
    ])
    .prop_map(String::from);
    leaf.prop_recursive(6, 60, 3, |inner| {
        let op = prop::sample::select(vec!["+", "-", "**", "|>", "<|", "&&", "<", "`f`", "m.*", "++"]);
        let e = inner.clone();
        prop_oneof![
            (e.clone(), op, e.clone()).prop_map(|(a, op, b)| format!("{a} {op} {b}")),
            (e.clone(), e.clone()).prop_map(|(a, b)| format!("({a}, {b})")),
            e.clone().prop_map(|a| format!("({a})")),
            (e.clone(), e.clone()).prop_map(|(a, b)| format!("f ({a}) ({b})[{b}, 1:]")),
            (e.clone(), e.clone()).prop_map(|(a, b)| format!("let x = {a} in {b}")),
            (e.clone(), e.clone()).prop_map(|(a, b)| format!("let f 'a (x: a) = {a} let y[0] = {b} in x")),
            (e.clone(), e.clone(), e.clone()).prop_map(|(a, b, c)| format!("if {a} then {b} else {c}")),
            (e.clone(), e.clone(), e.clone())
                .prop_map(|(a, b, c)| format!("match {a} case #c x -> {b} case _ -> {c}")),
            e.clone().prop_map(|a| format!("\\x (y, _) : i32 -> {a}")),
            (e.clone(), e.clone()).prop_map(|(a, b)| format!("loop x = {a} for i < 3 do {b}")),
            (e.clone(), e.clone()).prop_map(|(a, b)| format!("{a} with [0] = {b}")),
            (e.clone(), e.clone()).prop_map(|(a, b)| format!("{{a = {a}}} with a.b = {b}")),
            (e.clone(), e.clone()).prop_map(|(a, b)| format!("{a}..<{b}")),
            e.clone().prop_map(|a| format!("- {a}")),
            e.clone().prop_map(|a| format!("! {a}")),
            e.clone().prop_map(|a| format!("{a} : [n]i32")),
            e.clone().prop_map(|a| format!("#[a] {a}")),
            e.prop_map(|a| format!("m.({a}).x.0")),
        ]
    })
}

fn check(text: &str) {
    let (tree, diags) = parse(text, 0);
    assert!(!rendered("x", text, &diags).contains('\x1b'));
    let printed = pretty::file(&tree);
    if !diags.is_empty() {
        return;
    }
    let (again, diags) = parse(&printed, 0);
    assert!(diags.is_empty(), "{text}\n---\n{}", rendered("x", &printed, &diags));
    assert_eq!(without_spans(&tree), without_spans(&again), "{text}\n---\n{printed}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in "\\PC{0,60}") {
        check(&text);
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_tokens(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40), blank in any::<bool>()) {
        check(&pieces.join(if blank { " " } else { "" }));
        check(&format!("def f = {}", pieces.join(if blank { " " } else { "" })));
    }

    #[test]
    fn any_expression(text in expression()) {
        check(&format!("def f = {text}\n"));
    }
}

#[test]
fn deep_nesting_is_an_error() {
    let n = 20_000;
    let nested = |open: &str, close: &str| format!("def f = {}x{}", open.repeat(n), close.repeat(n));
    let texts = [
        nested("(", ")"),
        nested("[", "]"),
        nested("! ", ""),
        nested("", " : t"),
        nested("", " with [0] = 1"),
        nested("", ".0"),
        nested("", "[0]"),
        nested("if x then x else ", ""),
        nested("if x then ", " else x"),
        nested("if ", " then x else x"),
        nested("\\x -> ", ""),
        nested("match x case x -> ", ""),
        nested("match ", " case x -> x"),
        nested("loop x = x for i < n do ", ""),
        nested("loop x = ", " for i < n do x"),
        nested("#[a] ", ""),
        nested("m.(", ")"),
        nested("{a = ", "}"),
        format!("type t = {}i32", "[]".repeat(n)),
        format!("type t = {}i32", "a -> ".repeat(n)),
        format!("type t = {}i32", "?[n].".repeat(n)),
        format!("type t = #c {}i32", "[]".repeat(n)),
        format!("def f {}x{} = 1", "(".repeat(n), ")".repeat(n)),
        format!("def f ({}x) = 1", "#[a] ".repeat(n)),
        format!("{}open m", "local ".repeat(n)),
        format!("module m = F{}", " a".repeat(n)),
        format!("module m = F{}", " {}".repeat(n)),
        format!("module m = {}{}", "{ module m = ".repeat(n), "}".repeat(n)),
        format!("module m = {}a", "\\(x: S) -> ".repeat(n)),
        format!("module type m = {}a", "S -> ".repeat(n)),
        format!("module type m = S{}", " with t = i32".repeat(n)),
    ];
    rejected_as_too_deep(&texts);
}

/// Constructs that become no nested code may be long.
#[test]
fn chains_have_a_limit_of_their_own() {
    let n = 120_000;
    let nested = |open: &str, close: &str| format!("def f = {}x{}", open.repeat(n), close.repeat(n));
    let texts = [
        nested("- ", ""),
        nested("x + ", ""),
        nested("x <| ", ""),
        nested("let x = 1 in ", ""),
        nested("let x = 1 ", "in x"),
        nested("let x = ", " in x"),
        nested("let z = let a = loop x for y in ys do x in ", ""),
        format!("type t = {}i32", "* ".repeat(n)),
    ];
    rejected_as_too_deep(&texts);
}

fn rejected_as_too_deep(texts: &[String]) {
    for text in texts {
        let (file, diags) = parse(text, 0);
        assert_eq!(diags.len(), 1, "{}", &text[..60]);
        assert_eq!(diags[0].code, "E0107", "{}", &text[..60]);
        assert!(file.decs.is_empty());
    }
}

/// Long, but not deep.
#[test]
fn long_texts_are_fine() {
    let texts = [
        format!("def f = [{}]", "1 + 1, ".repeat(5000)),
        "def f x = (x + 1) * 2\n".repeat(3000),
        "let f x = (x + 1) * 2\n".repeat(3000),
        format!("def f = match x {}", "case 1 -> let y = x + 1 in y * 2 ".repeat(2000)),
        format!("def f = {}", "let x = if a then b else (c + 1)\n".repeat(900) + "in x"),
        format!("def f = {}", "let x = if a then b else (c + 1)\n".repeat(20_000) + "in x"),
        format!("def f = x{}", " + x".repeat(20_000)),
        format!("def f = x{}", " ++ [x]".repeat(10_000)),
        format!("module m = {{ {} }}", "def f = 1 + 1 open m local def g = 2 ".repeat(2000)),
        format!("type t = {}", "#c i32 | ".repeat(900) + "#d"),
    ];
    for text in texts {
        let (file, diags) = parse(&text, 0);
        assert!(diags.is_empty(), "{}", rendered("x", &text, &diags));
        assert!(!pretty::file(&file).is_empty());
    }
}
