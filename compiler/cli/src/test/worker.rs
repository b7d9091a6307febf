//! The process that tests one file.

use crate::output;
use crate::status::{self, Status};
use par::testing::{Settings, run_with, updated};
use std::io::Write;
use std::path::Path;

/// Tests a file and writes an event per line to standard output.
pub fn work(file: &Path, settings: &Settings, update: bool) -> Result<Status, Status> {
    if update {
        rewrite(file, settings).map_err(|m| status::fail(&m))?;
    }
    let mut out = std::io::stdout().lock();
    run_with(file, settings, &mut |event| {
        // If nobody listens any more, nobody has to be told.
        let _ = serde_json::to_writer(&mut out, &event).map(|()| writeln!(out).and_then(|()| out.flush()));
    });
    Ok(Status::Success)
}

/// Writes the values that were found into the file's outputs.
fn rewrite(file: &Path, settings: &Settings) -> Result<(), String> {
    let Ok(text) = std::fs::read_to_string(file) else { return Ok(()) };
    let mismatches = run_with(file, settings, &mut |_| {});
    let (new, changed) = updated(&text, &mismatches);
    if changed == 0 {
        return Ok(());
    }
    output::write_file(file, |out| out.write_all(new.as_bytes()))?;
    status::say(&format!("{}: {changed} outputs rewritten", file.display()));
    Ok(())
}
