//! `map`, `zip`, `unzip`, `filter`.
//!
//! A lambda's parameters are the rows of every input array, and for irregular rows their lengths. Each dimension of its
//! result is one of
//!
//! ```text
//! bound outside the lambda       stays as it is           map (\x -> iota m) xs          [n][m]
//! the length of an input's row   reuses the descriptor    map (\xs -> map f xs) xss      [n][s]
//! anything else                  an additional result     map (\i -> iota i) is          (s: [n]desc) (r: [n][s]i64)
//! ```

use super::rebuild::Rebuild;
use super::value::Val;
use super::{Lower, R};
use par_ir::core::{Body, Exp, Lambda, Param, Schedule};
use par_ir::effects::Effects;
use par_ir::hash::HashMap;
use par_ir::{Atom, Dim, Elem, Prim, Type, Var};

/// The inputs of a lambda with their parameters.
#[derive(Default)]
pub(super) struct Inputs {
    pub arrays: Vec<Var>,
    pub params: Vec<Param>,
}

impl Inputs {
    fn param(&mut self, lo: &mut Lower, array: Var, ty: Type) -> Var {
        if let Some(i) = self.arrays.iter().position(|a| *a == array) {
            return self.params[i].var;
        }
        let name = match (ty.elem, ty.rank()) {
            (Elem::Prim(_), 0) if lo.type_of(array).is_desc() => "k".to_string(),
            (Elem::Prim(_), 0) => "x".to_string(),
            _ => lo.out.vars.name(array).to_string(),
        };
        let p = lo.param(&name, ty);
        let var = p.var;
        if lo.type_of(array).is_desc() && p.ty.is_scalar() {
            lo.facts.sizes.insert(var);
        }
        self.arrays.push(array);
        self.params.push(p);
        var
    }

    /// The input whose rows a variable is.
    fn origin(&self, v: Var) -> Option<Var> {
        self.params.iter().position(|p| p.var == v).map(|i| self.arrays[i])
    }
}

/// Makes the row of an input.
struct RowParams<'a> {
    inputs: &'a mut Inputs,
}

impl<'p> Rebuild<'p> for RowParams<'_> {
    fn dim(&mut self, lo: &mut Lower<'p>, dim: Dim, old: &[Dim], new: &[Dim]) -> R<Dim> {
        Ok(match dim {
            Dim::Size(_) => dim,
            Dim::Seg(s) if old.len() == 1 => Dim::Size(Atom::Var(self.inputs.param(lo, s, Type::I64))),
            Dim::Seg(s) => Dim::Seg(self.inputs.param(lo, s, Type::desc(new.to_vec()))),
        })
    }

    fn leaf(&mut self, lo: &mut Lower<'p>, a: Atom, prim: Prim, _old: &[Dim], new: &[Dim]) -> R<Atom> {
        let v = lo.leaf_var(a)?;
        Ok(Atom::Var(self.inputs.param(lo, v, Type::array(new.to_vec(), prim))))
    }
}

/// Makes the array of a lambda's results.
struct Lift<'a> {
    inputs: &'a Inputs,
    width: Atom,
    /// Block index of the lambda.
    level: usize,
    results: Vec<(Atom, Type)>,
    pat: Vec<Param>,
    /// By result and type: a size that is also a value becomes a descriptor and an array.
    lifted: HashMap<(Atom, Type), Var>,
}

impl Lift<'_> {
    fn result(&mut self, lo: &mut Lower, name: &str, a: Atom, inner: Type, outer: Type) -> Var {
        let key = (a, outer.clone());
        if let Some(v) = self.lifted.get(&key) {
            return *v;
        }
        let p = lo.param(name, outer);
        let var = p.var;
        self.results.push((a, inner));
        self.pat.push(p);
        self.lifted.insert(key, var);
        var
    }

    /// The input that an unchanged parameter comes from, if it has the dims needed here.
    fn alias(&self, lo: &Lower, a: Atom, dims: &[Dim]) -> Option<Var> {
        self.inputs.origin(a.var()?).filter(|v| lo.type_of(*v).dims == dims)
    }
}

impl<'p> Rebuild<'p> for Lift<'_> {
    fn dim(&mut self, lo: &mut Lower<'p>, dim: Dim, old: &[Dim], new: &[Dim]) -> R<Dim> {
        let (a, inner) = match dim {
            Dim::Size(a) if lo.is_outside(a, self.level) => return Ok(dim),
            Dim::Size(a) => (a, Type::I64),
            Dim::Seg(s) => (Atom::Var(s), Type::desc(old.to_vec())),
        };
        if let Some(s) = self.alias(lo, a, new).filter(|s| lo.type_of(*s).is_desc()) {
            return Ok(Dim::Seg(s));
        }
        Ok(Dim::Seg(self.result(lo, "s", a, inner, Type::desc(new.to_vec()))))
    }

    fn leaf(&mut self, lo: &mut Lower<'p>, a: Atom, prim: Prim, old: &[Dim], new: &[Dim]) -> R<Atom> {
        let ty = Type::array(new.to_vec(), prim);
        if let Some(v) = self.alias(lo, a, new) {
            return Ok(Atom::Var(if lo.type_of(v).is_desc() { lo.lengths(v) } else { v }));
        }
        if old.is_empty() && lo.is_outside(a, self.level) {
            return Ok(Atom::Var(lo.emit("r", ty, Exp::Replicate(self.width, a))));
        }
        let inner = Type::array(old.to_vec(), prim);
        Ok(Atom::Var(self.result(lo, "r", a, inner, ty)))
    }

    fn place(&self) -> &'static str {
        "an element of an array"
    }
}

impl<'p> Lower<'p> {
    /// `map f ins`, where `f` gets the rows of the inputs, all of which have `width` rows.
    pub fn map_over(
        &mut self,
        width: Atom,
        ins: &[Val<'p>],
        f: &mut dyn FnMut(&mut Self, Vec<Val<'p>>) -> R<Val<'p>>,
    ) -> R<Val<'p>> {
        let level = self.scope.blocks.len();
        let (block, (inputs, row)) = self.in_block(|lo| {
            let mut inputs = Inputs::default();
            let rows: R<Vec<_>> = ins.iter().map(|v| lo.row_params(v, &mut inputs)).collect();
            let row = f(lo, rows?)?;
            let row = lo.close_row(&row, level)?;
            Ok((inputs, row))
        })?;
        let size = Dim::Size(width);
        let mut lift = Lift {
            inputs: &inputs,
            width,
            level,
            results: Vec::new(),
            pat: Vec::new(),
            lifted: HashMap::default(),
        };
        let elem = self.rebuild(&row, &mut Vec::new(), &mut vec![size], &mut lift)?;
        let Lift { results, pat, .. } = lift;
        if !results.is_empty() || block.stms.has_effect() {
            let (results, ret) = results.into_iter().unzip();
            let body = Body { stms: block.stms, results };
            let lam = Lambda { params: inputs.params, body, ret, schedule: Schedule::Free };
            self.push(pat, Exp::Map { width, inputs: inputs.arrays, lam });
        }
        Ok(Val::Array(size, Box::new(elem)))
    }

    /// The row of an array as parameters of the innermost block.
    pub fn row_params(&mut self, arr: &Val<'p>, inputs: &mut Inputs) -> R<Val<'p>> {
        match arr {
            Val::Array(d, elem) => {
                self.rebuild(elem, &mut vec![*d], &mut Vec::new(), &mut RowParams { inputs })
            }
            _ => Err(self.internal("an array was expected")),
        }
    }

    /// Inner sizes that differ from row to row of the enclosing map become descriptors.
    fn close_row(&mut self, row: &Val<'p>, level: usize) -> R<Val<'p>> {
        let mut flags = Vec::new();
        self.varying(row, 0, level, &mut flags);
        self.ragged(row, &flags)
    }

    fn varying(&self, val: &Val<'p>, depth: usize, level: usize, flags: &mut Vec<bool>) {
        match val {
            Val::Array(d, elem) => {
                let size = matches!(d, Dim::Size(a) if !self.is_outside(*a, level));
                flags.push(depth > 0 && size);
                self.varying(elem, depth + 1, level, flags);
            }
            Val::Tuple(vs) => vs.iter().for_each(|v| self.varying(v, depth, level, flags)),
            Val::Record(fs) => fs.iter().for_each(|(_, v)| self.varying(v, depth, level, flags)),
            _ => {}
        }
    }

    /// Arrays that are walked together: their outer sizes are equated with the first one's.
    pub fn together(&mut self, arrays: Vec<Val<'p>>, what: &str) -> R<(Atom, Vec<Val<'p>>)> {
        let Some(first) = arrays.first() else {
            return Err(self.internal("no arrays to walk"));
        };
        let size = self.size_of(first)?;
        let spans = std::mem::take(&mut self.place.arguments);
        let spans = spans.get(spans.len().saturating_sub(arrays.len())..).filter(|s| s.len() == arrays.len());
        let mut out = Vec::with_capacity(arrays.len());
        for (i, a) in arrays.iter().enumerate() {
            let other = self.size_of(a)?;
            self.place.walked = spans.map(|s| (s[0], s[i]));
            let equal = self.equate(size, other, what, None);
            self.place.walked = None;
            equal?;
            out.push(self.resized(a, size)?);
        }
        Ok((size, out))
    }

    /// `map`, `map2`, …
    pub fn map(&mut self, name: &str, f: &Val<'p>, arrays: Vec<Val<'p>>) -> R<Val<'p>> {
        let (size, arrays) = self.together(arrays, &format!("the arguments of {name}"))?;
        self.map_over(size, &arrays, &mut |lo, rows| lo.apply(f, rows, None))
    }

    /// `zip`, `zip3`, …
    pub fn zip(&mut self, name: &str, arrays: Vec<Val<'p>>) -> R<Val<'p>> {
        let (size, arrays) = self.together(arrays, &format!("the arguments of {name}"))?;
        let elems: R<Vec<_>> = arrays.iter().map(|a| Ok(self.elem_of(a)?.clone())).collect();
        Ok(Val::Array(Dim::Size(size), Box::new(Val::Tuple(elems?))))
    }

    /// `unzip`, `unzip3`, …
    pub fn unzip(&mut self, arr: &Val<'p>) -> R<Val<'p>> {
        match arr {
            Val::Array(d, elem) => match &**elem {
                Val::Tuple(vs) => {
                    Ok(Val::Tuple(vs.iter().map(|v| Val::Array(*d, Box::new(v.clone()))).collect()))
                }
                _ => Err(self.internal("unzip of something that is no array of tuples")),
            },
            _ => Err(self.internal("unzip of something that is no array of tuples")),
        }
    }

    /// `filter`: scalars directly, rows by way of the indices that are kept.
    pub fn filter(&mut self, p: &Val<'p>, arr: &Val<'p>) -> R<Val<'p>> {
        let width = self.size_of(arr)?;
        let scalars = self.elem_of(arr)?.dims().is_empty();
        let is = if scalars { arr.clone() } else { Val::vector(width, self.iota(width), Prim::I64) };
        let (block, (inputs, results, ret)) = self.in_block(|lo| {
            let mut inputs = Inputs::default();
            let row = lo.row_params(arr, &mut inputs)?;
            let kept = lo.row_params(&is, &mut inputs)?;
            let Val::Scalar(keep, _) = lo.apply(p, vec![row], None)? else {
                return Err(lo.internal("a predicate is a bool"));
            };
            let mut results = vec![keep];
            let mut ret = vec![Type::BOOL];
            for (a, p) in kept.leaves() {
                results.push(a);
                ret.push(Type::scalar(p));
            }
            Ok((inputs, results, ret))
        })?;
        let count = self.size_param("n");
        let size = Atom::Var(count.var);
        let mut pat = vec![count];
        for ty in &ret[1..] {
            let ty = Type::array(vec![Dim::Size(size)], ty.prim());
            pat.push(self.param("r", ty));
        }
        let leaves: Vec<Atom> = pat[1..].iter().map(|p| Atom::Var(p.var)).collect();
        let body = Body { stms: block.stms, results };
        let lam = Lambda { params: inputs.params, body, ret, schedule: Schedule::Free };
        self.push(pat, Exp::Filter { width, inputs: inputs.arrays, lam });
        if scalars {
            let elem = self.elem_of(arr)?.clone();
            return self.with_leaves(&Val::Array(Dim::Size(size), Box::new(elem)), leaves);
        }
        let kept = Val::vector(size, self.leaf_var(leaves[0])?, Prim::I64);
        self.map_over(size, &[kept], &mut |lo, rows| match rows[0] {
            Val::Scalar(i, _) => lo.row(arr, i),
            _ => Err(lo.internal("an index is a scalar")),
        })
    }
}
