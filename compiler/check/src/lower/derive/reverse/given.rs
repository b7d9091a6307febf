//! `with_vjp f back x`: `f x`, of which `back x dy` is said to be `vjp f x dy`; and `with_vjp_tape f back x`, where `f x` is a pair of
//! the result and of what `back` takes in place of `x`.
//!
//! Both become functions of CORE, with the same parameters: what the two capture, then `x`; the second also gets the adjoints of the
//! first one's results, and what is kept itself. So the sweep backward finds it where the backward version of any called function is.

use super::super::super::abstraction::Abstract;
use super::super::super::build::Block;
use super::super::super::recursion::columns;
use super::super::super::share::Instance;
use super::super::super::value::Val;
use super::super::{Mode, is_float};
use super::calls::shapes;
use super::{DIRECTION, Lower, R};
use par_ir::core::{Body, Exp, Fun, FunId, Param};
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Type};

/// A function with a derivative given by hand.
#[derive(Clone, Copy)]
pub(in super::super) struct Given {
    /// Number of its captured parameters.
    pub captured: usize,
    /// Number of its results before those that are kept for the derivative.
    pub results: usize,
}

impl<'p> Lower<'p> {
    /// `with_vjp_tape f back x`.
    pub fn with_vjp_tape(&mut self, f: &Val<'p>, back: &Val<'p>, x: &Val<'p>) -> R<Val<'p>> {
        match self.called_with_vjp(f, back, x, true)? {
            Val::Tuple(parts) if parts.len() == 2 => {
                Ok(parts.into_iter().next().unwrap_or(Val::Tuple(vec![])))
            }
            _ => Err(self.internal("a pair of a result and of what is kept")),
        }
    }

    /// `with_vjp f back x`.
    pub fn with_vjp(&mut self, f: &Val<'p>, back: &Val<'p>, x: &Val<'p>) -> R<Val<'p>> {
        self.called_with_vjp(f, back, x, false)
    }

    fn called_with_vjp(&mut self, f: &Val<'p>, back: &Val<'p>, x: &Val<'p>, keeps: bool) -> R<Val<'p>> {
        if x.has_fun() {
            return Err(self.function_value("the argument of a derivative"));
        }
        let caller = std::mem::take(&mut self.scope.blocks);
        self.scope.blocks.push(Block::default());
        let made = self.in_function(|lo| lo.given(f, back, x, keeps));
        self.scope.blocks = caller;
        let (instance, args) = made?;
        self.call_instance(&instance, args)
    }

    /// The function that calls `f`, and its arguments; its backward version calls `back`.
    fn given(
        &mut self,
        f: &Val<'p>,
        back: &Val<'p>,
        x: &Val<'p>,
        keeps: bool,
    ) -> R<(Instance<'p>, Vec<Atom>)> {
        let mut formal = Abstract::default();
        let (ff, bb) = (formal.part(self, f)?, formal.part(self, back)?);
        let captured = formal.params.len();
        let xx = formal.part(self, x)?;
        let y = self.apply(&ff, vec![xx.clone()], None)?;
        if y.has_fun() {
            return Err(self.function_value("a function that is differentiated"));
        }
        let mut ret = Vec::new();
        let mut named = Vec::new();
        let results = match &y {
            Val::Tuple(parts) if keeps => {
                let ends = parts.iter().map(|part| {
                    self.entry_ret(part, &mut named, &mut ret);
                    ret.len()
                });
                ends.collect::<Vec<_>>().first().copied().unwrap_or(0)
            }
            y => {
                self.entry_ret(y, &mut named, &mut ret);
                ret.len()
            }
        };
        let block = self.scope.blocks.pop().unwrap_or_default();
        let id = self.function(
            "given",
            formal.params.clone(),
            ret.clone(),
            Body { stms: block.stms, results: columns(&y) },
        );
        let vars = formal.params.iter().map(|p| p.var).collect();
        let instance = Instance { id, params: vars, ret, result: y };
        let given = Given { captured, results };
        let made = self.given_back(&instance, [&ff, &bb, &xx], given, keeps)?;
        self.derivatives.made.insert((id, Mode::Reverse), made);
        self.derivatives.given.insert(id, given);
        Ok((instance, formal.args))
    }

    /// The backward version of the function that calls `f`: it calls `back`.
    fn given_back(
        &mut self,
        instance: &Instance<'p>,
        [f, back, x]: [&Val<'p>; 3],
        given: Given,
        keeps: bool,
    ) -> R<FunId> {
        // The same parameters again, then the adjoints.
        self.scope.blocks = vec![Block::default()];
        let mut again = Abstract::default();
        let (_, bb, xx) = (again.part(self, f)?, again.part(self, back)?, again.part(self, x)?);
        let mut params = again.params;
        let mut subst: Subst =
            instance.params.iter().copied().zip(params.iter().map(|p| p.var.into())).collect();
        let mut adjoints = Vec::new();
        for (i, p) in instance.ret.iter().enumerate() {
            let ty = p.ty.substituted(&subst);
            if i >= given.results || is_float(&ty) || shapes(&ty) {
                let copy = self.param("d", ty);
                subst.insert(p.var, copy.var.into());
                adjoints.push(copy.var);
                params.push(copy);
            } else {
                let zeros = self.zeros(&ty)?;
                adjoints.push(self.emit("d", ty, Exp::Atom(zeros)));
            }
        }
        let known = instance.params.iter().copied().zip(params.iter().map(|p| p.var.into())).collect();
        let dy = self.filled_in(instance, adjoints, known)?;
        let (at, dy) = match dy {
            Val::Tuple(parts) if keeps => {
                let mut parts = parts.into_iter();
                let dy = parts.next().unwrap_or(Val::Tuple(vec![]));
                (parts.next().unwrap_or(Val::Tuple(vec![])), dy)
            }
            dy => (xx.clone(), dy),
        };
        let dx = self.apply(&bb, vec![at, dy], None)?;
        let dx = self.like(&dx, &xx, DIRECTION, true)?;
        let mut derivatives = Vec::new();
        for p in &params[..given.captured] {
            if is_float(&p.ty) {
                derivatives.push(self.zeros(&p.ty)?);
            }
        }
        derivatives.extend(dx.leaves().into_iter().filter(|(_, p)| p.is_float()).map(|(a, _)| a));
        let types: Vec<Type> =
            params[..instance.params.len()].iter().map(|p| p.ty.clone()).filter(is_float).collect();
        let ret = types.into_iter().map(|ty| self.param("d", ty)).collect();
        let block = self.scope.blocks.pop().unwrap_or_default();
        Ok(self.function("given*", params, ret, Body { stms: block.stms, results: derivatives }))
    }

    fn function(&mut self, name: &str, params: Vec<Param>, ret: Vec<Param>, body: Body) -> FunId {
        let id = FunId(self.out.funs.len() as u32);
        let (name, span) = (name.to_string(), self.place.span);
        self.out.funs.push(Fun { name, entry: None, params, ret, body, span });
        id
    }
}
