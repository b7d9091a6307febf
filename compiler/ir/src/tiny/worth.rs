//! How large an array may be that is scalarised: an index that is not known costs a comparison for every element, and operators on matrices of more
//! elements than there are registers are faster as loops, whose rows are worked on in vectors.

use super::sizes;
use crate::core::{At, Body, Exp, LoopForm, Param, Stm};
use crate::tuning;
use crate::ty::{Atom, Dim, Type, Var};
use crate::visit::Code;
use std::collections::{HashMap, HashSet};

/// Elements that arrays have at most which are scalarised in a body. `row` gives the types of the rows that it is for.
pub(super) fn most<'t>(body: &Body, row: &'t dyn Fn(&Var) -> Option<&'t Type>) -> usize {
    let mut found =
        Search { row, types: HashMap::new(), constant: HashSet::new(), picked: false, matrices: false };
    found.body(body);
    match found {
        Search { matrices: true, .. } => tuning::TINY_PRODUCT as usize - 1,
        Search { picked: true, .. } => tuning::TINY_PICKED,
        _ => tuning::TINY_ELEMENTS,
    }
}

struct Search<'t> {
    row: &'t dyn Fn(&Var) -> Option<&'t Type>,
    types: HashMap<Var, Type>,
    /// Variables that are constants once everything is written out.
    constant: HashSet<Var>,
    /// An element of a larger array is read or written at an index that is not known.
    picked: bool,
    /// Longer rows of a larger array, which is not the same for all positions, are multiplied and summed up, or the like.
    matrices: bool,
}

impl Search<'_> {
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
        self.matrices = self.matrices || reduces_rows(stm) && self.reads_matrix(stm);
    }

    /// True for code that reads an array of known size with more elements than can be scalarised.
    fn reads_matrix(&self, stm: &Stm) -> bool {
        let is_matrix = |v: &Var| {
            let ty = self.types.get(v).or_else(|| (self.row)(v));
            ty.is_some_and(|ty| {
                let is_known = |d: &Dim| matches!(d, Dim::Size(Atom::Const(_)));
                ty.rank() > 1 && ty.dims.iter().all(is_known) && sizes(ty, tuning::TINY_ELEMENTS).is_none()
            })
        };
        stm.exp.free().iter().any(is_matrix)
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

/// True for an operator over more than a few rows that reduces as many elements of each.
fn reduces_rows(stm: &Stm) -> bool {
    let is_long = |s: &Stm| s.exp.width().and_then(Atom::as_i64).is_some_and(|n| n >= tuning::TINY_PRODUCT);
    let reduces = |s: &Stm| matches!(s.exp, Exp::Reduce { .. }) && is_long(s);
    is_long(stm) && stm.exp.lambdas().iter().any(|l| l.body.stms.iter().any(reduces))
}
