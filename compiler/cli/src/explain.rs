//! `par explain`: what became of a program.

use crate::measure::{Subject, width};
use crate::output;
use crate::status::{self, Status};
use par::insight;
use std::io::{IsTerminal, Write};
use std::ops::RangeInclusive;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Beside each line of the program stand the bulk operations it became, what is computed inside them, what is around them,
and why there are others; below, the run-time checks that are left. With --input (or --run, for an entry point without
parameters or with arguments from standard input) the program is run, and times, bytes and the lengths of ragged rows are
shown too.

Examples:
    par explain spmv.par
    par explain spmv.par --lines 5-8
    par explain spmv.par --input matrix.in --html spmv.html

Exit status: as of `par run`.";

/// Arguments of `par explain`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[command(flatten)]
    subject: Subject,
    /// Run the program although no --input is given
    #[arg(long)]
    run: bool,
    /// Show these lines of the program only: one, or the first and the last
    #[arg(long, value_name = "N[-M]", value_parser = line_range, conflicts_with_all = ["html", "json"])]
    lines: Option<RangeInclusive<usize>>,
    /// Write one self-contained page instead of text
    #[arg(long, value_name = "OUT", conflicts_with = "json")]
    html: Option<PathBuf>,
    /// Write one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Compiles, runs if there is an input, and shows.
pub fn explain(args: &Args) -> Result<Status, Status> {
    let loaded = args.subject.load(args.run || !args.subject.input.is_empty())?;
    let insight = args.subject.insight(&loaded)?;
    if let Some(path) = &args.html {
        let page = insight::page(&insight);
        let written = output::write_file(path, |file| file.write_all(page.as_bytes()));
        return written.map(|()| Status::Success).map_err(|m| status::fail(&m));
    }
    let text = match &args.lines {
        _ if args.json => format!("{}\n", insight::json(&insight)),
        Some(lines) => insight::listing_of_lines(&insight, lines, width(), color()),
        None => insight::listing(&insight, width(), color()),
    };
    output::text(&text).map(|()| Status::Success)
}

/// `5`, or `5-8`.
fn line_range(text: &str) -> Result<RangeInclusive<usize>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |n: &str| n.trim().parse::<usize>().ok().filter(|n| *n > 0);
    let range = number(first).zip(number(last)).map(|(first, last)| first..=last);
    range.filter(|r| !r.is_empty()).ok_or_else(|| "give a line as 5, or lines as 5-8".into())
}

/// True if standard output is coloured.
pub fn color() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}
