//! Values of which each rank has a part, outside of calls: arguments that ranks read by slices, results that they write so.
//!
//! Their sizes and descriptors are whole on all ranks; the elements of large arrays are [`Parts`].

use super::Ranks;
use crate::array::{Array, OutOfMemory};
use crate::check::RuntimeError;
use crate::exec::dist::{Shared, even_cuts, lost};
use crate::{Column, Prim, Value, ValueType};

/// Elements of an array, of which each rank has its own.
pub struct Parts {
    array: Array,
    cuts: Vec<usize>,
}

impl AsRef<[u8]> for Parts {
    fn as_ref(&self) -> &[u8] {
        self.array.bytes()
    }
}

impl Parts {
    /// The array for others than the ranks' executor: rank `r` has the elements from `cuts[r]` to `cuts[r + 1]`, and those of others must not be read.
    pub(crate) fn of(array: Array, cuts: Vec<usize>) -> Array {
        Array::in_parts(Parts { array, cuts })
    }

    /// The array as the executor of ranks has it; one that is whole if it is not in parts.
    pub(crate) fn shared(array: &Array) -> Shared {
        match array.held_by::<Parts>() {
            Some(Parts { array, cuts }) => Shared::distributed(array.clone(), cuts.clone()),
            None => array.clone().into(),
        }
    }

    pub(crate) fn array(&self) -> &Array {
        &self.array
    }
}

type Result<T> = std::result::Result<T, RuntimeError>;

/// True if values of this type are arrays, or tuples and records of such, so that they can be cut into rows. A constant number of rows cannot.
pub fn has_rows(ty: &ValueType) -> bool {
    match ty {
        ValueType::Array { size, elem, .. } => {
            let is_constant = size.as_ref().is_some_and(|s| s.starts_with(|c: char| c.is_ascii_digit()));
            !is_constant && !is_hidden(elem)
        }
        ValueType::Tuple(types) => !types.is_empty() && types.iter().all(has_rows),
        ValueType::Record(fields) => fields.iter().all(|(_, t)| has_rows(t)),
        ValueType::Prim(_) | ValueType::Sum(_) | ValueType::Opaque { .. } => false,
    }
}

fn is_hidden(ty: &ValueType) -> bool {
    match ty {
        ValueType::Prim(_) => false,
        ValueType::Opaque { .. } => true,
        ValueType::Array { elem, .. } => is_hidden(elem),
        ValueType::Tuple(types) => types.iter().any(is_hidden),
        ValueType::Record(fields) => fields.iter().any(|(_, t)| is_hidden(t)),
        ValueType::Sum(cases) => cases.iter().flat_map(|(_, ts)| ts).any(is_hidden),
    }
}

/// The rows of so many that a rank reads or writes.
pub fn rows_of(rank: usize, ranks: usize, rows: usize) -> std::ops::Range<usize> {
    let cuts = row_cuts(rows, ranks);
    cuts[rank]..cuts[rank + 1]
}

/// Cuts into about equally many rows: as those of arrays, but few rows may be long.
fn row_cuts(rows: usize, ranks: usize) -> Cuts {
    const MANY: usize = 1 << 16;
    match rows < MANY {
        true => (0..=ranks).map(|r| (rows as u128 * r as u128 / ranks as u128) as usize).collect(),
        false => even_cuts(rows, ranks),
    }
}

/// Rows on each rank: those of rank `r` are from `cuts[r]` to `cuts[r + 1]`.
type Cuts = Vec<usize>;

/// Columns of a value, one after the other, each with the cuts of its rows.
trait Columns {
    /// The number of rows of an outermost array.
    fn rows(&mut self) -> Result<Cuts>;
    /// The column of the lengths of rows; gives the cuts of the rows' elements.
    fn lengths(&mut self, cuts: &Cuts) -> Result<Cuts>;
    /// Elements.
    fn data(&mut self, cuts: &Cuts) -> Result<()>;

    /// All columns of a type that [`has_rows`].
    fn outermost(&mut self, ty: &ValueType) -> Result<()> {
        match ty {
            ValueType::Array { elem, .. } => {
                let cuts = self.rows()?;
                self.inner(elem, &cuts)
            }
            ValueType::Tuple(types) => types.iter().try_for_each(|t| self.outermost(t)),
            ValueType::Record(fields) => fields.iter().try_for_each(|(_, t)| self.outermost(t)),
            ValueType::Prim(_) | ValueType::Sum(_) | ValueType::Opaque { .. } => Err(malformed()),
        }
    }

    /// Columns of values in rows.
    fn inner(&mut self, ty: &ValueType, cuts: &Cuts) -> Result<()> {
        match ty {
            ValueType::Prim(_) => self.data(cuts),
            ValueType::Tuple(types) => types.iter().try_for_each(|t| self.inner(t, cuts)),
            ValueType::Record(fields) => fields.iter().try_for_each(|(_, t)| self.inner(t, cuts)),
            ValueType::Sum(cases) => {
                self.data(cuts)?;
                cases.iter().flat_map(|(_, types)| types).try_for_each(|t| self.inner(t, cuts))
            }
            ValueType::Opaque { of, .. } => self.inner(of, cuts),
            ValueType::Array { elem, .. } => {
                let cuts = self.lengths(cuts)?;
                self.inner(elem, &cuts)
            }
        }
    }
}

/// The value whose rows are those of all ranks' values, one after the other. All ranks call it, with values of one type that [`has_rows`]. An error is
/// the same on all.
pub fn join(own: Value, ranks: &Ranks) -> Result<Value> {
    let mut join = Join { ranks, own: own.columns.into_iter(), joined: Vec::new() };
    join.outermost(&own.ty)?;
    Ok(Value { ty: own.ty, columns: join.joined })
}

struct Join<'a> {
    ranks: &'a Ranks,
    own: std::vec::IntoIter<Column>,
    joined: Vec<Column>,
}

impl Columns for Join<'_> {
    fn rows(&mut self) -> Result<Cuts> {
        let Some(Column::Size(own)) = self.own.next() else { return Err(malformed()) };
        let cuts = self.starts(own)?;
        self.joined.push(Column::Size(cuts[cuts.len() - 1] as i64));
        Ok(cuts)
    }

    fn lengths(&mut self, cuts: &Cuts) -> Result<Cuts> {
        match self.own.next() {
            Some(Column::Size(own)) => self.size(own, cuts),
            Some(Column::Offsets(own)) => self.offsets(&own, cuts),
            _ => Err(malformed()),
        }
    }

    /// Elements, of which each rank keeps its own if there are many.
    fn data(&mut self, cuts: &Cuts) -> Result<()> {
        let Some(Column::Data(own)) = self.own.next() else { return Err(malformed()) };
        let me = self.ranks.rank();
        let (here, total) = (cuts[me], cuts[cuts.len() - 1]);
        let array = agreed(self.ranks, Array::try_part(own.prim(), total, own.len()))?;
        let bytes = own.bytes();
        // SAFETY: as many elements fit from this rank's place on, and the array is fresh.
        unsafe {
            let to = array.as_ptr().add(here * own.prim().size());
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
        let shared = Shared::distributed(array, cuts.clone());
        self.joined.push(Column::Data(if total < self.ranks.least {
            shared.make_whole(self.ranks)?;
            shared.into_array()
        } else {
            Parts::of(shared.into_array(), cuts.clone())
        }));
        Ok(())
    }
}

impl Join<'_> {
    /// The places of ranks' parts, of which this rank's has so many elements.
    fn starts(&self, own: i64) -> Result<Cuts> {
        let mut starts = vec![0];
        for n in self.ranks.all_gather_number(own as u64).map_err(lost)? {
            starts.push(starts[starts.len() - 1] + n as usize);
        }
        Ok(starts)
    }

    /// The length of rows that all ranks have which have rows.
    fn size(&mut self, own: i64, cuts: &Cuts) -> Result<Cuts> {
        let all = self.ranks.all_gather_number(own as u64).map_err(lost)?;
        let mut with_rows = all.iter().zip(cuts.windows(2)).filter(|(_, c)| c[0] < c[1]).map(|(n, _)| *n);
        let size = with_rows.next().unwrap_or(all[0]);
        if let Some(other) = with_rows.find(|n| *n != size) {
            let message =
                format!("rows of one length are expected, but some have {size} elements and some {other}");
            return Err(RuntimeError::plain(message));
        }
        self.joined.push(Column::Size(size as i64));
        let cut = |c: &usize| {
            c.checked_mul(size as usize).ok_or_else(|| RuntimeError::plain("the data is too large"))
        };
        cuts.iter().map(cut).collect()
    }

    /// Offsets, whole on all ranks.
    fn offsets(&mut self, own: &Array, cuts: &Cuts) -> Result<Cuts> {
        let own = own.slice::<i64>();
        let total = own.last().copied().unwrap_or(0);
        let starts = self.starts(total)?;
        let me = self.ranks.rank();
        let before = starts[me] as i64;
        // The first offset, 0, is with rank 0.
        let rows = cuts[cuts.len() - 1];
        let places: Cuts = cuts.iter().enumerate().map(|(r, c)| if r == 0 { 0 } else { c + 1 }).collect();
        let part = agreed(self.ranks, Array::try_part(Prim::I64, rows + 1, rows + 1))?;
        let own = &own[usize::from(me > 0)..];
        // SAFETY: the elements from this rank's place on are inside the array, which is fresh; there are as many as it has rows, and one more on rank 0.
        let to = unsafe {
            std::slice::from_raw_parts_mut(
                (part.as_ptr() as *mut i64).add(places[me]),
                places[me + 1] - places[me],
            )
        };
        to.iter_mut().zip(own).for_each(|(to, from)| *to = before + from);
        let all = Shared::distributed(part, places);
        all.make_whole(self.ranks)?;
        self.joined.push(Column::Offsets(all.into_array()));
        Ok(starts)
    }
}

/// The memory, if all ranks have it.
fn agreed(ranks: &Ranks, own: std::result::Result<Array, OutOfMemory>) -> Result<Array> {
    let lacking = ranks.all_gather_number(own.as_ref().err().map_or(0, |e| e.0.max(1))).map_err(lost)?;
    match lacking.into_iter().find(|bytes| *bytes > 0) {
        Some(bytes) => Err(RuntimeError::plain(OutOfMemory(bytes).to_string())),
        None => own.map_err(|e| RuntimeError::plain(e.to_string())),
    }
}

fn malformed() -> RuntimeError {
    RuntimeError::plain("a value's columns do not fit its type")
}

/// The value with all elements on rank 0; on others it has those that they had.
pub fn gather(value: Value, ranks: &Ranks) -> Result<Value> {
    let Value { ty, columns } = value;
    let whole = |c| match c {
        Column::Data(data) => {
            let shared = Parts::shared(&data);
            drop(data);
            shared.gather(ranks)?;
            Ok(Column::Data(shared.into_array()))
        }
        other => Ok(other),
    };
    Ok(Value { ty, columns: columns.into_iter().map(whole).collect::<Result<_>>()? })
}

/// This rank's rows of a value, about as many on each rank. Its type [`has_rows`].
pub fn split(value: Value, ranks: &Ranks) -> Result<Value> {
    let mut split = Split { ranks, all: value.columns.into_iter(), own: Vec::new() };
    split.outermost(&value.ty)?;
    Ok(Value { ty: value.ty, columns: split.own })
}

struct Split<'a> {
    ranks: &'a Ranks,
    all: std::vec::IntoIter<Column>,
    own: Vec<Column>,
}

impl Columns for Split<'_> {
    fn rows(&mut self) -> Result<Cuts> {
        let Some(Column::Size(n)) = self.all.next() else { return Err(malformed()) };
        let cuts = row_cuts(n as usize, self.ranks.size());
        let me = self.ranks.rank();
        self.own.push(Column::Size((cuts[me + 1] - cuts[me]) as i64));
        Ok(cuts)
    }

    fn lengths(&mut self, cuts: &Cuts) -> Result<Cuts> {
        match self.all.next() {
            Some(Column::Size(m)) => {
                self.own.push(Column::Size(m));
                Ok(cuts.iter().map(|c| c * m as usize).collect())
            }
            Some(Column::Offsets(all)) => Ok(self.offsets(all.slice(), cuts)),
            _ => Err(malformed()),
        }
    }

    fn data(&mut self, cuts: &Cuts) -> Result<()> {
        let Some(Column::Data(all)) = self.all.next() else { return Err(malformed()) };
        let shared = Parts::shared(&all);
        let needed: Vec<_> = cuts.windows(2).map(|c| c[0]..c[1]).collect();
        shared.fetch(self.ranks, &needed)?;
        let own = &needed[self.ranks.rank()];
        let own = agreed(self.ranks, shared.array().try_slice(own.start, own.len()))?;
        self.own.push(Column::Data(own));
        Ok(())
    }
}

impl Split<'_> {
    fn offsets(&mut self, all: &[i64], cuts: &Cuts) -> Cuts {
        let me = self.ranks.rank();
        let own = &all[cuts[me]..=cuts[me + 1]];
        let mut rebased = Array::from_slice(own);
        rebased.slice_mut::<i64>().iter_mut().for_each(|o| *o -= own[0]);
        self.own.push(Column::Offsets(rebased));
        cuts.iter().map(|c| all[*c] as usize).collect()
    }
}

/// The place of the first element of an array that this rank has, and the bytes of those it has; of one that is whole, those between even cuts.
pub fn own_elements<'a>(array: &'a Array, ranks: &Ranks) -> (usize, &'a [u8]) {
    let (array, range) = match array.held_by::<Parts>() {
        Some(Parts { array, cuts }) => (array, cuts[ranks.rank()]..cuts[ranks.rank() + 1]),
        None => (array, rows_of(ranks.rank(), ranks.size(), array.len())),
    };
    let size = array.prim().size();
    (range.start, &array.bytes()[range.start * size..range.end * size])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranks::threads;
    use std::sync::Arc;
    use std::thread;

    fn on<T: Send>(ranks: usize, work: impl Fn(Ranks) -> T + Sync) -> Vec<T> {
        thread::scope(|scope| {
            let work = &work;
            let start = |t| scope.spawn(move || work(Ranks::new(Arc::new(t)).with_least(3)));
            let all: Vec<_> = threads::connect(ranks).into_iter().map(start).collect();
            all.into_iter().map(|t| t.join().expect("a rank")).collect()
        })
    }

    /// `[n](f32, [][2]i64)` in columns.
    fn value() -> Value {
        let inner = ValueType::array(ValueType::Prim(Prim::I64));
        let elem = ValueType::Tuple(vec![ValueType::Prim(Prim::F32), ValueType::ragged(inner)]);
        let xs: Vec<f32> = (0..7).map(|i| i as f32).collect();
        let offsets: [i64; 8] = [0, 2, 2, 3, 7, 7, 8, 9];
        let all: Vec<i64> = (0..18).collect();
        let columns = vec![
            Column::Size(7),
            Column::Data(Array::from_slice(&xs)),
            Column::Offsets(Array::from_slice(&offsets)),
            Column::Size(2),
            Column::Data(Array::from_slice(&all)),
        ];
        Value { ty: ValueType::array(elem), columns }
    }

    #[test]
    fn rows_come_apart_and_together() {
        for p in 1..10 {
            let all = on(p, |ranks| {
                let own = split(value(), &ranks)?;
                let rows = own.columns[0].clone();
                let joined = join(own, &ranks)?;
                let parts = joined.is_in_parts();
                let again = join(split(joined, &ranks)?, &ranks)?;
                Ok::<_, RuntimeError>((rows, parts, gather(again, &ranks)?))
            });
            let all: Vec<_> = all.into_iter().map(|r| r.expect("rows")).collect();
            assert_eq!(all[0].2, value());
            let rows = |c: &Column| if let Column::Size(n) = c { *n } else { 0 };
            assert_eq!(all.iter().map(|r| rows(&r.0)).sum::<i64>(), 7);
            assert!(all.iter().all(|r| r.1));
        }
    }

    #[test]
    fn rows_of_different_lengths_do_not_come_together() {
        let all = on(3, |ranks| {
            let m = if ranks.rank() == 2 { 3 } else { 2 };
            let ty = ValueType::array(ValueType::array(ValueType::Prim(Prim::U8)));
            let data = Column::Data(Array::from_slice(&vec![1u8; 4 * m]));
            let columns = vec![Column::Size(4), Column::Size(m as i64), data];
            join(Value { ty, columns }, &ranks).map(|_| ())
        });
        let message = "rows of one length are expected, but some have 2 elements and some 3";
        assert!(all.iter().all(|r| r == &Err(RuntimeError::plain(message))));
    }

    #[test]
    fn types_with_rows() {
        let numbers = || ValueType::array(ValueType::Prim(Prim::I64));
        assert!(has_rows(&numbers()));
        assert!(has_rows(&ValueType::Tuple(vec![numbers(), numbers()])));
        let three = ValueType::Array {
            ragged: false,
            size: Some("3".into()),
            elem: Box::new(ValueType::Prim(Prim::I64)),
        };
        assert!(!has_rows(&three));
        assert!(!has_rows(&ValueType::Tuple(vec![numbers(), ValueType::Prim(Prim::I64)])));
    }
}
