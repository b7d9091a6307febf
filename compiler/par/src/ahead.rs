//! Programs compiled ahead: object files for a linker.

use crate::failure::{Bug, Failure};
use crate::program::Program;
use par_codegen::cpu::compile_object;
pub use par_codegen::cpu::{Processor, Shape};
use par_runtime::image::{Needs, Settings, Stored};
use par_runtime::plan::Plan;

impl Program {
    /// The program as an object file: its kernels as machine code, and everything else that a run needs as data, names and texts
    /// of the sources among it. The crate `par-native` is what it is linked with.
    pub fn object(&self, processor: Processor, shape: Shape) -> Result<Vec<u8>, Failure> {
        let flat = self.flat()?;
        let pack = |plan: Plan, needs: Needs| self.stored(plan, needs).to_bytes();
        let result = self.codegen_step(|| compile_object(flat, processor, shape, pack));
        result.map_err(|message| Failure::Bug(Bug { pass: "codegen".into(), message }))
    }

    fn stored(&self, plan: Plan, needs: Needs) -> Stored {
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
        }
    }
}
