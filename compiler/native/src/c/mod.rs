//! Par from C: values, errors, limits of calls, and the calls of libraries that `par build --lib` has made. The header
//! `include/par_value.h` says what each function does; here is how.
//!
//! The caller promises what C cannot say: pointers are null or lead to what the header says, texts end with a zero, handles come
//! from these functions and are used once at most after they were given away. Nothing panics into C: a panic is status 101.

mod error;
mod image;
mod make;
mod options;
mod read;

pub use error::{Failure, guarded, status_of};
pub use make::coerce;
pub use options::{Limits, ParOptions, ParToken};
pub use read::{from_text, given_text};

use par_runtime::Value;
use std::ffi::{CStr, c_char};
use std::ptr::null_mut;

/// `par_value`: a value, which nothing changes.
pub struct ParValue(pub Value);

/// Hands the result of a function over to C.
pub fn made<T>(work: impl FnOnce() -> Result<T, Failure>) -> *mut T {
    guarded(work).map_or(null_mut(), |x| Box::into_raw(Box::new(x)))
}

/// As [`made`], a value.
pub fn made_value(work: impl FnOnce() -> Result<Value, Failure>) -> *mut ParValue {
    made(|| work().map(ParValue))
}

/// Frees what was handed over.
///
/// # Safety
/// Null, or such a pointer that nobody uses any more.
pub unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: as the caller promises.
        drop(unsafe { Box::from_raw(handle) });
    }
}

/// Hands the result of a call over through the place for it.
///
/// # Safety
/// Null, or a place.
pub unsafe fn give_to(place: *mut *mut ParValue, value: Value) -> Result<(), Failure> {
    // SAFETY: as the caller promises.
    let place =
        unsafe { place.as_mut() }.ok_or_else(|| Failure::misuse("the place for the result is NULL"))?;
    *place = Box::into_raw(Box::new(ParValue(value)));
    Ok(())
}

/// A text of C.
///
/// # Safety
/// Null, or a text that ends with a zero and lives as long as it is used.
pub unsafe fn text<'a>(text: *const c_char) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::misuse("a text is NULL"));
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Failure::misuse("a text is not UTF-8"))
}

/// The value that a handle leads to.
///
/// # Safety
/// Null, or alive as long as it is used.
pub unsafe fn reference<'a, T>(handle: *const T) -> Result<&'a T, Failure> {
    // SAFETY: as the caller promises.
    unsafe { handle.as_ref() }.ok_or_else(Failure::null_handle)
}

/// Numbers of C.
///
/// # Safety
/// There are `len` of them, alive as long as they are used.
pub unsafe fn slice<'a, T>(first: *const T, len: usize) -> Result<&'a [T], Failure> {
    match (first.is_null(), len) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::misuse("an array is NULL")),
        // SAFETY: as the caller promises.
        _ => Ok(unsafe { std::slice::from_raw_parts(first, len) }),
    }
}

/// The values of some handles.
///
/// # Safety
/// There are `len` of them, and all are alive.
pub unsafe fn values(handles: *const *const ParValue, len: usize) -> Result<Vec<Value>, Failure> {
    // SAFETY: as the caller promises.
    let handles = unsafe { slice(handles, len)? };
    // SAFETY: as the caller promises.
    handles.iter().map(|h| Ok(unsafe { reference(*h)? }.0.clone())).collect()
}
