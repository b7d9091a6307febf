//! Options of every command that compiles a program.

use crate::status::{self, Messages, Status, bytes};
use clap::ValueEnum;
use par::Options;
use par::pipeline::{Splitting, Versions};
use par::tuning::Tuning;
use par::warnings::{self, Warnings};
use std::fmt;
use std::path::{Path, PathBuf};

fn warnings_help() -> String {
    let names = warnings::names();
    format!(
        "Which warnings are given: all, none, error (those that are given reject the program), NAME, no-NAME or NAME=error, where NAME \
         is {names}, or sizes for all about sizes. May be repeated; later ones win"
    )
}

/// The options themselves.
#[derive(clap::Args)]
pub struct Compile {
    #[arg(short = 'W', value_name = "WARNING", help = warnings_help(), value_parser = known)]
    warnings: Vec<String>,
    /// Reject programs with such a warning: `--deny sizes` is `-W sizes=error`. May be repeated
    #[arg(long, value_name = "NAME", value_parser = denied)]
    deny: Vec<String>,
    /// Version to run of what can be done in parallel and also one after the other
    #[arg(long, value_enum, value_name = "VERSION", default_value = "auto")]
    force_version: Forced,
    /// Work through nests in chunks of so many rows at most, whether or not memory is short
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    force_split: Option<u64>,
    /// So many loops around every loop of which a derivative keeps the state: with 1, twice the root of n states are kept instead of n, for one more
    /// evaluation. With `--memory-limit` that is done where memory is short
    #[arg(long, value_name = "LOOPS", default_value = "0", value_parser = clap::value_parser!(u32).range(..=8))]
    checkpoints: u32,
    /// Compile a program of its own for matrices and, on the processor, for short rows of a call's lengths if its arguments have so many elements [default: 1024]; or
    /// `never`
    #[arg(long, value_name = "ELEMENTS", value_parser = least_elements)]
    constant_sizes: Option<Least>,
    /// Fail where a scatter writes two different values to one index, and name the first of them
    #[arg(long)]
    check_scatter: bool,
    /// Let floating point numbers be rounded otherwise, as inside `#[fast_math]`: a * b + c is rounded once, a division by a
    /// constant is a multiplication
    #[arg(long)]
    fast_math: bool,
}

/// Elements of arguments from which on their sizes are constants; none: never.
#[derive(Clone, Copy, Debug)]
struct Least(Option<usize>);

impl fmt::Display for Least {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(n) => write!(f, "{n}"),
            None => f.write_str("never"),
        }
    }
}

fn least_elements(text: &str) -> Result<Least, String> {
    match text {
        "never" => Ok(Least(None)),
        _ => text.parse().map(|n| Least(Some(n))).map_err(|_| "a number of elements, or `never`".into()),
    }
}

/// The versions as they are named on the command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Forced {
    /// The one that the sizes suggest at run time
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
        self.warnings.iter().chain(&self.deny).for_each(|w| drop(warnings.set(w)));
        let versions = self.force_version.into();
        let splitting = self.force_split.map_or(default.splitting, Splitting::Rows);
        let Compile { check_scatter, fast_math, checkpoints, .. } = *self;
        let constant_sizes = self.constant_sizes.map_or(default.constant_sizes, |least| least.0);
        Options {
            verify: verify || default.verify,
            warnings,
            versions,
            splitting,
            check_scatter,
            fast_math,
            checkpoints,
            constant_sizes,
            ..default
        }
    }

    /// The same options as arguments.
    pub fn arguments(&self) -> Vec<String> {
        let forced = self.force_version.to_possible_value();
        let forced = forced.map(|v| format!("--force-version={}", v.get_name()));
        let split = self.force_split.map(|n| format!("--force-split={n}"));
        let checked = self.check_scatter.then(|| "--check-scatter".to_string());
        let fast = self.fast_math.then(|| "--fast-math".to_string());
        let checkpoints = format!("--checkpoints={}", self.checkpoints);
        let sizes = self.constant_sizes.map(|least| format!("--constant-sizes={least}"));
        let warnings = self.warnings.iter().chain(&self.deny).map(|w| format!("-W{w}"));
        warnings
            .chain(forced)
            .chain(split)
            .chain(checked)
            .chain(fast)
            .chain(sizes)
            .chain([checkpoints])
            .collect()
    }
}

/// Options of the commands that compile one program for its runs.
#[derive(clap::Args)]
pub struct Runnable {
    /// Use the thresholds between versions that `par tune` has written
    #[arg(long, value_name = "FILE")]
    tuning: Option<PathBuf>,
    /// Check the compiler's own work after every pass
    #[arg(long)]
    verify: bool,
    #[command(flatten)]
    pub messages: Messages,
    #[command(flatten)]
    compile: Compile,
    #[command(flatten)]
    pub limits: Limits,
    /// Do not check bounds and assertions inside `#[unsafe]`: where they do not hold, the program may read and write
    /// outside its arrays. The interpreters check everything
    #[arg(long)]
    allow_unsafe: bool,
}

impl Runnable {
    /// The compiler's options with all of these.
    pub fn options(&self) -> Result<Options, Status> {
        let tuning = self.tuning.as_deref().map(tuning).transpose()?;
        let options = self.limits.on(self.compile.options(self.verify));
        Ok(Options { tuning, allow_unsafe: self.allow_unsafe, ..options })
    }
}

/// The thresholds in a file.
fn tuning(path: &Path) -> Result<Tuning, Status> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string());
    let tuning = text.and_then(|text| Tuning::parse(&text));
    tuning.map_err(|message| status::fail(&format!("{}: {message}", path.display())))
}

/// Limits of a run.
#[derive(clap::Args)]
pub struct Limits {
    /// Bytes that the program may hold besides its arguments (with k, M or G: times 1024, 1024² or 1024³); more is the error
    /// "out of memory"
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    memory_limit: Option<usize>,
    /// Number of the GPU, where there are several, for `--backend cuda` and `auto`
    #[arg(long, value_name = "N", default_value = "0")]
    device: usize,
    /// The same results in every run: where a scatter writes several values to one index, the last one wins; and no tuning
    /// file is used
    #[arg(long)]
    reproducible: bool,
}

impl Limits {
    /// The number of the GPU.
    pub fn device(&self) -> usize {
        self.device
    }

    /// The options with these limits.
    pub fn on(&self, options: Options) -> Options {
        let Limits { memory_limit, reproducible, device } = *self;
        Options { memory_limit, reproducible, device, ..options }
    }

    /// The same limits as arguments.
    pub fn arguments(&self) -> Vec<String> {
        let reproducible = self.reproducible.then(|| "--reproducible".to_string());
        let device = format!("--device={}", self.device);
        let memory = self.memory_limit.iter().map(|n| format!("--memory-limit={n}"));
        memory.chain(reproducible).chain([device]).collect()
    }
}

fn known(option: &str) -> Result<String, String> {
    Warnings::default().set(option).map(|()| option.to_string())
}

fn denied(name: &str) -> Result<String, String> {
    known(&format!("{name}=error"))
}
