//! Reductions of short rows, each in a lane.
//!
//! ```text
//! for row in 0 .. n                              while row + 8 <= n
//!     s = neutral                                    leave the group unless its rows are about as long
//!     for pos in off[row] .. off[row + 1]   ==>      s = splat neutral
//!         s = op s (x[pos])                          for j < the longest length
//!     out[row] = s                                       s = op s (8 of x from off[row ..] + j)   where j < length
//!                                                    8 of out from row = s
//! ```
//!
//! Where a row of a few elements ends, the processor does not foresee: each costs as much as a dozen elements. A group ends once for all of its rows.
//!
//! Elements are combined in the order of their row, so that results are those of scalar code. Lanes whose row has ended read on: what is there are the
//! elements of other rows, for which the body may be computed as well.

use super::class::Classes;
use super::cost::{self, Setting};
use super::{Group, Plan, is_pure};
use crate::cpu::emit::{Base, input};
use crate::cpu::fresh::Fresh;
use cranelift::prelude::*;
use par_ir::core::{Body, Exp, LoopForm, Param, Stm};
use par_ir::flat::{Kernel, KernelKind, Out, Space};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::tuning;
use par_ir::ty::{Atom, Dim, Type};
use par_ir::visit::Code as _;
use par_ir::{Prim, Var};

/// A reduction as a map over its rows.
pub struct Rows {
    /// A loop over a row's elements at the position of every row.
    pub map: Kernel,
    /// The array of the places where rows start, and end.
    pub offsets: Var,
    /// What accumulators are at first.
    pub initial: Vec<Var>,
}

/// The map over rows that a reduction is, if its body can be done for any element at any time.
pub fn rows(kernel: &Kernel, fresh: &Fresh) -> Option<Rows> {
    let KernelKind::Reduce { op, .. } = &kernel.kind else { return None };
    let Some((n, Dim::Seg(_))) = kernel.space.as_rows() else { return None };
    let bodies = [&kernel.body, &op.body];
    if kernel.body.results.len() != op.ret.len() || !bodies.into_iter().all(|b| is_pure(b) && is_straight(b))
    {
        return None;
    }
    let span = op.body.stms.first().or(kernel.body.stms.first()).map(|s| s.span).unwrap_or_default();
    let long = |name: &str| Param { var: fresh.var(name), ty: Type::scalar(Prim::I64) };
    let stm = |p: &Param, exp: Exp| Stm { pat: vec![p.clone()], exp, span };
    let sum = |a: Atom, b: Atom| Exp::Prim(PrimOp::Bin(BinOp::Add, Prim::I64), vec![a, b]);
    let (offsets, row) = (fresh.var("offsets"), Atom::Var(kernel.row));
    let (start, next, begin, end, length) =
        (long("start"), long("next"), long("begin"), long("end"), long("length"));
    let mut stms = kernel.prologue.clone();
    stms.push(stm(&start, Exp::Index(offsets, vec![row])));
    stms.push(stm(&next, sum(row, Atom::i64(1))));
    // Once more, for vectors.
    stms.push(stm(&begin, Exp::Index(offsets, vec![row])));
    stms.push(stm(&end, Exp::Index(offsets, vec![next.var.into()])));
    let difference = Exp::Prim(PrimOp::Bin(BinOp::Sub, Prim::I64), vec![end.var.into(), begin.var.into()]);
    stms.push(stm(&length, difference));

    let (state, elements) = op.params.split_at(op.ret.len());
    let pos = Param { var: kernel.pos, ty: Type::scalar(Prim::I64) };
    let mut inside = vec![stm(&pos, sum(start.var.into(), kernel.innermost().into()))];
    inside.extend(kernel.body.stms.iter().cloned());
    let named = elements.iter().map(|p| p.var).zip(kernel.body.results.iter().copied()).collect();
    let combined = op.body.substituted(&named);
    inside.extend(combined.stms);
    let body = Body { stms: inside, results: combined.results };
    let initial: Vec<Var> = state.iter().map(|_| fresh.var("neutral")).collect();
    let sums: Vec<Param> = state.iter().map(|p| Param { var: fresh.var("sum"), ty: p.ty.clone() }).collect();
    let params = state.iter().cloned().zip(initial.iter().map(|v| Atom::Var(*v))).collect();
    let form = LoopForm::For { index: kernel.innermost(), prim: Prim::I64, bound: length.var.into() };
    let results = sums.iter().map(|p| p.var.into()).collect();
    let outs = sums.iter().map(|p| Out::Elem(p.ty.prim())).collect();
    stms.push(Stm { pat: sums, exp: Exp::Loop { params, form, body }, span });
    let map = Kernel {
        kind: KernelKind::Map(outs),
        space: Space::flat(n),
        index: vec![kernel.row],
        row: kernel.row,
        pos: kernel.row,
        prologue: vec![],
        body: Body { stms, results },
    };
    Some(Rows { map, offsets, initial })
}

/// True if a body has no loop.
fn is_straight(body: &Body) -> bool {
    let is_loop = |s: &Stm| matches!(s.exp, Exp::Loop { .. });
    body.stms.iter().all(|s| !is_loop(s) && s.exp.own_bodies().into_iter().all(is_straight))
}

/// The plan of groups of rows, if they pay, with registers of up to `width` bytes.
pub fn plan(rows: &Rows, width: usize) -> Option<Plan> {
    let body = &rows.map.body;
    let classes = |indices| Classes::new((rows.map.pos, 1), body, indices);
    let (classes, size) =
        cost::choose(classes, &[body], Setting { are_rows: true, ..Setting::of_map(width) })?;
    Some(Plan { are_rows: true, ..Plan::new((classes, size), &[body]) })
}

impl Group<'_, '_> {
    /// Leaves the group unless its rows, from `row` on, are between two positions, those that lanes read on to as well, and most lanes do not wait
    /// long for the longest one.
    pub fn stay_with_rows(&mut self, offsets: Base, row: Value, (lo, hi): (Value, Value)) {
        let at = self.e.element(offsets, row);
        let ends: Vec<Value> =
            (0..=self.lanes as i32).map(|k| self.e.b.ins().load(types::I64, input(), at, 8 * k)).collect();
        let lengths: Vec<Value> = ends.windows(2).map(|w| self.e.b.ins().isub(w[1], w[0])).collect();
        let most = self.tree(&lengths, |s, a, b| s.e.b.ins().smax(a, b));
        let (first, last) = (ends[0], ends[self.lanes]);
        let sum = self.e.b.ins().isub(last, first);
        let all = self.e.b.ins().imul_imm_s(most, self.lanes as i64);
        let limit = self.e.b.ins().imul_imm_s(sum, tuning::LANES_EVEN);
        let limit = self.e.b.ins().iadd_imm_s(limit, tuning::LANES_UNEVEN * self.lanes as i64);
        let even = self.e.b.ins().icmp(IntCC::SignedLessThanOrEqual, all, limit);
        let reach = self.e.b.ins().iadd(ends[self.lanes - 1], most);
        let above = self.e.b.ins().icmp(IntCC::SignedGreaterThanOrEqual, first, lo);
        let below = self.e.b.ins().icmp(IntCC::SignedLessThanOrEqual, reach, hi);
        let inside = self.e.b.ins().band(above, below);
        let stays = self.e.b.ins().band(even, inside);
        self.stay_if(stays);
    }
}
