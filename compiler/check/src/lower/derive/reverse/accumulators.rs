//! Adjoints of arrays that recursions read: calls add to an accumulator.
//!
//! ```text
//! map (\i -> f xs i) is        acc, base = accumulate xs'
//!                              map (\i … -> f* xs i … base acc) is
//!                              xs' = accumulated acc
//! ```
//!
//! It begins where the array has its whole adjoint, before the statement that the calls stand in, and ends where that adjoint is needed. So what
//! calls in the rows of a map add costs no more than that.

use super::{List, Lower, R, Reverse};
use par_ir::core::{Body, Exp};
use par_ir::visit::Code;
use par_ir::{Atom, Dim, Prim, Type, Var};

/// An accumulator, and the place at which an array begins in it.
#[derive(Clone, Copy)]
pub(super) struct Sums {
    pub acc: Var,
    pub base: Atom,
}

impl Lower<'_> {
    /// Number of blocks around the innermost one.
    pub(super) fn depth(&self) -> usize {
        self.scope.blocks.len().saturating_sub(1)
    }

    /// True if code adds to an accumulator from outside of it.
    pub(super) fn adds(&self, bodies: [&Body; 2]) -> bool {
        bodies.iter().any(|b| b.free().iter().any(|v| self.type_of(*v).is_acc()))
    }

    /// Adds values to an accumulator.
    pub(super) fn add_list(&mut self, acc: Var, prim: Prim, list: List) {
        let size = vec![Dim::Size(list.count)];
        let places = self.retype_var(list.places, Type::array(size.clone(), Prim::I64));
        let values = self.retype_var(list.values, Type::array(size, prim));
        self.push(Vec::new(), Exp::Add { acc, places, values });
    }

    /// Begins an accumulator with the elements of an array of rank 1.
    fn begin_sums(&mut self, flat: Var) -> Sums {
        let prim = self.type_of(flat).prim();
        let (acc, base) = (self.param("acc", Type::acc(prim)), self.param("base", Type::I64));
        let sums = Sums { acc: acc.var, base: base.var.into() };
        self.push(vec![acc, base], Exp::Accumulate(flat));
        sums
    }
}

impl Reverse {
    /// The accumulator for an argument of a call. What depends on nothing that is wanted is added to one without elements.
    pub(super) fn sums_of_arg(&mut self, lo: &mut Lower, a: Atom, prim: Prim) -> R<Sums> {
        let active = a.var().filter(|v| self.active.contains(v));
        if let Some(sums) = active.map(|v| self.sums_of(lo, v)).transpose()?.flatten() {
            return Ok(sums);
        }
        let innermost = self.scopes.len() - 1;
        let known = self.scope().unwanted.iter().find(|(p, _)| *p == prim).map(|(_, sums)| *sums);
        match known {
            Some(sums) => Ok(sums),
            None => self.in_block_of(lo, innermost, |rev, lo| {
                let none = lo.empty_list(prim).values;
                let sums = lo.begin_sums(none);
                rev.scope().unwanted.push((prim, sums));
                Ok(sums)
            }),
        }
    }

    /// The accumulator for an array, begun if need be, and the place at which the array begins there.
    fn sums_of(&mut self, lo: &mut Lower, arr: Var) -> R<Option<Sums>> {
        if let Some(sums) = self.shared_sums(arr) {
            return Ok(Some(sums));
        }
        if let Some((of, start)) = self.part_of(arr)
            && let Some(sums) = self.sums_of(lo, of)?
        {
            let place = if start == Atom::i64(0) { start } else { self.place(lo, of, &[start])? };
            return Ok(Some(Sums { base: lo.add(sums.base, place), ..sums }));
        }
        let Some(owner) = self.scopes.iter().rposition(|s| s.own.contains(&arr)) else { return Ok(None) };
        if let Some(sums) = self.scopes[owner].sums.get(&arr) {
            return Ok(Some(*sums));
        }
        let begun = self.in_block_of(lo, owner, |rev, lo| {
            let so_far = rev.whole(lo, arr)?;
            rev.scope().adjoints.remove(&arr);
            let (_, flat) = lo.flat(so_far)?;
            let sums = lo.begin_sums(flat);
            rev.scope().sums.insert(arr, sums);
            Ok(sums)
        })?;
        Ok(Some(begun))
    }

    /// Emits into the block of a scope, before the statement that is being made there.
    fn in_block_of<'p, T>(
        &mut self,
        lo: &mut Lower<'p>,
        scope: usize,
        f: impl FnOnce(&mut Self, &mut Lower<'p>) -> R<T>,
    ) -> R<T> {
        let scopes = self.scopes.split_off(scope + 1);
        let blocks = lo.scope.blocks.split_off(self.scope().depth + 1);
        let made = f(self, lo);
        lo.scope.blocks.extend(blocks);
        self.scopes.extend(scopes);
        made
    }

    /// Adds to the accumulator of an array, if there is one in the innermost scope.
    pub(super) fn add_to_sums(&mut self, lo: &mut Lower, arr: Var, list: List) -> R<bool> {
        let Some(Sums { acc, base }) = self.scope().sums.get(&arr).copied() else { return Ok(false) };
        let prim = lo.type_of(arr).prim();
        let list = lo.further_on(list, base)?;
        lo.add_list(acc, prim, list);
        Ok(true)
    }

    /// Ends the accumulator of an array that has its whole adjoint in the innermost scope: that is the adjoint again.
    pub(super) fn end_sums(&mut self, lo: &mut Lower, arr: Var) -> R<()> {
        let Some(sums) = self.scope().sums.remove(&arr) else { return Ok(()) };
        let ty = lo.type_of(arr).clone();
        let size = Dim::Size(lo.flat_size(&ty)?);
        let flat = Type::array(vec![size], ty.prim());
        let flat = lo.emit("d", flat, Exp::Accumulated(sums.acc));
        let d = lo.unflat(flat, &ty)?;
        self.contribute(lo, arr.into(), d.into())
    }

    /// Ends all accumulators of the innermost scope.
    pub(super) fn end_all_sums(&mut self, lo: &mut Lower) -> R<()> {
        let arrays: Vec<Var> = self.scope().sums.keys().copied().collect();
        for (prim, sums) in std::mem::take(&mut self.scope().unwanted) {
            let none = Type::array(vec![Dim::Size(Atom::i64(0))], prim);
            lo.emit("none", none, Exp::Accumulated(sums.acc));
        }
        arrays.into_iter().try_for_each(|arr| self.end_sums(lo, arr))
    }
}
