//! Scalar bodies to Cranelift: variables, control flow, array reads, checks.
//!
//! Loops are guarded and tested at the bottom, where all but innermost counted ones also ask whether the run was cancelled. A failing check jumps to a cold block that writes the error record
//! and leaves the function with -1.

use super::checks::Exits;
use super::frame::Invariant;
use super::fresh::Fresh;
use super::half;
use super::import::Imports;
use super::local::Calls;
use super::ranges::Ranges;
use super::scatter::reads;
pub use crate::Result;
use crate::work;
use cranelift::prelude::*;
use cranelift_codegen::ir::{BlockArg, FuncRef, Inst, MemFlagsData};
use cranelift_module::Module;
use par_ir::access::Facts;
use par_ir::core::{At, Body, Exp, Lambda, Param, Repeat, Stm};
use par_ir::cost::{Time, operators};
use par_ir::effects::Effects;
use par_ir::hash::{HashMap, HashSet};
use par_ir::prim::PrimOp;
use par_ir::tuning;
use par_ir::ty::Atom;
use par_ir::{Prim, Scalar, Var};
use par_runtime::op::call;
use par_runtime::plan::{ErrorRecord, KernelCheck, SCATTERS};
use std::collections::BTreeSet;
use std::mem::offset_of;

/// Scalars in registers.
pub type Values = Vec<Value>;

/// The first position or number of a range, and the one behind the last.
pub type Ends = (Value, Value);

/// Code of an iteration: from a number and the state before it to the state after it.
pub trait Iteration<E>: FnOnce(&mut E, Value, &[Value]) -> Result<Values> {}

impl<E, F: FnOnce(&mut E, Value, &[Value]) -> Result<Values>> Iteration<E> for F {}

/// Base address of an array, and its element type.
#[derive(Clone, Copy)]
pub struct Base {
    pub address: Value,
    pub prim: Prim,
    /// The code writes it.
    pub changes: bool,
}

impl Base {
    /// Memory flags of its loads.
    pub fn flags(&self) -> MemFlagsData {
        if self.changes { output() } else { input() }
    }
}

/// Emits one function.
pub struct Emitter<'a> {
    pub b: FunctionBuilder<'a>,
    pub module: &'a mut dyn Module,
    /// Functions of the runtime that are called.
    pub imports: &'a mut Imports,
    /// Names for what is written here.
    pub fresh: &'a Fresh,
    /// Facts of the host's scalars.
    pub facts: &'a Facts,
    /// Checks of the kernel so far.
    pub checks: &'a mut Vec<KernelCheck>,
    pub bound: Bound,
    pub exits: Exits,
    pub nest: Nest,
    pub references: HashMap<PrimOp, FuncRef>,
    /// Flags that checks of indices may ask for.
    pub ranges: Ranges,
    /// State needed to call local functions.
    pub calls: Calls,
    /// Bytes of the widest vector registers.
    pub width: usize,
    /// Bytes of the vector registers of groups, and those that `f16`s ask for: a function has one width.
    pub widths: BTreeSet<usize>,
    /// The function counts the work that depends on the data, see [`Emitter::inner`].
    pub counting: bool,
}

/// Values of variables.
#[derive(Default)]
pub struct Bound {
    pub scalars: HashMap<Var, Value>,
    /// Vectors whose first lane is a scalar, see [`super::chains`].
    pub vectors: HashMap<Value, Value>,
    /// Types of the scalars, where known.
    pub prims: HashMap<Var, Prim>,
    pub arrays: HashMap<Var, Base>,
    /// Arguments of local functions that are in a frame.
    pub invariants: HashMap<Var, Invariant>,
    /// Arrays that the code writes: all versions of one have one base.
    pub owned: HashSet<Var>,
}

/// Loops around the code.
#[derive(Default)]
pub struct Nest {
    /// The first value of the innermost loop.
    pub inside: u32,
    /// Number of loops emitted so far.
    pub loops: usize,
}

/// The register type of a scalar. An `f16` is an `f32` in registers, see [`half`].
pub fn clif_type(p: Prim) -> Type {
    match p {
        Prim::I8 | Prim::U8 | Prim::Bool => types::I8,
        Prim::I16 | Prim::U16 => types::I16,
        Prim::I32 | Prim::U32 => types::I32,
        Prim::I64 | Prim::U64 => types::I64,
        Prim::F16 | Prim::F32 => types::F32,
        Prim::F64 => types::F64,
    }
}

/// Reads of memory that the kernel never writes.
pub fn input() -> MemFlagsData {
    MemFlagsData::new().with_notrap().with_readonly()
}

/// Reads and writes of memory that the kernel writes.
pub fn output() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

pub fn args(xs: &[Value]) -> Vec<BlockArg> {
    xs.iter().map(|x| BlockArg::Value(*x)).collect()
}

impl<'a> Emitter<'a> {
    /// A call of a function of the runtime that takes addresses and numbers.
    pub fn runtime_function(&mut self, name: String, args: &[Value], returns: &[AbiParam]) -> Inst {
        let mut signature = self.module.make_signature();
        signature.params.extend(args.iter().map(|_| AbiParam::new(types::I64)));
        signature.returns.extend(returns);
        let id = self.imports.declare(self.module, name, signature);
        let function = self.module.declare_func_in_func(id, self.b.func);
        self.b.ins().call(function, args)
    }

    pub fn constant(&mut self, x: Scalar) -> Value {
        match x {
            Scalar::F16(x) => self.b.ins().f32const(x.to_f32()),
            Scalar::F32(x) => self.b.ins().f32const(x),
            Scalar::F64(x) => self.b.ins().f64const(x),
            _ => self.b.ins().iconst(clif_type(x.prim()), x.bits() as i64),
        }
    }

    pub fn i64(&mut self, x: i64) -> Value {
        self.b.ins().iconst(types::I64, x)
    }

    pub fn atom(&mut self, a: &Atom) -> Result<Value> {
        match a {
            Atom::Const(c) => Ok(self.constant(*c)),
            Atom::Var(v) => match (self.bound.scalars.get(v), self.bound.invariants.get(v)) {
                (Some(x), _) => Ok(*x),
                (None, Some(a)) => Ok(self.scalar_in(a.word, a.prim)),
                (None, None) => Err(format!("scalar v_{} is not bound", v.0)),
            },
        }
    }

    pub fn atoms(&mut self, xs: &[Atom]) -> Result<Values> {
        xs.iter().map(|x| self.atom(x)).collect()
    }

    /// The statements of a body, and its results.
    pub fn body(&mut self, body: &Body) -> Result<Values> {
        self.stms(&body.stms)?;
        let mut results = Vec::with_capacity(body.results.len());
        for a in &body.results {
            // Arrays among the results are where they were.
            if a.var().is_none_or(|v| !self.bound.owned.contains(&v)) {
                results.push(self.atom(a)?);
            }
        }
        Ok(results)
    }

    /// Makes an array known that the code may write.
    pub fn own(&mut self, v: Var, base: Base) {
        self.bound.arrays.insert(v, Base { changes: true, ..base });
        self.bound.owned.insert(v);
    }

    /// `new` is a version of the array `old`, in the same place.
    pub fn same_place(&mut self, new: Var, old: &Atom) -> Result {
        let base = old.var().and_then(|v| self.bound.arrays.get(&v)).copied();
        self.own(new, base.ok_or("an array of a loop or branch is not bound")?);
        Ok(())
    }

    /// A body that may run any number of times per element. What it does is counted here; what the outermost body does
    /// is the same for all elements, and the launch counts it. Code that is to count must take this way for every arm
    /// and iteration that the program takes, and for no other: no arm computed for nothing, no iteration of other lanes.
    pub fn inner(&mut self, body: &Body) -> Result<Values> {
        self.count(work::of_body(body));
        self.body(body)
    }

    /// Adds to the work, if it is counted.
    pub fn count(&mut self, work: usize) {
        if !self.counting || work == 0 {
            return;
        }
        let (error, offset) = (self.word(self.exits.error), offset_of!(ErrorRecord, work) as i32);
        let before = self.b.ins().load(types::I64, output(), error, offset);
        let after = self.b.ins().iadd_imm_s(before, work as i64);
        self.b.ins().store(output(), after, error, offset);
    }

    /// Stores values at an index if it is inside, and notes it if it is not.
    pub fn scatter(
        &mut self,
        number: usize,
        (index, len): (Value, Value),
        values: impl ExactSizeIterator<Item = (Base, Value)>,
    ) {
        let inside = self.b.ins().icmp(IntCC::UnsignedLessThan, index, len);
        let (yes, no, after) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.ins().brif(inside, yes, &[], no, &[]);
        self.b.switch_to_block(yes);
        self.count(values.len());
        values.for_each(|(dest, x)| self.store(dest, index, x));
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(no);
        self.note_index(number, index);
        self.b.ins().jump(after, &[]);
        self.b.switch_to_block(after);
    }

    /// Notes where a scatter would write to.
    pub fn note_index(&mut self, number: usize, index: Value) {
        if number < SCATTERS {
            let offset = offset_of!(ErrorRecord, indices) + 8 * number;
            let error = self.word(self.exits.error);
            self.b.ins().store(output(), index, error, offset as i32);
        }
    }

    pub fn stms(&mut self, stms: &[Stm]) -> Result {
        stms.iter().try_for_each(|s| self.stm(s))
    }

    /// The results of an operator for these operands.
    pub fn lambda(&mut self, lam: &Lambda, operands: &[Value]) -> Result<Values> {
        self.with(&lam.params, &lam.body, operands)
    }

    /// The results of a body for these values of its parameters.
    pub fn with(&mut self, params: &[Param], body: &Body, operands: &[Value]) -> Result<Values> {
        self.bound.prims.extend(params.iter().map(|p| (p.var, p.ty.prim())));
        self.bound.scalars.extend(params.iter().map(|p| p.var).zip(operands.iter().copied()));
        self.body(body)
    }

    fn stm(&mut self, stm: &Stm) -> Result {
        let results = match &stm.exp {
            Exp::Update { arr, at, value } => return self.update(stm.pat[0].var, *arr, at, value),
            Exp::Atom(a) => vec![self.atom(a)?],
            Exp::Prim(op, xs) => {
                let values = self.atoms(xs)?;
                self.ranges.note(stm.pat[0].var, *op, xs);
                vec![self.prim(*op, &values, xs.get(1).and_then(|x| x.as_i64()))]
            }
            Exp::Index(arr, index) => vec![self.index(*arr, index)?],
            Exp::Check { cond, kind, args } => {
                self.check_stm(cond, kind, args, stm.span)?;
                vec![]
            }
            Exp::Call(f, xs) => self.call_local(*f, xs, stm.span)?,
            Exp::If { cond, then, other } => self.branch(cond, then, other)?,
            Exp::Loop { params, form, body } => self.loop_stm(Repeat { params, form, body })?,
            _ => return Err("a kernel body contains an operation that is not scalar".into()),
        };
        self.bound.prims.extend(stm.pat.iter().map(|p| (p.var, p.ty.prim())));
        let scalars = stm.pat.iter().filter(|p| p.ty.is_scalar());
        self.bound.scalars.extend(scalars.map(|p| p.var).zip(results));
        self.array_results(stm)
    }

    /// Binds the arrays that a branch, loop or call results in: they are where they were.
    fn array_results(&mut self, stm: &Stm) -> Result {
        let arrays = stm.pat.iter().filter(|p| !p.ty.is_scalar()).count();
        for (i, p) in stm.pat.iter().enumerate().filter(|(_, p)| !p.ty.is_scalar()) {
            let before = match &stm.exp {
                Exp::If { then, .. } => then.results[i],
                Exp::Loop { params, .. } => params[i].1,
                Exp::Call(_, xs) => xs[xs.len() - arrays + i],
                _ => return Err("a kernel body makes an array".into()),
            };
            self.same_place(p.var, &before)?;
        }
        Ok(())
    }

    fn update(&mut self, new: Var, arr: Var, at: &[At], value: &Atom) -> Result {
        self.same_place(new, &arr.into())?;
        let base = self.bound.arrays[&new];
        let [At::Index(i)] = at else {
            return Err("a kernel updates more than one element at a time".into());
        };
        let (i, x) = (self.atom(i)?, self.atom(value)?);
        self.store(base, i, x);
        Ok(())
    }

    fn index(&mut self, arr: Var, index: &[Atom]) -> Result<Value> {
        let base = self.base(arr)?;
        let [i] = index else { return Err("a kernel reads a flat array with several indices".into()) };
        let i = self.atom(i)?;
        Ok(self.load(base, i, base.flags()))
    }

    fn branch(&mut self, cond: &Atom, then: &Body, other: &Body) -> Result<Values> {
        let cond = self.atom(cond)?;
        let price = arm_price(then).zip(arm_price(other)).map(|(a, b)| a + b + then.results.len());
        if price.is_some_and(|p| p <= tuning::SELECT_OPERATORS) && !self.counting {
            let (a, b) = (self.body(then)?, self.body(other)?);
            return Ok(a.into_iter().zip(b).map(|(a, b)| self.either(cond, a, b)).collect());
        }
        let (yes, no, join) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.ins().brif(cond, yes, &[], no, &[]);
        self.b.switch_to_block(yes);
        let results = self.inner(then)?;
        let chains = self.in_vectors(&results);
        let results = self.vectors_of(&results, &chains);
        let joined = self.params_like(join, &results);
        self.b.ins().jump(join, &args(&results));
        self.b.switch_to_block(no);
        let results = self.inner(other)?;
        let results = self.vectors_of(&results, &chains);
        self.b.ins().jump(join, &args(&results));
        self.b.switch_to_block(join);
        Ok(self.first_lanes(&joined, &chains))
    }

    /// One of two values.
    fn either(&mut self, cond: Value, a: Value, b: Value) -> Value {
        let chained = self.chained(PrimOp::Select(Prim::I32), &[cond, a, b]);
        chained.unwrap_or_else(|| self.b.ins().select(cond, a, b))
    }

    /// Parameters of a block with the types of these values.
    pub fn params_like(&mut self, block: Block, xs: &[Value]) -> Vec<Value> {
        let types: Vec<Type> = xs.iter().map(|x| self.b.func.dfg.value_type(*x)).collect();
        types.into_iter().map(|t| self.b.append_block_param(block, t)).collect()
    }

    /// Goes on if a flag is set, else with another block, whose parameters become these.
    pub fn go_on_if(&mut self, flag: Value, other: Block, values: &[Value]) {
        let on = self.b.create_block();
        self.b.ins().brif(flag, on, &[], other, &args(values));
        self.b.switch_to_block(on);
    }

    /// `for lo <= i < hi`, guarded and tested at the bottom; results in the final state.
    pub fn counted(&mut self, ends: Ends, state: &[Value], body: impl Iteration<Self>) -> Result<Values> {
        self.counted_until(None, (1, IntCC::SignedLessThan), ends, state, body)
    }

    /// Says that what is made from here on is in a loop; gives the first value of the one around it, for its end.
    pub fn begin_loop(&mut self) -> u32 {
        std::mem::replace(&mut self.nest.inside, self.b.func.dfg.num_values() as u32)
    }

    /// As `counted`, in steps, to the end or until the accumulator is `absorbing`, if that is a value.
    pub fn counted_until(
        &mut self,
        absorbing: Option<bool>,
        (step, less): (i64, IntCC),
        (lo, hi): Ends,
        state: &[Value],
        body: impl Iteration<Self>,
    ) -> Result<Values> {
        let (again, exit) = (self.b.create_block(), self.b.create_block());
        let before = self.begin_loop();
        let i = self.params_like(again, &[lo])[0];
        let current = self.params_like(again, state);
        let last = self.params_like(exit, state);
        let enter = self.b.ins().icmp(less, lo, hi);
        let enter = self.not_absorbed(absorbing, enter, state);
        let first = [&[lo], state].concat();
        self.b.ins().brif(enter, again, &args(&first), exit, &args(state));
        self.b.switch_to_block(again);
        let inside = self.nest.loops;
        let next = body(self, i, &current)?;
        // An innermost loop ends soon, and asking would cost as much as its work.
        if self.nest.loops > inside {
            self.poll();
        }
        self.nest.loops += 1;
        let next_i = self.b.ins().iadd_imm_s(i, step);
        let repeat = self.b.ins().icmp(less, next_i, hi);
        let repeat = self.not_absorbed(absorbing, repeat, &next);
        let following = [&[next_i], &next[..]].concat();
        self.b.ins().brif(repeat, again, &args(&following), exit, &args(&next));
        self.b.switch_to_block(exit);
        self.nest.inside = before;
        Ok(last)
    }

    /// An operator that is a function.
    pub fn call(&mut self, op: PrimOp, xs: &[Value]) -> Value {
        if call::behind(op) != op {
            let x = self.call(call::behind(op), xs);
            return half::round(&mut self.b, x);
        }
        let function = match self.references.get(&op) {
            Some(f) => *f,
            None => {
                let f = self.declare(op);
                self.references.insert(op, f);
                f
            }
        };
        let call = self.b.ins().call(function, xs);
        self.b.inst_results(call)[0]
    }

    fn declare(&mut self, op: PrimOp) -> FuncRef {
        let module = &mut *self.module;
        let mut signature = module.make_signature();
        signature.params.extend(op.operands().into_iter().map(abi));
        signature.returns.push(abi(op.result()));
        let id = self.imports.declare(module, call::symbol(op), signature);
        module.declare_func_in_func(id, self.b.func)
    }
}

/// ABI parameter of a scalar: narrow integers are extended by the caller.
fn abi(p: Prim) -> AbiParam {
    let param = AbiParam::new(clif_type(p));
    match p {
        _ if p.is_float() || p.size() >= 4 => param,
        _ if p.is_signed() => param.sext(),
        _ => param.uext(),
    }
}

/// Short operators of an arm that neither reads nor fails, branches inside included.
pub fn arm_price(body: &Body) -> Option<usize> {
    let stays = body.has_effect() || body.stms.iter().any(reads);
    if stays { None } else { operators(&body.stms, Time::Short) }
}
