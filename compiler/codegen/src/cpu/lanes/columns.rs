//! Elements at a fixed distance from each other: columns of rows with a few elements, read and stored as whole rows of registers.
//!
//! ```text
//! x[3 i] of 4 lanes       a = x0 x1 x2 x3    b = x4 x5 x6 x7    c = x6 x7 x8 x9      ends with the last element that is read
//!                         x0 x3 x6 x9        of a and b, and c
//! rows of 3 results       x0 y0 z0 x1    y1 z1 x2 y2    z2 x3 y3 z3
//! ```

use super::Group;
use super::cost::{BYTES, Size};
use super::value::Lanes;
use crate::cpu::emit::Base;
use cranelift::prelude::*;
use par_ir::{Prim, tuning};

/// Registers, or for bytes parts of 128 bits, that are loaded for one with every `step`th element, if that is how they are read.
pub fn columns(p: Prim, step: i64, size: Size) -> Option<usize> {
    let unit = if is_byte(p) { BYTES } else { size.bytes };
    let is_whole = (size.lanes * p.size()).is_multiple_of(unit);
    let fits = size.bytes > BYTES && (is_byte(p) || matches!(p.size(), 4 | 8)) && is_whole;
    (fits && (2..=tuning::LANES_COLUMNS).contains(&step)).then_some(step as usize)
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
    /// True if elements `step` apart are loaded and stored as whole registers.
    pub fn has_columns(&self, p: Prim, step: i64) -> bool {
        columns(p, step, Size { lanes: self.lanes, bytes: self.bytes }).is_some()
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

    /// Stores a row of results for each position, from the element `first` on.
    pub fn store_columns(&mut self, base: Base, first: Value, row: &[Lanes]) {
        let size = base.prim.size();
        let (n, bytes) = (row.len(), if is_byte(base.prim) { BYTES } else { self.bytes });
        let per = bytes / size;
        let columns: Vec<Vec<Value>> = row.iter().map(|lanes| self.vector(lanes, base.prim)).collect();
        let columns: Vec<Vec<Value>> = match is_byte(base.prim) {
            true => columns.iter().map(|regs| self.parts(regs)).collect(),
            false => columns,
        };
        let address = self.e.element(base, first);
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
        if self.bytes == BYTES {
            return self.chosen_one_by_one(regs, places);
        }
        if bytes == 1 {
            return self.chosen_bytes(regs, places);
        }
        let (per, words) = (places.len(), bytes / 4);
        let in_words = |lanes: Vec<usize>| -> Vec<u32> {
            lanes.into_iter().flat_map(|l| (0..words).map(move |w| (l * words + w) as u32)).collect()
        };
        let (first, others) = (from[0], &from[1..]);
        let mut chosen = regs[first];
        // Lanes of the first register are where they were until the first permutation.
        for (i, r) in others.iter().enumerate() {
            let lane = |(lane, (from, at)): (usize, &(usize, usize))| match *from {
                from if from == *r => per + at,
                from if from == first && i == 0 => *at,
                _ => lane,
            };
            let lanes = places.iter().enumerate().map(lane).collect();
            chosen = self.e.permute(chosen, regs[*r], &in_words(lanes));
        }
        if others.is_empty() {
            let lanes = places.iter().map(|(_, at)| *at).collect();
            chosen = self.e.permute(chosen, chosen, &in_words(lanes));
        }
        chosen
    }

    /// The bytes of each register where they belong, and zeros elsewhere; all of them together.
    fn chosen_bytes(&mut self, regs: &[Value], places: &[(usize, usize)]) -> Value {
        const NONE: u8 = 0x80;
        let order =
            |r: usize| places.iter().map(|(from, at)| if *from == r { *at as u8 } else { NONE }).collect();
        let orders: Vec<Vec<u8>> = (0..regs.len()).map(order).collect();
        let used = regs.iter().zip(orders).filter(|(_, order)| order.iter().any(|at| *at != NONE));
        let parts: Vec<Value> = used.map(|(x, order)| self.e.swizzle(*x, order)).collect();
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
