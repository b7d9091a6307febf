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

/// They compute what loops do, are clean under sanitizers, fail with mistakes put in, and run on the stand-ins for a driver and a compiler. All tiers
/// together: the tests around the kernels, which take as long to compile as the kernels, are compiled once.
fn kernels_pass_on_the_emulator() {
    tiers(&["plain", "race", "traffic", "address", "thread", "mutations", "standin"]);
}

fn kernels_need_few_registers() {
    tiers(&["nvrtc"]);
}

par_trials::trials! {
    kernels_pass_on_the_emulator, needs cpp_compiler();
    kernels_need_few_registers, needs cpp_compiler(), nvrtc();
}
