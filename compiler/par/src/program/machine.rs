//! Back ends that make code: the processor and GPUs. In WebAssembly `no_machine` stands in for this.

use super::{Backend, CallOptions, Measure, Program, missing};
use crate::failure::{Bug, Failure, RunFailure};
use crate::pipeline::{CODEGEN, Options, Pipeline, Target};
use par_ir::flat;
use par_runtime::cuda::{self, Gpu, Nvrtc};
use par_runtime::{Column, Executable};
use par_syntax::Sources;
use std::collections::HashMap;
use std::sync::OnceLock;

/// A program's code, as far as it was needed.
#[derive(Default)]
pub(super) struct Machine {
    executable: OnceLock<Executable>,
    /// The same plan, whose kernels count.
    counting: OnceLock<Executable>,
    /// The same plan, for ranks.
    ranked: OnceLock<Executable>,
    /// On a GPU.
    cuda: OnceLock<Executable>,
    /// Back end for [`Backend::Auto`].
    automatic: OnceLock<Backend>,
}

/// Descriptions of the kernels' CPU schedules, by statement number.
pub(crate) fn schedules(program: &flat::Program) -> HashMap<usize, String> {
    par_codegen::cpu::explained(program).into_iter().map(|(n, s)| (n as usize, s)).collect()
}

impl Backend {
    /// Back end for [`Backend::Auto`] on device number `device`; and which, in words.
    pub fn automatic(device: usize) -> (Backend, String) {
        match Gpu::open(device).and_then(|gpu| Nvrtc::open().map(|_| gpu)) {
            Ok(gpu) => (Backend::Cuda, gpu.name.clone()),
            Err(why) => (Backend::Cpu, format!("the processor: {why}")),
        }
    }
}

impl Pipeline<'_> {
    /// FLAT to code, in whatever form.
    pub(crate) fn codegen_step<T>(&self, generate: impl FnOnce() -> T) -> T {
        self.step(CODEGEN.name, generate)
    }

    /// FLAT to machine code that counts what it does.
    fn codegen_counting(&self, flat: &flat::Program) -> Result<Executable, Failure> {
        self.codegen_step(|| par_codegen::cpu::compile_counting(flat)).map_err(wrong)
    }

    /// FLAT to machine code for ranks.
    fn codegen_ranked(&self, flat: &flat::Program) -> Result<Executable, Failure> {
        self.codegen_step(|| par_codegen::cpu::compile_for_ranks(flat)).map_err(wrong)
    }

    /// FLAT to machine code.
    fn codegen(&self, flat: &flat::Program) -> Result<Executable, Failure> {
        self.codegen_step(|| par_codegen::cpu::compile(flat)).map_err(wrong)
    }

    /// FLAT to C++ for GPUs, in which the lines of the source are comments.
    fn codegen_cuda(&self, flat: &flat::Program, sources: &Sources) -> Result<cuda::Program, Failure> {
        let line = |span| sources.line(span);
        let compile = || par_codegen::cuda::compile(flat, self.options.reproducible, &line);
        self.codegen_step(compile).map_err(wrong)
    }

    /// FLAT to a program on a GPU.
    fn load_cuda(&self, flat: &flat::Program, sources: &Sources) -> Result<Executable, Failure> {
        let gpu = Gpu::open(self.options.device).map_err(|e| Failure::Unavailable(e.0))?;
        let program = self.codegen_cuda(flat, sources)?;
        self.codegen_step(|| cuda::load(program.into(), gpu)).map_err(not_loaded)
    }
}

/// A bug of the code generator's.
fn wrong(message: String) -> Failure {
    Failure::Bug(Bug { pass: CODEGEN.name.to_string(), message })
}

/// Why a program is not on a GPU: something is missing, or what was generated is wrong.
pub(crate) fn not_loaded(e: cuda::LoadError) -> Failure {
    match e {
        cuda::LoadError::Unavailable(what) => Failure::Unavailable(what.0),
        cuda::LoadError::Refused(message) => wrong(message),
    }
}

/// The code in a cell, made if it is not there.
fn made(
    cell: &OnceLock<Executable>,
    make: impl FnOnce() -> Result<Executable, Failure>,
) -> Result<&Executable, Failure> {
    if let Some(executable) = cell.get() {
        return Ok(executable);
    }
    let executable = make()?;
    Ok(cell.get_or_init(|| executable))
}

impl Program {
    /// Options of its compilation.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// The program as machine code.
    pub fn executable(&self) -> Result<&Executable, Failure> {
        made(&self.machine.executable, || self.pipeline().codegen(self.flat()?))
    }

    fn counting(&self) -> Result<&Executable, Failure> {
        made(&self.machine.counting, || self.pipeline().codegen_counting(self.flat()?))
    }

    /// The program as machine code for ranks.
    pub fn ranked(&self) -> Result<&Executable, Failure> {
        made(&self.machine.ranked, || self.pipeline().codegen_ranked(self.flat()?))
    }

    /// The program on the GPU that the options name.
    fn cuda(&self) -> Result<&Executable, Failure> {
        made(&self.machine.cuda, || self.pipeline().load_cuda(self.flat_for(Target::Gpu)?, &self.sources))
    }

    /// The kernels in C++ for GPUs.
    pub fn cuda_program(&self) -> Result<cuda::Program, Failure> {
        self.pipeline().codegen_cuda(self.flat_for(Target::Gpu)?, &self.sources)
    }

    /// Log of CUDA's compiler about the kernels for an architecture (`sm_90`): registers, memory, spills. Needs no GPU.
    pub fn cuda_log(&self, architecture: &str) -> Result<String, Failure> {
        let nvrtc = Nvrtc::open().map_err(|e| Failure::Unavailable(e.0))?;
        let compiled = self.cuda_program()?.log(&nvrtc, architecture);
        compiled.map_err(not_loaded)
    }

    /// CPU schedule of each kernel: the bound variables, the kernel, and its schedule.
    pub fn schedules(&self) -> Result<String, Failure> {
        Ok(par_codegen::cpu::dump_schedules(self.flat()?))
    }

    /// The kernels as Cranelift's intermediate code.
    pub fn clif(&self) -> Result<String, Failure> {
        Ok(par_codegen::cpu::dump_clif(self.flat()?))
    }

    /// The back end, or what [`Backend::Auto`] stands for.
    fn chosen(&self, backend: Backend) -> Backend {
        let automatic = || Backend::automatic(self.options.device).0;
        if backend == Backend::Auto { *self.machine.automatic.get_or_init(automatic) } else { backend }
    }
}

impl Machine {
    /// Makes the code that a back end runs.
    pub(super) fn prepare(&self, program: &Program, backend: Backend) -> Result<(), Failure> {
        match program.chosen(backend) {
            Backend::Cpu => program.executable().map(|_| ()),
            _ => program.cuda().map(|_| ()),
        }
    }

    /// Compiles all kernels for a GPU.
    pub(super) fn prepare_all(&self, program: &Program) -> Result<(), Failure> {
        program.cuda()?.prepare_all().map_err(not_loaded)
    }

    /// Columns where a back end needs them.
    pub(super) fn upload(
        &self,
        program: &Program,
        backend: Backend,
        columns: Vec<Column>,
    ) -> Result<Vec<Column>, RunFailure> {
        match program.chosen(backend) {
            Backend::Cuda => Ok(program.cuda()?.upload(columns)?),
            _ => Ok(columns),
        }
    }

    /// Runs an entry point's code, within a limit of memory.
    pub(super) fn execute(
        &self,
        program: &Program,
        entry: &str,
        args: Vec<Column>,
        options: &CallOptions,
        memory_limit: Option<usize>,
        measure: &mut Measure,
    ) -> Result<Vec<Column>, RunFailure> {
        let counting = matches!(measure, Measure::Costs { counting: true, .. });
        let executable = match program.chosen(options.backend) {
            Backend::Cuda => program.cuda()?,
            _ if options.on_ranks().is_some() => program.ranked()?,
            _ if counting => program.counting()?,
            _ => program.executable()?,
        };
        let fun = executable.entry(entry).ok_or_else(|| missing(entry))?;
        executable.prepare(fun).map_err(not_loaded)?;
        let CallOptions { threads, ref cancel, smallest_chunks, keep_on_device, .. } = *options;
        let ranks = options.on_ranks().cloned();
        let options = par_runtime::Options {
            threads,
            ranks,
            cancel: cancel.clone(),
            smallest_chunks,
            keep_on_device,
            memory_limit,
            reproducible: program.options.reproducible,
            ..Default::default()
        };
        if let Measure::Costs { profile, .. } = measure {
            let (result, costs) = executable.call_profiled(fun, args, &options);
            *profile = costs;
            return Ok(result?);
        }
        Ok(executable.call(fun, args, &options)?)
    }
}
