//! The CPU back end: every kernel becomes one or a few machine-code functions, made by Cranelift.

mod convert;
mod emit;
mod half;
mod kernel;
mod lanes;
mod local;
mod math;
mod plan;
mod prefix;
mod primop;
mod stage;

use crate::{contract, free};
use cranelift::prelude::*;
use cranelift_codegen::Context;
use cranelift_codegen::ir::UserFuncName;
use cranelift_codegen::isa::TargetIsa;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module};
use emit::Emitter;
use kernel::{KernelEmitter, KernelInfo, Role};
use local::{Callees, Calls};
pub use math::is_call;
use par_ir::Var;
use par_ir::flat::{self, Kernel, Op, Stm, Ty};
use par_ir::prim::PrimOp;
use par_runtime::Executable;
use par_runtime::plan::{Contraction, EnvLayout, KernelCheck, KernelFn, Plan};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Compiles a program for this machine. Fails only on a program that the FLAT verifier would refuse.
pub fn compile(program: &flat::Program) -> Result<Executable, String> {
    compile_with(program, false)
}

/// As [`compile`], but the kernels also count the work they do under conditions and in loops; so they are slower.
pub fn compile_counting(program: &flat::Program) -> Result<Executable, String> {
    compile_with(program, true)
}

fn compile_with(program: &flat::Program, counting: bool) -> Result<Executable, String> {
    let types = free::types(program);
    let mut compiler = Compiler::new(&types, &program.locals)?;
    compiler.counting = counting;
    let mut compiled = HashMap::new();
    for (i, stm) in kernels(program).into_iter().enumerate() {
        let Op::Kernel(kernel) = &stm.op else { continue };
        compiled.insert(key(kernel), compiler.kernel(kernel, &pattern(stm), &format!("kernel{i}"))?);
    }
    compiler.module.finalize_definitions().map_err(|e| format!("{e:?}"))?;
    let module = compiler.module;
    let mut code = KernelCode { module: &module, compiled };
    let functions = crate::plan::functions(program, &types, &mut code)?;
    let sites = program.statements().len();
    Ok(Executable::new(Plan { functions, sites, code: Box::new(Code(Some(module))) }))
}

/// The Cranelift IR of all kernels, as text.
pub fn dump_clif(program: &flat::Program) -> String {
    let types = free::types(program);
    let mut compiler = match Compiler::new(&types, &program.locals) {
        Ok(c) => c,
        Err(e) => return e,
    };
    compiler.dump = Some(String::new());
    for (i, stm) in kernels(program).into_iter().enumerate() {
        let Op::Kernel(kernel) = &stm.op else { continue };
        if let Err(e) = compiler.kernel(kernel, &pattern(stm), &format!("kernel{i}")) {
            return e;
        }
    }
    let text = compiler.dump.take().unwrap_or_default();
    drop(Code(Some(compiler.module)));
    text
}

/// All statements with a kernel, in order.
fn kernels(program: &flat::Program) -> Vec<&Stm> {
    program.statements().into_iter().filter(|s| matches!(s.op, Op::Kernel(_))).collect()
}

fn pattern(stm: &Stm) -> Vec<Ty> {
    stm.pat.iter().map(|p| p.ty).collect()
}

/// Kernels are told apart by their place in memory: the program is borrowed until the plan is made.
fn key(kernel: &Kernel) -> *const Kernel {
    kernel
}

/// A kernel's functions in the module, and what its launch needs.
struct Compiled {
    name: String,
    functions: Vec<(Role, FuncId)>,
    captures: Vec<Var>,
    layout: EnvLayout,
    checks: Vec<KernelCheck>,
    recursive: bool,
    combined: Vec<par_ir::Prim>,
    elems: Vec<par_ir::Prim>,
    contraction: Option<Contraction>,
}

struct Compiler<'t> {
    module: JITModule,
    context: Context,
    builder_context: FunctionBuilderContext,
    functions: HashMap<PrimOp, FuncId>,
    types: &'t HashMap<Var, Ty>,
    locals: &'t [par_ir::core::Fun],
    dump: Option<String>,
    /// Kernels count their work.
    counting: bool,
}

impl<'t> Compiler<'t> {
    fn new(types: &'t HashMap<Var, Ty>, locals: &'t [par_ir::core::Fun]) -> Result<Compiler<'t>, String> {
        let mut builder = JITBuilder::with_isa(native()?, cranelift_module::default_libcall_names());
        for (op, address) in math::functions() {
            builder.symbol(math::symbol(op), address);
        }
        for (name, address) in stage::functions().into_iter().chain(prefix::functions()) {
            builder.symbol(name, address);
        }
        let module = JITModule::new(builder);
        Ok(Compiler {
            context: module.make_context(),
            module,
            builder_context: FunctionBuilderContext::new(),
            functions: HashMap::new(),
            types,
            locals,
            dump: None,
            counting: false,
        })
    }

    fn kernel(&mut self, kernel: &Kernel, pattern: &[Ty], name: &str) -> Result<Compiled, String> {
        // Stages may compute a value again where another one needs it.
        let staged = if self.counting { None } else { stage::split(kernel) };
        let wanted = !self.counting && staged.is_none();
        let strips = if wanted { prefix::split(kernel, self.types) } else { None };
        let info = KernelInfo::new(kernel, staged.as_ref(), strips.as_ref(), pattern);
        let mut checks = Vec::new();
        let mut functions = Vec::new();
        let callees = self.locals(kernel, name, &mut checks)?;
        for role in info.roles() {
            functions.push((*role, self.function(&info, *role, name, &callees, &mut checks)?));
        }
        let KernelInfo { captures, layout, combined, elems, .. } = info;
        let contraction = if self.counting { None } else { contract::find(kernel, &captures) };
        let (name, recursive) = (name.into(), !callees.is_empty());
        Ok(Compiled { name, functions, captures, layout, checks, recursive, combined, elems, contraction })
    }

    fn function(
        &mut self,
        info: &KernelInfo,
        role: Role,
        name: &str,
        callees: &Callees,
        checks: &mut Vec<KernelCheck>,
    ) -> Result<FuncId, String> {
        par_runtime::cancel::poll();
        let name = if role == Role::Main { name.to_string() } else { format!("{name}_{role:?}") };
        let mut signature = self.module.make_signature();
        signature.params.extend([AbiParam::new(types::I64); 6]);
        signature.returns.push(AbiParam::new(types::I64));
        let id = self
            .module
            .declare_function(&name, Linkage::Export, &signature)
            .map_err(|e| format!("{name}: {e:?}"))?;
        self.context.func.signature = signature;
        self.context.func.name = UserFuncName::user(0, id.as_u32());
        self.emit(info, role, callees, checks)?;
        self.define(id, &name)?;
        Ok(id)
    }

    /// Compiles the function that was emitted.
    fn define(&mut self, id: FuncId, name: &str) -> Result<(), String> {
        if let Some(dump) = &mut self.dump {
            *dump += &format!("; {name}\n{}\n", self.context.func.display());
        }
        self.module.define_function(id, &mut self.context).map_err(|e| format!("{name}: {e:?}"))?;
        self.module.clear_context(&mut self.context);
        Ok(())
    }

    fn emit(
        &mut self,
        info: &KernelInfo,
        role: Role,
        callees: &Callees,
        checks: &mut Vec<KernelCheck>,
    ) -> Result<(), String> {
        let config = self.module.isa().frontend_config();
        let mut b = FunctionBuilder::new(&mut self.context.func, &mut self.builder_context);
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let params = b.block_params(entry).to_vec();
        let mut e = Emitter {
            b,
            module: &mut self.module,
            functions: &mut self.functions,
            checks,
            scalars: HashMap::new(),
            prims: HashMap::new(),
            arrays: HashMap::new(),
            owned: HashSet::new(),
            pos: params[3],
            error: params[5],
            cancel: params[0],
            stop: None,
            references: HashMap::new(),
            calls: Calls::of_kernel(callees),
            loops: 0,
            counting: self.counting && role.is_counted(),
        };
        KernelEmitter { e: &mut e, info, types: self.types, role, params }.function()?;
        e.b.seal_all_blocks();
        e.b.finalize(config);
        Ok(())
    }
}

/// This machine, with everything its processor offers.
fn native() -> Result<Arc<dyn TargetIsa>, String> {
    let mut flags = settings::builder();
    let verifier = if cfg!(debug_assertions) { "true" } else { "false" };
    let wanted = [
        ("opt_level", "speed"),
        ("enable_verifier", verifier),
        ("use_colocated_libcalls", "false"),
        ("is_pic", "false"),
    ];
    for (flag, value) in wanted {
        flags.set(flag, value).map_err(|e| e.to_string())?;
    }
    let builder = cranelift_native::builder().map_err(str::to_string)?;
    builder.finish(settings::Flags::new(flags)).map_err(|e| e.to_string())
}

/// The owner of the machine code.
struct Code(Option<JITModule>);

// SAFETY: after compilation the module is only kept, and dropped once.
unsafe impl Send for Code {}
// SAFETY: as above; there is nothing to do with a shared reference.
unsafe impl Sync for Code {}

impl Drop for Code {
    fn drop(&mut self) {
        if let Some(module) = self.0.take() {
            // SAFETY: the code belongs to a plan, which is dropped with it, so that no function of it is called again.
            unsafe { module.free_memory() };
        }
    }
}

/// Machine code of all kernels of a program.
pub struct KernelCode<'m> {
    module: &'m JITModule,
    compiled: HashMap<*const Kernel, Compiled>,
}

/// What the plan says about a kernel besides its operands.
pub struct Functions {
    /// For profiles.
    pub name: String,
    /// Host variables that its code reads.
    pub captures: Vec<Var>,
    /// How they are passed.
    pub layout: EnvLayout,
    /// What can fail.
    pub checks: Vec<KernelCheck>,
    /// It calls local functions.
    pub recursive: bool,
    /// Types of the combined results.
    pub combined: Vec<par_ir::Prim>,
    /// Types of the further results.
    pub elems: Vec<par_ir::Prim>,
    /// If it is one.
    pub contraction: Option<Contraction>,
    roles: Vec<(Role, KernelFn)>,
}

impl KernelCode<'_> {
    /// The functions of a kernel; once per kernel.
    pub fn take(&mut self, kernel: &Kernel) -> Result<Functions, String> {
        let Compiled { name, functions, captures, layout, checks, recursive, combined, elems, contraction } =
            self.compiled.remove(&key(kernel)).ok_or("a kernel was not compiled")?;
        let address = |id: FuncId| {
            let code = self.module.get_finalized_function(id);
            // SAFETY: the function was compiled with exactly this signature.
            unsafe { std::mem::transmute::<*const u8, KernelFn>(code) }
        };
        let roles = functions.into_iter().map(|(role, id)| (role, address(id))).collect();
        Ok(Functions { name, captures, layout, checks, recursive, combined, elems, contraction, roles })
    }
}

impl Functions {
    fn role(&self, role: Role) -> Result<KernelFn, String> {
        let found = self.roles.iter().find(|(r, _)| *r == role);
        found.map(|(_, f)| *f).ok_or_else(|| format!("a kernel lacks its {role:?} function"))
    }

    /// The kernel's own code.
    pub fn main(&self) -> Result<KernelFn, String> {
        self.role(Role::Main)
    }

    /// The code that combines partial results.
    pub fn combine(&self) -> Result<KernelFn, String> {
        self.role(Role::Combine)
    }

    /// For a scan: the code that only reduces, and the code that does both.
    pub fn scan(&self) -> Result<(KernelFn, KernelFn), String> {
        Ok((self.role(Role::ReduceOnly)?, self.role(Role::Dual)?))
    }
}
