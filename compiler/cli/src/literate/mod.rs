//! `par literate`: a program with its prose, values, plots and pictures as a page.
//!
//! ```text
//! -- # Waves                          comments that begin a line are prose, in Markdown
//!
//! def wave (n: i64) = …               code stays code
//!
//! -- > wave 5                         an expression: it is shown with its value
//! -- > let w = wave 100               a value that directives after it can use; nothing is shown
//! -- > :plot w                        a plot of its value; also :lines, :points, :histogram, :heat
//! -- > :img picture 256               a picture of its value
//! ```
//!
//! - `parse`: a text as pieces. `evaluate`: directives as values. `page`: pieces as Markdown or HTML.

mod evaluate;
mod page;
mod parse;

use crate::output;
use crate::source;
use crate::status::{self, Messages, Status};
use evaluate::Evaluator;
use page::{Page, Shape};
use parse::Piece;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `par literate`.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The program
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Write the page to PAGE: .md (with the pictures in a folder beside it) or .html (with everything inside) [default: FILE.md]
    #[arg(long, short, value_name = "PAGE")]
    output: Option<PathBuf>,
    /// Write nothing; fail if the page is not as it would be written
    #[arg(long)]
    check: bool,
    /// Number of threads; 0: one for each processor
    #[arg(long, value_name = "N", default_value = "0")]
    threads: usize,
    #[command(flatten)]
    messages: Messages,
}

const HELP: &str = "\
Comments that begin a line are prose in Markdown. In them, a line `-- > EXPRESSION` is shown with its value; `-- > let x = e` keeps a
value; `-- > :plot e` (`:lines`, `:points`, `:histogram`, `:heat`) is a plot and `-- > :img e` a picture. Test blocks
are left out. What is unfinished goes on in the next line that begins with `-- >`.";

/// Writes the page of a program.
pub fn literate(args: &Args) -> Result<Status, Status> {
    args.messages.choose();
    let text = source::read(&args.file)?;
    let path = args.output.clone().unwrap_or_else(|| args.file.with_extension("md"));
    let shape = if path.extension().is_some_and(|e| e == "html") { Shape::Html } else { Shape::Markdown };
    let mut evaluator = Evaluator::new(&args.file, &text, args.threads)?;
    let mut page = Page::new(shape, &path);
    for piece in parse::pieces(&text) {
        match piece {
            Piece::Prose(text) => page.prose(&text),
            Piece::Code(text) => page.code(&text),
            Piece::Directive { text, line } => {
                let place = || format!("{}:{line}: this directive fails: {text}", args.file.display());
                page.shown(evaluator.evaluate(&text).inspect_err(|_| {
                    status::fail(&place());
                })?);
            }
        }
    }
    let files = page.finish();
    if args.check { check(&files) } else { write(&files) }
}

type Files = Vec<(PathBuf, Vec<u8>)>;

fn write(files: &Files) -> Result<Status, Status> {
    output::tidy_when_interrupted();
    for (path, bytes) in files {
        let folder = path.parent().filter(|f| !f.as_os_str().is_empty());
        folder
            .map_or(Ok(()), std::fs::create_dir_all)
            .map_err(|e| status::fail(&format!("cannot make the folder for {}: {e}", path.display())))?;
        output::write_file(path, |file| file.write_all(bytes)).map_err(|m| status::fail(&m))?;
    }
    Ok(Status::Success)
}

/// Checks that all files are there as they should be.
fn check(files: &Files) -> Result<Status, Status> {
    let differs = |(path, bytes): &&(PathBuf, Vec<u8>)| std::fs::read(path).ok().as_ref() != Some(bytes);
    let wrong: Vec<&Path> = files.iter().filter(differs).map(|(path, _)| path.as_path()).collect();
    for path in &wrong {
        status::fail(&format!("{} is not as it would be written now", path.display()));
    }
    if wrong.is_empty() { Ok(Status::Success) } else { Err(Status::Failed) }
}
