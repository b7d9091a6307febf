//! Scalar bodies as instructions.
//!
//! A variable is a local of the function, or stands for another one or for a constant. Arrays are addresses in locals; all versions of an array that
//! the kernel owns are one.

use crate::frame;
use crate::module::{Check, DEPTH, FRAME, Import, Parts, val_type};
use crate::outline::{self, Seen};
use crate::{Unsupported, prim};
use par_ir::core::{At, Body, Exp, Fun, FunId, LoopForm, Param, Stm};
use par_ir::prim::{CmpOp, PrimOp};
use par_ir::stack::deeper;
use par_ir::{Atom, Var};
use par_runtime::{CheckKind, Prim, Scalar, Span};
use std::collections::{BTreeSet, HashMap};
use wasm_encoder::{BlockType, Instruction as I, MemArg, MemArgTarget, ValType};

/// A scalar: the number of a local, or a constant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Operand {
    Local(u32),
    Const(Scalar),
}

/// An array: where it begins and what its elements are.
#[derive(Clone, Copy, PartialEq)]
pub struct Base {
    pub at: Origin,
    pub prim: Prim,
}

/// The place from which indices count.
#[derive(Clone, Copy, PartialEq)]
pub enum Origin {
    /// An address in a local.
    Address(u32),
    /// The beginning of memory: this is the rope with that number.
    Rope(u32),
    /// An array argument of a function, in a local: its address, or the complement of a rope's number if elements of ropes are looked up.
    Given(u32),
}

impl Origin {
    /// The local that says where the array is.
    pub fn local(self) -> Option<u32> {
        match self {
            Origin::Address(n) | Origin::Given(n) => Some(n),
            Origin::Rope(_) => None,
        }
    }

    /// The same in another local.
    pub fn in_local(self, n: u32) -> Origin {
        match self {
            Origin::Address(_) => Origin::Address(n),
            Origin::Given(_) => Origin::Given(n),
            Origin::Rope(_) => self,
        }
    }
}

/// A function that is being generated.
pub struct Emitter<'p, 'k> {
    pub parts: &'p mut Parts<'k>,
    pub code: Vec<I<'static>>,
    /// Types of the locals behind the parameters.
    pub locals: Vec<ValType>,
    params: u32,
    scalars: HashMap<Var, (Operand, Prim)>,
    arrays: HashMap<Var, Base>,
}

pub type Done = Result<(), Unsupported>;

impl<'p, 'k> Emitter<'p, 'k> {
    pub fn new(parts: &'p mut Parts<'k>, params: u32) -> Emitter<'p, 'k> {
        let (code, locals) = (Vec::new(), Vec::new());
        Emitter { parts, code, locals, params, scalars: HashMap::new(), arrays: HashMap::new() }
    }

    /// A local function.
    pub fn function(parts: &'p mut Parts<'k>, fun: &Fun) -> Result<crate::module::Body, Unsupported> {
        let mut e = Emitter::new(parts, fun.params.len() as u32);
        for (i, p) in fun.params.iter().enumerate() {
            let (i, prim) = (i as u32, p.ty.prim());
            match p.ty.is_scalar() {
                true => e.bind(p.var, Operand::Local(i), prim),
                false => e.bind_array(p.var, Base { at: Origin::Given(i), prim }),
            }
        }
        e.body(&fun.body)?;
        let states = fun.states();
        fun.body.results[states..].iter().try_for_each(|a| e.push_atom(a))?;
        let ty = |p: &Param| if p.ty.is_scalar() { val_type(p.ty.prim()) } else { ValType::I32 };
        let types = |ps: &[Param]| ps.iter().map(ty).collect();
        let (params, results) = (types(&fun.params), types(&fun.ret[states..]));
        Ok(crate::module::Body { params, results, locals: e.locals, code: e.code })
    }

    pub fn emit(&mut self, code: impl IntoIterator<Item = I<'static>>) {
        self.code.extend(code);
    }

    pub fn local(&mut self, ty: ValType) -> u32 {
        self.locals.push(ty);
        self.params + self.locals.len() as u32 - 1
    }

    pub fn local_for(&mut self, p: Prim) -> u32 {
        self.local(val_type(p))
    }

    pub fn bind(&mut self, v: Var, x: Operand, p: Prim) {
        self.scalars.insert(v, (x, p));
    }

    pub fn bind_array(&mut self, v: Var, base: Base) {
        self.arrays.insert(v, base);
    }

    /// A scalar and its type.
    pub fn operand(&self, a: &Atom) -> Result<(Operand, Prim), Unsupported> {
        match a {
            Atom::Const(c) => Ok((Operand::Const(*c), c.prim())),
            Atom::Var(v) => {
                self.scalars.get(v).copied().ok_or_else(|| format!("v_{} is not a scalar here", v.0))
            }
        }
    }

    pub fn push(&mut self, x: Operand) {
        let instruction = match x {
            Operand::Local(n) => I::LocalGet(n),
            Operand::Const(c) => constant(c),
        };
        self.code.push(instruction);
    }

    pub fn push_atom(&mut self, a: &Atom) -> Done {
        let (x, _) = self.operand(a)?;
        self.push(x);
        Ok(())
    }

    pub fn push_all(&mut self, atoms: &[Atom]) -> Done {
        atoms.iter().try_for_each(|a| self.push_atom(a))
    }

    pub fn array(&self, v: Var) -> Result<Base, Unsupported> {
        self.arrays.get(&v).copied().ok_or_else(|| format!("v_{} is not an array here", v.0))
    }

    pub fn call(&mut self, import: Import) {
        let f = self.parts.import(import);
        self.code.push(I::Call(f));
    }

    /// Statements of a body.
    pub fn body(&mut self, body: &Body) -> Done {
        deeper(|| body.stms.iter().try_for_each(|s| self.stm(s)))
    }

    pub fn stm(&mut self, stm: &Stm) -> Done {
        match (&stm.exp, stm.pat.as_slice()) {
            (Exp::Atom(a), [p]) if p.ty.is_scalar() => {
                let (x, prim) = self.operand(a)?;
                self.bind(p.var, x, prim);
                Ok(())
            }
            (Exp::Atom(Atom::Var(v)), [p]) => self.same_array(p.var, *v),
            (Exp::Prim(op, xs), [p]) => self.prim_stm(*op, xs, p),
            (Exp::Index(arr, index), [p]) => {
                let base = self.array(*arr)?;
                let [i] = index.as_slice() else { return Err("several indices".into()) };
                let (i, _) = self.operand(i)?;
                self.load(base, i);
                self.new_scalar(p);
                Ok(())
            }
            (Exp::Update { arr, at, value }, [p]) => {
                let base = self.array(*arr)?;
                let [At::Index(i)] = at.as_slice() else {
                    return Err("an update of several elements".into());
                };
                let (i, _) = self.operand(i)?;
                self.element(base, i);
                self.push_atom(value)?;
                self.store_at(base.prim, 0);
                self.same_array(p.var, *arr)
            }
            (Exp::Check { cond, kind, args }, _) => self.check(cond, kind, args, stm.span),
            (Exp::If { cond, then, other }, pat) => self.branch(cond, then, other, pat),
            (Exp::Loop { params, form, body }, pat) => self.repeat(params, form, body, pat),
            (Exp::Call(f, args), pat) => self.call_local(*f, args, pat, stm.span),
            _ => Err("a statement that is not scalar code".into()),
        }
    }

    fn prim_stm(&mut self, op: PrimOp, xs: &[Atom], p: &Param) -> Done {
        let xs: Vec<Operand> =
            xs.iter().map(|a| Ok(self.operand(a)?.0)).collect::<Result<_, Unsupported>>()?;
        prim::emit(self, op, &xs)?;
        self.new_scalar(p);
        Ok(())
    }

    /// Binds a variable to what is on the stack.
    fn new_scalar(&mut self, p: &Param) {
        let prim = p.ty.prim();
        let local = self.local_for(prim);
        self.code.push(I::LocalSet(local));
        self.bind(p.var, Operand::Local(local), prim);
    }

    fn same_array(&mut self, new: Var, old: Var) -> Done {
        let base = self.array(old)?;
        self.bind_array(new, base);
        Ok(())
    }

    /// The address of an element, on the stack.
    pub fn element(&mut self, base: Base, i: Operand) {
        match base.at {
            Origin::Rope(number) if self.parts.looks_up => {
                self.code.push(I::I32Const(number as i32));
                self.push(i);
                self.call(Import::Rope(base.prim));
            }
            Origin::Given(local) if self.parts.looks_up => {
                let result = BlockType::Result(ValType::I32);
                self.emit([I::LocalGet(local), I::I32Const(0), I::I32LtS, I::If(result)]);
                self.emit([I::LocalGet(local), I::I32Const(-1), I::I32Xor]);
                self.push(i);
                self.call(Import::Rope(base.prim));
                self.code.push(I::Else);
                self.address(base, i);
                self.code.push(I::End);
            }
            _ => self.address(base, i),
        }
    }

    fn address(&mut self, base: Base, i: Operand) {
        match i {
            Operand::Const(c) => {
                let bytes = c.as_i64().unwrap_or(0).wrapping_mul(base.prim.size() as i64);
                self.code.push(I::I32Const(bytes as i32));
            }
            i => {
                self.push(i);
                self.code.push(I::I32WrapI64);
                let shift = base.prim.size().trailing_zeros();
                if shift > 0 {
                    self.emit([I::I32Const(shift as i32), I::I32Shl]);
                }
            }
        }
        if let Some(at) = base.at.local() {
            self.emit([I::LocalGet(at), I::I32Add]);
        }
    }

    pub fn load(&mut self, base: Base, i: Operand) {
        self.element(base, i);
        self.load_at(base.prim, 0);
    }

    /// The scalar at the address on the stack.
    pub fn load_at(&mut self, p: Prim, offset: u64) {
        let memory = |align| MemArg { offset, align, target: MemArgTarget::Memory(0), ordering: None };
        let load = match p {
            Prim::I8 => I::I32Load8S(memory(0)),
            Prim::U8 | Prim::Bool => I::I32Load8U(memory(0)),
            Prim::I16 => I::I32Load16S(memory(1)),
            Prim::U16 | Prim::F16 => I::I32Load16U(memory(1)),
            Prim::I32 | Prim::U32 => I::I32Load(memory(2)),
            Prim::I64 | Prim::U64 => I::I64Load(memory(3)),
            Prim::F32 => I::F32Load(memory(2)),
            Prim::F64 => I::F64Load(memory(3)),
        };
        self.code.push(load);
        if p == Prim::F16 {
            self.call(Import::Expand);
        }
    }

    /// Stores the scalar on the stack at the address below it.
    pub fn store_at(&mut self, p: Prim, offset: u64) {
        if p == Prim::F16 {
            self.call(Import::Compress);
        }
        let memory = |align| MemArg { offset, align, target: MemArgTarget::Memory(0), ordering: None };
        self.code.push(match p {
            Prim::I8 | Prim::U8 | Prim::Bool => I::I32Store8(memory(0)),
            Prim::I16 | Prim::U16 | Prim::F16 => I::I32Store16(memory(1)),
            Prim::I32 | Prim::U32 => I::I32Store(memory(2)),
            Prim::I64 | Prim::U64 => I::I64Store(memory(3)),
            Prim::F32 => I::F32Store(memory(2)),
            Prim::F64 => I::F64Store(memory(3)),
        });
    }

    fn check(&mut self, cond: &Atom, kind: &CheckKind, args: &[Atom], span: Span) -> Done {
        self.push_atom(cond)?;
        self.emit([I::I32Eqz, I::If(BlockType::Empty)]);
        self.fail(kind, args, span)?;
        self.code.push(I::End);
        Ok(())
    }

    /// Writes down a failure and ends the run.
    fn fail(&mut self, kind: &CheckKind, args: &[Atom], span: Span) -> Done {
        let args = &args[..args.len().min(frame::MOST_ARGS)];
        let mut prims = Vec::new();
        for (i, a) in args.iter().enumerate() {
            let (x, prim) = self.operand(a)?;
            self.code.push(I::GlobalGet(FRAME));
            self.push(x);
            self.store_at(prim, 8 * (frame::ARGS + i) as u64);
            prims.push(prim);
        }
        let number = self.parts.checks.len() as i64;
        self.parts.checks.push(Check { kind: kind.clone(), args: prims, span });
        self.emit([I::GlobalGet(FRAME), I::I64Const(number)]);
        self.store_at(Prim::I64, 8 * frame::CHECK as u64);
        self.code.push(I::Unreachable);
        Ok(())
    }

    fn branch(&mut self, cond: &Atom, then: &Body, other: &Body, pat: &[Param]) -> Done {
        let places: Vec<Option<u32>> =
            pat.iter().map(|p| p.ty.is_scalar().then(|| self.local_for(p.ty.prim()))).collect();
        self.push_atom(cond)?;
        self.code.push(I::If(BlockType::Empty));
        self.arm(then, pat, &places)?;
        if !other.stms.is_empty() || places.iter().any(Option::is_some) {
            self.code.push(I::Else);
            self.arm(other, pat, &places)?;
        }
        self.code.push(I::End);
        for (i, (p, place)) in pat.iter().zip(places).enumerate() {
            match place {
                Some(local) => self.bind(p.var, Operand::Local(local), p.ty.prim()),
                None => self.same_array_atom(p.var, &then.results[i])?,
            }
        }
        Ok(())
    }

    fn arm(&mut self, arm: &Body, pat: &[Param], places: &[Option<u32>]) -> Done {
        self.body(arm)?;
        debug_assert_eq!(arm.results.len(), pat.len());
        for (a, place) in arm.results.iter().zip(places) {
            if let Some(local) = place {
                self.push_atom(a)?;
                self.code.push(I::LocalSet(*local));
            }
        }
        Ok(())
    }

    fn same_array_atom(&mut self, new: Var, old: &Atom) -> Done {
        match old {
            Atom::Var(v) => self.same_array(new, *v),
            Atom::Const(_) => Err("a constant for an array".into()),
        }
    }

    fn repeat(&mut self, params: &[(Param, Atom)], form: &LoopForm, body: &Body, pat: &[Param]) -> Done {
        let mut state = Vec::new();
        for (p, init) in params {
            if p.ty.is_scalar() {
                let local = self.local_for(p.ty.prim());
                self.push_atom(init)?;
                self.code.push(I::LocalSet(local));
                state.push(Some(local));
            } else {
                self.same_array_atom(p.var, init)?;
                state.push(None);
            }
        }
        // Only now: an initial value may be a parameter of a loop around.
        for ((p, _), local) in params.iter().zip(&state) {
            if let Some(local) = local {
                self.bind(p.var, Operand::Local(*local), p.ty.prim());
            }
        }
        if self.parts.outlines && outline::is_possible(form) {
            outline::emit(self, outline::Loop { params, form, body, state: &state })?;
        } else {
            self.in_place(form, body, &state)?;
        }
        for ((p, (param, _)), local) in pat.iter().zip(params).zip(state) {
            match local {
                Some(local) => self.bind(p.var, Operand::Local(local), p.ty.prim()),
                None => self.same_array(p.var, param.var)?,
            }
        }
        Ok(())
    }

    /// A loop in the function that it is in.
    fn in_place(&mut self, form: &LoopForm, body: &Body, state: &[Option<u32>]) -> Done {
        match form {
            LoopForm::For { index, prim, bound } => {
                let (bound, _) = self.operand(bound)?;
                let i = self.local_for(*prim);
                self.bind(*index, Operand::Local(i), *prim);
                self.emit([constant(Scalar::zero(*prim)), I::LocalSet(i)]);
                self.iterations(i, *prim, bound, body, state)
            }
            LoopForm::While(cond) => {
                self.emit([I::Block(BlockType::Empty), I::Loop(BlockType::Empty)]);
                self.body(cond)?;
                self.push_all(&cond.results)?;
                self.emit([I::I32Eqz, I::BrIf(1)]);
                self.body(body)?;
                self.next(body, state)?;
                self.emit([I::Br(0), I::End, I::End]);
                Ok(())
            }
        }
    }

    /// Iterations from the number in a local to a bound.
    pub fn iterations(
        &mut self,
        i: u32,
        prim: Prim,
        bound: Operand,
        body: &Body,
        state: &[Option<u32>],
    ) -> Done {
        let less = PrimOp::Cmp(CmpOp::Lt, prim);
        prim::emit(self, less, &[Operand::Local(i), bound])?;
        self.emit([I::If(BlockType::Empty), I::Loop(BlockType::Empty)]);
        self.body(body)?;
        self.next(body, state)?;
        let add = if val_type(prim) == ValType::I64 { I::I64Add } else { I::I32Add };
        self.emit([I::LocalGet(i), constant(Scalar::from_i64(prim, 1)), add, I::LocalSet(i)]);
        prim::emit(self, less, &[Operand::Local(i), bound])?;
        self.emit([I::BrIf(0), I::End, I::End]);
        Ok(())
    }

    /// Knowledge of variables here.
    pub fn visible(&self, vars: BTreeSet<Var>) -> Vec<(Var, Seen)> {
        let seen = |v: Var| {
            let scalar = self.scalars.get(&v).map(|(x, p)| Seen::Scalar(*x, *p));
            scalar.or_else(|| self.arrays.get(&v).map(|base| Seen::Array(*base)))
        };
        vars.into_iter().filter_map(|v| Some((v, seen(v)?))).collect()
    }

    /// Number of parameters.
    pub fn params(&self) -> u32 {
        self.params
    }

    /// The next state of a loop.
    pub fn next(&mut self, body: &Body, state: &[Option<u32>]) -> Done {
        let changed: Vec<(u32, &Atom)> =
            state.iter().zip(&body.results).filter_map(|(local, a)| Some(((*local)?, a))).collect();
        changed.iter().try_for_each(|(_, a)| self.push_atom(a))?;
        self.emit(changed.into_iter().rev().map(|(local, _)| I::LocalSet(local)));
        Ok(())
    }

    /// A scalar, or where an array is.
    fn argument(&mut self, a: &Atom) -> Done {
        match a.var().and_then(|v| self.arrays.get(&v)).map(|base| base.at) {
            Some(Origin::Address(local) | Origin::Given(local)) => self.code.push(I::LocalGet(local)),
            Some(Origin::Rope(n)) => {
                self.code.push(I::I32Const(if self.parts.looks_up { !(n as i32) } else { 0 }))
            }
            None => self.push_atom(a)?,
        }
        Ok(())
    }

    fn call_local(&mut self, f: FunId, args: &[Atom], pat: &[Param], span: Span) -> Done {
        let change = |by: i32| [I::GlobalGet(DEPTH), I::I32Const(by), I::I32Add, I::GlobalSet(DEPTH)];
        self.emit([I::GlobalGet(DEPTH), I::GlobalGet(FRAME)]);
        self.load_at(Prim::I32, 8 * frame::DEPTH as u64);
        self.emit([I::I32GeS, I::If(BlockType::Empty)]);
        self.parts.span_of_calls = span;
        self.fail(&CheckKind::TooDeep, &[], span)?;
        self.code.push(I::End);
        self.emit(change(1));
        args.iter().try_for_each(|a| self.argument(a))?;
        let number = self.parts.local(f);
        self.code.push(I::Call(number));
        // What the function updates is where it was.
        let (arrays, pat): (Vec<&Param>, Vec<&Param>) = pat.iter().partition(|p| !p.ty.is_scalar());
        let locals: Vec<u32> = pat.iter().map(|p| self.local_for(p.ty.prim())).collect();
        self.emit(locals.iter().rev().map(|n| I::LocalSet(*n)));
        self.emit(change(-1));
        for (p, n) in pat.iter().zip(locals) {
            self.bind(p.var, Operand::Local(n), p.ty.prim());
        }
        let olds = args[args.len() - arrays.len()..].iter().filter_map(|a| a.var());
        arrays.into_iter().zip(olds).try_for_each(|(p, old)| self.same_array(p.var, old))
    }
}

/// A constant in a register.
pub fn constant(c: Scalar) -> I<'static> {
    match c {
        Scalar::I64(x) => I::I64Const(x),
        Scalar::U64(x) => I::I64Const(x as i64),
        Scalar::F16(x) => I::F32Const(x.to_f32().into()),
        Scalar::F32(x) => I::F32Const(x.into()),
        Scalar::F64(x) => I::F64Const(x.into()),
        Scalar::Bool(x) => I::I32Const(i32::from(x)),
        x => I::I32Const(x.as_i64().unwrap_or(0) as i32),
    }
}
