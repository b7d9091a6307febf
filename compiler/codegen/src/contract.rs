//! Finds kernels that are contractions, products of matrices and what has their shape, or transpositions.
//!
//! ```text
//! reduce add over rows n*p [m]                     columns p, depth m
//!     i = quot row p;  j = row - i*p               left  xs: i*m + k
//!     mul xs[i*m + k] ys[j*m + k]          ==>     right ys: j*m + k
//!
//! map over rows n [p]
//!     loop acc = 0 for k < m: acc + xs[i*m + k] * ys[k*p + j]
//!
//! map over rows p [m]                              a transposition: column p, row 1
//!     ys[k*p + j]
//! ```
//!
//! Results may have more dimensions: all but the last two number products of a batch. Dimensions are those of the space, or those that
//! divisions of positions and row numbers make of it.
//!
//! Indices are polynomials over the row, the column, `k` and the kernel's captured scalars. The kernel's code is made all the same:
//! for sizes that are too small, and by the executor's choice.

use par_ir::access::{Access, Extent, Facts, Form, Symbol, Value};
use par_ir::core::{Exp, LoopForm, Stm};
use par_ir::flat::{Kernel, KernelKind, Out};
use par_ir::prim::{BinOp, PrimOp, UnOp};
use par_ir::ty::{Atom, Dim};
use par_ir::{Prim, Var};
use par_runtime::plan::{Combine, Contraction, Factor, Pair, Sum};

/// The contraction that a kernel is.
pub fn find(kernel: &Kernel, captures: &[Var]) -> Option<Contraction> {
    match &kernel.kind {
        KernelKind::Reduce { op, neutral } if neutral.len() == 1 && op.body.stms.len() == 1 => {
            let facts = Facts::default();
            let access = Access::divided(kernel, &facts);
            let finder = Finder { results: access.axes().rows(), access, captures };
            let (x, y) = (op.params[0].var, op.params[1].var);
            let combine = finder.combining(&op.body.stms[0], x, y.into(), &op.body.results)?;
            finder.of_reduction(kernel, combine)
        }
        KernelKind::Map(outs) => match outs.as_slice() {
            [Out::Elem(prim)] if ends_in_loop(&kernel.body.stms) => {
                let facts = Facts::default();
                let access = Access::divided(kernel, &facts);
                Finder { results: access.axes().count(), access, captures }.of_map(kernel, *prim)
            }
            _ => None,
        },
        _ => None,
    }
}

fn ends_in_loop(stms: &[Stm]) -> bool {
    stms.last().is_some_and(|s| matches!(s.exp, Exp::Loop { .. }))
}

/// Source array of a kernel that only copies elements and reads with stride 1 from row to row, as a transposition does. `None`: the kernel is another one.
pub fn transposition(kernel: &Kernel, captures: &[Var]) -> Option<Factor> {
    let KernelKind::Map(outs) = &kernel.kind else { return None };
    let ([Out::Elem(_)], Some((_, Dim::Size(_)))) = (outs.as_slice(), kernel.space.as_rows()) else {
        return None;
    };
    let facts = Facts::default();
    let finder = Finder { access: Access::of(kernel, &facts), results: 2, captures };
    let [result] = kernel.body.results.as_slice() else { return None };
    let is_plain = is_plain(&kernel.prologue) && is_plain(&kernel.body.stms);
    let from = finder.factor(finder.access.opaque(*result)?, None).filter(|_| is_plain)?;
    (from.row == Sum(vec![(1, vec![])])).then_some(from)
}

/// True if statements do nothing but read and compute, which cannot fail.
fn is_plain(stms: &[Stm]) -> bool {
    let plain = |s: &Stm| s.pat.len() == 1 && matches!(s.exp, Exp::Atom(_) | Exp::Index(..) | Exp::Prim(..));
    stms.iter().all(plain)
}

fn operator(op: BinOp) -> Option<Combine> {
    Some(match op {
        BinOp::Add => Combine::Add,
        BinOp::Mul => Combine::Mul,
        BinOp::Min => Combine::Min,
        BinOp::Max => Combine::Max,
        _ => return None,
    })
}

/// A kernel with the dimensions of its results first: batches, rows, columns.
struct Finder<'k> {
    access: Access<'k>,
    /// Number of dimensions of the results.
    results: usize,
    captures: &'k [Var],
}

impl Finder<'_> {
    /// The operator of a statement that combines `x` with `y` into the only result.
    fn combining(&self, stm: &Stm, x: Var, y: Atom, results: &[Atom]) -> Option<(Combine, Prim)> {
        let Exp::Prim(PrimOp::Bin(op, prim), xs) = &stm.exp else { return None };
        let xs: Vec<Atom> = xs.iter().map(|a| self.original(*a)).collect();
        let (a, b) = (Atom::Var(x), y);
        // Which zero a minimum gives depends on the order.
        let ordered = matches!(op, BinOp::Min | BinOp::Max) && prim.is_float();
        let fits = xs[..] == [a, b] || !ordered && xs[..] == [b, a];
        (fits && results == [Atom::Var(stm.pat[0].var)]).then_some((operator(*op)?, *prim))
    }

    /// The variable that an operand is a copy of.
    fn original(&self, a: Atom) -> Atom {
        self.access.opaque(a).map_or(a, Atom::Var)
    }

    fn of_reduction(&self, kernel: &Kernel, combine: (Combine, Prim)) -> Option<Contraction> {
        let axes = self.access.axes();
        let Extent::Size(depth) = axes.extents().last()? else { return None };
        if self.results < 2 || axes.count() != self.results + 1 {
            return None;
        }
        let [result] = kernel.body.results.as_slice() else { return None };
        let is_plain = is_plain(&kernel.prologue) && is_plain(&kernel.body.stms);
        self.contraction(*result, combine, (depth, Symbol::Index(self.results)), None, true)
            .filter(|_| is_plain)
    }

    fn of_map(&self, kernel: &Kernel, prim: Prim) -> Option<Contraction> {
        let (_, Dim::Size(_)) = kernel.space.as_rows()? else { return None };
        let (last, before) = kernel.body.stms.split_last()?;
        let Exp::Loop { params, form: LoopForm::For { index, prim: Prim::I64, bound }, body } = &last.exp
        else {
            return None;
        };
        let ([(acc, initial)], [p]) = (params.as_slice(), last.pat.as_slice()) else { return None };
        let (combine, inner) = body.stms.split_last()?;
        let is_plain = [&kernel.prologue, before, inner].into_iter().all(is_plain);
        if kernel.body.results != [Atom::Var(p.var)] || !is_plain {
            return None;
        }
        let Exp::Prim(_, xs) = &combine.exp else { return None };
        let element = xs.iter().map(|x| self.original(*x)).find(|x| *x != Atom::Var(acc.var))?;
        let combine = self.combining(combine, acc.var, element, &body.results)?;
        let initial = self.access.read(self.access.opaque(*initial)?)?;
        if combine.1 != prim || Some(&initial.index) != self.access.axes().position().as_ref() {
            return None;
        }
        let depth = (&self.access.form(*bound)?, Symbol::Var(*index));
        self.contraction(element, combine, depth, Some(self.capture(initial.array)?), false)
    }

    fn contraction(
        &self,
        result: Atom,
        (combine, prim): (Combine, Prim),
        (depth, k): (&Form, Symbol),
        initial: Option<usize>,
        by_row: bool,
    ) -> Option<Contraction> {
        let (pair, of, x, y) = self.pair(result)?;
        if of != prim || !is_supported(combine, pair, prim) {
            return None;
        }
        let (a, b) = (self.factor(x, Some(k))?, self.factor(y, Some(k))?);
        let (left, right) = if fits(&a, &b) {
            (a, b)
        } else if fits(&b, &a) {
            (b, a)
        } else {
            return None;
        };
        let size = |e: &Extent| if let Extent::Size(n) = e { self.sum(n) } else { None };
        let inner = self.access.axes().extents().take(self.results).skip(1).map(size);
        let (inner, depth) = (inner.collect::<Option<_>>()?, self.sum(depth)?);
        Some(Contraction { by_row, inner, depth, prim, combine, pair, left, right, initial })
    }

    /// The function of two elements that an operand is.
    fn pair(&self, a: Atom) -> Option<(Pair, Prim, Var, Var)> {
        let form = self.access.form(a)?;
        let var = |s: &Symbol| if let Symbol::Var(v) = s { Some(*v) } else { None };
        let terms: Vec<(&[Symbol], i64)> = form.terms().collect();
        match terms[..] {
            [([x, y], 1)] => Some((Pair::Product, Prim::I64, var(x)?, var(y)?)),
            [([x], 1), ([y], 1)] => Some((Pair::Sum, Prim::I64, var(x)?, var(y)?)),
            _ => self.pair_of_others(self.access.opaque(a)?),
        }
    }

    /// The same of numbers that are no form.
    fn pair_of_others(&self, v: Var) -> Option<(Pair, Prim, Var, Var)> {
        let var = |x: &Value| match x {
            Value::Form(x) => match x.as_symbol()? {
                Symbol::Var(v) => Some(v),
                _ => None,
            },
            _ => None,
        };
        let (op, xs) = self.access.operator(v)?;
        let all: Vec<Var> = xs.iter().map(var).collect::<Option<_>>()?;
        let difference = |d: Var, pair: Pair| match self.access.operator(d)? {
            (PrimOp::Bin(BinOp::Sub, p), [x, y]) if p.is_float() => Some((pair, p, var(x)?, var(y)?)),
            _ => None,
        };
        match (op, &all[..]) {
            (PrimOp::Bin(BinOp::Mul, p), [x, y]) if p.is_float() && x == y => difference(*x, Pair::Square),
            (PrimOp::Un(UnOp::Abs, p), [x]) if p.is_float() => difference(*x, Pair::Distance),
            (PrimOp::Bin(BinOp::Mul, p), [x, y]) => Some((Pair::Product, p, *x, *y)),
            (PrimOp::Bin(BinOp::Add, p), [x, y]) => Some((Pair::Sum, p, *x, *y)),
            _ => None,
        }
    }

    /// An element: how its index grows with batch, row, column and `k`.
    fn factor(&self, v: Var, k: Option<Symbol>) -> Option<Factor> {
        let read = self.access.read(v)?;
        let mut rest = read.index.clone();
        let mut growth = |s: Symbol| {
            let (growth, without) = rest.split(s)?;
            rest = without;
            self.sum(&growth)
        };
        let mut batch: Vec<Sum> =
            (0..self.results).map(|d| growth(Symbol::Index(d))).collect::<Option<_>>()?;
        let depth = k.map_or_else(|| Some(Sum::default()), growth)?;
        let (column, row) = (batch.pop()?, batch.pop()?);
        Some(Factor { array: self.capture(read.array)?, first: self.sum(&rest)?, batch, row, column, depth })
    }

    fn capture(&self, v: Var) -> Option<usize> {
        self.captures.iter().position(|c| *c == v)
    }

    /// A polynomial of captures only.
    fn sum(&self, f: &Form) -> Option<Sum> {
        sum(f, self.captures)
    }
}

/// A polynomial as the executor computes it; none if there is more than captured numbers in it.
pub fn sum(f: &Form, captures: &[Var]) -> Option<Sum> {
    let number = |s: &Symbol| match s {
        Symbol::Var(v) => captures.iter().position(|c| c == v),
        _ => None,
    };
    let term = |(product, n): (&[Symbol], i64)| {
        Some((n, product.iter().map(number).collect::<Option<Vec<usize>>>()?))
    };
    Some(Sum(f.terms().map(term).collect::<Option<_>>()?))
}

/// True if the left side varies by row, the right one by column, and both by `k`.
fn fits(left: &Factor, right: &Factor) -> bool {
    let none = Sum::default();
    let both = left.depth != none && right.depth != none;
    both && left.column == none && right.row == none && left.row != none && right.column != none
}

/// The operators of the executor's contractions.
fn is_supported(combine: Combine, pair: Pair, prim: Prim) -> bool {
    use Combine::{Add, Max, Min};
    use Pair::{Distance, Product, Square, Sum};
    matches!(prim, Prim::F32 | Prim::F64 | Prim::I32 | Prim::I64)
        && matches!(
            (combine, pair),
            (Add, Product | Square | Distance) | (Min | Max, Sum | Product) | (Max, Distance)
        )
}
