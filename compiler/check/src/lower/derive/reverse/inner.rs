//! The backward sweep over the rows of a parallel operator.
//!
//! ```text
//! let ys = map (\x -> x * a[i]) xs              let (xs' bs) = map (\x y' -> (y' * a[i], y' * x)) xs ys'
//!                                               let a' = hist (+) a' is bs
//! ```
//!
//! A map gives the adjoints of its inputs' rows. To scalars from outside it adds the sum of what all rows add, and to whole arrays
//! likewise. What it adds to elements of arrays from outside it gives as lists of positions and values. So it does for elements of rows of
//! an array from outside of a map that it is in: nowhere is there an array of these rows' size for each row of that map.

use super::super::super::value::Val;
use super::replay::Frame;
use super::{Along, Element, List, Lower, R, Reverse, Scope};
use par_ir::core::{Body, Exp, Lambda, Param};
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Dim, Prim, Type, Var};

/// An operator's rows.
pub(super) struct Rows<'a> {
    pub width: Atom,
    pub inputs: &'a [Var],
    pub lam: &'a Lambda,
    /// Further arrays, whose rows are needed.
    pub extra: Vec<Var>,
    /// Tapes of the calls in the rows.
    pub tapes: Option<Tapes>,
    pub window: Option<Window<'a>>,
}

/// Tapes of the calls in rows.
#[derive(Clone, Copy)]
pub(super) enum Tapes {
    /// Arrays, one for each row.
    Joined(Var),
    /// The ends of the rows' parts of one tape.
    Ends { ends: Var, of: Var },
}

impl Tapes {
    /// An array with what a row needs.
    fn rows(self) -> Var {
        match self {
            Tapes::Joined(rows) | Tapes::Ends { ends: rows, .. } => rows,
        }
    }

    /// Place of a row's calls.
    fn frame(self, lo: &mut Lower, row: Atom) -> R<Frame> {
        match self {
            Tapes::Joined(_) => {
                let tape = lo.leaf_var(row)?;
                Ok(Frame::new(lo.flat(tape)?))
            }
            Tapes::Ends { of, .. } => Ok(Frame::new((row, of))),
        }
    }
}

/// Place of an operator's inputs, if they are parts of others.
pub(super) struct Window<'a> {
    /// The whole inputs.
    pub of: &'a [Var],
    /// The number of the first row.
    pub start: Atom,
}

impl<'a> Rows<'a> {
    /// Rows without anything else, of whole arrays.
    pub fn new(width: Atom, inputs: &'a [Var], lam: &'a Lambda) -> Rows<'a> {
        Rows { width, inputs, lam, extra: Vec::new(), tapes: None, window: None }
    }

    /// The arrays that the inputs are, or are parts of.
    fn whole(&self) -> &[Var] {
        self.window.as_ref().map_or(self.inputs, |w| w.of)
    }
}

/// Targets of the components of a row.
enum Export {
    /// An adjoint of that of the variable.
    Whole(Var),
    /// Sums over all rows.
    Sum(Var),
    /// Values for elements, along a dimension for each row.
    Element(Var, Vec<Along>),
    /// Values for one element, or along dimensions, that is the same in all rows.
    Fixed(Var, Vec<Along>),
    /// A position and a value.
    Pair(Var),
    List(Var),
}

impl<'p> Lower<'p> {
    /// The adjoint of a variable of this type; that of an irregular array has one dimension.
    fn adjoint_val(&mut self, d: Atom, ty: Type) -> R<Val<'p>> {
        Ok(match d {
            Atom::Var(d) if !ty.is_scalar() && ty.is_regular() => {
                let d = self.retype_var(d, ty);
                self.val_of(d)
            }
            Atom::Var(d) if !ty.is_scalar() => {
                let (size, flat) = (self.flat_size(&ty)?, self.flat(d)?.1);
                let flat = self.retype_var(flat, Type::array(vec![Dim::Size(size)], ty.prim()));
                self.val_of(flat)
            }
            d => Val::Scalar(d, ty.prim()),
        })
    }
}

/// The adjoints of some values.
pub(super) type Adjoints = Vec<(Atom, Atom)>;

/// Gives the adjoints of a function's results, from these and the rows of further arrays.
type AdjointsOf<'f, 'p> = dyn FnMut(&mut Reverse, &mut Lower<'p>, &[Atom], &[Atom]) -> R<Adjoints> + 'f;

impl Reverse {
    /// Goes backward through the rows of an operator. `adjoints` gives those of the function's results, from these and the rows of
    /// further arrays.
    pub(super) fn back_rows<'p>(
        &mut self,
        lo: &mut Lower<'p>,
        rows: &Rows,
        adjoints: &mut AdjointsOf<'_, 'p>,
    ) -> R<()> {
        let distant = self.distant(lo, rows);
        let start = rows.window.as_ref().map_or(Atom::i64(0), |w| w.start);
        let index = match distant[..] {
            [] => None,
            _ => Some(lo.places_from(start, rows.width)?),
        };
        let all: Vec<Var> = rows
            .inputs
            .iter()
            .chain(&rows.extra)
            .copied()
            .chain(rows.tapes.map(Tapes::rows))
            .chain(index)
            .collect();
        let arrays: Vec<Val<'p>> = all.iter().map(|v| lo.val_of(*v)).collect();
        let mut exports = Vec::new();
        let made = lo.map_over(rows.width, &arrays, &mut |lo, vals| {
            let atoms: Vec<Atom> =
                vals.iter().zip(&all).map(|(val, v)| row_atom(lo, val, *v)).collect::<R<_>>()?;
            let (given, extra) = atoms.split_at(rows.inputs.len());
            let (extra, tapes) = extra.split_at(rows.extra.len());
            let (tapes, index) = tapes.split_at(usize::from(rows.tapes.is_some()));
            let own = given.iter().enumerate().filter(|(i, _)| !distant.contains(i));
            let own: Vec<Var> = own.filter_map(|(_, a)| a.var()).collect();
            let (mut scope, ()) = self.inside(lo.depth(), own, |rev| {
                if let (Some(all), [row]) = (rows.tapes, tapes) {
                    rev.tape = Some(all.frame(lo, *row)?);
                }
                let subst: &mut Subst =
                    &mut rows.lam.params.iter().map(|p| p.var).zip(given.iter().copied()).collect();
                let body = rev.copy(lo, &rows.lam.body, subst);
                let steps = rev.forward(lo, body.stms)?;
                for (a, d) in adjoints(rev, lo, &body.results, extra)? {
                    rev.contribute(lo, a, d)?;
                }
                rev.back(lo, steps)
            })?;
            for i in &distant {
                self.as_elements_of(lo, &mut scope, (rows.whole()[*i], index[0]), given[*i])?;
            }
            let parts;
            (exports, parts) = self.row_exports(lo, rows, (given, index.first().copied()), scope)?;
            Ok(Val::Tuple(parts))
        })?;
        let Val::Array(_, parts) = made else { return Err(lo.internal("a map gives an array")) };
        let Val::Tuple(parts) = *parts else { return Err(lo.internal("the rows are tuples")) };
        let mut parts = parts.into_iter();
        for export in exports {
            self.import(lo, rows.width, export, &mut parts)?;
        }
        Ok(())
    }

    /// The inputs that stand outside of a map around the operator, and whose rows are read by index, but not in loops, which write
    /// in place.
    fn distant(&mut self, lo: &Lower, rows: &Rows) -> Vec<usize> {
        if self.scopes.len() < 2 {
            return Vec::new();
        }
        let is_distant = |(v, p): (&Var, &Param)| {
            let is_outside =
                self.active.contains(v) && !self.scopes.last().is_some_and(|s| s.own.contains(v));
            let matrix = p.ty.rank() > 0 && lo.type_of(*v).is_regular();
            is_outside && matrix && reads_elements(&rows.lam.body, p.var)
        };
        let inputs = rows.whole().iter().zip(&rows.lam.params);
        inputs.enumerate().filter(|(_, input)| is_distant(*input)).map(|(i, _)| i).collect()
    }

    /// Makes contributions to elements of a row ones to elements of the array that it is a row of.
    fn as_elements_of(
        &mut self,
        lo: &mut Lower,
        scope: &mut Scope,
        (arr, index): (Var, Atom),
        row: Atom,
    ) -> R<()> {
        let Some(parts) = row.var().and_then(|row| scope.parts.remove(&row)) else { return Ok(()) };
        for Element { mut at, value } in parts.elements {
            at.insert(0, Along::Index(index));
            scope.parts.entry(arr).or_default().elements.push(Element { at, value });
        }
        for list in parts.lists {
            let start = self.place(lo, arr, &[index])?;
            let places = lo.moved_places(list, start)?;
            scope.parts.entry(arr).or_default().lists.push(List { places, ..list });
        }
        Ok(())
    }

    /// The components of a row of the map.
    #[allow(clippy::type_complexity, reason = "a pair of lists")]
    fn row_exports<'p>(
        &mut self,
        lo: &mut Lower<'p>,
        rows: &Rows,
        (given, index): (&[Atom], Option<Atom>),
        mut scope: Scope,
    ) -> R<(Vec<Export>, Vec<Val<'p>>)> {
        let (mut exports, mut parts) = (Vec::new(), Vec::new());
        let level = lo.scope.blocks.len() - 1;
        for (v, row) in rows.inputs.iter().zip(given) {
            let Some(row) = row.var() else { continue };
            if let Some(d) = scope.adjoints.remove(&row) {
                let ty = lo.type_of(row).clone();
                exports.push(Export::Whole(*v));
                let d = lo.as_type(d, &ty);
                parts.push(lo.atom_val(d, &ty));
            }
        }
        for (v, d) in scope.adjoints {
            let ty = lo.type_of(v).clone();
            exports.push(Export::Sum(v));
            parts.push(lo.adjoint_val(d, ty)?);
        }
        for (v, of) in scope.parts {
            let prim = lo.type_of(v).prim();
            for element in of.elements {
                let is_row = |i: Atom| {
                    let is_number = |(a, v): (&Atom, &Var)| *a == i && self.positions.contains_key(v);
                    index == Some(i) || given.iter().zip(rows.inputs).any(is_number)
                };
                if let Some(at) = self.along_rows(lo, v, &element, (rows.width, level), &is_row) {
                    exports.push(Export::Element(v, at));
                    parts.push(lo.value_of(element.value, prim));
                } else if lo.is_fixed(v, &element, level) {
                    exports.push(Export::Fixed(v, element.at));
                    parts.push(lo.value_of(element.value, prim));
                } else if element.value.var().is_some_and(|v| !lo.type_of(v).is_scalar()) {
                    exports.push(Export::List(v));
                    let list = self.element_list(lo, v, &element)?;
                    parts.push(lo.list_val(list));
                } else {
                    exports.push(Export::Pair(v));
                    let place = self.element_place(lo, v, &element.at, &[])?;
                    parts.extend([Val::i64(place), Val::Scalar(element.value, prim)]);
                }
            }
            for list in of.lists {
                exports.push(Export::List(v));
                parts.push(lo.list_val(list));
            }
        }
        Ok((exports, parts))
    }

    /// Adds what a map gives to the adjoint it belongs to.
    fn import<'p>(
        &mut self,
        lo: &mut Lower<'p>,
        width: Atom,
        export: Export,
        parts: &mut dyn Iterator<Item = Val<'p>>,
    ) -> R<()> {
        let mut next = |lo: &Lower<'p>| -> R<Val<'p>> {
            let part = parts.next().ok_or_else(|| lo.internal("a map with too few results"))?;
            Ok(Val::Array(Dim::Size(width), Box::new(part)))
        };
        match export {
            Export::Whole(v) => {
                let d = next(lo)?.leaves()[0].0;
                self.contribute(lo, v.into(), d)
            }
            Export::Sum(v) => {
                let rows = next(lo)?.leaves()[0].0;
                let (rows, ty) = (lo.leaf_var(rows)?, lo.type_of(v).clone());
                let sum = if ty.is_regular() {
                    lo.sum_of_rows(width, rows, &ty)?
                } else {
                    let flat = Type::array(vec![Dim::Size(lo.flat_size(&ty)?)], ty.prim());
                    let sum = lo.sum_of_rows(width, rows, &flat)?;
                    lo.unflat(lo.leaf_var(sum)?, &ty)?.into()
                };
                self.contribute(lo, v.into(), sum)
            }
            Export::Element(v, at) => {
                let value = next(lo)?.leaves()[0].0;
                self.contribute_element(lo, v, Element { at, value })
            }
            Export::Fixed(v, at) => {
                let rows = next(lo)?.leaves()[0].0;
                let rows = lo.leaf_var(rows)?;
                let mut ty = lo.type_of(rows).clone();
                ty.dims.remove(0);
                let value = lo.sum_of_rows(width, rows, &ty)?;
                self.contribute_element(lo, v, Element { at, value })
            }
            Export::Pair(v) => {
                let (places, values) = (next(lo)?.leaves()[0].0, next(lo)?.leaves()[0].0);
                let list = List { count: width, places: lo.leaf_var(places)?, values: lo.leaf_var(values)? };
                self.contribute_list(lo, v, list)
            }
            Export::List(v) => {
                let all = next(lo)?;
                let all = lo.flatten(&all)?;
                let leaves = all.leaves();
                let (places, values) = (lo.leaf_var(leaves[0].0)?, lo.leaf_var(leaves[1].0)?);
                self.contribute_list(lo, v, List { count: lo.size_of(&all)?, places, values })
            }
        }
    }
}

impl<'p> Lower<'p> {
    /// A scalar or an array as a value.
    fn value_of(&self, a: Atom, prim: Prim) -> Val<'p> {
        match a {
            Atom::Var(v) => self.val_of(v),
            constant => Val::Scalar(constant, prim),
        }
    }

    pub(super) fn list_val(&mut self, list: List) -> Val<'p> {
        let prim = self.type_of(list.values).prim();
        let size = vec![Dim::Size(list.count)];
        let places = self.retype_var(list.places, Type::array(size.clone(), Prim::I64));
        let values = self.retype_var(list.values, Type::array(size.clone(), prim));
        let pair = Val::Tuple(vec![Val::Leaf(places, Prim::I64), Val::Leaf(values, prim)]);
        Val::Array(size[0], Box::new(pair))
    }
}

/// True if a body reads single elements of an array, and never in a loop.
fn reads_elements(body: &Body, array: Var) -> bool {
    let mut found = false;
    look_at_reads(body, array, &mut found) && found
}

/// False if a loop reads the array; notes whether something else reads elements.
fn look_at_reads(body: &Body, array: Var, found: &mut bool) -> bool {
    body.stms.iter().all(|stm| {
        let mut fine = !(matches!(stm.exp, Exp::Loop { .. }) && stm.mentions(array));
        *found |= matches!(&stm.exp, Exp::Index(arr, _) if *arr == array);
        stm.exp.for_each_body(|b| fine = fine && look_at_reads(b, array, found));
        fine
    })
}

/// The row of an array or a descriptor.
fn row_atom<'p>(lo: &Lower<'p>, row: &Val<'p>, of: Var) -> R<Atom> {
    if lo.type_of(of).is_desc() {
        return match row.dims().last() {
            Some(Dim::Size(k)) => Ok(*k),
            Some(Dim::Seg(s)) => Ok(Atom::Var(*s)),
            None => Err(lo.internal("a descriptor's row is a size or a descriptor")),
        };
    }
    row.leaves().first().map(|l| l.0).ok_or_else(|| lo.internal("an array's row has one leaf"))
}
