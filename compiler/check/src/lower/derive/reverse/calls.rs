//! Calls of functions: one version of each takes the adjoints of its results, and gives those of its parameters.

use super::super::Mode;
use super::{Lower, R, Reverse, Scope};
use par_ir::core::{Body, Exp, Fun, FunId, Param};
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Type};

impl Reverse {
    pub(super) fn back_call(
        &mut self,
        lo: &mut Lower,
        (pat, adjoints): (&[Param], &[Option<Atom>]),
        id: FunId,
        args: &[Atom],
    ) -> R<()> {
        let made = lo.reversed_function(id);
        let (old, new) =
            (lo.out.funs[id.0 as usize].params.clone(), lo.out.funs[made.0 as usize].ret.clone());
        let mut all = args.to_vec();
        for (p, d) in pat.iter().zip(adjoints) {
            if super::super::is_float(&p.ty) {
                all.push(match d {
                    Some(d) => lo.as_type(*d, &p.ty),
                    None => lo.zeros(&p.ty)?,
                });
            } else if shapes(&p.ty) {
                all.push(p.var.into());
            }
        }
        let mut subst: Subst = old.iter().map(|p| p.var).zip(args.iter().copied()).collect();
        let params = &lo.out.funs[made.0 as usize].params;
        subst.extend(params.iter().map(|p| p.var).zip(all.iter().copied()));
        let results: Vec<Param> = new.iter().map(|p| lo.param("d", p.ty.substituted(&subst))).collect();
        let vars: Vec<Atom> = results.iter().map(|p| p.var.into()).collect();
        lo.push(results, Exp::Call(made, all));
        let floats = args.iter().zip(&old).filter(|(_, p)| super::super::is_float(&p.ty));
        for ((a, _), d) in floats.zip(vars) {
            self.contribute(lo, *a, d)?;
        }
        Ok(())
    }
}

/// True for what says the shape of other results.
fn shapes(ty: &Type) -> bool {
    ty.is_desc() || *ty == Type::I64
}

impl Lower<'_> {
    /// The version of a function that goes backward. Its body is made at the end.
    fn reversed_function(&mut self, id: FunId) -> FunId {
        if let Some(made) = self.derivatives.made.get(&(id, Mode::Reverse)) {
            return *made;
        }
        let made = FunId(self.out.funs.len() as u32);
        let fun = self.out.funs[id.0 as usize].clone();
        let mut subst = Subst::new();
        let mut params = Vec::new();
        for p in
            fun.params.iter().chain(fun.ret.iter().filter(|p| super::super::is_float(&p.ty) || shapes(&p.ty)))
        {
            let copy = self.param("p", p.ty.substituted(&subst));
            self.levels[copy.var.0 as usize] = 0;
            subst.insert(p.var, copy.var.into());
            params.push(copy);
        }
        let floats: Vec<Type> =
            params[..fun.params.len()].iter().map(|p| p.ty.clone()).filter(super::super::is_float).collect();
        let ret = floats.into_iter().map(|ty| self.param("d", ty)).collect();
        let (name, span) = (format!("{}*", fun.name), fun.span);
        self.out.funs.push(Fun { name, entry: None, params, ret, body: Body::default(), span });
        self.derivatives.request(id, Mode::Reverse, made);
        made
    }

    /// Makes the body of a function that goes backward.
    pub(in super::super) fn finish_reversed(&mut self, id: FunId, made: FunId) -> R<()> {
        let fun = self.out.funs[id.0 as usize].clone();
        let params = self.out.funs[made.0 as usize].params.clone();
        let (given, adjoints) = params.split_at(fun.params.len());
        let mut subst: Subst =
            fun.params.iter().zip(given).map(|(old, new)| (old.var, new.var.into())).collect();
        let mut reverse = Reverse { scopes: vec![Scope::default()], called: true, ..Reverse::default() };
        for p in given.iter().filter(|p| super::super::is_float(&p.ty)) {
            reverse.input(p.var);
        }
        let body = self.refreshed(&fun.body, &mut subst);
        reverse.note_active(self, &body.stms);
        let steps = reverse.forward(self, body.stms)?;
        let results =
            body.results.iter().zip(&fun.ret).filter(|(_, p)| super::super::is_float(&p.ty) || shapes(&p.ty));
        for ((a, p), d) in results.zip(adjoints) {
            if super::super::is_float(&p.ty) {
                reverse.contribute(self, *a, d.var.into())?;
            }
        }
        reverse.back(self, steps)?;
        let mut results = Vec::new();
        for p in given.iter().filter(|p| super::super::is_float(&p.ty)) {
            let d = reverse.or_zeros(self, p.var)?;
            results.push(self.as_type(d, &p.ty));
        }
        let block = self.blocks.pop().unwrap_or_default();
        self.out.funs[made.0 as usize].body = Body { stms: block.stms, results };
        Ok(())
    }
}
