//! The versions of state in an iteration: prefixes of buffers.

use par_ir::alias::reads_only;
use par_ir::build::Statements;
use par_ir::core::{At, Body, Exp, LoopForm, Param, Stm};
use par_ir::growth::Ran;
use par_ir::hash::HashMap;
use par_ir::prim::BinOp;
use par_ir::stack::deeper;
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Dim, Type, Var, Vars};

/// A prefix of a buffer.
#[derive(Clone, Copy)]
struct Version {
    /// Size of the state at the beginning of the iteration.
    state: Var,
    /// Its own size.
    size: Atom,
    /// The state that it is a version of.
    array: Var,
    /// Upper bound of the difference between both sizes.
    growth: i64,
}

pub(super) struct Versions<'v> {
    /// Sizes of state to those of the buffers.
    capacities: HashMap<Var, Var>,
    known: HashMap<Var, Version>,
    /// Views of versions, to the state that these are versions of.
    views: HashMap<Var, Var>,
    /// Largest growth of a version, by the size of the state.
    most: HashMap<Var, i64>,
    types: &'v HashMap<Var, Type>,
    vars: &'v mut Vars,
}

/// Liveness after a statement.
type Live<'l> = &'l dyn Fn(Var) -> bool;

/// The prefix of an array.
pub(super) fn prefix(of: &Param, len: Atom, code: &mut Statements, vars: &mut Vars) -> Var {
    let dims = std::iter::once(Dim::Size(len)).chain(of.ty.dims[1..].iter().copied()).collect();
    let exp = Exp::Slice { arr: of.var, start: Atom::i64(0), len, stride: Atom::i64(1) };
    let var = vars.fresh_like(of.var);
    code.bind(vec![Param { var, ty: Type { dims, ..of.ty.clone() } }], exp);
    var
}

impl<'v> Versions<'v> {
    pub fn new(
        capacities: HashMap<Var, Var>,
        types: &'v HashMap<Var, Type>,
        vars: &'v mut Vars,
    ) -> Versions<'v> {
        let (known, views, most) = (HashMap::default(), HashMap::default(), HashMap::default());
        Versions { capacities, known, views, most, types, vars }
    }

    /// Largest growth of a version within an iteration, or after the loop.
    pub fn most(&self, size: Var) -> i64 {
        self.most.get(&size).copied().unwrap_or(0)
    }

    /// The body of the loop over buffers.
    pub fn iteration(&mut self, params: &[(Param, Atom)], body: &Body) -> Option<Body> {
        for (p, _) in params {
            let size = p.ty.dims.first().and_then(|d| if let Dim::Size(a) = d { a.var() } else { None });
            if let Some(state) = size.filter(|v| self.capacities.contains_key(v)) {
                self.known.insert(p.var, Version { state, size: state.into(), array: p.var, growth: 0 });
            }
        }
        let mut changed = self.body(body, &|_| false)?;
        self.next(params.iter().map(|(p, _)| p.var), &mut changed)?;
        Some(changed)
    }

    /// Converts the statements after the loop, if they append to its results. `ends` has the state and the results, `each` bounds the growth of an iteration.
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
        (0..changed.results.len()).for_each(|k| self.cut(&mut changed, k));
        Some(changed)
    }

    /// Makes a result that is a version an array of its own.
    fn cut(&mut self, body: &mut Body, k: usize) {
        if let Some(v) = body.results[k].var().filter(|v| self.known.contains_key(v)) {
            let mut code = Statements { span: span(body), stms: std::mem::take(&mut body.stms) };
            body.results[k] = self.prefix(v, &mut code).into();
            body.stms = code.stms;
        }
    }

    /// Results of an iteration: the next values of buffers must be versions of the same buffers.
    fn next(&mut self, state: impl Iterator<Item = Var>, body: &mut Body) -> Option<()> {
        for (k, p) in state.enumerate() {
            let of = |v: &Version| v.array;
            let version = body.results[k].var().and_then(|v| self.known.get(&v)).map(of);
            match self.known.get(&p).map(of) {
                None => self.cut(body, k),
                Some(array) => version.filter(|last| *last == array).map(drop)?,
            }
        }
        Some(())
    }

    fn body(&mut self, body: &Body, after: Live) -> Option<Body> {
        let mut code = Statements::new(span(body));
        for (i, stm) in body.stms.iter().enumerate() {
            let (before, rest) = (&body.stms[..i], &body.stms[i + 1..]);
            let live =
                |v: Var| rest.iter().any(|s| s.mentions(v)) || body.results.contains(&v.into()) || after(v);
            code.span = stm.span;
            deeper(|| self.stm(stm, before, &live, &mut code))?;
        }
        Some(code.results(body.results.clone()))
    }

    fn stm(&mut self, stm: &Stm, before: &[Stm], live: Live, code: &mut Statements) -> Option<()> {
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
                self.is_last(version.array, live)?;
                self.bind(&stm.pat[0], version, stm.exp.clone(), code);
            }
            Exp::Concat(arrs)
                if version(&arrs[0]).is_some() && arrs[1..].iter().all(|v| version(v).is_none()) =>
            {
                self.appended(stm, arrs, before, live, code)?;
            }
            Exp::If { .. } => self.branch(stm, live, code)?,
            Exp::Loop { params, form, body } => self.inner(stm, (params, form, body), live, code)?,
            _ => self.other(stm, code),
        }
        Some(())
    }

    /// Binds a version.
    fn bind(&mut self, p: &Param, version: Version, exp: Exp, code: &mut Statements) {
        code.bind(vec![self.extended(p, version)], exp);
        self.known.insert(p.var, version);
    }

    fn extended(&self, p: &Param, version: Version) -> Param {
        let mut p = p.clone();
        p.ty.dims[0] = Dim::Size(self.capacities[&version.state].into());
        p
    }

    /// None if another version of the state, or a view of one, is live: an update is not in place then.
    fn is_last(&self, array: Var, live: Live) -> Option<()> {
        let versions = self.known.iter().filter(|(_, v)| v.array == array).map(|(v, _)| v);
        let views = self.views.iter().filter(|(_, of)| **of == array).map(|(v, _)| v);
        versions.chain(views).all(|v| !live(*v)).then_some(())
    }

    /// Appends in place: the elements are stored behind those of the version.
    fn appended(
        &mut self,
        stm: &Stm,
        arrs: &[Var],
        before: &[Stm],
        live: Live,
        code: &mut Statements,
    ) -> Option<()> {
        let mut version = self.known[&arrs[0]];
        self.is_last(version.array, live)?;
        let Dim::Size(size) = stm.pat[0].ty.dims[0] else { return None };
        let (mut last, mut end) = (arrs[0], version.size);
        for arr in &arrs[1..] {
            let made = before.iter().find(|s| s.pat.iter().any(|p| p.var == *arr));
            let ty = made.map(|s| &s.pat[0].ty).or_else(|| self.types.get(arr))?;
            let Dim::Size(Atom::Const(n)) = ty.dims[0] else { return None };
            let n = n.as_i64()?;
            version.growth = version.growth.checked_add(n)?;
            // Elements of a literal are stored one by one, as scalar code.
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
                let p = self.extended(&Param { var: next, ..stm.pat[0].clone() }, version);
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

    fn branch(&mut self, stm: &Stm, live: Live, code: &mut Statements) -> Option<()> {
        let Exp::If { cond, then, other } = &stm.exp else { return None };
        let mut arms = [self.body(then, live)?, self.body(other, live)?];
        let mut pat = stm.pat.clone();
        for (k, p) in pat.iter_mut().enumerate() {
            let [a, b] = [0, 1].map(|i| arms[i].results[k].var().and_then(|v| self.known.get(&v)).copied());
            match (a, b, p.ty.dims.first()) {
                (Some(a), Some(b), Some(Dim::Size(size))) if a.array == b.array => {
                    let version = Version { size: *size, growth: a.growth.max(b.growth), ..a };
                    *p = self.extended(p, version);
                    self.known.insert(p.var, version);
                }
                _ => {
                    self.views.extend(a.or(b).map(|of| (p.var, of.array)));
                    arms.iter_mut().for_each(|arm| self.cut(arm, k));
                }
            }
        }
        let [then, other] = arms;
        code.bind(pat, Exp::If { cond: *cond, then, other });
        Some(())
    }

    /// An inner loop, whose state may shrink.
    fn inner(
        &mut self,
        stm: &Stm,
        (params, form, body): (&[(Param, Atom)], &LoopForm, &Body),
        live: Live,
        code: &mut Statements,
    ) -> Option<()> {
        let outside: Vec<Var> = self.known.keys().chain(self.views.keys()).copied().collect();
        let after = |v: Var| outside.contains(&v) || live(v);
        let (mut params, mut pat) = (params.to_vec(), stm.pat.clone());
        for k in 0..params.len() {
            let Some(of) = params[k].1.var().and_then(|v| self.known.get(&v)).copied() else { continue };
            self.is_last(of.array, &|v| live(v) || stm.exp.bodies().into_iter().any(|b| b.mentions(v)))?;
            let [Dim::Size(size), ..] = params[k].0.ty.dims[..] else { return None };
            if let Some(i) = params.iter().position(|(p, _)| size == p.var.into()) {
                let grows =
                    Ran::iteration(&params, body, self.types).growth(body.results[i], params[i].0.var)?;
                (grows <= 0).then_some(())?;
            }
            let version = Version { size, ..of };
            self.known.insert(params[k].0.var, version);
            params[k].0 = self.extended(&params[k].0, version);
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
                *p = self.extended(p, version);
                self.known.insert(p.var, version);
            }
        }
        code.bind(pat, Exp::Loop { params, form, body: changed });
        Some(())
    }

    /// Any other statement, which reads elements or takes the prefix as an array.
    fn other(&mut self, stm: &Stm, code: &mut Statements) {
        let mut stm = stm.clone();
        let alone = Body { stms: vec![stm.clone()], results: vec![] };
        let mut used: Vec<Var> = self.known.keys().copied().filter(|v| stm.mentions(*v)).collect();
        used.sort();
        let of = used.first().map(|v| self.known[v].array);
        used.retain(|v| !reads_only(&alone, *v, &|_| true));
        let parts: Subst = used.into_iter().map(|v| (v, self.prefix(v, code).into())).collect();
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

    /// The prefix as an array.
    fn prefix(&mut self, v: Var, code: &mut Statements) -> Var {
        let version = self.known[&v];
        let ty = &self.types[&version.array];
        let part = prefix(&Param { var: v, ty: ty.clone() }, version.size, code, self.vars);
        self.views.insert(part, version.array);
        part
    }
}

fn span(body: &Body) -> par_ir::Span {
    body.stms.last().map(|s| s.span).unwrap_or_default()
}
