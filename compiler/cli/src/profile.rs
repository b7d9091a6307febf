//! `par profile`: where the time of a program goes.

use crate::explain::color;
use crate::measure::Subject;
use crate::output;
use crate::status::Status;
use par::insight;

const AFTER_HELP: &str = "\
Every bulk operation with its time, launches, the bytes of the arrays it made and its place in the program, those that took
longest first. What the host does by itself (scalars, branches, loops) is one line at the end.

Exit status: as of `par run`.";

/// Arguments of `par profile`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[command(flatten)]
    subject: Subject,
    /// Show at most N operations
    #[arg(long, value_name = "N", default_value = "30")]
    top: usize,
    /// Write one JSON object with everything that is known instead of a table
    #[arg(long)]
    json: bool,
}

/// Compiles, runs, and shows what took how long.
pub fn profile(args: &Args) -> Result<Status, Status> {
    let loaded = args.subject.load(true)?;
    let insight = args.subject.insight(&loaded)?;
    let text = match (&insight.run, args.json) {
        (Some(run), false) => insight::table(&insight, run, args.top, color()),
        _ => format!("{}\n", insight::json(&insight)),
    };
    output::text(&text).map(|()| Status::Success)
}
