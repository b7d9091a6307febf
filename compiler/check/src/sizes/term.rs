//! Sizes as polynomials, so that `n + m - n` is `m`, and two spellings of one size are equal.

use crate::thir::LocalId;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// Atom of a size term.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(super) enum Atom {
    /// A size parameter or another integer with a name.
    Local(LocalId),
    /// To be found.
    Meta(u32),
    /// Something that is computed, of which only the identity is known.
    Opaque(u32),
}

/// A sum of products of atoms, each with its factor; sorted, without zeros.
#[derive(Clone, Debug, Default)]
pub(super) struct Term {
    products: Vec<(Vec<Atom>, i64)>,
    /// As it is written, if that is a sum or product of two: `n + (m - n)` is `m`, but says where `split` cuts.
    written: Option<Rc<Written>>,
}

/// A sum or product as it is written.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) is_sum: bool,
    pub(super) parts: [Term; 2],
}

impl PartialEq for Term {
    fn eq(&self, other: &Term) -> bool {
        self.products == other.products
    }
}

impl Eq for Term {}

impl Hash for Term {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.products.hash(state);
    }
}

impl PartialOrd for Term {
    fn partial_cmp(&self, other: &Term) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Term {
    fn cmp(&self, other: &Term) -> Ordering {
        self.products.cmp(&other.products)
    }
}

/// Terms of more products than this are not computed with.
const MAX_PRODUCTS: usize = 32;

/// Products of more atoms than this are not computed with.
const MAX_FACTORS: usize = 8;

impl Term {
    pub(super) fn constant(n: i64) -> Term {
        Term::product(Vec::new(), n)
    }

    pub(super) fn atom(atom: Atom) -> Term {
        Term::product(vec![atom], 1)
    }

    /// A product of atoms, which are sorted, and a factor.
    pub(super) fn product(product: Vec<Atom>, factor: i64) -> Term {
        Term::of(if factor == 0 { Vec::new() } else { vec![(product, factor)] })
    }

    fn of(products: Vec<(Vec<Atom>, i64)>) -> Term {
        Term { products, written: None }
    }

    /// The number, if it is one.
    pub(super) fn as_constant(&self) -> Option<i64> {
        match self.products.as_slice() {
            [] => Some(0),
            [(product, factor)] if product.is_empty() => Some(*factor),
            _ => None,
        }
    }

    /// The atom, if it is nothing else.
    pub(super) fn as_atom(&self) -> Option<Atom> {
        match self.products.as_slice() {
            [(product, 1)] => match product.as_slice() {
                [atom] => Some(*atom),
                _ => None,
            },
            _ => None,
        }
    }

    /// The size to be found, if it is nothing else.
    pub(super) fn as_meta(&self) -> Option<u32> {
        match self.as_atom() {
            Some(Atom::Meta(m)) => Some(m),
            _ => None,
        }
    }

    /// The products with their factors.
    pub(super) fn products(&self) -> &[(Vec<Atom>, i64)] {
        &self.products
    }

    /// The atoms, with repetitions.
    pub(super) fn atoms(&self) -> impl Iterator<Item = Atom> {
        self.products.iter().flat_map(|(product, _)| product.iter().copied())
    }

    pub(super) fn plus(&self, other: &Term) -> Option<Term> {
        let (mut a, mut b) = (self.products.iter().peekable(), other.products.iter().peekable());
        let mut sum = Vec::with_capacity(self.products.len() + other.products.len());
        loop {
            let next = match (a.peek(), b.peek()) {
                (Some(x), Some(y)) if x.0 == y.0 => {
                    let (product, factor) = (x.0.clone(), x.1.checked_add(y.1)?);
                    a.next();
                    b.next();
                    (product, factor)
                }
                (Some(x), Some(y)) if x.0 < y.0 => a.next()?.clone(),
                (_, Some(_)) => b.next()?.clone(),
                (Some(_), None) => a.next()?.clone(),
                (None, None) => break,
            };
            if next.1 != 0 {
                sum.push(next);
            }
        }
        (sum.len() <= MAX_PRODUCTS).then(|| Term::of(sum))
    }

    pub(super) fn scaled(&self, by: i64) -> Option<Term> {
        let scaled =
            self.products.iter().map(|(product, factor)| Some((product.clone(), factor.checked_mul(by)?)));
        Some(if by == 0 { Term::default() } else { Term::of(scaled.collect::<Option<_>>()?) })
    }

    pub(super) fn minus(&self, other: &Term) -> Option<Term> {
        self.plus(&other.scaled(-1)?)
    }

    pub(super) fn times(&self, other: &Term) -> Option<Term> {
        let mut result = Term::default();
        for (product, factor) in &self.products {
            let mut rows = Vec::new();
            for (more, by) in &other.products {
                let mut atoms = [product.as_slice(), more].concat();
                if atoms.len() > MAX_FACTORS {
                    return None;
                }
                atoms.sort();
                rows.push((atoms, factor.checked_mul(*by)?));
            }
            rows.sort();
            result = result.plus(&Term::of(rows))?;
        }
        Some(result)
    }

    /// The quotient by a single product, if there is no remainder.
    pub(super) fn divided(&self, by: &Term) -> Option<Term> {
        let [(other, divisor)] = by.products.as_slice() else { return None };
        let mut parts = Vec::with_capacity(self.products.len());
        for (product, factor) in &self.products {
            let mut rest = product.clone();
            for atom in other {
                rest.remove(rest.iter().position(|a| a == atom)?);
            }
            if factor.checked_rem(*divisor)? != 0 {
                return None;
            }
            parts.push((rest, factor / divisor));
        }
        parts.sort();
        Some(Term::of(parts))
    }

    /// With terms in place of atoms; nothing if one is unknown.
    pub(super) fn replaced(&self, with: &mut dyn FnMut(Atom) -> Option<Term>) -> Option<Term> {
        let mut result = Term::default();
        for (product, factor) in &self.products {
            let mut one = Term::constant(*factor);
            for atom in product {
                one = one.times(&with(*atom)?)?;
            }
            result = result.plus(&one)?;
        }
        if let Some(written) = &self.written {
            let [a, b] = &written.parts;
            result = result.spelled(written.is_sum, a.replaced(with)?, b.replaced(with)?);
        }
        Some(result)
    }

    /// The same, written as a sum or product of two.
    pub(super) fn spelled(self, is_sum: bool, a: Term, b: Term) -> Term {
        Term { written: Some(Rc::new(Written { is_sum, parts: [a, b] })), ..self }
    }

    /// Sum or product as which it is written, if it is one.
    pub(super) fn written(&self) -> Option<&Written> {
        self.written.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(i: u32) -> Term {
        Term::atom(Atom::Local(LocalId(i)))
    }

    #[test]
    fn arithmetic() {
        let one = Term::constant(1);
        let sum = n(0).plus(&n(1)).unwrap();
        assert_eq!(sum.minus(&n(0)), Some(n(1)));
        assert_eq!(n(0).plus(&one).unwrap().minus(&one), Some(n(0)));
        assert_eq!(n(0).minus(&n(0)).unwrap().as_constant(), Some(0));
        let square = sum.times(&sum).unwrap();
        let expanded = n(0).times(&n(0)).unwrap().plus(&n(1).times(&n(1)).unwrap()).unwrap();
        let mixed = n(1).times(&n(0)).unwrap().scaled(2).unwrap();
        assert_eq!(square, expanded.plus(&mixed).unwrap());
        assert_eq!(square.divided(&n(0)), None);
        assert_eq!(n(0).times(&n(1)).unwrap().divided(&n(0)), Some(n(1)));
        assert_eq!(n(0).divided(&n(1)), None);
        assert_eq!(Term::constant(i64::MAX).plus(&one), None);
    }
}
