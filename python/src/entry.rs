//! Entry points as callables.

use crate::array::no_memory;
use crate::compile::Settings;
use crate::give::Giver;
use crate::kept::{self, Kept};
use crate::python::{DOCUMENTATION, SIGNATURE};
use crate::take::Taker;
use crate::{error, interrupt, picture};
use par::{CallOptions, Value};
use par_runtime::Column;
use par_runtime::array::OutOfMemory;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;

// An entry point of a program. A documentation comment would take the place of `__doc__`.
#[pyclass(frozen, module = "par_array._native")]
pub struct Entry {
    program: Arc<par::Program>,
    entry: par::Entry,
    /// Its doc comment.
    text: Option<String>,
    settings: Settings,
}

impl Entry {
    pub fn new(
        program: Arc<par::Program>,
        entry: par::Entry,
        text: Option<String>,
        settings: Settings,
    ) -> Entry {
        Entry { program, entry, text, settings }
    }
}

#[pymethods]
impl Entry {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let keep = self.settings.keep;
        let mut taker = Taker::new(py, &self.settings);
        let values = self.values(&mut taker, args, kwargs)?;
        let mut giver = Giver::new(py, taker.descriptors);
        let value = self.called(py, values, keep)?;
        if keep { kept::object(py, value) } else { giver.object(value) }
    }

    /// A picture of the result of a call: the type of its file, and its bytes.
    #[pyo3(signature = (kind, /, *args, **kwargs))]
    fn _picture(
        &self,
        py: Python<'_>,
        kind: &str,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<picture::Picture> {
        let values = self.values(&mut Taker::new(py, &self.settings), args, kwargs)?;
        picture::of(self.called(py, values, false)?, kind)
    }

    /// Arguments for several calls: all of them in order, as values that are on the GPU already, if that is what the program runs on.
    #[pyo3(signature = (*args, **kwargs))]
    fn upload<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let mut values = self.values(&mut Taker::new(py, &self.settings), args, kwargs)?;
        let (program, backend) = (&*self.program, self.settings.backend);
        // What is kept does not change when somebody writes to the array that it came from: offsets stay here as well, elements if there is
        // no GPU.
        let columns = values.iter_mut().flat_map(|v| &mut v.columns);
        own(columns.filter(|c| matches!(c, Column::Offsets(_)))).map_err(no_memory)?;
        let there = interrupt::run(py, |_| {
            values.into_iter().map(|value| program.upload(value, backend)).collect::<Result<Vec<Value>, _>>()
        })?;
        let mut there = there.map_err(|failure| error::of_running(py, &failure, program))?;
        let columns = there.iter_mut().flat_map(|v| &mut v.columns);
        own(columns.filter(|c| matches!(c, Column::Data(_)))).map_err(no_memory)?;
        PyTuple::new(
            py,
            there.into_iter().map(Kept).map(|kept| Bound::new(py, kept)).collect::<PyResult<Vec<_>>>()?,
        )
    }

    /// Addresses of the elements and offsets that the program gets for these arguments, by column.
    #[pyo3(signature = (*args, **kwargs))]
    fn _addresses(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<usize>> {
        let values = self.values(&mut Taker::new(py, &self.settings), args, kwargs)?;
        let arrays = values.iter().flat_map(|v| &v.columns).filter_map(|column| match column {
            Column::Offsets(a) | Column::Data(a) => Some(a.as_ptr() as usize),
            Column::Scalar(_) | Column::Size(_) => None,
        });
        Ok(arrays.collect())
    }

    /// The same with other settings: `threads`, `memory_limit` in bytes, `strict`, `keep`.
    #[pyo3(signature = (*, threads = None, memory_limit = None, strict = None, keep = None))]
    fn options(
        &self,
        threads: Option<usize>,
        memory_limit: Option<usize>,
        strict: Option<bool>,
        keep: Option<bool>,
    ) -> Entry {
        let before = &self.settings;
        let settings = Settings {
            backend: before.backend,
            threads: threads.unwrap_or(before.threads),
            memory_limit: memory_limit.or(before.memory_limit),
            strict: strict.unwrap_or(before.strict),
            keep: keep.unwrap_or(before.keep),
            origin: before.origin.clone(),
        };
        Entry::new(self.program.clone(), self.entry.clone(), self.text.clone(), settings)
    }

    /// The text and the name of its program, and how that was compiled: as `compile` takes them.
    fn _made_from<'py>(&self, py: Python<'py>) -> PyResult<(&str, &str, Bound<'py, PyDict>)> {
        let Settings { backend, threads, memory_limit, strict, origin, .. } = &self.settings;
        let options = PyDict::new(py);
        options.set_item("backend", backend.name())?;
        options.set_item("device", origin.device)?;
        options.set_item("threads", threads)?;
        options.set_item("memory_limit", memory_limit)?;
        options.set_item("reproducible", origin.reproducible)?;
        options.set_item("strict", strict)?;
        Ok((&origin.text, &origin.name, options))
    }

    /// The number of the GPU that calls run on; `None` if they run on the processor.
    fn _gpu(&self) -> Option<usize> {
        self.settings.gpu()
    }

    /// The types of the parameters and of the result, as JSON.
    fn _types(&self) -> PyResult<String> {
        let types = (self.entry.params.iter().map(|p| &p.1).collect::<Vec<_>>(), &self.entry.ret);
        serde_json::to_string(&types).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    #[getter]
    fn __name__(&self) -> &str {
        &self.entry.name
    }

    #[getter]
    fn __qualname__(&self) -> &str {
        &self.entry.name
    }

    /// Names and types of the parameters.
    #[getter]
    fn parameters(&self) -> Vec<(&str, String)> {
        self.entry.params.iter().map(|(name, ty)| (name.as_str(), ty.to_string())).collect()
    }

    /// Type of the result.
    #[getter]
    fn result(&self) -> String {
        self.entry.ret.to_string()
    }

    /// Its doc comment in the program.
    #[getter]
    fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    #[getter]
    fn __doc__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        DOCUMENTATION.get(slf.py())?.call1((slf,))
    }

    #[getter]
    fn __signature__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        SIGNATURE.get(slf.py())?.call1((slf,))
    }

    fn __repr__(&self) -> String {
        format!("<{}>", self.entry)
    }
}

impl Entry {
    /// The result of a call, with the interpreter's lock released.
    fn called(&self, py: Python<'_>, values: Vec<Value>, keep: bool) -> PyResult<Value> {
        let Settings { backend, threads, memory_limit, .. } = self.settings;
        let (program, name) = (&*self.program, self.entry.name.as_str());
        let result = interrupt::run(py, |token| {
            let locate = true;
            let cancel = token.clone();
            let options = CallOptions {
                backend,
                threads,
                memory_limit,
                cancel,
                locate,
                keep_on_device: keep,
                ..CallOptions::default()
            };
            program.call(name, values, &options)
        })?;
        result.map_err(|failure| error::of_running(py, &failure, program))
    }

    /// The arguments as values.
    fn values<'py>(
        &self,
        taker: &mut Taker<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Value>> {
        let arguments = self.arguments(args, kwargs)?;
        let all = self.entry.params.iter().zip(&arguments).map(|((name, ty), object)| {
            let taken = taker.value(object, ty);
            taken.map_err(|refusal| refusal.exception(args.py(), name, &self.entry.name, ty))
        });
        all.collect()
    }

    /// The arguments in the order of the parameters.
    fn arguments<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (entry, params) = (&self.entry.name, &self.entry.params);
        let refuse = |message: String| Err(PyTypeError::new_err(format!("{entry}() {message}")));
        if args.len() > params.len() {
            let plural = if params.len() == 1 { "" } else { "s" };
            return refuse(format!("takes {} argument{plural}, not {}", params.len(), args.len()));
        }
        let mut all = Vec::with_capacity(params.len());
        if let Some(unknown) = kwargs.and_then(|k| self.unknown(k)) {
            let known: Vec<_> = params.iter().map(|p| p.0.as_str()).collect();
            return refuse(format!("has no parameter '{unknown}', only {}", known.join(", ")));
        }
        for (i, (name, ty)) in params.iter().enumerate() {
            let by_name = kwargs.map(|k| named_argument(k, name)).transpose()?.flatten();
            all.push(match (args.get_item(i), by_name) {
                (Ok(_), Some(_)) => return refuse(format!("has two values for the parameter '{name}'")),
                (Ok(object), None) | (Err(_), Some(object)) => object,
                (Err(_), None) => return refuse(format!("has no value for the parameter '{name}': {ty}")),
            });
        }
        Ok(all)
    }

    /// A name that is no parameter's.
    fn unknown(&self, kwargs: &Bound<'_, PyDict>) -> Option<String> {
        let mut names = kwargs.keys().iter().map(|k| k.to_string()).collect::<Vec<_>>().into_iter();
        names.find(|n| !self.entry.params.iter().any(|(name, _)| name == n || identifier(name) == *n))
    }
}

/// Copies what is in memory of others.
fn own<'c>(mut columns: impl Iterator<Item = &'c mut Column>) -> Result<(), OutOfMemory> {
    columns.try_for_each(|column| match column {
        Column::Data(a) | Column::Offsets(a) if a.is_foreign() => a.try_make_unique(),
        _ => Ok(()),
    })
}

/// The argument for a parameter, by its name in Par or that in Python.
fn named_argument<'py>(kwargs: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let found = kwargs.get_item(name)?;
    if found.is_some() { Ok(found) } else { kwargs.get_item(identifier(name)) }
}

/// A name as one of Python: as in `_convert.identifier`.
fn identifier(name: &str) -> String {
    const KEYWORDS: [&str; 35] = [
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
        "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in",
        "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
    ];
    let plain = name.replace('\'', "_");
    if KEYWORDS.contains(&plain.as_str()) { plain + "_" } else { plain }
}
