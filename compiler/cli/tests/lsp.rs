//! A session of an editor with `par lsp`: messages as they go through the pipe.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

struct Editor {
    server: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    next: i64,
    /// Diagnostics that came while something else was waited for.
    notes: Vec<Value>,
}

impl Editor {
    fn start() -> Editor {
        let mut server = Command::new(env!("CARGO_BIN_EXE_par"));
        let server = server.args(["lsp", "--stdio"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = server.spawn().expect("the server");
        let (to, from) = (server.stdin.take().expect("a pipe"), server.stdout.take().expect("a pipe"));
        let mut editor = Editor { server, to, from: BufReader::new(from), next: 0, notes: Vec::new() };
        let answer =
            editor.ask("initialize", json!({"capabilities": {}, "processId": null, "rootUri": null}));
        assert_eq!(answer["capabilities"]["hoverProvider"], json!(true));
        editor.tell("initialized", json!({}));
        editor
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.to, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("the pipe");
        self.to.flush().expect("the pipe");
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.from.read_line(&mut line).expect("the pipe") > 0, "the server has gone");
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", n)) => length = n.parse().expect("a number"),
                Some(_) => {}
                None => break,
            }
        }
        let mut text = vec![0; length];
        self.from.read_exact(&mut text).expect("the pipe");
        serde_json::from_slice(&text).expect("JSON")
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn answer(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.receive();
            if message["id"] == json!(id) {
                return message;
            }
            self.notes.push(message);
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// The next diagnostics that are published for a file.
    fn diagnostics(&mut self, uri: &str) -> Vec<Value> {
        loop {
            let at = self.notes.iter().position(|n| n["params"]["uri"] == json!(uri));
            if let Some(at) = at {
                let note = self.notes.remove(at);
                assert_eq!(note["method"], "textDocument/publishDiagnostics");
                return note["params"]["diagnostics"].as_array().cloned().expect("a list");
            }
            let message = self.receive();
            self.notes.push(message);
        }
    }

    /// Number of mistakes of a file that the editor shows when the server has nothing more to say.
    fn settled(&mut self, uri: &str) -> usize {
        self.at("textDocument/hover", uri, 0, 0);
        let last = self.notes.iter().rfind(|n| n["params"]["uri"] == json!(uri)).expect("diagnostics");
        last["params"]["diagnostics"].as_array().map_or(0, Vec::len)
    }

    fn open(&mut self, uri: &str, text: &str) -> Vec<Value> {
        let file = json!({"uri": uri, "languageId": "par", "version": 1, "text": text});
        self.tell("textDocument/didOpen", json!({"textDocument": file}));
        self.diagnostics(uri)
    }

    fn change(&mut self, uri: &str, version: i64, text: &str) -> Vec<Value> {
        let file = json!({"uri": uri, "version": version});
        self.tell(
            "textDocument/didChange",
            json!({"textDocument": file, "contentChanges": [{"text": text}]}),
        );
        self.diagnostics(uri)
    }

    fn at(&mut self, method: &str, uri: &str, line: usize, character: usize) -> Value {
        let position = json!({"line": line, "character": character});
        self.ask(method, json!({"textDocument": {"uri": uri}, "position": position}))
    }

    fn end(mut self) {
        assert_eq!(self.ask("shutdown", Value::Null), Value::Null);
        self.tell("exit", Value::Null);
        assert!(self.server.wait().expect("the server").success());
    }
}

const URI: &str = "file:///nowhere/test.par";

const TEXT: &str = "\
-- | Twice 𝑥.
def double (x: i64) = 2 * x
entry main [n] (xs: [n]i64) =
  let ys = map double xs
  in reverse ys
";

#[test]
fn mistakes_are_told_while_typing_and_taken_back() {
    let mut editor = Editor::start();
    assert_eq!(editor.open(URI, TEXT), Vec::<Value>::new());
    let wrong = editor.change(URI, 2, &TEXT.replace("map double", "map duoble"));
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert_eq!(wrong[0]["code"], "E0201");
    assert_eq!(wrong[0]["severity"], 1);
    assert_eq!(wrong[0]["range"]["start"], json!({"line": 3, "character": 15}));
    assert!(wrong[0]["message"].as_str().expect("a text").contains("double"), "{wrong:?}");
    // Half a program has no types, but those known before help.
    assert!(!editor.change(URI, 3, &TEXT.replace("reverse ys", "reverse (y")).is_empty());
    let names = editor.at("textDocument/completion", URI, 4, 13);
    assert!(names.as_array().expect("a list").iter().any(|c| c["label"] == "ys"), "{names}");
    assert_eq!(editor.change(URI, 4, TEXT), Vec::<Value>::new());
    editor.end();
}

#[test]
fn sizes_that_differ_are_told_with_both_places() {
    let mut editor = Editor::start();
    let text = "entry main (xs: [3]i32) (ys: [4]i32) =\n  map2 (+) xs ys\n";
    let wrong = editor.open(URI, text);
    assert_eq!((wrong.len(), &wrong[0]["code"]), (1, &json!("E0401")), "{wrong:?}");
    assert!(wrong[0]["relatedInformation"].as_array().is_some_and(|r| !r.is_empty()), "{wrong:?}");
    editor.end();
}

#[test]
fn names_are_explained_and_found() {
    let mut editor = Editor::start();
    editor.open(URI, TEXT);
    let hover = editor.at("textDocument/hover", URI, 3, 17);
    let text = hover["contents"]["value"].as_str().expect("a text").to_string();
    assert!(text.contains("double : i64 -> i64") && text.contains("Twice 𝑥."), "{text}");
    let hover = editor.at("textDocument/hover", URI, 3, 23);
    assert!(hover["contents"]["value"].as_str().expect("a text").contains("xs : [n]i64"), "{hover}");

    let own = editor.at("textDocument/definition", URI, 3, 17);
    assert_eq!((&own["uri"], &own["range"]["start"]), (&json!(URI), &json!({"line": 1, "character": 4})));
    // The library's definitions are in files that can be opened.
    let library = editor.at("textDocument/definition", URI, 4, 7);
    let path = library["uri"].as_str().and_then(|u| u.strip_prefix("file://")).expect("a file").to_string();
    let line = library["range"]["start"]["line"].as_u64().expect("a line") as usize;
    let source = std::fs::read_to_string(path).expect("the library");
    assert!(source.lines().nth(line).expect("the line").contains("def reverse"), "{library}");

    let whole = json!({"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}});
    let hints = editor.ask("textDocument/inlayHint", json!({"textDocument": {"uri": URI}, "range": whole}));
    let labels: Vec<&Value> = hints.as_array().expect("a list").iter().map(|h| &h["label"]).collect();
    assert!(labels.contains(&&json!(": [n]i64")), "{hints}");

    let symbols = editor.ask("textDocument/documentSymbol", json!({"textDocument": {"uri": URI}}));
    let names: Vec<&Value> = symbols.as_array().expect("a list").iter().map(|s| &s["name"]).collect();
    assert_eq!(names, ["double", "main"]);
    editor.end();
}

#[test]
fn a_file_that_is_opened_with_mistakes_is_explained_all_the_same() {
    let mut editor = Editor::start();
    let wrong = "-- | Twice ü.\ndef double (x: i64) : i64 = x * 2\n\n-- | Nö.\ndef wrong (x: i64) : i64 = y + x\n\n\
                 def calls (x: i64) : i64 = wrong x\n\nentry main (xs: []i64) : []i64 = map double xs\n\ndef open (x: i64 =\n";
    assert_ne!(editor.open(URI, wrong), Vec::<Value>::new());
    let hover = editor.at("textDocument/hover", URI, 8, 40);
    let text = hover["contents"]["value"].as_str().expect("a text").to_string();
    assert!(text.contains("double : i64 -> i64") && text.contains("Twice ü."), "{text}");
    let own = editor.at("textDocument/definition", URI, 8, 40);
    assert_eq!(own["range"]["start"], json!({"line": 1, "character": 4}));
    // What is wrong is a hole, and the definition around it is known.
    let broken = "def triple (x: i64) : i64 = x * 3\n\ndef wrong (y: i64) : i64 = triple y + missing y\n";
    editor.change(URI, 2, broken);
    let hover = editor.at("textDocument/hover", URI, 2, 34);
    assert!(hover["contents"]["value"].as_str().expect("a text").contains("y : i64"), "{hover}");
    let own = editor.at("textDocument/definition", URI, 2, 28);
    assert_eq!(own["range"]["start"], json!({"line": 0, "character": 4}));
    editor.end();
}

#[test]
fn modules_complete_and_programs_are_formatted() {
    let mut editor = Editor::start();
    editor.open(URI, "entry main (x: f32) = f32.sq");
    let names = editor.at("textDocument/completion", URI, 0, 28);
    let names: Vec<&str> =
        names.as_array().expect("a list").iter().filter_map(|c| c["label"].as_str()).collect();
    assert!(names.contains(&"sqrt") && !names.contains(&"map"), "{names:?}");
    editor.change(URI, 2, "entry   main (x:f32)=f32.sqrt x");
    let options = json!({"tabSize": 2, "insertSpaces": true});
    let edits =
        editor.ask("textDocument/formatting", json!({"textDocument": {"uri": URI}, "options": options}));
    assert_eq!(edits[0]["newText"], "entry main (x: f32) = f32.sqrt x\n");
    editor.end();
}

#[test]
fn files_that_are_open_are_imported_as_they_are_there() {
    let mut editor = Editor::start();
    let (main, lib) = ("file:///nowhere/main.par", "file:///nowhere/lib.par");
    assert_eq!(editor.open(lib, "def three = 3i32"), Vec::<Value>::new());
    assert_eq!(editor.open(main, "import \"lib\"\nentry main = three + 1"), Vec::<Value>::new());
    let definition = editor.at("textDocument/definition", main, 1, 14);
    assert_eq!(definition["uri"], lib);
    // Both programs look at the library when it changes; what either finds in it stays.
    editor.change(lib, 2, "def four: i32 = 4\ndef five: i32 = true");
    assert_eq!([editor.settled(lib), editor.settled(main)], [1, 1]);
    editor.change(lib, 3, "def three = 3i32");
    assert_eq!([editor.settled(lib), editor.settled(main)], [0, 0]);
    editor.end();
}

#[test]
fn changes_of_parts_are_followed() {
    let mut editor = Editor::start();
    assert_eq!(editor.open(URI, TEXT), Vec::<Value>::new());
    let at = |line: usize, character: usize| json!({"line": line, "character": character});
    let part =
        |from: Value, to: Value, text: &str| json!({"range": {"start": from, "end": to}, "text": text});
    let file = json!({"uri": URI, "version": 2});
    // `𝑥` is two code units; the second change counts in what the first one has made.
    let changes = [part(at(0, 11), at(0, 13), "x and y"), part(at(1, 22), at(1, 23), "true")];
    editor.tell("textDocument/didChange", json!({"textDocument": file, "contentChanges": changes}));
    let told = editor.diagnostics(URI);
    assert_eq!(told[0]["range"]["start"]["line"], 1);
    let file = json!({"uri": URI, "version": 3});
    let back = [part(at(1, 22), at(1, 26), "2")];
    editor.tell("textDocument/didChange", json!({"textDocument": file, "contentChanges": back}));
    assert_eq!(editor.diagnostics(URI), Vec::<Value>::new());
    editor.end();
}

#[test]
fn nonsense_is_answered_and_survived() {
    let mut editor = Editor::start();
    assert_eq!(editor.answer("textDocument/nothing", json!({}))["error"]["code"], -32601);
    assert_eq!(editor.answer("textDocument/hover", json!({"x": 1}))["error"]["code"], -32602);
    assert_eq!(editor.at("textDocument/hover", "file:///not/open.par", 0, 0), Value::Null);
    editor.tell("textDocument/didChange", json!({"x": 1}));
    for wrong in [
        "Content-Length: 5\r\n\r\n{nots",
        "Content-Length: 9\r\n\r\n[1, 2, 3]",
        "Content-Length: x\r\n\r\n",
        "?\r\n",
    ] {
        editor.to.write_all(wrong.as_bytes()).expect("the pipe");
        assert_eq!(editor.at("textDocument/hover", "file:///not/open.par", 0, 0), Value::Null);
        let told = editor.notes.pop().expect("a complaint");
        assert_eq!(told["method"], "window/logMessage");
    }
    for text in [
        "",
        "def",
        "entry main = [[[",
        "\u{0}\u{fffd}",
        "entry main = \"",
        "module m = {",
        "def f (x: f32) = x\ndef",
    ] {
        editor.open(URI, text);
        assert_eq!(editor.at("textDocument/hover", URI, 7, 7).get("error"), None);
        editor.at("textDocument/completion", URI, 0, 3);
    }
    editor.end();
}

fn starts(places: &Value) -> Vec<(u64, u64)> {
    let at = |p: &Value| {
        let start = &p["range"]["start"];
        (start["line"].as_u64().expect("a line"), start["character"].as_u64().expect("a column"))
    };
    places.as_array().expect("a list").iter().map(at).collect()
}

#[test]
fn names_are_found_everywhere_and_changed() {
    let mut editor = Editor::start();
    editor.open(URI, TEXT);
    let position = json!({"line": 3, "character": 17});
    let of =
        json!({"textDocument": {"uri": URI}, "position": position, "context": {"includeDeclaration": true}});
    assert_eq!(starts(&editor.ask("textDocument/references", of)), [(1, 4), (3, 15)]);
    let rename = |line: u64, character: u64, name: &str| json!({"textDocument": {"uri": URI}, "position": {"line": line, "character": character}, "newName": name});
    let edit = editor.ask("textDocument/rename", rename(3, 17, "twice"));
    assert_eq!(starts(&edit["changes"][URI]), [(1, 4), (3, 15)]);
    let edit = editor.ask("textDocument/rename", rename(2, 12, "k"));
    assert_eq!(starts(&edit["changes"][URI]), [(2, 12), (2, 21)]);
    for (line, column, name, reason) in [
        (3, 17, "let", "`let` is no name"),
        (3, 17, "2x", "`2x` is no name"),
        (3, 17, "xs", "`xs` means something else where this is used"),
        (4, 7, "turned", "`reverse` is defined in another file"),
        (0, 0, "x", "there is no name of a value here"),
    ] {
        let answer = editor.answer("textDocument/rename", rename(line, column, name));
        assert_eq!(answer["error"]["message"], json!(reason), "{answer}");
    }
    let range = editor.at("textDocument/prepareRename", URI, 3, 17);
    assert_eq!(range["start"], json!({"line": 3, "character": 15}));
    assert_eq!(editor.at("textDocument/prepareRename", URI, 4, 7), Value::Null);
    editor.end();
}

#[test]
fn parameters_colours_and_advice() {
    let mut editor = Editor::start();
    editor.open(URI, TEXT);
    editor.change(URI, 2, &TEXT.replace("reverse ys", "map2 (+) "));
    let help = editor.at("textDocument/signatureHelp", URI, 4, 14);
    assert_eq!(help["activeParameter"], json!(1), "{help}");
    let label = help["signatures"][0]["label"].as_str().expect("a text").to_string();
    assert!(label.starts_with("map2 "), "{label}");

    let wrong = editor.change(URI, 3, "entry main (xs: []i64) = i64.summ xs");
    let context = json!({"diagnostics": wrong});
    let whole = json!({"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}});
    let of = json!({"textDocument": {"uri": URI}, "range": whole, "context": context});
    let fixes = editor.ask("textDocument/codeAction", of);
    assert_eq!(fixes[0]["edit"]["changes"][URI][0]["newText"], json!("i64.sum"), "{fixes} {wrong:?}");

    editor.change(URI, 4, "-- n\nentry main (x: i64) = x + 12\n");
    let tokens = editor.ask("textDocument/semanticTokens/full", json!({"textDocument": {"uri": URI}}));
    let data: Vec<u64> =
        tokens["data"].as_array().expect("a list").iter().filter_map(Value::as_u64).collect();
    let (lengths, kinds): (Vec<u64>, Vec<u64>) = data.chunks(5).map(|t| (t[2], t[3])).unzip();
    assert_eq!(lengths, [4, 5, 4, 1, 3, 1, 2]);
    assert_eq!(kinds, [3, 0, 6, 8, 7, 8, 1]);

    editor.change(URI, 5, "def a=1\ndef  b = 2\n");
    let line = json!({"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 4}});
    let options = json!({"tabSize": 2, "insertSpaces": true});
    let of = json!({"textDocument": {"uri": URI}, "range": line, "options": options});
    let edits = editor.ask("textDocument/rangeFormatting", of);
    assert_eq!((edits.as_array().map(Vec::len), &edits[0]["newText"]), (Some(1), &json!("def b = 2\n")));
    editor.end();
}
