//! Completions: commands and their arguments, names in scope, members of a module, types after a colon.

use super::commands;
use super::settings::SETTINGS;
use par::Backend;
use par::classes::{Class, classify};
use par::session::Names;

/// The words of the language.
const KEYWORDS: [&str; 22] = [
    "assert", "case", "def", "do", "else", "entry", "false", "for", "if", "import", "in", "let", "local",
    "loop", "match", "module", "open", "then", "true", "type", "while", "with",
];

/// Candidates of a completion, and the byte at which it begins.
#[derive(Debug, PartialEq)]
pub enum Completion {
    /// A file's name, which the editor knows to complete.
    File,
    Words(usize, Vec<String>),
}

/// Completions from what the session offers at present.
pub struct Words(pub Names);

impl Words {
    /// Completions of what stands before the cursor.
    pub fn complete(&self, before: &str) -> Completion {
        let line = before.trim_start();
        if let Some(command) = line.strip_prefix(':') {
            return self.complete_command(before, command);
        }
        self.complete_code(before)
    }

    fn complete_command(&self, before: &str, command: &str) -> Completion {
        let Some((name, argument)) = command.split_once(char::is_whitespace) else {
            return matching(before.len() - command.len(), command, commands::names());
        };
        let word = argument.rsplit(char::is_whitespace).next().unwrap_or("");
        let at = before.len() - word.len();
        let settings = || SETTINGS.iter().map(|s| s.name);
        match commands::full_name(name) {
            Some("load") => Completion::File,
            Some("help") => matching(at, word, commands::names()),
            Some("backend") => matching(at, word, Backend::ALL.map(Backend::name)),
            Some("set") if argument.trim_start().starts_with("backend ") => {
                matching(at, word, Backend::ALL.map(Backend::name))
            }
            Some("set") => matching(at, word, settings()),
            Some("browse") => matching(at, word, self.0.modules.iter().map(String::as_str)),
            _ => self.complete_code(before),
        }
    }

    fn complete_code(&self, before: &str) -> Completion {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '.');
        let start = before
            .rfind(|c| !is_part(c))
            .map_or(0, |at| at + before[at..].chars().next().map_or(0, char::len_utf8));
        let word = &before[start..];
        // Members of modules only once the module is written: there are many.
        let dots = word.matches('.').count();
        let near = |names: &'_ [String]| -> Vec<String> {
            names.iter().filter(|n| n.matches('.').count() <= dots).cloned().collect()
        };
        let context = before[..start].trim_end();
        if context.ends_with(':') || context.ends_with(":>") {
            return matching(start, word, near(&self.0.types).iter().map(String::as_str));
        }
        if word.is_empty() {
            return Completion::Words(start, Vec::new());
        }
        let mut all = near(&self.0.all);
        all.extend(KEYWORDS.map(String::from));
        all.extend(locals(&before[..start]));
        all.sort();
        all.dedup();
        matching(start, word, all.iter().map(String::as_str))
    }
}

/// Names in the input itself: many are bound there.
fn locals(text: &str) -> impl Iterator<Item = String> {
    let names = classify(text).into_iter().filter(|(_, class)| *class == Class::Name);
    names.map(|(range, _)| text[range].to_string())
}

fn matching<'a>(at: usize, word: &str, names: impl IntoIterator<Item = &'a str>) -> Completion {
    let found = names.into_iter().filter(|name| name.starts_with(word));
    Completion::Words(at, found.map(str::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(text: &str) -> (usize, Vec<String>) {
        let strings = |words: &[&str]| words.iter().map(|w| w.to_string()).collect();
        let words = Words(Names {
            all: strings(&["f32.sqrt", "f32.sum", "length", "lengths", "map"]),
            types: strings(&["f32", "f64", "m.t"]),
            modules: strings(&["f32", "m"]),
        });
        match words.complete(text) {
            Completion::Words(at, found) => (at, found),
            Completion::File => (usize::MAX, Vec::new()),
        }
    }

    fn assert_completes(text: &str, at: usize, words: &[&str]) {
        let (start, found) = complete(text);
        assert_eq!((start, found.iter().map(String::as_str).collect()), (at, words.to_vec()), "{text}");
    }

    #[test]
    fn names_are_completed() {
        assert_completes("map len", 4, &["length", "lengths"]);
        assert_completes("1 + f32.s", 4, &["f32.sqrt", "f32.sum"]);
        assert_completes("ma", 0, &["map", "match"]);
        assert_completes("let mine = 1 in mi", 16, &["mine"]);
        assert_completes("é + le", 5, &["length", "lengths", "let"]);
        assert_completes("", 0, &[]);
    }

    #[test]
    fn types_follow_a_colon() {
        assert_completes("def f (x: f", 10, &["f32", "f64"]);
        assert_completes("x : ", 4, &["f32", "f64"]);
        assert_completes("x :> m.", 5, &["m.t"]);
    }

    #[test]
    fn commands_and_their_arguments_are_completed() {
        assert_completes(":q", 1, &["quit"]);
        assert_completes(":type ma", 6, &["map", "match"]);
        assert_completes(":set th", 5, &["threads"]);
        assert_completes(":set backend fl", 13, &["flat-interp"]);
        assert_completes(":backend c", 9, &["cpu", "cuda"]);
        assert_completes(":browse ", 8, &["f32", "m"]);
        assert_completes(":help qu", 6, &["quit"]);
        assert_completes(":load x", usize::MAX, &[]);
        assert_completes(":l x", usize::MAX, &[]);
    }
}
