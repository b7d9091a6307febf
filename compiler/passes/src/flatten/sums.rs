//! Accumulators: what rows add is one histogram, in place, for all positions at a time.
//!
//! ```text
//! acc, base = accumulate d       the elements of all positions' arrays; where a position's begin
//! add acc is xs                  acc' = kernel hist … { (is[pos], xs[pos]) }
//! d' = accumulated acc           the last version, in rows as before
//! ```

use super::Flattener;
use super::carried::Carried;
use super::ex::Ex;
use super::nest::{FDim, Kind, LevelId, ROOT};
use super::rep::{Arr, Rep, Src};
use par_ir::core::{Exp, FunId, Lambda, Param};
use par_ir::flat::{self, KernelKind, Op, Out, Ty};
use par_ir::prim::BinOp;
use par_ir::{Atom, PrimOp, Scalar, Type, Var};
use std::collections::BTreeSet;
use std::rc::Rc;

impl Flattener<'_> {
    /// Begins an accumulator with the arrays of all positions: binds it, and where a position's array starts in it.
    pub fn begin_sums(&mut self, level: LevelId, pat: &[Param], dest: Var) {
        let (arr, data) = self.destination(level, dest);
        let first = flat::Param { var: data, ty: Ty::Array(pat[0].ty.prim()) };
        self.bind_local(&pat[1], arr.start.clone());
        self.own.carried.insert(Carried::Sums(pat[0].var), first);
        self.own.sums.insert(pat[0].var, arr);
    }

    /// Adds the values of all positions at their places, in one histogram.
    pub fn add_at(&mut self, level: LevelId, acc: Var, places: Var, values: Var) {
        let places = self.arr(places);
        let (at, Rep::Scalar(place), Rep::Scalar(value)) = self.elements_of_both(level, places, values)
        else {
            unreachable!("the elements of an array of rank 1 are scalars")
        };
        let mut g = self.take_group(at);
        let row = vec![self.eval(&mut g, &place), self.eval(&mut g, &value)];
        let dests = vec![self.carried(Carried::Sums(acc)).var];
        let prim = self.types[&acc].prim();
        let op = Lambda::of_operator(BinOp::Add, prim, self.builder.span, &mut self.builder.vars);
        let neutral = vec![Atom::Const(Scalar::zero(prim))];
        let new = self.next_version_of(Carried::Sums(acc));
        self.finish(g, KernelKind::Hist { dests, op, neutral }, row, vec![new]);
    }

    /// Ends an accumulator: its last version is an array with the rows that it began with.
    pub fn end_sums(&mut self, p: &Param, acc: Var) {
        let state = self.own.carried.remove(&Carried::Sums(acc)).zip(self.own.sums.remove(&acc));
        let (last, arr) = state.expect("internal error in flatten: an accumulator ends where none began");
        let Src::Data(first, prim) = arr.src else { unreachable!("numbers are data") };
        self.same_layout(first, last.var, prim);
        self.env.insert(p.var, Rep::Array(Arr { src: Src::Data(last.var, prim), ..arr }));
    }

    /// Arguments of a call without an accumulator that is there twice: the second is one of zeros, which is added behind the call.
    pub fn different_sums(&mut self, callee: FunId, args: &[Atom]) -> (Vec<Atom>, Vec<(Var, Var)>) {
        let params = &self.facts.source.funs[callee.0 as usize].params;
        let (mut args, mut copies, mut seen) = (args.to_vec(), Vec::new(), BTreeSet::new());
        for (a, p) in args.iter_mut().zip(params).filter(|(_, p)| p.ty.is_acc()) {
            let Some(acc) = a.var().filter(|acc| !seen.insert(*acc)) else { continue };
            let (now, prim) = (self.carried(Carried::Sums(acc)), p.ty.prim());
            let (copy, len) = (self.builder.vars.fresh_like(acc), self.builder.array_length(now.var));
            let zeros = Op::Replicate(len, Atom::Const(Scalar::zero(prim)));
            let var = self.builder.bind("zeros", now.ty, zeros);
            self.own.carried.insert(Carried::Sums(copy), flat::Param { var, ..now });
            self.types.insert(copy, p.ty.clone());
            copies.push((acc, copy));
            *a = copy.into();
        }
        (args, copies)
    }

    /// Adds to an accumulator what was added to its copy.
    pub fn join_sums(&mut self, acc: Var, copy: Var) {
        let copy = self.own.carried.remove(&Carried::Sums(copy)).expect("made before");
        let (now, prim) = (self.carried(Carried::Sums(acc)).var, self.types[&acc].prim());
        let len = self.builder.array_length(now);
        let all = self.shapes.push_level(ROOT, Kind::Dim(FDim::Size(len)));
        let element = |v: Var| Ex::Load(v, prim, Rc::new(Ex::Pos(all)));
        let mut g = self.take_group(all);
        let operands = [now, copy.var].map(|v| self.eval(&mut g, &element(v))).to_vec();
        let sum = Exp::Prim(PrimOp::Bin(BinOp::Add, prim), operands);
        let sum = self.inner_scalar(&mut g, Type::scalar(prim), sum);
        let new = self.next_version_of(Carried::Sums(acc));
        self.finish(g, KernelKind::Map(vec![Out::Elem(prim)]), vec![sum], vec![new]);
    }
}
