//! `par check`: everything that can be said without running.

use crate::options::Compile;
use crate::source;
use crate::status::{self, Messages, Status};
use par::Backend;
use std::path::PathBuf;

/// Arguments of `par check`.
#[derive(clap::Args)]
pub struct Args {
    /// The program
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Check the compiler's own work after every pass
    #[arg(long)]
    verify: bool,
    #[command(flatten)]
    messages: Messages,
    #[command(flatten)]
    compile: Compile,
}

/// Checks a program, including that the CPU back end supports all of it.
pub fn check(args: &Args) -> Result<Status, Status> {
    args.messages.choose();
    let options = args.compile.options(args.verify);
    let program = source::load(&args.file, &options)?;
    program.prepare(Backend::FlatInterp).map_err(|f| status::failure(&f))?;
    Ok(Status::Success)
}
