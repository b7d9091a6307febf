//! Loops with parallel bodies.
//!
//! A loop whose trip count is the same for all positions is a host loop. Otherwise the host repeats over the **active**
//! positions:
//!
//! ```text
//! while active > 0:
//!   go = positions where the condition holds; done = the others
//!   done: scalars are scattered to the results, rows appended to them      (each position retires once)
//!   go:   what says where rows are is packed if anything retired, and the body runs on them
//! ```
//!
//! so the work is the sum of the trips, not the longest times the number of positions.
//!
//! State that iterations only update stays in one array for all positions, and is neither packed nor collected ([`super::in_place_whole`]). Other
//! rows of active positions are passed as views, so that those that go on stay where they are. The state of a host loop is passed in packed
//! form, but rows that the body leaves as they are (a slice of them, what another row was, a
//! free array) are passed as views. Which they are shows when the body has been flattened: then it is flattened once more.

use super::canonical::{Form, has_view};
use super::carried::Carried;
use super::ex::Ex;
use super::nest::{FDim, Kind, LevelId};
use super::rep::{Arr, Rep, Src};
use super::{Flattener, Result};
use par_ir::core::{Body, Exp, LoopForm, Param, Repeat, Stm};
use par_ir::flat::{self, Op, Ty};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, Dim, Prim, PrimOp, Scalar, Type, Var};
use std::rc::Rc;

/// A loop's parts.
struct Parts<'b> {
    params: Vec<Param>,
    /// Form of each parameter.
    forms: Vec<Form>,
    /// Index with its type, and bound.
    counter: Option<(Param, Atom)>,
    cond: Option<&'b Body>,
    body: &'b Body,
}

/// Collected results of retired positions, as FLAT loop parameters in this order: for a scalar its array; for rows
/// the base, the starts of inner dimensions, and each position's own start.
struct Collected {
    params: Vec<flat::Param>,
}

impl Flattener<'_> {
    /// Enters a loop: buffers made before are borrowed and must not be compacted.
    pub fn in_iterations<T>(&mut self, flatten: impl FnOnce(&mut Self) -> T) -> T {
        let around = std::mem::replace(&mut self.loop_scope, self.builder.scopes.len());
        let done = flatten(self);
        self.loop_scope = around;
        done
    }

    pub fn repeat(&mut self, level: LevelId, stm: &Stm, of: Repeat) -> Result {
        match of.form {
            LoopForm::For { index, prim, bound } => match self.ex(*bound).atom() {
                Some(bound) => self.host_for(level, stm, of, (*index, *prim, bound)),
                None => self.active_loop(level, stm, of),
            },
            LoopForm::While(cond) if self.shapes.is_root(level) || self.note_uniform(level, of) => {
                self.host_while(level, stm, of, cond)
            }
            LoopForm::While(_) => self.active_loop(level, stm, of),
        }
    }

    /// Keeps the state in place that iterations only update, if it is already or any may be; what a loop carries.
    fn enter_state(&mut self, level: LevelId, stm: &Stm, of: Repeat, any: bool) -> Vec<Param> {
        let whole = self.in_place_states(of.params, of.body);
        for (((p, init), result), _) in of.params.iter().zip(&stm.pat).zip(whole).filter(|(_, whole)| *whole)
        {
            if any || init.var().is_some_and(|v| self.as_in_place(level, v).is_some()) {
                self.keep_in_place(level, p, *init, result.var);
            }
        }
        of.params.iter().map(|(p, _)| p.clone()).collect()
    }

    /// The values before the first iteration, made where the loop stands, not inside it.
    fn initial(&mut self, level: LevelId, params: &[(Param, Atom)], forms: &[Form]) -> Vec<Atom> {
        let inside = self.builder.place;
        self.builder.place = self.builder.places.get(inside).map_or(inside, |p| p.parent);
        let values = self.formed_before(level, params, forms);
        self.builder.place = inside;
        values
    }

    fn formed_before(&mut self, level: LevelId, params: &[(Param, Atom)], forms: &[Form]) -> Vec<Atom> {
        let mut values = Vec::new();
        for ((p, a), form) in params.iter().zip(forms) {
            match (form, self.own.layouts.get(&p.var)) {
                (Form::InPlace, Some((Arr { src: Src::Data(data, _), .. }, _))) => {
                    values.push((*data).into())
                }
                _ => values.extend(self.formed(level, &[*a], &[*form])),
            }
        }
        values
    }

    /// The forms in which a loop's state is passed, as far as known.
    fn state_forms(&self, state: &[Param]) -> Vec<Form> {
        let form = |p: &Param| match p.var {
            v if self.own.layouts.contains_key(&v) => Form::InPlace,
            v if self.own.views.contains(&v) => Form::View,
            v if self.own.uniform.contains(&v) => Form::Uniform,
            _ => Form::Packed,
        };
        state.iter().map(form).collect()
    }

    /// True if state has a form as views that nobody has decided about: what is updated in place stays packed.
    fn may_be_view(&self, p: &Param) -> bool {
        has_view(&p.ty)
            && !self.own.layouts.contains_key(&p.var)
            && !self.own.views.contains(&p.var)
            && !self.facts.consumed.contains(&p.var)
    }

    /// Notes state that is to be passed as views, since its next value would have to be copied to be packed. Whether there is any new.
    fn note_views(&mut self, level: LevelId, state: &[Param], results: &[Atom]) -> bool {
        let mut found = false;
        for (p, a) in state.iter().zip(results) {
            if self.may_be_view(p) && self.is_shared(level, *a) {
                self.own.views.insert(p.var);
                found = true;
            }
        }
        found
    }

    /// Notes that all state that may be is passed as views: where positions retire at different iterations,
    /// the others would be packed again and again.
    fn pass_views(&mut self, state: &[Param]) {
        let found: Vec<Var> = state.iter().filter(|p| self.may_be_view(p)).map(|p| p.var).collect();
        self.own.views.extend(found);
    }

    /// Flattens a loop's body until the forms of its state are known. `attempt` gets them and says whether they have changed.
    fn settled<T>(
        &mut self,
        state: &[Param],
        mut attempt: impl FnMut(&mut Self, &[Form]) -> Result<(T, bool)>,
    ) -> Result<(T, Vec<Form>)> {
        loop {
            let forms = self.state_forms(state);
            let (done, changed) = attempt(self, &forms)?;
            if !changed {
                return Ok((done, forms));
            }
        }
    }

    fn host_for(
        &mut self,
        level: LevelId,
        stm: &Stm,
        of: Repeat,
        (index, prim, bound): (Var, Prim, Atom),
    ) -> Result {
        let state = self.enter_state(level, stm, of, false);
        self.note_uniform(level, of);
        let changed = self.changed_in(of.body);
        let ((vars, i, (block, carried)), forms) = self.settled(&state, |f, forms| {
            let vars = f.form_params(level, &state, forms);
            let i = flat::Param { var: f.builder.vars.fresh_like(index), ty: Ty::Scalar(prim) };
            let mut views = false;
            let iteration = f.carrying(&changed, |f| {
                f.builder.declare(&i);
                f.bind_local(&Param { var: index, ty: Type::scalar(prim) }, Ex::Atom(i.var.into()));
                f.one_iteration(level, (&state, forms, &vars), of.body, &mut views)
            })?;
            Ok(((vars, i, iteration), views))
        })?;
        let init = self.initial(level, of.params, &forms);
        let form = flat::LoopForm::For { index: i.var, prim, bound };
        self.finish_host_loop(level, stm, (vars, init, forms), form, (block, carried, &changed));
        Ok(())
    }

    fn one_iteration(
        &mut self,
        level: LevelId,
        (state, forms, vars): (&[Param], &[Form], &[flat::Param]),
        body: &Body,
        changed: &mut bool,
    ) -> Result<Vec<Atom>> {
        self.adopt(level, state, forms, vars);
        self.stms(level, &body.stms)?;
        self.flush();
        self.bind_versions(level, &versions(&body.results, state, forms))?;
        *changed = self.note_views(level, state, &body.results);
        let values = self.formed(level, &body.results, forms);
        Ok(self.compacted(level, &body.results, forms, values))
    }

    /// A loop whose condition is the host's. Under a nest it runs if there is a position.
    fn host_while(&mut self, level: LevelId, stm: &Stm, of: Repeat, cond: &Body) -> Result {
        let root = self.shapes.is_root(level);
        let state = match root {
            true => of.params.iter().map(|(p, _)| p.clone()).collect(),
            false => self.enter_state(level, stm, of, false),
        };
        let n = self.count(level);
        let changed = self.changed_in(of.body);
        let ((vars, test, (block, carried)), forms) = self.settled(&state, |f, forms| {
            let vars = f.form_params(level, &state, forms);
            let test = f.block(|f| {
                f.adopt(level, &state, forms, &vars);
                f.stms(level, &cond.stms)?;
                f.flush();
                let goes_on = f.host_atom(cond.results[0]);
                if root {
                    return Ok(vec![goes_on]);
                }
                let any = f.any(n);
                Ok(vec![f.builder.logic("goes_on", BinOp::And, any, goes_on)])
            })?;
            let mut views = false;
            let iteration = f.carrying(&changed, |f| {
                f.one_iteration(level, (&state, forms, &vars), of.body, &mut views)
            })?;
            Ok(((vars, test, iteration), views))
        })?;
        let init = self.initial(level, of.params, &forms);
        let form = flat::LoopForm::While(test);
        self.finish_host_loop(level, stm, (vars, init, forms), form, (block, carried, &changed));
        Ok(())
    }

    fn finish_host_loop(
        &mut self,
        level: LevelId,
        stm: &Stm,
        (vars, init, forms): (Vec<flat::Param>, Vec<Atom>, Vec<Form>),
        form: flat::LoopForm,
        (body, carried, changed): (flat::Block, Vec<(flat::Param, Atom)>, &[Carried]),
    ) {
        self.at(stm.span);
        let pat = self.form_params(level, &stm.pat, &forms);
        let params = vars.into_iter().zip(init).chain(carried).collect();
        let last = changed.iter().map(|state| self.next_version_of(*state));
        let all = pat.iter().copied().chain(last.collect::<Vec<_>>()).collect();
        self.builder.emit(all, Op::Loop { params, form, body });
        self.adopt(level, &stm.pat, &forms, &pat);
    }

    /// An iteration of a loop that changes states: they are its last variables. Here they stay as they were.
    fn carrying(
        &mut self,
        changed: &[Carried],
        build: impl FnOnce(&mut Self) -> Result<Vec<Atom>>,
    ) -> Result<(flat::Block, Vec<(flat::Param, Atom)>)> {
        let (built, _) = self.with_carried(|f| {
            let carried = f.enter_loop(changed);
            let block = f.block(|f| {
                carried.iter().for_each(|(p, _)| f.builder.declare(p));
                let results = build(f)?;
                let last = changed.iter().map(|state| f.carried(*state).var.into());
                Ok(results.into_iter().chain(last).collect())
            })?;
            Ok((block, carried))
        })?;
        Ok(built)
    }

    /// A loop that ends at different iterations for different positions.
    fn active_loop(&mut self, level: LevelId, stm: &Stm, of: Repeat) -> Result {
        let mut state = self.enter_state(level, stm, of, true);
        let (counter, cond) = match of.form {
            LoopForm::For { index, prim, bound } => {
                (Some((Param { var: *index, ty: Type::scalar(*prim) }, *bound)), None)
            }
            LoopForm::While(cond) => (None, Some(cond)),
        };
        state.extend(counter.iter().map(|(i, _)| i.clone()));
        let mut parts = Parts { params: state, forms: vec![], counter, cond, body: of.body };
        let n = self.count(level);
        let active = flat::Param { var: self.builder.vars.fresh("active"), ty: Ty::Scalar(Prim::I64) };
        let idx = flat::Param { var: self.builder.vars.fresh("idx"), ty: Ty::Array(Prim::I64) };
        self.builder.declare(&active);
        let anchor = self.shapes.push_level(level, Kind::Pack { idx: idx.var, n: active.var.into() });
        let state = parts.params.clone();
        self.pass_views(&state);
        let forms = self.state_forms(&state);
        parts.forms = forms.clone();
        let (collected, empty) = self.collectors(level, &stm.pat, &forms);
        let vars = self.form_params(anchor, &state, &forms);
        let test = self.block(|f| Ok(vec![f.any(active.var.into())]))?;
        let changed = self.changed_in(of.body);
        let (iteration, carried) = self
            .carrying(&changed, |f| f.active_iteration(level, anchor, idx, &parts, &vars, stm, &collected))?;
        self.at(stm.span);
        let mut init = self.initial(level, of.params, &forms[..of.params.len()]);
        if let Some((i, _)) = &parts.counter {
            let prim = i.ty.prim();
            init.push(self.builder.bind("i", Ty::Array(prim), Op::Replicate(n, Self::zero(prim))).into());
        }
        let all = self.builder.bind("all", Ty::Array(Prim::I64), Op::Iota(n));
        let mut flat_params = vec![(active, n), (idx, all.into())];
        flat_params.extend(vars.iter().copied().zip(init));
        flat_params.extend(collected.params.iter().copied().zip(empty));
        let finals: Vec<flat::Param> = flat_params
            .iter()
            .map(|(p, _)| flat::Param { var: self.builder.vars.fresh_like(p.var), ty: p.ty })
            .collect();
        flat_params.extend(carried);
        let last: Vec<flat::Param> = changed.iter().map(|state| self.next_version_of(*state)).collect();
        let op = Op::Loop { params: flat_params, form: flat::LoopForm::While(test), body: iteration };
        self.builder.emit([&finals[..], &last].concat(), op);
        let (kept, collected) = finals[2..].split_at(vars.len());
        self.bind_collected(level, &stm.pat, &forms, &Collected { params: collected.to_vec() });
        self.bind_kept_in_place(&stm.pat, &parts, kept);
        Ok(())
    }

    /// Binds the results that stay in place to what the loop's parameters are at its end.
    fn bind_kept_in_place(&mut self, pat: &[Param], parts: &Parts<'_>, kept: &[flat::Param]) {
        let mut kept = kept.iter();
        for ((p, q), form) in pat.iter().zip(&parts.params).zip(&parts.forms) {
            let last = kept.next().expect("as many as the forms have");
            match form {
                Form::InPlace => self.bind_in_place(p, q.var, last.var),
                Form::View => kept.by_ref().take(q.ty.rank()).for_each(drop),
                Form::Packed | Form::Sums | Form::Uniform => {}
            }
        }
    }

    /// One iteration: retire what is done, run the body on the rest. Results: the next loop parameters.
    #[allow(clippy::too_many_arguments)]
    fn active_iteration(
        &mut self,
        level: LevelId,
        anchor: LevelId,
        idx: flat::Param,
        parts: &Parts<'_>,
        vars: &[flat::Param],
        stm: &Stm,
        collected: &Collected,
    ) -> Result<Vec<Atom>> {
        if let Kind::Pack { n: Atom::Var(active), .. } = self.shapes.level(anchor).kind {
            self.builder.declare(&flat::Param { var: active, ty: Ty::Scalar(Prim::I64) });
        }
        self.adopt(anchor, &parts.params, &parts.forms, vars);
        let go_on = self.condition(anchor, parts)?;
        let (done, n_done) = self.select_positions(anchor, &go_on, false);
        let (go, n_go) = self.select_positions(anchor, &go_on, true);
        let retired = self.any(n_done);

        let done_level = self.shapes.push_level(anchor, Kind::Pack { idx: done, n: n_done });
        let states: Vec<Rep> = parts.params.iter().map(|p| self.rep(p.var.into())).collect();
        let keep: Vec<Atom> = collected.params.iter().map(|p| p.var.into()).collect();
        let then = self.block(|f| f.retire(level, done_level, stm, parts, &states, collected))?;
        let other = flat::Block { stms: vec![], results: keep };
        let outs = self.bind_if(retired, then, other, &collected.params);

        let go_level = self.shapes.push_level(anchor, Kind::Pack { idx: go, n: n_go });
        let packed_params = [&[idx], vars].concat();
        let rest = self.going_on((level, go_level), retired, parts, &packed_params)?;

        let run = self.any(n_go);
        let body_level = self.shapes.push_level(level, Kind::Pack { idx: rest[0].var, n: n_go });
        let body = |f: &mut Self| {
            f.adopt(body_level, &parts.params, &parts.forms, &rest[1..]);
            f.stms(body_level, &parts.body.stms)?;
            f.flush();
            let results = &parts.body.results;
            f.bind_versions(body_level, &versions(results, &parts.params, &parts.forms))?;
            let forms = &parts.forms[..results.len()];
            let values = f.formed(body_level, results, forms);
            let mut values = f.compacted(body_level, results, forms, values);
            if let Some((i, _)) = &parts.counter {
                values.push(f.next_counter(body_level, i));
            }
            Ok(values)
        };
        let (mut then, after) = self.with_carried(|f| f.block(body))?;
        let results = rest[1..].iter().map(|p| p.var.into()).collect();
        let (mut other, before) = (flat::Block { stms: vec![], results }, self.own.carried.clone());
        let mut next: Vec<flat::Param> = vars.iter().map(|p| self.fresh_param(*p)).collect();
        self.join_carried(&mut next, [(&mut then, after), (&mut other, before)]);
        self.builder.emit(next.clone(), Op::If { cond: run, versions: None, then, other });
        next.truncate(vars.len());

        let mut results = vec![n_go, rest[0].var.into()];
        results.extend(next.iter().chain(&outs).map(|p| Atom::Var(p.var)));
        Ok(results)
    }

    /// The positions that go on and the state there: packed, if some are `retired`, and else as in `params`.
    fn going_on(
        &mut self,
        (level, go_level): (LevelId, LevelId),
        retired: Atom,
        parts: &Parts<'_>,
        params: &[flat::Param],
    ) -> Result<Vec<flat::Param>> {
        let then = self.block(|f| {
            let mut values: Vec<Atom> = vec![f.store(go_level, &Ex::Pos(level)).into()];
            let atoms: Vec<Atom> = parts.params.iter().map(|p| p.var.into()).collect();
            values.extend(f.formed(go_level, &atoms, &parts.forms));
            Ok(values)
        })?;
        let unchanged = params.iter().map(|p| p.var.into()).collect();
        let other = flat::Block { stms: vec![], results: unchanged };
        Ok(self.bind_if(retired, then, other, params))
    }

    pub fn bind_if(
        &mut self,
        cond: Atom,
        then: flat::Block,
        other: flat::Block,
        like: &[flat::Param],
    ) -> Vec<flat::Param> {
        let pat: Vec<flat::Param> = like.iter().map(|p| self.fresh_param(*p)).collect();
        self.builder.emit(pat.clone(), Op::If { cond, versions: None, then, other });
        pat
    }

    fn fresh_param(&mut self, like: flat::Param) -> flat::Param {
        flat::Param { var: self.builder.vars.fresh_like(like.var), ..like }
    }

    /// The condition under which each active position goes on, as an expression at the active level.
    fn condition(&mut self, level: LevelId, parts: &Parts<'_>) -> Result<Ex> {
        if let Some(cond) = parts.cond {
            self.stms(level, &cond.stms)?;
            self.flush();
            return Ok(self.ex(cond.results[0]));
        }
        let (i, bound) = parts.counter.as_ref().expect("a loop counts or tests");
        Ok(self.scalar_at(level, "go", Type::BOOL, |f, g| {
            let operands = vec![f.eval_atom(g, i.var.into()), f.eval_atom(g, *bound)];
            Exp::Prim(PrimOp::Cmp(CmpOp::Lt, i.ty.prim()), operands)
        }))
    }

    fn next_counter(&mut self, level: LevelId, i: &Param) -> Atom {
        let ex = self.scalar_at(level, "next", i.ty.clone(), |f, g| {
            let one = Atom::Const(Scalar::from_i64(i.ty.prim(), 1));
            Exp::Prim(PrimOp::Bin(BinOp::Add, i.ty.prim()), vec![f.eval_atom(g, i.var.into()), one])
        });
        self.store(level, &ex).into()
    }

    /// Loop parameters that collect the results, and their initial values.
    fn collectors(&mut self, level: LevelId, pat: &[Param], forms: &[Form]) -> (Collected, Vec<Atom>) {
        let n = self.count(level);
        let (mut params, mut init) = (Vec::new(), Vec::new());
        let mut add = |f: &mut Self, name: &str, ty: Ty, value: Atom| {
            params.push(flat::Param { var: f.builder.vars.fresh(name), ty });
            init.push(value);
        };
        for (p, form) in pat.iter().zip(forms).filter(|(_, form)| **form != Form::InPlace) {
            let prim = if p.ty.is_scalar() { p.ty.prim() } else { Prim::I64 };
            if !p.ty.is_scalar() {
                let rows = self.form_tys(level, &p.ty, *form)[0];
                let none = self.nothing(rows);
                add(self, "rows", rows, none);
                let ty = if *form == Form::View { Ty::Rope(Prim::I64) } else { Ty::Array(Prim::I64) };
                for _ in 1..p.ty.rank() {
                    let none = self.nothing(ty);
                    add(self, "starts", ty, none);
                }
            }
            let zeros = self.builder.bind("results", Ty::Array(prim), Op::Replicate(n, Self::zero(prim)));
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
        for (k, (p, q)) in stm.pat.iter().zip(&parts.params).enumerate() {
            if parts.forms[k] == Form::InPlace {
                continue;
            }
            let value = match &states[k] {
                Rep::Scalar(ex) => ex.clone(),
                Rep::Array(_) if parts.forms[k] == Form::View => {
                    let values = self.formed(done, &[q.var.into()], &[Form::View]);
                    let bases: Vec<Var> = (0..p.ty.rank()).map(|_| slot().var).collect();
                    let values = self.compact(done, values, &q.ty, &bases);
                    let (starts, rope) = values.split_last().expect("a view has a start");
                    for (k, (base, rows)) in bases.iter().zip(rope).enumerate() {
                        let rows = rows.var().expect("a rope is a variable");
                        let prim = if k == 0 { p.ty.prim() } else { Prim::I64 };
                        out.push(self.rope_of(&[*base, rows], prim).0.into());
                    }
                    let starts = starts.var().expect("starts are a variable");
                    Ex::Load(starts, Prim::I64, Rc::new(Ex::Pos(done)))
                }
                Rep::Array(arr) => {
                    let packed = self.pack(done, arr, &q.ty);
                    let packed = self.viewable(done, &packed, &q.ty);
                    let base = slot();
                    let views: Vec<FDim> = (1..p.ty.rank()).map(|_| FDim::View(slot().var)).collect();
                    let src =
                        if p.ty.is_desc() { Src::Desc(base.var) } else { Src::Data(base.var, p.ty.prim()) };
                    let (src, inner, offset) = self.append_rows(&Arr::whole(src, views), &packed);
                    match src {
                        Src::Data(v, _) | Src::Desc(v) => out.push(v.into()),
                        Src::Lens(_) | Src::Iota | Src::Splat(_) => unreachable!("appended"),
                    }
                    for d in inner {
                        if let FDim::View(s) = d {
                            out.push(s.into());
                        }
                    }
                    self.add(packed.start, Ex::Atom(offset))
                }
            };
            let target = slot();
            let Ty::Array(prim) = target.ty else { unreachable!("results are arrays") };
            out.push(self.scatter_back(level, done, target.var, prim, &value).into());
        }
        Ok(out)
    }

    /// Binds the loop's pattern to what was collected.
    fn bind_collected(&mut self, level: LevelId, pat: &[Param], forms: &[Form], results: &Collected) {
        let extent = self.shapes.extent(level);
        let mut slots = results.params.iter();
        let mut slot = || slots.next().expect("as many as collectors made").var;
        for (p, form) in pat.iter().zip(forms).filter(|(_, form)| **form != Form::InPlace) {
            let base = (!p.ty.is_scalar()).then(&mut slot);
            let inner: Vec<FDim> = (1..p.ty.rank()).map(|_| FDim::View(slot())).collect();
            let own = slot();
            self.shapes.extents.insert(own, extent.clone());
            let prim = if p.ty.is_scalar() { p.ty.prim() } else { Prim::I64 };
            let ex = Ex::Load(own, prim, Rc::new(Ex::Pos(level)));
            let rep = match base {
                None => Rep::Scalar(ex),
                Some(b) => {
                    let src = match form {
                        Form::Packed if p.ty.is_desc() => Src::Desc(b),
                        Form::View if p.ty.is_desc() => Src::Lens(b),
                        _ => Src::Data(b, p.ty.prim()),
                    };
                    Rep::Array(Arr::rows(src, inner, ex))
                }
            };
            debug_assert!(p.ty.dims.first().is_none_or(|d| matches!(d, Dim::Size(_))));
            self.bind_rep(p, rep);
        }
    }
}

/// The results that are the next versions of state that is kept in place.
fn versions(results: &[Atom], state: &[Param], forms: &[Form]) -> Vec<(Atom, Param)> {
    let kept = results.iter().zip(state).zip(forms).filter(|(_, form)| **form == Form::InPlace);
    kept.map(|((a, p), _)| (*a, p.clone())).collect()
}
