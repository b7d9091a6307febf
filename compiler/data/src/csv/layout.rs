//! Columns that a type asks for, and their contents.

use crate::missing::Optional;
use par_runtime::{Prim, ValueType};

/// Type that a cell is read as, and whether it may have nothing.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cell {
    pub content: Content,
    pub optional: bool,
}

/// Content of a cell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Content {
    Number(Prim),
    Text,
    /// Numbers in brackets, any number of them: `[1, 2]`.
    Row(Prim),
}

/// Columns that are read.
#[derive(Clone, PartialEq, Debug)]
pub enum Columns {
    /// Columns with these names.
    Named(Vec<(String, Cell)>),
    /// All of them, which are these.
    All(Vec<Cell>),
    /// The only one.
    One(Cell),
    /// All of them, however many they are; the rows may have different lengths.
    Matrix { elem: Prim, ragged: bool },
}

/// The columns, and whether there is only one row, of scalars.
pub struct Layout {
    pub columns: Columns,
    pub one_row: bool,
}

impl Layout {
    /// Layout that a type asks for.
    pub fn of(ty: &ValueType) -> Result<Layout, String> {
        let rows = |columns| Layout { columns, one_row: false };
        let row = |columns| Layout { columns, one_row: true };
        match ty {
            ValueType::Array { elem, .. } => {
                if let ValueType::Array { ragged, elem: inner, .. } = &**elem
                    && let ValueType::Prim(prim) = **inner
                    && content(elem) != Some(Content::Text)
                {
                    return Ok(rows(Columns::Matrix { elem: prim, ragged: *ragged }));
                }
                columns(elem, &cell).map(rows)
            }
            ValueType::Record(_) | ValueType::Tuple(_) => {
                columns(ty, &column).map(rows).or_else(|e| columns(ty, &cell).map(row).map_err(|_| e))
            }
            _ => columns(ty, &cell).map(row),
        }
        .map_err(|()| format!("columns of text cannot be read as {ty}"))
    }
}

fn columns(ty: &ValueType, of: &dyn Fn(&ValueType) -> Option<Cell>) -> Result<Columns, ()> {
    let columns = match ty {
        ValueType::Record(fields) => {
            let named = fields.iter().map(|(name, t)| Some((name.clone(), of(t)?)));
            named.collect::<Option<_>>().map(Columns::Named)
        }
        ValueType::Tuple(types) => types.iter().map(of).collect::<Option<_>>().map(Columns::All),
        _ => of(ty).map(Columns::One),
    };
    columns.ok_or(())
}

fn cell(ty: &ValueType) -> Option<Cell> {
    let optional = if let ValueType::Sum(cases) = ty { Optional::of(cases) } else { None };
    let content = content(optional.as_ref().map_or(ty, |o| o.ty))?;
    Some(Cell { content, optional: optional.is_some() })
}

/// A text is an array of bytes whose length differs from row to row; an outermost one counts as such.
fn content(ty: &ValueType) -> Option<Content> {
    match ty {
        ValueType::Prim(prim) => Some(Content::Number(*prim)),
        ValueType::Array { ragged: true, elem, .. } if **elem == ValueType::Prim(Prim::U8) => {
            Some(Content::Text)
        }
        ValueType::Array { ragged: true, elem, .. } => match **elem {
            ValueType::Prim(prim) => Some(Content::Row(prim)),
            _ => None,
        },
        ValueType::Sum(cases) if cases.iter().all(|(_, payload)| payload.is_empty()) => Some(Content::Text),
        _ => None,
    }
}

fn column(ty: &ValueType) -> Option<Cell> {
    match ty {
        ValueType::Array { elem, .. } => cell(elem),
        _ => None,
    }
}
