//! Reading and writing the elements of a group.

use super::Group;
use super::cost::{BYTES, gathers, width};
use super::value::{Form, Lanes, int_of, vector_of};
use crate::cpu::convert::bits;
use crate::cpu::emit::{Base, Emitter, Result, args, clif_type, input, output};
use crate::cpu::half;
use cranelift::prelude::*;
use cranelift_codegen::ir::MemFlagsData;
use par_ir::ty::Atom;
use par_ir::{Prim, Var};

/// Bytes that are readable together, if one of them is, at addresses that are a multiple of this.
const PAGE: i64 = 1 << 12;

impl Group<'_, '_> {
    /// The elements at an index that differs between lanes.
    pub fn gather(&mut self, arr: Var, index: &Atom, apart: bool) -> Result<Lanes> {
        let base = *self.e.bound.arrays.get(&arr).ok_or_else(|| format!("array v_{} is not bound", arr.0))?;
        let index = self.index(index)?;
        Ok(self.gather_from(base, index, apart))
    }

    /// The elements of an array in memory at these indices.
    pub fn gather_from(&mut self, base: Base, index: Lanes, apart: bool) -> Lanes {
        match (index, self.here.active.clone()) {
            (Lanes::Same(i), _) => Lanes::Same(self.e.load(base, i, base.flags())),
            (index @ Lanes::Steps(_, 1 | -1), Some(active)) if !apart && self.is_row(&index, base.prim) => {
                self.load_active_row(base, &index, &active)
            }
            (Lanes::Steps(first, 1), None) if !apart => self.load_row(base, first),
            (index @ Lanes::Steps(_, -1), None) if !apart && self.is_row(&index, base.prim) => {
                self.load_neighbours(base, &index)
            }
            (Lanes::Steps(first, step), None) if !apart && self.has_columns(base.prim, step) => {
                self.load_column(base, first, step)
            }
            (Lanes::Steps(first, step), Some(active)) if !apart && gathers(base.prim, self.bytes) => {
                let indices = self.progression(first, step, Prim::I64);
                self.gather_registers(base, &indices, Some(&active))
            }
            (Lanes::Vector(indices), active) if !apart && gathers(base.prim, self.bytes) => {
                self.gather_registers(base, &indices, active.as_ref())
            }
            (Lanes::Vector(indices), active) if self.bytes == BYTES && self.lane_bytes(indices[0]) == 4 => {
                let indices = self.short_indices(&indices, active.as_ref());
                self.gather_lanes(base, &Lanes::Apart(indices), None, apart)
            }
            (index, active) => self.gather_lanes(base, &index, active.as_ref(), apart),
        }
    }

    /// An index; those of 32 bits stay so in registers only.
    fn index(&mut self, index: &Atom) -> Result<Lanes> {
        let index = self.atom(index)?;
        let is_short = |s: &Self, x: &Value| s.e.b.func.dfg.value_type(*x) == types::I32;
        Ok(match index {
            Lanes::Same(i) if is_short(self, &i) => Lanes::Same(self.e.b.ins().sextend(types::I64, i)),
            Lanes::Apart(all) if is_short(self, &all[0]) => {
                Lanes::Apart(all.into_iter().map(|i| self.e.b.ins().sextend(types::I64, i)).collect())
            }
            index => index,
        })
    }

    /// The elements at indices in registers, by the processor's own gathers. Lanes that are not active read nothing.
    fn gather_registers(&mut self, base: Base, indices: &[Value], active: Option<&Lanes>) -> Lanes {
        let ty = vector_of(clif_type(base.prim));
        if self.lane_bytes(indices[0]) == 4 {
            if base.prim.size() == 4 {
                return self.gather_short(base, indices, active);
            }
            let wide = self.widen(indices, true);
            return self.gather_registers(base, &wide, active);
        }
        let used = self.used_longs();
        let masks = match active {
            None => vec![used; indices.len()],
            Some(active) => {
                let masks = self.mask(active, Some(8));
                // Lanes of a register that is not full are never active.
                let is_full = self.lanes * 8 >= self.bytes;
                masks.into_iter().map(|m| if is_full { m } else { self.e.b.ins().band(m, used) }).collect()
            }
        };
        let mut parts: Vec<Value> = Vec::new();
        for (index, mask) in indices.iter().zip(masks) {
            parts.push(self.e.gather(base.address, *index, mask, ty));
        }
        if base.prim.size() == 8 {
            return Lanes::Vector(parts);
        }
        let halves = parts.chunks(2).map(|c| if let [a, b] = c { self.concat(*a, *b, 8, ty) } else { c[0] });
        Lanes::Vector(halves.collect())
    }

    /// Elements of 32 bits at indices of 32 bits.
    fn gather_short(&mut self, base: Base, indices: &[Value], active: Option<&Lanes>) -> Lanes {
        let ty = vector_of(clif_type(base.prim));
        let masks = match active {
            Some(active) => self.used_masks(active, base.prim),
            None => vec![self.constant_mask(self.lanes * 4, 4); indices.len()],
        };
        let gather = |(index, mask): (&Value, Value)| self.e.gather(base.address, *index, mask, ty);
        Lanes::Vector(indices.iter().zip(masks).map(gather).collect())
    }

    /// Indices of 32 bits, none of them negative, as scalars; 0 in lanes that are not active. They are of an array that begins there, and has an
    /// element if a lane is active: those into ropes, which are parts of addresses, have more bits.
    fn short_indices(&mut self, indices: &[Value], active: Option<&Lanes>) -> Vec<Value> {
        let masks = active.map(|active| self.mask(active, Some(4)));
        let mut all = Vec::new();
        for (r, index) in indices.iter().enumerate() {
            let inside = match &masks {
                Some(masks) => self.e.b.ins().band(*index, masks[r]),
                None => *index,
            };
            let pairs = self.cast(inside, types::I64X2);
            for lane in 0..2 {
                let pair = self.e.b.ins().extractlane(pairs, lane);
                let first = self.e.b.ins().ireduce(types::I32, pair);
                all.push(self.e.b.ins().uextend(types::I64, first));
                all.push(self.e.b.ins().ushr_imm_u(pair, 32));
            }
        }
        all
    }

    /// The lanes of 64 bits that belong to positions, as a mask.
    fn used_longs(&mut self) -> Value {
        self.constant_mask(self.lanes * 8, 8)
    }

    /// The mask of the first bytes, with lanes of a width.
    fn constant_mask(&mut self, used: usize, width: usize) -> Value {
        let bytes: Vec<u8> = (0..self.bytes).map(|i| if i < used { 0xff } else { 0 }).collect();
        let constant = self.e.b.func.dfg.constants.insert(bytes.into());
        self.e.b.ins().vconst(int_of(width), constant)
    }

    /// Neighbouring elements in the lanes that are here, of which there is one at least; anything in the others. What one lane may read
    /// is in a page that the others may read without harm, even beyond the ends of the array. Loads under masks would not need that, but
    /// the processor does not see from them what is read next: sums of rows of 15 elements from memory took 1.6 times as long. They are for the lanes of
    /// a branch, of which most groups have some.
    fn load_active_row(&mut self, base: Base, index: &Lanes, active: &Lanes) -> Lanes {
        let bytes = (self.lanes * base.prim.size()) as i64;
        // Half of a register under a mask is across two lines of the cache more often.
        let has_masks = self.bytes > BYTES && base.prim.size() >= 4 && bytes >= self.bytes as i64;
        if let (true, false, Lanes::Steps(first, 1)) = (has_masks, self.are_first(active), index) {
            return self.load_under(base, *first, active);
        }
        let lowest = self.lowest(index);
        let address = self.e.element(base, lowest);
        let in_page = self.e.b.ins().band_imm_s(address, PAGE - 1);
        let one_page = self.e.b.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, in_page, PAGE - bytes);
        let (row, some, join) = (self.e.b.create_block(), self.e.b.create_block(), self.e.b.create_block());
        self.e.b.ins().brif(one_page, row, &[], some, &[]);
        self.e.b.switch_to_block(row);
        let loaded = self.load_neighbours(base, index);
        let loaded = self.flatten(&loaded, base.prim, Form::Vector);
        let joined = self.e.params_like(join, &loaded);
        self.e.b.ins().jump(join, &args(&loaded));
        self.e.b.set_cold_block(some);
        self.e.b.switch_to_block(some);
        let gathered = match (self.here.count, index) {
            (Some(count), Lanes::Steps(first, step)) if self.are_first(active) => {
                self.copy_row(base, (*first, *step), count)
            }
            _ => self.gather_lanes(base, index, Some(active), false),
        };
        let gathered = self.flatten(&gathered, base.prim, Form::Vector);
        self.e.b.ins().jump(join, &args(&gathered));
        self.e.b.switch_to_block(join);
        Lanes::Vector(joined)
    }

    /// Neighbours from an index on, in the lanes that are here.
    fn load_under(&mut self, base: Base, first: Value, active: &Lanes) -> Lanes {
        let (address, ty) = (self.e.element(base, first), vector_of(clif_type(base.prim)));
        let masks = self.used_masks(active, base.prim);
        let load = |(r, mask): (usize, Value)| {
            let at = self.e.b.ins().iadd_imm_s(address, (r * self.bytes) as i64);
            self.e.load_under(at, mask, ty)
        };
        Lanes::Vector(masks.into_iter().enumerate().map(load).collect())
    }

    /// True if the lanes that are here are all positions of the last group of a row.
    fn are_first(&self, active: &Lanes) -> bool {
        match (active, &self.here.first) {
            (Lanes::Vector(a), Some(Lanes::Vector(b))) => a == b,
            _ => false,
        }
    }

    /// Neighbours, one after the other through memory of their own: little code, which is hardly ever run.
    fn copy_row(&mut self, base: Base, (first, step): (Value, i64), count: Value) -> Lanes {
        let copy = self.row_slot(base.prim);
        let zero = self.e.i64(0);
        let loops = self.e.nest.loops;
        let each = |e: &mut Emitter<'_>, lane: Value, _: &[Value]| {
            let away = e.b.ins().imul_imm_s(lane, step);
            let at = e.b.ins().iadd(first, away);
            let x = e.load(base, at, base.flags());
            e.store(copy, lane, x);
            Ok(vec![])
        };
        self.e.counted((zero, count), &[], each).expect("elements are copied");
        self.e.nest.loops = loops;
        self.load_row(copy, zero)
    }

    /// True if neighbours, from the first or from the last on, are loaded as vectors.
    fn is_row(&self, index: &Lanes, p: Prim) -> bool {
        let is_whole = (self.lanes * p.size()).is_multiple_of(self.bytes);
        matches!(index, Lanes::Steps(_, 1)) || is_whole && matches!(p.size(), 4 | 8)
    }

    /// The index of the first neighbour in memory.
    fn lowest(&mut self, index: &Lanes) -> Value {
        match index {
            Lanes::Steps(first, -1) => self.e.b.ins().iadd_imm_s(*first, 1 - self.lanes as i64),
            Lanes::Same(first) | Lanes::Steps(first, _) => *first,
            _ => unreachable!("neighbours have a first one"),
        }
    }

    fn load_neighbours(&mut self, base: Base, index: &Lanes) -> Lanes {
        let lowest = self.lowest(index);
        let row = self.load_row(base, lowest);
        if matches!(index, Lanes::Steps(_, -1)) { self.reversed(&row) } else { row }
    }

    /// The masks of the registers of a type, with no lane that belongs to no position.
    pub fn used_masks(&mut self, active: &Lanes, p: Prim) -> Vec<Value> {
        let masks = self.mask(active, Some(p.size()));
        let used = self.lanes * p.size();
        if used >= self.bytes {
            return masks;
        }
        let used = self.constant_mask(used, p.size());
        masks.into_iter().map(|m| self.e.b.ins().band(m, used)).collect()
    }

    /// Stores the lanes that are here at the positions from `pos`.
    fn store_under(&mut self, base: Base, pos: Value, regs: &[Value], active: &Lanes) {
        let address = self.e.element(base, pos);
        let masks = self.used_masks(active, base.prim);
        for (r, (x, mask)) in regs.iter().zip(masks).enumerate() {
            let at = self.e.b.ins().iadd_imm_s(address, (r * self.bytes) as i64);
            self.e.store_under(at, mask, *x);
        }
    }

    /// Lanes of 32 or 64 bits in reverse order.
    fn reversed(&mut self, x: &Lanes) -> Lanes {
        let Lanes::Vector(regs) = x else { return x.clone() };
        let reverse = |x: &Value| {
            if self.bytes > BYTES {
                return self.e.reverse(*x);
            }
            let (ty, size) = (self.e.b.func.dfg.value_type(*x), self.lane_bytes(*x));
            self.shuffle(
                *x,
                *x,
                std::array::from_fn(|i| (BYTES - size - i / size * size + i % size) as u8),
                ty,
            )
        };
        Lanes::Vector(regs.iter().rev().map(reverse).collect())
    }

    /// The elements at the indices of a group, one by one. Lanes that are not active read what an active one may.
    pub fn gather_lanes(&mut self, base: Base, index: &Lanes, active: Option<&Lanes>, apart: bool) -> Lanes {
        let mut indices = self.apart(index, Prim::I64);
        if let Some(active) = active {
            // Lanes that are off read what an active one reads, which is there.
            let mut there = self.e.i64(0);
            let lanes: Vec<(Value, Value)> =
                indices.into_iter().zip(self.apart(active, Prim::Bool)).collect();
            for (i, flag) in &lanes {
                there = self.e.b.ins().select(*flag, *i, there);
            }
            indices = lanes.into_iter().map(|(i, flag)| self.e.b.ins().select(flag, i, there)).collect();
        }
        let loaded: Vec<Value> = match index {
            Lanes::Steps(first, step) if active.is_none() => self.stride(base, *first, *step),
            _ => indices.into_iter().map(|i| self.e.load(base, i, base.flags())).collect(),
        };
        if apart {
            return Lanes::Apart(loaded);
        }
        let regs = self.pack(&loaded);
        Lanes::Vector(if base.prim == Prim::Bool { self.flags_to_masks(&regs) } else { regs })
    }

    fn stride(&mut self, base: Base, first: Value, step: i64) -> Vec<Value> {
        let address = self.e.element(base, first);
        let bytes = step * base.prim.size() as i64;
        (0..self.lanes as i64)
            .map(|l| self.e.load_at(base.prim, base.flags(), address, (l * bytes) as i32))
            .collect()
    }

    /// Loads that always happen may be moved to where they are needed.
    fn flags(&self, base: Base) -> MemFlagsData {
        if self.here.conditional || base.changes { base.flags() } else { input().with_can_move() }
    }

    /// The elements from `first`.
    pub fn load_row(&mut self, base: Base, first: Value) -> Lanes {
        let (address, offset) = self.e.element_at(base, first);
        let bytes = self.lanes * base.prim.size();
        if base.prim == Prim::F16 {
            let quarter = |s: &mut Self, at: i32| {
                let bits = s.e.b.ins().uload16x4(base.flags(), address, offset + at);
                half::expand(&mut s.e.b, bits)
            };
            self.e.widths.insert(BYTES);
            let count = self.registers(width(Prim::F32)) as i32;
            return Lanes::Vector((0..count).map(|r| quarter(self, 8 * r)).collect());
        }
        let each = bytes.min(self.bytes);
        let load = |s: &mut Self, r: usize| s.load_bytes(base, (address, offset + (r * each) as i32), each);
        let regs: Vec<Value> = (0..bytes / each).map(|r| load(self, r)).collect();
        Lanes::Vector(if base.prim == Prim::Bool { self.flags_to_masks(&regs) } else { regs })
    }

    /// So many bytes at an address, as the first of a register.
    pub fn load_bytes(&mut self, base: Base, (address, offset): (Value, i32), bytes: usize) -> Value {
        let ty = vector_of(clif_type(base.prim));
        let loaded = match bytes < self.bytes {
            true => self.part(bytes),
            false if self.machine.lacks_avx => int_of(ty.lane_type().bytes() as usize),
            false => ty,
        };
        let flags = self.flags(base);
        let x = self.e.b.ins().load(loaded, flags, address, offset);
        let x = if loaded.is_vector() { x } else { self.e.b.ins().scalar_to_vector(vector_of(loaded), x) };
        self.cast(x, ty)
    }

    /// Stores the first bytes of a register at an address.
    pub fn store_bytes(&mut self, x: Value, (address, offset): (Value, i32), bytes: usize) {
        let x = match bytes < self.bytes {
            true => self.first_part(x, bytes),
            false => x,
        };
        self.e.b.ins().store(output(), x, address, offset);
    }

    fn first_part(&mut self, x: Value, bytes: usize) -> Value {
        let part = self.part(bytes);
        if part.is_vector() {
            return self.cast(x, part);
        }
        let x = self.cast(x, vector_of(part));
        self.e.b.ins().extractlane(x, 0)
    }

    /// The type of less bytes than a register has: an integer, or a half or a quarter of a register.
    fn part(&self, bytes: usize) -> Type {
        match (bytes, self.bytes / bytes) {
            (4, _) => types::I32,
            (8, _) => types::I64,
            (_, 2) => types::I8X8,
            _ => types::I8X4,
        }
    }

    /// Stores values at the indices of a group, where those are inside.
    pub fn scatter(&mut self, number: usize, len: Value, dests: &[Base], lanes: &[Lanes]) {
        let Lanes::Steps(first, 1) = lanes[0] else { return self.scatter_lanes(number, len, dests, lanes) };
        // Neighbours: none of them is below the first, nor is the first below 0 if the last is inside.
        let last = self.e.b.ins().iadd_imm_s(first, self.lanes as i64 - 1);
        let above = self.e.b.ins().icmp(IntCC::UnsignedLessThan, first, len);
        let below = self.e.b.ins().icmp(IntCC::UnsignedLessThan, last, len);
        let inside = self.e.b.ins().band(above, below);
        let (row, some, after) = (self.e.b.create_block(), self.e.b.create_block(), self.e.b.create_block());
        self.e.b.ins().brif(inside, row, &[], some, &[]);
        self.e.b.switch_to_block(row);
        dests.iter().zip(&lanes[1..]).for_each(|(d, x)| self.store_result(*d, first, x));
        self.e.b.ins().jump(after, &[]);
        self.e.b.switch_to_block(some);
        self.scatter_lanes(number, len, dests, lanes);
        self.e.b.ins().jump(after, &[]);
        self.e.b.switch_to_block(after);
    }

    fn scatter_lanes(&mut self, number: usize, len: Value, dests: &[Base], lanes: &[Lanes]) {
        let indices = self.apart(&lanes[0], Prim::I64);
        let columns: Vec<Vec<Value>> =
            dests.iter().zip(&lanes[1..]).map(|(d, x)| self.apart(x, d.prim)).collect();
        for (l, index) in indices.into_iter().enumerate() {
            let values = columns.iter().map(|c| c[l]);
            self.e.scatter(number, (index, len), dests.iter().copied().zip(values));
        }
    }

    /// Stores a row of results for each position from `pos` on.
    pub fn store_rows(&mut self, base: Base, pos: Value, row: &[Lanes]) {
        let n = row.len() as i64;
        let first = self.e.b.ins().imul_imm_s(pos, n);
        if self.stores_columns(base.prim, n) {
            return self.store_columns(base, first, row);
        }
        for (k, lanes) in row.iter().enumerate() {
            for (l, x) in self.apart(lanes, base.prim).into_iter().enumerate() {
                let at = self.e.b.ins().iadd_imm_s(first, l as i64 * n + k as i64);
                self.e.store(base, at, x);
            }
        }
    }

    /// Stores registers of an element type at the positions from `pos`.
    pub fn store_registers(&mut self, base: Base, pos: Value, regs: &[Value]) {
        if let (Some(active), Some(_)) = (self.here.active.clone(), self.here.count) {
            return self.store_under(base, pos, regs, &active);
        }
        let address = self.e.element(base, pos);
        if base.prim == Prim::F16 {
            self.e.widths.insert(BYTES);
            regs.iter().enumerate().for_each(|(r, x)| self.store_halves(*x, address, 8 * r as i32));
            return;
        }
        self.store_whole(base.prim, address, regs);
    }

    /// Stores the registers of all lanes from an address on.
    pub fn store_whole(&mut self, prim: Prim, address: Value, regs: &[Value]) {
        let each = (self.lanes * prim.size()).min(self.bytes);
        for (r, x) in regs.iter().enumerate() {
            self.store_bytes(*x, (address, (r * each) as i32), each);
        }
    }

    fn store_halves(&mut self, x: Value, address: Value, offset: i32) {
        let compressed = half::compress(&mut self.e.b, x);
        let narrow = self.e.b.ins().unarrow(compressed, compressed);
        let words = self.e.b.ins().bitcast(types::I64X2, bits(), narrow);
        let word = self.e.b.ins().extractlane(words, 0);
        self.e.b.ins().store(output(), word, address, offset);
    }
}
