//! All programs of the repository: what formatting keeps, and that it changes nothing twice.

use par_fmt::{Style, format};
use par_syntax::pieces::{PieceKind, pieces};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn programs(folder: &Path, out: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("a folder");
    for path in entries.map(|e| e.expect("an entry").path()) {
        if path.is_dir() {
            programs(&path, out);
        } else if path.extension().is_some_and(|e| e == "par") {
            out.push(path);
        }
    }
}

/// The programs that parse, with their texts.
fn all(folders: &[&str]) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = Vec::new();
    folders.iter().for_each(|folder| programs(&root.join(folder), &mut paths));
    paths.sort();
    let texts = paths.into_iter().filter_map(|p| std::fs::read_to_string(&p).ok().map(|text| (p, text)));
    let parses = |text: &str| {
        let (_, diagnostics) = par_syntax::parse(text, 0);
        diagnostics.iter().all(|d| d.severity != par_syntax::Severity::Error)
    };
    texts.filter(|(_, text)| parses(text)).collect()
}

/// The tree as it is printed, which shows everything but places.
fn tree(text: &str) -> String {
    let (file, diagnostics) = par_syntax::parse(text, 0);
    assert!(diagnostics.iter().all(|d| d.severity != par_syntax::Severity::Error), "{diagnostics:?}\n{text}");
    let docs: Vec<_> = file.decs.iter().map(|d| &d.doc).collect();
    format!("{}{docs:?}", par_syntax::pretty::file(&file))
}

#[test]
fn every_program_keeps_its_tree_and_is_stable() {
    let programs = all(&["stdlib", "examples", "tests/golden"]);
    assert!(programs.len() > 150, "{} programs", programs.len());
    for (path, text) in programs {
        for width in [100, 60, 20] {
            let style = Style { width };
            let once = format(&text, style).unwrap_or_else(|e| panic!("{}: {e:?}", path.display()));
            assert_eq!(tree(&once), tree(&text), "{}", path.display());
            assert_eq!(comments(&once), comments(&text), "{}", path.display());
            let twice = format(&once, style).unwrap_or_else(|e| panic!("{}: {e:?}", path.display()));
            assert_eq!(twice, once, "{}", path.display());
        }
    }
}

/// The comments in order.
fn comments(text: &str) -> Vec<String> {
    let comments = pieces(text).into_iter().filter(|p| p.kind == PieceKind::Comment);
    comments.map(|p| text[p.range].trim_end().to_string()).collect()
}

#[test]
fn what_people_read_is_formatted() {
    for (path, text) in all(&["examples", "stdlib"]) {
        let formatted = format(&text, Style::default()).expect("a program");
        assert!(formatted == text, "{}: run `par fmt examples stdlib`", path.display());
    }
}

/// The program with other white space and more comments between its tokens.
fn disarranged(text: &str, mut seed: u64) -> String {
    let mut random = |n: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % n
    };
    let mut out = String::new();
    let (mut end, mut after_comment) = (0, false);
    for piece in pieces(text) {
        let between = &text[end..piece.range.start];
        let is_comment = piece.kind == PieceKind::Comment;
        // What stands around comments says what they belong to.
        if between.is_empty() || is_comment || after_comment {
            out += between;
        } else {
            out += match random(24) {
                0 => "\n",
                1 => "\n\n\n\n  ",
                2 => "\n\t\t\t",
                3 => "   ",
                4 => " -- at the end\n",
                5 => "\n-- on a line\n\n-- and another one\n  ",
                6 => "\r\n",
                _ => between,
            };
        }
        out += &text[piece.range.clone()];
        (end, after_comment) = (piece.range.end, is_comment);
    }
    out + &text[end..]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_arrangement_keeps_tree_and_comments(which in any::<prop::sample::Index>(), seed in any::<u64>()) {
        let programs = all(&["examples", "tests/golden/syntax", "tests/golden/types", "tests/golden/programs"]);
        let (path, original) = which.get(&programs);
        let text = disarranged(original, seed);
        let once = format(&text, Style::default()).unwrap_or_else(|e| panic!("{}: {e:?}\n{text}", path.display()));
        prop_assert_eq!(tree(&once), tree(&text));
        prop_assert_eq!(comments(&once), comments(&text));
        let twice = format(&once, Style::default()).expect("a program");
        prop_assert_eq!(twice, once);
    }
}
