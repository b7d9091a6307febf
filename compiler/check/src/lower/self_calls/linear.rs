//! Functions that do something with what their call gives, a few numbers.
//!
//! ```text
//! def f (xs: []f64) : f64 = if null xs then 1 else f64.sin xs[0] + 0.9 * f (tail xs)
//!
//! def f xs =
//!   let depth = loop depth = 0, at = 0, n = length xs while n > 0 do (depth + 1, at + 1, n - 1)
//!   let (ats, ns, …) = the same again, keeping (at, n) of every call
//!   let r = 1                                                              the last call
//!   in loop r for j < depth do let xs = xs[at : at + n] in f64.sin xs[0] + 0.9 * r
//! ```
//!
//! The parameters that change have to be scalars, or arrays that become shorter: of these the place where they begin is kept. Functions of scalars
//! alone stay as they are; they are called in kernels.

use super::super::build::Block;
use super::super::remainders::{Starts, slice};
use super::super::{Lower, R};
use super::{SelfCalls, call_of, can_repeat};
use par_ir::core::{At, Body, Exp, FunId, LoopForm, Param, Stm};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::visit::Subst;
use par_ir::{Atom, Dim, Prim, Scalar, Type};
use par_runtime::CheckKind;

/// Depth up to which recursion that has become loops may go.
const MAX_DEPTH: i64 = 1 << 24;

/// A function whose parameters that change are scalars.
struct Linear {
    id: FunId,
    /// The parameters that change; for an array, the index at which its part begins.
    changed: Vec<Param>,
    inits: Vec<Atom>,
    /// Their numbers among the arguments of the calls in the body.
    which: Vec<usize>,
    body: Body,
}

impl Lower<'_> {
    /// The body as loops; nothing if that cannot be.
    pub(super) fn linear_loops(&mut self, s: &SelfCalls) -> R<Option<Body>> {
        let is_array = |p: &Param| !p.ty.is_scalar() && !p.ty.is_desc();
        let ret = &self.out.funs[s.id.0 as usize].ret;
        if !s.params.iter().any(is_array) || !ret.iter().all(|p| p.ty.is_scalar()) {
            return Ok(None);
        }
        self.scope.blocks.push(Block::default());
        let made = match self.as_linear(s) {
            Ok(Some(f)) => self.descended_and_back(&f).map(Some),
            Ok(None) => Ok(None),
            Err(e) => Err(e),
        };
        let block = self.scope.blocks.pop().unwrap_or_default();
        Ok(made?.map(|results| Body { stms: block.stms, results }))
    }

    /// The function with numbers in place of arrays that become shorter.
    fn as_linear(&mut self, s: &SelfCalls) -> R<Option<Linear>> {
        let SelfCalls { id, params, args, body } = *s;
        let mut f =
            Linear { id, changed: Vec::new(), inits: Vec::new(), which: Vec::new(), body: body.clone() };
        for i in s.changed() {
            let p = &params[i];
            f.which.push(i);
            if p.ty.is_scalar() {
                f.changed.push(p.clone());
                f.inits.push(p.var.into());
                continue;
            }
            if p.ty.is_desc()
                || !p.ty.is_regular()
                || p.ty.dims.len() > 1 && !self.has_fixed_rows(params, args, p)
            {
                return Ok(None);
            }
            let (_, at) = self.in_block(|lo| Ok(lo.param("at", Type::I64)))?;
            let mut starts = Starts::from_iter([(p.var, at.var.into())]);
            f.body = self.with_starts(f.body, &mut starts)?;
            if !in_calls(id, &mut f.body, &mut |args| match args[i].var().and_then(|v| starts.get(&v)) {
                Some(start) => {
                    args[i] = *start;
                    true
                }
                None => false,
            }) {
                return Ok(None);
            }
            let (_, part) = self.in_block(|lo| Ok(lo.param("xs", p.ty.clone())))?;
            f.body = self.refreshed(&f.body, &mut Subst::from_iter([(p.var, part.var.into())]));
            let exp = slice(p.var, at.var.into(), &p.ty);
            f.body.stms.insert(0, Stm { pat: vec![part], exp, span: self.place.span });
            f.changed.push(at);
            f.inits.push(Atom::i64(0));
        }
        Ok(can_repeat(id, &f.body, &f.which).then_some(f))
    }

    /// True if the rows of an array stay as long as they are.
    fn has_fixed_rows(&self, params: &[Param], args: &[Vec<Atom>], p: &Param) -> bool {
        let stays = |n: Atom| {
            params
                .iter()
                .enumerate()
                .all(|(i, q)| Atom::Var(q.var) != n || args.iter().all(|all| all[i] == n))
        };
        p.ty.dims[1..].iter().all(|d| matches!(d, Dim::Size(n) if stays(*n)))
    }

    /// Emits the loops: the function's results.
    fn descended_and_back(&mut self, f: &Linear) -> R<Vec<Atom>> {
        let depth = self.depth_of_calls(f)?;
        let (kept, mut last) = self.kept_arguments(f, depth)?;
        let ret = self.out.funs[f.id.0 as usize].ret.clone();
        let zeros: Vec<Atom> = ret.iter().map(|p| Atom::Const(Scalar::zero(p.ty.prim()))).collect();
        let end = self.refreshed(&without_calls(f.id, &f.body, &zeros), &mut last);
        end.stms.into_iter().for_each(|stm| self.push_stm(stm));
        let (block, (index, state, results)) = self.in_block(|lo| {
            let index = lo.fresh("j", Type::I64);
            let state: Vec<Param> = ret.iter().map(|p| lo.param("r", p.ty.clone())).collect();
            let above = lo.sub(depth, Atom::i64(1));
            let at = lo.sub(above, index.into());
            let mut subst = Subst::default();
            for (p, all) in f.changed.iter().zip(&kept) {
                let x = lo.emit("x", p.ty.clone(), Exp::Index(*all, vec![at]));
                if lo.facts.sizes.contains(&p.var) {
                    lo.facts.sizes.insert(x);
                }
                subst.insert(p.var, x.into());
            }
            let values: Vec<Atom> = state.iter().map(|p| p.var.into()).collect();
            let copy = lo.refreshed(&without_calls(f.id, &f.body, &values), &mut subst);
            copy.stms.into_iter().for_each(|stm| lo.push_stm(stm));
            Ok((index, state, copy.results))
        })?;
        let pat: Vec<Param> = ret.iter().map(|p| self.param("r", p.ty.clone())).collect();
        let found = pat.iter().map(|p| p.var.into()).collect();
        let params = state.into_iter().zip(end.results).collect();
        let form = LoopForm::For { index, prim: Prim::I64, bound: depth };
        self.push(pat, Exp::Loop { params, form, body: Body { stms: block.stms, results } });
        Ok(found)
    }

    /// Emits the loop that counts the calls.
    fn depth_of_calls(&mut self, f: &Linear) -> R<Atom> {
        let (block, (mut state, depth, cond, mut next)) = self.in_block(|lo| {
            let mut subst = Subst::default();
            let depth = lo.param("depth", Type::I64);
            let state = lo.renamed_params(&f.changed, &mut subst);
            let (test, goes_on) = lo.in_block(|lo| {
                let is_fine = lo.cmp(CmpOp::Lt, depth.var.into(), Atom::i64(MAX_DEPTH));
                let copy = lo.refreshed(&f.body, &mut subst.clone());
                let goes_on = lo.goes_on(f.id, copy)?;
                Ok(lo.bin(BinOp::And, Prim::Bool, is_fine, goes_on))
            })?;
            let copy = lo.refreshed(&f.body, &mut subst);
            let next = lo.next_arguments(f.id, &f.which, &f.changed, copy)?;
            let deeper = lo.add(depth.var.into(), Atom::i64(1));
            let next: Vec<Atom> = std::iter::once(deeper).chain(next).collect();
            Ok((state, depth, Body { stms: test.stms, results: vec![goes_on] }, next))
        })?;
        state.insert(0, depth);
        let results = std::mem::take(&mut next);
        let pat: Vec<Param> = state.iter().map(|p| self.param("last", p.ty.clone())).collect();
        let depth: Atom = pat[0].var.into();
        let inits = std::iter::once(Atom::i64(0)).chain(f.inits.iter().copied());
        let params = state.into_iter().zip(inits).collect();
        let body = Body { stms: block.stms, results };
        self.push(pat, Exp::Loop { params, form: LoopForm::While(cond), body });
        let is_fine = self.cmp(CmpOp::Lt, depth, Atom::i64(MAX_DEPTH));
        self.check(is_fine, CheckKind::TooDeep, Vec::new());
        Ok(depth)
    }

    /// Emits the loop that keeps the parameters of every call: arrays of them, and those of the last call.
    fn kept_arguments(&mut self, f: &Linear, depth: Atom) -> R<(Vec<par_ir::Var>, Subst)> {
        let types: Vec<Type> =
            f.changed.iter().map(|p| Type::array(vec![Dim::Size(depth)], p.ty.prim())).collect();
        let mut inits = f.inits.clone();
        for (p, ty) in f.changed.iter().zip(&types) {
            let zero = Atom::Const(Scalar::zero(p.ty.prim()));
            inits.push(self.emit("kept", ty.clone(), Exp::Replicate(depth, zero)).into());
        }
        let (block, (index, state, results)) = self.in_block(|lo| {
            let index = lo.fresh("j", Type::I64);
            let mut subst = Subst::default();
            let mut state = lo.renamed_params(&f.changed, &mut subst);
            let values: Vec<Atom> = state.iter().map(|p| p.var.into()).collect();
            let mut kept: Vec<Atom> = Vec::new();
            for (ty, value) in types.iter().zip(values) {
                let p = lo.param("kept", ty.clone());
                let update = Exp::Update { arr: p.var, at: vec![At::Index(index.into())], value };
                kept.push(lo.emit("kept", ty.clone(), update).into());
                state.push(p);
            }
            let copy = lo.refreshed(&f.body, &mut subst);
            let mut results = lo.next_arguments(f.id, &f.which, &f.changed, copy)?;
            results.extend(kept);
            Ok((index, state, results))
        })?;
        let mut subst = Subst::default();
        let mut pat = self.renamed_params(&f.changed, &mut subst);
        let kept: Vec<Param> = types.iter().map(|ty| self.param("kept", ty.clone())).collect();
        let arrays = kept.iter().map(|p| p.var).collect();
        pat.extend(kept);
        let params = state.into_iter().zip(inits).collect();
        let form = LoopForm::For { index, prim: Prim::I64, bound: depth };
        self.push(pat, Exp::Loop { params, form, body: Body { stms: block.stms, results } });
        Ok((arrays, subst))
    }
}

/// Changes the arguments of all calls in a body; false if `change` says so of one.
fn in_calls(id: FunId, body: &mut Body, change: &mut dyn FnMut(&mut Vec<Atom>) -> bool) -> bool {
    body.stms.iter_mut().all(|stm| match &mut stm.exp {
        Exp::Call(to, args) if *to == id => change(args),
        Exp::If { then, other, .. } => {
            [then, other].into_iter().all(|arm| super::super::deep(|| in_calls(id, arm, change)))
        }
        _ => true,
    })
}

/// A body in which the call gives these values.
fn without_calls(id: FunId, body: &Body, values: &[Atom]) -> Body {
    let Some(at) = call_of(id, body) else { return body.clone() };
    let mut stms = body.stms.clone();
    let call = stms[at].clone();
    match call.exp {
        Exp::If { cond, then, other } => {
            let [then, other] =
                [then, other].map(|arm| super::super::deep(|| without_calls(id, &arm, values)));
            stms[at].exp = Exp::If { cond, then, other };
        }
        _ => {
            let given = call.pat.into_iter().zip(values);
            let given = given.map(|(p, a)| Stm { pat: vec![p], exp: Exp::Atom(*a), span: call.span });
            stms.splice(at..=at, given);
        }
    }
    Body { stms, results: body.results.clone() }
}
