//! The least and the greatest of what rows give: the adjoint goes to one row, and only that is gone back through.
//!
//! ```text
//! m = reduce min (map f xs)        first: the first i with f xs[i] == m
//!                                  xs' gets at first what the derivative of f at xs[first] gives
//! ```
//!
//! The row is a window on the inputs, of size 1, or of size 0 where there is no row. So nothing has to be asked, and all windows under a map
//! are of one size. A map whose results only the reduction reads becomes part of it before, or it would be gone back through with
//! zeros for all other rows.

use super::super::super::index::Cut;
use super::inner::{Rows, Window};
use super::operators::{Componentwise, componentwise};
use super::{Lower, R, Reverse};
use par_ir::core::{Body, Exp, Lambda, Param, Schedule, Stm};
use par_ir::effects::Effects;
use par_ir::prim::{BinOp, CmpOp};
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Dim, Prim, PrimOp, Scalar, Type, Var};

/// Makes maps parts of the extrema that are taken of their results. `results` are variables that are used later.
pub(super) fn joined(lo: &mut Lower, stms: &mut Vec<Stm>, results: &[Atom]) {
    for stm in stms.iter_mut() {
        stm.exp.for_each_body_mut(|b| joined(lo, &mut b.stms, &b.results));
    }
    let mut at = 0;
    while at < stms.len() {
        while let Some(map) = producer(stms, at, results) {
            let map = stms.remove(map);
            at -= 1;
            join(lo, map, &mut stms[at].exp);
        }
        at += 1;
    }
}

/// The map that only an extremum reads, and that may be done where that is.
fn producer(stms: &[Stm], at: usize, results: &[Atom]) -> Option<usize> {
    let Exp::Reduce { width, inputs, lam, op, neutral } = &stms[at].exp else { return None };
    if neutral.len() != 1 || !is_extremum(op, 0) {
        return None;
    }
    let is_only_input = |map: &Stm| {
        map.pat.iter().all(|p| {
            let here = inputs.iter().filter(|v| **v == p.var).count();
            let is_result = results.contains(&p.var.into());
            let uses: usize = stms.iter().map(|s| s.uses_of(p.var)).sum();
            // The types of what the map binds are uses, too.
            let own = map.pat.uses_of(p.var);
            !is_result && uses == here + own
        })
    };
    (0..at).find(|i| match &stms[*i].exp {
        Exp::Map { width: rows, lam: f, .. } => {
            let binds_input = stms[*i].pat.iter().any(|p| inputs.contains(&p.var));
            let is_worth_it = does_much(f) || does_much(lam);
            let may_move = !stms[*i].has_effect() || !stms[i + 1..at].has_effect();
            binds_input
                && rows == width
                && f.schedule == lam.schedule
                && is_worth_it
                && may_move
                && is_only_input(&stms[*i])
        }
        _ => false,
    })
}

/// Evaluates the map's function in each row of the reduction.
fn join(lo: &mut Lower, map: Stm, reduce: &mut Exp) {
    let (Exp::Map { inputs: rows, lam: f, .. }, Exp::Reduce { inputs, lam, .. }) = (map.exp, reduce) else {
        unreachable!("as `producer` found them")
    };
    let mut subst = Subst::default();
    let (mut all, mut params) = (rows, f.params);
    for (v, p) in inputs.iter().zip(std::mem::take(&mut lam.params)) {
        match map.pat.iter().position(|q| q.var == *v) {
            Some(k) => _ = subst.insert(p.var, f.body.results[k]),
            None => {
                all.push(*v);
                params.push(p);
            }
        }
    }
    lam.body.substitute(&subst);
    lam.ret.substitute(&subst);
    params.substitute(&subst);
    lo.substitute_types(&lam.body, &subst);
    let rest = std::mem::take(&mut lam.body.stms);
    lam.body.stms = f.body.stms.into_iter().chain(rest).collect();
    lam.params = params;
    *inputs = all;
}

fn is_extremum(op: &Lambda, i: usize) -> bool {
    matches!(componentwise(op, i), Some(Componentwise::Min | Componentwise::Max))
}

/// True if a row costs more than some scalar operations on numbers.
fn does_much(lam: &Lambda) -> bool {
    let is_large = |s: &Stm| matches!(s.exp, Exp::Call(..)) || !s.exp.bodies().is_empty();
    lam.params.iter().any(|p| !p.ty.is_scalar()) || lam.body.stms.iter().any(is_large)
}

impl Reverse {
    /// Emits an extremum that is gone back through by a window, with the number of the first row that gives it, or the number of rows if none does:
    /// the variable of that number.
    pub(super) fn extremum(&mut self, lo: &mut Lower, pat: &[Param], exp: &Exp) -> R<Option<Var>> {
        let Exp::Reduce { width, inputs, lam, op, neutral } = exp else { return Ok(None) };
        let is_regular = |v: &Var| lo.type_of(*v).is_regular() && !lo.type_of(*v).is_desc();
        let one = op.ret.len() == 1 && lam.ret.len() == 1;
        let Some(which) = componentwise(op, 0).filter(|c| one && *c != Componentwise::Add) else {
            return Ok(None);
        };
        if !does_much(lam) || !inputs.iter().all(is_regular) {
            return Ok(None);
        }
        let number = lo.in_block(|lo| Ok(lo.param("i", Type::I64)))?.1;
        let mut lam = lo.in_block(|lo| Ok(self.copy(lo, lam, &mut Subst::default())))?.1;
        lam.body.results.push(number.var.into());
        lam.ret.push(Type::I64);
        lam.params.push(number);
        let mut inputs = inputs.clone();
        inputs.push(lo.iota(*width));
        let first = lo.param("first", Type::I64);
        let (mut pat, var) = (pat.to_vec(), first.var);
        pat.push(first);
        let op = lo.first_of(which, op.ret[0].prim(), *width)?;
        let neutral = vec![neutral[0], *width];
        lo.push(pat, Exp::Reduce { width: *width, inputs, lam, op, neutral });
        Ok(Some(var))
    }

    /// Goes back through the row that gave the result only. There is none if all are no numbers.
    pub(super) fn back_extremum(&mut self, lo: &mut Lower, rows: &Rows, first: Atom, d: Atom) -> R<()> {
        let (n, prim) = (rows.width, rows.lam.ret[0].prim());
        let len = match n {
            Atom::Var(v) => lo.where_bound(v, |lo| lo.bin(BinOp::Min, Prim::I64, n, Atom::i64(1))),
            Atom::Const(n) => Atom::i64(n.as_i64().unwrap_or(0).min(1)),
        };
        let last = lo.sub(n, len);
        let start = lo.bin(BinOp::Min, Prim::I64, first, last);
        let is_there = lo.cmp(CmpOp::Lt, first, n);
        let d = lo.select(prim, is_there, d, Atom::Const(Scalar::zero(prim)));
        let mut parts = Vec::new();
        for v in rows.inputs {
            let mut ty = lo.type_of(*v).clone();
            ty.dims[0] = Dim::Size(len);
            let part = lo.emit("part", ty, Exp::Slice { arr: *v, start, len, stride: Atom::i64(1) });
            if self.active.contains(v) {
                self.input(part);
            }
            parts.push(part);
        }
        let window = Some(Window { of: rows.inputs, start });
        let one = Rows { window, ..Rows::new(len, &parts, rows.lam) };
        self.back_rows(lo, &one, &mut |_, _, results, _| Ok(vec![(results[0], d)]))?;
        for (part, v) in parts.iter().zip(rows.inputs) {
            self.end_sums(lo, *part)?;
            if let Some(d) = self.scope().adjoints.remove(part) {
                let d = lo.leaf_var(d)?;
                self.back_slice(lo, *v, Cut { start, len, stride: Atom::i64(1) }, d)?;
            }
        }
        Ok(())
    }
}

impl Lower<'_> {
    /// The operator on pairs of an element and its number that gives the least or the greatest and the first number of it, `none` for none.
    fn first_of(&mut self, which: Componentwise, prim: Prim, none: Atom) -> R<Lambda> {
        let types = vec![Type::scalar(prim), Type::I64];
        let (block, (params, results)) = self.in_block(|lo| {
            let params: Vec<Param> = types.iter().chain(&types).map(|ty| lo.param("x", ty.clone())).collect();
            let [x, i, y, j] = [0, 1, 2, 3].map(|k| Atom::from(params[k].var));
            let op = if which == Componentwise::Min { BinOp::Min } else { BinOp::Max };
            let best = lo.bin(op, prim, x, y);
            let place = |lo: &mut Lower, x, i| {
                let is_best = lo.prim(PrimOp::Cmp(CmpOp::Eq, prim), &[x, best]);
                lo.select(Prim::I64, is_best, i, none)
            };
            let (left, right) = (place(lo, x, i), place(lo, y, j));
            Ok((params, vec![best, lo.bin(BinOp::Min, Prim::I64, left, right)]))
        })?;
        let body = Body { stms: block.stms, results };
        Ok(Lambda { params, body, ret: types, schedule: Schedule::Free })
    }
}
