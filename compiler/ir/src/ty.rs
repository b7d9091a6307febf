//! Variables, atoms and types shared by CORE and FLAT.
//!
//! An array type is `[d0][d1]…[dk]elem`, structure-of-arrays: tuples have been replaced by their components. A dimension is
//!
//! - `Size a`: the `i64` atom `a`, uniform;
//! - `Seg s`: the **descriptor variable** `s`: row `i` has the length `s` holds for it.
//!
//! A descriptor is itself typed like an array of lengths: `Elem::Desc` with the dimensions of its rows as `dims`.
//! In `xss : [n][s][t]f32` we have `s : [n]desc` and `t : [n][s]desc`. Taking a row of a descriptor of rank 1
//! gives an `i64` size; of a higher rank, a descriptor of one rank less. Two arrays whose types name the
//! same descriptor variable are provably of equal shape.

use crate::origin::Origins;
use par_runtime::{Prim, Scalar};
use std::collections::BTreeSet;

/// A variable: a dense id, unique in its program. Names are kept beside, in [`Vars`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Var(pub u32);

/// Names of a program's variables, for printing; also the supply of fresh ones. Printed as `name_id`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vars {
    names: Vec<String>,
    /// Statements that the binding statements were fused from.
    pub(crate) origins: Origins,
    /// Arrays that are stored as they are written, whatever it would save not to (`#[opaque]`).
    opaque: BTreeSet<Var>,
}

impl Vars {
    /// A variable not used before. Names need not be unique.
    pub fn fresh(&mut self, name: &str) -> Var {
        self.names.push(name.to_string());
        Var(self.names.len() as u32 - 1)
    }

    /// A fresh variable with the name of `v`.
    pub fn fresh_like(&mut self, v: Var) -> Var {
        let name = self.name(v).to_string();
        let new = self.fresh(&name);
        self.origins.copy(v, new);
        new
    }

    /// Marks the array `v` as opaque: no operator is fused across it.
    pub fn set_opaque(&mut self, v: Var) {
        self.opaque.insert(v);
    }

    /// True if `v` was marked as opaque.
    pub fn is_opaque(&self, v: Var) -> bool {
        self.opaque.contains(&v)
    }

    /// The name given to `v`.
    pub fn name(&self, v: Var) -> &str {
        self.names.get(v.0 as usize).map_or("v", String::as_str)
    }

    /// Number of variables: all ids are below it.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// No variable was made yet.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Registers `v` under `name` (used when parsing printed IR).
    pub fn define(&mut self, v: Var, name: &str) {
        let needed = v.0 as usize + 1;
        if self.names.len() < needed {
            self.names.resize(needed, "v".into());
        }
        self.names[v.0 as usize] = name.to_string();
    }
}

/// An operand: a variable or a constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Atom {
    Var(Var),
    Const(Scalar),
}

impl Atom {
    /// The `i64` constant `x`.
    pub const fn i64(x: i64) -> Atom {
        Atom::Const(Scalar::I64(x))
    }

    /// The bool constant `x`.
    pub const fn bool(x: bool) -> Atom {
        Atom::Const(Scalar::Bool(x))
    }

    /// The variable, if it is one.
    pub const fn var(self) -> Option<Var> {
        match self {
            Atom::Var(v) => Some(v),
            Atom::Const(_) => None,
        }
    }

    /// The constant as `i64`, if it is an integer constant.
    pub const fn as_i64(self) -> Option<i64> {
        match self {
            Atom::Const(c) => c.as_i64(),
            Atom::Var(_) => None,
        }
    }
}

impl From<Var> for Atom {
    fn from(v: Var) -> Atom {
        Atom::Var(v)
    }
}

/// One dimension of an array type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dim {
    /// Uniform size: an `i64` atom.
    Size(Atom),
    /// Row lengths held by a descriptor variable.
    Seg(Var),
}

/// Element type of an array (or of a scalar).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Elem {
    /// Scalars.
    Prim(Prim),
    /// Row lengths: the type is a descriptor's, `dims` are the dimensions of its rows.
    Desc,
    /// An accumulator of such numbers ([`crate::core::Exp::Accumulate`]); it has no dimensions.
    Acc(Prim),
}

/// A CORE type: scalar (`dims` empty), array, descriptor, or accumulator.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct Type {
    pub dims: Vec<Dim>,
    pub elem: Elem,
}

impl Type {
    /// A scalar type.
    pub const fn scalar(p: Prim) -> Type {
        Type { dims: Vec::new(), elem: Elem::Prim(p) }
    }

    /// The type of sizes.
    pub const I64: Type = Type::scalar(Prim::I64);

    /// The type of conditions.
    pub const BOOL: Type = Type::scalar(Prim::Bool);

    /// An array of scalars.
    pub fn array(dims: Vec<Dim>, p: Prim) -> Type {
        Type { dims, elem: Elem::Prim(p) }
    }

    /// An array of FLAT as kernels and their functions see it. How long it is they are not told: 0 stands there.
    pub fn flat_array(p: Prim) -> Type {
        Type::array(vec![Dim::Size(Atom::i64(0))], p)
    }

    /// True for [`Type::flat_array`].
    pub fn is_flat_array(&self) -> bool {
        !self.is_desc() && self.dims == [Dim::Size(Atom::i64(0))]
    }

    /// A descriptor whose rows have dimensions `dims` (at least one).
    pub fn desc(dims: Vec<Dim>) -> Type {
        Type { dims, elem: Elem::Desc }
    }

    /// An accumulator.
    pub fn acc(p: Prim) -> Type {
        Type { dims: Vec::new(), elem: Elem::Acc(p) }
    }

    /// Number of dimensions; 0 for a scalar.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Size of the outermost dimension of an array.
    pub fn rows(&self) -> Atom {
        match self.dims[0] {
            Dim::Size(n) => n,
            Dim::Seg(_) => unreachable!("outermost dimensions are sizes"),
        }
    }

    /// A scalar of primitive type, or an accumulator, which has no dimensions either.
    pub fn is_scalar(&self) -> bool {
        self.dims.is_empty()
    }

    /// No descriptor, and all rows of a dimension are equally long.
    pub fn is_regular(&self) -> bool {
        !self.is_desc() && self.dims.iter().all(|d| matches!(d, Dim::Size(_)))
    }

    /// A scalar, or an array or descriptor that functions of kernels take: only the dimension behind the outermost may be ragged.
    pub fn is_rows_of_scalars(&self) -> bool {
        let rows = self.dims.iter().take(1).chain(self.dims.iter().skip(2));
        let is_size = |d: &Dim| matches!(d, Dim::Size(_));
        !self.is_acc() && rows.into_iter().all(is_size) && !(self.is_desc() && self.rank() > 1)
    }

    /// A descriptor.
    pub fn is_desc(&self) -> bool {
        self.elem == Elem::Desc
    }

    /// An accumulator.
    pub fn is_acc(&self) -> bool {
        matches!(self.elem, Elem::Acc(_))
    }

    /// Scalar type of the elements (`i64` for descriptors: their lengths).
    pub fn prim(&self) -> Prim {
        match self.elem {
            Elem::Prim(p) | Elem::Acc(p) => p,
            Elem::Desc => Prim::I64,
        }
    }
}
