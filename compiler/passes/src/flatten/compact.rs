//! Compaction: frees what views do not need.
//!
//! Iterations of loops and calls pass views on, and their ropes would hold every array that ever was a row's. So what an iteration or a call
//! results in is compacted, and what a recursive call is given:
//!
//! ```text
//! rope of elements, start per position            compact: arrays that no row is in go, few rows of a large one are copied
//! elements, starts of rows, start per position    compact: the same for the starts of rows
//!   needs_collection: have the elements become twice as many?
//!   if so:
//!     collect: arrays of elements go in which no row starts
//!     if more than twice what all rows have is left: pack
//! ```
//!
//! Arrays from outside a loop, and a function's arguments, are held anyway: nothing is copied out of them, or each iteration would do so.
//!
//! The first costs a step a position. The rest costs what the rows have, but only when as much has been made since the last time.

use super::Flattener;
use super::canonical::Form;
use super::ex::Ex;
use super::nest::{FDim, LevelId};
use super::pack::DimRep;
use par_ir::core::{Lambda, Param};
use par_ir::flat::{self, KernelKind, Op, Ty};
use par_ir::prim::BinOp;
use par_ir::{Atom, Prim, Type, Var};

impl Flattener<'_> {
    /// Frees what the rows of the views among these values do not need. `atoms` are the CORE values in `values`.
    pub fn compacted(
        &mut self,
        level: LevelId,
        atoms: &[Atom],
        forms: &[Form],
        values: Vec<Atom>,
    ) -> Vec<Atom> {
        let mut rest = values.into_iter();
        let mut out = Vec::new();
        for (a, form) in atoms.iter().zip(forms) {
            let v = a.var().filter(|_| *form == Form::View);
            let count = v.map_or(1, |v| self.types[&v].rank() + 1);
            let values: Vec<Atom> = rest.by_ref().take(count).collect();
            match v {
                Some(v) => out.extend(self.compact(level, values, &self.types[&v].clone(), &[])),
                None => out.extend(values),
            }
        }
        out
    }

    /// As [`Self::compacted`], for the values of one view. `base` are ropes that are held anyway, one for each of the view's.
    pub fn compact(&mut self, level: LevelId, mut values: Vec<Atom>, ty: &Type, base: &[Var]) -> Vec<Atom> {
        let rank = ty.rank();
        let outermost = if rank == 1 { 0 } else { 1 };
        let (rope, start) = (rope_at(&values, outermost), values[rank]);
        let len = self.ex(ty.rows());
        let root = self.shapes.is_root(level);
        let (starts, lens) = if root {
            let len = self.host(&len);
            (self.singleton(start), self.singleton(len))
        } else {
            (start.var().expect("starts are an array"), self.store(level, &len))
        };
        let prim = if rank == 1 { ty.prim() } else { Prim::I64 };
        let compact = flat::Param { var: self.builder.vars.fresh_like(rope), ty: Ty::Rope(prim) };
        let moved = flat::Param { var: self.builder.vars.fresh_like(starts), ty: Ty::Array(Prim::I64) };
        let kept = self.kept_of(rope, prim);
        self.builder.emit(vec![compact, moved], Op::Compact { rope, starts, lens, kept });
        let extent = self.shapes.extent(level);
        self.shapes.extents.insert(moved.var, extent);
        values[outermost] = compact.var.into();
        values[rank] = if root { self.read(moved.var, Prim::I64, Atom::i64(0)) } else { moved.var.into() };
        if rank == 1 { values } else { self.collect_if_needed(level, values, ty, base) }
    }

    /// Arrays of a rope that are from outside the loop or function, which holds them anyway.
    fn kept_of(&mut self, rope: Var, prim: Prim) -> Option<Var> {
        let mut arrays = Vec::new();
        self.arrays_in(rope, &mut arrays);
        let outside = |v: &Var| self.builder.bound_in.get(v).is_some_and(|depth| *depth <= self.loop_scope);
        arrays.retain(outside);
        match arrays[..] {
            [] => return None,
            [only] if self.builder.ropes.contains(&only) => return Some(only),
            _ => {}
        }
        Some(self.where_bound(&arrays.clone(), |f| f.rope_of(&arrays, prim).0))
    }

    /// Arrays of a rope, each once.
    pub fn arrays_in(&self, rope: Var, found: &mut Vec<Var>) {
        match self.shapes.parts_of_rope.get(&rope) {
            Some(parts) => parts.iter().for_each(|v| self.arrays_in(*v, found)),
            None if !found.contains(&rope) => found.push(rope),
            None => {}
        }
    }

    fn singleton(&mut self, a: Atom) -> Var {
        self.builder.bind("one", Ty::Array(Prim::I64), Op::Literal(vec![a], Prim::I64))
    }

    /// Frees elements, and starts of inner rows, if there are many more than before.
    fn collect_if_needed(
        &mut self,
        level: LevelId,
        mut values: Vec<Atom>,
        ty: &Type,
        base: &[Var],
    ) -> Vec<Atom> {
        let mut needs_collection = Vec::new();
        for at in inner_ropes(ty) {
            let rope = rope_at(&values, at);
            let op = Op::NeedsCollection { rope, base: base.get(at).copied() };
            let (now, flag) = self.next_rope(rope, element(ty, at), "grown", op);
            values[at] = now;
            needs_collection.push(flag);
        }
        self.if_any(level, &needs_collection, values, ty, |f, values| f.collect_unused(level, values, ty))
    }

    /// Collects. The question whether little is left of much is asked twice: the lengths of rows need not be looked at if the rows alone are many.
    fn collect_unused(&mut self, level: LevelId, values: Vec<Atom>, ty: &Type) -> Vec<Atom> {
        let rows = self.rows_of_all(level, ty);
        let (values, sparse) = self.collect_once(values, ty, rows);
        self.if_any(level, &sparse, values, ty, |f, values| {
            let weight = f.weight(level, ty);
            let (values, sparse) = f.collect_once(values, ty, weight);
            f.if_any(level, &sparse, values, ty, |f, values| f.repacked(level, &values, ty))
        })
    }

    fn collect_once(&mut self, mut values: Vec<Atom>, ty: &Type, weight: Atom) -> (Vec<Atom>, Vec<Atom>) {
        let mut sparse = Vec::new();
        for at in inner_ropes(ty).rev() {
            let around = if at == 0 { ty.rank() - 1 } else { at - 1 };
            let (rope, starts) = (rope_at(&values, at), rope_at(&values, around));
            let op = Op::Collect { rope, starts, weight };
            let (now, flag) = self.next_rope(rope, element(ty, at), "sparse", op);
            values[at] = now;
            sparse.push(flag);
        }
        (values, sparse)
    }

    /// Emits an operation with two results: the new version of a rope and a flag.
    fn next_rope(&mut self, rope: Var, prim: Prim, flag: &str, op: Op) -> (Atom, Atom) {
        let now = flat::Param { var: self.builder.vars.fresh_like(rope), ty: Ty::Rope(prim) };
        let flag = flat::Param { var: self.builder.vars.fresh(flag), ty: Ty::Scalar(Prim::Bool) };
        self.builder.emit(vec![now, flag], op);
        (now.var.into(), flag.var.into())
    }

    /// A view's values, changed if one of the flags holds.
    fn if_any(
        &mut self,
        level: LevelId,
        flags: &[Atom],
        values: Vec<Atom>,
        ty: &Type,
        change: impl FnOnce(&mut Self, Vec<Atom>) -> Vec<Atom>,
    ) -> Vec<Atom> {
        let (first, rest) = flags.split_first().expect("rows of rows have inner ropes");
        let cond = rest.iter().fold(*first, |all, flag| self.builder.logic("any", BinOp::Or, all, *flag));
        let like = self.like(level, &values, ty);
        let changed = self.open_block(|_| Ok(()));
        let Ok(scope) = changed else { unreachable!("nothing is done in it") };
        let then = self.close_block(scope, |f| change(f, values.clone()));
        let other = flat::Block { stms: vec![], results: values };
        self.bind_if(cond, then, other, &like).iter().map(|p| p.var.into()).collect()
    }

    /// The view of a copy that has no more than what the rows need.
    fn repacked(&mut self, level: LevelId, values: &[Atom], ty: &Type) -> Vec<Atom> {
        let p = Param { var: self.builder.vars.fresh("rows"), ty: ty.clone() };
        let start = values[ty.rank()];
        let starts: Vec<Var> = (1..ty.rank()).map(|at| rope_at(values, at)).collect();
        self.bind_view(level, &p, rope_at(values, 0), &starts, start);
        let arr = self.arr(p.var);
        let packed = self.pack(level, &arr, ty);
        self.as_view(level, &packed, ty)
    }

    /// Variables like the values of a view.
    fn like(&mut self, level: LevelId, values: &[Atom], ty: &Type) -> Vec<flat::Param> {
        let tys = self.form_tys(level, ty, Form::View);
        let mut named = |(a, ty): (&Atom, Ty)| {
            let var = match a {
                Atom::Var(v) => self.builder.vars.fresh_like(*v),
                Atom::Const(_) => self.builder.vars.fresh("start"),
            };
            flat::Param { var, ty }
        };
        values.iter().zip(tys).map(&mut named).collect()
    }

    /// Number of rows of all positions together, as a host scalar.
    fn rows_of_all(&mut self, level: LevelId, ty: &Type) -> Atom {
        let rows = self.ex(ty.rows());
        match self.dim_for(level, &rows) {
            FDim::Size(rows) => {
                let positions = self.count(level);
                self.builder.host_op(BinOp::Mul, positions, rows)
            }
            FDim::Seg(d) => self.builder.total(d),
            FDim::View(_) | FDim::Steps(..) => unreachable!("a view is never a level"),
        }
    }

    /// Number of innermost rows and elements of all positions together, as a host scalar.
    fn weight(&mut self, level: LevelId, ty: &Type) -> Atom {
        let mut dims = self.dim_reps(ty);
        let mut at = level;
        while dims.len() > 2 {
            let DimRep::Width(width) = dims.remove(0) else { unreachable!("entered from outside") };
            at = self.enter(at, &width);
            dims = self.inside(&dims, at);
        }
        let DimRep::Width(rows) = dims.remove(0) else { unreachable!("entered from outside") };
        let each = self.enter(at, &rows);
        let Some(DimRep::Width(len)) = self.inside(&dims, each).pop() else {
            unreachable!("entered from outside")
        };
        let weight = self.add(len, Ex::i64(1));
        let mut g = self.group_at(each);
        let result = self.eval(&mut g, &weight);
        let sums = self.builder.vars.fresh("weights");
        let op = Lambda::of_operator(BinOp::Add, Prim::I64, self.builder.span, &mut self.builder.vars);
        let neutral = vec![Atom::i64(0)];
        let pat = vec![flat::Param { var: sums, ty: Ty::Array(Prim::I64) }];
        self.finish(g, KernelKind::Reduce { op, neutral }, vec![result], pat);
        let d = self.builder.bind("weights", Ty::Desc, Op::MakeDesc(sums));
        self.builder.total(d)
    }
}

/// Places of the ropes that rows of inner dimensions are in: the elements, and the starts of rows of inner dimensions but the
/// outermost of these.
fn inner_ropes(ty: &Type) -> impl DoubleEndedIterator<Item = usize> + use<> {
    // The elements come last where there are inner starts: backwards from outside.
    std::iter::once(0).chain((2..ty.rank()).rev())
}

fn element(ty: &Type, at: usize) -> Prim {
    if at == 0 { ty.prim() } else { Prim::I64 }
}

fn rope_at(values: &[Atom], at: usize) -> Var {
    values[at].var().expect("a rope is a variable")
}
