//! Operators as loops that write to buffers. Buffers are still variables that change: a name of one stands for what is in it at that point.
//!
//! A statement `b = v` whose `b` is the name of a buffer says that from there on its content is the version `v`.

mod buffers;
mod operators;

use par_ir::alias::updated_by;
use par_ir::build::Statements;
use par_ir::core::{At, Body, Exp, LoopForm, Param, Repeat, Stm};
use par_ir::hash::{HashMap, HashSet};
use par_ir::stack::deeper;
use par_ir::visit::Code;
use par_ir::{Atom, Dim, Type, Var, Vars};

/// A loop whose body writes to buffers.
pub(super) struct Generated {
    pub stm: Stm,
    /// Buffers from before the loop.
    pub buffers: Vec<Param>,
    /// Names of buffers, and of arrays that are written over.
    pub names: HashMap<Var, Type>,
    /// Sizes that are known in an iteration only, each with one that is to be large enough for all.
    pub caps: Vec<(Var, Var)>,
}

/// A part of a buffer.
#[derive(Clone, PartialEq)]
struct Region {
    buffer: Var,
    at: Vec<Atom>,
}

impl Region {
    fn whole(buffer: Var) -> Region {
        Region { buffer, at: Vec::new() }
    }

    fn row(&self, i: Var) -> Region {
        Region { buffer: self.buffer, at: [&self.at[..], &[i.into()]].concat() }
    }
}

/// Destinations of arrays, and the arrays with new buffers.
type Places = (Vec<Region>, Vec<(Param, Var)>);

struct Generator<'v> {
    vars: &'v mut Vars,
    /// Variables of the loop: what they are is not known before it.
    inside: HashSet<Var>,
    buffers: Vec<Param>,
    names: HashMap<Var, Type>,
    caps: Vec<(Var, Var)>,
    /// Types of arrays, of the loop and from outside.
    types: HashMap<Var, Type>,
    outside: &'v HashMap<Var, Type>,
    /// The buffer, or the state of a loop, that an array is a version of.
    owned: HashMap<Var, Var>,
    /// Arrays that are what a region held when an iteration began.
    regions: HashMap<Var, Region>,
    /// State may be written over.
    over: bool,
    /// Rows and slices that are used after something was updated: they are copied.
    stale: HashSet<Var>,
    /// Sizes of the state that are never larger than at first, and what they are then.
    shrinking: &'v HashMap<Var, Atom>,
}

/// A loop as one that writes to buffers, if it has such a form.
pub(super) fn generate(
    stm: &Stm,
    (over, copies): (bool, bool),
    shrinking: &HashMap<Var, Atom>,
    outside: &HashMap<Var, Type>,
    vars: &mut Vars,
) -> Option<Generated> {
    let Exp::Loop { params, form, body } = &stm.exp else { return None };
    let inside = [stm].into_iter().flat_map(|s| s.bound()).collect();
    let (buffers, caps) = (Vec::new(), Vec::new());
    let (names, types) = (HashMap::default(), HashMap::default());
    let (owned, regions) = (HashMap::default(), HashMap::default());
    let stale = if copies { stale_views(body) } else { HashSet::default() };
    let mut g = Generator {
        vars,
        inside,
        buffers,
        names,
        caps,
        types,
        outside,
        owned,
        regions,
        over,
        stale,
        shrinking,
    };
    let exp = g.iterations(Repeat { params, form, body })?;
    let stm = Stm { exp, ..stm.clone() };
    Some(Generated { stm, buffers: g.buffers, names: g.names, caps: g.caps })
}

impl Generator<'_> {
    /// A loop whose array state starts in arrays that may be changed.
    fn iterations(&mut self, Repeat { params, form, body }: Repeat) -> Option<Exp> {
        for (p, init) in params.iter().filter(|(p, _)| !p.ty.is_scalar()) {
            let buffer = init.var().and_then(|v| self.owned.get(&v).copied());
            self.owned.insert(p.var, buffer.unwrap_or(p.var));
            p.ty.is_regular().then_some(())?;
            self.note(p);
        }
        let form = match form {
            LoopForm::While(cond) => LoopForm::While(self.alone(cond)?),
            counted => counted.clone(),
        };
        let mut code = Statements::default();
        for (i, stm) in body.stms.iter().enumerate() {
            code.span = stm.span;
            let (rest, dests) = (&body.stms[i + 1..], vec![None; stm.pat.len()]);
            let dests = self.dests_over(stm, rest, params, &body.results, dests, &mut code);
            deeper(|| self.stm(stm, dests.clone(), &mut code))?;
            for (p, d) in stm.pat.iter().zip(dests) {
                if let Some(d) = d {
                    self.alias(p, d.buffer, &mut code);
                }
            }
        }
        let mut results = Vec::new();
        for ((p, _), a) in params.iter().zip(&body.results) {
            results.push(if p.ty.is_scalar() { *a } else { self.next_state(p, *a, &mut code)? });
        }
        let params = params.iter().map(|(p, a)| (Param { ty: self.roomy(&p.ty), ..p.clone() }, *a)).collect();
        Some(Exp::Loop { params, form, body: code.results(results) })
    }

    /// A body whose results stay results.
    fn alone(&mut self, body: &Body) -> Option<Body> {
        let mut code = Statements::default();
        self.body(body, &vec![None; body.results.len()], &mut code)?;
        Some(code.results(body.results.clone()))
    }

    /// The next value of array state: a version of it, or copied to where it is.
    fn next_state(&mut self, p: &Param, a: Atom, out: &mut Statements) -> Option<Atom> {
        let v = a.var()?;
        let own = self.owned.get(&p.var).copied()?;
        if self.owned.get(&v) == Some(&own) {
            return Some(a);
        }
        let name = self.name(&p.ty, self.latest(p.var, own, &out.stms), out);
        self.write(&Region::whole(name), a, out)?;
        let last = Param { var: self.vars.fresh_like(p.var), ty: self.roomy(&p.ty) };
        self.note(&last);
        out.bind(vec![last.clone()], Exp::Atom(name.into()));
        self.owned.insert(last.var, own);
        self.mark(own, last.var, out);
        Some(last.var.into())
    }

    /// The latest version of a loop's state in an iteration.
    fn latest(&self, state: Var, own: Var, iteration: &[Stm]) -> Var {
        let is_version = |v: &Var| self.owned.get(v) == Some(&own) && !self.names.contains_key(v);
        iteration.iter().rev().flat_map(|s| &s.pat).map(|p| p.var).find(is_version).unwrap_or(state)
    }

    /// Destinations of a map's or a filter's results, which may overwrite the state of a loop that they are the next value of: it is read by that
    /// operator only, row by row, and no row is written before it was read.
    fn dests_over(
        &mut self,
        stm: &Stm,
        rest: &[Stm],
        params: &[(Param, Atom)],
        results: &[Atom],
        mut dests: Vec<Option<Region>>,
        out: &mut Statements,
    ) -> Vec<Option<Region>> {
        let (Exp::Map { inputs, lam, .. } | Exp::Filter { inputs, lam, .. }) = &stm.exp else { return dests };
        if !self.over {
            return dests;
        }
        for (dest, p) in dests.iter_mut().zip(&stm.pat) {
            let Some(k) = only_result(p.var, rest, results) else { continue };
            let own = self.owned.get(&params[k].0.var).copied();
            let state = |v: &&Var| self.owned.get(v).copied() == own && own.is_some();
            let Some(v) = inputs.iter().find(state).copied() else { continue };
            let read = rest.iter().any(|s| s.mentions(v)) || lam.mentions(v) || results.contains(&v.into());
            if !read && self.roomy(&params[k].0.ty) == self.room_of(stm, p) {
                let name = self.name(&p.ty, v, out);
                self.owned.extend(own.map(|own| (name, own)));
                self.regions.insert(v, Region::whole(name));
                *dest = Some(Region::whole(name));
            }
        }
        dests
    }

    /// The type with room for all that an operator may result in.
    fn room_of(&self, stm: &Stm, p: &Param) -> Type {
        let mut ty = self.roomy(&p.ty);
        if let (Exp::Filter { width, .. }, Some(d)) = (&stm.exp, ty.dims.first_mut()) {
            *d = Dim::Size(*width);
        }
        self.roomy(&ty)
    }

    /// Statements, with those results that have a region written there.
    fn body(&mut self, body: &Body, targets: &[Option<Region>], out: &mut Statements) -> Option<()> {
        let (mut open, around) = (targets.to_vec(), out.span);
        for (i, stm) in body.stms.iter().enumerate() {
            out.span = stm.span;
            if self.update_there(stm, (&body.stms[i + 1..], &body.results), &mut open, out)? {
                continue;
            }
            let mut dest = |p: &Param| {
                let k = only_result(p.var, &body.stms[i + 1..], &body.results)?;
                if p.ty.is_scalar() || !makes_rows(&stm.exp) { None } else { open[k].take() }
            };
            let dests = stm.pat.iter().map(&mut dest).collect();
            deeper(|| self.stm(stm, dests, out))?;
        }
        out.span = body.stms.last().map(|s| s.span).unwrap_or_default();
        for (target, a) in open.iter().zip(&body.results) {
            if let Some(target) = target {
                self.write(target, *a, out)?;
            }
        }
        out.span = around;
        Some(())
    }

    /// A row with another element, where it has a region: it is copied there, and changed there.
    fn update_there(
        &mut self,
        stm: &Stm,
        (rest, results): (&[Stm], &[Atom]),
        open: &mut [Option<Region>],
        out: &mut Statements,
    ) -> Option<bool> {
        let Exp::Update { arr, at, value } = &stm.exp else { return Some(false) };
        let k = only_result(stm.pat[0].var, rest, results).filter(|_| !self.owned.contains_key(arr));
        let Some(region) = k.and_then(|k| open[k].take()) else { return Some(false) };
        self.write(&region, (*arr).into(), out)?;
        let at = [At::indices(&region.at), at.clone()].concat();
        self.put(region.buffer, at, *value, out)?;
        Some(true)
    }

    /// One statement; what has a region among `dests` is written there, and bound no more.
    fn stm(&mut self, stm: &Stm, dests: Vec<Option<Region>>, out: &mut Statements) -> Option<()> {
        stm.pat.iter().all(|p| p.ty.is_regular()).then_some(())?;
        stm.pat.iter().for_each(|p| self.note(p));
        match &stm.exp {
            Exp::Map { width, inputs, lam } => {
                let (places, new) = self.places(&stm.pat, dests)?;
                self.map((*width, inputs, lam), &places, out)?;
                self.aliases(new, out);
            }
            Exp::Reduce { width, inputs, lam, op, neutral } => {
                self.fold(stm, (*width, inputs, lam), (op, neutral), None, dests, out)?;
            }
            Exp::Scan { width, inputs, lam, op, neutral, exclusive } => {
                self.fold(stm, (*width, inputs, lam), (op, neutral), Some(*exclusive), dests, out)?;
            }
            Exp::If { cond, then, other } => self.branch(stm, *cond, [then, other], dests, out)?,
            Exp::Loop { params, form, body } => self.inner_loop(stm, Repeat { params, form, body }, out)?,
            Exp::Update { arr, at, value } => {
                let arr = self.changeable(*arr, &stm.pat[0].ty, out)?;
                let value = self.exact(*value, out);
                let exp = Exp::Update { arr, at: at.clone(), value };
                self.version(&stm.pat[0], arr, exp, out);
            }
            Exp::Scatter { dests, width, inputs, lam } => {
                self.scatter(stm, dests, (*width, inputs, lam), None, out)?;
            }
            Exp::Hist { dests, width, inputs, lam, op, .. } => {
                self.scatter(stm, dests, (*width, inputs, lam), Some(op), out)?;
            }
            Exp::Filter { width, inputs, lam } => self.filter(stm, (*width, inputs, lam), dests, out)?,
            Exp::Concat(arrs) => {
                let (places, new) = self.places(&stm.pat, dests)?;
                self.concat(&places[0], arrs, out)?;
                self.aliases(new, out);
            }
            Exp::Literal(elems, _) if stm.pat[0].ty.rank() == 1 && !elems.is_empty() => {
                self.literal(stm, elems, dests, out)?;
            }
            Exp::Atom(a) => {
                if let Some(own) = a.var().and_then(|v| self.owned.get(&v).copied()) {
                    self.owned.insert(stm.pat[0].var, own);
                }
                out.stms.push(stm.clone());
            }
            Exp::Index(..) | Exp::Slice { .. } if self.stale.contains(&stm.pat[0].var) => {
                let (p, view) = (&stm.pat[0], stm.pat[0].fresh(self.vars));
                let (places, new) = self.places(std::slice::from_ref(p), dests)?;
                self.note(&view);
                out.bind(vec![view.clone()], stm.exp.clone());
                self.write(&places[0], view.var.into(), out)?;
                self.aliases(new, out);
            }
            Exp::Prim(..) | Exp::Check { .. } | Exp::Iota(_) => out.stms.push(stm.clone()),
            Exp::Index(..) | Exp::Slice { .. } | Exp::Replicate(..) => out.stms.push(stm.clone()),
            Exp::Call(..) if stm.pat.iter().all(|p| p.ty.is_scalar()) => out.stms.push(stm.clone()),
            _ => return None,
        }
        Some(())
    }

    /// Elements of a vector, one by one.
    fn literal(
        &mut self,
        stm: &Stm,
        elems: &[Atom],
        dests: Vec<Option<Region>>,
        out: &mut Statements,
    ) -> Option<()> {
        let (places, new) = self.places(&stm.pat, dests)?;
        for (i, x) in elems.iter().enumerate() {
            let at = [&places[0].at[..], &[Atom::i64(i as i64)]].concat();
            self.write(&Region { at, ..places[0].clone() }, *x, out)?;
        }
        self.aliases(new, out);
        Some(())
    }
}

/// Rows and slices that are used by an update, or after one.
fn stale_views(body: &Body) -> HashSet<Var> {
    let mut found = HashSet::default();
    for (i, stm) in body.stms.iter().enumerate() {
        if matches!(stm.exp, Exp::Index(..) | Exp::Slice { .. }) && !stm.pat[0].ty.is_scalar() {
            let updates = |s: &Stm| {
                let mut updated = Vec::new();
                updated_by(&s.exp, &mut updated);
                !updated.is_empty()
            };
            let rest = &body.stms[i + 1..];
            let first = rest.iter().position(updates).unwrap_or(rest.len());
            if rest[first..].iter().any(|s| s.mentions(stm.pat[0].var)) {
                found.insert(stm.pat[0].var);
            }
        }
        stm.exp.own_bodies().into_iter().for_each(|b| found.extend(stale_views(b)));
    }
    found
}

/// True if results of an expression can be written row by row.
fn makes_rows(exp: &Exp) -> bool {
    matches!(exp, Exp::Map { .. } | Exp::Reduce { .. } | Exp::Scan { .. } | Exp::If { .. } | Exp::Literal(..))
}

/// Index of the result that a variable is. `None`: it is no result or several, or has other uses.
fn only_result(v: Var, rest: &[Stm], results: &[Atom]) -> Option<usize> {
    let mut places = (0..results.len()).filter(|k| results[*k] == Atom::Var(v));
    let place = places.next()?;
    (places.next().is_none() && !rest.iter().any(|s| s.mentions(v))).then_some(place)
}
