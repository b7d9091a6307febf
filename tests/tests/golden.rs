//! Every golden program and every example, on every back end.

use par_tests::{programs, root, run_all};
use std::path::Path;

/// A deep stack, as the command has.
fn on_big_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(work).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn folder(path: &'static str) {
    on_big_stack(move || {
        let files = programs(&root().join(Path::new(path)));
        assert!(!files.is_empty(), "no programs in {path}");
        run_all(&files);
    });
}

#[test]
fn golden() {
    folder("tests/golden");
}

#[test]
fn examples() {
    folder("examples");
}
