//! Reading without expected types: a first pass guesses the type, the second reads against it.
//!
//! Numbers without a suffix take the type of a suffix elsewhere in the array, else `i32` or `f64`. Rows of
//! different lengths make a ragged array.

use super::build::Node;
use super::scan::{Literal, Scanner};
use super::types::{SizeText, TypeText};
use crate::io::InputError;
use crate::{Prim, Value, ValueType};
use std::collections::HashMap;

type Result<T> = std::result::Result<T, InputError>;

/// Guess of a type.
enum Guess {
    Unknown,
    /// Numbers without a suffix; `true` if one is not written as an integer.
    Number(bool),
    Prim(Prim),
    Tuple(Vec<Guess>),
    Record(Vec<(String, Guess)>),
    Array(Sizes, Box<Guess>),
}

/// Lengths of an array dimension so far.
#[derive(Clone, Copy, PartialEq)]
enum Sizes {
    None,
    One(i64),
    Many,
}

/// Reads all values of a text.
pub fn read_any(text: &str) -> Result<Vec<Value>> {
    let mut scanner = Scanner::new(text);
    let mut values = Vec::new();
    while scanner.peek().is_some() {
        let index = values.len();
        let value = scanner.any_value().map_err(|e| InputError { index, ..e })?;
        values.push(value);
    }
    Ok(values)
}

impl Scanner<'_> {
    fn any_value(&mut self) -> Result<Value> {
        let start = self.pos;
        let mut guess = Guess::Unknown;
        self.guess(&mut guess, 0)?;
        let ty = match self.annotation()? {
            Some(ty) => ty.value_type(),
            None => guess.value_type(0).ok_or_else(|| {
                let message =
                    "the type of this value is unknown; write it after the value, as in `[] : []i32`";
                InputError::new(message, start..self.pos)
            })?,
        };
        self.pos = start;
        let mut node = Node::new(&ty);
        self.ascribed(&mut node, None)?;
        Ok(node.finish(&ty, &HashMap::new()))
    }

    fn annotation(&mut self) -> Result<Option<TypeText>> {
        if self.eat(b':') { self.type_text(0).map(Some) } else { Ok(None) }
    }

    /// Reads a value and adds what it shows of its type.
    fn guess(&mut self, into: &mut Guess, depth: usize) -> Result<()> {
        self.check_depth(depth)?;
        let next = self.peek();
        let start = self.pos;
        let fits = match next {
            Some(b'[') => self.guess_array(into, depth)?,
            Some(b'"') => {
                let len = self.string()?.len();
                into.array(Sizes::One(len as i64)).is_some_and(|elem| elem.prim(Prim::U8))
            }
            Some(b'(') => self.guess_tuple(into, depth)?,
            Some(b'{') => self.guess_record(into, depth)?,
            Some(b'#') => {
                let message = "a value of a sum type can be read only where its type is known";
                return Err(InputError::new(message, start..self.pos + 1));
            }
            Some(b'e') => {
                let ty = self.empty_type()?;
                into.written(&ty)
            }
            _ => self.guess_scalar(into)?,
        };
        if fits { Ok(()) } else { Err(InputError::new("the elements differ in type", start..self.pos)) }
    }

    fn guess_array(&mut self, into: &mut Guess, depth: usize) -> Result<bool> {
        self.expect(b'[')?;
        let Some(elem) = into.array(Sizes::None) else { return Ok(false) };
        let mut len = 0;
        while !self.eat(b']') {
            if len > 0 {
                self.expect(b',')?;
            }
            self.guess(elem, depth + 1)?;
            len += 1;
        }
        Ok(into.array(Sizes::One(len)).is_some())
    }

    fn guess_tuple(&mut self, into: &mut Guess, depth: usize) -> Result<bool> {
        self.expect(b'(')?;
        let mut old = match std::mem::replace(into, Guess::Unknown) {
            Guess::Unknown => None,
            Guess::Tuple(guesses) => Some(guesses.into_iter()),
            _ => return Ok(false),
        };
        let mut guesses = Vec::new();
        while !self.eat(b')') {
            if !guesses.is_empty() {
                self.expect(b',')?;
            }
            let mut guess = match &mut old {
                None => Guess::Unknown,
                Some(old) => match old.next() {
                    Some(guess) => guess,
                    None => return Ok(false),
                },
            };
            self.guess(&mut guess, depth + 1)?;
            if let Some(ty) = self.annotation()?
                && !guess.written(&ty)
            {
                return Ok(false);
            }
            guesses.push(guess);
        }
        let complete = old.is_none_or(|mut old| old.next().is_none());
        *into = Guess::Tuple(guesses);
        Ok(complete)
    }

    fn guess_record(&mut self, into: &mut Guess, depth: usize) -> Result<bool> {
        self.expect(b'{')?;
        let old = match std::mem::replace(into, Guess::Unknown) {
            Guess::Unknown => None,
            Guess::Record(fields) => Some(fields),
            _ => return Ok(false),
        };
        let known = old.is_some();
        let mut fields: Vec<(String, Guess)> = old.unwrap_or_default();
        let mut read = 0;
        while !self.eat(b'}') {
            if read > 0 {
                self.expect(b',')?;
            }
            let name = self.word().to_string();
            self.expect(b'=')?;
            let i = match fields.iter().position(|f| f.0 == name) {
                Some(i) => i,
                None if known || name.is_empty() => return Ok(false),
                None => {
                    fields.push((name, Guess::Unknown));
                    fields.len() - 1
                }
            };
            self.guess(&mut fields[i].1, depth + 1)?;
            if let Some(ty) = self.annotation()?
                && !fields[i].1.written(&ty)
            {
                return Ok(false);
            }
            read += 1;
        }
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        *into = Guess::Record(fields);
        Ok(true)
    }

    fn guess_scalar(&mut self, into: &mut Guess) -> Result<bool> {
        self.peek();
        let start = self.pos;
        let word = self.word();
        if word.is_empty() {
            return self.unexpected("a value");
        }
        let literal =
            Literal::parse(word).map_err(|message| InputError::new(message, start..start + word.len()))?;
        Ok(match literal.suffix {
            Some(prim) => into.prim(prim),
            None => into.number(!literal.is_integer()),
        })
    }
}

impl Guess {
    /// The guess of the elements, if this can be an array with such sizes.
    fn array(&mut self, sizes: Sizes) -> Option<&mut Guess> {
        if matches!(self, Guess::Unknown) {
            *self = Guess::Array(Sizes::None, Box::new(Guess::Unknown));
        }
        let Guess::Array(old, elem) = self else { return None };
        *old = match (*old, sizes) {
            (same, Sizes::None) => same,
            (Sizes::None, new) => new,
            (old, new) if old == new => old,
            _ => Sizes::Many,
        };
        Some(elem)
    }

    fn prim(&mut self, prim: Prim) -> bool {
        let fits = match self {
            Guess::Unknown => true,
            Guess::Number(fraction) => prim != Prim::Bool && (!*fraction || prim.is_float()),
            Guess::Prim(old) => *old == prim,
            _ => false,
        };
        if fits {
            *self = Guess::Prim(prim);
        }
        fits
    }

    fn number(&mut self, fraction: bool) -> bool {
        match self {
            Guess::Unknown => *self = Guess::Number(fraction),
            Guess::Number(old) => *old |= fraction,
            Guess::Prim(prim) => return *prim != Prim::Bool && (!fraction || prim.is_float()),
            _ => return false,
        }
        true
    }

    /// Adds a written type.
    fn written(&mut self, ty: &TypeText) -> bool {
        match ty {
            TypeText::Prim(prim) => self.prim(*prim),
            TypeText::Array { size, elem } => {
                let sizes = match size {
                    SizeText::Known(n) => Sizes::One(*n),
                    SizeText::Named => Sizes::None,
                    SizeText::Anonymous => Sizes::Many,
                };
                self.array(sizes).is_some_and(|guess| guess.written(elem))
            }
            TypeText::Tuple(ts) => {
                if matches!(self, Guess::Unknown) {
                    *self = Guess::Tuple(ts.iter().map(|_| Guess::Unknown).collect());
                }
                let Guess::Tuple(guesses) = self else { return false };
                guesses.len() == ts.len() && guesses.iter_mut().zip(ts).all(|(g, t)| g.written(t))
            }
            TypeText::Sum(_) => false,
            TypeText::Record(fs) => {
                if matches!(self, Guess::Unknown) {
                    *self = Guess::Record(fs.iter().map(|(n, _)| (n.clone(), Guess::Unknown)).collect());
                }
                let Guess::Record(guesses) = self else { return false };
                let same_names = guesses.iter().map(|g| &g.0).eq(fs.iter().map(|f| &f.0));
                same_names && guesses.iter_mut().zip(fs).all(|(g, f)| g.1.written(&f.1))
            }
        }
    }

    fn value_type(&self, depth: usize) -> Option<ValueType> {
        Some(match self {
            Guess::Unknown => return None,
            Guess::Number(fraction) => ValueType::Prim(if *fraction { Prim::F64 } else { Prim::I32 }),
            Guess::Prim(prim) => ValueType::Prim(*prim),
            Guess::Tuple(gs) => {
                ValueType::Tuple(gs.iter().map(|g| g.value_type(depth)).collect::<Option<_>>()?)
            }
            Guess::Record(fs) => {
                let field = |(n, g): &(String, Guess)| Some((n.clone(), g.value_type(depth)?));
                ValueType::Record(fs.iter().map(field).collect::<Option<_>>()?)
            }
            Guess::Array(sizes, elem) => ValueType::Array {
                ragged: depth > 0 && *sizes == Sizes::Many,
                size: None,
                elem: Box::new(elem.value_type(depth + 1)?),
            },
        })
    }
}
