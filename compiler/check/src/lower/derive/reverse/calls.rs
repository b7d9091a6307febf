//! Calls of functions: one version of each takes the adjoints of its results, and gives those of its parameters.

use super::super::{Mode, is_float};
use super::accumulators::Sums;
use super::need::needed;
use super::record::{Tape, flat, tape_of};
use super::replay::Frame;
use super::{List, Lower, R, Reverse, Scope};
use par_ir::core::{Body, Exp, Fun, FunId, Param};
use par_ir::prim::BinOp;
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Prim, Scalar, Type, Var};

impl Reverse {
    pub(super) fn back_call(
        &mut self,
        lo: &mut Lower,
        (pat, adjoints): (&[Param], &[Option<Atom>]),
        id: FunId,
        args: &[Atom],
        tape: Option<Tape>,
    ) -> R<()> {
        let given = lo.derivatives.given.get(&id).copied();
        if args[..given.map_or(0, |g| g.captured)].iter().any(|a| self.is_active(*a)) {
            let what = "in what a function with a derivative given by hand uses beside its argument";
            return Err(super::super::rules::no_derivative(lo, what));
        }
        if given.is_none() && lo.is_plain(id) {
            return self.back_plain_call(lo, adjoints, id, args);
        }
        let made = lo.reversed_function(id);
        let (old, new) =
            (lo.out.funs[id.0 as usize].params.clone(), lo.out.funs[made.0 as usize].ret.clone());
        let mut all = args.to_vec();
        all.extend(tape.into_iter().flat_map(|tape| flat(lo.up_to_end(tape))));
        for (i, (p, d)) in pat.iter().zip(adjoints).enumerate() {
            if given.is_some_and(|g| i >= g.results) {
                all.push(p.var.into());
            } else if is_float(&p.ty) {
                all.push(match d {
                    Some(d) => lo.as_type(*d, &p.ty),
                    None => lo.zeros(&p.ty)?,
                });
            } else if shapes(&p.ty) {
                all.push(p.var.into());
            }
        }
        let shared = lo.shared_params(id);
        all.extend(self.shared_args(lo, args, &old, &shared)?);
        let mut subst: Subst = old.iter().map(|p| p.var).zip(args.iter().copied()).collect();
        let params = &lo.out.funs[made.0 as usize].params;
        subst.extend(params.iter().map(|p| p.var).zip(all.iter().copied()));
        let mut results = Vec::new();
        for p in &new {
            let ty = p.ty.substituted(&subst);
            let result = if shapes(&ty) { lo.size_param("k") } else { lo.param("d", ty) };
            subst.insert(p.var, result.var.into());
            results.push(result);
        }
        let mut vars = results.iter().map(|p| p.var).collect::<Vec<_>>().into_iter();
        lo.push(results, Exp::Call(made, all));
        self.contribute_results(lo, (args, &old, &shared), &mut vars)
    }

    /// Arguments of a call for the parameters whose adjoints are accumulators shared by all calls.
    fn shared_args(
        &mut self,
        lo: &mut Lower,
        args: &[Atom],
        params: &[Param],
        shared: &[bool],
    ) -> R<Vec<Atom>> {
        let reads: Vec<(Atom, Prim)> = args
            .iter()
            .zip(params)
            .zip(shared)
            .filter(|(_, is_shared)| **is_shared)
            .map(|((a, p), _)| (*a, p.ty.prim()))
            .collect();
        if lo.derivatives.joined {
            reads.into_iter().map(|(a, _)| self.base_of(lo, a)).collect()
        } else {
            let sums = reads.iter().map(|(a, prim)| self.sums_of_arg(lo, *a, *prim));
            let sums = sums.collect::<R<Vec<Sums>>>()?;
            let accs = sums.iter().map(|s| Atom::Var(s.acc));
            Ok(sums.iter().map(|s| s.base).chain(accs).collect())
        }
    }

    /// Contributions of a call's results to its arguments.
    fn contribute_results(
        &mut self,
        lo: &mut Lower,
        (args, params, shared): (&[Atom], &[Param], &[bool]),
        results: &mut dyn Iterator<Item = Var>,
    ) -> R<()> {
        let floats = args.iter().zip(params).zip(shared).filter(|((_, p), _)| is_float(&p.ty));
        for ((a, _), is_shared) in floats {
            let mut next = || results.next().ok_or_else(|| lo.internal("an adjoint for each parameter"));
            match (is_shared, lo.derivatives.joined) {
                (true, true) => {
                    let list = List { count: next()?.into(), places: next()?, values: next()? };
                    self.contribute_called(lo, *a, list)?;
                }
                (true, false) => {}
                (false, _) => {
                    let d = next()?;
                    self.contribute(lo, *a, d.into())?;
                }
            }
        }
        Ok(())
    }
}

impl Reverse {
    /// A function of a few scalars: its derivative forward in the direction of each, times the adjoints of its results.
    fn back_plain_call(
        &mut self,
        lo: &mut Lower,
        adjoints: &[Option<Atom>],
        id: FunId,
        args: &[Atom],
    ) -> R<()> {
        let made = lo.with_tangents(id);
        let params = lo.out.funs[id.0 as usize].params.clone();
        let ret = lo.out.funs[made.0 as usize].ret.clone();
        let floats: Vec<usize> = (0..params.len()).filter(|i| is_float(&params[*i].ty)).collect();
        for active in &floats {
            if !self.is_active(args[*active]) {
                continue;
            }
            let mut all = args.to_vec();
            for i in &floats {
                let one = i64::from(i == active);
                all.push(Atom::Const(Scalar::from_i64(params[*i].ty.prim(), one)));
            }
            let results: Vec<Param> = ret.iter().map(|p| lo.param("d", p.ty.clone())).collect();
            let mut tangents =
                results[adjoints.len()..].iter().map(|p| p.var).collect::<Vec<_>>().into_iter();
            let kinds: Vec<Type> = results[..adjoints.len()].iter().map(|p| p.ty.clone()).collect();
            lo.push(results, Exp::Call(made, all));
            for (ty, d) in kinds.iter().zip(adjoints).filter(|(ty, _)| is_float(ty)) {
                let (Some(tangent), Some(d)) = (tangents.next(), d) else { continue };
                let (from, to) = (ty.prim(), params[*active].ty.prim());
                let product = lo.bin(BinOp::Mul, from, tangent.into(), *d);
                let product = lo.conv(from, to, product);
                self.contribute(lo, args[*active], product)?;
            }
        }
        Ok(())
    }
}

/// True for what says the shape of other results.
pub(super) fn shapes(ty: &Type) -> bool {
    ty.is_desc() || *ty == Type::I64
}

impl Lower<'_> {
    /// The version of a function that goes backward. Its body is made at the end.
    fn reversed_function(&mut self, id: FunId) -> FunId {
        let shared = self.shared_params(id);
        self.version(id, Mode::Reverse, |lo, fun| {
            let mut derivatives = Vec::new();
            for (p, is_shared) in fun.params.iter().zip(&shared).filter(|(p, _)| is_float(&p.ty)) {
                match (is_shared, lo.derivatives.joined) {
                    (true, true) => derivatives.extend(lo.list_params(p.ty.prim())),
                    (true, false) => {}
                    (false, _) => derivatives.push(lo.param("d", p.ty.clone())),
                }
            }
            let added =
                fun.params.iter().zip(&shared).filter(|(_, shared)| **shared && !lo.derivatives.joined);
            let prims: Vec<Prim> = added.map(|(p, _)| p.ty.prim()).collect();
            let ret = std::mem::replace(&mut fun.ret, derivatives);
            fun.params.extend(lo.tape_params());
            fun.params.extend(ret.into_iter().filter(|p| is_float(&p.ty) || shapes(&p.ty)));
            let bases = shared.iter().filter(|is_shared| **is_shared);
            fun.params.extend(bases.map(|_| lo.param("base", Type::I64)));
            fun.params.extend(prims.into_iter().map(|prim| lo.param("acc", Type::acc(prim))));
        })
    }

    /// Emits the backward sweep of a function's body: the adjoints of its parameters.
    pub(in super::super) fn reversed_body(
        &mut self,
        id: FunId,
        fun: &Fun,
        params: &[Param],
        body: Body,
    ) -> R<Vec<Atom>> {
        let shared = self.shared_params(id);
        let (given, rest) = params.split_at(fun.params.len());
        let Some((tape, adjoints)) = rest.split_first_chunk() else {
            return Err(self.internal("a function that goes backward has a tape"));
        };
        let mut reverse = Reverse { scopes: vec![Scope::default()], called: true, ..Reverse::default() };
        let count = shared.iter().filter(|is_shared| **is_shared).count();
        let (rest, accs) = rest.split_at(rest.len() - if self.derivatives.joined { 0 } else { count });
        let (mut bases, mut accs) = (rest[rest.len() - count..].iter(), accs.iter());
        for (p, is_shared) in given.iter().zip(&shared).filter(|(p, _)| is_float(&p.ty)) {
            match is_shared.then(|| bases.next()).flatten() {
                Some(base) => reverse.share(self, p, base.var.into(), accs.next().map(|acc| acc.var)),
                None => reverse.input(p.var),
            }
        }
        reverse.note_active(self, &body.stms);
        reverse.needed = needed(&body);
        reverse.tape = Some(Frame::new(tape_of(tape)));
        let steps = reverse.forward(self, body.stms)?;
        let results = body.results.iter().zip(&fun.ret).filter(|(_, p)| is_float(&p.ty) || shapes(&p.ty));
        for ((a, p), d) in results.zip(adjoints) {
            if is_float(&p.ty) {
                reverse.contribute(self, *a, d.var.into())?;
            }
        }
        reverse.back(self, steps)?;
        let mut results = Vec::new();
        for (p, is_shared) in given.iter().zip(shared).filter(|(p, _)| is_float(&p.ty)) {
            if is_shared && !self.derivatives.joined {
                reverse.add_shared(self, p)?;
            } else if is_shared {
                let list = reverse.shared_adjoint(self, p)?;
                results.extend([list.count, list.places.into(), list.values.into()]);
            } else {
                let d = reverse.or_zeros(self, p.var)?;
                results.push(self.as_type(d, &p.ty));
            }
        }
        Ok(results)
    }
}
