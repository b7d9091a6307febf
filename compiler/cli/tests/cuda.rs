//! `--backend cuda` without a GPU: on the stand-ins of `kernels/host` for the driver and for NVRTC, which run the same kernels on an
//! emulator.

mod stand_ins;

use par_runtime::cuda::{Nvrtc, Source};
use par_trials::{c_compiler, cpp_compiler, nvrtc as nvrtc_library, on_threads};
use stand_ins::{kept, on_stand_ins, par, program, root, run, said, stand_ins, temporary};
use std::path::{Path, PathBuf};
use std::process::Command;

fn golden_programs() {
    let folder = stand_ins();
    let mut command = par(folder);
    command.current_dir(root()).args(["test", "--backend", "cuda", "tests/golden", "examples"]);
    let (status, out, err) = said(&command.output().expect("par runs"));
    assert_eq!(status, Some(0), "{out}\n{err}");
    // Batches of calls are flat on a GPU, unless they are larger than those of tests.
    let mut command = par(folder);
    command.current_dir(root()).args([
        "test",
        "--backend",
        "cuda",
        "--force-version",
        "seq",
        "tests/golden/recursion",
    ]);
    let (status, out, err) = said(&command.output().expect("par runs"));
    assert_eq!(status, Some(0), "{out}\n{err}");
}

/// A profile has every operation, on a GPU too; a run that fails there is reported as `par run` does.
fn profiles() {
    let file = temporary("profiles").with_extension("par");
    std::fs::write(
        &file,
        "entry main (xss: [][]i64) = map i64.sum xss\nentry at (xs: []i64) = map (\\x -> xs[x]) xs\n",
    )
    .expect("a file");
    let profile = |entry: &str, text: &str| {
        let input = file.with_extension(entry);
        std::fs::write(&input, text).expect("a file");
        let mut command = par(stand_ins());
        command
            .args(["profile", "--backend", "cuda", "--runs", "1", "--entry", entry, "--input"])
            .arg(input)
            .arg(&file);
        said(&command.output().expect("par runs"))
    };
    let (status, out, err) = profile("main", "[[1, 2, 3], [], [4]]");
    assert!(status == Some(0) && out.contains("reduce add.i64") && out.contains("on a GPU"), "{out}{err}");
    let (status, out, err) = profile("at", "[1, 7]");
    assert!(status == Some(1) && out.is_empty() && err.contains("index 7 is outside [0,2)"), "{out}{err}");
}

/// The kernels of all golden programs are what NVRTC takes: their syntax and types, and on a sample the machine code for one of three architectures;
/// or all for those that `NVRTC_ARCHITECTURES` lists.
fn nvrtc_compiles_golden_programs() {
    let mut programs = Vec::new();
    collect(&root().join("tests/golden"), &mut programs);
    collect(&root().join("examples"), &mut programs);
    programs.sort();
    let listed = std::env::var("NVRTC_ARCHITECTURES").unwrap_or_default();
    let listed: Vec<&str> = listed.split_whitespace().collect();
    let architectures = |i: usize| match (listed.as_slice(), i % 48) {
        ([], 0) => &["sm_90"],
        ([], 16) => &["sm_80"],
        ([], 32) => &["sm_100"],
        ([], _) => &["syntax"],
        (listed, _) => listed,
    };
    let numbered: Vec<(usize, PathBuf)> = programs.into_iter().enumerate().collect();
    // Loaded once: a process for each program would spend a tenth of the time on that.
    let library = Nvrtc::open().expect("NVRTC");
    on_threads(&numbered, |(i, file)| architectures(*i).iter().for_each(|name| nvrtc(&library, file, name)));
}

/// The check of syntax alone finds mistakes in kernels, and in templates that they use.
fn syntax_is_checked() {
    let nvrtc = Nvrtc::open().expect("NVRTC");
    let compiled = |text| nvrtc.compile(&Source { name: "a.cu", text, architecture: "syntax" });
    const TWICE: &str = "template <class T> __device__ T twice(T x) { return x.doubled(); }\n";
    assert!(compiled("__global__ void k(int* xs) { xs[0] = 1; }").is_ok());
    for (text, message) in [
        ("__global__ void k(int* xs) { xs[0] = ys; }", "identifier \"ys\" is undefined"),
        (&format!("{TWICE}__global__ void k(int* xs) {{ xs[0] = twice(1); }}"), "must have class type"),
    ] {
        let error = compiled(text).expect_err("a mistake").to_string();
        assert!(error.contains(message), "{error}");
    }
}

fn collect(folder: &Path, programs: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).expect("a folder").flatten().map(|e| e.path()) {
        if path.is_dir() {
            collect(&path, programs);
        } else if path.extension().is_some_and(|e| e == "par") {
            programs.push(path);
        }
    }
}

/// Checks NVRTC on a program that compiles for the processor; what recursion spills is no mistake.
fn nvrtc(library: &Nvrtc, file: &Path, architecture: &str) {
    let program = file.display().to_string();
    let text = std::fs::read_to_string(file).expect("a program");
    let compiled = par::compile(&text, &program, &par::Options::default());
    let log = match compiled.and_then(|p| Ok(p.cuda_program()?.log(library, architecture))) {
        Err(par::Failure::Rejected { .. }) => return,
        Err(failure) => panic!("{program}: {failure}"),
        Ok(log) => log.unwrap_or_else(|e| panic!("{program} for {architecture}: {e}")),
    };
    assert!(!log.contains(": error"), "{program} for {architecture}: {log}");
}

/// Values that Rust only passes on are not copied between calls.
fn values_stay_on_the_gpu_between_calls() {
    on_stand_ins("values_stay_on_the_gpu_between_calls", &[], pass_values_on);
}

fn pass_values_on() {
    const PROGRAM: &str = "
entry make (n: i64) : ([]f64, [][]i32) = (map f64.i64 (iota n), map (\\i -> map i32.i64 (iota i)) (iota 4))
entry double (xs: *[]f64) : []f64 = map (* 2) xs
entry sum (xs: []f64) : f64 = f64.sum xs
entry lengths (xss: [][]i32) : []i64 = map length xss";
    let program = par::Context::new(par::Backend::Cuda).compile(PROGRAM).expect("a program");
    let (xs, xss): (par::Value, par::Value) = program.call("make", (1000i64,)).expect("values");
    let twice: par::Value = program.call("double", (&xs,)).expect("a value");
    assert_eq!(program.call::<_, f64>("sum", (&twice,)).expect("a number"), 999_000.0);
    assert_eq!(program.call::<_, Vec<i64>>("lengths", (&xss,)).expect("numbers"), [0, 1, 2, 3]);
    assert!([&xs, &twice, &xss].iter().all(|v| v.is_on_device()), "nobody has looked at them");
    // So are those that another program is given, which shares the device.
    let other = par::Context::new(par::Backend::Cuda).compile(PROGRAM).expect("a program");
    assert_eq!(other.call::<_, f64>("sum", (&xs,)).expect("a number"), 499_500.0);
    assert_eq!(other.call::<_, Vec<i64>>("lengths", (&xss,)).expect("numbers"), [0, 1, 2, 3]);
    assert!(xs.is_on_device() && xss.is_on_device());
    let back: Vec<f64> = other.call("double", (&xs,)).expect("numbers");
    assert_eq!((back[0], back[999], back.len()), (0.0, 1998.0, 1000));
    drop(program);
    let elements: Vec<f64> = par::embed::FromPar::from_par(twice).expect("numbers");
    assert_eq!(elements[999], 1998.0);
}

const SQUARES: &str = "entry main (n: i64) : i64 = reduce (+) 0 (map (\\i -> i * i) (iota n))\n";

fn a_gpu_is_chosen_if_there_is_one() {
    let folder = stand_ins();
    let file = program("squares.par", &format!("{SQUARES}-- ==\n-- input {{ 4i64 }} output {{ 14i64 }}\n"));
    let input = program("four.in", "4i64");
    let input = input.to_str().expect("a path");
    let automatic = ["--backend", "auto", "-v", "--input", input];
    let found = run(&mut par(folder), &file, &automatic);
    assert_eq!(found, (Some(0), "14i64\n".into(), "running on host emulator\n".into()));
    let mut without = par(folder);
    let (status, out, err) = run(without.env("LD_LIBRARY_PATH", ""), &file, &automatic);
    // Where there is a real GPU, that is what is found.
    assert_eq!((status, out.as_str()), (Some(0), "14i64\n"));
    assert!(err.starts_with("running on "), "{err}");
}

fn what_is_missing_is_said_in_a_line() {
    let folder = stand_ins();
    let file = program("missing.par", SQUARES);
    let input = program("missing.in", "4i64");
    let arguments = ["--backend", "cuda", "--input", input.to_str().expect("a path")];
    let mut no_compiler = par(folder);
    let no_compiler = run(no_compiler.env("PAR_NVRTC", "/nowhere/libnvrtc.so"), &file, &arguments);
    assert_eq!((no_compiler.0, no_compiler.2.lines().count()), (Some(1), 1), "{}", no_compiler.2);
    assert!(no_compiler.2.contains("nvidia-cuda-nvrtc-cu12"), "{}", no_compiler.2);
    let no_device = run(&mut par(folder), &file, &[&arguments[..], &["--device", "7"]].concat());
    assert_eq!(no_device.2, "error: no CUDA device 7: there is only device 0\n");
    assert_eq!(no_device.0, Some(1));
}

/// The fuzzer's programs by CUDA as well; without its compiler nothing would be compared, so that is an error.
fn random_programs() {
    let fuzz = |library: &Path| {
        let mut command = par(stand_ins());
        command.env("PAR_NVRTC", library);
        said(
            &command
                .args(["fuzz", "--cuda", "--laws", "--size", "6", "--programs", "2"])
                .output()
                .expect("par runs"),
        )
    };
    let (status, out, err) = fuzz(&stand_ins().join("libnvrtc.so"));
    assert_eq!(status, Some(0), "{out}{err}");
    assert!(format!("{out}{err}").contains(", 0 programs rejected"), "{out}{err}");
    let (status, _, err) = fuzz(Path::new("/nowhere/libnvrtc.so"));
    assert_eq!(status, Some(1), "{err}");
    assert!(err.starts_with("error: with --cuda, programs would run on the processor: "), "{err}");
}

fn out_of_memory_is_an_error_of_the_program() {
    let folder = stand_ins();
    let file = program("large.par", "entry main (n: i64) : i64 = last (scan (+) 0 (map (* 3) (iota n)))\n");
    let input = program("large.in", "10000000i64");
    let arguments = ["--backend", "cuda", "--input", input.to_str().expect("a path")];
    for limited in [vec!["--memory-limit", "1M"], vec![]] {
        let mut command = par(folder);
        command.env("EMU_MEMORY", if limited.is_empty() { "1000000" } else { "4000000000" });
        let (status, _, err) = run(&mut command, &file, &[&arguments[..], &limited].concat());
        assert_eq!(status, Some(1), "{err}");
        assert!(err.contains("out of memory (") && err.contains("large.par:1"), "{err}");
    }
}

/// The failure at the smallest position is reported, as on the processor, with its place.
fn failing_checks_are_those_of_the_processor() {
    let folder = stand_ins();
    let text = "entry main (xs: []i64) : []i64 = map (\\i -> xs[100 / i]) xs\n";
    let file = program("failing.par", text);
    let many: Vec<String> = (0..5000)
        .map(|i| if i % 1000 == 999 { format!("-{}", i / 1000 + 1) } else { "100".into() })
        .collect();
    for (i, xs) in [many.join(","), "100, 0, 1000, 1".into(), "1, 0".into()].iter().enumerate() {
        let input = program(&format!("failing{i}.in"), &format!("[{xs}]"));
        let on = |backend: &str| {
            let arguments = ["--backend", backend, "--input", input.to_str().expect("a path")];
            run(&mut par(folder), &file, &arguments)
        };
        let expected = on("cpu");
        assert_eq!(expected.0, Some(1), "{}", expected.2);
        assert_eq!(on("cuda"), expected);
    }
}

const ITERATIONS: &str = "\
entry main [n] (iterations: i64) (xs: [n]i64): [n]i64 =
  loop xs for _ in 0..<iterations do
    let sums = scan (+) 0 (map (% 7) xs)
    let next = map (\\i -> xs[i] + sums[i] % 3 + 1) (iota n)
    let most = scan i64.max 0 next
    in map2 (\\a b -> if b > 200 then xs[b] else a) next most
";

/// Iterations of loops that do the same are asked for at once, and what fails in one of them is what fails on the processor.
fn iterations_of_a_loop_are_graphs() {
    let folder = stand_ins();
    let file = program("iterations.par", ITERATIONS);
    for iterations in ["5", "40", "400"] {
        let given = program(
            &format!("iterations{iterations}.in"),
            &format!("{iterations} [0, 1, 2, 3, 4, 3, 2, 1, 0]"),
        );
        let on = |command: &mut Command, backend: &str| {
            run(command, &file, &["--input", given.to_str().expect("a path"), "--backend", backend])
        };
        let (status, out, err) = on(par(folder).env("EMU_REPORT", "1"), "cuda");
        let (err, report) = err.rsplit_once("emulator: ").expect("a report");
        assert_eq!((status, out, err.to_string()), on(&mut par(folder), "cpu"));
        let graphs = report.rsplit_once("kernels, ").and_then(|r| r.1.split(' ').next()?.parse::<u32>().ok());
        assert_eq!(graphs > Some(0), iterations != "5", "{report}");
        assert_eq!(status, Some(if iterations == "400" { 1 } else { 0 }), "{err}");
    }
}

/// Kernels without end are stopped, on every back end.
fn kernels_without_end_are_stopped() {
    let folder = stand_ins();
    let loops = [
        (
            "while",
            "entry main (xs: []i64): []i64 = map (\\x -> loop y = x while y >= 0 do (y + 1) % 1000) xs",
        ),
        ("for", "entry main (xs: []i64): []i64 = map (\\x -> loop y = x for i < 1 << 50 do (y ^ i) + 1) xs"),
        (
            "calls",
            "def f (x: i64): i64 = if x < 0 then x else f ((x + 1) % 1000)\nentry main (xs: []i64): []i64 = map f xs",
        ),
    ];
    for (name, text) in loops {
        let file = program(&format!("endless_{name}.par"), text);
        let given = program("endless.in", "[1, 2, 3]");
        let given = given.to_str().expect("a path");
        let options = ["--input", given, "--backend", "cuda", "--timeout", "4"];
        let (status, out, err) = run(par(folder).env("EMU_REPORT", "1"), &file, &options);
        assert_eq!((status, out.as_str()), (Some(1), ""), "{name}: {err}");
        // A process that ends with its kernel running would say so.
        assert!(err.contains("did not end within 4 s") && err.contains(" 0 running"), "{name}: {err}");
    }
}

/// Sizes that no tile divides, with the emulator's checks of shared memory.
fn kernels_are_timed_one_by_one() {
    let folder = stand_ins();
    let bench = |command: &mut Command, arguments: &[&str]| {
        said(&command.args(["bench", "--kernels"]).args(arguments).output().expect("par runs"))
    };
    let sizes = ["--backend", "cuda", "--elements", "5000", "--elements", "1024"];
    let mut checked = par(folder);
    checked.env("EMU_FLAGS", "-DEMU_RACE");
    let (status, out, err) = bench(&mut checked, &[&sizes[..], &["--json"]].concat());
    assert_eq!((status, err.as_str()), (Some(0), ""), "{out}");
    let report: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let results = report["results"].as_array().expect("results");
    let of = |n: u64| results.iter().filter(|r| r["elements"] == n).map(|r| &r["kernel"]).collect::<Vec<_>>();
    assert_eq!(of(5000), of(1024));
    assert_eq!(of(5000)[0], "copy");
    assert!(results.iter().all(|r| r["seconds"].as_f64() > Some(0.0)), "{out}");
    assert!(results.iter().any(|r| r["textbook"] == true) && of(5000).len() > 20, "{out}");

    let (status, out, _) = bench(&mut par(folder), &["--backend", "cuda", "--elements", "1024"]);
    assert_eq!((status, out.matches("100.0 %").count()), (Some(0), 1), "{out}");
    let (status, _, err) = bench(&mut par(folder), &[]);
    assert_eq!((status, err.lines().count()), (Some(1), 1), "{err}");
    assert!(err.contains("--backend cuda"), "{err}");
}

/// From which sizes on which version is faster on a GPU, for runs there.
fn thresholds_are_measured_on_a_gpu() {
    let folder = stand_ins();
    let text = "
-- ==
-- input { [[1i64, 2], [], [3]] } output { [2i64, 0, 9] }
entry main (xss: [][]i64) : []i64 =
  map (\\xs -> let most = i64.maximum xs in i64.sum (map (\\x -> x * (most - x + 1)) xs)) xss";
    let file = program("tuned.par", text);
    let thresholds = temporary("gpu.tuning");
    let mut tune = par(folder);
    tune.arg("tune").arg(&file).args(["--backend", "cuda", "--runs", "1", "--max-time", "1", "--output"]);
    let (status, out, err) = said(&tune.arg(&thresholds).output().expect("par runs"));
    assert_eq!((status, err.as_str()), (Some(0), ""), "{out}");
    assert!(out.contains("tuned.par:5:3 rows = ") && out.contains("2 thresholds"), "{out}");
    let mut none = par(folder);
    none.arg("tune").arg(&file).args(["--backend", "cuda", "--device", "7"]);
    let (status, out, err) = said(&none.output().expect("par runs"));
    assert_eq!((status, out.as_str(), err.lines().count()), (Some(1), "", 1), "{err}");
}

/// A folder of its own for what is built, and the command in it.
fn built(folder: &Path, name: &str, text: &str, options: &[&str]) -> PathBuf {
    let place = temporary(name);
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir(&place).expect("a folder");
    std::fs::write(place.join("p.par"), text).expect("a program");
    let mut command = par(folder);
    let output =
        command.current_dir(&place).args(["build", "p.par"]).args(options).output().expect("par runs");
    assert_eq!(said(&output), (Some(0), String::new(), String::new()), "{options:?}");
    place
}

const ROWS: &str = "\
entry main (xss: [][]i64): [][]i64 = map (\\xs -> scan (+) 0 (filter (> 1) xs)) xss
entry pick (xss: [][]i64) (i: i64): []i64 = map (\\xs -> xs[i]) xss
";

/// Executables that were built for GPUs, without CUDA's compiler where that has done its work.
fn executables_on_gpus() {
    let folder = stand_ins();
    let run = |place: &Path, compiler: bool, arguments: &[&str], input: &str| {
        std::fs::write(place.join("input"), input).expect("a file");
        let mut command = Command::new(place.join("p"));
        let nvrtc = if compiler { folder.join("libnvrtc.so") } else { "/nowhere/libnvrtc.so".into() };
        command.env("LD_LIBRARY_PATH", folder).env("PAR_NVRTC", nvrtc).env("PAR_CACHE", place.join("cache"));
        said(&command.current_dir(place).args(arguments).args(["-i", "input"]).output().expect("it runs"))
    };
    let rows = "[[1, 2, 3], [], [1], [5, 5]]";
    let right = (Some(0), "[[2i64, 5i64], [], [], [5i64, 10i64]]\n".to_string(), String::new());
    let cuda = ["--backend", "cuda"];
    for (options, compiler) in [(&["--gpu"][..], true), (&["--gpu=sm_80,sm_90"], false)] {
        let place = built(folder, "on-gpus", ROWS, options);
        assert_eq!(run(&place, compiler, &cuda, rows), right);
        let automatic = run(&place, compiler, &["--backend", "auto", "-v"], rows);
        assert_eq!((automatic.0, &automatic.1), (right.0, &right.1));
        assert!(
            automatic.2.starts_with("running on ") && !automatic.2.contains("processor"),
            "{}",
            automatic.2
        );
        let pick = ["--entry", "pick", "--backend"];
        let [on_gpu, on_cpu] =
            ["cuda", "cpu"].map(|b| run(&place, compiler, &[&pick[..], &[b]].concat(), "[[7], [], [8]] 0"));
        assert_eq!(on_gpu, on_cpu);
        assert!(on_gpu.0 == Some(1) && on_gpu.2.contains("index 0 is outside [0,0)"), "{}", on_gpu.2);
        let reproducible = run(&place, compiler, &["--backend", "cuda", "--reproducible"], rows);
        assert!(reproducible.0 == Some(1) && reproducible.2.contains("par build"), "{}", reproducible.2);
    }
    // Nothing was compiled for this device; and a program without kernels for any.
    for (options, message) in
        [(&["--gpu=sm_80"][..], "no CUDA compiler"), (&[], "`par build --gpu` makes them")]
    {
        let place = built(folder, "not-on-gpus", ROWS, options);
        let (status, out, err) = run(&place, false, &cuda, rows);
        assert_eq!((status, out.as_str(), err.lines().count()), (Some(1), "", 1), "{err}");
        assert!(err.contains(message), "{err}");
        assert_eq!(run(&place, false, &["--backend", "auto"], rows), right);
    }
}

/// Messages about a program that is built for an architecture.
fn built_for(architecture: &str) -> (Option<i32>, String, String) {
    let file = program(&format!("for_{architecture}.par"), "entry main (x: i32): i32 = x\n");
    let mut command = Command::new(env!("CARGO_BIN_EXE_par"));
    let option = format!("--gpu={architecture}");
    said(&command.arg("build").arg(&file).arg(option).output().expect("par runs"))
}

fn names_that_no_architecture_has() {
    let (status, _, err) = built_for("h100");
    assert!(status == Some(2) && err.contains("sm_80, sm_90 and so on"), "{err}");
}

fn architectures_that_the_compiler_does_not_know() {
    let (status, _, err) = built_for("sm_12");
    assert_eq!((status, err.lines().count()), (Some(1), 1), "{err}");
    assert!(err.contains("does not know the architecture sm_12"), "{err}");
}

/// A library for C on a GPU.
fn libraries_on_gpus() {
    let folder = stand_ins();
    let place = built(folder, "library-on-gpus", ROWS, &["--lib", "--gpu"]);
    let user = r#"
#include "p.h"
#include <stdio.h>
int main(void) {
  par_value *rows = p_main_read(0, "[[1, 2, 3], [], [4]]"), *result, *again;
  const char *backends[] = {"cuda", "cpu", "auto"};
  for (int i = 0; i < 3; i++) {
    if (p_run_on(backends[i], 0) || p_main(NULL, rows, &result)) return puts(par_error_message());
    char *text = par_value_text(result);
    puts(text);
    par_text_free(text);
    par_value_free(result);
  }
  /* What one call has made is given to the next, also on another back end. */
  if (p_run_on("cuda", 0) || p_main(NULL, rows, &result) || p_main(NULL, result, &again)) return puts(par_error_message());
  for (int i = 0; i < 2; i++) {
    char *text = par_value_text(again);
    puts(text);
    par_text_free(text);
    par_value_free(again);
    if (i == 0 && (p_run_on("cpu", 0) || p_main(NULL, result, &again))) return puts(par_error_message());
  }
  par_value_free(result);
  /* What is on the GPU is an argument of several calls, also on another back end. */
  par_value *there = p_run_on("cuda", 0) ? NULL : p_upload(rows);
  for (int i = 0; i < 3; i++) {
    if (!there || p_run_on(i < 2 ? "cuda" : "cpu", 0) || p_main(NULL, there, &result)) return puts(par_error_message());
    char *text = par_value_text(result);
    puts(text);
    par_text_free(text);
    par_value_free(result);
  }
  par_value_free(there);
  int unknown = p_run_on("gpu", 0);
  printf("%d %s\n", unknown, par_error_message());
  int absent = p_run_on("cuda", 7);
  printf("%d %s\n", absent, par_error_message());
  par_value_free(rows);
  return 0;
}
"#;
    std::fs::write(place.join("user.c"), user).expect("a file");
    let mut compile = Command::new("cc");
    compile.args(["-Wall", "-Werror", "-I.", "-o", "user", "user.c", "libp.a", "-lm", "-lpthread", "-ldl"]);
    let compiled = said(&compile.current_dir(&place).output().expect("a C compiler"));
    assert_eq!(compiled, (Some(0), String::new(), String::new()));
    let mut command = Command::new(place.join("user"));
    command.env("LD_LIBRARY_PATH", folder).env("PAR_NVRTC", folder.join("libnvrtc.so"));
    command.env("PAR_CACHE", kept("cubins"));
    let (status, out, err) = said(&command.output().expect("it runs"));
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!((status, err.as_str(), lines.len()), (Some(0), "", 10), "{out}");
    assert_eq!(lines[..3], ["[[2i64, 5i64], [], [4i64]]"; 3]);
    assert_eq!(lines[3..5], ["[[2i64, 7i64], [], [4i64]]"; 2]);
    assert_eq!(lines[5..8], ["[[2i64, 5i64], [], [4i64]]"; 3]);
    assert_eq!(lines[8], "4 there is no back end `gpu`: they are cpu, cuda and auto");
    assert_eq!(lines[9], "1 no CUDA device 7: there is only device 0");
}

par_trials::trials! {
    golden_programs, needs cpp_compiler();
    profiles, needs cpp_compiler();
    syntax_is_checked, needs nvrtc_library();
    nvrtc_compiles_golden_programs, needs nvrtc_library();
    values_stay_on_the_gpu_between_calls, needs cpp_compiler();
    a_gpu_is_chosen_if_there_is_one, needs cpp_compiler();
    what_is_missing_is_said_in_a_line, needs cpp_compiler();
    random_programs, needs cpp_compiler();
    out_of_memory_is_an_error_of_the_program, needs cpp_compiler();
    failing_checks_are_those_of_the_processor, needs cpp_compiler();
    iterations_of_a_loop_are_graphs, needs cpp_compiler();
    kernels_without_end_are_stopped, needs cpp_compiler();
    kernels_are_timed_one_by_one, needs cpp_compiler();
    thresholds_are_measured_on_a_gpu, needs cpp_compiler();
    executables_on_gpus, needs cpp_compiler(), c_compiler();
    names_that_no_architecture_has;
    architectures_that_the_compiler_does_not_know, needs nvrtc_library();
    libraries_on_gpus, needs cpp_compiler(), c_compiler();
}
