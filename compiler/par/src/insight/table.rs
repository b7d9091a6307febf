//! Operations in the order of the time they took.

use super::costs::{bytes, count, duration};
use super::operations::Operation;
use super::text::{summary, totals};
use super::{Insight, RunCost};
use par_runtime::profile::Cost;
use std::fmt::Write;
use std::time::Duration;

/// Operations that ran, those that took longest first.
pub(super) fn by_time<'a>(insight: &'a Insight) -> Vec<(&'a Operation, Cost)> {
    let mut ran: Vec<(&Operation, Cost)> =
        insight.operations.iter().filter_map(|op| Some((op, op.cost?))).filter(|(_, c)| c.runs > 0).collect();
    ran.sort_by_key(|(op, c)| (std::cmp::Reverse(c.time), op.number));
    ran
}

/// The table for a terminal; at most `rows` operations.
pub fn table(insight: &Insight, run: &RunCost, rows: usize, color: bool) -> String {
    let bold = |text: &str| if color { format!("\x1b[1m{text}\x1b[0m") } else { text.to_string() };
    let ops = by_time(insight);
    let spent: Duration = ops.iter().map(|(_, c)| c.time).sum();
    let mut out = String::new();
    let head = format!(
        "{:>9} {:>6} {:>8} {:>9} {:>12}  {}",
        "time", "share", "launches", "made", "elements", "operation"
    );
    let _ = writeln!(out, "{}", bold(&head));
    for (op, c) in ops.iter().take(rows) {
        let share = 100.0 * c.time.as_secs_f64() / run.time.as_secs_f64().max(1e-12);
        let _ = writeln!(
            out,
            "{:>9} {:>5.1}% {:>8} {:>9} {:>12}  {}",
            duration(c.time),
            share,
            count(c.counters.launches),
            bytes(c.counters.bytes_materialised),
            count(c.space.elements),
            place(insight, op)
        );
    }
    if ops.len() > rows {
        let _ = writeln!(out, "{:>9} {} more operations", "", ops.len() - rows);
    }
    let rest = run.time.saturating_sub(spent);
    let _ =
        writeln!(out, "{:>9} {:>6} everything else: the host, and the measuring itself", duration(rest), "");
    let _ = writeln!(out, "\n{}  {}", bold("run"), summary(run));
    totals(run).iter().for_each(|line| out += &format!("     {line}\n"));
    out
}

fn place(insight: &Insight, op: &Operation) -> String {
    let file = insight.sources.files.get(op.at.file as usize).map_or("", |f| f.name.as_str());
    let file = file.rsplit('/').next().unwrap_or(file);
    format!("{} {}  {file}:{}:{} {}", op.name, op.detail, op.at.line, op.at.column, op.at.text)
}
