//! Elements of small arrays.

use crate::tuning;
use crate::ty::{Atom, Dim, Type};

/// The sizes of an array with few elements, all of them constants.
pub fn sizes(ty: &Type, most: usize) -> Option<Vec<usize>> {
    if ty.is_desc() || ty.is_scalar() {
        return None;
    }
    let size = |d: &Dim| match d {
        Dim::Size(a) => a.as_i64().and_then(|n| usize::try_from(n).ok()),
        Dim::Seg(_) => None,
    };
    let sizes: Vec<usize> = ty.dims.iter().map(size).collect::<Option<_>>()?;
    let elements = sizes.iter().try_fold(1usize, |n, m| n.checked_mul(*m))?;
    (elements <= most && sizes.iter().all(|n| *n <= most)).then_some(sizes)
}

/// Number of scalars that a parameter or result is made of.
pub fn leaves(ty: &Type) -> usize {
    sizes(ty, tuning::TINY_ELEMENTS).map_or(1, |s| s.iter().product())
}

/// The indices of all elements of an array of these sizes, in their order.
pub fn positions(sizes: &[usize]) -> Vec<Vec<Atom>> {
    sizes.iter().fold(vec![vec![]], |outer, n| {
        let inner = |at: &Vec<Atom>| {
            (0..*n as i64).map(|i| [at.as_slice(), &[Atom::i64(i)]].concat()).collect::<Vec<_>>()
        };
        outer.iter().flat_map(inner).collect()
    })
}

/// The types that an array of elements has on the way to this one of constant sizes: flat, then one more dimension each.
pub fn shapes(ty: &Type) -> Vec<Type> {
    let sizes = sizes(ty, tuning::TINY_ELEMENTS).unwrap_or_default();
    let shape = |inner: usize| {
        let outer: usize = sizes[..inner].iter().product();
        let dims =
            std::iter::once(Dim::Size(Atom::i64(outer as i64))).chain(ty.dims[inner..].iter().copied());
        Type::array(dims.collect(), ty.prim())
    };
    (1..=sizes.len()).rev().map(shape).collect()
}
