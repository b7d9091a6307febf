//! To values of Rust.

use super::Mismatch;
use par_runtime::array::Element;
use par_runtime::io::view::View;
use par_runtime::{Column, Value, ValueType, f16};
use std::ops::Range;

/// Types that the result of an entry point can be read as. Derive it for records and sums as [`IntoPar`](super::IntoPar).
pub trait FromPar: Sized {
    /// True if some of the result is passed on as it is, so that it may stay on a GPU until somebody looks at it.
    const KEEPS: bool = false;

    /// Checks that values of a column can be read at all, as far as its type says: it is asked where there are none.
    fn fits(view: &View<'_>) -> Result<(), Mismatch> {
        let _ = view;
        Ok(())
    }

    /// The value in a row of a column, or of a scalar (row 0).
    fn from_view(view: &View<'_>, row: usize) -> Result<Self, Mismatch>;

    /// The values in some rows.
    fn from_rows(view: &View<'_>, rows: Range<usize>) -> Result<Vec<Self>, Mismatch> {
        if rows.is_empty() {
            Self::fits(view)?;
        }
        rows.map(|row| Self::from_view(view, row)).collect()
    }

    /// A whole value.
    fn from_par(value: Value) -> Result<Self, Mismatch> {
        let view = View::new(&value).map_err(Mismatch::new)?;
        Self::from_view(&view, 0).map_err(|m| m.inside(&format!("a value of type `{}`", value.ty)))
    }
}

/// Mismatch: another type was expected.
pub(super) fn wrong<T>(view: &View<'_>, wanted: &str) -> Result<T, Mismatch> {
    let found = match view {
        View::Scalar(x) => format!("`{}`", x.prim()),
        View::Data(xs) => format!("`{}`", xs.prim()),
        View::Tuple(parts) => format!("a tuple of {} components", parts.len()),
        View::Record(..) => "a record".to_string(),
        View::Sum(..) => "a value of a sum type".to_string(),
        View::Array { ty, .. } => format!("`{ty}`"),
        View::Texts(..) => "`[]u8`".to_string(),
        View::Opaque(name, _) => format!("a value of the hidden type `{name}`"),
    };
    Err(Mismatch::new(format!("{found} cannot be read as {wanted}")))
}

fn scalar<T: Element>(view: &View<'_>, row: usize) -> Result<T, Mismatch> {
    match view {
        View::Data(xs) if xs.prim() == T::PRIM => Ok(xs.slice::<T>()[row]),
        View::Scalar(x) if x.prim() == T::PRIM => {
            let one = par_runtime::Array::from_scalars(T::PRIM, &[*x]);
            Ok(one.slice::<T>()[0])
        }
        _ => wrong(view, &format!("`{}`", T::PRIM)),
    }
}

macro_rules! scalars {
    ($($t:ty),*) => { $(
        impl FromPar for $t {
            fn fits(view: &View<'_>) -> Result<(), Mismatch> {
                match view {
                    View::Data(xs) if xs.prim() == <$t>::PRIM => Ok(()),
                    View::Scalar(x) if x.prim() == <$t>::PRIM => Ok(()),
                    _ => wrong(view, &format!("`{}`", <$t>::PRIM)),
                }
            }

            fn from_view(view: &View<'_>, row: usize) -> Result<$t, Mismatch> {
                scalar(view, row)
            }

            fn from_rows(view: &View<'_>, rows: Range<usize>) -> Result<Vec<$t>, Mismatch> {
                match view {
                    View::Data(xs) if xs.prim() == <$t>::PRIM => Ok(xs.slice::<$t>()[rows].to_vec()),
                    _ => {
                        <$t>::fits(view)?;
                        rows.map(|row| scalar(view, row)).collect()
                    }
                }
            }
        }
    )* };
}
scalars!(i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64, bool);

impl<T: FromPar> FromPar for Vec<T> {
    fn fits(view: &View<'_>) -> Result<(), Mismatch> {
        let View::Array { elem, .. } = view else { return wrong(view, "a `Vec`") };
        T::fits(elem)
    }

    fn from_view(view: &View<'_>, row: usize) -> Result<Vec<T>, Mismatch> {
        let View::Array { lengths, elem, .. } = view else { return wrong(view, "a `Vec`") };
        let (start, len) = lengths.row(row);
        T::from_rows(elem, start..start + len)
    }
}

impl<T: FromPar, const N: usize> FromPar for [T; N] {
    fn fits(view: &View<'_>) -> Result<(), Mismatch> {
        Vec::<T>::fits(view)
    }

    fn from_view(view: &View<'_>, row: usize) -> Result<[T; N], Mismatch> {
        let elements = Vec::<T>::from_view(view, row)?;
        let found = elements.len();
        elements
            .try_into()
            .map_err(|_| Mismatch::new(format!("{N} elements are wanted, but there are {found}")))
    }
}

impl FromPar for String {
    fn fits(view: &View<'_>) -> Result<(), Mismatch> {
        Vec::<u8>::fits(view)
    }

    fn from_view(view: &View<'_>, row: usize) -> Result<String, Mismatch> {
        let bytes = Vec::<u8>::from_view(view, row)?;
        String::from_utf8(bytes).map_err(|e| Mismatch::new(format!("the bytes are no text: {e}")))
    }
}

/// The value as the program has it. It can be an argument again, of this or another call.
impl FromPar for Value {
    const KEEPS: bool = true;

    fn from_view(view: &View<'_>, _row: usize) -> Result<Value, Mismatch> {
        wrong(view, "a whole value, which is a result or a component of a tuple that is")
    }

    fn from_par(value: Value) -> Result<Value, Mismatch> {
        Ok(value)
    }
}

/// The components of a value that is a tuple of as many.
fn components(value: Value, count: usize) -> Result<Vec<Value>, Mismatch> {
    let ValueType::Tuple(types) = value.ty else {
        return Err(Mismatch::new(format!("`{}` cannot be read as a tuple", value.ty)));
    };
    if types.len() != count {
        let message = format!("a tuple of {} components cannot be read as one of {count}", types.len());
        return Err(Mismatch::new(message));
    }
    let mut columns = value.columns.into_iter();
    let take = |ty: ValueType| {
        let columns: Vec<Column> = columns.by_ref().take(ty.columns().len()).collect();
        Value { ty, columns }
    };
    Ok(types.into_iter().map(take).collect())
}

macro_rules! tuples {
    ($($count:literal: $($t:ident $i:tt),*;)*) => { $(
        impl<$($t: FromPar),*> FromPar for ($($t,)*) {
            const KEEPS: bool = $($t::KEEPS ||)* false;

            fn fits(view: &View<'_>) -> Result<(), Mismatch> {
                match view {
                    View::Tuple(parts) if parts.len() == $count => {
                        $($t::fits(&parts[$i])?;)*
                        Ok(())
                    }
                    _ => wrong(view, concat!("a tuple of ", $count, " components")),
                }
            }

            fn from_view(view: &View<'_>, row: usize) -> Result<Self, Mismatch> {
                match view {
                    View::Tuple(parts) if parts.len() == $count => {
                        Ok(($($t::from_view(&parts[$i], row)?,)*))
                    }
                    _ => wrong(view, concat!("a tuple of ", $count, " components")),
                }
            }

            fn from_par(value: Value) -> Result<Self, Mismatch> {
                let mut parts = components(value, $count)?.into_iter();
                Ok(($({
                    let part = parts.next().expect("as many as were counted");
                    $t::from_par(part).map_err(|m| m.inside(concat!("component ", $i)))?
                },)*))
            }
        }
    )* };
}
for_tuples!(tuples);

impl FromPar for () {
    fn from_view(view: &View<'_>, _row: usize) -> Result<(), Mismatch> {
        match view {
            View::Tuple(parts) if parts.is_empty() => Ok(()),
            _ => wrong(view, "an empty tuple"),
        }
    }
}
