//! Each kind of operator as a loop, and loops and branches that write to buffers.

use super::{Generator, Region};
use par_ir::alias::root;
use par_ir::build::Statements;
use par_ir::core::{Body, Exp, Lambda, Param, Repeat, Rows, Stm};
use par_ir::loops::{self, Loop};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::{Atom, Dim, Prim, Span, Type, Var};

impl Generator<'_> {
    /// A filter, as a loop that counts what it has kept. Numbers are written in any case: there is a place for them, since not more are kept
    /// than were looked at, and no jump depends on them.
    pub(super) fn filter(
        &mut self,
        stm: &Stm,
        rows: Rows<'_>,
        dests: Vec<Option<Region>>,
        out: &mut Statements,
    ) -> Option<()> {
        let (width, _, lam) = rows;
        let full = |p: &Param| Param { ty: Type::array(vec![Dim::Size(width)], p.ty.prim()), ..p.clone() };
        let all: Vec<Param> = stm.pat[1..].iter().map(full).collect();
        let (places, new) = self.places(&all, dests[1..].to_vec())?;
        let mut made = self.rows(rows, &places, stm.span)?;
        let count = made.carry("count", &Type::I64, Atom::i64(0), self.vars);
        self.body(&lam.body, &vec![None; lam.body.results.len()], &mut made.code)?;
        let [mut always, mut kept] = [(); 2].map(|()| Statements::new(stm.span));
        for ((place, x), ty) in places.iter().zip(&lam.body.results[1..]).zip(&lam.ret[1..]) {
            let code = if ty.is_scalar() { &mut always } else { &mut kept };
            self.write(&place.row(count), *x, code)?;
        }
        made.code.stms.extend(always.stms);
        let cond = lam.body.results[0];
        if !kept.stms.is_empty() {
            let exp = Exp::If { cond, then: kept.results(vec![]), other: Body::default() };
            made.code.bind(vec![], exp);
        }
        let one = made.code.prim("kept", PrimOp::Conv(Prim::Bool, Prim::I64), vec![cond], self.vars);
        let next = made.code.arith("count", BinOp::Add, count.into(), one, self.vars);
        out.stms.push(made.finish(width, stm.pat[..1].to_vec(), vec![next]));
        let made = |(all, buffer): (Param, Var)| {
            let p = stm.pat.iter().find(|p| p.var == all.var)?;
            Some((p.clone(), buffer))
        };
        let new = new.into_iter().filter_map(made).collect();
        self.aliases(new, out);
        Some(())
    }

    pub(super) fn map(&mut self, rows: Rows<'_>, places: &[Region], out: &mut Statements) -> Option<()> {
        let (width, _, lam) = rows;
        let mut made = self.rows(rows, places, out.span)?;
        let targets: Vec<Option<Region>> = places.iter().map(|p| Some(p.row(made.index))).collect();
        self.body(&lam.body, &targets, &mut made.code)?;
        out.stms.push(made.finish(width, vec![], vec![]));
        Some(())
    }

    /// A loop whose iterations begin with the rows.
    pub(super) fn rows(&mut self, (_, inputs, lam): Rows<'_>, places: &[Region], span: Span) -> Option<Loop> {
        let mut rows = Loop::new(span, self.vars);
        for (p, v) in lam.params.iter().zip(inputs) {
            p.ty.is_regular().then_some(())?;
            self.note(p);
            match self.regions.get(v).filter(|r| places.contains(r)).map(|r| r.row(rows.index)) {
                Some(row) => {
                    rows.code.index(p.clone(), row.buffer, row.at.clone());
                    self.regions.insert(p.var, row);
                }
                None => rows.code.index(p.clone(), *v, vec![rows.index.into()]),
            }
        }
        Some(rows)
    }

    /// An operator whose code writes to buffers.
    pub(super) fn operator(&mut self, op: &Lambda) -> Option<Lambda> {
        Some(Lambda { body: self.alone(&op.body)?, ..op.clone() })
    }

    /// Reductions and scans (`exclusive` or not).
    pub(super) fn fold(
        &mut self,
        stm: &Stm,
        rows: Rows<'_>,
        (op, neutral): (&Lambda, &[Atom]),
        exclusive: Option<bool>,
        dests: Vec<Option<Region>>,
        out: &mut Statements,
    ) -> Option<()> {
        let (width, _, lam) = rows;
        let k = neutral.len();
        let (folded, rest) = stm.pat.split_at(if exclusive.is_some() { 0 } else { k });
        let (places, new) = self.places(rest, dests[folded.len()..].to_vec())?;
        let last = |t: &Type| Param { var: self.vars.fresh("last"), ty: t.clone() };
        let pat = if exclusive.is_some() { op.ret.iter().map(last).collect() } else { folded.to_vec() };
        let mut made = self.rows(rows, &places, stm.span)?;
        let (prefixes, others) = places.split_at(if exclusive.is_some() { k } else { 0 });
        let targets = others.iter().map(|p| Some(p.row(made.index)));
        let targets: Vec<Option<Region>> = vec![None; k].into_iter().chain(targets).collect();
        self.body(&lam.body, &targets, &mut made.code)?;
        let op = self.operator(op)?;
        let steps = exclusive.map(|exclusive| loops::prefixes(&op, exclusive)).unwrap_or_default();
        let results = op.body.results.clone();
        made.fold(&op, neutral);
        made.combine(op, &lam.body.results[..k]);
        for (place, x) in prefixes.iter().zip(steps) {
            self.write(&place.row(made.index), x, &mut made.code)?;
        }
        out.stms.push(made.finish(width, pat, results));
        self.aliases(new, out);
        Some(())
    }

    /// Results that are made in the arms go to regions; those that both arms only update stay results.
    pub(super) fn branch(
        &mut self,
        stm: &Stm,
        cond: Atom,
        arms: [&Body; 2],
        dests: Vec<Option<Region>>,
        out: &mut Statements,
    ) -> Option<()> {
        let (mut targets, mut new, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        for (k, (p, dest)) in stm.pat.iter().zip(dests).enumerate() {
            let updated = self.updated_in(arms, k);
            if p.ty.is_scalar() || dest.is_none() && updated.is_some() {
                kept.push((k, updated));
                targets.push(None);
                continue;
            }
            let (place, added) = self.places(std::slice::from_ref(p), vec![dest])?;
            targets.extend(place.into_iter().map(Some));
            new.extend(added);
        }
        let mut bodies = Vec::new();
        for arm in arms {
            let mut code = Statements::default();
            self.body(arm, &targets, &mut code)?;
            bodies.push(code.results(kept.iter().map(|(k, _)| arm.results[*k]).collect()));
        }
        let (other, then) = (bodies.pop()?, bodies.pop()?);
        let pat = kept.iter().map(|(k, _)| stm.pat[*k].clone()).collect();
        out.bind(pat, Exp::If { cond, then, other });
        for (k, updated) in kept {
            if let Some(of) = updated.filter(|_| !stm.pat[k].ty.is_scalar()) {
                self.is_version(stm.pat[k].var, of, out);
            }
        }
        self.aliases(new, out);
        Some(())
    }

    /// The array from outside that both arms result in a version of.
    pub(super) fn updated_in(&self, arms: [&Body; 2], k: usize) -> Option<Var> {
        let [a, b] = arms.map(|arm| arm.results[k].var().and_then(|v| root(arm, v)));
        a.filter(|v| b == Some(*v) && self.owned.contains_key(v))
    }

    pub(super) fn inner_loop(&mut self, stm: &Stm, of: Repeat, out: &mut Statements) -> Option<()> {
        let mut state = of.params.to_vec();
        for (p, init) in state.iter_mut().filter(|(p, _)| !p.ty.is_scalar()) {
            *init = self.changeable(init.var()?, &p.ty, out)?.into();
        }
        let exp = self.iterations(Repeat { params: &state, ..of })?;
        out.stms.push(Stm { exp, ..stm.clone() });
        for (p, (q, _)) in stm.pat.iter().zip(&state).filter(|(p, _)| !p.ty.is_scalar()) {
            self.is_version(p.var, q.var, out);
        }
        Some(())
    }

    /// Scatters, and histograms with their operator.
    pub(super) fn scatter(
        &mut self,
        stm: &Stm,
        dests: &[Var],
        rows: Rows<'_>,
        op: Option<&Lambda>,
        out: &mut Statements,
    ) -> Option<()> {
        let (width, _, lam) = rows;
        let Dim::Size(size) = stm.pat[0].ty.dims[0] else { return None };
        let mut state: Vec<(Param, Var)> = Vec::new();
        for (p, d) in stm.pat.iter().zip(dests) {
            let array = self.changeable(*d, &p.ty, out)?;
            state.push((p.fresh(self.vars), array));
        }
        let mut made = self.rows(rows, &[], stm.span)?;
        made.state.extend(state.iter().map(|(p, array)| (p.clone(), Atom::Var(*array))));
        self.body(&lam.body, &vec![None; lam.body.results.len()], &mut made.code)?;
        let op = match op {
            Some(op) => Some(self.operator(op)?),
            None => None,
        };
        let (params, arrays): (Vec<Param>, Vec<Var>) = state.into_iter().unzip();
        let (at, values) = (lam.body.results[0], &lam.body.results[1..]);
        let results = made.write_inside((at, size), &params, values, op, self.vars);
        out.stms.push(made.finish(width, stm.pat.clone(), results));
        stm.pat.iter().zip(arrays).for_each(|(p, of)| self.is_version(p.var, of, out));
        Some(())
    }
}
