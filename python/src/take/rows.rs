//! Lists and what is in them, element by element.

use super::{Form, Refusal, Taker, found};
use crate::array::dtype_name;
use crate::python::CAST;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use par::embed::Builder;
use par_runtime::array::Element;
use par_runtime::{Array, Prim, Scalar, ValueType, f16};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

impl<'py> Taker<'py> {
    /// Adds an object to a builder.
    pub(super) fn build(&mut self, object: &Bound<'py, PyAny>, to: &mut Builder) -> Result<(), Refusal> {
        match to.ty() {
            ValueType::Prim(prim) => {
                let x = self.scalar(object, *prim)?;
                push(&[x], *prim, to)
            }
            ValueType::Array { elem, .. } => match **elem {
                ValueType::Prim(prim) => self.build_scalars(object, prim, to),
                _ => self.build_rows(object, to),
            },
            ValueType::Tuple(ts) => {
                let count = ts.len();
                let parts =
                    self.components(object, count, false)?.ok_or_else(|| Refusal::new(found(object)))?;
                for (i, part) in parts.iter().enumerate() {
                    self.build(part, to.component(i, count)?)
                        .map_err(|r| r.inside(&format!("component {i}")))?;
                }
                Ok(())
            }
            ValueType::Record(fs) => {
                let fs = fs.clone();
                let parts = self.fields(object, &fs)?.ok_or_else(|| Refusal::new(found(object)))?;
                for ((name, _), part) in fs.iter().zip(&parts) {
                    self.build(part, to.field(name, fs.len())?)
                        .map_err(|r| r.inside(&format!("field '{name}'")))?;
                }
                Ok(())
            }
            ValueType::Sum(_) => self.build_case(object, to),
            ValueType::Opaque { .. } => Err(to.mismatch("a value of Python").into()),
        }
    }

    /// A constructor's name, alone or before its payload in a tuple.
    fn build_case(&mut self, object: &Bound<'py, PyAny>, to: &mut Builder) -> Result<(), Refusal> {
        let parts = match object.cast::<PyTuple>() {
            Ok(parts) if !parts.is_empty() => parts.iter().collect(),
            _ => vec![object.clone()],
        };
        let name = parts[0].cast::<PyString>().map_err(|_| {
            Refusal::new(format!(
                "a tuple that begins with a constructor's name is needed, {}",
                found(object)
            ))
        })?;
        let mut payload = to.constructor(name.to_cow()?.trim_start_matches('#'))?;
        for (i, part) in parts[1..].iter().enumerate() {
            self.build(part, payload.part(i, parts.len() - 1)?)?;
        }
        if parts.len() == 1 {
            payload.none()?;
        }
        Ok(())
    }

    /// An array of scalars.
    fn build_scalars(
        &mut self,
        object: &Bound<'py, PyAny>,
        prim: Prim,
        to: &mut Builder,
    ) -> Result<(), Refusal> {
        if prim == Prim::U8
            && let Ok(text) = object.cast::<PyString>()
        {
            let text = text.to_cow()?;
            return Ok(to.arrays([text.len()])?.scalars(text.as_bytes())?);
        }
        if prim == Prim::U8
            && let Ok(bytes) = object.cast::<PyBytes>()
        {
            return Ok(to.arrays([bytes.as_bytes().len()])?.scalars(bytes.as_bytes())?);
        }
        if let Form::Array(array) = self.form(object)? {
            return self.build_array(array, prim, to);
        }
        let items = self.items(object)?;
        let mut scalars = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            scalars.push(self.scalar(item, prim).map_err(|r| r.inside(&format!("element {i}")))?);
        }
        push(&scalars, prim, to.arrays([scalars.len()])?)
    }

    /// An array of arrays or of other things.
    fn build_rows(&mut self, object: &Bound<'py, PyAny>, to: &mut Builder) -> Result<(), Refusal> {
        if let (Form::Array(array), Some(prim)) = (self.form(object)?, scalars_inside(to.ty())) {
            return self.build_array(array, prim, to);
        }
        let items = self.items(object)?;
        let to = to.arrays([items.len()])?;
        for (i, item) in items.iter().enumerate() {
            self.build(item, to).map_err(|r| r.inside(&format!("element {i}")))?;
        }
        Ok(())
    }

    /// The elements of a list, or of what can be made one.
    fn items(&self, object: &Bound<'py, PyAny>) -> Result<Vec<Bound<'py, PyAny>>, Refusal> {
        if let Ok(list) = object.cast::<PyList>() {
            return Ok(list.iter().collect());
        }
        if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
            return Err(Refusal::new(found(object)));
        }
        let whole = match self.form(object)? {
            Form::Ragged | Form::Array(_) => object.clone(),
            Form::Rows => return Ok(object.try_iter()?.collect::<PyResult<_>>()?),
            Form::Other => self.adapt(object)?,
        };
        let list = match whole.hasattr("tolist")? {
            true => whole.call_method0("tolist")?,
            false => whole,
        };
        let list = list.cast::<PyList>().map_err(|_| Refusal::new(found(object)))?;
        Ok(list.iter().collect())
    }

    /// A whole array of NumPy inside a list.
    fn build_array(
        &mut self,
        array: &Bound<'py, PyUntypedArray>,
        prim: Prim,
        to: &mut Builder,
    ) -> Result<(), Refusal> {
        let converted = CAST.get(self.py)?.call1((array, dtype_name(prim)))?;
        let Ok(converted) = converted.cast_exact::<PyUntypedArray>() else {
            return self.build(&array.call_method0("tolist")?, to);
        };
        let data = crate::array::shared(converted, prim).ok_or_else(|| Refusal::new(found(array)))?;
        let (mut to, mut rows) = (to, 1);
        for n in converted.shape() {
            to = to.equal_arrays(*n, rows).map_err(|_| Refusal::new(found(array)))?;
            rows *= n;
        }
        push_array(&data, to).map_err(|_| Refusal::new(found(array)))
    }
}

/// The type of the scalars in arrays of arrays of them.
fn scalars_inside(ty: &ValueType) -> Option<Prim> {
    match ty {
        ValueType::Prim(prim) => Some(*prim),
        ValueType::Array { elem, .. } => scalars_inside(elem),
        _ => None,
    }
}

fn push(scalars: &[Scalar], prim: Prim, to: &mut Builder) -> Result<(), Refusal> {
    push_array(&Array::from_scalars(prim, scalars), to)
}

fn push_array(array: &Array, to: &mut Builder) -> Result<(), Refusal> {
    fn add<T: Element>(array: &Array, to: &mut Builder) -> Result<(), Refusal> {
        Ok(to.scalars(array.slice::<T>())?)
    }
    match array.prim() {
        Prim::I8 => add::<i8>(array, to),
        Prim::I16 => add::<i16>(array, to),
        Prim::I32 => add::<i32>(array, to),
        Prim::I64 => add::<i64>(array, to),
        Prim::U8 => add::<u8>(array, to),
        Prim::U16 => add::<u16>(array, to),
        Prim::U32 => add::<u32>(array, to),
        Prim::U64 => add::<u64>(array, to),
        Prim::F16 => add::<f16>(array, to),
        Prim::F32 => add::<f32>(array, to),
        Prim::F64 => add::<f64>(array, to),
        Prim::Bool => add::<bool>(array, to),
    }
}
