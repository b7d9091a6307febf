//! Traces in the interpreters. FLAT's come as they are to be shown. CORE's come row by row, and are kept until the outermost
//! parallel operator is done: what one statement traced at the same iteration of the loops around it is shown together, in
//! the order that the flattened program has, which is that of the text.

use super::Outcome;
use super::memory::out_of_memory;
use super::scalar::Machine;
use super::value::{Val, offsets_of};
use crate::ty::Atom;
use par_runtime::trace::{Sink, append, row};
use par_runtime::value::ColumnType;
use par_runtime::{Column, Span, Value, ValueType};
use std::collections::BTreeMap;

/// Position of the machine in the program, and the values traced in the outermost parallel operator that is entered.
#[derive(Default)]
pub(super) struct Traces {
    /// Position of the statement in every body that is entered, with the iterations of loops and the arms of branches.
    pub(super) path: Vec<u32>,
    /// Parallel operators that are entered.
    operators: usize,
    kept: BTreeMap<Vec<u32>, (String, Value)>,
}

impl Traces {
    /// Enters a parallel operator.
    pub(super) fn enter(&mut self) {
        self.operators += 1;
    }

    /// Leaves a parallel operator; shows what was kept if it is the outermost.
    pub(super) fn leave(&mut self) {
        self.operators -= 1;
        if self.operators == 0 {
            self.show();
        }
    }

    fn show(&mut self) {
        let sink = Sink::current();
        std::mem::take(&mut self.kept).into_values().for_each(|(label, value)| sink.write(&label, &value));
    }
}

/// A run that fails shows what its rows traced until then.
impl Drop for Traces {
    fn drop(&mut self) {
        self.show();
    }
}

impl Machine<'_> {
    /// Shows a value, or keeps it until all rows have been computed.
    pub(super) fn trace(&mut self, label: &str, ty: &ValueType, args: &[Atom], span: Span) -> Outcome<()> {
        let columns =
            self.values(args).iter().zip(ty.columns()).map(|(x, c)| column(x, c)).collect::<Outcome<_>>()?;
        let value = Value { ty: ty.clone(), columns };
        if self.traces.operators == 0 {
            Sink::current().write(label, &value);
            return Ok(());
        }
        let value = row(value);
        if let Some((_, all)) = self.traces.kept.get_mut(&self.traces.path) {
            return append(all, value).map_err(|e| out_of_memory(e.0, span));
        }
        self.traces.kept.insert(self.traces.path.clone(), (label.to_string(), value));
        Ok(())
    }
}

fn column(x: &Val, ty: ColumnType) -> Outcome<Column> {
    Ok(match (x, ty) {
        (x, ColumnType::Size) => Column::Size(x.scalar()?.as_i64().unwrap_or(0)),
        (x, ColumnType::Scalar(_)) => Column::Scalar(x.scalar()?),
        (Val::Desc(d), _) => Column::Offsets(d.offsets.clone()),
        (x, ColumnType::Offsets { .. }) => Column::Offsets(
            offsets_of(&x.integers()).ok_or_else(|| out_of_memory(u64::MAX, Span::default()))?,
        ),
        (x, ColumnType::Data(p)) => Column::Data(x.flat(p)),
    })
}
