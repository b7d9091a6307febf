//! The source with its operations beside it.

use super::super::Insight;
use super::super::operations::{Group, Operation};
use super::super::text::{cost, details};
use super::{escape, link};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

#[derive(Default)]
struct Beside<'a> {
    operations: Vec<&'a Operation>,
    /// Roles of its constructs in operations that stand at other lines.
    parts: BTreeMap<&'static str, BTreeSet<usize>>,
}

/// A table for each file that has operations.
pub(super) fn section(insight: &Insight) -> String {
    let mut files: BTreeMap<u32, BTreeMap<usize, Beside>> = BTreeMap::new();
    for op in &insight.operations {
        let own = files.entry(op.at.file).or_default().entry(op.at.line).or_default();
        own.operations.push(op);
        for (steps, what) in op.takes_part() {
            for at in steps.iter().map(|s| &s.at).filter(|at| (at.file, at.line) != (op.at.file, op.at.line))
            {
                let beside = files.entry(at.file).or_default().entry(at.line).or_default();
                beside.parts.entry(what).or_default().insert(op.number);
            }
        }
    }
    let mut out = String::new();
    if insight.run.is_some() {
        out += "<p class=\"dim\">Bars compare operations: <span class=\"key spent\">time</span> \
                <span class=\"key made\">bytes of arrays made</span></p>\n";
    }
    let sources = files.iter().filter_map(|(f, l)| Some((insight.sources.files.get(*f as usize)?, l)));
    let (library, own): (Vec<_>, Vec<_>) = sources.partition(|(source, _)| source.is_library);
    for (source, lines) in own.into_iter().chain(library) {
        let _ = write!(out, "<section><h2>{}</h2>\n<div class=\"source\">\n", escape(&source.name));
        // Of the library only what is used: its files are long.
        let near = |n: usize| lines.range(n.saturating_sub(NEAR)..=n + NEAR).next().is_some();
        for (i, text) in source.text.lines().enumerate() {
            let beside = lines.get(&(i + 1));
            if source.is_library && !near(i + 1) {
                if near(i) {
                    out.push_str("<div class=\"line\"><span class=\"ln\">⋮</span></div>\n");
                }
                continue;
            }
            let class = if beside.is_some() { "line with" } else { "line" };
            let _ = write!(
                out,
                "<div class=\"{class}\" id=\"L{0}\"><span class=\"ln\">{0}</span><code>{1}</code>",
                i + 1,
                escape(text)
            );
            if let Some(beside) = beside {
                out += &plan(insight, beside);
            }
            out.push_str("</div>\n");
        }
        out.push_str("</div></section>\n");
    }
    if files.is_empty() {
        out.push_str("<p>Nothing here works on arrays: the host does everything.</p>\n");
    }
    out
}

fn plan(insight: &Insight, beside: &Beside) -> String {
    let mut out = String::from("<div class=\"plan\">");
    for op in &beside.operations {
        out += &operation(insight, op, beside.operations.len() <= IN_FULL);
    }
    for (what, numbers) in &beside.parts {
        let links: Vec<String> = numbers.iter().map(|n| link(*n)).collect();
        let _ = write!(out, "<p class=\"dim\">{what} {}</p>", links.join(" "));
    }
    out + "</div>"
}

/// So many lines of the library are shown before and after one with operations.
const NEAR: usize = 2;

/// So many operations of a line are shown in full; more are folded.
const IN_FULL: usize = 4;

fn operation(insight: &Insight, op: &Operation, in_full: bool) -> String {
    let group = group(op.group);
    let open = if in_full { " open" } else { "" };
    let mut out = format!(
        "<details class=\"op {group}\" id=\"op{0}\"{open}><summary><span class=\"no\">{0}</span> <b>{1}</b> {2}",
        op.number,
        escape(&op.name),
        escape(&op.detail)
    );
    if let Some(c) = op.cost {
        let time = 100.0 * c.time.as_secs_f64() / insight.longest_time().as_secs_f64();
        let made = 100.0 * c.counters.bytes_materialised as f64 / insight.most_bytes() as f64;
        let _ = write!(out, "<span class=\"cost\">{}</span>", escape(&cost(op, &c)));
        out += &bar("time", time);
        out += &bar("made", made);
    }
    out += "</summary>";
    for text in details(op) {
        let _ = write!(out, "<p class=\"dim\">{}</p>", escape(&text));
    }
    out + "</details>"
}

/// A bar of a length in percent; nothing for what would not be seen.
fn bar(kind: &str, percent: f64) -> String {
    if percent < 0.5 {
        return String::new();
    }
    format!("<div class=\"bar {kind}\" style=\"width:{percent:.1}%\" title=\"{kind}\"></div>")
}

/// The class of a group.
pub(super) fn group(group: Group) -> &'static str {
    match group {
        Group::Kernel => "kernel",
        Group::Array => "array",
        Group::Rows => "rows",
        Group::Sync => "sync",
        Group::Call => "call",
    }
}
