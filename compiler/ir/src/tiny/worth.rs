//! Limits on the size of scalarised arrays: an index that is not known costs a comparison for every element, and operators on matrices of more
//! elements than there are registers are faster as loops, whose rows are worked on in vectors.

use super::sizes;
use crate::core::{At, Body, Exp, LoopForm, Param, Stm};
use crate::hash::{HashMap, HashSet};
use crate::tuning;
use crate::ty::{Atom, Dim, Type, Var};
use crate::visit::Code;

/// Limits on the arrays that are scalarised in a body.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Elements of an array.
    pub elements: usize,
    /// Rows of an operator, and iterations of a loop, that are written out.
    pub rows: usize,
}

impl Limits {
    pub const ALL: Limits = Limits { elements: tuning::TINY_ELEMENTS, rows: tuning::TINY_ELEMENTS };

    /// Of a body; `row` gives the types of the rows that it is for.
    pub fn of<'t>(body: &Body, row: &'t dyn Fn(&Var) -> Option<&'t Type>) -> Limits {
        let (types, constant) = (HashMap::default(), HashSet::default());
        let mut found = Search { row, types, constant, most: usize::MAX, matrices: false, repeats: false };
        found.body(body);
        if found.matrices {
            let few = tuning::TINY_PRODUCT as usize - 1;
            return Limits { elements: few, rows: few };
        }
        Limits { elements: tuning::TINY_ELEMENTS.min(found.most), ..Limits::ALL }
    }
}

struct Search<'t> {
    row: &'t dyn Fn(&Var) -> Option<&'t Type>,
    types: HashMap<Var, Type>,
    /// Variables that are constants once everything is written out.
    constant: HashSet<Var>,
    /// The least limit on elements that accesses at indices which are not known have set.
    most: usize,
    /// Longer rows of a larger array, which is not the same for all positions, are multiplied and summed up, or the like.
    matrices: bool,
    /// The search is inside of a while loop.
    repeats: bool,
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
            Exp::Index(arr, indices) => self.access(*arr, indices, tuning::TINY_PICKED),
            Exp::Update { arr, at, .. } => {
                let indices: Vec<Atom> = at.iter().flat_map(At::atoms).collect();
                let most = if self.repeats { tuning::TINY_WRITTEN } else { tuning::TINY_PICKED };
                self.access(*arr, &indices, most);
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
        let before = self.repeats;
        self.repeats |= matches!(&stm.exp, Exp::Loop { form: LoopForm::While(_), .. });
        stm.exp.for_each_body(|b| self.body(b));
        self.repeats = before;
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

    /// Notes an access: at an index that is not known, arrays of more than `most` elements are not scalarised.
    fn access(&mut self, arr: Var, indices: &[Atom], most: usize) {
        // Rows of what is outside are read where they are.
        let Some(ty) = self.types.get(&arr) else { return };
        let large = sizes(ty, tuning::TINY_ELEMENTS).is_some() && sizes(ty, most).is_none();
        if large && !indices.iter().all(|a| self.is_constant(*a)) {
            self.most = self.most.min(most);
        }
    }
}

/// True for an operator over more than a few rows that reduces as many elements of each.
fn reduces_rows(stm: &Stm) -> bool {
    let is_long = |s: &Stm| s.exp.width().and_then(Atom::as_i64).is_some_and(|n| n >= tuning::TINY_PRODUCT);
    let reduces = |s: &Stm| matches!(s.exp, Exp::Reduce { .. }) && is_long(s);
    is_long(stm) && stm.exp.lambdas().iter().any(|l| l.body.stms.iter().any(reduces))
}
