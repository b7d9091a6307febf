//! `par-mpi`: programs on many processes, each of which is a rank. All of them do the same; rank 0 alone shows and writes.

use crate::status::{self, Status};
use crate::{ice, output, run};
use clap::{Parser, Subcommand};
use par::testing::{self, DataSet, NoData, Settings};
use par::{CallOptions, Program};
use par_runtime::ranks::{Ranks, Volume};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

const AFTER_HELP: &str = "\
To be started by MPI, which tells the processes of each other:

    mpirun -n 4 par-mpi run sort.par -i keys.npy -o sorted.npy

What is distributed and what it costs: docs/ranks.md. Exit status, of all processes: as of `par run`.";

/// Runs programs in Par on many processes.
#[derive(Parser)]
#[command(name = "par-mpi", version = env!("PAR_VERSION"), after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compile a program and run one of its entry points on all ranks
    Run(RunArgs),
    /// Measure how long a call takes on all ranks, and what they send
    Bench(BenchArgs),
    /// Show which operations of a program are cut among ranks, and what they send
    Explain(ExplainArgs),
    /// Run the calls in programs' tests on all ranks and on each alone, and compare
    #[command(hide = true)]
    Check(CheckArgs),
}

#[derive(clap::Args)]
struct RunArgs {
    #[command(flatten)]
    run: run::Args,
    /// Say on standard error what each rank has sent and computed
    #[arg(long)]
    traffic: bool,
    #[command(flatten)]
    cuts: Cuts,
}

#[derive(clap::Args)]
struct BenchArgs {
    #[command(flatten)]
    run: run::Args,
    /// Call the program N times, after one call that is not counted
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..))]
    times: u32,
    #[command(flatten)]
    cuts: Cuts,
}

#[derive(clap::Args)]
struct ExplainArgs {
    /// The program
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Also say how much each of P ranks sends for every operation on large arrays
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u64).range(1..))]
    ranks: Option<u64>,
}

#[derive(clap::Args)]
struct CheckArgs {
    /// Programs, or folders with programs
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Of several programs, every Kth
    #[arg(long, value_name = "K", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
}

/// From which sizes on ranks share work.
#[derive(clap::Args)]
struct Cuts {
    /// Cut operations among ranks from so many positions on, and distribute arrays from so many elements on [default: 16384]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    least: Option<u64>,
}

/// Does what the command line says, as one of these ranks.
pub fn main(arguments: Vec<OsString>, ranks: Ranks) -> Status {
    let speaks = ranks.rank() == 0;
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(said) => {
            if speaks {
                // Nothing can be done if it cannot be printed.
                let _ = said.print();
            }
            return if said.use_stderr() { Status::Rejected } else { Status::Success };
        }
    };
    ice::install();
    status::be_quiet(!speaks);
    share_standard_input(ranks.clone());
    let others = ranks.clone();
    let done = crate::on_worker(move || execute(cli.command, ranks));
    if done == Status::Bug {
        others.abort(&format!("rank {} has ended with a bug in Par", others.rank()));
    }
    done
}

fn execute(command: Command, ranks: Ranks) -> Status {
    match command {
        Command::Run(args) => run_all(&args, args.cuts.of(ranks)),
        Command::Bench(args) => bench(&args, args.cuts.of(ranks)),
        Command::Explain(args) => explain(&args, &ranks),
        Command::Check(args) => check(&args, ranks),
    }
    .unwrap_or_else(|status| status)
}

impl Cuts {
    fn of(&self, ranks: Ranks) -> Ranks {
        match self.least {
            Some(least) => ranks.with_least(usize::try_from(least).unwrap_or(usize::MAX)),
            None => ranks,
        }
    }
}

fn run_all(args: &RunArgs, ranks: Ranks) -> Result<Status, Status> {
    let done = run::run_on(&args.run, Some(&ranks))?;
    if args.traffic {
        tell(&ranks, &report(&all_volumes(&ranks)?, None));
    }
    Ok(done)
}

fn bench(args: &BenchArgs, ranks: Ranks) -> Result<Status, Status> {
    let mut times = run::measure_on(&args.run, &ranks, args.times)?;
    let volumes = all_volumes(&ranks)?;
    times.sort_unstable();
    let calls = u64::from(args.times) + 1;
    let text = report(&volumes, Some((times[times.len() / 2], calls)));
    if ranks.rank() == 0 {
        output::text(&text)?;
    }
    Ok(Status::Success)
}

fn explain(args: &ExplainArgs, ranks: &Ranks) -> Result<Status, Status> {
    let program = together(Some(ranks), crate::source::load(&args.file, &par::Options::default()))?;
    let text =
        par::ranks::explain(&program, args.ranks.map(|p| p as usize)).map_err(|f| status::failure(&f))?;
    if ranks.rank() == 0 {
        output::text(&text)?;
    }
    Ok(Status::Success)
}

/// Compares calls on ranks, on arrays of two elements and more, with the same calls on one.
fn check(args: &CheckArgs, ranks: Ranks) -> Result<Status, Status> {
    let ranks = ranks.with_least(2);
    Ranks::poison();
    let mut files = Vec::new();
    for path in &args.files {
        let found = crate::files::programs(path);
        files.extend(found.map_err(|e| status::fail(&format!("{}: {e}", path.display())))?);
    }
    let (mut calls, mut wrong) = (0, 0);
    for file in files.iter().step_by(args.every as usize) {
        let compared = testing::calls(file, &Settings::default(), &mut |program, set| {
            calls += 1;
            if !is_same_on(&ranks, program, &set) {
                wrong += 1;
                status::say(&format!("{}: {}, {}: another result", file.display(), set.entry, set.name));
            }
        });
        if let Err(NoData::Mistake(message)) = compared {
            return Err(status::fail(&message));
        }
    }
    let words = format!("{calls} calls on {} ranks, {wrong} with other results\n", ranks.size());
    if ranks.rank() == 0 {
        output::text(&words)?;
    }
    let all = ranks.all_gather_number(wrong).map_err(|e| status::fail(&e.to_string()))?;
    Ok(if all[0] == 0 { Status::Success } else { Status::Failed })
}

/// True if a call gives the same bits, or the same error, on all ranks together and on one. Rank 0 knows.
fn is_same_on(ranks: &Ranks, program: &Program, set: &DataSet) -> bool {
    let options = || CallOptions { threads: 1, smallest_chunks: true, ..CallOptions::default() };
    let alone = program.call(&set.entry, set.args.clone(), &options());
    let options = CallOptions { ranks: Some(ranks.clone()), ..options() };
    let together = program.call(&set.entry, set.args.clone(), &options);
    match (alone, together) {
        (Ok(a), Ok(b)) => ranks.rank() > 0 || par::print_value(&a) == par::print_value(&b),
        (Err(a), Err(b)) => a.to_string() == b.to_string(),
        _ => false,
    }
}

/// Says something as the rank that speaks.
fn tell(ranks: &Ranks, text: &str) {
    if ranks.rank() == 0 {
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }
}

/// The volumes of all ranks.
fn all_volumes(ranks: &Ranks) -> Result<Vec<Volume>, Status> {
    let v = ranks.traffic.volume();
    let own = [v.bytes, v.messages, v.gathered, v.cut, v.repeated, v.positions];
    let own: Vec<u8> = own.iter().flat_map(|n| n.to_le_bytes()).collect();
    let all = ranks.all_gather(&own).map_err(|e| status::fail(&e.to_string()))?;
    let number = |bytes: &[u8], i: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[8 * i + k]));
    let volume = |b: &[u8]| Volume {
        bytes: number(b, 0),
        messages: number(b, 1),
        gathered: number(b, 2),
        cut: number(b, 3),
        repeated: number(b, 4),
        positions: number(b, 5),
    };
    Ok(all.chunks_exact(own.len()).map(volume).collect())
}

/// A table of what ranks did; with the median time of some calls, per call.
fn report(volumes: &[Volume], timed: Option<(Duration, u64)>) -> String {
    let calls = timed.map_or(1, |(_, calls)| calls);
    let mut text = String::new();
    if let Some((time, _)) = timed {
        text += &format!("median {:.3} ms on {} ranks\n", time.as_secs_f64() * 1e3, volumes.len());
    }
    text += "rank      bytes sent   messages   gathered   cut   on every rank      positions\n";
    for (rank, v) in volumes.iter().enumerate() {
        text += &format!(
            "{rank:>4} {:>15} {:>10} {:>10} {:>5} {:>15} {:>14}\n",
            v.bytes / calls,
            v.messages / calls,
            v.gathered / calls,
            v.cut / calls,
            v.repeated / calls,
            v.positions / calls
        );
    }
    let most = volumes.iter().map(|v| v.positions).max().unwrap_or(0);
    let all: u64 = volumes.iter().map(|v| v.positions).sum();
    if all > 0 {
        let mean = all as f64 / volumes.len() as f64;
        text += &format!("largest part of the positions: {:.2} of the mean\n", most as f64 / mean);
    }
    text
}

/// Standard input, which rank 0 has, for all ranks.
fn share_standard_input(ranks: Ranks) {
    let lost = |e: par_runtime::ranks::Lost| std::io::Error::other(e.0);
    par_data::replace_standard_input(Box::new(move || {
        let read = if ranks.rank() == 0 { par_data::read_standard_input() } else { Ok(Vec::new()) };
        let mut bytes = read.as_ref().map_or_else(|_| Vec::new(), Clone::clone);
        let mut len = (bytes.len() as u64).to_le_bytes();
        ranks.broadcast(0, &mut len).map_err(lost)?;
        bytes.resize(u64::from_le_bytes(len) as usize, 0);
        for round in bytes.chunks_mut(16 << 20) {
            ranks.broadcast(0, round).map_err(lost)?;
        }
        read.map(|_| bytes)
    }));
}

/// The value of this rank, if all have one; else the status of one that has none.
pub fn together<T>(ranks: Option<&Ranks>, own: Result<T, Status>) -> Result<T, Status> {
    let Some(ranks) = ranks else { return own };
    let code = own.as_ref().err().map_or(0, |s| *s as u64);
    let all = ranks.all_gather_number(code).map_err(|e| status::fail(&e.to_string()))?;
    match (own, all.iter().position(|code| *code != 0)) {
        (Ok(_), Some(rank)) => {
            status::fail(&format!("rank {rank} cannot read or compile the program"));
            Err(Status::of_code(Some(all[rank] as i32)))
        }
        (own, _) => own,
    }
}
