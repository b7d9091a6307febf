//! Options of every command that compiles a program.

use par::Options;
use par::warnings::Warnings;

const WARNINGS_HELP: &str = "\
Which warnings are given: all, none, error (those that are given reject the program), NAME, no-NAME or NAME=error, where
NAME is unknown-attribute, unreachable-case or shadowing-recursion. May be repeated; later ones win";

/// The options themselves.
#[derive(clap::Args)]
pub struct Compile {
    #[arg(short = 'W', value_name = "WARNING", help = WARNINGS_HELP, value_parser = known)]
    warnings: Vec<String>,
}

impl Compile {
    /// The compiler's options with these; `verify` turns its checks of its own work on.
    pub fn options(&self, verify: bool) -> Options {
        let default = Options::default();
        let mut warnings = Warnings::default();
        // Each was read once already.
        self.warnings.iter().for_each(|w| drop(warnings.set(w)));
        Options { verify: verify || default.verify, warnings, ..default }
    }

    /// The same options as arguments.
    pub fn arguments(&self) -> Vec<String> {
        self.warnings.iter().map(|w| format!("-W{w}")).collect()
    }
}

fn known(option: &str) -> Result<String, String> {
    Warnings::default().set(option).map(|()| option.to_string())
}
