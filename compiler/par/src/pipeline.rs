//! The phases in order, and what happens around each of them: timing, verification and dumps.
//!
//! ```text
//! parse  infer  sizes  lower | simplify hoist fuse … | flatten | codegen
//! AST    THIR   THIR   CORE  |       CORE            |  FLAT   | machine code
//! ```

use crate::failure::{Bug, Failure};
use crate::imports::{FileSystem, Imports, Loader};
use crate::outline::outline;
use crate::program::{Shapes, fix};
use crate::tuning::Tuning;
use crate::warnings::Warnings;
use crate::{copies, insight, library};
use par_check::thir;
use par_ir::verify::{verify_core, verify_flat};
use par_ir::{core, flat, print};
use par_passes::flatten::Unsupported;
use par_passes::flatten::{self, Flattened};
pub use par_passes::flatten::{Choice, Measure, Splitting, Target, Thresholds, Versions};
use par_passes::pass::{self, Pass};
use par_runtime::cancel;
use par_runtime::clock::Clock;
use par_syntax::{Diagnostic, Severity, Sources, ast};
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A step of the compiler, for help texts and dumps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stage {
    /// Its name in `after:NAME`.
    pub name: &'static str,
    /// One line.
    pub description: &'static str,
}

const PARSE: Stage = Stage { name: "parse", description: "text to syntax tree" };
const INFER: Stage = Stage { name: "infer", description: "names and types" };
const SIZES: Stage = Stage { name: "sizes", description: "sizes that are found or differ" };
const LOWER: Stage =
    Stage { name: "lower", description: "inlines functions and emits CORE with exact shapes" };
const FLATTEN: Stage = Stage { name: "flatten", description: "nested parallelism to bulk operations: FLAT" };
pub(crate) const CODEGEN: Stage = Stage { name: "codegen", description: "kernels to machine code" };

/// All steps, in order. A name may occur more than once.
pub fn stages() -> Vec<Stage> {
    let core = pass::CORE_PASSES.iter().map(stage);
    let flat = pass::FLAT_PASSES.iter().map(stage);
    [PARSE, INFER, SIZES, LOWER]
        .into_iter()
        .chain(core)
        .chain([FLATTEN])
        .chain(flat)
        .chain([CODEGEN])
        .collect()
}

fn stage<P>(pass: &Pass<P>) -> Stage {
    Stage { name: pass.name, description: pass.description }
}

/// Entry points that are compiled. All are checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Entries {
    /// Every one.
    #[default]
    All,
    /// The one of this name, or the one that is meant if none is named, see [`Program::choose_entry`](crate::Program::choose_entry); all if there is
    /// no such one.
    Chosen(Option<String>),
}

/// Options of the compiler.
#[derive(Clone, Debug)]
pub struct Options {
    /// The entry points that are compiled.
    pub entries: Entries,
    /// Check the IR after every step.
    pub verify: bool,
    /// Steps after which the program is kept as text in the [`Trace`].
    pub dump_after: Vec<String>,
    /// Keep the program after every step on CORE in the [`Trace`], see [`Program::stages`](crate::Program::stages).
    pub keep_stages: bool,
    /// Source of imported files.
    pub imports: Arc<dyn Imports>,
    /// Warnings that are reported, and those that reject the program.
    pub warnings: Warnings,
    /// Version to run of code that has several.
    pub versions: Versions,
    /// Bounds and assertions inside `#[unsafe]` are not checked. A program that is wrong there may then read and write
    /// outside its arrays.
    pub allow_unsafe: bool,
    /// Floats may be rounded otherwise everywhere, as inside `#[fast_math]`.
    pub fast_math: bool,
    /// Measured thresholds between versions.
    pub tuning: Option<Tuning>,
    /// Splitting of nests into chunks. With a limit of memory nests are split where memory is short.
    pub splitting: Splitting,
    /// Bytes that a run may hold besides its arguments, on every back end; none: what there is.
    pub memory_limit: Option<usize>,
    /// Loops over strips of iterations around every loop of which a derivative keeps the state. With n loops, states of the root of order n + 1
    /// of the iterations are kept, and the loop is run n times more.
    pub checkpoints: u32,
    /// Number of the GPU that programs for one run on.
    pub device: usize,
    /// A run fails if a `scatter` writes two different values to one index.
    pub check_scatter: bool,
    /// Of several values that a `scatter` writes to one index, the last one wins; `tuning` is not used.
    pub reproducible: bool,
    /// Elements of arguments from which on a call has a program specialised to matrices among them and, on the processor, to lengths of short rows; none: never.
    pub constant_sizes: Option<usize>,
}

/// Elements of a call's arguments from which on a specialised program is worth compiling.
const CONSTANT_SIZES_FROM: usize = 1 << 10;

impl Default for Options {
    /// Verification in debug builds; imports from the file system.
    fn default() -> Options {
        Options {
            entries: Entries::All,
            allow_unsafe: false,
            fast_math: false,
            tuning: None,
            splitting: Splitting::default(),
            memory_limit: None,
            checkpoints: 0,
            device: 0,
            check_scatter: false,
            reproducible: false,
            constant_sizes: Some(CONSTANT_SIZES_FROM),
            verify: cfg!(debug_assertions),
            dump_after: Vec::new(),
            keep_stages: false,
            imports: Arc::new(FileSystem),
            warnings: Warnings::default(),
            versions: Versions::default(),
        }
    }
}

impl Options {
    /// Options for a program that needs less memory, and more time; none if these are the last ones.
    pub(crate) fn for_less_memory(&self) -> Option<Options> {
        /// Numbers of loops around a loop that are tried: more gain little.
        const CHECKPOINTS: [u32; 2] = [1, 3];
        if self.splitting() == Splitting::Never {
            return Some(Options { splitting: Splitting::Memory, ..self.clone() });
        }
        let checkpoints = CHECKPOINTS.into_iter().find(|n| *n > self.checkpoints)?;
        Some(Options { checkpoints, ..self.clone() })
    }

    /// Splitting of nests into chunks.
    fn splitting(&self) -> Splitting {
        match (self.splitting, self.memory_limit) {
            (Splitting::Never, Some(_)) => Splitting::Memory,
            (chosen, _) => chosen,
        }
    }
}

/// Notes taken while compiling.
#[derive(Default, Debug)]
pub struct Trace {
    /// Each step with its time.
    pub timings: Mutex<Vec<(&'static str, Duration)>>,
    /// Steps that were to be dumped, with the program after them.
    pub dumps: Mutex<Vec<(String, String)>>,
    /// CORE after each step, if that was asked for.
    pub stages: Mutex<Vec<(&'static str, core::Program)>>,
}

/// Contents of a [`Trace`].
pub fn noted<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    static CURRENT: Cell<&'static str> = const { Cell::new("start") };
}

/// The step this thread is in, for reports of bugs.
pub fn current_stage() -> &'static str {
    CURRENT.get()
}

/// Marks the start of a step that is not the compiler's (running the program, say).
pub fn enter(stage: &'static str) {
    CURRENT.set(stage);
}

/// The compiler at work.
pub(crate) struct Pipeline<'a> {
    pub(crate) options: &'a Options,
    pub(crate) trace: &'a Trace,
}

/// Files as they were read, the library's first.
#[derive(Clone, Default)]
pub(crate) struct Parsed {
    pub(crate) sources: Sources,
    pub(crate) files: Vec<Arc<ast::File>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Files that declare values from outside, which every mention copies.
    pub(crate) values: HashSet<u32>,
}

impl Parsed {
    fn rejected(&mut self) -> Failure {
        let diagnostics = std::mem::take(&mut self.diagnostics);
        Failure::Rejected { diagnostics, sources: self.sources.clone() }
    }
}

/// Result of checking.
pub(crate) struct Front {
    pub(crate) sources: Sources,
    pub(crate) core: core::Program,
    /// The typed tree that it was lowered from, if it is to run.
    pub(crate) typed: Option<Arc<thir::Program>>,
    /// Contents of the program as it is written.
    pub(crate) written: insight::Written,
    pub(crate) warnings: Vec<Diagnostic>,
}

impl Pipeline<'_> {
    pub(crate) fn step<T>(&self, stage: &'static str, run: impl FnOnce() -> T) -> T {
        cancel::poll();
        let before = CURRENT.replace(stage);
        let start = Clock::start();
        let result = run();
        noted(&self.trace.timings).push((stage, start.elapsed()));
        CURRENT.set(before);
        result
    }

    fn dump(&self, stage: &str, text: impl FnOnce() -> String) {
        if self.options.dump_after.iter().any(|s| s == stage) {
            noted(&self.trace.dumps).push((stage.to_string(), text()));
        }
    }

    /// Text to optimised CORE.
    pub(crate) fn front(&self, text: &str, name: &str) -> Result<Front, Failure> {
        let mut parsed = self.library();
        self.parse(&mut parsed, text, name);
        let ast = || parsed.files.last().map(outline).unwrap_or_default();
        self.dump(PARSE.name, ast);
        let thir = self.infer(&mut parsed)?;
        let front = self.optimise(&thir, parsed, &|_| true)?;
        Ok(Front { typed: Some(Arc::new(thir)), ..front })
    }

    /// The library, which is the beginning of every program.
    pub(crate) fn library(&self) -> Parsed {
        let (sources, files, diagnostics) = self.step(PARSE.name, library::load);
        Parsed { sources, files, diagnostics, values: HashSet::new() }
    }

    /// Adds a file, after what it imports.
    pub(crate) fn parse(&self, parsed: &mut Parsed, text: &str, name: &str) {
        let Parsed { sources, files, diagnostics, values } = std::mem::take(parsed);
        let mut loader =
            Loader { imports: &*self.options.imports, sources, files, diagnostics, open: Vec::new() };
        self.step(PARSE.name, || loader.add(name, text));
        let Loader { sources, files, diagnostics, .. } = loader;
        *parsed = Parsed { sources, files, diagnostics, values };
    }

    /// Syntax trees to the typed tree, without an error.
    pub(crate) fn infer(&self, parsed: &mut Parsed) -> Result<thir::Program, Failure> {
        let thir = self.typed(parsed)?;
        if fatal(&parsed.diagnostics) { Err(parsed.rejected()) } else { Ok(thir) }
    }

    /// Syntax trees to the typed tree. Errors of sizes and of uses after consumption are among the diagnostics.
    pub(crate) fn typed(&self, parsed: &mut Parsed) -> Result<thir::Program, Failure> {
        if fatal(&parsed.diagnostics) {
            return Err(parsed.rejected());
        }
        let (thir, found) = self.step(INFER.name, || par_check::infer::infer(&parsed.files, &parsed.sources));
        parsed.diagnostics.extend(self.options.warnings.apply(found));
        let mut thir = thir.filter(|_| !fatal(&parsed.diagnostics)).ok_or_else(|| parsed.rejected())?;
        self.dump(INFER.name, || outline(&thir));
        let copied = |def: &thir::Def| parsed.values.contains(&def.span.file);
        let check = || par_check::sizes::check(&mut thir, &parsed.sources, &copied);
        let found = self.step(SIZES.name, check);
        parsed.diagnostics.extend(self.options.warnings.apply(found));
        let found = self.step(INFER.name, || par_check::consume::check_with(&thir, &copied));
        parsed.diagnostics.extend(found);
        Ok(thir)
    }

    /// The typed tree to optimised CORE. Errors are reported in what entry points reach, and in definitions that are to be
    /// `complete`.
    pub(crate) fn optimise(
        &self,
        thir: &thir::Program,
        mut parsed: Parsed,
        complete: &dyn Fn(&thir::Def) -> bool,
    ) -> Result<Front, Failure> {
        let lower = || par_check::lower::lower(thir, &parsed.sources, self.lowering(), complete);
        let (core, found) = self.step(LOWER.name, lower);
        parsed.diagnostics.extend(self.options.warnings.apply(found));
        let core = core.filter(|_| !fatal(&parsed.diagnostics));
        let mut core = core.ok_or_else(|| parsed.rejected())?;
        self.after_core(LOWER.name, &core)?;
        self.keep_chosen(&mut core);
        let written = insight::written(&core);
        self.passes(&mut core)?;
        self.copies(&core, &mut parsed);
        if fatal(&parsed.diagnostics) {
            return Err(parsed.rejected());
        }
        Ok(Front { sources: parsed.sources, core, typed: None, written, warnings: parsed.diagnostics })
    }

    fn passes(&self, core: &mut core::Program) -> Result<(), Failure> {
        for pass in pass::CORE_PASSES {
            self.step(pass.name, || (pass.run)(core));
            self.after_core(pass.name, core)?;
        }
        Ok(())
    }

    /// Optimised CORE of one entry point of a program without mistakes, for arguments of these shapes. None if it is not legal for them.
    pub(crate) fn lowered_for(
        &self,
        thir: &thir::Program,
        sources: &Sources,
        shapes: &Shapes,
    ) -> Result<Option<core::Program>, Failure> {
        let options = par_check::lower::Options { matrices: shapes.matrices.clone(), ..self.lowering() };
        let lower = || par_check::lower::lower(thir, sources, options, &|_| false);
        let Some(mut core) = self.step(LOWER.name, lower).0 else { return Ok(None) };
        let is_entry = |f: &core::Fun| f.entry.as_ref().is_some_and(|e| e.name == shapes.matrices.entry);
        let bug = |message: &str| Failure::Bug(Bug { pass: LOWER.name.into(), message: message.into() });
        let at =
            core.funs.iter().position(is_entry).ok_or_else(|| bug("the entry point was there before"))?;
        core.keep_only(core::FunId(at as u32));
        if let Some(fun) = core.funs.iter_mut().find(|f| is_entry(f)) {
            fix(fun, &shapes.sizes, &mut core.vars);
        }
        self.passes(&mut core)?;
        Ok(Some(core))
    }

    /// Drops what the chosen entry point does not need.
    fn keep_chosen(&self, core: &mut core::Program) {
        let Entries::Chosen(name) = &self.options.entries else { return };
        let entries: Vec<_> = core.funs.iter().filter_map(|f| f.entry.as_ref()).collect();
        let Ok(chosen) = par_message::entries::choose(&entries, name.as_deref()) else { return };
        let is_chosen = |f: &core::Fun| f.entry.as_ref().is_some_and(|e| e.name == chosen.name);
        if let Some(at) = core.funs.iter().position(is_chosen) {
            core.keep_only(core::FunId(at as u32));
        }
    }

    fn lowering(&self) -> par_check::lower::Options {
        let Options { check_scatter, allow_unsafe, fast_math, checkpoints, .. } = *self.options;
        let (calls, matrices) = (false, par_check::lower::Matrices::default());
        par_check::lower::Options { check_scatter, allow_unsafe, fast_math, checkpoints, calls, matrices }
    }

    /// Optimised CORE of a program without mistakes.
    pub(crate) fn lowered_again(
        &self,
        thir: &thir::Program,
        sources: &Sources,
    ) -> Result<core::Program, Failure> {
        let parsed = Parsed { sources: sources.clone(), ..Parsed::default() };
        Ok(self.optimise(thir, parsed, &|_| false)?.core)
    }

    /// CORE as close to the source as it can be: nothing is fused, and definitions are called. None for a program with mistakes.
    pub(crate) fn as_written(&self, thir: &thir::Program, sources: &Sources) -> Option<core::Program> {
        let options = par_check::lower::Options { calls: true, ..self.lowering() };
        self.step(LOWER.name, || par_check::lower::lower(thir, sources, options, &|_| false)).0
    }

    /// Updates that copy, if somebody asks: only the flat program shows them.
    fn copies(&self, core: &core::Program, parsed: &mut Parsed) {
        if !self.options.warnings.gives(copies::CODE) {
            return;
        }
        if let Ok(flattened) = self.flatten(core, &parsed.sources, Target::default()) {
            parsed.diagnostics.extend(self.options.warnings.apply(copies::find(&flattened.program)));
        }
    }

    fn after_core(&self, stage: &'static str, program: &core::Program) -> Result<(), Failure> {
        self.dump(stage, || print::print_core(program));
        if self.options.keep_stages {
            noted(&self.trace.stages).push((stage, program.clone()));
        }
        self.verify(stage, || verify_core(program))
    }

    fn verify(&self, stage: &str, run: impl FnOnce() -> Result<(), String>) -> Result<(), Failure> {
        if !self.options.verify {
            return Ok(());
        }
        let verified = self.step("verify", run);
        verified.map_err(|message| Failure::Bug(Bug { pass: stage.to_string(), message }))
    }

    /// CORE to optimised FLAT for a machine.
    pub(crate) fn flatten(
        &self,
        core: &core::Program,
        sources: &Sources,
        target: Target,
    ) -> Result<Flattened, Failure> {
        let tuning = self.options.tuning.as_ref().filter(|_| !self.options.reproducible);
        let measured = |choice| tuning.and_then(|t| t.threshold(choice, sources));
        let options = flatten::Options {
            target,
            versions: self.options.versions,
            thresholds: Some(&measured),
            splitting: self.options.splitting(),
        };
        let result = self.step(FLATTEN.name, || flatten::flatten(core, &options));
        let mut flattened = result.map_err(|u| not_flattened(u, sources))?;
        let checked = tuning.map_or(Ok(()), |t| t.check(&flattened.choices, sources));
        checked.map_err(|message| does_not_fit(message, sources))?;
        self.after_flat(FLATTEN.name, &flattened.program)?;
        for pass in pass::FLAT_PASSES {
            self.step(pass.name, || (pass.run)(&mut flattened.program));
            self.after_flat(pass.name, &flattened.program)?;
        }
        Ok(flattened)
    }

    fn after_flat(&self, stage: &'static str, program: &flat::Program) -> Result<(), Failure> {
        self.dump(stage, || print::print_flat(program));
        self.verify(stage, || verify_flat(program))
    }
}

fn not_flattened(u: Unsupported, sources: &Sources) -> Failure {
    Failure::Rejected {
        diagnostics: vec![Diagnostic::unsupported(u.feature, u.span)],
        sources: sources.clone(),
    }
}

/// A tuning file for another program.
fn does_not_fit(message: String, sources: &Sources) -> Failure {
    let mut diagnostic = Diagnostic::new(Severity::Error, "", message, Default::default());
    diagnostic.labels.clear();
    Failure::Rejected { diagnostics: vec![diagnostic], sources: sources.clone() }
}

pub(crate) fn fatal(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity >= Severity::Unsupported)
}
