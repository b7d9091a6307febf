//! Columns while they grow.

use super::types::{SizeText, TypeText};
use crate::array::exhausted;
use crate::{Array, Column, Prim, Scalar, Value, ValueType};
use std::collections::HashMap;

/// Rows that `empty(…)` may create one by one (a descriptor holds a number for each).
const MAX_EMPTY_ROWS: i64 = 1 << 26;

/// The columns of a type, as a tree.
pub(super) enum Node {
    Prim(Data),
    Tuple(Vec<Node>),
    Record(Vec<(String, Node)>),
    /// The constructors' numbers, and all payloads.
    Sum(Data, Vec<(String, Vec<Node>)>),
    Array(Rows),
    /// Of a hidden type, which cannot be written.
    Opaque(String, Box<Node>),
}

/// Scalars so far, as little-endian bytes.
pub(super) struct Data {
    pub(super) prim: Prim,
    pub(super) bytes: Vec<u8>,
}

/// An array dimension so far.
pub(super) struct Rows {
    pub(super) lengths: Lengths,
    pub(super) elem: Box<Node>,
}

/// Lengths of rows.
pub(super) enum Lengths {
    /// All the same: as the type says, or as the first row has it.
    Uniform { size: Option<i64>, name: Option<String> },
    /// End of each row.
    Ragged(Vec<i64>),
}

impl Node {
    /// Empty columns for a type.
    pub(super) fn new(ty: &ValueType) -> Node {
        match ty {
            ValueType::Prim(prim) => Node::Prim(Data { prim: *prim, bytes: Vec::new() }),
            ValueType::Tuple(ts) => Node::Tuple(ts.iter().map(Node::new).collect()),
            ValueType::Record(fs) => {
                Node::Record(fs.iter().map(|(name, t)| (name.clone(), Node::new(t))).collect())
            }
            ValueType::Sum(cs) => {
                let payload = |ts: &[ValueType]| ts.iter().map(Node::new).collect();
                let cases = cs.iter().map(|(name, ts)| (name.clone(), payload(ts))).collect();
                Node::Sum(Data { prim: Prim::of_constructors(cs.len()), bytes: Vec::new() }, cases)
            }
            ValueType::Array { ragged, size, elem } => Node::Array(Rows {
                lengths: if *ragged { Lengths::Ragged(vec![0]) } else { Lengths::uniform(size) },
                elem: Box::new(Node::new(elem)),
            }),
            ValueType::Opaque { name, of } => Node::Opaque(name.clone(), Box::new(Node::new(of))),
        }
    }

    /// Fails if `ty` is another type, sizes aside.
    pub(super) fn like(&self, ty: &TypeText) -> Result<(), String> {
        match (self, ty) {
            (Node::Prim(data), TypeText::Prim(p)) if data.prim == *p => Ok(()),
            (Node::Prim(data), TypeText::Prim(p)) => {
                Err(format!("elements have type {p}, but {} is expected", data.prim))
            }
            (Node::Tuple(ns), TypeText::Tuple(ts)) if ns.len() == ts.len() => {
                ns.iter().zip(ts).try_for_each(|(n, t)| n.like(t))
            }
            (Node::Record(ns), TypeText::Record(ts))
                if ns.iter().map(|n| &n.0).eq(ts.iter().map(|t| &t.0)) =>
            {
                ns.iter().zip(ts).try_for_each(|(n, t)| n.1.like(&t.1))
            }
            (Node::Sum(_, ns), TypeText::Sum(ts)) if same_cases(ns, ts) => {
                let mut parts = ns.iter().zip(ts).flat_map(|(n, t)| n.1.iter().zip(&t.1));
                parts.try_for_each(|(n, t)| n.like(t))
            }
            (Node::Array(rows), TypeText::Array { elem, .. }) => rows.elem.like(elem),
            (node, _) => Err(format!("`empty` has another type: {} is expected there", node.kind())),
        }
    }

    /// Adds `count` values of type `ty`, none of which holds a scalar. Fails if the type is another one.
    pub(super) fn add_empty(&mut self, ty: &TypeText, count: i64) -> Result<(), String> {
        match (self, ty) {
            (Node::Prim(data), TypeText::Prim(p)) if data.prim == *p && count == 0 => Ok(()),
            (Node::Prim(data), TypeText::Prim(p)) if data.prim == *p => {
                Err("`empty` needs a size of 0".into())
            }
            (Node::Prim(data), TypeText::Prim(p)) => {
                Err(format!("elements have type {p}, but {} is expected", data.prim))
            }
            (Node::Tuple(ns), TypeText::Tuple(ts)) if ns.len() == ts.len() => {
                ns.iter_mut().zip(ts).try_for_each(|(n, t)| n.add_empty(t, count))
            }
            (Node::Record(ns), TypeText::Record(ts))
                if ns.iter().map(|n| &n.0).eq(ts.iter().map(|t| &t.0)) =>
            {
                ns.iter_mut().zip(ts).try_for_each(|(n, t)| n.1.add_empty(&t.1, count))
            }
            (Node::Sum(..), TypeText::Sum(_)) if count > 0 => Err("`empty` needs a size of 0".into()),
            (Node::Sum(_, ns), TypeText::Sum(ts)) if same_cases(ns, ts) => {
                let mut parts = ns.iter_mut().zip(ts).flat_map(|(n, t)| n.1.iter_mut().zip(&t.1));
                parts.try_for_each(|(n, t)| n.add_empty(t, count))
            }
            (Node::Array(rows), TypeText::Array { size, elem }) => {
                let len = if let SizeText::Known(n) = size { *n } else { 0 };
                let needed = if count == 0 && *size != SizeText::Known(len) { None } else { Some(len) };
                rows.lengths.add_many(needed, count)?;
                let total = len.checked_mul(count).ok_or("`empty` with sizes that are too large")?;
                rows.elem.add_empty(elem, total)
            }
            (node, _) => Err(format!("`empty` has another type: {} is expected there", node.kind())),
        }
    }

    /// Holds a value against the type written after it, which may fill in sizes that no row has shown.
    pub(super) fn ascribe(&mut self, ty: &TypeText) -> Result<(), String> {
        match (self, ty) {
            (Node::Prim(data), TypeText::Prim(p)) if data.prim == *p => Ok(()),
            (Node::Prim(data), TypeText::Prim(p)) => {
                Err(format!("the type written is {p}, but {} is expected", data.prim))
            }
            (Node::Tuple(ns), TypeText::Tuple(ts)) if ns.len() == ts.len() => {
                ns.iter_mut().zip(ts).try_for_each(|(n, t)| n.ascribe(t))
            }
            (Node::Record(ns), TypeText::Record(ts))
                if ns.iter().map(|n| &n.0).eq(ts.iter().map(|t| &t.0)) =>
            {
                ns.iter_mut().zip(ts).try_for_each(|(n, t)| n.1.ascribe(&t.1))
            }
            (Node::Sum(_, ns), TypeText::Sum(ts)) if same_cases(ns, ts) => {
                let mut parts = ns.iter_mut().zip(ts).flat_map(|(n, t)| n.1.iter_mut().zip(&t.1));
                parts.try_for_each(|(n, t)| n.ascribe(t))
            }
            (Node::Array(rows), TypeText::Array { size, elem }) => {
                if let SizeText::Known(n) = size {
                    rows.lengths.ascribe(*n)?;
                }
                rows.elem.ascribe(elem)
            }
            (node, _) => Err(format!("the type written is another one: {} is expected there", node.kind())),
        }
    }

    /// Adds what stands for the payload of a constructor that a value does not have.
    pub(super) fn add_neutral(&mut self) {
        match self {
            Node::Prim(data) => data.push(Scalar::zero(data.prim)),
            Node::Tuple(ns) => ns.iter_mut().for_each(Node::add_neutral),
            Node::Record(ns) => ns.iter_mut().for_each(|n| n.1.add_neutral()),
            Node::Opaque(_, of) => of.add_neutral(),
            Node::Sum(tags, cs) => {
                tags.push(Scalar::zero(tags.prim));
                cs.iter_mut().flat_map(|c| &mut c.1).for_each(Node::add_neutral);
            }
            // Inside sums all arrays but outermost ones are irregular, so a row of length 0 always fits.
            Node::Array(rows) => {
                let _ = rows.lengths.add(0);
            }
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Node::Prim(_) => "a scalar",
            Node::Tuple(_) => "a tuple",
            Node::Record(_) => "a record",
            Node::Sum(..) => "a value of a sum type",
            Node::Array(_) => "an array",
            Node::Opaque(..) => "a value of an abstract type",
        }
    }

    /// Sizes with a name that rows have shown.
    pub(super) fn known_sizes(&self, out: &mut HashMap<String, i64>) {
        match self {
            Node::Prim(_) => {}
            Node::Tuple(ns) => ns.iter().for_each(|n| n.known_sizes(out)),
            Node::Record(ns) => ns.iter().for_each(|n| n.1.known_sizes(out)),
            Node::Sum(_, cs) => cs.iter().flat_map(|c| &c.1).for_each(|n| n.known_sizes(out)),
            Node::Array(rows) => {
                if let Lengths::Uniform { size: Some(n), name: Some(name) } = &rows.lengths {
                    out.entry(name.clone()).or_insert(*n);
                }
                rows.elem.known_sizes(out);
            }
            Node::Opaque(_, of) => of.known_sizes(out),
        }
    }

    /// The value, of type `ty`; a size that nothing has shown is what its name stands for elsewhere, else 0.
    pub(super) fn finish(self, ty: &ValueType, sizes: &HashMap<String, i64>) -> Value {
        let mut columns = Vec::new();
        self.add_columns(0, sizes, &mut columns);
        Value { ty: ty.clone(), columns }
    }

    fn add_columns(self, depth: usize, sizes: &HashMap<String, i64>, out: &mut Vec<Column>) {
        match self {
            Node::Prim(data) if depth == 0 => out.push(Column::Scalar(data.first())),
            Node::Prim(data) => out.push(Column::Data(data.into_array())),
            Node::Tuple(ns) => ns.into_iter().for_each(|n| n.add_columns(depth, sizes, out)),
            Node::Record(ns) => ns.into_iter().for_each(|n| n.1.add_columns(depth, sizes, out)),
            Node::Sum(tags, cs) => {
                Node::Prim(tags).add_columns(depth, sizes, out);
                cs.into_iter().flat_map(|c| c.1).for_each(|n| n.add_columns(depth, sizes, out));
            }
            Node::Array(rows) => {
                out.push(match rows.lengths {
                    Lengths::Ragged(offsets) => Column::Offsets(Array::from_slice(&offsets)),
                    Lengths::Uniform { size, name } => {
                        let elsewhere = || name.and_then(|name| sizes.get(&name).copied());
                        Column::Size(size.or_else(elsewhere).unwrap_or(0))
                    }
                });
                rows.elem.add_columns(depth + 1, sizes, out);
            }
            Node::Opaque(_, of) => of.add_columns(depth, sizes, out),
        }
    }
}

impl Lengths {
    fn uniform(size: &Option<String>) -> Lengths {
        let constant = size.as_ref().and_then(|s| s.trim_end_matches("i64").parse().ok());
        Lengths::Uniform { size: constant, name: size.clone().filter(|_| constant.is_none()) }
    }

    /// Adds a row; `Err` is the length it should have.
    pub(super) fn add(&mut self, len: i64) -> Result<(), i64> {
        match self {
            Lengths::Ragged(offsets) => {
                make_room(offsets, 1);
                offsets.push(offsets[offsets.len() - 1] + len);
            }
            Lengths::Uniform { size: Some(n), .. } if *n != len => return Err(*n),
            Lengths::Uniform { size, .. } => *size = Some(len),
        }
        Ok(())
    }

    /// Adds `count` rows of a length; with no rows at all the length may be unknown.
    fn add_many(&mut self, len: Option<i64>, count: i64) -> Result<(), String> {
        let wrong = |len, n| format!("`empty` says length {len}, but length {n} is needed");
        match self {
            Lengths::Ragged(_) if count > MAX_EMPTY_ROWS => Err("`empty` with too many rows".into()),
            Lengths::Ragged(_) => {
                (0..count).try_for_each(|_| self.add(len.unwrap_or(0))).map_err(|n| wrong(0, n))
            }
            Lengths::Uniform { .. } => len.map_or(Ok(()), |len| self.add(len).map_err(|n| wrong(len, n))),
        }
    }

    fn ascribe(&mut self, n: i64) -> Result<(), String> {
        let differs = |len| Err(format!("the type written says length {n}, but the value has length {len}"));
        match self {
            Lengths::Uniform { size: Some(size), .. } if *size != n => differs(*size),
            Lengths::Uniform { size, .. } => {
                *size = Some(n);
                Ok(())
            }
            Lengths::Ragged(offsets) => match offsets.windows(2).map(|w| w[1] - w[0]).find(|len| *len != n) {
                Some(len) => differs(len),
                None => Ok(()),
            },
        }
    }
}

impl Data {
    pub(super) fn push(&mut self, x: Scalar) {
        let word = x.bits().to_le_bytes();
        make_room(&mut self.bytes, word.len());
        match self.prim.size() {
            1 => self.bytes.push(word[0]),
            2 => self.bytes.extend_from_slice(&word[..2]),
            4 => self.bytes.extend_from_slice(&word[..4]),
            _ => self.bytes.extend_from_slice(&word),
        }
    }

    fn into_array(self) -> Array {
        let mut array = Array::uninit(self.prim, self.bytes.len() / self.prim.size());
        array.bytes_mut().copy_from_slice(&self.bytes);
        array
    }

    /// A lone scalar; zero if none was read, which only happens after an error.
    fn first(self) -> Scalar {
        let array = self.into_array();
        if array.is_empty() { Scalar::zero(array.prim()) } else { array.get(0) }
    }
}

/// Makes room as pushing does, but where there is no memory for it that is said as of an array.
fn make_room<T>(items: &mut Vec<T>, more: usize) {
    if items.try_reserve(more).is_err() {
        exhausted((items.len() + more) * size_of::<T>());
    }
}

/// True if a sum and a type written have the same constructors with as many parts.
fn same_cases(nodes: &[(String, Vec<Node>)], types: &[(String, Vec<TypeText>)]) -> bool {
    nodes.iter().map(|c| (&c.0, c.1.len())).eq(types.iter().map(|c| (&c.0, c.1.len())))
}
