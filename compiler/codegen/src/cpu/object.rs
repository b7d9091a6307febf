//! Machine code in an object file, for a linker: the kernels, the plan as data, and what leads from one to the other, see
//! [`par_runtime::image`].

use super::Compiler;
use super::import::{Imports, add_data, forward};
use crate::Result;
use crate::free;
use cranelift::prelude::*;
use cranelift_codegen::isa::TargetIsa;
use cranelift_module::{DataDescription, DataId, FuncId, Linkage, Module};
use cranelift_object::object::SectionKind;
use cranelift_object::{ObjectBuilder, ObjectModule};
use par_ir::flat;
use par_runtime::image::{Image, MAIN, Needs};
use par_runtime::plan::Plan;
use par_runtime::simd::{Level, level};
use std::mem::offset_of;
use std::sync::Arc;

/// Processor that code is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Processor {
    /// This machine's, with everything it offers.
    Native,
    /// Every one of this architecture.
    Baseline,
}

/// Kind of file that the object file becomes part of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape<'a> {
    /// An executable, whose `main` is in the file.
    Executable,
    /// A library; the image has this name.
    Library(&'a str),
}

/// Compiles a program to an object file. `pack` makes of the plan, and of what it needs, the bytes that are stored.
pub fn compile_object(
    program: &flat::Program,
    processor: Processor,
    shape: Shape,
    pack: impl FnOnce(Plan, Needs) -> Result<Vec<u8>>,
) -> Result<Vec<u8>> {
    let isa = isa(processor, true)?;
    let features = features(&*isa);
    let builder = ObjectBuilder::new(isa, "par", cranelift_module::default_libcall_names());
    let module = ObjectModule::new(builder.map_err(|e| e.to_string())?);
    let types = free::types(program);
    let mut compiler = Compiler::new(module, Imports::by_table(), &types, program);
    let (plan, functions) = compiler.program(program)?;
    let Compiler { mut module, imports, .. } = compiler;
    let table = imports.define(&mut module)?;
    let needs = Needs { functions: imports.names(), features };
    let imports = (table, needs.functions.len());
    let parts = Parts { plan: pack(plan, needs)?, functions, imports };
    match shape {
        Shape::Executable => {
            let image = define_image(&mut module, "par_image", Linkage::Local, parts)?;
            define_main(&mut module, image)?;
        }
        Shape::Library(name) => _ = define_image(&mut module, name, Linkage::Export, parts)?,
    }
    let mut product = module.finish();
    // Says that nothing in the file wants to run on the stack.
    product.object.add_section(Vec::new(), b".note.GNU-stack".to_vec(), SectionKind::Other);
    product.emit().map_err(|e| e.to_string())
}

/// The instructions and conventions that code is made for.
pub fn isa(processor: Processor, relocatable: bool) -> Result<Arc<dyn TargetIsa>> {
    let mut flags = settings::builder();
    let verifier = if cfg!(debug_assertions) { "true" } else { "false" };
    let wanted = [
        ("opt_level", "speed"),
        ("enable_verifier", verifier),
        ("use_colocated_libcalls", "false"),
        ("is_pic", if relocatable { "true" } else { "false" }),
    ];
    for (flag, value) in wanted {
        flags.set(flag, value).map_err(|e| e.to_string())?;
    }
    let native = matches!(processor, Processor::Native);
    let mut builder = cranelift_native::builder_with_options(native).map_err(str::to_string)?;
    if cfg!(target_arch = "x86_64") && native {
        for flag in above(level()) {
            builder.set(flag, "false").map_err(|e| format!("{flag}: {e}"))?;
        }
    }
    builder.finish(settings::Flags::new(flags)).map_err(|e| e.to_string())
}

/// Cranelift's names of the instructions that are above a level.
fn above(level: Level) -> impl Iterator<Item = &'static str> {
    let avx512 = ["has_avx512bitalg", "has_avx512dq", "has_avx512f", "has_avx512vl", "has_avx512vbmi"];
    let avx2 = ["has_avx", "has_avx2", "has_fma", "has_bmi1", "has_bmi2", "has_lzcnt"];
    let no_avx512 = avx512.into_iter().filter(move |_| level < Level::Avx512);
    no_avx512.chain(avx2.into_iter().filter(move |_| level < Level::Avx2))
}

/// Features that the code needs beyond the architecture, by Cranelift's names.
fn features(isa: &dyn TargetIsa) -> Vec<String> {
    let on = isa.isa_flags().into_iter().filter(|flag| flag.as_bool() == Some(true));
    on.map(|flag| flag.name.to_string()).collect()
}

/// Everything that an image leads to.
struct Parts {
    plan: Vec<u8>,
    functions: Vec<FuncId>,
    imports: (DataId, usize),
}

/// Writes an [`Image`].
fn define_image(module: &mut ObjectModule, name: &str, linkage: Linkage, parts: Parts) -> Result<DataId> {
    let mut data = DataDescription::new();
    let plan_len = parts.plan.len();
    data.define(parts.plan.into_boxed_slice());
    let bytes = add_data(module, "plan", Linkage::Local, false, &data)?;

    let mut data = DataDescription::new();
    // A table without entries has an address as well.
    data.define(vec![0; 8 * parts.functions.len().max(1)].into_boxed_slice());
    data.set_align(8);
    for (i, id) in parts.functions.iter().enumerate() {
        let function = module.declare_func_in_data(*id, &mut data);
        data.write_function_addr(8 * i as u32, function);
    }
    let table = add_data(module, "kernels", Linkage::Local, false, &data)?;

    let mut data = DataDescription::new();
    let mut words = vec![0u8; size_of::<Image>()];
    let lengths = [
        (offset_of!(Image, plan_len), plan_len),
        (offset_of!(Image, functions_len), parts.functions.len()),
        (offset_of!(Image, imports_len), parts.imports.1),
    ];
    for (at, n) in lengths {
        words[at..at + 8].copy_from_slice(&(n as u64).to_ne_bytes());
    }
    data.define(words.into_boxed_slice());
    data.set_align(8);
    let addresses = [
        (offset_of!(Image, plan), bytes),
        (offset_of!(Image, functions), table),
        (offset_of!(Image, imports), parts.imports.0),
    ];
    for (at, id) in addresses {
        let target = module.declare_data_in_data(id, &mut data);
        data.write_data_addr(at as u32, target, 0);
    }
    add_data(module, name, linkage, false, &data)
}

/// `int main(int argc, char **argv)`, which hands everything to the runtime.
fn define_main(module: &mut ObjectModule, image: DataId) -> Result {
    let pointer = module.isa().pointer_type();
    let mut signature = module.make_signature();
    signature.params.extend([AbiParam::new(types::I32), AbiParam::new(pointer)]);
    signature.returns.push(AbiParam::new(types::I32));
    let main = module.declare_function("main", Linkage::Export, &signature).map_err(|e| e.to_string())?;
    let mut wanted = signature.clone();
    wanted.params.push(AbiParam::new(pointer));
    let run = module.declare_function(MAIN, Linkage::Import, &wanted).map_err(|e| e.to_string())?;
    forward(module, main, &signature, |module, b, params| {
        let run = module.declare_func_in_func(run, b.func);
        let image = module.declare_data_in_func(image, b.func);
        let image = b.ins().symbol_value(pointer, image);
        b.ins().call(run, &[params, &[image]].concat())
    })
}
