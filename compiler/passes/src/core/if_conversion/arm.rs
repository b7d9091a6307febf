//! An arm of a branch that makes or names rows, and what it does for one of them.

use par_ir::core::{Body, Exp, Lambda, Param, Schedule, Stm};
use par_ir::effects::Effects;
use par_ir::hash::HashMap;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::visit::Code;
use par_ir::{Atom, Dim, Prim, Span, Type, Var, Vars};

/// An arm in parts.
pub(super) struct Arm<'b> {
    /// Scalar code, which depends on no row that the arm makes.
    pub head: Vec<Stm>,
    /// Maps that make rows.
    maps: Vec<&'b Stm>,
    /// Arrays that are seen as parts of others, or as numbers that follow from positions.
    views: HashMap<Var, &'b Exp>,
    /// Of the branch.
    pub results: &'b [Atom],
    /// Indices of the results that are arrays.
    arrays: &'b [usize],
}

impl<'b> Arm<'b> {
    /// The parts of an arm whose array results have `width` rows, if it has no others.
    pub fn of(body: &'b Body, arrays: &'b [usize], width: Atom) -> Option<Arm<'b>> {
        let (head, maps, views) = (Vec::new(), Vec::new(), HashMap::default());
        let mut arm = Arm { head, maps, views, results: &body.results, arrays };
        body.stms.iter().try_for_each(|stm| arm.add(stm, width))?;
        arrays.iter().all(|i| body.results[*i].var().is_some()).then_some(arm)
    }

    fn add(&mut self, stm: &'b Stm, width: Atom) -> Option<()> {
        let fails_late = stm.has_effect() && self.maps.iter().any(|m| m.has_effect());
        if fails_late || stm.pat.iter().any(|p| !p.ty.is_regular() || p.ty.is_desc()) {
            return None;
        }
        match &stm.exp {
            _ if stm.is_scalar() => {
                self.uses_rows_only(stm).then_some(())?;
                self.head.push(stm.clone());
            }
            Exp::Map { width: w, lam, .. } => {
                (*w == width && is_elementwise(lam) && self.uses_rows_only(stm)).then_some(())?;
                self.maps.push(stm);
            }
            Exp::Iota(_) | Exp::Replicate(..) | Exp::Slice { .. } | Exp::Index(..) => {
                self.uses_rows_only(stm).then_some(())?;
                self.views.insert(stm.pat[0].var, &stm.exp);
            }
            _ => return None,
        }
        Some(())
    }

    /// True if a statement uses arrays of this arm only row by row, as inputs.
    fn uses_rows_only(&self, stm: &Stm) -> bool {
        let is_own = |v: &Var| self.views.contains_key(v) || self.map_of(*v).is_some();
        let mut rest = stm.exp.clone();
        if let Some(inputs) = rest.inputs_mut() {
            inputs.clear();
        }
        !rest.free().iter().any(is_own)
    }

    fn map_of(&self, v: Var) -> Option<(&'b Stm, usize)> {
        self.maps.iter().find_map(|m| Some((*m, m.pat.iter().position(|p| p.var == v)?)))
    }

    /// True if all arrays are computed here, element by element.
    pub fn makes_rows(&self) -> bool {
        self.arrays
            .iter()
            .filter_map(|i| self.results[*i].var())
            .all(|v| self.map_of(v).is_some() || matches!(self.views.get(&v), Some(Exp::Replicate(..))))
    }

    /// Row `j` of the array results.
    pub fn element(&self, inputs: &mut Inputs, arrays: &[usize], branch: &Stm, vars: &mut Vars) -> Body {
        let mut element = Element { arm: self, inputs, rows: HashMap::default(), stms: Vec::new(), vars };
        for map in &self.maps {
            let Exp::Map { inputs, lam, .. } = &map.exp else { unreachable!("only maps make rows") };
            for (p, input) in lam.params.iter().zip(inputs) {
                element.read(p.clone(), *input, map.span);
            }
            element.stms.extend(lam.body.stms.iter().cloned());
            element.rows.extend(map.pat.iter().map(|p| p.var).zip(lam.body.results.iter().copied()));
        }
        let results = arrays.iter().map(|i| {
            let v = self.results[*i].var().expect("arrays are variables");
            let row = super::row_of(&branch.pat[*i], element.vars);
            element.rows.get(&v).copied().unwrap_or_else(|| {
                let var = row.var;
                element.read(row, v, branch.span);
                var.into()
            })
        });
        let results = results.collect();
        Body { stms: element.stms, results }
    }
}

/// Space of a map: the numbers of its rows, and arrays that they are read of.
pub(super) struct Inputs {
    pub arrays: Vec<Var>,
    pub params: Vec<Param>,
}

impl Inputs {
    /// The numbers are an array of this name.
    pub fn new(positions: Var, vars: &mut Vars) -> Inputs {
        let j = Param { var: vars.fresh("j"), ty: Type::I64 };
        Inputs { arrays: vec![positions], params: vec![j] }
    }

    fn position(&self) -> Atom {
        self.params[0].var.into()
    }

    /// The row of an array; `p` is of its type.
    fn row(&mut self, array: Var, p: &Param, vars: &mut Vars) -> Atom {
        let at = self.arrays.iter().position(|v| *v == array).unwrap_or_else(|| {
            self.arrays.push(array);
            self.params.push(Param { var: vars.fresh_like(p.var), ty: p.ty.clone() });
            self.arrays.len() - 1
        });
        self.params[at].var.into()
    }
}

/// Statements for one row of an arm.
struct Element<'e, 'b, 'v> {
    arm: &'e Arm<'b>,
    inputs: &'e mut Inputs,
    /// Of arrays that the arm makes.
    rows: HashMap<Var, Atom>,
    stms: Vec<Stm>,
    vars: &'v mut Vars,
}

impl Element<'_, '_, '_> {
    /// Binds the row of an array.
    fn read(&mut self, p: Param, array: Var, span: Span) {
        let exp = match (self.rows.get(&array), self.arm.views.get(&array)) {
            (Some(row), _) => Exp::Atom(*row),
            (None, Some(Exp::Iota(_))) => Exp::Atom(self.inputs.position()),
            (None, Some(Exp::Replicate(_, x))) => Exp::Atom(*x),
            (None, Some(Exp::Slice { arr, start, stride, .. })) => {
                let far = self.compute(BinOp::Mul, [self.inputs.position(), *stride], span);
                Exp::Index(*arr, vec![self.compute(BinOp::Add, [*start, far], span)])
            }
            (None, Some(Exp::Index(arr, at))) => {
                Exp::Index(*arr, [&at[..], &[self.inputs.position()]].concat())
            }
            _ => Exp::Atom(self.inputs.row(array, &p, self.vars)),
        };
        self.stms.push(Stm { pat: vec![p], exp, span });
    }

    fn compute(&mut self, op: BinOp, xs: [Atom; 2], span: Span) -> Atom {
        let p = Param { var: self.vars.fresh("i"), ty: Type::I64 };
        let var = p.var;
        self.stms.push(Stm { pat: vec![p], exp: Exp::Prim(PrimOp::Bin(op, Prim::I64), xs.to_vec()), span });
        var.into()
    }
}

/// True if a map's lambda is scalar code, or goes on with such maps.
fn is_elementwise(lam: &Lambda) -> bool {
    if lam.schedule != Schedule::Free || lam.ret.iter().any(|ty| !ty.is_regular() || ty.is_desc()) {
        return false;
    }
    let arrays: Vec<usize> = (0..lam.ret.len()).filter(|i| !lam.ret[*i].is_scalar()).collect();
    let Some(first) = arrays.first() else { return lam.body.is_scalar() };
    let Dim::Size(width) = lam.ret[*first].dims[0] else { return false };
    Arm::of(&lam.body, &arrays, width).is_some_and(|arm| arm.makes_rows())
}
