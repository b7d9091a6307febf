//! Text to standard output and to files.

use crate::status::{self, Status};
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

/// Writes text to standard output. A reader that has seen enough is no error.
pub fn text(text: &str) -> Result<(), Status> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(status::fail(&format!("cannot write to standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// Writes a file, wholly or not at all; see [`par_data::write_file`].
pub fn write_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<(), String> {
    par_data::write_file(path, |file| write(file).map_err(|e| par_data::DataError::new(e.to_string())))
        .map_err(|e| e.message)
}

/// Removes files that are not finished.
pub fn tidy() {
    par_data::remove_unfinished();
}

/// From now on Ctrl-C ends the process without leaving such files.
pub fn tidy_when_interrupted() {
    // Without a handler Ctrl-C just ends the process.
    let _ = ctrlc::set_handler(|| {
        tidy();
        std::process::exit(INTERRUPTED);
    });
}

/// The status of a process that Ctrl-C has ended.
const INTERRUPTED: i32 = 130;
