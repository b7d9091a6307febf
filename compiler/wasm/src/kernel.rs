//! The loops of a kernel: rows and their positions, or the part of them that a call is for.
//!
//! ```text
//! part(frame, first row, row behind the last, first position, position behind the last)
//! ```
//!
//! A row that begins before the part goes on from the prefixes in the frame, and one that ends behind it leaves them there. So a long row is cut
//! like many short ones, and code that a browser has compiled better meanwhile is used from the next part on.

use crate::emit::{Base, Done, Emitter, Operand, Origin};
use crate::frame::{self, Layout};
use crate::module::{Body, Code, DEPTH, FRAME, Parts, val_type};
use crate::sink::Sink;
use crate::{Unsupported, prim};
use par_ir::core::Fun;
use par_ir::flat::{Kernel, KernelKind, Ty};
use par_ir::interp::TypeOf;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::visit::Code as _;
use par_ir::{Atom, Dim, Var};
use par_runtime::{Prim, Scalar};
use std::collections::BTreeSet;
use wasm_encoder::{BlockType, Instruction as I, ValType};

/// Parameters of the function.
const PART: [ValType; 5] = [ValType::I32, ValType::I64, ValType::I64, ValType::I64, ValType::I64];
const FRAME_ADDRESS: u32 = 0;
const ROW: u32 = 1;
const LAST_ROW: u32 = 2;
const FROM: u32 = 3;
const TO: u32 = 4;

/// Generates code for a kernel. `ty` is the type of a host variable; `looks_up`: ropes are asked for where their elements are, otherwise their
/// indices are addresses.
pub fn compile(kernel: &Kernel, locals: &[Fun], ty: &TypeOf, looks_up: bool) -> Result<Code, Unsupported> {
    let mut parts = Parts::new(locals, looks_up);
    parts.outlines = matches!(kernel.space.as_flat(), Some(Atom::Const(Scalar::I64(1))));
    let inputs: Vec<Var> = free(kernel).into_iter().filter(|v| is_read(ty(*v))).collect();
    let components = components(kernel).len().max(usize::from(matches!(kernel.kind, KernelKind::Filter)));
    let mut layout = Layout { components, inputs: inputs.len(), outputs: 0 };
    layout.outputs = outputs(kernel);
    let mut e = Emitter::new(&mut parts, PART.len() as u32);
    e.emit([I::LocalGet(FRAME_ADDRESS), I::GlobalSet(FRAME), I::I32Const(0), I::GlobalSet(DEPTH)]);
    for (i, v) in inputs.iter().enumerate() {
        read(&mut e, *v, ty(*v), layout.input(i), i as u32);
    }
    let sink = Sink::new(&mut e, kernel, layout)?;
    rows(&mut e, kernel, &sink)?;
    sink.leave(&mut e);
    let main = Body { params: PART.to_vec(), results: vec![], locals: e.locals, code: e.code };
    let mut functions = Vec::new();
    while let Some(fun) = parts.called(functions.len()) {
        functions.push(Emitter::function(&mut parts, fun)?);
    }
    parts.finish(main, functions, inputs, layout)
}

/// Element types of what a kernel's operator combines.
pub fn components(kernel: &Kernel) -> Vec<Prim> {
    match &kernel.kind {
        KernelKind::Reduce { op, .. } | KernelKind::Scan { op, .. } => {
            op.ret.iter().map(|t| t.prim()).collect()
        }
        _ => Vec::new(),
    }
}

/// The number of arrays that a kernel writes.
fn outputs(kernel: &Kernel) -> usize {
    let results = kernel.body.results.len();
    match &kernel.kind {
        KernelKind::Map(outs) => outs.iter().map(|o| o.arrays()).sum(),
        KernelKind::Scan { after: Some(after), .. } => after.outs.iter().map(|o| o.arrays()).sum(),
        KernelKind::Reduce { .. } | KernelKind::Scan { .. } | KernelKind::Filter => results,
        KernelKind::Hist { dests, .. } => dests.len(),
    }
}

/// Host variables that a kernel's code uses.
fn free(kernel: &Kernel) -> BTreeSet<Var> {
    let mut free = kernel.prologue.free();
    kernel.bodies().into_iter().for_each(|b| free.extend(b.free()));
    let bound: BTreeSet<Var> = kernel.bound().into_iter().collect();
    &free - &bound
}

fn is_read(ty: Option<Ty>) -> bool {
    matches!(ty, Some(Ty::Scalar(_) | Ty::Array(_) | Ty::Rope(_)))
}

/// Makes a host variable known to the code.
fn read(e: &mut Emitter, v: Var, ty: Option<Ty>, slot: usize, number: u32) {
    match ty {
        Some(Ty::Scalar(p)) => {
            let local = slot_local(e, slot, p);
            e.bind(v, Operand::Local(local), p);
        }
        Some(Ty::Array(prim)) => {
            let at = slot_local(e, slot, Prim::U32);
            e.bind_array(v, Base { at: Origin::Address(at), prim });
        }
        Some(Ty::Rope(prim)) => e.bind_array(v, Base { at: Origin::Rope(number), prim }),
        Some(Ty::Desc) | None => {}
    }
}

/// A local with what a slot of the frame holds.
pub fn slot_local(e: &mut Emitter, slot: usize, p: Prim) -> u32 {
    let local = e.local_for(p);
    e.emit([I::LocalGet(FRAME_ADDRESS)]);
    e.load_at(p, 8 * slot as u64);
    e.emit([I::LocalSet(local)]);
    local
}

/// Puts a local into a slot of the frame.
pub fn keep(e: &mut Emitter, slot: usize, p: Prim, local: u32) {
    e.emit([I::LocalGet(FRAME_ADDRESS), I::LocalGet(local)]);
    e.store_at(p, 8 * slot as u64);
}

/// Puts the smaller (or larger) of two numbers into a local.
fn bounded(e: &mut Emitter, op: BinOp, x: u32, y: u32, into: u32) -> Done {
    prim::emit(e, PrimOp::Bin(op, Prim::I64), &[Operand::Local(x), Operand::Local(y)])?;
    e.emit([I::LocalSet(into)]);
    Ok(())
}

fn rows(e: &mut Emitter, kernel: &Kernel, sink: &Sink) -> Done {
    let [start, end, from, to, inner] = [0; 5].map(|_| e.local(ValType::I64));
    let pos = from;
    let ragged = matches!(kernel.space.innermost(), Dim::Seg(_));
    let length = slot_local(e, frame::LENGTH, if ragged { Prim::U32 } else { Prim::I64 });
    debug_assert_eq!(val_type(Prim::U32), ValType::I32);
    e.emit([I::Block(BlockType::Empty), I::Loop(BlockType::Empty)]);
    e.emit([I::LocalGet(ROW), I::LocalGet(LAST_ROW), I::I64GeS, I::BrIf(1)]);
    if ragged {
        let starts = Base { at: Origin::Address(length), prim: Prim::I64 };
        e.element(starts, Operand::Local(ROW));
        let address = e.local(ValType::I32);
        e.emit([I::LocalTee(address)]);
        e.load_at(Prim::I64, 0);
        e.emit([I::LocalSet(start), I::LocalGet(address)]);
        e.load_at(Prim::I64, 8);
        e.emit([I::LocalSet(end)]);
    } else {
        e.emit([I::LocalGet(ROW), I::LocalGet(length), I::I64Mul, I::LocalTee(start)]);
        e.emit([I::LocalGet(length), I::I64Add, I::LocalSet(end)]);
    }
    bounded(e, BinOp::Max, start, FROM, from)?;
    bounded(e, BinOp::Min, end, TO, to)?;
    e.emit([I::LocalGet(start), I::LocalGet(FROM), I::I64GeS, I::If(BlockType::Empty)]);
    sink.begin_row(e);
    e.emit([I::End]);
    e.bind(kernel.row, Operand::Local(ROW), Prim::I64);
    let outer = kernel.index.len() - 1;
    kernel.index[..outer].iter().for_each(|v| e.bind(*v, Operand::Local(ROW), Prim::I64));
    kernel.prologue.iter().try_for_each(|s| e.stm(s))?;
    e.bind(kernel.pos, Operand::Local(pos), Prim::I64);
    if kernel.innermost() != kernel.pos {
        e.bind(kernel.innermost(), Operand::Local(inner), Prim::I64);
    }
    e.emit([I::LocalGet(pos), I::LocalGet(to), I::I64LtS, I::If(BlockType::Empty)]);
    e.emit([I::Loop(BlockType::Empty)]);
    e.emit([I::LocalGet(pos), I::LocalGet(start), I::I64Sub, I::LocalSet(inner)]);
    e.body(&kernel.body)?;
    sink.element(e, &kernel.body.results, pos)?;
    e.emit([I::LocalGet(pos), I::I64Const(1), I::I64Add, I::LocalTee(pos)]);
    e.emit([I::LocalGet(to), I::I64LtS, I::BrIf(0), I::End, I::End]);
    e.emit([I::LocalGet(to), I::LocalGet(end), I::I64Eq, I::If(BlockType::Empty)]);
    sink.end_row(e, ROW);
    e.emit([I::End]);
    e.emit([I::LocalGet(ROW), I::I64Const(1), I::I64Add, I::LocalSet(ROW), I::Br(0), I::End, I::End]);
    Ok(())
}
