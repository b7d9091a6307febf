//! Loops that only update elements of their array state: one kernel, in which every position works through its own
//! rows, one element after the other.
//!
//! ```text
//! map n (\ i -> loop (ys = xs) for j < m do { … ys with [k] = v … })
//!
//! xs' = xs of all positions, packed
//! ys  = kernel map (own xs' as state) over n { loop (ys = state) for j < m { … ys with [start + k] = v … } }
//! ```
//!
//! Nothing parallel is lost: the loop's body has no parallel operator. At the root level the kernel has a single position. What
//! the body may be is said in [`par_ir::inplace`].

use super::ex::Ex;
use super::kernel::{Group, Owned};
use super::nest::LevelId;
use super::pack::DimRep;
use super::rep::{Arr, Rep, Src};
use super::{Flattener, Result};
use par_ir::alias::root;
use par_ir::core::{At, Body, Exp, LoopForm, Param, Stm};
use par_ir::effects::Effects;
use par_ir::inplace::InPlace;
use par_ir::{Atom, Dim, Prim, Type, Var};

/// The arrays from outside that a branch updates, in the order of its array results, if it may stand in a kernel.
fn branch_roots(stm: &Stm, then: &Body, other: &Body) -> Option<Vec<Var>> {
    let mut roots = Vec::new();
    for (i, p) in stm.pat.iter().enumerate().filter(|(_, p)| !p.ty.is_scalar()) {
        let (a, b) = (root(then, then.results[i].var()?)?, root(other, other.results[i].var()?)?);
        if a != b || roots.contains(&a) || p.ty.is_desc() {
            return None;
        }
        roots.push(a);
    }
    let mut state = InPlace::default();
    roots.iter().for_each(|v| state.own(*v));
    state.stm(stm).is_ok().then_some(roots)
}

impl Flattener<'_> {
    /// True if a statement is a loop over array state, or a branch that updates arrays, which may stand in a kernel.
    pub fn is_in_place(&self, stm: &Stm) -> bool {
        let arrays = stm.pat.iter().any(|p| !p.ty.is_scalar());
        let fits = match &stm.exp {
            Exp::Loop { params, form, body } => arrays && InPlace::allows_loop(params, form, body).is_ok(),
            Exp::If { then, other, .. } => arrays && branch_roots(stm, then, other).is_some(),
            _ => false,
        };
        fits && self.calls_in_place(&stm.exp)
    }

    /// A statement that [`is_in_place`], as a kernel of its own.
    pub fn in_place(&mut self, level: LevelId, stm: &Stm) -> Result {
        self.flush();
        let (roots, exp) = self.with_roots(stm);
        let dests: Vec<(Arr, Var)> = roots.iter().map(|(v, _)| self.destination(level, *v)).collect();
        let sizes: Vec<Atom> = dests.iter().map(|(_, data)| self.builder.array_length(*data)).collect();
        let before: Vec<Option<Rep>> = roots.iter().map(|(_, v)| self.env.get(v).cloned()).collect();
        let mut g = self.take_group(level);
        for (((_, name), (arr, dest)), size) in roots.iter().zip(&dests).zip(sizes) {
            self.own(&mut g, *name, arr, *dest, size);
        }
        self.scalar_stm(&mut g, &Stm { exp, ..stm.clone() })?;
        for ((_, name), rep) in roots.iter().zip(before) {
            if let Some(rep) = rep {
                self.env.insert(*name, rep);
            }
        }
        self.close_owned(g, stm, &dests);
        self.host_results(level, stm);
        Ok(())
    }

    /// The arrays that a statement updates, each with what it is called inside, and the statement in these terms. A
    /// loop's body may read the array that its state starts from, so there the state is called otherwise.
    fn with_roots(&mut self, stm: &Stm) -> (Vec<(Var, Var)>, Exp) {
        let mut exp = stm.exp.clone();
        let mut roots = Vec::new();
        match &mut exp {
            Exp::Loop { params, .. } => {
                for (p, init) in params.iter_mut().filter(|(p, _)| !p.ty.is_scalar()) {
                    let Some(array) = init.var() else { continue };
                    let name = self.builder.vars.fresh_like(p.var);
                    self.types.insert(name, p.ty.clone());
                    *init = name.into();
                    roots.push((array, name));
                }
            }
            Exp::If { then, other, .. } => {
                let arrays = branch_roots(stm, then, other).unwrap_or_default();
                roots.extend(arrays.into_iter().map(|v| (v, v)));
            }
            _ => unreachable!("only loops and branches are in place"),
        }
        (roots, exp)
    }

    /// Makes an array known to the kernel as its own.
    fn own(&mut self, g: &mut Group, name: Var, arr: &Arr, dest: Var, size: Atom) {
        let prim = self.types[&name].prim();
        let var = self.declare_local(g, name);
        let state = Param { var, ty: Type::array(vec![Dim::Size(size)], prim) };
        g.arrays.insert(var, state.ty.clone());
        // Where each position's rows are is the same in all iterations.
        self.eval(g, &arr.start);
        self.env.insert(name, Rep::Array(Arr { src: Src::Data(var, prim), ..arr.clone() }));
        g.owned.push(Owned { dest, state, last: var.into(), out: self.builder.vars.fresh_like(dest) });
    }

    /// Closes the kernel; its arrays are the statement's, laid out like their destinations.
    fn close_owned(&mut self, mut g: Group, stm: &Stm, dests: &[(Arr, Var)]) {
        let arrays = stm.pat.iter().filter(|p| !p.ty.is_scalar());
        for ((p, (arr, dest)), owned) in arrays.zip(dests).zip(&mut g.owned) {
            owned.last = self.version(p.var.into()).into();
            owned.out = self.bind_updated(p, arr, *dest);
        }
        self.group = Some(g);
        self.flush();
    }

    /// At the root level the scalars that a kernel computed are the host's.
    fn host_results(&mut self, level: LevelId, stm: &Stm) {
        if !self.shapes.is_root(level) {
            return;
        }
        for p in stm.pat.iter().filter(|p| p.ty.is_scalar()) {
            let ex = self.ex(p.var.into());
            let a = self.host(&ex);
            self.env.insert(p.var, Rep::Scalar(Ex::Atom(a)));
        }
    }

    /// The variable of the kernel's body that holds this version of an owned array.
    fn version(&self, a: Atom) -> Var {
        match self.rep(a) {
            Rep::Array(Arr { src: Src::Data(v, _), .. }) => v,
            _ => panic!("internal error in flatten: not a version of an owned array"),
        }
    }

    /// A scalar, or a version of an owned array, as the kernel's body names it.
    pub fn local_atom(&mut self, g: &mut Group, a: Atom) -> Atom {
        match self.rep(a) {
            Rep::Scalar(ex) => self.eval(g, &ex),
            Rep::Array(_) => self.version(a).into(),
        }
    }

    /// A loop's parameter in the kernel's body, starting as `init`.
    pub fn local_param(&mut self, g: &mut Group, p: &Param, init: Atom) -> Param {
        let var = self.declare_local(g, p.var);
        let ty = match init.var().and_then(|v| g.arrays.get(&v)) {
            Some(array) => array.clone(),
            None => p.ty.clone(),
        };
        if !ty.is_scalar() {
            g.arrays.insert(var, ty.clone());
        }
        Param { var, ty }
    }

    /// Binds a CORE variable to the version `var` of the array `like`.
    pub fn bind_version(&mut self, p: &Param, like: Var, var: Var) {
        self.types.insert(p.var, p.ty.clone());
        let arr = Arr { src: Src::Data(var, p.ty.prim()), ..self.arr(like) };
        self.env.insert(p.var, Rep::Array(arr));
    }

    /// Adds a branch or loop with arrays among its results to the body.
    pub fn array_stm(&mut self, g: &mut Group, stm: &Stm, exp: Exp) {
        g.checks |= exp.has_effect();
        let (inside, likes): (Vec<Atom>, Vec<Atom>) = match (&exp, &stm.exp) {
            (Exp::If { then: a, .. }, Exp::If { then: b, .. }) => (a.results.clone(), b.results.clone()),
            (Exp::Loop { params: a, .. }, Exp::Loop { params: b, .. }) => {
                a.iter().zip(b).map(|(x, y)| (x.1, y.1)).unzip()
            }
            // The state comes last among arguments, first among results.
            (Exp::Call(_, a), Exp::Call(_, b)) => {
                let of_state = |args: &[Atom]| -> Vec<Atom> {
                    let arrays = stm.pat.iter().take_while(|p| !p.ty.is_scalar()).count();
                    let scalars = vec![Atom::i64(0); stm.pat.len() - arrays];
                    args[args.len() - arrays..].iter().copied().chain(scalars).collect()
                };
                (of_state(a), of_state(b))
            }
            _ => unreachable!("nothing else results in versions of arrays"),
        };
        let pat: Vec<Param> =
            stm.pat.iter().zip(&inside).map(|(p, before)| self.local_param(g, p, *before)).collect();
        self.push_stm(g, false, pat.clone(), exp);
        for ((p, q), like) in stm.pat.iter().zip(pat).zip(likes) {
            match like.var().filter(|_| !p.ty.is_scalar()) {
                Some(like) => self.bind_version(p, like, q.var),
                None => {
                    let ex = self.local_result(g, q.var, p.ty.prim());
                    self.env.insert(p.var, Rep::Scalar(ex));
                }
            }
        }
    }

    /// `arr with [indices] = value` in a kernel's body.
    pub fn local_update(&mut self, g: &mut Group, stm: &Stm, arr: Var, at: &[At], value: Atom) -> Result {
        let old = self.version(arr.into());
        let (target, source) = (self.rep(arr.into()), self.rep(value));
        let dims = match value {
            Atom::Var(v) => self.types.get(&v).map(|ty| self.dim_reps(ty)).unwrap_or_default(),
            Atom::Const(_) => Vec::new(),
        };
        let new = self.write_all(g, old, (target, at), source, dims)?;
        self.bind_version(&stm.pat[0], arr, new);
        Ok(())
    }

    /// Writes a scalar, or a row or part element by element, to a place in `target`; the array's next version.
    fn write_all(
        &mut self,
        g: &mut Group,
        old: Var,
        (target, mut at): (Rep, &[At]),
        source: Rep,
        mut dims: Vec<DimRep>,
    ) -> Result<Var> {
        let (mut target, mut part) = (target, None);
        while let (Rep::Array(arr), Some((first, rest))) = (&target, at.split_first()) {
            at = rest;
            match first {
                At::Index(i) => target = self.row(arr, self.ex(*i)),
                At::Slice { start, stride } => {
                    part = Some(self.sliced(arr.clone(), *start, *stride));
                    break;
                }
            }
        }
        let target = part.map_or(target, Rep::Array);
        let (to, from) = match (target, source) {
            (Rep::Scalar(Ex::Load(_, _, ix)), Rep::Scalar(source)) => {
                let value = self.eval(g, &source);
                let index = self.eval_checked(g, &ix);
                let at = vec![At::Index(index)];
                return Ok(self.write(g, old, Exp::Update { arr: old, at, value }));
            }
            (Rep::Array(to), Rep::Array(from)) => (to, from),
            _ => panic!("internal error in flatten: shape of an update"),
        };
        let DimRep::Width(width) = dims.remove(0) else { panic!("internal error in flatten: rank") };
        let bound = self.eval_checked(g, &width);
        let ty = g.arrays[&old].clone();
        let state = self.local_param(g, &Param { var: old, ty }, old.into());
        let index = self.declare_local(g, old);
        let i = Ex::Atom(index.into());
        let body = self.nested(g, |f, g| {
            let pair = (f.row(&to, i.clone()), f.row(&from, i.clone()));
            let dims = f.inside_at(&dims, &i);
            Ok(vec![f.write_all(g, state.var, (pair.0, at), pair.1, dims)?.into()])
        })?;
        let form = LoopForm::For { index, prim: Prim::I64, bound };
        Ok(self.write(g, old, Exp::Loop { params: vec![(state, old.into())], form, body }))
    }

    /// Adds a statement that makes the next version of an array.
    fn write(&mut self, g: &mut Group, old: Var, exp: Exp) -> Var {
        let ty = g.arrays[&old].clone();
        let new = self.local_param(g, &Param { var: old, ty }, old.into());
        self.push_stm(g, false, vec![new.clone()], exp);
        new.var
    }
}
