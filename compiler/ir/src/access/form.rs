//! Polynomials over what the integers of a kernel are made of.

use crate::tuning;
use crate::ty::Var;
use std::collections::{BTreeMap, BTreeSet};

/// An unknown of a polynomial.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Symbol {
    /// The index inside a dimension of the kernel's space, outermost first.
    Index(usize),
    /// The position at which the row of a ragged space begins.
    Start,
    /// A variable: a host scalar, the counter of a loop, an element that was read, any result that is no polynomial.
    Var(Var),
}

/// A sum of products of symbols with constant factors, in the arithmetic of `i64`, which wraps: so sums, differences and products of
/// what variables hold are exactly what the program computes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Form(BTreeMap<Vec<Symbol>, i64>);

impl From<Symbol> for Form {
    fn from(s: Symbol) -> Form {
        Form([(vec![s], 1)].into())
    }
}

impl From<i64> for Form {
    fn from(n: i64) -> Form {
        Form::default().with(vec![], n)
    }
}

impl Form {
    /// The products, each with its factor, which is not 0.
    pub fn terms(&self) -> impl Iterator<Item = (&[Symbol], i64)> {
        self.0.iter().map(|(term, n)| (&term[..], *n))
    }

    /// True if it is 0.
    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// Its value, if there are no symbols in it.
    pub fn as_constant(&self) -> Option<i64> {
        match self.0.iter().next() {
            None => Some(0),
            Some((term, n)) if term.is_empty() && self.0.len() == 1 => Some(*n),
            _ => None,
        }
    }

    /// The symbol, if it is nothing else.
    pub fn as_symbol(&self) -> Option<Symbol> {
        match self.0.iter().next() {
            Some((term, 1)) if term.len() == 1 && self.0.len() == 1 => Some(term[0]),
            _ => None,
        }
    }

    /// All symbols in it.
    pub fn symbols(&self) -> BTreeSet<Symbol> {
        self.0.keys().flatten().copied().collect()
    }

    fn with(mut self, term: Vec<Symbol>, n: i64) -> Form {
        let sum = self.0.get(&term).copied().unwrap_or(0).wrapping_add(n);
        match sum {
            0 => self.0.remove(&term),
            _ => self.0.insert(term, sum),
        };
        self
    }

    /// Sum.
    pub fn plus(&self, other: &Form) -> Form {
        other.0.iter().fold(self.clone(), |sum, (term, n)| sum.with(term.clone(), *n))
    }

    /// Difference.
    pub fn minus(&self, other: &Form) -> Form {
        self.plus(&other.scaled(-1))
    }

    /// Product with a constant.
    pub fn scaled(&self, by: i64) -> Form {
        self.0.iter().fold(Form::default(), |sum, (term, n)| sum.with(term.clone(), n.wrapping_mul(by)))
    }

    /// Product; none if that is too long.
    pub fn times(&self, other: &Form) -> Option<Form> {
        let mut product = Form::default();
        for (a, n) in &self.0 {
            for (b, m) in &other.0 {
                let mut term = [&a[..], &b[..]].concat();
                term.sort_unstable();
                product = product.with(term, n.wrapping_mul(*m));
            }
        }
        product.if_short()
    }

    /// Itself, unless it is too long.
    pub fn if_short(self) -> Option<Form> {
        (self.0.len() <= tuning::FORM_TERMS).then_some(self)
    }

    /// Growth of the form with these growths of its symbols. `None`: the growth of a symbol is unknown, a factor of a product grows, or the growth overflows.
    pub fn growth(&self, of: impl Fn(Symbol) -> Option<i64>) -> Option<i64> {
        let mut sum = 0i64;
        for (term, n) in &self.0 {
            let factors = term.iter().map(|s| of(*s)).collect::<Option<Vec<i64>>>()?;
            match factors[..] {
                [growth] => sum = sum.checked_add(n.checked_mul(growth)?)?,
                _ if factors.iter().any(|growth| *growth != 0) => return None,
                _ => {}
            }
        }
        Some(sum)
    }

    /// Its constant term.
    pub fn constant(&self) -> i64 {
        self.0.get(&vec![]).copied().unwrap_or(0)
    }

    /// The factor of a symbol, and the rest without it; none if the symbol is multiplied by itself.
    pub fn split(&self, s: Symbol) -> Option<(Form, Form)> {
        let (mut factor, mut rest) = (Form::default(), Form::default());
        for (term, n) in &self.0 {
            match term.iter().filter(|x| **x == s).count() {
                0 => rest = rest.with(term.clone(), *n),
                1 => factor = factor.with(term.iter().copied().filter(|x| *x != s).collect(), *n),
                _ => return None,
            }
        }
        Some((factor, rest))
    }

    /// Quotient and rest of a division term by term: by a product of symbols and a constant.
    pub fn divided(&self, by: &Form) -> Option<(Form, Form)> {
        let (divisor, m) = by.terms().next().filter(|_| by.0.len() == 1)?;
        let (mut quotient, mut rest) = (Form::default(), Form::default());
        for (term, n) in &self.0 {
            match without(term, divisor).filter(|_| n.checked_rem(m) == Some(0)) {
                Some(left) => quotient = quotient.with(left, n.checked_div(m)?),
                None => rest = rest.with(term.clone(), *n),
            }
        }
        Some((quotient, rest))
    }
}

/// A product without some of its factors, if it has them.
fn without(term: &[Symbol], factors: &[Symbol]) -> Option<Vec<Symbol>> {
    let mut left = term.to_vec();
    for factor in factors {
        left.remove(left.iter().position(|s| s == factor)?);
    }
    Some(left)
}
