//! Golden programs and examples with kernels as WebAssembly: results and messages are those of the interpreter, and every kernel has code.

mod engine;

use engine::Wasmi;
use par::testing::inputs;
use par::{Options, Program, compile, read_values};
use par_ir::core::FunId;
use par_ir::interp::{Runner, run_flat_with};
use par_runtime::{Column, Counters, Prim, RuntimeError, Value, ValueType};
use par_trials::on_threads;
use par_wasm::Kernels;
use std::path::{Path, PathBuf};

fn programs(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.sort();
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = paths.into_iter().partition(|p| p.is_dir());
    let own = files.into_iter().filter(|p| p.extension().is_some_and(|e| e == "par"));
    own.chain(folders.iter().flat_map(|f| programs(f))).collect()
}

type Outcome = Result<Vec<Column>, RuntimeError>;

fn run(program: &Program, entry: &str, args: &[Value], runner: Option<&dyn Runner>) -> Outcome {
    let flat = program.flat().expect("FLAT");
    let found = flat.funs.iter().position(|f| f.entry.as_ref().is_some_and(|e| e.name == entry));
    let fun = FunId(found.expect("the entry point") as u32);
    let mut columns: Vec<Column> = args.iter().flat_map(|v| v.columns.clone()).collect();
    for column in &mut columns {
        if let Column::Offsets(a) | Column::Data(a) = column {
            a.make_unique();
        }
    }
    run_flat_with(flat, fun, columns, &mut Counters::default(), runner)
}

/// Same columns, to the last bit but for NaNs.
fn same(a: &Outcome, b: &Outcome) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_column(a, b)),
        (Err(a), Err(b)) => a == b,
        _ => false,
    }
}

fn same_column(a: &Column, b: &Column) -> bool {
    match (a, b) {
        (Column::Data(a), Column::Data(b)) if a.prim().is_float() => {
            let equal = |i| a.get(i) == b.get(i) || a.get(i).is_nan() && b.get(i).is_nan();
            a.len() == b.len() && (0..a.len()).all(equal)
        }
        (Column::Data(a) | Column::Offsets(a), Column::Data(b) | Column::Offsets(b)) => {
            a.prim() == b.prim() && a.bytes() == b.bytes()
        }
        (Column::Scalar(a), Column::Scalar(b)) => a == b || a.is_nan() && b.is_nan(),
        (Column::Size(a), Column::Size(b)) => a == b,
        _ => false,
    }
}

#[derive(Default)]
struct Tally {
    compared: usize,
    kernels: usize,
    problems: Vec<String>,
}

fn compare(path: &Path) -> Tally {
    let mut tally = Tally::default();
    let text = std::fs::read_to_string(path).expect("a file");
    let name = path.display().to_string();
    let folder = path.parent().expect("a folder");
    // Rejected programs are tested elsewhere.
    let Ok(given) = inputs(&text, folder) else { return tally };
    let Ok(program) = compile(&text, &name, &Options { verify: false, ..Options::default() }) else {
        return tally;
    };
    let kernels = Kernels::new(Wasmi::default());
    for (entry, text) in given {
        let Some(signature) = program.entry(&entry) else { continue };
        let types: Vec<_> = signature.params.iter().map(|p| p.1.clone()).collect();
        let Ok(args) = read_values(&text, &types) else { continue };
        let wanted = run(&program, &entry, &args, None);
        let found = run(&program, &entry, &args, Some(&kernels));
        tally.compared += 1;
        if !same(&wanted, &found) {
            tally.problems.push(format!("{name}: {entry} {text:.100}\n  {wanted:?}\n  {found:?}"));
        }
    }
    let statistics = kernels.statistics();
    tally.kernels += statistics.compiled;
    tally.problems.extend(statistics.reasons.into_iter().map(|r| format!("{name}: interpreted: {r}")));
    tally
}

fn folder(folder: &str) -> Tally {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let files = programs(&root);
    assert!(!files.is_empty());
    on_threads(&files, |file| compare(file)).into_iter().fold(Tally::default(), |mut all, tally| {
        all.compared += tally.compared;
        all.kernels += tally.kernels;
        all.problems.extend(tally.problems);
        all
    })
}

fn check(tally: Tally, least: usize) {
    println!("{} calls compared, {} kernels compiled", tally.compared, tally.kernels);
    assert!(tally.problems.is_empty(), "{} problems\n{}", tally.problems.len(), tally.problems.join("\n"));
    assert!(tally.compared >= least, "only {} calls", tally.compared);
    assert!(tally.kernels >= least, "only {} kernels", tally.kernels);
}

#[test]
fn golden_programs() {
    check(folder("tests/golden"), 500);
}

#[test]
fn examples() {
    check(folder("examples"), 40);
}

/// Loops of one position, longer than what one call does.
#[test]
fn long_loops() {
    let text = "entry counted (n: i64) = loop (a, b) = (1, 0i32) for i < n do ((a * 3 + i) % 1000003, b + i32.i64 a)\n\
        entry nested (n: i64) = loop a = 0 for i < n do a + (loop b = i for j < 3 do (b * a + j) % 1009)\n\
        entry unsigned (n: i64) = loop a = 0u32 for i < u32.i64 n do a ^ i * i\n\
        entry repeated (n: i64) = loop (a, k) = (n, 0i64) while a != 1 && k < 40000 do (if a % 2 == 0 then a / 2 else 3 * a + 1, k + 1)\n\
        entry endlessly (n: i64) = loop k = 0 while k < n do k + 1\n\
        entry array (n: i64) = loop xs = replicate 100 0i64 for i < n do xs with [i % 100] = xs[(i * 7) % 100] + i\n\
        entry fails (n: i64) = loop a = 0 for i < n do a + 1 / (30000 - i)";
    let program = compile(text, "a.par", &Options::default()).expect("a program");
    let kernels = Kernels::new(Wasmi::default());
    for entry in ["counted", "nested", "unsigned", "repeated", "endlessly", "array", "fails"] {
        for n in [0, 1, 27, 16384, 16385, 50_000] {
            let args = read_values(&n.to_string(), &[ValueType::Prim(Prim::I64)]).expect("a number");
            let wanted = run(&program, entry, &args, None);
            let found = run(&program, entry, &args, Some(&kernels));
            assert!(same(&wanted, &found), "{entry} {n}: {wanted:?}, {found:?}");
        }
    }
    assert_eq!(kernels.statistics().reasons, Vec::<String>::new());
}

/// A failure names what failed, with its values.
#[test]
fn a_failing_check_has_its_values() {
    let text = "entry main (xs: []i32) (i: i64) = map (\\x -> xs[i + i64.i32 x]) xs";
    let program = compile(text, "a.par", &Options::default()).expect("a program");
    let kernels = Kernels::new(Wasmi::default());
    let types: Vec<_> = program.entry("main").expect("it").params.iter().map(|p| p.1.clone()).collect();
    let args = read_values("[0i32, 1i32, 5i32] 1i64", &types).expect("values");
    let error = run(&program, "main", &args, Some(&kernels)).expect_err("outside");
    assert_eq!(error.message, "index 6 is outside [0,3)");
    assert!(error.span.is_some());
    assert!(kernels.statistics().runs > 0);
}
