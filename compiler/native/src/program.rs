//! A program that was linked, and its calls.

use par_message::Sources;
use par_runtime::image::{Image, Loaded};
use par_runtime::{Entry, Options, RuntimeError, Value};

/// A program whose code is in this process.
pub struct Program {
    loaded: Loaded,
    sources: Sources,
}

impl Program {
    /// Makes the program of an image ready to run.
    ///
    /// # Safety
    /// As of [`Image::load`].
    pub unsafe fn load(image: &Image) -> Result<Program, String> {
        // SAFETY: as the caller promises.
        let mut loaded = unsafe { image.load()? };
        let files = std::mem::take(&mut loaded.sources);
        Ok(Program { loaded, sources: Sources { files } })
    }

    /// Its entry points, in the order of the source.
    pub fn entries(&self) -> Vec<&Entry> {
        self.loaded.entries.iter().collect()
    }

    /// What errors refer to.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The options of a call, as the program was compiled.
    pub fn options(&self) -> Options {
        let settings = self.loaded.settings;
        let (memory_limit, reproducible) = (settings.memory_limit, settings.reproducible);
        Options { memory_limit, reproducible, ..Options::default() }
    }

    /// Calls an entry point.
    pub fn call(&self, entry: &Entry, args: Vec<Value>, options: &Options) -> Result<Value, RuntimeError> {
        entry.check_arguments(&args)?;
        let missing = || RuntimeError::plain(format!("there is no entry point `{}`", entry.name));
        let fun = self.loaded.executable.entry(&entry.name).ok_or_else(missing)?;
        let columns = args.into_iter().flat_map(|v| v.columns).collect();
        let called = self.loaded.executable.call(fun, columns, options);
        let called =
            if self.loaded.settings.allow_unsafe { called.map_err(RuntimeError::of_unsafe) } else { called };
        entry.result(called?).map_err(RuntimeError::internal)
    }
}
