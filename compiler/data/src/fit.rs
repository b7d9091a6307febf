//! From what a file holds to what a program wants.
//!
//! ```text
//! file                                 wanted                      what happens
//! {x: [n]f32, y: [n]f32}               [n]{x: f32, y: f32}         columns are turned into rows, which costs nothing: both
//! [n]{x: f32, y: f32}                  {x: [n]f32, y: [n]f32}        are one array for each field
//! {x: [n]f32, y: [n]f32}               ([]f32, []f32)              by position
//! {x: [n]f32}                          [n]f32                      the only column
//! {a: [n]f32, b: [n]f32}               [n][2]f32                   columns of one type are the columns of a matrix
//! [n][2]f32                            [n](f32, f32)               and the other way round
//! [n][m]f32                            [][]f32 with ragged rows    rows of one length
//! [n][]f32                             [n][m]f32                   if the rows have one length
//! [n]f32 with values missing           [n](#none | #some f32)      whatever the constructors are called
//! ```
//!
//! Numbers are converted if their values do not change, see `convert`. Fields that nobody asks for are left out.

use crate::convert::convert;
use crate::missing::Optional;
use crate::tree::Tree;
use par_runtime::array::Element;
use par_runtime::io::view::View;
use par_runtime::{Array, Column, Prim, Scalar, Value, ValueType, f16};

/// Rows without elements that a header alone may ask for.
const MAX_EMPTY_ROWS: usize = 1 << 26;

/// The value of type `ty` that the data is; the error says what does not fit.
pub fn fit(tree: Tree, ty: &ValueType) -> Result<Value, String> {
    let found = tree.type_name();
    let mut columns = Vec::new();
    place(tree, ty, 1, true, &mut columns).map_err(|problem| match problem {
        Problem::Type => format!("the file has {found}, but {ty} is expected"),
        Problem::Said(message) => message,
    })?;
    let value = Value { ty: ty.clone(), columns };
    // Offsets come from files: nobody else has looked at them.
    View::new(&value).map_err(|message| format!("the file is damaged: {message}"))?;
    Ok(value)
}

/// Mismatch between a file and a type.
enum Problem {
    /// The types as a whole.
    Type,
    /// Something in particular.
    Said(String),
}

type Result_ = Result<(), Problem>;

fn said<T>(message: impl Into<String>) -> Result<T, Problem> {
    Err(Problem::Said(message.into()))
}

/// Adds the columns of `rows` values.
fn place(tree: Tree, ty: &ValueType, rows: usize, outermost: bool, out: &mut Vec<Column>) -> Result_ {
    match (ty, tree) {
        (ty, Tree::Optional(present, _)) if !matches!(ty, ValueType::Sum(_)) => missing(&present, ty),
        (ValueType::Prim(prim), Tree::Scalars(array)) => {
            let array = convert(array, *prim).map_err(Problem::Said)?;
            if outermost && array.is_empty() {
                return Err(Problem::Type);
            }
            out.push(if outermost { Column::Scalar(array.get(0)) } else { Column::Data(array) });
            Ok(())
        }
        (ValueType::Tuple(types), tree) => place_tuple(tree, types, rows, outermost, out),
        (ValueType::Record(fields), tree) => place_record(tree, fields, rows, outermost, out),
        (ValueType::Array { ragged, size, elem }, tree) => {
            let constant = size.as_ref().and_then(|s| s.trim_end_matches("i64").parse().ok());
            place_array(tree, *ragged, constant, elem, rows, out)
        }
        (ValueType::Prim(_), Tree::Fields(fields)) => place(only(fields)?, ty, rows, outermost, out),
        (ValueType::Sum(cases), tree) => match Optional::of(cases) {
            Some(optional) => place_optional(tree, &optional, rows, outermost, out),
            None => place_sum(&tree, cases, ty, outermost, out),
        },
        (ValueType::Opaque { name, .. }, _) => said(format!("{name} is a hidden type, which no file has")),
        (ValueType::Prim(_), _) => Err(Problem::Type),
    }
}

/// The tree of the only field.
fn only(mut fields: Vec<(String, Tree)>) -> Result<Tree, Problem> {
    match fields.len() {
        1 => Ok(fields.remove(0).1),
        0 => Err(Problem::Type),
        _ => said(format!("the file has {}: choose one with FILE#NAME", listing(&fields))),
    }
}

fn listing(fields: &[(String, Tree)]) -> String {
    crate::input::listing(fields.iter().map(|(name, _)| name.as_str()))
}

fn place_tuple(
    tree: Tree,
    types: &[ValueType],
    rows: usize,
    outermost: bool,
    out: &mut Vec<Column>,
) -> Result_ {
    match split(tree, types.len())? {
        Some(parts) => {
            parts.into_iter().zip(types).try_for_each(|(t, ty)| place(t, ty, rows, outermost, out))
        }
        None => Err(Problem::Type),
    }
}

/// The data as so many parts: fields, the same inside an array, or the elements of rows of that length.
fn split(tree: Tree, count: usize) -> Result<Option<Vec<Tree>>, Problem> {
    Ok(match tree {
        Tree::Fields(fields) if fields.len() == count => Some(fields.into_iter().map(|f| f.1).collect()),
        Tree::Fields(fields) if fields.len() == 1 => split(only(fields)?, count)?,
        Tree::Fields(fields) => {
            return said(format!("the file has {}, but {count} are expected", listing(&fields)));
        }
        Tree::Fixed(n, elem) => match *elem {
            Tree::Scalars(array) if n == count => {
                Some((0..count).map(|i| Tree::Scalars(every(&array, i, count))).collect())
            }
            Tree::Scalars(_) => None,
            elem => split(elem, count)?.map(|parts| parts.into_iter().map(|t| Tree::array(n, t)).collect()),
        },
        Tree::Lists(offsets, elem) => split(*elem, count)?
            .map(|parts| parts.into_iter().map(|t| Tree::Lists(offsets.clone(), Box::new(t))).collect()),
        Tree::Scalars(_) | Tree::Optional(..) => None,
    })
}

fn place_record(
    tree: Tree,
    wanted: &[(String, ValueType)],
    rows: usize,
    outermost: bool,
    out: &mut Vec<Column>,
) -> Result_ {
    let Some(mut fields) = fields(tree) else { return Err(Problem::Type) };
    for (name, ty) in wanted {
        let Some(at) = fields.iter().position(|f| f.0 == *name) else {
            return said(format!("there is no `{name}`: the file has {}", listing(&fields)));
        };
        // Others may have the same name; whoever comes first is meant.
        let (_, tree) = fields.remove(at);
        place(tree, ty, rows, outermost, out).map_err(|problem| match problem {
            Problem::Said(message) => Problem::Said(format!("`{name}`: {message}")),
            Problem::Type => Problem::Type,
        })?;
    }
    Ok(())
}

/// The fields of a record, or of all records in an array.
fn fields(tree: Tree) -> Option<Vec<(String, Tree)>> {
    Some(match tree {
        Tree::Fields(fields) => fields,
        Tree::Fixed(n, elem) => {
            fields(*elem)?.into_iter().map(|(name, t)| (name, Tree::array(n, t))).collect()
        }
        Tree::Lists(offsets, elem) => {
            let wrap = |t| Tree::Lists(offsets.clone(), Box::new(t));
            fields(*elem)?.into_iter().map(|(name, t)| (name, wrap(t))).collect()
        }
        Tree::Scalars(_) | Tree::Optional(..) => return None,
    })
}

fn place_array(
    tree: Tree,
    ragged: bool,
    constant: Option<usize>,
    elem: &ValueType,
    rows: usize,
    out: &mut Vec<Column>,
) -> Result_ {
    let (lengths, inner) = peeled(tree)?;
    let total = match (&lengths, ragged) {
        (Lengths::Same(n), _) => rows.checked_mul(*n),
        (Lengths::Offsets(offsets), _) => last(offsets, rows)?,
    };
    let Some(total) = total else { return said("the data is too large") };
    out.push(match (lengths, ragged) {
        (Lengths::Same(n), _) if constant.is_some_and(|c| c != n) => return Err(Problem::Type),
        (Lengths::Same(n), false) => Column::Size(n as i64),
        (Lengths::Same(n), true) => Column::Offsets(uniform(rows, n)?),
        (Lengths::Offsets(offsets), true) => Column::Offsets(offsets),
        (Lengths::Offsets(offsets), false) => Column::Size(common(&offsets, constant)?),
    });
    place(inner, elem, total, false, out)
}

enum Lengths {
    Same(usize),
    Offsets(Array),
}

/// The last of as many offsets as `rows` rows have.
fn last(offsets: &Array, rows: usize) -> Result<Option<usize>, Problem> {
    if offsets.prim() != Prim::I64 || offsets.len() != rows + 1 {
        return said("the file is damaged: offsets do not fit the rows");
    }
    Ok(usize::try_from(offsets.slice::<i64>()[rows]).ok())
}

/// The length that all rows have.
fn common(offsets: &Array, constant: Option<usize>) -> Result<i64, Problem> {
    let offsets = offsets.slice::<i64>();
    let mut lengths = offsets.windows(2).map(|w| w[1] - w[0]);
    let first = constant.map(|n| n as i64).or_else(|| offsets.windows(2).map(|w| w[1] - w[0]).next());
    let Some(first) = first else { return Ok(0) };
    match lengths.position(|n| n != first) {
        None => Ok(first),
        Some(row) => {
            let found = offsets[row + 1] - offsets[row];
            said(format!("rows of one length are expected, {first}, but row {row} has length {found}"))
        }
    }
}

fn uniform(rows: usize, len: usize) -> Result<Array, Problem> {
    if len == 0 && rows > MAX_EMPTY_ROWS {
        return said(format!("the file has {rows} empty rows, which is too many"));
    }
    let mut offsets = Array::uninit(Prim::I64, rows + 1);
    offsets.slice_mut::<i64>().iter_mut().enumerate().for_each(|(i, o)| *o = (i * len) as i64);
    Ok(offsets)
}

/// An array's lengths and elements.
fn peeled(tree: Tree) -> Result<(Lengths, Tree), Problem> {
    match tree {
        Tree::Fixed(n, inner) => Ok((Lengths::Same(n), *inner)),
        Tree::Lists(offsets, inner) => Ok((Lengths::Offsets(offsets), *inner)),
        Tree::Fields(fields) => zip(fields),
        Tree::Scalars(_) | Tree::Optional(..) => Err(Problem::Type),
    }
}

/// Fields as an array: of what they are if all of them are arrays of the same lengths, else with a field as an element.
fn zip(fields: Vec<(String, Tree)>) -> Result<(Lengths, Tree), Problem> {
    if fields.len() < 2 {
        return peeled(only(fields)?);
    }
    if let Some(arrays) = fields.iter().map(|(_, t)| scalars(t)).collect::<Option<Vec<_>>>() {
        return interleave(&arrays).map(|array| (Lengths::Same(arrays.len()), Tree::Scalars(array)));
    }
    let mut lengths = None;
    let mut inner = Vec::new();
    for (name, tree) in fields {
        let (own, elem) = peeled(tree)?;
        match (&lengths, &own) {
            (None, _) => lengths = Some(own),
            (Some(Lengths::Same(a)), Lengths::Same(b)) if a == b => {}
            (Some(Lengths::Offsets(a)), Lengths::Offsets(b)) if a == b => {}
            _ => return said(format!("`{name}` has another length than what stands before it")),
        }
        inner.push((name, elem));
    }
    match lengths {
        Some(lengths) => Ok((lengths, Tree::Fields(inner))),
        None => Err(Problem::Type),
    }
}

/// The scalars in the rows.
pub(crate) fn scalars(tree: &Tree) -> Option<&Array> {
    match tree {
        Tree::Scalars(array) => Some(array),
        _ => None,
    }
}

/// Applies a generic function at the type of an array's elements.
macro_rules! at_type {
    ($prim:expr, $f:ident($($x:expr),*)) => {
        match $prim {
            Prim::I8 => $f::<i8>($($x),*),
            Prim::I16 => $f::<i16>($($x),*),
            Prim::I32 => $f::<i32>($($x),*),
            Prim::I64 => $f::<i64>($($x),*),
            Prim::U8 => $f::<u8>($($x),*),
            Prim::U16 => $f::<u16>($($x),*),
            Prim::U32 => $f::<u32>($($x),*),
            Prim::U64 => $f::<u64>($($x),*),
            Prim::F16 => $f::<f16>($($x),*),
            Prim::F32 => $f::<f32>($($x),*),
            Prim::F64 => $f::<f64>($($x),*),
            Prim::Bool => $f::<bool>($($x),*),
        }
    };
}
pub(crate) use at_type;

/// Arrays of one type as the columns of one.
fn interleave(arrays: &[&Array]) -> Result<Array, Problem> {
    let first = arrays[0];
    match arrays.iter().find(|a| a.prim() != first.prim()) {
        Some(other) => {
            said(format!("the columns have types {} and {}, which no array has", first.prim(), other.prim()))
        }
        None => Ok(at_type!(first.prim(), woven(arrays))),
    }
}

/// Arrays as the columns of one, if they have one type.
pub(crate) fn woven_if_alike(arrays: &[&Array]) -> Option<Array> {
    interleave(arrays).ok()
}

fn woven<T: Element>(arrays: &[&Array]) -> Array {
    let rows = arrays[0].len();
    let mut array = Array::zeros(T::PRIM, rows * arrays.len());
    let target = array.slice_mut::<T>();
    for (column, from) in arrays.iter().enumerate() {
        let places = target[column..].iter_mut().step_by(arrays.len());
        places.zip(from.slice::<T>()).for_each(|(y, x)| *y = *x);
    }
    array
}

/// Every `step`-th element from `first` on.
fn every(array: &Array, first: usize, step: usize) -> Array {
    fn take<T: Element>(array: &Array, first: usize, step: usize) -> Array {
        let all = array.slice::<T>();
        let mut part = Array::uninit(T::PRIM, all.len() / step);
        let from = all.iter().skip(first).step_by(step);
        part.slice_mut::<T>().iter_mut().zip(from).for_each(|(y, x)| *y = *x);
        part
    }
    at_type!(array.prim(), take(array, first, step))
}

/// Rows that may miss a value.
fn place_optional(
    tree: Tree,
    optional: &Optional,
    rows: usize,
    outermost: bool,
    out: &mut Vec<Column>,
) -> Result_ {
    let (present, tree) = match tree {
        Tree::Optional(present, elem) => (present, *elem),
        Tree::Fields(fields) if fields.len() == 1 && matches!(fields[0].1, Tree::Optional(..)) => {
            return place_optional(only(fields)?, optional, rows, outermost, out);
        }
        tree => (Array::from_slice(&vec![true; rows]), tree),
    };
    let tags = optional.tags(&present);
    out.push(if outermost { Column::Scalar(tags.get(0)) } else { Column::Data(tags) });
    place(tree, optional.ty, rows, outermost, out)
}

/// Says which value is missing, and what could hold it.
fn missing(present: &Array, ty: &ValueType) -> Result_ {
    match present.slice::<bool>().iter().position(|there| !there) {
        Some(row) => said(format!("there is no value in row {row}, which `#none | #some {ty}` would allow")),
        None => Err(Problem::Type),
    }
}

/// Constructors without payload, by their names in a text.
fn place_sum(
    tree: &Tree,
    cases: &[(String, Vec<ValueType>)],
    ty: &ValueType,
    outermost: bool,
    out: &mut Vec<Column>,
) -> Result_ {
    if cases.iter().any(|(_, payload)| !payload.is_empty()) {
        return said(format!("values of {ty} can only be read from text"));
    }
    let tree = match tree {
        Tree::Fields(fields) if fields.len() == 1 => &fields[0].1,
        tree => tree,
    };
    let (Tree::Lists(offsets, elem), true) = (tree, tree.is_text()) else { return Err(Problem::Type) };
    let Tree::Scalars(bytes) = &**elem else { return Err(Problem::Type) };
    let bytes = bytes.slice::<u8>();
    let prim = Prim::of_constructors(cases.len());
    let mut tags = Vec::with_capacity(offsets.len());
    for row in offsets.slice::<i64>().windows(2) {
        let Some(text) = bytes.get(row[0] as usize..row[1] as usize) else {
            return said("the file is damaged: offsets do not fit the rows");
        };
        let text = String::from_utf8_lossy(text);
        let name = text.strip_prefix('#').unwrap_or(&text);
        match cases.iter().position(|c| c.0 == name) {
            Some(tag) => tags.push(Scalar::from_i64(prim, tag as i64)),
            None => return said(format!("`{name}` is none of {ty}")),
        }
    }
    let tags = Array::from_scalars(prim, &tags);
    out.push(if outermost && tags.len() == 1 { Column::Scalar(tags.get(0)) } else { Column::Data(tags) });
    Ok(())
}
