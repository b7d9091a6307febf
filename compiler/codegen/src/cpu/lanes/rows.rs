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
//! The processor does not foresee where a row of a few elements ends: each end costs as much as a dozen elements. A group ends once for all of its rows.
//!
//! Elements are combined in the order of their row, so that results are those of scalar code. Lanes whose row has ended read on: what is there are the
//! elements of other rows, which the body may read as well. So what it reads must be at places that depend on the position alone.

use super::class::{Classes, Indices};
use super::cost::{self, BYTES};
use super::operator::{Reduction, straightened};
use super::{Group, Plan, is_pure};
use crate::cpu::emit::{Base, Ends, input};
use crate::cpu::fresh::Fresh;
use crate::cpu::small_integers::needed;
use cranelift::prelude::*;
use par_ir::core::{Body, Exp, LoopForm, Param, Stm};
use par_ir::flat::{Kernel, KernelKind, Out, Space};
use par_ir::hash::HashSet;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::tuning;
use par_ir::ty::{Atom, Dim, Type};
use par_ir::visit::{Code as _, Subst};
use par_ir::{Prim, Scalar, Var};

/// Elements of a short row.
const SHORT: i64 = 2;

/// A reduction as a map over its rows.
pub struct Rows {
    /// A loop over a row's elements at the position of every row.
    pub map: Kernel,
    /// The array of the places where rows start, and end.
    pub offsets: Var,
    /// The accumulators' first values.
    pub initial: Vec<Var>,
    /// Results are the same bits in any order.
    pub is_exact: bool,
    /// Groups of a row's elements are for long rows: left where they change its results, or runs of elements.
    is_slow: bool,
}

/// The map over rows that a reduction is, if its body can be done for any element at any time.
pub fn rows(kernel: &Kernel, fresh: &Fresh) -> Option<Rows> {
    let KernelKind::Reduce { op, .. } = &kernel.kind else { return None };
    let Some((n, Dim::Seg(_))) = kernel.space.as_rows() else { return None };
    let straight = straightened(op).unwrap_or_else(|| op.clone());
    let is_simple = [&kernel.body, &straight.body].into_iter().all(|b| is_pure(b) && is_straight(b));
    if kernel.body.results.len() != op.ret.len() || !is_simple || !reads_by_position(kernel) {
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

    let (state, elements) = straight.params.split_at(op.ret.len());
    let pos = Param { var: kernel.pos, ty: Type::scalar(Prim::I64) };
    let mut inside = vec![stm(&pos, sum(start.var.into(), kernel.innermost().into()))];
    inside.extend(kernel.body.stms.iter().cloned());
    let named = elements.iter().map(|p| p.var).zip(kernel.body.results.iter().copied()).collect();
    let combined = without_choices(straight.body.substituted(&named));
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
    let is_exact = !rounds(&op.body);
    let is_slow = Reduction::new(op).is_some_and(|r| r.keeps() || r.in_order);
    Some(Rows { map, offsets, initial, is_exact, is_slow })
}

/// True if all places that the body reads depend on the position, not on its row or its place there: then they are there for lanes that read on.
fn reads_by_position(kernel: &Kernel) -> bool {
    let mut of_row: HashSet<Var> = kernel.row_binders().into_iter().collect();
    of_row.extend(kernel.prologue.iter().flat_map(|s| &s.pat).map(|p| p.var));
    kernel.body.stms.iter().all(|stm| {
        let depends = stm.free().iter().any(|v| of_row.contains(v));
        if depends {
            of_row.extend(stm.pat.iter().map(|p| p.var));
        }
        !(depends && matches!(stm.exp, Exp::Index(..)))
    })
}

/// True if a body has no loop and no branch: a row alone skips what lanes compute for others.
fn is_straight(body: &Body) -> bool {
    body.stms.iter().all(|s| s.exp.own_bodies().is_empty())
}

/// A body without choices whose conditions are known: elements may be constants, as the flags are that say that there is an element.
fn without_choices(mut body: Body) -> Body {
    let mut known = Subst::default();
    for stm in &mut body.stms {
        stm.substitute(&known);
        let Exp::Prim(op, xs) = &stm.exp else { continue };
        let flag = |a: &Atom| if let Atom::Const(Scalar::Bool(x)) = a { Some(*x) } else { None };
        let either = |decides: bool| match (flag(&xs[0]), flag(&xs[1])) {
            (Some(x), _) => Some(if x == decides { xs[0] } else { xs[1] }),
            (_, Some(y)) => Some(if y == decides { xs[1] } else { xs[0] }),
            _ => None,
        };
        let value = match op {
            PrimOp::Select(_) => flag(&xs[0]).map(|c| if c { xs[1] } else { xs[2] }),
            PrimOp::Bin(BinOp::Or, Prim::Bool) => either(true),
            PrimOp::Bin(BinOp::And, Prim::Bool) => either(false),
            _ => None,
        };
        known.extend(value.map(|x| (stm.pat[0].var, x)));
    }
    body.results.iter_mut().for_each(|r| *r = r.var().and_then(|v| known.get(&v)).copied().unwrap_or(*r));
    Body { stms: needed(&body.stms, &body.results), results: body.results }
}

/// True if a body computes floats, which depend on the order of the elements then.
fn rounds(body: &Body) -> bool {
    let is_exact = |op: PrimOp| {
        !op.result().is_float() || matches!(op, PrimOp::Select(_) | PrimOp::Bin(BinOp::Min | BinOp::Max, _))
    };
    body.stms.iter().any(|s| match &s.exp {
        Exp::Prim(op, _) => !is_exact(*op),
        e => e.own_bodies().into_iter().any(rounds),
    })
}

/// Groups of rows, and when they pay.
pub struct RowPlan {
    pub plan: Plan,
    /// Operations of a group for each element of its longest row.
    iteration: i64,
    /// Operations that the end of a row costs if it is done alone, and each of its elements.
    alone: (i64, i64),
}

/// The plan of groups of rows with registers of up to `width` bytes; `in_groups`: the elements of a row alone are done in groups.
pub fn plan(rows: &Rows, in_groups: bool, width: usize) -> Option<RowPlan> {
    let body = &rows.map.body;
    let classes = Classes::new((rows.map.pos, 1), body, Indices::Apart);
    let priced = cost::of_rows(&classes, body, width)?;
    let waits = body.stms.last().is_some_and(|s| s.pat.iter().any(|p| p.ty.prim().is_float()));
    let in_groups = in_groups && !rows.is_slow;
    let alone = match in_groups {
        true => (tuning::ROW_END_IN_GROUPS, 1),
        false => (tuning::ROW_END, tuning::ROW_ELEMENT[usize::from(waits)] + priced.single as i64 / 3),
    };
    let (iteration, lanes) = (priced.group as i64, priced.size.lanes as i64);
    let gains = lanes * (alone.0 + SHORT * alone.1) > SHORT * iteration + tuning::ROWS_BEGIN;
    // In fewer lanes it is not faster to do one element after the other than elements of one row at a time.
    let has_lanes = !in_groups || priced.size.lanes == tuning::LANES_ROWS;
    let reads = if width == BYTES { tuning::ROWS_READS / 2 } else { tuning::ROWS_READS };
    let pays = gains && has_lanes && priced.reads <= reads;
    pays.then(|| RowPlan { plan: Plan::new((classes, priced.size), &[body]), iteration, alone })
}

impl Group<'_, '_> {
    /// Leaves the group unless its rows, from `row` on, are between two positions, those that lanes read on to as well, and are short, or about as long
    /// as the longest one.
    pub fn stay_with_rows(&mut self, rows: &RowPlan, offsets: Base, row: Value, (lo, hi): Ends) {
        let at = self.e.element(offsets, row);
        self.stay_if_few(rows, at);
        let bounds: Vec<Value> =
            (0..=self.lanes as i32).map(|k| self.e.b.ins().load(types::I64, input(), at, 8 * k)).collect();
        let lengths: Vec<Value> = bounds.windows(2).map(|w| self.e.b.ins().isub(w[1], w[0])).collect();
        let most = self.tree(&lengths, |s, a, b| s.e.b.ins().smax(a, b));
        let (first, last) = (bounds[0], bounds[self.lanes]);
        let sum = self.e.b.ins().isub(last, first);
        let group = self.e.b.ins().imul_imm_s(most, rows.iteration);
        let alone = self.e.b.ins().imul_imm_s(sum, rows.alone.1);
        let ends = rows.alone.0 * self.lanes as i64 - tuning::ROWS_BEGIN;
        let alone = self.e.b.ins().iadd_imm_s(alone, ends);
        let pays = self.e.b.ins().icmp(IntCC::SignedLessThanOrEqual, group, alone);
        let reach = self.e.b.ins().iadd(bounds[self.lanes - 1], most);
        let above = self.e.b.ins().icmp(IntCC::SignedGreaterThanOrEqual, first, lo);
        let below = self.e.b.ins().icmp(IntCC::SignedLessThanOrEqual, reach, hi);
        let inside = self.e.b.ins().band(above, below);
        let stays = self.e.b.ins().band(pays, inside);
        self.stay_if(stays);
        self.longest = Some(most);
    }

    /// Leaves the group if its rows have so many elements that it would not pay, if the longest has a quarter more than the mean: without looking at
    /// each. `at` is where the places of their starts are.
    fn stay_if_few(&mut self, rows: &RowPlan, at: Value) {
        let lanes = self.lanes as i64;
        let excess = 5 * rows.iteration - 4 * lanes * rows.alone.1;
        if excess <= 0 {
            return;
        }
        let first = self.e.b.ins().load(types::I64, input(), at, 0);
        let last = self.e.b.ins().load(types::I64, input(), at, 8 * self.lanes as i32);
        let sum = self.e.b.ins().isub(last, first);
        let most = 4 * lanes * (rows.alone.0 * lanes - tuning::ROWS_BEGIN) / excess;
        let few = self.e.b.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, sum, most);
        self.stay_if(few);
    }
}
