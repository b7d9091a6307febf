//! `par repl`: declarations and expressions, one after the other.
//!
//! - `state`: the session and how inputs are evaluated and shown; `settings`: what `:set` changes.
//! - `commands`: what begins with a colon.
//! - `interrupt`: Ctrl-C.
//! - `editor`: lines from a terminal, with history; `complete` and `highlight` help while a line is typed.
//! - `script`: lines from a file or a pipe.

mod commands;
mod complete;
mod editor;
mod highlight;
mod interrupt;
mod script;
mod settings;
mod state;

use crate::run::BackendName;
use crate::status::Status;
use settings::Settings;
use state::State;
use std::io::IsTerminal;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
In a terminal errors are part of the conversation, and the exit status is 0. When the input comes from a pipe or a file
there are no prompts, results go to standard output, errors to standard error, and the first failure is the exit
status: 1 for a run-time error, 2 for a rejected input, 3 for something that is not implemented. `:help` lists what else
can be entered.";

/// Arguments of `par repl`.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// A program whose definitions are loaded first
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Back end to run expressions on
    #[arg(long, value_enum, default_value = "cpu")]
    backend: BackendName,
    /// Number of threads; 0: one for each processor
    #[arg(long, value_name = "N", default_value = "0")]
    threads: usize,
}

/// Reads inputs until they end. From a terminal errors are part of the conversation; otherwise the first one is the
/// exit status.
pub fn repl(args: &Args) -> Result<Status, Status> {
    let terminal = std::io::stdin().is_terminal();
    let mut state =
        State::new(Settings::new(args.backend.choose(0, false), args.threads, terminal), terminal);
    if terminal {
        interrupt::install();
    }
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
