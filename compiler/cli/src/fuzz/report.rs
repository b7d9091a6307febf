//! The report that is printed in the end.

use crate::status::{self, Status};
use par_fuzz::Case;
use par_fuzz::coverage::Coverage;
use par_fuzz::judge::{Kind, Verdict};
use std::collections::BTreeMap;
use std::io::Write;
use std::time::Instant;

/// Counts of a campaign.
pub struct Summary {
    start: Instant,
    programs: u64,
    rejected: u64,
    calls: usize,
    failed: usize,
    skipped: usize,
    told: usize,
    /// Findings by signature: the kind, how often, the first seed.
    found: BTreeMap<String, (Kind, u64, u64)>,
}

impl Default for Summary {
    fn default() -> Summary {
        let (programs, rejected, calls, failed, skipped, told) = (0, 0, 0, 0, 0, 0);
        let found = BTreeMap::new();
        Summary { start: Instant::now(), programs, rejected, calls, failed, skipped, told, found }
    }
}

impl Summary {
    /// Adds a verdict; whether it is a finding of a new kind.
    pub fn add(&mut self, seed: u64, verdict: &Verdict) -> bool {
        self.programs += 1;
        match verdict {
            Verdict::Agreed { calls, failed, skipped, told } => {
                self.calls += calls;
                self.failed += failed;
                self.skipped += skipped;
                self.told += told;
                false
            }
            Verdict::Finding(finding) => {
                self.rejected += u64::from(finding.kind == Kind::Rejected);
                let entry = self.found.entry(finding.signature()).or_insert((finding.kind, 0, seed));
                entry.1 += 1;
                entry.1 == 1
            }
        }
    }

    /// Prints the counts.
    pub fn finish(&self) -> Status {
        let seconds = self.start.elapsed().as_secs_f64();
        status::say(&format!(
            "{} programs in {seconds:.0} s, {} calls ({} of them ended with the same run-time error everywhere, {} too large to compare), {} programs rejected",
            self.programs, self.calls, self.failed, self.skipped, self.rejected
        ));
        if self.told > 0 {
            status::say(&format!("derivatives other than zero agreed in {} calls", self.told));
        }
        let shown = self.found.iter().filter(|(_, (kind, ..))| *kind != Kind::Rejected);
        for (signature, (_, count, seed)) in shown {
            status::say(&format!("{count:>6} times, first for seed {seed}: {signature}"));
        }
        let worst = self.found.values().map(|f| f.0).filter(|kind| *kind != Kind::Rejected).max();
        match worst {
            None => Status::Success,
            Some(kind) if kind >= Kind::Bug => Status::Bug,
            Some(_) => Status::Failed,
        }
    }
}

/// Prints programs, or counts what is in them.
pub fn look(coverage: bool, cases: impl Iterator<Item = Case>) -> Result<Status, Status> {
    let mut table = Coverage::default();
    let mut out = std::io::stdout().lock();
    let mut write = |text: String| match out.write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(status::fail(&e.to_string())),
        _ => Ok(()),
    };
    for case in cases {
        if coverage {
            table.add(&case);
        } else {
            write(case.to_string())?;
        }
    }
    if coverage {
        write(table.to_string())?;
    }
    Ok(Status::Success)
}
