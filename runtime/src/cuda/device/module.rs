//! Compiling and loading programs.

use super::cache::Entry;
use super::driver::{Function, Gpu, Module};
use super::headers::{BULK, HEADERS, SORT};
use super::nvrtc::{Nvrtc, Source, options};
use super::{Program, modules};
use crate::check::RuntimeError;
use crate::exec::Executable;
use crate::unavailable::{LoadError, Unavailable};
use cudarc::driver::DriverError;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

/// Bytes of stack that threads get for calls of functions, if the device has room for them.
const STACK: usize = 64 << 10;

/// A program on a device.
pub struct Loaded {
    /// The device.
    pub gpu: Arc<Gpu>,
    /// The host's part, and what kernels check.
    pub program: Arc<Program>,
    /// Bytes of stack that calls may take.
    pub stack: usize,
    /// Compiler of what is not loaded; none if all is.
    nvrtc: Option<Nvrtc>,
    code: Mutex<Code>,
}

/// Code on the device.
#[derive(Default)]
struct Code {
    modules: Vec<Module>,
    /// Functions of the modules, as they are asked for.
    known: HashMap<String, Function>,
    /// Functions of the host whose kernels are there.
    ready: HashSet<usize>,
    /// Kernels that are there, by their numbers.
    kernels: HashSet<usize>,
    /// Kernels of all programs are there: those that sort, and the others.
    sort: bool,
    bulk: bool,
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} on {:?}", self.program.plan, self.gpu)
    }
}

fn failed(e: DriverError) -> LoadError {
    Unavailable::of("loading a program", e).into()
}

impl Loaded {
    fn code(&self) -> MutexGuard<'_, Code> {
        self.code.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// A kernel of a function that [`Loaded::prepare`] was asked for.
    pub fn kernel(&self, name: &str) -> Result<Function, RuntimeError> {
        self.code().function(name)
    }

    /// A kernel that all programs share.
    pub fn bulk(&self, name: &str) -> Result<Function, RuntimeError> {
        let mut code = self.code();
        if name.starts_with("bulk_sort") && !code.sort {
            self.load(&mut code, &[SORT.to_string()]).map_err(|e| RuntimeError::internal(e.to_string()))?;
            code.sort = true;
        }
        code.function(name)
    }

    /// Compiles and loads what a call of a function of the host may launch and is not there yet.
    pub fn prepare(&self, fun: usize) -> Result<(), LoadError> {
        let mut code = self.code();
        if code.ready.contains(&fun) {
            return Ok(());
        }
        self.compile(&mut code, self.program.plan.kernels(fun).iter().map(|k| k.number).collect())?;
        code.ready.insert(fun);
        Ok(())
    }

    /// Compiles and loads all that is not there yet, at once.
    pub fn prepare_all(&self) -> Result<(), LoadError> {
        self.compile(&mut self.code(), (0..self.program.kernels.len()).collect())
    }

    fn compile(&self, code: &mut Code, mut missing: Vec<usize>) -> Result<(), LoadError> {
        missing.retain(|k| !code.kernels.contains(k));
        if self.nvrtc.is_none() || missing.is_empty() && code.bulk {
            return Ok(());
        }
        missing.sort_unstable();
        let shared = (!code.bulk).then(|| BULK.to_string());
        let texts: Vec<String> =
            modules::texts(&self.program, missing.clone()).into_iter().chain(shared).collect();
        self.load(code, &texts)?;
        code.bulk = true;
        code.kernels.extend(missing);
        Ok(())
    }

    fn load(&self, code: &mut Code, texts: &[String]) -> Result<(), LoadError> {
        let Some(nvrtc) = &self.nvrtc else { return Ok(()) };
        self.gpu.enter().map_err(failed)?;
        let compile = |text: &String| {
            image(nvrtc, &Source { name: "program.cu", text, architecture: &self.gpu.architecture })
        };
        for image in modules::at_once(texts, compile)? {
            code.modules.push(self.gpu.load(&image).map_err(failed)?);
        }
        Ok(())
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let code = self.code.get_mut().unwrap_or_else(|e| e.into_inner());
        self.gpu.unload(std::mem::take(&mut code.modules));
    }
}

impl Code {
    fn function(&mut self, name: &str) -> Result<Function, RuntimeError> {
        if let Some(f) = self.known.get(name) {
            return Ok(*f);
        }
        let found = self.modules.iter().find_map(|m| m.function(name).ok());
        let f = found.ok_or_else(|| RuntimeError::internal(format!("no kernel {name}")))?;
        self.known.insert(name.to_string(), f);
        Ok(f)
    }
}

/// Makes a program ready to be called on a device. What was not compiled ahead for it is compiled when a function is called.
pub fn load(program: Arc<Program>, gpu: Arc<Gpu>) -> Result<Executable, LoadError> {
    gpu.enter().map_err(failed)?;
    let mut code = Code::default();
    let nvrtc = match program.compiled.iter().find(|c| c.fits(&gpu.architecture)) {
        Some(compiled) => {
            let load = |image: &Vec<u8>| gpu.load(image).map_err(failed);
            code.modules = compiled.modules.iter().map(load).collect::<Result<_, _>>()?;
            code.sort = true;
            None
        }
        None => Some(Nvrtc::open()?),
    };
    let calls = program.checks.iter().any(|c| c.kind == crate::CheckKind::TooDeep);
    let stack = if calls { gpu.stack(STACK) } else { 0 };
    Ok(Executable::on_gpu(Loaded { gpu, program, stack, nvrtc, code: Mutex::new(code) }))
}

/// Machine code, from the cache or the compiler.
pub fn image(nvrtc: &Nvrtc, source: &Source) -> Result<Vec<u8>, LoadError> {
    let version = format!("{:?} {}", nvrtc.version, nvrtc.path.display());
    let options = options(source.architecture).join(" ");
    let mut key = vec![source.text, &version, &options];
    key.extend(HEADERS.iter().map(|h| h.1));
    let entry = Entry::of(&key);
    if let Some(image) = entry.read() {
        return Ok(image);
    }
    let (image, _) = nvrtc.compile(source)?;
    entry.write(&image);
    Ok(image)
}
