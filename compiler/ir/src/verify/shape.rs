//! Agreement of CORE types. Ranks and element types are compared strictly. Of dimensions only what is certainly
//! wrong is reported, namely two different constants: equal sizes may have different names.

use super::{Result, ensure};
use crate::print::print_type;
use crate::ty::{Atom, Dim, Elem, Type, Vars};

/// Two types may be the same.
pub(super) fn agree(what: &str, found: &Type, wanted: &Type, vars: &Vars) -> Result {
    let dims = found.dims.iter().zip(&wanted.dims).all(|(a, b)| may_equal(*a, *b));
    ensure(same_kind(found, wanted) && dims, || mismatch(what, found, wanted, vars))
}

/// Equal rank and elements; the dimensions may differ.
pub(super) fn same_kind(a: &Type, b: &Type) -> bool {
    a.rank() == b.rank() && a.elem == b.elem
}

pub(super) fn mismatch(what: &str, found: &Type, wanted: &Type, vars: &Vars) -> String {
    format!("{what} has type {}, not {}", print_type(found, vars), print_type(wanted, vars))
}

fn may_equal(a: Dim, b: Dim) -> bool {
    match (a, b) {
        (Dim::Size(Atom::Const(a)), Dim::Size(Atom::Const(b))) => a == b,
        _ => true,
    }
}

/// The type of `levels` rows further in: a length of a descriptor is an `i64`.
pub(super) fn row(ty: &Type, levels: usize) -> Option<Type> {
    match (ty.rank().checked_sub(levels)?, ty.elem) {
        (0, Elem::Desc) => Some(Type::I64),
        (0, Elem::Prim(p)) => Some(Type::scalar(p)),
        _ => Some(Type { dims: ty.dims[levels..].to_vec(), elem: ty.elem }),
    }
}

/// The type of an array of `width` rows.
pub(super) fn array_of(width: Atom, row: &Type) -> Type {
    let mut dims = vec![Dim::Size(width)];
    dims.extend(&row.dims);
    Type { dims, elem: row.elem }
}

/// A mapped result as the pattern types it: the rows' type one dimension up, or a descriptor of `i64` results.
pub(super) fn mapped(width: Atom, row: &Type, pattern: &Type) -> Type {
    let ty = array_of(width, row);
    if *row == Type::I64 && pattern.is_desc() { Type { elem: Elem::Desc, ..ty } } else { ty }
}
