//! From values of Rust.

use super::{Builder, Mismatch};
use par_runtime::entry::same_representation;
use par_runtime::{Value, ValueType, f16};

/// Types of arguments of an entry point. Derive it for records (`struct`s with fields of the same names) and sums
/// (`enum`s whose variants are the constructors in lower case).
pub trait IntoPar {
    /// Adds the value to a builder.
    fn write_to(&self, to: &mut Builder) -> Result<(), Mismatch>;

    /// Adds values, one after the other.
    fn write_all_to(values: &[Self], to: &mut Builder) -> Result<(), Mismatch>
    where
        Self: Sized,
    {
        values.iter().try_for_each(|v| v.write_to(to))
    }

    /// The value at a type of the program.
    fn to_par(&self, ty: &ValueType) -> Result<Value, Mismatch> {
        let mut builder = Builder::new(ty);
        self.write_to(&mut builder)?;
        builder.finish()
    }
}

macro_rules! scalars {
    ($($t:ty),*) => { $(
        impl IntoPar for $t {
            fn write_to(&self, to: &mut Builder) -> Result<(), Mismatch> {
                to.scalars(std::slice::from_ref(self))
            }

            fn write_all_to(values: &[$t], to: &mut Builder) -> Result<(), Mismatch> {
                to.scalars(values)
            }
        }
    )* };
}
scalars!(i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64, bool);

impl<T: IntoPar + ?Sized> IntoPar for &T {
    fn write_to(&self, to: &mut Builder) -> Result<(), Mismatch> {
        (**self).write_to(to)
    }

    fn to_par(&self, ty: &ValueType) -> Result<Value, Mismatch> {
        (**self).to_par(ty)
    }
}

impl<T: IntoPar> IntoPar for [T] {
    fn write_to(&self, to: &mut Builder) -> Result<(), Mismatch> {
        T::write_all_to(self, to.arrays([self.len()])?)
    }
}

impl<T: IntoPar> IntoPar for Vec<T> {
    fn write_to(&self, to: &mut Builder) -> Result<(), Mismatch> {
        self.as_slice().write_to(to)
    }
}

impl<T: IntoPar, const N: usize> IntoPar for [T; N] {
    fn write_to(&self, to: &mut Builder) -> Result<(), Mismatch> {
        self.as_slice().write_to(to)
    }

    fn write_all_to(values: &[[T; N]], to: &mut Builder) -> Result<(), Mismatch> {
        T::write_all_to(values.as_flattened(), to.equal_arrays(N, values.len())?)
    }
}

impl IntoPar for str {
    fn write_to(&self, to: &mut Builder) -> Result<(), Mismatch> {
        self.as_bytes().write_to(to)
    }
}

impl IntoPar for String {
    fn write_to(&self, to: &mut Builder) -> Result<(), Mismatch> {
        self.as_str().write_to(to)
    }
}

/// A value of the program, passed on as it is.
impl IntoPar for Value {
    fn write_to(&self, to: &mut Builder) -> Result<(), Mismatch> {
        Err(to.mismatch("a whole value of the program inside another one"))
    }

    fn to_par(&self, ty: &ValueType) -> Result<Value, Mismatch> {
        match same_representation(&self.ty, ty) {
            true => Ok(Value { ty: ty.clone(), columns: self.columns.clone() }),
            false => Err(Mismatch::new(format!("a value of type `{ty}` is needed, not `{}`", self.ty))),
        }
    }
}

macro_rules! tuples {
    ($($count:literal: $($t:ident $i:tt),*;)*) => { $(
        impl<$($t: IntoPar),*> IntoPar for ($($t,)*) {
            fn write_to(&self, to: &mut Builder) -> Result<(), Mismatch> {
                $(self.$i.write_to(to.component($i, $count)?)?;)*
                Ok(())
            }
        }
    )* };
}
for_tuples!(tuples);

impl IntoPar for () {
    fn write_to(&self, to: &mut Builder) -> Result<(), Mismatch> {
        match to.ty() {
            ValueType::Tuple(ts) if ts.is_empty() => Ok(()),
            _ => Err(to.mismatch("an empty tuple")),
        }
    }
}
