//! Frames: the arguments of local functions that are invariant in a recursion, in memory once for all calls that a kernel makes at a position.
//!
//! ```text
//! lowest    address that the stack must stay above
//! cancel    address of the cancellation flag
//! error     address of the error record
//! pos       position of the element, for errors
//! …         invariant arguments: scalars, and addresses of arrays
//! ```
//!
//! Each is a word of 64 bits. A function has the frame's address, and loads what it needs where it needs it.

use super::emit::{Base, Emitter, Result, Values, output};
use super::local::Callee;
use cranelift::prelude::*;
use par_ir::core::{Fun, FunId, Param};
use par_ir::hash::HashMap;
use par_ir::ty::Atom;
use par_ir::{Prim, Var};
use std::collections::BTreeSet;

/// A number that does not change: in a register, or in memory, from where it is read when it is needed.
#[derive(Clone, Copy)]
pub enum Word {
    Register(Value),
    Memory(Value, i32),
}

/// An invariant argument: a scalar, or the address of an array.
#[derive(Clone, Copy)]
pub struct Invariant {
    pub word: Word,
    pub prim: Prim,
    pub is_array: bool,
}

impl From<Value> for Word {
    fn from(x: Value) -> Word {
        Word::Register(x)
    }
}

/// Offsets in a frame.
pub mod offset {
    pub const LOWEST: i32 = 0;
    pub const CANCEL: i32 = 8;
    pub const ERROR: i32 = 16;
    pub const POS: i32 = 24;
    pub const PARAMETERS: i32 = 32;
}

/// Per function and parameter, its offset in the frame if it is invariant: all calls among the functions forward it unchanged.
pub struct Offsets(HashMap<FunId, Vec<Option<i32>>>);

impl Offsets {
    /// Of functions that call only each other.
    pub fn of(ids: &[FunId], funs: &[Fun]) -> Offsets {
        // Each has a word of its own, until a call makes two of them one, or an argument varies.
        let mut next = offset::PARAMETERS;
        let mut word = || {
            next += 8;
            Some(next - 8)
        };
        // What a function updates is bound as such, so it is no invariant.
        let own = |f: &FunId| {
            let fun = &funs[f.0 as usize];
            let mut all: Vec<Option<i32>> = fun.params.iter().map(|_| word()).collect();
            let first = all.len() - fun.states();
            all[first..].fill(None);
            (*f, all)
        };
        let mut offsets = Offsets(ids.iter().map(own).collect());
        let mut calls = Vec::new();
        for f in ids {
            funs[f.0 as usize].body.each_call(&mut |g, args| calls.push((*f, g, args)));
        }
        loop {
            let before = offsets.0.clone();
            for (f, g, args) in &calls {
                let params = &funs[f.0 as usize].params;
                for (i, a) in args.iter().enumerate() {
                    let own = params.iter().position(|p| Atom::Var(p.var) == *a);
                    offsets.forward(own.and_then(|own| offsets.0[f][own]), *g, i);
                }
            }
            if offsets.0 == before {
                return offsets;
            }
        }
    }

    /// Notes a call whose argument for parameter `i` of `g` is in the word `from`, or varies.
    fn forward(&mut self, from: Option<i32>, g: FunId, i: usize) {
        let Some(to) = self.0[&g][i].filter(|to| from != Some(*to)) else { return };
        // Two parameters of one function are two words.
        let differ = |words: &Vec<Option<i32>>| words.contains(&from) && words.contains(&Some(to));
        if from.is_none() || self.0.values().any(differ) {
            self.0.get_mut(&g).expect("a function that is called")[i] = None;
        } else {
            self.0.values_mut().flatten().filter(|w| **w == Some(to)).for_each(|w| *w = from);
        }
    }

    /// The parameters of a function, with their offsets.
    pub fn parameters(&self, f: FunId, fun: &Fun) -> Vec<(Param, Option<i32>)> {
        fun.params.iter().cloned().zip(self.0[&f].iter().copied()).collect()
    }

    /// Bytes of the frame.
    pub fn bytes(&self) -> u32 {
        let last = self.0.values().flatten().flatten().max();
        (last.map_or(offset::PARAMETERS, |at| at + 8)) as u32
    }
}

impl Emitter<'_> {
    /// The scalar in a word.
    pub fn scalar_in(&mut self, word: Word, prim: Prim) -> Value {
        match word {
            Word::Register(x) => x,
            Word::Memory(address, offset) => self.load_at(prim, output(), address, offset),
        }
    }

    /// The 64 bits of a word.
    pub fn word(&mut self, word: Word) -> Value {
        self.scalar_in(word, Prim::I64)
    }

    /// The address and element type of an array.
    pub fn base(&mut self, v: Var) -> Result<Base> {
        match (self.bound.arrays.get(&v), self.bound.invariants.get(&v).copied()) {
            (Some(base), _) => Ok(*base),
            (None, Some(a)) => Ok(Base { address: self.word(a.word), prim: a.prim, changes: false }),
            (None, None) => Err(format!("array v_{} is not bound", v.0)),
        }
    }

    /// Emits code with the invariants among some variables in registers. For loops, which read them often; groups of lanes read registers only.
    pub fn with_in_registers<T>(
        &mut self,
        used: &BTreeSet<Var>,
        run: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let is_bound = |v: &Var| self.bound.scalars.contains_key(v) || self.bound.arrays.contains_key(v);
        let wanted: Vec<Var> =
            used.iter().filter(|v| self.bound.invariants.contains_key(v) && !is_bound(v)).copied().collect();
        for v in &wanted {
            if self.bound.invariants[v].is_array {
                let base = self.base(*v)?;
                self.bound.arrays.insert(*v, base);
            } else {
                let x = self.atom(&(*v).into())?;
                self.bound.scalars.insert(*v, x);
            }
        }
        let result = run(self);
        wanted.iter().for_each(|v| _ = (self.bound.scalars.remove(v), self.bound.arrays.remove(v)));
        result
    }

    /// The frame for a call, new in a kernel's own function, and the arguments that are not in it.
    pub fn frame_for(&mut self, f: FunId, operands: &[Value]) -> Result<(Value, Values)> {
        if let Some(frame) = self.calls.frame {
            return Ok((frame, operands.to_vec()));
        }
        let Callee { params, frame: bytes, .. } = self.calls.callees[&f].clone();
        let slot = self.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 3));
        let frame = self.b.ins().stack_addr(types::I64, slot, 0);
        let words = [
            (self.calls.lowest.ok_or("a call outside of what may call")?, offset::LOWEST),
            (self.exits.cancel, offset::CANCEL),
            (self.exits.error, offset::ERROR),
            (self.exits.pos, offset::POS),
        ];
        for (word, at) in words {
            let x = self.word(word);
            self.b.ins().store(output(), x, frame, at);
        }
        let mut varying = Vec::new();
        for ((p, at), x) in params.iter().zip(operands) {
            match at {
                Some(at) if p.ty.is_scalar() => self.store_at(p.ty.prim(), *x, frame, *at),
                Some(at) => _ = self.b.ins().store(output(), *x, frame, *at),
                None => varying.push(*x),
            }
        }
        Ok((frame, varying))
    }
}

#[cfg(test)]
mod tests {
    use super::{Offsets, offset};
    use par_ir::core::FunId;
    use par_ir::parse::parse_flat;

    /// Per function, the words of its parameters from the first on.
    fn words(text: &str) -> Vec<Vec<Option<i32>>> {
        let program = parse_flat(text).expect("a program");
        let ids: Vec<FunId> = (0..program.locals.len() as u32).map(FunId).collect();
        let offsets = Offsets::of(&ids, &program.locals);
        let word = |at: &Option<i32>| at.map(|at| (at - offset::PARAMETERS) / 8);
        ids.iter().map(|f| offsets.0[f].iter().map(word).collect()).collect()
    }

    #[test]
    fn arguments_that_calls_forward_are_invariant() {
        let one = "local fun f@0 (a_0: i64, xs_1: [0i64]f64, n_2: i64) -> (r_3: i64) {
             let (m_4: i64) = sub.i64(n_2, 1i64)
             let (x_5: i64) = call @0 (a_0, xs_1, m_4)
             in (x_5)
           }";
        assert_eq!(words(one), [vec![Some(0), Some(1), None]]);
    }

    #[test]
    fn functions_share_the_word_of_an_invariant() {
        let two = "local fun f@0 (a_0: i64, b_1: i64) -> (r_2: i64) {
             let (x_3: i64) = call @1 (b_1, a_0, 1i64)
             in (x_3)
           }
           local fun g@1 (c_4: i64, d_5: i64, e_6: i64) -> (r_7: i64) {
             let (y_8: i64) = call @0 (d_5, c_4)
             in (y_8)
           }";
        let found = words(two);
        assert_eq!(found[1], [found[0][1], found[0][0], None]);
        assert!(found[0][0].is_some() && found[0][1].is_some() && found[0][0] != found[0][1]);
    }

    #[test]
    fn exchanged_arguments_vary() {
        let turned = "local fun f@0 (a_0: i64, b_1: i64, c_2: i64) -> (r_3: i64) {
             let (x_4: i64) = call @0 (b_1, a_0, c_2)
             in (x_4)
           }";
        assert_eq!(words(turned), [vec![None, None, Some(2)]]);
    }
}
