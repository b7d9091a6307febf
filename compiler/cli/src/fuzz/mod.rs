//! `par fuzz`: random programs, run on every stage of the compiler and compared.
//!
//! Programs are made here and judged in a process of their own ([`oracle`]), so that a crash or an endless loop is a
//! finding like any other. The first finding of each kind is shrunk and written as a golden program.

mod oracle;
mod report;

use crate::status::{self, Status};
use oracle::Oracle;
use par::Backend;
use par_fuzz::judge::{Finding, Kind, Limits, Verdict, judge};
use par_fuzz::{Case, generate, golden, mutate, shrink, watch};
use par_runtime::simd::{self, Level};
use report::Summary;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const AFTER_HELP: &str = "\
Every program is well-typed and ends. It is run by the reference interpreter as it was written, by both interpreters
after every pass, and as machine code with one and two threads; values must be equal, and a call must fail everywhere or
nowhere. Levels of vector instructions take turns, or `--simd` names one. A disagreement is shrunk to a small program
with the reference's answer as its test.

Examples:
    par fuzz                              a minute of programs
    par fuzz --seconds 600 --seed 7000    ten minutes of other programs
    par fuzz --seed 1234 --programs 1     a program again
    par fuzz --seed 1234 --programs 1 --print
    par fuzz --mutate tests/golden        variations of the programs in a folder
    par fuzz --laws --size 20             derivatives only
    par fuzz --cuda --size 20             small programs, on a GPU too
    par fuzz --ranks                      on several ranks too
    par fuzz --coverage --programs 1000   which constructs the programs reach

Exit status: 0 all agree; 1 something differs; 101 something in Par failed a check of its own, panicked or crashed.";

/// Arguments of `par fuzz`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    /// Time to go on, in seconds
    #[arg(long, value_name = "N", default_value = "60")]
    seconds: u64,
    /// Number of the first program
    #[arg(long, value_name = "S", default_value = "0")]
    seed: u64,
    /// So many programs at most
    #[arg(long, value_name = "N")]
    programs: Option<u64>,
    /// Operations in each function
    #[arg(long, value_name = "K", default_value = "80")]
    size: u32,
    /// Write what is found as golden programs into this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Vary these programs, or those in these folders, instead of making new ones
    #[arg(long, value_name = "FILE")]
    mutate: Vec<PathBuf>,
    /// Only programs that say that derivatives forward and backward agree
    #[arg(long, conflicts_with = "mutate")]
    laws: bool,
    /// Run each program by CUDA too
    #[arg(long)]
    cuda: bool,
    /// Run each program on two, three and four ranks too, which are threads
    #[arg(long)]
    ranks: bool,
    /// Time to shrink each finding, in seconds
    #[arg(long, value_name = "N", default_value = "120")]
    shrink: u64,
    /// Print the programs instead of running them
    #[arg(long)]
    print: bool,
    /// Count the constructs in the programs instead of running them
    #[arg(long, conflicts_with = "print")]
    coverage: bool,
    /// Judge the programs that come as JSON lines: how the process that runs them is started
    #[arg(long, hide = true)]
    worker: bool,
}

/// Makes programs and compares until the time is over.
pub fn fuzz(args: &Args) -> Result<Status, Status> {
    if args.worker {
        return work();
    }
    if args.cuda
        && let (Backend::Cpu, device) = Backend::automatic(0)
    {
        return Err(status::fail(&format!("with --cuda, programs would run on {device}")));
    }
    let sources = originals(args)?;
    if args.print || args.coverage {
        return report::look(args.coverage, seeds(args).map_while(|s| make(args, &sources, s)));
    }
    let oracles = levels().into_iter().map(Oracle::start).collect::<Result<_, _>>()?;
    let mut campaign = Campaign { args, oracles, summary: Summary::default() };
    let end = Instant::now() + Duration::from_secs(args.seconds);
    for seed in seeds(args).take_while(|_| Instant::now() < end) {
        if let Some(case) = make(args, &sources, seed) {
            campaign.one(seed, &Case { cuda: args.cuda, ranks: args.ranks, ..case })?;
        }
    }
    Ok(campaign.summary.finish())
}

/// The levels of vector instructions that programs are compiled for in turns: all that the processor has, or the one that is asked for.
fn levels() -> Vec<Level> {
    let (highest, is_given) = (simd::level(), std::env::var_os(simd::VARIABLE).is_some());
    Level::ALL.into_iter().filter(|level| *level == highest || *level < highest && !is_given).collect()
}

/// Without a number of programs there are more than the time allows.
fn seeds(args: &Args) -> impl Iterator<Item = u64> {
    let most = if args.print || args.coverage { 1 } else { u64::MAX };
    (args.seed..).take(usize::try_from(args.programs.unwrap_or(most)).unwrap_or(usize::MAX))
}

/// The programs to vary.
fn originals(args: &Args) -> Result<Vec<Case>, Status> {
    let mut out = Vec::new();
    for path in &args.mutate {
        let files =
            crate::files::programs(path).map_err(|e| status::fail(&format!("{}: {e}", path.display())))?;
        out.extend(files.iter().filter_map(|f| mutate::original(f)));
    }
    if out.is_empty() && !args.mutate.is_empty() {
        let left_out = mutate::LEFT_OUT.join(", ");
        return Err(status::fail(&format!(
            "there is no program to vary: it needs a test with an input, and none of the words {left_out}"
        )));
    }
    Ok(out)
}

fn make(args: &Args, originals: &[Case], seed: u64) -> Option<Case> {
    if args.laws {
        return Some(generate::law(seed, args.size).case);
    }
    if originals.is_empty() {
        return Some(generate::program(seed, args.size).case);
    }
    mutate::variation(originals, seed)
}

struct Campaign<'a> {
    args: &'a Args,
    /// For each level of vector instructions.
    oracles: Vec<Oracle>,
    summary: Summary,
}

impl Campaign<'_> {
    /// The judge of a program.
    fn oracle(&mut self, seed: u64) -> &mut Oracle {
        let turn = seed as usize % self.oracles.len();
        &mut self.oracles[turn]
    }

    fn one(&mut self, seed: u64, case: &Case) -> Result<(), Status> {
        let verdict = self.oracle(seed).ask(case)?;
        let is_new = self.summary.add(seed, &verdict);
        if let Verdict::Finding(finding) = verdict
            && is_new
            && finding.kind != Kind::Rejected
        {
            self.report(seed, case, &finding)?;
        }
        Ok(())
    }

    /// Shrinks a finding, prints it, and keeps it as a file.
    fn report(&mut self, seed: u64, case: &Case, finding: &Finding) -> Result<(), Status> {
        status::say(&format!("seed {seed}: {finding}"));
        let mut broken = None;
        let time = Duration::from_secs(self.args.shrink);
        let (small, finding) = shrink::shrink(case, finding, time, &mut |case| {
            self.oracle(seed).ask(case).unwrap_or_else(|status| {
                broken = Some(status);
                Verdict::Agreed { calls: 0, failed: 0, skipped: 0, told: 0 }
            })
        });
        if let Some(status) = broken {
            return Err(status);
        }
        let text = golden::program(&small, &finding, seed);
        status::say(&text);
        match &self.args.keep {
            Some(folder) => keep(folder, seed, &text),
            None => Ok(()),
        }
    }
}

fn keep(folder: &Path, seed: u64, text: &str) -> Result<(), Status> {
    let path = folder.join(format!("seed_{seed}.par"));
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
    written.map_err(|e| status::fail(&format!("{}: {e}", path.display())))
}

/// Judges a case per line.
fn work() -> Result<Status, Status> {
    watch::quiet_panics();
    let lost = |e: &dyn std::fmt::Display| status::fail(&format!("fuzz worker: {e}"));
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|e| lost(&e))?;
        let case: Case = serde_json::from_str(&line).map_err(|e| lost(&e))?;
        let verdict = judge(&case, &Limits::default());
        let mut out = std::io::stdout().lock();
        let text = serde_json::to_string(&verdict).map_err(|e| lost(&e))?;
        writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|e| lost(&e))?;
    }
    Ok(Status::Success)
}
