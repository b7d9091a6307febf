//! Reductions and scans whose elements are arrays of a few elements, or tuples with such arrays: the operator works on the scalars.
//!
//! ```text
//! reduce (map2 (+)) [0, 0] (xs : [n][2]f64)
//!
//! r0, r1 = reduce n xs (\ x -> x[0], x[1])     then the result is [r0, r1]
//!            op (\ a0 a1 b0 b1 -> a0 + b0, a1 + b1)  neutral (0, 0)
//! ```
//!
//! Elements with other arrays are combined in rounds, see [`super::reduce`].

use super::value::Val;
use super::{Lower, R};
use par_ir::core::{Body, Exp, Lambda, Param, Schedule, Stm};
use par_ir::hash::HashMap;
use par_ir::tiny::{Tiny, leaves, positions, shapes, sizes};
use par_ir::tuning;
use par_ir::visit::Code;
use par_ir::{Atom, Dim, Type, Var};

/// A reduction over scalars.
struct Small {
    /// Types of an element's components.
    types: Vec<Type>,
    inputs: Vec<Var>,
    lam: Lambda,
    op: Lambda,
    neutral: Vec<Atom>,
}

impl<'p> Lower<'p> {
    /// `reduce op ne arr`, if an element is a few scalars.
    pub fn reduce_small(&mut self, op: &Val<'p>, ne: &Val<'p>, arr: &Val<'p>) -> R<Option<Val<'p>>> {
        let width = self.size_of(arr)?;
        let Some(small) = self.small(op, ne, arr)? else { return Ok(None) };
        let Small { types, inputs, lam, op, neutral } = small;
        let pat: Vec<Param> = op.ret.iter().map(|ty| self.param("r", ty.clone())).collect();
        let mut results = pat.iter().map(|p| Atom::Var(p.var)).collect::<Vec<_>>().into_iter();
        self.push(pat, Exp::Reduce { width, inputs, lam, op, neutral });
        let mut whole = Vec::new();
        for ty in &types {
            let parts: Vec<Atom> = results.by_ref().take(leaves(ty)).collect();
            whole.push(self.of_elements(ty, parts));
        }
        Ok(Some(with_components(ne, &mut whole.into_iter())))
    }

    /// `scan op ne arr` or `exscan op ne arr`, if an element is a few scalars.
    pub fn scan_small(
        &mut self,
        op: &Val<'p>,
        ne: &Val<'p>,
        arr: &Val<'p>,
        exclusive: bool,
    ) -> R<Option<Val<'p>>> {
        let width = self.size_of(arr)?;
        let Some(small) = self.small(op, ne, arr)? else { return Ok(None) };
        let Small { types, inputs, lam, op, neutral } = small;
        let prims: Vec<_> = op.ret.iter().map(Type::prim).collect();
        let column = |lo: &mut Self, p: &_| lo.param("r", Type::array(vec![Dim::Size(width)], *p));
        let pat: Vec<Param> = prims.iter().map(|p| column(self, p)).collect();
        let columns: Vec<Var> = pat.iter().map(|p| p.var).collect();
        self.push(pat, Exp::Scan { width, inputs, lam, op, neutral, exclusive });
        let (block, (params, results)) = self.in_block(|lo| {
            let params: Vec<Param> = prims.iter().map(|p| lo.param("x", Type::scalar(*p))).collect();
            let mut parts = params.iter().map(|p| Atom::Var(p.var));
            let row = |ty: &Type| {
                let parts = parts.by_ref().take(leaves(ty)).collect();
                lo.of_elements(ty, parts)
            };
            let results: Vec<Atom> = types.iter().map(row).collect();
            Ok((params, results))
        })?;
        let body = Body { stms: block.stms, results };
        let lam = Lambda { params, body, ret: types.clone(), schedule: Schedule::Free };
        let outer = |ty: &Type| {
            let dims = std::iter::once(Dim::Size(width)).chain(ty.dims.iter().copied()).collect();
            Type::array(dims, ty.prim())
        };
        let pat: Vec<Param> = types.iter().map(|ty| self.param("r", outer(ty))).collect();
        let leaves = pat.iter().map(|p| Atom::Var(p.var)).collect();
        self.push(pat, Exp::Map { width, inputs: columns, lam });
        Ok(Some(self.with_leaves(arr, leaves)?))
    }

    /// The reduction over the scalars of an element, if there are few and the operator is scalar code on them.
    fn small(&mut self, op: &Val<'p>, ne: &Val<'p>, arr: &Val<'p>) -> R<Option<Small>> {
        let Some(types) = self.components(ne, arr)? else { return Ok(None) };
        let Some(op) = self.operator_on_elements(op, ne, &types)? else { return Ok(None) };
        let neutral = ne.leaves().iter().zip(&types).flat_map(|((a, _), ty)| self.elements(*a, ty)).collect();
        let inputs: R<Vec<Var>> = arr.leaves().iter().map(|l| self.leaf_var(l.0)).collect();
        let (block, (params, results)) = self.in_block(|lo| {
            let params: Vec<Param> = types.iter().map(|ty| lo.param("x", ty.clone())).collect();
            let row = |(p, ty): (&Param, &Type)| lo.elements(p.var.into(), ty);
            let results: Vec<Atom> = params.iter().zip(&types).flat_map(row).collect();
            Ok((params, results))
        })?;
        let body = Body { stms: block.stms, results };
        let lam = Lambda { params, body, ret: op.ret.clone(), schedule: Schedule::Free };
        Ok(Some(Small { types, inputs: inputs?, lam, op, neutral }))
    }

    /// The types of the components of an element: scalars and arrays of constant sizes, few altogether.
    fn components(&self, ne: &Val<'p>, arr: &Val<'p>) -> R<Option<Vec<Type>>> {
        let (own, elems) = (ne.leaves(), arr.leaves());
        if own.len() != elems.len() || own.is_empty() {
            return Ok(None);
        }
        let mut types = Vec::new();
        for ((a, p), (e, _)) in own.iter().zip(&elems) {
            let row = self.type_of(self.leaf_var(*e)?).clone();
            let row = Type { dims: row.dims[1..].to_vec(), ..row };
            let ty = match a {
                Atom::Var(v) => self.type_of(*v).clone(),
                Atom::Const(_) => Type::scalar(*p),
            };
            let small = ty.is_scalar() && !ty.is_desc() || sizes(&ty, tuning::TINY_ELEMENTS).is_some();
            if ty != row || !small {
                return Ok(None);
            }
            types.push(ty);
        }
        let all: usize = types.iter().map(leaves).sum();
        Ok((all > 0 && all <= tuning::TINY_ELEMENTS).then_some(types))
    }

    /// The operator on all the scalars of two elements, if its code is scalar then.
    fn operator_on_elements(&mut self, op: &Val<'p>, ne: &Val<'p>, types: &[Type]) -> R<Option<Lambda>> {
        let (block, params, results) = self.operator_on_operands(op, ne, types)?;
        let is_like = |(a, ty): (&Atom, &Type)| match a {
            Atom::Var(v) => self.type_of(*v) == ty,
            Atom::Const(_) => ty.is_scalar(),
        };
        let same = results.len() == types.len() && results.iter().zip(types).all(is_like);
        if !same {
            return Ok(None);
        }
        let body = Body { stms: block, results };
        let lam = Lambda { params, body, ret: types.to_vec(), schedule: Schedule::Free };
        let outside: HashMap<Var, Type> =
            lam.free().into_iter().map(|v| (v, self.type_of(v).clone())).collect();
        let whole = HashMap::default();
        let mut tiny = Tiny::new(&mut self.out.vars, outside, &whole);
        let done = tiny.operator(&lam);
        let types = tiny.types();
        self.adopt_vars(&types);
        Ok(done)
    }

    /// The operator applied to two operands that are made as `ne` is, of components with these types: its statements, the components of both
    /// operands, and of the result.
    pub(super) fn operator_on_operands(
        &mut self,
        op: &Val<'p>,
        ne: &Val<'p>,
        types: &[Type],
    ) -> R<(Vec<Stm>, Vec<Param>, Vec<Atom>)> {
        let (block, (params, results)) = self.in_block(|lo| {
            let mut params = Vec::new();
            let mut operand = |lo: &mut Self, name: &str| {
                let first = params.len();
                params.extend(types.iter().map(|ty| lo.param(name, ty.clone())));
                let mut atoms = params[first..].iter().map(|p| Atom::Var(p.var));
                with_components(ne, &mut atoms)
            };
            let (x, y) = (operand(lo, "x"), operand(lo, "y"));
            let result = lo.apply(op, vec![x, y], None)?;
            let results: Vec<Atom> = result.leaves().iter().map(|l| l.0).collect();
            Ok((params, results))
        })?;
        Ok((block.stms, params, results))
    }

    /// A scalar, or the elements of an array of constant sizes.
    fn elements(&mut self, a: Atom, ty: &Type) -> Vec<Atom> {
        let (Some(v), Some(sizes)) = (a.var(), sizes(ty, tuning::TINY_ELEMENTS)) else { return vec![a] };
        let element = Type::scalar(ty.prim());
        let read = |at| self.emit("x", element.clone(), Exp::Index(v, at)).into();
        positions(&sizes).into_iter().map(read).collect()
    }

    /// The component made of these elements.
    fn of_elements(&mut self, ty: &Type, parts: Vec<Atom>) -> Atom {
        if ty.is_scalar() {
            return parts[0];
        }
        let mut shapes = shapes(ty).into_iter();
        let flat = shapes.next().expect("an array has a dimension");
        let mut whole = self.emit("row", flat, Exp::Literal(parts, ty.prim()));
        for shape in shapes {
            whole = self.emit("row", shape, Exp::Unflatten(whole));
        }
        whole.into()
    }
}

/// A value with other scalars and array variables.
pub(super) fn with_components<'p>(val: &Val<'p>, atoms: &mut dyn Iterator<Item = Atom>) -> Val<'p> {
    match val {
        Val::Scalar(a, p) => Val::Scalar(atoms.next().unwrap_or(*a), *p),
        Val::Leaf(v, p) => Val::Leaf(atoms.next().and_then(Atom::var).unwrap_or(*v), *p),
        Val::Tuple(vs) => Val::Tuple(vs.iter().map(|v| with_components(v, atoms)).collect()),
        Val::Record(fs) => {
            Val::Record(fs.iter().map(|(n, v)| (n.clone(), with_components(v, atoms))).collect())
        }
        Val::Array(d, e) => Val::Array(*d, Box::new(with_components(e, atoms))),
        Val::Fun(f) => Val::Fun(f.clone()),
    }
}
