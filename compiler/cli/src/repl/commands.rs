//! Commands, which begin with a colon.

use super::settings::SETTINGS;
use super::state::{Flow, Mode, State, print_notes, say};
use crate::source;
use crate::status::{self, Status};
use par::session::{Evaluation, Outcome};
use par::{Failure, print_core, print_flat};
use std::path::Path;

/// Action of a command, given its argument.
type Action = fn(&mut State, &str) -> Result<(), Status>;

/// A command. `:quit` is known by having no action.
struct Command {
    name: &'static str,
    /// Argument that follows it; in brackets if it may be missing.
    argument: &'static str,
    /// One line.
    help: &'static str,
    /// More, for `:help NAME`.
    more: &'static str,
    action: Option<Action>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "help",
        argument: "[COMMAND]",
        help: "this text, or more about a command",
        more: "Command names may be shortened: `:t` is `:type`.",
        action: Some(help),
    },
    Command {
        name: "type",
        argument: "EXPR",
        help: "the type of an expression",
        more: "Nothing is evaluated. For the name of a definition the type is as it was written, with its parameters.",
        action: Some(type_of),
    },
    Command {
        name: "doc",
        argument: "NAME",
        help: "what a definition is for",
        more: "The head of the definition and its documentation comment. Operators too: `:doc |>`.",
        action: Some(doc),
    },
    Command {
        name: "browse",
        argument: "[MODULE]",
        help: "the definitions of the session, or of a module",
        more: "Values and definitions with their types; of a name that was defined again only the last.",
        action: Some(browse),
    },
    Command {
        name: "load",
        argument: "FILE",
        help: "add the definitions of a file",
        more: "They hide earlier ones of the same names. Files that it imports are found next to it.",
        action: Some(load),
    },
    Command {
        name: "list",
        argument: "",
        help: "as :browse, without a module",
        more: "",
        action: Some(browse),
    },
    Command {
        name: "reload",
        argument: "",
        help: "read the loaded files again; values stay",
        more: "Definitions of the prompt that are not right any more are named and left out. With an error in a file \
               everything stays as it was.",
        action: Some(reload),
    },
    Command {
        name: "show",
        argument: "[EXPR]",
        help: "all elements of a value; without EXPR, or `all`: of the last one",
        more: "Otherwise values are cut at the setting `print-limit`.",
        action: Some(show),
    },
    Command {
        name: "time",
        argument: "EXPR",
        help: "evaluate and say how long it took",
        more: "The time to run and the time to compile; what the value needs to be printed is in neither.",
        action: Some(time),
    },
    Command {
        name: "core",
        argument: "EXPR",
        help: "the nested parallel code",
        more: "After optimisation and before flattening. Kept values are its parameters.",
        action: Some(core),
    },
    Command {
        name: "flat",
        argument: "EXPR",
        help: "the flattened code",
        more: "What is compiled to machine code: bulk operations over flat arrays.",
        action: Some(flat),
    },
    Command {
        name: "backend",
        argument: "[NAME]",
        help: "run on cpu, cuda, interp or flat-interp",
        more: "Short for `:set backend NAME`. The two interpreters are slow and have little memory: they are the meaning \
               that the compiler is held against.",
        action: Some(backend),
    },
    Command {
        name: "set",
        argument: "[NAME VALUE]",
        help: "change a setting; alone: list them",
        more: "",
        action: Some(set),
    },
    Command { name: "quit", argument: "", help: "the end, as Ctrl-D", more: "", action: None },
];

const HELP: &str = "\
An expression is evaluated; `it` is the last value. `let x = e` keeps the value
of e; def, entry, type, module, open and import add definitions. What is defined
again hides what was before, for later inputs; earlier definitions go on meaning
the earlier one. Kept values never change: a function that consumes one gets a copy.
Input goes on while it is unfinished; an empty line ends it. Tab completes names,
commands and files, and commands may be shortened. Ctrl-C stops an evaluation or
cancels the line; the session goes on.";

/// The names of all commands, for completion.
pub fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|c| c.name)
}

/// The command that a name, possibly shortened, stands for.
pub fn full_name(name: &str) -> Option<&'static str> {
    find(name).map(|c| c.name)
}

fn find(name: &str) -> Option<&'static Command> {
    let found = COMMANDS.iter().find(|c| c.name == name);
    found.or_else(|| COMMANDS.iter().find(|c| !name.is_empty() && c.name.starts_with(name)))
}

fn unknown(name: &str) -> Status {
    let near = nearest(name, names()).map(|near| format!("; did you mean `:{near}`?"));
    status::fail(&format!("no command `:{name}`{}", near.unwrap_or_else(|| "; `:help` lists them".into())))
}

/// The most similar of some names, if any is similar.
fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = names.map(|n| (par::distance(name, n), n)).min()?;
    (near.0 <= name.chars().count().div_ceil(3)).then_some(near.1)
}

/// Does what a command says.
pub fn run(state: &mut State, text: &str) -> Result<Flow, Status> {
    let text = text.trim();
    let (name, argument) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let command = find(name).ok_or_else(|| unknown(name))?;
    let argument = argument.trim();
    if argument.is_empty() && !command.argument.is_empty() && !command.argument.starts_with('[') {
        return Err(status::fail(&format!("`:{}` needs its {}", command.name, command.argument)));
    }
    if !argument.is_empty() && command.argument.is_empty() {
        return Err(status::fail(&format!("`:{}` takes no argument", command.name)));
    }
    match command.action {
        Some(action) => action(state, argument).map(|()| Flow::Continue),
        None => Ok(Flow::Quit),
    }
}

fn head(c: &Command) -> String {
    format!(":{} {}", c.name, c.argument).trim_end().to_string()
}

fn help(_: &mut State, name: &str) -> Result<(), Status> {
    if name.is_empty() {
        let line = |c: &Command| format!("  {:<18} {}\n", head(c), c.help);
        let list: String = COMMANDS.iter().map(line).collect();
        return say(&format!("{HELP}\n\n{list}"));
    }
    let name = name.trim_start_matches(':');
    let command = find(name).ok_or_else(|| unknown(name))?;
    let mut text = format!("{}\n  {}\n", head(command), command.help);
    if !command.more.is_empty() {
        text += &format!("  {}\n", command.more);
    }
    if command.name == "set" {
        for setting in &SETTINGS {
            let head = format!("{} {}", setting.name, setting.values);
            text += &format!("  {head:<30} {}\n", setting.help);
        }
    }
    say(&text)
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

fn browse(state: &mut State, module: &str) -> Result<(), Status> {
    let module = (!module.is_empty()).then_some(module);
    match state.session.listing(module).map_err(|f| status::failure(&f))? {
        Some(lines) if lines.is_empty() => say("nothing is defined yet"),
        Some(lines) => say(&lines.join("\n")),
        None => {
            let name = module.unwrap_or_default();
            let names = state.session.names().modules;
            let near = nearest(name, names.iter().map(String::as_str));
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            Err(status::fail(&format!("there is no module `{name}`{near}")))
        }
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
    if state.session.loaded().next().is_none() {
        return Err(status::fail("no file was loaded; `:load FILE` does it"));
    }
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
        crate::status::say(&format!("not right any more, left out: {text}"));
    }
    Ok(())
}

fn show(state: &mut State, text: &str) -> Result<(), Status> {
    if !matches!(text, "" | "all") {
        return state.enter(text, Mode { all: true, ..Mode::default() });
    }
    match state.session.value("it") {
        Some(value) => state.show_value(value, true),
        None => Err(status::fail("nothing was evaluated yet")),
    }
}

fn time(state: &mut State, text: &str) -> Result<(), Status> {
    state.enter(text, Mode { timed: true, ..Mode::default() })
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
        return say(state.settings.backend.name());
    }
    state.settings.set("backend", name).map_err(|message| status::fail(&message))
}

fn set(state: &mut State, text: &str) -> Result<(), Status> {
    let (name, value) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let value = value.trim_start_matches([' ', '\t', '=']);
    let known = SETTINGS.iter().map(|s| s.name);
    match state.settings.get(name) {
        None if name.is_empty() => {
            let line = |name: &str| format!("{name:<12} {}\n", state.settings.get(name).unwrap_or_default());
            say(&known.map(line).collect::<String>())
        }
        None => {
            let near = nearest(name, known).map(|near| format!("; did you mean `{near}`?"));
            let near = near.unwrap_or_else(|| "; `:set` lists them".into());
            Err(status::fail(&format!("no setting `{name}`{near}")))
        }
        Some(present) if value.is_empty() => say(&present),
        Some(_) => state.settings.set(name, value).map_err(|message| status::fail(&message)),
    }
}
