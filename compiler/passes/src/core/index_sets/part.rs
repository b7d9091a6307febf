//! Restricted index sets: the map over rows and columns on one side of bounds, and the update of the array.

use par_ir::build::{Statements, take};
use par_ir::core::{At, Body, Exp, Lambda, Param, Stm};
use par_ir::effects::Effects;
use par_ir::hash::HashSet;
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Dim, Prim, Type, Var, Vars};

/// Indices on one side of a bound, or on both, which is the same for all rows.
#[derive(Clone, Copy)]
pub(super) struct Side {
    pub op: CmpOp,
    pub bound: Atom,
}

/// A map of which only a part of the index space has new elements.
#[derive(Clone)]
pub(super) struct Split {
    pub array: Var,
    /// Index parameters, by dimension of the array.
    pub at: Vec<Option<Var>>,
    /// Widths of the nested maps, by dimension.
    pub widths: Vec<Atom>,
    /// Sides with new elements, by dimension.
    pub sides: Vec<Option<Side>>,
    /// The body of the new rows.
    pub body: Body,
}

/// Range of indices.
#[derive(Clone, Copy)]
struct Edge {
    from: Atom,
    count: Atom,
}

impl Side {
    /// True if the bound itself is not on this side.
    pub fn is_strict(self) -> bool {
        matches!(self.op, CmpOp::Gt | CmpOp::Lt | CmpOp::Ne)
    }

    /// The indices of a dimension that are on this side. Bounds are clamped first, so that nothing wraps.
    fn edge(self, width: Atom, code: &mut Statements, vars: &mut Vars) -> Edge {
        if self.op == CmpOp::Eq {
            let from = code.arith("from", BinOp::Max, self.bound, Atom::i64(0), vars);
            let from = code.arith("from", BinOp::Min, from, width, vars);
            let is_it = code.compare("some", CmpOp::Eq, from, self.bound, vars);
            let left = code.arith("left", BinOp::Sub, width, from, vars);
            let one = code.arith("count", BinOp::Min, left, Atom::i64(1), vars);
            let count = code.prim("count", PrimOp::Select(Prim::I64), vec![is_it, one, Atom::i64(0)], vars);
            return Edge { from, count };
        }
        let is_behind = matches!(self.op, CmpOp::Gt | CmpOp::Ge);
        let is_next = matches!(self.op, CmpOp::Gt | CmpOp::Le);
        let (least, most) = match is_next {
            true => (-1, code.arith("last", BinOp::Sub, width, Atom::i64(1), vars)),
            false => (0, width),
        };
        let least = code.arith("from", BinOp::Max, self.bound, Atom::i64(least), vars);
        let edge = code.arith("from", BinOp::Min, least, most, vars);
        let edge = if is_next { code.arith("from", BinOp::Add, edge, Atom::i64(1), vars) } else { edge };
        match is_behind {
            true => Edge { from: edge, count: code.arith("count", BinOp::Sub, width, edge, vars) },
            false => Edge { from: Atom::i64(0), count: edge },
        }
    }
}

/// The map as an update of the array; as two updates where elements on both sides of an index are new.
pub(super) fn updated(stm: Stm, split: &Split, vars: &mut Vars) -> Vec<Stm> {
    let both = split.sides.iter().position(|s| s.is_some_and(|s| s.op == CmpOp::Ne));
    let Some(d) = both else { return update(stm, split, vars) };
    let [below, above] = [CmpOp::Lt, CmpOp::Gt].map(|op| {
        let mut half = split.clone();
        half.sides[d] = half.sides[d].map(|side| Side { op, ..side });
        half
    });
    let mut stms = updated(stm.clone(), &below, vars).refreshed(vars);
    let between = stms.last().expect("an update is a statement").pat[0].var;
    let named = Subst::from_iter([(split.array, between.into())]);
    stms.extend(updated(stm, &above, vars).substituted(&named));
    stms
}

/// The map as an update of one part of the array.
fn update(stm: Stm, split: &Split, vars: &mut Vars) -> Vec<Stm> {
    let mut code = Statements::new(stm.span);
    let edge = |(side, width): (&Option<Side>, &Atom)| side.map(|side| side.edge(*width, &mut code, vars));
    let edges: Vec<Option<Edge>> = split.sides.iter().zip(&split.widths).map(edge).collect();
    let starts = edges.iter().rposition(|e| e.is_some()).map_or(0, |last| last + 1);
    let start = |e: &Option<Edge>| e.map_or(Atom::i64(0), |e| e.from);
    let at = edges[..starts].iter().map(|e| At::Slice { start: start(e), stride: Atom::i64(1) }).collect();
    let mut map = stm.clone();
    if let Exp::Map { lam, .. } = &mut map.exp {
        lam.body = split.body.clone();
    }
    let value = Part { split, edges, not_empty: vec![], vars }.map(&map, 0, &mut code).into();
    code.bind(stm.pat, Exp::Update { arr: split.array, at, value });
    code.stms
}

/// The new part of an array, under construction.
struct Part<'a> {
    split: &'a Split,
    /// Index ranges, by dimension.
    edges: Vec<Option<Edge>>,
    /// Numbers of columns that must be positive for elements to be read early.
    not_empty: Vec<Atom>,
    vars: &'a mut Vars,
}

impl Part<'_> {
    /// The map over the index range of a dimension; its statements are appended to `code`.
    fn map(&mut self, stm: &Stm, dim: usize, code: &mut Statements) -> Var {
        let Exp::Map { width, inputs, lam } = &stm.exp else { unreachable!("maps in each other") };
        let (mut width, mut inputs, mut lam) = (*width, inputs.clone(), lam.clone());
        self.rows(&mut lam.body, dim + 1);
        lam.ret.iter_mut().for_each(|ty| self.shorten(ty, dim + 1));
        if dim > 0 {
            self.read_early(&mut lam, dim, code);
        }
        if dim == 0 && !self.not_empty.is_empty() {
            self.edges[0] = self.edges[0].map(|rows| self.if_not_empty(rows, code));
        }
        if let Some(edge) = self.edges.get(dim).copied().flatten() {
            width = edge.count;
            self.restrict(edge, dim, (&mut inputs, &mut lam), code);
        }
        let mut ty = stm.pat[0].ty.clone();
        self.shorten(&mut ty, dim);
        code.value("part", ty, Exp::Map { width, inputs, lam }, self.vars)
    }

    /// Restricts the map that computes a row.
    fn rows(&mut self, body: &mut Body, dim: usize) {
        if dim >= self.edges.len() {
            return;
        }
        let defines = |s: &Stm| s.pat.iter().any(|p| Atom::Var(p.var) == body.results[0]);
        let Some(at) = body.stms.iter().position(defines) else { return };
        let mut code = Statements::new(body.stms[at].span);
        let mut left = std::mem::take(&mut body.stms).into_iter();
        code.stms.extend(left.by_ref().take(at));
        let map = left.next().expect("found above");
        body.results = vec![self.map(&map, dim, &mut code).into()];
        code.stms.extend(left);
        body.stms = code.stms;
    }

    /// Shortens the dimensions of a type, whose first is dimension `dim` of the array.
    fn shorten(&self, ty: &mut Type, dim: usize) {
        let edges = self.edges.iter().skip(dim);
        for (d, edge) in ty.dims.iter_mut().zip(edges).filter_map(|(d, e)| Some((d, (*e)?))) {
            *d = Dim::Size(edge.count);
        }
    }

    /// Moves invariant reads of the row before the map over its elements, which overwrite it.
    fn read_early(&mut self, lam: &mut Lambda, dim: usize, code: &mut Statements) {
        let mut inside: HashSet<Var> = lam.params.iter().map(|p| p.var).collect();
        let mut is_same = |s: &Stm| {
            let is_scalar =
                matches!(s.exp, Exp::Index(..)) || matches!(&s.exp, Exp::Prim(op, _) if !op.divides());
            let same = is_scalar && !s.has_effect() && s.free().iter().all(|v| !inside.contains(v));
            inside.extend(s.pat.iter().map(|p| p.var).filter(|_| !same));
            same && s.pat.iter().all(|p| p.ty.is_scalar())
        };
        let same: Vec<bool> = lam.body.stms.iter().map(&mut is_same).collect();
        let of_row = |s: &Stm| matches!(&s.exp, Exp::Index(a, at) if *a == self.split.array && at[0].var() == self.split.at[0]);
        if !lam.body.stms.iter().zip(&same).any(|(s, same)| *same && of_row(s)) {
            return;
        }
        code.stms.extend(take(&mut lam.body.stms, same));
        self.not_empty.push(self.edges[dim].map_or(self.split.widths[dim], |e| e.count));
    }

    /// An empty range of rows if there are no columns.
    fn if_not_empty(&mut self, rows: Edge, code: &mut Statements) -> Edge {
        let count = self.not_empty.iter().fold(rows.count, |count, columns| {
            let some = code.compare("some", CmpOp::Lt, Atom::i64(0), *columns, self.vars);
            code.prim("count", PrimOp::Select(Prim::I64), vec![some, count, Atom::i64(0)], self.vars)
        });
        Edge { count, ..rows }
    }

    /// Restricts a map to an index range.
    fn restrict(&mut self, edge: Edge, dim: usize, map: (&mut Vec<Var>, &mut Lambda), code: &mut Statements) {
        let (inputs, lam) = map;
        for (input, p) in inputs.iter_mut().zip(&mut lam.params) {
            let is_index = self.split.at[dim] == Some(p.var);
            let dims = std::iter::once(Dim::Size(edge.count)).chain(p.ty.dims.iter().copied()).collect();
            let ty = Type { dims, ..p.ty.clone() };
            if is_index {
                *input = code.value("is", ty, Exp::Iota(edge.count), self.vars);
                let i = p.var;
                p.var = self.vars.fresh_like(i);
                let sum = PrimOp::Bin(BinOp::Add, Prim::I64);
                let exp = Exp::Prim(sum, vec![p.var.into(), edge.from]);
                let first = Stm { pat: vec![Param { var: i, ty: Type::I64 }], exp, span: code.span };
                lam.body.stms.insert(0, first);
            } else {
                let exp = Exp::Slice { arr: *input, start: edge.from, len: edge.count, stride: Atom::i64(1) };
                *input = code.value("part", ty, exp, self.vars);
            }
        }
    }
}
