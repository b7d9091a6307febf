//! Programs of an embedding program, and their calls.

use super::{Args, Error, FromPar, Mismatch};
use crate::imports::Imports;
use crate::{Backend, CallOptions, CancelToken, Diagnostic, Entry, Options, Value};
use std::path::Path;
use std::sync::Arc;

/// Settings for compiling and running programs. Several contexts, and several programs of each, may live in one process.
#[derive(Clone, Debug)]
pub struct Context {
    backend: Backend,
    threads: usize,
    memory_limit: Option<usize>,
    options: Options,
}

impl Context {
    /// A context for a back end, with all threads and without a limit of memory. [`Backend::Auto`] is a GPU where there is one.
    pub fn new(backend: Backend) -> Context {
        Context { backend, threads: 0, memory_limit: None, options: Options::default() }
    }

    /// With so many threads; 0: one for each processor.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Context {
        self.threads = threads;
        self
    }

    /// A call may hold at most so many bytes besides its arguments. What is nested goes chunk by chunk where that
    /// makes it fit; what needs more all the same is [`Error::Failed`].
    #[must_use]
    pub fn memory_limit(mut self, bytes: usize) -> Context {
        self.memory_limit = Some(bytes);
        self
    }

    /// With other options of the compiler: warnings, imports, verification.
    #[must_use]
    pub fn options(mut self, options: Options) -> Context {
        self.options = options;
        self
    }

    /// Compiles a program to machine code.
    pub fn compile(&self, text: &str) -> Result<Program, Error> {
        self.compile_named(text, "program.par")
    }

    /// Compiles the program in a file. Its imports are found beside it.
    pub fn compile_file(&self, path: impl AsRef<Path>) -> Result<Program, Error> {
        let path = path.as_ref();
        let read = std::fs::read_to_string(path);
        let text = read.map_err(|error| Error::File { path: path.to_path_buf(), error })?;
        self.compile_named(&text, &path.display().to_string())
    }

    /// Compiles the first of some texts that has the name; the others are what it imports.
    pub fn compile_embedded(
        &self,
        name: &str,
        files: &'static [(&'static str, &'static str)],
    ) -> Result<Program, Error> {
        let found = files.iter().find(|f| f.0 == name);
        let (_, text) = found.ok_or_else(|| Mismatch::new(format!("there is no text `{name}`")))?;
        let context = Context {
            options: Options { imports: Arc::new(Embedded(files)), ..self.options.clone() },
            ..self.clone()
        };
        context.compile_named(text, name)
    }

    /// Compiles a text; diagnostics call it by the name, and imports are found relative to it.
    pub fn compile_named(&self, text: &str, name: &str) -> Result<Program, Error> {
        let memory_limit = self.memory_limit.or(self.options.memory_limit);
        let options = Options { memory_limit, ..self.options.clone() };
        let program = crate::compile(text, name, &options)?;
        program.prepare(self.backend)?;
        Ok(Program { program: Arc::new(program), context: self.clone() })
    }
}

/// Files that are part of the program of Rust.
#[derive(Debug)]
struct Embedded(&'static [(&'static str, &'static str)]);

impl Imports for Embedded {
    fn read(&self, path: &Path) -> Result<String, String> {
        let found = self.0.iter().find(|f| Path::new(f.0) == path);
        found.map(|f| f.1.to_string()).ok_or_else(|| "there is no such file".to_string())
    }
}

/// A compiled program. Cloning shares it; threads may call it at the same time.
#[derive(Clone)]
pub struct Program {
    program: Arc<crate::Program>,
    context: Context,
}

impl Program {
    /// Calls an entry point with a tuple of arguments.
    pub fn call<A: Args, R: FromPar>(&self, entry: &str, args: A) -> Result<R, Error> {
        self.prepare(entry).call(args)
    }

    /// Arguments of an entry point for several calls: as values that are on the GPU already, if that is what the context runs on. Calls do not
    /// change them.
    ///
    /// ```
    /// use par::{Backend, Context};
    ///
    /// let program = Context::new(Backend::Auto).compile("entry dot (xs: []f32) (ys: []f32): f32 = f32.sum (map2 (*) xs ys)")?;
    /// let args = program.upload("dot", (&[1.0f32, 2.0], &[3.0f32, 4.0]))?;
    /// assert_eq!(program.call::<_, f32>("dot", (&args[0], &args[1]))?, 11.0);
    /// assert_eq!(program.call::<_, f32>("dot", (&args[0], &[1.0f32, 1.0]))?, 3.0);
    /// # Ok::<(), par::Error>(())
    /// ```
    pub fn upload<A: Args>(&self, entry: &str, args: A) -> Result<Vec<Value>, Error> {
        let found = self.program.choose_entry(Some(entry)).map_err(Mismatch::new)?;
        args.to_values(found)?.into_iter().map(|value| self.upload_value(value)).collect()
    }

    /// As [`Program::upload`], for a value.
    pub fn upload_value(&self, value: Value) -> Result<Value, Error> {
        let there = self.program.upload(value, self.context.backend);
        there.map_err(|failure| Error::of_call(failure, &self.program))
    }

    /// A call whose limits differ from the context's.
    ///
    /// ```
    /// use par::{Backend, Context, Error};
    ///
    /// let program = Context::new(Backend::Cpu).compile("entry main (n: i64) = i64.sum (scan (+) 0 (iota n))")?;
    /// let limited = program.prepare("main").memory_limit(1 << 20);
    /// assert_eq!(limited.call::<_, i64>((10i64,))?, 165);
    /// let error = limited.call::<_, i64>((1i64 << 30,)).unwrap_err();
    /// assert!(matches!(&error, Error::Failed { message, .. } if message.starts_with("out of memory")));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn prepare(&self, entry: &str) -> Call<'_> {
        let Context { backend, threads, memory_limit, .. } = self.context;
        let options = CallOptions { backend, threads, memory_limit, ..CallOptions::default() };
        Call { program: self, entry: entry.to_string(), options }
    }

    /// The entry points with their types.
    pub fn entries(&self) -> Vec<&Entry> {
        self.program.entries()
    }

    /// Warnings of the compiler.
    pub fn warnings(&self) -> &[Diagnostic] {
        self.program.warnings()
    }

    /// The program as the rest of the library knows it.
    pub fn as_compiled(&self) -> &crate::Program {
        &self.program
    }
}

/// A call that is being prepared. It can be made several times.
#[derive(Clone)]
pub struct Call<'p> {
    program: &'p Program,
    entry: String,
    options: CallOptions,
}

impl Call<'_> {
    /// With so many threads; 0: one for each processor.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.options.threads = threads;
        self
    }

    /// At most so many bytes besides the arguments.
    #[must_use]
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        self.options.memory_limit = Some(bytes);
        self
    }

    /// Can be stopped from another thread by the token: it then gives [`Error::Cancelled`].
    #[must_use]
    pub fn cancel_by(mut self, token: &CancelToken) -> Self {
        self.options.cancel = token.clone();
        self
    }

    /// Makes the call.
    pub fn call<A: Args, R: FromPar>(&self, args: A) -> Result<R, Error> {
        let program = &self.program.program;
        let entry = program.choose_entry(Some(&self.entry)).map_err(Mismatch::new)?;
        let args = args.to_values(entry)?;
        let options = CallOptions { keep_on_device: R::KEEPS, ..self.options.clone() };
        let value: Value =
            program.call(&self.entry, args, &options).map_err(|failure| Error::of_call(failure, program))?;
        Ok(R::from_par(value).map_err(|m| m.inside(&format!("the result of `{}`", self.entry)))?)
    }
}
