//! Objects of Python as values.
//!
//! - `dense`, `ragged`: arrays of NumPy and `Ragged`, without copies where their elements are of the right type and in order.
//! - `device`: arrays on the GPU that the program runs on.
//! - `rows`: lists, element by element.
//! - `scalar`: numbers and booleans.
//! - `refusal`: why an object does not fit.
//!
//! Everything else becomes one of these first: `adapt`, in Python.

mod dense;
mod device;
mod ragged;
mod refusal;
mod rows;
mod scalar;

use crate::compile::Settings;
use crate::give::Hidden;
use crate::kept::Kept;
use crate::python::{ADAPT, CASES, FIELDS, RAGGED};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use par::embed::{Builder, IntoPar, View};
use par_runtime::entry::same_representation;
use par_runtime::{Array, Column, Prim, Value, ValueType};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyRange, PyString, PyTuple};
pub use refusal::Refusal;
use refusal::found;

/// Takes the arguments of one call.
pub struct Taker<'py> {
    py: Python<'py>,
    /// Refuse arguments that need a copy.
    strict: bool,
    settings: Settings,
    /// Descriptors that came as objects.
    pub descriptors: Vec<(Array, Bound<'py, PyAny>)>,
}

/// Kinds of arguments.
enum Form<'a, 'py> {
    Array(&'a Bound<'py, PyUntypedArray>),
    Ragged,
    /// Its elements, one after the other.
    Rows,
    /// Perhaps of a library that `adapt` knows.
    Other,
}

/// An array of scalars that is wanted.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    /// Its dimensions: may rows have any length?
    dims: &'a [bool],
    prim: Prim,
    /// Before these there is one that is the elements of that many in rows that are known already.
    outer: Option<i64>,
}

/// Components of a tuple or record, or of an array of them.
enum Structure<'py> {
    /// Its parts: arrays, if it is an array.
    Parts(Vec<Bound<'py, PyAny>>),
    /// A list of values.
    Rows(Bound<'py, PyAny>),
}

impl<'py> Taker<'py> {
    /// Of a program with these settings.
    pub fn new(py: Python<'py>, settings: &Settings) -> Taker<'py> {
        Taker { py, strict: settings.strict, settings: settings.clone(), descriptors: Vec::new() }
    }

    /// The value of an object at a type.
    pub fn value(&mut self, object: &Bound<'py, PyAny>, ty: &ValueType) -> Result<Value, Refusal> {
        let mut columns = Vec::new();
        self.columns(object, &mut Vec::new(), ty, &mut columns)?;
        let value = Value { ty: ty.clone(), columns };
        // Compiled code relies on offsets and lengths.
        View::new(&value).map_err(Refusal::new)?;
        Ok(value)
    }

    /// Adds the columns of an array with these dimensions and elements of type `ty`; of one value, if there are none. `dims`: may rows have
    /// any length? The first columns are those of the dimensions.
    fn columns(
        &mut self,
        object: &Bound<'py, PyAny>,
        dims: &mut Vec<bool>,
        ty: &ValueType,
        out: &mut Vec<Column>,
    ) -> Result<(), Refusal> {
        if dims.is_empty()
            && let Ok(kept) = object.cast_exact::<Kept>()
        {
            let value = kept.get().0.to_par(ty).map_err(|m| Refusal::new(m.to_string()))?;
            out.extend(value.columns);
            return Ok(());
        }
        match ty {
            ValueType::Prim(prim) if dims.is_empty() => out.push(Column::Scalar(self.scalar(object, *prim)?)),
            ValueType::Prim(prim) => self.leaf(object, dims, *prim, true, out)?,
            ValueType::Array { ragged, elem, .. } => {
                dims.push(*ragged);
                let taken = self.columns(object, dims, elem, out);
                dims.pop();
                taken?;
            }
            ValueType::Tuple(ts) => {
                let parts =
                    |taker: &Self, o: &Bound<'py, PyAny>| taker.components(o, ts.len(), !dims.is_empty());
                match self.structure(object, parts)? {
                    Structure::Parts(parts) if !dims.is_empty() => {
                        self.parts(&parts, dims, ts.iter(), out)?
                    }
                    Structure::Parts(parts) => {
                        parts.iter().zip(ts).try_for_each(|(o, t)| self.columns(o, dims, t, out))?;
                    }
                    Structure::Rows(list) => self.build_all(&list, dims, ty, out)?,
                }
            }
            ValueType::Record(fs) => {
                let parts = |taker: &Self, o: &Bound<'py, PyAny>| taker.fields(o, fs);
                let types = fs.iter().map(|f| &f.1);
                match self.structure(object, parts)? {
                    Structure::Parts(parts) if !dims.is_empty() => self.parts(&parts, dims, types, out)?,
                    Structure::Parts(parts) => {
                        for (object, (name, ty)) in parts.iter().zip(fs) {
                            let taken = self.columns(object, dims, ty, out);
                            taken.map_err(|r| r.inside(&format!("field '{name}'")))?;
                        }
                    }
                    Structure::Rows(list) => self.build_all(&list, dims, ty, out)?,
                }
            }
            ValueType::Sum(cs) if !dims.is_empty() && object.get_type().is(CASES.get(self.py)?) => {
                self.cases(object, dims, cs, out)?;
            }
            ValueType::Sum(_) => self.build_all(object, dims, ty, out)?,
            ValueType::Opaque { .. } => out.extend(hidden_columns(object, &array_of(dims, ty))?),
        }
        Ok(())
    }

    /// Adds the columns of an array of a sum type that is given by its tags and payloads.
    fn cases(
        &mut self,
        object: &Bound<'py, PyAny>,
        dims: &mut Vec<bool>,
        cs: &[(String, Vec<ValueType>)],
        out: &mut Vec<Column>,
    ) -> Result<(), Refusal> {
        let names = object.getattr("names")?.extract::<Vec<String>>()?;
        if !names.iter().eq(cs.iter().map(|c| &c.0)) {
            return Err(Refusal::new(format!("its constructors are {}", names.join(", "))));
        }
        let mut parts = vec![object.getattr("tags")?];
        for payload in object.getattr("payloads")?.try_iter()? {
            parts.extend(payload?.try_iter()?.collect::<PyResult<Vec<_>>>()?);
        }
        let tag = ValueType::Prim(Prim::of_constructors(cs.len()));
        let types: Vec<&ValueType> = std::iter::once(&tag).chain(cs.iter().flat_map(|c| &c.1)).collect();
        if parts.len() != types.len() {
            return Err(Refusal::new("its payloads have other numbers of parts"));
        }
        self.parts(&parts, dims, types.into_iter(), out)?;
        tags_are_constructors(out, dims.len(), cs.len())
    }

    fn form<'a>(&self, object: &'a Bound<'py, PyAny>) -> Result<Form<'a, 'py>, Refusal> {
        if let Ok(array) = object.cast_exact::<PyUntypedArray>() {
            return Ok(Form::Array(array));
        }
        if object.get_type().is(RAGGED.get(self.py)?) {
            return Ok(Form::Ragged);
        }
        let rows = object.is_instance_of::<PyList>()
            || object.is_instance_of::<PyTuple>()
            || object.is_instance_of::<PyString>()
            || object.is_instance_of::<PyBytes>()
            || object.is_instance_of::<PyRange>();
        Ok(if rows { Form::Rows } else { Form::Other })
    }

    /// An array of scalars. `adapts`: other objects may be made one first.
    fn leaf(
        &mut self,
        object: &Bound<'py, PyAny>,
        dims: &[bool],
        prim: Prim,
        adapts: bool,
        out: &mut Vec<Column>,
    ) -> Result<(), Refusal> {
        let wanted = Wanted { dims, prim, outer: None };
        match self.form(object)? {
            Form::Array(array) if array.dtype().kind() == b'O' => {
                self.build_all(&array.call_method0("tolist")?, dims, &ValueType::Prim(prim), out)
            }
            Form::Array(array) => self.dense(array, wanted, out),
            Form::Ragged => self.ragged(object, wanted, out),
            Form::Rows => self.build_all(object, dims, &ValueType::Prim(prim), out),
            Form::Other if self.is_there(object)? => self.there(object, wanted, out),
            Form::Other if adapts => self.leaf(&self.adapt(object)?, dims, prim, false, out),
            Form::Other => Err(Refusal::new(found(object))),
        }
    }

    /// The object in a form that is taken.
    fn adapt(&self, object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Refusal> {
        let adapted = ADAPT.get(self.py)?.call1((object, self.strict))?;
        if adapted.is_none() { Err(Refusal::new(found(object))) } else { Ok(adapted) }
    }

    /// Components of a tuple or record, or of an array of them.
    fn structure(
        &self,
        object: &Bound<'py, PyAny>,
        parts: impl Fn(&Self, &Bound<'py, PyAny>) -> Result<Option<Vec<Bound<'py, PyAny>>>, Refusal>,
    ) -> Result<Structure<'py>, Refusal> {
        if let Some(parts) = parts(self, object)? {
            return Ok(Structure::Parts(parts));
        }
        if object.is_instance_of::<PyList>() {
            return Ok(Structure::Rows(object.clone()));
        }
        let mut adapted = match self.form(object)? {
            Form::Ragged => object.clone(),
            _ => self.adapt(object)?,
        };
        if adapted.get_type().is(RAGGED.get(self.py)?) {
            adapted = adapted.call_method0("_distributed")?;
        }
        match parts(self, &adapted)? {
            Some(parts) => Ok(Structure::Parts(parts)),
            None if adapted.is_instance_of::<PyList>() => Ok(Structure::Rows(adapted)),
            None => Err(Refusal::new(found(object))),
        }
    }

    /// The components of a tuple. A list is one too, unless it is an array of them.
    fn components(
        &self,
        object: &Bound<'py, PyAny>,
        count: usize,
        in_array: bool,
    ) -> Result<Option<Vec<Bound<'py, PyAny>>>, Refusal> {
        let is_tuple = object.is_instance_of::<PyTuple>() || !in_array && object.is_instance_of::<PyList>();
        if !is_tuple {
            return Ok(None);
        }
        let parts = object.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        match parts.len() == count {
            true => Ok(Some(parts)),
            false => Err(Refusal::new(format!("a tuple of {} components instead of {count}", parts.len()))),
        }
    }

    /// The fields of a record: of a dictionary, a named tuple, or an object of a data class.
    fn fields(
        &self,
        object: &Bound<'py, PyAny>,
        fs: &[(String, ValueType)],
    ) -> Result<Option<Vec<Bound<'py, PyAny>>>, Refusal> {
        let converted;
        let dict = match object.cast::<PyDict>() {
            Ok(dict) => dict,
            Err(_) => {
                converted = FIELDS.get(self.py)?.call1((object,))?;
                match converted.cast::<PyDict>() {
                    Ok(dict) => dict,
                    Err(_) => return Ok(None),
                }
            }
        };
        let mut parts = Vec::with_capacity(fs.len());
        for (name, _) in fs {
            let part = dict.get_item(name)?;
            parts.push(part.ok_or_else(|| Refusal::new(format!("there is no field '{name}'")))?);
        }
        if dict.len() != fs.len() {
            let names = dict.keys().iter().map(|k| k.to_string()).collect::<Vec<_>>();
            let other = names.into_iter().find(|n| !fs.iter().any(|f| f.0 == *n)).unwrap_or_default();
            return Err(Refusal::new(format!("the field '{other}' is not one of the type")));
        }
        Ok(Some(parts))
    }

    /// Adds the columns of arrays that belong together: they have the same dimensions, which are said once.
    fn parts<'t>(
        &mut self,
        parts: &[Bound<'py, PyAny>],
        dims: &mut Vec<bool>,
        types: impl Iterator<Item = &'t ValueType>,
        out: &mut Vec<Column>,
    ) -> Result<(), Refusal> {
        if parts.is_empty() {
            return Err(Refusal::new("an array of () is made of a list"));
        }
        let start = out.len();
        for (i, (object, ty)) in parts.iter().zip(types).enumerate() {
            let mut columns = Vec::new();
            self.columns(object, dims, ty, &mut columns)?;
            if i == 0 {
                out.extend(columns);
                continue;
            }
            if !out[start..start + dims.len()].iter().zip(&columns).all(|(a, b)| same_rows(a, b)) {
                return Err(Refusal::new(format!(
                    "component {i} has rows of other lengths than component 0"
                )));
            }
            out.extend(columns.drain(dims.len()..));
        }
        Ok(())
    }

    /// Adds the columns of a value that is built element by element.
    fn build_all(
        &mut self,
        object: &Bound<'py, PyAny>,
        dims: &[bool],
        ty: &ValueType,
        out: &mut Vec<Column>,
    ) -> Result<(), Refusal> {
        if self.strict && !dims.is_empty() {
            return Err(Refusal::new(format!("{} would be copied", found(object))));
        }
        let mut builder = Builder::new(&array_of(dims, ty));
        self.build(object, &mut builder)?;
        out.extend(builder.finish()?.columns);
        Ok(())
    }
}

/// The columns of a value that Python does not look into.
fn hidden_columns(object: &Bound<'_, PyAny>, ty: &ValueType) -> Result<Vec<Column>, Refusal> {
    let hidden = object.cast::<Hidden>().map_err(|_| Refusal::new(found(object)))?;
    let value = &hidden.get().0;
    if !same_representation(&value.ty, ty) {
        return Err(Refusal::new(format!("found a hidden value of type {}", value.ty)));
    }
    Ok(value.columns.clone())
}

fn array_of(dims: &[bool], ty: &ValueType) -> ValueType {
    let wrap = |elem, ragged: &bool| if *ragged { ValueType::ragged(elem) } else { ValueType::array(elem) };
    dims.iter().rev().fold(ty.clone(), wrap)
}

fn same_rows(a: &Column, b: &Column) -> bool {
    match (a, b) {
        (Column::Offsets(a), Column::Offsets(b)) => a.as_ptr() == b.as_ptr() && a.len() == b.len() || a == b,
        _ => a == b,
    }
}

/// An error unless the numbers of constructors, the column behind the dimensions, are such.
fn tags_are_constructors(columns: &[Column], dims: usize, constructors: usize) -> Result<(), Refusal> {
    let Some(Column::Data(tags)) = columns.get(dims) else { return Err(Refusal::new("there are no tags")) };
    let is_one = |i| tags.get(i).as_i64().is_some_and(|tag| (0..constructors as i64).contains(&tag));
    match (0..tags.len()).find(|i| !is_one(*i)) {
        None => Ok(()),
        Some(i) => Err(Refusal::new(format!("the tag at {i} is no constructor"))),
    }
}
