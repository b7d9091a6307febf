use super::*;
use crate::print_value;
use crate::program::Backend;

fn session() -> Session {
    Session::new(&Options { verify: true, ..Options::default() })
}

/// Enters a text and runs it; the value as text, the type of a function, or nothing.
fn enter(session: &mut Session, text: &str) -> String {
    match session.enter(text).map_err(|f| f.to_string()) {
        Ok(Outcome::Evaluate(evaluation)) => {
            let Evaluation { program, args, names } = *evaluation;
            let value = program.run(Evaluation::ENTRY, args, Backend::Interp, 1).unwrap();
            let text = print_value(&value);
            session.keep(&names, value);
            text
        }
        Ok(Outcome::Function(ty)) => ty,
        Ok(Outcome::Declared(_) | Outcome::Nothing) => String::new(),
        Err(text) => text,
    }
}

#[test]
fn values_reach_every_definition_that_mentions_them() {
    let mut s = session();
    enter(&mut s, "let xs = [3, 1, 2]");
    enter(&mut s, "let (m, k) = ([[1, 2], [3, 4]], 10)");
    enter(&mut s, "def shifted = map (+ k) xs");
    enter(&mut s, "def above b = filter (> b) shifted");
    assert_eq!(enter(&mut s, "above 11"), "[13i32, 12i32]");
    assert_eq!(enter(&mut s, "map (\\b -> length (above b)) [0, 11, 12]"), "[3i64, 2i64, 1i64]");
    assert_eq!(enter(&mut s, "transpose m"), "[[1i32, 3i32], [2i32, 4i32]]");
    // Both keep what they mean.
    enter(&mut s, "let k = 100");
    assert_eq!(enter(&mut s, "(k, above 12)"), "(100i32, [13i32])");
}

#[test]
fn recursive_definitions_use_values() {
    let mut s = session();
    enter(&mut s, "let next = [1, 2, 3, -1i64]");
    enter(&mut s, "def steps (i: i64) : i64 = if i < 0 then 0 else 1 + steps next[i]");
    assert_eq!(enter(&mut s, "map steps [0, 2, -1]"), "[4i64, 2i64, 0i64]");
    assert_eq!(enter(&mut s, "let next = [-1i64]\n\n"), "[-1i64]");
    assert_eq!(enter(&mut s, "steps 0"), "4i64");
}

#[test]
fn values_that_nothing_can_mention_are_dropped() {
    let mut s = session();
    for text in ["let x = 1", "let x = x + 1", "1", "2", "let y = x"] {
        enter(&mut s, text);
    }
    assert_eq!(s.stored.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["x", "it", "y"]);
    enter(&mut s, "def f = x");
    enter(&mut s, "let x = 7");
    assert_eq!(s.stored.len(), 4);
    assert_eq!(enter(&mut s, "(x, f)"), "(7i32, 2i32)");
}

#[test]
fn sizes_may_be_values() {
    let mut s = session();
    enter(&mut s, "let n = 2i64");
    enter(&mut s, "def pair (xs: [n]i32) = xs[0] + xs[1]");
    assert_eq!(enter(&mut s, "pair [1, 2]"), "3i32");
    assert_eq!(enter(&mut s, "let n = n + 1"), "3i64");
}

#[test]
fn values_of_every_type_can_be_kept() {
    let mut s = session();
    for text in
        ["()", "true", "1.5f32", "{a = 1u8, b = [[1], [2, 3]]}", "[[[1], []], []]", "[(1, [2i64])]", "\"ab\""]
    {
        let first = enter(&mut s, text);
        assert_eq!(enter(&mut s, "it"), first, "{text}");
        assert_eq!(enter(&mut s, &format!("let kept = {text}")), first);
        assert_eq!(enter(&mut s, "kept"), first);
    }
}

#[test]
fn functions_are_not_values() {
    let mut s = session();
    assert_eq!(enter(&mut s, "\\(x: i32) -> x"), "i32 -> i32");
    assert_eq!(enter(&mut s, "let inc = \\x -> x + 1"), "");
    assert_eq!(enter(&mut s, "inc 1"), "2i32");
    assert_eq!(enter(&mut s, "#[unroll] (inc 1) + 1"), "3i32");
}

#[test]
fn unfinished_texts_are_told_from_wrong_ones() {
    for text in [
        "f (",
        "def f x =",
        "def f x",
        "let x =",
        "let x",
        "let x = 1 in",
        "let (a, b) = (1,",
        "1 +",
        "if a then b",
        "module m = {",
        "def f (x: i32) =\n  let y = x",
        "-- | about f",
        "[1,\n 2",
        "match x",
        "#[inline]",
        "type t =",
        "let (a, b)",
        "\\x ->",
        "loop x = 1 for i < 3 do",
        "def f x : ",
        "#[trace] (1 +",
    ] {
        assert!(is_unfinished(text), "{text}");
    }
    for text in [
        "1",
        "let x = 1",
        "let (a, b) = (1, 2)",
        "let f x = x",
        "x)",
        "def = 1",
        "-- f",
        "",
        "let x = 1 in x",
        "f [1, 2)",
        "open i32",
        "let x = )",
    ] {
        assert!(!is_unfinished(text), "{text}");
    }
}

#[test]
fn types_and_documentation() {
    let mut s = session();
    enter(&mut s, "-- | Adds one.\ndef inc (x: i32) : i32 = (x + 1)");
    assert!(s.doc("inc").unwrap().starts_with("inc (x: i32) : i32\n\n  Adds one.\n"));
    assert!(s.doc("length").unwrap().starts_with("length [n]"));
    assert!(s.doc("i32.popc").unwrap().starts_with("i32.popc (x: i32) : i32\n"));
    assert!(s.doc("|>").unwrap().starts_with("(|>)"));
    assert!(s.doc("sum").is_ok());
    assert_eq!(s.doc("lenght"), Err(vec!["length".to_string()]));
    assert_eq!(s.type_of("inc").unwrap(), "i32 -> i32");
    assert_eq!(s.type_of("map inc").unwrap(), "[]i32 -> []i32");
    assert_eq!(s.type_of("map").unwrap(), "[n] 'a 'b. (a -> b) -> [n]a -> [n]b");
    assert!(s.names().all.iter().any(|n| n == "f32.sqrt"));
    assert!(s.names().all.iter().any(|n| n == "inc"));
}

#[test]
fn reloading_drops_what_is_not_right_any_more() {
    let mut s = session();
    s.load("a.par", "def two = 2i32\ndef three = 3i32").unwrap();
    for text in ["def four = two + two", "def six = three + three", "let x = (four, six)"] {
        enter(&mut s, text);
    }
    let lost = s.reload(&mut |_| Ok("def two = 20i32".into())).unwrap();
    assert_eq!(lost, ["def six = three + three"]);
    assert_eq!(enter(&mut s, "(four, x)"), "(40i32, (4i32, 6i32))");
    assert!(s.reload(&mut |_| Ok("def two = ".into())).is_err());
    assert_eq!(enter(&mut s, "two"), "20i32");
}

#[test]
fn texts_of_several_lines_are_split_as_if_entered_one_by_one() {
    for (text, pieces) in [
        ("1\n2", vec!["1", "2"]),
        ("let x = 1\nx + 1\n", vec!["let x = 1", "x + 1"]),
        ("def f x =\n  x\nf 1", vec!["def f x =\n  x", "f 1"]),
        (":set width 3\niota 3", vec![":set width 3", "iota 3"]),
        // Right only together.
        ("let x = 1\nin x", vec!["let x = 1\nin x"]),
        ("xs\n|> length", vec!["xs\n|> length"]),
        ("def f x = g x\ndef g x = x", vec!["def f x = g x\ndef g x = x"]),
        ("(1,\n2)", vec!["(1,\n2)"]),
        ("f (", vec!["f ("]),
    ] {
        assert_eq!(split(text), pieces);
    }
    assert_eq!(split("\n -- nothing\n").len(), 1);
}

#[test]
fn consumed_values_are_copies() {
    let mut s = session();
    for text in ["let xs = [1, 2]", "def f (xs: *[]i32) : *[]i32 = xs with [0] = 9", "def g = f xs"] {
        enter(&mut s, text);
    }
    assert_eq!(
        enter(&mut s, "(f xs, f xs, g, xs)"),
        "([9i32, 2i32], [9i32, 2i32], [9i32, 2i32], [1i32, 2i32])"
    );
    assert!(enter(&mut s, "let ys = copy xs in (f ys, ys)").contains("E0601"));
}

#[test]
fn what_is_evaluated_often_leaves_nothing_behind() {
    let mut s = session();
    for i in 0..50 {
        enter(&mut s, &i.to_string());
        enter(&mut s, &format!("let x = it + {i}"));
    }
    assert_eq!(s.stored.len(), 2);
    let full = s.parsed.files.iter().skip(s.parsed.sources.files.iter().filter(|f| f.is_library).count());
    assert_eq!(full.filter(|f| !f.decs.is_empty()).count(), 2);
    assert_eq!(enter(&mut s, "(x, it)"), "(98i32, 49i32)");
}

#[test]
fn a_stopped_input_leaves_the_session_as_it_was() {
    let mut s = session();
    enter(&mut s, "def f = 1");
    let token = crate::CancelToken::new();
    token.cancel();
    let stopped = par_runtime::cancel::watched(&token, || s.enter("def f = 2").is_ok());
    assert!(stopped.is_err());
    assert_eq!(enter(&mut s, "f"), "1i32");
}
