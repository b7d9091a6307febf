//! A compiled program and how it is run.
//!
//! Compiling goes as far as optimised CORE, which already has every diagnostic a program can cause. FLAT and machine
//! code are made when a back end first needs them.

use crate::failure::{Bug, Failure, RunFailure};
use crate::insight::Written;
use crate::pipeline::{self, Front, Options, Pipeline, Trace, noted};
use par_check::thir;
use par_ir::core::Entry;
use par_ir::interp::{self, Counters, Prepared};
use par_ir::place::{Construct, Rule};
use par_ir::{core, flat};
use par_passes::flatten::{self, Flattened, Target};
use par_runtime::ranks::Ranks;
use par_runtime::{CancelToken, Column, ErrorKind, Profile, RuntimeError, Value, cancel, pool};
use par_syntax::{Diagnostic, Sources};
use shapes::{ByShapes, Special};
pub(crate) use shapes::{Shapes, fix};
use std::fmt;
use std::sync::{Arc, OnceLock};

#[cfg_attr(target_family = "wasm", path = "program/no_machine.rs")]
mod machine;
pub(crate) mod matrices;
mod shapes;

use machine::Machine;
#[cfg(not(target_family = "wasm"))]
pub(crate) use machine::not_loaded;
pub(crate) use machine::schedules;

/// Back end that runs a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backend {
    /// Machine code on the processor's cores.
    Cpu,
    /// The reference interpreter of CORE.
    Interp,
    /// The reference interpreter of FLAT.
    FlatInterp,
    /// A GPU, by CUDA.
    Cuda,
    /// A GPU if there is one that programs can be compiled for, else the processor. A program finds out once.
    Auto,
}

impl Backend {
    /// All that run programs.
    pub const ALL: [Backend; 4] = [Backend::Interp, Backend::FlatInterp, Backend::Cpu, Backend::Cuda];

    /// True if it is one of the interpreters, which check everything.
    pub fn is_interpreter(self) -> bool {
        matches!(self, Backend::Interp | Backend::FlatInterp)
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Cpu => "cpu",
            Backend::Interp => "interp",
            Backend::FlatInterp => "flat-interp",
            Backend::Cuda => "cuda",
            Backend::Auto => "auto",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Options of a call of an entry point.
#[derive(Clone, Debug)]
pub struct CallOptions {
    /// Back end that runs it.
    pub backend: Backend,
    /// For [`Backend::Cpu`]; 0 stands for all processors.
    pub threads: usize,
    /// Stops the call when it is used.
    pub cancel: CancelToken,
    /// Bytes that the call may hold besides its arguments; none: what the program was compiled with.
    pub memory_limit: Option<usize>,
    /// For [`Backend::Cpu`]: cuts work into the smallest chunks there are, for tests.
    pub smallest_chunks: bool,
    /// For [`Backend::Cuda`]: arrays of the result stay on the GPU until somebody looks at them; see [`par_runtime::Options::keep_on_device`].
    pub keep_on_device: bool,
    /// If a check fails, says in which rows and calls ([`RuntimeError::context`]). For that, arguments that are not large are copied
    /// before the call, and a call that has failed is interpreted for about a second at most.
    pub locate: bool,
    /// For [`Backend::Cpu`]: the call runs together with those of other ranks, which make the same calls. Only rank 0 has the elements of the result, or, with
    /// [`CallOptions::keep_on_device`], each rank its own ([`par_runtime::ranks::values`]).
    pub ranks: Option<Ranks>,
}

impl Default for CallOptions {
    /// On all processors.
    fn default() -> CallOptions {
        CallOptions {
            backend: Backend::Cpu,
            threads: 0,
            cancel: CancelToken::new(),
            memory_limit: None,
            smallest_chunks: false,
            keep_on_device: false,
            locate: false,
            ranks: None,
        }
    }
}

impl CallOptions {
    /// The ranks that a call runs on. One alone runs what is run without ranks.
    pub(crate) fn on_ranks(&self) -> Option<&Ranks> {
        self.ranks.as_ref().filter(|ranks| ranks.size() > 1 && self.backend == Backend::Cpu)
    }
}

/// A program that passed all checks.
pub struct Program {
    sources: Sources,
    warnings: Vec<Diagnostic>,
    core: core::Program,
    typed: Option<Arc<thir::Program>>,
    written: Written,
    flat: OnceLock<Flattened>,
    /// The same for GPUs.
    flat_for_gpus: OnceLock<Flattened>,
    machine: Machine,
    /// The same program with less memory, if it has work that can be cut or made again.
    smaller: OnceLock<Option<Box<Program>>>,
    /// Specialisations of the program to shapes of arguments.
    by_shapes: ByShapes,
    /// Its own specialisation, if it is one.
    special: Option<Special>,
    asked: OnceLock<Asked>,
    /// For the interpreters of CORE and of FLAT.
    prepared: [OnceLock<Prepared>; 2],
    options: Options,
    trace: Trace,
}

/// Properties of the program that every call needs, computed once by a traversal.
struct Asked {
    shows: bool,
    /// The entry points that consume arguments.
    consuming: Vec<String>,
}

/// As [`compile`], stopped by the token: then the failure is [`Failure::Cancelled`].
pub fn compile_until(
    text: &str,
    name: &str,
    options: &Options,
    token: &CancelToken,
) -> Result<Program, Failure> {
    cancel::watched(token, || compile(text, name, options))?
}

/// Bytes of stack that [`compile`] may need, of which only what is used takes memory.
const STACK: usize = 256 << 20;

/// Compiles a program. `name` is what diagnostics call it.
pub fn compile(text: &str, name: &str, options: &Options) -> Result<Program, Failure> {
    let trace = Trace::default();
    // The trees of long chains of bindings are deep, and are dropped before this returns.
    let front =
        stacker::maybe_grow(STACK / 4, STACK, || Pipeline { options, trace: &trace }.front(text, name))?;
    Ok(Program::new(front, options, trace))
}

impl Program {
    pub(crate) fn new(front: Front, options: &Options, trace: Trace) -> Program {
        Program {
            sources: front.sources,
            warnings: front.warnings,
            core: front.core,
            typed: front.typed,
            written: front.written,
            flat: OnceLock::new(),
            flat_for_gpus: OnceLock::new(),
            machine: Machine::default(),
            smaller: OnceLock::new(),
            by_shapes: ByShapes::default(),
            special: None,
            asked: OnceLock::new(),
            prepared: Default::default(),
            options: options.clone(),
            trace,
        }
    }

    /// The program as it was after each step on CORE, oldest first, without those that changed nothing. Empty unless it
    /// was compiled with [`Options::keep_stages`]. Each can be run on every back end, and skips the steps after it.
    pub fn stages(&self) -> Vec<(&'static str, Program)> {
        let mut stages = noted(&self.trace.stages).clone();
        stages.dedup_by(|later, earlier| later.1 == earlier.1);
        stages.into_iter().map(|(name, core)| (name, self.flattened_from(core, &self.options))).collect()
    }

    /// The same program, flattened in another way.
    pub fn variant(&self, options: &Options) -> Program {
        self.flattened_from(self.core.clone(), options)
    }

    fn flattened_from(&self, core: core::Program, options: &Options) -> Program {
        let front = Front {
            sources: self.sources.clone(),
            core,
            typed: self.typed.clone(),
            written: self.written.clone(),
            warnings: Vec::new(),
        };
        Program::new(front, options, Trace::default())
    }

    /// The entry points, in the order of the source.
    pub fn entries(&self) -> Vec<&Entry> {
        self.core.funs.iter().filter_map(|f| f.entry.as_ref()).map(|e| self.declared(e)).collect()
    }

    /// The entry point of that name.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.core
            .funs
            .iter()
            .filter_map(|f| f.entry.as_ref())
            .find(|e| e.name == name)
            .map(|e| self.declared(e))
    }

    /// The entry point to run: the one asked for, else `main`, else the only one. The error says which ones there are.
    pub fn choose_entry(&self, name: Option<&str>) -> Result<&Entry, String> {
        par_message::entries::choose(&self.entries(), name)
    }

    /// True if a run may print something by itself (`#[trace]`).
    pub fn shows(&self) -> bool {
        self.asked().shows
    }

    fn asked(&self) -> &Asked {
        self.asked.get_or_init(|| {
            let consuming = (0..).map(core::FunId).zip(&self.core.funs).filter_map(|(id, f)| {
                let entry = f.entry.as_ref()?;
                par_ir::alias::consumes_arguments(&self.core, id).then(|| entry.name.clone())
            });
            Asked { shows: flatten::shows(&self.core), consuming: consuming.collect() }
        })
    }

    /// The source files that diagnostics and run-time errors refer to.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Diagnostics that do not reject the program.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// Timings and dumps so far.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The program in CORE, after all passes on it.
    pub fn core(&self) -> &core::Program {
        &self.core
    }

    /// Contents of the program as it is written, before the passes.
    pub fn written(&self) -> &Written {
        &self.written
    }

    /// The program in FLAT.
    pub fn flat(&self) -> Result<&flat::Program, Failure> {
        self.flat_for(Target::Processor)
    }

    /// The program in FLAT, as a machine is to run it.
    pub(crate) fn flat_for(&self, target: Target) -> Result<&flat::Program, Failure> {
        self.flattened(target).map(|f| &f.program)
    }

    /// Choices between versions that sizes decide at run time.
    pub fn choices(&self, target: Target) -> Result<&[pipeline::Choice], Failure> {
        self.flattened(target).map(|f| f.choices.as_slice())
    }

    fn flattened(&self, target: Target) -> Result<&Flattened, Failure> {
        let cell = match target {
            Target::Processor => &self.flat,
            Target::Gpu => &self.flat_for_gpus,
        };
        if let Some(flat) = cell.get() {
            return Ok(flat);
        }
        let flat = self.pipeline().flatten(&self.core, &self.sources, target)?;
        Ok(cell.get_or_init(|| flat))
    }

    pub(crate) fn pipeline(&self) -> Pipeline<'_> {
        Pipeline { options: &self.options, trace: &self.trace }
    }

    /// Does what a back end needs before it can run.
    pub fn prepare(&self, backend: Backend) -> Result<(), Failure> {
        match backend {
            Backend::Interp => Ok(()),
            Backend::FlatInterp => self.flat().map(|_| ()),
            Backend::Cpu | Backend::Cuda | Backend::Auto => self.machine.prepare(self, backend),
        }
    }

    /// Does what calls of all entry points on a back end need. Kernels for a GPU are otherwise compiled when an entry point is first called.
    pub(crate) fn prepare_all(&self, backend: Backend) -> Result<(), Failure> {
        self.prepare(backend)?;
        if backend == Backend::Cuda { self.machine.prepare_all(self) } else { Ok(()) }
    }

    /// A value that is where the back end needs it: for one on a GPU, a copy on it, which calls take without copying it again. It does not
    /// change, so that it can be passed often; where it is passed for the last time, a call may update it in place. For other back ends it
    /// is the same.
    pub fn upload(&self, value: Value, backend: Backend) -> Result<Value, RunFailure> {
        Ok(Value { columns: self.machine.upload(self, backend, value.columns)?, ..value })
    }

    /// Calls an entry point. `threads` is for [`Backend::Cpu`]; 0 stands for all processors.
    pub fn run(
        &self,
        entry: &str,
        args: Vec<Value>,
        backend: Backend,
        threads: usize,
    ) -> Result<Value, RunFailure> {
        self.call(entry, args, &CallOptions { backend, threads, ..CallOptions::default() })
    }

    /// Calls an entry point. Another thread may stop the call by its token; it then gives [`RunFailure::Cancelled`],
    /// and the program can be called again.
    pub fn call(&self, entry: &str, args: Vec<Value>, options: &CallOptions) -> Result<Value, RunFailure> {
        cancel::watched(&options.cancel, || {
            let kept = if options.locate { self.kept(&args) } else { None };
            let special = self.for_arguments(entry, &args, options)?;
            let program = special.as_deref().unwrap_or(self);
            let call =
                |program: &Program, args| program.call_watched(entry, args, options, &mut Measure::Nothing);
            let again = self.may_fail_otherwise(entry, program).then(|| args.clone());
            let result = match (call(program, args), again) {
                (Err(RunFailure::Error(e)), Some(args)) if e.kind == ErrorKind::Failed => call(self, args),
                (result, _) => result,
            };
            match (result, kept) {
                (Err(RunFailure::Error(e)), Some(args)) => Err(self.located(entry, args, e, options).into()),
                (result, _) => result,
            }
        })?
    }

    /// Copies of a call's arguments, from which a failure can be found again: if they are not large, the interpreter does what the
    /// program does, and shows nothing.
    fn kept(&self, args: &[Value]) -> Option<Vec<Column>> {
        const MOST_BYTES: usize = 16 << 20;
        let columns = || args.iter().flat_map(|v| &v.columns);
        let bytes = columns().map(|c| match c {
            Column::Offsets(a) | Column::Data(a) => a.len() * a.prim().size(),
            Column::Scalar(_) | Column::Size(_) => 0,
        });
        let is_whole = !args.iter().any(Value::is_in_parts);
        let may_be_found = is_whole && bytes.sum::<usize>() <= MOST_BYTES && !self.options.allow_unsafe;
        (may_be_found && !self.shows()).then(|| {
            let mut kept: Vec<Column> = columns().cloned().collect();
            for column in &mut kept {
                if let Column::Offsets(a) | Column::Data(a) = column
                    && !a.is_foreign()
                    && !a.is_on_device()
                {
                    a.make_unique();
                }
            }
            kept
        })
    }

    /// The error of a failed check with the constructs that it was in.
    fn located(
        &self,
        entry: &str,
        args: Vec<Column>,
        mut error: RuntimeError,
        options: &CallOptions,
    ) -> RuntimeError {
        /// Bodies that are interpreted: about a second.
        const STEPS: u64 = 2_000_000;
        const MOST_BYTES: usize = 1 << 30;
        if error.kind != ErrorKind::Failed || error.span.is_none() {
            return error;
        }
        let limit = options.memory_limit.or(self.options.memory_limit).unwrap_or(MOST_BYTES).min(MOST_BYTES);
        let find = |core: &core::Program| {
            let fun = core.funs.iter().position(|f| is_entry(&f.entry, entry))?;
            let fun = core::FunId(fun as u32);
            let run = || interp::context_of_failure(core, fun, args.clone(), &error, STEPS);
            pool::with_limit(Some(limit), run)
        };
        let pipeline = Pipeline { options: &self.options, trace: &Trace::default() };
        let lower =
            |typed| stacker::maybe_grow(STACK / 4, STACK, || pipeline.as_written(typed, &self.sources));
        let written = self.typed.as_ref().and_then(|typed| lower(typed));
        // Where a function is called, a check may be another one, or be made earlier.
        let context = written.as_ref().and_then(find).or_else(|| find(&self.core));
        error.context = context.unwrap_or_default();
        error
    }

    /// As [`Program::call`], and what it cost. The interpreter of FLAT gives the costs of the whole run only, that of CORE
    /// none. On [`Backend::Cpu`] all work is counted only if `counting`: then slower code runs.
    pub fn profile(
        &self,
        entry: &str,
        args: Vec<Value>,
        options: &CallOptions,
        counting: bool,
    ) -> Result<(Value, Profile), RunFailure> {
        let mut measure = Measure::Costs { profile: Profile::default(), counting };
        let run = || self.call_watched(entry, args, options, &mut measure);
        let value = cancel::watched(&options.cancel, run)??;
        let Measure::Costs { profile, .. } = measure else { unreachable!("as it was made above") };
        Ok((value, profile))
    }

    fn call_watched(
        &self,
        entry: &str,
        args: Vec<Value>,
        options: &CallOptions,
        measure: &mut Measure,
    ) -> Result<Value, RunFailure> {
        let backend = options.backend;
        if options.on_ranks().is_none() {
            self.prepare(backend)?;
        }
        let signature = self.entry(entry).ok_or_else(|| missing(entry))?;
        signature.check_arguments(&args)?;
        let columns = self.specialised_arguments(args.into_iter().flat_map(|v| v.columns).collect());
        pipeline::enter("run");
        let bug = |message: String| {
            let pass = format!("all passes, running `{entry}` ({backend})");
            RunFailure::from(Failure::Bug(Bug { pass, message }))
        };
        let columns =
            self.execute_or_shrink(entry, columns, options, measure).map_err(|failure| match failure {
                RunFailure::Error(e) if self.options.allow_unsafe => e.of_unsafe().into(),
                RunFailure::Error(e) if e.kind == ErrorKind::Internal => bug(e.message),
                other => other,
            })?;
        signature.result(self.declared_result(columns)).map_err(bug)
    }

    /// Runs the program; if there is not enough memory, again with less of it.
    fn execute_or_shrink(
        &self,
        entry: &str,
        args: Vec<Column>,
        options: &CallOptions,
        measure: &mut Measure,
    ) -> Result<Vec<Column>, RunFailure> {
        let again = self.may_run_again(entry, measure).then(|| args.clone());
        let result = self.execute(entry, args, options, measure);
        match (result, again) {
            (Err(RunFailure::Error(e)), Some(args)) if e.kind == ErrorKind::OutOfMemory => {
                match self.smaller()? {
                    Some(smaller) => smaller.execute_or_shrink(entry, args, options, measure),
                    None => Err(e.into()),
                }
            }
            (result, _) => result,
        }
    }

    /// True if nothing remains of a call that fails: nothing was shown, and the arguments are what they were. What is measured
    /// is one run.
    fn may_run_again(&self, entry: &str, measure: &Measure) -> bool {
        let Asked { shows, consuming } = self.asked();
        matches!(measure, Measure::Nothing)
            && self.options.for_less_memory().is_some()
            && !consuming.iter().any(|name| name == entry)
            && !shows
    }

    fn smaller(&self) -> Result<Option<&Program>, Failure> {
        if let Some(found) = self.smaller.get() {
            return Ok(found.as_deref());
        }
        let mut found = None;
        let mut next = self.options.for_less_memory();
        while let (Some(options), None) = (next, &found) {
            next = options.for_less_memory();
            found = self.shrunk(&options)?;
        }
        Ok(self.smaller.get_or_init(|| found.map(Box::new)).as_deref())
    }

    /// The program with these options, if that makes it another one.
    fn shrunk(&self, options: &Options) -> Result<Option<Program>, Failure> {
        if options.checkpoints == self.options.checkpoints {
            let program = self.variant(options);
            let statements = program.flat()?.statements();
            let is_cut = statements.iter().any(|s| matches!(s.op, flat::Op::Split { .. }));
            return Ok(is_cut.then_some(program));
        }
        let keeps_states = |r: &Rule| r.part.construct == Construct::Loop && !r.kept.is_empty();
        let (true, Some(typed)) = (self.core.rules.iter().any(keeps_states), &self.typed) else {
            return Ok(None);
        };
        let trace = Trace::default();
        let pipeline = Pipeline { options, trace: &trace };
        let lower = || match &self.special {
            Some(special) => pipeline.lowered_for(typed, &self.sources, &special.shapes),
            None => pipeline.lowered_again(typed, &self.sources).map(Some),
        };
        let core = stacker::maybe_grow(STACK / 4, STACK, lower)?;
        let is_other = core.filter(|core| core.rules != self.core.rules);
        Ok(is_other.map(|core| self.flattened_from(core, options)))
    }

    fn execute(
        &self,
        entry: &str,
        args: Vec<Column>,
        options: &CallOptions,
        measure: &mut Measure,
    ) -> Result<Vec<Column>, RunFailure> {
        let limit = options.memory_limit.or(self.options.memory_limit);
        match options.backend {
            Backend::Interp => {
                let found = self.core.funs.iter().position(|f| is_entry(&f.entry, entry));
                let fun = core::FunId(found.ok_or_else(|| missing(entry))? as u32);
                let prepared = self.prepared[0].get_or_init(|| Prepared::of_core(&self.core));
                let run = || interp::run_core_prepared(&self.core, prepared, fun, args);
                Ok(pool::with_limit(limit, run)?)
            }
            Backend::FlatInterp => {
                let flat = self.flat()?;
                let found = flat.funs.iter().position(|f| is_entry(&f.entry, entry));
                let fun = core::FunId(found.ok_or_else(|| missing(entry))? as u32);
                let prepared = self.prepared[1].get_or_init(|| Prepared::of_flat(flat));
                let run = |counters: &mut Counters| {
                    pool::with_limit(limit, || interp::run_flat_prepared(flat, prepared, fun, args, counters))
                };
                let Measure::Costs { profile, .. } = measure else {
                    return Ok(run(&mut Counters::default())?);
                };
                pool::reset_thread_peak();
                let before = pool::thread_balance();
                let result = run(&mut profile.total);
                profile.peak_bytes = u64::try_from(pool::thread_peak() - before).unwrap_or(0);
                Ok(result?)
            }
            Backend::Cpu | Backend::Cuda | Backend::Auto => {
                self.machine.execute(self, entry, args, options, limit, measure)
            }
        }
    }

    /// A run-time error as a diagnostic with its place in the source.
    pub fn diagnostic(&self, error: &RuntimeError) -> Diagnostic {
        Diagnostic::of_run(error, &self.sources)
    }
}

/// Measurement of a call besides its result.
enum Measure {
    Nothing,
    Costs {
        profile: Profile,
        /// Interpreters always count.
        #[cfg_attr(target_family = "wasm", expect(dead_code))]
        counting: bool,
    },
}

fn missing(entry: &str) -> RuntimeError {
    RuntimeError::plain(format!("there is no entry point `{entry}`"))
}

fn is_entry(entry: &Option<Entry>, name: &str) -> bool {
    entry.as_ref().is_some_and(|e| e.name == name)
}
