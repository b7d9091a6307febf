//! Index analysis of kernels: integers as polynomials over indices, their bounds, and how arrays are read.
//!
//! ```text
//! map over rows n [m] \row pos
//!     prologue s = mul row m                       i0*m
//!     { j = sub pos s                              i1            0 <= i1 <= m - 1
//!       k = min (add j 1) (sub m 1)                k             0 <= k <= m - 1
//!       x = xs[pos]                                strides m and 1
//!       y = xs[j]                                  strides 0 and 1
//!       loop for l < p { z = zs[l*m + j]           strides 0 and 1, and m for each iteration
//! ```
//!
//! A value is a [`Form`]: a polynomial over the indices of the space's dimensions ([`Symbol::Index`]), host scalars, counters of
//! loops and *opaque* variables: elements that are read, results of other operators. Where positions or row numbers are divided by
//! host scalars, the space has that many dimensions more ([`Access::divided`]), so quotients and remainders are indices.
//!
//! **Availability.** [`Access::needs`] is all that a form depends on, [`Access::level`] the innermost place at which something of
//! that is bound: what is wanted before a loop must not need anything inside.
//!
//! **Overflow.** Sums, differences and products wrap, in forms as in the program, so they are equal always. A quotient is simplified only
//! where the dividend is part of a position: positions are numbers of elements, so they fit. Bounds are those of the polynomial over
//! integers; they are the value's where sizes and products of sizes that address arrays fit in an `i64`. Who cannot assume this has to
//! check on the host, with the bounds of all that is computed on the way.

mod axes;
mod division;
mod emit;
mod eval;
mod facts;
mod form;
mod interval;
mod range;

pub use axes::{Axes, Extent};
pub use emit::Emit;
pub use facts::Facts;
pub use form::{Form, Symbol};
pub use interval::Interval;
pub use range::Range;

use crate::core::Body;
use crate::flat::Kernel;
use crate::hash::HashMap;
use crate::prim::PrimOp;
use crate::ty::{Atom, Var};
use par_runtime::Scalar;
use std::collections::BTreeSet;

/// A scalar.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of this value.
    Known(Scalar),
    /// An `i64` that is this polynomial; of another type, a symbol.
    Form(Form),
}

/// The place at which a variable is bound, from outside in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// Before the kernel.
    Outside,
    /// Once in a row.
    Row,
    /// At every position.
    Position,
    /// In so many branches and loops.
    Inside(usize),
}

/// Definition of an opaque variable.
#[derive(Clone, Debug, PartialEq)]
enum Origin {
    /// A counter below this.
    Counter(Form),
    /// An element.
    Read(Read),
    /// An operator.
    Prim(PrimOp, Vec<Value>),
    /// By anything else, or in a loop.
    Other,
}

/// An element of an array that a kernel reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// The array.
    pub array: Var,
    /// The element's index.
    pub index: Form,
    /// Forms that are not negative there, because of the branches around it and the checks before it.
    pub guards: Vec<Form>,
}

#[derive(Clone, Debug)]
struct Bound {
    origin: Origin,
    level: Level,
    /// Number of variables bound before it.
    order: usize,
    /// The symbols that it is computed from.
    from: BTreeSet<Symbol>,
    /// The indices that it depends on.
    varies: Dimensions,
}

/// A set of dimensions, a bit for each.
type Dimensions = u64;

/// The analysis of a kernel's integers.
#[derive(Clone, Debug)]
pub struct Access<'f> {
    axes: Axes,
    facts: &'f Facts,
    values: HashMap<Var, Value>,
    bound: HashMap<Var, Bound>,
    intervals: HashMap<Var, Interval>,
    /// The reads of elements, in order, with what they bind.
    reads: Vec<(Var, Read)>,
    /// Variables whose value is assumed.
    fixed: HashMap<Var, Scalar>,
    /// Forms that are not negative where the evaluation stands.
    guards: Vec<Form>,
    level: Level,
    /// A dimension by which part a division would be an index.
    wanted: Option<(usize, Form)>,
}

/// Dimensions that divisions may make.
const DIMENSIONS: usize = 6;

impl<'f> Access<'f> {
    /// Of a kernel's code: dimensions are those of its space.
    pub fn of(kernel: &Kernel, facts: &'f Facts) -> Access<'f> {
        Access::assuming(kernel, facts, HashMap::default())
    }

    /// As [`Access::of`], if these variables have these values.
    pub fn assuming(kernel: &Kernel, facts: &'f Facts, fixed: HashMap<Var, Scalar>) -> Access<'f> {
        let mut access = Access::over(Axes::of(&kernel.space, facts), facts);
        access.fixed = fixed;
        access.kernel(kernel);
        access
    }

    /// As [`Access::of`], with a dimension for each host scalar that indices are divided by.
    pub fn divided(kernel: &Kernel, facts: &'f Facts) -> Access<'f> {
        let mut axes = Axes::of(&kernel.space, facts);
        loop {
            let mut access = Access::within(axes.clone(), kernel, facts);
            match access.wanted.take() {
                Some((dim, by)) if axes.count() < DIMENSIONS => axes.divide(dim, by),
                _ => return access,
            }
        }
    }

    /// As [`Access::of`], where the positions of the kernel's space are numbered over these dimensions.
    pub fn within(axes: Axes, kernel: &Kernel, facts: &'f Facts) -> Access<'f> {
        let mut access = Access::over(axes, facts);
        access.kernel(kernel);
        access
    }

    /// Of code at the indices of a single dimension; all that it does not bind is the same at each of them.
    pub fn along(index: Var, body: &Body, facts: &'f Facts) -> Access<'f> {
        let mut access = Access::over(Axes::new(vec![Extent::Any], 0), facts);
        access.level = Level::Position;
        access.number(index, access.axes.index(0));
        access.body(body);
        access
    }

    fn over(axes: Axes, facts: &'f Facts) -> Access<'f> {
        Access {
            axes,
            facts,
            values: HashMap::default(),
            bound: HashMap::default(),
            intervals: HashMap::default(),
            reads: Vec::new(),
            fixed: HashMap::default(),
            guards: Vec::new(),
            level: Level::Outside,
            wanted: None,
        }
    }

    /// The space's dimensions.
    pub fn axes(&self) -> &Axes {
        &self.axes
    }

    /// The value of an operand.
    pub fn value(&self, a: Atom) -> Value {
        match a {
            Atom::Const(c) => Value::Known(c),
            Atom::Var(v) => self.values.get(&v).cloned().unwrap_or_else(|| match self.fixed.get(&v) {
                Some(c) => Value::Known(*c),
                None => Value::Form(self.facts.form(a)),
            }),
        }
    }

    /// An operand as a form; none if it is a constant that is no `i64`.
    pub fn form(&self, a: Atom) -> Option<Form> {
        match self.value(a) {
            Value::Known(Scalar::I64(n)) => Some(n.into()),
            Value::Known(_) => None,
            Value::Form(f) => Some(f),
        }
    }

    /// The variable that an operand is a copy of, if it is opaque.
    pub fn opaque(&self, a: Atom) -> Option<Var> {
        match self.form(a)?.as_symbol()? {
            Symbol::Var(v) => Some(v),
            _ => None,
        }
    }

    /// The element that an opaque variable is.
    pub fn read(&self, v: Var) -> Option<&Read> {
        match &self.bound.get(&v)?.origin {
            Origin::Read(read) => Some(read),
            _ => None,
        }
    }

    /// The operator that an opaque variable results from, and its operands.
    pub fn operator(&self, v: Var) -> Option<(PrimOp, &[Value])> {
        match &self.bound.get(&v)?.origin {
            Origin::Prim(op, xs) => Some((*op, xs)),
            _ => None,
        }
    }

    /// All elements that are read, in the order of the code.
    pub fn reads(&self) -> impl Iterator<Item = &Read> {
        self.reads.iter().map(|(_, read)| read)
    }

    /// True if a symbol is a host scalar.
    pub fn is_outside(&self, s: Symbol) -> bool {
        matches!(s, Symbol::Var(v) if !self.bound.contains_key(&v))
    }

    /// True if a form has host scalars in it only.
    pub fn is_host(&self, f: &Form) -> bool {
        f.symbols().into_iter().all(|s| self.is_outside(s))
    }

    /// All symbols that a form depends on. Takes time in proportion to them and to what each of them is computed from.
    pub fn needs(&self, f: &Form) -> BTreeSet<Symbol> {
        let mut needs = f.symbols();
        let mut open: Vec<Symbol> = needs.iter().copied().collect();
        while let Some(s) = open.pop() {
            let bound = if let Symbol::Var(v) = s { self.bound.get(&v) } else { None };
            let rows = if s == Symbol::Start { self.axes.rows() } else { 0 };
            let from = bound.into_iter().flat_map(|b| b.from.iter().copied());
            open.extend(from.chain((0..rows).map(Symbol::Index)).filter(|s| needs.insert(*s)));
        }
        needs
    }

    /// True if a form depends on the index of a dimension.
    pub fn varies(&self, f: &Form, dim: usize) -> bool {
        self.varies_with(&f.symbols()) & 1 << dim != 0
    }

    /// The dimensions on whose indices one of the symbols depends.
    fn varies_with(&self, symbols: &BTreeSet<Symbol>) -> Dimensions {
        let one = |s: &Symbol| match s {
            Symbol::Index(d) => 1 << d,
            Symbol::Start => (1 << self.axes.rows()) - 1,
            Symbol::Var(v) => self.bound.get(v).map_or(0, |b| b.varies),
        };
        symbols.iter().map(one).fold(0, |any, one| any | one)
    }

    /// The innermost place at which something is bound that a form depends on. Operators can be computed elsewhere, elements,
    /// counters and the state of loops cannot.
    pub fn level(&self, f: &Form) -> Level {
        let level = |s: Symbol| match s {
            Symbol::Index(d) if d >= self.axes.rows() => Level::Position,
            Symbol::Index(_) | Symbol::Start => Level::Row,
            Symbol::Var(v) => match self.bound.get(&v) {
                Some(Bound { origin: Origin::Prim(..), .. }) | None => Level::Outside,
                Some(bound) => bound.level,
            },
        };
        self.needs(f).into_iter().map(level).max().unwrap_or(Level::Outside)
    }

    /// Growth of a form with a symbol: 0 if it does not depend on it, a host form if it is linear in it. `None`: unknown.
    pub fn growth(&self, f: &Form, s: Symbol) -> Option<Form> {
        let (growth, rest) = f.split(s)?;
        (self.is_host(&growth) && !self.needs(&rest).contains(&s)).then_some(growth)
    }

    /// The interval of an integer, by the operators that gave it.
    pub fn interval(&self, a: Atom) -> Option<Interval> {
        match a {
            Atom::Const(c) => Interval::of_constant(c),
            Atom::Var(v) => self.intervals.get(&v).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flat::Op;
    use crate::parse::parse_flat;

    /// Symbols that are kept for a chain of `n` values, each of which depends on all before it.
    fn kept(n: usize) -> usize {
        let link = |i: usize| format!("let (v_{}: i64) = min.i64(v_{}, pos_4)\n", i + 10, i + 9);
        let chain: String = (1..=n).map(link).collect();
        let text = format!(
            "fun f@0 (n_1: i64) -> ([]i64)
             {{
               let (ys_2: []i64) = kernel map (elem i64) over [n_1] \\row_3 pos_4 {{
                 let (v_10: i64) = min.i64(pos_4, 7i64)
                 {chain}
                 in (v_{})
               }}
               in (ys_2)
             }}",
            n + 10
        );
        let program = parse_flat(&text).unwrap_or_else(|e| panic!("{e}"));
        let Op::Kernel(kernel) = &program.funs[0].body.stms[0].op else { panic!("a kernel") };
        let facts = Facts::default();
        let access = Access::of(kernel, &facts);
        let last = access.form(kernel.body.results[0]).expect("an integer");
        assert_eq!(access.needs(&last).len(), n + 2, "all values and the position");
        assert!(access.varies(&last, 0));
        access.bound.values().map(|b| b.from.len()).sum()
    }

    #[test]
    fn a_chain_keeps_what_each_value_is_computed_from_only() {
        assert_eq!(kept(400) - kept(300), kept(200) - kept(100));
    }
}
