//! Looks at the brackets and keywords of the token stream before it is parsed: cuts it into declarations,
//! reports brackets that do not fit, and bounds the depth of the tree, so that nothing that walks the tree
//! can run out of stack.

use std::ops::Range;

use crate::ast::Span;
use crate::diagnostic::Diagnostic;
use crate::lexer::Spanned;
use crate::token::Tok;

/// Maximum nesting depth of brackets.
const MAX_BRACKETS: usize = 250;
/// Maximum nesting depth of constructs that are compiled to nested code: conditions, loops, functions.
const MAX_BLOCKS: usize = 2000;
/// Maximum depth of the tree of a declaration. Chains of `let`s and operators, whose code is not nested, count 1 for each link.
const MAX_DEPTH: usize = 100_000;
/// Weight of a nested construct.
const BLOCK: usize = MAX_DEPTH / MAX_BLOCKS;

/// Tokens that are parsed together.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// Indices of tokens.
    pub tokens: Range<usize>,
    /// A reason not to parse them.
    pub error: Option<Diagnostic>,
}

/// The declarations of a file: each begins with a keyword at the beginning of a line, outside brackets. A `let`
/// there is taken for a declaration only in files that use no `def`.
pub(crate) fn chunks(text: &str, file: u32, tokens: &[Spanned<'_>]) -> Vec<Chunk> {
    let at_margin = |start: usize| {
        let before = &text[..start];
        before.is_empty() || before.ends_with('\n') || before == "\u{feff}"
    };
    let uses_def = tokens.iter().any(|(start, tok, _)| *tok == Tok::Def && at_margin(*start));
    let mut chunks = Vec::new();
    let mut scan = Scan::new(file);
    let mut begin = 0;
    for (i, (start, tok, end)) in tokens.iter().enumerate() {
        let begins = i > begin && at_margin(*start) && begins_chunk(tokens, i);
        if begins && !(uses_def && *tok == Tok::Let) {
            scan.drop_unclosed();
            if scan.open.is_empty() {
                chunks.push(Chunk { tokens: begin..i, error: scan.error.take() });
                scan = Scan::new(file);
                begin = i;
            }
        }
        scan.token(tok, *start, *end);
    }
    if begin < tokens.len() {
        chunks.push(Chunk { tokens: begin..tokens.len(), error: scan.finish() });
    }
    chunks
}

/// All tokens in one chunk.
pub(crate) fn single(file: u32, tokens: &[Spanned<'_>]) -> Chunk {
    let mut scan = Scan::new(file);
    for (start, tok, end) in tokens {
        scan.token(tok, *start, *end);
    }
    Chunk { tokens: 0..tokens.len(), error: scan.finish() }
}

/// A declaration keyword, or the attributes before one, but not the keyword after attributes or `local`.
fn begins_chunk(tokens: &[Spanned<'_>], i: usize) -> bool {
    let after_prefix = match &tokens[i - 1].1 {
        Tok::Local => true,
        Tok::RBracket => closes_attribute(tokens, i - 1),
        _ => false,
    };
    tokens[i].1.begins_declaration() && !after_prefix
}

/// True if the `]` at this index ends an attribute (the brackets in attributes do not nest).
fn closes_attribute(tokens: &[Spanned<'_>], close: usize) -> bool {
    let before = tokens[..close].iter().rev().map(|(_, tok, _)| tok);
    let mut brackets =
        before.filter(|t| matches!(t, Tok::AttrOpen | Tok::LBracket | Tok::IndexBracket | Tok::RBracket));
    matches!(brackets.next(), Some(Tok::AttrOpen))
}

/// An open bracket, and what is known about the depth inside.
struct Open {
    close: Tok<'static>,
    start: usize,
    end: usize,
    level: Level,
}

/// Depth within one pair of brackets: an upper bound for the tree of what was read since `base`.
#[derive(Default)]
struct Level {
    base: usize,
    depth: usize,
    /// `let`, `if`, `loop`, `for` and `match` that are not finished, with the depth there.
    keywords: Vec<(Tok<'static>, usize)>,
    /// In a module expression, where `F a b` nests although it looks flat.
    in_module: bool,
}

impl Level {
    fn nested(&self) -> Level {
        Level { base: self.depth + 1, depth: self.depth + 1, ..Level::default() }
    }

    /// Begins a sibling of what was read.
    fn restart(&mut self) {
        self.depth = self.base;
        self.keywords.clear();
        self.in_module = false;
    }

    fn begin(&mut self, keyword: Tok<'static>) {
        let weight = weight(&keyword);
        self.keywords.push((keyword, self.depth));
        self.depth += weight;
    }

    /// At an `in`, which ends either the value of a `let` or the pattern of a `for`.
    fn end_head(&mut self) {
        match self.keywords.iter().rposition(|(k, _)| matches!(k, Tok::Let | Tok::For)) {
            Some(i) if self.keywords[i].0 == Tok::For => self.keywords.truncate(i),
            _ => self.part_of(&Tok::Let, true),
        }
    }

    /// Back to the depth inside the innermost `keyword`; `done` if nothing of it follows.
    fn part_of(&mut self, keyword: &Tok<'_>, done: bool) {
        if let Some(i) = self.keywords.iter().rposition(|(k, _)| k == keyword) {
            self.depth = self.keywords[i].1 + weight(keyword);
            self.keywords.truncate(i + usize::from(!done));
        }
    }
}

/// Depth that a construct adds to the tree inside it.
fn weight(tok: &Tok<'_>) -> usize {
    match tok {
        Tok::Let | Tok::For | Tok::Op(_) | Tok::Minus | Tok::Star | Tok::Less | Tok::Bar | Tok::Caret => 1,
        // Those of operands in a chain stand side by side, but a list of indices nests.
        Tok::LBracket => BLOCK / 6,
        _ => BLOCK,
    }
}

struct Scan {
    file: u32,
    outer: Level,
    open: Vec<Open>,
    error: Option<Diagnostic>,
    /// True if the previous token can end an expression: then a `let` is the body of another one.
    after_operand: bool,
}

impl Scan {
    fn new(file: u32) -> Scan {
        Scan { file, outer: Level::default(), open: Vec::new(), error: None, after_operand: false }
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span { file: self.file, start: start as u32, end: end as u32 }
    }

    fn level(&mut self) -> &mut Level {
        self.open.last_mut().map_or(&mut self.outer, |open| &mut open.level)
    }

    /// The first error of a chunk counts; others mostly follow from it.
    fn report(&mut self, error: Diagnostic) {
        self.error.get_or_insert(error);
    }

    fn token(&mut self, tok: &Tok<'_>, start: usize, end: usize) {
        match tok {
            Tok::LParen | Tok::DotParen => self.open(Tok::RParen, start, end),
            Tok::LBracket | Tok::IndexBracket | Tok::DotBracket | Tok::AttrOpen => {
                self.open(Tok::RBracket, start, end);
            }
            Tok::LBrace => self.open(Tok::RBrace, start, end),
            Tok::RParen | Tok::RBracket | Tok::RBrace => self.close(tok, start, end),
            _ => self.count(tok),
        }
        self.after_operand = tok.ends_operand();
        let too_deep = self.level().depth > MAX_DEPTH || self.open.len() > MAX_BRACKETS;
        if too_deep && self.error.is_none() {
            let span = self.span(start, end);
            let error = Diagnostic::error("E0107", "this is nested too deeply", span)
                .here("the limit is exceeded here")
                .note(format!(
                    "at most {MAX_BRACKETS} brackets and {MAX_BLOCKS} conditions, loops and functions can be inside \
                     one another, and {MAX_DEPTH} operators or bindings; move parts of it to definitions of their own"
                ));
            self.report(error);
        }
    }

    fn count(&mut self, tok: &Tok<'_>) {
        let chained = self.after_operand;
        let level = self.level();
        match tok {
            Tok::Comma | Tok::Def | Tok::Entry | Tok::Type | Tok::Val | Tok::Import => level.restart(),
            Tok::Module | Tok::Open | Tok::Include => {
                level.restart();
                level.in_module = true;
            }
            Tok::Let => {
                if chained {
                    level.part_of(&Tok::Let, true);
                }
                level.begin(Tok::Let);
            }
            Tok::For => level.begin(Tok::For),
            Tok::In => level.end_head(),
            Tok::If => level.begin(Tok::If),
            Tok::Then => level.part_of(&Tok::If, false),
            Tok::Else => level.part_of(&Tok::If, true),
            Tok::Loop => level.begin(Tok::Loop),
            Tok::Do => level.part_of(&Tok::Loop, true),
            Tok::Match => level.begin(Tok::Match),
            Tok::Case => level.part_of(&Tok::Match, false),
            Tok::Ident(_) | Tok::Qual(_) => level.depth += if level.in_module { BLOCK } else { 0 },
            Tok::Literal(_) | Tok::Constr(_) | Tok::Underscore | Tok::Equals => {}
            _ => level.depth += weight(tok),
        }
    }

    fn open(&mut self, close: Tok<'static>, start: usize, end: usize) {
        // Postfix brackets nest in the tree although they stand side by side: `a[i][j]`.
        self.level().depth += weight(&Tok::LBracket);
        let level = self.level().nested();
        self.open.push(Open { close, start, end, level });
    }

    fn close(&mut self, tok: &Tok<'_>, start: usize, end: usize) {
        let span = self.span(start, end);
        match self.open.pop() {
            Some(open) if open.close == *tok => {}
            Some(open) => {
                let error = Diagnostic::error("E0103", format!("{tok} does not close this bracket"), span)
                    .here(format!("expected {} here", open.close))
                    .label(self.span(open.start, open.end), "the bracket that is open");
                self.report(error);
            }
            None => {
                let error =
                    Diagnostic::error("E0103", format!("there is no bracket that {tok} could close"), span);
                self.report(error.here("no bracket is open here"));
            }
        }
    }

    /// At the keyword of a declaration: `(` and `[` contain none, so that those still open were never closed.
    /// A `{` can be a module with declarations at the margin.
    fn drop_unclosed(&mut self) {
        while let Some(open) = self.open.pop() {
            if open.close == Tok::RBrace {
                self.open.push(open);
                return;
            }
            self.unclosed(&open);
        }
    }

    fn finish(mut self) -> Option<Diagnostic> {
        while let Some(open) = self.open.pop() {
            self.unclosed(&open);
        }
        self.error
    }

    fn unclosed(&mut self, open: &Open) {
        let span = self.span(open.start, open.end);
        let error = Diagnostic::error("E0102", "this bracket is never closed", span)
            .here(format!("expected a matching {}", open.close))
            .unfinished();
        self.report(error);
    }
}
