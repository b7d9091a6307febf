//! Arrays of NumPy and of Par that share memory.

use numpy::npyffi::{
    _PyArray_GET_ITEM_DATA, NPY_ARRAY_ALIGNED, NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_WRITEABLE, NPY_TYPES,
    NpyTypes, PY_ARRAY_API, PyArrayObject, get_type_object, npy_intp,
};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use par_runtime::{Array, Prim};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use std::ffi::c_long;

/// Memory of Par, which NumPy's arrays keep alive.
#[pyclass(frozen, module = "par_array._native")]
pub struct Memory {
    _array: Array,
}

/// Memory of an object of Python, which it keeps alive.
struct Owned {
    data: *const u8,
    bytes: usize,
    _owner: Py<PyAny>,
}

// SAFETY: the bytes are read only, and the object is touched with the interpreter's lock only: to be released.
unsafe impl Send for Owned {}
// SAFETY: as above.
unsafe impl Sync for Owned {}

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        match self.bytes {
            0 => &[],
            // SAFETY: the owner has them, and is alive.
            n => unsafe { std::slice::from_raw_parts(self.data, n) },
        }
    }
}

/// The scalar type of an array's elements, if Par has it in this byte order.
pub fn prim_of(array: &Bound<'_, PyUntypedArray>) -> Option<Prim> {
    let dtype = array.dtype();
    let prim = match (dtype.kind(), dtype.itemsize()) {
        (b'f', 8) => Prim::F64,
        (b'f', 4) => Prim::F32,
        (b'f', 2) => Prim::F16,
        (b'i', 8) => Prim::I64,
        (b'i', 4) => Prim::I32,
        (b'i', 2) => Prim::I16,
        (b'i', 1) => Prim::I8,
        (b'u', 8) => Prim::U64,
        (b'u', 4) => Prim::U32,
        (b'u', 2) => Prim::U16,
        (b'u', 1) => Prim::U8,
        (b'b', 1) => Prim::Bool,
        _ => return None,
    };
    dtype.is_native_byteorder().unwrap_or(true).then_some(prim)
}

/// The elements of an array without a copy, if they are of that type, in order and aligned.
pub fn shared(array: &Bound<'_, PyUntypedArray>, prim: Prim) -> Option<Array> {
    let in_order = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
    // SAFETY: it is an array, and the interpreter's lock is held.
    let (flags, data) = unsafe {
        let fields = _PyArray_GET_ITEM_DATA(array.as_array_ptr());
        ((*fields).flags, (*fields).data)
    };
    if prim_of(array) != Some(prim) || flags & in_order != in_order {
        return None;
    }
    let bytes = array.len() * prim.size();
    let owner = Owned { data: data.cast(), bytes, _owner: array.clone().into_any().unbind() };
    Some(Array::from_owner(prim, owner))
}

/// An array of NumPy over the elements of one of Par, in this shape.
pub fn over<'py>(
    py: Python<'py>,
    array: Array,
    shape: &[i64],
    writable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let (data, prim) = (array.as_ptr(), array.prim());
    let memory = Bound::new(py, Memory { _array: array })?;
    // SAFETY: the array has as many elements as its shape says, aligned.
    unsafe { made(memory.into_any(), data, prim, shape, if writable { NPY_ARRAY_WRITEABLE } else { 0 }) }
}

/// An array of NumPy over so many elements that an object has; it cannot be written to. No elements may be anywhere.
///
/// # Safety
///
/// The owner has as many elements of that type there.
pub unsafe fn viewed<'py>(
    owner: Bound<'py, PyAny>,
    data: *const u8,
    prim: Prim,
    length: i64,
) -> PyResult<Bound<'py, PyAny>> {
    static NOTHING: u64 = 0;
    let data = if length == 0 { (&raw const NOTHING).cast() } else { data };
    // SAFETY: as the caller promises.
    unsafe { made(owner, data.cast_mut(), prim, &[length], 0) }
}

/// # Safety
///
/// The owner has as many elements of that type there as the shape says, which may be written if the flags say so.
unsafe fn made<'py>(
    owner: Bound<'py, PyAny>,
    data: *mut u8,
    prim: Prim,
    shape: &[i64],
    flags: i32,
) -> PyResult<Bound<'py, PyAny>> {
    let py = owner.py();
    let mut dims: Vec<npy_intp> = shape.iter().map(|n| *n as npy_intp).collect();
    let aligned = if data.align_offset(prim.size()) == 0 { NPY_ARRAY_ALIGNED } else { 0 };
    let flags = flags | NPY_ARRAY_C_CONTIGUOUS | aligned;
    // SAFETY: as the caller promises; the array gets its owner. Both constructors take the reference that they are given.
    unsafe {
        let class = get_type_object(py, NpyTypes::PyArray_Type);
        let dtype = PY_ARRAY_API.PyArray_DescrFromType(py, number(prim) as i32);
        let made = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            class,
            dtype,
            dims.len() as i32,
            dims.as_mut_ptr(),
            std::ptr::null_mut(),
            data.cast(),
            flags,
            std::ptr::null_mut(),
        );
        let made = Bound::from_owned_ptr_or_err(py, made)?;
        let owner = owner.into_ptr();
        if PY_ARRAY_API.PyArray_SetBaseObject(py, made.as_ptr().cast::<PyArrayObject>(), owner) != 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(made)
    }
}

/// NumPy's number of a type.
fn number(prim: Prim) -> NPY_TYPES {
    match prim {
        Prim::I8 => NPY_TYPES::NPY_BYTE,
        Prim::I16 => NPY_TYPES::NPY_SHORT,
        Prim::I32 => NPY_TYPES::NPY_INT,
        Prim::I64 if size_of::<c_long>() == 8 => NPY_TYPES::NPY_LONG,
        Prim::I64 => NPY_TYPES::NPY_LONGLONG,
        Prim::U8 => NPY_TYPES::NPY_UBYTE,
        Prim::U16 => NPY_TYPES::NPY_USHORT,
        Prim::U32 => NPY_TYPES::NPY_UINT,
        Prim::U64 if size_of::<c_long>() == 8 => NPY_TYPES::NPY_ULONG,
        Prim::U64 => NPY_TYPES::NPY_ULONGLONG,
        Prim::F16 => NPY_TYPES::NPY_HALF,
        Prim::F32 => NPY_TYPES::NPY_FLOAT,
        Prim::F64 => NPY_TYPES::NPY_DOUBLE,
        Prim::Bool => NPY_TYPES::NPY_BOOL,
    }
}

/// NumPy's name of a type.
pub fn dtype_name(prim: Prim) -> &'static str {
    match prim {
        Prim::I8 => "int8",
        Prim::I16 => "int16",
        Prim::I32 => "int32",
        Prim::I64 => "int64",
        Prim::U8 => "uint8",
        Prim::U16 => "uint16",
        Prim::U32 => "uint32",
        Prim::U64 => "uint64",
        Prim::F16 => "float16",
        Prim::F32 => "float32",
        Prim::F64 => "float64",
        Prim::Bool => "bool",
    }
}

/// The exception that there is no memory for an array.
pub fn no_memory(error: par_runtime::array::OutOfMemory) -> PyErr {
    PyMemoryError::new_err(error.to_string())
}
