//! Arrow's C data interface: structures that two libraries in one process agree on. The names are those of its specification.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;

/// Type of an array: a letter or two, and types of its children.
#[repr(C)]
pub struct Schema {
    pub format: *const c_char,
    pub name: *const c_char,
    pub metadata: *const c_char,
    pub flags: i64,
    pub n_children: i64,
    pub children: *mut *mut Schema,
    pub dictionary: *mut Schema,
    pub release: Option<unsafe extern "C" fn(*mut Schema)>,
    pub private_data: *mut c_void,
}

/// An array: its buffers and children.
#[repr(C)]
pub struct Array {
    pub length: i64,
    pub null_count: i64,
    pub offset: i64,
    pub n_buffers: i64,
    pub n_children: i64,
    pub buffers: *mut *const c_void,
    pub children: *mut *mut Array,
    pub dictionary: *mut Array,
    pub release: Option<unsafe extern "C" fn(*mut Array)>,
    pub private_data: *mut c_void,
}

/// Arrays of one type, one after the other.
#[repr(C)]
pub struct Stream {
    pub get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    pub get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    pub get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    pub release: Option<unsafe extern "C" fn(*mut Stream)>,
    pub private_data: *mut c_void,
}

macro_rules! owned {
    ($($t:ident),*) => { $(
        impl Drop for $t {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: it has not been released, and is its producer's.
                    unsafe { release(self) }
                }
            }
        }
    )* };
}
owned!(Schema, Array, Stream);

// SAFETY: whoever makes an array lets every thread read and release it.
unsafe impl Send for Array {}
// SAFETY: as above.
unsafe impl Sync for Array {}

impl Schema {
    pub fn empty() -> Schema {
        Schema {
            format: std::ptr::null(),
            name: std::ptr::null(),
            metadata: std::ptr::null(),
            flags: 0,
            n_children: 0,
            children: null_mut(),
            dictionary: null_mut(),
            release: None,
            private_data: null_mut(),
        }
    }

    pub fn format(&self) -> &str {
        text(self.format)
    }

    pub fn name(&self) -> &str {
        text(self.name)
    }

    pub fn children(&self) -> impl Iterator<Item = &Schema> {
        // SAFETY: there are as many, which live as long as this one.
        (0..self.n_children as usize).map(|i| unsafe { &**self.children.add(i) })
    }
}

impl Array {
    pub fn empty() -> Array {
        Array {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: null_mut(),
            children: null_mut(),
            dictionary: null_mut(),
            release: None,
            private_data: null_mut(),
        }
    }

    pub fn children(&self) -> impl Iterator<Item = &Array> {
        // SAFETY: there are as many, which live as long as this one.
        (0..self.n_children as usize).map(|i| unsafe { &**self.children.add(i) })
    }

    /// Start address of buffer `i`; null if there is none.
    pub fn buffer(&self, i: usize) -> *const c_void {
        // SAFETY: there are as many.
        if (i as i64) < self.n_buffers { unsafe { *self.buffers.add(i) } } else { std::ptr::null() }
    }
}

fn text<'a>(text: *const c_char) -> &'a str {
    if text.is_null() {
        return "";
    }
    // SAFETY: texts end with zero and live as long as the schema, which whoever asks holds.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("")
}
