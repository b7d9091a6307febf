//! Where diagnostics point, and what damaged programs lead to.

use par::{Diagnostic, Failure, Options, Severity, compile};
use par_tests::{on_threads, programs, root};

/// Diagnostics of a program, and the texts of the files it was made of.
fn diagnostics(text: &str) -> (Vec<Diagnostic>, Vec<String>) {
    let options = Options { verify: false, ..Options::default() };
    match compile(text, "test.par", &options) {
        Ok(program) => (program.warnings().to_vec(), texts(program.sources())),
        Err(Failure::Rejected { diagnostics, sources }) => (diagnostics, texts(&sources)),
        Err(failure) => panic!("{failure}\n{text}"),
    }
}

fn texts(sources: &par::Sources) -> Vec<String> {
    sources.files.iter().map(|f| f.text.clone()).collect()
}

/// The primary range of each diagnostic is the expected text, however lines end and whatever stands before.
#[test]
fn primary_ranges_cover_the_mistake() {
    let cases = [
        ("entry main (x: i32) : i32 = x + größe\n", "größe"),
        ("def ä = 1i32\n\ndef ö = ü\n", "ü"),
        ("-- Zürich, 東京 and 𝛑\ndef f (名: i32) =\tf32.sqrt\t名\n", "名"),
        ("def f (x: i32) : f32 =\n\tlet é = x\n\tin\té\n", "é"),
        ("def s = \"日本語\" ++ [1.5f32]\n", "[1.5f32]"),
        ("def f = 'ж' + tru\n", "tru"),
        ("def f (x: i32) = if x = 1 then 2 else 3\n", "="),
        ("def f (x: i32) = x\u{a0}+ 1\n", "\u{a0}"),
        ("def f (x: i32) = x ≤ 3\n", "≤"),
        ("type ö = {ä: i32, ä: i32}\n", "ä"),
        ("def f (x: i32) = [x, x +]\n", "]"),
        ("def f (x: i32) = (x + 1\n\ndef ü = 1\n", "("),
        ("def f (xs: []i32) : i32 = xs [0]", "[0]"),
        ("\u{feff}def f (x: i32) = y", "y"),
    ];
    for (text, expected) in cases {
        for text in [text.to_string(), text.replace('\n', "\r\n"), text.trim_end().to_string()] {
            let (found, files) = diagnostics(&text);
            let first = found.first().unwrap_or_else(|| panic!("nothing is wrong with {text:?}"));
            let span = first.labels[0].span;
            let covered = &files[span.file as usize][span.start as usize..span.end as usize];
            assert_eq!(covered, expected, "{text:?}: {}", first.message);
            assert!(files[span.file as usize] == text, "the place is in the program");
        }
    }
}

/// A small generator of numbers, the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

/// Words, numbers, single signs: roughly the tokens of a text, with what is between them.
fn pieces(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let len = match first {
            c if word(c) => rest.find(|c| !word(c)),
            c if c.is_whitespace() => rest.find(|c: char| !c.is_whitespace()),
            c => Some(c.len_utf8()),
        };
        let (piece, after) = rest.split_at(len.unwrap_or(rest.len()));
        out.push(piece);
        rest = after;
    }
    out
}

/// The program with one token left out, written twice or exchanged with another.
fn mutated(text: &str, random: &mut Random) -> String {
    let mut pieces = pieces(text);
    let tokens: Vec<usize> = (0..pieces.len()).filter(|i| !pieces[*i].trim().is_empty()).collect();
    if tokens.is_empty() {
        return text.to_string();
    }
    let at = tokens[random.below(tokens.len())];
    match random.below(3) {
        0 => _ = pieces.remove(at),
        1 => pieces.insert(at, pieces[at]),
        _ => pieces.swap(at, tokens[random.below(tokens.len())]),
    }
    pieces.concat()
}

/// A golden program without its comments, which would often be what is damaged.
fn code(text: &str) -> String {
    text.lines().filter(|l| !l.trim_start().starts_with("--")).map(|l| format!("{l}\n")).collect()
}

/// One damaged token: never a panic, places inside the files, and few errors.
#[test]
fn damaged_programs_are_explained() {
    let areas =
        ["control", "filter", "index", "map", "ragged", "recursion", "scalar", "syntax", "types", "update"];
    let files: Vec<_> =
        areas.iter().flat_map(|area| programs(&root().join("tests/golden").join(area))).collect();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut cases = Vec::new();
    while cases.len() < 250 {
        let file = &files[random.below(files.len())];
        let Ok(text) = std::fs::read_to_string(file) else { continue };
        // Imports and large programs would make this slow.
        if text.contains("import") || text.len() > 4000 {
            continue;
        }
        cases.push(mutated(&code(&text), &mut random));
    }
    let counts = on_threads(&cases, |text| errors_in(text));
    let many: Vec<&String> = cases.iter().zip(&counts).filter(|(_, n)| **n > 5).map(|(t, _)| t).collect();
    let wrong = counts.iter().filter(|n| **n > 0).count();
    println!("{wrong} of {} rejected, {} with more than five errors", cases.len(), many.len());
    let most = many.len() * 20 <= cases.len();
    assert!(most, "{} of {} have more than five errors, among them\n{}", many.len(), cases.len(), many[0]);
}

/// The number of errors; checks that each is well-formed.
fn errors_in(text: &str) -> usize {
    let (found, files) = diagnostics(text);
    for diagnostic in &found {
        assert!(!diagnostic.message.is_empty() && !diagnostic.labels.is_empty(), "{diagnostic:?}\n{text}");
        for label in &diagnostic.labels {
            let file = files.get(label.span.file as usize).map(String::as_str);
            let covered = file.and_then(|f| f.get(label.span.start as usize..label.span.end as usize));
            assert!(covered.is_some(), "{diagnostic:?}\n{text}");
        }
        let primary = diagnostic.labels[0].span.file as usize;
        assert!(files[primary] == *text, "not in the program: {diagnostic:?}\n{text}");
    }
    found.iter().filter(|d| d.severity >= Severity::Unsupported).count()
}
