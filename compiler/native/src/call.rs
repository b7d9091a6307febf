//! A call of an entry point from the command line: arguments in, results out.

use crate::status::{self, Status};
use crate::{input, output};
use par_runtime::{Entry, Value};
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

/// How arguments are given.
pub const INPUT_HELP: &str = "\
Arguments: FILE holds the next values (text, Futhark's binary format, or .npy); NAME=FILE the value of the
parameter NAME; NAME=@FILE that file's raw bytes, for a parameter of type []u8. May be repeated. Parameters that
nothing is given for are read from standard input";

/// What is called, with what, and what becomes of the result.
#[derive(clap::Args)]
pub struct Call {
    /// Entry point to call [default: main, or the only one]
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Number of threads; 0: one for each processor
    #[arg(long, value_name = "N", default_value = "0")]
    pub threads: usize,
    #[arg(long, value_name = "[NAME=]FILE", help = INPUT_HELP)]
    input: Vec<String>,
    /// Write the results to FILE (.npy: as such a file) instead of standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the results in Futhark's binary format
    #[arg(long)]
    binary: bool,
    /// Run N times after one run that is not counted
    #[arg(long, value_name = "N", requires = "time")]
    runs: Option<usize>,
    /// Write the time of each counted run to FILE: microseconds, one per line
    #[arg(long, value_name = "FILE")]
    time: Option<PathBuf>,
}

impl Call {
    /// Reads the arguments, calls, and writes the results. `enter` hears what begins.
    pub fn run(
        &self,
        entry: &Entry,
        enter: fn(&'static str),
        call: impl Fn(Vec<Value>) -> Result<Value, Status>,
    ) -> Result<Status, Status> {
        enter("reading the input");
        let values = input::read(entry, &self.input).map_err(|message| status::fail(&message))?;
        let (value, times) = self.timed(values, call)?;
        enter("writing the output");
        let target = output::Target { file: self.output.as_deref(), binary: self.binary };
        output::write(value, &target).map_err(|message| status::fail(&message))?;
        if let Some(path) = &self.time {
            let lines: String = times.iter().map(|t| format!("{t}\n")).collect();
            output::write_file(path, |file| file.write_all(lines.as_bytes()))
                .map_err(|m| status::fail(&m))?;
        }
        Ok(Status::Success)
    }

    /// The result and the microseconds of every counted run.
    fn timed(
        &self,
        values: Vec<Value>,
        call: impl Fn(Vec<Value>) -> Result<Value, Status>,
    ) -> Result<(Value, Vec<u128>), Status> {
        let once = |values| {
            let start = Instant::now();
            let result = call(values);
            let time = start.elapsed().as_micros();
            result.map(|value| (value, time))
        };
        let counted = self.runs.unwrap_or(if self.time.is_some() { 1 } else { 0 });
        let mut result = None;
        let mut times = Vec::new();
        for i in 0..counted {
            // Dropped first, so that its memory can be used again.
            drop(result.take());
            let (value, time) = once(values.clone())?;
            if i > 0 {
                times.push(time);
            }
            result = Some(value);
        }
        drop(result.take());
        let (value, time) = once(values)?;
        if counted > 0 {
            times.push(time);
        }
        Ok((value, times))
    }
}
