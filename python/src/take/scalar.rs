//! Numbers and booleans.

use super::{Refusal, Taker, found};
use par_runtime::{Prim, Scalar, f16};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};

impl<'py> Taker<'py> {
    /// A scalar of a type: whole numbers in their range, floats of numbers, booleans of booleans.
    pub(super) fn scalar(&self, object: &Bound<'py, PyAny>, prim: Prim) -> Result<Scalar, Refusal> {
        if let Some(taken) = number(object, prim)? {
            return Ok(taken);
        }
        // Scalars and arrays without dimensions of NumPy, torch and others.
        let item = match object.getattr(intern!(self.py, "ndim")).and_then(|n| n.extract::<usize>()) {
            Ok(0) => object.call_method0(intern!(self.py, "item"))?,
            Ok(_) => return Err(Refusal::new(found(object))),
            Err(_) if prim != Prim::Bool && object.hasattr(intern!(self.py, "__index__"))? => {
                object.call_method0(intern!(self.py, "__index__"))?
            }
            Err(_) => return Err(Refusal::new(found(object))),
        };
        number(&item, prim)?.ok_or_else(|| Refusal::new(found(object)))
    }
}

/// A number of Python as a scalar, if it is one that fits the type.
fn number(object: &Bound<'_, PyAny>, prim: Prim) -> Result<Option<Scalar>, Refusal> {
    if prim == Prim::Bool {
        return Ok(object.cast::<PyBool>().ok().map(|b| Scalar::Bool(b.is_true())));
    }
    if matches!(prim, Prim::F16 | Prim::F32 | Prim::F64) {
        let is_number = object.is_instance_of::<PyFloat>() || object.is_instance_of::<PyInt>();
        return Ok(if is_number { Some(float(prim, object.extract::<f64>()?)) } else { None });
    }
    if !object.is_instance_of::<PyInt>() {
        return Ok(None);
    }
    let outside = || Refusal::new(format!("{object} is outside the range of {prim}"));
    macro_rules! whole {
        ($($p:ident $t:ty),*) => { match prim {
            $(Prim::$p => Scalar::$p(object.extract::<$t>().map_err(|_| outside())?),)*
            _ => unreachable!("floats and booleans were before"),
        } };
    }
    Ok(Some(whole!(I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64)))
}

fn float(prim: Prim, x: f64) -> Scalar {
    match prim {
        Prim::F16 => Scalar::F16(f16::from_f64(x)),
        Prim::F32 => Scalar::F32(x as f32),
        _ => Scalar::F64(x),
    }
}
