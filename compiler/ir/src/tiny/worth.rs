//! How large an array may be that is scalarised: an index that is not known costs a comparison for every element.

use super::sizes;
use crate::core::{At, Body, Exp, LoopForm, Param, Stm};
use crate::tuning;
use crate::ty::{Atom, Type, Var};
use std::collections::{HashMap, HashSet};

/// Elements that arrays have at most which are scalarised in a body.
pub(super) fn most(body: &Body) -> usize {
    let mut found = Search::default();
    found.body(body);
    if found.picked { tuning::TINY_PICKED } else { tuning::TINY_ELEMENTS }
}

#[derive(Default)]
struct Search {
    types: HashMap<Var, Type>,
    /// Variables that are constants once everything is written out.
    constant: HashSet<Var>,
    /// An element of a larger array is read or written at an index that is not known.
    picked: bool,
}

impl Search {
    fn body(&mut self, body: &Body) {
        body.stms.iter().for_each(|s| self.stm(s));
    }

    fn bind(&mut self, p: &Param) {
        self.types.insert(p.var, p.ty.clone());
    }

    fn stm(&mut self, stm: &Stm) {
        stm.pat.iter().for_each(|p| self.bind(p));
        match &stm.exp {
            Exp::Prim(_, args) if args.iter().all(|a| self.is_constant(*a)) => {
                self.constant.extend(stm.pat.iter().map(|p| p.var));
            }
            Exp::Index(arr, indices) => self.access(*arr, indices),
            Exp::Update { arr, at, .. } => {
                let indices: Vec<Atom> = at.iter().flat_map(At::atoms).collect();
                self.access(*arr, &indices);
            }
            Exp::Loop { params, form, .. } => {
                params.iter().for_each(|(p, _)| self.bind(p));
                match form {
                    LoopForm::While(cond) => self.body(cond),
                    LoopForm::For { index, bound, .. } => {
                        let few = bound.as_i64().is_some_and(|n| n <= tuning::TINY_ITERATIONS);
                        self.constant.extend(few.then_some(*index));
                    }
                }
            }
            Exp::Map { width, .. } | Exp::Reduce { width, .. } | Exp::Scan { width, .. }
                if width.as_i64().is_some_and(|n| n <= tuning::TINY_ELEMENTS as i64) =>
            {
                let lam = stm.exp.lambdas()[0];
                self.constant.extend(lam.params.iter().filter(|p| p.ty.is_scalar()).map(|p| p.var));
            }
            _ => {}
        }
        stm.exp.lambdas().iter().flat_map(|l| &l.params).for_each(|p| self.bind(p));
        stm.exp.for_each_body(|b| self.body(b));
    }

    fn is_constant(&self, a: Atom) -> bool {
        a.var().is_none_or(|v| self.constant.contains(&v))
    }

    fn access(&mut self, arr: Var, indices: &[Atom]) {
        // Rows of what is outside are read where they are.
        let Some(ty) = self.types.get(&arr) else { return };
        let large = sizes(ty, tuning::TINY_ELEMENTS).is_some() && sizes(ty, tuning::TINY_PICKED).is_none();
        self.picked |= large && !indices.iter().all(|a| self.is_constant(*a));
    }
}
