//! Lowered small programs, their values through the interpreter of CORE, and diagnostics.

use par_check::infer::infer;
use par_check::lower::lower;
use par_ir::core::{FunId, Program};
use par_ir::interp::run_core;
use par_ir::print::print_core;
use par_ir::verify::verify_core;
use par_runtime::io::text::{print_value, read_values};
use par_runtime::{Value, ValueType};
use par_syntax::{Diagnostic, Severity, Sources, parse};
use std::path::Path;

/// The parts of the standard library that the tests use.
fn library() -> Vec<(&'static str, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stdlib");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a library file");
    let mut files = vec![("prelude", read("prelude.par")), ("irregular", read("irregular.par"))];
    for ty in ["i32", "i64", "u32", "u64", "f32", "f64"] {
        files.push(("numeric", read("numeric.par.in").replace("$t", ty)));
    }
    for ty in ["i32", "i64", "u32", "u64"] {
        files.push(("integer", read("integer.par.in").replace("$t", ty)));
    }
    files.push(("float", read("float.par.in").replace("$t", "f32")));
    files.push(("f32", read("f32.par")));
    files.push(("sort", read("sort.par")));
    files
}

/// Lowers a program with the library in front of it.
fn lowered(text: &str) -> (Option<Program>, Vec<Diagnostic>, Sources) {
    let mut sources = Sources::default();
    let mut files = Vec::new();
    let texts =
        library().into_iter().map(|(n, t)| (n, t, true)).chain([("test.par", text.to_string(), false)]);
    for (name, text, is_library) in texts {
        let index = sources.add(name, text.clone(), is_library);
        let (file, wrong) = parse(&text, index);
        assert_eq!(wrong, Vec::new(), "{name}");
        files.push(file);
    }
    let (program, wrong) = infer(&files, &sources);
    let wrong: Vec<_> = wrong.into_iter().filter(|d| d.severity > Severity::Warning).collect();
    assert_eq!(wrong, Vec::new(), "inference");
    let (core, wrong) =
        lower(&program.expect("a program without errors"), &sources, Default::default(), &|_| true);
    (core, wrong, sources)
}

fn core(text: &str) -> Program {
    let (core, wrong, _) = lowered(text);
    assert_eq!(wrong, Vec::new());
    let core = core.expect("a program without errors");
    if let Err(message) = verify_core(&core) {
        panic!("{message}\n{}", print_core(&core));
    }
    core
}

/// The value of `main` for arguments as text, or the run-time error.
fn run(text: &str, args: &str) -> String {
    let core = core(text);
    let (i, entry) = core
        .funs
        .iter()
        .enumerate()
        .find_map(|(i, f)| f.entry.as_ref().filter(|e| e.name == "main").map(|e| (i, e)))
        .expect("an entry point main");
    let types: Vec<ValueType> = entry.params.iter().map(|p| p.1.clone()).collect();
    let args = read_values(args, &types).expect("arguments");
    let columns = args.into_iter().flat_map(|v| v.columns).collect();
    match run_core(&core, FunId(i as u32), columns) {
        Ok(columns) => print_value(&Value { ty: entry.ret.clone(), columns }),
        Err(e) => format!("error: {}", e.message),
    }
}

/// Code and message of the first diagnostic, and the text it points at.
fn wrong(text: &str) -> String {
    let (core, wrong, sources) = lowered(text);
    let d = wrong.first().expect("a diagnostic");
    assert_eq!(core.is_none(), d.severity > Severity::Warning);
    format!("{} {} @ {}", d.code, d.message, sources.text(d.labels[0].span))
}

#[test]
fn sizes_computed_outside_stay_uniform() {
    let text = "entry main [n][m] (xss: [n][m]i32) : [][]i32 = map (\\xs -> xs[1:m-1]) xss";
    insta::assert_snapshot!(print_core(&core(text)));
}

#[test]
fn rows_of_unknown_length_bind_a_descriptor() {
    let text = "entry main (ns: []i64) : [][]i64 = map iota ns";
    insta::assert_snapshot!(print_core(&core(text)));
    assert_eq!(run(text, "[2,0,1]"), "[[0i64, 1i64], [], [0i64]]");
}

#[test]
fn rows_of_known_length_reuse_theirs() {
    let text = "entry main (xss: [][]i64) : ([][]i64, []i64) = (map (map (+ 1)) xss, map length xss)";
    insta::assert_snapshot!(print_core(&core(text)));
}

#[test]
fn arms_of_different_length_join() {
    let text = "entry main [n] (c: bool) (xs: [n]i64) : ([]i64, i64) =
      let ys = if c then xs else [7] in (ys, length ys)";
    insta::assert_snapshot!(print_core(&core(text)));
    assert_eq!(run(text, "false [1,2]"), "([7i64], 1i64)");
}

#[test]
fn a_changing_size_becomes_a_loop_parameter() {
    let text = "entry main (xs: []i64) : i64 =
      let ys = loop ys = xs while length ys > 1 do filter (> 2) ys[1:] in length ys";
    insta::assert_snapshot!(print_core(&core(text)));
    assert_eq!(run(text, "[5,6,1]"), "1i64");
}

#[test]
fn a_loop_over_rows_becomes_irregular() {
    let text = "entry main (n: i64) : [][]i64 =
      loop xss = [[0i64]] for i < n do xss ++ [iota (length xss)]";
    assert_eq!(run(text, "3"), "[[0i64], [0i64], [0i64, 1i64], [0i64, 1i64, 2i64]]");
}

#[test]
fn literals_of_different_rows() {
    let text = "entry main (x: i64) : [][][]i64 = [[[x], iota x], [], [[1,2]]]";
    assert_eq!(run(text, "3"), "[[[3i64], [0i64, 1i64, 2i64]], [], [[1i64, 2i64]]]");
}

#[test]
fn irregular_rows_must_fit_a_matrix() {
    let text = "def cols [n][m] (xss: [n][m]i64) : i64 = m
                entry main (xss: [][]i64) : i64 = cols xss";
    assert_eq!(run(text, "[[1,2],[3,4]]"), "2i64");
    assert_eq!(run(text, "[[1,2],[3]]"), "error: row 1 has length 1, but length 2 is needed");
    assert_eq!(run(text, "[] : [][]i64"), "0i64");
}

#[test]
fn sizes_are_equated() {
    let text = "entry main [n] (xs: [n]i64) (ys: [n]i64) : i64 = i64.sum (map2 (*) xs ys)";
    assert_eq!(run(text, "[1,2] [3,4]"), "11i64");
    assert_eq!(run(text, "[1,2] [3]"), "error: sizes differ: 2 and 1 (size `n` of `xs` and of `ys`)");
    let text = "entry main (xs: []i64) : i64 = length (zip xs (filter (> 0) xs))";
    assert_eq!(run(text, "[1,0]"), "error: sizes differ: 2 and 1 (the arguments of zip)");
}

#[test]
fn slices() {
    let text = "entry main (xs: []i64) (i: i64) (j: i64) (s: i64) : ([]i64, []i64, []i64) =
      (xs[i:j], xs[::-1], xs[::s])";
    assert_eq!(run(text, "[1,2,3] 1 3 2"), "([2i64, 3i64], [3i64, 2i64, 1i64], [1i64, 3i64])");
    assert_eq!(
        run(text, "[1,2,3] 1 2 -2").lines().last(),
        Some("([2i64], [3i64, 2i64, 1i64], [3i64, 1i64])")
    );
    assert_eq!(run(text, "[1,2,3] 2 4 1"), "error: slice [2:4] is outside an array of length 3");
    assert_eq!(run(text, "[1,2,3] 1 2 0"), "error: the step is zero");
}

#[test]
fn reductions_with_rows_as_elements() {
    let text = "entry main (n: i64) : ([]i64, [][]i64) =
      let xss = map iota (iota n) in (reduce (++) [] xss, scan (++) [9] xss)";
    assert_eq!(
        run(text, "4").lines().collect::<String>().replace(' ', ""),
        "([0i64,0i64,1i64,0i64,1i64,2i64],[[],[0i64],[0i64,0i64,1i64],[0i64,0i64,1i64,0i64,1i64,2i64]])"
    );
}

#[test]
fn updates() {
    let text = "entry main (xss: [][]i64) (ys: []i64) : ([][]i64, []i64) =
      (xss with [1] = ys, ys with [1:] = replicate (length ys - 1) 7)";
    assert_eq!(run(text, "[[1],[2,3]] [8,9]"), "([[1i64], [8i64, 9i64]], [8i64, 7i64])");
    assert_eq!(run(text, "[[1],[2,3]] [8]"), "([[1i64], [8i64]], [8i64])");
    let matrix = "entry main [n] [m] (xss: [n][m]i64) (ys: []i64) : [n][m]i64 = xss with [1] = ys";
    assert_eq!(run(matrix, "[[1,2],[2,3]] [8]"), "error: row 1 has length 1, but length 2 is needed");
}

#[test]
fn equality_compares_shapes_first() {
    let text = "entry main (a: [][]i64) (b: [][]i64) : bool = a == b";
    assert_eq!(run(text, "[[1],[]] [[1],[]]"), "true");
    assert_eq!(run(text, "[[1],[]] [[],[1]]"), "false");
    assert_eq!(run(text, "[[1]] [[1],[]]"), "false");
}

#[test]
fn function_arguments_of_recursive_functions() {
    let text = "def walk (f: i64 -> i64) (n: i64) : i64 = if n <= 0 then 0 else f n + walk f (n - 1)
                entry main (k: i64) (n: i64) : i64 = walk (\\x -> x * k) n + walk (\\x -> x + k) n";
    insta::assert_snapshot!(print_core(&core(text)));
    assert_eq!(run(text, "10 3"), "96i64");
}

#[test]
fn mutual_recursion_on_arrays() {
    let text = "def evens [n] (xs: [n]i64) : []i64 = if n == 0 then [] else [xs[0]] ++ odds xs[1:]
                def odds [n] (xs: [n]i64) : []i64 = if n == 0 then [] else evens xs[1:]
                entry main (xs: []i64) : []i64 = evens xs";
    assert_eq!(run(text, "[1,2,3,4,5]"), "[1i64, 3i64, 5i64]");
}

#[test]
fn values_of_functions_are_refused() {
    let f = "def f (n: i64) : (i64, i64 -> i64) = (if n == 0 then 0 else (f (n - 1)).0, (+ n))
             entry main (n: i64) : i64 = (f n).1 n";
    assert!(wrong(f).starts_with("E0511"), "{}", wrong(f));
}

#[test]
fn growing_instances_are_refused() {
    let text = "def f 'a (x: a) (n: i64) : i64 = if n == 0 then 0 else g (\\y -> y) n
                def g (h: i64 -> i64) (n: i64) : i64 = if n == 0 then 0 else g (\\y -> h y + 1) (n - 1)
                entry main (n: i64) : i64 = g (\\y -> y) n";
    assert!(wrong(text).starts_with("E0512"), "{}", wrong(text));
}

#[test]
fn different_constant_sizes_are_an_error() {
    let text = "entry main (x: i64) : [](i64, i64) = zip [x, 1] [x, 2, 3]";
    assert_eq!(wrong(text), "E0401 sizes differ: 2 and 3 (the arguments of zip) @ [x, 2, 3]");
}

#[test]
fn unflatten_takes_sizes_from_the_type() {
    let text = "entry main [n][m] (xss: [n][m]i64) (k: i64) : ([n][m]i64, [][]i64) =
      (unflatten (map (+ 1) (flatten xss)), unflatten (flatten xss) :> [k][2]i64)";
    assert_eq!(run(text, "[[1,2,3,4]] 2"), "([[2i64, 3i64, 4i64, 5i64]], [[1i64, 2i64], [3i64, 4i64]])");
    assert!(wrong("entry main (xs: []i64) : [][]i64 = unflatten xs").starts_with("E0402"));
}

/// `f0` given, and each further function calls the one before twice.
fn doubling(depth: usize, first: &str, step: impl Fn(usize) -> String) -> String {
    let mut text = format!("{first}\n");
    for i in 1..=depth {
        text += &step(i);
    }
    text
}

fn size_of(text: &str) -> usize {
    core(text).funs.iter().map(|f| f.body.statements()).sum()
}

#[test]
fn a_program_does_not_grow_exponentially_with_the_depth_of_its_calls() {
    let scalars = |depth| {
        let step = |i| format!("def f{i} (x: i64) : i64 = f{0} (f{0} x + {i})\n", i - 1);
        let text = doubling(depth, "def f0 (x: i64) : i64 = x * 3 + 1", step);
        size_of(&format!("{text}entry main (x: i64) : i64 = f{depth} x"))
    };
    let (half, whole) = (scalars(20), scalars(40));
    assert!(whole < 3 * half, "{half} {whole}");
    let local = |depth| {
        let step = |i| format!("  let f{i} xs = f{0} (filter (> {i}) (f{0} (map (+ k) xs)))\n", i - 1);
        let text = doubling(depth, "  let f0 (xs: []i64) = map (* k) xs", step);
        size_of(&format!("entry main (k: i64) (xs: []i64) : []i64 =\n{text}  in f{depth} xs"))
    };
    let (half, whole) = (local(16), local(32));
    assert!(whole < 3 * half, "{half} {whole}");
}

#[test]
fn large_functions_that_are_called_give_what_inlined_ones_give() {
    // Ten levels are far more than is inlined; the values are those of the same loop.
    let step = |i| format!("  let f{i} (m: i64) (xss: [][]i64) = f{0} (m + 1) (f{0} m xss)\n", i - 1);
    let one = "  let f0 (m: i64) (xss: [][]i64) = map (\\xs -> map (\\x -> (x * 3 + m + k) % 1000) (filter (> 2) xs)) xss";
    let text = doubling(10, one, step);
    let text = format!("entry main (k: i64) (xss: [][]i64) : [][]i64 =\n{text}  in f10 0 xss");
    let same = "
        entry main (k: i64) (xss: [][]i64) : [][]i64 =
          loop xss for i < 1024 do
            map (\\xs -> map (\\x -> (x * 3 + i64.i32 (i64.popc i) + k) % 1000) (filter (> 2) xs)) xss";
    let args = "7 [[1, 5, 9, 100, 250], [], [3], [0, 1, 2, 17, 999]]";
    assert_eq!(run(&text, args), run(same, args));
    assert!(core(&text).funs.len() > 1);
}

#[test]
fn loops_in_loops_are_not_tried_again_and_again() {
    // Every state changes its size, so every loop needs two attempts: 2^24 if each began anew.
    let open: String = (1..24).map(|i| format!("(loop x{i} = x{} for i < k do ", i - 1)).collect();
    let text = format!(
        "entry main (k: i64) (xs: []i64) : []i64 =
           loop x0 = xs for i < k do {open} filter (> k) (x23 ++ [1]){}",
        ")".repeat(23)
    );
    assert_eq!(run(&text, "1 [0, 2, 3]"), "[2i64, 3i64]");
    assert!(size_of(&text) < 1000);
}

/// A captured array of a known size has a parameter for it, in the first call as in those inside.
#[test]
fn captured_arrays_of_known_sizes_make_one_function() {
    let search = "let find (x: i64) (k: i64) : i64 = if k >= 3 then k else if xs[k] < x then find x (2 * k + 1) else find x (2 * k + 2)
       in map (\\x -> find x 0) ys";
    let text = |n: &str| format!("entry main (xs: [{n}]i64) (ys: []i64) : []i64 =\n  {search}");
    assert_eq!(core(&text("3")).funs.len(), core(&text("")).funs.len());
    assert_eq!(run(&text("3"), "[5, 2, 9] [1, 3, 6, 10]"), run(&text(""), "[5, 2, 9] [1, 3, 6, 10]"));
}
