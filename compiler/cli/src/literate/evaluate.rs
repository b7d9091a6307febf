//! Directives as what is shown for them.

use super::parse::expression;
use crate::status::{self, Status};
use par::session::{Evaluation, Outcome, Session};
use par::{Backend, CallOptions, Layout, Options, Value, print_pretty};
use par_native::call::PlotKind as Kind;
use par_native::plot;
use std::path::Path;

/// Result that is shown for a directive.
pub enum Shown {
    /// A value was kept.
    Nothing,
    /// An expression, and its value as text.
    Text { expression: String, value: String },
    /// A plot.
    Svg(String),
    /// A picture, and how wide it is in pixels.
    #[cfg_attr(not(feature = "formats"), expect(dead_code))]
    Png { bytes: Vec<u8>, width: usize },
}

/// A value's text on a page.
const LAYOUT: Layout = Layout { width: 96, limit: 400, texts: false };

/// The program, and what directives have kept.
pub struct Evaluator {
    session: Session,
    threads: usize,
}

impl Evaluator {
    /// Loads the program.
    pub fn new(path: &Path, text: &str, threads: usize) -> Result<Evaluator, Status> {
        let mut session = Session::new(&Options::default());
        let notes = session.load(&path.display().to_string(), text).map_err(|f| status::failure(&f))?;
        status::print(&notes.diagnostics, &notes.sources);
        Ok(Evaluator { session, threads })
    }

    /// Does what a directive says.
    pub fn evaluate(&mut self, text: &str) -> Result<Shown, Status> {
        let (command, text) = expression(text);
        let kind = match command {
            None => return self.text(text),
            Some("img") => return picture(self.value(text)?),
            Some("plot") => Kind::Auto,
            Some("lines") => Kind::Lines,
            Some("points") => Kind::Points,
            Some("histogram") => Kind::Histogram,
            Some("heat") => Kind::Heat,
            Some(other) => {
                let known = "there are :plot, :lines, :points, :histogram, :heat and :img";
                return Err(status::fail(&format!("unknown directive `:{other}`; {known}")));
            }
        };
        plot::svg(self.value(text)?, kind).map(Shown::Svg)
    }

    fn text(&mut self, text: &str) -> Result<Shown, Status> {
        match self.enter(text)? {
            Some((value, names)) if names.is_empty() => {
                let shown = print_pretty(&value, LAYOUT);
                self.session.keep(&names, value);
                Ok(Shown::Text { expression: text.to_string(), value: shown })
            }
            Some((value, names)) => {
                self.session.keep(&names, value);
                Ok(Shown::Nothing)
            }
            None => Ok(Shown::Nothing),
        }
    }

    fn value(&mut self, text: &str) -> Result<Value, Status> {
        let value = self.enter(text)?.map(|(value, _)| value);
        value.ok_or_else(|| status::fail(&format!("`{text}` has no value")))
    }

    /// The value of an input, and the names it is to have; none of a declaration.
    fn enter(&mut self, text: &str) -> Result<Option<(Value, Vec<String>)>, Status> {
        match self.session.enter(text).map_err(|f| status::failure(&f))? {
            Outcome::Nothing => Ok(None),
            Outcome::Function(_) => Err(status::fail("a function has no value that could be shown")),
            Outcome::Declared(notes) => {
                status::print(&notes.diagnostics, &notes.sources);
                Ok(None)
            }
            Outcome::Evaluate(evaluation) => {
                let Evaluation { program, args, names } = *evaluation;
                status::print(program.warnings(), program.sources());
                program.prepare(Backend::Cpu).map_err(|f| status::failure(&f))?;
                let options = CallOptions { threads: self.threads, locate: true, ..CallOptions::default() };
                let result = program.call(Evaluation::ENTRY, args, &options);
                let value = result.map_err(|f| status::run_failure(&program, &f))?;
                Ok(Some((value, names)))
            }
        }
    }
}

#[cfg(feature = "formats")]
fn picture(value: Value) -> Result<Shown, Status> {
    let bytes = par_data::png(value).map_err(|e| status::fail(&e.message))?;
    let width = par_data::png_width(&bytes);
    Ok(Shown::Png { bytes, width })
}

/// Fails: there are no pictures.
#[cfg(not(feature = "formats"))]
fn picture(_: Value) -> Result<Shown, Status> {
    Err(status::built_without("formats"))
}
