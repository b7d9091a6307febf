//! The dimensions of a kernel's space, and how positions and rows are numbered over them.

use super::{Facts, Form, Symbol};
use crate::flat::Space;
use crate::ty::{Dim, Var};

/// The size of a dimension.
#[derive(Clone, Debug, PartialEq)]
pub enum Extent {
    /// The same everywhere.
    Size(Form),
    /// As a descriptor says.
    Seg(Var),
    /// The quotient of so many by the size of the dimension inside: at most this.
    Part(Form),
    /// Unknown.
    Any,
}

/// A dimension.
#[derive(Clone, Debug, PartialEq)]
struct Axis {
    extent: Extent,
    /// The dimension of the space that it is a part of, and the stride of its index in the index of that.
    part_of: usize,
    in_index: Option<Form>,
    /// Stride of its index in the number of a row; none for dimensions inside rows.
    in_row: Option<Form>,
    /// Stride of its index in a position; none if positions are not linear in it.
    in_position: Option<Form>,
}

/// The dimensions of a space, outermost first: some number rows, the others the elements of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Axes {
    axes: Vec<Axis>,
    rows: usize,
}

impl Axes {
    /// Of these dimensions, of which the first `rows` number rows.
    pub fn new(extents: Vec<Extent>, rows: usize) -> Axes {
        let size = |e: &Extent| if let Extent::Size(n) = e { Some(n.clone()) } else { None };
        let product =
            |inner: &[Extent]| inner.iter().map(size).try_fold(Form::from(1), |all, n| all.times(&n?));
        let axis = |d: usize| Axis {
            extent: extents[d].clone(),
            part_of: d,
            in_index: Some(1.into()),
            in_row: if d < rows { product(&extents[d + 1..rows]) } else { None },
            in_position: product(&extents[d + 1..]),
        };
        Axes { axes: (0..extents.len()).map(axis).collect(), rows }
    }

    /// Of a kernel's space.
    pub fn of(space: &Space, facts: &Facts) -> Axes {
        let extent = |dim: Dim| match dim {
            Dim::Size(n) => Extent::Size(facts.form(n)),
            Dim::Seg(s) => Extent::Seg(s),
        };
        Axes::new(space.0.iter().map(|dim| extent(*dim)).collect(), space.0.len() - 1)
    }

    /// Number of dimensions.
    pub fn count(&self) -> usize {
        self.axes.len()
    }

    /// Number of the dimensions that number rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The size of a dimension.
    pub fn extent(&self, dim: usize) -> &Extent {
        &self.axes[dim].extent
    }

    /// The sizes.
    pub fn extents(&self) -> impl Iterator<Item = &Extent> {
        self.axes.iter().map(|a| &a.extent)
    }

    /// The descriptor of the innermost dimension.
    pub fn descriptor(&self) -> Option<Var> {
        match self.axes.last()?.extent {
            Extent::Seg(s) => Some(s),
            _ => None,
        }
    }

    /// With one dimension in parts of this size.
    pub(super) fn divide(&mut self, dim: usize, by: Form) {
        let axis = &mut self.axes[dim];
        let extent = match &axis.extent {
            Extent::Size(n) | Extent::Part(n) => match n.divided(&by) {
                Some((count, rest)) if rest.is_zero() => Extent::Size(count),
                _ => Extent::Part(n.clone()),
            },
            unknown => unknown.clone(),
        };
        let times = |stride: &Option<Form>| stride.as_ref().and_then(|s| s.times(&by));
        let outer = Axis {
            extent,
            part_of: axis.part_of,
            in_index: times(&axis.in_index),
            in_row: times(&axis.in_row),
            in_position: times(&axis.in_position),
        };
        axis.extent = Extent::Size(by);
        self.axes.insert(dim, outer);
        self.rows += usize::from(dim < self.rows);
    }

    /// Stride of the index of a dimension where the first `end` dimensions are numbered.
    pub(super) fn stride(&self, dim: usize, end: usize) -> Option<Form> {
        if end == self.rows {
            return self.axes[dim].in_row.clone();
        }
        let inner = self.axes[end - 1].in_position.as_ref()?;
        let (stride, rest) = self.axes[dim].in_position.as_ref()?.divided(inner)?;
        rest.is_zero().then_some(stride)
    }

    /// The number in the dimensions from `first` on, before `end`: each index times its stride.
    fn number(&self, first: usize, end: usize) -> Option<Form> {
        let term = |d: usize| self.stride(d, end)?.times(&Symbol::Index(d).into());
        (first..end).map(term).try_fold(Form::default(), |sum, term| Some(sum.plus(&term?)))
    }

    /// The index inside a dimension of the space.
    pub fn index(&self, dim: usize) -> Option<Form> {
        let parts = self.axes.iter().enumerate().filter(|(_, axis)| axis.part_of == dim);
        let term = |(d, axis): (usize, &Axis)| axis.in_index.as_ref()?.times(&Symbol::Index(d).into());
        parts.map(term).try_fold(Form::default(), |sum, term| Some(sum.plus(&term?)))
    }

    /// The number of the row.
    pub fn row(&self) -> Option<Form> {
        self.number(0, self.rows)
    }

    /// The position.
    pub fn position(&self) -> Option<Form> {
        match self.descriptor() {
            Some(_) if self.axes.len() > 1 => {
                Some(Form::from(Symbol::Start).plus(&Symbol::Index(self.axes.len() - 1).into()))
            }
            _ => self.number(0, self.axes.len()),
        }
    }

    /// True if a form is a sum of terms of a number in some of the dimensions: then it is not negative, and fits.
    pub(super) fn is_part_of_number(&self, x: &Form) -> bool {
        let fits = |end: usize| {
            let term = |d: usize| self.stride(d, end)?.times(&Symbol::Index(d).into());
            let terms: Vec<Form> = (0..end).filter_map(term).collect();
            x.terms().all(|(product, n)| terms.iter().any(|t| t.terms().eq([(product, n)])))
        };
        (1..=self.axes.len()).any(fits)
    }

    /// The dimension that has to be divided, and by what, for an index to be the quotient of a number by `y`.
    pub(super) fn part(&self, x: &Form, y: &Form) -> Option<(usize, Form)> {
        let is_number = |end: usize| (0..end).any(|first| self.number(first, end).as_ref() == Some(x));
        let end = (1..=self.axes.len()).find(|end| is_number(*end))?;
        let fits = |d: usize| {
            let (by, rest) = y.divided(&self.stride(d, end)?)?;
            let new = rest.is_zero() && by.as_constant() != Some(1);
            (new && !matches!(self.axes[d].extent, Extent::Seg(_))).then_some((d, by))
        };
        (0..end).filter(|d| x.symbols().contains(&Symbol::Index(*d))).find_map(fits)
    }
}
