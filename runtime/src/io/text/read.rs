//! Reading against expected types. The recursion follows the type.

use super::build::{Data, Node, Rows};
use super::scan::Scanner;
use crate::io::InputError;
use crate::{Prim, Scalar, Value, ValueType};
use std::collections::HashMap;

type Result<T> = std::result::Result<T, InputError>;

/// Reads exactly one value of each type.
pub fn read_values(text: &str, types: &[ValueType]) -> Result<Vec<Value>> {
    let values = read_some(text, types)?;
    match types.get(values.len()) {
        None => Ok(values),
        Some(ty) => Err(InputError {
            message: format!("a value of type {ty} is missing"),
            range: text.len()..text.len(),
            index: values.len(),
        }),
    }
}

/// Reads values of the first types until the text ends, which needs not contain `()`; more values than types are an error.
pub fn read_some(text: &str, types: &[ValueType]) -> Result<Vec<Value>> {
    let mut scanner = Scanner::new(text);
    let mut nodes = Vec::new();
    for (index, ty) in types.iter().enumerate() {
        let mut node = Node::new(ty);
        if scanner.peek().is_none() {
            match ty.is_unit() {
                true => nodes.push(node),
                false => break,
            }
            continue;
        }
        scanner.ascribed(&mut node, None).map_err(|e| InputError { index, ..e })?;
        nodes.push(node);
    }
    if scanner.peek().is_some() {
        let start = scanner.pos;
        let end = scanner.word_end(start).max(start + 1);
        let message = format!("expected {}, but the input goes on", count(types.len()));
        return Err(InputError { message, range: start..end.min(text.len()), index: types.len() });
    }
    let mut sizes = HashMap::new();
    nodes.iter().for_each(|node| node.known_sizes(&mut sizes));
    Ok(nodes.into_iter().zip(types).map(|(node, ty)| node.finish(ty, &sizes)).collect())
}

fn count(values: usize) -> String {
    match values {
        0 => "no value".into(),
        1 => "one value".into(),
        n => format!("{n} values"),
    }
}

impl Scanner<'_> {
    /// A value, possibly followed by its type. `row` is its number within the enclosing array, if there is one.
    pub(super) fn ascribed(&mut self, node: &mut Node, row: Option<i64>) -> Result<()> {
        self.value(node, row)?;
        if !self.eat(b':') {
            return Ok(());
        }
        self.peek();
        let start = self.pos;
        let ty = self.type_text(0)?;
        node.ascribe(&ty).map_err(|message| InputError::new(message, start..self.pos))
    }

    fn value(&mut self, node: &mut Node, row: Option<i64>) -> Result<()> {
        match node {
            Node::Prim(data) => {
                let x = self.scalar(data.prim)?;
                data.push(x);
                Ok(())
            }
            Node::Tuple(nodes) => self.tuple(nodes, row),
            Node::Record(fields) => self.record(fields, row),
            Node::Sum(tags, cases) => self.sum(tags, cases, row),
            Node::Array(_) => self.array(node, row),
            Node::Opaque(name, _) => {
                let message = format!(
                    "a value of the abstract type `{name}` cannot be read: only the program makes them"
                );
                self.peek();
                Err(InputError::new(message, self.pos..self.pos))
            }
        }
    }

    fn tuple(&mut self, nodes: &mut [Node], row: Option<i64>) -> Result<()> {
        if self.peek() != Some(b'(') {
            return self.unexpected(&format!("a tuple of {}", nodes.len()));
        }
        self.pos += 1;
        for (i, node) in nodes.iter_mut().enumerate() {
            if i > 0 {
                self.expect(b',')?;
            }
            self.ascribed(node, row)?;
        }
        self.expect(b')')
    }

    /// `#name payload …`, possibly in parentheses.
    fn sum(&mut self, tags: &mut Data, cases: &mut [(String, Vec<Node>)], row: Option<i64>) -> Result<()> {
        let mut parentheses = 0;
        while self.eat(b'(') {
            parentheses += 1;
        }
        self.constructor(tags, cases, row)?;
        (0..parentheses).try_for_each(|_| self.expect(b')'))
    }

    fn constructor(
        &mut self,
        tags: &mut Data,
        cases: &mut [(String, Vec<Node>)],
        row: Option<i64>,
    ) -> Result<()> {
        if self.peek() != Some(b'#') {
            return self.unexpected("a constructor like `#name`");
        }
        let start = self.pos;
        self.pos += 1;
        let name = &self.text[self.pos..self.word_end(self.pos)];
        self.pos += name.len();
        let Some(number) = cases.iter().position(|c| c.0 == name) else {
            return Err(InputError::new(format!("no constructor `#{name}` is expected"), start..self.pos));
        };
        tags.push(Scalar::from_i64(tags.prim, number as i64));
        for (i, (_, payload)) in cases.iter_mut().enumerate() {
            for node in payload {
                if i == number { self.payload(node, row)? } else { node.add_neutral() }
            }
        }
        Ok(())
    }

    /// A value that a constructor holds; in parentheses if it is written as in a program: `#some (-1)`.
    fn payload(&mut self, node: &mut Node, row: Option<i64>) -> Result<()> {
        let has_own = matches!(node, Node::Tuple(_) | Node::Sum(..));
        if has_own || !self.eat(b'(') {
            return self.value(node, row);
        }
        self.value(node, row)?;
        self.expect(b')')
    }

    /// Fields in any order, each once.
    fn record(&mut self, fields: &mut [(String, Node)], row: Option<i64>) -> Result<()> {
        let start = self.pos;
        if self.peek() != Some(b'{') {
            return self.unexpected("a record");
        }
        self.pos += 1;
        let mut seen = vec![false; fields.len()];
        let mut first = true;
        while !self.eat(b'}') {
            if !first {
                self.expect(b',')?;
            }
            first = false;
            let i = self.field_name(fields, &seen)?;
            self.expect(b'=')?;
            self.ascribed(&mut fields[i].1, row)?;
            seen[i] = true;
        }
        match seen.iter().position(|s| !s) {
            None => Ok(()),
            Some(i) => {
                let message = format!("the record has no field `{}`", fields[i].0);
                Err(InputError::new(message, start..self.pos))
            }
        }
    }

    fn field_name(&mut self, fields: &[(String, Node)], seen: &[bool]) -> Result<usize> {
        self.peek();
        let start = self.pos;
        let name = self.word();
        if name.is_empty() {
            return self.unexpected("a field's name");
        }
        let error = |message: String| Err(InputError::new(message, start..start + name.len()));
        match fields.iter().position(|f| f.0 == name) {
            None => error(format!("no field `{name}` is expected")),
            Some(i) if seen[i] => error(format!("the field `{name}` is given twice")),
            Some(i) => Ok(i),
        }
    }

    fn array(&mut self, node: &mut Node, row: Option<i64>) -> Result<()> {
        let next = self.peek();
        let start = self.pos;
        if next == Some(b'e') {
            return self.empty(node);
        }
        let Node::Array(rows) = node else { return self.unexpected("an array") };
        let len = match (next, &mut *rows.elem) {
            (Some(b'['), _) => self.elements(&mut rows.elem)?,
            (Some(b'"'), Node::Prim(data @ Data { prim: Prim::U8, .. })) => {
                let bytes = self.string()?;
                data.bytes.extend_from_slice(&bytes);
                bytes.len() as i64
            }
            _ => return self.unexpected("an array"),
        };
        self.add_row(rows, len, row, start)
    }

    fn add_row(&mut self, rows: &mut Rows, len: i64, row: Option<i64>, start: usize) -> Result<()> {
        rows.lengths.add(len).map_err(|needed| {
            let what = row.map_or("the array".into(), |row| format!("row {row}"));
            let message = format!("{what} has length {len}, but length {needed} is needed");
            InputError::new(message, start..self.pos)
        })
    }

    /// `[x, y, …]`: the number of elements.
    fn elements(&mut self, elem: &mut Node) -> Result<i64> {
        self.expect(b'[')?;
        if self.eat(b']') {
            return Ok(0);
        }
        let mut len = 0;
        loop {
            match &mut *elem {
                Node::Prim(data) => {
                    let x = self.scalar(data.prim)?;
                    data.push(x);
                }
                other => self.value(other, Some(len))?,
            }
            len += 1;
            match self.peek() {
                Some(b',') => self.pos += 1,
                Some(b']') => break,
                _ => return self.unexpected("`,` or `]`"),
            }
        }
        self.pos += 1;
        Ok(len)
    }

    /// `empty([0][3]i32)`.
    fn empty(&mut self, node: &mut Node) -> Result<()> {
        let start = self.pos;
        let ty = self.empty_type()?;
        node.like(&ty)
            .and_then(|()| node.add_empty(&ty, 1))
            .map_err(|message| InputError::new(message, start..self.pos))
    }

    /// The type inside `empty(…)`.
    pub(super) fn empty_type(&mut self) -> Result<super::types::TypeText> {
        let end = self.word_end(self.pos);
        if &self.text[self.pos..end] != "empty" {
            return self.unexpected("an array");
        }
        self.pos = end;
        self.expect(b'(')?;
        let ty = self.type_text(0)?;
        self.expect(b')')?;
        Ok(ty)
    }
}
