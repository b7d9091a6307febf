//! Loops. A size of the state that the body leaves alone stays as it is; one that changes becomes a loop
//! parameter. Which ones change is found by trying: the body is lowered, its result is compared with the parameters, and
//! where they differ it is lowered again with more parameters, until nothing differs.
//!
//! ```text
//! loop xs while length xs > 1 do f xs
//! loop (k: i64) (xs: [k]i32) = n, xs0  while k > 1  do { …  in k', ys }
//! ```

use super::build::Block;
use super::env::Env;
use super::rebuild::Rebuild;
use super::sizes::{Declared, has_sizes};
use super::stripmine::Counted;
use super::value::Val;
use super::{Lower, R};
use crate::thir::{Expr, ExprKind, LoopForm, Pat};
use par_ir::core::{self, Body, Exp, Param, Stm};
use par_ir::hash::HashMap;
use par_ir::{Atom, Dim, Prim, Type};
use std::collections::VecDeque;

/// Form of a loop over values.
pub(super) enum Repeat<'a, 'p> {
    /// With the index's type and bound.
    For(Prim, Atom),
    While(&'a mut dyn FnMut(&mut Lower<'p>, &Val<'p>) -> R<Atom>),
}

/// Assumption about one dimension of the state.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Assumed {
    ragged: bool,
    /// Changes from iteration to iteration; dimensions of one group are always equal.
    group: Option<usize>,
}

/// Assumptions that loops turned out to need, by their bodies and for each in the order of evaluation.
type Assumptions = HashMap<*const Expr, VecDeque<Vec<Assumed>>>;

/// When a loop is tried again, the loops inside it start from what they assumed the last time, which is still needed
/// because the state around them has only become more general. Without this, every level of nesting
/// would double the number of attempts.
#[derive(Default)]
pub(super) struct Hints {
    expected: Assumptions,
    /// Of the loops lowered since the innermost attempt began.
    found: Assumptions,
}

impl Hints {
    /// Adds what the loop assumed the last time.
    fn improve(&mut self, at: Option<&Expr>, assumed: &mut [Assumed]) {
        let queue = at.and_then(|body| self.expected.get_mut(&std::ptr::from_ref(body)));
        let Some(last) = queue.and_then(VecDeque::pop_front).filter(|l| l.len() == assumed.len()) else {
            return;
        };
        for (a, last) in assumed.iter_mut().zip(last) {
            *a = Assumed { ragged: a.ragged || last.ragged, group: last.group };
        }
    }

    /// Adds a loop that is finished to those found before it.
    fn note(&mut self, at: Option<&Expr>, assumed: Vec<Assumed>, before: Assumptions) {
        let inside = std::mem::replace(&mut self.found, before);
        for (body, list) in inside {
            self.found.entry(body).or_default().extend(list);
        }
        if let Some(body) = at {
            self.found.entry(body).or_default().push_back(assumed);
        }
    }
}

/// One attempt at lowering the body.
struct Attempt<'p> {
    state: Val<'p>,
    params: Vec<Param>,
    init: Vec<Atom>,
    /// For each parameter that is a size or descriptor the position of its dimension, in order.
    dims: Vec<usize>,
    index: Option<core::Param>,
    body: Block<'p>,
    result: Val<'p>,
    cond: Option<(Block<'p>, Atom)>,
}

impl<'p> Lower<'p> {
    /// `loop pat = init for/while … do body`.
    pub fn loop_expr(
        &mut self,
        pat: &'p Pat,
        init: &'p Expr,
        form: &'p LoopForm,
        body: &'p Expr,
        env: &Env<'p>,
    ) -> R<Val<'p>> {
        let around = std::mem::take(&mut self.context.strips);
        let shape = if has_sizes(&pat.ty) { Some(self.shape(&pat.ty, env)?) } else { None };
        let start = self.loop_start(pat, init, env)?;
        let state_env = |lo: &mut Self, state: &Val<'p>| lo.iteration_env(pat, state, env);
        let finish = |lo: &mut Self, inner: &Env<'p>| {
            lo.context.looping += 1;
            let val = lo.eval(body, inner, shape.as_ref());
            lo.context.looping -= 1;
            lo.keep_sizes(val?, pat, env)
        };
        match form {
            LoopForm::For(i, bound) => {
                let Val::Scalar(n, p) = self.eval(bound, env, None)? else {
                    return Err(self.internal("a loop bound is a scalar"));
                };
                let mut step = |lo: &mut Self, state: &Val<'p>, index| {
                    let mut inner = state_env(lo, state)?;
                    inner.bind(*i, Val::Scalar(index, p));
                    finish(lo, &inner)
                };
                self.in_strips(start, Counted { at: Some(body), prim: p, bound: n, body: &mut step }, around)
            }
            LoopForm::ForIn(x, array) => {
                let source = self.source(array, env)?;
                let bound = source.len();
                let mut step = |lo: &mut Self, state: &Val<'p>, index| {
                    let elem = lo.element_of(&source, index)?;
                    let mut inner = state_env(lo, state)?;
                    lo.bind(x, elem, &mut inner)?;
                    finish(lo, &inner)
                };
                self.in_strips(
                    start,
                    Counted { at: Some(body), prim: Prim::I64, bound, body: &mut step },
                    around,
                )
            }
            LoopForm::While(cond) => {
                let mut test = |lo: &mut Self, state: &Val<'p>| {
                    let inner = state_env(lo, state)?;
                    lo.scalar(cond, &inner)
                };
                self.loop_val(Some(body), start, Repeat::While(&mut test), &mut |lo, state, _| {
                    let inner = state_env(lo, state)?;
                    finish(lo, &inner)
                })
            }
        }
    }

    /// The state before the first iteration.
    pub fn loop_start(&mut self, pat: &'p Pat, init: &'p Expr, env: &Env<'p>) -> R<Val<'p>> {
        let shape = if has_sizes(&pat.ty) { Some(self.shape(&pat.ty, env)?) } else { None };
        let start = self.eval(init, env, shape.as_ref())?;
        self.keep_sizes(start, pat, env)
    }

    /// Equates the state with the sizes of its pattern that are bound outside the loop; others may change.
    pub fn keep_sizes(&mut self, val: Val<'p>, pat: &'p Pat, env: &Env<'p>) -> R<Val<'p>> {
        if !has_sizes(&pat.ty) {
            return Ok(val);
        }
        let declared = Declared { what: "the state of the loop", span: Some(pat.span), trusted: false };
        self.enforce(val, &pat.ty, &mut env.clone(), declared)
    }

    /// Elements that a `for x in …` walks over; a range is not stored.
    pub fn source(&mut self, array: &'p Expr, env: &Env<'p>) -> R<Source<'p>> {
        if let ExprKind::Range { start, second, end, kind } = &array.kind {
            let before = self.enter(array.span);
            let range = self.range(start, second.as_deref(), end, *kind, env);
            self.place.span = before;
            return Ok(Source::Range(range?));
        }
        let val = self.eval(array, env, None)?;
        Ok(Source::Array(self.size_of(&val)?, val))
    }

    /// The value that a `for x in …` gives in an iteration.
    pub fn element_of(&mut self, source: &Source<'p>, index: Atom) -> R<Val<'p>> {
        match source {
            Source::Range(r) => Ok(Val::Scalar(self.range_at(r, index), r.prim)),
            Source::Array(_, a) => self.row(a, index),
        }
    }

    /// A loop whose condition and body are evaluated by functions of the state (and of the index). `at` is the body's
    /// text, if it has one.
    pub fn loop_val(
        &mut self,
        at: Option<&'p Expr>,
        init: Val<'p>,
        mut repeat: Repeat<'_, 'p>,
        body: &mut dyn FnMut(&mut Self, &Val<'p>, Atom) -> R<Val<'p>>,
    ) -> R<Val<'p>> {
        if init.has_fun() {
            return Err(self.function_value("a loop"));
        }
        let mut assumed: Vec<Assumed> =
            init.dims().iter().map(|d| Assumed { ragged: matches!(d, Dim::Seg(_)), group: None }).collect();
        self.hints.improve(at, &mut assumed);
        let warnings = self.diagnostics.len();
        let outside = std::mem::take(&mut self.hints.found);
        let mut again = false;
        loop {
            self.limit()?;
            let flags: Vec<bool> = assumed.iter().map(|a| a.ragged).collect();
            let init = self.ragged(&init, &flags)?;
            let found = std::mem::take(&mut self.hints.found);
            let expected = again.then(|| std::mem::replace(&mut self.hints.expected, found));
            let attempt = self.attempt(&init, &assumed, &mut repeat, body)?;
            if let Some(expected) = expected {
                self.hints.expected = expected;
            }
            let next = self.compare(&init, &assumed, &attempt)?;
            if next == assumed {
                self.hints.note(at, assumed, outside);
                return self.finish_loop(attempt, &repeat);
            }
            self.diagnostics.truncate(warnings);
            assumed = next;
            again = true;
        }
    }

    fn attempt(
        &mut self,
        init: &Val<'p>,
        assumed: &[Assumed],
        repeat: &mut Repeat<'_, 'p>,
        body: &mut dyn FnMut(&mut Self, &Val<'p>, Atom) -> R<Val<'p>>,
    ) -> R<Attempt<'p>> {
        // The parameters belong to the block of the body; the block of the condition sees them at the same level.
        let (_, (state, maker)) = self.in_block(|lo| {
            let mut maker = State {
                assumed: assumed.iter().copied(),
                position: 0,
                groups: HashMap::default(),
                params: Vec::new(),
                init: Vec::new(),
                dims: Vec::new(),
            };
            let state = lo.rebuild(init, &mut Vec::new(), &mut Vec::new(), &mut maker)?;
            Ok((state, (maker.params, maker.init, maker.dims)))
        })?;
        let (params, init, dims) = maker;
        let cond = match repeat {
            Repeat::While(test) => Some(self.in_block(|lo| test(lo, &state))?),
            Repeat::For(..) => None,
        };
        let (block, (index, result)) = self.in_block(|lo| {
            let index = match repeat {
                Repeat::For(p, _) => Some(lo.param("i", Type::scalar(*p))),
                Repeat::While(_) => None,
            };
            let i = index.as_ref().map_or(Atom::i64(0), |p| Atom::Var(p.var));
            Ok((index, body(lo, &state, i)?))
        })?;
        Ok(Attempt { state, params, init, dims, index, body: block, result, cond })
    }

    /// Assumptions for the next attempt; the same if this one was right.
    fn compare(&mut self, init: &Val<'p>, assumed: &[Assumed], attempt: &Attempt<'p>) -> R<Vec<Assumed>> {
        let (before, after) = (init.dims(), attempt.result.dims());
        if after.len() != before.len() {
            return Err(self.internal("a loop's body has another structure than its state"));
        }
        let mut groups: HashMap<(Option<usize>, Dim, Dim), usize> = HashMap::default();
        let mut out = Vec::new();
        let params = attempt.state.dims();
        for (i, a) in assumed.iter().enumerate() {
            let ragged = a.ragged || matches!(after[i], Dim::Seg(_));
            let moved = a.group.is_some() || after[i] != params[i];
            let count = groups.len();
            let group = moved.then(|| *groups.entry((a.group, before[i], after[i])).or_insert(count));
            out.push(Assumed { ragged, group });
        }
        self.below_moving(&attempt.state, &mut out, &mut 0, false);
        Ok(renumbered(&out))
    }

    /// A descriptor below a dimension that changes changes too.
    fn below_moving(&self, val: &Val<'p>, out: &mut [Assumed], next: &mut usize, moving: bool) {
        match val {
            Val::Array(_, elem) => {
                let i = *next;
                *next += 1;
                if moving && out[i].ragged && out[i].group.is_none() {
                    out[i].group = Some(1_000_000 + i);
                }
                let moving = moving || out[i].group.is_some() || out[i].ragged;
                self.below_moving(elem, out, next, moving);
            }
            Val::Tuple(vs) => vs.iter().for_each(|v| self.below_moving(v, out, next, moving)),
            Val::Record(fs) => fs.iter().for_each(|(_, v)| self.below_moving(v, out, next, moving)),
            _ => {}
        }
    }

    fn finish_loop(&mut self, attempt: Attempt<'p>, repeat: &Repeat<'_, 'p>) -> R<Val<'p>> {
        let Attempt { state, mut params, mut init, dims, index, body, result, cond } = attempt;
        // A matrix where the state is irregular gets its descriptors at the end of the body.
        let flags: Vec<bool> = state.dims().iter().map(|d| matches!(d, Dim::Seg(_))).collect();
        let (body, result) = self.resume(body, |lo| lo.ragged(&result, &flags));
        let result = result?;
        let mut results = self.loop_results(&params, &dims, &state, &result)?;
        let (mut body, mut known) = (body, HashMap::default());
        if let (Repeat::For(p, bound), Some(i)) = (repeat, &index) {
            let (stms, last) =
                self.counts_by_index(&state, (&mut params, &mut init, &mut results), (i.var, *p, *bound))?;
            body.stms.splice(0..0, stms);
            known = last;
        }
        let stays = |(p, r): (&Param, &Atom)| Atom::Var(p.var) == *r;
        if self.context.counting.is_some() && dims.is_empty() && params.iter().zip(&results).all(stays) {
            known.extend(params.iter().map(|p| p.var).zip(init));
            let mut known = Renamed { renamed: &HashMap::default(), known: &known };
            return self.rebuild(&state, &mut Vec::new(), &mut Vec::new(), &mut known);
        }
        let mut pat = Vec::new();
        let mut renamed = HashMap::default();
        for p in &params {
            let mut ty = p.ty.clone();
            rename(&mut ty, &renamed);
            let name = self.out.vars.name(p.var).to_string();
            let q = self.param(&name, ty);
            if self.facts.sizes.contains(&p.var) {
                self.facts.sizes.insert(q.var);
            }
            renamed.insert(p.var, q.var);
            pat.push(q);
        }
        let form = match (repeat, index, cond) {
            (Repeat::For(p, bound), Some(i), _) => {
                core::LoopForm::For { index: i.var, prim: *p, bound: *bound }
            }
            (_, _, Some((block, c))) => core::LoopForm::While(Body { stms: block.stms, results: vec![c] }),
            _ => return Err(self.internal("a loop without a form")),
        };
        let body = Body { stms: body.stms, results };
        let params = params.into_iter().zip(init).collect();
        let all = Stm { pat, exp: Exp::Loop { params, form, body }, span: self.place.span };
        self.without_remainders(all)?.into_iter().for_each(|stm| self.push_stm(stm));
        self.rebuild(
            &state,
            &mut Vec::new(),
            &mut Vec::new(),
            &mut Renamed { renamed: &renamed, known: &known },
        )
    }

    /// The next values of the parameters, in their order.
    fn loop_results(
        &self,
        params: &[Param],
        dims: &[usize],
        state: &Val<'p>,
        result: &Val<'p>,
    ) -> R<Vec<Atom>> {
        let (after, mut leaves) = (result.dims(), HashMap::default());
        for ((a, _), (b, _)) in state.leaves().iter().zip(result.leaves()) {
            leaves.insert(*a, b);
        }
        let mut next = dims.iter();
        params
            .iter()
            .map(|p| {
                if let Some(a) = leaves.get(&Atom::Var(p.var)) {
                    return Ok(*a);
                }
                match next.next().map(|i| after[*i]) {
                    Some(Dim::Size(a)) => Ok(a),
                    Some(Dim::Seg(s)) => Ok(Atom::Var(s)),
                    None => Err(self.internal("a loop parameter without a result")),
                }
            })
            .collect()
    }
}

/// Source of a `for … in` loop.
pub(super) enum Source<'p> {
    Range(super::range::Range),
    Array(Atom, Val<'p>),
}

impl Source<'_> {
    /// Number of iterations of the loop.
    pub fn len(&self) -> Atom {
        match self {
            Source::Range(r) => r.len,
            Source::Array(n, _) => *n,
        }
    }
}

/// Makes the parameters of a loop from its initial state.
struct State<I> {
    assumed: I,
    position: usize,
    groups: HashMap<(usize, Vec<Dim>), Dim>,
    params: Vec<Param>,
    init: Vec<Atom>,
    dims: Vec<usize>,
}

impl<'p, I: Iterator<Item = Assumed>> Rebuild<'p> for State<I> {
    fn dim(&mut self, lo: &mut Lower<'p>, dim: Dim, _old: &[Dim], new: &[Dim]) -> R<Dim> {
        let position = self.position;
        self.position += 1;
        let group = self.assumed.next().and_then(|a| a.group);
        let Some(group) = group else { return Ok(dim) };
        let above = if matches!(dim, Dim::Seg(_)) { new.to_vec() } else { Vec::new() };
        if let Some(d) = self.groups.get(&(group, above.clone())) {
            return Ok(*d);
        }
        let (param, init) = match dim {
            Dim::Size(a) => (lo.size_param("k"), a),
            Dim::Seg(s) => (lo.param("s", Type::desc(new.to_vec())), Atom::Var(s)),
        };
        let made = match dim {
            Dim::Size(_) => Dim::Size(Atom::Var(param.var)),
            Dim::Seg(_) => Dim::Seg(param.var),
        };
        self.params.push(param);
        self.init.push(init);
        self.dims.push(position);
        self.groups.insert((group, above), made);
        Ok(made)
    }

    fn leaf(&mut self, lo: &mut Lower<'p>, a: Atom, prim: Prim, _old: &[Dim], new: &[Dim]) -> R<Atom> {
        let name = match a {
            Atom::Var(v) => lo.out.vars.name(v).to_string(),
            Atom::Const(_) => "t".into(),
        };
        let p = lo.param(&name, Type::array(new.to_vec(), prim));
        let var = p.var;
        self.params.push(p);
        self.init.push(a);
        Ok(Atom::Var(var))
    }
}

/// The state with its parameters replaced by the loop's results.
struct Renamed<'a> {
    renamed: &'a HashMap<par_ir::Var, par_ir::Var>,
    /// Final values of parameters that are known without the loop.
    known: &'a HashMap<par_ir::Var, Atom>,
}

impl<'p> Rebuild<'p> for Renamed<'_> {
    fn dim(&mut self, _lo: &mut Lower<'p>, dim: Dim, _old: &[Dim], _new: &[Dim]) -> R<Dim> {
        let mut ty = Type { dims: vec![dim], elem: par_ir::Elem::Desc };
        rename(&mut ty, self.renamed);
        Ok(ty.dims[0])
    }

    fn leaf(&mut self, _lo: &mut Lower<'p>, a: Atom, _p: Prim, _old: &[Dim], _new: &[Dim]) -> R<Atom> {
        let Atom::Var(v) = a else { return Ok(a) };
        let renamed = self.renamed.get(&v).map(|v| Atom::Var(*v));
        Ok(renamed.or_else(|| self.known.get(&v).copied()).unwrap_or(a))
    }
}

/// Replaces variables in a type's dimensions.
pub(super) fn rename(ty: &mut Type, renamed: &HashMap<par_ir::Var, par_ir::Var>) {
    for d in &mut ty.dims {
        match d {
            Dim::Size(Atom::Var(v)) | Dim::Seg(v) => {
                if let Some(w) = renamed.get(v) {
                    *v = *w;
                }
            }
            Dim::Size(Atom::Const(_)) => {}
        }
    }
}

/// Groups numbered in the order of their first member, so that equal assumptions compare equal.
fn renumbered(list: &[Assumed]) -> Vec<Assumed> {
    let mut numbers = HashMap::default();
    list.iter()
        .map(|a| {
            let group = a.group.map(|g| {
                let next = numbers.len();
                *numbers.entry(g).or_insert(next)
            });
            Assumed { ragged: a.ragged, group }
        })
        .collect()
}
