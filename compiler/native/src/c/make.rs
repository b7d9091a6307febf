//! Values from what C has.

use super::{Failure, ParValue, free, made_value, reference, slice, text, values};
use par_data::fit;
use par_data::tree::Tree;
use par_runtime::entry::same_representation;
use par_runtime::value::ColumnType;
use par_runtime::{Array, Column, Entry, Fields, Prim, Scalar, Value, ValueType, f16, io};
use std::ffi::c_char;

/// Per scalar type: from a number, and from an array.
macro_rules! scalars {
    ($($t:ty, $prim:ident, $new:ident, $array:ident, $of:expr;)*) => { $(
        #[unsafe(no_mangle)]
        extern "C" fn $new(x: $t) -> *mut ParValue {
            made_value(|| {
                let of: fn($t) -> Scalar = $of;
                Ok(Value::scalar(of(x)))
            })
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $array(data: *const $t, rank: usize, shape: *const i64) -> *mut ParValue {
            made_value(|| {
                // SAFETY: the header asks for that many numbers.
                let (dims, len) = unsafe { dimensions(shape, rank)? };
                // SAFETY: the header asks for the product of the shape.
                let data = unsafe { slice(data.cast::<u8>(), len * size_of::<$t>())? };
                array(Prim::$prim, data, &dims)
            })
        }
    )* };
}

scalars! {
    i8, I8, par_i8, par_array_i8, Scalar::I8;
    i16, I16, par_i16, par_array_i16, Scalar::I16;
    i32, I32, par_i32, par_array_i32, Scalar::I32;
    i64, I64, par_i64, par_array_i64, Scalar::I64;
    u8, U8, par_u8, par_array_u8, Scalar::U8;
    u16, U16, par_u16, par_array_u16, Scalar::U16;
    u32, U32, par_u32, par_array_u32, Scalar::U32;
    u64, U64, par_u64, par_array_u64, Scalar::U64;
    u16, F16, par_f16, par_array_f16, |x| Scalar::F16(f16::from_bits(x));
    f32, F32, par_f32, par_array_f32, Scalar::F32;
    f64, F64, par_f64, par_array_f64, Scalar::F64;
    bool, Bool, par_bool, par_array_bool, Scalar::Bool;
}

/// A shape, and its product.
///
/// # Safety
/// There are `rank` numbers.
unsafe fn dimensions(shape: *const i64, rank: usize) -> Result<(Vec<i64>, usize), Failure> {
    // SAFETY: as the caller promises.
    let dims = unsafe { slice(shape, rank)? };
    let product = dims.iter().try_fold(1usize, |n, d| n.checked_mul(usize::try_from(*d).ok()?));
    match product.filter(|n| rank > 0 && *n <= isize::MAX as usize / 8) {
        Some(len) => Ok((dims.to_vec(), len)),
        None => Err(Failure::misuse("a shape has no dimension, a negative one, or too many elements")),
    }
}

fn array(prim: Prim, bytes: &[u8], dims: &[i64]) -> Result<Value, Failure> {
    let len = bytes.len() / prim.size();
    let memory = |e: par_runtime::array::OutOfMemory| Failure::misuse(format!("no memory for {} bytes", e.0));
    let mut data = Array::try_uninit(prim, len).map_err(memory)?;
    data.bytes_mut().copy_from_slice(bytes);
    if prim == Prim::Bool && data.bytes().iter().any(|b| *b > 1) {
        return Err(Failure::misuse("a bool is neither 0 nor 1"));
    }
    let ty = dims.iter().fold(ValueType::Prim(prim), |elem, _| ValueType::array(elem));
    let sizes = dims.iter().map(|n| Column::Size(*n));
    Ok(Value { ty, columns: sizes.chain([Column::Data(data)]).collect() })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_ragged(
    elements: *const ParValue,
    rows: usize,
    offsets: *const i64,
) -> *mut ParValue {
    made_value(|| {
        // SAFETY: the header asks for a value, and for one offset more than rows.
        let (elements, offsets) = unsafe { (reference(elements)?, slice(offsets, rows.saturating_add(1))?) };
        ragged(elements.0.clone(), offsets)
    })
}

/// Rows of the elements of an array; of a tuple or a record of arrays, a tuple or a record of such rows.
fn ragged(elements: Value, offsets: &[i64]) -> Result<Value, Failure> {
    let rows = |parts: Value| io::components(parts).into_iter().map(|part| ragged(part, offsets)).collect();
    let Value { ty, columns } = elements;
    match (&ty, columns.first()) {
        (ValueType::Tuple(parts), _) if !parts.is_empty() => {
            let parts: Result<Vec<Value>, Failure> = rows(Value { ty, columns });
            Ok(io::tuple(parts?))
        }
        (ValueType::Record(fields), _) if !fields.is_empty() => {
            let types = ValueType::Tuple(fields.iter().map(|f| f.1.clone()).collect());
            let parts: Result<Vec<Value>, Failure> = rows(Value { ty: types, columns });
            let parts = parts?;
            let mut types = parts.iter().map(|part| part.ty.clone());
            let ty = ValueType::Record(fields.map(|t| types.next().unwrap_or_else(|| t.clone())));
            Ok(Value { ty, columns: parts.into_iter().flat_map(|part| part.columns).collect() })
        }
        (ValueType::Array { elem, .. }, Some(Column::Size(n))) => {
            let grows = offsets.windows(2).all(|w| w[0] <= w[1]);
            if offsets[0] != 0 || !grows || offsets[offsets.len() - 1] != *n {
                return Err(Failure::misuse(format!(
                    "offsets must begin with 0, not decrease, and end with the number of elements, {n}"
                )));
            }
            let rows = Column::Size(offsets.len() as i64 - 1);
            let mut all = vec![rows, Column::Offsets(Array::from_slice(offsets))];
            all.extend(columns[1..].iter().cloned());
            Ok(Value { ty: ValueType::array(ValueType::ragged((**elem).clone())), columns: all })
        }
        _ => Err(Failure::misuse(format!("rows are made of the elements of arrays, not of {ty}"))),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_tuple(count: usize, parts: *const *const ParValue) -> *mut ParValue {
    // SAFETY: the header asks for that many values.
    made_value(|| Ok(io::tuple(unsafe { values(parts, count)? })))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_record(
    count: usize,
    names: *const *const c_char,
    fields: *const *const ParValue,
) -> *mut ParValue {
    made_value(|| {
        // SAFETY: the header asks for that many texts and values.
        let (names, fields) = unsafe { (slice(names, count)?, values(fields, count)?) };
        // SAFETY: the header asks for texts.
        let names = names.iter().map(|n| Ok(unsafe { text(*n)? }.to_string()));
        let names = names.collect::<Result<Vec<String>, Failure>>()?;
        let named: Fields<Value> = Fields::written(names.into_iter().zip(fields).collect());
        if named.windows(2).any(|w| w[0].0 == w[1].0) {
            return Err(Failure::misuse("two fields of a record have one name"));
        }
        let ty = ValueType::Record(named.map(|v| v.ty.clone()));
        Ok(Value { ty, columns: named.into_iter().flat_map(|(_, v)| v.columns).collect() })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_constructor(
    name: *const c_char,
    count: usize,
    payload: *const *const ParValue,
) -> *mut ParValue {
    made_value(|| {
        // SAFETY: the header asks for a text and that many values.
        let (name, payload) = unsafe { (text(name)?, values(payload, count)?) };
        let name = name.strip_prefix('#').unwrap_or(name).to_string();
        let ty = ValueType::Sum(vec![(name, payload.iter().map(|v| v.ty.clone()).collect())]);
        let tag = Column::Scalar(Scalar::U8(0));
        Ok(Value {
            ty,
            columns: [tag].into_iter().chain(payload.into_iter().flat_map(|v| v.columns)).collect(),
        })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_value_copy(value: *const ParValue) -> *mut ParValue {
    // SAFETY: the header asks for a value.
    made_value(|| Ok(unsafe { reference(value)? }.0.clone()))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn par_value_free(value: *mut ParValue) {
    // SAFETY: the header asks for a value that nobody uses any more.
    unsafe { free(value) }
}

/// The arguments of a call, at the types of its parameters.
pub fn coerce(entry: &Entry, args: Vec<Value>) -> Result<Vec<Value>, Failure> {
    let (name, wanted, given) = (&entry.name, entry.params.len(), args.len());
    if wanted != given {
        let plural = if wanted == 1 { "" } else { "s" };
        return Err(Failure::misuse(format!("`{name}` takes {wanted} argument{plural}, not {given}")));
    }
    let fitted = entry.params.iter().zip(args).map(|((param, ty), value)| {
        fitted(value, ty).map_err(|m| Failure::misuse(format!("argument `{param}` of `{name}`: {m}")))
    });
    fitted.collect()
}

/// A value at a type that it fits, though made without knowing it.
fn fitted(value: Value, ty: &ValueType) -> Result<Value, String> {
    if same_representation(&value.ty, ty) {
        return Ok(Value { ty: ty.clone(), columns: value.columns });
    }
    match (&value.ty, ty) {
        (ValueType::Sum(own), ValueType::Sum(cases)) if own.len() == 1 => chosen(&value, cases, ty),
        (ValueType::Tuple(own), ValueType::Tuple(types)) if own.len() == types.len() => {
            let parts = io::components(value).into_iter().zip(types);
            let parts = parts.map(|(part, ty)| fitted(part, ty)).collect::<Result<Vec<_>, _>>()?;
            Ok(Value { ty: ty.clone(), ..io::tuple(parts) })
        }
        // What the fitting says of files holds of values.
        _ => fit(Tree::of(value)?, ty).map_err(|m| m.replace("the file", "the value")),
    }
}

/// A constructor among all that its type has; payloads of the others are nothing.
fn chosen(value: &Value, cases: &[(String, Vec<ValueType>)], ty: &ValueType) -> Result<Value, String> {
    let ValueType::Sum(own) = &value.ty else { return Err(format!("{} is no {ty}", value.ty)) };
    let (name, payload) = &own[0];
    let found = cases.iter().position(|c| c.0 == *name);
    let tag = found.ok_or_else(|| format!("`#{name}` is no constructor of {ty}"))?;
    let wanted = &cases[tag].1;
    if wanted.len() != payload.len() {
        return Err(format!("`#{name}` takes {} values, not {}", wanted.len(), payload.len()));
    }
    let inner = Value { ty: ValueType::Tuple(payload.clone()), columns: value.columns[1..].to_vec() };
    let inner = fitted(inner, &ValueType::Tuple(wanted.clone()))?;
    let number = Scalar::from_i64(Prim::of_constructors(cases.len()), tag as i64);
    let mut columns = vec![Column::Scalar(number)];
    for (i, (_, types)) in cases.iter().enumerate() {
        match i == tag {
            true => columns.extend(inner.columns.iter().cloned()),
            false => columns.extend(types.iter().flat_map(nothing)),
        }
    }
    Ok(Value { ty: ty.clone(), columns })
}

/// The columns of a payload whose constructor was not chosen.
fn nothing(ty: &ValueType) -> Vec<Column> {
    let column = |c: ColumnType| match c {
        ColumnType::Scalar(p) => Column::Scalar(Scalar::from_bits(p, 0)),
        ColumnType::Size => Column::Size(0),
        // Below an array without elements.
        ColumnType::Offsets { .. } => Column::Offsets(Array::zeros(Prim::I64, 1)),
        ColumnType::Data(p) => Column::Data(Array::zeros(p, 0)),
    };
    ty.columns().into_iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(texts: &[(&str, ValueType)]) -> Value {
        let read = |(text, ty): &(&str, ValueType)| {
            io::text::read_values(text, std::slice::from_ref(ty)).expect("a value").remove(0)
        };
        io::tuple(texts.iter().map(read).collect())
    }

    #[test]
    fn rows_of_records_fit_rows_of_records() {
        let (i64s, f64s) =
            (ValueType::array(ValueType::Prim(Prim::I64)), ValueType::array(ValueType::Prim(Prim::F64)));
        let record = |a: &ValueType, b: &ValueType| {
            ValueType::Record(vec![("a".into(), a.clone()), ("b".into(), b.clone())].into())
        };
        let parts = values(&[("[1, 2, 3]", i64s.clone()), ("[1.5, 2.5, 3.5]", f64s.clone())]);
        let elements = Value { ty: record(&i64s, &f64s), ..parts };
        let rows = ragged(elements, &[0, 2, 2, 3]).expect("rows");
        let element = record(&ValueType::Prim(Prim::I64), &ValueType::Prim(Prim::F64));
        let wanted = ValueType::array(ValueType::ragged(element));
        let fitted = fitted(rows, &wanted).expect("a value that fits");
        let text = "[[{a = 1i64, b = 1.5f64}, {a = 2i64, b = 2.5f64}], [], [{a = 3i64, b = 3.5f64}]]";
        assert_eq!(io::text::print_value(&fitted), text);
    }

    #[test]
    fn rows_of_fields_of_other_lengths_are_a_mistake() {
        let i64s = ValueType::array(ValueType::Prim(Prim::I64));
        let parts = values(&[("[1, 2]", i64s.clone()), ("[1]", i64s)]);
        assert!(ragged(parts, &[0, 2]).is_err());
    }
}
