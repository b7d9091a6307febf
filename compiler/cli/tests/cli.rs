//! The command from outside: exit statuses, where output goes, and what is said about wrong input.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder of its own for each test.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, contents).unwrap();
        path.display().to_string()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

fn par(args: &[&str], stdin: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_par"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The command may end without reading everything.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    child.wait_with_output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Status, nothing on standard output, and a message that contains all of these.
fn assert_fails(output: &Output, status: i32, messages: &[&str]) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(status), "{text}");
    assert_eq!(stdout(output), "", "{text}");
    for message in messages {
        assert!(text.contains(message), "{message:?} is not in {text}");
    }
}

fn assert_prints(output: &Output, expected: &str) {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    assert_eq!(stdout(output), expected);
}

const INC: &str = "entry main (xs: []i32) : []i32 = map (+ 1) xs\n";
const TWO: &str = "entry main (n: i64) (xs: []f32) : (i64, []f32) = (n, map (* 2) xs)\n";

#[test]
fn runs_on_every_back_end() {
    let folder = Folder::new("backends");
    let file = folder.file("inc.par", INC);
    for backend in ["cpu", "interp", "flat-interp"] {
        assert_prints(&par(&["run", &file, "--backend", backend], b"[1, 2]"), "[2i32, 3i32]\n");
    }
    assert_prints(&par(&["run", &file, "--threads", "2"], b"[]"), "empty([0]i32)\n");
}

#[test]
fn a_tuple_is_one_line_per_component() {
    let folder = Folder::new("tuple");
    let file = folder.file("two.par", TWO);
    assert_prints(&par(&["run", &file], b"3 [1, 2.5] -- comment"), "3i64\n[2.0f32, 5.0f32]\n");
}

#[test]
fn irregular_values() {
    let folder = Folder::new("irregular");
    let file = folder.file("rows.par", "entry main (xss: [][]i32) : [][]i32 = map (filter (> 1)) xss\n");
    assert_prints(&par(&["run", &file], b"[[1,2,3],[],[4]]"), "[[2i32, 3i32], [], [4i32]]\n");
    assert_prints(&par(&["run", &file], b"[[1],[]]"), "[[], []] : [][]i32\n");
    assert_fails(&par(&["run", &file, "--binary"], b"[[2],[]]"), 1, &["no binary form"]);
}

#[test]
fn wrong_input() {
    let folder = Folder::new("wrong_input");
    let file = folder.file("two.par", TWO);
    let run = |input: &[u8]| par(&["run", &file], input);
    assert_fails(&run(b"3"), 1, &["the argument `xs` of type []f32 is missing"]);
    assert_fails(&run(b""), 1, &["the argument `n` of type i64 is missing"]);
    assert_fails(&run(b"3 [1] 4"), 1, &["standard input:1:7", "surplus argument"]);
    assert_fails(&run(b"true [1]"), 1, &["standard input:1:1", "`n` of type i64", "`true` has type bool"]);
    assert_fails(&run(b"1\n [1, x]"), 1, &["standard input:2:6", "`xs` of type []f32", "`x` is not a value"]);
    assert_fails(&run(b"1 [1, "), 1, &["the end of the input"]);
    assert_fails(&run(b"\xff\xfe"), 1, &["neither UTF-8 text nor"]);
    assert_fails(&run(b"99999999999999999999 [1]"), 1, &["does not fit i64"]);
}

#[test]
fn wrong_arguments() {
    let folder = Folder::new("wrong_arguments");
    let file = folder.file("two.par", TWO);
    let n = folder.file("n.txt", "7");
    assert_fails(&par(&["run", &file, "--entry", "other"], b""), 1, &["no entry point `other`", "main"]);
    assert_fails(&par(&["run", &file, "--input", "nowhere.in"], b""), 1, &["cannot read nowhere.in"]);
    assert_fails(&par(&["run", &file, "--input", &n], b"[1]"), 1, &["`xs` of type []f32 is missing"]);
    assert_fails(&par(&["run", &file, "--input", "m=x"], b""), 1, &["n: i64, xs: []f32"]);
    let raw = format!("xs=@{n}");
    assert_fails(&par(&["run", &file, "--input", &raw], b"1"), 1, &["raw bytes have type []u8"]);
}

#[test]
fn inputs_by_name_and_from_files() {
    let folder = Folder::new("inputs");
    let file = folder.file("two.par", TWO);
    let xs = folder.file("xs.txt", "[1.5]");
    let both = folder.file("both.txt", "1 [2]");
    let named = format!("xs={xs}");
    assert_prints(&par(&["run", &file, "--input", &named], b"4"), "4i64\n[3.0f32]\n");
    assert_prints(&par(&["run", &file, "--input", &both], b""), "1i64\n[4.0f32]\n");
    let bytes = folder.file("bytes.par", "entry main (text: []u8) : i64 = length text\n");
    let raw = format!("text=@{both}");
    assert_prints(&par(&["run", &bytes, "--input", &raw], b""), "5i64\n");
    assert_prints(&par(&["run", &bytes], b"\"a\\nb\""), "3i64\n");
}

#[test]
fn the_only_entry_point_needs_no_name() {
    let folder = Folder::new("only_entry");
    let one = folder.file("one.par", "entry answer : i32 = 42\n");
    assert_prints(&par(&["run", &one], b""), "42i32\n");
    let two = folder.file("two.par", "entry a (x: i32) : i32 = x\nentry b (x: i32) : i32 = x\n");
    assert_fails(&par(&["run", &two], b"1"), 1, &["no entry point `main`", "a, b"]);
    assert_prints(&par(&["run", &two, "--entry", "b"], b"1"), "1i32\n");
}

#[test]
fn binary_and_npy() {
    let folder = Folder::new("binary");
    let file = folder.file("inc.par", INC);
    let binary = par(&["run", &file, "--binary"], b"[1, 2]");
    assert_eq!(binary.stdout, b"b\x02\x01 i32\x02\0\0\0\0\0\0\0\x02\0\0\0\x03\0\0\0");
    let input = folder.file("in.bin", &binary.stdout);
    assert_prints(&par(&["run", &file, "--input", &input], b""), "[3i32, 4i32]\n");
    assert_prints(&par(&["run", &file], &binary.stdout), "[3i32, 4i32]\n");
    assert_fails(&par(&["run", &file], &binary.stdout[..20]), 1, &["cut off"]);
    let npy = folder.path("out.npy");
    assert_prints(&par(&["run", &file, "--output", &npy], b"[5]"), "");
    assert_prints(&par(&["run", &file, "--input", &npy], b""), "[7i32]\n");
    let floats = folder.file("floats.par", "entry main (xs: []f32) : []f32 = xs\n");
    assert_prints(&par(&["run", &floats, "--input", &npy], b""), "[6.0f32]\n");
    let bools = folder.file("bools.par", "entry main (xs: []bool) : []bool = xs\n");
    assert_fails(&par(&["run", &bools, "--input", &npy], b""), 1, &["have type i32", "bool is expected"]);
}

#[test]
fn output_and_time_files() {
    let folder = Folder::new("output");
    let file = folder.file("inc.par", INC);
    let (out, time) = (folder.path("out.txt"), folder.path("time.txt"));
    let args = ["run", &file, "--output", &out, "--runs", "3", "--time", &time];
    assert_prints(&par(&args, b"[1]"), "");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "[2i32]\n");
    let times = std::fs::read_to_string(&time).unwrap();
    assert_eq!(times.lines().filter(|l| l.parse::<u64>().is_ok()).count(), 3, "{times}");
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 3);
    let nowhere = folder.path("no/such/folder.txt");
    assert_fails(&par(&["run", &file, "--output", &nowhere], b"[1]"), 1, &["cannot write"]);
}

#[test]
fn run_time_errors_show_the_source() {
    let folder = Folder::new("run_time");
    let file = folder.file("at.par", "entry main (xs: []i32) (i: i64) : i32 = xs[i]\n");
    let out = folder.path("out.txt");
    let mut texts = Vec::new();
    for backend in ["cpu", "interp", "flat-interp"] {
        let output = par(&["run", &file, "--backend", backend, "--output", &out], b"[1,2] 7");
        assert_fails(&output, 1, &["index 7 is outside [0,2)", "at.par", "xs[i]"]);
        assert!(!Path::new(&out).exists());
        texts.push(stderr(&output));
    }
    assert!(texts.iter().all(|t| *t == texts[0]), "{texts:?}");
}

#[test]
fn rejected_programs() {
    let folder = Folder::new("rejected");
    let check = |name: &str, text: &[u8]| par(&["check", &folder.file(name, text)], b"");
    assert_fails(&check("syntax.par", b"entry main = (1"), 2, &["syntax.par"]);
    assert_fails(&check("name.par", b"entry main : i32 = lenght [1]"), 2, &["lenght"]);
    assert_fails(&check("type.par", b"entry main : i32 = true"), 2, &["bool"]);
    assert_fails(&check("bytes.par", b"entry main = \"\xff\""), 2, &["not UTF-8"]);
    assert_fails(&par(&["run", "nowhere.par"], b""), 2, &["nowhere.par"]);
    let deep = ["entry main = ".as_bytes(), &b"(".repeat(100_000)].concat();
    assert_eq!(check("deep.par", &deep).status.code(), Some(2));
}

#[test]
fn legal_programs_pass_the_check() {
    let folder = Folder::new("legal");
    let file = folder.file("inc.par", INC);
    assert_prints(&par(&["check", &file], b""), "");
    assert_prints(&par(&["check", "--verify", &file], b""), "");
}

#[test]
fn a_reader_that_stops_is_no_error() {
    let folder = Folder::new("pipe");
    let file = folder.file("many.par", "entry main : []i64 = iota 1000000\n");
    let mut child = Command::new(env!("CARGO_BIN_EXE_par"))
        .args(["run", &file])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn nobody_needs_to_read_messages() {
    let folder = Folder::new("closed");
    let wrong = folder.file("wrong.par", "entry main (x: i32) : i32 = y\n");
    let docs = folder.path("docs");
    for (args, status) in [(["check", "--verify", &wrong], 2), (["doc", "--html", &docs], 0)] {
        // The reading ends are closed at once, before the command writes.
        let (_, output) = std::io::pipe().unwrap();
        let (_, errors) = std::io::pipe().unwrap();
        let ended = Command::new(env!("CARGO_BIN_EXE_par")).args(args).stdout(output).stderr(errors).status();
        assert_eq!(ended.unwrap().code(), Some(status), "{args:?}");
    }
}

#[test]
fn places_in_bytes_that_are_no_text() {
    let folder = Folder::new("bytes");
    let file = folder.file("b.par", b"-- \xff\xfe\x00\n");
    let output = par(&["check", "--message-format=json", &file], b"");
    assert_fails(&output, 2, &["\"start\":3,", "\"end\":4,"]);
}

#[test]
fn tests_in_programs() {
    let folder = Folder::new("tests");
    let good = "-- ==\n-- input { 1 } output { 2 }\n-- input { 0 } error: division by zero\n\
                entry main (x: i32) : i32 = 2 / x\n";
    let good = folder.file("good.par", good);
    let output = par(&["test", &good], b"");
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert!(stdout(&output).starts_with("8 passed, 0 failed in 1 program ("), "{}", stdout(&output));
    let measured = "-- ==\n-- notest random input { 20i32 [4]i32 in 0..<5 }\nentry main (k: i32) (xs: []i32) = map (* k) xs\n";
    let output = par(&["test", &folder.file("measured.par", measured)], b"");
    assert!(stdout(&output).contains("it has no tests and was only compiled"), "{}", stdout(&output));
    let bad =
        folder.file("bad.par", "-- ==\n-- input { [1,2] } output { [1,3] }\nentry main (xs: []i32) = xs\n");
    let failing = |args: &[&str], status: i32, expected: &[&str]| {
        let output = par(args, b"");
        assert_eq!(output.status.code(), Some(status), "{}{}", stdout(&output), stderr(&output));
        expected
            .iter()
            .for_each(|text| assert!(stdout(&output).contains(text), "{text}: {}", stdout(&output)));
    };
    let difference = "bad.par:2: entry main (interp)\n    at [1]: expected 3i32, found 2i32\n";
    failing(&["test", &bad, "--backend", "interp"], 1, &[difference, "0 passed, 1 failed"]);
    let all = "(interp; flat-interp; cpu, 1 thread; cpu, 3 threads)\n";
    failing(&["test", &bad, "--threads", "1,3"], 1, &[all, "0 passed, 4 failed"]);
    let error = folder.file("error.par", "-- ==\n-- compile error: lenght\nentry main = lenght [1]\n");
    assert_eq!(par(&["test", &error], b"").status.code(), Some(0));
    let wrong = folder.file("wrong.par", "-- ==\n-- input {}\nentry main = lenght [1]\n");
    failing(&["test", &wrong], 2, &["wrong.par: compiles", "unknown name `lenght`", "0 passed, 1 failed"]);
    let malformed = folder.file("malformed.par", "-- ==\n-- inptu { 1 }\nentry main = 1i32\n");
    failing(&["test", &malformed], 1, &["malformed.par:2: ", "`inptu` is not part of a test"]);
    let plain = folder.file("plain.par", "entry main = 1i32\n");
    failing(&["test", &plain], 0, &["1 passed", "it has no tests and was only compiled"]);
}

#[test]
fn a_program_that_hangs_costs_its_own_tests_only() {
    let folder = Folder::new("hang");
    folder.file("a.par", "-- ==\n-- input { 1 }\nentry main (x: i32) : i32 = loop x while x > 0 do 1\n");
    folder.file("b.par", "-- ==\n-- input { 1 } output { 1 }\nentry main (x: i32) : i32 = x\n");
    let junit = folder.path("results.xml");
    let all = folder.path("");
    let output = par(&["test", &all, "--timeout", "5", "--junit", &junit], b"");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("a.par:2: entry main (interp)\n    did not end within 5 s"), "{text}");
    assert!(text.contains("4 passed, 1 failed in 2 programs"), "{text}");
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("<testsuites name=\"par test\" tests=\"5\" failures=\"1\" errors=\"0\""), "{xml}");
}

#[test]
fn selected_listed_and_updated_tests() {
    let folder = Folder::new("select");
    let text = "-- ==\n-- tags { slow }\n-- \"one\" input { 1 } output { 3 }\n\n-- ==\n-- entry: two main\n\
                -- input { 1 }\nentry main (x: i32) : i32 = x + 1\nentry two (x: i32) : i32 = x\n";
    let file = folder.file("t.par", text);
    let lines = |args: &[&str]| -> Vec<String> {
        let output = par(&[&["test", &file], args].concat(), b"");
        stdout(&output).lines().map(|l| l.rsplit('/').next().unwrap().to_string()).collect()
    };
    assert_eq!(
        lines(&["--list"]),
        ["t.par:3: entry main \"one\"", "t.par:7: entry two", "t.par:7: entry main"]
    );
    assert_eq!(lines(&["--list", "--tag", "slow"]), ["t.par:3: entry main \"one\""]);
    assert_eq!(lines(&["--list", "--exclude", "slow", "--only", "7: .*ma.n"]), ["t.par:7: entry main"]);
    for nothing in [["--tag", "slwo"], ["--only", "9: "]] {
        let output = par(&["test", &file, nothing[0], nothing[1]], b"");
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("no test is selected"), "{}", stderr(&output));
    }
    assert_eq!(par(&["test", &file, "--update"], b"").status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text.replace("output { 3 }", "output { 2i32 }"));
}

#[test]
fn formatting() {
    let folder = Folder::new("fmt");
    let file = folder.file("a.par", "-- first\ndef f(x:i32)=x+1 -- last");
    let good = "-- first\ndef f (x: i32) = x + 1 -- last\n";
    folder.file("b.par", good);
    let all = folder.path("");
    let output = par(&["fmt", "--check", &all], b"");
    assert_eq!((output.status.code(), stdout(&output).trim_end()), (Some(1), file.as_str()));
    let output = par(&["fmt", "--diff", &file], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("\n-def f(x:i32)=x+1 -- last\n"), "{}", stdout(&output));
    assert!(std::fs::read_to_string(&file).unwrap().contains("f(x:i32)"));
    let output = par(&["fmt", "-"], b"def x=1");
    assert_prints(&output, "def x = 1\n");
    let wrong = folder.file("wrong.par", "def x = (1");
    let output = par(&["fmt", &all], b"");
    assert_fails(&output, 2, &["E0102", "wrong.par:1:9"]);
    assert_eq!(std::fs::read_to_string(&wrong).unwrap(), "def x = (1");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), good);
    assert_fails(&par(&["fmt", &folder.path("none.par")], b""), 1, &["none.par"]);
}

#[test]
fn inside_the_compiler() {
    let folder = Folder::new("dev");
    let file = folder.file("inc.par", INC);
    for dump in ["core", "flat", "schedule", "clif", "ast", "after:lower", "after:simplify", "after:flatten"]
    {
        let output = par(&["dev", &format!("--dump={dump}"), &file], b"");
        assert_eq!(output.status.code(), Some(0), "{dump}: {}", stderr(&output));
        assert!(!output.stdout.is_empty(), "{dump}");
    }
    assert!(stdout(&par(&["dev"], b"")).contains("flatten"));
    assert_fails(&par(&["dev", "--dump=after:nothing", &file], b""), 1, &["no pass `nothing`"]);
    let two = folder.file("two.par", "entry once (x: i64) = x + 1\nentry twice (x: i64) = x + 2\n");
    let shown = stdout(&par(&["dev", "--dump=core", "--entry", "twice", &two], b""));
    assert!(shown.contains("twice") && !shown.contains("once"), "{shown}");
    assert_fails(
        &par(&["dev", "--dump=core", "--entry", "thrice", &two], b""),
        1,
        &["no entry point `thrice`"],
    );
}

#[test]
fn help_and_version() {
    let version = stdout(&par(&["--version"], b""));
    assert!(version.starts_with(concat!("par ", env!("CARGO_PKG_VERSION"))), "{version}");
    let help = stdout(&par(&["run", "--help"], b""));
    assert!(help.contains("--entry") && help.contains("--time"), "{help}");
    assert_eq!(par(&["run", "--nonsense"], b"").status.code(), Some(2));
}

#[test]
fn documentation() {
    let page = par(&["doc", "f32.sqrt"], b"");
    assert!(stdout(&page).starts_with("f32.sqrt (x: f32) : f32\n"), "{}", stdout(&page));
    assert_fails(&par(&["doc", "redcue"], b""), 2, &["did you mean `reduce`?"]);
    let lists = [
        (": [][]a -> []a", &["flatten "][..]),
        (": (a -> bool) -> []a -> []a", &["filter "]),
        (": []a -> (a -> bool) -> []a", &["filter "]),
        (": []i64 -> i64", &["i64.sum ", "head "]),
        (": [][]u8 -> []u8", &["flatten ", "join_with "]),
        ("connected components", &["lib/graph.components "]),
        ("lib/graph", &["import \"lib/graph\"", "lib/graph.bfs_levels "]),
        ("bfs_levels", &["import \"lib/graph\"", "bfs_levels [n] (graph: [n][]i64)"]),
        ("philox", &["philox (k: key)"]),
        ("f64", &["module f64", "f64.sqrt "]),
    ];
    for (wanted, parts) in lists {
        let listed = stdout(&par(&["doc", wanted], b""));
        let places: Vec<Option<usize>> = parts.iter().map(|part| listed.find(part)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{wanted}: {listed}");
    }
    assert!(stdout(&par(&["doc"], b"")).contains("lib/random "));
    assert_fails(&par(&["doc", ": -> ["], b""), 2, &["is no type"]);
    assert_fails(&par(&["doc", ": {nobody: i8} -> u16"], b""), 2, &["nothing has a type like this"]);
    assert_fails(&par(&["doc", "xyzzy plugh"], b""), 2, &["nothing is described with these words"]);
    let folder = Folder::new("documentation");
    let program = folder.file("p.par", "-- | The answer.\nentry main = 42\n");
    let written = par(&["doc", "--html", &folder.path("site"), &program], b"");
    assert!(stdout(&written).contains(" pages in "), "{}", stderr(&written));
    assert!(std::fs::read_to_string(folder.path("site/file-p.par.html")).unwrap().contains("The answer."));
}

#[test]
fn traces_go_to_standard_error() {
    let folder = Folder::new("traces");
    let program = folder
        .file("t.par", "entry main (xs: []i32) =\n  map (\\x -> #[trace(doubled)] (2 * x)) (trace xs)\n");
    for backend in ["interp", "flat-interp", "cpu"] {
        let output = par(&["run", &program, "--backend", backend], b"[1, 2]");
        assert_eq!(
            stderr(&output),
            format!("{program}:2:42: [1i32, 2i32]\n{program}:2:14 doubled: [2i32, 4i32]\n")
        );
        assert_eq!(stdout(&output), "[2i32, 4i32]\n");
    }
}

#[test]
fn unsafe_code_needs_permission() {
    let folder = Folder::new("unsafe");
    let file = folder.file("p.par", "entry main (x: i32) : i32 = #[unsafe] assert (x > 0) x\n");
    let run = |options: &[&str]| par(&[&["run", &file], options].concat(), b"-1");
    assert_fails(&run(&[]), 1, &["assertion failed: x > 0"]);
    assert_prints(&run(&["--allow-unsafe"]), "-1i32\n");
    assert_fails(&run(&["--allow-unsafe", "--backend=interp"]), 1, &["assertion failed: x > 0"]);
}

#[test]
fn fast_math_is_for_the_whole_program() {
    let folder = Folder::new("fast_math");
    let file = folder.file("p.par", "entry main (a: f32) (c: f32) : f32 = a * a + c\n");
    for backend in ["interp", "flat-interp", "cpu"] {
        let run = |options: &[&str]| {
            par(
                &[&["run", &file, "--backend", backend], options].concat(),
                b"1.000244140625f32 -1.00048828125f32",
            )
        };
        assert_prints(&run(&[]), "0.0f32\n");
        assert_prints(&run(&["--fast-math"]), "5.9604645e-8f32\n");
    }
}

#[test]
fn hexadecimal_floats_are_values() {
    let folder = Folder::new("hexadecimal");
    let file = folder.file("p.par", "entry main (x: f32) (y: f64) : (f32, f64) = (x, y)\n");
    let run = |input: &str| par(&["run", &file], input.as_bytes());
    assert_prints(&run("0x1.8p1f32 -0x1p-2"), "3.0f32\n-0.25f64\n");
    assert_prints(&run("0x.8p0 0x1p1023f64"), "0.5f32\n8.98846567431158e307f64\n");
    assert_fails(&run("0x1.8p1f64 1"), 1, &["has type f64, but f32 is expected"]);
    assert_fails(&run("0x1.8p 1"), 1, &["0x1.8p"]);
}

#[test]
fn results_of_tests_are_objects_for_programs() {
    let folder = Folder::new("test_objects");
    let text =
        "-- ==\n-- input { 1 } output { 2 }\n-- input { 2 } output { 5 }\nentry main (x: i32) = 2 * x\n";
    let file = folder.file("p.par", text);
    let output = par(&["test", &file, "--message-format=json"], b"");
    assert_eq!(output.status.code(), Some(1));
    let objects: Vec<serde_json::Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, results) = objects.split_last().unwrap();
    assert_eq!((last["passed"].as_u64(), last["failed"].as_u64()), (Some(4), Some(4)));
    let failed: Vec<_> = results.iter().filter(|r| r["passed"] == false).collect();
    assert_eq!(failed.len(), 4);
    for result in failed {
        assert_eq!(result["file"], file.as_str());
        assert_eq!(result["name"], "entry main");
        assert_eq!(result["place"], format!("{file}:3"));
        assert!(result["message"].as_str().unwrap().contains("expected 5i32, found 4i32"));
    }
}

#[test]
fn pages_show_imported_files() {
    let folder = Folder::new("doc_imports");
    folder.file("rows.par", "-- | Doubles a number.\ndef double (x: i32) : i32 = 2 * x\n");
    let text = "import \"rows\"\n-- | Four times a number.\ndef four (x: i32) : i32 = double (double x)\n";
    let file = folder.file("main.par", text);
    let pages = folder.path("pages");
    let output = par(&["doc", "--html", &pages, &file], b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = |name: &str| std::fs::read_to_string(format!("{pages}/{name}")).unwrap();
    assert!(page("file-main.par.html").contains("Four times a number."));
    assert!(page("file-rows.par.html").contains("Doubles a number."));
    assert!(page("index.html").contains("file-rows.par.html"));
    assert!(page("src/file-main.par.html").contains("double"));
}

/// A loop, a loop in a kernel, recursion: none of them ends by itself. Whoever runs the tests in the background may have
/// interrupts ignored, which `env` undoes.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_ends_a_run() {
    let program = "def fib (n: i32) : i64 = if n < 2 then 1 else fib (n - 1) + fib (n - 2)\n\
                   entry iterations (n: i32) = loop x = n while x >= 0 do (x + 1) % 7\n\
                   entry rows (n: i32) = map (\\i -> loop x = i while x >= 0 do (x + 1) % 7) [n, n + 1]\n\
                   entry calls (n: i32) = map fib [90 + n]\n";
    let file = Folder::new("interrupt").file("endless.par", program);
    for entry in ["iterations", "rows", "calls"] {
        for backend in ["cpu", "interp", "flat-interp"] {
            let mut child = Command::new("env")
                .args(["--default-signal=INT", env!("CARGO_BIN_EXE_par"), "run", &file])
                .args(["--entry", entry, "--backend", backend])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            child.stdin.take().unwrap().write_all(b"1").unwrap();
            std::thread::sleep(std::time::Duration::from_millis(500));
            assert!(child.try_wait().unwrap().is_none(), "{entry} on {backend} ends by itself");
            assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
            let output = child.wait_with_output().unwrap();
            assert!(!output.status.success(), "{entry} on {backend}: {}", output.status);
            assert_eq!(output.stdout, b"", "{entry} on {backend}");
        }
    }
}

#[test]
fn several_programs_are_checked_each_by_itself() {
    let folder = Folder::new("check_several");
    let right = folder.file("right.par", "entry main (x: i32) = x + 1\n");
    let wrong = folder.file("wrong.par", "entry main (x: i32) = x + y\n");
    let worse = folder.file("worse.par", "entry main (x: i32) = (x\n");
    let output = par(&["check", &right, &right], b"");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    let output = par(&["check", &worse, &right, &wrong, &folder.path("missing.par")], b"");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(["E0102", "E0201", "missing.par"].iter().all(|part| text.contains(part)), "{text}");
}
