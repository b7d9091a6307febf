//! Text to tree: lexing, brackets, and the generated parser, declaration by declaration once something is wrong.

use std::cell::RefCell;

use crate::actions::{Context, Parsed};
use crate::ast::{Dec, DecKind, Def, Exp, File, Span, TypeExp};
use crate::diagnostic::Diagnostic;
use crate::explain::{self, Whole};
use crate::grammar::StartParser;
use crate::lexer::{self, Lexed, Spanned};
use crate::nesting::{self, Chunk};
use crate::token::Tok;

/// Errors after these are not reported; they rarely help.
const MAX_ERRORS: usize = 20;

/// Parses a file. With errors, the tree holds those declarations that are right.
pub fn parse(text: &str, file: u32) -> (File, Vec<Diagnostic>) {
    let lexed = lexer::lex(text, file);
    let mut parser = Parser::new(text, file, &lexed);
    let decs = parser.file(&lexed.tokens);
    (File { decs, ..File::default() }, parser.finish())
}

/// Parses an expression; none if it has an error that leaves nothing.
pub fn parse_expression(text: &str, file: u32) -> (Option<Exp>, Vec<Diagnostic>) {
    let lexed = lexer::lex(text, file);
    let mut parser = Parser::new(text, file, &lexed);
    let parsed = parser.whole(Tok::StartExp, &lexed.tokens);
    let exp = if let Some(Parsed::Exp(exp)) = parsed { Some(*exp) } else { None };
    (exp, parser.finish())
}

/// Parses a type; none if it has an error that leaves nothing.
pub fn parse_type(text: &str, file: u32) -> (Option<TypeExp>, Vec<Diagnostic>) {
    let lexed = lexer::lex(text, file);
    let mut parser = Parser::new(text, file, &lexed);
    let parsed = parser.whole(Tok::StartType, &lexed.tokens);
    let ty = if let Some(Parsed::Type(ty)) = parsed { Some(ty) } else { None };
    (ty, parser.finish())
}

/// Parses the definition at a place of a file; none if something else is there, or there are mistakes.
pub(crate) fn parse_definition(text: &str, place: Span) -> Option<Def> {
    let lexed = lexer::lex_from(text.get(..place.end as usize)?, place.start as usize, place.file);
    let mut parser = Parser::new(text, place.file, &lexed);
    let [Dec { kind: DecKind::Def(def), .. }] = <[Dec; 1]>::try_from(parser.file(&lexed.tokens)).ok()? else {
        return None;
    };
    parser.finish().is_empty().then(|| def.into_def())
}

struct Parser<'a> {
    context: Context<'a>,
    /// Number of errors from the lexer, which come first.
    lexical: usize,
    generated: StartParser,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, file: u32, lexed: &'a Lexed<'a>) -> Parser<'a> {
        let errors = RefCell::new(lexed.errors.clone());
        let context = Context { text, file, docs: &lexed.docs, errors };
        Parser { context, lexical: lexed.errors.len(), generated: StartParser::new() }
    }

    /// All declarations that parse. If the whole does not, each declaration is parsed on its own, so that one
    /// error does not hide another.
    fn file(&mut self, tokens: &[Spanned<'a>]) -> Vec<Dec> {
        let whole = nesting::single(self.context.file, tokens);
        if whole.error.is_none()
            && let Ok(Parsed::File(decs)) = self.generate(Tok::StartFile, tokens)
        {
            return decs;
        }
        // What the actions reported will be reported again.
        self.context.errors.borrow_mut().truncate(self.lexical);
        let mut decs = Vec::new();
        for chunk in nesting::chunks(self.context.text, self.context.file, tokens) {
            if let Some(Parsed::File(more)) = self.chunk(Tok::StartFile, &chunk, tokens) {
                decs.extend(more);
            }
        }
        decs
    }

    /// The tokens as one expression or type.
    fn whole(&mut self, start: Tok<'a>, tokens: &[Spanned<'a>]) -> Option<Parsed> {
        let chunk = nesting::single(self.context.file, tokens);
        self.chunk(start, &chunk, tokens)
    }

    /// Parses a range of the tokens. Wrong brackets are reported instead of what the parser makes of them.
    fn chunk(&mut self, start: Tok<'a>, chunk: &Chunk, tokens: &[Spanned<'a>]) -> Option<Parsed> {
        if let Some(error) = &chunk.error {
            self.context.error(error.clone());
            return None;
        }
        // From the end of the declaration before, so that what was left out at the beginning counts.
        let before = tokens[..chunk.tokens.start].last().map_or(0, |t| t.2);
        let tokens = &tokens[chunk.tokens.clone()];
        let whole = Whole::of(&start);
        match self.generate(start, tokens) {
            Ok(parsed) => Some(parsed),
            Err(error) => {
                if !self.has_lexical_error(before, tokens) {
                    let error = explain::explain(&self.context, whole, tokens, error);
                    self.context.error(error);
                }
                None
            }
        }
    }

    /// True if something in these tokens was wrong already: what the parser makes of it is no news.
    fn has_lexical_error(&self, before: usize, tokens: &[Spanned<'a>]) -> bool {
        let range = before..tokens.last().map_or(0, |t| t.2);
        let errors = self.context.errors.borrow();
        errors[..self.lexical]
            .iter()
            .flat_map(|e| e.labels.first())
            .any(|l| range.contains(&(l.span.start as usize)))
    }

    fn generate(&self, start: Tok<'a>, tokens: &[Spanned<'a>]) -> Result<Parsed, explain::Error<'a>> {
        let at = tokens.first().map_or(0, |(start, ..)| *start);
        let stream = std::iter::once((at, start, at)).chain(tokens.iter().cloned()).map(Ok);
        self.generated.parse(&self.context, stream)
    }

    /// The errors in the order of the text.
    fn finish(self) -> Vec<Diagnostic> {
        let mut errors = self.context.errors.into_inner();
        errors.sort_by_key(|e| e.labels.first().map_or(0, |l| l.span.start));
        let mut errors = once(errors);
        errors.truncate(MAX_ERRORS);
        errors
    }
}

/// Of characters that mean nothing each is reported once, with the number of its places.
fn once(errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut out: Vec<(Diagnostic, usize)> = Vec::new();
    for error in errors {
        let lexical = matches!(error.code.as_str(), "E0104" | "E0105" | "E0110");
        match out.iter_mut().find(|(e, _)| lexical && e.code == error.code && e.message == error.message) {
            Some((_, times)) => *times += 1,
            None => out.push((error, 1)),
        }
    }
    let place = |(error, times): (Diagnostic, usize)| match times {
        1 => error,
        n => error.note(format!("the same at {} other place{}", n - 1, if n == 2 { "" } else { "s" })),
    };
    out.into_iter().map(place).collect()
}
