//! Lines from a terminal: editing, history and completion.

use super::commands;
use super::state::{Flow, State};
use crate::status::{self, Status};
use par::session::is_unfinished;
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use std::path::PathBuf;

const PROMPT: &str = "> ";

/// Words that begin or continue inputs.
const KEYWORDS: [&str; 21] = [
    "def", "let", "in", "if", "then", "else", "loop", "for", "while", "do", "match", "case", "with", "type",
    "module", "open", "import", "entry", "local", "true", "false",
];

/// Reads and does inputs until Ctrl-D or `:quit`.
pub fn converse(state: &mut State) -> Result<(), Status> {
    let config = Config::builder().completion_type(CompletionType::List).auto_add_history(true).build();
    let editor = Editor::<Prompt, DefaultHistory>::with_config(config);
    let mut editor = editor.map_err(|e| status::fail(&format!("cannot use the terminal: {e}")))?;
    let history = history_file();
    if let Some(path) = &history {
        // The first session has no history.
        let _ = editor.load_history(path);
    }
    println!("Par {}. `:help` explains, Ctrl-D ends.", env!("CARGO_PKG_VERSION"));
    let result = answer(state, &mut editor);
    if let Some(path) = &history {
        save(&mut editor, path);
    }
    result
}

fn answer(state: &mut State, editor: &mut Editor<Prompt, DefaultHistory>) -> Result<(), Status> {
    loop {
        editor.set_helper(Some(Prompt { names: state.session.names(), files: FilenameCompleter::new() }));
        match editor.readline(PROMPT) {
            Ok(text) if state.input(text.trim_end()) == Flow::Quit => return Ok(()),
            Ok(_) | Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => return Ok(()),
            Err(e) => return Err(status::fail(&format!("cannot read from the terminal: {e}"))),
        }
    }
}

/// Where earlier inputs are kept, if there is a place for it.
fn history_file() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("par").join("history"))
}

/// Saves the history. Where that is not possible there is none the next time, and nothing else is lost.
fn save(editor: &mut Editor<Prompt, DefaultHistory>, path: &PathBuf) {
    if let Some(folder) = path.parent() {
        let _ = std::fs::create_dir_all(folder);
    }
    let _ = editor.append_history(path);
}

/// What the editor asks while a line is typed.
struct Prompt {
    names: Vec<String>,
    files: FilenameCompleter,
}

impl Helper for Prompt {}
impl Hinter for Prompt {
    type Hint = String;
}
impl Highlighter for Prompt {}

impl Validator for Prompt {
    /// Whether Enter ends the input: it is finished, a command, or its last line is empty.
    fn validate(&self, context: &mut ValidationContext) -> rustyline::Result<ValidationResult> {
        let text = context.input();
        let command = text.trim_start().starts_with(':');
        let given_up = text.lines().count() > 0 && text.ends_with('\n');
        Ok(if !command && !given_up && is_unfinished(text) {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Valid(None)
        })
    }
}

impl Completer for Prompt {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, context: &Context) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = &line[..pos];
        if before.starts_with(":l") && before.contains(' ') {
            return self.files.complete(line, pos, context);
        }
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '.');
        let start = before
            .rfind(|c| !is_part(c))
            .map_or(0, |at| at + before[at..].chars().next().map_or(0, char::len_utf8));
        let word = &before[start..];
        if before.starts_with(':') && start == 1 {
            return Ok((start, matching(commands::names(), word)));
        }
        if word.is_empty() {
            return Ok((start, Vec::new()));
        }
        // Members of modules only once the module is written: there are many.
        let dots = word.matches('.').count();
        let names = self.names.iter().map(String::as_str).filter(|n| n.matches('.').count() <= dots);
        Ok((start, matching(names.chain(KEYWORDS), word)))
    }
}

fn matching<'a>(names: impl Iterator<Item = &'a str>, word: &str) -> Vec<Pair> {
    let found = names.filter(|name| name.starts_with(word));
    found.map(|name| Pair { display: name.to_string(), replacement: name.to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_commands_are_completed() {
        let names = ["length", "lengths", "f32.sqrt", "map"].map(String::from).to_vec();
        let prompt = Prompt { names, files: FilenameCompleter::new() };
        let history = DefaultHistory::new();
        let complete = |line: &str| {
            let (start, pairs) = prompt.complete(line, line.len(), &Context::new(&history)).unwrap();
            (start, pairs.into_iter().map(|p| p.replacement).collect::<Vec<_>>())
        };
        assert_eq!(complete("map len"), (4, vec!["length".to_string(), "lengths".to_string()]));
        assert_eq!(complete(":q"), (1, vec!["quit".to_string()]));
        assert_eq!(complete(":type ma"), (6, vec!["map".to_string(), "match".to_string()]));
        assert_eq!(complete("f3").1, Vec::<String>::new());
        assert_eq!(complete("1 + f32.s"), (4, vec!["f32.sqrt".to_string()]));
    }
}
