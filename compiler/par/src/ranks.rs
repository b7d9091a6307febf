//! Calls on several ranks in one process, each of which is a thread: for tests, and for trying what a program would send. `par-mpi` runs programs on
//! ranks that are processes.

use crate::failure::{Bug, Failure, RunFailure};
use crate::program::{CallOptions, Program};
use par_runtime::plan::{Kernel, KernelKind, Op, Out, Reach, Space};
use par_runtime::ranks::{Ranks, Volume, threads};
use par_runtime::{Column, Span, Value};
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
    // Once, before all ranks ask for it.
    if let Err(failure) = program.ranked() {
        return Outcome { result: Err(failure.into()), volumes: Vec::new() };
    }
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
            Err(e) => results
                .push(Err(RunFailure::from(Failure::Unavailable(format!("no thread for a rank: {e}"))))),
        }
    }
    Outcome { result: together(results), volumes }
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

/// Distribution of a program's operations, line by line: what is cut among ranks, what every rank does, and what of arrays ranks send each other.
pub fn explain(program: &Program) -> Result<String, Failure> {
    let plan = program.ranked()?.plan();
    let mut lines: Vec<(Span, String)> = Vec::new();
    for function in plan.into_iter().flat_map(|p| &p.functions) {
        function.body.each_statement(&mut |stm| lines.extend(distribution(&stm.op).map(|s| (stm.span, s))));
    }
    lines.sort();
    lines.dedup();
    let lines = lines.iter().map(|(span, words)| format!("{}: {words}\n", program.sources().place(*span)));
    Ok(lines.collect())
}

/// Distribution of an operation on large arrays; none if it sends nothing worth a word.
fn distribution(op: &Op) -> Option<String> {
    match op {
        Op::Kernel(k) => Some(of_kernel(k)),
        Op::Sort { space: Space::Flat(_), .. } => {
            Some("sort: by samples; every element goes once to the rank of its range".into())
        }
        Op::Sort { .. } => Some("sort: each row by one rank, even where rows are long".into()),
        Op::MakeDesc(_) => Some("lengths of rows: gathered on every rank".into()),
        Op::Append(..) => Some("rows from several arrays: gathered on every rank".into()),
        Op::Concat(..) | Op::Slice { .. } => {
            Some("copy: each rank its part; what others have is sent".into())
        }
        Op::Read(..) => Some("element: sent to every rank".into()),
        _ => None,
    }
}

fn of_kernel(k: &Kernel) -> String {
    let owns = |outs: &[Out]| outs.iter().any(|o| matches!(o, Out::Own(_)));
    let scatters = |outs: &[Out]| outs.iter().any(|o| matches!(o, Out::Scatter(_)));
    let (name, how) = match &k.kind {
        KernelKind::Map(outs) if owns(outs) => {
            return "map in place: on every rank, which gathers all that it reads".into();
        }
        KernelKind::Map(outs) if scatters(outs) => {
            ("scatter", "cut; indices and values go to the ranks of the elements")
        }
        KernelKind::Map(_) => ("map", "cut"),
        KernelKind::Reduce(_) => ("reduce", "cut; results of parts are gathered"),
        KernelKind::Scan { outs: Some(outs), .. } if scatters(outs) => (
            "scan and scatter",
            "cut; sums of parts are gathered, indices and values go to the ranks of the elements",
        ),
        KernelKind::Scan { .. } => ("scan", "cut; results of parts are gathered"),
        KernelKind::Filter(_) => ("filter", "cut; numbers of elements kept are gathered"),
        KernelKind::Hist { .. } => (
            "histogram",
            "cut; few bins are filled on every rank and combined, else indices and values go to the ranks of the bins",
        ),
    };
    let Some(ranks) = &k.ranks else { return name.into() };
    let mut any = 0;
    let mut near: Vec<String> = Vec::new();
    for (reach, is_array) in ranks.reads.iter().zip(&ranks.arrays) {
        match reach {
            _ if !is_array => {}
            Reach::Any => any += 1,
            _ if reach.is_aligned() => {}
            reach => near.extend((!near.contains(&reach.to_string())).then(|| reach.to_string())),
        }
    }
    let mut words = format!("{name}: {how}");
    if !near.is_empty() {
        words += &format!("; reads {}", near.join(", "));
    }
    match any {
        0 => {}
        1 => words += "; an array is gathered on every rank, for it is read anywhere",
        n => words += &format!("; {n} arrays are gathered on every rank, for they are read anywhere"),
    }
    words
}
