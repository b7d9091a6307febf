//! Parts of parallel operators: inputs and lambda, and the fusion of those of two operators.
//!
//! ```text
//! map n xs ys (\x y -> f)  and  map n ys zs (\y' z -> g)
//!   =>   inputs xs ys zs,  \x y z -> f; g [y' := y]
//! ```

use par_ir::core::{Exp, Lambda, Param};
use par_ir::ty::{Atom, Var};
use par_ir::visit::{Code, Subst};

/// Width, inputs and producer lambda of a parallel operator.
pub(super) fn rows(exp: &Exp) -> Option<(Atom, &Vec<Var>, &Lambda)> {
    match exp {
        Exp::Map { width, inputs, lam }
        | Exp::Reduce { width, inputs, lam, .. }
        | Exp::Scan { width, inputs, lam, .. }
        | Exp::Filter { width, inputs, lam }
        | Exp::Scatter { width, inputs, lam, .. }
        | Exp::Hist { width, inputs, lam, .. } => Some((*width, inputs, lam)),
        _ => None,
    }
}

/// As [`rows`], for changing inputs and lambda.
pub(super) fn rows_mut(exp: &mut Exp) -> Option<(&mut Vec<Var>, &mut Lambda)> {
    match exp {
        Exp::Map { inputs, lam, .. }
        | Exp::Reduce { inputs, lam, .. }
        | Exp::Scan { inputs, lam, .. }
        | Exp::Filter { inputs, lam, .. }
        | Exp::Scatter { inputs, lam, .. }
        | Exp::Hist { inputs, lam, .. } => Some((inputs, lam)),
        _ => None,
    }
}

/// Inputs and parameters of a joint lambda, without repetition.
#[derive(Default)]
pub(super) struct Inputs {
    /// Arrays and descriptors.
    pub arrays: Vec<Var>,
    /// One for each.
    pub params: Vec<Param>,
    /// Atoms in place of parameters that are not needed.
    pub subst: Subst,
}

impl Inputs {
    /// Adds an input, unless its rows are at hand as another's parameter.
    pub fn add(&mut self, array: Var, mut param: Param) {
        param.ty.substitute(&self.subst);
        let same = |(a, p): (&Var, &Param)| (*a == array && p.ty == param.ty).then_some(p.var);
        match self.arrays.iter().zip(&self.params).find_map(same) {
            Some(known) => drop(self.subst.insert(param.var, Atom::Var(known))),
            None => {
                self.arrays.push(array);
                self.params.push(param);
            }
        }
    }

    /// Adds all inputs of a lambda, of which some may be the same: the lambda in terms of the joint parameters.
    pub fn with_all(&mut self, arrays: &[Var], lam: &Lambda) -> Lambda {
        arrays.iter().zip(&lam.params).for_each(|(a, p)| self.add(*a, p.clone()));
        lam.substituted(&self.subst)
    }
}
