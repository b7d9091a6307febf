//! Everything as data for other programs.

use super::operations::Operation;
use super::{Insight, RunCost};
use crate::pipeline::Target;
use par_runtime::Counters;
use par_runtime::profile::Cost;
use serde_json::{Value, json};

/// One object: the entry point, its operations with what they cost, the checks, totals. Times are in nanoseconds.
pub fn json(insight: &Insight) -> Value {
    json!({
        "entry": insight.entry,
        "operations": insight.operations.iter().map(|op| operation(insight, op)).collect::<Vec<_>>(),
        "edges": insight.edges.iter().map(|(a, b)| [a + 1, b + 1]).collect::<Vec<_>>(),
        "checks": insight.checks,
        "derivatives": insight.rules,
        "run": insight.run.as_ref().map(run),
    })
}

fn operation(insight: &Insight, op: &Operation) -> Value {
    let mut object = json!(op);
    let file = insight.sources.files.get(op.at.file as usize).map_or("", |f| f.name.as_str());
    object["file"] = json!(file);
    object["cost"] = op.cost.as_ref().map_or(Value::Null, cost);
    object
}

fn cost(c: &Cost) -> Value {
    json!({
        "runs": c.runs,
        "nanoseconds": c.time.as_nanos() as u64,
        "counters": counters(&c.counters),
        "rows": c.space.rows,
        "elements": c.space.elements,
        "longest": c.space.longest,
        "empty": c.space.empty,
        "ragged": c.space.ragged,
    })
}

fn counters(c: &Counters) -> Value {
    json!({
        "work": c.work,
        "bytes_materialised": c.bytes_materialised,
        "launches": c.launches,
        "syncs": c.syncs,
    })
}

fn run(r: &RunCost) -> Value {
    json!({
        "runs": r.runs,
        "gpu": r.target == Target::Gpu,
        "threads": r.threads,
        "nanoseconds": r.time.as_nanos() as u64,
        "input_bytes": r.input_bytes,
        "peak_bytes": r.profile.peak_bytes,
        "counters": counters(&r.profile.total),
        "constants": r.constants,
    })
}
