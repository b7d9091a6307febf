//! `par build`: executables do what `par run` does, to the byte.
//!
//! With PAR_BUILD=DIR every program under DIR is built, and called as its tests say.

use par::testing::{NoData, Settings, data_sets};
use par::{Value, print_value};
use par_trials::{c_compiler, variable};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PAR: &str = env!("CARGO_BIN_EXE_par");

/// A call: options, and what stands in standard input.
type Call = (&'static [&'static str], &'static str);

/// Name and text of a program, and calls of it.
const PROGRAMS: &[(&str, &str, &[Call])] = &[
    (
        "ragged",
        "-- rows of any length, functions of the runtime, scans\n\
         entry main (xss: [][]f64): []f64 = map (\\xs -> f64.sum (map f64.exp xs)) xss\n\
         entry powers (xs: []i64) (n: i32): []i64 = map (** i64.i32 n) xs\n\
         entry sums (xss: [][]i64): [][]i64 = map (scan (+) 0) xss\n\
         entry large (xss: [][]i64): [][]i64 = map (filter (> 2)) xss\n",
        &[
            (&[], "[[1, 2], [], [3.5]]"),
            (&[], "empty([0][0]f64)"),
            (&["--entry", "powers"], "[1, 2, -3] 5"),
            (&["--entry", "sums", "--threads", "2"], "[[], [1, 2, 3], [4]]"),
            (&["--entry", "large", "--threads", "1"], "[[1, 2, 3, 4], [], [0]]"),
            (&["--entry", "large", "--binary"], "[[3], [5, 1]]"),
            (&["--entry", "lrge"], ""),
            (&["--entry", "nothing like it"], ""),
            (&[], "[[1, 2"),
            (&[], "7"),
            (&["--input", "not/there"], ""),
        ],
    ),
    (
        "sort",
        "def qs (xs: []i32): []i32 =\n\
         \x20 if length xs < 2 then xs\n\
         \x20 else let p = xs[length xs / 2]\n\
         \x20      in qs (filter (< p) xs) ++ filter (== p) xs ++ qs (filter (> p) xs)\n\
         entry main (xss: [][]i32): [][]i32 = map qs xss\n",
        &[(&[], "[[3, 1, 2], [], [5, 5, 4, 1]]"), (&["--threads", "2"], "[[9, 8, 7, 6, 5, 4, 3, 2, 1]]")],
    ),
    (
        "errors",
        "type shape = #circle f32 | #box {w: f32, h: f32}\n\
         entry area (s: shape): f32 = match s case #circle r -> 3 * r * r case #box b -> b.w * b.h\n\
         entry pick (xss: [][]i64) (i: i64): []i64 = map (\\xs -> xs[i]) xss\n\
         entry quotient (x: i32) (y: i32): i32 = x / y\n\
         entry half (x: i64): i64 = assert (x % 2 == 0) (x / 2)\n\
         entry all (n: i64): i64 = i64.sum (map (** 3) (scan (+) 0 (iota n)))\n",
        &[
            (&["--entry", "area"], "#circle 2"),
            (&["--entry", "area"], "#box {w = 2, h = 3}"),
            (&["--entry", "area"], "#square 1"),
            (&["--entry", "pick"], "[[1, 2, 3], [4, 5]] 1"),
            (&["--entry", "pick"], "[[1, 2, 3], [4, 5]] 2"),
            (&["--entry", "pick", "--message-format", "json"], "[[1, 2, 3], [4, 5]] 2"),
            (&["--entry", "quotient"], "7 0"),
            (&["--entry", "half"], "3"),
            (&["--entry", "all", "--memory-limit", "1k"], "100000"),
            (&["--entry", "all", "--memory-limit", "lots"], "1"),
            (&["--entry", "all"], "-1"),
            (&[], "1"),
        ],
    ),
];

/// A folder that is removed.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("par-build-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn output(command: &mut Command, input: &[u8]) -> Output {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    // Who does not read it has its reasons.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    child.wait_with_output().expect("the command ends")
}

fn par(folder: &Path, words: &[&str]) -> Output {
    output(Command::new(PAR).current_dir(folder).args(words), b"")
}

/// Status and output of a run.
fn shown(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let errors = text(&output.stderr);
    (output.status.code(), text(&output.stdout), errors)
}

/// The same without the rows and iterations that errors were in: an executable has no interpreter to find them with.
fn without_context((status, out, errors): (Option<i32>, String, String)) -> (Option<i32>, String, String) {
    let (mut kept, mut rest) = (String::new(), errors.as_str());
    // Ends of lines as they are in text, and in JSON.
    for end in ["\n", "\\n"] {
        let note = format!("   │{end}   │ Note: in ");
        while let Some((before, after)) = rest.split_once(&note) {
            kept += before;
            rest = after.split_once(end).map_or("", |(_, after)| after);
        }
    }
    kept += rest;
    if let Some((before, after)) = kept.split_once("\"notes\":[\"in ") {
        let after = after.split_once("\"]").map_or("", |(_, after)| after);
        kept = format!("{before}\"notes\":[]{after}");
    }
    (status, out, kept)
}

fn executables_do_what_par_run_does() {
    let folder = Folder::new("same");
    for (name, text, calls) in PROGRAMS {
        let file = format!("{name}.par");
        std::fs::write(folder.0.join(&file), text).expect("a program");
        let built = par(&folder.0, &["build", &file]);
        assert_eq!(shown(&built), (Some(0), String::new(), String::new()), "{name}");
        for (i, (options, input)) in calls.iter().enumerate() {
            let run = output(
                Command::new(PAR).current_dir(&folder.0).args(["run", &file]).args(*options),
                input.as_bytes(),
            );
            let executable = folder.0.join(name);
            let own =
                output(Command::new(executable).current_dir(&folder.0).args(*options), input.as_bytes());
            assert_eq!(shown(&own), without_context(shown(&run)), "{name} {options:?} {input}");
            // The first call of each program is one that has a result.
            assert!(i > 0 || run.status.success(), "{name} {:?}", shown(&run));
        }
    }
}

fn executables_for_every_processor() {
    let folder = Folder::new("baseline");
    let (name, text, _) = PROGRAMS[0];
    std::fs::write(folder.0.join("p.par"), text).expect("a program");
    let built = par(&folder.0, &["build", "p.par", "--cpu", "baseline", "-o", name]);
    assert_eq!(shown(&built), (Some(0), String::new(), String::new()));
    let own = output(&mut Command::new(folder.0.join(name)), b"[[0, 0], []]");
    // Several entry points, of which one is called `main`.
    assert_eq!(shown(&own), (Some(0), "[2.0f64, 0.0f64]\n".into(), String::new()));
}

/// Par program that `stats.c` calls.
const STATS: &str = "\
entry norm (xs: []f64): f64 = f64.sqrt (f64.sum (map (** 2) xs))
entry range (xs: []i64): (i64, i64) = (i64.minimum xs, i64.maximum xs)
entry prefixes (xss: [][]f64): [][]f64 = map (scan (+) 0) xss
entry swap [n] (ps: [n]{x: f64, y: f64}): [n]{x: f64, y: f64} = map (\\p -> {x = p.y, y = p.x}) ps
type shape = #circle f64 | #box f64 f64
entry grow (s: shape): shape = match s case #circle r -> #circle (2 * r) case #box w h -> #box (2 * w) (2 * h)
entry pick (xs: []f64) (i: i64): f64 = xs[i]
entry total (n: i64): f64 = f64.i64 (i64.sum (scan (+) 0 (iota n)))
";

fn libraries_for_c() {
    let folder = Folder::new("library");
    std::fs::write(folder.0.join("stats.par"), STATS).expect("a program");
    let built = par(&folder.0, &["build", "--lib", "stats.par"]);
    assert_eq!(shown(&built), (Some(0), String::new(), String::new()));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stats.c");
    let here = folder.0.display().to_string();
    let ways: [&[&str]; 2] =
        [&["-L.", "-lstats", &format!("-Wl,-rpath,{here}")], &["libstats.a", "-lm", "-lpthread", "-ldl"]];
    for libraries in ways {
        let mut compile = Command::new("cc");
        compile.current_dir(&folder.0).args(["-Wall", "-Wextra", "-Werror", "-I.", "-o", "user"]);
        let compiled = output(compile.arg(&source).args(libraries).arg("-lpthread"), b"");
        assert_eq!(shown(&compiled), (Some(0), String::new(), String::new()), "{libraries:?}");
        let run = output(&mut Command::new(folder.0.join("user")), b"");
        assert_eq!(shown(&run), (Some(0), "all well\n".into(), String::new()), "{libraries:?}");
    }
}

fn what_is_missing_is_named() {
    let folder = Folder::new("missing");
    std::fs::write(folder.0.join("p.par"), "entry main (x: i32): i32 = x\n").expect("a program");
    let built = par(&folder.0, &["build", "p.par", "--runtime", "nowhere.a"]);
    let (status, _, errors) = shown(&built);
    assert_eq!(status, Some(1));
    assert!(errors.starts_with("error: there is no runtime library nowhere.a: "), "{errors}");
    let built = output(
        Command::new(PAR).current_dir(&folder.0).args(["build", "p.par"]).env("CC", "no-such-compiler"),
        b"",
    );
    let (status, _, errors) = shown(&built);
    assert_eq!(status, Some(1));
    assert!(errors.contains("there is no C compiler `no-such-compiler`"), "{errors}");
    std::fs::write(folder.0.join("wrong.par"), "entry main (x: i32): i32 = y\n").expect("a program");
    assert_eq!(par(&folder.0, &["build", "wrong.par"]).status.code(), Some(2));
    let left: Vec<_> =
        std::fs::read_dir(&folder.0).expect("the folder").flatten().map(|e| e.file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

/// All programs of a folder, for those who ask.
fn programs_of_a_folder() {
    let root = std::env::var_os("PAR_BUILD").expect("it was asked for");
    let folder = Folder::new("all");
    let (mut programs, mut calls, mut wrong) = (0, 0, Vec::new());
    for file in programs_under(Path::new(&root)) {
        let executable = folder.0.join("program");
        let mut built = false;
        let read = data_sets(&file, &Settings::default(), &mut |_, set| {
            if !built {
                let done = output(
                    Command::new(PAR)
                        .arg("build")
                        .arg(&file)
                        .arg("-o")
                        .arg(&executable)
                        .stdout(Stdio::null()),
                    b"",
                );
                built = true;
                programs += 1;
                if done.status.code() != Some(0) {
                    wrong.push(format!("{}: {:?}", file.display(), shown(&done)));
                    return;
                }
            }
            let input: String = set.args.iter().map(|v: &Value| print_value(v) + "\n").collect();
            let mut run = Command::new(PAR);
            run.arg("run").arg(&file);
            let results = [run, Command::new(&executable)]
                .map(|mut command| shown(&output(command.args(["--entry", &set.entry]), input.as_bytes())));
            calls += 1;
            if (&results[0].0, &results[0].1) != (&results[1].0, &results[1].1) {
                wrong.push(format!("{} {}: {results:?}", file.display(), set.name));
            }
        });
        if let Err(NoData::Failure(failure)) = read {
            println!("{}: {failure}", file.display());
        }
    }
    println!("{programs} programs built, {calls} calls");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn programs_under(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_path_buf()];
    }
    let mut inside: Vec<PathBuf> =
        std::fs::read_dir(path).into_iter().flatten().flatten().map(|e| e.path()).collect();
    inside.sort();
    let programs = inside.iter().flat_map(|p| programs_under(p));
    programs.filter(|p| p.extension().is_some_and(|e| e == "par")).collect()
}

par_trials::trials! {
    executables_do_what_par_run_does, needs c_compiler();
    executables_for_every_processor, needs c_compiler();
    libraries_for_c, needs c_compiler();
    what_is_missing_is_named;
    programs_of_a_folder, needs variable("PAR_BUILD"), c_compiler();
}
