//! The CPU back end: every kernel becomes one or a few machine-code functions, made by Cranelift. `jit` makes them in memory, `object`
//! in a file for a linker.

mod absorbing;
mod ahead;
mod base_case;
mod branches;
mod chains;
mod checks;
mod convert;
mod emit;
mod exits;
mod fold;
mod frame;
mod fresh;
mod half;
mod hist;
mod import;
mod inspect;
mod invariant;
mod jit;
mod kernel;
mod lanes;
mod local;
mod loops;
mod memory;
mod object;
mod outputs;
mod pack;
mod partition;
mod plan;
mod prefix;
mod primop;
mod ranges;
mod reads;
mod row_updates;
mod scatter;
mod schedule;
mod small_integers;
mod stage;
mod strips;
mod wide;

use crate::Result;
use checks::Exits;
use cranelift::prelude::*;
use cranelift_codegen::Context;
use cranelift_codegen::ir::UserFuncName;
use cranelift_module::{FuncId, Linkage, Module};
use emit::{Bound, Emitter, Nest};
use fresh::Fresh;
use import::Imports;
pub use jit::{compile, compile_counting, compile_for_ranks, dump_clif};
use kernel::{KernelEmitter, KernelInfo, Role};
use local::{Callees, Calls};
pub use object::{Processor, Shape, compile_object};
use par_ir::Var;
use par_ir::access::Facts;
use par_ir::flat::{self, Kernel, Ty};
use par_ir::hash::HashMap;
use par_runtime::plan::{CodeId, EnvLayout, KernelCheck, Plan, Schedule};
use ranges::Ranges;
use schedule::Scheduler;
pub use schedule::{dump_schedules, explained, schedules};
use std::collections::BTreeSet;

/// The forms of a program's host scalars.
fn facts(program: &flat::Program) -> Facts {
    let mut facts = Facts::default();
    for stm in program.statements() {
        facts.note(stm);
        facts.note_sum(stm);
    }
    facts
}

struct Compiler<'t, M> {
    module: M,
    context: Context,
    builder_context: FunctionBuilderContext,
    imports: Imports,
    types: &'t HashMap<Var, Ty>,
    fresh: Fresh,
    facts: Facts,
    locals: &'t [par_ir::core::Fun],
    dump: Option<String>,
    /// The functions that kernels have, at their numbers.
    functions: Vec<FuncId>,
    /// Kernels count their work.
    counting: bool,
    /// Kernels come with what ranks need to know.
    ranks: bool,
    /// Code with wide vectors.
    wide: wide::Wide,
}

impl<'t, M: Module> Compiler<'t, M> {
    fn new(
        module: M,
        imports: Imports,
        types: &'t HashMap<Var, Ty>,
        program: &'t flat::Program,
    ) -> Compiler<'t, M> {
        Compiler {
            context: module.make_context(),
            wide: wide::Wide::new(module.isa()),
            module,
            builder_context: FunctionBuilderContext::new(),
            imports,
            types,
            fresh: Fresh::new(&program.vars),
            facts: facts(program),
            locals: &program.locals,
            dump: None,
            functions: Vec::new(),
            counting: false,
            ranks: false,
        }
    }

    /// The plan of a program, and the functions that it numbers.
    fn program(&mut self, program: &flat::Program) -> Result<(Plan, Vec<FuncId>)> {
        let mut code = self.kernels(program)?;
        let functions = crate::plan::functions(program, self.types, &mut code)?;
        let sites = program.statements().len();
        Ok((Plan { functions, sites }, std::mem::take(&mut self.functions)))
    }

    fn kernels(&mut self, program: &flat::Program) -> Result<KernelCode> {
        let mut compiled = HashMap::default();
        for (i, (number, stm, kernel)) in crate::plan::kernels(program).into_iter().enumerate() {
            let pattern: Vec<Ty> = stm.pat.iter().map(|p| p.ty).collect();
            compiled.insert(number, self.kernel(kernel, &pattern, &format!("kernel{i}"))?);
        }
        Ok(KernelCode { compiled })
    }

    fn kernel(&mut self, kernel: &Kernel, pattern: &[Ty], name: &str) -> Result<Functions> {
        let scheduled =
            (!self.counting).then(|| Scheduler::new(self.types, self.locals, &self.fresh).steps(kernel));
        let info = KernelInfo::new(kernel, scheduled.as_ref(), pattern);
        let mut checks = Vec::new();
        let mut roles = Vec::new();
        let callees = self.locals(kernel, name, &mut checks)?;
        for role in info.roles() {
            let function = self.function(&info, *role, name, &callees, &mut checks)?;
            roles.push((*role, CodeId(self.functions.len() as u32)));
            self.functions.push(function);
        }
        let schedule = scheduled.as_ref().map_or(Schedule::Scalar, |s| schedule::of(&info, s));
        let KernelInfo { captures, layout, combined, elems, .. } = info;
        let ranks = if self.ranks { Some(self.for_ranks(kernel, &captures, name)?) } else { None };
        let (name, recursive) = (name.into(), !callees.is_empty());
        Ok(Functions { name, captures, layout, checks, recursive, combined, elems, schedule, roles, ranks })
    }

    /// Facts for ranks, the kernel that lists what is scattered, and those that find indices.
    fn for_ranks(&mut self, kernel: &Kernel, captures: &[Var], name: &str) -> Result<ForRanks> {
        let reads = reads::of(kernel, captures, &self.facts, self.types);
        let listed = match reads::listed(kernel, self.types) {
            Some((listed, pattern)) => {
                let functions = self.kernel_alone(&listed, &pattern, &format!("{name}_listed"))?;
                Some(Box::new((listed, functions)))
            }
            None => None,
        };
        let mut inspectors = Vec::new();
        for (i, found) in inspect::inspectors(kernel, captures, &reads, &self.fresh).into_iter().enumerate() {
            let pattern = vec![Ty::Array(par_ir::Prim::I64); found.of.len()];
            let functions = self.kernel_alone(&found.kernel, &pattern, &format!("{name}_inspector{i}"))?;
            inspectors.push((found, functions));
        }
        Ok(ForRanks { reads, listed, inspectors })
    }

    /// A kernel of which ranks need to know nothing.
    fn kernel_alone(&mut self, kernel: &Kernel, pattern: &[Ty], name: &str) -> Result<Functions> {
        let ranks = std::mem::replace(&mut self.ranks, false);
        let functions = self.kernel(kernel, pattern, name);
        self.ranks = ranks;
        functions
    }

    fn function(
        &mut self,
        info: &KernelInfo,
        role: Role,
        name: &str,
        callees: &Callees,
        checks: &mut Vec<KernelCheck>,
    ) -> Result<FuncId> {
        par_runtime::cancel::poll();
        let name = if role == Role::Main { name.to_string() } else { format!("{name}_{role:?}") };
        let mut signature = self.module.make_signature();
        signature.params.extend([AbiParam::new(types::I64); 6]);
        signature.returns.push(AbiParam::new(types::I64));
        let id = self
            .module
            .declare_function(&name, Linkage::Local, &signature)
            .map_err(|e| format!("{name}: {e:?}"))?;
        let known = checks.len();
        for width in [lanes::width(info, self.wide.width()), lanes::BYTES] {
            self.context.func.signature = signature.clone();
            self.context.func.name = UserFuncName::user(0, id.as_u32());
            let widths = self.emit(info, role, callees, checks, width)?;
            if widths.iter().all(|bytes| *bytes == lanes::BYTES) {
                self.define(id, &name)?;
                return Ok(id);
            }
            if self.define_wide(id, &name, &widths) {
                return Ok(id);
            }
            checks.truncate(known);
        }
        Err(format!("{name}: no code"))
    }

    /// Compiles the function that was emitted.
    fn define(&mut self, id: FuncId, name: &str) -> Result {
        if let Some(dump) = &mut self.dump {
            *dump += &format!("; {name}\n{}\n", self.context.func.display());
        }
        self.module.define_function(id, &mut self.context).map_err(|e| format!("{name}: {e:?}"))?;
        self.module.clear_context(&mut self.context);
        Ok(())
    }

    /// Compiles the function that was emitted for wide vectors. False if there is no code for all of it: then it is to be emitted
    /// for Cranelift.
    fn define_wide(&mut self, id: FuncId, name: &str, widths: &BTreeSet<usize>) -> bool {
        let width = widths.last().copied().unwrap_or(lanes::BYTES);
        if let Some(dump) = &mut self.dump {
            let bits = 8 * width;
            *dump += &format!("; {name}, vectors of {bits} bits\n{}\n", self.context.func.display());
        }
        let defined = match widths.len() == 1 {
            true => self.wide.define(&mut self.module, id, &mut self.context, width),
            false => Err("vectors of several widths".into()),
        };
        self.module.clear_context(&mut self.context);
        if let (Some(dump), Err(why)) = (&mut self.dump, &defined) {
            *dump += &format!("; {name} again, with vectors of 128 bits: {why}\n\n");
        }
        defined.is_ok()
    }

    fn emit(
        &mut self,
        info: &KernelInfo,
        role: Role,
        callees: &Callees,
        checks: &mut Vec<KernelCheck>,
        width: usize,
    ) -> Result<BTreeSet<usize>> {
        let (config, types) = (self.module.isa().frontend_config(), self.types);
        let exits = |params: &[Value]| Exits::new(params[3].into(), params[5].into(), params[0].into());
        let (mut e, params) = self.emitter(exits, callees, checks, width);
        e.counting &= role.is_counted();
        KernelEmitter { e: &mut e, info, types, role, params }.function()?;
        e.b.seal_all_blocks();
        let widths = std::mem::take(&mut e.widths);
        e.b.finalize(config);
        exits::first(&mut self.context.func);
        Ok(widths)
    }

    /// An emitter of the function whose signature stands in the context, in its first block, with the parameters.
    fn emitter<'e>(
        &'e mut self,
        exits: impl FnOnce(&[Value]) -> Exits,
        callees: &Callees,
        checks: &'e mut Vec<KernelCheck>,
        width: usize,
    ) -> (Emitter<'e>, Vec<Value>) {
        let mut b = FunctionBuilder::new(&mut self.context.func, &mut self.builder_context);
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let params = b.block_params(entry).to_vec();
        let e = Emitter {
            b,
            module: &mut self.module,
            imports: &mut self.imports,
            fresh: &self.fresh,
            facts: &self.facts,
            checks,
            bound: Bound::default(),
            exits: exits(&params),
            nest: Nest::default(),
            references: HashMap::default(),
            ranges: Ranges::default(),
            calls: Calls::of_kernel(callees),
            width,
            widths: Default::default(),
            counting: self.counting,
        };
        (e, params)
    }
}

/// Code of all kernels of a program.
pub struct KernelCode {
    /// By the numbers of their statements.
    compiled: HashMap<u32, Functions>,
}

/// The functions of a kernel, and what the plan says about it besides its operands.
pub struct Functions {
    /// For profiles.
    pub name: String,
    /// Host variables that its code reads.
    pub captures: Vec<Var>,
    /// Layout of the environment that holds them.
    pub layout: EnvLayout,
    /// Checks that can fail.
    pub checks: Vec<KernelCheck>,
    /// True if it calls local functions.
    pub recursive: bool,
    /// Types of the combined results.
    pub combined: Vec<par_ir::Prim>,
    /// Types of the further results.
    pub elems: Vec<par_ir::Prim>,
    /// Schedule of the kernel.
    pub schedule: Schedule,
    roles: Vec<(Role, CodeId)>,
    ranks: Option<ForRanks>,
}

/// Facts about a kernel for ranks.
struct ForRanks {
    reads: reads::Reads,
    listed: Option<Box<(Kernel, Functions)>>,
    inspectors: Vec<(inspect::Inspector, Functions)>,
}

impl KernelCode {
    /// The functions of a kernel; once per kernel.
    pub fn take(&mut self, number: u32) -> Result<Functions> {
        self.compiled.remove(&number).ok_or_else(|| "a kernel was not compiled".to_string())
    }
}

impl Functions {
    fn role(&self, role: Role) -> Result<CodeId> {
        let found = self.roles.iter().find(|(r, _)| *r == role);
        found.map(|(_, f)| *f).ok_or_else(|| format!("a kernel lacks its {role:?} function"))
    }

    /// The kernel's own code.
    pub fn main(&self) -> Result<CodeId> {
        self.role(Role::Main)
    }

    /// True if the operator's grouping does not change results.
    pub fn is_exact(&self) -> bool {
        !self.combined.iter().any(|p| p.is_float())
    }

    /// The code that combines partial results.
    pub fn combine(&self) -> Result<CodeId> {
        self.role(Role::Combine)
    }

    /// For a scan: the code that only reduces, and the code that does both.
    pub fn scan(&self) -> Result<(CodeId, CodeId)> {
        Ok((self.role(Role::ReduceOnly)?, self.role(Role::Dual)?))
    }
}
