//! Programs.

use crate::entry::Entry;
use crate::{error, interrupt};
use par::doc::{self, Kind};
use par::insight::{self, Insight};
use par::pipeline::Target;
use par::program::compile_until;
use par::{Backend, Options, report};
use par_runtime::cuda::Gpu;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Call options of a program's entry points.
#[derive(Clone)]
pub struct Settings {
    pub backend: Backend,
    pub threads: usize,
    pub memory_limit: Option<usize>,
    /// Arguments that would have to be copied are refused.
    pub strict: bool,
    /// Results stay where they are.
    pub keep: bool,
    pub origin: Arc<Origin>,
}

impl Settings {
    /// The number of the GPU that the program runs on, if it runs on one.
    pub fn gpu(&self) -> Option<usize> {
        matches!(self.ran_on(), Backend::Cuda).then_some(self.origin.device)
    }

    /// The back end that runs it: what was asked for, or what `auto` stands for.
    fn ran_on(&self) -> Backend {
        match self.backend {
            Backend::Auto => Backend::automatic(self.origin.device).0,
            backend => backend,
        }
    }

    /// That GPU.
    pub fn open(&self) -> Result<Arc<Gpu>, String> {
        Gpu::open(self.origin.device).map_err(|e| e.0)
    }
}

/// Contents that a program was compiled from.
pub struct Origin {
    pub text: String,
    pub name: String,
    pub device: usize,
    pub reproducible: bool,
}

/// A compiled program.
#[pyclass(frozen, module = "par_array._native")]
pub struct Program {
    program: Arc<par::Program>,
    settings: Settings,
}

/// Compiles a text, which messages call `name` and whose imports are found relative to it.
#[pyfunction]
#[pyo3(signature = (text, name, *, backend, device, threads, memory_limit, reproducible, strict))]
#[allow(clippy::too_many_arguments)]
pub fn compile(
    py: Python<'_>,
    text: &str,
    name: &str,
    backend: &str,
    device: usize,
    threads: usize,
    memory_limit: Option<usize>,
    reproducible: bool,
    strict: bool,
) -> PyResult<Program> {
    let backend = backend_called(backend)?;
    let options = Options { device, memory_limit, reproducible, ..Options::default() };
    let compiled = interrupt::run(py, |token| {
        let program = compile_until(text, name, &options, token)?;
        program.prepare(backend)?;
        Ok(program)
    })?;
    let program = compiled.map_err(|failure| error::of_compiling(py, &failure))?;
    let origin = Arc::new(Origin { text: text.to_string(), name: name.to_string(), device, reproducible });
    let settings = Settings { backend, threads, memory_limit, strict, keep: false, origin };
    Ok(Program { program: Arc::new(program), settings })
}

fn backend_called(name: &str) -> PyResult<Backend> {
    let all = || Backend::ALL.into_iter().chain([Backend::Auto]);
    all().find(|b| b.name() == name).ok_or_else(|| {
        let names: Vec<_> = all().map(Backend::name).collect();
        PyValueError::new_err(format!("there is no back end '{name}': they are {}", names.join(", ")))
    })
}

#[pymethods]
impl Program {
    /// The entry points, in the order of the source.
    fn entries(&self) -> Vec<Entry> {
        let documented = self.documented();
        let entry = |e: &&par::Entry| {
            let text = documented.get(&e.name).cloned();
            Entry::new(self.program.clone(), (*e).clone(), text, self.settings.clone())
        };
        self.program.entries().iter().map(entry).collect()
    }

    /// Warnings of the compiler, as JSON.
    fn warnings(&self) -> String {
        let all = self.program.warnings().iter().map(|d| report::json(d, self.program.sources()));
        serde_json::Value::Array(all.collect()).to_string()
    }

    /// Names and texts of the files that it was compiled from, the library's aside.
    fn sources(&self) -> Vec<(&str, &str)> {
        let files = self.program.sources().files.iter().filter(|f| !f.is_library);
        files.map(|f| (f.name.as_str(), f.text.as_str())).collect()
    }

    /// Explanation of an entry point's compiled code, as a listing or as HTML.
    fn explain(&self, py: Python<'_>, entry: &str, width: usize, html: bool) -> PyResult<String> {
        if self.program.entry(entry).is_none() {
            return Err(PyKeyError::new_err(format!("there is no entry point '{entry}'")));
        }
        let insight =
            Insight::new(&self.program, entry, Target::Processor).map_err(|f| error::of_compiling(py, &f))?;
        Ok(if html { insight::page(&insight) } else { insight::listing(&insight, width, false) })
    }

    /// The back end that runs it: what was asked for, or what `auto` stands for.
    fn backend(&self) -> &'static str {
        self.settings.ran_on().name()
    }
}

impl Program {
    /// Documentation of the entry points.
    fn documented(&self) -> HashMap<String, String> {
        let sources = self.program.sources();
        let is_main = |(_, f): &(usize, &par_syntax::Source)| !f.is_library;
        let Some((file, source)) = sources.files.iter().enumerate().find(is_main) else {
            return HashMap::new();
        };
        let (tree, _) = par_syntax::parse(&source.text, file as u32);
        let entries = doc::items(&[tree], sources).into_iter().filter(|item| item.kind == Kind::Entry);
        entries.filter_map(|item| Some((item.name, item.text?))).collect()
    }
}
