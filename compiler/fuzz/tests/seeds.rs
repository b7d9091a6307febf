//! A fixed set of programs, judged in this process, and the programs that disagreed once.

use par_fuzz::judge::{Kind, Limits, Verdict, judge};
use par_fuzz::{Case, generate, mutate, watch};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A deep stack, as the command has.
const STACK: usize = 256 << 20;

fn on_big_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// A machine that does other work too must not make programs look endless.
fn limits() -> Limits {
    Limits { reference: Duration::from_secs(1), other: Duration::from_secs(120) }
}

fn check(name: &str, case: &Case) {
    if let Verdict::Finding(finding) = judge(case, &limits())
        && finding.kind != Kind::Rejected
    {
        panic!("{name}: {finding}\n{case}");
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// As many programs as some time allows, on two threads, but a least number.
#[test]
fn fixed_seeds() {
    const TIME: Duration = Duration::from_secs(45);
    const LEAST: u64 = 50;
    let start = Instant::now();
    let (next, rejected) = (AtomicU64::new(0), AtomicU64::new(0));
    let take = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= 600 || seed >= LEAST && start.elapsed() > TIME {
                break;
            }
            let case = generate::program(seed, 30).case;
            if let Verdict::Finding(finding) = judge(&case, &limits()) {
                assert_eq!(finding.kind, Kind::Rejected, "seed {seed}: {finding}\n{case}");
                rejected.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        let builder = || std::thread::Builder::new().stack_size(STACK);
        let threads = [(); 2].map(|()| builder().spawn_scoped(scope, take).expect("a thread"));
        threads.into_iter().for_each(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    });
    let rejected = rejected.into_inner();
    assert!(rejected <= 30, "{rejected} programs are not well-typed");
}

/// Of the calls of laws at least a fifth have derivatives other than zero (arrays without elements have none).
#[test]
fn laws_hold_and_say_something() {
    on_big_stack(|| {
        let (mut all, mut said) = (0, 0);
        for seed in 0..12 {
            let case = generate::law(seed, 15).case;
            match judge(&case, &limits()) {
                Verdict::Agreed { calls, told, .. } => (all, said) = (all + calls, said + told),
                Verdict::Finding(finding) => {
                    assert_eq!(finding.kind, Kind::Rejected, "seed {seed}: {finding}\n{case}");
                }
            }
        }
        assert!(5 * said >= all && all >= 50, "{said} of {all} calls");
    });
}

#[test]
fn what_was_found_before() {
    on_big_stack(|| {
        let folder = root().join("tests/golden/fuzz");
        let files = std::fs::read_dir(folder).expect("a folder").map(|f| f.expect("a file").path());
        for file in files.filter(|f| f.extension().is_some_and(|e| e == "par")) {
            let case = mutate::with_inputs(&file).expect("a program with inputs");
            check(&file.display().to_string(), &case);
        }
    });
}

#[test]
fn programs_are_the_same_every_time() {
    let (a, b) = (generate::program(17, 40), generate::program(17, 40));
    assert_eq!(a.case, b.case);
    assert_ne!(a.case, generate::program(18, 40).case);
}

#[test]
fn panics_are_told() {
    let told = watch::guarded(|| panic!("like {}", "this"));
    assert!(told.is_err_and(|message| message.starts_with("like this")));
}
