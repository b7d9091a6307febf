//! Arrays that a kernel updates in place, of which every position has some neighbouring elements for itself: groups hold them transposed.
//!
//! ```text
//! ys = kernel map (own xs as ys) over [n] \row pos          while pos + 16 <= n
//!     start = pos * 32                                          for c < 32
//!     loop (ys) for i < 32                                          local[c] = ys[(pos + l) * 32 + c] of lanes l
//!         x = loop (x = ys[start + i]) for p < i      ==>       for i < 32
//!             x - ls[i * 32 + p] * ys[start + p]                    x = local[i]
//!         in ys with [start + i] = x                                for p < i { x -= splat ls[i * 32 + p] * local[p] }
//!                                                                   local[i] = x
//!                                                               for c < 32
//!                                                                   ys[(pos + l) * 32 + c] = local[c] of lanes l
//! ```
//!
//! That is so if all indices of the array are a multiple of the position and something that is the same for all of them, and is proved to be
//! inside of the part. Nothing is stored before the end, so a group can be left.
//!
//! Other arrays, with any number of elements for a position, stay in memory if they are only written: every lane stores its own element. A group
//! that is left there has stored what single positions store once more. What is read, too, is read from the nearest cache as long as one
//! position after the other works on its own: systems with three diagonals and 1024 elements took 3 times as long in lanes.

use super::class::{Class, Classes};
use super::value::Lanes;
use super::{Group, Plan};
use crate::cpu::emit::{Base, args};
use cranelift::prelude::*;
use par_ir::access::{Access, Facts, Symbol};
use par_ir::core::{At, Body, Exp, LoopForm, Param, Stm};
use par_ir::flat::{Kernel, KernelKind, Out};
use par_ir::ty::Atom;
use par_ir::{Prim, Var, tuning};
use std::collections::{HashMap, HashSet};

/// An array with parts for positions.
#[derive(Clone)]
pub struct Private {
    /// The variable that stands for all versions of it.
    pub array: Var,
    prim: Prim,
    /// Elements of a part that is held transposed; none if the array stays in memory, where it is only written.
    pub part: Option<i64>,
}

/// A group's parts of an array.
#[derive(Clone, Copy)]
pub struct Local {
    /// The first element of every lane, then the second of every lane, …
    elements: Base,
    /// The index of the first lane's first element.
    first: Value,
}

/// A kernel's body where the arrays that it updates are places and no values, and these arrays; none if they are not private.
pub fn split(kernel: &Kernel) -> Option<(Body, Vec<Private>)> {
    let KernelKind::Map(outs) = &kernel.kind else { return None };
    let states = outs.iter().filter_map(|o| if let Out::Own { state, .. } = o { Some(state) } else { None });
    let states: Vec<&Param> = states.collect();
    let of = states.iter().map(|p| (p.var, p.var)).collect();
    let mut places = Places { of, uses: vec![], read: HashSet::new() };
    let body = places.body(&kernel.body)?;
    let none = Facts::default();
    let access = Access::along(kernel.pos, &kernel.body, &none);
    let private = |state: &&Param| {
        let prim = state.ty.prim();
        let indices = places.uses.iter().filter(|(array, _)| *array == state.var).map(|(_, i)| *i);
        let parts = indices.map(|i| part(&access, i)).collect::<Option<Vec<i64>>>();
        let part = parts.and_then(|parts| parts.first().copied().filter(|p| parts.iter().all(|q| q == p)));
        let fits = |part: &i64| matches!(prim.size(), 4 | 8) && (2..=tuning::LANES_PART).contains(part);
        let part = part.filter(fits);
        let may_stay = !places.read.contains(&state.var);
        (part.is_some() || may_stay).then_some(Private { array: state.var, prim, part })
    };
    let all = states.iter().map(private).collect::<Option<Vec<_>>>()?;
    (!all.is_empty()).then_some((body, all))
}

/// The number of elements for each position, if this is the index of one of them.
fn part(access: &Access, index: Atom) -> Option<i64> {
    let pos = Symbol::Index(0);
    let (part, place) = access.form(index)?.split(pos)?;
    let part = part.as_constant()?;
    let range = access.range(&place);
    let above = range.least.iter().any(|f| f.as_constant().is_some_and(|n| n >= 0));
    let below = range.most.iter().any(|f| f.as_constant().is_some_and(|n| n < part));
    (above && below && !access.needs(&place).contains(&pos)).then_some(part)
}

/// The arrays that versions are of, and where they are read and updated.
struct Places {
    of: HashMap<Var, Var>,
    uses: Vec<(Var, Atom)>,
    /// Arrays that are read.
    read: HashSet<Var>,
}

impl Places {
    fn place(&self, a: Atom) -> Option<Var> {
        self.of.get(&a.var()?).copied()
    }

    /// Names the arrays that these are versions of.
    fn name(&mut self, pat: &[Param], versions: &[Atom]) -> Option<()> {
        for (p, a) in pat.iter().zip(versions).filter(|(p, _)| !p.ty.is_scalar()) {
            let place = self.place(*a)?;
            self.of.insert(p.var, place);
        }
        Some(())
    }

    /// A body without the versions.
    fn body(&mut self, body: &Body) -> Option<Body> {
        let mut stms = Vec::new();
        for stm in &body.stms {
            stms.extend(self.stm(stm)?);
        }
        let results = body.results.iter().copied().filter(|a| self.place(*a).is_none());
        Some(Body { stms, results: results.collect() })
    }

    fn stm(&mut self, stm: &Stm) -> Option<Option<Stm>> {
        let exp = match &stm.exp {
            Exp::Update { arr, at, value } => {
                let array = self.place((*arr).into())?;
                let index = At::only_indices(at).filter(|at| at.len() == 1)?[0];
                self.uses.push((array, index));
                self.of.insert(stm.pat[0].var, array);
                Exp::Update { arr: array, at: at.clone(), value: *value }
            }
            Exp::Index(arr, at) => match self.place((*arr).into()) {
                Some(array) => {
                    self.uses.push((array, at[0]));
                    self.read.insert(array);
                    Exp::Index(array, at.clone())
                }
                None => stm.exp.clone(),
            },
            Exp::Atom(a) if self.place(*a).is_some() => {
                self.name(&stm.pat, &[*a])?;
                return Some(None);
            }
            Exp::If { cond, then, other } => {
                let arms = (self.body(then)?, self.body(other)?);
                self.name(&stm.pat, &then.results)?;
                Exp::If { cond: *cond, then: arms.0, other: arms.1 }
            }
            Exp::Loop { params, form, body } => self.repeat(&stm.pat, params, form, body)?,
            Exp::Prim(..) | Exp::Atom(_) | Exp::Check { .. } => stm.exp.clone(),
            _ => return None,
        };
        let pat = stm.pat.iter().filter(|p| p.ty.is_scalar()).cloned().collect();
        Some(Some(Stm { pat, exp, span: stm.span }))
    }

    fn repeat(
        &mut self,
        pat: &[Param],
        params: &[(Param, Atom)],
        form: &LoopForm,
        body: &Body,
    ) -> Option<Exp> {
        let (state, initial): (Vec<Param>, Vec<Atom>) = params.iter().cloned().unzip();
        self.name(&state, &initial)?;
        self.name(pat, &initial)?;
        let form = match form {
            LoopForm::While(cond) => LoopForm::While(self.body(cond)?),
            counted => counted.clone(),
        };
        let params = params.iter().filter(|(p, _)| p.ty.is_scalar()).cloned().collect();
        Some(Exp::Loop { params, form, body: self.body(body)? })
    }
}

/// True if classes show all parts as such.
pub fn has_parts(body: &Body, classes: &Classes, private: &[Private]) -> bool {
    let fits = |array: Var, index: Atom| {
        let mut parts = private.iter().filter(|p| p.array == array).filter_map(|p| p.part);
        parts.all(|part| classes.atom(&index) == Class::Steps(part))
    };
    body.stms.iter().all(|s| match &s.exp {
        Exp::Index(array, at) => fits(*array, at[0]),
        Exp::Update { arr, at, .. } => At::only_indices(at).is_some_and(|at| fits(*arr, at[0])),
        e => e.own_bodies().into_iter().all(|b| has_parts(b, classes, private)),
    })
}

impl Group<'_, '_> {
    /// Fetches the parts of the positions from `pos` of arrays with these lengths. The group is left if one ends before the last part does.
    pub fn fetch_parts(&mut self, plan: &Plan, pos: Value, lengths: &[Value]) {
        for (p, len) in plan.private.iter().zip(lengths) {
            let Some(part) = p.part else { continue };
            let first = self.e.b.ins().imul_imm_s(pos, part);
            let end = self.e.b.ins().iadd_imm_s(first, part * self.lanes as i64);
            let inside = self.e.b.ins().icmp(IntCC::SignedLessThanOrEqual, end, *len);
            self.stay_if(inside);
            let bytes = part as usize * self.lanes * p.prim.size();
            // Aligned to 64 bytes.
            let data = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes as u32, 6);
            let slot = self.e.b.create_sized_stack_slot(data);
            let address = self.e.b.ins().stack_addr(types::I64, slot, 0);
            let local = Local { elements: Base { address, prim: p.prim, changes: true }, first };
            self.local.insert(p.array, local);
            self.each_block(p, part, |s, base, (index, count)| match count {
                1 => {
                    let index = Lanes::Steps(index, part);
                    let x = s.gather_lanes(base, &index, None, false);
                    s.store_part(local, &index, &x);
                }
                _ => s.fetch_block(base, local, (index, part)),
            });
        }
    }

    /// Stores the parts where they come from.
    pub fn store_parts(&mut self, plan: &Plan) {
        for (p, part) in plan.private.iter().filter_map(|p| Some((p, p.part?))) {
            let local = self.local[&p.array];
            self.each_block(p, part, |s, base, (index, count)| match count {
                1 => {
                    let index = Lanes::Steps(index, part);
                    let x = s.load_part(local, &index);
                    s.replace(base, &index, &x);
                }
                _ => s.store_block(base, local, (index, part)),
            });
        }
    }

    /// Elements of a part that are transposed together: as many as a register has, if that works out.
    fn block(&self, p: &Private, part: i64) -> i64 {
        let per = (self.bytes / p.prim.size()) as i64;
        let fits = part % per == 0 && self.lanes as i64 % per == 0;
        if fits && self.stores_columns(p.prim, per) { per } else { 1 }
    }

    /// `code` for each block of a part, with the index of its first element in the first lane and the number of its elements.
    fn each_block(&mut self, p: &Private, part: i64, code: impl FnOnce(&mut Self, Base, (Value, i64))) {
        let (base, first, count) = (self.e.arrays[&p.array], self.local[&p.array].first, self.block(p, part));
        let (again, exit) = (self.e.b.create_block(), self.e.b.create_block());
        let index = self.e.params_like(again, &[first])[0];
        let end = self.e.b.ins().iadd_imm_s(first, part);
        self.e.b.ins().jump(again, &args(&[first]));
        self.e.b.switch_to_block(again);
        code(self, base, (index, count));
        let next = self.e.b.ins().iadd_imm_s(index, count);
        let repeat = self.e.b.ins().icmp(IntCC::SignedLessThan, next, end);
        self.e.b.ins().brif(repeat, again, &args(&[next]), exit, &[]);
        self.e.b.switch_to_block(exit);
    }

    /// Fetches some elements of every lane, for as many lanes as they are at a time: a register from each lane, transposed.
    fn fetch_block(&mut self, base: Base, local: Local, (index, part): (Value, i64)) {
        let (size, per) = (base.prim.size(), self.bytes / base.prim.size());
        let (from, to) = (self.e.element(base, index), self.part_address(local, index));
        for lanes in 0..self.lanes / per {
            let load = |s: &mut Self, lane: usize| {
                let at = ((lanes * per + lane) * part as usize * size) as i32;
                s.load_bytes(base, (from, at), s.bytes)
            };
            let rows: Vec<Value> = (0..per).map(|lane| load(self, lane)).collect();
            let columns = self.taken_apart(&rows, size, &vec![true; per]);
            for (c, x) in columns.into_iter().flatten().enumerate() {
                self.store_bytes(x, (to, ((c * self.lanes + lanes * per) * size) as i32), self.bytes);
            }
        }
    }

    /// Stores some elements of every lane, the other way round.
    fn store_block(&mut self, base: Base, local: Local, (index, part): (Value, i64)) {
        let (size, per) = (base.prim.size(), self.bytes / base.prim.size());
        let (to, from) = (self.e.element(base, index), self.part_address(local, index));
        for lanes in 0..self.lanes / per {
            let load = |s: &mut Self, c: usize| {
                let at = ((c * s.lanes + lanes * per) * size) as i32;
                s.load_bytes(local.elements, (from, at), s.bytes)
            };
            let columns: Vec<Value> = (0..per).map(|c| load(self, c)).collect();
            for (lane, x) in self.merged(&columns, size).into_iter().enumerate() {
                let at = ((lanes * per + lane) * part as usize * size) as i32;
                self.store_bytes(x, (to, at), self.bytes);
            }
        }
    }

    /// The address of the elements of all lanes whose index in the first one this is.
    fn part_address(&mut self, local: Local, index: Value) -> Value {
        let place = self.place(local, &Lanes::Steps(index, 1));
        self.e.element(local.elements, place)
    }

    /// The place of the elements of all lanes that have these indices.
    fn place(&mut self, local: Local, index: &Lanes) -> Value {
        let Lanes::Steps(index, _) = index else { unreachable!("indices of parts are steps") };
        let (index, constant) = self.e.without_constant(*index);
        let element = self.e.b.ins().isub(index, local.first);
        let place = self.e.b.ins().imul_imm_s(element, self.lanes as i64);
        self.e.b.ins().iadd_imm_s(place, constant * self.lanes as i64)
    }

    /// The element of every lane at its index.
    pub fn load_part(&mut self, local: Local, index: &Lanes) -> Lanes {
        let place = self.place(local, index);
        self.load_row(local.elements, place)
    }

    /// Stores an element of every lane that is here, of an array in memory.
    pub fn store_own(&mut self, base: Base, index: &Lanes, x: &Lanes) {
        let Some(active) = self.active.clone() else { return self.replace(base, index, x) };
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, base.prim.size() as u32, 3);
        let slot = self.e.b.create_sized_stack_slot(slot);
        let nowhere = self.e.b.ins().stack_addr(types::I64, slot, 0);
        let lanes = self.apart(index, Prim::I64).into_iter().zip(self.apart(x, base.prim));
        let lanes: Vec<_> = lanes.zip(self.apart(&active, Prim::Bool)).collect();
        for ((i, x), is_here) in lanes {
            let there = self.e.element(base, i);
            let address = self.e.b.ins().select(is_here, there, nowhere);
            let zero = self.e.i64(0);
            self.e.store(Base { address, ..base }, zero, x);
        }
    }

    /// Stores an element of every lane that is here.
    pub fn store_part(&mut self, local: Local, index: &Lanes, x: &Lanes) {
        let place = self.place(local, index);
        let x = match self.active.clone() {
            None => x.clone(),
            Some(active) => {
                let old = self.load_row(local.elements, place);
                self.blend(&active, x, &old, local.elements.prim, false)
            }
        };
        self.store_result(local.elements, place, &x);
    }
}
