//! Verifier of FLAT. Invariants:
//!
//! 1. Every variable is bound once in the program and used only in scope.
//! 2. Operands have the types that the operation wants, patterns those that it gives.
//! 3. A check binds nothing, has a bool and as many scalars as its kind takes.
//! 4. A kernel's body is scalar and indexes only flat arrays, by one `i64`; it uses host scalars and arrays, not descriptors.
//!    It updates only arrays that it owns, uses only the latest version of each, and results in that ([`InPlace`]).
//! 5. A kernel's prologue consists of `Prim` and `Index` statements that do not mention the position.
//! 6. A kernel's space is made of `i64`s and a descriptor.
//! 7. Number and types of a body's results fit the kind of kernel, its operator, its destinations and the pattern.
//!    What a scan does with its prefixes is scalar code with one parameter per prefix, which owns nothing.
//! 8. Results of functions, arms and loops have the types that are bound; calls fit the function.
//! 9. The parameters and results of an entry are its types' columns.
//! 10. Local functions are scalar code with scalar results, and first those of their last parameters that they update; their parameters are scalars and flat arrays. They and kernels call only local functions.

use super::core::Checker;
use super::shape::same_kind;
use super::{Result, Scope, check_arity, check_operator, ensure, ensure_count};
use crate::core::{At, Body, Exp, FunId, Lambda, Param as CoreParam, Stm as CoreStm};
use crate::flat::{After, Block, Fun, Kernel, KernelKind, LoopForm, Op, Out, Param, Program, Space, Stm, Ty};
use crate::inplace::InPlace;
use crate::print::{print_core_stm, print_flat_stm};
use crate::stack::deeper;
use crate::ty::{Atom, Dim, Type, Var, Vars};
use crate::visit::Code;
use par_runtime::value::ColumnType;
use par_runtime::{Prim, ValueType};

const I64: Ty = Ty::Scalar(Prim::I64);
const BOOL: Ty = Ty::Scalar(Prim::Bool);

/// Checks a whole program; the message says what is wrong and where.
pub fn verify_flat(program: &Program) -> std::result::Result<(), String> {
    let (funs, locals, vars) = (&program.funs, &program.locals, &program.vars);
    let inner = Checker { funs: locals, scope: Scope::new(vars) };
    let mut checker = FlatChecker { funs, locals, vars, scope: Scope::new(vars), inner: Some(inner) };
    for fun in locals {
        checker.local(fun).map_err(|e| e.message(&fun.name))?;
    }
    for fun in &program.funs {
        checker.fun(fun).map_err(|e| e.message(&fun.name))?;
    }
    Ok(())
}

struct FlatChecker<'a> {
    funs: &'a [Fun],
    locals: &'a [crate::core::Fun],
    vars: &'a Vars,
    scope: Scope<'a, Ty>,
    /// For kernels, one after the other; empty between them.
    inner: Option<Checker<'a>>,
}

impl FlatChecker<'_> {
    fn fun(&mut self, fun: &Fun) -> Result {
        let mark = self.scope.mark();
        self.params(&fun.params)?;
        check_entry(fun)?;
        let found = self.block(&fun.body)?;
        agree("results of the function", &found, &fun.ret)?;
        self.scope.release(mark);
        Ok(())
    }

    /// Invariant 10.
    fn local(&mut self, fun: &crate::core::Fun) -> Result {
        let is_scalar = |p: &CoreParam| p.ty.is_scalar() && !p.ty.is_desc();
        let states = fun.ret.iter().take_while(|p| p.ty.is_flat_array()).count();
        ensure(fun.ret[states..].iter().all(is_scalar), || {
            "a result of a local function is no scalar".into()
        })?;
        let passes = fun.params.iter().all(|p| is_scalar(p) || p.ty.is_flat_array());
        ensure(passes, || "a parameter of a local function is neither a scalar nor a flat array".into())?;
        for v in fun.bound() {
            ensure(self.scope.ever.insert(v), || format!("{} is bound twice", self.scope.show(v)))?;
        }
        let mut inner = Checker { funs: self.locals, scope: Scope::new(self.vars) };
        inner.params(&fun.params)?;
        kernel_body(&fun.body, self.vars)?;
        InPlace::allows_function(fun, states)?;
        let types = inner.open_body(&fun.body)?;
        inner.results("result", &fun.ret, &fun.body.results, &types)
    }

    fn params(&mut self, params: &[Param]) -> Result {
        params.iter().try_for_each(|p| self.scope.bind(p.var, p.ty))
    }

    fn type_of(&self, a: Atom) -> Result<Ty> {
        match a {
            Atom::Var(v) => self.scope.get(v).copied(),
            Atom::Const(c) => Ok(Ty::Scalar(c.prim())),
        }
    }

    fn types(&self, xs: &[Atom]) -> Result<Vec<Ty>> {
        xs.iter().map(|x| self.type_of(*x)).collect()
    }

    fn operand(&self, what: &str, a: Atom, wanted: Ty) -> Result {
        let found = self.type_of(a)?;
        ensure(found == wanted, || format!("{what} has type {found}, not {wanted}"))
    }

    fn scalar(&self, what: &str, a: Atom) -> Result<Prim> {
        match self.type_of(a)? {
            Ty::Scalar(p) => Ok(p),
            ty => Err(format!("{what} has type {ty}, which is no scalar").into()),
        }
    }

    fn array(&self, v: Var) -> Result<Prim> {
        match self.scope.get(v)? {
            Ty::Array(p) => Ok(*p),
            ty => Err(format!("{} has type {ty}, which is no array", self.scope.show(v)).into()),
        }
    }

    /// Element type of an array or of a rope.
    fn elements(&self, v: Var) -> Result<Prim> {
        match self.scope.get(v)? {
            Ty::Rope(p) => Ok(*p),
            _ => self.array(v),
        }
    }

    fn append(&self, vs: &[Var]) -> Result<Vec<Ty>> {
        let types = vs.iter().map(|v| self.elements(*v)).collect::<Result<Vec<Prim>>>()?;
        ensure(!types.is_empty() && types.iter().all(|t| *t == types[0]), || {
            "an append of nothing or of arrays of different types".into()
        })?;
        Ok(std::iter::once(Ty::Rope(types[0])).chain(vs.iter().map(|_| I64)).collect())
    }

    fn desc(&self, v: Var) -> Result {
        self.operand("a descriptor", Atom::Var(v), Ty::Desc)
    }

    fn block(&mut self, block: &Block) -> Result<Vec<Ty>> {
        let mark = self.scope.mark();
        for stm in &block.stms {
            deeper(|| self.stm(stm)).map_err(|e| e.at(|| print_flat_stm(stm, self.vars)))?;
        }
        let types = self.types(&block.results)?;
        self.scope.release(mark);
        Ok(types)
    }

    fn stm(&mut self, stm: &Stm) -> Result {
        let found = self.op(&stm.op)?;
        let wanted: Vec<Ty> = stm.pat.iter().map(|p| p.ty).collect();
        agree("what the statement binds", &found, &wanted)?;
        self.params(&stm.pat)
    }

    /// Types of what the operation gives.
    fn op(&mut self, op: &Op) -> Result<Vec<Ty>> {
        Ok(match op {
            Op::Atom(a) => vec![self.type_of(*a)?],
            Op::Prim(op, xs) => {
                let operands: Vec<Prim> =
                    xs.iter().map(|x| self.scalar("an operand", *x)).collect::<Result<_>>()?;
                vec![Ty::Scalar(check_operator(*op, &operands)?)]
            }
            Op::Check { cond, kind, args } => {
                self.operand("the condition", *cond, BOOL)?;
                ensure_count("arguments of the check", args.len(), check_arity(kind))?;
                args.iter().try_for_each(|a| self.scalar("an argument", *a).map(drop))?;
                vec![]
            }
            Op::Trace { ty, args, .. } => {
                agree("columns of the trace", &self.types(args)?, &column_types(ty))?;
                vec![]
            }
            Op::Kernel(k) => self.kernel(k)?,
            Op::If { cond, versions, then, other } => {
                self.operand("the condition", *cond, BOOL)?;
                let numbers = versions.map_or(vec![], |v| v.parts().1);
                ensure(numbers.iter().all(|n| *n >= 0), || "a version from a negative number on".into())?;
                let (found, wanted) = (self.block(other)?, self.block(then)?);
                agree("results of the arms", &found, &wanted)?;
                wanted
            }
            Op::Loop { params, form, body } => self.flat_loop(params, form, body)?,
            Op::Split { rows, first, count, body, .. } => self.split(*rows, [*first, *count], body)?,
            Op::Call(f, args) => self.call(*f, args)?,
            Op::Append(vs) => self.append(vs)?,
            Op::Compact { rope, starts, lens, kept } => {
                let (ty, indices) = (self.ropes(rope, kept)?, Ty::Array(Prim::I64));
                self.operand("the starts", Atom::Var(*starts), indices)?;
                self.operand("the lengths", Atom::Var(*lens), indices)?;
                vec![ty, indices]
            }
            Op::NeedsCollection { rope, base } => vec![self.ropes(rope, base)?, BOOL],
            Op::Collect { rope, starts, weight } => {
                let ty = self.ropes(rope, &None)?;
                self.operand("the starts", Atom::Var(*starts), Ty::Rope(Prim::I64))?;
                self.operand("the weight", *weight, I64)?;
                vec![ty, BOOL]
            }
            Op::Sort { space, keys, values } => {
                self.space(space)?;
                let prims = std::iter::once(keys).chain(values).map(|v| self.array(*v));
                prims.map(|p| p.map(Ty::Array)).collect::<Result<_>>()?
            }
            op => vec![self.array_op(op)?],
        })
    }

    /// The type of a rope, and of another if there is one.
    fn ropes(&self, rope: &Var, other: &Option<Var>) -> Result<Ty> {
        let ty = Ty::Rope(self.elements(*rope)?);
        let mut all = std::iter::once(rope).chain(other);
        all.try_for_each(|v| self.operand("the rope", Atom::Var(*v), ty))?;
        Ok(ty)
    }

    /// Operations on arrays and descriptors, without bodies.
    fn array_op(&self, op: &Op) -> Result<Ty> {
        let indices = Ty::Array(Prim::I64);
        Ok(match op {
            Op::MakeDesc(v) => {
                self.operand("the lengths", Atom::Var(*v), indices)?;
                Ty::Desc
            }
            Op::UniformDesc { rows, m } => {
                self.operand("the rows", *rows, I64)?;
                self.operand("the length", *m, I64)?;
                Ty::Desc
            }
            Op::Offsets(v) | Op::Lengths(v) | Op::SegIds(v) => {
                self.desc(*v)?;
                indices
            }
            Op::Total(v) | Op::Rows(v) => {
                self.desc(*v)?;
                I64
            }
            Op::Length(v) => {
                self.array(*v)?;
                I64
            }
            Op::Read(v, i) => {
                self.operand("the index", *i, I64)?;
                Ty::Scalar(self.elements(*v)?)
            }
            Op::Write { arr, index, value } => {
                self.operand("the index", *index, I64)?;
                let p = self.array(*arr)?;
                self.operand("the new element", *value, Ty::Scalar(p))?;
                Ty::Array(p)
            }
            Op::Iota(n) => {
                self.operand("the size", *n, I64)?;
                indices
            }
            Op::Replicate(n, x) => {
                self.operand("the size", *n, I64)?;
                Ty::Array(self.scalar("the element", *x)?)
            }
            Op::Literal(xs, p) => {
                xs.iter().try_for_each(|x| self.operand("an element", *x, Ty::Scalar(*p)))?;
                Ty::Array(*p)
            }
            Op::Slice { arr, start, len } => {
                self.operand("the start", *start, I64)?;
                self.operand("the length", *len, I64)?;
                Ty::Array(self.array(*arr)?)
            }
            Op::Concat(vs) => self.concat(vs)?,
            Op::ConcatDesc(vs) => {
                vs.iter().try_for_each(|v| self.desc(*v))?;
                ensure(!vs.is_empty(), || "concat of no descriptors".into())?;
                Ty::Desc
            }
            _ => return Err("not an operation on arrays".to_string().into()),
        })
    }

    fn concat(&self, vs: &[Var]) -> Result<Ty> {
        let types = vs.iter().map(|v| self.array(*v)).collect::<Result<Vec<Prim>>>()?;
        ensure(!types.is_empty() && types.iter().all(|t| *t == types[0]), || {
            "concat of nothing or of arrays of different types".into()
        })?;
        Ok(Ty::Array(types[0]))
    }

    fn call(&self, f: FunId, args: &[Atom]) -> Result<Vec<Ty>> {
        let Some(fun) = self.funs.get(f.0 as usize) else {
            return Err(format!("there is no function {}", f.0).into());
        };
        let wanted: Vec<Ty> = fun.params.iter().map(|p| p.ty).collect();
        agree("arguments", &self.types(args)?, &wanted)?;
        Ok(fun.ret.clone())
    }

    fn split(&mut self, rows: Atom, chunk: [Var; 2], body: &Block) -> Result<Vec<Ty>> {
        self.operand("the rows", rows, I64)?;
        let mark = self.scope.mark();
        chunk.into_iter().try_for_each(|v| self.scope.bind(v, I64))?;
        let types = self.block(body)?;
        self.scope.release(mark);
        let appended = types.iter().all(|t| !matches!(t, Ty::Scalar(_)));
        ensure(appended, || "a chunk gives a scalar".into())?;
        Ok(types)
    }

    fn flat_loop(&mut self, params: &[(Param, Atom)], form: &LoopForm, body: &Block) -> Result<Vec<Ty>> {
        let state: Vec<Ty> = params.iter().map(|(p, _)| p.ty).collect();
        let inits: Vec<Atom> = params.iter().map(|(_, a)| *a).collect();
        agree("initial values", &self.types(&inits)?, &state)?;
        let mark = self.scope.mark();
        if let LoopForm::For { bound, prim, .. } = form {
            ensure(prim.is_integer(), || "the loop's index is no integer".into())?;
            self.operand("the loop's bound", *bound, Ty::Scalar(*prim))?;
        }
        params.iter().try_for_each(|(p, _)| self.scope.bind(p.var, p.ty))?;
        match form {
            LoopForm::For { index, prim, .. } => self.scope.bind(*index, Ty::Scalar(*prim))?,
            LoopForm::While(cond) => agree("the loop's condition", &self.block(cond)?, &[BOOL])?,
        }
        agree("next values", &self.block(body)?, &state)?;
        self.scope.release(mark);
        Ok(state)
    }

    fn kernel(&mut self, k: &Kernel) -> Result<Vec<Ty>> {
        self.space(&k.space)?;
        let new = || Checker { funs: self.locals, scope: Scope::new(self.vars) };
        let mut inner = self.inner.take().unwrap_or_else(new);
        let found = self.kernel_in(k, &mut inner)?;
        inner.scope.clear();
        self.inner = Some(inner);
        Ok(found)
    }

    fn kernel_in(&mut self, k: &Kernel, inner: &mut Checker) -> Result<Vec<Ty>> {
        for v in k.free() {
            if let Some(ty) = core_type(*self.scope.get(v)?) {
                inner.scope.bind(v, ty)?;
            }
        }
        for v in k.bound() {
            let fresh = self.scope.ever.insert(v) && !inner.scope.ever.contains(&v);
            ensure(fresh, || format!("{} is bound twice", self.scope.show(v)))?;
        }
        position(k)?;
        let inside = [k.pos, k.innermost()];
        let (of_element, of_row): (Vec<Var>, Vec<Var>) =
            k.binders().into_iter().partition(|v| inside.contains(v));
        of_row.into_iter().try_for_each(|v| inner.scope.bind(v, Type::I64))?;
        prologue(inner, k)?;
        of_element.into_iter().try_for_each(|v| inner.scope.bind(v, Type::I64))?;
        let mut owned = self.owned(k, inner)?;
        kernel_body(&k.body, self.vars)?;
        owned.body(&k.body)?;
        last_versions(k, &owned)?;
        let types = inner.open_body(&k.body)?;
        self.kernel_results(&k.kind, &types, inner)
    }

    /// Binds the arrays that a kernel owns.
    fn owned(&self, k: &Kernel, inner: &mut Checker) -> Result<InPlace> {
        let mut owned = InPlace::default();
        for (dest, state) in own_outputs(k) {
            let wanted = Type::array(vec![Dim::Size(Atom::i64(0))], self.array(*dest)?);
            ensure(same_kind(&state.ty, &wanted), || "an owned array is not like its destination".into())?;
            inner.params(std::slice::from_ref(state))?;
            owned.own(state.var);
        }
        Ok(owned)
    }

    fn space(&self, space: &Space) -> Result {
        ensure(matches!(space.0.first(), Some(Dim::Size(_))), || "a space without an outermost size".into())?;
        space.0.iter().try_for_each(|dim| match dim {
            Dim::Size(n) => self.operand("a size of the space", *n, I64),
            Dim::Seg(s) => self.desc(*s),
        })
    }

    /// Invariant 7: what the kernel binds.
    fn kernel_results(&self, kind: &KernelKind, types: &[Type], inner: &mut Checker) -> Result<Vec<Ty>> {
        if let KernelKind::Map(outs) = kind {
            return self.outs(outs, types);
        }
        let prims = scalars(types)?;
        match kind {
            KernelKind::Map(_) => unreachable!("handled before"),
            KernelKind::Reduce { op, neutral } | KernelKind::Scan { op, neutral, after: None, .. } => {
                scalar_operator(op, self.vars)?;
                inner.operator(op, neutral, types)?;
                Ok(prims.into_iter().map(Ty::Array).collect())
            }
            KernelKind::Scan { op, neutral, after: Some(after), .. } => {
                scalar_operator(op, self.vars)?;
                let prefixes = inner.operator(op, neutral, types)?;
                ensure_count("results of the body", types.len(), neutral.len())?;
                self.after(after, &prefixes, inner)
            }
            KernelKind::Filter => {
                ensure(prims.first() == Some(&Prim::Bool), || "the filter's first result is no bool".into())?;
                let kept = prims[1..].iter().map(|p| Ty::Array(*p));
                Ok([I64, Ty::Array(Prim::I64)].into_iter().chain(kept).collect())
            }
            KernelKind::Hist { dests, op, neutral } => {
                let values = self.indexed(dests, &prims)?;
                ensure_count("results of the body", prims.len(), 1 + dests.len())?;
                scalar_operator(op, self.vars)?;
                inner.operator(op, neutral, &types[1..])?;
                ensure_count("neutral elements", neutral.len(), dests.len())?;
                Ok(values)
            }
        }
    }

    fn after(&self, after: &After, prefixes: &[Type], inner: &mut Checker) -> Result<Vec<Ty>> {
        let After { params, body, outs } = after;
        let own = outs.iter().any(|o| matches!(o, Out::Own { .. }));
        ensure(!own, || "what follows a scan owns an array".into())?;
        scalar_body(body, self.vars)?;
        ensure_count("parameters for prefixes", params.len(), prefixes.len())?;
        let fit = params.iter().zip(prefixes).all(|(p, ty)| same_kind(&p.ty, ty));
        ensure(fit, || "a parameter is not like its prefix".into())?;
        inner.params(params)?;
        let types = inner.open_body(body)?;
        self.outs(outs, &types)
    }

    fn outs(&self, outs: &[Out], types: &[Type]) -> Result<Vec<Ty>> {
        let (mut rest, mut bound) = (types, Vec::new());
        for out in outs {
            let used = match out {
                Out::Elem(p) => {
                    let found = scalars(&rest[..rest.len().min(1)])?;
                    ensure(found == [*p], || format!("an output of {p} from another result"))?;
                    bound.push(Ty::Array(*p));
                    1
                }
                Out::Row(p, n) => {
                    let found = scalars(&rest[..rest.len().min(*n)])?;
                    let fits = *n > 0 && found.len() == *n && found.iter().all(|q| q == p);
                    ensure(fits, || format!("an output of {n} {p} from other results"))?;
                    bound.push(Ty::Array(*p));
                    *n
                }
                Out::Scatter(dests) => {
                    let used = &rest[..rest.len().min(1 + dests.len())];
                    bound.extend(self.indexed(dests, &scalars(used)?)?);
                    1 + dests.len()
                }
                // What the result is was checked with the versions.
                Out::Own { dest, .. } => {
                    bound.push(Ty::Array(self.array(*dest)?));
                    1
                }
            };
            rest = &rest[used..];
        }
        ensure(rest.is_empty(), || format!("{} results of the body have no output", rest.len()))?;
        Ok(bound)
    }

    /// An `i64` index and one value per destination: types of the destinations.
    fn indexed(&self, dests: &[Var], prims: &[Prim]) -> Result<Vec<Ty>> {
        ensure(prims.first() == Some(&Prim::I64), || "the index is no i64".into())?;
        ensure(prims.len() > dests.len(), || "fewer values than destinations".into())?;
        let types = dests.iter().map(|d| self.array(*d)).collect::<Result<Vec<Prim>>>()?;
        ensure(types == prims[1..=dests.len()], || "the values do not fit the destinations".into())?;
        Ok(types.into_iter().map(Ty::Array).collect())
    }
}

fn agree(what: &str, found: &[Ty], wanted: &[Ty]) -> Result {
    let show = |types: &[Ty]| types.iter().map(Ty::to_string).collect::<Vec<_>>().join(", ");
    ensure(found == wanted, || format!("{what}: ({}), not ({})", show(found), show(wanted)))
}

/// A host variable as kernels see it; descriptors they do not.
fn core_type(ty: Ty) -> Option<Type> {
    match ty {
        Ty::Scalar(p) => Some(Type::scalar(p)),
        Ty::Array(p) | Ty::Rope(p) => Some(Type::flat_array(p)),
        Ty::Desc => None,
    }
}

/// Invariant 5: binds the prologue's variables, before the position is in scope.
fn prologue(inner: &mut Checker, k: &Kernel) -> Result {
    for stm in &k.prologue {
        let allowed = matches!(stm.exp, Exp::Prim(..) | Exp::Index(..));
        ensure(allowed, || "a prologue has only `Prim` and `Index` statements".into())?;
        scalar_stm(stm, inner.scope.vars)?;
        let vars = inner.scope.vars;
        inner.stm(stm).map_err(|e| e.at(|| print_core_stm(stm, vars)))?;
    }
    Ok(())
}

fn scalar_operator(op: &Lambda, vars: &Vars) -> Result {
    scalar_body(&op.body, vars)
}

fn scalars(types: &[Type]) -> Result<Vec<Prim>> {
    let prim = |t: &Type| if t.is_scalar() { Ok(t.prim()) } else { Err("a result of the body is an array") };
    let prims: std::result::Result<Vec<Prim>, _> = types.iter().map(prim).collect();
    Ok(prims?)
}

/// Destinations and first versions of the arrays that a kernel owns.
fn own_outputs(k: &Kernel) -> impl Iterator<Item = (&Var, &CoreParam)> {
    let outs = if let KernelKind::Map(outs) = &k.kind { outs.as_slice() } else { &[] };
    outs.iter().filter_map(|o| if let Out::Own { dest, state } = o { Some((dest, state)) } else { None })
}

/// Each owned array's result is its last version.
fn last_versions(k: &Kernel, owned: &InPlace) -> Result {
    let KernelKind::Map(outs) = &k.kind else { return Ok(()) };
    let (mut result, mut buffer) = (0, 0);
    for out in outs {
        if let Out::Own { .. } = out {
            let last = k.body.results.get(result).is_some_and(|a| owned.latest(*a) == Some(buffer));
            ensure(last, || "the result for an owned array is not its last version".into())?;
            buffer += 1;
        }
        result += out.results();
    }
    Ok(())
}

/// Invariant 4.
fn kernel_body(body: &Body, vars: &Vars) -> Result {
    body.stms.iter().try_for_each(|s| kernel_stm(s, vars).map_err(|e| e.at(|| print_core_stm(s, vars))))
}

fn kernel_stm(stm: &CoreStm, vars: &Vars) -> Result {
    match &stm.exp {
        Exp::If { .. } | Exp::Loop { .. } => {
            stm.exp.bodies().into_iter().try_for_each(|b| kernel_body(b, vars))
        }
        // What the call fits is checked with its types, and what it updates with all of the body.
        Exp::Call(..) => Ok(()),
        Exp::Update { at, .. } => {
            ensure_count("indices of an update", At::only_indices(at).map_or(0, |is| is.len()), 1)
        }
        _ => scalar_stm(stm, vars),
    }
}

fn scalar_body(body: &Body, vars: &Vars) -> Result {
    body.stms.iter().try_for_each(|s| scalar_stm(s, vars).map_err(|e| e.at(|| print_core_stm(s, vars))))
}

fn scalar_stm(stm: &CoreStm, vars: &Vars) -> Result {
    for body in stm.exp.bodies() {
        scalar_body(body, vars)?;
    }
    ensure(stm.is_scalar(), || "a kernel's body must be scalar".into())?;
    match &stm.exp {
        Exp::Index(_, indices) => ensure_count("indices into a flat array", indices.len(), 1),
        _ => Ok(()),
    }
}

/// Invariant 9.
fn check_entry(fun: &Fun) -> Result {
    let Some(entry) = &fun.entry else { return Ok(()) };
    let params = ValueType::Tuple(entry.params.iter().map(|(_, t)| t.clone()).collect());
    let found: Vec<Ty> = fun.params.iter().map(|p| p.ty).collect();
    agree("parameters of the entry", &found, &column_types(&params))?;
    agree("results of the entry", &fun.ret, &column_types(&entry.ret))
}

fn column_types(ty: &ValueType) -> Vec<Ty> {
    let column = |c| match c {
        ColumnType::Scalar(p) => Ty::Scalar(p),
        ColumnType::Size => I64,
        ColumnType::Offsets { .. } => Ty::Desc,
        ColumnType::Data(p) => Ty::Array(p),
    };
    ty.columns().into_iter().map(column).collect()
}

/// A kernel has an index for each dimension, and those that are `row` or `pos` are no variables of their own.
fn position(k: &Kernel) -> Result {
    let expected = match k.index[..] {
        [i] => i == k.pos,
        [i, j] => i == k.row && j != k.pos,
        _ => !k.index.contains(&k.row) && !k.index.contains(&k.pos),
    };
    ensure(expected && k.index.len() == k.space.0.len(), || "indices that are not the space's".into())
}
