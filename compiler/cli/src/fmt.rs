//! `par fmt`: formats programs.

use crate::files::programs;
use crate::output;
use crate::status::{self, Status};
use par::{Diagnostic, Sources};
use par_fmt::{Refusal, Style, format};
use similar::TextDiff;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Only white space changes; comments and test blocks stay as they are. Where a line may be broken and is broken, it stays
broken; a line that is too long is broken. Files keep their line ends (LF or CRLF).

Examples:
    par fmt sort.par               writes the file if it changes
    par fmt --check examples tests prints the names of files that would change
    par fmt --diff sort.par        shows what would change
    par fmt - <sort.par            formats standard input to standard output

Exit status: 0 success; 1 with --check or --diff: a file would change, or a file cannot be read or written;
2 a file is not a program: it stays as it is, the others are formatted; 101 a bug in Par.";

/// Arguments of `par fmt`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    /// Programs, or folders with programs; `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Change nothing; print the names of the files that would change
    #[arg(long)]
    check: bool,
    /// Change nothing; print what would change
    #[arg(long)]
    diff: bool,
    /// Columns that a line should not exceed
    #[arg(long, value_name = "N", default_value = "100")]
    width: usize,
}

/// Formats all files; the status is that of the worst.
pub fn fmt(args: &Args) -> Result<Status, Status> {
    let mut worst = Status::Success;
    for path in &args.files {
        let files = match path.to_str() {
            Some("-") => vec![path.clone()],
            _ => programs(path).map_err(|e| status::fail(&format!("{}: {e}", path.display())))?,
        };
        for file in files {
            let status = one(&file, args).unwrap_or_else(|status| status);
            if status as u8 > worst as u8 {
                worst = status;
            }
        }
    }
    Ok(worst)
}

fn one(file: &Path, args: &Args) -> Result<Status, Status> {
    let is_stdin = file.to_str() == Some("-");
    let name = if is_stdin { "<standard input>".to_string() } else { file.display().to_string() };
    let text = read(file, is_stdin).map_err(|e| status::fail(&format!("cannot read {name}: {e}")))?;
    let new = format(&text, Style { width: args.width }).map_err(|refusal| refuse(refusal, &name, &text))?;
    let changes = new != text;
    let out = match (changes, is_stdin) {
        (true, _) if args.diff => diff(&name, &text, &new),
        (true, _) if args.check => format!("{name}\n"),
        _ if args.check || args.diff => String::new(),
        (_, true) => new,
        (true, false) => {
            output::write_file(file, |out| out.write_all(new.as_bytes())).map_err(|m| status::fail(&m))?;
            return Ok(Status::Success);
        }
        (false, false) => String::new(),
    };
    // Whoever stopped reading has seen enough.
    let written = std::io::stdout().lock().write_all(out.as_bytes());
    match written {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(status::fail(&format!("cannot write to standard output: {e}")))
        }
        _ if changes && (args.check || args.diff) => Ok(Status::Failed),
        _ => Ok(Status::Success),
    }
}

fn read(file: &Path, is_stdin: bool) -> std::io::Result<String> {
    if !is_stdin {
        return std::fs::read_to_string(file);
    }
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text)?;
    Ok(text)
}

fn refuse(refusal: Refusal, name: &str, text: &str) -> Status {
    match refusal {
        Refusal::Wrong(diagnostics) => {
            let mut sources = Sources::default();
            // The formatter's diagnostics are about file 0, its text without carriage returns.
            sources.add(name, text.replace("\r\n", "\n"), false);
            let diagnostics: Vec<Diagnostic> = diagnostics;
            status::print(&diagnostics, &sources);
            Status::Rejected
        }
        Refusal::Bug(message) => {
            crate::ice::apologise("formatting", &message);
            Status::Bug
        }
    }
}

fn diff(name: &str, old: &str, new: &str) -> String {
    TextDiff::from_lines(old, new).unified_diff().header(name, &format!("{name}, formatted")).to_string()
}
