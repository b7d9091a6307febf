//! Messages from outside: pages of codes, JSON, colors.

use std::path::Path;
use std::process::{Command, Output};

fn par(args: &[&str], folder: &str) -> Output {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    Command::new(env!("CARGO_BIN_EXE_par")).args(args).current_dir(folder).output().unwrap()
}

fn program(folder: &str, text: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a.par"), text).unwrap();
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn pages_are_printed() {
    let page = par(&["explain-error", "e0203"], "pages");
    assert_eq!(page.status.code(), Some(0));
    assert!(text(&page.stdout).starts_with("E0203: a type contains itself\n"), "{}", text(&page.stdout));
    assert!(!text(&page.stdout).contains('\x1b'));
    let list = par(&["explain-error", "--list"], "pages");
    assert!(text(&list.stdout).contains("E0203  a type contains itself\n"));
    let unknown = par(&["explain-error", "E0299"], "pages");
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("the nearest is E0301"), "{}", text(&unknown.stderr));
    assert_eq!(par(&["explain-error"], "pages").status.code(), Some(2));
}

#[test]
fn pages_are_written_as_html() {
    let written = par(&["explain-error", "--html", "out"], "html");
    assert_eq!(written.status.code(), Some(0), "{}", text(&written.stderr));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("html/out");
    let index = std::fs::read_to_string(folder.join("index.html")).unwrap();
    assert!(index.contains("<a href=\"E0203.html\">"));
    assert!(std::fs::read_to_string(folder.join("E0203.html")).unwrap().contains("<h1>"));
}

#[test]
fn errors_say_how_to_learn_more() {
    program("hint", "entry main (x: i32) = y + z\n");
    let output = par(&["check", "a.par"], "hint");
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(message.matches("par explain-error E0201").count(), 1, "{message}");
    assert!(!message.contains('\x1b'), "{message}");
}

#[test]
fn json_has_one_object_per_line() {
    program("json", "entry main (x: i32) = y + 1\ndef é = zz\n");
    let output = par(&["check", "--message-format=json", "a.par"], "json");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "");
    let lines: Vec<String> = text(&output.stderr).lines().map(str::to_string).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    for part in
        [r#""code":"E0201""#, r#""file":"a.par""#, r#""start":22"#, r#""column":23"#, r#""severity":"error""#]
    {
        assert!(lines[0].starts_with('{') && lines[0].contains(part), "{part} is not in {}", lines[0]);
    }
    assert!(lines[1].contains(r#""line":2,"#) && lines[1].contains(r#""column":9"#), "{}", lines[1]);
}

#[test]
fn json_is_for_failures_at_run_time_too() {
    program("run_json", "entry main : i32 = [1i32, 2][5i64]\n");
    let output = par(&["run", "--message-format=json", "a.par"], "run_json");
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert!(message.contains(r#""code":null"#) && message.contains("index 5 is outside [0,2)"), "{message}");
    let missing = par(&["run", "--message-format=json", "--entry=mian", "a.par"], "run_json");
    assert!(text(&missing.stderr).starts_with('{'), "{}", text(&missing.stderr));
}
