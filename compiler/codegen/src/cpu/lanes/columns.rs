//! Elements at a fixed distance from each other: columns of rows with a few elements, read and stored as whole rows of registers.
//!
//! ```text
//! x[3 i] of 4 lanes       a = x0 x1 x2 x3    b = x4 x5 x6 x7    c = x6 x7 x8 x9      ends with the last element that is read
//!                         x0 x3 x6 x9        of a and b, and c
//! rows of 3 results       x0 y0 z0 x1    y1 z1 x2 y2    z2 x3 y3 z3
//!
//! all columns of rows of 4:   x0 y0 z0 w0    x1 y1 z1 w1    x2 y2 z2 w2    x3 y3 z3 w3
//!   every other element       x0 z0 x1 z1    x2 z2 x3 z3                   y0 w0 y1 w1    y2 w2 y3 w3
//!   of these the same         x0 x1 x2 x3    z0 z1 z2 z3                   y0 y1 y2 y3    w0 w1 w2 w3
//! ```
//!
//! Rows of an even length are taken apart by halves, as in the last lines, and put together the other way round: for each register as many
//! permutations as the length has factors of two, and less than as many as what is left of it.
//! Bytes of each 128 bits of wider registers are brought together by columns first; they are 4 or 8 then, and move as larger elements do. Of rows of
//! 3, 5 or 6 bytes, parts of 128 bits move, and bytes in them last.

use super::Group;
use super::cost::{BYTES, Size, WIDEST};
use super::interleaved::Rows;
use super::value::Lanes;
use crate::cpu::emit::{Base, Result};
use cranelift::prelude::*;
use par_ir::{Prim, Var, tuning};

/// Registers, or for bytes parts of 128 bits, that are loaded for one with every `step`th element, if that is how they are read.
pub fn columns(p: Prim, step: i64, size: Size) -> Option<usize> {
    let unit = if is_byte(p) { BYTES } else { size.bytes };
    let is_whole = (size.lanes * p.size()).is_multiple_of(unit);
    let fits = size.bytes > BYTES && (is_byte(p) || matches!(p.size(), 4 | 8)) && is_whole;
    (fits && (2..=tuning::LANES_COLUMN).contains(&step)).then_some(step as usize)
}

/// Operations on a register for each column of rows that are taken apart or put together as a whole, if they are.
pub fn interleaving(p: Prim, step: i64, size: Size) -> Option<usize> {
    let bytes = size.lanes * p.size() * if is_byte(p) { step as usize } else { 1 };
    let register = if is_byte(p) { size.bytes } else { size.bytes.min(bytes) };
    let is_whole = bytes.is_multiple_of(register) && register.is_power_of_two() && register >= BYTES;
    if !(2..=tuning::LANES_COLUMNS).contains(&step) || !is_whole {
        return None;
    }
    let halvings = step.trailing_zeros() as usize;
    let left = step as usize >> halvings;
    // Of two registers of 128 or 256 bits lanes are chosen by three instructions.
    let most = match size.bytes {
        BYTES if step > tuning::LANES_COLUMNS_SHORT => 0,
        BYTES => tuning::LANES_CHOSEN,
        WIDEST => tuning::LANES_COLUMNS as usize,
        _ => tuning::LANES_COLUMN as usize,
    };
    match p.size() {
        // The columns that are put together, or taken apart, are full.
        1 if is_byte(p) && size.bytes == BYTES => {
            (left <= most && size.lanes.is_multiple_of(BYTES)).then_some(3 * (halvings + left - 1))
        }
        1 if is_byte(p) && left == 1 => (step <= 4).then_some(2 + halvings),
        1 if is_byte(p) => (step <= tuning::LANES_COLUMN && size.lanes.is_multiple_of(size.bytes))
            .then_some(3 * step as usize),
        4 | 8 if size.bytes == BYTES => (left <= most).then_some(1 + halvings + 3 * (left - 1)),
        4 | 8 => (left <= most).then_some(halvings + left),
        _ => None,
    }
}

fn is_byte(p: Prim) -> bool {
    p.size() == 1 && p != Prim::Bool
}

/// First elements of the registers of `per` elements that are loaded for one with every `step`th: the last one ends with the last element.
fn starts(per: usize, step: usize) -> Vec<usize> {
    (0..step - 1).map(|c| c * per).chain([(per - 1) * step + 1 - per]).collect()
}

/// For each lane of the register with every `step`th element: the loaded register that holds it, and its lane there.
fn column(per: usize, step: usize) -> Vec<(usize, usize)> {
    let starts = starts(per, step);
    let place = |lane: usize| {
        let at = lane * step;
        let register = (at / per).min(step - 1);
        (register, at - starts[register])
    };
    (0..per).map(place).collect()
}

impl Group<'_, '_> {
    /// Its lanes and registers.
    pub fn size(&self) -> Size {
        Size { lanes: self.lanes, bytes: self.bytes }
    }

    /// Elements of a register, which may have room for more than there are lanes.
    fn per(&self, size: usize) -> usize {
        (self.bytes / size).min(self.lanes)
    }

    /// Bytes of a register with rows. Those of bytes are full, since their columns need not be.
    fn register_bytes(&self, p: Prim) -> usize {
        if is_byte(p) { self.bytes } else { self.per(p.size()) * p.size() }
    }

    /// True if elements `step` apart are loaded as whole registers.
    pub fn has_columns(&self, p: Prim, step: i64) -> bool {
        columns(p, step, self.size()).is_some()
    }

    /// True if rows of results are stored as whole registers.
    pub fn stores_columns(&self, p: Prim, n: i64) -> bool {
        interleaving(p, n, self.size()).is_some() || self.has_columns(p, n)
    }

    /// Every `step`th element from `first` on.
    pub fn load_column(&mut self, base: Base, first: Value, step: i64) -> Lanes {
        let step = step as usize;
        let size = base.prim.size();
        let per = if is_byte(base.prim) { BYTES } else { self.bytes / size };
        let (address, offset) = self.e.element_at(base, first);
        let (starts, places) = (starts(per, step), column(per, step));
        let register = |s: &mut Self, r: usize| {
            let load = |s: &mut Self, start: usize| {
                let at = offset + ((r * per * step + start) * size) as i32;
                s.load_bytes(base, (address, at), per * size)
            };
            let regs: Vec<Value> = starts.iter().map(|start| load(s, *start)).collect();
            s.chosen(&regs, &places, size)
        };
        let regs: Vec<Value> = (0..self.lanes / per).map(|r| register(self, r)).collect();
        Lanes::Vector(if is_byte(base.prim) { self.whole_registers(&regs) } else { regs })
    }

    /// The value of a variable that is a column of rows which are loaded as a whole.
    pub fn interleaved(&mut self, v: Var) -> Result<Option<Lanes>> {
        let classes = self.classes;
        let Some((number, column)) = classes.interleaved.column(v).filter(|_| self.here.active.is_none())
        else {
            return Ok(None);
        };
        let rows = classes.interleaved.rows(number);
        let Some(base) = self.e.bound.arrays.get(&rows.array).copied() else { return Ok(None) };
        let step = rows.reads.len() as i64;
        if interleaving(base.prim, step, self.size()).is_none() {
            return Ok(None);
        }
        if rows.leader == v {
            let Lanes::Steps(first, s) = self.atom(&rows.index)? else { return Ok(None) };
            if s != step {
                return Ok(None);
            }
            let columns = self.load_rows(base, first, rows);
            self.kept.columns.insert(number, columns);
        }
        Ok(self.kept.columns.get(&number).map(|columns| Lanes::Vector(columns[column].clone())))
    }

    /// The columns that are read, each in registers.
    fn load_rows(&mut self, base: Base, first: Value, rows: &Rows) -> Vec<Vec<Value>> {
        let first = self.e.b.ins().iadd_imm_s(first, rows.offset);
        let (address, offset) = self.e.element_at(base, first);
        let k = rows.reads.len();
        let mut size = base.prim.size();
        let bytes = self.register_bytes(base.prim);
        let count = self.lanes * k * size / bytes;
        let load = |s: &mut Self, r: usize| s.load_bytes(base, (address, offset + (r * bytes) as i32), bytes);
        let mut regs: Vec<Value> = (0..count).map(|r| load(self, r)).collect();
        let in_parts = size == 1 && self.bytes > BYTES;
        if in_parts && k.is_power_of_two() {
            size = BYTES / k;
            let order = std::array::from_fn(|i| (i % size * k + i / size) as u8);
            regs = regs.into_iter().map(|x| self.e.swizzle(x, order, false)).collect();
        }
        let mut columns = vec![Vec::new(); k];
        for block in regs.chunks(k) {
            let split = match block.len() == k {
                true if in_parts && size == 1 => self.bytes_taken_apart(block, &rows.reads),
                true => self.taken_apart(block, size, &rows.reads),
                false => self.taken_one_by_one(block, size, &rows.reads),
            };
            columns.iter_mut().zip(split).for_each(|(c, x)| c.extend(x));
        }
        columns
    }

    /// The columns of as many registers with rows.
    pub fn taken_apart(&mut self, regs: &[Value], size: usize, wanted: &[bool]) -> Vec<Option<Value>> {
        let k = wanted.len();
        if !wanted.contains(&true) {
            return vec![None; k];
        }
        if k == 1 {
            return vec![Some(regs[0])];
        }
        if k % 2 == 1 {
            return self.taken_one_by_one(regs, size, wanted);
        }
        let mut halves = [0, 1].map(|odd| {
            let wanted: Vec<bool> = wanted.iter().skip(odd).step_by(2).copied().collect();
            if !wanted.contains(&true) {
                return vec![None; k / 2].into_iter();
            }
            let half: Vec<Value> = regs.chunks(2).map(|ab| self.unzip(ab[0], ab[1], size, odd)).collect();
            self.taken_apart(&half, size, &wanted).into_iter()
        });
        (0..k).map(|c| halves[c % 2].next().flatten()).collect()
    }

    /// The columns of registers with rows, each lane of them from its place.
    fn taken_one_by_one(&mut self, regs: &[Value], size: usize, wanted: &[bool]) -> Vec<Option<Value>> {
        let (k, per) = (wanted.len(), self.per(size));
        let rows = regs.len() * per / k;
        let column = |s: &mut Self, c: usize| {
            let place = |lane: usize| if lane < rows { lane * k + c } else { c };
            let places: Vec<(usize, usize)> = (0..per).map(place).map(|at| (at / per, at % per)).collect();
            s.chosen(regs, &places, size)
        };
        (0..k).map(|c| wanted[c].then(|| column(self, c))).collect()
    }

    /// The columns of bytes, by parts of 128 bits: 16 rows are as many of them as a row has bytes.
    fn bytes_taken_apart(&mut self, regs: &[Value], wanted: &[bool]) -> Vec<Option<Value>> {
        let k = wanted.len();
        let parts = self.taken_one_by_one(regs, BYTES, &vec![true; k]);
        let parts: Vec<Value> = parts.into_iter().flatten().collect();
        let column = |s: &mut Self, c: usize| {
            let places: Vec<(usize, usize)> =
                (0..BYTES).map(|row| row * k + c).map(|at| (at / BYTES, at % BYTES)).collect();
            s.chosen_bytes(&parts, &places, false)
        };
        (0..k).map(|c| wanted[c].then(|| column(self, c))).collect()
    }

    /// Rows of bytes, the other way round.
    fn bytes_merged(&mut self, columns: &[Value]) -> Vec<Value> {
        let k = columns.len();
        let part = |s: &mut Self, p: usize| {
            let places: Vec<(usize, usize)> =
                (p * BYTES..(p + 1) * BYTES).map(|at| (at % k, at / k)).collect();
            s.chosen_bytes(columns, &places, false)
        };
        let parts: Vec<Value> = (0..k).map(|p| part(self, p)).collect();
        self.merged_few(&parts, BYTES, k)
    }

    /// Every other element of two registers.
    fn unzip(&mut self, a: Value, b: Value, size: usize, odd: usize) -> Value {
        let order: Vec<usize> = (0..self.per(size)).map(|lane| 2 * lane + odd).collect();
        self.ordered(a, b, size, &order)
    }

    /// The elements of two registers, alternating.
    fn zip(&mut self, a: Value, b: Value, size: usize) -> [Value; 2] {
        let per = self.per(size);
        let part = BYTES / size;
        if self.bytes / BYTES == 2 && per * size == self.bytes {
            // By instructions of one step each.
            let mut half = |h: usize| {
                let place = |l: usize| (l / part * part + h * part / 2 + l % part / 2) + l % 2 * per;
                let order: Vec<usize> = (0..per).map(place).collect();
                self.ordered(a, b, size, &order)
            };
            let [x, y] = [half(0), half(1)];
            return [0, 1].map(|h| {
                let order: Vec<usize> =
                    (0..per).map(|l| h * part + l % part + if l < part { 0 } else { per }).collect();
                self.ordered(x, y, size, &order)
            });
        }
        [0, 1].map(|h| {
            let order: Vec<usize> = (0..per).map(|l| h * per / 2 + l / 2 + l % 2 * per).collect();
            self.ordered(a, b, size, &order)
        })
    }

    /// Elements of two registers in an order; those of the second are numbered on from those of the first.
    fn ordered(&mut self, a: Value, b: Value, size: usize, order: &[usize]) -> Value {
        let every_other = || order.iter().enumerate().all(|(i, at)| *at == 2 * i + order[0]);
        if self.bytes == BYTES && size == 1 && !self.machine.shuffles && every_other() {
            return self.every_other_byte([a, b], order[0] == 1);
        }
        if self.bytes == BYTES {
            let ty = self.e.b.func.dfg.value_type(a);
            let bytes = std::array::from_fn(|i| (order[i / size] * size + i % size) as u8);
            return self.shuffle(a, b, bytes, ty);
        }
        let (per, room) = (order.len(), self.bytes / size);
        let place = |l: usize| match order.get(l) {
            Some(at) if *at >= per => at - per + room,
            Some(at) => *at,
            None => l,
        };
        self.e.permute(a, b, &in_words((0..room).map(place), size))
    }

    /// The bytes of two registers with an even number, or with an odd one.
    fn every_other_byte(&mut self, regs: [Value; 2], odd: bool) -> Value {
        let ty = self.e.b.func.dfg.value_type(regs[0]);
        let [a, b] = regs.map(|x| {
            let words = self.cast(x, types::I16X8);
            match odd {
                true => self.e.b.ins().ushr_imm_u(words, 8),
                false => {
                    let mask = self.e.b.ins().iconst(types::I16, 0xff);
                    let mask = self.e.b.ins().splat(types::I16X8, mask);
                    self.e.b.ins().band(words, mask)
                }
            }
        });
        let packed = self.e.b.ins().unarrow(a, b);
        self.cast(packed, ty)
    }

    /// Stores a row of results for each position, from the element `first` on.
    pub fn store_columns(&mut self, base: Base, first: Value, row: &[Lanes]) {
        let columns: Vec<Vec<Value>> = row.iter().map(|lanes| self.vector(lanes, base.prim)).collect();
        let address = self.e.element(base, first);
        if interleaving(base.prim, row.len() as i64, self.size()).is_none() {
            return self.store_chosen(base, address, &columns);
        }
        let k = row.len();
        let in_parts = is_byte(base.prim) && self.bytes > BYTES;
        let size = if in_parts && k.is_power_of_two() { BYTES / k } else { base.prim.size() };
        let bytes = self.register_bytes(base.prim);
        let count = self.lanes * k * base.prim.size() / bytes;
        let mut at = 0;
        for r in 0..columns[0].len() {
            let column: Vec<Value> = columns.iter().map(|c| c[r]).collect();
            let mut rows = match count - at >= k {
                true if in_parts && size == 1 => self.bytes_merged(&column),
                true => self.merged(&column, size),
                false => self.merged_few(&column, size, count - at),
            };
            if in_parts && size > 1 {
                let order = std::array::from_fn(|i| (i % k * size + i / k) as u8);
                rows = rows.into_iter().map(|x| self.e.swizzle(x, order, false)).collect();
            }
            for x in rows {
                self.store_bytes(x, (address, (at * bytes) as i32), bytes);
                at += 1;
            }
        }
    }

    /// The rows of as many registers with columns.
    pub fn merged(&mut self, columns: &[Value], size: usize) -> Vec<Value> {
        let k = columns.len();
        if k % 2 == 1 {
            return if k == 1 { columns.to_vec() } else { self.merged_few(columns, size, k) };
        }
        let [even, odd] = [0, 1].map(|odd| {
            let half: Vec<Value> = columns.iter().skip(odd).step_by(2).copied().collect();
            self.merged(&half, size)
        });
        even.into_iter().zip(odd).flat_map(|(a, b)| self.zip(a, b, size)).collect()
    }

    /// So many registers with rows of columns, each lane of them from its place.
    fn merged_few(&mut self, columns: &[Value], size: usize, count: usize) -> Vec<Value> {
        let (k, per) = (columns.len(), self.per(size));
        let register = |r: usize| {
            let places: Vec<(usize, usize)> = (r * per..(r + 1) * per).map(|at| (at % k, at / k)).collect();
            self.chosen(columns, &places, size)
        };
        (0..count).map(register).collect()
    }

    /// Stores rows of which every register is chosen from columns by itself.
    fn store_chosen(&mut self, base: Base, address: Value, columns: &[Vec<Value>]) {
        let size = base.prim.size();
        let (n, bytes) = (columns.len(), if is_byte(base.prim) { BYTES } else { self.bytes });
        let per = bytes / size;
        let columns: Vec<Vec<Value>> = match is_byte(base.prim) {
            true => columns.iter().map(|regs| self.parts(regs)).collect(),
            false => columns.to_vec(),
        };
        for r in 0..self.lanes / per {
            let regs: Vec<Value> = columns.iter().map(|c| c[r]).collect();
            for chunk in 0..n {
                let places: Vec<(usize, usize)> =
                    (chunk * per..(chunk + 1) * per).map(|at| (at % n, at / n)).collect();
                let x = self.chosen(&regs, &places, size);
                self.store_bytes(x, (address, ((r * n + chunk) * bytes) as i32), bytes);
            }
        }
    }

    /// A register with lanes of others, each by its register and its lane there.
    pub fn chosen(&mut self, regs: &[Value], places: &[(usize, usize)], bytes: usize) -> Value {
        let mut from: Vec<usize> = places.iter().map(|(r, _)| *r).collect();
        from.sort_unstable();
        from.dedup();
        if let [r] = from[..]
            && places.iter().enumerate().all(|(lane, (_, at))| lane == *at)
        {
            return regs[r];
        }
        if self.bytes == BYTES && !self.machine.shuffles {
            return self.chosen_one_by_one(regs, places);
        }
        if bytes == 1 && self.bytes > BYTES {
            return self.chosen_bytes(regs, places, true);
        }
        let per = places.len();
        let (first, others) = (from[0], &from[1..]);
        let mut chosen = regs[first];
        // Lanes of the first register are where they were until the first permutation.
        for (i, r) in others.iter().enumerate() {
            let lane = |(lane, (from, at)): (usize, &(usize, usize))| match *from {
                from if from == *r => per + at,
                from if from == first && i == 0 => *at,
                _ => lane,
            };
            let lanes: Vec<usize> = places.iter().enumerate().map(lane).collect();
            chosen = self.ordered(chosen, regs[*r], bytes, &lanes);
        }
        if others.is_empty() {
            let lanes: Vec<usize> = places.iter().map(|(_, at)| *at).collect();
            chosen = self.ordered(chosen, chosen, bytes, &lanes);
        }
        chosen
    }

    /// The bytes of each register where they belong in each 128 bits, or in the first ones only, and zeros elsewhere; all of them together.
    fn chosen_bytes(&mut self, regs: &[Value], places: &[(usize, usize)], only_first: bool) -> Value {
        const NONE: u8 = 0x80;
        let order = |r: usize| {
            let byte = |i: usize| if places[i].0 == r { places[i].1 as u8 } else { NONE };
            std::array::from_fn(byte)
        };
        let orders: Vec<[u8; BYTES]> = (0..regs.len()).map(order).collect();
        let used = regs.iter().zip(orders).filter(|(_, order)| order.iter().any(|at| *at != NONE));
        let parts: Vec<Value> = used.map(|(x, order)| self.e.swizzle(*x, order, only_first)).collect();
        self.tree(&parts, |s, a, b| s.e.b.ins().bor(a, b))
    }

    fn chosen_one_by_one(&mut self, regs: &[Value], places: &[(usize, usize)]) -> Value {
        let ty = self.e.b.func.dfg.value_type(regs[0]);
        let lane = |s: &mut Self, (r, at): (usize, usize)| {
            let reg = s.cast(regs[r], ty);
            s.e.b.ins().extractlane(reg, at as u8)
        };
        let lanes: Vec<Value> = places.iter().map(|place| lane(self, *place)).collect();
        let mut chosen = self.e.b.ins().scalar_to_vector(ty, lanes[0]);
        for (i, x) in lanes.iter().enumerate().skip(1) {
            chosen = self.e.b.ins().insertlane(chosen, *x, i as u8);
        }
        chosen
    }
}

/// An order of elements as one of words of 32 bits.
fn in_words(order: impl Iterator<Item = usize>, size: usize) -> Vec<u32> {
    let words = size / 4;
    order.flat_map(|l| (0..words).map(move |w| (l * words + w) as u32)).collect()
}
