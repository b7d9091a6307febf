//! Characters to tokens and scalars.

use crate::io::InputError;
use crate::{Prim, Scalar, float16};

/// A position in the text.
pub(super) struct Scanner<'a> {
    pub(super) text: &'a str,
    pub(super) pos: usize,
}

type Result<T> = std::result::Result<T, InputError>;

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Scanner<'a> {
        // A byte order mark says nothing in UTF-8.
        Scanner { text, pos: if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 } }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Moves to the next token and returns its first byte.
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            match self.byte(self.pos)? {
                b' ' | b'\n' | b'\r' | b'\t' => self.pos += 1,
                b'-' if self.byte(self.pos + 1) == Some(b'-') => self.skip_line(),
                other => return Some(other),
            }
        }
    }

    fn skip_line(&mut self) {
        let rest = &self.text.as_bytes()[self.pos..];
        self.pos += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
    }

    /// Skips the token `b` if it is next.
    pub(super) fn eat(&mut self, b: u8) -> bool {
        let found = self.peek() == Some(b);
        self.pos += found as usize;
        found
    }

    /// Skips the token `b` or fails.
    pub(super) fn expect(&mut self, b: u8) -> Result<()> {
        if self.eat(b) {
            return Ok(());
        }
        self.unexpected(&format!("`{}`", b as char))
    }

    /// The error "expected …, found …" at the next token.
    pub(super) fn unexpected<T>(&mut self, expected: &str) -> Result<T> {
        let found = self.describe_next();
        let start = self.pos;
        let end = self.word_end(start).max(start + self.next_char_len());
        Err(InputError::new(format!("expected {expected}, found {found}"), start..end))
    }

    fn next_char_len(&self) -> usize {
        self.text[self.pos..].chars().next().map_or(0, char::len_utf8)
    }

    fn describe_next(&mut self) -> String {
        match self.peek() {
            None => "the end of the input".into(),
            Some(_) => {
                let end = self.word_end(self.pos);
                let word = &self.text[self.pos..end];
                match word.chars().count() {
                    0 => format!("`{}`", self.text[self.pos..].chars().next().unwrap_or(' ')),
                    1..=40 => format!("`{word}`"),
                    _ => format!("`{}…`", word.chars().take(40).collect::<String>()),
                }
            }
        }
    }

    /// End of the number or name that starts at `start`; `start` itself if there is none.
    pub(super) fn word_end(&self, start: usize) -> usize {
        let mut end = start;
        let mut sign_ok = true;
        while let Some(b) = self.byte(end) {
            let part = b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'\'') || b >= 0x80;
            if !(part || sign_ok && matches!(b, b'-' | b'+')) {
                break;
            }
            sign_ok = match b {
                b'e' | b'E' => self.is_decimal(start, end),
                b'p' | b'P' => self.is_hexadecimal(start),
                _ => false,
            };
            end += 1;
        }
        end
    }

    /// True if a hexadecimal number begins at `start`.
    fn is_hexadecimal(&self, start: usize) -> bool {
        let at = start + usize::from(self.byte(start) == Some(b'-'));
        self.byte(at) == Some(b'0') && matches!(self.byte(at + 1), Some(b'x' | b'X'))
    }

    /// True if only a decimal number stands in `start..end`, so that an `e` after it begins an exponent.
    fn is_decimal(&self, start: usize, end: usize) -> bool {
        let digits = self.text[start..end].trim_start_matches('-');
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'_' | b'.'))
    }

    /// The next number or name; empty if something else is next.
    pub(super) fn word(&mut self) -> &'a str {
        self.peek();
        let start = self.pos;
        self.pos = self.word_end(start);
        &self.text[start..self.pos]
    }

    /// A scalar of type `prim`.
    pub(super) fn scalar(&mut self, prim: Prim) -> Result<Scalar> {
        self.peek();
        if let Some(x) = self.short_integer(prim) {
            return Ok(x);
        }
        let start = self.pos;
        let end = self.word_end(start);
        if start == end {
            return self.unexpected(&format!("a value of type {prim}"));
        }
        let word = &self.text[start..end];
        let read = Literal::parse(word).and_then(|lit| lit.convert(word, prim));
        let scalar = read.map_err(|message| InputError::new(message, start..end))?;
        self.pos = end;
        Ok(scalar)
    }

    /// The common case, quickly: up to nine digits (with a sign) without suffix, at an integer type they fit.
    fn short_integer(&mut self, prim: Prim) -> Option<Scalar> {
        let negative = self.byte(self.pos) == Some(b'-');
        let start = self.pos + negative as usize;
        let (mut end, mut value) = (start, 0i64);
        while let Some(digit @ b'0'..=b'9') = self.byte(end) {
            if end - start == 9 {
                return None;
            }
            value = value * 10 + (digit - b'0') as i64;
            end += 1;
        }
        let delimiter =
            matches!(self.byte(end), None | Some(b',' | b']' | b' ' | b'\n' | b')' | b'}' | b'\r'));
        let signed = if negative { -value } else { value };
        if end == start || !delimiter || !fits(prim, signed) {
            return None;
        }
        self.pos = end;
        Some(Scalar::from_bits(prim, signed as u64))
    }

    /// The bytes of a string in double quotes.
    pub(super) fn string(&mut self) -> Result<Vec<u8>> {
        self.expect(b'"')?;
        let open = self.pos - 1;
        let mut out = Vec::new();
        loop {
            let at = self.pos;
            let Some(b) = self.byte(at) else {
                return Err(InputError::new("the string is not closed", open..at));
            };
            self.pos += 1;
            match b {
                b'"' => return Ok(out),
                b'\\' => out.push(self.escape(at)?),
                other => out.push(other),
            }
        }
    }

    fn escape(&mut self, at: usize) -> Result<u8> {
        let code = self.byte(self.pos);
        self.pos += code.is_some_and(|b| b < 0x80) as usize;
        Ok(match code {
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'0') => 0,
            Some(c @ (b'"' | b'\\' | b'\'')) => c,
            Some(b'x') => {
                let digits = self.text.get(self.pos..self.pos + 2).unwrap_or("");
                let value = u8::from_str_radix(digits, 16);
                self.pos += digits.len();
                value.map_err(|_| InputError::new("`\\x` needs two hexadecimal digits", at..self.pos))?
            }
            _ => return Err(InputError::new("unknown escape in a string", at..self.pos)),
        })
    }
}

fn fits(prim: Prim, x: i64) -> bool {
    match prim {
        Prim::I8 => i8::try_from(x).is_ok(),
        Prim::I16 => i16::try_from(x).is_ok(),
        Prim::I32 => i32::try_from(x).is_ok(),
        Prim::U8 => u8::try_from(x).is_ok(),
        Prim::U16 => u16::try_from(x).is_ok(),
        Prim::U32 => u32::try_from(x).is_ok(),
        Prim::U64 => x >= 0,
        Prim::I64 => true,
        Prim::F16 | Prim::F32 | Prim::F64 | Prim::Bool => false,
    }
}

/// A scalar as written, before its type is known.
pub(super) struct Literal {
    negative: bool,
    kind: Kind,
    /// The type it names itself.
    pub(super) suffix: Option<Prim>,
}

enum Kind {
    /// Magnitude, saturating.
    Integer(u128),
    /// Decimal digits of a number that is not an integer, or that has a float suffix.
    Decimal(String),
    /// A hexadecimal number with an exponent.
    Hexadecimal(f64),
    Infinity,
    NotANumber,
    Bool(bool),
}

type Message<T> = std::result::Result<T, String>;

impl Literal {
    /// True if the literal is written like an integer.
    pub(super) fn is_integer(&self) -> bool {
        matches!(self.kind, Kind::Integer(_))
    }

    /// Takes a word apart.
    pub(super) fn parse(word: &str) -> Message<Literal> {
        let negative = word.starts_with('-');
        let body = if negative { &word[1..] } else { word };
        let special = |kind, suffix| Ok(Literal { negative, kind, suffix });
        match body {
            "true" | "false" if !negative => return special(Kind::Bool(body == "true"), Some(Prim::Bool)),
            _ => {}
        }
        if let Some((kind, suffix)) = named(body) {
            return special(kind, suffix);
        }
        if !body.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(format!("`{word}` is not a value"));
        }
        let radix = match body.get(..2) {
            Some("0x" | "0X") if body.contains(['p', 'P']) => {
                return Literal::hexadecimal(word, negative, &body[2..]);
            }
            Some("0x" | "0X") => 16,
            Some("0b" | "0B") => 2,
            _ => return Literal::decimal(word, negative, body),
        };
        let (digits, suffix) = split_suffix(word, &body[2..], &['i', 'u'])?;
        let value = integer(digits, radix).ok_or_else(|| format!("`{word}` is not a number"))?;
        if value == u128::MAX {
            return Err(format!("`{word}` does not fit any type"));
        }
        Ok(Literal { negative, kind: Kind::Integer(value), suffix })
    }

    /// `1.8p3f32`, after the `0x`.
    fn hexadecimal(word: &str, negative: bool, body: &str) -> Message<Literal> {
        let exponent = body.find(['p', 'P']).unwrap_or(body.len());
        let (_, suffix) = split_suffix(word, &body[exponent..], &['i', 'u', 'f'])?;
        let digits = body[..body.len() - suffix.map_or(0, |p| p.name().len())].replace('_', "");
        match crate::hex_float(&digits) {
            Some(value) => Ok(Literal { negative, kind: Kind::Hexadecimal(value), suffix }),
            None => Err(format!("`{word}` is not a number")),
        }
    }

    fn decimal(word: &str, negative: bool, body: &str) -> Message<Literal> {
        let (digits, suffix) = split_suffix(word, body, &['i', 'u', 'f'])?;
        let kind = match integer(digits, 10) {
            Some(value) if value < u128::MAX && !suffix.is_some_and(Prim::is_float) => Kind::Integer(value),
            _ => {
                let digits = digits.replace('_', "");
                let bad = digits.ends_with('.') || digits.contains(".e") || digits.contains(".E");
                if bad || digits.parse::<f64>().is_err() {
                    return Err(format!("`{word}` is not a number"));
                }
                Kind::Decimal(digits)
            }
        };
        Ok(Literal { negative, kind, suffix })
    }

    /// The scalar of type `prim`, if the literal fits it.
    pub(super) fn convert(&self, word: &str, prim: Prim) -> Message<Scalar> {
        if let Some(suffix) = self.suffix.filter(|s| *s != prim) {
            return Err(format!("`{word}` has type {suffix}, but {prim} is expected"));
        }
        match &self.kind {
            Kind::Bool(b) => Ok(Scalar::Bool(*b)),
            _ if prim == Prim::Bool => Err(format!("`{word}` is a number, but bool is expected")),
            Kind::Integer(m) if prim.is_integer() => {
                integer_scalar(prim, self.negative, *m).ok_or_else(|| format!("`{word}` does not fit {prim}"))
            }
            Kind::Decimal(digits) if prim.is_integer() && digits.bytes().all(|b| b.is_ascii_digit()) => {
                Err(format!("`{word}` does not fit {prim}"))
            }
            _ if prim.is_integer() => Err(format!("`{word}` is not an integer, but {prim} is expected")),
            Kind::Integer(m) => self.float(word, prim, &m.to_string()),
            Kind::Decimal(digits) => self.float(word, prim, digits),
            Kind::Hexadecimal(value) => {
                let value = if self.negative { -value } else { *value };
                let read = Scalar::from_f64(prim, value).filter(|x| !x.is_infinite());
                read.ok_or_else(|| format!("`{word}` is too large for {prim}"))
            }
            Kind::Infinity => self.float(word, prim, "inf"),
            Kind::NotANumber => self.float(word, prim, "nan"),
        }
    }

    fn float(&self, word: &str, prim: Prim, digits: &str) -> Message<Scalar> {
        let signed = if self.negative { format!("-{digits}") } else { digits.to_string() };
        let read = || -> Option<Scalar> {
            Some(match prim {
                Prim::F16 => Scalar::F16(float16::from_decimal(&signed)?),
                Prim::F32 => Scalar::F32(signed.parse().ok()?),
                _ => Scalar::F64(signed.parse().ok()?),
            })
        };
        let fits = |x: &Scalar| !x.is_infinite() || matches!(self.kind, Kind::Infinity);
        read().filter(fits).ok_or_else(|| format!("`{word}` is too large for {prim}"))
    }
}

/// `f32.nan`, `f64.inf` and the like; without a type, and as other programs write them, `nan`, `NaN`, `inf`, `Infinity`.
fn named(body: &str) -> Option<(Kind, Option<Prim>)> {
    let (name, which) = body.split_once('.').map_or((None, body), |(name, which)| (Some(name), which));
    let prim = match name {
        Some(name) => Some(Prim::from_name(name).filter(|p| p.is_float())?),
        None => None,
    };
    match which.to_ascii_lowercase().as_str() {
        "nan" => Some((Kind::NotANumber, prim)),
        "inf" | "infinity" => Some((Kind::Infinity, prim)),
        _ => None,
    }
}

/// Splits `12i32` into digits and suffix; the suffix starts at the first of `initials`.
fn split_suffix<'a>(word: &str, body: &'a str, initials: &[char]) -> Message<(&'a str, Option<Prim>)> {
    let at = body.find(initials).unwrap_or(body.len());
    let (digits, suffix) = body.split_at(at);
    match (suffix, Prim::from_name(suffix)) {
        ("", _) => Ok((digits, None)),
        (_, Some(p)) => Ok((digits, Some(p))),
        _ => Err(format!("`{word}` is not a number: no type is named `{suffix}`")),
    }
}

/// The digits' value (saturating), with `_` between them ignored; `None` if other characters occur.
fn integer(digits: &str, radix: u32) -> Option<u128> {
    let mut value = 0u128;
    let mut any = false;
    for c in digits.chars().filter(|c| *c != '_') {
        let digit = c.to_digit(radix)?;
        value = value.saturating_mul(radix as u128).saturating_add(digit as u128);
        any = true;
    }
    any.then_some(value)
}

fn integer_scalar(prim: Prim, negative: bool, magnitude: u128) -> Option<Scalar> {
    let value = i128::try_from(magnitude).ok()?;
    let value = if negative { -value } else { value };
    let (low, high) = match (prim.is_signed(), prim.bits()) {
        (true, bits) => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        (false, bits) => (0, (1i128 << bits) - 1),
    };
    (low..=high).contains(&value).then(|| Scalar::from_bits(prim, value as u64))
}
