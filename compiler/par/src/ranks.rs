//! Calls on several ranks in one process, each of which is a thread: for tests, and for trying what a program would send. `par-mpi` runs programs on
//! ranks that are processes.

use crate::failure::{Bug, Failure, RunFailure};
use crate::program::{CallOptions, Program};
use par_runtime::ranks::{Ranks, Volume, threads};
use par_runtime::{Column, Value};
use std::sync::Arc;
use std::thread;

/// Bytes of stack of a rank, of which only what is used takes memory.
const STACK: usize = 256 << 20;

/// The result of a call, and what its ranks sent and computed.
pub struct Outcome {
    /// Of rank 0, if all have one.
    pub result: Result<Value, RunFailure>,
    /// Per rank.
    pub volumes: Vec<Volume>,
}

/// Calls an entry point on so many ranks. Arrays are distributed from `least` elements on, or from the usual number on.
pub fn call(
    program: &Program,
    entry: &str,
    args: &[Value],
    options: &CallOptions,
    ranks: usize,
    least: Option<usize>,
) -> Outcome {
    let run = |ranks: Ranks| {
        let traffic = ranks.traffic.clone();
        let options = CallOptions { ranks: Some(ranks), ..options.clone() };
        let result = program.call(entry, args.iter().map(copied).collect(), &options);
        (result, traffic.volume())
    };
    let all: Vec<_> = thread::scope(|scope| {
        let run = &run;
        let start = |transport| {
            let ranks = Ranks::new(Arc::new(transport));
            let ranks = match least {
                Some(least) => ranks.with_least(least),
                None => ranks,
            };
            thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || run(ranks))
        };
        let all: Vec<_> = threads::connect(ranks).into_iter().map(start).collect();
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
            Err(e) => results.push(Err(RunFailure::from(Failure::Unavailable(format!("no thread for a rank: {e}"))))),
        }
    }
    Outcome { result: together(results), volumes }
}

/// The result of rank 0, if the others agree that there is one, or why there is none.
fn together(mut results: Vec<Result<Value, RunFailure>>) -> Result<Value, RunFailure> {
    let words = |r: &Result<Value, RunFailure>| r.as_ref().err().map(ToString::to_string);
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
