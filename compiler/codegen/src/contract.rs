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
//! Indices are evaluated as polynomials over the row, the column, `k` and the kernel's captured scalars. The kernel's code is
//! made all the same: for sizes that are too small, and by the executor's choice.

use par_ir::core::{Body, Exp, LoopForm, Stm};
use par_ir::flat::{Kernel, KernelKind, Out};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::tuning;
use par_ir::ty::{Atom, Dim};
use par_ir::{Prim, Scalar, Var};
use par_runtime::plan::{Combine, Contraction, Factor, Sum};
use std::collections::{BTreeMap, HashMap};

/// What an index is made of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Symbol {
    Row,
    Column,
    Depth,
    Capture(usize),
}

/// A sum of products of symbols, with their factors.
type Poly = BTreeMap<Vec<Symbol>, i64>;

/// The contraction that a kernel is.
pub fn find(kernel: &Kernel, captures: &[Var]) -> Option<Contraction> {
    match &kernel.kind {
        KernelKind::Reduce { op, neutral } if neutral.len() == 1 && op.body.stms.len() == 1 => {
            let (x, y) = (op.params[0].var, op.params[1].var);
            let combine = combining(&op.body.stms[0], x, y, &op.body.results, &HashMap::new())?;
            of_reduction(kernel, captures, combine)
        }
        KernelKind::Map(outs) => match outs.as_slice() {
            [Out::Elem(prim)] => of_map(kernel, captures, *prim),
            _ => None,
        },
        _ => None,
    }
}

/// The operator of a statement that combines `x` with `y` into the only result.
fn combining(
    stm: &Stm,
    x: Var,
    y: Var,
    results: &[Atom],
    copies: &HashMap<Var, Var>,
) -> Option<(Combine, Prim)> {
    let Exp::Prim(PrimOp::Bin(op, prim), xs) = &stm.exp else { return None };
    let xs: Vec<Atom> = xs.iter().map(|a| original(a, copies)).collect();
    let (a, b) = (Atom::Var(x), Atom::Var(y));
    // Which zero a minimum gives depends on the order.
    let ordered = matches!(op, BinOp::Min | BinOp::Max) && prim.is_float();
    let fits = xs[..] == [a, b] || !ordered && xs[..] == [b, a];
    (fits && results == [Atom::Var(stm.pat[0].var)]).then_some((operator(*op)?, *prim))
}

/// The variable that a variable is a copy of.
fn original(a: &Atom, copies: &HashMap<Var, Var>) -> Atom {
    a.var().and_then(|v| copies.get(&v)).map_or(*a, |v| Atom::Var(*v))
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

fn of_reduction(kernel: &Kernel, captures: &[Var], combine: (Combine, Prim)) -> Option<Contraction> {
    let (_, Dim::Size(depth)) = kernel.space.as_rows()? else { return None };
    let mut scope = Scope::new(captures);
    let depth = scope.atom(&depth)?;
    let columns = kernel.prologue.iter().find_map(|s| quotient_of(s, kernel.row))?;
    let columns = scope.atom(&columns)?;
    let row = plus(&times(&one(Symbol::Row), &columns)?, &one(Symbol::Column));
    scope.values.insert(kernel.row, row.clone());
    scope.columns = Some(columns.clone());
    scope.values.insert(kernel.pos, plus(&times(&row, &depth)?, &one(Symbol::Depth)));
    scope.stms(&kernel.prologue);
    scope.stms(&kernel.body.stms);
    let [result] = kernel.body.results.as_slice() else { return None };
    scope.contraction(result, combine, columns, depth, None, true)
}

/// `p`, if a statement divides `row` by it.
fn quotient_of(stm: &Stm, row: Var) -> Option<Atom> {
    match &stm.exp {
        Exp::Prim(PrimOp::Bin(BinOp::Quot | BinOp::Div, Prim::I64), xs) if xs[0] == Atom::Var(row) => {
            Some(xs[1])
        }
        _ => None,
    }
}

fn of_map(kernel: &Kernel, captures: &[Var], prim: Prim) -> Option<Contraction> {
    let (_, Dim::Size(columns)) = kernel.space.as_rows()? else { return None };
    let mut scope = Scope::new(captures);
    let columns = scope.atom(&columns)?;
    scope.values.insert(kernel.row, one(Symbol::Row));
    let pos = plus(&times(&one(Symbol::Row), &columns)?, &one(Symbol::Column));
    scope.values.insert(kernel.pos, pos.clone());
    scope.stms(&kernel.prologue);
    let Body { stms, results } = &kernel.body;
    let (last, before) = stms.split_last()?;
    scope.stms(before);
    let Exp::Loop { params, form: LoopForm::For { index, prim: Prim::I64, bound }, body } = &last.exp else {
        return None;
    };
    let ([(acc, initial)], [p]) = (params.as_slice(), last.pat.as_slice()) else { return None };
    if results != &[Atom::Var(p.var)] {
        return None;
    }
    let depth = scope.atom(bound)?;
    scope.values.insert(*index, one(Symbol::Depth));
    let (combine, inner) = body.stms.split_last()?;
    scope.stms(inner);
    let Exp::Prim(_, xs) = &combine.exp else { return None };
    let element = xs.iter().map(|x| original(x, &scope.copies)).find(|x| *x != Atom::Var(acc.var))?;
    let combine = combining(combine, acc.var, element.var()?, &body.results, &scope.copies)?;
    let initial = scope.reads.get(&initial.var()?)?.clone();
    if combine.1 != prim || initial.1 != pos {
        return None;
    }
    scope.contraction(&element, combine, columns, depth, Some(initial.0), false)
}

/// Where the elements come from that a kernel only copies, row by row, if that is far apart.
pub fn transposition(kernel: &Kernel, captures: &[Var]) -> Option<Factor> {
    let KernelKind::Map(outs) = &kernel.kind else { return None };
    let ([Out::Elem(_)], Some((_, Dim::Size(columns)))) = (outs.as_slice(), kernel.space.as_rows()) else {
        return None;
    };
    let mut scope = Scope::new(captures);
    let columns = scope.atom(&columns)?;
    scope.values.insert(kernel.row, one(Symbol::Row));
    scope.values.insert(kernel.pos, plus(&times(&one(Symbol::Row), &columns)?, &one(Symbol::Column)));
    scope.stms(&kernel.prologue);
    scope.stms(&kernel.body.stms);
    let [Atom::Var(result)] = kernel.body.results.as_slice() else { return None };
    let from = scope.factor(*result).filter(|_| !scope.is_strange)?;
    (from.row == Sum(vec![(1, vec![])])).then_some(from)
}

/// What the variables of a kernel are.
struct Scope {
    captures: HashMap<Var, usize>,
    values: HashMap<Var, Poly>,
    /// Elements: the array's number and the index.
    reads: HashMap<Var, (usize, Poly)>,
    /// Functions of two elements.
    pairs: HashMap<Var, (Combine, Prim, Var, Var)>,
    /// Other names.
    copies: HashMap<Var, Var>,
    /// What the row's number is divided by.
    columns: Option<Poly>,
    /// Something else happens, which may fail.
    is_strange: bool,
}

impl Scope {
    fn new(captures: &[Var]) -> Scope {
        Scope {
            captures: captures.iter().enumerate().map(|(i, v)| (*v, i)).collect(),
            values: HashMap::new(),
            reads: HashMap::new(),
            pairs: HashMap::new(),
            copies: HashMap::new(),
            columns: None,
            is_strange: false,
        }
    }

    fn atom(&self, a: &Atom) -> Option<Poly> {
        match a {
            Atom::Const(Scalar::I64(x)) => Some([(vec![], *x)].into()),
            Atom::Const(_) => None,
            Atom::Var(v) => match self.values.get(v) {
                Some(x) => Some(x.clone()),
                None => Some(one(Symbol::Capture(*self.captures.get(v)?))),
            },
        }
    }

    fn stms(&mut self, stms: &[Stm]) {
        stms.iter().for_each(|s| self.stm(s));
    }

    fn stm(&mut self, stm: &Stm) {
        let [p] = stm.pat.as_slice() else {
            self.is_strange = true;
            return;
        };
        match &stm.exp {
            Exp::Atom(a) => self.copy(p.var, a),
            Exp::Index(arr, index) => {
                if let (Some(arr), Some(i)) = (self.captures.get(arr), self.atom(&index[0])) {
                    self.reads.insert(p.var, (*arr, i));
                }
            }
            Exp::Prim(PrimOp::Bin(op, Prim::I64), xs) if self.arithmetic(p.var, *op, xs).is_some() => {}
            Exp::Prim(PrimOp::Bin(op, prim), xs) => {
                if let (Some(op), Some(x), Some(y)) = (operator(*op), xs[0].var(), xs[1].var()) {
                    self.pairs.insert(p.var, (op, *prim, x, y));
                }
            }
            Exp::Prim(..) => {}
            _ => self.is_strange = true,
        }
    }

    fn copy(&mut self, v: Var, a: &Atom) {
        if let Some(x) = self.atom(a) {
            self.values.insert(v, x);
        }
        let Some(from) = a.var() else { return };
        self.copies.insert(v, *self.copies.get(&from).unwrap_or(&from));
        if let Some(read) = self.reads.get(&from).cloned() {
            self.reads.insert(v, read);
        }
        if let Some(pair) = self.pairs.get(&from).copied() {
            self.pairs.insert(v, pair);
        }
    }

    fn arithmetic(&mut self, v: Var, op: BinOp, xs: &[Atom]) -> Option<()> {
        let (x, y) = (self.atom(&xs[0])?, self.atom(&xs[1])?);
        let result = match op {
            BinOp::Add => plus(&x, &y),
            BinOp::Sub => plus(&x, &times(&y, &[(vec![], -1)].into())?),
            BinOp::Mul => times(&x, &y)?,
            BinOp::Quot | BinOp::Div | BinOp::Rem | BinOp::Mod => {
                let columns = self.columns.clone()?;
                let row = plus(&times(&one(Symbol::Row), &columns)?, &one(Symbol::Column));
                if y != columns || x != row {
                    return None;
                }
                one(if matches!(op, BinOp::Quot | BinOp::Div) { Symbol::Row } else { Symbol::Column })
            }
            _ => return None,
        };
        (result.len() <= tuning::CONTRACT_TERMS).then(|| self.values.insert(v, result))?;
        Some(())
    }

    fn contraction(
        &self,
        result: &Atom,
        (combine, prim): (Combine, Prim),
        columns: Poly,
        depth: Poly,
        initial: Option<usize>,
        by_row: bool,
    ) -> Option<Contraction> {
        let (pair, of, x, y) = *self.pairs.get(&result.var()?)?;
        if self.is_strange || of != prim || !is_supported(combine, pair, prim) {
            return None;
        }
        let (a, b) = (self.factor(x)?, self.factor(y)?);
        let (left, right) = if fits(&a, &b) {
            (a, b)
        } else if fits(&b, &a) {
            (b, a)
        } else {
            return None;
        };
        let (columns, depth) = (sum(&columns)?, sum(&depth)?);
        Some(Contraction { by_row, columns, depth, prim, combine, pair, left, right, initial })
    }

    fn factor(&self, v: Var) -> Option<Factor> {
        let (array, index) = self.reads.get(&v)?;
        let along = |s: Option<Symbol>| {
            let terms = index.iter().filter(|(term, _)| term.iter().find(|x| !is_capture(x)).copied() == s);
            let rest = |term: &[Symbol]| term.iter().copied().filter(|x| Some(*x) != s).collect::<Vec<_>>();
            // What is left has captures only, unless the index is not linear.
            sum(&terms.map(|(term, x)| (rest(term), *x)).collect())
        };
        Some(Factor {
            array: *array,
            first: along(None)?,
            row: along(Some(Symbol::Row))?,
            column: along(Some(Symbol::Column))?,
            depth: along(Some(Symbol::Depth))?,
        })
    }
}

/// Whether the left side varies by row, the right one by column, and both by `k`.
fn fits(left: &Factor, right: &Factor) -> bool {
    let none = Sum::default();
    let both = left.depth != none && right.depth != none;
    both && left.column == none && right.row == none && left.row != none && right.column != none
}

/// The operators of the executor's contractions.
fn is_supported(combine: Combine, pair: Combine, prim: Prim) -> bool {
    use Combine::{Add, Max, Min, Mul};
    matches!(prim, Prim::F32 | Prim::F64 | Prim::I32 | Prim::I64)
        && matches!((combine, pair), (Add, Mul) | (Min | Max, Add | Mul))
}

fn is_capture(s: &Symbol) -> bool {
    matches!(s, Symbol::Capture(_))
}

fn one(s: Symbol) -> Poly {
    [(vec![s], 1)].into()
}

fn plus(x: &Poly, y: &Poly) -> Poly {
    let mut sum = x.clone();
    for (term, n) in y {
        let total = sum.get(term).copied().unwrap_or(0).wrapping_add(*n);
        sum.insert(term.clone(), total);
    }
    sum.retain(|_, n| *n != 0);
    sum
}

fn times(x: &Poly, y: &Poly) -> Option<Poly> {
    let mut product = Poly::new();
    for (a, n) in x {
        for (b, m) in y {
            let mut term = [&a[..], &b[..]].concat();
            term.sort_unstable();
            product = plus(&product, &[(term, n.wrapping_mul(*m))].into());
        }
    }
    (product.len() <= tuning::CONTRACT_TERMS).then_some(product)
}

/// A polynomial of captures only.
fn sum(x: &Poly) -> Option<Sum> {
    let number = |s: &Symbol| match s {
        Symbol::Capture(i) => Some(*i),
        _ => None,
    };
    let term = |(term, x): (&Vec<Symbol>, &i64)| {
        Some((*x, term.iter().map(number).collect::<Option<Vec<usize>>>()?))
    };
    Some(Sum(x.iter().map(term).collect::<Option<_>>()?))
}
