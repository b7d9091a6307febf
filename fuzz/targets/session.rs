//! Inputs at the prompt of `par repl`, one by one. Nothing is run.

#![no_main]

use libfuzzer_sys::fuzz_target;
use par::session::{Outcome, Session, split};
use par::{Failure, Options};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let text = text.to_string();
    let worker = std::thread::Builder::new().stack_size(512 << 20).spawn(move || {
        let mut session = Session::new(&Options::default());
        for input in split(&text).iter().take(8) {
            let _ = session.type_of(input);
            match session.enter(input) {
                Err(Failure::Bug(bug)) => panic!("{bug}"),
                Ok(Outcome::Evaluate(evaluation)) => drop(evaluation),
                _ => {}
            }
        }
    });
    worker.expect("a thread").join().expect("no panic");
});
