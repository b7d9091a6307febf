//! Calls on several ranks in one process, each of which is a thread: for tests, and for trying what a program would send. `par-mpi` runs programs on
//! ranks that are processes.

mod explain;

use crate::failure::{Bug, Failure, RunFailure};
use crate::program::{CallOptions, Program};
use par_runtime::ranks::values::{gather, has_rows, join, split};
use par_runtime::ranks::{Ranks, Volume, threads};
use par_runtime::{Column, RuntimeError, Value};
use std::sync::Arc;
use std::thread;

pub use explain::explain;

/// Bytes of stack of a rank, of which only what is used takes memory.
const STACK: usize = 256 << 20;

/// The result of a call, and what its ranks sent and computed.
pub struct Outcome {
    /// Of rank 0, if all have one.
    pub result: Result<Value, RunFailure>,
    /// Per rank.
    pub volumes: Vec<Volume>,
}

/// Ranks of a call.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Number of ranks.
    pub ranks: usize,
    /// Arrays are distributed from so many elements on, or from the usual number on.
    pub least: Option<usize>,
    /// Each rank brings its rows of arguments, and keeps its part of the result until the end, as `par-mpi` does.
    pub in_parts: bool,
}

/// Calls an entry point on several ranks.
pub fn call(program: &Program, entry: &str, args: &[Value], options: &CallOptions, setup: Setup) -> Outcome {
    // Once, before all ranks ask for it.
    if setup.ranks > 1
        && let Err(failure) = program.ranked()
    {
        return Outcome { result: Err(failure.into()), volumes: Vec::new() };
    }
    let run = |ranks: Ranks| {
        let traffic = ranks.traffic.clone();
        let args = args.iter().map(copied);
        let result = match setup.in_parts {
            true => call_in_parts(program, entry, args, options, &ranks),
            false => {
                let options = CallOptions { ranks: Some(ranks), ..options.clone() };
                program.call(entry, args.collect(), &options)
            }
        };
        (result, traffic.volume())
    };
    let all: Vec<_> = thread::scope(|scope| {
        let run = &run;
        let start = |transport| {
            let ranks = Ranks::new(Arc::new(transport));
            let ranks = match setup.least {
                Some(least) => ranks.with_least(least),
                None => ranks,
            };
            thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || run(ranks))
        };
        let all: Vec<_> = threads::connect(setup.ranks).into_iter().map(start).collect();
        all.into_iter().map(|rank| rank.map(|r| r.join())).collect()
    });
    let (mut results, mut volumes) = (Vec::new(), Vec::new());
    for rank in all {
        match rank {
            Ok(Ok((result, volume))) => {
                results.push(result);
                volumes.push(volume);
            }
            Ok(Err(_)) => results.push(Err(bug("a rank panicked"))),
            Err(e) => results
                .push(Err(RunFailure::from(Failure::Unavailable(format!("no thread for a rank: {e}"))))),
        }
    }
    Outcome { result: together(results), volumes }
}

fn call_in_parts(
    program: &Program,
    entry: &str,
    args: impl Iterator<Item = Value>,
    options: &CallOptions,
    ranks: &Ranks,
) -> Result<Value, RunFailure> {
    let part = |value: Value| match has_rows(&value.ty) {
        true => join(split(value, ranks)?, ranks),
        false => Ok(value),
    };
    let args = args.map(part).collect::<Result<_, RuntimeError>>()?;
    let options = CallOptions { ranks: Some(ranks.clone()), keep_on_device: true, ..options.clone() };
    Ok(gather(program.call(entry, args, &options)?, ranks)?)
}

/// The result of rank 0, if the others agree that there is one, or why there is none.
fn together(mut results: Vec<Result<Value, RunFailure>>) -> Result<Value, RunFailure> {
    let words = |r: &Result<Value, RunFailure>| r.as_ref().err().map(ToString::to_string);
    // Who was stopped leaves the others alone.
    if let Some(stopped) = results.iter().position(|r| matches!(r, Err(RunFailure::Cancelled))) {
        return results.swap_remove(stopped);
    }
    let first = words(&results[0]);
    if let Some(rank) = results.iter().position(|r| words(r) != first) {
        let found = format!("rank 0 ends with {first:?}, rank {rank} with {:?}", words(&results[rank]));
        return Err(bug(&found));
    }
    results.swap_remove(0)
}

fn bug(message: &str) -> RunFailure {
    Failure::Bug(Bug { pass: "running on ranks".into(), message: message.into() }).into()
}

/// A copy that nobody shares, as a rank's own arguments are.
fn copied(value: &Value) -> Value {
    let mut value = value.clone();
    for column in &mut value.columns {
        if let Column::Data(a) | Column::Offsets(a) = column {
            a.make_unique();
        }
    }
    value
}
