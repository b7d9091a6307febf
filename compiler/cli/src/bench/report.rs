//! Results as a table, as data, and beside older ones.

use super::machine::Pace;
use super::stats::{differ, interval, median};
use par::insight::{bytes, duration};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// The results of one `par bench`.
#[derive(Serialize, Deserialize)]
pub struct Report {
    /// Number of threads; [`GPU`] stands for one.
    pub threads: usize,
    /// Bytes read and written per second by a plain copy.
    pub copy_rate: f64,
    /// The machine's speed in each process, before and after the calls.
    #[serde(default)]
    pub paces: Vec<Pace>,
    /// One for each call.
    pub results: Vec<Measured>,
    /// With `--against`, those of the other side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<Measured>,
}

/// No threads.
pub const GPU: usize = 0;

/// Times of one call.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    /// The program.
    pub file: String,
    /// The entry point.
    pub entry: String,
    /// Name of the input in the test, or where it stands.
    pub name: String,
    /// Of arguments and result.
    pub bytes: u64,
    /// Of every run, in the order of the runs.
    pub nanoseconds: Vec<u64>,
    /// On a GPU, of every run that copies the arguments there and the result back; the others do not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with_copies: Vec<u64>,
    /// The median of each process that measured it.
    #[serde(default)]
    pub medians: Vec<u64>,
}

/// Reads the results that an earlier `--json` wrote.
pub fn read(path: &Path) -> Result<Report, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    serde_json::from_str(&text)
        .map_err(|e| format!("{}: not results of `par bench --json`: {e}", path.display()))
}

/// With fewer processes a difference may be one of the processes.
const PROCESSES_NEEDED: usize = 5;

impl Measured {
    /// Times in order, of processes if several measured it, else of runs.
    fn sorted(&self) -> Vec<u64> {
        let mut sorted = if self.medians.len() > 1 { &self.medians } else { &self.nanoseconds }.clone();
        sorted.sort_unstable();
        sorted
    }

    /// Times in order, as [`Measured::sorted`], and then in parts of what fixed work took in the same processes, if that is known.
    fn measures(&self, paces: &[Pace]) -> Vec<Vec<u64>> {
        let mut all = vec![self.sorted()];
        if paces.len() == self.medians.len() {
            let parts: Vec<[u64; 2]> = paces.iter().zip(&self.medians).map(|(p, m)| p.of(*m)).collect();
            all.extend([0, 1].map(|work| parts.iter().map(|p| p[work]).collect()));
            all.iter_mut().for_each(|times| times.sort_unstable());
        }
        all
    }

    /// The median with copies, as a column.
    fn copies(&self) -> String {
        let mut sorted = self.with_copies.clone();
        sorted.sort_unstable();
        if sorted.is_empty() { String::new() } else { format!(" {:>11}", time(median(&sorted))) }
    }

    fn is_sure(&self) -> bool {
        self.medians.len() >= PROCESSES_NEEDED
    }

    fn is_of(&self, other: &Measured) -> bool {
        (&self.file, &self.entry, &self.name) == (&other.file, &other.entry, &other.name)
    }

    fn call(&self) -> String {
        let file = self.file.rsplit('/').next().unwrap_or(&self.file);
        format!("{file} {} {}", self.entry, self.name)
    }
}

fn time(nanoseconds: f64) -> String {
    duration(Duration::from_nanos(nanoseconds as u64))
}

impl Report {
    /// Adds what another process measured.
    pub fn add(&mut self, other: Report) {
        self.copy_rate = self.copy_rate.max(other.copy_rate);
        self.paces.extend(other.paces);
        for m in other.results {
            match self.results.iter_mut().find(|known| known.is_of(&m)) {
                Some(known) => {
                    known.nanoseconds.extend(m.nanoseconds);
                    known.with_copies.extend(m.with_copies);
                    known.medians.extend(m.medians);
                }
                None => self.results.push(m),
            }
        }
    }

    /// The call with the number among those of its entry point that a call has in other results: lines differ between versions of a program.
    fn nth_like(&self, other: &Report, m: &Measured) -> Option<&Measured> {
        let of_entry = |o: &&Measured| (&o.file, &o.entry) == (&m.file, &m.entry);
        let all = |r: &'_ Report| r.results.iter().filter(of_entry).count();
        let at = other.results.iter().filter(of_entry).position(|o| o.is_of(m))?;
        let is_line = m.name.starts_with("line ") && all(self) == all(other);
        self.results.iter().filter(of_entry).nth(at).filter(|_| is_line)
    }

    /// One JSON object: threads, copy_rate, and results with the nanoseconds of every run, also those of the other side.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).map_or_else(|e| e.to_string(), |text| text + "\n")
    }

    /// The table for a person.
    pub fn table(&self) -> String {
        let calls: Vec<String> = self.results.iter().map(Measured::call).collect();
        let wide = calls.iter().map(|c| c.chars().count()).max().unwrap_or(0).max(4);
        let mut out = format!(
            "{:<wide$} {:>9} {:>21} {:>5} {:>9} {:>11} {:>8}\n",
            "call", "median", "95 % interval", "runs", "bytes", "rate", "of copy"
        );
        if self.threads == GPU {
            out.insert_str(out.len() - 1, &format!(" {:>11}", "with copies"));
        }
        for (call, m) in calls.iter().zip(&self.results) {
            let sorted = m.sorted();
            let (middle, (lo, hi)) = (median(&sorted), interval(&sorted));
            let rate = m.bytes as f64 / (middle.max(1.0) / 1e9);
            let _ = write!(
                out,
                "{call:<wide$} {:>9} {:>21} {:>5} {:>9} {:>9}/s {:>6.1} %",
                time(middle),
                format!("{} – {}", time(lo as f64), time(hi as f64)),
                m.nanoseconds.len(),
                bytes(m.bytes),
                bytes(rate as u64),
                100.0 * rate / self.copy_rate
            );
            out.push_str(&m.copies());
            out.push('\n');
        }
        let threads = match self.threads {
            GPU => "on a GPU, where arguments and results are; with copies: they are copied there and back"
                .into(),
            1 => "1 thread".into(),
            n => format!("{n} threads"),
        };
        let _ =
            writeln!(out, "\n{threads}; a plain copy reads and writes {}/s", bytes(self.copy_rate as u64));
        out
    }

    /// Times beside those of functions in C, and the geometric mean of the ratios.
    pub fn beside(&self, c: &Report) -> String {
        let pairs: Vec<(&Measured, &Measured)> =
            self.results.iter().filter_map(|m| Some((m, c.results.iter().find(|o| o.is_of(m))?))).collect();
        let wide = pairs.iter().map(|(m, _)| m.call().chars().count()).max().unwrap_or(0).max(4);
        let mut out = format!("{:<wide$} {:>9} {:>9} {:>8}\n", "call", "C", "Par", "Par/C");
        let mut logarithms = Vec::new();
        for (m, c) in &pairs {
            let (par, c) = (median(&m.sorted()), median(&c.sorted()));
            let ratio = par / c.max(1.0);
            logarithms.push(ratio.max(f64::MIN_POSITIVE).ln());
            let _ = writeln!(out, "{:<wide$} {:>9} {:>9} {ratio:>8.2}", m.call(), time(c), time(par));
        }
        let mean = (logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64).exp();
        let threads =
            if self.threads == 1 { "1 thread".to_string() } else { format!("{} threads", self.threads) };
        let _ = writeln!(out, "\n{threads}; geometric mean of {} calls: {mean:.2}", pairs.len());
        let without = self.results.len() - pairs.len();
        if without > 0 {
            let _ = writeln!(out, "{without} without a function in C");
        }
        out
    }

    /// Significant changes since older results, slowest first. Unless both were measured in turns, times have changed in relation to fixed work
    /// as well: what the machine does besides differs from time to time.
    pub fn comparison(&self, old: &Report, in_turns: bool, color: bool) -> String {
        let mut changed = Vec::new();
        let (mut same, mut new, mut unsure, mut of_machine) = (0, 0, false, 0);
        for m in &self.results {
            let Some(before) = old.results.iter().find(|o| o.is_of(m)).or_else(|| old.nth_like(self, m))
            else {
                new += 1;
                continue;
            };
            let (a, b) = (before.measures(&old.paces), m.measures(&self.paces));
            let is_sure = before.is_sure() && m.is_sure();
            unsure |= !is_sure;
            let is_slower = median(&b[0]) > median(&a[0]);
            let differs =
                |(a, b): (&Vec<u64>, &Vec<u64>)| differ(a, b) && is_slower == (median(b) > median(a));
            let times_differ = is_sure && differs((&a[0], &b[0]));
            if times_differ && (in_turns || a.iter().zip(&b).all(differs)) {
                changed.push((
                    median(&b[0]) / median(&a[0]).max(1.0),
                    m.call(),
                    median(&a[0]),
                    median(&b[0]),
                ));
            } else {
                same += 1;
                of_machine += usize::from(times_differ);
            }
        }
        changed.sort_by(|a, b| b.0.total_cmp(&a.0));
        let wide = changed.iter().map(|c| c.1.chars().count()).max().unwrap_or(0);
        let mut out = String::new();
        for (ratio, call, a, b) in &changed {
            let word = if *ratio > 1.0 { "slower" } else { "faster" };
            let factor = if *ratio > 1.0 { *ratio } else { 1.0 / ratio };
            let paint = if *ratio > 1.0 { "31" } else { "32" };
            let said = format!("{factor:.2} times {word}");
            let said = if color { format!("\x1b[{paint}m{said}\x1b[0m") } else { said };
            let _ = writeln!(out, "{call:<wide$}  {:>9} → {:>9}  {said}", time(*a), time(*b));
        }
        if old.threads != self.threads {
            let _ = writeln!(out, "note: the older results are of {} threads", old.threads);
        }
        if of_machine > 0 {
            let _ = writeln!(
                out,
                "note: {of_machine} of them may differ because the machine was busier at one time: a fixed copy or fixed arithmetic beside them did, too (--against measures in turns)"
            );
        }
        if unsure {
            let _ = writeln!(
                out,
                "note: what fewer than {PROCESSES_NEEDED} processes measured on either side is not compared: one process differs from the next"
            );
        }
        let _ = writeln!(out, "{} changed, {same} not significantly, {new} new", changed.len());
        out
    }
}
