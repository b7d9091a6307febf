//! Every block of code in README.md, in `docs/*.md` and in the cookbook's README does what the text around it says.
//!
//! | block | what happens |
//! |---|---|
//! | `par` | a program, checked, and tested if it has test blocks; if it begins with `-- NAME.par` it is kept under that name |
//! | `par wrong E0203` | a program that is rejected with that code |
//! | `console` | after `$` a command, then exactly what it prints; a line `...` stands for any lines, `...` in one for any text |
//! | `repl` | after `> ` what is typed in `par repl` (`| ` continues), then what it answers |
//! | `sh` | a command for a terminal that the tests themselves run in (`cargo …`) |
//! | `python`, `pycon` | run by the tests of the Python package |
//! | `c` | not run |
//! | `text` | no code |
//!
//! The blocks of one document share a folder, in which `examples` are the examples, and one session of the REPL. With `UPDATE_DOCUMENTS=1` in the environment the
//! answers are written into the documents instead of compared: read them then.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A block of code: what stands after the fence, the lines inside, and the number of the first.
struct Block {
    info: String,
    lines: Vec<String>,
    line: usize,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn documents() -> Vec<PathBuf> {
    let pages = fs::read_dir(root().join("docs")).expect("docs").flatten().map(|e| e.path());
    let pages = pages.filter(|p| p.extension().is_some_and(|e| e == "md"));
    let others = ["README.md", "examples/cookbook/README.md"].map(|name| root().join(name));
    let mut all: Vec<PathBuf> = pages.chain(others).collect();
    all.sort();
    all
}

fn blocks(text: &str) -> Vec<Block> {
    let mut all = Vec::new();
    let mut open: Option<Block> = None;
    for (i, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => all.extend(open.take()),
            (Some(block), None) => block.lines.push(line.to_string()),
            (None, Some(info)) => {
                open = Some(Block { info: info.trim().to_string(), lines: Vec::new(), line: i + 2 });
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    all
}

/// Runs a command line in the folder, with `par` at hand: what it prints, in order, and whether it succeeds.
fn shell(folder: &Path, command: &str, input: &str) -> (String, bool) {
    let tools = Path::new(env!("CARGO_BIN_EXE_par")).parent().expect("a folder").to_path_buf();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path =
        std::env::join_paths(std::iter::once(tools).chain(std::env::split_paths(&path))).expect("a path");
    let file = folder.join(".stdin");
    fs::write(&file, input).expect("a file for the input");
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec 2>&1\n{command}")]).current_dir(folder).env("PATH", path);
    shell.stdin(fs::File::open(&file).expect("the input")).stderr(Stdio::inherit());
    let out = shell.output().expect("a shell");
    (String::from_utf8_lossy(&out.stdout).into_owned(), out.status.success())
}

/// The block as it should be, or what is wrong with it. `typed` is what was typed in `par repl` before.
fn run(block: &Block, folder: &Path, typed: &mut Vec<String>) -> Result<Vec<String>, String> {
    let mut words = block.info.split_whitespace();
    match (words.next(), words.next()) {
        (Some("par"), None) => program(block, folder),
        (Some("par"), Some("wrong")) => wrong(block, folder, words.next().unwrap_or_default()),
        (Some("console"), None) => Ok(conversation(block, "$ ", |command| shell(folder, command, "").0)),
        (Some("repl"), None) => Ok(conversation(block, "> ", |input| {
            let all = |lines: &[String]| shell(folder, "par repl", &(lines.join("\n") + "\n")).0;
            let before = all(typed);
            typed.push(input.to_string());
            let now = all(typed);
            now.strip_prefix(&before).map_or(now.clone(), str::to_string)
        })),
        (Some("sh"), None) if block.lines.iter().all(|l| l.starts_with("cargo ")) => Ok(block.lines.clone()),
        (Some("text" | "c" | "python" | "pycon"), None) => Ok(block.lines.clone()),
        _ => Err(format!("nothing is known of blocks named \"{}\"", block.info)),
    }
}

/// Saves a program: its path.
fn save(block: &Block, folder: &Path) -> String {
    let named = block.lines.first().and_then(|l| l.strip_prefix("-- "));
    let name = named.and_then(|l| l.split_whitespace().next()).map(|n| n.trim_end_matches(':'));
    let name =
        name.filter(|n| n.ends_with(".par")).map_or(format!("line-{}.par", block.line), str::to_string);
    fs::write(folder.join(&name), block.lines.join("\n") + "\n").expect("a program");
    name
}

fn program(block: &Block, folder: &Path) -> Result<Vec<String>, String> {
    let name = save(block, folder);
    let is_tested = block.lines.iter().any(|l| l.trim() == "-- ==");
    let (out, fine) = shell(folder, &format!("par {} {name}", if is_tested { "test" } else { "check" }), "");
    if fine { Ok(block.lines.clone()) } else { Err(out) }
}

fn wrong(block: &Block, folder: &Path, code: &str) -> Result<Vec<String>, String> {
    let (out, fine) = shell(folder, &format!("par check {}", save(block, folder)), "");
    let as_said = !fine && !code.is_empty() && out.contains(code);
    if as_said { Ok(block.lines.clone()) } else { Err(format!("not rejected with \"{code}\"\n{out}")) }
}

/// A block of what is typed and what is answered, with the answers that come now; where the block says `...`, with that.
fn conversation(block: &Block, prompt: &str, mut answer: impl FnMut(&str) -> String) -> Vec<String> {
    let mut result = Vec::new();
    let mut lines = block.lines.iter().peekable();
    while let Some(line) = lines.next() {
        let Some(input) = line.strip_prefix(prompt) else {
            result.push(format!("(nothing is typed before) {line}"));
            continue;
        };
        result.push(line.clone());
        let mut input = input.to_string();
        while let Some(more) = lines.next_if(|l| prompt == "> " && l.starts_with("| ")) {
            result.push(more.clone());
            input += &format!("\n{}", &more[2..]);
        }
        let mut expected = Vec::new();
        while let Some(line) = lines.next_if(|l| !l.starts_with(prompt)) {
            expected.push(line.clone());
        }
        let got = answer(&input);
        let got: Vec<String> = got.trim_end().lines().map(|l| l.trim_end().to_string()).collect();
        result.extend(if matches(&expected, &got) { expected } else { got });
    }
    result
}

/// True if lines are as expected, where `...` stands for any.
fn matches(expected: &[String], got: &[String]) -> bool {
    match (expected, got) {
        ([], _) => got.is_empty(),
        ([dots, rest @ ..], _) if dots.trim() == "..." => (0..=got.len()).any(|n| matches(rest, &got[n..])),
        ([e, rest @ ..], [g, more @ ..]) => is_like(e.trim_end(), g) && matches(rest, more),
        _ => false,
    }
}

/// True if a line is as expected, where a first `...` inside stands for any text.
fn is_like(expected: &str, got: &str) -> bool {
    match expected.split_once("...") {
        Some((before, after)) => got.strip_prefix(before).is_some_and(|rest| rest.ends_with(after)),
        None => expected == got,
    }
}

/// Everything in a document that is not as it says.
fn check(document: &Path) -> Vec<String> {
    let text = fs::read_to_string(document).expect("a document");
    let name = document.file_name().expect("a name").to_string_lossy().into_owned();
    let folder = std::env::temp_dir().join(format!("par-documents-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    std::os::unix::fs::symlink(root().join("examples"), folder.join("examples")).expect("a link");
    let (mut failures, mut updated) = (Vec::new(), Vec::<(usize, usize, Vec<String>)>::new());
    let mut typed = Vec::new();
    for block in blocks(&text) {
        match run(&block, &folder, &mut typed) {
            Ok(lines) if lines == block.lines => {}
            Ok(lines) => {
                let (was, is) = (block.lines.join("\n"), lines.join("\n"));
                failures.push(format!(
                    "{name}:{}: the document says\n{was}\nbut this comes:\n{is}\n",
                    block.line
                ));
                updated.push((block.line - 1, block.lines.len(), lines));
            }
            Err(why) => failures.push(format!("{name}:{}: {why}", block.line)),
        }
    }
    fs::remove_dir_all(&folder).expect("the folder");
    if std::env::var_os("UPDATE_DOCUMENTS").is_some() {
        let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
        for (at, len, new) in updated.into_iter().rev() {
            lines.splice(at..at + len, new);
        }
        fs::write(document, lines.join("\n") + "\n").expect("the document");
    }
    failures
}

#[test]
fn every_block_does_what_its_document_says() {
    let failures: Vec<String> = documents().iter().flat_map(|d| check(d)).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
