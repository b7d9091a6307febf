//! The kernels' own tests, in C++ (`kernels/test/run`): on the emulator, under sanitizers, with mistakes put in that must be caught, and by NVRTC,
//! if `PAR_NVRTC` names its library.

use par_tests::root;
use par_trials::{cpp_compiler, nvrtc};
use std::process::Command;

/// Runs tiers of `kernels/test/run`.
fn tiers(names: &[&str]) {
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

fn kernels_compute_what_loops_do() {
    tiers(&["plain", "race", "traffic"]);
}

fn kernels_are_clean_under_sanitizers() {
    tiers(&["address", "thread"]);
}

fn mistakes_are_caught() {
    tiers(&["mutations"]);
}

fn stand_ins_run_a_kernel() {
    tiers(&["standin"]);
}

fn kernels_need_few_registers() {
    tiers(&["nvrtc"]);
}

par_trials::trials! {
    kernels_compute_what_loops_do, needs cpp_compiler();
    kernels_are_clean_under_sanitizers, needs cpp_compiler();
    mistakes_are_caught, needs cpp_compiler();
    stand_ins_run_a_kernel, needs cpp_compiler();
    kernels_need_few_registers, needs cpp_compiler(), nvrtc();
}
