//! Functions and classes of the package that are written in Python.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// An attribute of a module, looked up once.
pub struct Imported {
    module: &'static str,
    name: &'static str,
    object: PyOnceLock<Py<PyAny>>,
}

impl Imported {
    const fn new(module: &'static str, name: &'static str) -> Imported {
        Imported { module, name, object: PyOnceLock::new() }
    }

    /// The attribute.
    pub fn get<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let import = || Ok::<_, PyErr>(py.import(self.module)?.getattr(self.name)?.unbind());
        Ok(self.object.get_or_try_init(py, import)?.bind(py))
    }
}

macro_rules! imported {
    ($($constant:ident = $module:literal . $name:literal;)*) => { $(
        pub static $constant: Imported = Imported::new($module, $name);
    )* };
}

imported! {
    RAGGED = "par_array._ragged"."Ragged";
    CASES = "par_array._ragged"."Cases";
    RECORD = "par_array._convert"."record";
    FIELDS = "par_array._convert"."fields";
    CAST = "par_array._convert"."cast";
    ADAPT = "par_array._convert"."adapt";
    EXPORTED = "par_array._foreign"."exported";
    KEPT_TO_TORCH = "par_array._foreign"."kept_to_torch";
    BITS = "par_array._arrow"."bits";
    JOINED = "par_array._arrow"."joined";
    LISTED = "par_array._arrow"."listed";
    SIGNATURE = "par_array._describe"."signature";
    DOCUMENTATION = "par_array._describe"."documentation";
    COMPILE_ERROR = "par_array._errors"."CompileError";
    RUNTIME_ERROR = "par_array._errors"."RuntimeError";
    UNSUPPORTED = "par_array._errors"."Unsupported";
    UNAVAILABLE = "par_array._errors"."Unavailable";
    INTERNAL_ERROR = "par_array._errors"."InternalError";
    MAIN_THREAD = "threading"."main_thread";
    CURRENT_THREAD = "threading"."current_thread";
}
