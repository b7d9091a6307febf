//! Machine code in memory, to be run at once.

use super::import::Imports;
use super::{Compiler, object};
use crate::Result;
use crate::free;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::FuncId;
use par_ir::flat;
use par_runtime::Executable;
use par_runtime::op::call;
use par_runtime::plan::{Code, KernelFn};

/// Compiles a program for this machine. Fails only on a program that the FLAT verifier would refuse.
pub fn compile(program: &flat::Program) -> Result<Executable> {
    compile_with(program, |_| {})
}

/// As [`compile`], for ranks: kernels come with what they read where, and with a version that lists what they scatter.
pub fn compile_for_ranks(program: &flat::Program) -> Result<Executable> {
    compile_with(program, |compiler| compiler.ranks = true)
}

/// As [`compile`], but the kernels also count the work they do under conditions and in loops; so they are slower.
pub fn compile_counting(program: &flat::Program) -> Result<Executable> {
    compile_with(program, |compiler| compiler.counting = true)
}

fn compile_with(program: &flat::Program, set: impl FnOnce(&mut Compiler<JITModule>)) -> Result<Executable> {
    let types = free::types(program);
    let mut compiler = Compiler::new(module()?, Imports::known(), &types, program);
    set(&mut compiler);
    let (plan, functions) = compiler.program(program)?;
    let mut module = compiler.module;
    module.finalize_definitions().map_err(|e| format!("{e:?}"))?;
    let address = |id: FuncId| {
        let code = module.get_finalized_function(id);
        // SAFETY: kernels are compiled with exactly this signature.
        unsafe { std::mem::transmute::<*const u8, KernelFn>(code) }
    };
    let functions = functions.into_iter().map(address).collect();
    Ok(Executable::new(plan, Code { functions, owner: Box::new(Owner(Some(module))) }))
}

/// The Cranelift IR of all kernels, as text.
pub fn dump_clif(program: &flat::Program) -> String {
    let types = free::types(program);
    let mut compiler = match module() {
        Ok(module) => Compiler::new(module, Imports::known(), &types, program),
        Err(e) => return e,
    };
    compiler.dump = Some(String::new());
    if let Err(e) = compiler.kernels(program) {
        return e;
    }
    let text = compiler.dump.take().unwrap_or_default();
    drop(Owner(Some(compiler.module)));
    text
}

/// An empty module that knows the runtime's functions.
fn module() -> Result<JITModule> {
    let isa = object::isa(object::Processor::Native, false)?;
    let mut builder = JITBuilder::with_isa(isa, cranelift_module::default_libcall_names());
    builder.symbols(call::symbols());
    Ok(JITModule::new(builder))
}

/// The owner of the machine code.
struct Owner(Option<JITModule>);

// SAFETY: after compilation the module is only kept, and dropped once.
unsafe impl Send for Owner {}
// SAFETY: as above; there is nothing to do with a shared reference.
unsafe impl Sync for Owner {}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(module) = self.0.take() {
            // SAFETY: the code belongs to an executable, which is dropped with it, so that no function of it is called again.
            unsafe { module.free_memory() };
        }
    }
}
