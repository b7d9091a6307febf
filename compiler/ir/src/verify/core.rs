//! Verifier of CORE. Invariants:
//!
//! 1. Every variable is bound once in the program, has a name, and is used (dimensions included) only in scope. A
//!    pattern's, parameter list's or result list's types may mention variables bound earlier in the same list.
//! 2. A `Size` is an `i64`; a `Seg` at position `j > 0` names a descriptor of rank `j`; a descriptor has rank 1 or more.
//! 3. Operands have the types that the operation wants; scalar operators exist at their type.
//! 4. A pattern's types are those of the expression, existential variables standing for what the expression returns in
//!    their place. `Atom` may change dimensions, never rank or elements.
//! 5. A check binds nothing, has a bool and as many scalars as its kind takes.
//! 6. Lambdas have a parameter per input (typed as a row of it), operators are scalar with `2k` parameters and `k`
//!    results, neutral elements fit (see `soac`).
//! 7. A function's, lambda's, arm's and loop's body results in what its type says; calls fit the function.
//! 8. The parameters and results of an entry are its types' columns.
//! 9. Nothing is pushed to a tape in an entry point that has none, nor in the condition of a loop.
//! 10. Accumulators are parameters of functions that are no entries, and arguments of their calls; they end in the body that begins them.
//!
//! Dimensions are compared where that is certain: two different constants are a mistake, two variables need not be.

use super::shape::{agree, array_of, mismatch, row, same_kind};
use super::{Failure, Result, Scope, check_arity, check_operator, ensure, ensure_count};
use crate::core::{At, Body, Entry, Exp, Fun, FunId, LoopForm, Param, Program, Stm};
use crate::print::print_core_stm;
use crate::stack::deeper;
use crate::ty::{Atom, Dim, Elem, Type, Var};
use crate::visit::{Code, Subst};
use par_runtime::value::ColumnType;
use par_runtime::{Prim, ValueType};

/// Checks a whole program; the message says what is wrong and where.
pub fn verify_core(program: &Program) -> std::result::Result<(), String> {
    let mut checker = Checker { funs: &program.funs, scope: Scope::new(&program.vars) };
    for fun in &program.funs {
        checker.fun(fun).map_err(|e| e.message(&fun.name))?;
    }
    let pushing = program.pushing();
    for (fun, is_pushing) in program.funs.iter().zip(&pushing) {
        let with_tape =
            ensure(fun.entry.is_none() || !is_pushing, || "an entry point pushes to no tape".into());
        with_tape
            .and_then(|()| conditions_push_nothing(&fun.body, &pushing))
            .map_err(|e| e.message(&fun.name))?;
    }
    Ok(())
}

/// Invariant 9, of the loops in a body.
fn conditions_push_nothing(body: &Body, pushing: &[bool]) -> Result {
    for exp in body.stms.iter().map(|s| &s.exp) {
        if let Exp::Loop { form: LoopForm::While(cond), .. } = exp {
            ensure(!cond.pushes(pushing), || "the condition of a loop pushes to a tape".into())?;
        }
        for inner in exp.bodies() {
            deeper(|| conditions_push_nothing(inner, pushing))?;
        }
    }
    Ok(())
}

/// Invariant 10, of the accumulators that a body begins.
fn accumulators_end(body: &Body) -> Result {
    let mut open: Vec<Var> = Vec::new();
    for stm in &body.stms {
        match stm.exp {
            Exp::Accumulate(_) => open.push(stm.pat[0].var),
            Exp::Accumulated(acc) => {
                let at = open.iter().position(|v| *v == acc);
                open.swap_remove(at.ok_or("an accumulator ends in another body than it begins in")?);
            }
            _ => {}
        }
    }
    ensure(open.is_empty(), || "an accumulator does not end".into())
}

/// Checks bodies; also used for the kernels of FLAT, with their free variables put into scope.
pub(super) struct Checker<'a> {
    pub(super) funs: &'a [Fun],
    pub(super) scope: Scope<'a, Type>,
}

impl Checker<'_> {
    fn fun(&mut self, fun: &Fun) -> Result {
        let mark = self.scope.mark();
        self.params(&fun.params)?;
        if let Some(entry) = &fun.entry {
            check_entry(fun, entry)?;
        }
        let results = self.body(&fun.body)?;
        self.results("result", &fun.ret, &fun.body.results, &results)?;
        self.params(&fun.ret)?;
        self.scope.release(mark);
        Ok(())
    }

    /// Invariants 1 and 2: binds parameters from left to right.
    pub(super) fn params(&mut self, params: &[Param]) -> Result {
        for p in params {
            self.well_formed(&p.ty)?;
            self.scope.bind(p.var, p.ty.clone())?;
        }
        Ok(())
    }

    pub(super) fn well_formed(&self, ty: &Type) -> Result {
        ensure(!(ty.is_desc() && ty.rank() == 0), || "a descriptor without rows".into())?;
        ensure(!(ty.is_acc() && ty.rank() > 0), || "an array of accumulators".into())?;
        for (j, dim) in ty.dims.iter().enumerate() {
            match dim {
                Dim::Size(a) => self.operand("a size", *a, &Type::I64)?,
                Dim::Seg(s) => {
                    let found = self.scope.get(*s)?;
                    ensure(j > 0 && found.is_desc() && found.rank() == j, || {
                        format!("{} is no descriptor of rank {j} for dimension {j}", self.scope.show(*s))
                    })?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn type_of(&self, a: Atom) -> Result<Type> {
        match a {
            Atom::Var(v) => self.scope.get(v).cloned(),
            Atom::Const(c) => Ok(Type::scalar(c.prim())),
        }
    }

    pub(super) fn operand(&self, what: &str, a: Atom, wanted: &Type) -> Result {
        agree(what, &self.type_of(a)?, wanted, self.scope.vars)
    }

    fn integers(&self, what: &str, xs: &[Atom]) -> Result {
        xs.iter().try_for_each(|x| self.operand(what, *x, &Type::I64))
    }

    pub(super) fn scalar(&self, what: &str, a: Atom) -> Result<Prim> {
        let ty = self.type_of(a)?;
        ensure(ty.is_scalar() && !ty.is_desc() && !ty.is_acc(), || format!("{what} is no scalar"))?;
        Ok(ty.prim())
    }

    fn trace(&self, columns: &[ColumnType], args: &[Atom]) -> Result {
        ensure_count("columns of the trace", args.len(), columns.len())?;
        columns.iter().zip(args).try_for_each(|(column, a)| {
            let ty = self.type_of(*a)?;
            let fits = match column {
                ColumnType::Scalar(p) => ty == Type::scalar(*p),
                ColumnType::Size => ty == Type::I64,
                ColumnType::Offsets { depth } => ty.is_desc() && ty.rank() == *depth,
                ColumnType::Data(p) => !ty.is_scalar() && !ty.is_desc() && ty.prim() == *p,
            };
            ensure(fits, || "an operand of the trace does not fit its column".into())
        })
    }

    /// A body with a scope of its own: types of its results.
    pub(super) fn body(&mut self, body: &Body) -> Result<Vec<Type>> {
        let mark = self.scope.mark();
        let types = deeper(|| self.open_body(body))?;
        self.scope.release(mark);
        Ok(types)
    }

    /// A body whose variables stay in scope: types of its results.
    pub(super) fn open_body(&mut self, body: &Body) -> Result<Vec<Type>> {
        for stm in &body.stms {
            self.stm(stm).map_err(|e: Failure| e.at(|| print_core_stm(stm, self.scope.vars)))?;
        }
        let results = body.results.iter().map(|a| self.type_of(*a)).collect::<Result<Vec<Type>>>()?;
        ensure(results.iter().all(|ty| !ty.is_acc()), || "a body results in an accumulator".into())?;
        accumulators_end(body)?;
        Ok(results)
    }

    pub(super) fn stm(&mut self, stm: &Stm) -> Result {
        self.exp(&stm.exp, &stm.pat)?;
        self.params(&stm.pat)
    }

    /// Values with these types stand for the binders, whose types are theirs after replacing the binders.
    pub(super) fn results(&self, what: &str, binders: &[Param], values: &[Atom], types: &[Type]) -> Result {
        ensure_count(&format!("{what}s"), types.len(), binders.len())?;
        let subst: Subst = binders.iter().map(|p| p.var).zip(values.iter().copied()).collect();
        for (p, ty) in binders.iter().zip(types) {
            match p.ty.is_flat_array() && same_kind(ty, &p.ty) {
                true => {}
                false => agree(what, ty, &p.ty.substituted(&subst), self.scope.vars)?,
            }
        }
        Ok(())
    }

    /// The one variable that the statement binds has type `wanted`.
    fn binds(&self, pat: &[Param], wanted: Type) -> Result {
        ensure_count("bound variables", pat.len(), 1)?;
        agree("the bound variable", &pat[0].ty, &wanted, self.scope.vars)
    }

    /// The one variable that the statement binds has this rank and element, whatever the dimensions.
    fn binds_kind(&self, pat: &[Param], rank: usize, elem: Elem) -> Result {
        ensure_count("bound variables", pat.len(), 1)?;
        let found = &pat[0].ty;
        let wanted = Type { dims: vec![Dim::Size(Atom::i64(0)); rank], elem };
        ensure(same_kind(found, &wanted), || mismatch("the bound variable", found, &wanted, self.scope.vars))
    }

    fn array(&self, v: Var, least_rank: usize) -> Result<Type> {
        let ty = self.scope.get(v)?.clone();
        ensure(ty.rank() >= least_rank, || {
            format!("{} has rank {}, less than {least_rank}", self.scope.show(v), ty.rank())
        })?;
        Ok(ty)
    }

    fn desc(&self, v: Var) -> Result<Type> {
        let ty = self.array(v, 1)?;
        ensure(ty.is_desc(), || format!("{} is no descriptor", self.scope.show(v)))?;
        Ok(ty)
    }

    fn exp(&mut self, exp: &Exp, pat: &[Param]) -> Result {
        match exp {
            Exp::Atom(a) => {
                let ty = self.type_of(*a)?;
                self.binds_kind(pat, ty.rank(), ty.elem)
            }
            Exp::Prim(op, xs) => {
                let operands: Vec<Prim> =
                    xs.iter().map(|x| self.scalar("an operand", *x)).collect::<Result<_>>()?;
                self.binds(pat, Type::scalar(check_operator(*op, &operands)?))
            }
            Exp::Index(v, indices) => self.index(*v, indices, pat),
            Exp::Slice { arr, start, len, stride } => {
                let ty = self.array(*arr, 1)?;
                self.integers("a slice's bound", &[*start, *len, *stride])?;
                self.binds_kind(pat, ty.rank(), ty.elem)
            }
            Exp::Check { cond, kind, args } => {
                ensure_count("variables bound by a check", pat.len(), 0)?;
                self.operand("the condition", *cond, &Type::BOOL)?;
                ensure_count("arguments of the check", args.len(), check_arity(kind))?;
                args.iter().try_for_each(|a| self.scalar("an argument", *a).map(drop))
            }
            Exp::Trace { ty, args, .. } => {
                ensure_count("variables bound by a trace", pat.len(), 0)?;
                self.trace(&ty.columns(), args)
            }
            Exp::If { cond, then, other } => {
                self.operand("the condition", *cond, &Type::BOOL)?;
                for arm in [then, other] {
                    let types = self.body(arm)?;
                    self.results("result of an arm", pat, &arm.results, &types)?;
                }
                Ok(())
            }
            Exp::Loop { params, form, body } => self.core_loop(params, form, body, pat),
            Exp::Call(f, args) => self.call(*f, args, pat),
            Exp::Update { arr, at, value } => self.update(*arr, at, *value, pat),
            Exp::Iota(n) => {
                self.operand("the size", *n, &Type::I64)?;
                self.binds(pat, array_of(*n, &Type::I64))
            }
            Exp::Replicate(n, x) => {
                self.operand("the size", *n, &Type::I64)?;
                self.binds(pat, array_of(*n, &self.type_of(*x)?))
            }
            Exp::Concat(vs) => self.concat(vs, pat),
            Exp::Literal(xs, p) => self.literal(xs, *p, pat),
            Exp::Flatten(_) | Exp::Unflatten(_) | Exp::MakeDesc(_) | Exp::Lengths(_) | Exp::Total(_) => {
                self.rows(exp, pat)
            }
            Exp::Push(_) | Exp::Tape(_) | Exp::Accumulate(_) | Exp::Add { .. } | Exp::Accumulated(_) => {
                self.derivative(exp, pat)
            }
            Exp::Sort { keys, values } => self.sort(*keys, *values, pat),
            soac => self.soac(soac, pat),
        }
    }

    /// Rows of arrays, and their lengths.
    fn rows(&mut self, exp: &Exp, pat: &[Param]) -> Result {
        match exp {
            Exp::Flatten(v) => {
                let ty = self.array(*v, 2)?;
                self.binds_kind(pat, ty.rank() - 1, ty.elem)
            }
            Exp::Unflatten(v) => {
                let ty = self.array(*v, 1)?;
                self.binds_kind(pat, ty.rank() + 1, ty.elem)
            }
            Exp::MakeDesc(v) => {
                let ty = self.array(*v, 1)?;
                ensure(ty.elem == Elem::Prim(Prim::I64), || "lengths are i64".into())?;
                self.binds_kind(pat, ty.rank(), Elem::Desc)
            }
            Exp::Lengths(v) => {
                let ty = self.desc(*v)?;
                self.binds_kind(pat, ty.rank(), Elem::Prim(Prim::I64))
            }
            Exp::Total(v) => {
                self.desc(*v)?;
                self.binds(pat, Type::I64)
            }
            _ => unreachable!("not about rows"),
        }
    }

    /// Expressions of derivatives: tapes and accumulators.
    fn derivative(&mut self, exp: &Exp, pat: &[Param]) -> Result {
        match exp {
            Exp::Push(v) => {
                let ty = self.array(*v, 1)?;
                ensure(ty.rank() == 1 && ty.elem == Elem::Prim(Prim::F64), || "no f64s are pushed".into())?;
                self.binds(pat, Type::I64)
            }
            Exp::Tape(n) => {
                self.operand("the size", *n, &Type::I64)?;
                self.binds(pat, array_of(*n, &Type::scalar(Prim::F64)))
            }
            Exp::Accumulate(dest) => {
                let prim = self.numbers(*dest)?;
                ensure_count("bound variables", pat.len(), 2)?;
                agree("the accumulator", &pat[0].ty, &Type::acc(prim), self.scope.vars)?;
                self.binds(&pat[1..], Type::I64)
            }
            Exp::Add { acc, places, values } => {
                ensure_count("bound variables", pat.len(), 0)?;
                agree("the places", &Type::scalar(self.numbers(*places)?), &Type::I64, self.scope.vars)?;
                let prim = self.numbers(*values)?;
                self.operand("the accumulator", (*acc).into(), &Type::acc(prim))
            }
            Exp::Accumulated(acc) => {
                let ty = self.scope.get(*acc)?;
                ensure(ty.is_acc(), || format!("{} is no accumulator", self.scope.show(*acc)))?;
                self.binds_kind(pat, 1, Elem::Prim(ty.prim()))
            }
            _ => unreachable!("no part of a derivative"),
        }
    }

    fn index(&mut self, v: Var, indices: &[Atom], pat: &[Param]) -> Result {
        let ty = self.array(v, 1)?;
        self.integers("an index", indices)?;
        ensure(!indices.is_empty(), || "no index".into())?;
        let Some(row) = row(&ty, indices.len()) else {
            return Err(format!("{} indices into rank {}", indices.len(), ty.rank()).into());
        };
        self.binds_kind(pat, row.rank(), row.elem)
    }

    fn update(&mut self, arr: Var, at: &[At], value: Atom, pat: &[Param]) -> Result {
        let ty = self.array(arr, 1)?;
        at.iter().try_for_each(|a| self.integers("an index", &a.atoms()))?;
        ensure(!at.is_empty() && !ty.is_desc(), || "not an update of an array's element".into())?;
        let (Some(row), value) = (row(&ty, at.len()), self.type_of(value)?) else {
            return Err(format!("{} indices into rank {}", at.len(), ty.rank()).into());
        };
        let slices = at.iter().filter(|a| matches!(a, At::Slice { .. })).count();
        let regular = |ty: &Type| ty.dims.iter().all(|d| matches!(d, Dim::Size(_)));
        ensure(slices == 0 || regular(&ty), || "a slice of a ragged array is updated".into())?;
        let part = Type { dims: value.dims.iter().take(slices).chain(&row.dims).copied().collect(), ..row };
        ensure(same_kind(&part, &value), || mismatch("the new row", &value, &part, self.scope.vars))?;
        self.binds(pat, ty)
    }

    fn concat(&mut self, vs: &[Var], pat: &[Param]) -> Result {
        ensure(!vs.is_empty(), || "concat of nothing".into())?;
        ensure_count("bound variables", pat.len(), 1)?;
        for v in vs {
            let ty = self.array(*v, 1)?;
            let found = &pat[0].ty;
            ensure(same_kind(found, &ty), || mismatch("the bound variable", found, &ty, self.scope.vars))?;
        }
        Ok(())
    }

    fn sort(&mut self, keys: Var, values: Option<Var>, pat: &[Param]) -> Result {
        let types = std::iter::once(keys).chain(values).map(|v| self.array(v, 1));
        let types = types.collect::<Result<Vec<Type>>>()?;
        ensure_count("bound variables", pat.len(), types.len())?;
        ensure(types.iter().all(|t| t.rank() == 1 && !t.is_desc()), || "no scalars are sorted".into())?;
        pat.iter().zip(types).try_for_each(|(p, ty)| self.binds(std::slice::from_ref(p), ty))
    }

    /// The type of the elements of an array of rank 1.
    fn numbers(&self, v: Var) -> Result<Prim> {
        let ty = self.array(v, 1)?;
        ensure(ty.rank() == 1 && !ty.is_desc(), || format!("{} is no array of scalars", self.scope.show(v)))?;
        Ok(ty.prim())
    }

    fn literal(&mut self, xs: &[Atom], p: Prim, pat: &[Param]) -> Result {
        ensure_count("bound variables", pat.len(), 1)?;
        let found = &pat[0].ty;
        ensure(found.rank() > 0 && found.prim() == p, || format!("a literal of {p} bound at another type"))?;
        for x in xs {
            self.binds(pat, array_of(Atom::i64(xs.len() as i64), &self.type_of(*x)?))?;
        }
        Ok(())
    }

    fn call(&mut self, f: FunId, args: &[Atom], pat: &[Param]) -> Result {
        let Some(fun) = self.funs.get(f.0 as usize) else {
            return Err(format!("there is no function {}", f.0).into());
        };
        let types: Vec<Type> = args.iter().map(|a| self.type_of(*a)).collect::<Result<_>>()?;
        self.results("argument", &fun.params, args, &types)?;
        ensure_count("bound variables", pat.len(), fun.ret.len())?;
        let values = fun.ret.iter().zip(pat).map(|(r, p)| (r.var, Atom::Var(p.var)));
        let subst: Subst = fun.params.iter().map(|p| p.var).zip(args.iter().copied()).chain(values).collect();
        for (p, r) in pat.iter().zip(&fun.ret) {
            if !(r.ty.is_flat_array() && same_kind(&r.ty, &p.ty)) {
                agree("result of the call", &r.ty.substituted(&subst), &p.ty, self.scope.vars)?;
            }
        }
        Ok(())
    }

    fn core_loop(&mut self, params: &[(Param, Atom)], form: &LoopForm, body: &Body, pat: &[Param]) -> Result {
        let (state, inits): (Vec<Param>, Vec<Atom>) = params.iter().cloned().unzip();
        let types: Vec<Type> = inits.iter().map(|a| self.type_of(*a)).collect::<Result<_>>()?;
        self.results("initial value", &state, &inits, &types)?;
        let mark = self.scope.mark();
        if let LoopForm::For { bound, prim, .. } = form {
            ensure(prim.is_integer(), || "the loop's index is no integer".into())?;
            self.operand("the loop's bound", *bound, &Type::scalar(*prim))?;
        }
        self.params(&state)?;
        match form {
            LoopForm::For { index, prim, .. } => self.scope.bind(*index, Type::scalar(*prim))?,
            LoopForm::While(cond) => {
                let types = self.body(cond)?;
                ensure(types == [Type::BOOL], || "the loop's condition is not one bool".into())?;
            }
        }
        let types = self.body(body)?;
        self.results("next value", &state, &body.results, &types)?;
        self.scope.release(mark);
        ensure_count("bound variables", pat.len(), state.len())?;
        let subst: Subst = state.iter().map(|p| p.var).zip(pat.iter().map(|p| Atom::Var(p.var))).collect();
        for (p, s) in pat.iter().zip(&state) {
            agree("the loop's result", &s.ty.substituted(&subst), &p.ty, self.scope.vars)?;
        }
        Ok(())
    }
}

/// Invariant 8.
fn check_entry(fun: &Fun, entry: &Entry) -> Result {
    let params = ValueType::Tuple(entry.params.iter().map(|(_, t)| t.clone()).collect());
    for (what, ty, found) in [("parameters", &params, &fun.params), ("results", &entry.ret, &fun.ret)] {
        let columns = ty.columns();
        ensure_count(&format!("{what} of the entry"), found.len(), columns.len())?;
        for (i, (column, p)) in columns.iter().zip(found).enumerate() {
            ensure(column_fits(*column, &p.ty), || {
                format!("{what} of the entry: number {i} is no column of kind {column:?}")
            })?;
        }
    }
    Ok(())
}

fn column_fits(column: ColumnType, ty: &Type) -> bool {
    match column {
        ColumnType::Scalar(p) => *ty == Type::scalar(p),
        ColumnType::Size => *ty == Type::I64,
        ColumnType::Offsets { depth } => ty.is_desc() && ty.rank() == depth,
        ColumnType::Data(p) => ty.elem == Elem::Prim(p) && ty.rank() > 0,
    }
}
