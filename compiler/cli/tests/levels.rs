//! Golden programs at lower levels of vector instructions: the same results with machine code and strips for AVX2, and for every processor.

use par_runtime::simd::Level;
use std::path::{Path, PathBuf};
use std::process::Command;

par_trials::trials! {
    with_avx2, needs above(Level::Avx2);
    with_vectors_of_every_processor, needs above(Level::Baseline);
    levels_have_names;
}

/// Reason to skip if this machine has nothing above a level: other tests run the programs at its own.
fn above(level: Level) -> Option<String> {
    (Level::detected() <= level).then(|| format!("nothing above {}", level.name()))
}

/// Folders of golden programs, and programs: all but the one whose recursion does not end. It fills stacks, with no vectors.
fn golden() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let inside = |folder: &Path| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let folders = inside(&root).filter(|p| p.is_dir() && !p.ends_with("errors"));
    let is_program = |p: &PathBuf| p.extension().is_some_and(|e| e == "par");
    let programs = inside(&root.join("errors")).filter(|p| is_program(p) && !p.ends_with("too_deep.par"));
    folders.chain(programs).collect()
}

/// Runs all golden programs but that one on the CPU at a level.
fn golden_at(level: Level) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_par"));
    command.args(["test", "--backend", "cpu", "--simd", level.name()]).args(golden());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let shown = text.lines().rev().take(30).collect::<Vec<_>>().join("\n");
    assert_eq!(output.status.code(), Some(0), "{}\n{shown}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains(" passed, 0 failed"), "{shown}");
}

fn with_avx2() {
    golden_at(Level::Avx2);
}

fn with_vectors_of_every_processor() {
    golden_at(Level::Baseline);
}

fn levels_have_names() {
    let par = |variable: Option<&str>, args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_par"));
        variable.map(|value| command.env("PAR_SIMD", value));
        command.args(args).output().unwrap()
    };
    let wrong = par(None, &["dev", "--simd", "avx3"]);
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(said.contains("baseline, avx2, avx512"), "{said}");
    let wrong = par(Some("sse9"), &["dev"]);
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert_eq!(wrong.status.code(), Some(1), "{said}");
    assert!(said.contains("PAR_SIMD is `sse9`") && said.contains("baseline, avx2, avx512"), "{said}");
    assert_eq!(par(Some("avx2"), &["dev"]).status.code(), Some(0));
}
