//! A fixed set of programs, judged in this process, and the programs that disagreed once.

use par_fuzz::judge::{Kind, Limits, Verdict, judge};
use par_fuzz::{Case, generate, mutate, watch};
use par_trials::on_threads;
use std::path::{Path, PathBuf};
use std::time::Duration;

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

#[test]
fn fixed_seeds() {
    let seeds: Vec<u64> = (0..100).collect();
    let rejected = on_threads(&seeds, |seed| {
        let case = generate::program(*seed, 30).case;
        let Verdict::Finding(finding) = judge(&case, &limits()) else { return false };
        assert_eq!(finding.kind, Kind::Rejected, "seed {seed}: {finding}\n{case}");
        true
    });
    let rejected = rejected.into_iter().filter(|r| *r).count();
    assert!(20 * rejected <= seeds.len(), "{rejected} programs are not well-typed");
}

/// Of the calls of laws at least a fifth have derivatives other than zero (arrays without elements have none).
#[test]
fn laws_hold_and_say_something() {
    let seeds: Vec<u64> = (0..25).collect();
    let judged = on_threads(&seeds, |seed| {
        let case = generate::law(*seed, 15).case;
        match judge(&case, &limits()) {
            Verdict::Agreed { calls, told, .. } => (calls, told),
            Verdict::Finding(finding) => {
                assert_eq!(finding.kind, Kind::Rejected, "seed {seed}: {finding}\n{case}");
                (0, 0)
            }
        }
    });
    let (all, said) = judged.into_iter().fold((0, 0), |(a, b), (calls, told)| (a + calls, b + told));
    assert!(5 * said >= all && all >= 100, "{said} of {all} calls");
}

#[test]
fn what_was_found_before() {
    let folder = root().join("tests/golden/fuzz");
    let files = std::fs::read_dir(folder).expect("a folder").map(|f| f.expect("a file").path());
    let files: Vec<PathBuf> = files.filter(|f| f.extension().is_some_and(|e| e == "par")).collect();
    on_threads(&files, |file| {
        let case = mutate::with_inputs(file).expect("a program with inputs");
        check(&file.display().to_string(), &case);
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
