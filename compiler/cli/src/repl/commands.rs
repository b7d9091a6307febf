//! What begins with a colon.

use super::state::{Flow, State, print_notes, say};
use crate::source;
use crate::status::{self, Status};
use par::session::{Evaluation, Outcome};
use par::{Backend, Failure, print_core, print_flat};
use std::path::Path;

/// What a command does with its argument.
type Action = fn(&mut State, &str) -> Result<(), Status>;

/// A command: its name, what follows it, what it does in words, and in code. `:quit` is known by having none.
struct Command {
    name: &'static str,
    argument: &'static str,
    help: &'static str,
    action: Option<Action>,
}

const COMMANDS: &[Command] = &[
    Command { name: "help", argument: "", help: "this text", action: Some(help) },
    Command { name: "type", argument: "EXPR", help: "the type of an expression", action: Some(type_of) },
    Command { name: "doc", argument: "NAME", help: "what a definition is for", action: Some(doc) },
    Command { name: "load", argument: "FILE", help: "add the definitions of a file", action: Some(load) },
    Command {
        name: "reload",
        argument: "",
        help: "read the loaded files again; values stay",
        action: Some(reload),
    },
    Command { name: "time", argument: "EXPR", help: "evaluate and say how long it took", action: Some(time) },
    Command { name: "core", argument: "EXPR", help: "the nested parallel code", action: Some(core) },
    Command { name: "flat", argument: "EXPR", help: "the flattened code", action: Some(flat) },
    Command {
        name: "backend",
        argument: "NAME",
        help: "run on cpu, interp or flat-interp",
        action: Some(backend),
    },
    Command {
        name: "threads",
        argument: "N",
        help: "run on N threads, 0 for all processors",
        action: Some(threads),
    },
    Command { name: "quit", argument: "", help: "the end, as Ctrl-D", action: None },
];

const HELP: &str = "\
An expression is evaluated; `it` is the last value. `let x = e` keeps the value of e; def, entry, type, module, open
and import add definitions. What is defined again hides what was before, for later inputs. Input goes on while it is
unfinished; an empty line ends it. Names and commands may be completed with Tab, commands be shortened.
Ctrl-C cancels the line; a running computation cannot be interrupted, Ctrl-C then ends par.";

/// The names of all commands, for completion.
pub fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|c| c.name)
}

/// Does what a command says. Its name may be shortened.
pub fn run(state: &mut State, text: &str) -> Result<Flow, Status> {
    let text = text.trim();
    let (name, argument) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let found = COMMANDS.iter().find(|c| c.name == name);
    let found = found.or_else(|| COMMANDS.iter().find(|c| !name.is_empty() && c.name.starts_with(name)));
    let Some(command) = found else {
        return Err(status::fail(&format!("no command `:{name}`; `:help` lists them")));
    };
    let argument = argument.trim();
    if argument.is_empty() && !command.argument.is_empty() && !matches!(command.name, "backend" | "threads") {
        return Err(status::fail(&format!("`:{}` needs its {}", command.name, command.argument)));
    }
    match command.action {
        Some(action) => action(state, argument).map(|()| Flow::Continue),
        None => Ok(Flow::Quit),
    }
}

fn help(_: &mut State, _: &str) -> Result<(), Status> {
    let line = |c: &Command| format!("  :{:<16} {}\n", format!("{} {}", c.name, c.argument), c.help);
    let list: String = COMMANDS.iter().map(line).collect();
    say(&format!("{HELP}\n\n{list}"))
}

fn type_of(state: &mut State, text: &str) -> Result<(), Status> {
    let ty = state.session.type_of(text).map_err(|f| status::failure(&f))?;
    say(&format!("{text} : {ty}"))
}

fn doc(state: &mut State, name: &str) -> Result<(), Status> {
    match state.session.doc(name) {
        Ok(page) => say(&page),
        Err(close) => Err(crate::doc::unknown(name, &close)),
    }
}

/// `:load FILE`.
pub fn load(state: &mut State, path: &str) -> Result<(), Status> {
    let text = source::read(Path::new(path))?;
    let notes = state.session.load(path, &text).map_err(|f| status::failure(&f))?;
    print_notes(&notes);
    Ok(())
}

fn reload(state: &mut State, _: &str) -> Result<(), Status> {
    let mut unread = None;
    let mut read = |path: &str| {
        source::read(Path::new(path)).map_err(|status| {
            unread = Some(status);
            Failure::Rejected { diagnostics: Vec::new(), sources: par::Sources::default() }
        })
    };
    let result = state.session.reload(&mut read);
    let lost = result.map_err(|failure| unread.unwrap_or_else(|| status::failure(&failure)))?;
    for text in &lost {
        eprintln!("not right any more, left out: {text}");
    }
    Ok(())
}

fn time(state: &mut State, text: &str) -> Result<(), Status> {
    state.enter(text, true)
}

fn core(state: &mut State, text: &str) -> Result<(), Status> {
    dump(state, text, |evaluation| Ok(print_core(evaluation.program.core())))
}

fn flat(state: &mut State, text: &str) -> Result<(), Status> {
    dump(state, text, |evaluation| Ok(print_flat(evaluation.program.flat()?)))
}

fn dump(
    state: &mut State,
    text: &str,
    print: fn(&Evaluation) -> Result<String, Failure>,
) -> Result<(), Status> {
    match state.session.clone().enter(text).map_err(|f| status::failure(&f))? {
        Outcome::Evaluate(evaluation) => say(&print(&evaluation).map_err(|f| status::failure(&f))?),
        Outcome::Function(ty) => {
            Err(status::fail(&format!("there is code for values only; this has type {ty}")))
        }
        Outcome::Declared(_) | Outcome::Nothing => Err(status::fail("an expression is needed")),
    }
}

fn backend(state: &mut State, name: &str) -> Result<(), Status> {
    if name.is_empty() {
        return say(state.backend.name());
    }
    let found = Backend::ALL.into_iter().find(|b| b.name() == name);
    state.backend = found
        .ok_or_else(|| status::fail(&format!("no back end `{name}`: there is cpu, interp, flat-interp")))?;
    Ok(())
}

fn threads(state: &mut State, number: &str) -> Result<(), Status> {
    if number.is_empty() {
        return say(&state.threads.to_string());
    }
    let parsed = number.parse();
    state.threads = parsed.map_err(|_| status::fail(&format!("`{number}` is not a number of threads")))?;
    Ok(())
}
