//! Explanations of programs: which operations they become, from which lines, with what inside, which checks are left.

use par::insight::{Group, Insight, RunCost, json, listing, page, table};
use par::pipeline::Target;
use par::{CallOptions, Options, Program, compile, read_values};
use std::time::Duration;

fn program(text: &str) -> Program {
    compile(text, "program.par", &Options::default()).unwrap_or_else(|f| panic!("{f}"))
}

fn insight<'p>(program: &'p Program, entry: &str) -> Insight<'p> {
    Insight::new(program, entry, Target::Processor).unwrap_or_else(|f| panic!("{f}"))
}

const SPMV: &str = "\
entry main (rp: []i64) (cols: []i64) (vals: []i64) (x: []i64) : i64 =
  let y = map (\\i -> let s = rp[i]
                     let e = rp[i+1]
                     in i64.sum (map2 (\\c v -> v * x[c]) cols[s:e] vals[s:e]))
              (iota (length rp - 1))
  in i64.maximum (map (\\a -> a * a) y)
";

#[test]
fn a_sparse_product() {
    let p = program(SPMV);
    insta::assert_snapshot!(listing(&insight(&p, "main"), 120, false));
}

const CONTROL: &str = "\
def collatz (n: i64) : i64 =
  (loop (k, n) = (0, n) while n > 1 do (k + 1, if n % 2 == 0 then n / 2 else 3 * n + 1)).0

entry lengths (ns: []i64) : []i64 = map collatz ns

entry rows (xss: [][]i64) : [][]i64 =
  map (\\xs -> if length xs > 2 then filter (> 0) xs else map (* 2) xs) xss

entry unused (xs: []i64) : i64 = xs[0] / xs[1]
";

#[test]
fn loops_in_kernels_and_arms_with_parallel_code() {
    let p = program(CONTROL);
    insta::assert_snapshot!(listing(&insight(&p, "lengths"), 120, false));
    let rows = listing(&insight(&p, "rows"), 80, false);
    for part in
        ["if (line 7)", "selects the positions of an arm", "merges the results of the arms", "pack over"]
    {
        assert!(rows.contains(part), "{part}: {rows}");
    }
    assert!(!rows.contains("line 9"), "what another entry point does is not shown: {rows}");
}

#[test]
fn packs_say_what_needs_them() {
    let p = program(
        "entry main (xss: [][]i64) (is: []i64) : (i64, []i64, [][]i64) =
           let rows = map (\\i -> xss[i]) is
           let all = flatten rows
           let top = filter (> 3) all
           let most = i64.maximum all
           in (most, top, rows)",
    );
    let text = listing(&insight(&p, "main"), 240, false);
    for part in [
        "one after the other, for filter [6], line 4 and reduce [7], line 5",
        "after the other, for the result",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn versions_say_when_they_run() {
    let p = program(
        "entry main (xss: [][]i64) : []i64 = map (\\xs -> let m = i64.sum xs in i64.sum (map (^ m) xs)) xss
         def tree (d: i64) : i64 = if d == 0 then 1 else i64.sum (map (\\i -> tree (d - 1) + i) (iota 3))
         entry trees (ds: []i64) : []i64 = map tree ds",
    );
    let rows = listing(&insight(&p, "main"), 240, false);
    for part in [
        "runs in the choice of a version",
        "version: sequential, each row by itself: for 32 rows and more, if none is longer than 6",
        "version: flat, all rows at once: for fewer or longer rows",
    ] {
        assert!(rows.contains(part), "{part}: {rows}");
    }
    let calls = listing(&insight(&p, "trees"), 240, false);
    for part in
        ["sequential, each call by itself: for 16 calls at once", "flat, all calls at once: for less than 16"]
    {
        assert!(calls.contains(part), "{part}: {calls}");
    }
}

/// A program's own branches are no versions, whatever its variables are called.
#[test]
fn branches_of_the_program_are_no_versions() {
    let p = program(
        "entry main (n: i64) (xs: []i64) : i64 =
           let many = 512 <= n
           let by_rows = if many then n <= 6 else false
           let by_position = 256 <= n && by_rows
           let a = if many then i64.sum (filter (> 1) xs) else i64.maximum xs
           let b = if by_rows then i64.minimum (map (* a) xs) else a
           in if by_position then i64.product (map (+ b) xs) else b",
    );
    let text = listing(&insight(&p, "main"), 240, false);
    assert!(text.contains("then") && text.contains("else"), "{text}");
    assert!(!text.contains("version"), "{text}");
}

#[test]
fn rows_that_are_found_and_blocks_of_columns_are_versions() {
    let rows = program(include_str!("../golden/scan/segments.par"));
    let text = listing(&insight(&rows, "expand"), 240, false);
    for part in [
        "runs in the choice of a version",
        "version: over rows: if their starts grow, for 4 elements a row and more on average",
        "version: over elements, as written: for shorter rows, or other starts",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let columns = program("entry main [n][m] (xss: [n][m]f64) : [m]f64 = map f64.sum (transpose xss)");
    let text = listing(&insight(&columns, "main"), 240, false);
    assert!(text.contains("version: blocks of rows, combined: for more than 256 of them"), "{text}");
}

#[test]
fn what_one_element_does_by_itself_is_named() {
    let p = program(
        "def tree (d: i64) (x: i64) : i64 = if d == 0 then x else tree (d - 1) (2 * x) + tree (d - 1) (2 * x + 1)
         entry main [n] (ds: []i64) (xs: [n][4]i64) : ([]i64, [n]i64) =
           (map (\\d -> tree d 1) ds,
            map (\\r -> i64.sum r) xs)",
    );
    let text = listing(&insight(&p, "main"), 240, false);
    for part in ["sequential for each element: tree", "written out, being over at most 16 elements: reduce"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Every part of a listing fits the width, and colours change nothing but colours.
#[test]
fn listings_fit() {
    let p = program(SPMV);
    let view = insight(&p, "main");
    for width in [80, 100, 140] {
        let text = listing(&view, width, false);
        assert!(text.lines().all(|l| l.chars().count() <= width), "{text}");
        let colored = listing(&view, width, true);
        let mut plain = String::new();
        let mut rest = colored.as_str();
        while let Some(at) = rest.find('\x1b') {
            plain += &rest[..at];
            rest = &rest[at..][rest[at..].find('m').expect("a colour ends") + 1..];
        }
        plain += rest;
        let trimmed = |t: &str| t.lines().map(|l| l.trim_end().to_string()).collect::<Vec<_>>();
        assert_eq!(trimmed(&plain), trimmed(&text));
    }
}

fn with_run<'p>(program: &'p Program, entry: &str, input: &str) -> Insight<'p> {
    let signature = program.entry(entry).expect("the entry point");
    let types: Vec<_> = signature.params.iter().map(|p| p.1.clone()).collect();
    let args = read_values(input, &types).expect("the input");
    let options = CallOptions { threads: 1, ..CallOptions::default() };
    let (_, profile) = program.profile(entry, args, &options, true).unwrap_or_else(|e| panic!("{e}"));
    let time = Duration::from_millis(1);
    insight(program, entry).with_run(RunCost {
        runs: 1,
        time,
        profile,
        input_bytes: 0,
        target: Target::Processor,
        threads: 1,
        constants: Vec::new(),
    })
}

const INPUT: &str = "[0, 3, 3, 8] [0, 1, 2, 0, 1, 2, 0, 1] [1, 2, 3, 4, 5, 6, 7, 8] [1, 10, 100]";

#[test]
fn operations_cost_what_the_run_costs() {
    let p = program(SPMV);
    let view = with_run(&p, "main", INPUT);
    let run = view.run.as_ref().expect("it ran");
    let costs = || view.operations.iter().filter_map(|op| op.cost);
    assert_eq!(costs().map(|c| c.counters.launches).sum::<u64>(), run.profile.total.launches);
    assert_eq!(
        costs().map(|c| c.counters.bytes_materialised).sum::<u64>(),
        run.profile.total.bytes_materialised
    );
    assert_eq!(costs().map(|c| c.counters.syncs).sum::<u64>(), run.profile.total.syncs);
    let ragged = view.operations.iter().find(|op| op.group == Group::Kernel && op.name == "reduce");
    let space = ragged.and_then(|op| op.cost).expect("a reduction ran").space;
    assert_eq!((space.rows, space.elements, space.longest, space.empty), (3, 8, 5, 1));
    assert!(space.ragged);
    assert!(run.profile.peak_bytes > 0);
}

const SHARED: &str = "\
def down (n: i64) (xs: []i64) : i64 = if n <= 0 then i64.sum xs else down (n - 1) (map (+ n) xs) + xs[0]
entry main (xs: []i64) : ([]i64, []i64, i64) = (xs, xs with [1] = 7, down 3 xs)
";

#[test]
fn copies_of_shared_arrays_and_calls_are_told() {
    let p = program(SHARED);
    let text = listing(&with_run(&p, "main", "[1, 2, 3]"), 240, false);
    for part in ["copied: what it updates is used elsewhere, too", "call down", "1 time"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn every_form_tells_the_same() {
    let p = program(SPMV);
    let view = with_run(&p, "main", INPUT);
    let data = json(&view);
    let n = view.operations.len();
    assert_eq!(data["operations"].as_array().map(Vec::len), Some(n));
    assert_eq!(data["operations"][0]["cost"]["runs"], 1);
    assert!(view.edges.iter().all(|(a, b)| *a < n && *b < n));
    let rows = table(&view, view.run.as_ref().expect("it ran"), 100, false);
    let html = page(&view);
    for op in &view.operations {
        assert!(rows.contains(&format!("{} {}", op.name, op.detail)), "{rows}");
        assert!(html.contains(&format!("id=\"op{}\"", op.number)));
    }
    assert!(html.contains("<svg") && html.contains("prefers-color-scheme: dark"));
    assert!(!html.contains("http") && !html.contains("<script"), "nothing is loaded, nothing runs");
}
