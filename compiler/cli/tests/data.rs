//! Files in and out of `par run`: which file is which argument, formats, plots, limits of time, disks that are full.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder of its own for each test, in which commands run.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("data").join(test);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.0.join(name), contents).unwrap();
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|e| e.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn par(&self, args: &[&str]) -> Output {
        let mut par = Command::new(env!("CARGO_BIN_EXE_par"));
        par.args(args).current_dir(&self.0).stdin(Stdio::null()).output().unwrap()
    }

    /// Output of `par run` when all is well.
    fn run(&self, args: &[&str]) -> String {
        let output = self.par(&[&["run"], args].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*errors), (Some(0), ""), "{args:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Messages of `par run` when it fails.
    fn fails(&self, args: &[&str]) -> String {
        let output = self.par(&[&["run"], args].concat());
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            (output.status.code(), output.stdout.as_slice()),
            (Some(1), &b""[..]),
            "{args:?}: {errors}"
        );
        errors.trim_end().to_string()
    }
}

const TABLE: &str = "id,x,y\n1,0.5,2\n2,1.5,4\n";

#[test]
fn columns_are_arguments() {
    let folder = Folder::new("columns");
    folder.file("t.csv", TABLE);
    folder.file("dot.par", "entry main [n] (x: [n]f64) (y: [n]f64) : f64 = f64.sum (map2 (*) x y)\n");
    assert_eq!(folder.run(&["dot.par", "-i", "t.csv"]), "7.0f64\n");
    assert_eq!(folder.run(&["dot.par", "-i", "x=t.csv#y", "-i", "y=t.csv#id"]), "10.0f64\n");
    assert_eq!(folder.run(&["dot.par", "-i", "t.csv#x", "-i", "t.csv#id"]), "3.5f64\n");
    folder
        .file("one.par", "entry main (ps: []{x: f32, y: f32}) : f32 = f32.sum (map (\\p -> p.x * p.y) ps)\n");
    assert_eq!(folder.run(&["one.par", "-i", "t.csv"]), "7.0f32\n");
    folder.file("rows.par", "entry main (m: [][]f32) : []f32 = map f32.sum m\n");
    assert_eq!(folder.run(&["rows.par", "-i", "t.csv"]), "[3.5f32, 7.5f32]\n");
    folder.file("more.par", "entry main (y: []i64) (n: i64) : i64 = n + i64.sum y\n");
    folder.file("n.txt", "100");
    assert_eq!(folder.run(&["more.par", "-i", "t.csv", "-i", "n.txt"]), "106i64\n");
    let wrong = folder.fails(&["more.par", "-i", "y=t.csv#x", "-i", "n.txt"]);
    let message = "error: t.csv:2: argument `y` of type []i64: column `x`: `0.5` is no value of type i64";
    assert_eq!(wrong, message);
    let piped = Command::new("sh")
        .args(["-c", "cat t.csv | \"$PAR\" run dot.par -i csv:-"])
        .env("PAR", env!("CARGO_BIN_EXE_par"))
        .current_dir(&folder.0)
        .output();
    assert_eq!(String::from_utf8_lossy(&piped.unwrap().stdout), "7.0f64\n");
}

#[test]
fn results_in_every_format() {
    let folder = Folder::new("results");
    folder.file("two.par", "entry main (n: i64) : {square: []i64, third: []f64} =\n  {square = map (\\i -> i * i) (iota n), third = map (\\i -> f64.i64 i / 3) (iota n)}\n");
    folder.file("n", "3");
    assert_eq!(folder.run(&["two.par", "-i", "n", "-o", "out.csv"]), "");
    assert_eq!(folder.text("out.csv"), "square,third\n0,0.0\n1,0.3333333333333333\n4,0.6666666666666666\n");
    assert_eq!(folder.run(&["two.par", "-i", "n", "-o", "csv:-"]), folder.text("out.csv"));
    folder.run(&["two.par", "-i", "n", "-o", "out.npz"]);
    folder.file(
        "sum.par",
        "entry main [n] (square: [n]i64) (third: [n]f64) : (i64, f64) = (i64.sum square, f64.sum third)\n",
    );
    assert_eq!(folder.run(&["sum.par", "-i", "out.npz"]), "5i64\n1.0f64\n");
    folder.file("grey.par", "entry main (h: i64) : [][]f32 = map (\\i -> map f32.i64 (iota i)) (iota h)\n");
    let irregular = folder.fails(&["grey.par", "-i", "n", "-o", "out.png"]);
    assert!(irregular.contains("cannot write out.png: a picture is of type [h][w]t"), "{irregular}");
    folder.file(
        "image.par",
        "entry main (h: i64) : [h][3]f32 = tabulate_2d h 3 (\\i j -> f32.i64 (i + j) / 4)\n",
    );
    folder.run(&["image.par", "-i", "n", "-o", "out.png"]);
    folder.file("read.par", "entry main [h] [w] (m: [h][w]u8) : [h][w]u8 = m\n");
    let pixels = folder.run(&["read.par", "-i", "out.png"]);
    assert_eq!(pixels, "[[0u8, 64u8, 128u8], [64u8, 128u8, 191u8], [128u8, 191u8, 255u8]]\n");
    assert_eq!(
        folder.names(),
        ["grey.par", "image.par", "n", "out.csv", "out.npz", "out.png", "read.par", "sum.par", "two.par"]
    );
}

#[test]
fn files_that_are_none() {
    let folder = Folder::new("none");
    folder.file("main.par", "entry main (xs: []f64) : f64 = f64.sum xs\n");
    folder.file("cut.npz", b"PK\x03\x04cut");
    assert!(
        folder
            .fails(&["main.par", "-i", "cut.npz"])
            .starts_with("error: cut.npz: the archive cannot be read")
    );
    folder.file("cut.png", b"\x89PNG\r\n\x1a\ncut");
    let picture = folder.fails(&["main.par", "-i", "xs=cut.png"]);
    assert!(
        picture.contains("a picture is of type [h][w]t, [h][w][3]t or [h][w][4]t, but []f64 is expected"),
        "{picture}"
    );
    assert!(folder.fails(&["main.par", "-i", "."]).contains("cannot read .: it is a folder"));
    assert!(
        folder.fails(&["main.par", "-i", "xs=nowhere.csv"]).contains("cannot read nowhere.csv: No such file")
    );
    let value = folder.fails(&["main.par", "-i", "xs=[1.5, 2]"]);
    assert!(
        value.contains("--input takes files: write a value to standard input, echo '[1.5, 2]' | par run"),
        "{value}"
    );
    assert!(!folder.fails(&["main.par", "-i", "xs=2020.csv"]).contains("--input takes files"));
    let message = folder.fails(&["main.par", "-i", "xs=nowhere.csv", "-o", "jsn:x"]);
    assert!(
        message.starts_with("error: there is no format `jsn` (did you mean `json`?): there are text, texts,"),
        "{message}"
    );
    if !cfg!(feature = "arrow") {
        folder.file("t.parquet", b"PAR1....");
        assert!(folder.fails(&["main.par", "-i", "t.parquet"]).contains("--features arrow"));
    }
}

#[test]
fn nothing_is_left_half_written() {
    let folder = Folder::new("half");
    folder.file("main.par", "entry main : []i64 = iota 100000\n");
    assert!(folder.fails(&["main.par", "-o", "/dev/full"]).contains("cannot write /dev/full: No space left"));
    assert!(folder.fails(&["main.par", "-o", "csv:/dev/full"]).contains("No space left"));
    assert!(folder.fails(&["main.par", "-o", "."]).contains("cannot write .: it is a folder"));
    assert!(
        folder
            .fails(&["main.par", "-o", "no/such/out.csv"])
            .contains("cannot write no/such/out.csv: No such file")
    );
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut par = Command::new(env!("CARGO_BIN_EXE_par"));
    let output = par.args(["run", "main.par"]).current_dir(&folder.0).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("cannot write to standard output: No space left")
    );
    folder.file("old.csv", "old");
    folder.file("sum.par", "entry main : #a i32 | #b i32 = #a 1\n");
    assert!(folder.fails(&["sum.par", "-o", "old.csv"]).contains("can only be written as text"));
    assert_eq!(folder.text("old.csv"), "old");
    assert_eq!(folder.names(), ["main.par", "old.csv", "sum.par"]);
}

#[cfg(unix)]
#[test]
fn folders_and_files_without_permission() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("permissions");
    folder.file("main.par", "entry main (n: i64) : i64 = n\n");
    folder.file("secret", "1");
    std::fs::create_dir(folder.0.join("closed")).unwrap();
    let set = |name: &str, mode| {
        std::fs::set_permissions(folder.0.join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set("secret", 0);
    set("closed", 0o555);
    // Nothing is forbidden to the administrator.
    let is_root = std::fs::read(folder.0.join("secret")).is_ok();
    if !is_root {
        assert!(
            folder.fails(&["main.par", "-i", "secret"]).contains("cannot read secret: Permission denied")
        );
        folder.file("n", "1");
        let closed = folder.fails(&["main.par", "-i", "n", "-o", "closed/out.csv"]);
        assert!(closed.contains("cannot write closed/out.csv: Permission denied"), "{closed}");
    }
    set("closed", 0o755);
    set("secret", 0o644);
}

/// Also through abbreviations and modules, and where nobody wrote the type: then the record is written somewhere.
#[test]
fn fields_are_in_the_order_in_which_they_are_written() {
    let folder = Folder::new("order");
    folder.file(
        "order.par",
        "type pair 'a = {second: a, first: a}\n\
         module m = { type t = pair i64  def mk (x: i64) : t = {first = x, second = x + 1} }\n\
         entry declared (x: i64) : {t: []f64, id: []i64} = {id = iota x, t = replicate x 1.5}\n\
         entry abbreviated (x: i64) : []m.t = [m.mk x]\n\
         entry inferred (x: i64) = {z = x, a = {y = true, b = x}}\n\
         entry given (p: {y: i64, x: i64}) : {y: i64, x: i64} = p with x = 2 * p.x\n",
    );
    folder.file("two", "2");
    folder.file("p.json", "{\"x\": 1, \"y\": 3}");
    let run = |entry: &str, input: &str, more: &[&str]| {
        folder.run(&[&["order.par", "--entry", entry, "-i", input], more].concat())
    };
    assert_eq!(run("declared", "two", &["-o", "csv:-"]), "t,id\n1.5,0\n1.5,1\n");
    assert_eq!(run("declared", "two", &["-o", "json:-"]), "{\"t\": [1.5, 1.5], \"id\": [0, 1]}\n");
    assert_eq!(run("abbreviated", "two", &["-o", "csv:-"]), "second,first\n3,2\n");
    assert_eq!(run("inferred", "two", &[]), "{z = 2i64, a = {y = true, b = 2i64}}\n");
    for backend in ["interp", "flat-interp", "cpu"] {
        assert_eq!(run("given", "p.json", &["--backend", backend]), "{y = 3i64, x = 2i64}\n");
    }
}

#[test]
fn plots() {
    let folder = Folder::new("plots");
    folder.file("sin.par", "entry main : []f64 = map (\\i -> f64.sin (f64.i64 i / 10)) (iota 100)\n");
    assert_eq!(folder.run(&["sin.par", "--plot", "sin.svg"]), "");
    let svg = folder.text("sin.svg");
    assert!(
        svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>") && svg.contains("<polyline"),
        "{svg}"
    );
    folder.run(&["sin.par", "--plot", "bars.svg", "--plot-as", "histogram", "-o", "sin.npy"]);
    assert!(folder.text("bars.svg").contains("<rect"));
    folder.run(&["sin.par", "--plot", "sin.PNG"]);
    let png = std::fs::read(folder.0.join("sin.PNG")).unwrap();
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    assert!(folder.fails(&["sin.par", "--plot", "sin.pdf"]).contains("a plot is SVG or PNG"));
    folder.file("scalar.par", "entry main : i32 = 1\n");
    assert!(folder.fails(&["scalar.par", "--plot", "x.svg"]).contains("there is no plot of i32"));
    assert!(
        folder
            .fails(&["sin.par", "--plot", "h.svg", "--plot-as", "heat"])
            .contains("a heat map is of type [h][w]t")
    );
    assert_eq!(folder.names(), ["bars.svg", "scalar.par", "sin.PNG", "sin.npy", "sin.par", "sin.svg"]);
}

#[test]
fn a_limit_of_time() {
    let folder = Folder::new("time");
    folder.file("loop.par", "entry main (x: i64) : i64 = loop x while x > 0 do 1 + x % 7\n");
    folder.file("one", "1");
    for backend in ["cpu", "interp", "flat-interp"] {
        let message = folder.fails(&["loop.par", "-i", "one", "--timeout", "0.5", "--backend", backend]);
        assert_eq!(message, "error: did not end within 0.5 s", "{backend}");
    }
    folder.file("id.par", "entry main (x: i64) : i64 = x\n");
    assert_eq!(folder.run(&["id.par", "-i", "one", "--timeout", "100"]), "1i64\n");
    let wrong = folder.par(&["run", "id.par", "--timeout", "0"]);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("a number of seconds is needed"));
}

#[test]
fn texts_are_shown_as_texts() {
    let folder = Folder::new("texts");
    folder.file(
        "twice.par",
        "entry main (s: []u8) : ([]u8, [][]u8) = let t = #[trace(s)] s in (t ++ t, [t, [0u8]])\n",
    );
    folder.file("s", "\"h\u{e9}\\n\"");
    let output = folder.par(&["run", "twice.par", "-i", "s", "--text"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "h\u{e9}\nh\u{e9}\n\n[\"h\u{e9}\\n\", [0u8]]\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "twice.par:1:49 s: \"h\u{e9}\\n\"\n");
    assert!(folder.par(&["run", "twice.par", "-i", "s", "-o", "texts:out"]).status.success());
    assert!(folder.text("out").starts_with("h\u{e9}\n"));
}

#[test]
fn tests_take_arguments_and_results_from_archives_and_tables() {
    let folder = Folder::new("cases");
    let make = "entry make: {xs: []f64, rows: [][]i64, result: []f64} = {xs = [1, 2], rows = [[1], [], [2, 3]], result = [1, 0, 5]}\n";
    folder.file("make.par", make);
    folder.run(&["make.par", "-o", "case.npz"]);
    folder.file("pairs.csv", "k,xs\n1,1\n2,2\n");
    folder.file(
        "sums.par",
        "-- ==\n-- entry: sums\n-- input @ case.npz output @ case.npz\n-- input @ case.npz output { [1f64, 0f64, 5f64] }\n\
         entry sums (rows: [][]i64): []f64 = map (\\r -> f64.i64 (i64.sum r)) rows\n",
    );
    folder.file(
        "both.par",
        "-- ==\n-- entry: both\n-- input @ pairs.csv output { 3f64 }\n-- input @ case.npz\n\
         entry both (xs: []f64) (k: []i64): f64 = f64.sum xs * f64.i64 (length k) / 2\n",
    );
    let say = |output: &Output| {
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    for command in [&["test", "sums.par"][..], &["bench", "sums.par", "--runs", "1"]] {
        let output = folder.par(command);
        assert!(output.status.success(), "{}", say(&output));
    }
    let tested = folder.par(&["test", "both.par"]);
    assert_eq!(tested.status.code(), Some(1));
    assert!(say(&tested).contains("case.npz: there is no `k` of type []i64"), "{}", say(&tested));
    assert!(!say(&tested).contains("both.par:3"), "{}", say(&tested));
}
