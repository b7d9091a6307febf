//! Reading, as the type that is wanted.

use super::column::{Column, Numbers};
use crate::DataError;
use crate::source::Source;
use crate::tree::Tree;
use par_runtime::ValueType;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Deserializer;
use serde_json::de::IoRead;
use serde_json::value::RawValue;
use std::fmt;
use std::io::BufReader;

type Reader<'s, 'a> = Deserializer<IoRead<BufReader<&'s mut Source<'a>>>>;

/// Bytes in which the first character that is no space is looked for.
const START: usize = 4096;

fn open<'s, 'a>(source: &'s mut Source<'a>) -> Result<Reader<'s, 'a>, DataError> {
    source.rewind()?;
    Ok(Deserializer::from_reader(BufReader::with_capacity(1 << 16, source)))
}

fn first(source: &mut Source) -> Result<Option<u8>, DataError> {
    Ok(source.start(START)?.into_iter().find(|b| !b.is_ascii_whitespace()))
}

fn failed(e: &serde_json::Error) -> DataError {
    let message = e.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    let message = in_our_words(message);
    match (e.line() as u64, e.column()) {
        (0, _) => DataError::new(message),
        (line, column) => DataError { place: format!(":{line}:{column}"), ..DataError::new(message) },
    }
}

/// Rewords serde's message about a value that is not a number as the messages about other values.
fn in_our_words(message: &str) -> String {
    let parts = message.strip_prefix("invalid type: ").and_then(|rest| rest.rsplit_once(", expected "));
    let Some((found, expected)) = parts else { return message.to_string() };
    let found = match found.strip_prefix("string ") {
        Some(text) => format!("`{}`", text.trim_matches('"')),
        None => match found.split_once(' ').map_or(found, |(kind, _)| kind) {
            "null" => NOTHING.to_string(),
            "boolean" => found.trim_start_matches("boolean ").trim_matches('`').to_string(),
            "sequence" => "an array".into(),
            "map" => "an object".into(),
            _ => found.to_string(),
        },
    };
    unexpected(expected, &found)
}

/// Description of `null`.
const NOTHING: &str = "null, which a type like `#none | #some t` would allow";

fn unexpected(expected: &str, found: &str) -> String {
    format!("{expected} is expected, and this is {found}")
}

/// The names of the first object's members; without any, nothing.
pub fn names(source: &mut Source, lines: bool) -> Result<Vec<String>, DataError> {
    let in_array = !lines && first(source)? == Some(b'[');
    let mut names = Vec::new();
    let seed = Names { names: &mut names, in_array };
    // Whatever comes behind the first object is of no interest, nor is what is no object: reading says what is wrong.
    let _ = seed.deserialize(&mut open(source)?);
    Ok(names)
}

/// The file, or its member `part`, as `ty`. Of an array of objects, or of lines, a part is a column.
pub fn read(source: &mut Source, lines: bool, part: Option<&str>, ty: &ValueType) -> Result<Tree, DataError> {
    let in_rows = lines || first(source)? == Some(b'[') && (part.is_some() || is_table(ty));
    let wanted = match part {
        Some(name) => part_of(name, ty, in_rows)?,
        None if in_rows => rows_of(ty),
        None => ty.clone(),
    };
    let tree = match (lines, &wanted) {
        (true, ValueType::Array { elem, .. }) => read_lines(source, elem)?,
        (true, ty) => return Err(format!("lines of JSON are an array, but {ty} is expected").into()),
        (false, ty) => read_whole(source, ty)?,
    };
    match (tree, part) {
        (Tree::Fields(mut fields), Some(_)) if !in_rows => Ok(fields.remove(0).1),
        (tree, _) => Ok(tree),
    }
}

/// True if a type may be the columns of a table.
fn is_table(ty: &ValueType) -> bool {
    let array = |t: &ValueType| matches!(t, ValueType::Array { .. });
    matches!(ty, ValueType::Record(fields) if !fields.is_empty() && fields.iter().all(|f| array(&f.1)))
}

/// An array of records in place of a record of arrays.
fn rows_of(ty: &ValueType) -> ValueType {
    match ty {
        ValueType::Record(fields) if is_table(ty) => {
            let elem = |t: &ValueType| match t {
                ValueType::Array { elem, .. } => (**elem).clone(),
                other => other.clone(),
            };
            ValueType::array(ValueType::Record(fields.map(elem)))
        }
        ty => ty.clone(),
    }
}

/// The type of objects with a member.
fn part_of(name: &str, ty: &ValueType, in_rows: bool) -> Result<ValueType, DataError> {
    let object = |t: &ValueType| ValueType::Record(vec![(name.to_string(), t.clone())].into());
    match ty {
        ValueType::Array { elem, .. } if in_rows => Ok(ValueType::array(object(elem))),
        _ if in_rows => Err(format!("`{name}` is a column, but {ty} is expected").into()),
        ty => Ok(object(ty)),
    }
}

fn read_whole(source: &mut Source, ty: &ValueType) -> Result<Tree, DataError> {
    let mut column = Column::new(ty)?;
    let mut reader = open(source)?;
    Seed { column: &mut column }.deserialize(&mut reader).map_err(|e| failed(&e))?;
    reader.end().map_err(|e| failed(&e))?;
    Ok(match column {
        // One array has a length, not the ends of its rows.
        Column::List(ends, elem) => Tree::array(ends.last().map_or(0, |n| *n as usize), elem.finish()),
        column => column.finish(),
    })
}

/// Values one after the other.
fn read_lines(source: &mut Source, elem: &ValueType) -> Result<Tree, DataError> {
    let mut column = Column::new(elem)?;
    let mut reader = open(source)?;
    let mut count = 0;
    while reader.end().is_err() {
        Seed { column: &mut column }.deserialize(&mut reader).map_err(|e| failed(&e))?;
        count += 1;
    }
    Ok(Tree::array(count, column.finish()))
}

/// One value, which is added to a column.
struct Seed<'c> {
    column: &'c mut Column,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.column {
            Column::Optional(..) => deserializer.deserialize_option(self),
            // Rounded once, not to f64 before.
            Column::Numbers(Numbers::Singles(_)) => deserializer.deserialize_f32(self),
            Column::Numbers(Numbers::Halves(_)) => {
                let written = <Box<RawValue>>::deserialize(deserializer)?;
                self.scalar(written.get(), |numbers| numbers.push_half(written.get()))
            }
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl Seed<'_> {
    fn other<E: Error>(column: &Column, found: &str) -> Result<(), E> {
        Err(E::custom(unexpected(&column.expected(), found)))
    }

    fn scalar<E: Error>(
        self,
        x: impl fmt::Display,
        push: impl FnOnce(&mut Numbers) -> bool,
    ) -> Result<(), E> {
        let column = self.column;
        let done = if let Column::Numbers(numbers) = &mut *column { push(numbers) } else { false };
        match done {
            true => Ok(()),
            false => Self::other(column, &x.to_string()),
        }
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.column.expected())
    }

    fn visit_bool<E: Error>(self, x: bool) -> Result<(), E> {
        self.scalar(x, |numbers| numbers.push_bool(x))
    }

    fn visit_i64<E: Error>(self, x: i64) -> Result<(), E> {
        self.scalar(x, |numbers| numbers.push_integer(x.into()))
    }

    fn visit_u64<E: Error>(self, x: u64) -> Result<(), E> {
        self.scalar(x, |numbers| numbers.push_integer(x.into()))
    }

    fn visit_f64<E: Error>(self, x: f64) -> Result<(), E> {
        self.scalar(x, |numbers| numbers.push_float(x))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        let column = self.column;
        match column.push_text(text) {
            true => Ok(()),
            false => Self::other(column, &format!("`{}`", crate::csv::cell::shown(text.as_bytes()))),
        }
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        match self.column {
            Column::Optional(..) => {
                self.column.push_nothing();
                Ok(())
            }
            column => Self::other(column, NOTHING),
        }
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_some<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let column = match self.column {
            Column::Optional(present, elem) => {
                present.push(true);
                elem
            }
            column => column,
        };
        Seed { column }.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        match self.column {
            Column::List(ends, elem) => {
                let mut end = ends.last().copied().unwrap_or(0);
                while elements.next_element_seed(Seed { column: elem })?.is_some() {
                    end += 1;
                }
                ends.push(end);
                Ok(())
            }
            Column::Tuple(parts) => {
                let count = parts.len();
                for (i, part) in parts.iter_mut().enumerate() {
                    let there = elements.next_element_seed(Seed { column: part })?.is_some();
                    there.then_some(()).ok_or_else(|| A::Error::custom(wrong_count(count, i)))?;
                }
                let mut more = 0;
                while elements.next_element::<IgnoredAny>()?.is_some() {
                    more += 1;
                }
                (more == 0).then_some(()).ok_or_else(|| A::Error::custom(wrong_count(count, count + more)))
            }
            column => Self::other(column, "an array"),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let fields = match self.column {
            Column::Record(fields) => fields,
            column => return Self::other(column, "an object"),
        };
        let mut found = vec![false; fields.len()];
        let mut others = Vec::new();
        while let Some(name) = members.next_key::<String>()? {
            let Some(i) = fields.iter().position(|f| f.0 == name) else {
                members.next_value::<IgnoredAny>()?;
                others.push(name);
                continue;
            };
            if std::mem::replace(&mut found[i], true) {
                return Err(A::Error::custom(format!("an object has `{name}` twice")));
            }
            members.next_value_seed(Seed { column: &mut fields[i].1 })?;
        }
        for ((name, column), _) in fields.iter_mut().zip(found).filter(|(_, there)| !there) {
            match column {
                Column::Optional(..) => column.push_nothing(),
                _ => {
                    let others = crate::input::listing(others.iter().map(String::as_str));
                    let has = format!("an object has no `{name}`; others that it has: {others}");
                    return Err(A::Error::custom(has));
                }
            }
        }
        Ok(())
    }
}

fn wrong_count(expected: usize, found: usize) -> String {
    format!("an array of {expected} values is expected, and this has {found}")
}

/// The names of an object's members.
struct Names<'n> {
    names: &'n mut Vec<String>,
    in_array: bool,
}

impl<'de> DeserializeSeed<'de> for Names<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Names<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        if self.in_array {
            elements.next_element_seed(Names { in_array: false, ..self })?;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            members.next_value::<IgnoredAny>()?;
            self.names.push(name);
        }
        Ok(())
    }
}
