//! A program that was linked, and its calls.

use clap::ValueEnum;
use par_message::Sources;
use par_runtime::cuda::{self, Gpu};
use par_runtime::exec::Executable;
use par_runtime::image::{Image, Loaded, Settings};
use par_runtime::{Entry, Options, RuntimeError, Value};
use std::sync::{Arc, PoisonError, RwLock};

/// Back end of a linked program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Backend {
    /// The processor's cores
    Cpu,
    /// A GPU, by CUDA, if the program was built with --gpu
    Cuda,
    /// A GPU if there is one, else the processor
    Auto,
}

/// A program whose code is in this process.
pub struct Program {
    entries: Vec<Entry>,
    settings: Settings,
    sources: Sources,
    processor: Arc<Executable>,
    gpu: Option<Arc<cuda::Program>>,
    chosen: RwLock<Arc<Executable>>,
}

impl Program {
    /// Makes the program of an image ready to run.
    ///
    /// # Safety
    /// As of [`Image::load`].
    pub unsafe fn load(image: &Image) -> Result<Program, String> {
        // SAFETY: as the caller promises.
        let Loaded { executable, entries, sources, settings, gpu } = unsafe { image.load()? };
        let sources = Sources { files: sources };
        let processor = Arc::new(executable);
        let chosen = RwLock::new(processor.clone());
        Ok(Program { entries, settings, sources, processor, gpu: gpu.map(Arc::new), chosen })
    }

    /// Chooses what later calls run on, the GPU by its number; and says in words what it is. The error says in a line what is missing.
    pub fn run_on(&self, backend: Backend, device: usize) -> Result<String, String> {
        let processor = |words: String| (self.processor.clone(), words);
        let (chosen, words) = match backend {
            Backend::Cpu => processor("the processor".into()),
            Backend::Cuda => self.on_gpu(device)?,
            Backend::Auto => {
                self.on_gpu(device).unwrap_or_else(|why| processor(format!("the processor: {why}")))
            }
        };
        *self.chosen.write().unwrap_or_else(PoisonError::into_inner) = chosen;
        Ok(words)
    }

    fn on_gpu(&self, device: usize) -> Result<(Arc<Executable>, String), String> {
        let program = self.gpu.as_ref();
        let program = program.ok_or("this program has no kernels for GPUs; `par build --gpu` makes them")?;
        let gpu = Gpu::open(device).map_err(|e| e.0)?;
        let name = gpu.name.clone();
        let executable = cuda::load(program.clone(), gpu).map_err(|e| e.to_string())?;
        Ok((Arc::new(executable), name))
    }

    /// Its entry points, in the order of the source.
    pub fn entries(&self) -> Vec<&Entry> {
        self.entries.iter().collect()
    }

    /// Sources that errors refer to.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The options of a call, as the program was compiled.
    pub fn options(&self) -> Options {
        let Settings { memory_limit, reproducible, .. } = self.settings;
        Options { memory_limit, reproducible, ..Options::default() }
    }

    /// A value that is where calls need it: on a GPU, if that is what they run on.
    pub fn upload(&self, value: Value) -> Result<Value, RuntimeError> {
        let executable = self.chosen.read().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Value { columns: executable.upload(value.columns)?, ..value })
    }

    /// Calls an entry point.
    pub fn call(&self, entry: &Entry, args: Vec<Value>, options: &Options) -> Result<Value, RuntimeError> {
        entry.check_arguments(&args)?;
        let missing = || RuntimeError::plain(format!("there is no entry point `{}`", entry.name));
        let executable = self.chosen.read().unwrap_or_else(PoisonError::into_inner).clone();
        let fun = executable.entry(&entry.name).ok_or_else(missing)?;
        let columns = args.into_iter().flat_map(|v| v.columns).collect();
        let called = executable.call(fun, columns, options);
        let called =
            if self.settings.allow_unsafe { called.map_err(RuntimeError::of_unsafe) } else { called };
        entry.result(called?).map_err(RuntimeError::internal)
    }
}
