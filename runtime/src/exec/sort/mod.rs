//! Sorting rows of numbers, with a scalar that comes with each.
//!
//! A row that fits in a cache is sorted by one thread ([`row`]), neighbouring ones in a chunk, short ones at once ([`short`]); a longer one by all of them ([`giant`]).
//! There is one stable order only, so that the result depends on neither.

mod giant;
mod row;
mod short;
#[cfg(test)]
mod tests;

use super::cpu::Cpu;
use super::device::Rows;
use super::{Run, out_of_memory, threads};
use crate::array::{Array, Element, OutOfMemory};
use crate::check::{RuntimeError, Span};
use crate::f16;
use crate::prim::{Prim, Scalar};
use giant::GIANT;
use row::{Key, Payload, Row};
use short::{BATCH, Halves, short};
use std::ops::Range;
use std::sync::Mutex;

/// Elements and rows of a chunk, at least.
const PIECE: usize = 1 << 13;

impl Run<'_> {
    /// The keys of every row in ascending order, and the values that came with them.
    pub fn sort(
        &self,
        rows: &Rows<Cpu>,
        keys: Array,
        values: Option<Array>,
        span: Span,
    ) -> Result<Vec<Array>, RuntimeError> {
        let bounds = Bounds::new(rows, keys.len());
        let sorted = Columns::new(keys, values, &bounds).map(|mut columns| {
            columns.sort(self.device.threads, &bounds);
            std::iter::once(columns.keys.to).chain(columns.values.map(|v| v.to)).collect()
        });
        sorted.map_err(|e| out_of_memory(e, span))
    }
}

/// A key as an unsigned number in the order in which keys are sorted.
pub fn number(x: Scalar) -> u64 {
    match x {
        Scalar::I8(x) => x.wide(),
        Scalar::I16(x) => x.wide(),
        Scalar::I32(x) => x.wide(),
        Scalar::I64(x) => x.wide(),
        Scalar::U8(x) => x.wide(),
        Scalar::U16(x) => x.wide(),
        Scalar::U32(x) => x.wide(),
        Scalar::U64(x) => x.wide(),
        Scalar::F16(x) => x.wide(),
        Scalar::F32(x) => x.wide(),
        Scalar::F64(x) => x.wide(),
        Scalar::Bool(x) => x.wide(),
    }
}

/// One array, where it goes, and room for its longest row.
struct Column {
    from: Array,
    to: Array,
    room: Array,
}

impl Column {
    fn new(from: Array, room: usize) -> Result<Column, OutOfMemory> {
        let to = Array::try_uninit(from.prim(), from.len())?;
        let room = Array::try_uninit(from.prim(), room)?;
        Ok(Column { from, to, room })
    }
}

/// Columns to be sorted.
struct Columns {
    keys: Column,
    values: Option<Column>,
    /// Nobody else needs the arrays any more: they are room enough.
    own: bool,
}

impl Columns {
    fn new(mut keys: Array, mut values: Option<Array>, bounds: &Bounds) -> Result<Columns, OutOfMemory> {
        let own = keys.is_unique() && values.as_mut().is_none_or(Array::is_unique);
        let longest = if own { 0 } else { bounds.giants().map(|g| g.len()).max().unwrap_or(0) };
        let values = values.map(|v| Column::new(v, longest)).transpose()?;
        Ok(Columns { keys: Column::new(keys, longest)?, values, own })
    }

    fn sort(&mut self, threads: usize, bounds: &Bounds) {
        match self.keys.from.prim() {
            Prim::I8 => self.with_keys::<i8>(threads, bounds),
            Prim::I16 => self.with_keys::<i16>(threads, bounds),
            Prim::I32 => self.with_keys::<i32>(threads, bounds),
            Prim::I64 => self.with_keys::<i64>(threads, bounds),
            Prim::U8 => self.with_keys::<u8>(threads, bounds),
            Prim::U16 => self.with_keys::<u16>(threads, bounds),
            Prim::U32 => self.with_keys::<u32>(threads, bounds),
            Prim::U64 => self.with_keys::<u64>(threads, bounds),
            Prim::F16 => self.with_keys::<f16>(threads, bounds),
            Prim::F32 => self.with_keys::<f32>(threads, bounds),
            Prim::F64 => self.with_keys::<f64>(threads, bounds),
            Prim::Bool => self.with_keys::<bool>(threads, bounds),
        }
    }

    fn with_keys<K: Key>(&mut self, threads: usize, bounds: &Bounds) {
        match self.values.as_ref().map(|v| v.from.prim().size()) {
            None => self.without_values::<K>(threads, bounds),
            Some(1) => self.with_values::<K, u8>(threads, bounds),
            Some(2) => self.with_values::<K, u16>(threads, bounds),
            Some(4) => self.with_values::<K, u32>(threads, bounds),
            Some(_) => self.with_values::<K, u64>(threads, bounds),
        }
    }

    fn without_values<K: Key>(&mut self, threads: usize, bounds: &Bounds) {
        let Columns { keys: Column { from, to, room }, own, .. } = self;
        let none = |n: usize| vec![(); n];
        let (mut nothing, mut more, mut room_for_more) = (none(from.len()), none(to.len()), none(room.len()));
        let to = Row { keys: to.slice_mut::<K>(), values: &mut more[..] };
        let room = Row { keys: room.slice_mut(), values: &mut room_for_more };
        let from = match own {
            true => From::Own(Row { keys: from.slice_mut(), values: &mut nothing }),
            false => From::Shared(from.slice(), &nothing),
        };
        sort_rows(threads, bounds, from, to, room);
    }

    fn with_values<K: Key, V: Payload + Element>(&mut self, threads: usize, bounds: &Bounds) {
        let Columns { keys, values: Some(values), own } = self else { unreachable!("there are values") };
        let to = Row { keys: keys.to.slice_mut::<K>(), values: values.to.words_mut::<V>() };
        let room = Row { keys: keys.room.slice_mut(), values: values.room.words_mut() };
        let from = match own {
            true => From::Own(Row { keys: keys.from.slice_mut(), values: values.from.words_mut() }),
            false => From::Shared(keys.from.slice(), values.from.words()),
        };
        sort_rows(threads, bounds, from, to, room);
    }
}

/// Elements to be sorted.
enum From<'a, K, V> {
    /// Rows that may be overwritten.
    Own(Row<'a, K, V>),
    Shared(&'a [K], &'a [V]),
}

impl<'a, K: Key, V: Payload> From<'a, K, V> {
    /// The first `n`, and the others.
    fn split(self, n: usize) -> (From<'a, K, V>, From<'a, K, V>) {
        match self {
            From::Own(row) => {
                let (first, rest) = row.split(n);
                (From::Own(first), From::Own(rest))
            }
            From::Shared(keys, values) => {
                let ((k, keys), (v, values)) = (keys.split_at(n), values.split_at(n));
                (From::Shared(k, v), From::Shared(keys, values))
            }
        }
    }

    /// The elements.
    fn elements(&self) -> (&[K], &[V]) {
        match self {
            From::Own(row) => (row.keys, row.values),
            From::Shared(keys, values) => (keys, values),
        }
    }

    /// Room for as many: their own, if they may be overwritten.
    fn into_room<'r>(self, room: &'r mut Room<K, V>) -> Row<'r, K, V>
    where
        'a: 'r,
    {
        match self {
            From::Own(row) => row,
            From::Shared(keys, _) => room.of(keys.len()),
        }
    }

    /// Sorts a giant row to `to`, with all threads.
    fn sort_giant(self, threads: usize, to: Row<K, V>, room: Row<K, V>) {
        match self {
            From::Own(row) => giant::sort(threads, row, to, K::BITS, true),
            From::Shared(keys, values) => {
                giant::sort_from(threads, (keys, values), room.split(keys.len()).0, to)
            }
        }
    }
}

/// A thread's room for rows that are not giant.
struct Room<K, V> {
    keys: Vec<K>,
    values: Vec<V>,
}

impl<K: Key, V: Payload> Room<K, V> {
    fn of(&mut self, n: usize) -> Row<'_, K, V> {
        if self.keys.len() < n {
            self.keys.resize(n, K::default());
            self.values.resize(n, V::default());
        }
        Row { keys: &mut self.keys[..n], values: &mut self.values[..n] }
    }
}

/// Giant rows one after the other, then chunks of the others.
fn sort_rows<K: Key, V: Payload>(
    threads: usize,
    bounds: &Bounds,
    mut from: From<K, V>,
    mut to: Row<K, V>,
    mut room: Row<K, V>,
) {
    let mut chunks = Vec::new();
    for rows in bounds.chunks() {
        let n = bounds.start(rows.end) - bounds.start(rows.start);
        let (part, rest) = from.split(n);
        let (part_of_to, rest_of_to) = to.split(n);
        (from, to) = (rest, rest_of_to);
        if n > GIANT && rows.len() == 1 {
            part.sort_giant(threads, part_of_to, room.again());
        } else {
            chunks.push(Mutex::new(Some((rows, part, part_of_to))));
        }
    }
    threads::run(threads, chunks.len(), |i| {
        let taken = chunks[i].lock().unwrap_or_else(|e| e.into_inner()).take();
        if let Some((rows, from, to)) = taken {
            sort_chunk(bounds, rows, from, to);
        }
    });
}

/// Rows that are not giant: short neighbours at once.
fn sort_chunk<K: Key, V: Payload>(
    bounds: &Bounds,
    rows: Range<usize>,
    mut from: From<K, V>,
    mut to: Row<K, V>,
) {
    let mut room = Room { keys: Vec::new(), values: Vec::new() };
    let mut halves = Halves::new();
    let (mut first, short) = (rows.start, short::<K>());
    while first < rows.end {
        let batch = bounds.batch(first, rows.end, short);
        let start = bounds.start(first);
        let n = bounds.start(batch.end) - start;
        let (part, rest) = from.split(n);
        let (mut part_of_to, rest_of_to) = to.split(n);
        (from, to, first) = (rest, rest_of_to, batch.end);
        if batch.longest <= short {
            let ends = (batch.start..batch.end).map(|row| bounds.start(row + 1) - start);
            let (from, longest) = (part.elements(), batch.longest);
            halves.sort(short::Short { from, to: part_of_to, ends, longest });
        } else {
            part_of_to.copy_from(part.elements());
            row::sort(part_of_to, part.into_room(&mut room), K::BITS, false);
        }
    }
}

/// Rows that are sorted at once: short ones, or a longer one.
struct Batch {
    start: usize,
    end: usize,
    longest: usize,
}

/// Bounds of rows.
enum Bounds<'a> {
    /// So many rows of this length.
    Uniform(usize, usize),
    Ragged(&'a [i64]),
}

impl Bounds<'_> {
    /// Of arrays of `total` elements.
    fn new(rows: &Rows<Cpu>, total: usize) -> Bounds<'_> {
        match rows {
            Rows::One => Bounds::Uniform(1, total),
            Rows::Uniform(0, _) | Rows::Uniform(_, 0) => Bounds::Uniform(0, 0),
            Rows::Uniform(n, m) => Bounds::Uniform(*n, *m),
            Rows::Ragged(d) => Bounds::Ragged(d.offsets().slice::<i64>()),
        }
    }

    fn rows(&self) -> usize {
        match self {
            Bounds::Uniform(n, _) => *n,
            Bounds::Ragged(offsets) => offsets.len() - 1,
        }
    }

    fn start(&self, row: usize) -> usize {
        match self {
            Bounds::Uniform(_, m) => row * m,
            Bounds::Ragged(offsets) => offsets[row] as usize,
        }
    }

    fn len(&self, row: usize) -> usize {
        self.start(row + 1) - self.start(row)
    }

    /// Rows in chunks, in order: a giant row, or neighbours that are not.
    fn chunks(&self) -> Vec<Range<usize>> {
        let mut chunks = Vec::new();
        let mut first = 0;
        for row in 0..self.rows() {
            let is_giant = self.len(row) > GIANT;
            if is_giant && first < row {
                chunks.push(first..row);
                first = row;
            }
            let weight = self.start(row + 1) + row - self.start(first) - first;
            if is_giant || weight >= PIECE || row + 1 == self.rows() {
                chunks.push(first..row + 1);
                first = row + 1;
            }
        }
        chunks
    }

    /// The first rows from `start` on that are sorted at once, before `end`: several are if they have up to `short` elements.
    fn batch(&self, start: usize, end: usize, short: usize) -> Batch {
        let most = self.start(start) + BATCH;
        let mut batch = Batch { start, end: start + 1, longest: self.len(start) };
        while batch.end < end && batch.longest <= short {
            let len = self.len(batch.end);
            if len > short || self.start(batch.end) + len > most {
                break;
            }
            batch.longest = batch.longest.max(len);
            batch.end += 1;
        }
        batch
    }

    /// Elements of each giant row.
    fn giants(&self) -> impl Iterator<Item = Range<usize>> {
        let ends = |row: usize| self.start(row)..self.start(row + 1);
        (0..self.rows()).map(ends).filter(|row| row.len() > GIANT)
    }
}
