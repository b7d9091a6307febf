//! Arrays that sequential code owns and updates in place: which bodies are allowed to.
//!
//! ```text
//! loop (ys = xs) for i < n do {
//!   let v  = ys[i]                 -- the latest version is read
//!   let zs = ys with [j] = v       -- from here on `ys` and its rows must not be read
//!   in (zs) }
//! ```
//!
//! All versions of an owned array are one buffer, so each may be used only until the next one exists. That holds for
//! views of it (rows, slices) too. Both arms of an `if` start from the same versions and result in one of the same
//! buffer; a loop's array parameter keeps its buffer from iteration to iteration, and only what is a parameter may be updated in a
//! loop.

use crate::core::{Body, Exp, Fun, LoopForm, Param, Stm};
use crate::hash::HashMap;
use crate::stack::deeper;
use crate::ty::{Atom, Dim, Var};
use crate::visit::Code;

/// Why a body may not update in place.
pub type Refusal = &'static str;

type Outcome = Result<(), Refusal>;

/// Version of an owned buffer that a variable names.
#[derive(Clone, Copy)]
struct Name {
    buffer: usize,
    version: usize,
    /// Not only a row or slice of it.
    whole: bool,
}

/// The owned buffers while statements are looked at in order.
#[derive(Clone, Default)]
pub struct InPlace {
    names: HashMap<Var, Name>,
    latest: Vec<usize>,
    writable: Vec<bool>,
    versions: usize,
    /// Parallel operators that result in scalars are allowed: they can be loops.
    operators: bool,
}

impl InPlace {
    /// Checks that a loop over array state may run in place, on buffers of its own for its array parameters.
    pub fn allows_loop(params: &[(Param, Atom)], form: &LoopForm, body: &Body) -> Outcome {
        let mut state = InPlace::default();
        for (p, _) in params {
            state.own_param(p)?;
        }
        let buffers = state.writable.len();
        let arrays: Vec<&Param> = params.iter().map(|(p, _)| p).collect();
        state.iteration(&arrays, &(0..buffers).collect::<Vec<_>>(), form, body, params)
    }

    /// A buffer for an array that the code owns.
    pub fn own(&mut self, v: Var) {
        self.latest.push(0);
        self.writable.push(true);
        self.replace(self.latest.len() - 1, v);
    }

    fn own_param(&mut self, p: &Param) -> Outcome {
        if p.ty.is_desc() {
            return Err("a descriptor is part of the state");
        }
        if !p.ty.is_scalar() {
            self.own(p.var);
        }
        Ok(())
    }

    /// The number of the buffer of which `a` is the latest version, if it is one.
    pub fn latest(&self, a: Atom) -> Option<usize> {
        let name = self.names.get(&a.var()?)?;
        (name.whole && self.latest[name.buffer] == name.version).then_some(name.buffer)
    }

    /// Statements in order.
    pub fn body(&mut self, body: &Body) -> Outcome {
        body.stms.iter().try_for_each(|s| deeper(|| self.stm(s)))
    }

    /// One statement.
    pub fn stm(&mut self, stm: &Stm) -> Outcome {
        match &stm.exp {
            Exp::Prim(..) | Exp::Check { .. } | Exp::Iota(_) | Exp::Lengths(_) => Ok(()),
            Exp::Atom(a) => self.alias(&stm.pat, *a, true),
            Exp::Replicate(_, a) => self.alias(&stm.pat, *a, false),
            Exp::Index(v, _) if stm.pat[0].ty.is_scalar() => self.read(*v),
            Exp::Index(v, _) | Exp::Slice { arr: v, .. } => self.alias(&stm.pat, (*v).into(), false),
            Exp::Update { arr, value, .. } => self.update(&stm.pat[0], *arr, *value),
            Exp::If { then, other, .. } => self.branch(&stm.pat, then, other),
            Exp::Loop { params, form, body } => self.inner_loop(&stm.pat, params, form, body),
            Exp::Call(_, args) => self.call(&stm.pat, args),
            exp if self.operators && exp.is_soac() && stm.pat.iter().all(|p| p.ty.is_scalar()) => {
                stm.free().into_iter().try_for_each(|v| self.read(v))
            }
            _ => Err("an operation is not sequential"),
        }
    }

    /// Checks that a function may run in place on its last parameters, so many, whose last versions are its first results.
    pub fn allows_function(fun: &Fun, count: usize) -> Outcome {
        InPlace::default().function(fun, count)
    }

    /// The same if parallel operators that result in scalars are made loops.
    pub fn allows_with_loops(fun: &Fun, count: usize) -> Outcome {
        InPlace { operators: true, ..InPlace::default() }.function(fun, count)
    }

    fn function(mut self, fun: &Fun, count: usize) -> Outcome {
        let Some(first) = fun.params.len().checked_sub(count) else {
            return Err("a result is no version of a parameter");
        };
        fun.params[first..].iter().try_for_each(|p| self.own_param(p))?;
        self.body(&fun.body)?;
        let is_last = |(k, a): (usize, &Atom)| self.latest(*a) == Some(k);
        match fun.body.results[..count].iter().enumerate().all(is_last) {
            true => Ok(()),
            false => Err("a result is no version of a parameter"),
        }
    }

    /// A call: arrays among the results are the next versions of the last arguments.
    fn call(&mut self, pat: &[Param], args: &[Atom]) -> Outcome {
        let count = pat.iter().take_while(|p| !p.ty.is_scalar()).count();
        let first = args.len().checked_sub(count);
        let Some(first) = first.filter(|_| pat[count..].iter().all(|p| p.ty.is_scalar())) else {
            return Err("a call results in arrays");
        };
        let buffers = self.results(&pat[..count], &args[first..])?;
        if buffers.iter().flatten().any(|b| !self.writable[*b]) {
            return Err("an update in a loop of what is not its state");
        }
        for v in args[..first].iter().filter_map(|a| a.var()) {
            self.read(v)?;
            if self.names.get(&v).is_some_and(|name| buffers.contains(&Some(name.buffer))) {
                return Err("a function reads an array that it updates");
            }
        }
        self.bind_results(&pat[..count], &buffers);
        Ok(())
    }

    /// The array is still what it was, or nobody changes it.
    fn read(&self, v: Var) -> Outcome {
        match self.names.get(&v) {
            Some(name) if self.latest[name.buffer] != name.version => {
                Err("an array is read after it was updated")
            }
            _ => Ok(()),
        }
    }

    fn alias(&mut self, pat: &[Param], a: Atom, whole: bool) -> Outcome {
        let Some(v) = a.var() else { return Ok(()) };
        self.read(v)?;
        if let Some(name) = self.names.get(&v).copied() {
            self.names.insert(pat[0].var, Name { whole: whole && name.whole, ..name });
        }
        Ok(())
    }

    fn update(&mut self, p: &Param, arr: Var, value: Atom) -> Outcome {
        let buffer = self.latest(arr.into()).ok_or("an update of an array that is not owned")?;
        if !self.writable[buffer] {
            return Err("an update in a loop of what is not its state");
        }
        if let Some(v) = value.var() {
            self.read(v)?;
            if self.names.get(&v).is_some_and(|name| name.buffer == buffer) {
                return Err("a row is replaced by one of the same array");
            }
        }
        self.replace(buffer, p.var);
        Ok(())
    }

    /// `v` is the next version of a buffer.
    fn replace(&mut self, buffer: usize, v: Var) {
        self.versions += 1;
        self.latest[buffer] = self.versions;
        self.names.insert(v, Name { buffer, version: self.versions, whole: true });
    }

    fn branch(&mut self, pat: &[Param], then: &Body, other: &Body) -> Outcome {
        let before = self.latest.clone();
        let mut found: Option<Vec<Option<usize>>> = None;
        for arm in [then, other] {
            self.latest.clone_from(&before);
            self.body(arm)?;
            let buffers = self.results(pat, &arm.results)?;
            self.only_changed(&before, &buffers)?;
            if found.get_or_insert_with(|| buffers.clone()) != &buffers {
                return Err("the arms of a branch result in different arrays");
            }
        }
        self.latest = before;
        self.bind_results(pat, &found.unwrap_or_default());
        Ok(())
    }

    /// Buffer of each result, whose latest version it is; `None` for scalars. Refuses other arrays, and two results with one buffer.
    fn results(&self, pat: &[Param], results: &[Atom]) -> Result<Vec<Option<usize>>, Refusal> {
        let mut buffers = Vec::new();
        for (p, a) in pat.iter().zip(results) {
            if p.ty.is_scalar() {
                buffers.push(None);
                continue;
            }
            let buffer = self.latest(*a).ok_or("a result is not an owned array")?;
            if buffers.contains(&Some(buffer)) || p.ty.is_desc() {
                return Err("an array is two results");
            }
            buffers.push(Some(buffer));
        }
        Ok(buffers)
    }

    /// Updated buffers are among the results, so that nothing can read what they were before.
    fn only_changed(&self, before: &[usize], buffers: &[Option<usize>]) -> Outcome {
        let lost = |b: usize| self.latest[b] != before[b] && !buffers.contains(&Some(b));
        if (0..before.len()).any(lost) { Err("an updated array is no result") } else { Ok(()) }
    }

    fn bind_results(&mut self, pat: &[Param], buffers: &[Option<usize>]) {
        for (p, buffer) in pat.iter().zip(buffers) {
            if let Some(b) = buffer {
                self.replace(*b, p.var);
            }
        }
    }

    fn inner_loop(
        &mut self,
        pat: &[Param],
        params: &[(Param, Atom)],
        form: &LoopForm,
        body: &Body,
    ) -> Outcome {
        let (state, initial): (Vec<&Param>, Vec<Atom>) = params.iter().map(|(p, a)| (p, *a)).unzip();
        let types: Vec<Param> = state.iter().map(|p| (*p).clone()).collect();
        let buffers = self.results(&types, &initial)?;
        // An iteration starts from what the one before left, so nothing in it may read what was there before the loop.
        self.bind_results(&types, &buffers);
        let own: Vec<usize> = buffers.iter().filter_map(|b| *b).collect();
        self.iteration(&state, &own, form, body, params)?;
        self.bind_results(pat, &buffers);
        Ok(())
    }

    /// One iteration of a loop, in which only its own buffers are writable.
    fn iteration(
        &mut self,
        state: &[&Param],
        own: &[usize],
        form: &LoopForm,
        body: &Body,
        params: &[(Param, Atom)],
    ) -> Outcome {
        keeps_shape(params)?;
        let outside = self.writable.clone();
        let before = self.latest.clone();
        self.writable.fill(false);
        if let LoopForm::While(cond) = form {
            self.body(cond)?;
        }
        for b in own {
            self.writable[*b] = outside[*b];
        }
        self.body(body)?;
        let types: Vec<Param> = state.iter().map(|p| (*p).clone()).collect();
        let found: Vec<usize> = self.results(&types, &body.results)?.into_iter().flatten().collect();
        if found != own {
            return Err("an array of a loop's state changes its place");
        }
        self.writable = outside;
        self.latest = before;
        Ok(())
    }
}

/// The sizes of a loop's array state are not part of the state.
fn keeps_shape(params: &[(Param, Atom)]) -> Outcome {
    let is_state = |v: Var| params.iter().any(|(p, _)| p.var == v);
    let varies = |d: &Dim| match d {
        Dim::Size(a) => a.var().is_some_and(is_state),
        Dim::Seg(s) => is_state(*s),
    };
    if params.iter().any(|(p, _)| p.ty.dims.iter().any(varies)) {
        return Err("the shape of a loop's state changes");
    }
    Ok(())
}
