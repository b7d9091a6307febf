//! The whole compiler, up to optimised CORE, with its verifiers.

#![no_main]

use libfuzzer_sys::fuzz_target;
use par::{Failure, Options, compile};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let options = Options { verify: true, ..Options::default() };
    let text = text.to_string();
    // The compiler recurses on the program's nesting, as the command does with a large stack.
    let worker = std::thread::Builder::new().stack_size(512 << 20).spawn(move || {
        if let Err(Failure::Bug(bug)) = compile(&text, "input.par", &options) {
            panic!("{bug}");
        }
    });
    worker.expect("a thread").join().expect("no panic");
});
