//! The tokens that the grammar works on.

use std::fmt;

use crate::ast::{Literal, Name};

/// A token. Identifiers borrow from the source text; literals are decoded.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Tok<'a> {
    // What is to be parsed: the first token of every stream.
    StartFile,
    StartExp,
    StartType,
    // Names.
    Ident(&'a str),
    /// `m.x`, `m.n.x`.
    Qual(&'a str),
    /// `'t`, `'^t`, `'~t`, with the quote.
    TypeVar(&'a str),
    /// `#name`, without the `#`.
    Constr(&'a str),
    /// `.name` or `.0`, without the dot.
    Field(&'a str),
    /// An operator that has no other use, or a backticked name.
    Op(Box<Name>),
    Literal(Box<Literal>),
    // Operators with another use as well.
    Minus,
    Star,
    Less,
    Bar,
    Caret,
    Bang,
    // Punctuation.
    LParen,
    RParen,
    LBracket,
    /// A `[` that directly follows an operand: an index, not an array literal.
    IndexBracket,
    RBracket,
    LBrace,
    RBrace,
    DotParen,
    DotBracket,
    /// `#[`.
    AttrOpen,
    Comma,
    Colon,
    Coerce,
    Equals,
    Arrow,
    Backslash,
    Underscore,
    Question,
    Hole,
    Tilde,
    Dot,
    DotDot,
    DotDotDot,
    DotDotLess,
    DotDotGreater,
    // Keywords.
    Assert,
    Case,
    Def,
    Do,
    Else,
    Entry,
    For,
    If,
    Import,
    In,
    Include,
    Let,
    Local,
    Loop,
    Match,
    Module,
    Open,
    Then,
    Type,
    Val,
    While,
    With,
}

/// The keywords; `true` and `false` are literals.
pub const KEYWORDS: [(&str, Tok<'static>); 22] = [
    ("assert", Tok::Assert),
    ("case", Tok::Case),
    ("def", Tok::Def),
    ("do", Tok::Do),
    ("else", Tok::Else),
    ("entry", Tok::Entry),
    ("for", Tok::For),
    ("if", Tok::If),
    ("import", Tok::Import),
    ("in", Tok::In),
    ("include", Tok::Include),
    ("let", Tok::Let),
    ("local", Tok::Local),
    ("loop", Tok::Loop),
    ("match", Tok::Match),
    ("module", Tok::Module),
    ("open", Tok::Open),
    ("then", Tok::Then),
    ("type", Tok::Type),
    ("val", Tok::Val),
    ("while", Tok::While),
    ("with", Tok::With),
];

const PUNCTUATION: [(&str, Tok<'static>); 31] = [
    ("-", Tok::Minus),
    ("*", Tok::Star),
    ("<", Tok::Less),
    ("|", Tok::Bar),
    ("^", Tok::Caret),
    ("!", Tok::Bang),
    ("(", Tok::LParen),
    (")", Tok::RParen),
    ("[", Tok::LBracket),
    ("]", Tok::RBracket),
    ("{", Tok::LBrace),
    ("}", Tok::RBrace),
    (".(", Tok::DotParen),
    (".[", Tok::DotBracket),
    ("#[", Tok::AttrOpen),
    (",", Tok::Comma),
    (":", Tok::Colon),
    (":>", Tok::Coerce),
    ("=", Tok::Equals),
    ("->", Tok::Arrow),
    ("\\", Tok::Backslash),
    ("_", Tok::Underscore),
    ("?", Tok::Question),
    ("???", Tok::Hole),
    ("~", Tok::Tilde),
    (".", Tok::Dot),
    ("..", Tok::DotDot),
    ("...", Tok::DotDotDot),
    ("..<", Tok::DotDotLess),
    ("..>", Tok::DotDotGreater),
    // Only for printing: the lexer decides by the preceding token.
    ("[", Tok::IndexBracket),
];

impl Tok<'_> {
    /// The token of a keyword or of a piece of punctuation.
    pub fn fixed(text: &str) -> Option<Tok<'static>> {
        let mut table = KEYWORDS.iter().chain(&PUNCTUATION);
        table.find(|(spelling, _)| *spelling == text).map(|(_, tok)| tok.clone())
    }

    /// True if a declaration can begin with this token.
    pub fn begins_declaration(&self) -> bool {
        use Tok::*;
        matches!(self, Def | Entry | Let | Type | Module | Open | Local | Import | Val | Include | AttrOpen)
    }

    /// True if a name that is bound follows.
    pub fn binds_name(&self) -> bool {
        use Tok::*;
        matches!(self, Let | Def | Entry | Type | Module | Val | Backslash | For)
    }

    /// True if a closing bracket belongs to this token.
    pub fn opens_bracket(&self) -> bool {
        use Tok::*;
        matches!(self, LParen | DotParen | LBracket | IndexBracket | DotBracket | AttrOpen | LBrace)
    }

    /// True if an operand of an expression can end with this token.
    pub fn ends_operand(&self) -> bool {
        use Tok::*;
        matches!(
            self,
            Ident(_) | Qual(_) | Field(_) | Literal(_) | Constr(_) | RParen | RBracket | RBrace | Hole
        )
    }
}

/// Text of the token in words, for messages.
impl fmt::Display for Tok<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tok::StartFile | Tok::StartExp | Tok::StartType => write!(f, "beginning"),
            Tok::Ident(name) | Tok::Qual(name) => write!(f, "name `{name}`"),
            Tok::TypeVar(name) => write!(f, "type parameter `{name}`"),
            Tok::Constr(name) => write!(f, "constructor `#{name}`"),
            Tok::Field(name) => write!(f, "field access `.{name}`"),
            Tok::Op(name) => write!(f, "operator `{}`", name.base),
            Tok::Literal(literal) => f.write_str(literal_kind(literal)),
            _ => write!(f, "`{}`", self.spelling()),
        }
    }
}

impl Tok<'_> {
    /// Spelling of a keyword or a punctuation mark.
    fn spelling(&self) -> &'static str {
        let mut table = KEYWORDS.iter().chain(&PUNCTUATION);
        table.find(|(_, tok)| tok == self).map_or("", |(spelling, _)| *spelling)
    }
}

fn literal_kind(literal: &Literal) -> &'static str {
    match literal {
        Literal::Int { .. } | Literal::Float { .. } => "number",
        Literal::Bool(true) => "`true`",
        Literal::Bool(false) => "`false`",
        Literal::Char(_) => "character",
        Literal::String(_) => "string",
    }
}
