//! The versions of state in an iteration: each is the beginning of an array with room.

use par_ir::alias::reads_only;
use par_ir::build::Statements;
use par_ir::core::{At, Body, Exp, LoopForm, Param, Stm};
use par_ir::growth::Ran;
use par_ir::prim::BinOp;
use par_ir::stack::deeper;
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Dim, Type, Var, Vars};
use std::collections::HashMap;

/// An array that is the beginning of one with room.
#[derive(Clone, Copy)]
struct Version {
    /// The size of the state, as it is when an iteration begins, and that of this version.
    state: Var,
    size: Atom,
    /// Which of the arrays of this size it is.
    array: Var,
    /// By how much it is larger than the state at most.
    growth: i64,
}

pub(super) struct Versions<'v> {
    /// Sizes of state, and of arrays with room for it.
    rooms: HashMap<Var, Var>,
    known: HashMap<Var, Version>,
    /// Parts of versions, and the arrays that these are.
    views: HashMap<Var, Var>,
    /// By how much versions are larger than the state at most, by its size.
    most: HashMap<Var, i64>,
    types: &'v HashMap<Var, Type>,
    vars: &'v mut Vars,
}

/// Says of a variable if it is used after a statement.
type Later<'l> = &'l dyn Fn(Var) -> bool;

/// The elements of an array before a number.
pub(super) fn first_elements(of: &Param, len: Atom, code: &mut Statements, vars: &mut Vars) -> Var {
    let dims = std::iter::once(Dim::Size(len)).chain(of.ty.dims[1..].iter().copied()).collect();
    let exp = Exp::Slice { arr: of.var, start: Atom::i64(0), len, stride: Atom::i64(1) };
    let var = vars.fresh_like(of.var);
    code.bind(vec![Param { var, ty: Type { dims, ..of.ty.clone() } }], exp);
    var
}

impl<'v> Versions<'v> {
    pub fn new(rooms: HashMap<Var, Var>, types: &'v HashMap<Var, Type>, vars: &'v mut Vars) -> Versions<'v> {
        let (known, views, most) = (HashMap::new(), HashMap::new(), HashMap::new());
        Versions { rooms, known, views, most, types, vars }
    }

    /// By how much a version is larger than the state of a size at most.
    pub fn most(&self, size: Var) -> i64 {
        self.most.get(&size).copied().unwrap_or(0)
    }

    /// The body of a loop whose state has room.
    pub fn iteration(&mut self, params: &[(Param, Atom)], body: &Body) -> Option<Body> {
        for (p, _) in params {
            let size = p.ty.dims.first().and_then(|d| if let Dim::Size(a) = d { a.var() } else { None });
            if let Some(state) = size.filter(|v| self.rooms.contains_key(v)) {
                self.known.insert(p.var, Version { state, size: state.into(), array: p.var, growth: 0 });
            }
        }
        let mut changed = self.body(body, &|_| false)?;
        self.next(params.iter().map(|(p, _)| p.var), &mut changed)?;
        Some(changed)
    }

    /// What is behind the loop, if it appends more. `ends` are the arrays of the state and those that the loop ends with, `each` says how much an
    /// iteration appends.
    pub fn behind<'p>(
        &mut self,
        ends: impl Iterator<Item = (Var, &'p Param)>,
        each: &dyn Fn(Var) -> i64,
        rest: &Body,
    ) -> Option<Body> {
        let (most, mut found) = (self.most.clone(), Vec::new());
        for (array, end) in ends {
            let (Some(of), Some(Dim::Size(size))) = (self.known.get(&array), end.ty.dims.first()) else {
                continue;
            };
            let version = Version { state: of.state, size: *size, array: end.var, growth: each(of.state) };
            self.most.insert(of.state, 0);
            found.push((end.var, version));
        }
        self.known = found.into_iter().collect();
        self.views.clear();
        let changed = self.body(rest, &|_| false);
        let appends = self.most.values().any(|most| *most > 0);
        for (state, most) in most {
            let behind = self.most.entry(state).or_default();
            *behind = most.max(if changed.is_some() { *behind } else { 0 });
        }
        let mut changed = changed.filter(|_| appends)?;
        let mut code = Statements { span: span(rest), stms: std::mem::take(&mut changed.stms) };
        for result in &mut changed.results {
            if let Some(v) = result.var().filter(|v| self.known.contains_key(v)) {
                *result = self.part(v, &mut code).into();
            }
        }
        changed.stms = code.stms;
        Some(changed)
    }

    /// The results of an iteration: those that are next versions of state have to be versions.
    fn next(&mut self, state: impl Iterator<Item = Var>, body: &mut Body) -> Option<()> {
        let mut code = Statements { span: span(body), stms: std::mem::take(&mut body.stms) };
        for (p, result) in state.zip(&mut body.results) {
            let of = |v: &Version| v.array;
            let version = result.var().and_then(|v| self.known.get(&v)).map(of);
            match (self.known.get(&p).map(of), version) {
                (Some(array), Some(last)) if array == last => {}
                (Some(_), _) => return None,
                (None, Some(_)) => *result = self.part(result.var()?, &mut code).into(),
                (None, None) => {}
            }
        }
        body.stms = code.stms;
        Some(())
    }

    fn body(&mut self, body: &Body, after: Later) -> Option<Body> {
        let mut code = Statements::new(span(body));
        for (i, stm) in body.stms.iter().enumerate() {
            let (before, rest) = (&body.stms[..i], &body.stms[i + 1..]);
            let later =
                |v: Var| rest.iter().any(|s| s.mentions(v)) || body.results.contains(&v.into()) || after(v);
            code.span = stm.span;
            deeper(|| self.stm(stm, before, &later, &mut code))?;
        }
        Some(code.results(body.results.clone()))
    }

    fn stm(&mut self, stm: &Stm, before: &[Stm], later: Later, code: &mut Statements) -> Option<()> {
        let version = |v: &Var| self.known.get(v).copied();
        match &stm.exp {
            Exp::Atom(Atom::Var(v)) if version(v).is_some() => {
                let version = version(v)?;
                self.bind(&stm.pat[0], version, stm.exp.clone(), code);
            }
            Exp::Slice { arr, start, len, stride }
                if version(arr).is_some() && *start == Atom::i64(0) && *stride == Atom::i64(1) =>
            {
                let version = Version { size: *len, ..version(arr)? };
                self.bind(&stm.pat[0], version, Exp::Atom((*arr).into()), code);
            }
            Exp::Update { arr, value, .. }
                if version(arr).is_some() && value.var().is_none_or(|v| version(&v).is_none()) =>
            {
                let version = version(arr)?;
                self.is_last(version.array, later)?;
                self.bind(&stm.pat[0], version, stm.exp.clone(), code);
            }
            Exp::Concat(arrs)
                if version(&arrs[0]).is_some() && arrs[1..].iter().all(|v| version(v).is_none()) =>
            {
                self.appended(stm, arrs, before, later, code)?;
            }
            Exp::If { .. } => self.branch(stm, later, code)?,
            Exp::Loop { params, form, body } => self.inner(stm, (params, form, body), later, code)?,
            _ => self.other(stm, code),
        }
        Some(())
    }

    /// Binds a version, which has room.
    fn bind(&mut self, p: &Param, version: Version, exp: Exp, code: &mut Statements) {
        code.bind(vec![self.roomy(p, version)], exp);
        self.known.insert(p.var, version);
    }

    fn roomy(&self, p: &Param, version: Version) -> Param {
        let mut p = p.clone();
        p.ty.dims[0] = Dim::Size(self.rooms[&version.state].into());
        p
    }

    /// Nothing if versions of an array, or parts of them, are used later: the next update is not in place then.
    fn is_last(&self, array: Var, later: Later) -> Option<()> {
        let versions = self.known.iter().filter(|(_, v)| v.array == array).map(|(v, _)| v);
        let views = self.views.iter().filter(|(_, of)| **of == array).map(|(v, _)| v);
        versions.chain(views).all(|v| !later(*v)).then_some(())
    }

    /// What a concatenation adds to a version is written behind that.
    fn appended(
        &mut self,
        stm: &Stm,
        arrs: &[Var],
        before: &[Stm],
        later: Later,
        code: &mut Statements,
    ) -> Option<()> {
        let mut version = self.known[&arrs[0]];
        self.is_last(version.array, later)?;
        let Dim::Size(size) = stm.pat[0].ty.dims[0] else { return None };
        let (mut last, mut end) = (arrs[0], version.size);
        for arr in &arrs[1..] {
            let made = before.iter().find(|s| s.pat.iter().any(|p| p.var == *arr));
            let ty = made.map(|s| &s.pat[0].ty).or_else(|| self.types.get(arr))?;
            let Dim::Size(Atom::Const(n)) = ty.dims[0] else { return None };
            let n = n.as_i64()?;
            version.growth = version.growth.checked_add(n)?;
            // Elements that are written out are stored one by one: all is scalar code then.
            let parts: Vec<(i64, Atom)> = match made.map(|s| &s.exp) {
                Some(Exp::Literal(xs, _)) if ty.rank() == 1 => xs.iter().map(|x| (1, *x)).collect(),
                _ => vec![(n, (*arr).into())],
            };
            for (n, value) in parts {
                let at = match value {
                    value if value == (*arr).into() => At::Slice { start: end, stride: Atom::i64(1) },
                    _ => At::Index(end),
                };
                let next = self.vars.fresh_like(stm.pat[0].var);
                let p = self.roomy(&Param { var: next, ..stm.pat[0].clone() }, version);
                code.bind(vec![p], Exp::Update { arr: last, at: vec![at], value });
                end = code.arith("end", BinOp::Add, end, Atom::i64(n), self.vars);
                last = next;
            }
        }
        let most = self.most.entry(version.state).or_default();
        *most = version.growth.max(*most);
        self.bind(&stm.pat[0], Version { size, ..version }, Exp::Atom(last.into()), code);
        Some(())
    }

    fn branch(&mut self, stm: &Stm, later: Later, code: &mut Statements) -> Option<()> {
        let Exp::If { cond, then, other } = &stm.exp else { return None };
        let mut arms = [self.body(then, later)?, self.body(other, later)?];
        let mut pat = stm.pat.clone();
        for (k, p) in pat.iter_mut().enumerate() {
            let [a, b] = [0, 1].map(|i| arms[i].results[k].var().and_then(|v| self.known.get(&v)).copied());
            match (a, b, p.ty.dims.first()) {
                (None, None, _) => {}
                (Some(a), Some(b), Some(Dim::Size(size))) if a.array == b.array => {
                    let version = Version { size: *size, growth: a.growth.max(b.growth), ..a };
                    *p = self.roomy(p, version);
                    self.known.insert(p.var, version);
                }
                _ => {
                    let (of, mine) = a.map_or((b?, 1), |a| (a, 0));
                    for i in if a.is_some() && b.is_some() { 0..2 } else { mine..mine + 1 } {
                        let mut end = Statements { span: stm.span, stms: std::mem::take(&mut arms[i].stms) };
                        arms[i].results[k] = self.part(arms[i].results[k].var()?, &mut end).into();
                        arms[i].stms = end.stms;
                    }
                    self.views.insert(p.var, of.array);
                }
            }
        }
        let [then, other] = arms;
        code.bind(pat, Exp::If { cond: *cond, then, other });
        Some(())
    }

    /// A loop in an iteration. It may take elements from the end of its state.
    fn inner(
        &mut self,
        stm: &Stm,
        (params, form, body): (&[(Param, Atom)], &LoopForm, &Body),
        later: Later,
        code: &mut Statements,
    ) -> Option<()> {
        let outside: Vec<Var> = self.known.keys().chain(self.views.keys()).copied().collect();
        let after = |v: Var| outside.contains(&v) || later(v);
        let (mut params, mut pat) = (params.to_vec(), stm.pat.clone());
        for k in 0..params.len() {
            let Some(of) = params[k].1.var().and_then(|v| self.known.get(&v)).copied() else { continue };
            self.is_last(of.array, &|v| later(v) || stm.exp.bodies().into_iter().any(|b| b.mentions(v)))?;
            let [Dim::Size(size), ..] = params[k].0.ty.dims[..] else { return None };
            if let Some(i) = params.iter().position(|(p, _)| size == p.var.into()) {
                let grows =
                    Ran::iteration(&params, body, self.types).growth(body.results[i], params[i].0.var)?;
                (grows <= 0).then_some(())?;
            }
            let version = Version { size, ..of };
            self.known.insert(params[k].0.var, version);
            params[k].0 = self.roomy(&params[k].0, version);
        }
        let form = match form {
            LoopForm::While(cond) => LoopForm::While(self.body(cond, &after)?),
            counted => counted.clone(),
        };
        let mut changed = self.body(body, &after)?;
        self.next(params.iter().map(|(p, _)| p.var), &mut changed)?;
        for (p, (q, _)) in pat.iter_mut().zip(&params) {
            if let (Some(version), [Dim::Size(size), ..]) = (self.known.get(&q.var).copied(), &p.ty.dims[..])
            {
                let version = Version { size: *size, ..version };
                *p = self.roomy(p, version);
                self.known.insert(p.var, version);
            }
        }
        code.bind(pat, Exp::Loop { params, form, body: changed });
        Some(())
    }

    /// Anything else reads elements, or uses the elements that a version has.
    fn other(&mut self, stm: &Stm, code: &mut Statements) {
        let mut stm = stm.clone();
        let alone = Body { stms: vec![stm.clone()], results: vec![] };
        let mut used: Vec<Var> = self.known.keys().copied().filter(|v| stm.mentions(*v)).collect();
        used.sort();
        let of = used.first().map(|v| self.known[v].array);
        used.retain(|v| !reads_only(&alone, *v, &|_| true));
        let parts: Subst = used.into_iter().map(|v| (v, self.part(v, code).into())).collect();
        stm.exp.substitute(&parts);
        let view = |v: &Var| self.views.get(v).copied();
        let of = of.or_else(|| self.views.keys().find(|v| stm.exp.mentions(**v)).and_then(view));
        let is_view = matches!(
            stm.exp,
            Exp::Index(..) | Exp::Slice { .. } | Exp::Atom(_) | Exp::Flatten(_) | Exp::Unflatten(_)
        );
        if let Some(of) = of.filter(|_| is_view) {
            self.views.extend(stm.pat.iter().filter(|p| !p.ty.is_scalar()).map(|p| (p.var, of)));
        }
        code.stms.push(stm);
    }

    /// The elements that a version has, as an array of its own.
    fn part(&mut self, v: Var, code: &mut Statements) -> Var {
        let version = self.known[&v];
        let ty = &self.types[&version.array];
        let part = first_elements(&Param { var: v, ty: ty.clone() }, version.size, code, self.vars);
        self.views.insert(part, version.array);
        part
    }
}

fn span(body: &Body) -> par_ir::Span {
    body.stms.last().map(|s| s.span).unwrap_or_default()
}
