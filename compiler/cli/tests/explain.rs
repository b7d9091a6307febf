//! `par explain`, `par profile` and `par bench` from outside: statuses, forms of output, comparisons.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = "\
-- ==
-- entry: main
-- \"three rows\" input { [[1, 2], [], [3]] } output { [3, 0, 3] }
entry main (xss: [][]i64) : []i64 = map i64.sum xss
";

fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("rows.par"), PROGRAM).unwrap();
    std::fs::write(path.join("rows.in"), "[[1, 2], [], [3, 4, 5]]").unwrap();
    path
}

fn par(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_par"));
    command.args(args).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn explaining_with_and_without_input() {
    let folder = folder("explain");
    let (status, text, errors) = said(&par(&folder, &["explain", "rows.par"]));
    assert_eq!((status, errors.as_str()), (Some(0), ""), "{text}");
    assert!(text.contains("rows.par, entry main") && text.contains("reduce add.i64"), "{text}");
    assert!(!text.contains('\x1b'), "no colours in a file");
    let (status, text, _) =
        said(&par(&folder, &["explain", "rows.par", "--input", "rows.in", "--runs", "1"]));
    assert_eq!(status, Some(0));
    assert!(text.contains("ragged rows") && text.contains("one run"), "{text}");
    let args = ["explain", "rows.par", "--input", "rows.in", "--html", "rows.html"];
    assert_eq!(said(&par(&folder, &args)), (Some(0), String::new(), String::new()));
    let page = std::fs::read_to_string(folder.join("rows.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
}

#[test]
fn some_lines_only() {
    let folder = folder("explain-lines");
    let program = "\
entry main (xs: []i64) (k: i64) : (i64, []i64) =
  let squares = map (\\x -> x * x) xs
  let sum = i64.sum squares
  let first = scan (+) 0 xs
  in (sum, map (\\x -> x / k) first)
";
    std::fs::write(folder.join("lines.par"), program).unwrap();
    let listed = |lines: &str| said(&par(&folder, &["explain", "lines.par", "--lines", lines]));
    let (status, text, errors) = listed("2-3");
    assert_eq!((status, errors.as_str()), (Some(0), ""), "{text}");
    // The sum, and the map that is part of it.
    assert!(text.contains("reduce add.i64") && text.contains("2 │   let squares"), "{text}");
    assert!(!text.contains("] scan") && !text.contains("divisor"), "{text}");
    let (_, text, _) = listed("5");
    assert!(!text.contains("reduce") && text.contains("line 5: "), "{text}");
    let (status, text, _) = listed("1");
    assert!(status == Some(0) && text.starts_with("Nothing works on arrays in line 1.\n"), "{text}");
    // Lines of a file that it imports are others.
    std::fs::write(
        folder.join("imported.par"),
        "-- Cubes.\ndef cubes (xs: []i64) = scan i64.max 0 (map (\\x -> x * x * x) xs)\n",
    )
    .unwrap();
    let importing = "import \"imported\"\n\nentry main (xs: []i64) = scan (+) 0 (cubes xs)\n";
    std::fs::write(folder.join("importing.par"), importing).unwrap();
    for (line, is_shown) in [("2", false), ("3", true)] {
        let (_, text, errors) = said(&par(&folder, &["explain", "importing.par", "--lines", line]));
        assert_eq!(
            (text.contains("scan add.i64"), text.starts_with("Nothing")),
            (is_shown, !is_shown),
            "{text}{errors}"
        );
        assert!(!text.contains("imported.par") && !text.contains("max"), "{text}");
    }
    for wrong in ["0", "3-2", "two", "1-", ""] {
        let (status, text, errors) = listed(wrong);
        assert_eq!((status, text.as_str()), (Some(2), ""), "{wrong}");
        assert!(errors.contains("give a line as 5, or lines as 5-8"), "{errors}");
    }
}

#[test]
fn derivatives_with_their_rules_and_what_they_keep() {
    let folder = folder("explain-derivatives");
    let program = "\
def walk (x: f64) (ys: []f64) : f64 =
  (loop (x, ys) = (x, copy ys) for i < length ys do
     (x * ys[i], ys with [i] = x)).0

entry gradient (ys: []f64) : []f64 = vjp (\\ys -> f64.sum (scan (*) 1 ys) + walk 2 ys) ys 1

entry value (ys: []f64) : f64 = walk 2 ys
";
    std::fs::write(folder.join("walk.par"), program).unwrap();
    let (status, text, errors) = said(&par(&folder, &["explain", "walk.par", "--entry", "gradient"]));
    assert_eq!((status, errors.as_str()), (Some(0), ""), "{text}");
    let (_, rules) = text.split_once("derivatives, backward\n").expect("rules");
    assert_eq!(
        rules,
        "        • line 2: loop: from the last iteration to the first; kept: 8 bytes in each iteration for a number, \
         16 bytes in each iteration: what is overwritten in an array of f64
        • line 5: reduce: each element takes the adjoint of the sum
        • line 5: scan: a scan of linear maps from the end
"
    );
    let (_, text, _) = said(&par(&folder, &["explain", "walk.par", "--entry", "gradient", "--json"]));
    let all: serde_json::Value = serde_json::from_str(&text).expect("an object");
    assert_eq!(all["derivatives"][0]["what"], "loop");
    let args = ["explain", "walk.par", "--entry", "gradient", "--html", "walk.html"];
    assert_eq!(said(&par(&folder, &args)).0, Some(0));
    let page = std::fs::read_to_string(folder.join("walk.html")).unwrap();
    assert!(page.contains("a scan of linear maps from the end"), "{page}");
    let (_, text, _) = said(&par(&folder, &["explain", "walk.par", "--entry", "value"]));
    assert!(!text.contains("derivatives"), "{text}");
}

#[test]
fn mistakes_are_those_of_par_run() {
    let folder = folder("explain-mistakes");
    std::fs::write(folder.join("wrong.par"), "entry main (x: i64) = x + true\n").unwrap();
    for command in ["run", "explain", "profile"] {
        let fails = |args: &[&str], status: i32, message: &str| {
            let (code, text, errors) = said(&par(&folder, &[&[command], args].concat()));
            assert_eq!((code, text.as_str()), (Some(status), ""), "{command} {args:?}: {errors}");
            assert!(errors.contains(message), "{command} {args:?}: {errors}");
        };
        fails(&["wrong.par"], 2, "true");
        fails(&["none.par"], 2, "cannot read the program none.par");
        fails(&["rows.par", "--entry", "mian"], 1, "did you mean `main`?");
        fails(&["rows.par", "--input", "none.in"], 1, "cannot read none.in");
        fails(&["rows.par", "--input", "xs=rows.in"], 1, "the parameters are (xss: [][]i64)");
    }
    let (code, _, errors) = said(&par(&folder, &["profile", "rows.par"]));
    assert_eq!(code, Some(1));
    assert!(errors.contains("the argument `xss` of type [][]i64 is missing"), "{errors}");
}

#[test]
fn profiles_as_a_table_and_as_data() {
    let folder = folder("profile");
    let (status, text, _) = said(&par(&folder, &["profile", "rows.par", "--input", "rows.in"]));
    assert_eq!(status, Some(0));
    assert!(text.contains("rows.par:4:") && text.contains("everything else"), "{text}");
    let (_, text, _) = said(&par(&folder, &["profile", "rows.par", "--input", "rows.in", "--json"]));
    let data: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(data["run"]["counters"]["launches"], 1);
    assert_eq!(data["operations"][0]["at"]["line"], 4);
    assert_eq!(data["operations"][0]["cost"]["longest"], 3);
}

#[test]
fn profiles_say_which_sizes_are_constants() {
    let folder = folder("sizes");
    std::fs::write(
        folder.join("points.par"),
        "entry main [n] [d] (ps: [n][d]f32) : [n]f32 = map (\\p -> f32.sum (map2 (*) p p)) ps\n",
    )
    .expect("a file");
    std::fs::write(folder.join("points.in"), "[[1f32, 2], [3, 4], [5, 6]]").expect("a file");
    let profile = |least: &str| {
        said(&par(&folder, &["profile", "points.par", "--input", "points.in", "--constant-sizes", least]))
    };
    let says = |least: &str| profile(least).1.contains("compiled for arguments with n = 3, d = 2\n");
    assert!(says("6") && !says("7") && !says("never"), "{:?}", profile("6"));
    let (status, _, errors) = profile("few");
    assert!(status == Some(2) && errors.contains("a number of elements, or `never`"), "{status:?} {errors}");
}

#[test]
fn benchmarks_and_what_has_changed_since() {
    let folder = folder("bench");
    let quick = ["bench", "rows.par", "--runs", "7", "--min-time", "0", "--threads", "1"];
    let (status, text, errors) = said(&par(&folder, &quick));
    assert_eq!((status, errors.as_str()), (Some(0), ""));
    assert!(text.contains("rows.par main three rows") && text.contains("of copy"), "{text}");
    let json = [&quick[..], &["--json", "--output", "now.json", "--processes", "5"]].concat();
    assert_eq!(said(&par(&folder, &json)).0, Some(0));
    let mut data: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("now.json")).unwrap()).unwrap();
    assert_eq!(data["results"][0]["nanoseconds"].as_array().map(Vec::len), Some(35));
    assert_eq!(data["results"][0]["medians"].as_array().map(Vec::len), Some(5));
    // A tenth of a second each: nothing on this machine takes that long.
    data["results"][0]["medians"] = vec![100_000_000u64; 5].into();
    std::fs::write(folder.join("old.json"), data.to_string()).unwrap();
    let (status, text, _) = said(&par(&folder, &[&quick[..], &["--compare", "old.json"]].concat()));
    assert_eq!(status, Some(0));
    assert!(
        text.contains("times faster") && text.contains("1 changed, 0 not significantly, 0 new"),
        "{text}"
    );
    // If a fixed copy took as much longer then, the call may be the same.
    data["paces"][0]["copy"] = 1_000_000_000_000_000u64.into();
    std::fs::write(folder.join("busy.json"), data.to_string()).unwrap();
    let (status, text, _) = said(&par(&folder, &[&quick[..], &["--compare", "busy.json"]].concat()));
    assert_eq!(status, Some(0));
    assert!(
        text.contains("the machine was busier") && text.contains("0 changed, 1 not significantly"),
        "{text}"
    );
    // What one process measured is not compared.
    let once = [&quick[..], &["--compare", "old.json", "--processes", "1"]].concat();
    let (status, text, _) = said(&par(&folder, &once));
    assert_eq!(status, Some(0));
    assert!(
        text.contains("fewer than 5 processes") && text.contains("0 changed, 1 not significantly"),
        "{text}"
    );
    // Another version of a program.
    std::fs::copy(folder.join("rows.par"), folder.join("same.par")).unwrap();
    let (status, text, errors) = said(&par(&folder, &[&quick[..], &["--against", "same.par"]].concat()));
    assert_eq!((status, errors.as_str()), (Some(0), ""));
    assert!(text.contains(" 0 new"), "{text}");
    let (status, _, errors) = said(&par(&folder, &[&quick[..], &["--against", "now.json"]].concat()));
    assert_eq!(status, Some(1));
    assert!(errors.contains("cannot run now.json"), "{errors}");
    let (status, _, errors) = said(&par(&folder, &[&quick[..], &["--compare", "rows.par"]].concat()));
    assert_eq!(status, Some(1));
    assert!(errors.contains("not results of `par bench --json`"), "{errors}");
    let (status, _, errors) = said(&par(&folder, &["bench", "none.par"]));
    assert_eq!(status, Some(1), "{errors}");
}

/// Functions in C beside entry points: numbers, tuples, regular and irregular arrays, both as arguments and as results.
#[test]
fn bench_against_functions_in_c() {
    let folder = folder("bench-c");
    let program = "\
-- ==
-- entry: sums
-- \"rows\" input { [[1.0f32, 2.0], [], [4.5]] 2.0f32 }
entry sums [n] (rows: [n][]f32) (k: f32) : ([n]f32, f32) = (map (\\r -> k * f32.sum r) rows, k)
-- ==
-- entry: evens
-- input { [[1, 2, 4], [3], [6]] }
entry evens (rows: [][]i32) : [][]i32 = map (filter (\\x -> x % 2 == 0)) rows
-- ==
-- entry: cleared
-- input { [[1, 2], [3, 4]] }
entry cleared [n] (m: *[n][2]i32) : *[n][2]i32 = m with [0] = [0, 0]
-- ==
-- entry: other
-- input { 1 }
entry other (x: i32) = x
";
    std::fs::write(folder.join("rows.par"), program).unwrap();
    let sums = "#include <stdint.h>
void c_sums(int64_t n, const int64_t *at, const float *rows, float k, int64_t *size, float *sums, float *last) {
    *size = n;
    *last = k;
    for (int64_t i = 0; i < n; i++) {
        float sum = 0;
        for (int64_t j = at[i]; j < at[i + 1]; j++) sum += rows[j];
        sums[i] = k * sum;
    }
}
";
    let others = "
void c_evens(int64_t n, int64_t *at, int32_t *rows, int64_t *size, int64_t *to, int32_t *evens) {
    *size = n;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = at[i]; j < at[i + 1]; j++)
            if (rows[j] % 2 == 0) evens[count++] = rows[j];
        to[i + 1] = count;
    }
}
void c_cleared(int64_t n, int64_t m, int32_t *x, int64_t *rows, int64_t *columns, int32_t *y) {
    *rows = n;
    *columns = m;
    x[0] += 1; // what is overwritten is made anew for each run
    for (int64_t i = 0; i < n * m; i++) y[i] = i < m ? 0 : x[i];
}
";
    let against = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).unwrap();
        let quick = ["bench", "rows.par", "--runs", "3", "--min-time", "0", "--processes", "1"];
        said(&par(&folder, &[&quick[..], &["--threads", "1", "--against", name]].concat()))
    };
    let (status, text, errors) = against("rows.c", &format!("{sums}{others}"));
    assert_eq!((status, errors.as_str()), (Some(0), ""));
    assert!(text.contains("Par/C") && text.contains("rows.par sums rows"), "{text}");
    assert!(
        text.contains("geometric mean of 3 calls") && text.contains("1 without a function in C"),
        "{text}"
    );
    let json = [
        "bench",
        "rows.par",
        "--runs",
        "3",
        "--min-time",
        "0",
        "--processes",
        "1",
        "--json",
        "--against",
        "rows.c",
    ];
    let (status, text, errors) = said(&par(&folder, &json));
    assert_eq!((status, errors.as_str()), (Some(0), ""));
    let both: serde_json::Value = serde_json::from_str(&text).expect("an object");
    let entries = |side: &str| -> Vec<&str> {
        both[side].as_array().expect("calls").iter().filter_map(|m| m["entry"].as_str()).collect()
    };
    assert_eq!(entries("results"), ["sums", "evens", "cleared", "other"]);
    assert_eq!(entries("against"), ["sums", "evens", "cleared"]);
    let (status, _, errors) = against("wrong.c", &sums.replace("k * sum;", "sum;"));
    assert_eq!(status, Some(1), "{errors}");
    assert!(errors.contains("c_sums gives another result: at .0[0]: 6"), "{errors}");
    let (status, _, errors) = against("few.c", &sums.replace("float k, ", ""));
    assert_eq!(status, Some(1), "{errors}");
    assert!(
        errors.contains("void c_sums(int64_t rows_size, int64_t *rows_offsets, float *rows, float k, int64_t *result_size, float *result_0, float *result_1);"),
        "{errors}"
    );
    let (status, _, errors) = against("ends.c", &sums.replace("k * sum;", "k * *(volatile float *)8;"));
    assert_eq!(status, Some(1), "{errors}");
    assert!(errors.contains("the process that measured ends.c ended: signal"), "{errors}");
    let (status, _, errors) = against("none.c", "int x;");
    assert_eq!(status, Some(1), "{errors}");
    assert!(errors.contains("has no function for an entry point"), "{errors}");
}
