//! `par doc`: what a name of the library means, names by words, types and modules, and the documentation as a folder of HTML.

use crate::output;
use crate::source;
use crate::status::{self, Status};
use par::doc::{self, search};
use std::path::{Path, PathBuf};

/// Arguments of `par doc`.
#[derive(clap::Args)]
pub struct Args {
    /// Write the pages of the whole library and of the files into this folder
    #[arg(long, value_name = "DIR")]
    html: Option<PathBuf>,
    /// A name: `map`, `f32.sqrt`, `++`; a module: `lib/graph`; words to search for: `'connected components'`; a type to search for:
    /// `': [][]a -> []a'`. Nothing: the modules. With --html: programs whose `-- |` comments to add
    #[arg(value_name = "NAME|WORDS|TYPE|FILE")]
    names: Vec<String>,
}

/// Prints or writes documentation.
pub fn doc(args: &Args) -> Result<Status, Status> {
    match (&args.html, &args.names[..]) {
        (Some(folder), files) => html(folder, files),
        (None, []) => {
            let (items, _) = doc::library();
            let text = "The prelude is open everywhere (`par doc map`, `par doc 'sorted rows'`, `par doc ': []a -> a'`). Modules:\n\n";
            output::text(&format!("{text}{}", search::list(&search::modules(&items))))
                .map(|()| Status::Success)
        }
        (None, names) => names.iter().try_for_each(|name| page(name)).map(|()| Status::Success),
    }
}

fn page(name: &str) -> Result<(), Status> {
    let (items, sources) = doc::library();
    if let Some(ty) = name.trim().strip_prefix(':') {
        let ty = doc::Type::parse(ty).map_err(|message| {
            status::fail(&format!("`{}` is no type: {message}", ty.trim()));
            Status::Rejected
        })?;
        return found(&search::by_type(&items, &ty), "nothing has a type like this");
    }
    if name.contains(' ') {
        return found(&search::by_words(&items, name), "nothing is described with these words");
    }
    match doc::lookup(&items, name) {
        Ok(item) => {
            let inside = search::list(&search::of_module(&items, &item.item.name));
            let gap = if inside.is_empty() { "" } else { "\n" };
            output::text(&format!("{}{gap}{inside}", doc::page(&item, &sources)))
        }
        Err(close) => match &search::by_words(&items, name)[..] {
            [] => Err(unknown(name, &close)),
            words => found(words, ""),
        },
    }
}

/// Lists what a search has found.
fn found(items: &[&doc::Item], nothing: &str) -> Result<(), Status> {
    if items.is_empty() {
        status::fail(nothing);
        return Err(Status::Rejected);
    }
    output::text(&search::best(items))
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
