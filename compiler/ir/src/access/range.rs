//! Bounds of polynomials.
//!
//! ```text
//! i0*m + i1               0 <= it <= n*m - 1        where i0 < n and i1 < m
//! min (i1 + 1) (m - 1)    0 <= it <= m - 1
//! ```
//!
//! Symbols are replaced by their bounds, those bound last first; which bound depends on the sign of their factor.

use super::{Access, Extent, Form, Origin, Symbol, Value};
use crate::prim::{BinOp, PrimOp};
use crate::ty::Atom;
use par_runtime::Prim;

/// Lower and upper bounds of a value, over host scalars; each of several forms is a bound.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct Range {
    pub least: Vec<Form>,
    pub most: Vec<Form>,
}

/// Symbols that are replaced one after the other.
const FUEL: usize = 12;
/// Bounds that are looked at together.
const MANY: usize = 4;

#[derive(Clone, Copy, PartialEq)]
enum End {
    Least,
    Most,
}

impl End {
    fn other(self) -> End {
        if self == End::Least { End::Most } else { End::Least }
    }
}

impl Access<'_> {
    /// The range of a form.
    pub fn range(&self, f: &Form) -> Range {
        let inner = |s: Symbol| !self.is_outside(s);
        let ends = |end| self.ends(f, end, &inner, FUEL);
        Range { least: ends(End::Least), most: ends(End::Most) }
    }

    /// True if a form is proved to be 0 or more.
    pub fn never_negative(&self, f: &Form) -> bool {
        self.is_never_negative(f, FUEL)
    }

    /// The same where these forms are not negative: one of them is enough.
    pub fn never_negative_where(&self, f: &Form, guards: &[Form]) -> bool {
        self.never_negative(f) || guards.iter().any(|g| self.never_negative(&f.minus(g)))
    }

    fn is_never_negative(&self, f: &Form, fuel: usize) -> bool {
        match f.as_constant() {
            Some(n) => n >= 0,
            None if fuel == 0 => false,
            None => self.ends(f, End::Least, &|_| true, fuel).iter().any(|e| e.as_constant() >= Some(0)),
        }
    }

    /// Bounds without the symbols that have to go.
    fn ends(&self, f: &Form, end: End, goes: &dyn Fn(Symbol) -> bool, fuel: usize) -> Vec<Form> {
        let Some(s) = f.symbols().into_iter().filter(|s| goes(*s)).max_by_key(|s| self.order(*s)) else {
            return vec![f.clone()];
        };
        let Some((factor, rest)) = f.split(s).filter(|_| fuel > 0) else { return vec![] };
        let end_of_symbol = if self.is_never_negative(&factor, fuel - 1) {
            end
        } else if self.is_never_negative(&factor.scaled(-1), fuel - 1) {
            end.other()
        } else {
            return vec![];
        };
        let bounds = self.bounds(s, end_of_symbol, fuel - 1).into_iter();
        let replaced = bounds.filter_map(|b| Some(rest.plus(&factor.times(&b)?)));
        replaced.flat_map(|g| self.ends(&g, end, goes, fuel - 1)).take(MANY).collect()
    }

    /// Symbols that are bound later go first: bounds of a symbol have earlier ones in them.
    fn order(&self, s: Symbol) -> (usize, usize) {
        match s {
            Symbol::Index(d) => (1, d),
            Symbol::Start => (1, 0),
            Symbol::Var(v) => self.bound.get(&v).map_or((0, 0), |b| (2, b.order)),
        }
    }

    fn bounds(&self, s: Symbol, end: End, fuel: usize) -> Vec<Form> {
        let below = |n: &Form| n.plus(&(-1).into());
        match (s, end) {
            (Symbol::Index(_) | Symbol::Start, End::Least) => vec![0.into()],
            (Symbol::Index(d), End::Most) => match self.axes.extent(d) {
                Extent::Size(n) | Extent::Part(n) => vec![below(n)],
                Extent::Seg(_) | Extent::Any => vec![],
            },
            (Symbol::Start, End::Most) => vec![],
            (Symbol::Var(_), End::Least) if self.is_outside(s) => self.least_of_host(s),
            (Symbol::Var(_), End::Most) if self.is_outside(s) => vec![],
            _ => match (self.counter(s), end) {
                (Some(_), End::Least) => vec![0.into()],
                (Some(bound), End::Most) => vec![below(bound)],
                _ => self.bounds_of_opaque(s, end, fuel),
            },
        }
    }

    /// The size of a dimension is 1 at least, since there is a position.
    fn least_of_host(&self, s: Symbol) -> Vec<Form> {
        let Symbol::Var(v) = s else { return vec![] };
        let is_in = |e: &Extent| matches!(e, Extent::Size(n) if n.terms().any(|(term, _)| term.contains(&s)));
        let is_size = |e: &Extent| matches!(e, Extent::Size(n) if n.as_symbol() == Some(s));
        if self.axes.extents().any(is_size) {
            return vec![1.into()];
        }
        let size = self.facts.is_size(Atom::Var(v));
        match (size, self.axes.extents().any(is_in)) {
            (true, true) => vec![1.into()],
            (true, false) => vec![0.into()],
            _ => vec![],
        }
    }

    fn bounds_of_opaque(&self, s: Symbol, end: End, fuel: usize) -> Vec<Form> {
        let Symbol::Var(v) = s else { return vec![] };
        let mut found = match self.bound.get(&v).map(|b| &b.origin) {
            Some(Origin::Prim(PrimOp::Bin(op, Prim::I64), xs)) if fuel > 0 => {
                match (form(&xs[0]), form(&xs[1])) {
                    (Some(x), Some(y)) => self.bounds_of_result(*op, (&x, &y), end, fuel),
                    _ => vec![],
                }
            }
            _ => vec![],
        };
        if let Some(interval) = self.intervals.get(&v).filter(|_| found.is_empty()) {
            let bound = if end == End::Least { interval.least } else { interval.most };
            let all = bound == i64::MIN.into() || bound >= i64::MAX.into();
            found.extend(i64::try_from(bound).ok().filter(|_| !all).map(Form::from));
        }
        found
    }

    fn bounds_of_result(&self, op: BinOp, (x, y): (&Form, &Form), end: End, fuel: usize) -> Vec<Form> {
        let never = |f: &Form| self.is_never_negative(f, fuel - 1);
        match (op, end) {
            (BinOp::Min, End::Most) | (BinOp::Max, End::Least) => vec![x.clone(), y.clone()],
            (BinOp::Min, End::Least) if never(x) && never(y) => vec![0.into()],
            (BinOp::Min, End::Least) | (BinOp::Max, End::Most) => {
                // Whichever is on this side of the other one is.
                let beyond =
                    |a: &Form, b: &Form| never(&if end == End::Most { a.minus(b) } else { b.minus(a) });
                let all = |f: &Form| self.ends(f, end, &|s| !self.is_outside(s), fuel - 1);
                let all: Vec<Form> = all(x).into_iter().chain(all(y)).collect();
                all.into_iter().filter(|e| beyond(e, x) && beyond(e, y)).collect()
            }
            (BinOp::Mod | BinOp::And, End::Least) if never(y) => vec![0.into()],
            (BinOp::Rem | BinOp::Quot | BinOp::Div, End::Least) if never(x) && never(y) => vec![0.into()],
            (BinOp::Mod, End::Most) if never(&y.plus(&(-1).into())) => vec![y.plus(&(-1).into())],
            (BinOp::Rem, End::Most) if never(&y.plus(&(-1).into())) => vec![y.plus(&(-1).into())],
            (BinOp::Quot | BinOp::Div, End::Most) if never(x) && never(y) => vec![x.clone()],
            (BinOp::And, End::Most) if never(y) => vec![y.clone()],
            _ => vec![],
        }
    }
}

fn form(x: &Value) -> Option<Form> {
    match x {
        Value::Known(c) => c.as_i64().map(Form::from),
        Value::Form(f) => Some(f.clone()),
    }
}
