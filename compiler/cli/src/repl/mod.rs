//! `par repl`: declarations and expressions, one after the other.
//!
//! - `state`: the session and how inputs are evaluated and shown.
//! - `commands`: what begins with a colon.
//! - `editor`: lines from a terminal, with history and completion.
//! - `script`: lines from a file or a pipe.

mod commands;
mod editor;
mod script;
mod state;

use crate::run::BackendName;
use crate::status::Status;
use state::State;
use std::io::IsTerminal;
use std::path::PathBuf;

/// Arguments of `par repl`.
#[derive(clap::Args)]
pub struct Args {
    /// A program whose definitions are loaded first
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// What to run expressions on
    #[arg(long, value_enum, default_value = "cpu")]
    backend: BackendName,
    /// Number of threads [default: all processors]
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true)]
    threads: usize,
}

/// Reads inputs until they end. From a terminal errors are part of the conversation; otherwise the first one is the
/// exit status.
pub fn repl(args: &Args) -> Result<Status, Status> {
    let terminal = std::io::stdin().is_terminal();
    let mut state = State::new(args.backend.into(), args.threads, terminal);
    if let Some(file) = &args.file {
        let path = file.display().to_string();
        state.guarded(|state| commands::load(state, &path));
    }
    if terminal {
        editor::converse(&mut state)?;
        return Ok(Status::Success);
    }
    script::read(&mut state, &mut std::io::stdin().lock())?;
    Ok(state.status())
}
