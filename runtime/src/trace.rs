//! Traces: values that a program shows while it runs, one line each, on standard error.
//!
//! ```text
//! examples/a.par:3:12 tag: [1i32, 2i32]
//! ```
//!
//! Traces under a map are shown for all rows at once, as one array of the rows' values in index order. Every back
//! end does that, whatever the order in which it computes them; [`row`] and [`append`] are for one that goes row by row.

use crate::array::OutOfMemory;
use crate::io::text::{Layout, print_pretty};
use crate::{Array, Column, Value, ValueType};
use std::cell::RefCell;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// Destination of traces: standard error, or a text that [`captured`] gives back.
#[derive(Clone, Debug, Default)]
pub struct Sink {
    captured: Option<Arc<Mutex<String>>>,
    /// Rows of bytes are shown as texts, where they are texts.
    texts: bool,
}

thread_local! {
    static CURRENT: RefCell<Sink> = const { RefCell::new(Sink { captured: None, texts: false }) };
}

impl Sink {
    /// The one of this thread.
    pub fn current() -> Sink {
        CURRENT.with_borrow(Sink::clone)
    }

    /// One that shows nothing.
    pub(crate) fn silent() -> Sink {
        Sink { captured: Some(Arc::default()), texts: false }
    }

    /// From now on traces of programs that this thread calls show rows of bytes as texts, or as numbers.
    pub fn show_texts(texts: bool) {
        CURRENT.with_borrow_mut(|sink| sink.texts = texts);
    }

    /// Writes one line. What cannot be written is lost: tracing never changes a result.
    pub fn write(&self, label: &str, value: &Value) {
        let layout = Layout { texts: self.texts, ..Layout::PLAIN };
        let line = format!("{label}: {}\n", print_pretty(value, layout));
        match &self.captured {
            Some(text) => text.lock().unwrap_or_else(PoisonError::into_inner).push_str(&line),
            None => drop(std::io::stderr().lock().write_all(line.as_bytes())),
        }
    }
}

/// Runs `work`, and gives the traces of all programs that this thread calls in it instead of showing them.
pub fn captured<T>(work: impl FnOnce() -> T) -> (T, String) {
    let text = Arc::new(Mutex::new(String::new()));
    let texts = Sink::current().texts;
    let outer = CURRENT.replace(Sink { captured: Some(text.clone()), texts });
    let result = work();
    CURRENT.set(outer);
    let text = std::mem::take(&mut *text.lock().unwrap_or_else(PoisonError::into_inner));
    (result, text)
}

/// The type of what is shown for all rows: an array in which any row may have any shape.
pub fn rows_type(ty: &ValueType) -> ValueType {
    ValueType::array(ragged(ty))
}

fn ragged(ty: &ValueType) -> ValueType {
    match ty {
        ValueType::Prim(_) => ty.clone(),
        ValueType::Tuple(ts) => ValueType::Tuple(ts.iter().map(ragged).collect()),
        ValueType::Record(fs) => ValueType::Record(fs.iter().map(|(n, t)| (n.clone(), ragged(t))).collect()),
        ValueType::Sum(cs) => {
            let case = |(n, ts): &(String, Vec<ValueType>)| (n.clone(), ts.iter().map(ragged).collect());
            ValueType::Sum(cs.iter().map(case).collect())
        }
        ValueType::Array { elem, .. } => ValueType::ragged(ragged(elem)),
        ValueType::Opaque { name, of } => ValueType::Opaque { name: name.clone(), of: Box::new(ragged(of)) },
    }
}

/// The value of one row, as the array of that row alone.
pub fn row(value: Value) -> Value {
    let mut columns = vec![Column::Size(1)];
    add_columns(&value.ty, 1, &mut value.columns.into_iter(), &mut columns);
    Value { ty: rows_type(&value.ty), columns }
}

/// Adds the columns of `rows` values of a type, given those of one value (`rows` is 1) or of the elements of an array.
fn add_columns(ty: &ValueType, rows: i64, from: &mut dyn Iterator<Item = Column>, out: &mut Vec<Column>) {
    match ty {
        ValueType::Prim(_) => out.extend(from.next().map(|column| match column {
            Column::Scalar(x) => Column::Data(Array::from_scalars(x.prim(), &[x])),
            other => other,
        })),
        ValueType::Tuple(ts) => ts.iter().for_each(|t| add_columns(t, rows, from, out)),
        ValueType::Record(fs) => fs.iter().for_each(|(_, t)| add_columns(t, rows, from, out)),
        ValueType::Sum(cs) => {
            add_columns(&ValueType::Prim(crate::Prim::of_constructors(cs.len())), rows, from, out);
            cs.iter().flat_map(|(_, ts)| ts).for_each(|t| add_columns(t, rows, from, out));
        }
        ValueType::Array { elem, .. } => {
            let offsets = match from.next() {
                Some(Column::Size(m)) => Array::from_slice(&(0..=rows).map(|i| i * m).collect::<Vec<i64>>()),
                Some(Column::Offsets(offsets)) => offsets,
                _ => return,
            };
            let total = offsets.slice::<i64>().last().copied().unwrap_or(0);
            out.push(Column::Offsets(offsets));
            add_columns(elem, total, from, out);
        }
        ValueType::Opaque { of, .. } => add_columns(of, rows, from, out),
    }
}

/// Adds the rows of `more` behind those of `all`; both are made of [`row`]s of one type.
pub fn append(all: &mut Value, more: Value) -> Result<(), OutOfMemory> {
    for (column, more) in all.columns.iter_mut().zip(more.columns) {
        match (column, more) {
            (Column::Size(n), Column::Size(m)) => *n += m,
            (Column::Offsets(all), Column::Offsets(more)) => {
                let total = all.slice::<i64>().last().copied().unwrap_or(0);
                let shifted: Vec<i64> = more.slice::<i64>().iter().skip(1).map(|o| total + o).collect();
                all.append(&Array::from_slice(&shifted))?;
            }
            (Column::Data(all), Column::Data(more)) => all.append(&more)?,
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scalar;
    use crate::io::text::print_value;

    #[test]
    fn rows_of_any_shape_become_one_array() {
        let vector = |xs: &[i32]| Value::vector(Array::from_slice(xs));
        let mut all = row(vector(&[1, 2]));
        append(&mut all, row(vector(&[]))).expect("memory");
        append(&mut all, row(vector(&[3]))).expect("memory");
        assert_eq!(print_value(&all), "[[1i32, 2i32], [], [3i32]]");
    }

    #[test]
    fn captured_traces_come_back() {
        let value = Value::scalar(Scalar::I64(3));
        let ((), text) = captured(|| Sink::current().write("a.par:1:2", &value));
        assert_eq!(text, "a.par:1:2: 3i64\n");
    }
}
