//! Local functions: recursion inside kernels.
//!
//! Each kernel has its own copies of the functions it calls, so that their checks are the kernel's. A function takes
//!
//! ```text
//! frame     address of the invariant arguments, see [`super::frame`]
//! …         its other arguments; for an array the address of its first element
//! rest      address for the results for which there are no registers, if there are such
//! ```
//!
//! and returns a status, 1 after a failed check or cancellation, and its results. The stack is memory that the thread keeps for such kernels. A function's call of itself in tail position is a jump.

use super::Compiler;
use super::base_case::BaseCase;
use super::checks::Exits;
use super::emit::{Base, Emitter, Result, Values, args, clif_type};
use super::frame::{Invariant, Offsets, Word, offset};
use super::lanes;
use crate::{free, work};
use cranelift::prelude::*;
use cranelift_codegen::ir::{FuncRef, MemFlagsData, UserFuncName};
use cranelift_codegen::isa::CallConv;
use cranelift_module::{FuncId, Linkage, Module};
use par_ir::core::{Body, Exp, Fun, FunId, Param, Stm};
use par_ir::flat::Kernel;
use par_ir::hash::HashMap;
use par_ir::ty::Atom;
use par_ir::{CheckKind, Span, Var};
use par_runtime::plan::KernelCheck;
use std::rc::Rc;

/// A function that a kernel may call: its code, and what may be asked before.
#[derive(Clone)]
pub struct Callee {
    id: FuncId,
    returns: Rc<Returns>,
    base_case: Option<Rc<BaseCase>>,
    /// Its parameters, with the offsets of those that are in the frame.
    pub params: Rc<Vec<(Param, Option<i32>)>>,
    /// Bytes of the frame.
    pub frame: u32,
    /// The last parameters, so many, which are arrays that it updates.
    states: usize,
}

/// Results of a local function: their types, and which are left in memory, each in eight bytes.
pub struct Returns {
    types: Vec<Type>,
    in_memory: Vec<bool>,
}

impl Returns {
    /// Registers for results, of integers and of floats; one is for the status.
    const REGISTERS: [usize; 2] = [6, 8];

    fn of(fun: &Fun) -> Returns {
        let types: Vec<Type> = fun.ret[fun.states()..].iter().map(|p| clif_type(p.ty.prim())).collect();
        let mut left = Returns::REGISTERS;
        let in_memory = types.iter().map(|ty| {
            let left = &mut left[usize::from(ty.is_float())];
            let is_full = *left == 0;
            *left = left.saturating_sub(1);
            is_full
        });
        Returns { in_memory: in_memory.collect(), types }
    }

    fn in_registers(&self) -> impl Iterator<Item = Type> {
        self.types.iter().zip(&self.in_memory).filter(|(_, m)| !**m).map(|(ty, _)| *ty)
    }

    fn bytes(&self) -> u32 {
        8 * self.in_memory.iter().filter(|m| **m).count() as u32
    }
}

/// The compiled functions that a kernel may call.
pub type Callees = HashMap<FunId, Callee>;

/// State that an emitter needs to call local functions, and to leave the function it emits.
pub struct Calls {
    pub callees: Callees,
    references: HashMap<FunId, FuncRef>,
    /// Lowest address for the stack.
    pub lowest: Option<Word>,
    /// The address of the frame, if this is a local function.
    pub frame: Option<Value>,
    /// The results, if this is a local function, and the address for those without registers.
    returns: Option<(Rc<Returns>, Option<Value>)>,
    /// The function itself, and where it starts again with other arguments.
    start: Option<(FunId, Block)>,
    /// Leaves the function after a callee failed, once there is a call.
    failed: Option<Block>,
}

impl Calls {
    /// For a function of a kernel itself.
    pub fn of_kernel(callees: &Callees) -> Calls {
        let (callees, references) = (callees.clone(), HashMap::default());
        Calls { callees, references, lowest: None, frame: None, returns: None, start: None, failed: None }
    }

    /// True for a parameter that its function updates.
    fn updates(&self, v: Var) -> bool {
        self.callees.values().any(|c| c.params[c.params.len() - c.states..].iter().any(|(p, _)| p.var == v))
    }

    /// True if anything is called.
    pub fn any(&self) -> bool {
        !self.callees.is_empty()
    }
}

impl<M: Module> Compiler<'_, M> {
    /// Compiles the functions that a kernel calls.
    pub fn locals(&mut self, kernel: &Kernel, name: &str, checks: &mut Vec<KernelCheck>) -> Result<Callees> {
        let funs = free::callees(kernel, self.locals);
        let mut callees = Callees::default();
        let offsets = Offsets::of(&funs, self.locals);
        for f in &funs {
            let fun = &self.locals[f.0 as usize];
            let symbol = format!("{name}_{}_{}", fun.name, f.0);
            let returns = Rc::new(Returns::of(fun));
            let params = Rc::new(offsets.parameters(*f, fun));
            let signature = self.local_signature(&params, &returns);
            let id = self.module.declare_function(&symbol, Linkage::Local, &signature);
            // What is counted is counted by the function.
            let base_case = if self.counting { None } else { BaseCase::of(fun).map(Rc::new) };
            let id = id.map_err(|e| format!("{symbol}: {e:?}"))?;
            let (frame, states) = (offsets.bytes(), fun.states());
            callees.insert(*f, Callee { id, returns, base_case, params, frame, states });
        }
        for f in funs {
            self.local(f, name, &callees, checks)?;
        }
        Ok(callees)
    }

    fn local_signature(&self, params: &[(Param, Option<i32>)], returns: &Returns) -> Signature {
        let mut signature = Signature::new(CallConv::Tail);
        signature.params.push(AbiParam::new(types::I64));
        signature.params.extend(varying(params).map(|p| AbiParam::new(param_type(p))));
        signature.params.extend((returns.bytes() > 0).then(|| AbiParam::new(types::I64)));
        signature.returns.push(AbiParam::new(types::I8));
        signature.returns.extend(returns.in_registers().map(AbiParam::new));
        signature
    }

    fn local(&mut self, f: FunId, name: &str, callees: &Callees, checks: &mut Vec<KernelCheck>) -> Result {
        par_runtime::cancel::poll();
        let locals = self.locals;
        let fun = &locals[f.0 as usize];
        let Callee { id, ref returns, ref params, .. } = callees[&f];
        self.context.func.signature = self.local_signature(params, returns);
        self.context.func.name = UserFuncName::user(0, id.as_u32());
        let config = self.module.isa().frontend_config();
        let word = |frame: Value, offset| Word::Memory(frame, offset);
        let exits = |values: &[Value]| {
            let [at, error, cancel] =
                [offset::POS, offset::ERROR, offset::CANCEL].map(|o| word(values[0], o));
            Exits::new(at, error, cancel)
        };
        let (mut e, values) = self.emitter(exits, callees, checks, lanes::BYTES);
        let start = e.b.create_block();
        let operands: Vec<Value> =
            varying(params).map(|p| e.b.append_block_param(start, param_type(p))).collect();
        let (frame, (own, rest)) = (values[0], values[1..].split_at(operands.len()));
        e.b.ins().jump(start, &args(own));
        e.b.switch_to_block(start);
        e.calls.lowest = Some(word(frame, offset::LOWEST));
        e.calls.frame = Some(frame);
        e.calls.start = Some((f, start));
        e.calls.returns = Some((returns.clone(), rest.first().copied()));
        let params_of_all = callees.values().flat_map(|callee| callee.params.iter());
        e.bound.invariants.extend(params_of_all.filter_map(|(p, at)| {
            let (word, prim) = (word(frame, (*at)?), p.ty.prim());
            Some((p.var, Invariant { word, prim, is_array: !p.ty.is_scalar() }))
        }));
        e.bound.prims.extend(e.bound.invariants.iter().map(|(v, a)| (*v, a.prim)));
        e.bind_params(varying(params), &operands);
        e.poll();
        e.tail(&fun.body)?;
        e.b.seal_all_blocks();
        e.b.finalize(config);
        self.define(id, &format!("{name}_{}", fun.name))
    }
}

impl Emitter<'_> {
    /// From here the stack may grow by so many bytes.
    pub fn limit_stack(&mut self, bytes: Value) {
        let here = self.b.ins().get_stack_pointer(types::I64);
        self.calls.lowest = Some(self.b.ins().isub(here, bytes).into());
    }

    /// Leaves the function because something failed.
    pub fn leave(&mut self) {
        let Some((returns, _)) = self.calls.returns.clone() else {
            let failure = self.i64(-1);
            self.b.ins().return_(&[failure]);
            return;
        };
        let mut results = vec![self.b.ins().iconst(types::I8, 1)];
        for ty in returns.in_registers() {
            results.push(match ty {
                types::F32 => self.b.ins().f32const(0.0),
                types::F64 => self.b.ins().f64const(0.0),
                int => self.b.ins().iconst(int, 0),
            });
        }
        self.b.ins().return_(&results);
    }

    /// Binds parameters of a local function.
    pub fn bind_params<'p>(&mut self, params: impl Iterator<Item = &'p Param>, operands: &[Value]) {
        for (p, x) in params.zip(operands) {
            let prim = p.ty.prim();
            self.bound.prims.insert(p.var, prim);
            if p.ty.is_scalar() {
                self.bound.scalars.insert(p.var, *x);
            } else {
                let base = Base { address: *x, prim, changes: false };
                match self.calls.updates(p.var) {
                    true => self.own(p.var, base),
                    false => _ = self.bound.arrays.insert(p.var, base),
                }
            }
        }
    }

    /// The parameters that a call here takes arguments for, with their places: in a local function, those in the frame are not among them.
    pub fn parameters(&self, f: FunId) -> Vec<(usize, Param)> {
        let in_function = self.calls.frame.is_some();
        let all = self.calls.callees[&f].params.iter().enumerate();
        let taken = all.filter(|(_, (_, at))| !(in_function && at.is_some()));
        taken.map(|(i, (p, _))| (i, p.clone())).collect()
    }

    /// The arguments for these parameters: scalars, and addresses of arrays.
    fn arguments(&mut self, f: FunId, xs: &[Atom]) -> Result<Values> {
        let parameters = self.parameters(f);
        let argument = |(i, p): (usize, Param)| match xs[i] {
            Atom::Var(v) if !p.ty.is_scalar() => Ok(self.base(v)?.address),
            x => self.atom(&x),
        };
        parameters.into_iter().map(argument).collect()
    }

    /// A function's body: results are returned, a last call of the function itself starts it again.
    fn tail(&mut self, body: &Body) -> Result {
        self.count(work::of_body(body));
        if let Some((last, before)) = body.stms.split_last()
            && last.pat.iter().map(|p| Atom::Var(p.var)).eq(body.results.iter().copied())
        {
            match &last.exp {
                Exp::Call(f, xs) => {
                    if let Some((own, start)) = self.calls.start
                        && own == *f
                    {
                        self.stms(before)?;
                        let operands = self.arguments(own, xs)?;
                        self.b.ins().jump(start, &args(&operands));
                        return Ok(());
                    }
                }
                Exp::If { cond, then, other } if has_call(then) || has_call(other) => {
                    self.stms(before)?;
                    let cond = self.atom(cond)?;
                    let (yes, no) = (self.b.create_block(), self.b.create_block());
                    self.b.ins().brif(cond, yes, &[], no, &[]);
                    for (block, arm) in [(yes, then), (no, other)] {
                        self.b.switch_to_block(block);
                        self.tail(arm)?;
                    }
                    return Ok(());
                }
                _ => {}
            }
        }
        let results = self.body(body)?;
        self.give(results);
        Ok(())
    }

    /// Returns a local function's results.
    fn give(&mut self, results: Vec<Value>) {
        let mut given = vec![self.b.ins().iconst(types::I8, 0)];
        match self.calls.returns.clone() {
            Some((returns, Some(rest))) => {
                let mut at = 0;
                for (x, in_memory) in results.into_iter().zip(&returns.in_memory) {
                    if *in_memory {
                        self.b.ins().store(MemFlagsData::trusted(), x, rest, at);
                        at += 8;
                    } else {
                        given.push(x);
                    }
                }
            }
            _ => given.extend(results),
        }
        self.b.ins().return_(&given);
    }

    /// A call.
    pub fn call_local(&mut self, f: FunId, xs: &[Atom], span: Span) -> Result<Values> {
        let operands = self.arguments(f, xs)?;
        let callee = self.calls.callees.get(&f).ok_or("a call of a function that is not compiled")?;
        match callee.base_case.clone() {
            Some(base_case) => {
                // Only the function itself asks whether the run is to be stopped.
                self.nest.loops += 1;
                self.call_unless_base_case((f, &base_case), &operands, span)
            }
            None => self.call_whole(f, &operands, span),
        }
    }

    /// Fails if the stack is used up or the callee fails.
    pub fn call_whole(&mut self, f: FunId, operands: &[Value], span: Span) -> Result<Values> {
        let (frame, varying) = self.frame_for(f, operands)?;
        let lowest = self.calls.lowest.ok_or("a call outside of what may call")?;
        let lowest = self.word(lowest);
        let here = self.b.ins().get_stack_pointer(types::I64);
        let room = self.b.ins().icmp(IntCC::UnsignedGreaterThan, here, lowest);
        self.check(room, &CheckKind::TooDeep, &[], &[], span)?;
        let callee = self.reference(f)?;
        let returns = self.calls.callees[&f].returns.clone();
        let rest = (returns.bytes() > 0).then(|| {
            let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, returns.bytes(), 3);
            let slot = self.b.create_sized_stack_slot(slot);
            self.b.ins().stack_addr(types::I64, slot, 0)
        });
        let mut all = [&[frame], varying.as_slice()].concat();
        all.extend(rest);
        let call = self.b.ins().call(callee, &all);
        let given = self.b.inst_results(call).to_vec();
        self.go_on_unless(given[0]);
        let (mut given, mut at) = (given.into_iter().skip(1), 0);
        let mut results = Vec::new();
        for (ty, in_memory) in returns.types.iter().zip(&returns.in_memory) {
            match rest.filter(|_| *in_memory) {
                Some(rest) => {
                    results.push(self.b.ins().load(*ty, MemFlagsData::trusted(), rest, at));
                    at += 8;
                }
                None => results.extend(given.next()),
            }
        }
        Ok(results)
    }

    /// Leaves the function if a callee's status says that it failed.
    fn go_on_unless(&mut self, status: Value) {
        self.calls.failed = Some(self.leave_if(status, self.calls.failed, |_| ()));
    }

    fn reference(&mut self, f: FunId) -> Result<FuncRef> {
        let id = self.calls.callees.get(&f).ok_or("a call of a function that is not compiled")?.id;
        let (module, func) = (&mut *self.module, &mut *self.b.func);
        Ok(*self.calls.references.entry(f).or_insert_with(|| module.declare_func_in_func(id, func)))
    }
}

/// The parameters that are not in the frame.
fn varying(params: &[(Param, Option<i32>)]) -> impl Iterator<Item = &Param> {
    params.iter().filter(|(_, at)| at.is_none()).map(|(p, _)| p)
}

fn param_type(p: &Param) -> Type {
    if p.ty.is_scalar() { clif_type(p.ty.prim()) } else { types::I64 }
}

fn has_call(body: &Body) -> bool {
    let calls = |s: &Stm| matches!(s.exp, Exp::Call(..)) || s.exp.bodies().into_iter().any(has_call);
    body.stms.iter().any(calls)
}
