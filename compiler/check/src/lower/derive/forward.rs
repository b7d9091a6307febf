//! Tangents of statements.

use super::super::rebuild::Rebuild;
use super::super::{Lower, R};
use super::{is_float, tangents_of};
use par_ir::core::{Body, Exp, LoopForm, Param, Stm};
use par_ir::hash::{HashMap, HashSet};
use par_ir::visit::Code;
use par_ir::{Atom, Dim, Prim, Type, Var};

/// Tangents of the variables that have one. Each has its variable's type.
#[derive(Default)]
pub(in super::super) struct Forward {
    tangents: HashMap<Var, Atom>,
    /// Integers made of the bits of floats that have a tangent.
    pub(super) bits: HashSet<Var>,
}

impl Forward {
    pub(super) fn set(&mut self, v: Var, tangent: Atom) {
        self.tangents.insert(v, tangent);
    }

    /// The tangent; none if it is zero.
    pub(super) fn of(&self, a: Atom) -> Option<Atom> {
        self.tangents.get(&a.var()?).copied()
    }

    pub(super) fn of_var(&self, v: Var) -> Option<Var> {
        self.of(v.into()).and_then(Atom::var)
    }

    /// The tangent, or zeros; `ty` is for constants.
    pub(super) fn or_zeros(&self, lo: &mut Lower, a: Atom, ty: &Type) -> R<Atom> {
        match (self.of(a), a) {
            (Some(tangent), _) => Ok(tangent),
            (None, Atom::Var(v)) => {
                let ty = lo.type_of(v).clone();
                lo.zeros(&ty)
            }
            (None, Atom::Const(_)) => lo.zeros(ty),
        }
    }

    /// True if something that the code uses has a tangent.
    pub(super) fn reaches(&self, code: &impl Code) -> bool {
        code.free().iter().any(|v| self.tangents.contains_key(v))
    }

    /// Emits statements, each with its tangents behind it.
    pub(in super::super) fn statements(&mut self, lo: &mut Lower, stms: Vec<Stm>) -> R<()> {
        let before = lo.place.span;
        for stm in stms {
            lo.place.span = stm.span;
            super::super::deep(|| self.statement(lo, stm))?;
        }
        lo.place.span = before;
        Ok(())
    }

    fn statement(&mut self, lo: &mut Lower, stm: Stm) -> R<()> {
        let Stm { pat, exp, .. } = stm;
        if !self.reaches(&exp) && !self.has_bits(&exp) {
            lo.push(pat, exp);
            return Ok(());
        }
        match exp {
            Exp::Prim(op, args) => {
                lo.push(pat.clone(), Exp::Prim(op, args.clone()));
                if let Some(tangent) = self.scalar(lo, op, &args, pat[0].var)? {
                    self.set(pat[0].var, tangent);
                }
                Ok(())
            }
            Exp::If { cond, then, other } => self.branches(lo, pat, cond, then, other),
            Exp::Loop { params, form, body } => self.iterations(lo, pat, params, form, body),
            Exp::Call(id, args) => {
                let params = lo.out.funs[id.0 as usize].params.clone();
                let mut all = args.clone();
                for (a, p) in args.iter().zip(&params).filter(|(_, p)| is_float(&p.ty)) {
                    all.push(self.or_zeros(lo, *a, &p.ty)?);
                }
                let id = lo.with_tangents(id);
                self.bind_with_tangents(lo, pat, Exp::Call(id, all));
                Ok(())
            }
            Exp::Map { .. } | Exp::Reduce { .. } | Exp::Scan { .. } | Exp::Filter { .. } => {
                self.operator(lo, pat, exp)
            }
            Exp::Scatter { .. } | Exp::Hist { .. } => self.writes(lo, pat, exp),
            Exp::Sort { keys, values } => self.sort(lo, pat, keys, values),
            Exp::Push(_) | Exp::Tape(_) | Exp::Accumulate(_) | Exp::Add { .. } | Exp::Accumulated(_) => {
                Err(lo.derivative_of_tape())
            }
            Exp::Check { .. }
            | Exp::Trace { .. }
            | Exp::Iota(_)
            | Exp::MakeDesc(_)
            | Exp::Lengths(_)
            | Exp::Total(_) => {
                lo.push(pat, exp);
                Ok(())
            }
            Exp::Atom(_)
            | Exp::Index(..)
            | Exp::Slice { .. }
            | Exp::Update { .. }
            | Exp::Replicate(..)
            | Exp::Concat(_)
            | Exp::Literal(..)
            | Exp::Flatten(_)
            | Exp::Unflatten(_) => self.moved(lo, pat, exp),
        }
    }

    /// Data that is moved: the tangents are moved alike.
    fn moved(&mut self, lo: &mut Lower, pat: Vec<Param>, exp: Exp) -> R<()> {
        lo.push(pat.clone(), exp.clone());
        let [p] = &pat[..] else { return Err(lo.internal("what moves data binds one variable")) };
        let has_bits = self.has_bits(&exp);
        if !is_float(&p.ty) {
            if has_bits {
                self.bits.insert(p.var);
            }
            return Ok(());
        }
        let element = Type::scalar(p.ty.prim());
        let tangents = match exp {
            Exp::Atom(a) => Exp::Atom(self.or_zeros(lo, a, &element)?),
            Exp::Replicate(n, a) => Exp::Replicate(n, self.or_zeros(lo, a, &element)?),
            Exp::Literal(atoms, prim) => {
                let all = atoms.into_iter().map(|a| self.or_zeros(lo, a, &element));
                Exp::Literal(all.collect::<R<_>>()?, prim)
            }
            Exp::Update { arr, at, value } => {
                Exp::Update { arr: self.array(lo, arr)?, at, value: self.or_zeros(lo, value, &element)? }
            }
            Exp::Index(arr, at) => Exp::Index(self.array(lo, arr)?, at),
            Exp::Slice { arr, start, len, stride } => {
                Exp::Slice { arr: self.array(lo, arr)?, start, len, stride }
            }
            Exp::Concat(arrays) => {
                Exp::Concat(arrays.into_iter().map(|v| self.array(lo, v)).collect::<R<_>>()?)
            }
            Exp::Flatten(v) => Exp::Flatten(self.array(lo, v)?),
            Exp::Unflatten(v) => Exp::Unflatten(self.array(lo, v)?),
            _ => return Err(lo.internal("a statement that moves data was expected")),
        };
        let tangent = lo.emit("d", p.ty.clone(), tangents);
        self.set(p.var, tangent.into());
        Ok(())
    }

    /// The tangents of an array, or zeros.
    pub(super) fn array(&self, lo: &mut Lower, v: Var) -> R<Var> {
        let tangent = self.or_zeros(lo, v.into(), &Type::I64)?;
        lo.leaf_var(tangent)
    }

    fn branches(
        &mut self,
        lo: &mut Lower,
        mut pat: Vec<Param>,
        cond: Atom,
        then: Body,
        other: Body,
    ) -> R<()> {
        let mut arms = Vec::new();
        for arm in [then, other] {
            let (block, ()) = lo.in_block(|lo| self.statements(lo, arm.stms))?;
            arms.push((block, arm.results));
        }
        let active: Vec<usize> = (0..pat.len())
            .filter(|i| {
                is_float(&pat[*i].ty) && arms.iter().any(|(_, results)| self.of(results[*i]).is_some())
            })
            .collect();
        let mut bodies = Vec::new();
        for (block, mut results) in arms {
            let (block, tangents) = lo.resume(block, |lo| {
                active.iter().map(|i| self.or_zeros(lo, results[*i], &pat[*i].ty)).collect::<R<Vec<_>>>()
            });
            results.extend(tangents?);
            bodies.push(Body { stms: block.stms, results });
        }
        for i in active {
            let tangent = lo.param("d", pat[i].ty.clone());
            self.set(pat[i].var, tangent.var.into());
            pat.push(tangent);
        }
        let (Some(other), Some(then)) = (bodies.pop(), bodies.pop()) else {
            return Err(lo.internal("a branch has two arms"));
        };
        lo.push(pat, Exp::If { cond, then, other });
        Ok(())
    }

    /// A loop: every float of its state has a tangent.
    fn iterations(
        &mut self,
        lo: &mut Lower,
        pat: Vec<Param>,
        mut params: Vec<(Param, Atom)>,
        form: LoopForm,
        body: Body,
    ) -> R<()> {
        let state: Vec<Param> = params.iter().map(|(p, _)| p.clone()).collect();
        let mut first = Vec::new();
        for (p, init) in params.iter().filter(|(p, _)| is_float(&p.ty)) {
            first.push(self.or_zeros(lo, *init, &p.ty)?);
        }
        let (block, results) = lo.in_block(|lo| {
            let tangents = tangents_of(lo, &state);
            for (p, t) in state.iter().filter(|p| is_float(&p.ty)).zip(&tangents) {
                self.set(p.var, t.var.into());
            }
            params.extend(tangents.into_iter().zip(first));
            self.statements(lo, body.stms)?;
            let mut results = body.results.clone();
            for (a, p) in body.results.iter().zip(&state).filter(|(_, p)| is_float(&p.ty)) {
                results.push(self.or_zeros(lo, *a, &p.ty)?);
            }
            Ok(results)
        })?;
        let body = Body { stms: block.stms, results };
        self.bind_with_tangents(lo, pat, Exp::Loop { params, form, body });
        Ok(())
    }

    /// Binds results, and behind them tangents of all floats among them.
    pub(super) fn bind_with_tangents(&mut self, lo: &mut Lower, mut pat: Vec<Param>, exp: Exp) {
        let tangents = tangents_of(lo, &pat);
        for (p, t) in pat.iter().filter(|p| is_float(&p.ty)).zip(&tangents) {
            self.set(p.var, t.var.into());
        }
        pat.extend(tangents);
        lo.push(pat, exp);
    }
}

/// Makes the tangent of a value.
impl<'p> Rebuild<'p> for Forward {
    fn dim(&mut self, _lo: &mut Lower<'p>, dim: Dim, _old: &[Dim], _new: &[Dim]) -> R<Dim> {
        Ok(dim)
    }

    fn leaf(&mut self, lo: &mut Lower<'p>, a: Atom, prim: Prim, _old: &[Dim], new: &[Dim]) -> R<Atom> {
        match self.of(a) {
            Some(tangent) => Ok(tangent),
            None => lo.zeros(&Type::array(new.to_vec(), prim)),
        }
    }
}
