//! Pages of programs: those of the examples are as they would be written now, and mistakes have a place.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn par(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_par")).args(args).current_dir(folder).output().unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").canonicalize().unwrap()
}

fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("literate").join(test);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// `par literate examples/NAME.par -o examples/pages/NAME.md` writes them.
#[test]
fn pages_of_the_examples() {
    let folder = examples();
    let mut pages = 0;
    for entry in std::fs::read_dir(folder.join("pages")).unwrap().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "md") {
            let stem = path.file_stem().unwrap().to_str().unwrap();
            let (program, page) = (format!("{stem}.par"), format!("pages/{stem}.md"));
            let output = par(&folder, &["literate", &program, "-o", &page, "--check"]);
            assert_eq!((output.status.code(), errors(&output).as_str()), (Some(0), ""), "{page}");
            pages += 1;
        }
    }
    assert!(pages >= 7, "{pages}");
}

const PROGRAM: &str = "\
-- # Title\n--\n-- *Prose* with `code`.\n\ndef f (n: i64) : []f64 = map f64.i64 (iota n)\n\n\
-- > let xs = f 3\n-- > f64.sum (xs ++\n-- >   [1.0])\n-- > :plot xs\n-- > :img [[0.0, 0.5], xs[1:3]]\n";

#[test]
fn markdown_and_html() {
    let folder = folder("kinds");
    std::fs::write(folder.join("p.par"), PROGRAM).unwrap();
    let output = par(&folder, &["literate", "p.par"]);
    assert_eq!((output.status.code(), errors(&output).as_str()), (Some(0), ""));
    let text = std::fs::read_to_string(folder.join("p.md")).unwrap();
    let expected = "# Title\n\n*Prose* with `code`.\n\n\
        ```par\ndef f (n: i64) : []f64 = map f64.i64 (iota n)\n```\n\n\
        ```result\n> f64.sum (xs ++\n|   [1.0])\n4.0f64\n```\n\n\
        ![plot](p-img/1.svg)\n\n\
        <img src=\"p-img/2.png\" width=\"320\" style=\"image-rendering:pixelated\" alt=\"picture\">\n";
    assert_eq!(text, expected);
    assert!(std::fs::read_to_string(folder.join("p-img/1.svg")).unwrap().starts_with("<svg"));
    assert!(std::fs::read(folder.join("p-img/2.png")).unwrap().starts_with(b"\x89PNG"));
    let output = par(&folder, &["literate", "p.par", "-o", "p.html"]);
    assert_eq!((output.status.code(), errors(&output).as_str()), (Some(0), ""));
    let html = std::fs::read_to_string(folder.join("p.html")).unwrap();
    for part in [
        "<title>Title</title>",
        "<h1>Title</h1>",
        "<em>Prose</em>",
        "<figure>\n<svg",
        "data:image/png;base64,",
    ] {
        assert!(html.contains(part), "{part}");
    }
    std::fs::write(folder.join("p-img/1.svg"), "another").unwrap();
    let output = par(&folder, &["literate", "p.par", "--check"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(errors(&output), "error: p-img/1.svg is not as it would be written now\n");
}

#[test]
fn mistakes_have_a_place() {
    let folder = folder("mistakes");
    let fails = |directive: &str, status: i32, messages: &[&str]| {
        std::fs::write(folder.join("p.par"), format!("def f (i: i64) : i64 = [1, 2][i]\n\n-- {directive}\n"))
            .unwrap();
        let output = par(&folder, &["literate", "p.par"]);
        let text = errors(&output);
        assert_eq!(output.status.code(), Some(status), "{text}");
        for message in messages.iter().chain(&["p.par:3: this directive fails"]) {
            assert!(text.contains(message), "{message:?} is not in {text}");
        }
        assert!(!folder.join("p.md").exists());
    };
    fails("> f 2", 1, &["index 2 is outside [0,2)", "p.par:1"]);
    fails("> g 2", 2, &["unknown name `g`"]);
    fails("> f (", 2, &[]);
    fails("> :plot f 1", 1, &["there is no plot of i64"]);
    fails("> :plot let y = 1", 1, &[]);
    fails("> :img [1, 2]", 1, &["a picture is of type"]);
    fails("> :draw 1", 1, &["unknown directive `:draw`"]);
    fails("> f", 1, &["a function has no value"]);
    std::fs::write(folder.join("wrong.par"), "def f = (\n").unwrap();
    assert_eq!(par(&folder, &["literate", "wrong.par"]).status.code(), Some(2));
}
