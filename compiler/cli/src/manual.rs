//! `par manual`: the manual page and completions for shells, from the declarations of the command line.

use crate::Cli;
use crate::status::{self, Status};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use par_native::output;
use std::path::{Path, PathBuf};

/// Arguments of `par manual`.
#[derive(clap::Args)]
pub struct Args {
    /// Completions for this shell instead
    #[arg(long, value_enum, value_name = "SHELL")]
    completions: Option<Shell>,
    /// A page for each subcommand, and completions for every shell, into this folder
    #[arg(long, short, value_name = "DIR", conflicts_with = "completions")]
    output: Option<PathBuf>,
}

/// The shells that packages have completions for, with the names of the files.
const SHELLS: [(Shell, &str); 3] =
    [(Shell::Bash, "par.bash"), (Shell::Fish, "par.fish"), (Shell::Zsh, "_par")];

/// Writes what was asked for.
pub fn manual(args: &Args) -> Result<Status, Status> {
    let done = match (&args.output, args.completions) {
        (Some(folder), _) => all(folder),
        (None, Some(shell)) => {
            return output::text(&completions(shell)).map(|()| Status::Success);
        }
        (None, None) => {
            let page = page(&Cli::command()).map_err(|e| status::fail(&e.to_string()))?;
            return output::text(&String::from_utf8_lossy(&page)).map(|()| Status::Success);
        }
    };
    done.map(|()| Status::Success).map_err(|e| status::fail(&format!("cannot write the manual: {e}")))
}

fn completions(shell: Shell) -> String {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "par", &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn page(command: &Command) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    Man::new(command.clone()).render(&mut bytes)?;
    Ok(bytes)
}

fn all(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut command = Cli::command();
    command.build();
    std::fs::write(folder.join("par.1"), page(&command)?)?;
    for sub in command.get_subcommands().filter(|s| !s.is_hide_set() && s.get_name() != "help") {
        std::fs::write(folder.join(format!("par-{}.1", sub.get_name())), page(sub)?)?;
    }
    for (shell, name) in SHELLS {
        std::fs::write(folder.join(name), completions(shell))?;
    }
    Ok(())
}
