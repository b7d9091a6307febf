//! `par doc`: what a name of the library means, and the documentation as a folder of HTML.

use crate::output;
use crate::source;
use crate::status::{self, Status};
use par::doc;
use std::path::{Path, PathBuf};

/// Arguments of `par doc`.
#[derive(clap::Args)]
pub struct Args {
    /// Write the pages of the whole library and of the files into this folder
    #[arg(long, value_name = "DIR")]
    html: Option<PathBuf>,
    /// A name: `map`, `f32.sqrt`, `++`. With --html: programs whose `-- |` comments to add
    #[arg(value_name = "NAME|FILE")]
    names: Vec<String>,
}

/// Prints or writes documentation.
pub fn doc(args: &Args) -> Result<Status, Status> {
    match (&args.html, &args.names[..]) {
        (Some(folder), files) => html(folder, files),
        (None, []) => {
            status::fail("which name? `par doc map`, `par doc f32.sqrt`, or `par doc --html DIR`");
            Err(Status::Rejected)
        }
        (None, names) => names.iter().try_for_each(|name| page(name)).map(|()| Status::Success),
    }
}

fn page(name: &str) -> Result<(), Status> {
    let (items, sources) = doc::library();
    let found = doc::lookup(&items, name).map_err(|close| unknown(name, &close))?;
    output::text(&doc::page(&found, &sources))
}

/// Reports that a name is not documented.
pub fn unknown(name: &str, close: &[String]) -> Status {
    let names: Vec<String> = close.iter().map(|n| format!("`{n}`")).collect();
    let hint =
        if names.is_empty() { String::new() } else { format!("; did you mean {}?", names.join(" or ")) };
    status::fail(&format!("there is no definition `{name}`{hint}"));
    Status::Rejected
}

fn html(folder: &Path, files: &[String]) -> Result<Status, Status> {
    let mut programs = Vec::new();
    for file in files {
        programs.push((file.clone(), source::read(Path::new(file))?));
    }
    let site = doc::html::site(&programs).map_err(|f| status::failure(&f))?;
    for (name, text) in &site {
        write(&folder.join(name), text)?;
    }
    let pages = site.iter().filter(|(n, _)| n.ends_with(".html")).count();
    output::text(&format!("{pages} pages in {}\n", folder.display())).map(|()| Status::Success)
}

fn write(path: &Path, text: &str) -> Result<(), Status> {
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(path, text))
        .map_err(|e| status::fail(&format!("cannot write {}: {e}", path.display())))
}
