//! A module put together: its types, imports, functions.

use crate::frame::Layout;
use crate::{Unsupported, support};
use par_ir::core::{Fun, FunId};
use par_ir::{PrimOp, Var};
use par_runtime::{CheckKind, Prim, Span};
use std::collections::HashMap;
use wasm_encoder::{
    CodeSection, ConstExpr, EntityType, ExportKind, ExportSection, Function, FunctionSection, GlobalSection,
    GlobalType, ImportSection, Instruction, MemoryType, Module, TypeSection, ValType,
};

/// A check in a kernel's code.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Check {
    pub kind: CheckKind,
    pub args: Vec<Prim>,
    pub span: Span,
}

/// A function that the code calls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Import {
    /// An operator: see [`support`].
    Operator(PrimOp),
    /// The bits of an `f16` to the `f32` in which it is computed with.
    Expand,
    /// An `f32` to the bits of the nearest `f16`.
    Compress,
    /// An `f64` to the nearest `f16`, as an `f32`.
    Narrow,
    /// Rope number and index to the address of an element: only if the code has been asked to look it up.
    Rope(Prim),
}

impl Import {
    /// Types of parameters and result.
    pub fn signature(self) -> (Vec<ValType>, ValType) {
        match self {
            Import::Operator(op) => {
                (op.operands().into_iter().map(val_type).collect(), val_type(op.result()))
            }
            Import::Expand => (vec![ValType::I32], ValType::F32),
            Import::Compress => (vec![ValType::F32], ValType::I32),
            Import::Narrow => (vec![ValType::F64], ValType::F32),
            Import::Rope(_) => (vec![ValType::I32, ValType::I64], ValType::I32),
        }
    }
}

/// The type of a scalar in a register: an integer of less than 32 bits is extended as its sign says, and an `f16` is an `f32`.
pub fn val_type(p: Prim) -> ValType {
    match p {
        Prim::I64 | Prim::U64 => ValType::I64,
        Prim::F64 => ValType::F64,
        Prim::F16 | Prim::F32 => ValType::F32,
        _ => ValType::I32,
    }
}

/// A compiled kernel.
#[derive(Clone, Debug)]
pub struct Code {
    /// The module. It imports `memory` and the functions `0`, `1`, … from `par`, and exports `part`.
    pub bytes: Vec<u8>,
    /// The functions.
    pub imports: Vec<Import>,
    /// The checks by number.
    pub checks: Vec<Check>,
    /// Variables that are read.
    pub inputs: Vec<Var>,
    pub(crate) layout: Layout,
    /// A place where a local function is called.
    pub(crate) span_of_calls: Span,
}

/// Globals of a module.
pub const FRAME: u32 = 0;
pub const DEPTH: u32 = 1;

/// The parts of a module while its functions are generated.
pub struct Parts<'k> {
    pub locals: &'k [Fun],
    /// Ropes are asked for where their elements are.
    pub looks_up: bool,
    pub checks: Vec<Check>,
    pub span_of_calls: Span,
    imports: Vec<Import>,
    /// Loops are functions of their own.
    pub outlines: bool,
    /// Functions of loops; none while one is being generated.
    loops: Vec<Option<Body>>,
    /// Local functions that are called, in the order of their first calls.
    called: Vec<FunId>,
    known: HashMap<Import, u32>,
}

/// Calls refer to functions whose number is known at the end: imports come first.
pub const IMPORTED: u32 = 1 << 30;
const LOCAL: u32 = 1 << 29;
const LOOP: u32 = 1 << 28;

impl<'k> Parts<'k> {
    pub fn new(locals: &'k [Fun], looks_up: bool) -> Parts<'k> {
        Parts {
            locals,
            looks_up,
            checks: Vec::new(),
            span_of_calls: Span::default(),
            imports: Vec::new(),
            outlines: false,
            loops: Vec::new(),
            called: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// The number of an imported function in a call.
    pub fn import(&mut self, import: Import) -> u32 {
        let imports = &mut self.imports;
        *self.known.entry(import).or_insert_with(|| {
            imports.push(import);
            IMPORTED + imports.len() as u32 - 1
        })
    }

    /// The number of a local function in a call.
    pub fn local(&mut self, f: FunId) -> u32 {
        let at = self.called.iter().position(|g| *g == f).unwrap_or_else(|| {
            self.called.push(f);
            self.called.len() - 1
        });
        LOCAL + at as u32
    }

    /// The number of a loop's function in a call.
    pub fn outlined(&mut self) -> u32 {
        self.loops.push(None);
        LOOP + self.loops.len() as u32 - 1
    }

    /// The function of that number.
    pub fn set_outlined(&mut self, number: u32, function: Body) {
        self.loops[(number - LOOP) as usize] = Some(function);
    }

    /// The local function that is called and stands at this place.
    pub fn called(&self, at: usize) -> Option<&'k Fun> {
        self.called.get(at).map(|f| &self.locals[f.0 as usize])
    }

    /// The module of a main function and the local functions in their order.
    pub fn finish(
        self,
        main: Body,
        locals: Vec<Body>,
        inputs: Vec<Var>,
        layout: Layout,
    ) -> Result<Code, Unsupported> {
        for import in &self.imports {
            if let Import::Operator(op) = import
                && !support::exists(*op)
            {
                return Err(format!("{op} has no function"));
            }
        }
        let mut types = TypeSection::new();
        let mut imports = ImportSection::new();
        let memory =
            MemoryType { minimum: 1, maximum: None, memory64: false, shared: false, page_size_log2: None };
        imports.import("par", "memory", EntityType::Memory(memory));
        for (i, import) in self.imports.iter().enumerate() {
            let (params, result) = import.signature();
            types.ty().function(params, [result]);
            imports.import("par", &i.to_string(), EntityType::Function(i as u32));
        }
        let count = self.imports.len() as u32;
        let (mut functions, mut code) = (FunctionSection::new(), CodeSection::new());
        let first_loop = count + 1 + locals.len() as u32;
        let loops = self.loops.into_iter().flatten();
        for (i, body) in std::iter::once(main).chain(locals).chain(loops).enumerate() {
            types.ty().function(body.params.clone(), body.results.clone());
            functions.function(count + i as u32);
            code.function(&body.function(count, first_loop));
        }
        let mut globals = GlobalSection::new();
        let int = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
        for _ in [FRAME, DEPTH] {
            globals.global(int, &ConstExpr::i32_const(0));
        }
        let mut exports = ExportSection::new();
        exports.export("part", ExportKind::Func, count);
        let mut module = Module::new();
        module.section(&types).section(&imports).section(&functions).section(&globals);
        module.section(&exports).section(&code);
        Ok(Code {
            bytes: module.finish(),
            imports: self.imports,
            checks: self.checks,
            inputs,
            layout,
            span_of_calls: self.span_of_calls,
        })
    }
}

/// A function: its types and instructions.
pub struct Body {
    pub params: Vec<ValType>,
    pub results: Vec<ValType>,
    pub locals: Vec<ValType>,
    pub code: Vec<Instruction<'static>>,
}

impl Body {
    /// The function, with the numbers of what it calls.
    fn function(&self, imports: u32, first_loop: u32) -> Function {
        let mut function = Function::new_with_locals_types(self.locals.iter().copied());
        for instruction in &self.code {
            match instruction {
                Instruction::Call(f) if *f >= IMPORTED => {
                    function.instruction(&Instruction::Call(f - IMPORTED))
                }
                Instruction::Call(f) if *f >= LOCAL => {
                    function.instruction(&Instruction::Call(imports + 1 + f - LOCAL))
                }
                Instruction::Call(f) => function.instruction(&Instruction::Call(first_loop + f - LOOP)),
                other => function.instruction(other),
            };
        }
        function.instruction(&Instruction::End);
        function
    }
}
