//! The canonical form of values that pass through host control flow and calls.
//!
//! At the root level: a scalar is a host scalar, an array its packed data, a descriptor a FLAT descriptor. At any
//! other level: a scalar is an array over the level's positions, arrays and descriptors are packed over all positions.

use super::Flattener;
use super::ex::Ex;
use super::nest::LevelId;
use super::rep::{Rep, Src};
use par_ir::core::Param;
use par_ir::flat::{self, Op, Ty};
use par_ir::{Atom, Prim, Scalar, Type, Var};
use std::rc::Rc;

impl Flattener<'_> {
    /// The type of the canonical form of a CORE value.
    pub(crate) fn canonical_ty(&self, level: LevelId, ty: &Type) -> Ty {
        match ty {
            t if t.is_scalar() && self.is_root(level) => Ty::Scalar(t.prim()),
            t if t.is_desc() => Ty::Desc,
            t => Ty::Array(t.prim()),
        }
    }

    /// Brings operands into canonical form.
    pub(crate) fn canonical(&mut self, level: LevelId, atoms: &[Atom]) -> Vec<Atom> {
        atoms.iter().map(|a| self.canonical_atom(level, *a)).collect()
    }

    fn canonical_atom(&mut self, level: LevelId, a: Atom) -> Atom {
        match self.rep(a) {
            Rep::Scalar(ex) if self.is_root(level) => self.host(&ex),
            Rep::Scalar(ex) => self.store(level, &ex).into(),
            Rep::Array(arr) => {
                let ty = self.types[&a.var().expect("constants are scalar")].clone();
                match self.pack(level, &arr, &ty).src {
                    Src::Data(v, _) | Src::Desc(v) => v.into(),
                    Src::Iota | Src::Splat(_) => unreachable!("packed"),
                }
            }
        }
    }

    /// Fresh FLAT variables for CORE values in canonical form.
    pub(crate) fn canonical_params(&mut self, level: LevelId, params: &[Param]) -> Vec<flat::Param> {
        params
            .iter()
            .map(|p| flat::Param { var: self.vars.fresh_like(p.var), ty: self.canonical_ty(level, &p.ty) })
            .collect()
    }

    /// Binds CORE variables to values in canonical form, in order.
    pub(crate) fn adopt_canonical(&mut self, level: LevelId, params: &[Param], values: &[flat::Param]) {
        for (p, v) in params.iter().zip(values) {
            self.declare(v);
            self.bind_canonical(level, p, v.var);
        }
    }

    fn bind_canonical(&mut self, level: LevelId, p: &Param, v: Var) {
        self.types.insert(p.var, p.ty.clone());
        let rep = if p.ty.is_scalar() {
            if self.is_root(level) {
                Rep::Scalar(Ex::Atom(v.into()))
            } else {
                let extent = self.extent(level);
                self.extents.insert(v, extent);
                Rep::Scalar(Ex::Load(v, p.ty.prim(), Rc::new(Ex::Pos(level))))
            }
        } else {
            let dims = self.dim_reps(&p.ty);
            let levels = self.enter_dims(level, dims);
            let extent = self.extent(*levels.last().expect("an array has a dimension"));
            let src = if p.ty.is_desc() {
                self.desc_rows.insert(v, extent);
                Src::Desc(v)
            } else {
                self.extents.insert(v, extent);
                Src::Data(v, p.ty.prim())
            };
            Rep::Array(self.packed_arr(src, &levels))
        };
        self.env.insert(p.var, rep);
    }

    /// A value of a FLAT type for a batch without any position.
    pub(crate) fn nothing(&mut self, ty: Ty) -> Atom {
        match ty {
            Ty::Scalar(p) => Atom::Const(Scalar::zero(p)),
            Ty::Array(p) => self.bind("none", ty, Op::Literal(vec![], p)).into(),
            Ty::Desc => {
                let none = self.bind("none", Ty::Array(Prim::I64), Op::Literal(vec![], Prim::I64));
                self.bind("none", Ty::Desc, Op::MakeDesc(none)).into()
            }
        }
    }
}
