//! Statements in order: which join the open group, which run on the host, which are lifted.

use super::ex::Ex;
use super::kernel::Group;
use super::nest::{Extent, FDim, LevelId, ROOT};
use super::rep::{Arr, Rep};
use super::{Flattener, Known, Result, Versions, escape};
use par_ir::core::{Body, Exp, LoopForm, Param, Repeat, Stm};
use par_ir::flat::{Op, Ty};
use par_ir::hash::HashMap;
use par_ir::place::parts_of;
use par_ir::prim::BinOp;
use par_ir::stack::deeper;
use par_ir::tuning;
use par_ir::{Atom, Var};

impl Flattener<'_> {
    /// Flattens statements at a level. The group stays open after the last.
    pub fn stms(&mut self, level: LevelId, stms: &[Stm]) -> Result {
        let parts = if self.shapes.is_root(level) { escape::parts(stms) } else { HashMap::default() };
        for (i, stm) in stms.iter().enumerate() {
            parts.get(&i).into_iter().flatten().for_each(|v| self.store_part(level, *v));
            deeper(|| self.stm(level, stm))?;
        }
        Ok(())
    }

    fn stm(&mut self, level: LevelId, stm: &Stm) -> Result {
        if !self.shapes.is_root(level) && is_row_literal(stm) {
            self.at(stm.span);
            self.note_types(&stm.pat);
            return self.rule(level, stm);
        }
        self.store_rows();
        self.at(stm.span);
        self.note_types(&stm.pat);
        if let (Exp::Atom(a), true) = (&stm.exp, self.shapes.is_root(level)) {
            self.note_same_sizes(*a, &stm.pat[0].ty);
        }
        if self.view(stm)? {
            if self.shapes.is_root(level) && matches!(stm.exp, Exp::Iota(_) | Exp::Replicate(..)) {
                self.own.made_for_all.insert(stm.pat[0].var, self.builder.scopes.len());
            }
            return Ok(());
        }
        let packed = self.with_packed_arguments(level, stm);
        let stm = packed.as_ref().unwrap_or(stm);
        if stm.pat.iter().any(|p| self.own.uniform.contains(&p.var)) && matches!(stm.exp, Exp::If { .. }) {
            self.lift(level, stm)
        } else if self.runs_in_place(level, stm) {
            self.in_place(level, stm)
        } else if self.shapes.is_root(level) {
            self.host_stm(stm)
        } else if let Some(op) = self.of_host(stm) {
            self.bind_host(&stm.pat[0], op);
            Ok(())
        } else if self.sequential_exp(&stm.exp, &stm.pat) {
            let mut g = self.take_group(level);
            let done = self.scalar_stm(&mut g, stm);
            self.group = Some(g);
            done
        } else {
            self.lift(level, stm)
        }
    }

    /// Closes a kernel that stores rows: what comes next may read them.
    pub fn store_rows(&mut self) {
        if self.group.as_ref().is_some_and(|g| !g.rows_out.is_empty()) {
            self.flush();
        }
    }

    /// True if a statement becomes a kernel that updates in place. The host does well enough with branches of its own; under a
    /// nest there is a flat version too, in which all positions take each iteration together.
    fn runs_in_place(&self, level: LevelId, stm: &Stm) -> bool {
        let wanted = match self.shapes.is_root(level) {
            true => !matches!(stm.exp, Exp::If { .. }),
            false => self.facts.options.versions != Versions::Flat,
        };
        wanted && self.is_in_place(stm)
    }

    pub fn note_types(&mut self, pat: &[Param]) {
        for p in pat {
            self.types.insert(p.var, p.ty.clone());
        }
    }

    /// Binds a CORE variable to an expression.
    pub fn bind_local(&mut self, p: &Param, ex: Ex) {
        self.bind_rep(p, Rep::Scalar(ex));
    }

    /// Binds a CORE variable whose type is not known yet.
    pub fn bind_rep(&mut self, p: &Param, rep: Rep) {
        self.types.insert(p.var, p.ty.clone());
        self.env.insert(p.var, rep);
    }

    /// Flattens a construct by its rule; what that emits has a place of its own.
    fn lift(&mut self, level: LevelId, stm: &Stm) -> Result {
        self.flush();
        self.at(stm.span);
        let around = self.builder.place;
        self.builder.place = self.builder.places.add(around, parts_of(stm, &self.builder.vars));
        let done = self.rule(level, stm);
        self.builder.place = around;
        done
    }

    /// The lifting rule of a parallel construct.
    fn rule(&mut self, level: LevelId, stm: &Stm) -> Result {
        match &stm.exp {
            Exp::Map { .. } => self.map(level, stm),
            Exp::Reduce { .. } => self.reduce(level, stm),
            Exp::Scan { .. } => self.scan(level, stm),
            Exp::Filter { .. } => self.filter(level, stm),
            Exp::Scatter { .. } => self.scatter(level, stm),
            Exp::Hist { .. } => self.hist(level, stm),
            Exp::Update { arr, at, value } => self.update(level, stm, *arr, at, *value),
            Exp::Concat(arrs) => self.concat(level, stm, arrs),
            Exp::Literal(elems, prim) => self.literal(level, stm, elems, *prim),
            Exp::Flatten(arr) => self.flatten_packed(level, stm, *arr),
            Exp::Unflatten(arr) => self.unflatten(level, stm, *arr),
            Exp::If { cond, then, other } => self.branch(level, stm, *cond, [then, other]),
            Exp::Loop { .. } if self.loop_by_position(level, stm)? => Ok(()),
            Exp::Loop { params, form, body } => {
                self.in_iterations(|f| f.repeat(level, stm, Repeat { params, form, body }))
            }
            Exp::Call(fun, args) => self.call(level, stm, *fun, args),
            Exp::Total(d) => self.total_packed(level, stm, *d),
            Exp::Trace { label, ty, args } => self.trace(level, label, ty, args),
            Exp::Push(row) => self.push_row(level, stm, *row),
            _ => {
                self.plain_rule(level, stm);
                Ok(())
            }
        }
    }

    /// The rule of a construct all of which can be lifted.
    fn plain_rule(&mut self, level: LevelId, stm: &Stm) {
        match &stm.exp {
            Exp::MakeDesc(lens) => self.make_desc(level, stm, *lens),
            Exp::Sort { keys, values } => self.sort(level, stm, *keys, *values),
            Exp::Tape(_) => self.taken_tape(&stm.pat[0]),
            Exp::Accumulate(dest) => self.begin_sums(level, &stm.pat, *dest),
            Exp::Add { acc, places, values } => self.add_at(level, *acc, *places, *values),
            Exp::Accumulated(acc) => self.end_sums(&stm.pat[0], *acc),
            other => panic!("internal error in flatten: no rule for {}", name_of(other)),
        }
    }

    // Scalar statements in kernels.

    pub fn scalar_stms(&mut self, g: &mut Group, stms: &[Stm]) -> Result {
        stms.iter().try_for_each(|s| deeper(|| self.scalar_stm(g, s)))
    }

    pub fn scalar_stm(&mut self, g: &mut Group, stm: &Stm) -> Result {
        self.at(stm.span);
        self.note_types(&stm.pat);
        if self.view(stm)? {
            if g.is_function && matches!(stm.exp, Exp::Index(..)) {
                self.name_start(g, stm.pat[0].var);
            }
            return Ok(());
        }
        let exp = match &stm.exp {
            Exp::Prim(op, args) => Exp::Prim(*op, self.eval_atoms(g, args)),
            Exp::Check { cond, kind, args } => {
                let cond = self.eval_atom(g, *cond);
                Exp::Check { cond, kind: kind.clone(), args: self.eval_atoms(g, args) }
            }
            Exp::Index(arr, ixs) => return self.scalar_index(g, &stm.pat[0], *arr, ixs),
            Exp::If { cond, then, other } => {
                let cond = self.eval_atom(g, *cond);
                let then = self.scalar_body(g, then)?;
                let other = self.scalar_body(g, other)?;
                Exp::If { cond, then, other }
            }
            Exp::Loop { params, form, body } => self.scalar_loop(g, Repeat { params, form, body })?,
            Exp::Update { arr, at, value } => return self.local_update(g, stm, *arr, at, *value),
            Exp::Call(fun, args) => self.local_call(g, *fun, args),
            other => panic!("internal error in flatten: {} is not scalar", name_of(other)),
        };
        self.at(stm.span);
        if stm.pat.iter().any(|p| !p.ty.is_scalar()) {
            self.array_stm(g, stm, exp);
            return Ok(());
        }
        let results = self.add_scalar(g, &stm.pat, exp);
        for (p, ex) in stm.pat.iter().zip(results) {
            self.env.insert(p.var, Rep::Scalar(ex));
        }
        Ok(())
    }

    /// Computes the start of a row once, instead of at each read.
    fn name_start(&mut self, g: &mut Group, row: Var) {
        let arr = self.arr(row);
        let start = Ex::Atom(self.eval_checked(g, &arr.start));
        self.env.insert(row, Rep::Array(Arr { start, ..arr }));
    }

    pub fn eval_atoms(&mut self, g: &mut Group, atoms: &[Atom]) -> Vec<Atom> {
        atoms.iter().map(|a| self.eval_atom(g, *a)).collect()
    }

    fn scalar_body(&mut self, g: &mut Group, body: &Body) -> Result<Body> {
        self.nested(g, |f, g| {
            f.scalar_stms(g, &body.stms)?;
            Ok(body.results.iter().map(|a| f.local_atom(g, *a)).collect())
        })
    }

    fn scalar_loop(&mut self, g: &mut Group, Repeat { params, form, body }: Repeat) -> Result<Exp> {
        let mut state = Vec::new();
        for (p, init) in params {
            let init = self.local_atom(g, *init);
            state.push((self.local_param(g, p, init), init));
        }
        let form = match form {
            LoopForm::For { index, prim, bound } => {
                let bound = self.eval_atom(g, *bound);
                let i = self.declare_local(g, *index);
                let p = Param { var: *index, ty: par_ir::Type::scalar(*prim) };
                self.bind_local(&p, Ex::Atom(i.into()));
                self.bind_state(params, &state);
                LoopForm::For { index: i, prim: *prim, bound }
            }
            LoopForm::While(cond) => {
                self.bind_state(params, &state);
                LoopForm::While(self.scalar_body(g, cond)?)
            }
        };
        let body = self.scalar_body(g, body)?;
        Ok(Exp::Loop { params: state, form, body })
    }

    fn bind_state(&mut self, params: &[(Param, Atom)], state: &[(Param, Atom)]) {
        for ((p, init), (q, _)) in params.iter().zip(state) {
            match init.var().filter(|_| !p.ty.is_scalar()) {
                Some(like) => self.bind_version(p, like, q.var),
                None => self.bind_local(p, Ex::Atom(q.var.into())),
            }
        }
    }

    /// Indexing down to an element: the load happens here, after the checks before it.
    fn scalar_index(&mut self, g: &mut Group, p: &Param, arr: Var, ixs: &[Atom]) -> Result {
        let Rep::Scalar(ex) = self.indexed(arr, ixs) else {
            panic!("internal error in flatten: a row where an element is needed")
        };
        // What does not depend on the checks before may be computed once per row.
        self.eval_atoms(g, ixs);
        if !self.fresh_rows.contains(&arr) {
            let start = self.arr(arr).start;
            self.eval(g, &start);
        }
        let a = self.eval_checked(g, &ex);
        self.name_scalar(g, p, a)
    }

    /// Binds a CORE variable to a value already computed in the kernel.
    fn name_scalar(&mut self, g: &mut Group, p: &Param, a: Atom) -> Result {
        let ex = self.add_scalar(g, std::slice::from_ref(p), Exp::Atom(a)).remove(0);
        self.env.insert(p.var, Rep::Scalar(ex));
        Ok(())
    }

    // Statements of a function's own body.

    fn host_stm(&mut self, stm: &Stm) -> Result {
        match &stm.exp {
            Exp::Prim(op, args) => {
                let args = args.iter().map(|a| self.host_atom(*a)).collect();
                self.bind_host(&stm.pat[0], Op::Prim(*op, args));
            }
            Exp::Check { cond, kind, args } => {
                let cond = self.host_atom(*cond);
                let args = args.iter().map(|a| self.host_atom(*a)).collect();
                self.builder.emit(vec![], Op::Check { cond, kind: kind.clone(), args });
            }
            Exp::Index(arr, ixs) => {
                let Rep::Scalar(ex) = self.indexed(*arr, ixs) else {
                    panic!("internal error in flatten: a row where an element is needed")
                };
                let a = self.host(&ex);
                self.env.insert(stm.pat[0].var, Rep::Scalar(Ex::Atom(a)));
            }
            Exp::Loop { .. } | Exp::Call(..) if self.sequential_exp(&stm.exp, &stm.pat) => {
                return self.host_kernel(stm);
            }
            _ => return self.lift(ROOT, stm),
        }
        Ok(())
    }

    fn bind_host(&mut self, p: &Param, op: Op) {
        let name = self.builder.vars.name(p.var).to_string();
        let v = self.builder.bind(&name, Ty::Scalar(p.ty.prim()), op);
        self.env.insert(p.var, Rep::Scalar(Ex::Atom(v.into())));
    }

    /// A loop over scalars, or a recursion, is one kernel of one position, not a conversation between host and device.
    fn host_kernel(&mut self, stm: &Stm) -> Result {
        let mut g = self.take_group(ROOT);
        self.scalar_stm(&mut g, stm)?;
        self.group = Some(g);
        self.flush();
        for p in &stm.pat {
            let ex = self.ex(p.var.into());
            let a = self.host(&ex);
            self.env.insert(p.var, Rep::Scalar(Ex::Atom(a)));
        }
        Ok(())
    }

    /// The host's value of a scalar operand.
    pub fn host_atom(&mut self, a: Atom) -> Atom {
        let ex = self.ex(a);
        self.host(&ex)
    }

    /// Evaluates an expression on the host.
    pub fn host(&mut self, ex: &Ex) -> Atom {
        match ex {
            Ex::Atom(a) => *a,
            Ex::Pos(l) | Ex::Local(l) => {
                assert!(self.shapes.is_root(*l), "internal error in flatten: a position on the host");
                Atom::i64(0)
            }
            Ex::Add(a, b) => self.host_arith(BinOp::Add, a, b),
            Ex::Sub(a, b) => self.host_arith(BinOp::Sub, a, b),
            Ex::Mul(a, b) => self.host_arith(BinOp::Mul, a, b),
            Ex::Op(op, a, b) => self.host_arith(*op, a, b),
            Ex::Off(d, i) => {
                let row = self.host(i);
                let is_end = |rows: &Extent| self.is_count(i, rows) || self.is_count(&Ex::Atom(row), rows);
                if self.shapes.desc_rows.get(d).is_some_and(is_end) {
                    return self.builder.total(*d);
                }
                let off = self.builder.offsets(*d);
                self.read(off, par_ir::Prim::I64, row)
            }
            Ex::Len(d, i) => {
                let off = self.builder.offsets(*d);
                let i = self.host(i);
                let lo = self.read(off, par_ir::Prim::I64, i);
                let next = self.builder.host_op(BinOp::Add, i, Atom::i64(1));
                let hi = self.read(off, par_ir::Prim::I64, next);
                self.builder.host_op(BinOp::Sub, hi, lo)
            }
            Ex::Load(arr, p, i) => {
                let i = self.host(i);
                self.read(*arr, *p, i)
            }
        }
    }

    /// True if a space is known to have so many positions.
    fn is_count(&self, n: &Ex, space: &Extent) -> bool {
        match (n, space) {
            (Ex::Atom(n), Extent::Count(count)) => {
                self.shapes.one_of_same(*n) == self.shapes.one_of_same(*count)
            }
            (Ex::Atom(n), Extent::Total(d)) => self.builder.known(&Known::Total(*d)) == Some(*n),
            (Ex::Mul(n, m), Extent::Times(outer, each)) => m.atom() == Some(*each) && self.is_count(n, outer),
            (Ex::Off(d, n), space) => {
                self.shapes.inner_extent(None, FDim::Seg(*d)) == *space
                    && self.shapes.desc_rows.get(d).is_some_and(|rows| self.is_count(n, rows))
            }
            _ => false,
        }
    }

    fn host_arith(&mut self, op: BinOp, a: &Ex, b: &Ex) -> Atom {
        let a = self.host(a);
        let b = self.host(b);
        self.builder.host_op(op, a, b)
    }

    pub fn read(&mut self, arr: Var, p: par_ir::Prim, i: Atom) -> Atom {
        let name = self.builder.vars.name(arr).to_string();
        self.builder.bind(&name, Ty::Scalar(p), Op::Read(arr, i)).into()
    }
}

impl Flattener<'_> {
    /// True if a body is scalar code, views of arrays included: it may stay inside one kernel.
    pub fn sequential(&self, body: &Body) -> bool {
        body.stms.iter().all(|s| self.sequential_exp(&s.exp, &s.pat))
    }

    /// True if a statement may stay inside a kernel.
    pub fn sequential_exp(&self, exp: &Exp, pat: &[Param]) -> bool {
        let scalars = || pat.iter().all(|p| p.ty.is_scalar());
        match exp {
            Exp::Atom(_) | Exp::Prim(..) | Exp::Index(..) | Exp::Slice { .. } | Exp::Check { .. } => true,
            Exp::Iota(_) | Exp::Replicate(..) | Exp::Lengths(_) => true,
            Exp::If { then, other, .. } => scalars() && self.sequential(then) && self.sequential(other),
            Exp::Loop { form, body, .. } => {
                scalars()
                    && self.sequential(body)
                    && !matches!(form, LoopForm::While(c) if !self.sequential(c))
            }
            Exp::Call(fun, args) => scalars() && self.calls_local(*fun, args),
            _ => false,
        }
    }
}

/// An array of scalars, which the kernel that computes them can store.
fn is_row_literal(stm: &Stm) -> bool {
    matches!(&stm.exp, Exp::Literal(elems, _) if !elems.is_empty() && elems.len() <= tuning::STORED_ROW && stm.pat[0].ty.rank() == 1)
}

fn name_of(exp: &Exp) -> String {
    let text = format!("{exp:?}");
    text.split(['(', ' ', '{']).next().unwrap_or_default().to_string()
}
