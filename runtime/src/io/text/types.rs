//! Types as they occur in value text: after a colon, and in `empty(…)`.

use super::scan::Scanner;
use crate::io::InputError;
use crate::{Prim, ValueType};

/// Deepest nesting of a value whose type is not known beforehand.
pub(super) const MAX_DEPTH: usize = 200;

/// A type as written.
#[derive(Clone, Debug)]
pub(super) enum TypeText {
    Prim(Prim),
    Tuple(Vec<TypeText>),
    Record(Vec<(String, TypeText)>),
    /// Constructors sorted by name.
    Sum(Vec<(String, Vec<TypeText>)>),
    Array {
        size: SizeText,
        elem: Box<TypeText>,
    },
}

/// Text between the brackets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum SizeText {
    Anonymous,
    Named,
    Known(i64),
}

type Result<T> = std::result::Result<T, InputError>;

impl Scanner<'_> {
    /// A type; `depth` counts enclosing ones.
    pub(super) fn type_text(&mut self, depth: usize) -> Result<TypeText> {
        let mut sizes = Vec::new();
        while self.eat(b'[') {
            sizes.push(self.size_text()?);
            self.check_depth(depth + sizes.len())?;
        }
        let depth = depth + sizes.len() + 1;
        let inner = match self.peek() {
            Some(b'(') => self.tuple_type(depth)?,
            Some(b'{') => self.record_type(depth)?,
            Some(b'#') => self.sum_type(depth)?,
            _ => self.prim_type()?,
        };
        let wrap = |elem, size| TypeText::Array { size, elem: Box::new(elem) };
        Ok(sizes.into_iter().rev().fold(inner, wrap))
    }

    /// Fails if a value or type is nested too deeply.
    pub(super) fn check_depth(&self, depth: usize) -> Result<()> {
        if depth <= MAX_DEPTH {
            return Ok(());
        }
        let at = self.pos.min(self.text.len());
        Err(InputError::new(format!("nested more than {MAX_DEPTH} deep"), at..at))
    }

    fn size_text(&mut self) -> Result<SizeText> {
        self.peek();
        let start = self.pos;
        let word = self.word();
        let digits = word.strip_suffix("i64").unwrap_or(word).replace('_', "");
        let size = match word.as_bytes().first() {
            None => SizeText::Anonymous,
            Some(b'0'..=b'9') => match digits.parse::<i64>() {
                Ok(n) => SizeText::Known(n),
                Err(_) => return Err(InputError::new(format!("`{word}` is not a size"), start..self.pos)),
            },
            Some(b'-') => return Err(InputError::new(format!("`{word}` is not a size"), start..self.pos)),
            Some(_) => SizeText::Named,
        };
        self.expect(b']')?;
        Ok(size)
    }

    fn prim_type(&mut self) -> Result<TypeText> {
        self.peek();
        let start = self.pos;
        let word = self.word();
        if word.is_empty() {
            return self.unexpected("a type");
        }
        let prim = Prim::from_name(word);
        prim.map(TypeText::Prim)
            .ok_or_else(|| InputError::new(format!("`{word}` is not a type of values"), start..self.pos))
    }

    fn tuple_type(&mut self, depth: usize) -> Result<TypeText> {
        self.check_depth(depth)?;
        self.expect(b'(')?;
        let mut types = Vec::new();
        while !self.eat(b')') {
            if !types.is_empty() {
                self.expect(b',')?;
            }
            types.push(self.type_text(depth)?);
        }
        Ok(if types.len() == 1 { types.remove(0) } else { TypeText::Tuple(types) })
    }

    /// `#a i32 | #b`; a payload that is a sum stands in parentheses.
    fn sum_type(&mut self, depth: usize) -> Result<TypeText> {
        self.check_depth(depth)?;
        let mut cases = Vec::new();
        loop {
            self.expect(b'#')?;
            let name = self.word().to_string();
            if name.is_empty() {
                return self.unexpected("a constructor's name");
            }
            let mut payload = Vec::new();
            while self.peek().is_some_and(|b| matches!(b, b'[' | b'(' | b'{') || b.is_ascii_alphabetic()) {
                payload.push(self.type_text(depth)?);
            }
            cases.push((name, payload));
            if !self.eat(b'|') {
                break;
            }
        }
        cases.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(TypeText::Sum(cases))
    }

    fn record_type(&mut self, depth: usize) -> Result<TypeText> {
        self.check_depth(depth)?;
        self.expect(b'{')?;
        let mut fields = Vec::new();
        while !self.eat(b'}') {
            if !fields.is_empty() {
                self.expect(b',')?;
            }
            let name = self.word().to_string();
            if name.is_empty() {
                return self.unexpected("a field's name");
            }
            self.expect(b':')?;
            fields.push((name, self.type_text(depth)?));
        }
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(TypeText::Record(fields))
    }
}

impl TypeText {
    /// The type of a value annotated with this one: an anonymous size inside an array may vary.
    pub(super) fn value_type(&self) -> ValueType {
        self.at_depth(0)
    }

    fn at_depth(&self, depth: usize) -> ValueType {
        match self {
            TypeText::Prim(p) => ValueType::Prim(*p),
            TypeText::Tuple(ts) => ValueType::Tuple(ts.iter().map(|t| t.at_depth(depth)).collect()),
            TypeText::Record(fs) => {
                ValueType::Record(fs.iter().map(|(n, t)| (n.clone(), t.at_depth(depth))).collect())
            }
            TypeText::Sum(cs) => {
                let payload = |ts: &[TypeText]| ts.iter().map(|t| t.at_depth(depth)).collect();
                ValueType::Sum(cs.iter().map(|(n, ts)| (n.clone(), payload(ts))).collect())
            }
            TypeText::Array { size, elem } => ValueType::Array {
                ragged: depth > 0 && *size == SizeText::Anonymous,
                size: None,
                elem: Box::new(elem.at_depth(depth + 1)),
            },
        }
    }
}
