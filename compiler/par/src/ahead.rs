//! Programs compiled ahead: object files for a linker.

use crate::failure::{Bug, Failure};
use crate::program::{Program, not_loaded};
use par_codegen::cpu::compile_object;
pub use par_codegen::cpu::{Processor, Shape};
use par_runtime::cuda::{self, Nvrtc};
use par_runtime::image::{Needs, Settings, Stored};
use par_runtime::plan::Plan;

/// Target of a program.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Processors that run its machine code.
    pub processor: Processor,
    /// Architectures that kernels for GPUs are compiled for, such as `sm_90`; none: it has no kernels for GPUs. That needs NVRTC.
    pub gpu: Option<&'a [String]>,
}

impl Program {
    /// The program as an object file: its kernels as machine code, and everything else that a run needs as data, names and texts
    /// of the sources among it. The crate `par-native` is what it is linked with.
    pub fn object(&self, target: Target, shape: Shape) -> Result<Vec<u8>, Failure> {
        let flat = self.flat()?;
        let gpu = target.gpu.map(|architectures| self.for_gpus(architectures)).transpose()?;
        let pack = |plan: Plan, needs: Needs| self.stored(plan, needs, gpu).to_bytes();
        let result = self.pipeline().codegen_step(|| compile_object(flat, target.processor, shape, pack));
        result.map_err(|message| Failure::Bug(Bug { pass: "codegen".into(), message }))
    }

    fn for_gpus(&self, architectures: &[String]) -> Result<cuda::Program, Failure> {
        let mut program = self.cuda_program()?;
        if !architectures.is_empty() {
            let nvrtc = Nvrtc::open().map_err(|e| Failure::Unavailable(e.0))?;
            for architecture in architectures {
                program.compile_ahead(&nvrtc, architecture).map_err(not_loaded)?;
            }
        }
        Ok(program)
    }

    fn stored(&self, plan: Plan, needs: Needs, gpu: Option<cuda::Program>) -> Stored {
        Stored {
            plan,
            needs,
            entries: self.entries().into_iter().cloned().collect(),
            sources: self.sources().files.clone(),
            settings: Settings {
                memory_limit: self.options().memory_limit,
                reproducible: self.options().reproducible,
                allow_unsafe: self.options().allow_unsafe,
            },
            gpu,
        }
    }
}
