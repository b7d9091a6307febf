//! The kernels' own tests, in C++ (`kernels/test/run`): on the emulator, under sanitizers, with mistakes put in that must be caught, and by NVRTC,
//! if `PAR_NVRTC` names its library. Without a C++ compiler they are skipped, which is said.

use par_tests::root;
use std::process::Command;

/// Runs tiers of `kernels/test/run`.
fn tiers(names: &[&str]) {
    let compiler = std::env::var("EMU_CXX").unwrap_or_else(|_| "c++".into());
    if Command::new(&compiler).arg("--version").output().is_err() {
        eprintln!("skipped: there is no C++ compiler ({compiler})");
        return;
    }
    let mut command = Command::new("bash");
    command.arg(root().join("kernels/test/run")).args(names);
    if let Ok(library) = std::env::var("PAR_NVRTC") {
        command.env("NVRTC", library);
    }
    let output = command.output().expect("bash is there");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    print!("{out}");
    assert!(output.status.success(), "{names:?}: {}\n{out}\n{err}", output.status);
}

#[test]
fn kernels_compute_what_loops_do() {
    tiers(&["plain", "race", "traffic"]);
}

#[test]
fn kernels_are_clean_under_sanitizers() {
    tiers(&["address", "thread"]);
}

#[test]
fn mistakes_are_caught() {
    tiers(&["mutations"]);
}

#[test]
fn stand_ins_run_a_kernel() {
    tiers(&["standin"]);
}

#[test]
fn kernels_need_few_registers() {
    tiers(&["nvrtc"]);
}
