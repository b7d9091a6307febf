//! Grouping of recorded elements by row.

use par_ir::build::Statements;
use par_ir::core::{At, Body, Exp, Lambda, Param, Schedule};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, CheckKind, Dim, Prim, Scalar, Span, Type, Var, Vars};

/// Elements to be appended to rows, in order.
pub(super) struct Groups<'a> {
    /// Number of rows.
    pub size: Atom,
    /// Number of elements.
    pub count: Atom,
    /// The row of each element, and its components.
    pub recorded: Vec<Var>,
    /// Types of the components.
    pub prims: &'a [Prim],
    /// Source place of an append.
    pub span: Span,
    /// Elements with negative rows are appended to none.
    pub is_conditional: bool,
}

impl Groups<'_> {
    /// Binds the arrays with what is appended: `after` and `initial` are a descriptor and its arrays.
    pub fn arrays(
        &self,
        after: &[Param],
        initial: &[Var],
        is_empty: bool,
        code: &mut Statements,
        vars: &mut Vars,
    ) {
        let (counts, ranks) = self.counted(code, vars);
        let of_rows = || Type::array(vec![Dim::Size(self.size)], Prim::I64);
        let before = code.value("lens", of_rows(), Exp::Lengths(initial[0]), vars);
        let sum = Lambda::of_operator(BinOp::Add, Prim::I64, code.span, vars);
        let sums = Exp::Map { width: self.size, inputs: vec![before, counts], lam: sum };
        let lens = code.value("lens", of_rows(), sums, vars);
        code.bind(vec![after[0].clone()], Exp::MakeDesc(lens));
        let x = Param { var: vars.fresh("len"), ty: Type::I64 };
        let same = Lambda {
            body: Body { stms: vec![], results: vec![x.var.into()] },
            params: vec![x],
            ret: vec![Type::I64],
            schedule: Schedule::Free,
        };
        let op = Lambda::of_operator(BinOp::Add, Prim::I64, code.span, vars);
        let neutral = vec![Atom::i64(0)];
        let scan =
            Exp::Scan { width: self.size, inputs: vec![lens], lam: same, op, neutral, exclusive: true };
        let starts = code.value("starts", of_rows(), scan, vars);
        let sum = Lambda::of_operator(BinOp::Add, Prim::I64, code.span, vars);
        let sums = Exp::Map { width: self.size, inputs: vec![starts, before], lam: sum };
        let first = code.value("first", of_rows(), sums, vars);
        let total = code.value("total", Type::I64, Exp::Total(after[0].var), vars).into();
        let dests = match is_empty {
            true => {
                let zeros = |p: &Prim| code.zeros(&Type::array(vec![Dim::Size(total)], *p), vars);
                self.prims.iter().map(zeros).collect()
            }
            false => self.extended(initial, counts, total, code, vars),
        };
        let flat = self.scattered(dests, (ranks, first), total, code, vars);
        for (p, v) in after[1..].iter().zip(flat) {
            code.bind(vec![p.clone()], Exp::Unflatten(v));
        }
    }

    /// Number of appended elements of each row, and rank of each element in its row.
    fn counted(&self, code: &mut Statements, vars: &mut Vars) -> (Var, Var) {
        let numbers = |n: Atom| Type::array(vec![Dim::Size(n)], Prim::I64);
        let mut param = |name: &str, n: Atom| Param { var: vars.fresh(name), ty: numbers(n) };
        let (counts, ranks) = (param("counts", self.size), param("ranks", self.count));
        let (counts_after, ranks_after) = (param("counts", self.size), param("ranks", self.count));
        let initial = [&counts, &ranks].map(|p| code.zeros(&p.ty, vars).into());
        let index = vars.fresh("j");
        let mut inside = Statements::new(code.span);
        let row = Param { var: vars.fresh("row"), ty: Type::I64 };
        inside.index(row.clone(), self.recorded[0], vec![index.into()]);
        let mut counting = Statements::new(self.span);
        let rank = Param { var: vars.fresh("rank"), ty: Type::I64 };
        // The check in the iteration may be made later: it is in a map that another one may be fused with.
        let below = counting.compare("below", CmpOp::Lt, row.var.into(), self.size, vars);
        let cond = match self.is_conditional {
            true => below,
            false => {
                let from = counting.compare("some", CmpOp::Le, Atom::i64(0), row.var.into(), vars);
                counting.logic("inside", BinOp::And, from, below, vars)
            }
        };
        let args = vec![row.var.into(), self.size];
        counting.bind(vec![], Exp::Check { cond, kind: CheckKind::Bounds, args });
        counting.index(rank.clone(), counts.var, vec![row.var.into()]);
        let more = counting.arith("more", BinOp::Add, rank.var.into(), Atom::i64(1), vars);
        let mut stored = |arr: &Param, at: Var, value: Atom| {
            let exp = Exp::Update { arr: arr.var, at: vec![At::Index(at.into())], value };
            counting.value("next", arr.ty.clone(), exp, vars)
        };
        let next = [stored(&counts, row.var, more), stored(&ranks, index, rank.var.into())].map(Atom::Var);
        let results = match self.is_conditional {
            false => {
                inside.stms.extend(counting.stms);
                next
            }
            true => {
                let cond = inside.compare("some", CmpOp::Le, Atom::i64(0), row.var.into(), vars);
                let other = Body { stms: vec![], results: vec![counts.var.into(), ranks.var.into()] };
                let pat = [counts.fresh(vars), ranks.fresh(vars)];
                inside.bind(pat.to_vec(), Exp::If { cond, then: counting.results(next.to_vec()), other });
                pat.map(|p| p.var.into())
            }
        };
        let state = [counts, ranks].into_iter().zip(initial).collect();
        let body = inside.results(results.to_vec());
        let found = (counts_after.var, ranks_after.var);
        code.bind(vec![counts_after, ranks_after], Exp::counted(index, self.count, state, body));
        found
    }

    /// The initial rows, longer by so many elements, without the limits of rows.
    fn extended(
        &self,
        initial: &[Var],
        counts: Var,
        total: Atom,
        code: &mut Statements,
        vars: &mut Vars,
    ) -> Vec<Var> {
        let mut scalar = |name: &str| Param { var: vars.fresh(name), ty: Type::I64 };
        let (k, count) = (scalar("k"), scalar("count"));
        let mut inside = Statements::new(code.span);
        let longer = inside.arith("k", BinOp::Add, k.var.into(), count.var.into(), vars);
        let size = |n: Atom, p: Prim| Type::array(vec![Dim::Size(n)], p);
        let (mut params, mut results, mut ret) = (vec![k.clone()], vec![longer], vec![Type::I64]);
        let desc = Param { var: vars.fresh("s"), ty: Type::desc(vec![Dim::Size(self.size)]) };
        let mut pat = vec![desc.clone()];
        for p in self.prims {
            let row = Param { var: vars.fresh("row"), ty: size(k.var.into(), *p) };
            let free = inside.zeros(&size(count.var.into(), *p), vars);
            let row_after = inside.value("row", size(longer, *p), Exp::Concat(vec![row.var, free]), vars);
            params.push(row);
            results.push(row_after.into());
            ret.push(size(longer, *p));
            let dims = vec![Dim::Size(self.size), Dim::Seg(desc.var)];
            pat.push(Param { var: vars.fresh("extended"), ty: Type::array(dims, *p) });
        }
        params.push(count);
        let inputs = [initial, &[counts]].concat();
        let lam = Lambda { params, body: inside.results(results), ret, schedule: Schedule::Free };
        let arrays = pat[1..].to_vec();
        code.bind(pat, Exp::Map { width: self.size, inputs, lam });
        let mut flat = |p: &Param| {
            let ty = Type::array(vec![Dim::Size(total)], p.ty.prim());
            code.value("extended", ty, Exp::Flatten(p.var), vars)
        };
        arrays.iter().map(&mut flat).collect()
    }

    /// The elements of all rows with what is appended.
    fn scattered(
        &self,
        dests: Vec<Var>,
        (ranks, first): (Var, Var),
        total: Atom,
        code: &mut Statements,
        vars: &mut Vars,
    ) -> Vec<Var> {
        let mut scalar = |name: &str, p: Prim| Param { var: vars.fresh(name), ty: Type::scalar(p) };
        let (row, rank) = (scalar("row", Prim::I64), scalar("rank", Prim::I64));
        let values: Vec<Param> = self.prims.iter().map(|p| scalar("value", *p)).collect();
        let start = scalar("start", Prim::I64);
        let mut placing = Statements::new(code.span);
        placing.index(start.clone(), first, vec![row.var.into()]);
        let place = placing.arith("place", BinOp::Add, start.var.into(), rank.var.into(), vars);
        let mut inside = Statements::new(code.span);
        let place = match self.is_conditional {
            false => {
                inside.stms = placing.stms;
                place
            }
            true => {
                let cond = inside.compare("some", CmpOp::Le, Atom::i64(0), row.var.into(), vars);
                let other = Body { stms: vec![], results: vec![Atom::Const(Scalar::I64(-1))] };
                let exp = Exp::If { cond, then: placing.results(vec![place]), other };
                inside.value("place", Type::I64, exp, vars).into()
            }
        };
        let results = std::iter::once(place).chain(values.iter().map(|p| p.var.into())).collect();
        let ret = std::iter::once(Type::I64).chain(values.iter().map(|p| p.ty.clone())).collect();
        let params = [row, rank].into_iter().chain(values).collect();
        let lam = Lambda { params, body: inside.results(results), ret, schedule: Schedule::Free };
        let inputs = [&[self.recorded[0], ranks], &self.recorded[1..]].concat();
        let pat: Vec<Param> = self
            .prims
            .iter()
            .map(|p| Param { var: vars.fresh("elements"), ty: Type::array(vec![Dim::Size(total)], *p) })
            .collect();
        code.bind(pat.clone(), Exp::Scatter { dests, width: self.count, inputs, lam });
        pat.iter().map(|p| p.var).collect()
    }
}
