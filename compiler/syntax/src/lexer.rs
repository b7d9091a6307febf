//! Text to tokens, with byte ranges. Never fails: what is wrong is reported and replaced or left out, so that
//! the parser still sees the rest.
//!
//! Two things are decided here that a grammar cannot see: a `[` directly after an operand is an index
//! (`xs[i]`, but `f [1, 2]` is an application), and the `.` of `?[n].t` is no field access.

use logos::Logos;

use crate::ast::{Literal, Name, Span};
use crate::characters;
use crate::diagnostic::Diagnostic;
use crate::literal;
use crate::token::Tok;

/// Classes of the scanner; names and punctuation are told apart further by their text.
#[derive(Logos, Clone, Copy, Debug, PartialEq)]
#[logos(skip r"[ \t\r\n\x0c\u{feff}]+")]
#[logos(subpattern name = r"[A-Za-z_\u{80}-\u{10ffff}][A-Za-z0-9_'\u{80}-\u{10ffff}]*")]
#[logos(subpattern op = r"[+\-*/%=!><|&^][+\-*/%=!><|&^.]*")]
#[logos(subpattern word = r"[A-Za-z0-9_\u{80}-\u{10ffff}]*")]
enum Raw {
    #[regex(r"--[^\n]*", allow_greedy = true)]
    Comment,
    /// `# text` and `#! text`, comments elsewhere.
    #[regex(r"#[ \t#!][^\n]*", allow_greedy = true)]
    HashComment,
    #[regex(r"(?&name)", priority = 3)]
    Name,
    #[regex(r"((?&name)\.)+(?&name)", priority = 4)]
    Qual,
    #[regex(r"(?&op)", priority = 1)]
    #[regex(r"((?&name)\.)+(?&op)", priority = 4)]
    Op,
    #[regex(r"`((?&name)\.)*(?&name)`")]
    Backtick,
    #[regex(r"'[\^~]?(?&name)", priority = 3)]
    TypeVar,
    #[regex(r"'[^'\\\n]'", priority = 20)]
    #[regex(r"'\\[^\n][^'\n]*'", priority = 20)]
    Char,
    #[regex(r"#(?&name)")]
    Constr,
    #[regex(r"\.(?&name)")]
    #[regex(r"\.[0-9]+")]
    Field,
    #[regex(r"[0-9](?&word)", priority = 5)]
    #[regex(r"[0-9][0-9_]*\.[0-9](?&word)", priority = 6)]
    #[regex(r"[0-9][0-9_]*(\.[0-9][0-9_]*)?[eE][+\-]?[0-9](?&word)", priority = 7)]
    #[regex(r"0[xX][0-9a-fA-F_]+(\.[0-9a-fA-F_]+)?[pP][+\-]?[0-9](?&word)", priority = 8)]
    Number,
    #[regex(r#""([^"\\\n]|\\[^\n])*""#, priority = 10)]
    String,
    #[regex(r#""([^"\\\n]|\\[^\n])*"#, priority = 9)]
    UnclosedString,
    #[token("(")]
    #[token(")")]
    #[token("[")]
    #[token("]")]
    #[token("{")]
    #[token("}")]
    #[token(".(")]
    #[token(".[")]
    #[token("#[")]
    #[token(",")]
    #[token(":")]
    #[token(":>")]
    #[token("\\")]
    #[token("?")]
    #[token("???")]
    #[token("~")]
    #[token(".")]
    #[token("..")]
    #[token("...")]
    #[token("..<")]
    #[token("..>")]
    Punctuation,
}

/// A token with its byte range.
pub(crate) type Spanned<'a> = (usize, Tok<'a>, usize);

/// The result of lexing.
#[derive(Debug, Default)]
pub(crate) struct Lexed<'a> {
    /// In order; the ranges do not overlap.
    pub tokens: Vec<Spanned<'a>>,
    /// The byte ranges of all comments, in order, without the line's end.
    pub comments: Vec<(usize, usize)>,
    /// Documentation comments: where the next token begins, and the text.
    pub docs: Vec<(usize, String)>,
    /// Mistakes.
    pub errors: Vec<Diagnostic>,
}

/// Splits a text into tokens.
pub(crate) fn lex(text: &str, file: u32) -> Lexed<'_> {
    // A byte order mark says nothing in UTF-8.
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    lex_from(text, start, file)
}

/// The tokens from a place on.
pub(crate) fn lex_from(text: &str, start: usize, file: u32) -> Lexed<'_> {
    let out = Lexed::default();
    let mut lexer = Lexer { text, file, out, doc: Vec::new(), doc_end: None, existential: Existential::No };
    lexer.run(start);
    lexer.out
}

/// State of reading `?[n][m].`.
#[derive(Clone, Copy, PartialEq)]
enum Existential {
    No,
    /// After `?` or a `]` that closes one of its sizes.
    Between,
    /// Inside the brackets.
    Inside,
}

struct Lexer<'a> {
    text: &'a str,
    file: u32,
    out: Lexed<'a>,
    /// The lines of the documentation comment since the last token.
    doc: Vec<&'a str>,
    /// End of that comment, while it can be continued.
    doc_end: Option<usize>,
    existential: Existential,
}

impl<'a> Lexer<'a> {
    fn run(&mut self, mut start: usize) {
        while let Some(restart) = self.scan(start) {
            start = restart;
        }
    }

    /// Scans from `base` to the end, or up to the dot of `?[n].t`: what follows it is scanned anew.
    fn scan(&mut self, base: usize) -> Option<usize> {
        for (raw, range) in Raw::lexer(&self.text[base..]).spanned() {
            let (start, end) = (base + range.start, base + range.end);
            match raw {
                Ok(Raw::Comment) => self.comment(start, end),
                Ok(raw) if self.existential == Existential::Between && self.begins_with_dot(raw, start) => {
                    self.push(start, Tok::Dot, start + 1);
                    return Some(start + 1);
                }
                Ok(raw) => self.token(raw, start, end),
                Err(()) => self.bad_character(start, end),
            }
        }
        None
    }

    fn begins_with_dot(&self, raw: Raw, start: usize) -> bool {
        matches!(raw, Raw::Field | Raw::Punctuation) && self.text[start..].starts_with('.')
    }

    fn token(&mut self, raw: Raw, start: usize, end: usize) {
        let text = &self.text[start..end];
        let tok = match raw {
            Raw::Comment => return,
            Raw::HashComment => return self.hash_comment(start, end),
            Raw::Name => self.name(text, start),
            Raw::Qual => self.checked(Tok::Qual(text), text, start),
            Raw::TypeVar => self.checked(Tok::TypeVar(text), text, start),
            Raw::Constr => self.checked(Tok::Constr(&text[1..]), text, start),
            Raw::Field => self.checked(Tok::Field(&text[1..]), text, start),
            Raw::Op => self.operator(text, start, end),
            Raw::Backtick => self.backtick(text, start, end),
            Raw::Char => self.character(text, start, end),
            Raw::Number => self.number(text, start, end),
            Raw::String => self.string(text, start, end),
            Raw::UnclosedString => self.unclosed_string(start, end),
            Raw::Punctuation => self.punctuation(text, start),
        };
        self.push(start, tok, end);
    }

    fn push(&mut self, start: usize, tok: Tok<'a>, end: usize) {
        if !self.doc.is_empty() {
            self.out.docs.push((start, self.doc.join("\n")));
            self.doc.clear();
            self.doc_end = None;
        }
        self.existential = match (self.existential, &tok) {
            (_, Tok::Question) => Existential::Between,
            (Existential::Between, Tok::LBracket | Tok::IndexBracket) => Existential::Inside,
            (Existential::Inside, Tok::Ident(_)) => Existential::Inside,
            (Existential::Inside, Tok::RBracket) => Existential::Between,
            _ => Existential::No,
        };
        self.out.tokens.push((start, tok, end));
    }

    /// `-- | text` begins a documentation comment. It goes on in the comments on the lines that follow, up to
    /// a test block (`-- ==`).
    fn comment(&mut self, start: usize, end: usize) {
        self.out.comments.push((start, end));
        let text = self.text[start + 2..end].trim_end();
        let follows = self.doc_end.is_some_and(|at| self.text[at..start].matches('\n').count() == 1);
        self.doc_end = None;
        if let Some(doc) = text.strip_prefix(" |") {
            self.doc = vec![doc.trim()];
            self.doc_end = Some(end);
        } else if follows && !text.trim_start().starts_with("==") {
            self.doc.push(text.strip_prefix(' ').unwrap_or(text));
            self.doc_end = Some(end);
        }
    }

    /// Left out, so that nothing else is wrong with it.
    fn hash_comment(&mut self, start: usize, end: usize) {
        let error = Diagnostic::error("E0110", "a comment begins with `--`", self.span(start, end));
        let error = error.here("this begins no comment").note("attributes are written `#[name]`");
        self.out.errors.push(error);
    }

    fn name(&mut self, text: &'a str, start: usize) -> Tok<'a> {
        match text {
            "true" => Tok::Literal(Box::new(Literal::Bool(true))),
            "false" => Tok::Literal(Box::new(Literal::Bool(false))),
            _ => Tok::fixed(text).unwrap_or_else(|| self.checked(Tok::Ident(text), text, start)),
        }
    }

    /// Reports the first character of a name that belongs into none.
    fn checked(&mut self, tok: Tok<'a>, text: &str, start: usize) -> Tok<'a> {
        let bad = text.char_indices().find(|(_, c)| !c.is_ascii() && !c.is_alphanumeric());
        if let Some((at, c)) = bad {
            self.bad_character(start + at, start + at + c.len_utf8());
        }
        tok
    }

    fn operator(&mut self, text: &'a str, start: usize, end: usize) -> Tok<'a> {
        if let Some(tok) = Tok::fixed(text) {
            return tok;
        }
        let symbol = text.find(|c| "+-*/%=!><|&^".contains(c)).unwrap_or(0);
        let path = text[..symbol].split_terminator('.').map(String::from).collect();
        let base = text[symbol..].into();
        Tok::Op(Box::new(Name { path, base, span: self.span(start, end) }))
    }

    fn backtick(&mut self, text: &'a str, start: usize, end: usize) -> Tok<'a> {
        self.checked(Tok::Hole, text, start);
        Tok::Op(Box::new(qualified(text.trim_matches('`'), self.span(start, end))))
    }

    fn punctuation(&mut self, text: &str, start: usize) -> Tok<'a> {
        let adjacent = self.out.tokens.last().is_some_and(|(_, t, end)| *end == start && t.ends_operand());
        match Tok::fixed(text) {
            Some(Tok::LBracket) if adjacent && !self.after_constructor() => Tok::IndexBracket,
            tok => tok.unwrap_or(Tok::Hole),
        }
    }

    fn after_constructor(&self) -> bool {
        matches!(self.out.tokens.last(), Some((_, Tok::Constr(_), _)))
    }

    fn number(&mut self, text: &str, start: usize, end: usize) -> Tok<'a> {
        let span = self.span(start, end);
        let named = self.out.tokens.last().is_some_and(|(_, t, _)| t.binds_name());
        let value = literal::number(text).unwrap_or_else(|reason| {
            let error = match named || self.is_no_name(text) {
                true => Diagnostic::error("E0105", format!("`{text}` is no name"), span)
                    .here("a name does not begin with a digit"),
                false => Diagnostic::error("E0105", format!("`{text}` is not a number"), span).here(reason),
            };
            self.out.errors.push(error);
            Literal::Int { value: 0, suffix: None }
        });
        Tok::Literal(Box::new(value))
    }

    /// True if this was meant as a name before.
    fn is_no_name(&self, text: &str) -> bool {
        let message = format!("`{text}` is no name");
        self.out.errors.iter().any(|e| e.message == message)
    }

    fn character(&mut self, text: &str, start: usize, end: usize) -> Tok<'a> {
        let value = literal::character(&text[1..text.len() - 1]).unwrap_or_else(|reason| {
            self.bad_quotes("character", reason, start, end);
            ' '
        });
        Tok::Literal(Box::new(Literal::Char(value)))
    }

    fn string(&mut self, text: &str, start: usize, end: usize) -> Tok<'a> {
        let value = literal::string(&text[1..text.len() - 1]).unwrap_or_else(|reason| {
            self.bad_quotes("string", reason, start, end);
            Vec::new()
        });
        Tok::Literal(Box::new(Literal::String(value)))
    }

    fn bad_quotes(&mut self, what: &str, reason: String, start: usize, end: usize) {
        let span = self.span(start, end);
        self.out.errors.push(Diagnostic::error("E0106", format!("not a valid {what}"), span).here(reason));
    }

    fn unclosed_string(&mut self, start: usize, end: usize) -> Tok<'a> {
        let error = Diagnostic::error("E0106", "this string does not end", self.span(start, end))
            .here("a closing `\"` is missing on this line");
        self.out.errors.push(error);
        Tok::Literal(Box::new(Literal::String(Vec::new())))
    }

    fn bad_character(&mut self, start: usize, end: usize) {
        let text = &self.text[start..end];
        let hint = text.chars().next().and_then(characters::hint);
        let message = match text.chars().next() {
            Some('\'') => "a stray quote".to_string(),
            Some('`') => "a stray backtick".to_string(),
            Some(c) if c.is_control() => format!("a control character (U+{:04X})", c as u32),
            Some(c) if characters::is_invisible(c) => format!("an invisible character (U+{:04X})", c as u32),
            _ => format!("unexpected character `{text}`"),
        };
        let mut error =
            Diagnostic::error("E0104", message, self.span(start, end)).here("this means nothing in Par");
        match text.chars().next() {
            Some('\'') => error = error.note("a character is written 'c', a type parameter 't"),
            Some('`') => error = error.note("a function between two operands is written x `f` y"),
            _ => {}
        }
        if text == ";" && self.in_for_head(start) {
            error = error
                .note("a loop carries a value from iteration to iteration: loop s = 0 for i < n do s + i");
        } else {
            error = hint.into_iter().fold(error, Diagnostic::note);
        }
        self.out.errors.push(error);
    }

    /// True if `for (` stands before this place on its line.
    fn in_for_head(&self, at: usize) -> bool {
        let line = self.text[..at].rsplit('\n').next().unwrap_or("");
        line.contains("for (") || line.contains("for(")
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span { file: self.file, start: start as u32, end: end as u32 }
    }
}

/// The name that a text with dots stands for.
pub(crate) fn qualified(text: &str, span: Span) -> Name {
    let mut path: Vec<String> = text.split('.').map(String::from).collect();
    let base = path.pop().unwrap_or_default();
    Name { path, base, span }
}
