//! Arrays of NumPy and `Ragged` as arrays of Arrow over the same memory.

use super::abi;
use crate::array::prim_of;
use crate::python::RAGGED;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use par_runtime::Prim;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};
use std::ffi::{CString, c_void};
use std::ptr::{NonNull, null};

/// The capsules of schema and array.
#[pyfunction]
pub fn arrow_export<'py>(
    object: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let part = Part::of(object)?;
    let schema = Box::new(part.schema("")?);
    let array = Box::new(part.into_array());
    Ok((capsule(object.py(), schema, c"arrow_schema")?, capsule(object.py(), array, c"arrow_array")?))
}

fn capsule<'py, T: 'static>(
    py: Python<'py>,
    boxed: Box<T>,
    name: &'static std::ffi::CStr,
) -> PyResult<Bound<'py, PyCapsule>> {
    unsafe extern "C" fn free<T>(capsule: *mut pyo3::ffi::PyObject) {
        // SAFETY: the capsule holds a box of this type; dropping it releases what nobody has moved out.
        unsafe {
            let name = pyo3::ffi::PyCapsule_GetName(capsule);
            let place = pyo3::ffi::PyCapsule_GetPointer(capsule, name).cast::<T>();
            if !place.is_null() {
                drop(Box::from_raw(place));
            }
        }
    }
    let place = NonNull::new(Box::into_raw(boxed).cast::<c_void>()).expect("a box is somewhere");
    // SAFETY: the place is that of a box, which the destructor frees.
    unsafe { PyCapsule::new_with_pointer_and_destructor(py, place, name, Some(free::<T>)) }
}

/// An array with its children.
struct Part {
    format: String,
    length: i64,
    /// Validity, offsets, elements, as far as there are any.
    buffers: Vec<*const c_void>,
    children: Vec<(String, Part)>,
    owners: Vec<Py<PyAny>>,
}

impl Part {
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Part> {
        if let Ok(fields) = object.cast::<PyDict>() {
            let mut children = Vec::new();
            for (name, value) in fields {
                children.push((name.extract::<String>()?, Part::of(&value)?));
            }
            let length = children.first().map_or(0, |c| c.1.length);
            return Ok(Part {
                format: "+s".into(),
                length,
                buffers: vec![null()],
                children,
                owners: Vec::new(),
            });
        }
        if object.is_instance_of::<PyTuple>() {
            return Err(PyTypeError::new_err(
                "Arrow has no tuples, only fields with names: use a dictionary",
            ));
        }
        if !object.get_type().is(RAGGED.get(object.py())?) {
            return Part::of_array(&ordered(object)?);
        }
        let offsets = ordered(&object.getattr("offsets")?)?;
        let values = ("item".to_string(), Part::of(&object.getattr("values")?)?);
        let list = Part {
            format: "+L".into(),
            length: offsets.len() as i64 - 1,
            buffers: vec![null(), data(&offsets)],
            children: vec![values],
            owners: vec![offsets.into_any().unbind()],
        };
        let outer: Vec<i64> = object.getattr("outer")?.extract()?;
        Ok(list.in_lists(outer.get(1..).unwrap_or_default()))
    }

    fn of_array(array: &Bound<'_, PyUntypedArray>) -> PyResult<Part> {
        let letter = match prim_of(array) {
            Some(Prim::I8) => "c",
            Some(Prim::U8) => "C",
            Some(Prim::I16) => "s",
            Some(Prim::U16) => "S",
            Some(Prim::I32) => "i",
            Some(Prim::U32) => "I",
            Some(Prim::I64) => "l",
            Some(Prim::U64) => "L",
            Some(Prim::F16) => "e",
            Some(Prim::F32) => "f",
            Some(Prim::F64) => "g",
            Some(Prim::Bool) => "b",
            None => {
                return Err(PyTypeError::new_err(format!("Arrow has no elements of type {}", array.dtype())));
            }
        };
        // Arrow has a bit for a boolean.
        let elements = match letter {
            "b" => {
                let flat = array.call_method0("ravel")?;
                let bits = array.py().import("numpy")?.getattr("packbits")?;
                let kwargs = PyDict::new(array.py());
                kwargs.set_item("bitorder", "little")?;
                ordered(&bits.call((flat,), Some(&kwargs))?)?
            }
            _ => array.clone(),
        };
        let flat = Part {
            format: letter.into(),
            length: array.len() as i64,
            buffers: vec![null(), data(&elements)],
            children: Vec::new(),
            owners: vec![elements.into_any().unbind()],
        };
        let inner: Vec<i64> = array.shape()[1..].iter().map(|n| *n as i64).collect();
        let mut part = flat.in_lists(&inner);
        // The number of rows is not known from the elements if they have none.
        part.length = array.shape()[0] as i64;
        Ok(part)
    }

    /// The elements in lists of these sizes.
    fn in_lists(self, sizes: &[i64]) -> Part {
        sizes.iter().rev().fold(self, |part, n| Part {
            format: format!("+w:{n}"),
            length: if *n == 0 { 0 } else { part.length / n },
            buffers: vec![null()],
            children: vec![("item".into(), part)],
            owners: Vec::new(),
        })
    }

    fn schema(&self, name: &str) -> PyResult<abi::Schema> {
        let children =
            self.children.iter().map(|(name, part)| part.schema(name)).collect::<PyResult<Vec<_>>>()?;
        let mut kept = Box::new(KeptSchema {
            format: CString::new(self.format.as_str())?,
            name: CString::new(name)?,
            children: children.into_iter().map(|c| Box::into_raw(Box::new(c))).collect(),
        });
        let mut schema = abi::Schema::empty();
        (schema.format, schema.name) = (kept.format.as_ptr(), kept.name.as_ptr());
        (schema.n_children, schema.children) = (kept.children.len() as i64, kept.children.as_mut_ptr());
        schema.release = Some(release_schema);
        schema.private_data = Box::into_raw(kept).cast();
        Ok(schema)
    }

    fn into_array(self) -> abi::Array {
        let children = self.children.into_iter().map(|(_, part)| Box::into_raw(Box::new(part.into_array())));
        let mut kept =
            Box::new(KeptArray { buffers: self.buffers, children: children.collect(), _owners: self.owners });
        let (n_buffers, n_children) = (kept.buffers.len() as i64, kept.children.len() as i64);
        let mut array = abi::Array::empty();
        array.length = self.length;
        (array.n_buffers, array.n_children) = (n_buffers, n_children);
        (array.buffers, array.children) = (kept.buffers.as_mut_ptr(), kept.children.as_mut_ptr());
        array.release = Some(release_array);
        array.private_data = Box::into_raw(kept).cast();
        array
    }
}

/// An array in order.
fn ordered<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
    let array = object.py().import("numpy")?.call_method1("ascontiguousarray", (object,))?;
    Ok(array.cast_into::<PyUntypedArray>()?)
}

fn data(array: &Bound<'_, PyUntypedArray>) -> *const c_void {
    // SAFETY: it is an array, and the interpreter's lock is held.
    unsafe { (*numpy::npyffi::_PyArray_GET_ITEM_DATA(array.as_array_ptr())).data.cast() }
}

/// Memory that a schema points to.
struct KeptSchema {
    format: CString,
    name: CString,
    children: Vec<*mut abi::Schema>,
}

/// Memory that an array points to, and its owners.
struct KeptArray {
    buffers: Vec<*const c_void>,
    children: Vec<*mut abi::Array>,
    _owners: Vec<Py<PyAny>>,
}

unsafe extern "C" fn release_schema(schema: *mut abi::Schema) {
    // SAFETY: it is one of ours, and not released: children were boxed, and nobody else frees them.
    unsafe {
        let kept = Box::from_raw((*schema).private_data.cast::<KeptSchema>());
        kept.children.iter().for_each(|child| drop(Box::from_raw(*child)));
        (*schema).release = None;
    }
}

unsafe extern "C" fn release_array(array: *mut abi::Array) {
    // SAFETY: as above. Objects are released later where the interpreter's lock is not held.
    unsafe {
        let kept = Box::from_raw((*array).private_data.cast::<KeptArray>());
        kept.children.iter().for_each(|child| drop(Box::from_raw(*child)));
        (*array).release = None;
    }
}
