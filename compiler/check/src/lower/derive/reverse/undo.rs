//! Arrays of which an iteration overwrites some elements: what these were is kept, and put back.
//!
//! ```text
//! loop ys for i < n { … let zs = ys with [j] = y  in zs }      kept: j and ys[j] of every iteration
//! ```

use super::{Lower, R};
use par_ir::core::{At, Body, Exp, Param, Stm};
use par_ir::{Atom, Dim, Type, Var};

/// An update of an element or row in the body of a loop.
pub(super) struct Overwrite {
    /// The new array.
    pub made: Var,
    pub at: Vec<Atom>,
    /// Of what is overwritten.
    pub ty: Type,
}

/// Overwritten elements of all iterations: the indices and what stood there.
pub(super) struct Overwritten {
    pub at: Vec<Var>,
    pub old: Var,
    pub ty: Type,
}

/// The updates that make the result of an array, if nothing else does.
pub(super) fn overwrites(body: &Body, array: Var, result: Atom, ty: &Type) -> Option<Vec<Overwrite>> {
    if ty.is_desc() || !ty.is_regular() {
        return None;
    }
    let (mut updates, mut now) = (Vec::new(), array);
    while result != now.into() {
        let next = body.stms.iter().find(|s| matches!(&s.exp, Exp::Update { arr, .. } if *arr == now))?;
        let Exp::Update { at, .. } = &next.exp else { return None };
        let at = At::only_indices(at)?;
        let ty = Type { dims: ty.dims[at.len()..].to_vec(), elem: ty.elem };
        now = next.pat[0].var;
        updates.push(Overwrite { made: now, at, ty });
    }
    Some(updates)
}

impl Lower<'_> {
    /// The indices of an update, and what it is about to overwrite.
    pub(super) fn overwritten(&mut self, stm: &Stm, ty: &Type) -> R<Vec<Atom>> {
        let Exp::Update { arr, at, .. } = &stm.exp else {
            return Err(self.internal("an update was expected"));
        };
        let Some(mut values) = At::only_indices(at) else {
            return Err(self.internal("an update without slices was expected"));
        };
        values.push(self.emit("old", ty.clone(), Exp::Index(*arr, values.clone())).into());
        Ok(values)
    }

    /// A column with a value at an index.
    pub(super) fn column_with(&mut self, column: Var, index: Atom, value: Atom) -> Atom {
        let ty = self.type_of(column).clone();
        self.emit("tape", ty, Exp::Update { arr: column, at: vec![At::Index(index)], value }).into()
    }

    /// Room for values of a type.
    pub(super) fn zero_rows(&mut self, count: Atom, ty: &Type) -> R<(Type, Atom)> {
        let zeros = self.zeros(ty)?;
        let mut all = ty.clone();
        all.dims.insert(0, Dim::Size(count));
        Ok((all.clone(), self.emit("tape", all, Exp::Replicate(count, zeros)).into()))
    }

    /// An array as it was before the updates of iteration `i`.
    pub(super) fn restored(&mut self, array: &Param, updates: &[Overwritten], i: Atom) -> Var {
        let mut now = self.emit("x", array.ty.clone(), Exp::Atom(array.var.into()));
        for u in updates.iter().rev() {
            let indices = u.at.iter().map(|at| self.emit("at", Type::I64, Exp::Index(*at, vec![i])).into());
            let at: Vec<Atom> = indices.collect();
            let value = self.emit("old", u.ty.clone(), Exp::Index(u.old, vec![i])).into();
            let exp = Exp::Update { arr: now, at: At::indices(&at), value };
            now = self.emit("x", array.ty.clone(), exp);
        }
        now
    }
}
