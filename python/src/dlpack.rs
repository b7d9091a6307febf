//! Arrays in the memory of a GPU, of other libraries and for them, by DLPack: its structs, as its header declares them.

use crate::take::Refusal;
use par_runtime::cuda::{self, Gpu, Lent};
use par_runtime::{Array, Prim};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CStr, c_void};
use std::sync::Arc;

/// DLPack's number for memory of a GPU by CUDA, and for that of the processor.
pub const CUDA: i32 = 2;
pub const PROCESSOR: i32 = 1;

const NAME: &CStr = c"dltensor";
const USED: &CStr = c"used_dltensor";

#[repr(C)]
struct Device {
    kind: i32,
    number: i32,
}

#[repr(C)]
#[derive(PartialEq)]
struct ElementType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: Device,
    dimensions: i32,
    element: ElementType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

fn element(prim: Prim) -> ElementType {
    let code = match prim {
        Prim::Bool => 6,
        Prim::F16 | Prim::F32 | Prim::F64 => 2,
        prim if prim.is_unsigned() => 1,
        _ => 0,
    };
    ElementType { code, bits: 8 * prim.size() as u8, lanes: 1 }
}

/// Somebody's tensor, which is given back when this is dropped, by any thread.
struct Borrowed(*mut Managed);

// SAFETY: it is used to be read and to be given back only, for which no thread is needed that has the interpreter's lock: DLPack's deleters take it
// themselves, if they need it.
unsafe impl Send for Borrowed {}
// SAFETY: as above.
unsafe impl Sync for Borrowed {}

impl Drop for Borrowed {
    fn drop(&mut self) {
        // SAFETY: the tensor is ours since its capsule was renamed, and is given back once.
        unsafe {
            if let Some(deleter) = (*self.0).deleter {
                deleter(self.0);
            }
        }
    }
}

/// The kind and the number of the device that an object's elements are on, if DLPack is what it speaks.
pub fn device_of(object: &Bound<'_, PyAny>) -> Option<(i32, i32)> {
    let asked = object.call_method0(pyo3::intern!(object.py(), "__dlpack_device__")).ok()?;
    let kind = asked.get_item(0).ok()?.call_method0("__int__").ok()?;
    Some((kind.extract().ok()?, asked.get_item(1).ok()?.extract().ok()?))
}

/// The elements of an array on this GPU, and its shape, from a capsule that was asked for with the GPU's stream. They are not copied.
pub fn take(capsule: &Bound<'_, PyAny>, gpu: &Arc<Gpu>, prim: Prim) -> Result<(Array, Vec<i64>), Refusal> {
    // SAFETY: the pointer is asked for by the name that says what it is, and nobody uses a capsule that has the other name.
    let borrowed = unsafe {
        let found = ffi::PyCapsule_GetPointer(capsule.as_ptr(), NAME.as_ptr());
        if found.is_null() || ffi::PyCapsule_SetName(capsule.as_ptr(), USED.as_ptr()) != 0 {
            return Err(PyErr::fetch(capsule.py()).into());
        }
        Borrowed(found.cast())
    };
    // SAFETY: whoever made the capsule filled the struct in, and it stays until it is given back.
    let (tensor, shape, strides) = unsafe {
        let tensor = &(*borrowed.0).tensor;
        let sizes = |at: *const i64| match at.is_null() {
            true => Vec::new(),
            false => std::slice::from_raw_parts(at, tensor.dimensions as usize).to_vec(),
        };
        (tensor, sizes(tensor.shape), sizes(tensor.strides))
    };
    if tensor.element != element(prim) {
        return Err(Refusal::new("its elements on the GPU are of another type; convert them there first"));
    }
    if !strides.is_empty() && !is_in_order(&shape, &strides) {
        return Err(Refusal::new("its elements on the GPU are not one after the other; copy it there first"));
    }
    let len = shape.iter().product::<i64>() as usize;
    let at = tensor.data as u64 + tensor.byte_offset;
    if len == 0 {
        return Ok((Array::zeros(prim, 0), shape));
    }
    // SAFETY: there are so many elements of that type, which are in the order of our stream; that they do not change is the caller's part, as for
    // other arrays.
    let array = unsafe { cuda::foreign(gpu, (prim, len), at, Box::new(borrowed)) };
    Ok((array.map_err(|e| Refusal::new(e.to_string()))?, shape))
}

/// True if elements of this shape follow each other, the last dimension fastest.
fn is_in_order(shape: &[i64], strides: &[i64]) -> bool {
    let mut step = 1;
    let in_order = |(n, stride): (&i64, &i64)| {
        let fits = *n == 1 || *stride == step;
        step *= n;
        fits
    };
    shape.contains(&0) || shape.iter().zip(strides).rev().all(in_order)
}

/// A tensor for others, with what it needs.
struct Given {
    managed: Managed,
    sizes: Vec<i64>,
    _elements: Lent,
}

unsafe extern "C" fn give_back(managed: *mut Managed) {
    // SAFETY: `give` made it, and it is given back once.
    unsafe { drop(Box::from_raw((*managed).context.cast::<Given>())) }
}

unsafe extern "C" fn forget(capsule: *mut ffi::PyObject) {
    // SAFETY: a capsule of `give`. Under its first name nobody has taken the tensor.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME.as_ptr()) == 1 {
            give_back(ffi::PyCapsule_GetPointer(capsule, NAME.as_ptr()).cast());
        }
    }
}

/// A capsule with the elements of an array that is on a GPU, in this shape. `copy`: as for `cuda::lend`.
pub fn give<'py>(
    py: Python<'py>,
    array: &Array,
    shape: &[i64],
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let lent = py.detach(|| cuda::lend(array, copy)).map_err(|e| PyBufferError::new_err(e.to_string()))?;
    let lent = lent.ok_or_else(|| PyBufferError::new_err("its elements are not on a GPU"))?;
    let strides = (0..shape.len()).map(|i| shape[i + 1..].iter().map(|n| n.max(&1)).product());
    let mut given = Box::new(Given {
        managed: Managed {
            tensor: Tensor {
                data: lent.address as *mut c_void,
                device: Device { kind: CUDA, number: lent.device as i32 },
                dimensions: shape.len() as i32,
                element: element(array.prim()),
                shape: std::ptr::null_mut(),
                strides: std::ptr::null_mut(),
                byte_offset: 0,
            },
            context: std::ptr::null_mut(),
            deleter: Some(give_back),
        },
        sizes: shape.iter().copied().chain(strides).collect(),
        _elements: lent,
    });
    given.managed.tensor.shape = given.sizes.as_mut_ptr();
    given.managed.tensor.strides = given.sizes[shape.len()..].as_mut_ptr();
    let given = Box::into_raw(given);
    // SAFETY: it is alive until `give_back`, which the capsule or its taker calls.
    unsafe {
        (*given).managed.context = given.cast();
        let capsule = ffi::PyCapsule_New((&raw mut (*given).managed).cast(), NAME.as_ptr(), Some(forget));
        if capsule.is_null() {
            drop(Box::from_raw(given));
        }
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}
