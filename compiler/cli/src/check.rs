//! `par check`: everything that can be said without running.

use crate::options::Compile;
use crate::source;
use crate::status::{self, Messages, Status};
use par::Backend;
use std::path::PathBuf;

/// Arguments of `par check`.
#[derive(clap::Args)]
pub struct Args {
    /// The programs, each by itself
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Check the compiler's own work after every pass
    #[arg(long)]
    verify: bool,
    #[command(flatten)]
    messages: Messages,
    #[command(flatten)]
    compile: Compile,
}

/// Checks programs, including that the CPU back end supports all of them. The status is that of the first that is wrong.
pub fn check(args: &Args) -> Result<Status, Status> {
    args.messages.choose();
    let options = args.compile.options(args.verify);
    let one = |file: &PathBuf| {
        let program = source::load(file, &options)?;
        program.prepare(Backend::FlatInterp).map_err(|f| status::failure(&f))
    };
    let results: Vec<Result<(), Status>> = args.files.iter().map(one).collect();
    results.into_iter().collect::<Result<(), _>>().map(|()| Status::Success)
}
