//! Arrays of Arrow as objects that are taken as arguments.

use super::abi;
use crate::array::viewed;
use crate::python::{BITS, JOINED, LISTED, RAGGED};
use par_runtime::Prim;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use std::ffi::{CStr, c_void};

/// An array of Arrow, whose memory arrays of NumPy keep alive.
#[pyclass(frozen, module = "par_array._native")]
pub struct Imported {
    array: abi::Array,
}

/// The array, or the arrays of the stream, that an object has: an array of NumPy, a `Ragged`, or a dictionary of these. What is `strict` is not copied.
#[pyfunction]
pub fn arrow_import<'py>(object: &Bound<'py, PyAny>, strict: bool) -> PyResult<Bound<'py, PyAny>> {
    if !object.hasattr("__arrow_c_stream__")? {
        let (schema, array) =
            object.call_method0("__arrow_c_array__")?.extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>)>()?;
        let schema = moved::<abi::Schema>(&schema, c"arrow_schema", abi::Schema::empty())?;
        let array = moved::<abi::Array>(&array, c"arrow_array", abi::Array::empty())?;
        return whole(object.py(), &schema, array, strict);
    }
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let empty = abi::Stream {
        get_schema: None,
        get_next: None,
        get_last_error: None,
        release: None,
        private_data: std::ptr::null_mut(),
    };
    let mut stream = moved::<abi::Stream>(&capsule, c"arrow_array_stream", empty)?;
    let schema = stream.schema()?;
    let mut parts = Vec::new();
    while let Some(array) = stream.next()? {
        parts.push(whole(object.py(), &schema, array, strict)?);
    }
    match parts.len() {
        0 => {
            let nothing = abi::Array::empty();
            whole(object.py(), &schema, nothing, strict)
        }
        1 => Ok(parts.swap_remove(0)),
        n if strict => Err(PyTypeError::new_err(format!("found {n} pieces, which would be copied"))),
        _ => JOINED.get(object.py())?.call1((parts,)),
    }
}

/// Moves a structure out of a capsule: it becomes ours to release.
fn moved<T>(capsule: &Bound<'_, PyAny>, name: &CStr, empty: T) -> PyResult<T> {
    let capsule = capsule.cast::<PyCapsule>()?;
    let place = capsule.pointer_checked(Some(name))?.cast::<T>();
    // SAFETY: a capsule of this name points to such a structure; what stays there says that it was released.
    Ok(unsafe { std::mem::replace(&mut *place.as_ptr(), empty) })
}

impl abi::Stream {
    fn schema(&mut self) -> PyResult<abi::Schema> {
        let mut schema = abi::Schema::empty();
        let get = self.get_schema.ok_or_else(|| PyValueError::new_err("the stream was used before"))?;
        // SAFETY: the stream was not released.
        let failed = unsafe { get(self, &raw mut schema) };
        if failed == 0 { Ok(schema) } else { Err(self.error()) }
    }

    fn next(&mut self) -> PyResult<Option<abi::Array>> {
        let mut array = abi::Array::empty();
        let get = self.get_next.ok_or_else(|| PyValueError::new_err("the stream was used before"))?;
        // SAFETY: as above.
        match unsafe { get(self, &raw mut array) } {
            0 if array.release.is_none() => Ok(None),
            0 => Ok(Some(array)),
            _ => Err(self.error()),
        }
    }

    fn error(&mut self) -> PyErr {
        let Some(get) = self.get_last_error else { return PyValueError::new_err("the stream failed") };
        // SAFETY: as above; the text ends with zero.
        let text = unsafe {
            let text = get(self);
            if text.is_null() { None } else { Some(CStr::from_ptr(text).to_string_lossy().into_owned()) }
        };
        PyValueError::new_err(text.unwrap_or_else(|| "the stream failed".into()))
    }
}

fn whole<'py>(
    py: Python<'py>,
    schema: &abi::Schema,
    array: abi::Array,
    strict: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let owner = Bound::new(py, Imported { array })?;
    let array = &owner.get().array;
    Importer { owner: &owner, strict }.part(schema, array, 0, array.length)
}

/// One array with its children.
struct Importer<'a, 'py> {
    owner: &'a Bound<'py, Imported>,
    strict: bool,
}

impl<'py> Importer<'_, 'py> {
    /// Elements `start..start + length` of a part.
    fn part(
        &self,
        schema: &abi::Schema,
        array: &abi::Array,
        start: i64,
        length: i64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let at = array.offset + start;
        nothing_missing(schema, array, at, length)?;
        if !schema.dictionary.is_null() {
            return refuse("a dictionary; decode it first");
        }
        let format = schema.format();
        if let Some(prim) = prim_of(format) {
            return self.view(array.buffer(1), prim, at, length);
        }
        match format {
            "b" => {
                self.copies("booleans, a bit each")?;
                let bytes = self.view(array.buffer(1), Prim::U8, 0, (at + length + 7) / 8)?;
                BITS.get(self.owner.py())?.call1((bytes, at, length))
            }
            "+l" | "+L" => self.rows(schema, array, at, length, format == "+l"),
            "+vl" | "+vL" => {
                self.copies("a list view")?;
                let prim = if format == "+vl" { Prim::I32 } else { Prim::I64 };
                let starts = self.view(array.buffer(1), prim, at, length)?;
                let lengths = self.view(array.buffer(2), prim, at, length)?;
                LISTED.get(self.owner.py())?.call1((starts, lengths, self.child(schema, array)?))
            }
            "u" | "z" | "U" | "Z" => {
                let short = matches!(format, "u" | "z");
                let offsets = self.offsets(array, at, length, short)?;
                let end = offsets.get_item(-1)?.extract::<i64>()?;
                let values = self.view(array.buffer(2), Prim::U8, 0, end)?;
                RAGGED.get(self.owner.py())?.call1((offsets, values))
            }
            "+s" => {
                let fields = PyDict::new(self.owner.py());
                // The array of an empty stream has no children.
                let nothing = abi::Array::empty();
                let mut children = array.children();
                for field in schema.children() {
                    let child = children.next().unwrap_or(&nothing);
                    fields.set_item(field.name(), self.part(field, child, at, length)?)?;
                }
                Ok(fields.into_any())
            }
            _ if format.starts_with("+w:") => self.uniform_rows(schema, array, at, length),
            _ => refuse(&format!("elements of Arrow's type '{format}', which Par does not have")),
        }
    }

    /// Lists of one size.
    fn uniform_rows(
        &self,
        schema: &abi::Schema,
        array: &abi::Array,
        at: i64,
        length: i64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let size: i64 =
            schema.format()[3..].parse().map_err(|_| PyTypeError::new_err("a list without a size"))?;
        let nothing = abi::Array::empty();
        let child = array.children().next().unwrap_or(&nothing);
        let Some(item) = schema.children().next() else { return refuse("a list without elements") };
        let values = self.part(item, child, at * size, length * size)?;
        if !values.hasattr("reshape")? {
            return refuse("lists of one size, of lists or records");
        }
        let shape: Vec<i64> = values.getattr("shape")?.extract()?;
        let inner = shape.get(1..).unwrap_or_default().iter().copied();
        values.call_method1("reshape", ([length, size].into_iter().chain(inner).collect::<Vec<i64>>(),))
    }

    fn rows(
        &self,
        schema: &abi::Schema,
        array: &abi::Array,
        at: i64,
        length: i64,
        short: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let offsets = self.offsets(array, at, length, short)?;
        RAGGED.get(self.owner.py())?.call1((offsets, self.child(schema, array)?))
    }

    fn offsets(&self, array: &abi::Array, at: i64, length: i64, short: bool) -> PyResult<Bound<'py, PyAny>> {
        if array.buffer(1).is_null() {
            // An array without rows may have none.
            return self.owner.py().import("numpy")?.call_method1("zeros", (1, "int64"));
        }
        if short {
            self.copies("offsets of 32 bits")?;
        }
        self.view(array.buffer(1), if short { Prim::I32 } else { Prim::I64 }, at, length + 1)
    }

    /// All elements of the rows.
    fn child(&self, schema: &abi::Schema, array: &abi::Array) -> PyResult<Bound<'py, PyAny>> {
        match (schema.children().next(), array.children().next()) {
            (Some(item), Some(child)) => self.part(item, child, 0, child.length),
            // As above.
            (Some(item), None) => self.part(item, &abi::Array::empty(), 0, 0),
            _ => refuse("a list without elements"),
        }
    }

    fn view(
        &self,
        buffer: *const c_void,
        prim: Prim,
        start: i64,
        length: i64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let data = buffer.cast::<u8>().wrapping_add(start as usize * prim.size());
        let length = if buffer.is_null() { 0 } else { length };
        // SAFETY: the buffer has them, and lives as long as its array.
        unsafe { viewed(self.owner.clone().into_any(), data, prim, length) }
    }

    fn copies(&self, what: &str) -> PyResult<()> {
        match self.strict {
            true => Err(PyTypeError::new_err(format!("found {what}, which would be copied"))),
            false => Ok(()),
        }
    }
}

fn refuse<T>(what: &str) -> PyResult<T> {
    Err(PyTypeError::new_err(format!("found {what}")))
}

/// An error if an element is missing.
fn nothing_missing(schema: &abi::Schema, array: &abi::Array, at: i64, length: i64) -> PyResult<()> {
    let valid = array.buffer(0).cast::<u8>();
    let has_bits = array.n_buffers > 0 && array.null_count != 0 && !valid.is_null();
    // SAFETY: there is a bit for each element, and these are inside.
    let is_missing = |i: i64| unsafe { *valid.add((i / 8) as usize) >> (i % 8) & 1 == 0 };
    let all_missing = schema.format() == "n" && length > 0;
    match (at..at + length).find(|i| all_missing || has_bits && is_missing(*i)) {
        None => Ok(()),
        Some(i) => Err(PyTypeError::new_err(format!("element {} is missing; fill it first", i - at))),
    }
}

/// The scalar type of a format.
fn prim_of(format: &str) -> Option<Prim> {
    Some(match format {
        "c" => Prim::I8,
        "C" => Prim::U8,
        "s" => Prim::I16,
        "S" => Prim::U16,
        "i" => Prim::I32,
        "I" => Prim::U32,
        "l" => Prim::I64,
        "L" => Prim::U64,
        "e" => Prim::F16,
        "f" => Prim::F32,
        "g" => Prim::F64,
        _ => return None,
    })
}
