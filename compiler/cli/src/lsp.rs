//! `par lsp`.

use crate::status::{Status, say};

/// Options of `par lsp`.
#[derive(clap::Args)]
pub struct Args {
    /// Talk on standard input and output, as it does anyway: editors like to say so
    #[arg(long)]
    stdio: bool,
}

/// Runs the command.
pub fn lsp(_: &Args) -> Result<Status, Status> {
    match par_lsp::serve_stdio() {
        Ok(()) => Ok(Status::Success),
        Err(e) => {
            say(&format!("par lsp: {e}"));
            Err(Status::Failed)
        }
    }
}
