//! Loops as functions of their own, which run some iterations at a time.
//!
//! A browser compiles a function quickly first and better when it has turned out to run long, but what is running goes on as it is. In a kernel of
//! one position nothing but the loop itself would ever be called again.
//!
//! ```text
//! for i < n         part(i, end, state…, free…) -> state…          again while end < n
//! while …           part(state…, free…) -> state…, more            again while there is more
//! ```

use crate::emit::{Base, Done, Emitter, Operand, constant};
use crate::module::{Body as Function, val_type};
use crate::{Unsupported, prim};
use par_ir::core::{Body, LoopForm, Param};
use par_ir::prim::{CmpOp, PrimOp};
use par_ir::visit::Code;
use par_ir::{Atom, Var};
use par_runtime::{Prim, Scalar};
use std::collections::BTreeSet;
use wasm_encoder::{BlockType, Instruction as I, ValType};

/// Iterations of a call.
const ITERATIONS: i64 = 1 << 14;

/// The parts of a loop.
#[derive(Clone, Copy)]
pub struct Loop<'l> {
    pub params: &'l [(Param, Atom)],
    pub form: &'l LoopForm,
    pub body: &'l Body,
    /// Locals of the scalar parameters.
    pub state: &'l [Option<u32>],
}

impl Loop<'_> {
    /// The parameters that are scalars, with their locals.
    fn scalars(&self) -> Vec<(&Param, u32)> {
        self.params.iter().zip(self.state).filter_map(|((p, _), local)| Some((p, (*local)?))).collect()
    }

    /// Variables of the function around that the loop uses.
    fn free(&self) -> BTreeSet<Var> {
        let mut free = self.body.free();
        if let LoopForm::While(cond) = self.form {
            free.extend(cond.free());
        }
        self.params.iter().for_each(|(p, _)| drop_scalar(&mut free, p));
        free
    }
}

/// Scalar parameters are passed as state.
fn drop_scalar(free: &mut BTreeSet<Var>, p: &Param) {
    if p.ty.is_scalar() {
        free.remove(&p.var);
    }
}

/// True if a loop can be a function: its numbers have room for a part's iterations.
pub fn is_possible(form: &LoopForm) -> bool {
    !matches!(form, LoopForm::For { prim, .. } if prim.bits() < 32)
}

/// Calls a function for parts of the loop until all is done. The state is in its locals before and after.
pub fn emit(e: &mut Emitter, l: Loop) -> Done {
    let mut passed = Vec::new();
    let mut types = Vec::new();
    let number = e.parts.outlined();
    let known = e.visible(l.free());
    for (_, seen) in &known {
        if let Seen::Scalar(Operand::Local(n), p) = seen {
            passed.push(*n);
            types.push(val_type(*p));
        }
        if let Seen::Array(base) = seen
            && let Some(n) = base.at.local()
        {
            passed.push(n);
            types.push(ValType::I32);
        }
    }
    let state = l.scalars();
    let call = |e: &mut Emitter, first: &[u32], more: Option<u32>| {
        let args = first.iter().copied().chain(state.iter().map(|s| s.1)).chain(passed.iter().copied());
        e.emit(args.map(I::LocalGet).collect::<Vec<_>>());
        e.emit([I::Call(number)]);
        e.emit(more.map(I::LocalSet));
        e.emit(state.iter().rev().map(|s| I::LocalSet(s.1)).collect::<Vec<_>>());
    };
    match l.form {
        LoopForm::For { prim, bound, .. } => {
            let (bound, _) = e.operand(bound)?;
            let (i, end) = (e.local_for(*prim), e.local_for(*prim));
            let wide = val_type(*prim) == ValType::I64;
            let less = PrimOp::Cmp(CmpOp::Lt, *prim);
            let many = constant(Scalar::from_i64(*prim, ITERATIONS));
            e.emit([constant(Scalar::zero(*prim)), I::LocalSet(i)]);
            prim::emit(e, less, &[Operand::Local(i), bound])?;
            e.emit([I::If(BlockType::Empty), I::Loop(BlockType::Empty)]);
            // The end, or as many iterations further on as a part has.
            e.emit([I::LocalGet(i), many.clone(), if wide { I::I64Add } else { I::I32Add }]);
            e.push(bound);
            e.push(bound);
            e.emit([I::LocalGet(i), if wide { I::I64Sub } else { I::I32Sub }, many]);
            e.emit([if wide { I::I64GtU } else { I::I32GtU }, I::Select, I::LocalSet(end)]);
            call(e, &[i, end], None);
            e.emit([I::LocalGet(end), I::LocalSet(i)]);
            prim::emit(e, less, &[Operand::Local(i), bound])?;
            e.emit([I::BrIf(0), I::End, I::End]);
        }
        LoopForm::While(_) => {
            let more = e.local(ValType::I32);
            e.emit([I::Loop(BlockType::Empty)]);
            call(e, &[], Some(more));
            e.emit([I::LocalGet(more), I::BrIf(0), I::End]);
        }
    }
    let function = function(e, l, &known, types)?;
    e.parts.set_outlined(number, function);
    Ok(())
}

/// A variable as a function sees it.
pub enum Seen {
    Scalar(Operand, Prim),
    Array(Base),
}

/// The function of a loop.
fn function(
    e: &mut Emitter,
    l: Loop,
    known: &[(Var, Seen)],
    types: Vec<ValType>,
) -> Result<Function, Unsupported> {
    let own: Vec<Prim> = l.scalars().iter().map(|(p, _)| p.ty.prim()).collect();
    let first: Vec<ValType> = match l.form {
        LoopForm::For { prim, .. } => vec![val_type(*prim); 2],
        LoopForm::While(_) => vec![],
    };
    let before = first.len() as u32;
    let state: Vec<ValType> = own.iter().map(|p| val_type(*p)).collect();
    let params: Vec<ValType> = first.into_iter().chain(state.iter().copied()).chain(types).collect();
    let mut f = Emitter::new(e.parts, params.len() as u32);
    let mut free = before + own.len() as u32..;
    let mut next = || free.next().unwrap_or(0);
    for (v, seen) in known {
        match seen {
            Seen::Scalar(Operand::Local(_), p) => f.bind(*v, Operand::Local(next()), *p),
            Seen::Scalar(constant, p) => f.bind(*v, *constant, *p),
            Seen::Array(base) => {
                let at = base.at.local().map_or(base.at, |_| base.at.in_local(next()));
                f.bind_array(*v, Base { at, ..*base });
            }
        }
    }
    let mut locals = Vec::new();
    let mut number = before;
    for ((p, _), local) in l.params.iter().zip(l.state) {
        locals.push(local.map(|_| number));
        if local.is_some() {
            f.bind(p.var, Operand::Local(number), p.ty.prim());
            number += 1;
        }
    }
    let mut results = state;
    match l.form {
        LoopForm::For { index, prim, .. } => {
            f.bind(*index, Operand::Local(0), *prim);
            f.iterations(0, *prim, Operand::Local(1), l.body, &locals)?;
        }
        LoopForm::While(cond) => {
            results.push(ValType::I32);
            some(&mut f, cond, l.body, &locals)?;
        }
    }
    let scalars: Vec<u32> = locals.into_iter().flatten().collect();
    f.emit(scalars.into_iter().map(I::LocalGet));
    if let LoopForm::While(_) = l.form {
        let more = f.params() + f.locals.len() as u32 - 1;
        f.emit([I::LocalGet(more)]);
    }
    Ok(Function { params, results, locals: f.locals, code: f.code })
}

/// Some iterations while a condition holds. The last local says whether there may be more.
fn some(f: &mut Emitter, cond: &Body, body: &Body, state: &[Option<u32>]) -> Done {
    let count = f.local(ValType::I64);
    f.emit([I::Block(BlockType::Empty), I::Block(BlockType::Empty), I::Loop(BlockType::Empty)]);
    f.body(cond)?;
    f.push_all(&cond.results)?;
    f.emit([I::I32Eqz, I::BrIf(2)]);
    f.body(body)?;
    f.next(body, state)?;
    f.emit([I::LocalGet(count), I::I64Const(1), I::I64Add, I::LocalTee(count)]);
    f.emit([I::I64Const(ITERATIONS), I::I64LtS, I::BrIf(0), I::End, I::End]);
    let more = f.local(ValType::I32);
    f.emit([I::I32Const(1), I::LocalSet(more), I::End]);
    Ok(())
}
