//! The session, its settings, and what happens with an input.

use super::commands;
use crate::status::{self, Status};
use par::io::text::print_to;
use par::session::{Evaluation, Notes, Outcome, Session};
use par::{Backend, Options, Value};
use std::fmt;
use std::io::{ErrorKind, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// How many bytes of a value a person wants to see.
const SHOWN: usize = 4000;

/// What was done: nothing more to do, or the end of the session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// On with the next input.
    Continue,
    /// `:quit`.
    Quit,
}

/// Everything that inputs change.
pub struct State {
    pub session: Session,
    pub backend: Backend,
    pub threads: usize,
    /// Whether a person reads along: values are cut, and what was kept is said.
    terminal: bool,
    /// The first failure.
    status: Status,
}

impl State {
    /// A session without definitions.
    pub fn new(backend: Backend, threads: usize, terminal: bool) -> State {
        let session = Session::new(&Options::default());
        State { session, backend, threads, terminal, status: Status::Success }
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
                None => state.enter(text, false)?,
            }
            Ok(())
        });
        flow
    }

    /// Notes a failure, also if it is a bug in Par: the session does not end with it.
    pub fn guarded(&mut self, action: impl FnOnce(&mut State) -> Result<(), Status>) {
        let result = catch_unwind(AssertUnwindSafe(|| action(self)));
        // The panic hook has said everything.
        let failure = result.unwrap_or(Err(Status::Bug)).err();
        if let (Some(status), Status::Success) = (failure, self.status) {
            self.status = status;
        }
    }

    /// Declares or evaluates; `timed` tells how long it took.
    pub fn enter(&mut self, text: &str, timed: bool) -> Result<(), Status> {
        let start = Instant::now();
        match self.session.enter(text).map_err(|f| status::failure(&f))? {
            Outcome::Nothing => Ok(()),
            Outcome::Declared(notes) => {
                print_notes(&notes);
                Ok(())
            }
            Outcome::Function(ty) => say(&format!(": {ty}")),
            Outcome::Evaluate(evaluation) => {
                let (value, names) = self.run(*evaluation, start, timed)?;
                self.show(&value, &names)?;
                self.session.keep(&names, value);
                Ok(())
            }
        }
    }

    fn run(
        &self,
        evaluation: Evaluation,
        start: Instant,
        timed: bool,
    ) -> Result<(Value, Vec<String>), Status> {
        let Evaluation { program, args, names } = evaluation;
        status::print(program.warnings(), program.sources());
        program.prepare(self.backend).map_err(|f| status::failure(&f))?;
        let compiled = start.elapsed();
        let start = Instant::now();
        let result = program.run(Evaluation::ENTRY, args, self.backend, self.threads);
        let value = result.map_err(|f| status::run_failure(&program, &f))?;
        if timed {
            let text = format!("-- {} to run, {} to compile", millis(start.elapsed()), millis(compiled));
            say(&text)?;
        }
        Ok((value, names))
    }

    /// An expression's value; for what gets a name its type, if somebody reads along.
    fn show(&self, value: &Value, names: &[String]) -> Result<(), Status> {
        if !names.is_empty() {
            return if self.terminal { say(&format!("{} : {}", names.join(", "), value.ty)) } else { Ok(()) };
        }
        let mut text = Shown { text: String::new(), limit: if self.terminal { SHOWN } else { usize::MAX } };
        if print_to(value, &mut text).is_err() {
            text.text.push('…');
        }
        say(&text.text)
    }
}

/// Text that is cut at a limit.
struct Shown {
    text: String,
    limit: usize,
}

impl fmt::Write for Shown {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        if self.text.len() + s.len() > self.limit {
            let room = s.floor_char_boundary(self.limit - self.text.len());
            self.text.push_str(&s[..room]);
            self.limit = self.text.len();
            return Err(fmt::Error);
        }
        self.text.push_str(s);
        Ok(())
    }
}

fn millis(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

/// Warnings and notes about accepted declarations.
pub fn print_notes(notes: &Notes) {
    status::print(&notes.diagnostics, &notes.sources);
}

/// Prints a result. Whoever closed the output has seen enough.
pub fn say(text: &str) -> Result<(), Status> {
    let mut out = std::io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    match write!(out, "{text}{end}").and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(status::fail(&format!("cannot write to standard output: {e}")))
        }
        _ => Ok(()),
    }
}
