//! Options of every command that compiles a program.

use clap::ValueEnum;
use par::Options;
use par::pipeline::Versions;
use par::warnings::Warnings;

const WARNINGS_HELP: &str = "\
Which warnings are given: all, none, error (those that are given reject the program), NAME, no-NAME or NAME=error, where
NAME is unknown-attribute, unreachable-case or shadowing-recursion. May be repeated; later ones win";

/// The options themselves.
#[derive(clap::Args)]
pub struct Compile {
    #[arg(short = 'W', value_name = "WARNING", help = WARNINGS_HELP, value_parser = known)]
    warnings: Vec<String>,
    /// Which version runs of what can be done in parallel and also one after the other
    #[arg(long, value_enum, value_name = "VERSION", default_value = "auto")]
    force_version: Forced,
}

/// The versions as they are named on the command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Forced {
    /// What the sizes suggest at run time
    Auto,
    /// Always the flat one
    Flat,
    /// The sequential one wherever there is one
    Seq,
}

impl From<Forced> for Versions {
    fn from(forced: Forced) -> Versions {
        match forced {
            Forced::Auto => Versions::Auto,
            Forced::Flat => Versions::Flat,
            Forced::Seq => Versions::Sequential,
        }
    }
}

impl Compile {
    /// The compiler's options with these; `verify` turns its checks of its own work on.
    pub fn options(&self, verify: bool) -> Options {
        let default = Options::default();
        let mut warnings = Warnings::default();
        // Each was read once already.
        self.warnings.iter().for_each(|w| drop(warnings.set(w)));
        let versions = self.force_version.into();
        Options { verify: verify || default.verify, warnings, versions, ..default }
    }

    /// The same options as arguments.
    pub fn arguments(&self) -> Vec<String> {
        let forced = self.force_version.to_possible_value();
        let forced = forced.map(|v| format!("--force-version={}", v.get_name()));
        self.warnings.iter().map(|w| format!("-W{w}")).chain(forced).collect()
    }
}

fn known(option: &str) -> Result<String, String> {
    Warnings::default().set(option).map(|()| option.to_string())
}
