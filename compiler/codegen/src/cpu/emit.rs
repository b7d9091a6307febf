//! Scalar bodies to Cranelift: variables, control flow, array reads, checks.
//!
//! Loops are guarded and tested at the bottom, where all but innermost counted ones also ask whether the run was cancelled. A failing check jumps to a cold block that writes the error record
//! and leaves the function with -1.

use super::fresh::Fresh;
use super::half;
use super::import::Imports;
use super::local::Calls;
use super::ranges::Ranges;
use super::scatter::reads;
use crate::work;
use cranelift::prelude::*;
use cranelift_codegen::ir::{BlockArg, FuncRef, Inst, InstructionData, MemFlagsData, Opcode};
use cranelift_module::Module;
use par_ir::access::Facts;
use par_ir::core::{At, Body, Exp, Lambda, Param, Stm};
use par_ir::cost::{Time, operators};
use par_ir::effects::Effects;
use par_ir::prim::PrimOp;
use par_ir::tuning;
use par_ir::ty::Atom;
use par_ir::{CheckKind, Prim, Scalar, Span, Var};
use par_runtime::op::call;
use par_runtime::plan::{ErrorRecord, KernelCheck, SCATTERS};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::mem::offset_of;

/// A body that cannot be compiled: text for the developer, since flattening makes none.
pub type Unsupported = String;

/// Where an array starts, and its element type.
#[derive(Clone, Copy)]
pub struct Base {
    pub address: Value,
    pub prim: Prim,
    /// The code writes it.
    pub changes: bool,
}

impl Base {
    /// How it is read.
    pub fn flags(&self) -> MemFlagsData {
        if self.changes { output() } else { input() }
    }
}

/// The terms of an index.
#[derive(Default)]
struct Terms {
    /// Made before the loop.
    before: Vec<Value>,
    /// Made in it.
    inside: Vec<Value>,
    /// The sum of those that are known.
    constant: i64,
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
    /// What is in memory for all calls of local functions.
    pub kept: HashMap<Var, Kept>,
    /// Arrays that the code writes: all versions of one have one base.
    pub owned: HashSet<Var>,
}

/// A number that does not change: in a register, or in memory, from where it is read when it is needed.
#[derive(Clone, Copy)]
pub enum Word {
    Register(Value),
    Memory(Value, i32),
}

/// A scalar, or the address of an array, that is the same for all calls.
#[derive(Clone, Copy)]
pub struct Kept {
    pub word: Word,
    pub prim: Prim,
    pub is_array: bool,
}

impl From<Value> for Word {
    fn from(x: Value) -> Word {
        Word::Register(x)
    }
}

/// Early exits of the function, and the operands of error records.
pub struct Exits {
    /// Position of the current element, for errors.
    pub pos: Word,
    /// Address of the error record.
    pub error: Word,
    /// Address of the cancellation flag.
    pub cancel: Word,
    /// Where to go if a check fails, if it is not reported here.
    pub escape: Option<Block>,
    /// Leaves the function because of cancellation, once something may.
    pub stop: Option<Block>,
}

impl Exits {
    /// From these parameters of the function.
    pub fn new(pos: Word, error: Word, cancel: Word) -> Exits {
        Exits { pos, error, cancel, escape: None, stop: None }
    }
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

    pub fn atom(&mut self, a: &Atom) -> Result<Value, Unsupported> {
        match a {
            Atom::Const(c) => Ok(self.constant(*c)),
            Atom::Var(v) => match (self.bound.scalars.get(v), self.bound.kept.get(v)) {
                (Some(x), _) => Ok(*x),
                (None, Some(kept)) => Ok(self.kept(kept.word, kept.prim)),
                (None, None) => Err(format!("scalar v_{} is not bound", v.0)),
            },
        }
    }

    /// A scalar that is kept.
    fn kept(&mut self, word: Word, prim: Prim) -> Value {
        match word {
            Word::Register(x) => x,
            Word::Memory(address, offset) => self.load_at(prim, output(), address, offset),
        }
    }

    /// A word of 64 bits that is kept.
    pub fn word(&mut self, word: Word) -> Value {
        self.kept(word, Prim::I64)
    }

    /// Where an array is.
    pub fn base(&mut self, v: Var) -> Result<Base, Unsupported> {
        match (self.bound.arrays.get(&v), self.bound.kept.get(&v).copied()) {
            (Some(base), _) => Ok(*base),
            (None, Some(kept)) => Ok(Base { address: self.word(kept.word), prim: kept.prim, changes: false }),
            (None, None) => Err(format!("array v_{} is not bound", v.0)),
        }
    }

    pub fn atoms(&mut self, xs: &[Atom]) -> Result<Vec<Value>, Unsupported> {
        xs.iter().map(|x| self.atom(x)).collect()
    }

    /// The statements of a body, and its results.
    pub fn body(&mut self, body: &Body) -> Result<Vec<Value>, Unsupported> {
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
    pub fn same_place(&mut self, new: Var, old: &Atom) -> Result<(), Unsupported> {
        let base = old.var().and_then(|v| self.bound.arrays.get(&v)).copied();
        self.own(new, base.ok_or("an array of a loop or branch is not bound")?);
        Ok(())
    }

    /// A body that may run any number of times per element. What it does is counted here; what the outermost body does
    /// is the same for all elements, and the launch counts it. Code that is to count must take this way for every arm
    /// and iteration that the program takes, and for no other: no arm computed for nothing, no iteration of other lanes.
    pub fn inner(&mut self, body: &Body) -> Result<Vec<Value>, Unsupported> {
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

    pub fn stms(&mut self, stms: &[Stm]) -> Result<(), Unsupported> {
        stms.iter().try_for_each(|s| self.stm(s))
    }

    /// The results of an operator for these operands.
    pub fn lambda(&mut self, lam: &Lambda, operands: &[Value]) -> Result<Vec<Value>, Unsupported> {
        self.with(&lam.params, &lam.body, operands)
    }

    /// The results of a body for these values of its parameters.
    pub fn with(
        &mut self,
        params: &[Param],
        body: &Body,
        operands: &[Value],
    ) -> Result<Vec<Value>, Unsupported> {
        self.bound.prims.extend(params.iter().map(|p| (p.var, p.ty.prim())));
        self.bound.scalars.extend(params.iter().map(|p| p.var).zip(operands.iter().copied()));
        self.body(body)
    }

    fn stm(&mut self, stm: &Stm) -> Result<(), Unsupported> {
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
            Exp::Loop { params, form, body } => self.loop_stm(params, form, body)?,
            _ => return Err("a kernel body contains an operation that is not scalar".into()),
        };
        self.bound.prims.extend(stm.pat.iter().map(|p| (p.var, p.ty.prim())));
        let scalars = stm.pat.iter().filter(|p| p.ty.is_scalar());
        self.bound.scalars.extend(scalars.map(|p| p.var).zip(results));
        self.array_results(stm)
    }

    /// Binds the arrays that a branch or loop results in: they are where they were.
    fn array_results(&mut self, stm: &Stm) -> Result<(), Unsupported> {
        for (i, p) in stm.pat.iter().enumerate().filter(|(_, p)| !p.ty.is_scalar()) {
            let before = match &stm.exp {
                Exp::If { then, .. } => then.results[i],
                Exp::Loop { params, .. } => params[i].1,
                _ => return Err("a kernel body makes an array".into()),
            };
            self.same_place(p.var, &before)?;
        }
        Ok(())
    }

    fn update(&mut self, new: Var, arr: Var, at: &[At], value: &Atom) -> Result<(), Unsupported> {
        self.same_place(new, &arr.into())?;
        let base = self.bound.arrays[&new];
        let [At::Index(i)] = at else {
            return Err("a kernel updates more than one element at a time".into());
        };
        let (i, x) = (self.atom(i)?, self.atom(value)?);
        self.store(base, i, x);
        Ok(())
    }

    fn index(&mut self, arr: Var, index: &[Atom]) -> Result<Value, Unsupported> {
        let base = self.base(arr)?;
        let [i] = index else { return Err("a kernel reads a flat array with several indices".into()) };
        let i = self.atom(i)?;
        Ok(self.load(base, i, base.flags()))
    }

    /// Address of element `i`.
    pub fn element(&mut self, base: Base, i: Value) -> Value {
        let offset = match base.prim.size().trailing_zeros() {
            0 => i,
            shift => self.b.ins().ishl_imm_u(i, shift as i64),
        };
        self.b.ins().iadd(base.address, offset)
    }

    /// The address of an element, and an offset in bytes from there: what is added to an index costs nothing in an address. The part of the index that is the
    /// same in all iterations of the loop is one number with the array's address, computed before.
    pub fn element_at(&mut self, base: Base, i: Value) -> (Value, i32) {
        let mut terms = Terms::default();
        self.terms(i, tuning::INDEX_TERMS, &mut terms);
        let size = base.prim.size() as i64;
        let offset = terms.constant.checked_mul(size).filter(|n| n.unsigned_abs() < 1 << 20);
        if let (Some(offset), Some(fixed), Some(varies)) =
            (offset, self.sum(&terms.before), self.sum(&terms.inside))
        {
            let address = self.element(base, fixed);
            return (self.element(Base { address, ..base }, varies), offset as i32);
        }
        let (mut from, mut offset) = (i, 0i64);
        while let Some((x, c)) = self.shifted(from) {
            let sum = offset.wrapping_add(c.wrapping_mul(size));
            if sum.unsigned_abs() >= 1 << 20 || c.unsigned_abs() >= 1 << 20 {
                break;
            }
            (from, offset) = (x, sum);
        }
        (self.element(base, from), offset as i32)
    }

    /// Takes a sum apart.
    fn terms(&mut self, x: Value, depth: usize, to: &mut Terms) {
        if let Some(c) = self.known(x) {
            to.constant = to.constant.wrapping_add(c);
            return;
        }
        if x.as_u32() < self.nest.inside {
            to.before.push(x);
            return;
        }
        let dfg = &self.b.func.dfg;
        match dfg.value_def(x).inst().map(|i| dfg.insts[i]) {
            Some(InstructionData::Binary { opcode: Opcode::Iadd, args: [a, b] }) if depth > 0 => {
                self.terms(a, depth - 1, to);
                self.terms(b, depth - 1, to);
            }
            Some(InstructionData::Binary { opcode: Opcode::Isub, args: [a, b] }) if depth > 0 => {
                match self.known(b) {
                    Some(c) => to.constant = to.constant.wrapping_sub(c),
                    None if b.as_u32() < self.nest.inside => {
                        let negative = self.b.ins().ineg(b);
                        to.before.push(negative);
                    }
                    None => return to.inside.push(x),
                }
                self.terms(a, depth - 1, to);
            }
            _ => to.inside.push(x),
        }
    }

    fn sum(&mut self, terms: &[Value]) -> Option<Value> {
        let (first, rest) = terms.split_first()?;
        Some(rest.iter().fold(*first, |sum, x| self.b.ins().iadd(sum, *x)))
    }

    /// A value and a constant of which this is the sum; the constant is 0 if there is no other.
    pub fn without_constant(&self, i: Value) -> (Value, i64) {
        let (mut from, mut constant) = (i, 0i64);
        while let Some((x, c)) = self.shifted(from) {
            (from, constant) = (x, constant.wrapping_add(c));
        }
        (from, constant)
    }

    /// The value and the constant of which this is the sum.
    fn shifted(&self, i: Value) -> Option<(Value, i64)> {
        let dfg = &self.b.func.dfg;
        let InstructionData::Binary { opcode: Opcode::Iadd, args: [x, c] } =
            dfg.insts[dfg.value_def(i).inst()?]
        else {
            return None;
        };
        Some((x, self.known(c)?))
    }

    /// An integer that is a constant.
    pub fn known(&self, x: Value) -> Option<i64> {
        let dfg = &self.b.func.dfg;
        match dfg.insts[dfg.value_def(x).inst()?] {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => Some(imm.bits()),
            _ => None,
        }
    }

    pub fn load(&mut self, base: Base, i: Value, flags: MemFlagsData) -> Value {
        let (address, offset) = self.element_at(base, i);
        self.load_at(base.prim, flags, address, offset)
    }

    /// The scalar at an address.
    pub fn load_at(&mut self, prim: Prim, flags: MemFlagsData, address: Value, offset: i32) -> Value {
        if prim != Prim::F16 {
            return self.b.ins().load(clif_type(prim), flags, address, offset);
        }
        let bits = self.b.ins().uload16(types::I32, flags, address, offset);
        half::expand(&mut self.b, bits)
    }

    /// Stores a scalar at an address.
    pub fn store_at(&mut self, prim: Prim, x: Value, address: Value, offset: i32) {
        if prim != Prim::F16 {
            self.b.ins().store(output(), x, address, offset);
            return;
        }
        let bits = half::compress(&mut self.b, x);
        self.b.ins().istore16(output(), bits, address, offset);
    }

    pub fn store(&mut self, base: Base, i: Value, x: Value) {
        let (address, offset) = self.element_at(base, i);
        self.store_at(base.prim, x, address, offset);
    }

    fn check_stm(
        &mut self,
        cond: &Atom,
        kind: &CheckKind,
        args: &[Atom],
        span: Span,
    ) -> Result<(), Unsupported> {
        let values = self.atoms(args)?;
        let cond = match self.ranges.checked(cond, kind, args) {
            Some(_) => self.b.ins().icmp(IntCC::UnsignedLessThan, values[0], values[1]),
            None => self.atom(cond)?,
        };
        self.check(cond, kind, args, &values, span)
    }

    /// Leaves the function unless `cond` holds, or goes where the failure is found again.
    pub fn check(
        &mut self,
        cond: Value,
        kind: &CheckKind,
        args: &[Atom],
        values: &[Value],
        span: Span,
    ) -> Result<(), Unsupported> {
        if let Some(escape) = self.exits.escape {
            let ok = self.b.create_block();
            self.b.ins().brif(cond, ok, &[], escape, &[]);
            self.b.switch_to_block(ok);
            return Ok(());
        }
        let number = self.checks.len() as i64;
        let prims: Vec<Prim> = args.iter().map(|a| self.prim_of(a)).collect::<Result<_, _>>()?;
        self.checks.push(KernelCheck { kind: kind.clone(), args: prims.clone(), span });
        let (ok, failed) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(failed);
        self.b.ins().brif(cond, ok, &[], failed, &[]);
        self.b.switch_to_block(failed);
        let number = self.i64(number);
        let (pos, error) = (self.word(self.exits.pos), self.word(self.exits.error));
        self.b.ins().store(output(), number, error, offset_of!(ErrorRecord, check) as i32);
        self.b.ins().store(output(), pos, error, offset_of!(ErrorRecord, pos) as i32);
        for (i, (x, prim)) in values.iter().zip(prims).take(4).enumerate() {
            self.store_at(prim, *x, error, (offset_of!(ErrorRecord, args) + 8 * i) as i32);
        }
        self.leave();
        self.b.switch_to_block(ok);
        Ok(())
    }

    fn prim_of(&self, a: &Atom) -> Result<Prim, Unsupported> {
        match a {
            Atom::Const(c) => Ok(c.prim()),
            Atom::Var(v) => self.bound.prims.get(v).copied().ok_or_else(|| format!("v_{} has no type", v.0)),
        }
    }

    /// Leaves the function if the run is to be stopped.
    pub fn poll(&mut self) {
        // Atomic, so that no pass takes it for a load that gives what it gave the last time.
        let cancel = self.word(self.exits.cancel);
        let flag = self.b.ins().atomic_load(types::I8, MemFlagsData::trusted(), cancel);
        let on = self.b.create_block();
        let (stop, is_new) = match self.exits.stop {
            Some(stop) => (stop, false),
            None => (self.b.create_block(), true),
        };
        self.b.ins().brif(flag, stop, &[], on, &[]);
        if is_new {
            self.exits.stop = Some(stop);
            self.b.set_cold_block(stop);
            self.b.switch_to_block(stop);
            let (check, pos) = (self.i64(ErrorRecord::CANCELLED), self.i64(i64::MIN));
            let error = self.word(self.exits.error);
            self.b.ins().store(output(), check, error, offset_of!(ErrorRecord, check) as i32);
            self.b.ins().store(output(), pos, error, offset_of!(ErrorRecord, pos) as i32);
            self.leave();
        }
        self.b.switch_to_block(on);
    }

    fn branch(&mut self, cond: &Atom, then: &Body, other: &Body) -> Result<Vec<Value>, Unsupported> {
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

    /// `for lo <= i < hi`, guarded and tested at the bottom; results in the final state.
    pub fn counted(
        &mut self,
        less: IntCC,
        lo: Value,
        hi: Value,
        state: &[Value],
        body: impl FnOnce(&mut Self, Value, &[Value]) -> Result<Vec<Value>, Unsupported>,
    ) -> Result<Vec<Value>, Unsupported> {
        self.counted_by(1, less, lo, hi, state, body)
    }

    /// Says that what is made from here on is in a loop; gives the first value of the one around it, for its end.
    pub fn begin_loop(&mut self) -> u32 {
        std::mem::replace(&mut self.nest.inside, self.b.func.dfg.num_values() as u32)
    }

    /// As `counted`, in steps.
    pub fn counted_by(
        &mut self,
        step: i64,
        less: IntCC,
        lo: Value,
        hi: Value,
        state: &[Value],
        body: impl FnOnce(&mut Self, Value, &[Value]) -> Result<Vec<Value>, Unsupported>,
    ) -> Result<Vec<Value>, Unsupported> {
        let (again, exit) = (self.b.create_block(), self.b.create_block());
        let before = self.begin_loop();
        let i = self.params_like(again, &[lo])[0];
        let current = self.params_like(again, state);
        let last = self.params_like(exit, state);
        let enter = self.b.ins().icmp(less, lo, hi);
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

/// How a scalar is passed: narrow integers are extended by the caller.
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
