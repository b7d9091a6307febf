//! The session, its settings, and what happens with an input.

use super::commands;
use super::interrupt::interruptible;
use super::settings::Settings;
use crate::status::{self, Status};
use par::cancel::{poll, watched};
use par::session::{Evaluation, Notes, Outcome, Session};
use par::{CallOptions, CancelToken, Layout, Options, Value, print_pretty, print_value};
use std::io::{ErrorKind, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Next step: nothing more to do, or the end of the session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// On with the next input.
    Continue,
    /// `:quit`.
    Quit,
}

/// Mode of evaluating and showing an input.
#[derive(Clone, Copy, Default)]
pub struct Mode {
    /// Tell how long it took.
    pub timed: bool,
    /// Show every element.
    pub all: bool,
}

/// Everything that inputs change.
pub struct State {
    pub session: Session,
    pub settings: Settings,
    /// True if a person reads along, and is told what was kept.
    terminal: bool,
    /// The first failure.
    status: Status,
    /// Stops the present input.
    cancel: CancelToken,
}

impl State {
    /// A session without definitions.
    pub fn new(settings: Settings, terminal: bool) -> State {
        let session = Session::new(&Options::default());
        State { session, settings, terminal, status: Status::Success, cancel: CancelToken::new() }
    }

    /// The first failure, or success.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Does what an input says: a command or a text in Par.
    pub fn input(&mut self, text: &str) -> Flow {
        let command = text.trim_start().strip_prefix(':').map(str::to_string);
        let mut flow = Flow::Continue;
        self.guarded(|state| {
            match command {
                Some(command) => flow = commands::run(state, &command)?,
                None => state.enter(text, Mode::default())?,
            }
            Ok(())
        });
        flow
    }

    /// Notes a failure, also if it is Ctrl-C or a bug in Par: the session does not end with it.
    pub fn guarded(&mut self, action: impl FnOnce(&mut State) -> Result<(), Status>) {
        let result = interruptible(|token| {
            self.cancel = token.clone();
            let whole =
                || watched(token, || action(self)).unwrap_or_else(|_| Err(status::fail("interrupted")));
            // The panic hook has said everything.
            catch_unwind(AssertUnwindSafe(whole)).unwrap_or(Err(Status::Bug))
        });
        if let (Err(status), Status::Success) = (result, self.status) {
            self.status = status;
        }
    }

    /// Declares or evaluates.
    pub fn enter(&mut self, text: &str, mode: Mode) -> Result<(), Status> {
        let start = Instant::now();
        match self.session.enter(text).map_err(|f| status::failure(&f))? {
            Outcome::Nothing => Ok(()),
            Outcome::Declared(notes) => {
                print_notes(&notes);
                Ok(())
            }
            Outcome::Function(ty) => say(&format!(": {ty}")),
            Outcome::Evaluate(evaluation) => {
                let (value, names) = self.run(*evaluation, start, mode)?;
                self.show(&value, &names, mode)?;
                self.session.keep(&names, value);
                Ok(())
            }
        }
    }

    fn run(
        &self,
        evaluation: Evaluation,
        start: Instant,
        mode: Mode,
    ) -> Result<(Value, Vec<String>), Status> {
        let Evaluation { program, args, names } = evaluation;
        status::print(program.warnings(), program.sources());
        let Settings { backend, threads, .. } = self.settings;
        program.prepare(backend).map_err(|f| status::failure(&f))?;
        let compiled = start.elapsed();
        let start = Instant::now();
        let options = CallOptions {
            backend,
            threads,
            cancel: self.cancel.clone(),
            locate: true,
            ..CallOptions::default()
        };
        let result = program.call(Evaluation::ENTRY, args, &options);
        let value = result.map_err(|f| status::run_failure(&program, &f))?;
        if mode.timed {
            say(&format!("-- {} to run, {} to compile", millis(start.elapsed()), millis(compiled)))?;
        }
        Ok((value, names))
    }

    /// An expression's value; for what gets a name its type, if somebody reads along.
    fn show(&self, value: &Value, names: &[String], mode: Mode) -> Result<(), Status> {
        match names {
            [] => self.show_value(value, mode.all),
            names if self.terminal => say(&format!("{} : {}", names.join(", "), value.ty)),
            _ => Ok(()),
        }
    }

    /// A value in the space that there is, or with all its elements.
    pub fn show_value(&self, value: &Value, all: bool) -> Result<(), Status> {
        let layout = self.settings.layout(all);
        say(&if layout == Layout::PLAIN { print_value(value) } else { print_pretty(value, layout) })
    }
}

fn millis(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

/// Warnings and notes about accepted declarations.
pub fn print_notes(notes: &Notes) {
    status::print(&notes.diagnostics, &notes.sources);
}

/// Bytes that are written without asking whether to stop.
const CHUNK: usize = 1 << 16;

/// Prints a result. Whoever closed the output has seen enough.
pub fn say(text: &str) -> Result<(), Status> {
    let mut out = std::io::stdout().lock();
    let end: &[u8] = if text.ends_with('\n') { b"" } else { b"\n" };
    let written = text
        .as_bytes()
        .chunks(CHUNK)
        .chain([end])
        .try_for_each(|chunk| {
            poll();
            out.write_all(chunk)
        })
        .and_then(|()| out.flush());
    match written {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(status::fail(&format!("cannot write to standard output: {e}")))
        }
        _ => Ok(()),
    }
}
