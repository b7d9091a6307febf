//! Missing values: a sum type of two constructors, of which one has nothing and the other a value, as in `#none | #some f64`.
//!
//! A file leaves a cell empty or marks it as null, whatever the constructors are called.

use crate::tree::Tree;
use par_runtime::array::{Element, OutOfMemory};
use par_runtime::{Array, Prim, ValueType, f16};

/// The numbers of the two constructors, and what a present value is.
pub struct Optional<'t> {
    pub none: u8,
    pub some: u8,
    pub ty: &'t ValueType,
}

impl<'t> Optional<'t> {
    /// If a sum type is of this form.
    pub fn of(cases: &'t [(String, Vec<ValueType>)]) -> Option<Optional<'t>> {
        match cases {
            [(_, none), (_, some)] if none.is_empty() && some.len() == 1 => {
                Some(Optional { none: 0, some: 1, ty: &some[0] })
            }
            [(_, some), (_, none)] if none.is_empty() && some.len() == 1 => {
                Some(Optional { none: 1, some: 0, ty: &some[0] })
            }
            _ => None,
        }
    }

    /// Number of each row's constructor.
    pub fn tags(&self, present: &Array) -> Array {
        let tag = |there: &bool| if *there { self.some } else { self.none };
        Array::from_slice(&present.slice::<bool>().iter().map(tag).collect::<Vec<_>>())
    }

    /// For each row, true if it has a value.
    pub fn present(&self, tags: &Array) -> Array {
        Array::from_slice(&tags.slice::<u8>().iter().map(|tag| *tag == self.some).collect::<Vec<_>>())
    }
}

/// True if a value of this type can have missing values inside.
#[cfg(feature = "arrow")]
pub fn may_miss(ty: &ValueType) -> bool {
    match ty {
        ValueType::Prim(_) | ValueType::Opaque { .. } => false,
        ValueType::Tuple(types) => types.iter().any(may_miss),
        ValueType::Record(fields) => fields.iter().any(|(_, t)| may_miss(t)),
        ValueType::Array { elem, .. } => may_miss(elem),
        ValueType::Sum(cases) => Optional::of(cases).is_some(),
    }
}

/// Rows that are there at their places among all rows; the others become zero, `false` and rows without elements.
pub fn spread(tree: Tree, present: &[bool]) -> Result<Tree, OutOfMemory> {
    Ok(match tree {
        Tree::Scalars(array) => Tree::Scalars(spread_scalars(&array, present)?),
        Tree::Fixed(n, elem) => {
            let each: Vec<bool> = present.iter().flat_map(|p| std::iter::repeat_n(*p, n)).collect();
            Tree::array(n, spread(*elem, &each)?)
        }
        Tree::Lists(offsets, elem) => {
            let mut ends = offsets.slice::<i64>().iter().skip(1);
            let mut all = Vec::with_capacity(present.len() + 1);
            let mut end = 0;
            all.push(end);
            for there in present {
                end = if *there { ends.next().copied().unwrap_or(end) } else { end };
                all.push(end);
            }
            Tree::Lists(Array::from_slice(&all), elem)
        }
        Tree::Fields(fields) => {
            let parts = fields.into_iter().map(|(name, t)| Ok((name, spread(t, present)?)));
            Tree::Fields(parts.collect::<Result<_, OutOfMemory>>()?)
        }
        Tree::Optional(inner, elem) => {
            Tree::Optional(spread_scalars(&inner, present)?, Box::new(spread(*elem, present)?))
        }
    })
}

fn spread_scalars(array: &Array, present: &[bool]) -> Result<Array, OutOfMemory> {
    fn each<T: Element>(array: &Array, present: &[bool]) -> Result<Array, OutOfMemory> {
        let mut all = Array::try_zeros(T::PRIM, present.len())?;
        let places = all.slice_mut::<T>().iter_mut().zip(present).filter(|(_, there)| **there);
        places.zip(array.slice::<T>()).for_each(|((place, _), x)| *place = *x);
        Ok(all)
    }
    crate::fit::at_type!(array.prim(), each(array, present))
}
