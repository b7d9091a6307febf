//! `par explain-error`: what a code means.

use crate::output;
use crate::status::{self, Status};
use par::explain::{self, PAGES};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Arguments of `par explain-error`.
#[derive(clap::Args)]
pub struct Args {
    /// The code of an error or a warning, as in E0203
    #[arg(value_name = "CODE", required_unless_present_any = ["list", "html"])]
    code: Option<String>,
    /// List all codes
    #[arg(long, conflicts_with = "code")]
    list: bool,
    /// Write all pages as HTML into this folder, with an index
    #[arg(long, value_name = "DIR", conflicts_with_all = ["code", "list"])]
    html: Option<PathBuf>,
}

/// Prints the page of a code.
pub fn explain(args: &Args) -> Result<Status, Status> {
    if let Some(folder) = &args.html {
        return html(folder).map(|()| Status::Success).map_err(|message| status::fail(&message));
    }
    let text = match &args.code {
        Some(code) => explain::page(code).map(|page| page.plain(color())).map_err(|nearest| {
            let hint = nearest
                .map_or("`par explain-error --list` lists all".into(), |n| format!("the nearest is {n}"));
            status::fail(&format!("there is no code `{code}`; {hint}"));
            Status::Rejected
        })?,
        None => PAGES.iter().map(|page| format!("{}  {}\n", page.code, page.title())).collect(),
    };
    output::text(&text).map(|()| Status::Success)
}

fn color() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

fn html(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    for (name, text) in explain::html() {
        output::write_file(&folder.join(name), |file| file.write_all(text.as_bytes()))?;
    }
    Ok(())
}
