//! Test targets with tests that need what a machine may lack: there they are counted as ignored, and say what is missing. Also work on many items,
//! see [`on_threads`]. Targets that use this crate have the command's allocator, since compilers in them spend up to a third of their time in the system's.
//!
//! ```text
//! par_trials::trials! {
//!     sums_are_right;
//!     libraries_can_be_linked, needs c_compiler();
//! }
//! ```
//!
//! The target has `harness = false` in its `Cargo.toml`. A function that is not listed is dead code, of which the compiler warns.

use libtest_mimic::{Arguments, Trial};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The `main` of a target with these tests, which are functions without arguments.
#[macro_export]
macro_rules! trials {
    ($($name:ident $(, needs $($need:expr),+)?;)+) => {
        fn main() -> std::process::ExitCode {
            $crate::run(vec![$($crate::trial(stringify!($name), &[$($($need),+)?], $name)),+])
        }
    };
}

/// A test; ignored if something is missing.
pub fn trial(name: &str, missing: &[Option<String>], body: fn()) -> Trial {
    let test = Trial::test(name, move || {
        body();
        Ok(())
    });
    match missing.iter().flatten().next() {
        Some(missing) => test.with_kind(missing).with_ignored_flag(true),
        None => test,
    }
}

/// Runs those tests that the command line asks for.
pub fn run(trials: Vec<Trial>) -> ExitCode {
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Results of `work` for the items, in order: on several threads, with a deep stack as the command has. Each takes the next item that nobody has,
/// since one program may take as long as a hundred others.
pub fn on_threads<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    const STACK: usize = 256 << 20;
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get().min(8));
    let next = AtomicUsize::new(0);
    let take = || {
        let taken = std::iter::from_fn(|| {
            let i = next.fetch_add(1, Ordering::Relaxed);
            items.get(i).map(|item| (i, work(item)))
        });
        taken.collect::<Vec<_>>()
    };
    let mut out = Vec::with_capacity(items.len());
    std::thread::scope(|scope| {
        let builder = || std::thread::Builder::new().stack_size(STACK);
        let handles: Vec<_> =
            (0..threads).map(|_| builder().spawn_scoped(scope, take).expect("a thread")).collect();
        for handle in handles {
            match handle.join() {
                Ok(part) => out.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    out.sort_by_key(|(i, _)| *i);
    out.into_iter().map(|(_, result)| result).collect()
}

/// Reason to skip if there is no C compiler.
pub fn c_compiler() -> Option<String> {
    without(starts("cc"), || "no C compiler".into())
}

/// Reason to skip if there is no C++ compiler: `c++`, or what EMU_CXX names.
pub fn cpp_compiler() -> Option<String> {
    let compiler = std::env::var("EMU_CXX").unwrap_or_else(|_| "c++".into());
    without(starts(&compiler), || format!("no C++ compiler {compiler}"))
}

/// Reason to skip if PAR_NVRTC does not name NVRTC's library, but nothing or the stand-in for it.
pub fn nvrtc() -> Option<String> {
    let library = std::env::var("PAR_NVRTC").unwrap_or_default();
    without(!library.is_empty() && !library.contains("emulator"), || "no NVRTC in PAR_NVRTC".into())
}

/// Reason to skip if there is no program of that name.
pub fn tool(name: &str) -> Option<String> {
    without(starts(name), || format!("no {name}"))
}

/// Reason to skip if there are no pseudo-terminals.
pub fn pseudo_terminal() -> Option<String> {
    let open = std::fs::OpenOptions::new().read(true).write(true).open("/dev/ptmx");
    without(open.is_ok(), || "no pseudo-terminal".into())
}

/// Reason to skip if a variable of the environment, by which a test is asked for, is not set.
pub fn variable(name: &str) -> Option<String> {
    without(std::env::var_os(name).is_some(), || format!("no {name}"))
}

fn without(is_there: bool, missing: impl FnOnce() -> String) -> Option<String> {
    (!is_there).then(missing)
}

fn starts(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success())
}

#[test]
fn results_are_in_the_order_of_the_items() {
    let items: Vec<u64> = (0..1000).collect();
    // The first ones take longest.
    let work = |x: &u64| (0..1_000_000 / (x + 1)).fold(*x, |a, b| std::hint::black_box(a ^ b ^ b));
    assert_eq!(on_threads(&items, work), items);
    assert_eq!(on_threads(&[] as &[u64], work), []);
}

#[test]
fn what_lacks_something_is_ignored_and_says_so() {
    let [absent, there] = [Some("no horse".to_string()), None];
    let ignored = trial("rides", &[there.clone(), absent], || ());
    assert_eq!((ignored.kind(), ignored.has_ignored_flag()), ("no horse", true));
    let runs = trial("walks", &[there], || ());
    assert_eq!((runs.kind(), runs.has_ignored_flag()), ("", false));
    assert_eq!(variable("PAR_TRIALS_NOT_SET"), Some("no PAR_TRIALS_NOT_SET".to_string()));
}
