//! Printed trees parse to the tree that was printed.

mod common;

use common::{valid, without_spans};
use par_syntax::{ast, parse_expression, parse_type, pretty};

fn check(name: &str, text: &str) {
    let tree = valid(name, text);
    let printed = pretty::file(&tree);
    let again = valid(name, &printed);
    assert_eq!(without_spans(&tree), without_spans(&again), "{printed}");
    assert_eq!(printed, pretty::file(&again));
}

#[test]
fn every_construct() {
    let text = include_str!("programs/language.par");
    check("language.par", text);
    insta::assert_snapshot!("language_printed", pretty::file(&valid("language.par", text)));
}

/// All programs of this repository.
#[test]
fn examples_and_library() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("examples"), root.join("stdlib"), root.join("tests")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for path in entries.filter_map(|e| Some(e.ok()?.path())) {
            if path.is_dir() && !path.ends_with("bad") && !path.ends_with("diagnostics") {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "par") {
                check(&path.display().to_string(), &std::fs::read_to_string(&path).unwrap());
            }
        }
    }
}

fn printed(text: &str) -> String {
    let (exp, diags) = parse_expression(text, 0);
    assert!(diags.is_empty(), "{text}: {diags:?}");
    pretty::exp(&exp.unwrap())
}

/// The expression with parentheses around every infix use.
fn grouped(text: &str) -> String {
    fn group(e: &mut ast::Exp) {
        if let ast::ExpKind::Binary { left, right, .. } = &mut e.kind {
            for side in [left, right] {
                group(side);
                if matches!(side.kind, ast::ExpKind::Binary { .. }) {
                    let inner = Box::new((**side).clone());
                    side.kind = ast::ExpKind::Parens(inner);
                }
            }
        }
    }
    let (exp, diags) = parse_expression(text, 0);
    assert!(diags.is_empty(), "{text}: {diags:?}");
    let mut exp = exp.unwrap();
    group(&mut exp);
    pretty::exp(&exp)
}

#[test]
fn precedence() {
    assert_eq!(grouped("a + b * c - d"), "(a + (b * c)) - d");
    assert_eq!(grouped("a - b - c"), "(a - b) - c");
    assert_eq!(grouped("a ** b ** c"), "(a ** b) ** c");
    assert_eq!(grouped("f <| g <| x |> h"), "(f <| (g <| x)) |> h");
    assert_eq!(
        grouped("a || b && c == d | e << f + g * h ** i"),
        "a || (b && (c == (d | (e << (f + (g * (h ** i)))))))"
    );
    assert_eq!(grouped("x |> f >-> g"), "x |> (f >-> g)");
    assert_eq!(grouped("a `f` b + c"), "a `f` (b + c)");
    assert_eq!(grouped("a ++ b +. c *. d"), "(a ++ b) +. (c *. d)");
    assert_eq!(grouped("a >>> b < c"), "(a >>> b) < c");
    assert_eq!(grouped("-a * b"), "-a * b");
}

#[test]
fn brackets_after_operands_are_indices() {
    assert!(matches!(parse_expression("f[1]", 0).0.unwrap().kind, ast::ExpKind::Index(..)));
    assert!(matches!(parse_expression("f [1]", 0).0.unwrap().kind, ast::ExpKind::Apply(..)));
    assert!(matches!(parse_expression("[1][0]", 0).0.unwrap().kind, ast::ExpKind::Index(..)));
    assert!(matches!(parse_expression("#c [1]", 0).0.unwrap().kind, ast::ExpKind::Constr(..)));
}

/// Trees that cannot be written without further parentheses.
#[test]
fn parentheses_are_added() {
    let exp = |text: &str| parse_expression(text, 0).0.unwrap();
    let name = |text: &str| match exp(text).kind {
        ast::ExpKind::Operator(op) => op,
        _ => unreachable!(),
    };
    let binary = |op: &str, left: ast::Exp, right: ast::Exp| ast::Exp {
        span: left.span,
        kind: ast::ExpKind::Binary { op: name(op), left: Box::new(left), right: Box::new(right) },
    };
    assert_eq!(pretty::exp(&binary("(*)", exp("a + b"), exp("c"))), "(a + b) * c");
    assert_eq!(pretty::exp(&binary("(-)", exp("a"), exp("b - c"))), "a - (b - c)");
    assert_eq!(
        pretty::exp(&binary("(-)", exp("1 + if a then b else c"), exp("d"))),
        "(1 + if a then b else c) - d"
    );
    assert_eq!(printed("a - \\x -> x"), "a - \\x -> x");
}

#[test]
fn types() {
    for text in
        ["(a -> b) -> c", "[n](a -> b)", "*[n][]i32", "(x: i64) -> ?[m].[m]i32", "#a | #b (t i32) -> [](#c)"]
    {
        let (ty, diags) = parse_type(text, 0);
        assert!(diags.is_empty(), "{text}: {diags:?}");
        assert_eq!(pretty::type_exp(&ty.unwrap()), text);
    }
}

#[test]
fn documentation_is_kept() {
    let file = valid("doc", "-- | One.\n-- Two.\n-- ==\n-- input { }\ndef f = 1\n\n-- plain\ndef g = 2");
    assert_eq!(file.decs[0].doc.as_deref(), Some("One.\nTwo."));
    assert_eq!(file.decs[1].doc, None);
}

#[test]
fn line_ends_and_tabs_do_not_matter() {
    let plain = valid("lf", "def f x =\n  let y = x\n  in y\ndef g = 1\n");
    let other = valid("crlf", "def f x =\r\n\tlet y = x\r\n\tin y\r\ndef g = 1");
    assert_eq!(without_spans(&plain), without_spans(&other));
}
