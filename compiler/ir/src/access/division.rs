//! Quotients and remainders of polynomials.
//!
//! ```text
//! i0*m + i1 quot m         i0, because 0 <= i1 < m and the dividend is a position
//! i0*m + i1 rem m          i1
//! i0 quot k                unknown, but i0 where the dimension is divided into parts of k
//! ```

use super::{Access, Extent, Form, Origin, Symbol};

impl Access<'_> {
    /// Quotient and remainder, if the division is exact but for a rest that is inside the divisor's range. Neither is negative,
    /// so it does not matter how quotients are rounded.
    pub(super) fn division(&mut self, x: &Form, y: &Form) -> Option<(Form, Form)> {
        let (quotient, rest) = x.divided(y)?;
        let inside =
            |rest: &Form| self.never_negative(rest) && self.never_negative(&y.minus(rest).plus(&(-1).into()));
        if (self.axes.is_part_of_number(x) || self.is_small(x)) && inside(&rest) {
            return Some((quotient, rest));
        }
        if self.wanted.is_none() && self.is_host(y) {
            self.wanted = self.axes.part(x, y);
        }
        None
    }

    /// True if a form has one opaque number in it, of less than 32 bits, and small factors.
    fn is_small(&self, x: &Form) -> bool {
        let small = |(product, n): (&[Symbol], i64)| {
            let known = match product {
                [] => Some(1),
                [Symbol::Var(v)] => self.intervals.get(v).filter(|i| i.least >= 0).map(|i| i.most),
                [Symbol::Index(d)] => match self.axes.extent(*d) {
                    Extent::Size(n) => n.as_constant().map(i128::from),
                    _ => None,
                },
                _ => None,
            };
            n >= 0 && known.is_some_and(|most| most * i128::from(n) < 1 << 32)
        };
        x.terms().all(small)
    }

    /// True if a symbol counts the iterations of a loop.
    pub fn is_counter(&self, s: Symbol) -> bool {
        self.counter(s).is_some()
    }

    /// The form below which an opaque variable counts the iterations of a loop, if it does.
    pub(super) fn counter(&self, s: Symbol) -> Option<&Form> {
        let Symbol::Var(v) = s else { return None };
        match &self.bound.get(&v)?.origin {
            Origin::Counter(bound) => Some(bound),
            _ => None,
        }
    }
}
