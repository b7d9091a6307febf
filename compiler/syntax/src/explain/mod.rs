//! Turns the generated parser's errors into messages for people: what was found, what could have stood there in
//! words, and, for the common mistakes, what to do.
//!
//! Spellings of other languages are recognised by the tables in [`declarations`], [`types`], [`patterns`], [`control`] and
//! [`expressions`]: each entry looks at the tokens around the place of the error and either knows what was meant or passes.

mod control;
mod declarations;
mod expressions;
mod look;
mod patterns;
mod types;

use lalrpop_util::ParseError;

use crate::actions::Context;
use crate::ast::Span;
use crate::diagnostic::Diagnostic;
use crate::lexer::Spanned;
use crate::token::{KEYWORDS, Tok};

/// Error of the generated parser.
pub(crate) type Error<'a> = ParseError<usize, Tok<'a>, ()>;

/// Start symbol of the parse.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Whole {
    Declaration,
    Expression,
    Type,
}

impl Whole {
    /// By the token that selects it.
    pub fn of(start: &Tok<'_>) -> Whole {
        match start {
            Tok::StartExp => Whole::Expression,
            Tok::StartType => Whole::Type,
            _ => Whole::Declaration,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Whole::Declaration => "declaration",
            Whole::Expression => "expression",
            Whole::Type => "type",
        }
    }
}

/// The message for an error in these tokens.
pub(crate) fn explain(
    ctx: &Context<'_>,
    whole: Whole,
    tokens: &[Spanned<'_>],
    error: Error<'_>,
) -> Diagnostic {
    let (found, expected) = match error {
        ParseError::UnrecognizedToken { token, expected } => (Some(token), expected),
        ParseError::ExtraToken { token } => (Some(token), Vec::new()),
        ParseError::UnrecognizedEof { expected, .. } => (None, expected),
        ParseError::InvalidToken { .. } | ParseError::User { .. } => (None, Vec::new()),
    };
    let at = found.as_ref().map_or(usize::MAX, |(start, ..)| *start);
    let before = &tokens[..tokens.partition_point(|(start, ..)| *start < at)];
    let span = match (&found, before.last()) {
        (Some((start, _, end)), _) => ctx.span(*start, *end),
        (None, Some((start, _, end))) => ctx.span(*start, *end),
        (None, None) => ctx.span(0, 0),
    };
    let after = &tokens[(before.len() + 1).min(tokens.len())..];
    let failure = Failure { ctx, whole, found: found.map(|(_, tok, _)| tok), span, before, after, expected };
    failure.message()
}

/// A place where the parser could not go on.
struct Failure<'e, 'a> {
    ctx: &'e Context<'e>,
    whole: Whole,
    /// None at the end.
    found: Option<Tok<'a>>,
    /// Of the token found, or of the last one.
    span: Span,
    before: &'e [Spanned<'a>],
    /// Tokens after the token found.
    after: &'e [Spanned<'a>],
    /// Terminals as the grammar calls them, in quotes.
    expected: Vec<String>,
}

/// Recognises a mistake, or passes.
type Slip = fn(&Failure<'_, '_>) -> Option<Diagnostic>;

impl Failure<'_, '_> {
    fn message(&self) -> Diagnostic {
        let slips =
            [declarations::SLIPS, types::SLIPS, patterns::SLIPS, control::SLIPS, expressions::SLIPS].concat();
        slips.iter().find_map(|slip| slip(self)).unwrap_or_else(|| self.general())
    }

    /// E0110 at a place of its own: something is spelled as another language does.
    fn foreign(&self, span: Span, message: impl Into<String>, here: impl Into<String>) -> Diagnostic {
        Diagnostic::error("E0110", message, span).here(here)
    }

    fn can_follow(&self, terminal: &str) -> bool {
        self.expected.iter().any(|e| e.trim_matches('"') == terminal)
    }

    /// True if an expression has just ended, or could end here.
    fn after_expression(&self) -> bool {
        self.can_follow("op") && !self.can_follow("if") && !self.can_follow("_")
    }

    /// A declaration begins here, or the text ends.
    fn at_end(&self) -> bool {
        self.found.as_ref().is_none_or(|tok| tok.begins_declaration())
    }

    fn unexpected(&self) -> Diagnostic {
        let error = |message: String| Diagnostic::error("E0101", message, self.span);
        match &self.found {
            Some(tok) => error(format!("unexpected {tok}")),
            None => error(format!("unexpected end of the {}", self.whole.name())).unfinished(),
        }
    }

    fn general(&self) -> Diagnostic {
        let wanted = self.wanted();
        let text = match (&self.found, wanted.is_empty()) {
            (_, true) => "this cannot stand here".to_string(),
            (Some(_), false) => format!("expected {wanted}"),
            (None, false) => format!("expected {wanted} after this"),
        };
        let mut error = self.unexpected().here(text);
        if let Some(open) = self.bracket().filter(|_| self.is_keyword()) {
            error = error.label(self.place(open), "this bracket is still open");
        }
        let named = self.can_follow("name") && !self.can_follow("if") && !self.at_end();
        let keyword = self.found.as_ref().filter(|_| named && self.is_keyword());
        match (self.hint(), keyword) {
            (Some(hint), _) => error.note(hint),
            (None, Some(keyword)) => error.note(format!("{keyword} is a keyword and cannot be a name")),
            (None, None) => error,
        }
    }

    /// Words for what could have stood here.
    fn wanted(&self) -> String {
        let mut wanted: Vec<String> = Vec::new();
        let last = self.before.last().map(|(_, tok, _)| tok);
        let parameter = last == Some(&Tok::Backslash) || ["=", "->"].iter().any(|t| self.can_follow(t));
        if self.can_follow("if") {
            wanted.push("an expression".into());
        } else if self.can_follow("?") || (self.can_follow("*") && !self.can_follow("op")) {
            wanted.push("a type".into());
        } else if matches!(last, Some(Tok::Def | Tok::Entry | Tok::Let)) {
            wanted.push("a name".into());
        } else if self.can_follow("_") && parameter {
            wanted.push("a parameter".into());
        } else if self.can_follow("_") {
            wanted.push("a pattern".into());
        } else if self.can_follow("op") {
            wanted.push("an operator".into());
        } else if self.can_follow("name") && !self.can_follow("def") {
            wanted.push("a name".into());
        } else if self.can_follow("literal") {
            wanted.push("a literal".into());
        }
        const CLOSING: [&str; 14] =
            ["in", "then", "else", "do", "case", "for", "while", "->", "=", ":", ",", ")", "]", "}"];
        // Where an expression is missing, that is what to say, not that its surroundings go on after it.
        if !self.can_follow("if") {
            wanted.extend(CLOSING.iter().filter(|t| self.can_follow(t)).map(|t| format!("`{t}`")));
        }
        if self.whole == Whole::Declaration && self.can_follow("def") {
            wanted.push(if self.before.is_empty() { "a declaration" } else { "the next declaration" }.into());
        }
        list(&wanted)
    }

    /// Advice for a mistake that is easily made.
    fn hint(&self) -> Option<String> {
        let last = self.before.last().map(|(_, tok, _)| tok);
        match (&self.found, last) {
            (_, Some(Tok::Op(op))) if glued(&op.base).is_some() => glued(&op.base),
            (Some(Tok::Op(op)), _) => glued(&op.base),
            (Some(Tok::Equals), _) if self.after_expression() => {
                Some("two values are compared with `==`".into())
            }
            (Some(Tok::TypeVar(text)), _) if text.ends_with('\'') => {
                Some("text of several characters is written in double quotes".into())
            }
            (Some(Tok::In), _) if self.bracket().is_none() && !self.open_let() => {
                Some("there is no `let` that this `in` could belong to".into())
            }
            (Some(tok), _)
                if self.can_follow("in")
                    && self.open_let()
                    && opens_expression(tok)
                    && self.begins_line(self.span.start as usize) =>
            {
                Some("the `let` before it needs an `in`: let x = e in …".into())
            }
            (Some(tok), _) if self.after_expression() && opens_expression(tok) => {
                Some(format!("as an argument it needs parentheses: f ({tok} …)").replace('`', ""))
            }
            (Some(Tok::Then | Tok::Else), _) => Some("an expression reads: if c then a else b".into()),
            _ => None,
        }
    }

    /// `let x = e` without `in` or a further `let`.
    fn missing_in(&self) -> Option<Diagnostic> {
        if !self.can_follow("in") || self.can_follow("if") || !self.at_end() {
            return None;
        }
        let error = self.unexpected().here("expected `in` and the result that the `let` is for");
        Some(self.point_at_open(error, &Tok::Let, &[Tok::In], "this `let` needs an `in`"))
    }

    /// `if c then a` without `else`.
    fn missing_else(&self) -> Option<Diagnostic> {
        if !self.can_follow("else") || self.can_follow("if") {
            return None;
        }
        let error = self.unexpected().here("expected `else`");
        let error = self.point_at_open(error, &Tok::If, &[Tok::Else], "this `if` needs an `else`");
        Some(match self.hint() {
            Some(hint) => error.note(hint),
            None => error,
        })
    }

    /// Labels the last `open` that has no `close`.
    fn point_at_open(&self, error: Diagnostic, open: &Tok<'_>, close: &[Tok<'_>], text: &str) -> Diagnostic {
        let mut closed = 0;
        for (start, tok, end) in self.before.iter().rev() {
            if close.contains(tok) {
                closed += 1;
            } else if tok == open {
                if closed == 0 {
                    return error.label(self.ctx.span(*start, *end), text);
                }
                closed -= 1;
            }
        }
        error
    }

    /// True if a `let` waits for its `in`. A `let` that follows the value of another one takes its place.
    fn open_let(&self) -> bool {
        let ends = self.find(|t| *t == Tok::In);
        self.find(|t| *t == Tok::Let).is_some_and(|start| ends.is_none_or(|end| end < start))
    }

    fn is_keyword(&self) -> bool {
        KEYWORDS.iter().any(|(_, tok)| self.found.as_ref() == Some(tok))
    }

    /// A keyword where only a name makes sense.
    fn keyword_as_name(&self) -> Option<Diagnostic> {
        let keyword = self.found.as_ref().filter(|_| self.is_keyword())?;
        let field = self.inside(&Tok::LBrace) && matches!(self.ahead(0), Some(Tok::Colon | Tok::Equals));
        let last = &self.before.last()?.1;
        let typed = matches!(last, Tok::LParen | Tok::Comma) && self.ahead(0) == Some(&Tok::Colon);
        if !field && !typed && !last.binds_name() {
            return None;
        }
        Some(self.unexpected().here(format!("{keyword} is a keyword and cannot be a name")))
    }

    /// Something at the beginning that is no declaration.
    fn not_a_declaration(&self) -> Option<Diagnostic> {
        if self.whole != Whole::Declaration || !self.before.is_empty() {
            return None;
        }
        let error = self.unexpected().here("expected a declaration");
        Some(error.note("declarations begin with def, entry, type, module, open, local or import"))
    }
}

/// Constructs that are no arguments without parentheses.
fn opens_expression(tok: &Tok<'_>) -> bool {
    matches!(tok, Tok::Backslash | Tok::If | Tok::Match | Tok::Loop | Tok::Assert)
}

/// Advice for `x=-1`, which the lexer reads as `x`, `=-`, `1`.
fn glued(op: &str) -> Option<String> {
    let symbols = !op.is_empty() && op.chars().all(|c| "=*/%+<>|&^!-".contains(c));
    let prefix = op.strip_suffix('-').or_else(|| op.strip_suffix('!'))?;
    let known =
        matches!(prefix, "=" | "==" | "*" | "/" | "+" | "<" | ">" | "<=" | ">=" | "&&" | "||" | "->" | "|");
    (symbols && known).then(|| format!("`{op}` is read as one operator; put a space after `{prefix}`"))
}

/// `a, b or c`.
fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    }
}
