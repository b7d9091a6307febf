//! The forms of values that pass through host control flow and calls.
//!
//! **Packed**: at the root level a scalar is a host scalar, an array its packed data, a descriptor a FLAT descriptor. At any
//! other level a scalar is an array over the level's positions, arrays and descriptors are packed over all positions.
//!
//! **View**: elements are a rope, and rows are where each position's starts in its index space:
//!
//! ```text
//! if c then big else [i]      packed: a copy of big for every position where c
//!                             view:   (append big, ones) and a start per position
//! ```
//!
//! Between them come, for rows of higher rank, the starts of the rows of each inner dimension, which are ropes too: a position's rows
//! start where its row of starts says. So a matrix, or a ragged array, is passed on by one number a position. The elements of a
//! descriptor are the lengths.

use super::Flattener;
use super::carried::Carried;
use super::ex::Ex;
use super::host::Known;
use super::nest::{FDim, LevelId};
use super::pack::DimRep;
use super::rep::{Arr, Rep, Src};
use par_ir::core::Param;
use par_ir::flat::{self, Op, Ty};
use par_ir::{Atom, Prim, Scalar, Type, Var};
use std::rc::Rc;

/// Form of a value that passes through host control flow or a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Packed: rows made anew are packed already; others are copied.
    Packed,
    /// View: existing rows stay where they are.
    View,
    /// State of a loop that its iterations update: one array for all positions, see [`super::in_place_whole`].
    InPlace,
    /// An accumulator: one array for all positions, see [`super::carried`].
    Sums,
    /// A number that is the same at all positions: the host has it.
    Uniform,
}

/// True if an array's elements are somewhere: all that has to be said is where.
pub fn is_stored(arr: &Arr, is_desc: bool) -> bool {
    match arr.src {
        Src::Data(..) => true,
        Src::Desc(_) | Src::Lens(_) => is_desc,
        Src::Iota | Src::Splat(_) => false,
    }
}

/// True if values of this type can be passed as views.
pub fn has_view(ty: &Type) -> bool {
    ty.rank() > 0
}

impl Flattener<'_> {
    /// The type of the packed form of a CORE value.
    pub fn canonical_ty(&self, level: LevelId, ty: &Type) -> Ty {
        match ty {
            t if t.is_scalar() && self.shapes.is_root(level) => Ty::Scalar(t.prim()),
            t if t.is_desc() => Ty::Desc,
            t => Ty::Array(t.prim()),
        }
    }

    /// The types of a form of a CORE value.
    pub fn form_tys(&self, level: LevelId, ty: &Type, form: Form) -> Vec<Ty> {
        match form {
            Form::Packed => vec![self.canonical_ty(level, ty)],
            Form::InPlace | Form::Sums => vec![Ty::Array(ty.prim())],
            Form::Uniform => vec![Ty::Scalar(ty.prim())],
            Form::View => {
                let mut tys = vec![Ty::Rope(ty.prim())];
                tys.extend(ty.dims[1..].iter().map(|_| Ty::Rope(Prim::I64)));
                tys.push(self.canonical_ty(level, &Type::I64));
                tys
            }
        }
    }

    /// Brings operands into packed form.
    pub fn canonical(&mut self, level: LevelId, atoms: &[Atom]) -> Vec<Atom> {
        atoms.iter().map(|a| self.canonical_atom(level, *a)).collect()
    }

    /// Brings operands into the forms given.
    pub fn formed(&mut self, level: LevelId, atoms: &[Atom], forms: &[Form]) -> Vec<Atom> {
        let mut values = Vec::new();
        for (a, form) in atoms.iter().zip(forms) {
            match form {
                Form::Packed => values.push(self.canonical_atom(level, *a)),
                Form::View => values.extend(self.view_of(level, *a)),
                Form::Uniform => values.push(self.host_atom(*a)),
                Form::Sums => {
                    let acc = a.var().expect("an accumulator is a variable");
                    values.push(self.carried(Carried::Sums(acc)).var.into());
                }
                Form::InPlace => {
                    let v = a.var().expect("an array is a variable");
                    values.push(self.as_in_place(level, v).expect("put in place before").1.into());
                }
            }
        }
        values
    }

    fn canonical_atom(&mut self, level: LevelId, a: Atom) -> Atom {
        match self.rep(a) {
            Rep::Scalar(ex) if self.shapes.is_root(level) => self.host(&ex),
            Rep::Scalar(ex) => self.store(level, &ex).into(),
            Rep::Array(arr) => {
                let ty = self.types[&a.var().expect("constants are scalar")].clone();
                match self.pack(level, &arr, &ty).src {
                    Src::Data(v, _) | Src::Desc(v) => v.into(),
                    Src::Lens(_) | Src::Iota | Src::Splat(_) => unreachable!("packed"),
                }
            }
        }
    }

    /// Elements as a rope, the starts of inner rows likewise, and where each position's row starts.
    fn view_of(&mut self, level: LevelId, a: Atom) -> Vec<Atom> {
        let v = a.var().expect("constants are scalar");
        let (arr, ty) = (self.shared_rows(level, v), self.types[&v].clone());
        // Starts are marked only where a type says that they may be.
        let arr =
            if matches!(arr.src, Src::Lens(_)) && !ty.is_desc() { self.pack(level, &arr, &ty) } else { arr };
        self.as_view(level, &arr, &ty)
    }

    pub fn as_view(&mut self, level: LevelId, arr: &Arr, ty: &Type) -> Vec<Atom> {
        let arr = self.viewable(level, arr, ty);
        let (src, inner, offsets) = self.append_views(std::slice::from_ref(&arr));
        let (Src::Data(rope, _) | Src::Lens(rope)) = src else { unreachable!("appended as elements") };
        let starts = inner.iter().map(|d| match d {
            FDim::View(s) => Atom::Var(*s),
            FDim::Size(_) | FDim::Seg(_) | FDim::Steps(..) => unreachable!("appended as views"),
        });
        let mut values: Vec<Atom> = std::iter::once(rope.into()).chain(starts).collect();
        let start = self.add(arr.start, Ex::Atom(offsets[0]));
        let root = self.shapes.is_root(level);
        values.push(if root { self.host(&start) } else { self.store(level, &start).into() });
        values
    }

    /// A descriptor's rows as the lengths that they are.
    pub fn as_elements(&mut self, arr: Arr) -> Arr {
        let Src::Desc(d) = arr.src else { return arr };
        let lens = self.where_bound(&[d], |f| f.builder.lengths(d));
        if let Some(rows) = self.shapes.desc_rows.get(&d).cloned() {
            self.shapes.extents.insert(lens, rows);
        }
        Arr { src: Src::Data(lens, Prim::I64), ..arr }
    }

    /// An array as a rope, and what is added to its indices.
    pub fn as_rope(&mut self, data: Var, prim: Prim) -> (Var, Atom) {
        if self.builder.ropes.contains(&data) {
            return (data, Atom::i64(0));
        }
        let (rope, origins) = self.rope_of(&[data], prim);
        (rope, origins[0])
    }

    /// True if a value would have to be copied to be packed, though its rows are somewhere already.
    pub fn is_shared(&mut self, level: LevelId, a: Atom) -> bool {
        let Some(v) = a.var() else { return false };
        let Rep::Array(arr) = self.rep(a) else { return false };
        let ty = self.types[&v].clone();
        let stored = is_stored(&arr, ty.is_desc());
        if ty.is_desc() && (matches!(arr.src, Src::Lens(_)) || arr.same_length().is_some()) {
            return true;
        }
        if self.own.part_of.contains_key(&v) && !self.shapes.is_root(level) {
            return true;
        }
        if !stored || arr.stride.is_some() {
            let for_all = self.is_for_all(v, &arr).is_some()
                || self.copies_of_row(&arr, &ty).is_some()
                || self.is_of_host(&arr, &ty);
            return !self.shapes.is_root(level) && for_all || stored && ty.rank() > 1;
        }
        !self.is_packed(level, &arr, &ty)
    }

    /// If an array is a range or copies of a scalar that was made outside all nests: its size, and in how many host
    /// rope.
    fn is_for_all(&self, v: Var, arr: &Arr) -> Option<(Atom, usize)> {
        let depth = *self.own.made_for_all.get(&v)?;
        let Some(DimRep::Width(Ex::Atom(n))) = self.dim_reps(&self.types[&v]).pop() else { return None };
        match &arr.src {
            Src::Iota if arr.start == Ex::i64(0) => Some((n, depth)),
            Src::Splat(x) if matches!(&**x, Rep::Scalar(Ex::Atom(_))) => Some((n, depth)),
            _ => None,
        }
    }

    /// Stores a range, or copies of a scalar, where it was made: once for all positions that refer to it.
    pub fn stored_once(&mut self, v: Var, arr: &Arr) -> Option<Arr> {
        let (n, depth) = self.is_for_all(v, arr)?;
        let prim = self.types[&v].prim();
        let inner = self.builder.scopes.split_off(depth);
        let data = match &arr.src {
            Src::Splat(x) => {
                let Rep::Scalar(Ex::Atom(x)) = **x else { unreachable!("asked before") };
                self.builder.bind_once(Known::Copies(n, x), "rep", Ty::Array(prim), Op::Replicate(n, x))
            }
            _ => self.builder.bind_once(Known::Range(n), "iota", Ty::Array(prim), Op::Iota(n)),
        };
        self.builder.scopes.extend(inner);
        Some(Arr::whole(Src::Data(data, prim), vec![]))
    }

    /// True if packing would change nothing.
    pub fn is_packed(&mut self, level: LevelId, arr: &Arr, ty: &Type) -> bool {
        let dims = self.dim_reps(ty);
        let levels = self.enter_dims(level, dims);
        let last = *levels.last().expect("an array has a dimension");
        let mut rep = Rep::Array(arr.clone());
        for l in &levels {
            if let Rep::Array(a) = &rep {
                rep = self.row(a, self.local(*l));
            }
        }
        let extent = self.shapes.extent(last);
        match &rep {
            Rep::Scalar(Ex::Load(v, _, i)) if !ty.is_desc() => {
                **i == Ex::Pos(last) && self.shapes.covers(*v, &extent)
            }
            Rep::Scalar(Ex::Len(d, i)) => **i == Ex::Pos(last) && self.shapes.has_rows_for(*d, &extent),
            _ => false,
        }
    }

    /// Fresh FLAT variables for CORE values in packed form.
    pub fn canonical_params(&mut self, level: LevelId, params: &[Param]) -> Vec<flat::Param> {
        self.form_params(level, params, &vec![Form::Packed; params.len()])
    }

    /// Fresh FLAT variables for CORE values in these forms.
    pub fn form_params(&mut self, level: LevelId, params: &[Param], forms: &[Form]) -> Vec<flat::Param> {
        let mut out = Vec::new();
        for (p, form) in params.iter().zip(forms) {
            for ty in self.form_tys(level, &p.ty, *form) {
                out.push(flat::Param { var: self.builder.vars.fresh_like(p.var), ty });
            }
        }
        out
    }

    /// Binds CORE variables to values in packed form, in order.
    pub fn adopt_canonical(&mut self, level: LevelId, params: &[Param], values: &[flat::Param]) {
        self.adopt(level, params, &vec![Form::Packed; params.len()], values);
    }

    /// Binds CORE variables to values in these forms, in order.
    pub fn adopt(&mut self, level: LevelId, params: &[Param], forms: &[Form], values: &[flat::Param]) {
        let mut values = values.iter();
        for (p, form) in params.iter().zip(forms) {
            let mut next = || values.next().expect("as many as the forms have");
            let v = next();
            self.builder.declare(v);
            match form {
                Form::Packed => self.bind_canonical(level, p, v.var),
                Form::Uniform => self.bind_local(p, Ex::Atom(v.var.into())),
                Form::InPlace => self.bind_in_place(p, p.var, v.var),
                Form::Sums => {
                    self.types.insert(p.var, p.ty.clone());
                    self.own.carried.insert(Carried::Sums(p.var), *v);
                }
                Form::View => {
                    let starts: Vec<Var> = (1..p.ty.rank())
                        .map(|_| {
                            let starts = next();
                            self.builder.declare(starts);
                            starts.var
                        })
                        .collect();
                    let start = next();
                    self.builder.declare(start);
                    self.bind_view(level, p, v.var, &starts, start.var.into());
                }
            }
        }
    }

    /// Binds rows in a rope: where those of inner dimensions start, then where each position's does.
    pub fn bind_view(&mut self, level: LevelId, p: &Param, rope: Var, starts: &[Var], start: Atom) {
        let start = match start {
            Atom::Var(start) if !self.shapes.is_root(level) => {
                let extent = self.shapes.extent(level);
                self.shapes.extents.insert(start, extent);
                Ex::Load(start, Prim::I64, Rc::new(Ex::Pos(level)))
            }
            start => Ex::Atom(start),
        };
        self.types.insert(p.var, p.ty.clone());
        let src = if p.ty.is_desc() { Src::Lens(rope) } else { Src::Data(rope, p.ty.prim()) };
        let inner = starts.iter().map(|s| FDim::View(*s)).collect();
        self.env.insert(p.var, Rep::Array(Arr::rows(src, inner, start)));
    }

    fn bind_canonical(&mut self, level: LevelId, p: &Param, v: Var) {
        self.types.insert(p.var, p.ty.clone());
        let rep = if p.ty.is_scalar() {
            if self.shapes.is_root(level) {
                Rep::Scalar(Ex::Atom(v.into()))
            } else {
                let extent = self.shapes.extent(level);
                self.shapes.extents.insert(v, extent);
                Rep::Scalar(Ex::Load(v, p.ty.prim(), Rc::new(Ex::Pos(level))))
            }
        } else {
            let dims = self.dim_reps(&p.ty);
            let levels = self.enter_dims(level, dims);
            let extent = self.shapes.extent(*levels.last().expect("an array has a dimension"));
            let src = if p.ty.is_desc() {
                self.shapes.desc_rows.insert(v, extent);
                Src::Desc(v)
            } else {
                self.shapes.extents.insert(v, extent);
                Src::Data(v, p.ty.prim())
            };
            Rep::Array(self.packed_arr(src, &levels))
        };
        self.env.insert(p.var, rep);
    }

    /// A value of a FLAT type for a batch without any position.
    pub fn nothing(&mut self, ty: Ty) -> Atom {
        match ty {
            Ty::Scalar(p) => Atom::Const(Scalar::zero(p)),
            Ty::Array(p) => self.builder.bind("none", ty, Op::Literal(vec![], p)).into(),
            Ty::Rope(p) => {
                let none = self.builder.bind("none", Ty::Array(p), Op::Literal(vec![], p));
                self.as_rope(none, p).0.into()
            }
            Ty::Desc => {
                let none = self.builder.bind("none", Ty::Array(Prim::I64), Op::Literal(vec![], Prim::I64));
                self.builder.bind("none", Ty::Desc, Op::MakeDesc(none)).into()
            }
        }
    }

    /// A value of each type, for a batch without any position.
    pub fn nothing_like(&mut self, params: &[flat::Param]) -> Vec<Atom> {
        params.iter().map(|p| self.nothing(p.ty)).collect()
    }
}
