//! The example in C, with the shared library, as its users compile it.

use par_trials::c_compiler;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Folder of the libraries, beside this test.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("this test has a file");
    test.parent().expect("a folder").to_path_buf()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Compiles the example.
fn example(name: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (libraries, program) =
        (libraries(), std::env::temp_dir().join(format!("par-c-{}-{name}", std::process::id())));
    let mut cc = Command::new("cc");
    cc.args(["-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(here.join("examples/rows.c"));
    cc.arg("-I").arg(here.join("include")).arg("-I").arg(here.join("../native/include"));
    cc.arg("-L").arg(&libraries).arg("-lpar_c").arg(format!("-Wl,-rpath,{}", libraries.display()));
    let out = cc.output().expect("a C compiler");
    assert!(out.status.success(), "{}", text(&out.stderr));
    program
}

fn run(program: &Path, words: &[&str]) -> Output {
    let out = Command::new(program).args(words).output().expect("it starts");
    let _ = std::fs::remove_file(program);
    out
}

fn rows_are_summed() {
    let program = example("sums");
    let out = run(&program, &[]);
    assert_eq!(
        (out.status.code(), text(&out.stdout)),
        (Some(0), "3\n0\n12\n".into()),
        "{}",
        text(&out.stderr)
    );
}

fn diagnostics_are_the_message() {
    let program = example("rejected");
    let out = run(&program, &["entry sums (xss: [][]f64): []f64 = map f64.sun xss"]);
    assert_eq!(out.status.code(), Some(2));
    let errors = text(&out.stderr);
    assert!(errors.contains("rows.par:1:") && errors.contains("f64.sun"), "{errors}");
}

fn errors_of_runs_have_their_place() {
    let program = example("failed");
    let out = run(&program, &["entry sums (xss: [][]f64): []f64 = map (\\xs -> xs[1]) xss"]);
    assert_eq!(out.status.code(), Some(1));
    let errors = text(&out.stderr);
    assert!(errors.contains("index 1 is outside [0,0)") && errors.contains("rows.par:1:"), "{errors}");
}

par_trials::trials! {
    rows_are_summed, needs c_compiler();
    diagnostics_are_the_message, needs c_compiler();
    errors_of_runs_have_their_place, needs c_compiler();
}
