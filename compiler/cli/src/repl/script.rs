//! Inputs from a file or a pipe: no prompts, results to standard output, errors to standard error. Ctrl-C ends the process.

use super::state::{Flow, State};
use crate::status::{self, Status};
use par::session::is_unfinished;
use std::io::BufRead;

/// Reads inputs to the end. A line that leaves an input unfinished is joined with the next ones; an empty line and the
/// end of the text finish it as it is.
pub fn read(state: &mut State, lines: &mut dyn BufRead) -> Result<(), Status> {
    let mut text = String::new();
    loop {
        let mut line = Vec::new();
        let count = lines.read_until(b'\n', &mut line);
        let ends = count.map_err(|e| status::fail(&format!("cannot read standard input: {e}")))? == 0;
        let line = String::from_utf8(line).map_err(|_| {
            status::fail("standard input is not UTF-8 text");
            Status::Rejected
        })?;
        text.push_str(&line);
        let given_up = ends || line.trim().is_empty();
        if !given_up && !text.trim_start().starts_with(':') && is_unfinished(&text) {
            continue;
        }
        let flow = state.input(text.trim_end());
        text.clear();
        if ends || flow == Flow::Quit {
            return Ok(());
        }
    }
}
