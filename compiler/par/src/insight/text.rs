//! The listing for a terminal: lines of the source on the left, beside each what became of it, totals below.
//!
//! ```text
//!  5 │ map (\r -> i64.sum r) xss   │ [1] reduce add.i64 over n ragged rows s      24 B  1.2 µs
//!    │                             │     for each element of map, line 5
//! ```

use super::checks::Check;
use super::costs::{bytes, count, duration};
use super::operations::{Group, Operation, Step};
use super::{Insight, Rule, RunCost};
use crate::pipeline::Target;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::RangeInclusive;

/// Style of the listing.
#[derive(Clone, Copy, Debug)]
struct Style {
    width: usize,
    color: bool,
}

/// The least that the plan gets of a line.
const PLAN: usize = 44;
/// Narrower than this there is no room for both.
const BESIDE: usize = 100;
/// Lines of source shown around those with a plan.
const CONTEXT: usize = 1;

/// The listing, at most `width` columns wide where it can be.
pub fn listing(insight: &Insight, width: usize, color: bool) -> String {
    Style { width: width.max(72), color }.listing(insight, None)
}

/// The listing of some of the program's lines.
pub fn listing_of_lines(
    insight: &Insight,
    lines: &RangeInclusive<usize>,
    width: usize,
    color: bool,
) -> String {
    Style { width: width.max(72), color }.listing(insight, Some(lines))
}

/// `line 5`, `lines 5 to 8`.
fn line_numbers(lines: &RangeInclusive<usize>) -> String {
    let (first, last) = (lines.start(), lines.end());
    if first == last { format!("line {first}") } else { format!("lines {first} to {last}") }
}

/// Note beside a line.
enum Note<'a> {
    Operation(&'a Operation),
    /// Its construct takes part in these operations, which stand at other lines.
    Part(&'static str, BTreeSet<usize>),
}

type Notes<'a> = BTreeMap<u32, BTreeMap<usize, Vec<Note<'a>>>>;

fn notes<'a>(insight: &'a Insight) -> Notes<'a> {
    let mut notes = Notes::new();
    let mut parts: BTreeMap<(u32, usize, &'static str), BTreeSet<usize>> = BTreeMap::new();
    for op in &insight.operations {
        let own = (op.at.file, op.at.line);
        notes.entry(own.0).or_default().entry(own.1).or_default().push(Note::Operation(op));
        for (steps, what) in op.takes_part() {
            for at in steps.iter().map(|s| &s.at).filter(|at| (at.file, at.line) != own) {
                parts.entry((at.file, at.line, what)).or_default().insert(op.number);
            }
        }
    }
    for ((file, line, what), numbers) in parts {
        notes.entry(file).or_default().entry(line).or_default().push(Note::Part(what, numbers));
    }
    notes
}

impl Style {
    fn listing(self, insight: &Insight, lines: Option<&RangeInclusive<usize>>) -> String {
        let mut out = String::new();
        let mut notes = notes(insight);
        let is_library = |file: u32| insight.sources.files.get(file as usize).is_some_and(|s| s.is_library);
        // A program's file is added after those that it imports.
        let program = insight.sources.files.iter().rposition(|s| !s.is_library).map(|file| file as u32);
        let is_shown =
            |file: u32, line: usize| lines.is_none_or(|lines| program == Some(file) && lines.contains(&line));
        notes.iter_mut().for_each(|(file, notes)| notes.retain(|line, _| is_shown(*file, *line)));
        notes.retain(|_, notes| !notes.is_empty());
        let nothing = notes.is_empty();
        let (library, own): (Vec<_>, Vec<_>) = notes.iter().partition(|(file, _)| is_library(**file));
        for (file, lines) in own.into_iter().chain(library) {
            self.file(insight, *file, lines, &mut out);
        }
        match lines {
            _ if insight.operations.is_empty() => {
                out.push_str("Nothing here works on arrays: the host does everything.\n");
            }
            Some(lines) if nothing => {
                let _ = writeln!(out, "Nothing works on arrays in {}.", line_numbers(lines));
            }
            _ => {}
        }
        out.push('\n');
        self.totals(insight, &mut out);
        if let Some(run) = &insight.run {
            let ops: Vec<&Operation> =
                insight.operations.iter().filter(|op| is_shown(op.at.file, op.at.line)).collect();
            self.rows(&ops, run, &mut out);
        }
        let of_lines = |checks: &[Check]| said(checks.iter().filter(|c| is_shown(c.at.file, c.at.line)));
        self.checks(of_lines(&insight.checks.kept), of_lines(&insight.checks.proved), &mut out);
        self.rules(insight.rules.iter().filter(|r| is_shown(r.at.file, r.at.line)), &mut out);
        out
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }

    fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    fn file(self, insight: &Insight, file: u32, notes: &BTreeMap<usize, Vec<Note>>, out: &mut String) {
        let Some(source) = insight.sources.files.get(file as usize) else { return };
        let _ = writeln!(out, "{}\n", self.paint("1", &format!("{}, entry {}", source.name, insight.entry)));
        let lines: Vec<&str> = source.text.lines().collect();
        let shown = shown(notes.keys().copied(), lines.len());
        let digits = shown.iter().next_back().map_or(1, |n| n.to_string().len());
        let longest = shown.iter().map(|n| lines[n - 1].chars().count()).max().unwrap_or(0);
        let beside = self.width >= BESIDE;
        let left = longest.min((self.width - digits).saturating_sub(if beside { PLAN + 8 } else { 4 }));
        let right =
            if beside { self.width.saturating_sub(digits + left + 8) } else { self.width - digits - 8 };
        let mut last = 0;
        for n in shown {
            if last > 0 && n > last + 1 {
                let _ = writeln!(out, " {:>digits$} {}", "", self.dim("⋮"));
            }
            last = n;
            let code = cut(lines[n - 1], left);
            let mut plan = Vec::new();
            notes.get(&n).into_iter().flatten().for_each(|note| self.note(note, right, &mut plan));
            if !beside {
                self.below(&code, n, &plan, digits, out);
                continue;
            }
            for i in 0..plan.len().max(1) {
                let (number, code) =
                    if i == 0 { (n.to_string(), code.as_str()) } else { (String::new(), "") };
                let bar = self.dim("│");
                let number = self.dim(&format!("{number:>digits$}"));
                let text = plan.get(i).map_or("", String::as_str);
                let line = format!(" {number} {bar} {code:<left$} {bar} {text}");
                let _ =
                    writeln!(out, "{}", if text.is_empty() && !self.color { line.trim_end() } else { &line });
            }
        }
    }

    /// A line with its plan below it.
    fn below(self, code: &str, n: usize, plan: &[String], digits: usize, out: &mut String) {
        let bar = self.dim("│");
        let number = self.dim(&format!("{n:>digits$}"));
        let _ = writeln!(out, "{}", format!(" {number} {bar} {code}").trim_end());
        plan.iter().for_each(|text| *out += &format!(" {:>digits$} {bar}     {text}\n", ""));
    }

    fn note(self, note: &Note, width: usize, out: &mut Vec<String>) {
        match note {
            Note::Part(what, numbers) => {
                let numbers: Vec<String> = numbers.iter().map(|n| format!("[{n}]")).collect();
                let text = wrap(&format!("{what} {}", numbers.join(" ")), width);
                out.extend(text.iter().map(|l| self.dim(l)));
            }
            Note::Operation(op) => self.operation(op, width, out),
        }
    }

    fn operation(self, op: &Operation, width: usize, out: &mut Vec<String>) {
        let number = format!("[{}]", op.number);
        let cost = op.cost.map_or(String::new(), |c| cost(op, &c));
        let head = format!("{} {}", op.name, op.detail);
        let room = width.saturating_sub(number.len() + 1);
        let mut lines = wrap(&head, room);
        let name = lines[0].len().min(op.name.len());
        let color = if op.group == Group::Sync { "33" } else { "36" };
        lines[0] = format!("{}{}", self.paint(color, &lines[0][..name]), &lines[0][name..]);
        out.push(format!("{} {}", self.paint("1", &number), lines[0]));
        let indent = " ".repeat(number.len() + 1);
        out.extend(lines[1..].iter().map(|l| format!("{indent}{l}")));
        let mut say = |text: String, code: &str| {
            out.extend(wrap(&text, room).iter().map(|l| format!("{indent}{}", self.paint(code, l))));
        };
        if !cost.is_empty() {
            say(cost, "32");
        }
        details(op).into_iter().for_each(|text| say(text, "2"));
    }

    fn totals(self, insight: &Insight, out: &mut String) {
        let Some(run) = &insight.run else {
            let launches =
                insight.operations.iter().filter(|o| !matches!(o.group, Group::Sync | Group::Call));
            let syncs = insight.operations.iter().filter(|o| o.group == Group::Sync).count();
            let launches = of(launches.count() as u64, "bulk operation", "bulk operations");
            let text = format!("{launches}, {} that the host waits for", of(syncs as u64, "value", "values"));
            let _ = writeln!(out, "{}  {text}", self.paint("1", "plan  "));
            let _ = writeln!(
                out,
                "        {}",
                self.dim("with --input also times, bytes and the lengths of rows")
            );
            return;
        };
        let _ = writeln!(out, "{}  {}", self.paint("1", "run   "), summary(run));
        for line in totals(run) {
            let _ = writeln!(out, "        {line}");
        }
    }

    fn rows(self, ops: &[&Operation], run: &RunCost, out: &mut String) {
        let ragged = |op: &&&Operation| op.cost.is_some_and(|c| c.space.ragged && c.space.rows > 0);
        let ops: Vec<&&Operation> = ops.iter().filter(ragged).collect();
        if ops.is_empty() || run.runs == 0 {
            return;
        }
        let _ = writeln!(out, "{}", self.paint("1", "ragged rows"));
        let head = format!(
            "{:>8} {:>12} {:>12} {:>12} {:>10} {:>10}",
            "", "rows", "elements", "longest", "mean", "empty"
        );
        let _ = writeln!(out, "{}", self.dim(&head));
        for op in ops {
            let Some(c) = op.cost else { continue };
            let s = c.space;
            let _ = writeln!(
                out,
                "{:>8} {:>12} {:>12} {:>12} {:>10.1} {:>10}",
                format!("[{}]", op.number),
                count(s.rows),
                count(s.elements),
                count(s.longest),
                s.mean(),
                count(s.empty)
            );
        }
    }

    fn checks(self, kept: Vec<String>, proved: Vec<String>, out: &mut String) {
        if kept.len() + proved.len() == 0 {
            return;
        }
        let title = self.paint("1", "checks");
        let _ = writeln!(out, "{title}  {} left, {} proved or not needed", kept.len(), proved.len());
        kept.iter().for_each(|text| *out += &format!("        • {text}\n"));
        proved.iter().for_each(|text| *out += &format!("        ✓ {text}\n"));
    }

    fn rules<'a>(self, rules: impl Iterator<Item = &'a Rule>, out: &mut String) {
        let mut said: Vec<String> = rules.map(Rule::said).collect();
        if !said.is_empty() {
            let _ = writeln!(out, "{}, backward", self.paint("1", "derivatives"));
            said.dedup();
            said.iter().for_each(|rule| *out += &format!("        • {rule}\n"));
        }
    }
}

/// Checks in words; the same words may stand for several places of a line.
fn said<'a>(checks: impl Iterator<Item = &'a Check>) -> Vec<String> {
    let mut said: Vec<String> = checks.map(checked).collect();
    said.dedup();
    said
}

/// Lines with notes and those around them.
fn shown(lines: impl Iterator<Item = usize>, last: usize) -> BTreeSet<usize> {
    lines
        .flat_map(|n| n.saturating_sub(CONTEXT).max(1)..=(n + CONTEXT).min(last))
        .filter(|n| *n <= last)
        .collect()
}

/// A check in words.
pub(super) fn checked(check: &Check) -> String {
    let places: Vec<String> = check.operations.iter().map(|n| format!("[{n}]")).collect();
    let inside =
        if places.is_empty() { String::new() } else { format!(", for each element of {}", places.join(" ")) };
    format!("line {}: {}{inside}", check.at.line, check.what)
}

/// One line about the runs.
pub(super) fn summary(run: &RunCost) -> String {
    let threads = match (run.target, run.threads) {
        (Target::Gpu, _) => "a GPU, waiting after every operation".to_string(),
        (_, 1) => "1 thread".to_string(),
        (_, n) => format!("{n} threads"),
    };
    let runs = if run.runs == 1 { "one run".to_string() } else { format!("median of {} runs", run.runs) };
    format!("{} on {threads} ({runs})", duration(run.time))
}

/// The counters in words.
pub(super) fn totals(run: &RunCost) -> Vec<String> {
    let c = &run.profile.total;
    let mut lines = vec![
        format!(
            "{}, {}, {} scalar operations and accesses",
            of(c.launches, "launch", "launches"),
            of(c.syncs, "sync", "syncs"),
            count(c.work)
        ),
        format!(
            "{} made, at most {} at a time, besides {} of input",
            bytes(c.bytes_materialised),
            bytes(run.profile.peak_bytes),
            bytes(run.input_bytes)
        ),
    ];
    if !run.constants.is_empty() {
        lines.push(format!("compiled for arguments with {}", run.constants.join(", ")));
    }
    lines
}

/// Cost of a run of an operation.
pub(super) fn cost(op: &Operation, cost: &par_runtime::profile::Cost) -> String {
    if cost.runs == 0 {
        return "did not run".to_string();
    }
    let mut parts = if op.group == Group::Call { vec![] } else { vec![duration(cost.time)] };
    if cost.counters.bytes_materialised > 0 {
        parts.push(format!("{} made", bytes(cost.counters.bytes_materialised)));
    }
    if cost.runs > 1 || op.group == Group::Call {
        parts.push(of(cost.runs, "time", "times"));
    }
    if cost.space.elements > 0 && op.group == Group::Kernel {
        parts.push(format!("{} elements", count(cost.space.elements)));
    }
    parts.join(" · ")
}

/// Further facts about an operation.
pub(super) fn details(op: &Operation) -> Vec<String> {
    let mut out = Vec::new();
    if !op.fused.is_empty() && op.group == Group::Kernel {
        out.push(format!("fused: {}", steps(op, &op.fused)));
    }
    if !op.sequential.is_empty() {
        out.push(format!("sequential for each element: {}", steps(op, &op.sequential)));
    }
    if !op.unrolled.is_empty() {
        let most = par_ir::tuning::TINY_ELEMENTS;
        out.push(format!("written out, being over at most {most} elements: {}", steps(op, &op.unrolled)));
    }
    out.extend(op.schedule.as_ref().map(|s| format!("on a CPU: {s}")));
    if !op.lines.is_empty() {
        let lines = if op.lines.len() == 1 { "line" } else { "lines" };
        out.push(format!("computes {lines} {}", ranges(&op.lines)));
    }
    let control = control(op);
    match (op.nest.is_empty(), control.is_empty()) {
        (false, true) => out.push(format!("inside {}", steps(op, &op.nest))),
        (true, false) => out.push(format!("runs in {control}")),
        (false, false) => out.push(format!("inside {}; runs in {control}", steps(op, &op.nest))),
        (true, true) => {}
    }
    if !op.version.is_empty() {
        out.push(format!("version: {}", op.version));
    }
    out.extend(op.why.clone());
    if op.copied() {
        out.push("copied: what it updates is used elsewhere, too".to_string());
    }
    out
}

/// Branches, loops and functions of the host around an operation, without loops if the nest around it has one.
fn control(op: &Operation) -> String {
    let in_loop = op.nest.iter().any(|s| s.what == "loop");
    let said = |c: &&String| c.as_str() == "loop" && in_loop;
    op.control.iter().filter(|c| !said(c)).cloned().collect::<Vec<_>>().join(" › ")
}

/// Constructs with their names in the source and their lines. Those that stand where the operation does are inside the
/// library function that is named there: only what they are is known.
fn steps(op: &Operation, steps: &[Step]) -> String {
    let word = |s: &Step| {
        let word = s.at.text.split([' ', '(']).next().unwrap_or_default();
        let is_name = word.starts_with(char::is_alphabetic) && s.what != "loop" && s.what != "if";
        if is_name { word.to_string() } else { s.what.clone() }
    };
    let step = |s: &Step| match s.at == op.at {
        true if s.what == "call" => word(s),
        true => s.what.clone(),
        false => format!("{} (line {})", word(s), s.at.line),
    };
    let mut said: Vec<String> = steps.iter().map(step).collect();
    said.dedup();
    said.join(", ")
}

/// `1–3, 5`.
fn ranges(lines: &[usize]) -> String {
    let consecutive = lines.chunk_by(|a, b| a + 1 == *b);
    let range = |c: &[usize]| match c {
        [one] => one.to_string(),
        _ => format!("{}–{}", c[0], c[c.len() - 1]),
    };
    consecutive.map(range).collect::<Vec<_>>().join(", ")
}

/// `1 sync`, `2 syncs`.
fn of(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

fn cut(line: &str, width: usize) -> String {
    let line = line.replace('\t', "  ");
    if line.chars().count() <= width {
        return line;
    }
    line.chars().take(width - 1).chain(['…']).collect()
}

/// Text in lines of at most `width` characters, broken between words. There is at least one line.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is one");
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_string());
            continue;
        }
        if !last.is_empty() {
            last.push(' ');
        }
        last.push_str(word);
    }
    lines
}
