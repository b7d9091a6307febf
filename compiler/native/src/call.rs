//! A call of an entry point from the command line: arguments in, results out.

use crate::status::{self, Status};
use crate::{input, output, plot, progress, ranks, timeout};
use clap::ValueEnum;
use par_data::{Format, Target};
use par_runtime::ranks::Ranks;
use par_runtime::ranks::values::gather;
use par_runtime::trace::Sink;
use par_runtime::{Entry, Value};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Help for the option `--input`.
pub const INPUT_HELP: &str = "\
Arguments: FILE holds the next values, NAME=FILE the value of the parameter NAME; a FILE of named parts (a CSV's columns) holds the
values of the parameters with these names. May be repeated. Parameters that nothing is given for are read from standard
input";

/// The same with all details.
pub const INPUT_LONG_HELP: &str = "\
Arguments, each from [NAME=][FORMAT:]FILE[#PART]. May be repeated. Parameters that nothing is given for are read from
standard input, which is also the file `-`.

NAME=FILE is the value of the parameter NAME, NAME=@FILE that file's raw bytes for a parameter of type []u8. FILE alone holds
the next values, or, if it has parts that are called like parameters, the values of these. #PART takes a column, an array of an
archive, or a part of a matrix.

Formats are told by the file's first bytes or the ending of its name; FORMAT says it otherwise: text (Par's notation), binary
(Futhark's), raw, npy, npz, csv, tsv (csv-header and csv-noheader say whether the first row has names), json, jsonl
(a value in each line), mtx (Matrix Market), png, pgm, ppm, arrow, arrows (Arrow's streams), parquet. docs/data.md says what each of them can hold";

/// A program that is called.
pub trait Callee {
    /// An argument where calls need it: on a GPU, if that is what the program runs on.
    fn upload(&self, value: Value) -> Result<Value, Status>;
    /// The result of a call. In timed runs it stays where it is.
    fn call(&self, args: Vec<Value>) -> Result<Value, Status>;
    /// The processes that make the same call together, if there are such.
    fn ranks(&self) -> Option<&Ranks> {
        None
    }
}

/// A call: function, arguments, and where the result goes.
#[derive(clap::Args)]
pub struct Call {
    /// Entry point to call [default: main, or the only one]
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Number of threads; 0: one for each processor
    #[arg(long, value_name = "N", default_value = "0")]
    pub threads: usize,
    #[arg(long, short, value_name = "[NAME=]FILE", help = INPUT_HELP, long_help = INPUT_LONG_HELP)]
    input: Vec<String>,
    /// Write the results to [FORMAT:]FILE instead of standard output, in the format that the ending of the name tells: npy, npz,
    /// csv, tsv, json, jsonl, mtx, png, pgm, ppm, arrow, arrows, parquet, or text. `csv:-` is CSV on standard output
    #[arg(long, short, value_name = "[FORMAT:]FILE")]
    output: Option<String>,
    /// Write the results in Futhark's binary format
    #[arg(long)]
    binary: bool,
    /// Show arrays of bytes that are texts as texts, in results and traces: one alone as it is, others in quotation marks
    #[arg(long, conflicts_with = "binary")]
    text: bool,
    /// Draw the result into a picture, x.svg or x.png: lines over arrays of numbers, a heat map of a regular matrix, several lines for tuples and irregular rows
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Kind of the plot
    #[arg(long, value_enum, value_name = "KIND", default_value = "auto", requires = "plot")]
    plot_as: PlotKind,
    /// Stop with an error if compiling and running take longer
    #[arg(long, value_name = "SECONDS", value_parser = timeout::seconds)]
    pub timeout: Option<Duration>,
    /// Run N times after one run that is not counted
    #[arg(long, value_name = "N", requires = "time")]
    runs: Option<usize>,
    /// Write the time of each counted run to FILE: microseconds, one per line. On a GPU the arguments are there before, and the result stays there
    #[arg(long, value_name = "FILE")]
    time: Option<PathBuf>,
}

/// Kind of a plot, as it is named on the command line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlotKind {
    /// The kind that suits the type
    Auto,
    /// Lines
    Lines,
    /// Points
    Points,
    /// Frequencies of values
    Histogram,
    /// A colour for each element of a matrix
    Heat,
}

impl Call {
    /// Reads the arguments, calls, and writes the results. `enter` hears what begins.
    pub fn run(
        &self,
        entry: &Entry,
        enter: fn(&'static str),
        callee: &impl Callee,
    ) -> Result<Status, Status> {
        Sink::show_texts(self.text);
        self.check_format()?;
        self.plot.as_deref().map_or(Ok(()), plot::check)?;
        enter("reading the input");
        let values = self.arguments(entry, callee.ranks()).map_err(|message| status::fail(&message))?;
        let (value, times) = self.timed(values, callee)?;
        enter("writing the output");
        output::tidy_when_interrupted();
        // What is written to the terminal itself is seen.
        let _line = self.output.as_ref().map(|to| progress::Line::new(format!("writing {to}")));
        match callee.ranks() {
            Some(ranks) => self.write_on(ranks, value, &times),
            None => self.write(value, &times),
        }
    }

    /// Writes what ranks have, whose statuses are the same then.
    fn write_on(&self, ranks: &Ranks, value: Value, times: &[u128]) -> Result<Status, Status> {
        let left = match self.plot {
            // It shows all elements.
            Some(_) => gather(value, ranks).map(Some).map_err(|e| e.to_string()),
            None => ranks::write(value, &self.target(), ranks),
        };
        let left = left.map_err(|message| status::fail(&message))?;
        let done = match left {
            _ if ranks.rank() > 0 => Ok(Status::Success),
            Some(value) => self.write(value, times),
            None => self.write_times(times),
        };
        let (Ok(own) | Err(own)) = done;
        let all = ranks.all_gather_number(own as u64).map_err(|e| status::fail(&e.to_string()))?;
        Ok(Status::of_code(Some(all[0] as i32)))
    }

    fn write(&self, value: Value, times: &[u128]) -> Result<Status, Status> {
        if let Some(path) = &self.plot {
            plot::write(value.clone(), self.plot_as, path)?;
            if self.output.is_none() {
                return self.write_times(times);
            }
        }
        self.target().write(value).map_err(|e| status::fail(&e.message))?;
        self.write_times(times)
    }

    /// The arguments, or what is wrong with them.
    pub fn arguments(&self, entry: &Entry, ranks: Option<&Ranks>) -> Result<Vec<Value>, String> {
        match ranks {
            Some(ranks) => ranks::arguments(ranks, input::read_on(entry, &self.input, Some(ranks))),
            None => input::read(entry, &self.input),
        }
    }

    /// True if its runs are timed.
    pub fn is_timed(&self) -> bool {
        self.runs.is_some() || self.time.is_some()
    }

    fn write_times(&self, times: &[u128]) -> Result<Status, Status> {
        if let Some(path) = &self.time {
            let lines: String = times.iter().map(|t| format!("{t}\n")).collect();
            output::write_file(path, |file| file.write_all(lines.as_bytes()))
                .map_err(|m| status::fail(&m))?;
        }
        Ok(Status::Success)
    }

    /// Fails if the results are to go to a file in a format that there is not, before anything is done.
    fn check_format(&self) -> Result<(), Status> {
        let Some(name) = self.output.as_deref().and_then(par_data::unknown_name) else { return Ok(()) };
        let close = par_message::nearest(name, Format::names());
        let known: Vec<&str> = Format::names().collect();
        let meant = close.map_or(String::new(), |close| format!(" (did you mean `{close}`?)"));
        let all = known.join(", ");
        Err(status::fail(&format!(
            "there is no format `{name}`{meant}: there are {all}; a file of that name is `./{name}:…`"
        )))
    }

    /// Destination of the results.
    fn target(&self) -> Target {
        let target = self.output.as_deref().map_or_else(Target::standard_output, Target::parse);
        match target.format {
            _ if self.binary => Target { format: Format::Binary, ..target },
            Format::Text if self.text => Target { format: Format::Texts, ..target },
            _ => target,
        }
    }

    /// The result and the microseconds of every counted run.
    fn timed(&self, values: Vec<Value>, callee: &impl Callee) -> Result<(Value, Vec<u128>), Status> {
        let there = |value| if self.is_timed() { callee.upload(value) } else { Ok(value) };
        let values = values.into_iter().map(there).collect::<Result<Vec<Value>, Status>>()?;
        let once = |values| {
            let start = Instant::now();
            let result = callee.call(values);
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
