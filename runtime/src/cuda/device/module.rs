//! Compiling and loading programs.

use super::Program;
use super::cache::Entry;
use super::driver::{Function, Gpu, Module};
use super::headers::{BULK, HEADERS};
use super::nvrtc::{Nvrtc, Source, options};
use super::unavailable::{LoadError, Unavailable};
use crate::check::RuntimeError;
use crate::exec::Executable;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

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
    kernels: Functions,
    bulk: Functions,
}

/// A module, and its functions as they are asked for.
struct Functions {
    module: Module,
    known: Mutex<HashMap<String, Function>>,
}

impl Functions {
    fn get(&self, name: &str) -> Result<Function, RuntimeError> {
        let mut known = self.known.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(f) = known.get(name) {
            return Ok(*f);
        }
        let found = self.module.function(name);
        let f = found.map_err(|e| RuntimeError::internal(format!("no kernel {name}: {e}")))?;
        known.insert(name.to_string(), f);
        Ok(f)
    }
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} on {:?}", self.program.plan, self.gpu)
    }
}

impl Loaded {
    /// A kernel of the program.
    pub fn kernel(&self, name: &str) -> Result<Function, RuntimeError> {
        self.kernels.get(name)
    }

    /// A kernel that all programs share.
    pub fn bulk(&self, name: &str) -> Result<Function, RuntimeError> {
        self.bulk.get(name)
    }
}

/// Makes a program ready to run on a device: compiles it, unless that was done ahead or is in the cache.
pub fn load(program: Arc<Program>, gpu: Arc<Gpu>) -> Result<Executable, LoadError> {
    let failed = |e| Unavailable::of("loading a program", e);
    gpu.enter().map_err(failed)?;
    let functions = |image: &[u8]| {
        let module = gpu.load(image).map_err(failed)?;
        Ok::<_, LoadError>(Functions { module, known: Mutex::new(HashMap::new()) })
    };
    let (bulk, kernels) = match program.compiled.iter().find(|c| c.fits(&gpu.architecture)) {
        Some(code) => (functions(&code.bulk)?, functions(&code.kernels)?),
        None => {
            let nvrtc = Nvrtc::open()?;
            let source = |name, text| Source { name, text, architecture: &gpu.architecture };
            let image = |name, text| image(&nvrtc, &source(name, text));
            (functions(&image("bulk.cu", BULK)?)?, functions(&image("program.cu", &program.source)?)?)
        }
    };
    let calls = program.checks.iter().any(|c| c.kind == crate::CheckKind::TooDeep);
    let stack = if calls { gpu.stack(STACK) } else { 0 };
    Ok(Executable::on_gpu(Loaded { gpu, program, stack, kernels, bulk }))
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
