//! Tokens of the IRs' text form.

use std::fmt;

/// A token.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    /// Letters, digits, `_`, `'`; also with inner dots (`add.i32`, `f32.nan`).
    Word(String),
    /// Digits, fraction, exponent, type suffix.
    Number(String),
    /// In double quotes, here without them and unescaped.
    Text(String),
    /// Punctuation.
    Symbol(&'static str),
    /// End of the text.
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(s) | Token::Number(s) => write!(f, "`{s}`"),
            Token::Text(s) => write!(f, "{s:?}"),
            Token::Symbol(s) => write!(f, "`{s}`"),
            Token::End => f.write_str("the end"),
        }
    }
}

const SYMBOLS: [&str; 17] =
    ["->", "(", ")", "[", "]", "{", "}", ",", ":", "=", "\\", "<", "@", "~", "-", ".", "*"];

/// Splits the text; each token with its line. Ends with [`Token::End`]. `--` starts a comment.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>, String> {
    let mut out = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let mut rest = line.trim_start();
        while !rest.is_empty() && !rest.starts_with("--") {
            let (token, len) = token(rest).map_err(|e| format!("line {}: {e}", i + 1))?;
            out.push((token, i + 1));
            rest = rest[len..].trim_start();
        }
    }
    out.push((Token::End, text.lines().count()));
    Ok(out)
}

/// The first token and its length in bytes.
fn token(rest: &str) -> Result<(Token, usize), String> {
    let first = rest.chars().next().unwrap_or(' ');
    if first == '"' {
        return quoted(rest);
    }
    if first.is_ascii_digit() {
        let len = number_length(rest);
        return Ok((Token::Number(rest[..len].to_string()), len));
    }
    if first.is_alphabetic() || first == '_' {
        let len = word_length(rest);
        return Ok((Token::Word(rest[..len].to_string()), len));
    }
    match SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
        Some(s) => Ok((Token::Symbol(s), s.len())),
        None => Err(format!("unexpected character {first:?}")),
    }
}

fn quoted(rest: &str) -> Result<(Token, usize), String> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => return Ok((Token::Text(text), i + 1)),
            '\\' => match chars.next() {
                Some((_, 'n')) => text.push('\n'),
                Some((_, c)) => text.push(c),
                None => break,
            },
            c => text.push(c),
        }
    }
    Err("a quote is not closed".into())
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '\''
}

fn word_length(rest: &str) -> usize {
    let mut end = 0;
    let mut chars = rest.char_indices().peekable();
    while let Some((i, c)) = chars.next() {
        let inner_dot = c == '.' && chars.peek().is_some_and(|(_, c)| c.is_alphabetic());
        if !is_word(c) && !inner_dot {
            break;
        }
        end = i + c.len_utf8();
    }
    end
}

fn number_length(rest: &str) -> usize {
    let b = rest.as_bytes();
    let digit = |i: usize| b.get(i).is_some_and(u8::is_ascii_digit);
    let digits = |mut i: usize| {
        while digit(i) {
            i += 1;
        }
        i
    };
    let mut i = digits(0);
    if b.get(i) == Some(&b'.') && digit(i + 1) {
        i = digits(i + 1);
    }
    if b.get(i) == Some(&b'e') {
        let sign = matches!(b.get(i + 1), Some(b'-' | b'+')) as usize;
        if digit(i + 1 + sign) {
            i = digits(i + 1 + sign);
        }
    }
    while b.get(i).is_some_and(u8::is_ascii_alphanumeric) {
        i += 1;
    }
    i
}
