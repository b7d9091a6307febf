//! Loops with parallel bodies.
//!
//! A loop whose trip count is the same for all positions is a host loop with its state in canonical form. Otherwise
//! the host repeats over the **active** positions:
//!
//! ```text
//! while active > 0:
//!   go = positions where the condition holds; done = the others
//!   done: scalars are scattered to the results, rows appended to them      (each position retires once)
//!   go:   the state is packed if anything retired, and the body runs on it
//! ```
//!
//! so the work is the sum of the trips, not the longest times the number of positions.

use super::ex::Ex;
use super::nest::{FDim, Kind, LevelId};
use super::rep::{Arr, Rep, Src};
use super::{Flattener, Result};
use par_ir::core::{Body, LoopForm, Param, Stm};
use par_ir::flat::{self, Op, Ty};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, Dim, Prim, PrimOp, Scalar, Type, Var};
use std::rc::Rc;

/// A loop's parts.
struct Parts<'b> {
    params: Vec<Param>,
    /// Index with its type, and bound.
    counter: Option<(Param, Atom)>,
    cond: Option<&'b Body>,
    body: &'b Body,
}

/// Where the results of retired positions are collected, as FLAT loop parameters in this order: for a scalar its array; for rows
/// the base, the starts of inner dimensions, and each position's own start.
struct Collected {
    params: Vec<flat::Param>,
}

impl Flattener<'_> {
    pub(crate) fn repeat(
        &mut self,
        level: LevelId,
        stm: &Stm,
        params: &[(Param, Atom)],
        form: &LoopForm,
        body: &Body,
    ) -> Result<()> {
        let root = self.is_root(level);
        match form {
            LoopForm::For { index, prim, bound } => {
                if let Some(bound) = self.ex(*bound).atom() {
                    return self.host_for(level, stm, params, (*index, *prim, bound), body);
                }
                let counter = Param { var: *index, ty: Type::scalar(*prim) };
                self.active_loop(level, stm, params, Some((counter, *bound)), None, body)
            }
            LoopForm::While(cond) if root => self.host_while(stm, params, cond, body),
            LoopForm::While(cond) => self.active_loop(level, stm, params, None, Some(cond), body),
        }
    }

    fn initial(&mut self, level: LevelId, params: &[(Param, Atom)]) -> Vec<Atom> {
        let atoms: Vec<Atom> = params.iter().map(|(_, a)| *a).collect();
        self.canonical(level, &atoms)
    }

    fn host_for(
        &mut self,
        level: LevelId,
        stm: &Stm,
        params: &[(Param, Atom)],
        (index, prim, bound): (Var, Prim, Atom),
        body: &Body,
    ) -> Result<()> {
        let init = self.initial(level, params);
        let state: Vec<Param> = params.iter().map(|(p, _)| p.clone()).collect();
        let vars = self.canonical_params(level, &state);
        let i = flat::Param { var: self.vars.fresh_like(index), ty: Ty::Scalar(prim) };
        let block = self.block(|f| {
            f.declare(&i);
            f.bind_local(&Param { var: index, ty: Type::scalar(prim) }, Ex::Atom(i.var.into()));
            f.one_turn(level, &state, &vars, body)
        })?;
        let form = flat::LoopForm::For { index: i.var, prim, bound };
        self.finish_host_loop(level, stm, vars, init, form, block);
        Ok(())
    }

    fn one_turn(
        &mut self,
        level: LevelId,
        state: &[Param],
        vars: &[flat::Param],
        body: &Body,
    ) -> Result<Vec<Atom>> {
        self.adopt_canonical(level, state, vars);
        self.stms(level, &body.stms)?;
        self.flush();
        Ok(self.canonical(level, &body.results))
    }

    fn host_while(&mut self, stm: &Stm, params: &[(Param, Atom)], cond: &Body, body: &Body) -> Result<()> {
        let level = super::nest::ROOT;
        let init = self.initial(level, params);
        let state: Vec<Param> = params.iter().map(|(p, _)| p.clone()).collect();
        let vars = self.canonical_params(level, &state);
        let test = self.block(|f| f.one_turn(level, &state, &vars, cond))?;
        let block = self.block(|f| f.one_turn(level, &state, &vars, body))?;
        self.finish_host_loop(level, stm, vars, init, flat::LoopForm::While(test), block);
        Ok(())
    }

    fn finish_host_loop(
        &mut self,
        level: LevelId,
        stm: &Stm,
        vars: Vec<flat::Param>,
        init: Vec<Atom>,
        form: flat::LoopForm,
        body: flat::Block,
    ) {
        self.at(stm.span);
        let pat = self.canonical_params(level, &stm.pat);
        let params = vars.into_iter().zip(init).collect();
        self.emit(pat.clone(), Op::Loop { params, form, body });
        self.adopt_canonical(level, &stm.pat, &pat);
    }

    /// A loop that ends at different turns for different positions.
    fn active_loop(
        &mut self,
        level: LevelId,
        stm: &Stm,
        params: &[(Param, Atom)],
        counter: Option<(Param, Atom)>,
        cond: Option<&Body>,
        body: &Body,
    ) -> Result<()> {
        let mut state: Vec<Param> = params.iter().map(|(p, _)| p.clone()).collect();
        let mut init = self.initial(level, params);
        if let Some((i, _)) = &counter {
            let n = self.count(level);
            let prim = i.ty.prim();
            init.push(self.bind("i", Ty::Array(prim), Op::Replicate(n, Self::zero(prim))).into());
            state.push(i.clone());
        }
        let parts = Parts { params: state, counter, cond, body };
        let n = self.count(level);
        let all = self.bind("all", Ty::Array(Prim::I64), Op::Iota(n));
        let (collected, empty) = self.collectors(level, &stm.pat);
        let active = flat::Param { var: self.vars.fresh("active"), ty: Ty::Scalar(Prim::I64) };
        let idx = flat::Param { var: self.vars.fresh("idx"), ty: Ty::Array(Prim::I64) };
        self.declare(&active);
        let anchor = self.push_level(level, Kind::Pack { idx: idx.var, n: active.var.into() });
        let vars = self.canonical_params(anchor, &parts.params);
        let mut flat_params = vec![(active, n), (idx, all.into())];
        flat_params.extend(vars.iter().copied().zip(init));
        flat_params.extend(collected.params.iter().copied().zip(empty));
        let test = self.block(|f| Ok(vec![f.any(active.var.into())]))?;
        let turn = self.block(|f| f.active_turn(level, anchor, idx, &parts, &vars, stm, &collected))?;
        self.at(stm.span);
        let finals: Vec<flat::Param> = flat_params
            .iter()
            .map(|(p, _)| flat::Param { var: self.vars.fresh_like(p.var), ty: p.ty })
            .collect();
        let op = Op::Loop { params: flat_params, form: flat::LoopForm::While(test), body: turn };
        self.emit(finals.clone(), op);
        let results = Collected { params: finals[2 + vars.len()..].to_vec() };
        self.bind_collected(level, &stm.pat, &results);
        Ok(())
    }

    /// One turn: retire what is done, run the body on the rest. Results: the next loop parameters.
    #[allow(clippy::too_many_arguments)]
    fn active_turn(
        &mut self,
        level: LevelId,
        anchor: LevelId,
        idx: flat::Param,
        parts: &Parts<'_>,
        vars: &[flat::Param],
        stm: &Stm,
        collected: &Collected,
    ) -> Result<Vec<Atom>> {
        self.adopt_canonical(anchor, &parts.params, vars);
        let go_on = self.condition(anchor, parts)?;
        let (done, n_done) = self.select_positions(anchor, &go_on, false);
        let (go, n_go) = self.select_positions(anchor, &go_on, true);
        let retired = self.any(n_done);

        let done_level = self.push_level(anchor, Kind::Pack { idx: done, n: n_done });
        let states: Vec<Rep> = parts.params.iter().map(|p| self.rep(p.var.into())).collect();
        let keep: Vec<Atom> = collected.params.iter().map(|p| p.var.into()).collect();
        let then = self.block(|f| f.retire(level, done_level, stm, parts, &states, collected))?;
        let other = flat::Block { stms: vec![], results: keep };
        let outs = self.bind_if(retired, then, other, &collected.params);

        let mut packed_params = vec![idx];
        packed_params.extend(vars);
        let go_level = self.push_level(anchor, Kind::Pack { idx: go, n: n_go });
        let then = self.block(|f| {
            let mut values: Vec<Atom> = vec![f.store(go_level, &Ex::Pos(level)).into()];
            let atoms: Vec<Atom> = parts.params.iter().map(|p| p.var.into()).collect();
            values.extend(f.canonical(go_level, &atoms));
            Ok(values)
        })?;
        let unchanged = packed_params.iter().map(|p| p.var.into()).collect();
        let other = flat::Block { stms: vec![], results: unchanged };
        let rest = self.bind_if(retired, then, other, &packed_params);

        let run = self.any(n_go);
        let body_level = self.push_level(level, Kind::Pack { idx: rest[0].var, n: n_go });
        let then = self.block(|f| {
            f.adopt_canonical(body_level, &parts.params, &rest[1..]);
            f.stms(body_level, &parts.body.stms)?;
            f.flush();
            let mut values = f.canonical(body_level, &parts.body.results);
            if let Some((i, _)) = &parts.counter {
                values.push(f.next_counter(body_level, i)?);
            }
            Ok(values)
        })?;
        let other = flat::Block { stms: vec![], results: rest[1..].iter().map(|p| p.var.into()).collect() };
        let next = self.bind_if(run, then, other, vars);

        let mut results = vec![n_go, rest[0].var.into()];
        results.extend(next.iter().chain(&outs).map(|p| Atom::Var(p.var)));
        Ok(results)
    }

    fn bind_if(
        &mut self,
        cond: Atom,
        then: flat::Block,
        other: flat::Block,
        like: &[flat::Param],
    ) -> Vec<flat::Param> {
        let pat: Vec<flat::Param> =
            like.iter().map(|p| flat::Param { var: self.vars.fresh_like(p.var), ty: p.ty }).collect();
        self.emit(pat.clone(), Op::If { cond, then, other });
        pat
    }

    /// Whether each active position goes on, as an expression at the active level.
    fn condition(&mut self, level: LevelId, parts: &Parts<'_>) -> Result<Ex> {
        if let Some(cond) = parts.cond {
            self.stms(level, &cond.stms)?;
            self.flush();
            return Ok(self.ex(cond.results[0]));
        }
        let (i, bound) = parts.counter.as_ref().expect("a loop counts or tests");
        let mut g = self.take_group(level);
        let operands = vec![self.eval_atom(&mut g, i.var.into()), self.eval_atom(&mut g, *bound)];
        let exp = par_ir::core::Exp::Prim(PrimOp::Cmp(CmpOp::Lt, i.ty.prim()), operands);
        let p = Param { var: self.vars.fresh("go"), ty: Type::BOOL };
        let ex = self.add_scalar(&mut g, &[p], exp).remove(0);
        self.group = Some(g);
        self.flush();
        Ok(ex)
    }

    fn next_counter(&mut self, level: LevelId, i: &Param) -> Result<Atom> {
        let prim = i.ty.prim();
        let mut g = self.take_group(level);
        let operands = vec![self.eval_atom(&mut g, i.var.into()), Atom::Const(Scalar::from_i64(prim, 1))];
        let exp = par_ir::core::Exp::Prim(PrimOp::Bin(BinOp::Add, prim), operands);
        let p = Param { var: self.vars.fresh("next"), ty: i.ty.clone() };
        let ex = self.add_scalar(&mut g, &[p], exp).remove(0);
        self.group = Some(g);
        self.flush();
        Ok(self.store(level, &ex).into())
    }

    /// Loop parameters that collect the results, and their initial values.
    fn collectors(&mut self, level: LevelId, pat: &[Param]) -> (Collected, Vec<Atom>) {
        let n = self.count(level);
        let (mut params, mut init) = (Vec::new(), Vec::new());
        let mut add = |f: &mut Self, name: &str, ty: Ty, value: Atom| {
            params.push(flat::Param { var: f.vars.fresh(name), ty });
            init.push(value);
        };
        for p in pat {
            let prim = if p.ty.is_scalar() { p.ty.prim() } else { Prim::I64 };
            if !p.ty.is_scalar() {
                let ty = if p.ty.is_desc() { Ty::Desc } else { Ty::Array(p.ty.prim()) };
                let none = self.nothing(ty);
                add(self, "rows", ty, none);
                for _ in 1..p.ty.rank() {
                    let none = self.nothing(Ty::Array(Prim::I64));
                    add(self, "starts", Ty::Array(Prim::I64), none);
                }
            }
            let zeros = self.bind("results", Ty::Array(prim), Op::Replicate(n, Self::zero(prim)));
            add(self, "results", Ty::Array(prim), zeros.into());
        }
        (Collected { params }, init)
    }

    /// Moves the state of finished positions to the results.
    fn retire(
        &mut self,
        level: LevelId,
        done: LevelId,
        stm: &Stm,
        parts: &Parts<'_>,
        states: &[Rep],
        collected: &Collected,
    ) -> Result<Vec<Atom>> {
        let mut slots = collected.params.iter();
        let mut out = Vec::new();
        let mut slot = || *slots.next().expect("as many as collectors made");
        for ((p, q), rep) in stm.pat.iter().zip(&parts.params).zip(states) {
            let value = match rep {
                Rep::Scalar(ex) => ex.clone(),
                Rep::Array(arr) => {
                    let packed = self.pack(done, arr, &q.ty);
                    let packed = self.viewable(done, &packed, &q.ty);
                    let base = slot();
                    let views: Vec<FDim> = (1..p.ty.rank()).map(|_| FDim::View(slot().var)).collect();
                    let src =
                        if p.ty.is_desc() { Src::Desc(base.var) } else { Src::Data(base.var, p.ty.prim()) };
                    let (src, inner, offsets) = self.join_views(&[Arr::whole(src, views), packed.clone()], true);
                    match src {
                        Src::Data(v, _) | Src::Desc(v) => out.push(v.into()),
                        Src::Iota | Src::Splat(_) => unreachable!("joined"),
                    }
                    for d in inner {
                        if let FDim::View(s) = d {
                            out.push(s.into());
                        }
                    }
                    self.add(packed.start, Ex::Atom(offsets[1]))
                }
            };
            let target = slot();
            let Ty::Array(prim) = target.ty else { unreachable!("results are arrays") };
            out.push(self.scatter_back(level, done, target.var, prim, &value).into());
        }
        Ok(out)
    }

    /// Binds the loop's pattern to what was collected.
    fn bind_collected(&mut self, level: LevelId, pat: &[Param], results: &Collected) {
        let extent = self.extent(level);
        let mut slots = results.params.iter();
        let mut slot = || slots.next().expect("as many as collectors made").var;
        for p in pat {
            let base = (!p.ty.is_scalar()).then(&mut slot);
            let inner: Vec<FDim> = (1..p.ty.rank()).map(|_| FDim::View(slot())).collect();
            let own = slot();
            self.extents.insert(own, extent.clone());
            let prim = if p.ty.is_scalar() { p.ty.prim() } else { Prim::I64 };
            let ex = Ex::Load(own, prim, Rc::new(Ex::Pos(level)));
            let rep = match base {
                None => Rep::Scalar(ex),
                Some(b) => {
                    let src = if p.ty.is_desc() { Src::Desc(b) } else { Src::Data(b, p.ty.prim()) };
                    Rep::Array(Arr { src, inner, start: ex, stride: None })
                }
            };
            debug_assert!(p.ty.dims.first().is_none_or(|d| matches!(d, Dim::Size(_))));
            self.types.insert(p.var, p.ty.clone());
            self.env.insert(p.var, rep);
        }
    }
}
