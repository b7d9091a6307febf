//! How an array is read from position to position.

use super::{Access, Form, Origin, Symbol};

/// How the index of a read changes in the space.
#[derive(Clone, Debug, PartialEq)]
pub enum Class {
    /// The same at all positions.
    Uniform,
    /// The same at all positions of a row.
    RowUniform,
    /// The position itself.
    Aligned,
    /// The position plus a host scalar.
    Shifted(Form),
    /// Linear in the indices: the stride of each dimension, 0 too. Besides, it may grow with counters of loops.
    Affine(Vec<Form>),
    /// Behind the place where a descriptor says that a row begins.
    Monotone,
    /// Anything else.
    Random,
}

impl Access<'_> {
    /// The class of an index.
    pub fn class(&self, index: &Form) -> Class {
        let dims = self.axes.count();
        let varies: Vec<usize> = (0..dims).filter(|d| self.varies(index, *d)).collect();
        if varies.is_empty() && self.is_by_position(index) {
            return Class::Uniform;
        }
        if let Some(position) = self.axes.position() {
            match index.minus(&position) {
                shift if shift.is_zero() => return Class::Aligned,
                shift if self.is_host(&shift) => return Class::Shifted(shift),
                _ => {}
            }
        }
        let strides: Option<Vec<Form>> = (0..dims).map(|d| self.growth(index, Symbol::Index(d))).collect();
        match strides {
            Some(strides) if self.is_by_position(index) => Class::Affine(strides),
            _ if self.is_by_position(index) && varies.iter().all(|d| *d < self.axes.rows()) => {
                Class::RowUniform
            }
            _ if self.is_monotone(index) => Class::Monotone,
            _ => Class::Random,
        }
    }

    /// True if an index has nothing in it that is known at a position only, like an element or the state of a loop.
    fn is_by_position(&self, index: &Form) -> bool {
        let needs = self.needs(index);
        let varies_by_itself = |s: &Symbol| match s {
            Symbol::Var(v) => match self.bound.get(v).map(|b| &b.origin) {
                None | Some(Origin::Prim(..) | Origin::Counter(_)) => false,
                Some(Origin::Read(read)) => !self.is_by_row(&read.index),
                Some(Origin::Other) => true,
            },
            Symbol::Index(_) | Symbol::Start => false,
        };
        !needs.iter().any(varies_by_itself)
    }

    fn is_by_row(&self, f: &Form) -> bool {
        !(self.axes.rows()..self.axes.count()).any(|dim| self.varies(f, dim))
    }

    /// True if an index is a place in a row that begins where offsets say.
    fn is_monotone(&self, index: &Form) -> bool {
        let begins = |s: Symbol| match s {
            Symbol::Start => true,
            Symbol::Var(v) => self.read(v).is_some_and(|r| self.facts.offsets(r.array).is_some()),
            Symbol::Index(_) => false,
        };
        let last = Symbol::Index(self.axes.count() - 1);
        let grows = |s: Symbol| s == last || begins(s) || self.is_outside(s);
        let linear = index
            .terms()
            .all(|(term, n)| n == 1 && term.len() == 1 || !term.iter().any(|s| !self.is_outside(*s)));
        linear && index.symbols().into_iter().all(grows) && index.symbols().into_iter().any(begins)
    }
}
