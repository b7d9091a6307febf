//! Reading test blocks.

use std::path::{Path, PathBuf};

/// What a file says about its own behaviour.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spec {
    /// The program must be rejected with a diagnostic that contains this.
    pub compile_error: Option<String>,
    /// Calls and their outcomes.
    pub cases: Vec<Case>,
}

/// One call of an entry point.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Which one.
    pub entry: String,
    /// Line of the input, from 1.
    pub line: usize,
    /// The arguments.
    pub input: Data,
    /// The outcome.
    pub expected: Expected,
}

/// Where values are.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// In the block.
    Text(String),
    /// In a file.
    File(PathBuf),
}

/// What a call must do.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// Give a result, whatever it is.
    Anything,
    /// Give these values.
    Output(Data),
    /// Fail with a message that contains this.
    Error(String),
}

/// Reads the blocks of a program. File names are relative to `folder`. An error says what is wrong, with its line.
pub fn parse(text: &str, folder: &Path) -> Result<Spec, String> {
    let mut spec = Spec::default();
    for (first, block) in find_blocks(text) {
        Parser { text: &block, pos: 0, first, folder, spec: &mut spec }.block()?;
    }
    Ok(spec)
}

/// The blocks' contents without the comment signs, with the number of their first line.
fn find_blocks(text: &str) -> Vec<(usize, String)> {
    let mut blocks: Vec<(usize, String)> = Vec::new();
    let mut inside = false;
    for (i, line) in text.lines().enumerate() {
        let comment = line.trim_start().strip_prefix("--");
        match comment {
            Some(rest) if rest.trim() == "==" => {
                blocks.push((i + 2, String::new()));
                inside = true;
            }
            Some(rest) if inside => {
                if let Some((_, block)) = blocks.last_mut() {
                    block.push_str(rest);
                    block.push('\n');
                }
            }
            _ => inside = false,
        }
    }
    blocks
}

struct Parser<'a> {
    text: &'a str,
    pos: usize,
    first: usize,
    folder: &'a Path,
    spec: &'a mut Spec,
}

impl Parser<'_> {
    fn block(&mut self) -> Result<(), String> {
        let mut entries = vec!["main".to_string()];
        let mut cases: Vec<Case> = Vec::new();
        while let Some(word) = self.word() {
            match word.as_str() {
                "entry:" => {
                    entries = self.rest_of_line().split_whitespace().map(str::to_string).collect();
                }
                "input" => {
                    let line = self.line();
                    let input = self.data()?;
                    cases.push(Case { entry: String::new(), line, input, expected: Expected::Anything });
                }
                "output" => {
                    let output = self.data()?;
                    self.last(&mut cases)?.expected = Expected::Output(output);
                }
                "error:" if cases.is_empty() => self.spec.compile_error = Some(self.rest_of_line()),
                "error:" => {
                    let text = self.rest_of_line();
                    self.last(&mut cases)?.expected = Expected::Error(text);
                }
                "compile" => {
                    if self.word().as_deref() != Some("error:") {
                        return Err(self.error("expected `compile error: text`"));
                    }
                    self.spec.compile_error = Some(self.rest_of_line());
                }
                "compiled" | "nobench" | "notest" => {}
                "tags" | "structure" | "random" | "script" => self.skip_group(),
                quoted if quoted.starts_with('"') => {}
                other => return Err(self.error(&format!("`{other}` is not part of a test"))),
            }
        }
        for entry in &entries {
            let named = cases.iter().map(|c| Case { entry: entry.clone(), ..c.clone() });
            self.spec.cases.extend(named);
        }
        Ok(())
    }

    fn last<'c>(&self, cases: &'c mut [Case]) -> Result<&'c mut Case, String> {
        cases.last_mut().ok_or_else(|| self.error("an outcome without an input"))
    }

    fn line(&self) -> usize {
        self.first + self.text[..self.pos].matches('\n').count()
    }

    fn error(&self, message: &str) -> String {
        format!("line {}: {message}", self.line())
    }

    /// Moves to the next character that is neither white space nor a comment inside the block.
    fn skip_space(&mut self) {
        loop {
            let rest = &self.text[self.pos..];
            let trimmed = rest.trim_start();
            self.pos += rest.len() - trimmed.len();
            if !trimmed.starts_with("--") {
                return;
            }
            self.pos += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    /// The next word; it ends before white space or a brace, and a colon ends it.
    fn word(&mut self) -> Option<String> {
        self.skip_space();
        let rest = &self.text[self.pos..];
        if rest.is_empty() {
            return None;
        }
        let end = match rest.find(|c: char| c.is_whitespace() || matches!(c, '{' | '}' | ':' | '@')) {
            Some(at) if rest[at..].starts_with(':') => at + 1,
            Some(0) => rest.chars().next().map_or(1, char::len_utf8),
            Some(at) => at,
            None => rest.len(),
        };
        self.pos += end;
        Some(rest[..end].to_string())
    }

    fn rest_of_line(&mut self) -> String {
        let rest = &self.text[self.pos..];
        let line = rest.lines().next().unwrap_or("");
        self.pos += line.len();
        line.trim().trim_matches('"').to_string()
    }

    /// `{ values }` or `@ file`.
    fn data(&mut self) -> Result<Data, String> {
        self.skip_space();
        if self.text[self.pos..].starts_with('@') {
            self.pos += 1;
            self.skip_space();
            let rest = &self.text[self.pos..];
            let name = rest.split_whitespace().next().unwrap_or("");
            self.pos += name.len();
            return Ok(Data::File(self.folder.join(name)));
        }
        self.braces().map(Data::Text).ok_or_else(|| self.error("expected `{ values }` or `@ file`"))
    }

    /// What stands between matching braces; strings may contain braces.
    fn braces(&mut self) -> Option<String> {
        self.skip_space();
        let rest = self.text[self.pos..].strip_prefix('{')?;
        let (mut depth, mut in_string, mut escaped) = (1, false, false);
        for (i, c) in rest.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' if in_string => escaped = true,
                '"' => in_string = !in_string,
                '{' if !in_string => depth += 1,
                '}' if !in_string => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.pos += i + 2;
                return Some(rest[..i].to_string());
            }
        }
        None
    }

    /// Words up to braces, and those: what is accepted and not used.
    fn skip_group(&mut self) {
        while !matches!(self.text[self.pos..].chars().next(), None | Some('{' | '\n')) {
            self.pos += self.text[self.pos..].chars().next().map_or(0, char::len_utf8);
        }
        let _ = self.braces();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "-- doc
-- ==
-- entry: a b
-- input { [1, 2] {x = 1} }
-- output { 3 }
-- input @ in.txt output @ out.txt
-- input { \"}\" } error: division by zero
-- structure { Map 1 }
def x = 1
-- ==
-- compile error: no name
";

    #[test]
    fn all_forms() {
        let spec = parse(PROGRAM, Path::new("dir")).unwrap();
        assert_eq!(spec.compile_error.as_deref(), Some("no name"));
        let entries: Vec<_> = spec.cases.iter().map(|c| (c.entry.as_str(), c.line)).collect();
        assert_eq!(entries, [("a", 4), ("a", 6), ("a", 7), ("b", 4), ("b", 6), ("b", 7)]);
        assert_eq!(spec.cases[0].input, Data::Text(" [1, 2] {x = 1} ".into()));
        assert_eq!(spec.cases[0].expected, Expected::Output(Data::Text(" 3 ".into())));
        assert_eq!(spec.cases[1].input, Data::File("dir/in.txt".into()));
        assert_eq!(spec.cases[2].input, Data::Text(" \"}\" ".into()));
        assert_eq!(spec.cases[2].expected, Expected::Error("division by zero".into()));
    }

    #[test]
    fn mistakes_have_a_line() {
        let parse = |text| parse(text, Path::new("")).unwrap_err();
        assert_eq!(parse("-- ==\n-- output { 1 }"), "line 2: an outcome without an input");
        assert_eq!(parse("\n-- ==\n-- inptu { 1 }"), "line 3: `inptu` is not part of a test");
        assert_eq!(parse("-- ==\n-- input 1"), "line 2: expected `{ values }` or `@ file`");
    }
}
