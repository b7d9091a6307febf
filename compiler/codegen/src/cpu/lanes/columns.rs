//! Elements at a fixed distance from each other: columns of rows with a few elements, read and stored as whole rows of registers.
//!
//! ```text
//! x[3 i] of 4 lanes       a = x0 x1 x2 x3    b = x4 x5 x6 x7    c = x6 x7 x8 x9      ends with the last element that is read
//!                         x0 x3 x6 x9        of a and b, and c
//! rows of 3 results       x0 y0 z0 x1    y1 z1 x2 y2    z2 x3 y3 z3
//! ```

use super::Group;
use super::cost::{BYTES, Size};
use super::value::{Lanes, vector_of};
use crate::cpu::emit::{Base, clif_type, output};
use cranelift::prelude::*;
use par_ir::{Prim, tuning};

/// Registers that are loaded for one with every `step`th element, if that is how they are read.
pub fn columns(p: Prim, step: i64, size: Size) -> Option<usize> {
    let is_whole = (size.lanes * p.size()).is_multiple_of(size.bytes);
    let fits = size.bytes > BYTES && matches!(p.size(), 4 | 8) && is_whole;
    (fits && (2..=tuning::LANES_COLUMNS).contains(&step)).then_some(step as usize)
}

impl Group<'_, '_> {
    /// Whether elements `step` apart are read or stored together.
    pub fn has_columns(&self, p: Prim, step: i64) -> bool {
        columns(p, step, Size { lanes: self.lanes, bytes: self.bytes }).is_some()
    }

    /// Every `step`th element from `first` on.
    pub fn load_column(&mut self, base: Base, first: Value, step: i64) -> Lanes {
        let per = self.bytes / base.prim.size();
        let (address, offset) = self.e.element_at(base, first);
        let flags = self.flags(base);
        let ty = vector_of(clif_type(base.prim));
        let step = step as usize;
        // The last one ends with the last element.
        let starts: Vec<usize> = (0..step - 1).map(|c| c * per).chain([(per - 1) * step + 1 - per]).collect();
        let register = |s: &mut Self, r: usize| {
            let load = |s: &mut Self, start: usize| {
                let at = (r * per * step + start) * base.prim.size();
                s.e.b.ins().load(ty, flags, address, offset + at as i32)
            };
            let regs: Vec<Value> = starts.iter().map(|start| load(s, *start)).collect();
            let places = (0..per).map(|lane| {
                let at = lane * step;
                let reg = (at / per).min(step - 1);
                (reg, at - starts[reg])
            });
            s.chosen(&regs, &places.collect::<Vec<_>>(), base.prim.size())
        };
        let count = self.registers(base.prim.size());
        Lanes::Vector((0..count).map(|r| register(self, r)).collect())
    }

    /// Stores a row of results for each position, from the element `first` on.
    pub fn store_columns(&mut self, base: Base, first: Value, row: &[Lanes]) {
        let (n, per) = (row.len(), self.bytes / base.prim.size());
        let columns: Vec<Vec<Value>> = row.iter().map(|lanes| self.vector(lanes, base.prim)).collect();
        let address = self.e.element(base, first);
        for r in 0..self.registers(base.prim.size()) {
            let regs: Vec<Value> = columns.iter().map(|c| c[r]).collect();
            for chunk in 0..n {
                let places: Vec<(usize, usize)> =
                    (chunk * per..(chunk + 1) * per).map(|at| (at % n, at / n)).collect();
                let x = self.chosen(&regs, &places, base.prim.size());
                let at = (r * n + chunk) * self.bytes;
                self.e.b.ins().store(output(), x, address, at as i32);
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
