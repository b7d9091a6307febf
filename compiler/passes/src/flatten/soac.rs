//! `map`, `reduce`, `scan`, `filter`: the nest one dimension deeper.
//!
//! ```text
//! map n (xss, s) (\ k row -> let a = f k            -- level 1, n positions
//!                            let b = reduce k row … -- level 2, positions of descriptor s
//!                            in a + b)
//! ```
//!
//! The lambda's statements are flattened at the deeper level; what stays in the open group at the end is the
//! scalar body that the operator's own kernel has inside.

use super::ex::Ex;
use super::kernel::{Group, Operator};
use super::nest::{FDim, LevelId, Step};
use super::rep::{Arr, Rep, Src};
use super::{Flattener, Result};
use par_ir::core::{Body, Exp, Lambda, Param, Rows, Schedule, Stm};
use par_ir::flat::{self, KernelKind, Ty};
use par_ir::prim::{BinOp, CmpOp};
use par_ir::{Atom, Prim, PrimOp, Type, Var};
use std::rc::Rc;

impl Flattener<'_> {
    /// Binds a lambda's parameters to the rows of its inputs at a new level.
    fn bind_rows(&mut self, child: LevelId, inputs: &[Var], params: &[Param]) {
        for (v, p) in inputs.iter().zip(params) {
            let arr = self.arr(*v);
            let ix = self.local(child);
            let rep = self.row(&arr, ix);
            self.bind_rep(p, rep);
        }
    }

    /// Enters a lambda: the new level, with its statements flattened and the group left open.
    pub fn enter_rows(&mut self, level: LevelId, (width, inputs, lam): Rows) -> Result<(LevelId, Vec<Rep>)> {
        let width = self.ex(width);
        let child = self.enter(level, &width);
        self.bind_rows(child, inputs, &lam.params);
        let span = self.builder.span;
        if self.is_split(lam) {
            return Ok((child, self.lambda_in_chunks(child, lam)?));
        }
        self.stms(child, &lam.body.stms)?;
        self.store_rows();
        self.at(span);
        let results = lam.body.results.iter().map(|a| self.rep(*a)).collect();
        Ok((child, results))
    }

    pub fn map(&mut self, level: LevelId, stm: &Stm) -> Result {
        let Exp::Map { width, inputs, lam } = &stm.exp else { unreachable!("dispatched on Map") };
        let (child, results) = self.nest(level, (*width, inputs, lam), stm.span)?;
        self.flush();
        for (p, rep) in stm.pat.iter().zip(results) {
            let arr = self.collect(child, rep, &p.ty)?;
            if let (Src::Data(data, _), true) = (&arr.src, is_opaque(stm)) {
                self.builder.vars.set_opaque(*data);
            }
            self.env.insert(p.var, Rep::Array(arr));
        }
        Ok(())
    }

    /// The array at the parent level whose rows are `rep` at `child`. Rows are not copied: at worst their starts
    /// are stored.
    pub fn collect(&mut self, child: LevelId, rep: Rep, ty: &Type) -> Result<Arr> {
        match rep {
            Rep::Scalar(ex) if ty.is_desc() && ty.rank() == 1 => {
                let d = self.desc_for(&ex, child);
                Ok(Arr::rows(Src::Desc(d), vec![], self.start_of(child)))
            }
            Rep::Scalar(ex) => Ok(self.collect_scalar(child, ex)),
            Rep::Array(row) if row.same_length().is_some() && row.src_depends_on(child) && ty.is_desc() => {
                let row = self.view_of_lengths(child, &row).expect("lengths that are the same");
                self.collect(child, Rep::Array(row), ty)
            }
            Rep::Array(row) if row.src_depends_on(child) || self.is_step_of_own(child, &row) => {
                let row = self.packed_row(child, &row, ty)?;
                self.collect(child, Rep::Array(row), ty)
            }
            Rep::Array(row) => {
                let (dim, start) = match &row.stride {
                    Some(step) => self.stepped_rows(child, &row.start, step),
                    None => match self.appended_as(child, &row.start, ty) {
                        Some(dim) => (dim, self.start_of(child)),
                        None => self.rows_of(child, &row.start),
                    },
                };
                let mut inner = vec![dim];
                inner.extend(row.inner);
                Ok(Arr::rows(row.src, inner, start))
            }
        }
    }

    /// True if a row is a slice with a step of what each position has for itself: its copy costs no more than making that did, and is read
    /// in order. Lengths have no steps.
    fn is_step_of_own(&self, child: LevelId, row: &Arr) -> bool {
        let is_own = || {
            row.start.any(&|e| match e {
                Ex::Off(_, i) | Ex::Mul(i, _) => **i == Ex::Pos(child),
                _ => false,
            })
        };
        row.stride.is_some() && (is_own() || matches!(row.src, Src::Lens(_)))
    }

    /// Row dimension and first row of rows whose elements have a stride; stores their starts, and strides that differ.
    fn stepped_rows(&mut self, child: LevelId, start: &Ex, step: &Ex) -> (FDim, Ex) {
        let starts = self.store(child, start);
        let step = match step {
            Ex::Atom(step) => Step::Same(*step),
            step => Step::Each(self.store(child, step)),
        };
        (FDim::Steps(starts, step), self.start_of(child))
    }

    fn collect_scalar(&mut self, child: LevelId, ex: Ex) -> Arr {
        if !ex.depends_on(child) {
            return Arr::whole(Src::Splat(Rc::new(Rep::Scalar(ex))), vec![]);
        }
        if let Ex::Load(data, p, ix) = &ex
            && let Some(start) = self.split_local(ix, child)
        {
            return Arr::rows(Src::Data(*data, *p), vec![], start);
        }
        let p = self.ex_prim(&ex);
        let data = self.store(child, &ex);
        Arr::rows(Src::Data(data, p), vec![], self.start_of(child))
    }

    /// Row dimension and index of the first row, of rows that start at `start` (at level `child`).
    fn rows_of(&mut self, child: LevelId, start: &Ex) -> (FDim, Ex) {
        if *start == Ex::i64(0) {
            return (FDim::Size(Atom::i64(0)), Ex::i64(0));
        }
        let regular = match start {
            Ex::Off(d, ix) => Some((FDim::Seg(*d), ix)),
            Ex::Load(s, Prim::I64, ix) => Some((FDim::View(*s), ix)),
            Ex::Mul(ix, m) => m.atom().map(|m| (FDim::Size(m), ix)),
            _ => None,
        };
        if let Some((dim, ix)) = regular
            && let Some(first) = self.split_local(ix, child)
        {
            return (dim, first);
        }
        let starts = self.store(child, start);
        (FDim::View(starts), self.start_of(child))
    }

    /// The kernel's operator, results of its scalar body, and pattern for `reduce` and `scan`.
    fn group_results(&mut self, child: LevelId, reps: &[Rep]) -> (Group, Vec<Atom>) {
        let mut g = self.take_group(child);
        let atoms = reps
            .iter()
            .map(|r| match r {
                Rep::Scalar(ex) => self.eval(&mut g, ex),
                Rep::Array(_) => panic!("internal error in flatten: an array where a scalar is combined"),
            })
            .collect();
        (g, atoms)
    }

    /// Results beyond the combined ones that are arrays are collected from a map kernel of their own.
    fn split_extras(&mut self, results: &[Rep], k: usize) {
        if results[k..].iter().any(|r| matches!(r, Rep::Array(_))) {
            self.flush();
        }
    }

    pub fn reduce(&mut self, level: LevelId, stm: &Stm) -> Result {
        let Exp::Reduce { width, inputs, lam, op, neutral } = &stm.exp else {
            unreachable!("dispatched on Reduce")
        };
        let k = neutral.len();
        let (child, results) = self.enter_rows(level, (*width, inputs, lam))?;
        self.split_extras(&results, k);
        let out_extent = self.shapes.extent(level);
        let folded = self.fold_kernel(child, stm, op, neutral, &results, None, out_extent)?;
        for (p, v) in stm.pat.iter().zip(folded.arrays) {
            let prim = p.ty.prim();
            let loaded = Ex::Load(v, prim, Rc::new(Ex::Pos(level)));
            let ex = if self.shapes.is_root(level) { Ex::Atom(self.host(&loaded)) } else { loaded };
            self.env.insert(p.var, Rep::Scalar(ex));
        }
        if let Some(flag) = folded.flag {
            let flag = Ex::Load(flag, Prim::Bool, Rc::new(Ex::Pos(level)));
            self.start_from(level, &stm.pat[..k], op, neutral, flag)?;
        }
        self.bind_extras(child, &stm.pat[k..], &results[k..], folded.extras)
    }

    pub fn scan(&mut self, level: LevelId, stm: &Stm) -> Result {
        let Exp::Scan { width, inputs, lam, op, neutral, exclusive } = &stm.exp else {
            unreachable!("dispatched on Scan")
        };
        let k = neutral.len();
        let (child, results) = self.enter_rows(level, (*width, inputs, lam))?;
        self.split_extras(&results, k);
        let extent = self.shapes.extent(child);
        let folded = self.fold_kernel(child, stm, op, neutral, &results, Some(*exclusive), extent)?;
        let start = self.start_of(child);
        for (p, v) in stm.pat.iter().zip(folded.arrays) {
            let src = Src::Data(v, p.ty.prim());
            self.env.insert(p.var, Rep::Array(Arr::rows(src, vec![], start.clone())));
        }
        if let Some(flag) = folded.flag {
            let flag = Ex::Load(flag, Prim::Bool, Rc::new(Ex::Pos(child)));
            let at_child: Vec<Param> =
                stm.pat[..k].iter().map(|p| Param { var: p.var, ty: Type::scalar(p.ty.prim()) }).collect();
            for p in &at_child {
                let arr = self.arr(p.var);
                let ix = self.local(child);
                let rep = self.row(&arr, ix);
                self.env.insert(p.var, rep);
            }
            self.start_from(child, &at_child, op, neutral, flag)?;
            for p in &stm.pat[..k] {
                let arr = self.collect(child, self.rep(p.var.into()), &p.ty)?;
                self.bind_rep(p, Rep::Array(arr));
            }
        }
        self.bind_extras(child, &stm.pat[k..], &results[k..], folded.extras)
    }

    /// Emits the reduce or scan kernel (`exclusive` given: a scan) with the open group inside.
    #[allow(clippy::too_many_arguments)]
    fn fold_kernel(
        &mut self,
        child: LevelId,
        stm: &Stm,
        op: &Lambda,
        neutral: &[Atom],
        results: &[Rep],
        exclusive: Option<bool>,
        out_extent: super::nest::Extent,
    ) -> Result<Folded> {
        let k = neutral.len();
        let host_neutral: Vec<Atom> = neutral.iter().filter_map(|a| self.ex(*a).atom()).collect();
        let scalars: Vec<Rep> = results.iter().filter(|r| matches!(r, Rep::Scalar(_))).cloned().collect();
        let op = self.operator(op)?;
        let lifted = host_neutral.len() < k || !op.captures.is_empty();
        let captured: Vec<Ex> = op.captures.iter().map(|c| c.ex.clone()).collect();
        let (op, neutral) = if lifted { self.flagged(&op) } else { (op.lam, host_neutral) };
        let (mut g, mut atoms) = self.group_results(child, &scalars);
        let mut pat = Vec::new();
        let mut flag = None;
        if lifted {
            let v = self.fresh_array("some", out_extent.clone());
            pat.push(flat::Param { var: v, ty: Ty::Array(Prim::Bool) });
            flag = Some(v);
            let mut first = vec![Atom::bool(true)];
            for ex in &captured {
                first.push(self.eval(&mut g, ex));
                let v = self.fresh_array("captured", out_extent.clone());
                pat.push(flat::Param { var: v, ty: Ty::Array(self.ex_prim(ex)) });
            }
            atoms.splice(0..0, first);
        }
        let mut arrays = Vec::new();
        for p in &stm.pat[..k] {
            let name = self.builder.vars.name(p.var).to_string();
            let v = self.fresh_array(&name, out_extent.clone());
            pat.push(flat::Param { var: v, ty: Ty::Array(p.ty.prim()) });
            arrays.push(v);
        }
        let extent = self.shapes.extent(child);
        let mut extras = Vec::new();
        for r in &scalars[k..] {
            let Rep::Scalar(ex) = r else { unreachable!("filtered above") };
            let p = self.ex_prim(ex);
            let v = self.fresh_array("also", extent.clone());
            pat.push(flat::Param { var: v, ty: Ty::Array(p) });
            extras.push((v, p));
        }
        let kind = match exclusive {
            // A flagged exclusive scan is an exclusive scan of the pairs: the first element has no flag.
            Some(exclusive) => KernelKind::Scan { op, neutral, exclusive, after: None },
            None => KernelKind::Reduce { op, neutral },
        };
        self.finish(g, kind, atoms, pat);
        Ok(Folded { flag, arrays, extras })
    }

    /// An operator over "is there anything", captured values, and the operator's own, for operators and neutral elements
    /// that differ between rows: a row's own neutral element comes in afterwards.
    fn flagged(&mut self, op: &Operator) -> (Lambda, Vec<Atom>) {
        let (lam, span) = (&op.lam, self.builder.span);
        let carried: Vec<Type> =
            op.captures.iter().map(|c| Type::scalar(c.prim)).chain(lam.ret.iter().cloned()).collect();
        let (left, right) = (self.flagged_params(&carried), self.flagged_params(&carried));
        let k = 1 + op.captures.len();
        let atoms = |ps: &[Param]| ps.iter().map(|p| Atom::Var(p.var)).collect::<Vec<_>>();
        let name = |p: Param, a: Atom| Stm { pat: vec![p], exp: Exp::Atom(a), span };
        let mut combined = Body::default();
        for (c, p) in op.captures.iter().zip(&left[1..]) {
            combined.stms.push(name(Param { var: c.var, ty: p.ty.clone() }, p.var.into()));
        }
        let operands = atoms(&left[k..]).into_iter().chain(atoms(&right[k..]));
        combined.stms.extend(lam.params.iter().zip(operands).map(|(p, a)| name(p.clone(), a)));
        combined.stms.extend(lam.body.stms.iter().cloned());
        combined.results = atoms(&left[1..k]);
        combined.results.extend(&lam.body.results);

        let only = |ps: &[Param]| Body { stms: vec![], results: atoms(&ps[1..]) };
        let both = self.flagged_params(&carried).split_off(1);
        let cond = right[0].var.into();
        let right_too = Exp::If { cond, then: combined, other: only(&left) };
        let left_first =
            Body { stms: vec![Stm { pat: both.clone(), exp: right_too, span }], results: atoms(&both) };
        let outcome = self.flagged_params(&carried);
        let or = PrimOp::Bin(BinOp::Or, Prim::Bool);
        let some = Exp::Prim(or, vec![left[0].var.into(), right[0].var.into()]);
        let choice = Exp::If { cond: left[0].var.into(), then: left_first, other: only(&right) };
        let stms = vec![
            Stm { pat: vec![outcome[0].clone()], exp: some, span },
            Stm { pat: outcome[1..].to_vec(), exp: choice, span },
        ];
        let body = Body { stms, results: atoms(&outcome) };
        let ret: Vec<Type> = outcome.iter().map(|p| p.ty.clone()).collect();
        let neutral = ret.iter().map(|t| Self::zero(t.prim())).collect();
        let params = left.into_iter().chain(right).collect();
        (Lambda { params, body, ret, schedule: Schedule::Free }, neutral)
    }

    /// A flag and values of these types.
    fn flagged_params(&mut self, types: &[Type]) -> Vec<Param> {
        let flag = Param { var: self.builder.vars.fresh("some"), ty: Type::BOOL };
        let values = types.iter().map(|t| Param { var: self.builder.vars.fresh("v"), ty: t.clone() });
        std::iter::once(flag).chain(values).collect()
    }

    /// Combines each position's own neutral element with what was folded: `if flag then op ne v else ne`.
    fn start_from(
        &mut self,
        level: LevelId,
        pat: &[Param],
        op: &Lambda,
        neutral: &[Atom],
        flag: Ex,
    ) -> Result {
        let root = self.shapes.is_root(level);
        let mut g = self.take_group(level);
        let flag = self.eval(&mut g, &flag);
        let ne = self.eval_atoms(&mut g, neutral);
        let values: Vec<Atom> = pat.iter().map(|p| self.eval_atom(&mut g, p.var.into())).collect();
        let Operator { lam: op, captures } = self.operator(op)?;
        let mut named: Vec<(Param, Atom)> = Vec::new();
        for c in &captures {
            let a = self.eval(&mut g, &c.ex);
            named.push((Param { var: c.var, ty: Type::scalar(c.prim) }, a));
        }
        named.extend(op.params.iter().cloned().zip(ne.iter().chain(&values).copied()));
        let mut then = Body { stms: vec![], results: op.body.results.clone() };
        for (p, a) in named {
            then.stms.push(Stm { pat: vec![p], exp: Exp::Atom(a), span: self.builder.span });
        }
        then.stms.extend(op.body.stms);
        let other = Body { stms: vec![], results: ne };
        let results = self.add_scalar(&mut g, pat, Exp::If { cond: flag, then, other });
        for (p, ex) in pat.iter().zip(results) {
            self.env.insert(p.var, Rep::Scalar(ex));
        }
        self.group = Some(g);
        self.flush();
        if root {
            for p in pat {
                let ex = self.ex(p.var.into());
                let a = self.host(&ex);
                self.env.insert(p.var, Rep::Scalar(Ex::Atom(a)));
            }
        }
        Ok(())
    }

    /// Mapped results that a reduction passes on.
    fn bind_extras(
        &mut self,
        child: LevelId,
        pat: &[Param],
        reps: &[Rep],
        stored: Vec<(Var, Prim)>,
    ) -> Result {
        let mut stored = stored.into_iter();
        for (p, rep) in pat.iter().zip(reps) {
            let arr = match rep {
                Rep::Array(_) => self.collect(child, rep.clone(), &p.ty)?,
                Rep::Scalar(_) => {
                    let (v, prim) = stored.next().expect("one array per scalar");
                    let row = Rep::Scalar(Ex::Load(v, prim, Rc::new(Ex::Pos(child))));
                    self.collect(child, row, &p.ty)?
                }
            };
            self.env.insert(p.var, Rep::Array(arr));
        }
        Ok(())
    }

    pub fn filter(&mut self, level: LevelId, stm: &Stm) -> Result {
        let Exp::Filter { width, inputs, lam } = &stm.exp else { unreachable!("dispatched on Filter") };
        // The condition may be a nest, with versions like any other.
        let (child, results) = self.nest(level, (*width, inputs, lam), stm.span)?;
        let (g, atoms) = self.group_results(child, &results);
        let (size, rest) = stm.pat.split_first().expect("a filter binds the number kept");
        let (n, counts, values) = self.filter_kernel(g, atoms, rest.iter().map(|p| p.ty.prim()).collect());
        let counts_ex = Ex::Load(counts, Prim::I64, Rc::new(Ex::Pos(level)));
        let count_extent = self.shapes.extent(level);
        self.shapes.extents.insert(counts, count_extent);
        let kept = if self.shapes.is_root(level) { Ex::Atom(n) } else { counts_ex };
        self.bind_local(size, kept.clone());
        let grown = self.enter(level, &kept);
        let extent = self.shapes.extent(grown);
        let start = self.start_of(grown);
        for (p, v) in rest.iter().zip(values) {
            self.shapes.extents.insert(v, extent.clone());
            let src = Src::Data(v, p.ty.prim());
            self.env.insert(p.var, Rep::Array(Arr::rows(src, vec![], start.clone())));
        }
        Ok(())
    }

    /// Closes a group as a compaction: the number kept, counts per row, and the kept values. Extents are the caller's.
    pub fn filter_kernel(&mut self, g: Group, atoms: Vec<Atom>, prims: Vec<Prim>) -> (Atom, Var, Vec<Var>) {
        let n = self.builder.vars.fresh("kept");
        let counts = self.builder.vars.fresh("counts");
        let values: Vec<Var> = prims.iter().map(|_| self.builder.vars.fresh("some")).collect();
        let mut pat = vec![
            flat::Param { var: n, ty: Ty::Scalar(Prim::I64) },
            flat::Param { var: counts, ty: Ty::Array(Prim::I64) },
        ];
        pat.extend(values.iter().zip(&prims).map(|(v, p)| flat::Param { var: *v, ty: Ty::Array(*p) }));
        self.finish(g, KernelKind::Filter, atoms, pat);
        (n.into(), counts, values)
    }

    /// The positions of `level` where `cond` is `want`, and how many they are.
    pub fn select_positions(&mut self, level: LevelId, cond: &Ex, want: bool) -> (Var, Atom) {
        let mut g = self.group_at(level);
        let mut keep = self.eval(&mut g, cond);
        if !want {
            let p = Param { var: self.builder.vars.fresh("not"), ty: Type::BOOL };
            let exp = Exp::Prim(PrimOp::Cmp(CmpOp::Eq, Prim::Bool), vec![keep, Atom::bool(false)]);
            let ex = self.add_scalar(&mut g, &[p], exp).remove(0);
            keep = self.eval(&mut g, &ex);
        }
        let pos = self.eval(&mut g, &Ex::Pos(level));
        let (n, _, values) = self.filter_kernel(g, vec![keep, pos], vec![Prim::I64]);
        self.shapes.extents.insert(values[0], super::nest::Extent::Count(n));
        (values[0], n)
    }
}

/// Variables bound by a reduce or scan kernel.
struct Folded {
    /// With neutral elements that differ between rows: whether anything was combined.
    flag: Option<Var>,
    arrays: Vec<Var>,
    extras: Vec<(Var, Prim)>,
}

/// True if an operator is a fusion barrier.
fn is_opaque(stm: &Stm) -> bool {
    stm.exp.lambdas().first().is_some_and(|lam| lam.schedule == Schedule::Opaque)
}
