//! Recursion without parallelism: functions that stay inside kernels.
//!
//! ```text
//! def fib n = if n < 2 then n else fib (n-1) + fib (n-2)
//! map fib ns
//!
//! local fib (n) = …                       -- called by the kernel, with frames in memory of its own
//! kernel map { let r = call fib (ns[pos]) in r }
//! ```
//!
//! A function is local if its results are scalars, its parameters scalars and arrays, and its body scalar code and views of arrays, whose
//! calls are of local functions. Nothing parallel is lost: there is none in it. An array is passed as where it is: the array of FLAT that
//! it lies in, and its first row there; a descriptor as its offsets, and its first row, which is that of the arrays, too. Only rows of scalars may be ragged, or of arrays of
//! one size.
//!
//! ```text
//! def find (xs: []i64) x = … find xs[:m] x …
//! map (find xs) ys
//!
//! local find (n, xs: []i64, start, x) = … let r = call find (m, xs, start, x) …
//! kernel map { let r = call find (n, xs, 0, ys[pos]) in r }
//! ```
//!
//! A function that has maps and reductions has a sequential version, which runs where many positions call it ([`super::call`]).

use super::ex::Ex;
use super::host::Known;
use super::kernel::Group;
use super::nest::{FDim, LevelId};
use super::rep::{Arr, Rep, Src};
use super::sequential::sequential_version;
use super::{Flattener, Own, Result};
use par_ir::core::{Body, Exp, Fun, FunId, Param, Program, Stm};
use par_ir::hash::{HashMap, HashSet};
use par_ir::inplace::InPlace;
use par_ir::visit::{Code as _, Subst};
use par_ir::{Atom, Dim, Type, Var, Vars};

/// Functions of a program that kernels may call, and those called so far.
pub struct Locals {
    /// Per function: as scalar code, if it can be.
    funs: Vec<Option<Fun>>,
    /// Per function: scalar code only because its parallelism was made sequential, there or in what it calls.
    parallel: Vec<bool>,
    ids: HashMap<FunId, FunId>,
    called: Vec<FunId>,
}

impl Locals {
    pub fn new(program: &Program, vars: &mut Vars) -> Locals {
        let mut funs: Vec<Option<Fun>> = program.funs.iter().map(|f| scalar_version(f, vars)).collect();
        // What calls a function that is not local is not local either.
        let is_lost = |f: &Option<Fun>, funs: &[Option<Fun>]| {
            f.as_ref().is_some_and(|f| !all_calls(&f.body, &|g| funs[g.0 as usize].is_some()))
        };
        while let Some(i) = funs.iter().position(|f| is_lost(f, &funs)) {
            funs[i] = None;
        }
        // What updates arrays does it one after the other.
        let is_parallel = |f: &Fun| f.states() == 0 && has_operators(&f.body);
        let mut parallel: Vec<bool> = program.funs.iter().map(is_parallel).collect();
        let calls_parallel = |f: &Fun, parallel: &[bool]| !all_calls(&f.body, &|g| !parallel[g.0 as usize]);
        while let Some(i) =
            (0..funs.len()).find(|i| !parallel[*i] && calls_parallel(&program.funs[*i], &parallel))
        {
            parallel[i] = true;
        }
        Locals { funs, parallel, ids: HashMap::default(), called: Vec::new() }
    }

    /// True if kernels call a function because nothing in it is parallel.
    pub fn has(&self, fun: FunId) -> bool {
        self.funs[fun.0 as usize].is_some() && !self.parallel[fun.0 as usize]
    }

    /// True if a function with parallelism has a sequential version.
    pub fn has_version(&self, fun: FunId) -> bool {
        self.parallel[fun.0 as usize] && self.funs[fun.0 as usize].is_some()
    }

    /// True if an expression calls only functions of scalars without parallelism.
    pub fn has_all(&self, exp: &Exp) -> bool {
        exp.bodies().into_iter().all(|b| all_calls(b, &|f| self.has(f) && has_scalars_only(self.source(f))))
    }

    /// True if a function of kernels updates arrays.
    fn has_state(&self, fun: FunId) -> bool {
        self.source(fun).states() > 0
    }

    /// A local function as scalar code of CORE.
    fn source(&self, fun: FunId) -> &Fun {
        self.funs[fun.0 as usize].as_ref().expect("a local function")
    }

    /// The number among the FLAT program's local functions.
    pub fn call(&mut self, fun: FunId) -> FunId {
        if let Some(id) = self.ids.get(&fun) {
            return *id;
        }
        let id = FunId(self.called.len() as u32);
        self.ids.insert(fun, id);
        self.called.push(fun);
        id
    }
}

/// The function as scalar code, if it can be.
fn scalar_version(fun: &Fun, vars: &mut Vars) -> Option<Fun> {
    let states = fun.states();
    let scalars = fun.ret[states..].iter().all(|p| p.ty.is_scalar() && p.ty.is_rows_of_scalars());
    if fun.entry.is_some() || !scalars || !fun.params.iter().all(|p| p.ty.is_rows_of_scalars()) {
        return None;
    }
    if states == 0 && !has_scalars_only(fun) && !operators_call(&fun.body) {
        return None;
    }
    let has_state = states > 0;
    let body = match scalar_body(&fun.body, has_state) {
        true => fun.body.clone(),
        false => sequential_version(&fun.body, vars)?,
    };
    let fun = Fun { body, ..fun.clone() };
    (scalar_body(&fun.body, has_state) && InPlace::allows_function(&fun, states).is_ok()).then_some(fun)
}

/// Parameters in FLAT for those in CORE, or arguments: where arrays that are updated begin comes before them.
fn state_last<T>(mut all: Vec<Vec<T>>, states: usize) -> Vec<T> {
    let state = all.split_off(all.len() - states);
    let (mut rest, mut last): (Vec<T>, Vec<T>) = (all.into_iter().flatten().collect(), Vec::new());
    for of_one in state {
        let mut of_one = of_one.into_iter();
        last.extend(of_one.next());
        rest.extend(of_one);
    }
    rest.extend(last);
    rest
}

/// The descriptor of a ragged array's rows: they start where its own do.
fn rows_of(ty: &Type) -> Option<Var> {
    match ty.dims.get(1) {
        Some(Dim::Seg(desc)) => Some(*desc),
        _ => None,
    }
}

/// True if the parallel operators in a body call, or are over what calls give: those over elements of arrays are for vectors.
fn operators_call(body: &Body) -> bool {
    let mut given: HashSet<Var> = HashSet::default();
    body.stms.iter().all(|s| {
        let Some(inputs) = s.exp.inputs().filter(|_| s.exp.is_soac()) else {
            return s.exp.bodies().into_iter().all(operators_call);
        };
        let over_calls = !inputs.is_empty() && inputs.iter().all(|v| given.contains(v));
        given.extend(s.pat.iter().map(|p| p.var));
        over_calls || s.exp.lambdas().iter().any(|l| calls(&l.body))
    })
}

fn has_scalars_only(fun: &Fun) -> bool {
    fun.params.iter().all(|p| p.ty.is_scalar())
}

/// True if a parallel operator stands in a body.
pub fn has_operators(body: &Body) -> bool {
    body.stms.iter().any(|s| s.exp.is_soac() || s.exp.bodies().into_iter().any(has_operators))
}

/// Scalar code and views of arrays, but for its calls; with updates, if the function has state.
fn scalar_body(body: &Body, has_state: bool) -> bool {
    let gives_scalars = |s: &Stm| has_state || s.pat.iter().all(|p| p.ty.is_scalar());
    body.stms.iter().all(|s| match &s.exp {
        Exp::Call(..) => gives_scalars(s),
        Exp::If { .. } | Exp::Loop { .. } => {
            gives_scalars(s) && s.exp.bodies().into_iter().all(|b| scalar_body(b, has_state))
        }
        Exp::Update { .. } => has_state,
        Exp::Slice { stride, .. } => stride.as_i64() == Some(1) && s.pat[0].ty.is_rows_of_scalars(),
        Exp::Atom(_) | Exp::Index(..) => s.pat[0].ty.is_rows_of_scalars(),
        _ => s.is_scalar(),
    })
}

/// Arrays that are other arrays, or rows of them that follow each other.
#[derive(Default)]
pub struct Views(HashMap<Var, Var>);

impl Views {
    pub fn of(program: &Program) -> Views {
        let mut views = Views::default();
        program.funs.iter().for_each(|f| views.add(&f.body));
        views
    }

    fn add(&mut self, body: &Body) {
        for stm in &body.stms {
            let of = match &stm.exp {
                Exp::Atom(a) => a.var(),
                Exp::Index(arr, _) => Some(*arr),
                Exp::Slice { arr, stride, .. } if stride.as_i64() == Some(1) => Some(*arr),
                _ => None,
            };
            let view = stm.pat.first().filter(|p| !p.ty.is_scalar());
            self.0.extend(view.zip(of).map(|(p, of)| (p.var, of)));
            stm.exp.for_each_body(|b| self.add(b));
        }
    }

    /// The array that is no view itself.
    fn root(&self, mut v: Var) -> Var {
        while let Some(of) = self.0.get(&v) {
            v = *of;
        }
        v
    }
}

impl Flattener<'_> {
    /// True if a kernel may call a function with these arguments, because nothing in it is parallel.
    pub fn calls_local(&self, fun: FunId, args: &[Atom]) -> bool {
        self.locals.has(fun) && self.all_contiguous(fun, args)
    }

    /// True if an expression calls only functions of scalars, or of what they update, without parallelism.
    pub fn calls_in_place(&self, exp: &Exp) -> bool {
        let fits = |f: FunId, args: &[Atom]| {
            let locals = &self.locals;
            locals.has(f)
                && match locals.has_state(f) {
                    true => self.all_contiguous(f, args),
                    false => has_scalars_only(locals.source(f)),
                }
        };
        let mut all = true;
        exp.bodies().into_iter().for_each(|b| b.each_call(&mut |f, args| all &= fits(f, args)));
        all
    }

    /// True if a kernel may call a function with these arguments by its sequential version.
    pub fn calls_version(&self, fun: FunId, args: &[Atom]) -> bool {
        self.locals.has_version(fun) && self.all_contiguous(fun, args)
    }

    /// At the host, a statement whose calls of functions that update arrays are given packed copies of what is not contiguous, if there is such.
    pub fn with_packed_arguments(&mut self, level: LevelId, stm: &Stm) -> Option<Stm> {
        if !self.shapes.is_root(level) || !matches!(stm.exp, Exp::Loop { .. }) {
            return None;
        }
        let mut roots: Vec<Var> = Vec::new();
        let mut note = |fun: FunId, args: &[Atom]| {
            if !self.locals.has(fun) || !self.locals.has_state(fun) {
                return;
            }
            let fun = self.locals.source(fun);
            let arrays = fun
                .params
                .iter()
                .zip(args)
                .take(args.len() - fun.states())
                .filter(|(p, _)| !p.ty.is_scalar());
            for (p, v) in arrays.filter_map(|(p, a)| Some((p, self.facts.views.root(a.var()?)))) {
                let Some(ty) = self.types.get(&v).filter(|_| self.env.contains_key(&v)) else { continue };
                if !self.is_contiguous(v, p.ty.rank()) {
                    roots.extend(rows_of(ty));
                    roots.push(v);
                }
            }
        };
        stm.exp.bodies().into_iter().for_each(|b| b.each_call(&mut note));
        let mut seen = HashSet::default();
        roots.retain(|v| seen.insert(*v));
        let mut named = Subst::default();
        let mut params = Vec::new();
        for v in &roots {
            let ty = self.types[v].substituted(&named);
            let p = Param { var: self.builder.vars.fresh_like(*v), ty };
            named.insert(*v, p.var.into());
            params.push(p);
        }
        let operands: Vec<Atom> = roots.iter().map(|v| (*v).into()).collect();
        let values = self.canonical(level, &operands);
        let mut pat = self.canonical_params(level, &params);
        for (p, a) in pat.iter_mut().zip(&values) {
            p.var = a.var().expect("an array is a variable");
        }
        self.note_types(&params);
        self.adopt_canonical(level, &params, &pat);
        (!roots.is_empty()).then(|| stm.substituted(&named))
    }

    /// True if the arrays among arguments are contiguous, besides those that are state.
    fn all_contiguous(&self, fun: FunId, args: &[Atom]) -> bool {
        let fun = &self.facts.source.funs[fun.0 as usize];
        fun.params.iter().zip(args).take(args.len() - fun.states()).all(|(p, a)| match a {
            Atom::Var(v) if !p.ty.is_scalar() => self.is_contiguous(self.facts.views.root(*v), p.ty.rank()),
            _ => true,
        })
    }

    /// True if rows of this rank of an array are contiguous in one array of FLAT.
    fn is_contiguous(&self, v: Var, rank: usize) -> bool {
        let (Some(Rep::Array(arr)), Some(ty)) = (self.env.get(&v), self.types.get(&v)) else { return false };
        let outer = ty.rank() - rank;
        let (before, inner) = arr.inner.split_at(outer);
        let is_size = |(d, dim): (&FDim, &Dim)| match (d, dim) {
            (FDim::Size(m), Dim::Size(n)) => self.is_same_size(*m, *n),
            (FDim::Seg(d), Dim::Seg(s)) => self.are_rows_of(*d, arr, *s),
            _ => false,
        };
        let is_there = match arr.src {
            Src::Data(..) => !ty.is_desc(),
            Src::Desc(_) => ty.is_desc() && ty.rank() == 1,
            Src::Lens(_) | Src::Iota | Src::Splat(_) => false,
        };
        is_there
            && arr.stride.is_none()
            && before.iter().all(|d| !matches!(d, FDim::Steps(..)))
            && inner.iter().zip(&ty.dims[1 + outer..]).all(is_size)
    }

    /// A call in a kernel.
    pub fn local_call(&mut self, g: &mut Group, fun: FunId, args: &[Atom]) -> Exp {
        let Fun { params, .. } = &self.facts.source.funs[fun.0 as usize];
        let mut given = Vec::with_capacity(args.len());
        for (p, a) in params.iter().zip(args) {
            given.push(match self.rep(*a) {
                Rep::Array(Arr { src, start, stride: None, .. }) if !p.ty.is_scalar() => {
                    let data = match src {
                        Src::Data(data, _) => data,
                        Src::Desc(d) => self.builder.offsets(d),
                        _ => unreachable!("it is contiguous"),
                    };
                    let start = rows_of(&p.ty).is_none().then(|| self.eval_checked(g, &start));
                    std::iter::once(data.into()).chain(start).collect()
                }
                _ => vec![self.eval_atom(g, *a)],
            });
        }
        Exp::Call(self.locals.call(fun), state_last(given, self.locals.source(fun).states()))
    }

    /// The functions that kernels call, in the order of their numbers.
    pub fn local_functions(&mut self) -> Result<Vec<Fun>> {
        let mut funs = Vec::new();
        while let Some(fun) = self.locals.called.get(funs.len()) {
            let fun = self.locals.source(*fun).clone();
            funs.push(self.local_function(fun)?);
        }
        Ok(funs)
    }

    fn local_function(&mut self, fun: Fun) -> Result<Fun> {
        self.at(fun.span);
        self.own = Own::default();
        let mut g = self.group_for_values();
        g.is_function = true;
        let (mut params, mut body) = (Vec::new(), Body::default());
        let of_host = self.open_block(|f| {
            let all = fun.params.iter().map(|p| f.local_params(&mut g, p)).collect();
            params = state_last(all, fun.states());
            params
                .iter()
                .filter(|p| !p.ty.is_scalar())
                .for_each(|p| _ = g.arrays.insert(p.var, p.ty.clone()));
            body = f.nested(&mut g, |f, g| {
                f.scalar_stms(g, &fun.body.stms)?;
                Ok(fun.body.results.iter().map(|a| f.local_atom(g, *a)).collect())
            })?;
            Ok(())
        })?;
        assert!(of_host.stms.is_empty(), "internal error in flatten: a local function needs the host");
        let in_flat = |p: Param| match p.ty.is_scalar() {
            true => p,
            false => Param { ty: Type::flat_array(p.ty.prim()), ..p },
        };
        let ret = fun.ret.iter().cloned().map(in_flat).collect();
        Ok(Fun { params, ret, body, ..fun })
    }

    /// The parameters in FLAT for one of CORE.
    fn local_params(&mut self, g: &mut Group, p: &Param) -> Vec<Param> {
        let var = self.declare_local(g, p.var);
        if p.ty.is_scalar() {
            self.bind_local(p, Ex::Atom(var.into()));
            return vec![Param { var, ty: p.ty.clone() }];
        }
        let mut params = vec![Param { var, ty: Type::flat_array(p.ty.prim()) }];
        let start = match rows_of(&p.ty) {
            Some(desc) => self.arr(desc).start,
            None => {
                let start = self.builder.vars.fresh("start");
                g.declare(start);
                params.push(Param { var: start, ty: Type::I64 });
                Ex::Atom(start.into())
            }
        };
        let dimension = |d: &Dim| match d {
            Dim::Size(n) => FDim::Size(self.ex(*n).atom().expect("sizes are parameters or constants")),
            Dim::Seg(s) => FDim::Seg(self.arr(*s).desc().expect("descriptors are parameters")),
        };
        let inner = p.ty.dims[1..].iter().map(dimension).collect();
        let src = match p.ty.is_desc() {
            false => Src::Data(var, p.ty.prim()),
            true => {
                let desc = self.builder.vars.fresh_like(p.var);
                self.builder.learn(Known::Offsets(desc), var.into());
                Src::Desc(desc)
            }
        };
        self.bind_rep(p, Rep::Array(Arr::rows(src, inner, start)));
        params
    }
}

/// True if a body calls anything.
pub fn calls(body: &Body) -> bool {
    !all_calls(body, &|_| false)
}

fn all_calls(body: &Body, holds: &dyn Fn(FunId) -> bool) -> bool {
    let mut all = true;
    body.each_call(&mut |f, _| all &= holds(f));
    all
}

/// Per function, those that calling it may lead to.
pub fn reachable(program: &Program) -> Vec<HashSet<FunId>> {
    let callees = |f: &Fun| {
        let mut found = HashSet::default();
        f.body.each_call(&mut |g, _| found.extend([g]));
        found
    };
    let mut all: Vec<HashSet<FunId>> = program.funs.iter().map(callees).collect();
    loop {
        let next: Vec<HashSet<FunId>> = all
            .iter()
            .map(|found| found.iter().flat_map(|g| &all[g.0 as usize]).chain(found).copied().collect())
            .collect();
        if next == all {
            return all;
        }
        all = next;
    }
}
