//! Reading back what [`crate::print`] writes: recursive descent over a small token list.
//!
//! Used by tests and by people who edit a dump; not on user input, but malformed text gives an error with its line, never
//! a panic. The result is not verified.

mod core;
mod flat;
mod lexer;

pub use core::parse_core;
pub use flat::parse_flat;

use crate::core::Entry;
use crate::prim::PrimOp;
use crate::ty::{Atom, Dim, Var, Vars};
use lexer::Token;
use par_runtime::{CheckKind, Fields, Prim, Scalar, Span, ValueType, float16};

type Result<T> = std::result::Result<T, String>;

/// Largest variable id accepted, so that a typing error does not allocate gigabytes of names.
const MAX_ID: u32 = 100_000_000;

/// Position in the token list.
struct Parser {
    tokens: Vec<(Token, usize)>,
    at: usize,
    vars: Vars,
}

impl Parser {
    fn new(text: &str) -> Result<Parser> {
        Ok(Parser { tokens: lexer::tokens(text)?, at: 0, vars: Vars::default() })
    }

    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn peek_second(&self) -> &Token {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.at + 1).min(last)].0
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        // The last token is `End`, which is never passed.
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn error<T>(&self, wanted: &str) -> Result<T> {
        let (token, line) = &self.tokens[self.at];
        Err(format!("line {line}: expected {wanted}, found {token}"))
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.peek(), Token::Symbol(s) if *s == symbol)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(w) if w == word)
    }

    fn accept(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        if found {
            self.next();
        }
        found
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<()> {
        if self.accept(symbol) { Ok(()) } else { self.error(&format!("`{symbol}`")) }
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.accept_word(word) { Ok(()) } else { self.error(&format!("`{word}`")) }
    }

    fn word(&mut self) -> Result<String> {
        match self.peek() {
            Token::Word(w) => {
                let w = w.clone();
                self.next();
                Ok(w)
            }
            _ => self.error("a word"),
        }
    }

    /// An identifier or quoted text.
    fn name(&mut self) -> Result<String> {
        match self.peek() {
            Token::Text(s) => {
                let s = s.clone();
                self.next();
                Ok(s)
            }
            _ => self.word(),
        }
    }

    fn text(&mut self) -> Result<String> {
        match self.peek() {
            Token::Text(_) => self.name(),
            _ => self.error("quoted text"),
        }
    }

    fn number(&mut self) -> Result<String> {
        match self.peek() {
            Token::Number(n) => {
                let n = n.clone();
                self.next();
                Ok(n)
            }
            _ => self.error("a number"),
        }
    }

    fn natural<T: std::str::FromStr>(&mut self) -> Result<T> {
        let text = self.number()?;
        text.parse().map_err(|_| format!("`{text}` is no number of the wanted kind"))
    }

    /// Items between brackets, separated by commas.
    fn list<T>(
        &mut self,
        open: &str,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.expect(open)?;
        let mut items = Vec::new();
        while !self.accept(close) {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// A block in braces.
    fn block<S>(&mut self, stm: impl Fn(&mut Self) -> Result<S>) -> Result<(Vec<S>, Vec<Atom>)> {
        self.expect("{")?;
        let mut stms = Vec::new();
        while !self.is_word("in") {
            stms.push(stm(self)?);
        }
        self.expect_word("in")?;
        let results = self.atoms()?;
        self.expect("}")?;
        Ok((stms, results))
    }

    fn prim(&mut self) -> Result<Prim> {
        let word = self.word()?;
        Prim::from_name(&word).ok_or_else(|| format!("`{word}` is no scalar type"))
    }

    fn is_var(&self) -> bool {
        matches!(self.peek(), Token::Word(w) if split_var(w).is_some())
    }

    fn var(&mut self) -> Result<Var> {
        let word = self.word()?;
        let (name, id) = split_var(&word).ok_or_else(|| format!("`{word}` is no variable"))?;
        self.vars.define(Var(id), name);
        Ok(Var(id))
    }

    fn atom(&mut self) -> Result<Atom> {
        if self.is_var() { self.var().map(Atom::Var) } else { self.constant().map(Atom::Const) }
    }

    fn atoms(&mut self) -> Result<Vec<Atom>> {
        self.list("(", ")", Self::atom)
    }

    fn variables(&mut self) -> Result<Vec<Var>> {
        self.list("(", ")", Self::var)
    }

    fn constant(&mut self) -> Result<Scalar> {
        let negative = self.accept("-");
        if let Token::Number(text) = self.peek() {
            let text = text.clone();
            let c = number(&text, negative).ok_or_else(|| format!("`{text}` is no constant"));
            self.next();
            return c;
        }
        let word = self.word()?;
        Ok(match word.as_str() {
            "true" => Scalar::Bool(true),
            "false" => Scalar::Bool(false),
            _ => self.special_float(&word, negative)?.ok_or_else(|| format!("`{word}` is no operand"))?,
        })
    }

    /// `f32.inf`, `f32.nan` and, with its bits, `f32.nan(2143289345)`.
    fn special_float(&mut self, word: &str, negative: bool) -> Result<Option<Scalar>> {
        let Some((p, which)) = word.split_once('.').and_then(|(p, w)| Some((Prim::from_name(p)?, w))) else {
            return Ok(None);
        };
        if which == "nan" && self.accept("(") {
            let bits = self.natural()?;
            self.expect(")")?;
            return Ok(Some(Scalar::from_bits(p, bits)));
        }
        Ok(match which {
            "nan" => Scalar::from_f64(p, f64::NAN),
            "inf" => Scalar::from_f64(p, if negative { f64::NEG_INFINITY } else { f64::INFINITY }),
            _ => None,
        })
    }

    /// Dimensions in brackets, as many as there are.
    fn dims(&mut self) -> Result<Vec<Dim>> {
        let mut dims = Vec::new();
        while self.is("[") {
            dims.push(self.dim()?);
        }
        Ok(dims)
    }

    fn dim(&mut self) -> Result<Dim> {
        self.expect("[")?;
        let dim = if self.accept("~") { Dim::Seg(self.var()?) } else { Dim::Size(self.size()?) };
        self.expect("]")?;
        Ok(dim)
    }

    /// A uniform size: a number without a suffix is an `i64`.
    fn size(&mut self) -> Result<Atom> {
        let negative = self.is("-");
        let token = if negative { self.peek_second() } else { self.peek() };
        if let Token::Number(text) = token
            && text.chars().all(|c| c.is_ascii_digit())
        {
            let text = if negative { format!("-{text}") } else { text.clone() };
            self.next();
            if negative {
                self.next();
            }
            return text.parse().map(Atom::i64).map_err(|_| format!("size {text} is too large"));
        }
        self.atom()
    }

    fn operator(&mut self) -> Result<PrimOp> {
        self.word()?.parse()
    }

    /// Text after the word `check`.
    fn check(&mut self) -> Result<(Atom, CheckKind, Vec<Atom>)> {
        let cond = self.atom()?;
        let kind = self.check_kind()?;
        Ok((cond, kind, self.atoms()?))
    }

    /// Text after the word `trace`.
    fn trace(&mut self) -> Result<(String, ValueType, Vec<Atom>)> {
        let (label, args) = (self.text()?, self.atoms()?);
        self.expect(":")?;
        Ok((label, self.value_type()?, args))
    }

    fn check_kind(&mut self) -> Result<CheckKind> {
        let word = self.word()?;
        Ok(match word.as_str() {
            "bounds" => CheckKind::Bounds,
            "slice" => CheckKind::Slice,
            "division_by_zero" => CheckKind::DivisionByZero,
            "negative_exponent" => CheckKind::NegativeExponent,
            "negative_size" => CheckKind::NegativeSize,
            "size_mismatch" => CheckKind::SizeMismatch(self.text()?),
            "row_length" => CheckKind::RowLength,
            "segment_sum" => CheckKind::SegmentSum,
            "conflict" => CheckKind::Conflict,
            "assert" => CheckKind::Assert(self.text()?),
            "empty" => CheckKind::Empty(self.text()?),
            "too_deep" => CheckKind::TooDeep,
            "out_of_memory" => CheckKind::OutOfMemory,
            "zero_step" => CheckKind::ZeroStep,
            "range" => CheckKind::Range,
            "other" => CheckKind::Other(self.text()?),
            _ => return Err(format!("`{word}` is no kind of check")),
        })
    }

    /// `@file:start:end`, or nothing.
    fn span(&mut self) -> Result<Span> {
        if !self.accept("@") {
            return Ok(Span::default());
        }
        let file = self.natural()?;
        self.expect(":")?;
        let start = self.natural()?;
        self.expect(":")?;
        let end = self.natural()?;
        Ok(Span { file, start, end })
    }

    /// `fun name@index`; the index must be the next one.
    fn fun_head(&mut self, index: usize) -> Result<String> {
        self.expect_word("fun")?;
        let name = self.name()?;
        self.expect("@")?;
        let given: usize = self.natural()?;
        if given == index { Ok(name) } else { Err(format!("function {name} has index {given}, not {index}")) }
    }

    fn entry(&mut self) -> Result<Option<Entry>> {
        if !self.accept_word("entry") {
            return Ok(None);
        }
        let name = self.name()?;
        let params = self.list("(", ")", Self::named_type)?;
        self.expect("->")?;
        Ok(Some(Entry { name, params, ret: self.value_type()? }))
    }

    fn named_type(&mut self) -> Result<(String, ValueType)> {
        let name = self.name()?;
        self.expect(":")?;
        Ok((name, self.value_type()?))
    }

    fn value_type(&mut self) -> Result<ValueType> {
        if self.is("(") {
            return self.list("(", ")", Self::value_type).map(ValueType::Tuple);
        }
        if self.is("{") {
            return self
                .list("{", "}", Self::named_type)
                .map(|fields| ValueType::Record(Fields::written(fields)));
        }
        if self.accept_word("sum") {
            let cases = self.list("{", "}", Self::named_type)?.into_iter();
            let case = |(name, ty)| match ty {
                ValueType::Tuple(payload) => Ok((name, payload)),
                _ => Err(format!("the payload of {name} is no tuple")),
            };
            return cases.map(case).collect::<Result<_>>().map(ValueType::Sum);
        }
        if self.accept_word("opaque") {
            let name = self.text()?;
            return Ok(ValueType::Opaque { name, of: Box::new(self.value_type()?) });
        }
        if !self.accept("[") {
            return self.prim().map(ValueType::Prim);
        }
        let ragged = self.accept("~");
        let size = match self.peek() {
            Token::Number(_) => Some(self.number()?),
            Token::Symbol(_) => None,
            _ => Some(self.name()?),
        };
        self.expect("]")?;
        Ok(ValueType::Array { ragged, size, elem: Box::new(self.value_type()?) })
    }
}

/// `f32.inf`, `f64.nan` and the like.
fn is_special_float(word: &str) -> bool {
    let float = |p: &str| Prim::from_name(p).is_some_and(Prim::is_float);
    matches!(word.split_once('.'), Some((p, "inf" | "nan")) if float(p))
}

/// Name and id of a printed variable.
fn split_var(word: &str) -> Option<(&str, u32)> {
    let (name, id) = word.rsplit_once('_')?;
    let digits = !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit());
    let id = if digits { id.parse().ok()? } else { return None };
    (id <= MAX_ID && !name.is_empty()).then_some((name, id))
}

/// A number with its type's suffix.
fn number(text: &str, negative: bool) -> Option<Scalar> {
    let p = Prim::ALL.into_iter().find(|p| text.ends_with(p.name()))?;
    let digits = text.strip_suffix(p.name())?;
    let signed = if negative { format!("-{digits}") } else { digits.to_string() };
    match p {
        Prim::F16 => float16::from_decimal(&signed).map(Scalar::F16),
        Prim::F32 => signed.parse().ok().map(Scalar::F32),
        Prim::F64 => signed.parse().ok().map(Scalar::F64),
        Prim::Bool => None,
        _ => {
            let x: i128 = signed.parse().ok()?;
            let c = Scalar::from_bits(p, x as u64);
            let exact = if p == Prim::U64 { c.bits() as i128 == x } else { c.as_i64()? as i128 == x };
            exact.then_some(c)
        }
    }
}
