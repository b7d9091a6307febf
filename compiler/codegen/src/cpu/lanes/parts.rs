//! Code for parts of arrays that groups hold transposed: the elements of all lanes at a place of their parts are neighbours.

use super::Group;
use super::private::{Parts, Private};
use super::value::Lanes;
use crate::cpu::emit::{Base, Emitter, Result, args};
use cranelift::prelude::*;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::{Prim, tuning};

/// A group's parts of an array.
#[derive(Clone, Copy)]
pub struct Local {
    /// The first element of every lane, then the second of every lane, …
    elements: Base,
    /// The index of the first lane's first element.
    first: Value,
    /// Elements of a part.
    part: Value,
}

/// Alignment of the parts of a group, in bytes.
const ALIGNMENT: i64 = 64;

impl Group<'_, '_> {
    /// Fetches the parts of the positions from `pos` of arrays with these lengths. The group is left if one ends before the last part does.
    pub fn fetch_parts(&mut self, parts: &Parts, pos: Value, lengths: &[Value]) -> Result {
        self.leaving.must_stay = parts.stays;
        let mut room = None;
        for (p, len) in parts.arrays.iter().zip(lengths) {
            let Some(size) = p.part else { continue };
            let part = self.e.atom(&size)?;
            let first = self.e.b.ins().imul(pos, part);
            let all = self.e.b.ins().imul_imm_s(part, self.lanes as i64);
            let end = self.e.b.ins().iadd(first, all);
            let inside = self.e.b.ins().icmp(IntCC::SignedLessThanOrEqual, end, *len);
            self.stay_if(inside);
            let address = match size.as_i64() {
                Some(size) => self.slot(size * self.lanes as i64 * p.prim.size() as i64),
                None => {
                    let address = room.unwrap_or_else(|| self.slot(tuning::LANES_ROOM));
                    let bytes = self.e.bytes_of(part, p, self.lanes);
                    room = Some(self.e.b.ins().iadd(address, bytes));
                    address
                }
            };
            let local = Local { elements: Base { address, prim: p.prim, changes: true }, first, part };
            self.kept.local.insert(p.array, local);
        }
        for (p, _) in parts.transposed() {
            self.each_block(p, Self::fetch_block, |s, base, local, lanes, place| {
                let x = s.gather_lanes(base, &lanes, None, false);
                s.store_part(local, &Lanes::Same(place), &x);
            });
        }
        Ok(())
    }

    /// Stores the parts where they come from.
    pub fn store_parts(&mut self, parts: &Parts) {
        for (p, _) in parts.transposed().filter(|(p, _)| !p.is_read_only) {
            self.each_block(p, Self::store_block, |s, base, local, lanes, place| {
                let x = s.load_part(local, &Lanes::Same(place));
                s.replace(base, &lanes, &x);
            });
        }
    }

    /// Memory on the stack for an element of each lane.
    pub fn row_slot(&mut self, prim: Prim) -> Base {
        Base { address: self.slot((self.lanes * prim.size()) as i64), prim, changes: true }
    }

    /// The address of so many bytes.
    fn slot(&mut self, bytes: i64) -> Value {
        let align = ALIGNMENT.trailing_zeros() as u8;
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes as u32, align);
        let slot = self.e.b.create_sized_stack_slot(data);
        self.e.b.ins().stack_addr(types::I64, slot, 0)
    }

    /// `block` for as many elements of a part as a register has, as often as there are so many; `single` for each of the others, with its index in
    /// every lane and its place in the part.
    fn each_block(
        &mut self,
        p: &Private,
        block: impl FnOnce(&mut Self, Base, Local, Value),
        single: impl FnOnce(&mut Self, Base, Local, Lanes, Value),
    ) {
        let (base, local) = (self.e.bound.arrays[&p.array], self.kept.local[&p.array]);
        let per = (self.bytes / p.prim.size()) as i64;
        let mut place = self.e.i64(0);
        if self.lanes as i64 % per == 0 && self.stores_columns(p.prim, per) {
            let last = self.e.b.ins().iadd_imm_s(local.part, 1 - per);
            place = self.places(place, last, per, |s, place| block(s, base, local, place));
        }
        self.places(place, local.part, 1, |s, place| {
            let mut index = s.e.b.ins().iadd(local.first, place);
            let mut lanes = vec![index];
            for _ in 1..s.lanes {
                index = s.e.b.ins().iadd(index, local.part);
                lanes.push(index);
            }
            single(s, base, local, Lanes::Apart(lanes), place);
        });
    }

    /// `code` for every so many places from `first` below `end`; the first one that is left.
    fn places(&mut self, first: Value, end: Value, count: i64, code: impl FnOnce(&mut Self, Value)) -> Value {
        let [head, again, exit] = [(); 3].map(|()| self.e.b.create_block());
        let place = self.e.params_like(head, &[first])[0];
        self.e.b.ins().jump(head, &args(&[first]));
        self.e.b.switch_to_block(head);
        let more = self.e.b.ins().icmp(IntCC::SignedLessThan, place, end);
        self.e.b.ins().brif(more, again, &[], exit, &[]);
        self.e.b.switch_to_block(again);
        code(self, place);
        let next = self.e.b.ins().iadd_imm_s(place, count);
        self.e.b.ins().jump(head, &args(&[next]));
        self.e.b.switch_to_block(exit);
        place
    }

    /// The addresses of the elements at a place in so many lanes, from one on.
    fn in_lanes(
        &mut self,
        base: Base,
        local: Local,
        place: Value,
        (from, count): (usize, usize),
    ) -> Vec<Value> {
        let index = self.e.b.ins().iadd(local.first, place);
        let before = self.e.b.ins().imul_imm_s(local.part, from as i64);
        let index = self.e.b.ins().iadd(index, before);
        let mut address = self.e.element(base, index);
        let bytes = self.e.b.ins().imul_imm_s(local.part, base.prim.size() as i64);
        let mut all = vec![address];
        for _ in 1..count {
            address = self.e.b.ins().iadd(address, bytes);
            all.push(address);
        }
        all
    }

    /// Fetches some elements of every lane, for as many lanes as they are at a time: a register from each lane, transposed.
    fn fetch_block(&mut self, base: Base, local: Local, place: Value) {
        let (size, per) = (base.prim.size(), self.bytes / base.prim.size());
        let to = self.address(local, place);
        for lanes in (0..self.lanes).step_by(per) {
            let from = self.in_lanes(base, local, place, (lanes, per));
            let rows: Vec<Value> =
                from.into_iter().map(|at| self.load_bytes(base, (at, 0), self.bytes)).collect();
            let columns = self.taken_apart(&rows, size, &vec![true; per]);
            for (c, x) in columns.into_iter().flatten().enumerate() {
                self.store_bytes(x, (to, ((c * self.lanes + lanes) * size) as i32), self.bytes);
            }
        }
    }

    /// Stores some elements of every lane, the other way round.
    fn store_block(&mut self, base: Base, local: Local, place: Value) {
        let (size, per) = (base.prim.size(), self.bytes / base.prim.size());
        let from = self.address(local, place);
        for lanes in (0..self.lanes).step_by(per) {
            let load = |s: &mut Self, c: usize| {
                let at = ((c * s.lanes + lanes) * size) as i32;
                s.load_bytes(local.elements, (from, at), s.bytes)
            };
            let columns: Vec<Value> = (0..per).map(|c| load(self, c)).collect();
            let to = self.in_lanes(base, local, place, (lanes, per));
            for (to, x) in to.into_iter().zip(self.merged(&columns, size)) {
                self.store_bytes(x, (to, 0), self.bytes);
            }
        }
    }

    /// The address of all lanes' elements at a place.
    fn address(&mut self, local: Local, place: Value) -> Value {
        let place = self.e.b.ins().imul_imm_s(place, self.lanes as i64);
        self.e.element(local.elements, place)
    }

    /// The number of the first lane's element at a place that is the same in all of them.
    fn first_at(&mut self, place: Value) -> Value {
        let (place, constant) = self.e.without_constant(place);
        let row = self.e.b.ins().imul_imm_s(place, self.lanes as i64);
        self.e.b.ins().iadd_imm_s(row, constant * self.lanes as i64)
    }

    /// The numbers of elements at places of their own.
    fn elements_at(&mut self, place: &Lanes) -> Lanes {
        let lanes = self.lanes as i64;
        let zero = self.e.i64(0);
        let lane = Lanes::Steps(zero, 1);
        match place {
            Lanes::Vector(_) => {
                let count = self.e.i64(lanes);
                let rows =
                    self.on_vectors(PrimOp::Bin(BinOp::Mul, Prim::I64), &[place.clone(), Lanes::Same(count)]);
                self.on_vectors(PrimOp::Bin(BinOp::Add, Prim::I64), &[rows, lane])
            }
            _ => {
                let places = self.apart(place, Prim::I64).into_iter().zip(0..);
                let number = |(place, lane): (Value, i64)| {
                    let row = self.e.b.ins().imul_imm_s(place, lanes);
                    self.e.b.ins().iadd_imm_s(row, lane)
                };
                Lanes::Apart(places.map(number).collect())
            }
        }
    }

    /// The element of every lane at its place.
    pub fn load_part(&mut self, local: Local, place: &Lanes) -> Lanes {
        if let Lanes::Same(place) = place {
            let row = self.first_at(*place);
            return self.load_row(local.elements, row);
        }
        let elements = self.elements_at(place);
        self.gather_from(local.elements, elements, false)
    }

    /// Stores an element of every lane that is here.
    pub fn store_part(&mut self, local: Local, place: &Lanes, x: &Lanes) {
        let Lanes::Same(place) = place else {
            let elements = self.elements_at(place);
            return self.store_own(local.elements, &elements, x);
        };
        let row = self.first_at(*place);
        let x = match self.here.active.clone() {
            None => x.clone(),
            Some(active) => {
                let old = self.load_row(local.elements, row);
                self.blend(&active, x, &old, local.elements.prim, false)
            }
        };
        self.store_result(local.elements, row, &x);
    }

    /// Stores an element of every lane that is here, of an array in memory.
    pub fn store_own(&mut self, base: Base, index: &Lanes, x: &Lanes) {
        let Some(active) = self.here.active.clone() else { return self.replace(base, index, x) };
        let nowhere = self.slot(base.prim.size() as i64);
        let lanes = self.apart(index, Prim::I64).into_iter().zip(self.apart(x, base.prim));
        let lanes: Vec<_> = lanes.zip(self.apart(&active, Prim::Bool)).collect();
        for ((i, x), is_here) in lanes {
            let there = self.e.element(base, i);
            let address = self.e.b.ins().select(is_here, there, nowhere);
            let zero = self.e.i64(0);
            self.e.store(Base { address, ..base }, zero, x);
        }
    }
}

impl Emitter<'_> {
    /// Run-time condition, before the first group: parts whose sizes are no constants have elements, and fit into the memory that they share. None if there are none.
    pub fn parts_fit(&mut self, parts: &Parts, lanes: usize) -> Result<Option<Value>> {
        self.stms(&parts.sizes)?;
        let (mut all, mut taken) = (None, self.i64(0));
        for (p, size) in parts.transposed().filter(|(_, size)| size.as_i64().is_none()) {
            let part = self.atom(&size)?;
            let has_some = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThan, part, 0);
            let bytes = self.bytes_of(part, p, lanes);
            taken = self.b.ins().iadd(taken, bytes);
            all = Some(all.map_or(has_some, |others| self.b.ins().band(others, has_some)));
        }
        Ok(all.map(|all| {
            let fits = self.b.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, taken, tuning::LANES_ROOM);
            self.b.ins().band(all, fits)
        }))
    }

    /// Bytes that a group's parts of a size take, up to where the next ones may begin.
    fn bytes_of(&mut self, part: Value, p: &Private, lanes: usize) -> Value {
        let bytes = self.b.ins().imul_imm_s(part, (lanes * p.prim.size()) as i64);
        let bytes = self.b.ins().iadd_imm_s(bytes, ALIGNMENT - 1);
        self.b.ins().band_imm_s(bytes, -ALIGNMENT)
    }
}
