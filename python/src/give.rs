//! Values as objects of Python.
//!
//! Arrays are of NumPy and own Par's memory; arrays with rows of any length are `Ragged`, made of them. Arrays of tuples and records are
//! tuples and records of arrays. Equal descriptors are one object.

use crate::array::{no_memory, over};
use crate::python::{CASES, RAGGED, RECORD};
use par_runtime::{Array, Column, Prim, Scalar, Value, ValueType};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::vec::IntoIter;

/// A value of a type that the program hides: it can be passed on, and nothing else.
#[pyclass(frozen, module = "par_array._native")]
pub struct Hidden(pub Value);

#[pymethods]
impl Hidden {
    fn __repr__(&self) -> String {
        format!("<hidden value of type {}>", self.0.ty)
    }
}

/// An array's dimension, with what it is in Python.
enum Dim<'py> {
    Size(i64),
    Offsets { object: Bound<'py, PyAny>, column: Array },
}

impl Dim<'_> {
    fn column(&self) -> Column {
        match self {
            Dim::Size(n) => Column::Size(*n),
            Dim::Offsets { column, .. } => Column::Offsets(column.clone()),
        }
    }

    fn ty(&self, elem: ValueType) -> ValueType {
        match self {
            Dim::Size(_) => ValueType::array(elem),
            Dim::Offsets { .. } => ValueType::ragged(elem),
        }
    }
}

/// Makes objects of the results of one call.
pub struct Giver<'py> {
    py: Python<'py>,
    /// Offsets that are objects already: those of the arguments, and of what was made before.
    descriptors: Vec<(Array, Bound<'py, PyAny>)>,
}

impl<'py> Giver<'py> {
    pub fn new(py: Python<'py>, descriptors: Vec<(Array, Bound<'py, PyAny>)>) -> Giver<'py> {
        Giver { py, descriptors }
    }

    /// The object for a value.
    pub fn object(&mut self, value: Value) -> PyResult<Bound<'py, PyAny>> {
        let mut columns = value.columns.into_iter();
        self.part(&value.ty, &mut columns, &mut Vec::new())
    }

    /// The object for the next columns; `dims` are the dimensions around it.
    fn part(
        &mut self,
        ty: &ValueType,
        columns: &mut IntoIter<Column>,
        dims: &mut Vec<Dim<'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match ty {
            ValueType::Prim(_) => match columns.next() {
                Some(Column::Scalar(x)) => scalar(self.py, x),
                Some(Column::Data(data)) => self.leaf(data, dims),
                _ => unreachable!("the value fits its type"),
            },
            ValueType::Tuple(ts) => Ok(PyTuple::new(self.py, self.parts(ts, columns, dims)?)?.into_any()),
            ValueType::Record(fs) => {
                let names: Vec<&str> = fs.in_order().map(|f| f.0.as_str()).collect();
                let parts = self.parts(fs.iter().map(|f| &f.1), columns, dims)?;
                let parts: Vec<_> = fs.places().map(|place| parts[place].clone()).collect();
                let class = RECORD.get(self.py)?.call1((PyTuple::new(self.py, names)?,))?;
                class.call1(PyTuple::new(self.py, parts)?)
            }
            ValueType::Sum(cs) => self.sum(cs, columns, dims),
            ValueType::Array { elem, .. } => {
                let dim = match columns.next() {
                    Some(Column::Size(n)) => Dim::Size(n),
                    Some(Column::Offsets(offsets)) => self.descriptor(offsets)?,
                    _ => unreachable!("the value fits its type"),
                };
                dims.push(dim);
                let object = self.part(elem, columns, dims);
                dims.pop();
                object
            }
            ValueType::Opaque { of, .. } => {
                let mut all: Vec<Column> = dims.iter().map(Dim::column).collect();
                all.extend(columns.take(of.columns().len()));
                let ty = dims.iter().rev().fold(ty.clone(), |elem, dim| dim.ty(elem));
                Ok(Bound::new(self.py, Hidden(Value { ty, columns: all }))?.into_any())
            }
        }
    }

    fn parts<'t>(
        &mut self,
        types: impl IntoIterator<Item = &'t ValueType>,
        columns: &mut IntoIter<Column>,
        dims: &mut Vec<Dim<'py>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        types.into_iter().map(|t| self.part(t, columns, dims)).collect()
    }

    /// One value is the constructor's name with its payload; an array has the columns of all constructors.
    fn sum(
        &mut self,
        cs: &[(String, Vec<ValueType>)],
        columns: &mut IntoIter<Column>,
        dims: &mut Vec<Dim<'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if dims.is_empty() {
            let tag = match columns.next() {
                Some(Column::Scalar(tag)) => tag.as_i64().unwrap_or(0) as usize,
                _ => unreachable!("the value fits its type"),
            };
            let mut chosen = Vec::new();
            for (i, (name, types)) in cs.iter().enumerate() {
                let payload = self.parts(types, columns, dims)?;
                if i == tag {
                    chosen.push(name.into_bound_py_any(self.py)?);
                    chosen.extend(payload);
                }
            }
            return Ok(PyTuple::new(self.py, chosen)?.into_any());
        }
        let tags = self.part(&ValueType::Prim(Prim::of_constructors(cs.len())), columns, dims)?;
        let mut payloads = Vec::with_capacity(cs.len());
        for (_, types) in cs {
            payloads.push(PyTuple::new(self.py, self.parts(types, columns, dims)?)?);
        }
        let names: Vec<&str> = cs.iter().map(|c| c.0.as_str()).collect();
        let parts = (PyTuple::new(self.py, names)?, tags, PyTuple::new(self.py, payloads)?);
        CASES.get(self.py)?.call1(parts)
    }

    /// The array of all scalars of one component.
    fn leaf(&mut self, mut data: Array, dims: &[Dim<'py>]) -> PyResult<Bound<'py, PyAny>> {
        // Somebody who writes to a result must not change an argument, a constant of the program or another result.
        data.try_make_unique().map_err(no_memory)?;
        let rows_end = dims.iter().rposition(|d| matches!(d, Dim::Offsets { .. }));
        let mut shape = sizes(&dims[rows_end.map_or(0, |i| i + 1)..]);
        let Some(mut level) = rows_end else { return over(self.py, data, &shape, true) };
        shape.insert(0, total(&dims[level]));
        let mut object = over(self.py, data, &shape, true)?;
        loop {
            let Dim::Offsets { object: offsets, .. } = &dims[level] else {
                unreachable!("a level has offsets")
            };
            let before = dims[..level].iter().rposition(|d| matches!(d, Dim::Offsets { .. }));
            let mut shape = sizes(&dims[before.map_or(0, |i| i + 1)..level]);
            if let Some(before) = before {
                shape.insert(0, total(&dims[before]));
            }
            let shape = PyTuple::new(self.py, shape)?;
            object = RAGGED.get(self.py)?.call_method1("_of", (offsets, object, shape))?;
            match before {
                None => return Ok(object),
                Some(before) => level = before,
            }
        }
    }

    /// A descriptor as an object: that of an equal one, if there is one.
    fn descriptor(&mut self, offsets: Array) -> PyResult<Dim<'py>> {
        let same =
            |known: &&(Array, _)| known.0.as_ptr() == offsets.as_ptr() && known.0.len() == offsets.len();
        let equal = |known: &&(Array, _)| known.0 == offsets;
        let known = self.descriptors.iter().find(same).or_else(|| self.descriptors.iter().find(equal));
        if let Some((column, object)) = known {
            return Ok(Dim::Offsets { object: object.clone(), column: column.clone() });
        }
        let object = over(self.py, offsets.clone(), &[offsets.len() as i64], false)?;
        self.descriptors.push((offsets.clone(), object.clone()));
        Ok(Dim::Offsets { object, column: offsets })
    }
}

/// Number of elements in all rows.
fn total(dim: &Dim) -> i64 {
    match dim {
        Dim::Size(n) => *n,
        Dim::Offsets { column, .. } => *column.slice::<i64>().last().unwrap_or(&0),
    }
}

fn sizes(dims: &[Dim]) -> Vec<i64> {
    let size = |d: &Dim| if let Dim::Size(n) = d { *n } else { unreachable!("a dimension without offsets") };
    dims.iter().map(size).collect()
}

pub fn scalar(py: Python<'_>, x: Scalar) -> PyResult<Bound<'_, PyAny>> {
    match x {
        Scalar::I8(x) => x.into_bound_py_any(py),
        Scalar::I16(x) => x.into_bound_py_any(py),
        Scalar::I32(x) => x.into_bound_py_any(py),
        Scalar::I64(x) => x.into_bound_py_any(py),
        Scalar::U8(x) => x.into_bound_py_any(py),
        Scalar::U16(x) => x.into_bound_py_any(py),
        Scalar::U32(x) => x.into_bound_py_any(py),
        Scalar::U64(x) => x.into_bound_py_any(py),
        Scalar::F16(x) => f64::from(x).into_bound_py_any(py),
        Scalar::F32(x) => x.into_bound_py_any(py),
        Scalar::F64(x) => x.into_bound_py_any(py),
        Scalar::Bool(x) => x.into_bound_py_any(py),
    }
}
