//! Lines from a terminal: editing and history.

use super::complete::{Completion, Words};
use super::highlight::highlight;
use super::state::{Flow, State};
use crate::status::{self, Status};
use par::session::{is_unfinished, split};
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{ColorMode, CompletionType, Config, Context, Editor, Helper};
use std::borrow::Cow;
use std::cell::Cell;
use std::path::{Path, PathBuf};

const PROMPT: &str = "> ";

/// Inputs that are remembered.
const HISTORY: usize = 10_000;

type Line = Editor<Prompt, DefaultHistory>;

/// Reads and does inputs until Ctrl-D or `:quit`.
pub fn converse(state: &mut State) -> Result<(), Status> {
    let unusable = |e: ReadlineError| status::fail(&format!("cannot use the terminal: {e}"));
    let colors =
        if std::env::var_os("NO_COLOR").is_some() { ColorMode::Disabled } else { ColorMode::Enabled };
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .color_mode(colors)
        .auto_add_history(true)
        .max_history_size(HISTORY)
        .and_then(|config| config.history_ignore_dups(true))
        .map_err(unusable)?
        .build();
    let mut editor = Line::with_config(config).map_err(unusable)?;
    let history = history_file();
    if let Some(path) = &history {
        // The first session has no history.
        let _ = editor.load_history(path);
    }
    crate::output::text(concat!("Par ", env!("CARGO_PKG_VERSION"), ". `:help` explains, Ctrl-D ends.\n"))?;
    answer(state, &mut editor, history.as_deref())
}

fn answer(state: &mut State, editor: &mut Line, history: Option<&Path>) -> Result<(), Status> {
    loop {
        let words = Words(state.session.names());
        editor.set_helper(Some(Prompt { words, files: FilenameCompleter::new(), edited: Cell::new(true) }));
        match editor.readline(PROMPT) {
            Ok(text) => {
                if let Some(path) = history {
                    save(editor, path);
                }
                if let Some((columns, _)) = editor.dimensions() {
                    state.settings.terminal_is(columns as usize);
                }
                if split(text.trim_end()).iter().any(|input| state.input(input) == Flow::Quit) {
                    return Ok(());
                }
            }
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => return Ok(()),
            Err(e) => return Err(status::fail(&format!("cannot read from the terminal: {e}"))),
        }
    }
}

/// File of earlier inputs; `None` if neither `XDG_STATE_HOME` nor `HOME` is an absolute path.
fn history_file() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("par").join("history"))
}

/// Adds the last input to the saved history. Where that is not possible there is none the next time, and nothing else
/// is lost.
fn save(editor: &mut Line, path: &Path) {
    if let Some(folder) = path.parent() {
        let _ = std::fs::create_dir_all(folder);
    }
    let _ = editor.append_history(path);
}

/// Answers to the editor while a line is typed.
struct Prompt {
    words: Words,
    files: FilenameCompleter,
    /// True if the line is still edited, so that the bracket at the cursor is shown with its partner.
    edited: Cell<bool>,
}

impl Helper for Prompt {}

impl Hinter for Prompt {
    type Hint = String;
}

impl Highlighter for Prompt {
    fn highlight<'l>(&self, line: &'l str, pos: usize) -> Cow<'l, str> {
        Cow::Owned(highlight(line, self.edited.get().then_some(pos)))
    }

    /// Every key may change what the line means, and the cursor what is matched.
    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        self.edited.set(kind != CmdKind::ForcedRefresh);
        true
    }
}

impl Validator for Prompt {
    /// Lets Enter end the input if it is finished, a command, or its last line is empty.
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
        match self.words.complete(&line[..pos]) {
            Completion::File => self.files.complete(line, pos, context),
            Completion::Words(at, words) => {
                let pair = |word: String| Pair { display: word.clone(), replacement: word };
                Ok((at, words.into_iter().map(pair).collect()))
            }
        }
    }
}
