//! `par lsp`.

use crate::status::Status;

/// Options of `par lsp`.
#[derive(clap::Args)]
pub struct Args {
    /// Talk on standard input and output, as it does anyway: editors like to say so
    #[arg(long)]
    stdio: bool,
}

/// Runs the command.
#[cfg(feature = "lsp")]
pub fn lsp(_: &Args) -> Result<Status, Status> {
    use crate::status::say;
    match par_lsp::serve_stdio() {
        Ok(()) => Ok(Status::Success),
        Err(e) => {
            say(&format!("par lsp: {e}"));
            Err(Status::Failed)
        }
    }
}

/// There is none.
#[cfg(not(feature = "lsp"))]
pub fn lsp(_: &Args) -> Result<Status, Status> {
    Err(crate::status::built_without("lsp"))
}
