//! Reading of values by C.

use super::{Failure, ParValue, guarded, made_value, reference, status_of, text};
use par_runtime::io::text::{print_value, read_some};
use par_runtime::{Column, Entry, Prim, Scalar, Value, ValueType, f16};
use std::ffi::{CString, c_char, c_int};
use std::ptr::{null, null_mut};

/// Per scalar type: the number, and the elements.
macro_rules! scalars {
    ($($t:ty, $prim:ident, $number:ident, $data:ident, $from:expr;)*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $number(value: *const ParValue, out: *mut $t) -> c_int {
            status_of(|| {
                // SAFETY: the header asks for a value, and a place or null.
                let (value, out) = unsafe { (reference(value)?, out.as_mut()) };
                let from: fn(Scalar) -> Option<$t> = $from;
                let number = match value.0.columns[..] {
                    [Column::Scalar(x)] if matches!(value.0.ty, ValueType::Prim(_)) => from(x),
                    _ => None,
                };
                let number = number.ok_or_else(|| differs(&value.0, &Prim::$prim.to_string()))?;
                *out.ok_or_else(|| Failure::misuse("the place for the number is NULL"))? = number;
                Ok(())
            })
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $data(value: *const ParValue, len: *mut usize) -> *const $t {
            // SAFETY: the header asks for a value, and a place or null.
            unsafe { elements(value, len, Prim::$prim) }.cast()
        }
    )* };
}

scalars! {
    i8, I8, par_value_i8, par_value_data_i8, |x| if let Scalar::I8(x) = x { Some(x) } else { None };
    i16, I16, par_value_i16, par_value_data_i16, |x| if let Scalar::I16(x) = x { Some(x) } else { None };
    i32, I32, par_value_i32, par_value_data_i32, |x| if let Scalar::I32(x) = x { Some(x) } else { None };
    i64, I64, par_value_i64, par_value_data_i64, |x| if let Scalar::I64(x) = x { Some(x) } else { None };
    u8, U8, par_value_u8, par_value_data_u8, |x| if let Scalar::U8(x) = x { Some(x) } else { None };
    u16, U16, par_value_u16, par_value_data_u16, |x| if let Scalar::U16(x) = x { Some(x) } else { None };
    u32, U32, par_value_u32, par_value_data_u32, |x| if let Scalar::U32(x) = x { Some(x) } else { None };
    u64, U64, par_value_u64, par_value_data_u64, |x| if let Scalar::U64(x) = x { Some(x) } else { None };
    u16, F16, par_value_f16, par_value_data_f16, |x| if let Scalar::F16(x) = x { Some(f16::to_bits(x)) } else { None };
    f32, F32, par_value_f32, par_value_data_f32, |x| if let Scalar::F32(x) = x { Some(x) } else { None };
    f64, F64, par_value_f64, par_value_data_f64, |x| if let Scalar::F64(x) = x { Some(x) } else { None };
    bool, Bool, par_value_bool, par_value_data_bool, |x| if let Scalar::Bool(x) = x { Some(x) } else { None };
}

fn differs(value: &Value, wanted: &str) -> Failure {
    Failure::misuse(format!("the value has type {}, not {wanted}", value.ty))
}

/// The address of all elements of an array of scalars.
///
/// # Safety
/// A value or null; a place or null.
unsafe fn elements(value: *const ParValue, len: *mut usize, prim: Prim) -> *const u8 {
    let found = guarded(|| {
        // SAFETY: as the caller promises.
        let value = &unsafe { reference(value)? }.0;
        let is_flat = matches!(dimensions(&value.ty).1, ValueType::Prim(_));
        match value.columns.last() {
            Some(Column::Data(data)) if data.prim() == prim && is_flat => {
                Ok((data.as_ptr().cast_const(), data.len()))
            }
            _ => Err(differs(value, &format!("an array of {prim}"))),
        }
    });
    let (data, n) = found.unwrap_or((null(), 0));
    // SAFETY: as the caller promises.
    if let Some(len) = unsafe { len.as_mut() } {
        *len = n;
    }
    data
}

/// Number of outer array dimensions of a type, a column each, and the type inside all of them.
fn dimensions(ty: &ValueType) -> (usize, &ValueType) {
    let (mut rank, mut inner) = (0, ty);
    while let ValueType::Array { elem, .. } = inner {
        (rank, inner) = (rank + 1, elem);
    }
    (rank, inner)
}

fn rank(ty: &ValueType) -> usize {
    dimensions(ty).0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_value_rank(value: *const ParValue) -> usize {
    // SAFETY: the header asks for a value.
    guarded(|| Ok(rank(&unsafe { reference(value)? }.0.ty))).unwrap_or(0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_value_size(value: *const ParValue, dimension: usize) -> i64 {
    let size = guarded(|| {
        // SAFETY: the header asks for a value.
        let value = &unsafe { reference(value)? }.0;
        match value.columns.get(dimension) {
            Some(Column::Size(n)) if dimension < rank(&value.ty) => Ok(*n),
            Some(Column::Offsets(_)) if dimension < rank(&value.ty) => Ok(-1),
            _ => Err(Failure::misuse(format!("a value of type {} has no dimension {dimension}", value.ty))),
        }
    });
    size.unwrap_or(-1)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_value_offsets(
    value: *const ParValue,
    dimension: usize,
    rows: *mut usize,
) -> *const i64 {
    let found = guarded(|| {
        // SAFETY: the header asks for a value.
        let value = &unsafe { reference(value)? }.0;
        match value.columns.get(dimension) {
            Some(Column::Offsets(offsets)) if dimension < rank(&value.ty) => {
                Ok((offsets.as_ptr().cast_const().cast(), offsets.len() - 1))
            }
            _ => Err(Failure::misuse(format!("dimension {dimension} of {} is not ragged", value.ty))),
        }
    });
    let (offsets, n) = found.unwrap_or((null(), 0));
    // SAFETY: the header asks for a place or null.
    if let Some(rows) = unsafe { rows.as_mut() } {
        *rows = n;
    }
    offsets
}

/// The number of the constructor of a value of a sum type.
fn tag(value: &Value) -> Option<usize> {
    match value.columns.first()? {
        Column::Scalar(tag) => tag.as_i64()?.try_into().ok(),
        _ => None,
    }
}

/// The types of the parts of what is inside of all dimensions, with their names.
fn parts(value: &Value) -> Option<(Vec<(&str, &ValueType)>, usize)> {
    let (rank, inner) = dimensions(&value.ty);
    Some(match inner {
        ValueType::Tuple(types) => (types.iter().map(|t| ("", t)).collect(), rank),
        ValueType::Record(fields) => (fields.iter().map(|(n, t)| (n.as_str(), t)).collect(), rank),
        ValueType::Sum(cases) => {
            let tag = tag(value)?;
            let before = cases.get(..tag)?.iter().flat_map(|c| &c.1).map(|t| t.columns().len());
            let payload = &cases.get(tag)?.1;
            (payload.iter().map(|t| ("", t)).collect(), 1 + before.sum::<usize>())
        }
        _ => return None,
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_value_count(value: *const ParValue) -> usize {
    // SAFETY: the header asks for a value.
    guarded(|| Ok(parts(&unsafe { reference(value)? }.0).map_or(0, |p| p.0.len()))).unwrap_or(0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_value_part(value: *const ParValue, index: usize) -> *mut ParValue {
    made_value(|| {
        // SAFETY: the header asks for a value.
        let value = &unsafe { reference(value)? }.0;
        part(value, index).ok_or_else(|| Failure::misuse(format!("{} has no part {index}", value.ty)))
    })
}

/// A component, a field or a payload; of an array of tuples or records the array of these.
pub fn part(value: &Value, index: usize) -> Option<Value> {
    let (types, start) = parts(value)?;
    let ty = types.get(index)?.1;
    let skipped: usize = types[..index].iter().map(|t| t.1.columns().len()).sum();
    let dimensions = rank(&value.ty);
    let own = &value.columns[start + skipped..][..ty.columns().len()];
    let columns = value.columns[..dimensions].iter().chain(own).cloned().collect();
    Some(Value { ty: around(&value.ty, ty), columns })
}

/// The dimensions of one type around another.
fn around(ty: &ValueType, inner: &ValueType) -> ValueType {
    match ty {
        ValueType::Array { ragged, size, elem } => {
            ValueType::Array { ragged: *ragged, size: size.clone(), elem: Box::new(around(elem, inner)) }
        }
        _ => inner.clone(),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_value_field(value: *const ParValue, name: *const c_char) -> *mut ParValue {
    made_value(|| {
        // SAFETY: the header asks for a value and a text.
        let (value, name) = unsafe { (&reference(value)?.0, text(name)?) };
        let index = parts(value).and_then(|p| p.0.iter().position(|f| f.0 == name && !name.is_empty()));
        let missing = || Failure::misuse(format!("{} has no field `{name}`", value.ty));
        index.and_then(|i| part(value, i)).ok_or_else(missing)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_value_constructor(value: *const ParValue) -> *mut c_char {
    let name = guarded(|| {
        // SAFETY: the header asks for a value.
        let value = &unsafe { reference(value)? }.0;
        match (&value.ty, tag(value)) {
            (ValueType::Sum(cases), Some(tag)) => Ok(cases.get(tag).map(|c| c.0.clone()).unwrap_or_default()),
            _ => Err(differs(value, "a sum type")),
        }
    });
    name.map_or(null_mut(), given_text)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_value_text(value: *const ParValue) -> *mut c_char {
    // SAFETY: the header asks for a value.
    guarded(|| Ok(print_value(&unsafe { reference(value)? }.0))).map_or(null_mut(), given_text)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_value_type(value: *const ParValue) -> *mut c_char {
    // SAFETY: the header asks for a value.
    guarded(|| Ok(unsafe { reference(value)? }.0.ty.to_string())).map_or(null_mut(), given_text)
}

/// A text that C frees.
pub fn given_text(text: String) -> *mut c_char {
    CString::new(text.replace('\0', "?")).unwrap_or_default().into_raw()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_text_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: the header asks for a text of these functions.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// The value that a text says, for a parameter of an entry point.
pub fn from_text(text: &str, entry: &Entry, parameter: usize) -> Result<Value, Failure> {
    let missing = || Failure::misuse(format!("`{}` has no parameter {parameter}", entry.name));
    let ty = &entry.params.get(parameter).ok_or_else(missing)?.1;
    let read = read_some(text, std::slice::from_ref(ty));
    let mut values = read.map_err(|e| Failure::misuse(format!("a value of type {ty}: {e}")))?;
    values.pop().ok_or_else(|| Failure::misuse(format!("a value of type {ty}: the text is empty")))
}
