//! The arguments of a call: a tuple of values.

use super::{Error, IntoPar, Mismatch};
use par_ir::core::Entry;
use par_runtime::Value;

/// Arguments: `()`, or a tuple of as many values as the entry point has parameters.
pub trait Args {
    /// The arguments at the types of an entry point.
    fn to_values(&self, entry: &Entry) -> Result<Vec<Value>, Error>;
}

fn expect(entry: &Entry, given: usize) -> Result<(), Error> {
    let (name, takes) = (&entry.name, entry.params.len());
    if takes == given {
        return Ok(());
    }
    let plural = if takes == 1 { "" } else { "s" };
    Err(Mismatch::new(format!("`{name}` takes {takes} argument{plural}, not {given}")).into())
}

fn argument(entry: &Entry, index: usize, value: &dyn IntoValue) -> Result<Value, Error> {
    let (name, ty) = &entry.params[index];
    let place = format!("argument `{name}` of `{}`", entry.name);
    value.value(ty).map_err(|m| m.inside(&place).into())
}

/// [`IntoPar`] as an object.
trait IntoValue {
    fn value(&self, ty: &par_runtime::ValueType) -> Result<Value, Mismatch>;
}

impl<T: IntoPar> IntoValue for T {
    fn value(&self, ty: &par_runtime::ValueType) -> Result<Value, Mismatch> {
        self.to_par(ty)
    }
}

macro_rules! args {
    ($($count:literal: $($t:ident $i:tt),*;)*) => { $(
        impl<$($t: IntoPar),*> Args for ($($t,)*) {
            fn to_values(&self, entry: &Entry) -> Result<Vec<Value>, Error> {
                expect(entry, $count)?;
                Ok(vec![$(argument(entry, $i, &self.$i)?),*])
            }
        }
    )* };
}
args! { 1: A 0; }
for_tuples!(args);

impl Args for () {
    fn to_values(&self, entry: &Entry) -> Result<Vec<Value>, Error> {
        expect(entry, 0)?;
        Ok(Vec::new())
    }
}

/// As many values as are known at run time only.
impl Args for Vec<Value> {
    fn to_values(&self, entry: &Entry) -> Result<Vec<Value>, Error> {
        expect(entry, self.len())?;
        self.iter().enumerate().map(|(i, v)| argument(entry, i, v)).collect()
    }
}
