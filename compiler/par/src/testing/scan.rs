//! Finding test blocks in a file, and the words, braces and lines in them.

use std::ops::Range;

/// The text of a block. Everything outside it and the comment signs are blanks, so that a place in the text is a place
/// in the file.
pub struct Found {
    /// Line of the `-- ==`, from 1.
    pub line: usize,
    /// The comment before it.
    pub description: String,
    /// Start of the block's text in the file, in bytes.
    pub start: usize,
    /// The block without the comment signs.
    pub text: String,
}

/// The blocks of a file.
pub fn find_blocks(text: &str) -> Vec<Found> {
    let mut blocks: Vec<Found> = Vec::new();
    let (mut inside, mut at) = (false, 0);
    let mut description = Vec::new();
    for (i, line) in text.split_inclusive('\n').enumerate() {
        let end = at + line.len();
        let code = line.trim_start();
        match code.strip_prefix("--") {
            Some(rest) if rest.trim() == "==" => {
                let description = std::mem::take(&mut description).join("\n");
                blocks.push(Found { line: i + 1, description, start: end, text: String::new() });
                inside = true;
            }
            Some(rest) if inside => {
                if let Some(block) = blocks.last_mut() {
                    block.text.push_str(&" ".repeat(line.len() - rest.len()));
                    block.text.push_str(rest);
                }
            }
            Some(rest) => description.push(rest.trim().trim_start_matches("| ").to_string()),
            None => {
                inside = false;
                description.clear();
            }
        }
        at = end;
    }
    blocks
}

/// Mistake in a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// Line in the file, from 1.
    pub line: usize,
    /// The mistake, and what was expected.
    pub message: String,
}

/// Reads a block from left to right.
pub struct Scanner<'a> {
    block: &'a Found,
    pos: usize,
}

impl<'a> Scanner<'a> {
    /// At the beginning.
    pub fn new(block: &'a Found) -> Scanner<'a> {
        Scanner { block, pos: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.block.text[self.pos..]
    }

    /// The line of the file that has been reached.
    pub fn line(&self) -> usize {
        self.block.line + 1 + self.block.text[..self.pos].matches('\n').count()
    }

    /// An error at this line.
    pub fn error(&self, message: impl Into<String>) -> Mistake {
        Mistake { line: self.line(), message: message.into() }
    }

    /// Moves to the next character that is neither white space nor in a comment inside the block.
    pub fn skip_space(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.pos += rest.len() - trimmed.len();
            if !trimmed.starts_with("--") {
                return;
            }
            self.pos += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    /// The next word: it ends before white space, a brace, a quote or `@`, and a colon ends it.
    pub fn word(&mut self) -> Option<&'a str> {
        self.skip_space();
        let rest = self.rest();
        if rest.is_empty() {
            return None;
        }
        let end = match rest.find(|c: char| c.is_whitespace() || matches!(c, '{' | '}' | ':' | '@' | '"')) {
            Some(at) if rest[at..].starts_with(':') => at + 1,
            Some(0) => 1,
            Some(at) => at,
            None => rest.len(),
        };
        self.pos += end;
        Some(&rest[..end])
    }

    /// Takes this word if it is the next one.
    pub fn accept(&mut self, word: &str) -> bool {
        let before = self.pos;
        let found = self.word() == Some(word);
        if !found {
            self.pos = before;
        }
        found
    }

    /// The rest of the line without quotes around it.
    pub fn rest_of_line(&mut self) -> &'a str {
        let line = self.rest().lines().next().unwrap_or("");
        self.pos += line.len();
        let line = line.trim();
        line.strip_prefix('"').and_then(|l| l.strip_suffix('"')).unwrap_or(line)
    }

    /// Text from a quote up to the next one on the line.
    pub fn quoted(&mut self) -> Option<&'a str> {
        let line = self.rest().lines().next().unwrap_or("");
        let end = line.find('"')?;
        self.pos += end + 1;
        Some(&line[..end])
    }

    /// Name of a file, after an `@`.
    pub fn file_name(&mut self) -> Option<&'a str> {
        self.skip_space();
        if !self.rest().starts_with('@') {
            return None;
        }
        self.pos += 1;
        self.skip_space();
        let name = self.rest().split_whitespace().next().unwrap_or("");
        self.pos += name.len();
        Some(name)
    }

    /// Text between matching braces, and where in the file; strings and comments may contain braces.
    pub fn braces(&mut self) -> Option<(&'a str, Range<usize>)> {
        self.skip_space();
        let rest = self.rest().strip_prefix('{')?;
        let end = closing_brace(rest)?;
        let first = self.block.start + self.pos + 1;
        self.pos += end + 2;
        Some((&rest[..end], first..first + end))
    }
}

/// Place of the brace that closes one before the text; `None` if there is none.
fn closing_brace(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped, mut in_comment) = (1, false, false, false);
    for (i, c) in text.char_indices() {
        match c {
            '\n' => (in_comment, in_string, escaped) = (false, false, false),
            _ if in_comment => {}
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ if in_string => {}
            '-' if text[i..].starts_with("--") => in_comment = true,
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(i);
        }
    }
    None
}
