//! Arrays of a few elements as scalars.
//!
//! ```text
//! let v : [3]f64 = [x, y, z]
//! let w : [3]f64 = map 3 v (\ a -> a * s)                  let w0 = x * s  let w1 = y * s  let w2 = z * s
//! let r = loop (u = w) for i < n do              ==>       let r0, r1, r2 = loop (u0 = w0, u1 = w1, u2 = w2) for i < n do
//!   map2 3 u v (\ a b -> a + b)                              u0 + x, u1 + y, u2 + z
//! let d = reduce 3 r (+) 0                                 let d = 0 + r0 + r1 + r2
//! ```
//!
//! An array whose sizes are constants and which has at most [`tuning::TINY_ELEMENTS`] elements needs no memory: each element is a variable. Parallel operators
//! over so few elements are written out, and so are loops of a few iterations ([`unroll`]). What cannot be done so is left, and gets its operands as arrays again. Rows of larger
//! arrays are read where they are needed, element by element.

mod elements;
mod keep;
mod operators;
mod pick;
mod sort;
mod unroll;
mod worth;

use crate::core::{At, Body, Exp, FunId, Lambda, LoopForm, Param, Stm};
use crate::hash::{HashMap, HashSet};
use crate::prim::{BinOp, PrimOp};
use crate::tuning;
use crate::ty::{Atom, Type, Var, Vars};
use crate::visit::{Code, Subst};
pub use elements::{leaves, positions, shapes, sizes};
use par_runtime::{Prim, Scalar, Span};
use worth::Limits;

/// Functions that take and give elements instead of small arrays: per parameter, true for a small array.
pub type Scalarised = HashMap<FunId, Vec<bool>>;

/// Scalarises small arrays.
pub struct Tiny<'v> {
    vars: &'v mut Vars,
    /// The elements of arrays that were scalarised.
    parts: HashMap<Var, Vec<Atom>>,
    /// Arrays among them that also exist as arrays, at no cost.
    cheap: HashSet<Var>,
    /// Rows that are read where they are.
    views: HashMap<Var, (Var, Vec<Atom>)>,
    types: HashMap<Var, Type>,
    /// Parameters of lambdas around: what differs from position to position.
    rows: HashSet<Var>,
    /// Scalars by their new names.
    subst: Subst,
    scalarised: &'v Scalarised,
    limits: Limits,
    /// Nothing but scalar code may remain.
    strict: bool,
    /// Statements that may still be written.
    budget: usize,
    /// In a loop that is being written out: none may remain in it.
    unrolling: bool,
    /// Something in the current body was scalarised that had to be.
    taken: bool,
    /// The results of the current body are folded: its elements are needed, not the row.
    folded: bool,
    /// Lambdas around the current body.
    depth: usize,
    /// Of the statement looked at last.
    span: Span,
}

impl<'v> Tiny<'v> {
    /// Knowing the types of variables bound outside.
    pub fn new(vars: &'v mut Vars, types: HashMap<Var, Type>, scalarised: &'v Scalarised) -> Tiny<'v> {
        Tiny {
            vars,
            parts: HashMap::default(),
            cheap: HashSet::default(),
            views: HashMap::default(),
            types,
            rows: HashSet::default(),
            subst: Subst::default(),
            scalarised,
            limits: Limits::ALL,
            strict: false,
            budget: tuning::TINY_STATEMENTS,
            unrolling: false,
            taken: false,
            folded: false,
            depth: 0,
            span: Span::default(),
        }
    }

    /// As part of a statement with this span.
    pub fn at(mut self, span: Span) -> Self {
        self.span = span;
        self
    }

    /// The types of all variables seen.
    pub fn types(self) -> HashMap<Var, Type> {
        self.types
    }

    /// The operator of a reduction, whose operands and results are scalars or small arrays, as one over scalars; if its body is
    /// scalar code then.
    pub fn operator(&mut self, lam: &Lambda) -> Option<Lambda> {
        let params = self.open_params(&lam.params);
        let (body, ret) = self.strictly(|t| {
            let body = t.scope(&lam.body, &lam.ret)?;
            Some((body, lam.ret.iter().flat_map(|ty| t.element_types(ty)).collect::<Vec<_>>()))
        })?;
        let lam = Lambda { params, body, ret, schedule: lam.schedule };
        lam.is_scalar().then_some(lam)
    }

    /// The body of an operator's lambda, in which everything else stays what it is. Its results may be `folded` by what comes after
    /// the operator. None if it must stay as it is.
    pub fn body(&mut self, body: &Body, folded: bool) -> Option<Body> {
        // What is in a nest that stays one, stays.
        if self.depth == 0 || self.limits.rows == tuning::TINY_ELEMENTS {
            let row = |v: &Var| self.types.get(v).filter(|_| self.rows.contains(v));
            self.limits = Limits::of(body, &row);
        }
        let (mut stms, before) = (Vec::new(), (self.taken, self.folded));
        (self.taken, self.folded) = (false, folded);
        self.depth += 1;
        self.stms(&body.stms, &body.results, &mut stms)?;
        let mut last = Vec::new();
        let span = stms.last().map_or(self.span, |s| s.span);
        let results = body.results.iter().map(|a| self.whole(*a, &mut last, span)).collect();
        // Elements that are stored together come together.
        let (literals, others): (Vec<Stm>, Vec<Stm>) =
            last.into_iter().partition(|s| matches!(s.exp, Exp::Literal(..)));
        stms.extend(literals.into_iter().chain(others));
        (self.taken, self.folded) = before;
        self.depth -= 1;
        Some(Body { stms, results })
    }

    /// The parameters and the body of a function, with parameters and results scalarised. None if it must stay as it is.
    pub fn function(&mut self, params: &[Param], body: &Body, ret: &[Param]) -> Option<(Vec<Param>, Body)> {
        self.limits = Limits::ALL;
        let params = self.open_params(params);
        let types: Vec<Type> = ret.iter().map(|p| p.ty.clone()).collect();
        let body = self.scope(body, &types);
        Some((params, body?))
    }

    fn strictly<T>(&mut self, run: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let before = std::mem::replace(&mut self.strict, true);
        let result = run(self);
        self.strict = before;
        result
    }

    /// Runs what writes scalar code, and at most so many statements of it. What it has written is taken back if it gives up.
    fn attempt(
        &mut self,
        most: usize,
        out: &mut Vec<Stm>,
        run: impl FnOnce(&mut Self, &mut Vec<Stm>) -> Option<()>,
    ) -> Option<()> {
        let (written, before) = (out.len(), self.budget);
        let allowed = if self.strict { before.min(most) } else { most };
        self.budget = allowed;
        let done = self.strictly(|t| run(t, out));
        let spent = allowed - self.budget;
        self.budget = if self.strict && done.is_some() { before - spent } else { before };
        if done.is_none() {
            out.truncate(written);
        }
        done
    }

    /// Parameters with small arrays as elements.
    fn open_params(&mut self, params: &[Param]) -> Vec<Param> {
        params.iter().flat_map(|p| self.open(p)).collect()
    }

    /// A variable as its elements, if it is a small array.
    fn open(&mut self, p: &Param) -> Vec<Param> {
        let ty = p.ty.substituted(&self.subst);
        self.types.insert(p.var, ty.clone());
        if sizes(&ty, self.limits.elements).is_none() {
            return vec![Param { var: p.var, ty }];
        }
        let element = Type::scalar(ty.prim());
        let fresh = |_| Param { var: self.vars.fresh_like(p.var), ty: element.clone() };
        let parts: Vec<Param> = (0..leaves(&ty)).map(fresh).collect();
        self.types.extend(parts.iter().map(|part| (part.var, element.clone())));
        self.parts.insert(p.var, parts.iter().map(|p| p.var.into()).collect());
        parts
    }

    fn element_types(&self, ty: &Type) -> Vec<Type> {
        match self.sizes(ty) {
            Some(_) => vec![Type::scalar(ty.prim()); leaves(ty)],
            None => vec![ty.clone()],
        }
    }

    fn sizes(&self, ty: &Type) -> Option<Vec<usize>> {
        sizes(&ty.substituted(&self.subst), self.limits.elements)
    }

    /// A nested body whose results of these types are elements.
    fn scope(&mut self, body: &Body, types: &[Type]) -> Option<Body> {
        let mut stms = Vec::new();
        self.stms(&body.stms, &body.results, &mut stms)?;
        let span = self.span;
        let mut results = Vec::new();
        for (a, ty) in body.results.iter().zip(types) {
            match self.sizes(ty) {
                Some(_) => results.extend(self.elements(a.var()?, &mut stms, span)?),
                None => results.push(self.whole(*a, &mut stms, span)),
            }
        }
        Some(Body { stms, results })
    }

    fn stms(&mut self, stms: &[Stm], results: &[Atom], out: &mut Vec<Stm>) -> Option<()> {
        for (i, stm) in stms.iter().enumerate() {
            let rest = (&stms[i + 1..], results);
            self.stm(stm, rest, out)?;
        }
        Some(())
    }

    fn stm(&mut self, stm: &Stm, rest: (&[Stm], &[Atom]), out: &mut Vec<Stm>) -> Option<()> {
        self.pay()?;
        self.span = stm.span;
        for p in &stm.pat {
            let ty = p.ty.substituted(&self.subst);
            self.types.insert(p.var, ty);
        }
        let small = stm.pat.iter().any(|p| self.sizes(&p.ty).is_some());
        match &stm.exp {
            Exp::Atom(a) if stm.pat[0].ty.is_scalar() && !stm.pat[0].ty.is_desc() => {
                let a = self.atom(*a);
                self.subst.insert(stm.pat[0].var, a);
                return Some(());
            }
            Exp::Prim(op, args) => return self.prim(stm, *op, args, out),
            Exp::Index(arr, indices) => return self.index(&stm.pat[0], *arr, indices, stm.span, out),
            Exp::If { cond, then, other } => return self.branch(stm, *cond, then, other, out),
            Exp::Loop { params, form, body } => return self.repeat(stm, params, form, body, out),
            Exp::Update { arr, at, value } => {
                return match At::only_indices(at) {
                    Some(indices) => self.update(stm, *arr, &indices, *value, out),
                    None => self.keep(stm, out),
                };
            }
            Exp::Call(f, args) if self.scalarised.contains_key(f) => return self.call(stm, *f, args, out),
            _ => {}
        }
        let made = match &stm.exp {
            Exp::Map { .. } | Exp::Reduce { .. } | Exp::Scan { .. } => {
                self.scalarise_operator(stm, rest, out)
            }
            Exp::Sort { keys, values } => self.sorted(stm, *keys, *values, out),
            _ if small => self.made(stm, out),
            _ => None,
        };
        match made {
            Some(()) => Some(()),
            None => self.keep_operator(stm, is_folded(stm, rest.0), out),
        }
    }

    /// One statement less may be written.
    fn pay(&mut self) -> Option<()> {
        if self.strict {
            self.budget = self.budget.checked_sub(1)?;
        }
        Some(())
    }

    /// The operand by its new name.
    fn atom(&self, a: Atom) -> Atom {
        a.var().and_then(|v| self.subst.get(&v)).copied().unwrap_or(a)
    }

    /// The elements of a small array; those of a row of a larger one are read.
    fn elements(&mut self, v: Var, out: &mut Vec<Stm>, span: Span) -> Option<Vec<Atom>> {
        if let Some(parts) = self.parts.get(&v) {
            return Some(parts.clone());
        }
        let ty = self.types.get(&v)?.clone();
        let sizes = self.sizes(&ty)?;
        let (arr, before) = self.views.get(&v).cloned().unwrap_or((v, vec![]));
        let read = |at: Vec<Atom>| {
            let exp = Exp::Index(arr, [before.as_slice(), &at].concat());
            self.bind(v, Type::scalar(ty.prim()), exp, span, out)
        };
        Some(positions(&sizes).into_iter().map(read).collect())
    }

    /// A statement with one result, named like `like`.
    fn bind(&mut self, like: Var, ty: Type, exp: Exp, span: Span, out: &mut Vec<Stm>) -> Atom {
        let var = self.vars.fresh_like(like);
        self.types.insert(var, ty.clone());
        out.push(Stm { pat: vec![Param { var, ty }], exp, span });
        var.into()
    }

    fn prim(&mut self, stm: &Stm, op: PrimOp, args: &[Atom], out: &mut Vec<Stm>) -> Option<()> {
        let args: Vec<Atom> = args.iter().map(|a| self.atom(*a)).collect();
        if let Some(value) = constant(op, &args) {
            self.subst.insert(stm.pat[0].var, Atom::Const(value));
        } else {
            out.push(Stm { exp: Exp::Prim(op, args), ..stm.clone() });
        }
        Some(())
    }

    /// Arrays that are made of others.
    fn made(&mut self, stm: &Stm, out: &mut Vec<Stm>) -> Option<()> {
        let p = stm.pat.first()?;
        let n: usize = self.sizes(&p.ty)?.iter().product();
        let parts = match &stm.exp {
            Exp::Atom(Atom::Var(v)) if self.parts.contains_key(v) => self.parts[v].clone(),
            Exp::Iota(_) => (0..n as i64).map(Atom::i64).collect(),
            Exp::Replicate(_, a) => {
                let row = self.element_list(*a, out, stm.span)?;
                row.iter().copied().cycle().take(n).collect()
            }
            Exp::Literal(elems, _) => self.element_lists(elems.iter().copied(), out, stm.span)?,
            Exp::Concat(arrs) => self.element_lists(arrs.iter().map(|v| (*v).into()), out, stm.span)?,
            Exp::Flatten(v) | Exp::Unflatten(v) => self.elements(*v, out, stm.span)?,
            Exp::Slice { arr, start, stride, .. } if self.strict && !self.parts.contains_key(arr) => {
                self.row_slice(p, *arr, (*start, *stride), out, stm.span)?
            }
            Exp::Slice { arr, start, len, stride } => {
                let all = self.parts.get(arr)?.clone();
                let ty = self.types.get(arr)?.clone();
                let chunk: usize = self.sizes(&ty)?[1..].iter().product();
                let [start, len, stride] = [*start, *len, *stride].map(|a| self.atom(a).as_i64());
                let (start, len, stride) = (start?, len?, stride?);
                let row = |i: i64| all.chunks(chunk.max(1)).nth((start + i * stride) as usize);
                (0..len).map(row).collect::<Option<Vec<_>>>()?.concat()
            }
            _ => return None,
        };
        if parts.len() != n {
            return None;
        }
        // What needs no memory anyway can be mapped over as it is.
        if matches!(stm.exp, Exp::Iota(_) | Exp::Replicate(..)) && !self.strict {
            self.cheap.insert(p.var);
            self.keep(stm, out)?;
        }
        self.parts.insert(p.var, parts);
        Some(())
    }

    /// The elements of a slice of an array that is not small, or of a row of one.
    fn row_slice(
        &mut self,
        p: &Param,
        arr: Var,
        (start, stride): (Atom, Atom),
        out: &mut Vec<Stm>,
        span: Span,
    ) -> Option<Vec<Atom>> {
        let (start, stride) = (self.atom(start), self.atom(stride).as_i64()?);
        let (base, before) = self.views.get(&arr).cloned().unwrap_or((arr, vec![]));
        let element = Type::scalar(p.ty.prim());
        let mut parts = Vec::new();
        for mut at in positions(&self.sizes(&p.ty)?) {
            self.pay()?;
            let distance = Atom::i64(at[0].as_i64()? * stride);
            let sum = Exp::Prim(PrimOp::Bin(BinOp::Add, Prim::I64), vec![start, distance]);
            at[0] = self.bind(p.var, Type::I64, sum, span, out);
            let read = Exp::Index(base, [before.as_slice(), &at].concat());
            parts.push(self.bind(p.var, element.clone(), read, span, out));
        }
        Some(parts)
    }

    fn element_lists(
        &mut self,
        elems: impl Iterator<Item = Atom>,
        out: &mut Vec<Stm>,
        span: Span,
    ) -> Option<Vec<Atom>> {
        let mut parts = Vec::new();
        for a in elems {
            parts.extend(self.element_list(a, out, span)?);
        }
        Some(parts)
    }

    /// A scalar, or the elements of a small array.
    fn element_list(&mut self, a: Atom, out: &mut Vec<Stm>, span: Span) -> Option<Vec<Atom>> {
        match a {
            Atom::Var(v) if self.types.get(&v).is_some_and(|t| !t.is_scalar()) => self.elements(v, out, span),
            _ => Some(vec![self.atom(a)]),
        }
    }

    fn branch(&mut self, stm: &Stm, cond: Atom, then: &Body, other: &Body, out: &mut Vec<Stm>) -> Option<()> {
        let types: Vec<Type> = stm.pat.iter().map(|p| p.ty.clone()).collect();
        let (then, other) = (self.scope(then, &types)?, self.scope(other, &types)?);
        let pat = self.open_params(&stm.pat);
        self.taken |= pat.len() > stm.pat.len();
        self.push(Stm { pat, exp: Exp::If { cond: self.atom(cond), then, other }, span: stm.span }, out)
    }

    fn repeat(
        &mut self,
        stm: &Stm,
        params: &[(Param, Atom)],
        form: &LoopForm,
        body: &Body,
        out: &mut Vec<Stm>,
    ) -> Option<()> {
        if self.unroll(stm, out).is_some() {
            return Some(());
        }
        if self.unrolling {
            return None;
        }
        let mut initial = Vec::new();
        for (p, a) in params {
            match self.sizes(&p.ty) {
                Some(_) => initial.extend(self.elements(a.var()?, out, stm.span)?),
                None => initial.push(self.whole(*a, out, stm.span)),
            }
        }
        let state: Vec<Param> = params.iter().flat_map(|(p, _)| self.open(p)).collect();
        let types: Vec<Type> = params.iter().map(|(p, _)| p.ty.clone()).collect();
        let form = match form {
            LoopForm::For { index, prim, bound } => {
                self.types.insert(*index, Type::scalar(*prim));
                LoopForm::For { index: *index, prim: *prim, bound: self.atom(*bound) }
            }
            LoopForm::While(cond) => LoopForm::While(self.scope(cond, &[Type::BOOL])?),
        };
        let body = self.scope(body, &types)?;
        self.taken |= state.len() > params.len();
        let params = state.into_iter().zip(initial).collect();
        let pat = self.open_params(&stm.pat);
        self.push(Stm { pat, exp: Exp::Loop { params, form, body }, span: stm.span }, out)
    }

    fn call(&mut self, stm: &Stm, f: FunId, args: &[Atom], out: &mut Vec<Stm>) -> Option<()> {
        // The function takes all elements, whatever is best for the code around.
        let limits = std::mem::replace(&mut self.limits, Limits::ALL);
        let mut given = Vec::new();
        for (a, is_small) in args.iter().zip(&self.scalarised[&f]) {
            match is_small {
                true => given.extend(self.element_list(*a, out, stm.span)?),
                false => given.push(self.whole(*a, out, stm.span)),
            }
        }
        let pat = self.open_params(&stm.pat);
        self.limits = limits;
        self.push(Stm { pat, exp: Exp::Call(f, given), span: stm.span }, out)
    }
}

/// True if rows that a statement makes are combined by one of those after it.
pub fn is_folded(stm: &Stm, rest: &[Stm]) -> bool {
    let made = |v: &Var| stm.pat.iter().any(|p| p.var == *v && p.ty.rank() > 1);
    let is_map = matches!(stm.exp, Exp::Map { .. });
    is_map
        && rest.iter().any(|s| match &s.exp {
            Exp::Reduce { inputs, .. }
            | Exp::Scan { inputs, .. }
            | Exp::Filter { inputs, .. }
            | Exp::Scatter { inputs, .. }
            | Exp::Hist { inputs, .. } => inputs.iter().any(made),
            _ => false,
        })
}

/// The value of an operator on constants, unless it divides by zero.
pub fn constant(op: PrimOp, args: &[Atom]) -> Option<Scalar> {
    let value = |a: &Atom| if let Atom::Const(c) = a { Some(*c) } else { None };
    op.fold(&args.iter().map(value).collect::<Option<Vec<Scalar>>>()?)
}
