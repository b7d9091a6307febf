//! Conversations.

use crate::Playground;
use serde_json::{Value, json};

fn ask(playground: &mut Playground, request: Value) -> Value {
    serde_json::from_str(&playground.answer(&request.to_string())).expect("JSON")
}

fn alone(request: Value) -> Value {
    ask(&mut Playground::default(), request)
}

#[test]
fn mistakes_have_places_in_code_units() {
    let answer = alone(json!({ "do": "check", "text": "-- 𝕏\nentry main = 1i64 + tru" }));
    assert_eq!(answer["diagnostics"][0]["at"], json!([26, 29]), "{answer}");
    assert_eq!(answer["diagnostics"][0]["code"], "E0201");
    assert_eq!((&answer["wrong"], &answer["entries"]), (&json!(true), &json!([])));
}

#[test]
fn entries_have_inputs_from_tests_or_types() {
    let text = "-- ==\n-- input { [[1],[]] 2.5 }\nentry main (xs: [][]i64) (y: f64) = (xs, y)\n\
        entry other (p: {a: i32, b: [][]u8}) (q: #l | #r bool) = p.a";
    let answer = alone(json!({ "do": "check", "text": text }));
    let (main, other) = (&answer["entries"][0], &answer["entries"][1]);
    assert_eq!((&main["chosen"], &other["chosen"]), (&json!(true), &json!(false)), "{answer}");
    assert_eq!(main["params"][0]["input"], "[[1], []]");
    assert_eq!(main["params"][1]["input"], "2.5");
    assert_eq!(other["params"][0]["input"], "{a = 1, b = [[1, 2], [], [3, 4, 5]]}");
    let inputs = json!([other["params"][0]["input"], other["params"][1]["input"]]);
    let run = json!({ "do": "run", "text": text, "entry": "other", "inputs": inputs, "memory": 1 << 20 });
    assert_eq!(alone(run)["values"][0]["text"], "1i32");
}

/// In the order of their declaration, whether they come from types or from tests.
#[test]
fn inputs_have_the_fields_as_they_are_written() {
    let text = "-- ==\n-- entry: tested\n-- input { {velocity = 1.5, at = [1, 2]} }\n\
        type body = {velocity: f64, at: []i64}\n\
        entry tested (b: body) = b.at\n\
        entry typed (b: body) (bs: []{z: bool, pair: {second: i8, first: i8}}) = (b, bs)";
    let mut playground = Playground::default();
    let answer = ask(&mut playground, json!({ "do": "check", "text": text }));
    let input = |entry: usize, i: usize| &answer["entries"][entry]["params"][i]["input"];
    assert_eq!(input(0, 0), "{velocity = 1.5, at = [1, 2]}", "{answer}");
    assert_eq!(input(1, 0), "{velocity = 1.5, at = [1, 2, 3]}", "{answer}");
    let first = "[{z = true, pair = {second = 1, first = 1}}, {z = false, pair = {second = 2, first = 2}}, ";
    assert!(input(1, 1).as_str().is_some_and(|x| x.starts_with(first)), "{answer}");
    let inputs = json!([input(1, 0), input(1, 1)]);
    let run = json!({ "do": "run", "text": text, "entry": "typed", "inputs": inputs, "memory": 1 << 20 });
    let shown = ask(&mut playground, run);
    let fields = &shown["values"][0]["shown"]["fields"];
    assert_eq!((&fields[0][0], &fields[1][0]), (&json!("velocity"), &json!("at")), "{shown}");
}

#[test]
fn values_are_trees() {
    let text =
        "entry main (n: i64) = ([[1, 2], []], {x = \"ab\", y = f64.i64 n / 0}, map (\\i -> iota i) (iota n))";
    let run = json!({ "do": "run", "text": text, "entry": "main", "inputs": ["1000"], "memory": 1 << 26 });
    let mut playground = Playground::default();
    let answer = ask(&mut playground, run);
    let shown = |i: usize| &answer["values"][i]["shown"];
    assert_eq!(shown(0)["rows"][0]["rows"], json!(["1", "2"]), "{answer}");
    assert_eq!((&shown(0)["count"], &shown(0)["rows"][1]["count"]), (&json!(2), &json!(0)));
    assert_eq!(shown(1)["fields"][0][1]["text"], "ab");
    assert_eq!(shown(1)["fields"][1], json!(["y", "inf"]));
    assert_eq!(shown(2)["count"], 1000);
    assert!(answer.to_string().len() < 200_000);
    assert!(ask(&mut playground, json!({ "do": "plot", "value": 0, "kind": "auto" }))["svg"].is_string());
    assert!(ask(&mut playground, json!({ "do": "plot", "value": 9, "kind": "auto" }))["error"].is_string());
}

#[test]
fn failures_at_run_time_have_places_and_limits_hold() {
    let mut playground = Playground::default();
    let mut run = |text: &str, input: &str, memory: usize| {
        let call = json!({ "do": "run", "text": text, "entry": "main", "inputs": [input], "memory": memory });
        ask(&mut playground, call)
    };
    let outside = run("entry main (xs: []i64) = map (\\i -> xs[i]) [0, 1]", "[1]", 1 << 20);
    assert_eq!(outside["diagnostics"][0]["at"], json!([39, 40]), "{outside}");
    let large = run("entry main (n: i64) = reduce (+) 0 (scan (+) 0 (iota n))", "1000000", 1 << 20);
    assert!(large["diagnostics"][0]["message"].as_str().is_some_and(|m| m.contains("memory")), "{large}");
    let wrong = run("entry main (xs: []i64) = xs", "[1, true]", 1 << 20);
    assert_eq!(wrong["input"], 0, "{wrong}");
    assert!(run("entry main (xs: []i64) = xs", "", 1 << 20)["diagnostics"][0]["message"].is_string());
}

#[test]
fn editors_are_served_while_a_text_is_wrong() {
    let mut playground = Playground::default();
    let text = "def twice (x: i64) : i64 = x * 2\nentry main (count: i64) = twice cou";
    let answer = ask(&mut playground, json!({ "do": "complete", "text": text, "at": text.len() }));
    assert_eq!(answer["from"], text.len() - 3, "{answer}");
    assert_eq!(answer["items"][0]["name"], "count");
    let hover = ask(&mut playground, json!({ "do": "hover", "text": text, "at": text.len() - 6 }));
    assert_eq!(hover["head"], "twice : i64 -> i64", "{hover}");
    assert_eq!(ask(&mut playground, json!({ "do": "hover", "text": text, "at": 0 })), Value::Null);
    let formatted = alone(json!({ "do": "format", "text": "entry main  =  1" }));
    assert_eq!(formatted["text"], "entry main = 1\n");
    assert!(alone(json!({ "do": "format", "text": "entry main = (" }))["error"].is_string());
}

#[test]
fn the_compiler_shows_its_work() {
    let text = "-- ==\n-- input { [[1]] } output { [1] }\n-- input { [[1]] } output { [2] }\nentry main (xs: [][]i64) = map i64.sum xs";
    let mut playground = Playground::default();
    let explained = ask(&mut playground, json!({ "do": "explain", "text": text, "entry": "main" }));
    assert!(explained["text"].as_str().is_some_and(|t| t.contains("reduce")), "{explained}");
    assert!(explained["html"].is_string());
    for stage in ["core", "flat", "after:fuse", "after:flatten", "parse"] {
        let dump = ask(&mut playground, json!({ "do": "dump", "text": text, "stage": stage }));
        assert!(dump["text"].as_str().is_some_and(|t| t.len() > 20), "{stage}: {dump}");
    }
    assert!(
        ask(&mut playground, json!({ "do": "dump", "text": text, "stage": "after:x" }))["error"].is_string()
    );
    assert!(ask(&mut playground, json!({ "do": "stages" })).as_array().is_some_and(|s| s.len() > 20));
    let tests = ask(&mut playground, json!({ "do": "test", "text": text, "name": "a.par" }));
    assert_eq!(
        (&tests["tests"][0]["problem"], &tests["tests"][1]["problem"]["kind"]),
        (&json!(null), &json!("failed"))
    );
    assert!(ask(&mut playground, json!({ "do": "error", "code": "E0201" }))["html"].is_string());
    assert!(ask(&mut playground, json!({ "do": "nonsense" }))["error"].is_string());
}

#[test]
fn files_can_be_imported() {
    let mut playground = Playground::default();
    let files = json!({ "do": "files", "files": { "a.par": "def one = 1i64" } });
    assert_eq!(ask(&mut playground, files), json!({}));
    let text = "import \"a\"\nentry main = one";
    let run = json!({ "do": "run", "text": text, "entry": "main", "inputs": [], "memory": 1000 });
    assert_eq!(ask(&mut playground, run)["values"][0]["text"], "1i64");
}
