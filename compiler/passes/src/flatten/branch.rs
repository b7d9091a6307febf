//! `if` with parallel arms.
//!
//! ```text
//! if c then A else B         -- c differs between positions
//!
//! yes = positions where c; no = the others          -- one compaction each
//! a = if length yes > 0 { A on the level of yes }   -- an arm without positions is not run
//! b = if length no > 0 { B on the level of no }
//! r = scatter a, b back: scalars by value, rows by where they start
//! ```
//!
//! An arm that computes a few scalars and has no rows is executed speculatively: only the positions of the other one are selected. Where both arms are rows of one array,
//! the branch is a select of where they start ([`super::row_select`]).
//!
//! An array that both arms only update is updated where it is, by one arm after the other ([`super::in_place_whole`]).
//!
//! Free variables stay where they are: an arm reads them through its index vector, and rows of them that it results in
//! stay there too; only where they start is passed on. A condition that is the host's is a host branch.

use super::canonical::{Form, has_view};
use super::ex::Ex;
use super::nest::{FDim, Kind, LevelId, Step};
use super::rep::{Arr, Rep, Src};
use super::{Flattener, Result};
use par_ir::core::{Body, Exp, Param, Stm};
use par_ir::cost::is_short_arithmetic;
use par_ir::flat::{self, KernelKind, Op, Out, Ty, VersionChoice};
use par_ir::prim::CmpOp;
use par_ir::{Atom, Dim, Prim, Var, tuning};
use std::rc::Rc;

/// One arm after it ran: its level, and the results as seen there.
struct Arm {
    level: LevelId,
    reps: Vec<Rep>,
}

/// Form in which an arm's result leaves it.
enum Leaving {
    /// In packed form.
    Packed(flat::Param),
    /// As the rows they are: the variables of the arm that they are made of with their names outside, the starts, and the strides if
    /// rows are apart.
    Rows { arr: Arr, names: Vec<(Var, flat::Param)>, start: flat::Param, stride: Option<flat::Param> },
    /// As the next version of an array that is kept in place: its name in CORE, the flat array before and after the arm.
    InPlace { array: Var, before: Var, after: flat::Param },
}

impl Flattener<'_> {
    pub fn branch(&mut self, level: LevelId, stm: &Stm, cond: Atom, arms: [&Body; 2]) -> Result {
        let [then, other] = arms;
        let cond = self.ex(cond);
        if let Some(c) = cond.atom() {
            return self.host_branch(level, stm, (c, None), arms);
        }
        if self.in_place_roots(stm, arms).iter().all(Option::is_none) {
            if self.selected_rows(level, stm, &cond, arms)? {
                return Ok(());
            }
            for (value, cheap, rest) in [(true, then, other), (false, other, then)] {
                if self.is_speculated(stm, cheap) {
                    return self.speculated(level, stm, (&cond, value), cheap, rest);
                }
            }
        }
        let (yes, n_yes) = self.select_positions(level, &cond, true);
        let (no, n_no) = self.select_positions(level, &cond, false);
        let in_place = self.in_place_results(level, stm, arms);
        let before: Vec<Option<Rep>> =
            in_place.iter().map(|v| v.and_then(|v| self.env.get(&v).cloned())).collect();
        let a = self.arm(level, stm, yes, n_yes, then, &in_place)?;
        let b = self.arm(level, stm, no, n_no, other, &in_place)?;
        let after: Vec<Option<Rep>> = in_place.iter().map(|v| v.map(|v| self.rep(v.into()))).collect();
        for (v, rep) in in_place.iter().zip(before) {
            if let (Some(v), Some(rep)) = (v, rep) {
                self.env.insert(*v, rep);
            }
        }
        self.merge(level, stm, &[a, b], &after, &vec![None; stm.pat.len()]);
        Ok(())
    }

    /// True if an arm is executed speculatively: it computes a few scalars, and has no rows.
    fn is_speculated(&self, stm: &Stm, arm: &Body) -> bool {
        let no_rows = |v: &Var| {
            let made = arm.stms.iter().find(|s| s.pat[0].var == *v);
            let ty = made.map(|s| &s.pat[0].ty).or_else(|| self.types.get(v));
            ty.is_some_and(|ty| ty.dims.first() == Some(&Dim::Size(Atom::i64(0))))
        };
        let is_empty = |s: &Stm| matches!(&s.exp, Exp::Literal(elems, _) if elems.is_empty());
        let scalars = arm.stms.iter().filter(|s| !is_empty(s));
        let is_cheap = is_short_arithmetic(scalars, tuning::FREE_OPERATORS);
        let mut results = arm.results.iter().zip(&stm.pat);
        is_cheap && results.all(|(a, p)| p.ty.is_scalar() || a.var().as_ref().is_some_and(no_rows))
    }

    /// A branch of which one arm, taken where the condition has this value, is executed speculatively, at all positions: only those of the rest are selected.
    fn speculated(
        &mut self,
        level: LevelId,
        stm: &Stm,
        (cond, value): (&Ex, bool),
        cheap: &Body,
        rest: &Body,
    ) -> Result {
        let (idx, n) = self.select_positions(level, cond, !value);
        for s in cheap.stms.iter().filter(|s| s.pat[0].ty.is_scalar()) {
            self.stms(level, std::slice::from_ref(s))?;
        }
        let base = cheap.results.iter().zip(&stm.pat);
        let base: Vec<Option<Ex>> = base.map(|(a, p)| p.ty.is_scalar().then(|| self.ex(*a))).collect();
        self.flush();
        let none = vec![None; stm.pat.len()];
        let rest = self.arm(level, stm, idx, n, rest, &none)?;
        self.merge(level, stm, &[rest], &vec![None; stm.pat.len()], &base);
        Ok(())
    }

    pub fn host_branch(
        &mut self,
        level: LevelId,
        stm: &Stm,
        (cond, versions): (Atom, Option<VersionChoice>),
        [then, other]: [&Body; 2],
    ) -> Result {
        let kept = self.kept_in_place(level, stm, [then, other]);
        let form = |(v, p): (&Option<Var>, &par_ir::core::Param)| match v {
            Some(_) => Form::InPlace,
            None if self.own.uniform.contains(&p.var) => Form::Uniform,
            None => Form::Packed,
        };
        let mut forms: Vec<Form> = kept.iter().zip(&stm.pat).map(form).collect();
        let mut arm = |f: &mut Self, body: &Body| {
            f.open_block(|f| {
                f.stms(level, &body.stms)?;
                f.flush();
                for ((a, p), v) in body.results.iter().zip(&stm.pat).zip(&kept) {
                    if let Some(v) = v {
                        f.bind_versions(level, &[(*a, Param { var: *v, ty: p.ty.clone() })])?;
                    }
                }
                for ((a, p), form) in body.results.iter().zip(&stm.pat).zip(&mut forms) {
                    if *form != Form::InPlace && has_view(&p.ty) && f.is_shared(level, *a) {
                        *form = Form::View;
                    }
                }
                Ok(())
            })
        };
        let (a, after_a) = self.with_carried(|f| arm(f, then))?;
        let (b, after_b) = self.with_carried(|f| arm(f, other))?;
        let mut then = self.close_block(a, |f| f.formed(level, &then.results, &forms));
        let mut other = self.close_block(b, |f| f.formed(level, &other.results, &forms));
        self.at(stm.span);
        let mut pat = self.form_params(level, &stm.pat, &forms);
        self.join_carried(&mut pat, [(&mut then, after_a), (&mut other, after_b)]);
        self.builder.emit(pat.clone(), Op::If { cond, versions, then, other });
        self.adopt(level, &stm.pat, &forms, &pat);
        Ok(())
    }

    /// Per result of a host's branch under a nest: the array in place that both arms give a version of.
    fn kept_in_place(&mut self, level: LevelId, stm: &Stm, arms: [&Body; 2]) -> Vec<Option<Var>> {
        let roots = self.in_place_roots(stm, arms);
        let mut kept = Vec::new();
        for (v, p) in roots.into_iter().zip(&stm.pat) {
            let in_place =
                v.filter(|v| self.types.get(v) == Some(&p.ty)).and_then(|v| self.as_in_place(level, v));
            if let (Some((arr, data)), Some(of)) =
                (&in_place, in_place.as_ref().map(|w| self.shapes.in_place[&w.1].1))
            {
                debug_assert!(matches!(arr.src, Src::Data(d, _) if d == *data));
                self.own.layouts.insert(p.var, (arr.clone(), of));
            }
            kept.push(v.filter(|_| in_place.is_some()));
        }
        kept
    }

    /// `n > 0` on the host.
    pub fn any(&mut self, n: Atom) -> Atom {
        self.builder.compare("any", CmpOp::Lt, Atom::i64(0), n)
    }

    /// Runs an arm on the positions it was chosen at, if there are any.
    fn arm(
        &mut self,
        level: LevelId,
        stm: &Stm,
        idx: Var,
        n: Atom,
        body: &Body,
        in_place: &[Option<Var>],
    ) -> Result<Arm> {
        let cond = self.any(n);
        let sub = self.shapes.push_level(level, Kind::Pack { idx, n });
        let outside = self.builder.vars.len();
        let mut leaving = Vec::new();
        let run = |f: &mut Self| {
            f.stms(sub, &body.stms)?;
            f.flush();
            let mut values = Vec::new();
            for ((a, p), v) in body.results.iter().zip(&stm.pat).zip(in_place) {
                leaving.push(match v {
                    Some(v) => f.leave_whole(sub, *a, *v, p, &mut values)?,
                    None => f.leave(sub, *a, p, outside, &mut values),
                });
            }
            Ok(values)
        };
        let (mut then, after) = self.with_carried(|f| f.block(run))?;
        self.at(stm.span);
        let mut pat = Vec::new();
        for l in &leaving {
            match l {
                Leaving::Packed(p) | Leaving::InPlace { after: p, .. } => pat.push(*p),
                Leaving::Rows { names, start, stride, .. } => {
                    pat.extend(names.iter().map(|n| n.1));
                    pat.extend(std::iter::once(*start).chain(*stride));
                }
            }
        }
        let mut other = self.block(|f| Ok(f.without_positions(&leaving)))?;
        let before = self.own.carried.clone();
        self.join_carried(&mut pat, [(&mut then, after), (&mut other, before)]);
        self.builder.emit(pat, Op::If { cond, versions: None, then, other });
        let mut reps = Vec::new();
        for (p, l) in stm.pat.iter().zip(leaving) {
            if let Leaving::InPlace { array, after, .. } = l {
                self.next_version(sub, array, after.var);
                reps.push(self.rep(array.into()));
                continue;
            }
            self.arrive(sub, p, l);
            reps.push(match self.rep(p.var.into()) {
                Rep::Array(a) => Rep::Array(self.viewable(sub, &a, &p.ty)),
                scalar => scalar,
            });
        }
        Ok(Arm { level: sub, reps })
    }

    /// Takes the version of an array that is kept in place out of an arm.
    fn leave_whole(
        &mut self,
        level: LevelId,
        a: Atom,
        array: Var,
        p: &Param,
        values: &mut Vec<Atom>,
    ) -> Result<Leaving> {
        let before = self.as_in_place(level, array).expect("asked before").1;
        values.push(self.in_place_version(level, a, array)?.into());
        let after = flat::Param { var: self.builder.vars.fresh_like(before), ty: Ty::Array(p.ty.prim()) };
        Ok(Leaving::InPlace { array, before, after })
    }

    /// Results of an arm that is not run.
    fn without_positions(&mut self, leaving: &[Leaving]) -> Vec<Atom> {
        let mut values = Vec::new();
        for l in leaving {
            match l {
                Leaving::Packed(p) => values.push(self.nothing(p.ty)),
                Leaving::InPlace { before, .. } => values.push((*before).into()),
                Leaving::Rows { names, start, stride, .. } => {
                    let all = names.iter().map(|n| &n.1).chain([start]).chain(stride);
                    all.for_each(|p| values.push(self.nothing(p.ty)));
                }
            }
        }
        values
    }

    /// Takes a result out of an arm. Variables from `outside` on are the arm's own.
    fn leave(
        &mut self,
        level: LevelId,
        a: Atom,
        p: &Param,
        outside: usize,
        values: &mut Vec<Atom>,
    ) -> Leaving {
        if !self.is_shared(level, a) {
            values.extend(self.canonical(level, &[a]));
            return Leaving::Packed(self.canonical_params(level, std::slice::from_ref(p))[0]);
        }
        let v = a.var().expect("an array is a variable");
        let arr = self.shared_rows(level, v);
        let mut names: Vec<(Var, flat::Param)> = Vec::new();
        for (v, ty) in self.made_of(&arr) {
            if v.0 as usize >= outside && names.iter().all(|n| n.0 != v) {
                let name = self.builder.vars.fresh_like(v);
                let mut parts = Vec::new();
                self.arrays_in(v, &mut parts);
                parts.retain(|part| (part.0 as usize) < outside);
                if !parts.is_empty() {
                    self.shapes.parts_of_rope.insert(name, parts);
                }
                names.push((v, flat::Param { var: name, ty }));
                values.push(v.into());
            }
        }
        values.push(self.store(level, &arr.start).into());
        let mut outside = |name| flat::Param { var: self.builder.vars.fresh(name), ty: Ty::Array(Prim::I64) };
        let start = outside("start");
        let stride = arr.stride.as_ref().map(|_| outside("stride"));
        if let Some(apart) = &arr.stride {
            values.push(self.store(level, apart).into());
        }
        Leaving::Rows { arr, names, start, stride }
    }

    /// The host variables of an array's rows, without what says where they start.
    pub fn made_of(&self, arr: &Arr) -> Vec<(Var, Ty)> {
        let mut vars = match arr.src {
            Src::Data(v, p) if self.builder.ropes.contains(&v) => vec![(v, Ty::Rope(p))],
            Src::Data(v, p) => vec![(v, Ty::Array(p))],
            Src::Desc(d) => vec![(d, Ty::Desc)],
            Src::Lens(v) => vec![(v, Ty::Rope(Prim::I64))],
            Src::Iota | Src::Splat(_) => vec![],
        };
        let ty = |d: &FDim, v: Var| match d {
            FDim::Size(_) => Ty::Scalar(Prim::I64),
            FDim::Seg(_) => Ty::Desc,
            FDim::View(_) | FDim::Steps(..) if self.builder.ropes.contains(&v) => Ty::Rope(Prim::I64),
            FDim::Steps(_, Step::Same(Atom::Var(m))) if *m == v => Ty::Scalar(Prim::I64),
            FDim::View(_) | FDim::Steps(..) => Ty::Array(Prim::I64),
        };
        for d in &arr.inner {
            let mut own = Vec::new();
            d.vars(&mut own);
            vars.extend(own.into_iter().map(|v| (v, ty(d, v))));
        }
        vars
    }

    /// Binds what left an arm.
    fn arrive(&mut self, level: LevelId, p: &Param, leaving: Leaving) {
        let (mut arr, names, start, stride) = match leaving {
            Leaving::Packed(v) => return self.adopt_canonical(level, std::slice::from_ref(p), &[v]),
            Leaving::Rows { arr, names, start, stride } => (arr, names, start, stride),
            Leaving::InPlace { .. } => unreachable!("versions are named by what they are versions of"),
        };
        let name = |v: Var| names.iter().find(|n| n.0 == v).map_or(v, |n| n.1.var);
        arr.src = match arr.src {
            Src::Data(v, p) => Src::Data(name(v), p),
            Src::Desc(d) => Src::Desc(name(d)),
            Src::Lens(v) => Src::Lens(name(v)),
            src => src,
        };
        arr.inner.iter_mut().for_each(|d| *d = d.renamed(name));
        let extent = self.shapes.extent(level);
        let of_position = |p: flat::Param| Ex::Load(p.var, Prim::I64, Rc::new(Ex::Pos(level)));
        for p in std::iter::once(start).chain(stride) {
            self.shapes.extents.insert(p.var, extent.clone());
        }
        arr.start = of_position(start);
        arr.stride = stride.map(of_position);
        self.bind_rep(p, Rep::Array(arr));
    }

    /// Brings the arms' results together at the level of the branch. What both have updated in place is there already. At positions of no arm, scalars are those of
    /// `base`, and arrays have no rows.
    fn merge(
        &mut self,
        level: LevelId,
        stm: &Stm,
        arms: &[Arm],
        updated: &[Option<Rep>],
        base: &[Option<Ex>],
    ) {
        for (k, p) in stm.pat.iter().enumerate() {
            if let Some(rep) = &updated[k] {
                self.bind_rep(p, rep.clone());
                continue;
            }
            let rep = match &arms[0].reps[k] {
                Rep::Scalar(_) => {
                    let value = |r: &Rep| if let Rep::Scalar(e) = r { Some(e.clone()) } else { None };
                    let values: Vec<Ex> = arms.iter().filter_map(|a| value(&a.reps[k])).collect();
                    Rep::Scalar(self.merge_scalars(level, p, base[k].as_ref(), arms, &values))
                }
                Rep::Array(_) => {
                    let rows = |r: &Rep| if let Rep::Array(a) = r { Some(a.clone()) } else { None };
                    let arrs: Vec<Arr> = arms.iter().filter_map(|a| rows(&a.reps[k])).collect();
                    Rep::Array(self.merge_rows(level, p, arms, &arrs))
                }
            };
            self.bind_rep(p, rep);
        }
    }

    fn merge_scalars(
        &mut self,
        level: LevelId,
        p: &Param,
        base: Option<&Ex>,
        arms: &[Arm],
        values: &[Ex],
    ) -> Ex {
        let prim = p.ty.prim();
        let mut out = match base {
            Some(ex) => self.store(level, ex),
            None => {
                let n = self.count(level);
                self.builder.bind("merged", Ty::Array(prim), Op::Replicate(n, Self::zero(prim)))
            }
        };
        for (arm, value) in arms.iter().zip(values) {
            out = self.scatter_back(level, arm.level, out, prim, value);
        }
        let extent = self.shapes.extent(level);
        self.shapes.extents.insert(out, extent);
        Ex::Load(out, prim, Rc::new(Ex::Pos(level)))
    }

    fn merge_rows(&mut self, level: LevelId, p: &Param, arms: &[Arm], arrs: &[Arr]) -> Arr {
        let (src, inner, offsets) = self.append(arrs);
        let starts: Vec<Ex> =
            arrs.iter().zip(offsets).map(|(a, o)| self.add(a.start.clone(), Ex::Atom(o))).collect();
        let at = Param { var: p.var, ty: par_ir::Type::I64 };
        let start = self.merge_scalars(level, &at, None, arms, &starts);
        Arr::rows(src, inner, start)
    }

    /// Writes a value of every position of `sub` to the array over an enclosing level.
    pub fn scatter_back(&mut self, level: LevelId, sub: LevelId, dest: Var, prim: Prim, value: &Ex) -> Var {
        let mut g = self.group_at(sub);
        let results = vec![self.eval(&mut g, &Ex::Pos(level)), self.eval(&mut g, value)];
        let v = self.builder.vars.fresh_like(dest);
        let pat = vec![flat::Param { var: v, ty: Ty::Array(prim) }];
        self.finish(g, KernelKind::Map(vec![Out::Scatter(vec![dest])]), results, pat);
        v
    }
}
