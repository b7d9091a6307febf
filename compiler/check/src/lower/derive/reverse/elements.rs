//! Values for single elements of an array from outside a map.
//!
//! If the index along a dimension is the row of a map, the map's values go everywhere along it:
//!
//! ```text
//! map (\j -> map (\i -> xs[i, j]) (iota n)) (iota m)      the adjoint of xs gets the transposed values
//! ```

use super::super::super::value::Val;
use super::{Along, Element, List, Lower, R, Reverse, Scope};
use par_ir::core::Exp;
use par_ir::{Atom, Dim, Prim, Type, Var};

impl Reverse {
    /// The form of a row's element for all rows of a map of that width: one more dimension of the values, if the row is the index along
    /// one dimension of the array.
    pub(super) fn along_rows(
        &self,
        lo: &Lower,
        arr: Var,
        element: &Element,
        (width, level): (Atom, usize),
        is_row: &dyn Fn(Atom) -> bool,
    ) -> Option<Vec<Along>> {
        let dims = &lo.type_of(arr).dims;
        if dims.len() != element.at.len() {
            return None;
        }
        let mut found = None;
        for (k, a) in element.at.iter().enumerate() {
            match a {
                Along::Axis(_) => {}
                Along::Index(i) if is_row(*i) && dims[k] == Dim::Size(width) && found.is_none() => {
                    found = Some(k);
                }
                Along::Index(i) if lo.is_outside(*i, level) => {}
                Along::Index(_) => return None,
            }
        }
        let found = found?;
        let moved = element.at.iter().enumerate().map(|(k, a)| match a {
            _ if k == found => Along::Axis(0),
            Along::Axis(i) => Along::Axis(i + 1),
            index => *index,
        });
        Some(moved.collect())
    }

    /// Adds an element's values to an adjoint.
    pub(super) fn contribute_element(&mut self, lo: &mut Lower, arr: Var, element: Element) -> R<()> {
        let axes: Option<Vec<usize>> =
            element.at.iter().map(|a| if let Along::Axis(i) = a { Some(*i) } else { None }).collect();
        if let Some(axes) = axes {
            let ty = lo.type_of(arr).clone();
            let values = lo.leaf_var(element.value)?;
            let whole = lo.permuted(values, &axes, &ty, &mut Vec::new())?;
            return self.contribute(lo, arr.into(), whole);
        }
        if self.is_shared(arr) {
            let list = self.element_list(lo, arr, &element)?;
            return self.contribute_list(lo, arr, list);
        }
        let arr = self.original_here(arr);
        if !self.scope().own.contains(&arr) {
            self.scope().parts.entry(arr).or_default().elements.push(element);
            return Ok(());
        }
        if let Some(at) = lo.certain_element(arr, &element) {
            let ty = Type::scalar(lo.type_of(arr).prim());
            return self.contribute_at(lo, arr, &at, element.value, &ty);
        }
        let list = self.element_list(lo, arr, &element)?;
        self.contribute_list(lo, arr, list)
    }

    /// An element's values with their positions.
    pub(super) fn element_list(&mut self, lo: &mut Lower, arr: Var, element: &Element) -> R<List> {
        let prim = lo.type_of(arr).prim();
        if element.at.iter().all(|a| matches!(a, Along::Index(_))) {
            let place = self.element_place(lo, arr, &element.at, &[])?;
            let one = |lo: &mut Lower, a, p| {
                lo.emit("one", Type::array(vec![Dim::Size(Atom::i64(1))], p), Exp::Literal(vec![a], p))
            };
            let (places, values) = (one(lo, place, Prim::I64), one(lo, element.value, prim));
            return Ok(List { count: Atom::i64(1), places, values });
        }
        let values = lo.leaf_var(element.value)?;
        let dims = lo.type_of(values).dims.clone();
        let pairs = self.element_pairs(lo, (arr, values), &element.at, &dims, &mut Vec::new())?;
        let mut all = pairs;
        while all.dims().len() > 1 {
            all = lo.flatten(&all)?;
        }
        let leaves = all.leaves();
        debug_assert_eq!(leaves[1].1, prim);
        Ok(List {
            count: lo.size_of(&all)?,
            places: lo.leaf_var(leaves[0].0)?,
            values: lo.leaf_var(leaves[1].0)?,
        })
    }

    /// Makes lists of values that go along dimensions.
    pub(super) fn without_axes(&mut self, lo: &mut Lower, scope: &mut Scope, arr: Var) -> R<()> {
        let Some(parts) = scope.parts.get_mut(&arr) else { return Ok(()) };
        for element in std::mem::take(&mut parts.elements) {
            if element.at.iter().all(|a| matches!(a, Along::Index(_))) {
                parts.elements.push(element);
            } else {
                parts.lists.push(self.element_list(lo, arr, &element)?);
            }
        }
        Ok(())
    }

    fn element_pairs<'p>(
        &mut self,
        lo: &mut Lower<'p>,
        (arr, values): (Var, Var),
        at: &[Along],
        dims: &[Dim],
        indices: &mut Vec<Atom>,
    ) -> R<Val<'p>> {
        let prim = lo.type_of(arr).prim();
        let Some((Dim::Size(n), rest)) = dims.split_first() else {
            let place = self.element_place(lo, arr, at, indices)?;
            let value = lo.emit("d", Type::scalar(prim), Exp::Index(values, indices.clone()));
            return Ok(Val::Tuple(vec![Val::i64(place), Val::Scalar(value.into(), prim)]));
        };
        let rows = Val::vector(*n, lo.iota(*n), Prim::I64);
        lo.map_over(*n, &[rows], &mut |lo, row| {
            indices.push(row[0].leaves()[0].0);
            let pairs = self.element_pairs(lo, (arr, values), at, rest, indices);
            indices.pop();
            pairs
        })
    }

    /// The position in the flattened array, with these indices in place of axes.
    pub(super) fn element_place(
        &mut self,
        lo: &mut Lower,
        arr: Var,
        at: &[Along],
        indices: &[Atom],
    ) -> R<Atom> {
        let at: Vec<Atom> = at
            .iter()
            .map(|a| match a {
                Along::Index(i) => *i,
                Along::Axis(i) => indices[*i],
            })
            .collect();
        if at.len() == lo.type_of(arr).rank() { self.place(lo, arr, &at) } else { Ok(at[0]) }
    }
}

impl Lower<'_> {
    /// True for an element of a regular array whose indices are all bound outside of a map.
    pub(super) fn is_fixed(&self, arr: Var, element: &Element, level: usize) -> bool {
        let outside = |a: &Along| matches!(a, Along::Index(i) if self.is_outside(*i, level));
        let axis = |a: &Along| matches!(a, Along::Axis(_));
        element.at.len() == self.type_of(arr).rank() && element.at.iter().all(|a| outside(a) || axis(a))
    }

    /// The indices of an element that is inside of the array for certain. A map without rows may name one that is not.
    fn certain_element(&self, arr: Var, element: &Element) -> Option<Vec<Atom>> {
        let dims = &self.type_of(arr).dims;
        let inside = |(a, d): (&Along, &Dim)| match (a, d) {
            (Along::Index(i), Dim::Size(n)) if (0..n.as_i64()?).contains(&i.as_i64()?) => Some(*i),
            _ => None,
        };
        (dims.len() == element.at.len()).then(|| element.at.iter().zip(dims).map(inside).collect())?
    }

    /// An array with its dimensions in another order: dimension `k` of the result is dimension `axes[k]` of the values.
    fn permuted(&mut self, values: Var, axes: &[usize], ty: &Type, at: &mut Vec<Atom>) -> R<Atom> {
        if axes.iter().enumerate().all(|(k, a)| k == *a) {
            return Ok(values.into());
        }
        let prim = ty.prim();
        let Some(Dim::Size(n)) = ty.dims.get(at.len()).copied() else {
            let mut indices = vec![Atom::i64(0); axes.len()];
            axes.iter().zip(at.iter()).for_each(|(a, i)| indices[*a] = *i);
            return Ok(self.emit("d", Type::scalar(prim), Exp::Index(values, indices)).into());
        };
        let row = Type::array(ty.dims[at.len() + 1..].to_vec(), prim);
        let rows = Val::vector(n, self.iota(n), Prim::I64);
        let all = self.map_over(n, &[rows], &mut |lo, rows| {
            at.push(rows[0].leaves()[0].0);
            let inner = lo.permuted(values, axes, ty, at);
            at.pop();
            Ok(lo.atom_val(inner?, &row))
        })?;
        Ok(all.leaves()[0].0)
    }
}
