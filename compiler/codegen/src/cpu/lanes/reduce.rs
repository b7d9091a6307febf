//! Reductions in groups: accumulators in lanes, and what stays as it is.

use super::Group;
use super::operator::{Keep, Kept, Part, Reduction, Together};
use super::prim::has_form;
use super::value::{Form, Lanes, lane_bytes};
use crate::cpu::emit::{Result, Values, args};
use cranelift::prelude::*;
use par_ir::core::{Exp, Lambda, Param};
use par_ir::flat::Kernel;
use par_ir::prim::{BinOp, PrimOp};
use par_ir::ty::Atom;
use par_ir::{Prim, Scalar, tuning};

/// A component of an operator that takes elements in any order: it combines with its own accumulator only.
#[derive(Clone, Copy)]
pub struct Lane {
    /// Its operator.
    pub op: BinOp,
    /// Its type.
    pub prim: Prim,
}

/// True if every component of an operator is combined with its own accumulator only, in any order.
pub fn any_order(op: &Lambda) -> bool {
    let k = op.params.len() / 2;
    op.body.stms.len() == k && (0..k).all(|i| own(op, i).is_some())
}

/// A component of an operator, if it is combined with its own accumulator only, in any order.
pub fn own(op: &Lambda, i: usize) -> Option<Lane> {
    let k = op.params.len() / 2;
    let (x, y) = (op.params[i].var, op.params[k + i].var);
    let result = op.body.results.get(i)?.var()?;
    let stm = op.body.stms.iter().find(|s| s.pat.iter().any(|p| p.var == result))?;
    let Exp::Prim(PrimOp::Bin(bin, prim), xs) = &stm.exp else { return None };
    let fits = xs[..] == [Atom::Var(x), Atom::Var(y)] || xs[..] == [Atom::Var(y), Atom::Var(x)];
    identity(*bin, *prim)?;
    let fits = fits && has_form(PrimOp::Bin(*bin, *prim));
    fits.then_some(Lane { op: *bin, prim: *prim })
}

/// Identity element of an operator. `None`: none is known.
fn identity(op: BinOp, p: Prim) -> Option<Scalar> {
    let float = |x: f64| Scalar::from_f64(p, x);
    match op {
        // The sum of minus zeros is minus zero.
        BinOp::Add if p.is_float() => float(-0.0),
        BinOp::Mul if p.is_float() => float(1.0),
        BinOp::Min if p.is_float() => float(f64::INFINITY),
        BinOp::Max if p.is_float() => float(f64::NEG_INFINITY),
        _ if p.is_float() => None,
        BinOp::Add | BinOp::Or | BinOp::Xor => Some(Scalar::zero(p)),
        BinOp::Mul => Some(Scalar::from_bits(p, 1)),
        BinOp::And if p == Prim::Bool => Some(Scalar::Bool(true)),
        BinOp::And => Some(Scalar::from_bits(p, u64::MAX)),
        BinOp::Min => Some(highest(p)),
        BinOp::Max => Some(lowest(p)),
        _ => None,
    }
}

fn highest(p: Prim) -> Scalar {
    Scalar::from_bits(p, u64::MAX >> (64 - p.bits() + u32::from(p.is_signed())))
}

fn lowest(p: Prim) -> Scalar {
    if p.is_signed() { Scalar::from_bits(p, 1 << (p.bits() - 1)) } else { Scalar::zero(p) }
}

/// The types of an operator's results.
pub fn prims(op: &Lambda) -> Vec<Prim> {
    op.ret.iter().map(|t| t.prim()).collect()
}

/// The values of some components.
fn some<T: Clone>(all: &[T], components: &[usize]) -> Vec<T> {
    components.iter().map(|i| all[*i].clone()).collect()
}

/// Accumulators of a row.
pub struct Accumulators<'v> {
    /// In lanes.
    pub lanes: &'v [Value],
    /// As scalars: what scalar code has combined, and what is not in lanes.
    pub scalars: &'v [Value],
}

impl Group<'_, '_> {
    /// Accumulators in lanes before the first group.
    pub fn identities(&mut self, reduction: &Reduction, neutral: &[Value]) -> Vec<Value> {
        let mut all = Vec::new();
        for part in &reduction.parts {
            match part {
                Part::Own(_, lane) => {
                    let x = identity(lane.op, lane.prim).unwrap_or(Scalar::zero(lane.prim));
                    let x = self.e.constant(x);
                    all.extend(self.accumulator(&Lanes::Same(x), lane.prim));
                }
                Part::Kept(_) => {}
                Part::Together(t) => {
                    for (x, p) in some(neutral, &t.components).into_iter().zip(prims(&t.op)) {
                        all.extend(self.accumulator(&Lanes::Same(x), p));
                    }
                }
            }
        }
        all
    }

    fn accumulator(&mut self, x: &Lanes, p: Prim) -> Vec<Value> {
        self.flatten(x, p, Form::Vector)
    }

    /// The first registers as values of these types; the registers after them.
    fn split<'v>(&mut self, prims: &[Prim], mut regs: &'v [Value]) -> (Vec<Lanes>, &'v [Value]) {
        let mut all = Vec::new();
        for p in prims {
            let (mine, after) = regs.split_at(self.registers(lane_bytes(*p)));
            all.push(Lanes::Vector(mine.to_vec()));
            regs = after;
        }
        (all, regs)
    }

    /// The accumulators after the elements of the positions from `pos`. Its further results go to `store`. The group is left if what is
    /// not in lanes would change.
    pub fn reduce(
        &mut self,
        reduction: &Reduction,
        kernel: &Kernel,
        pos: Value,
        acc: Accumulators,
        store: impl Fn(&mut Self, &[Lanes]),
    ) -> Result<Values> {
        let mut xs = self.elements(kernel, pos)?;
        let rest = xs.split_off(acc.scalars.len().min(xs.len()));
        let next = self.reduced(reduction, xs, &acc)?;
        store(self, &rest);
        Ok(next)
    }

    /// The accumulators after these elements.
    pub fn reduced(&mut self, reduction: &Reduction, xs: Vec<Lanes>, acc: &Accumulators) -> Result<Values> {
        for part in &reduction.parts {
            if let Part::Kept(kept) = part {
                self.stay_if_kept(kept, acc.scalars, &xs)?;
            }
        }
        self.accumulate(reduction, acc.lanes, &xs)
    }

    /// The accumulators in lanes after one more element in each.
    fn accumulate(&mut self, reduction: &Reduction, mut regs: &[Value], xs: &[Lanes]) -> Result<Values> {
        let mut next = Vec::new();
        for part in &reduction.parts {
            match part {
                Part::Own(i, lane) => {
                    let (acc, after) = self.split(&[lane.prim], regs);
                    regs = after;
                    let op = PrimOp::Bin(lane.op, lane.prim);
                    let sum = self.on_vectors(op, &[acc[0].clone(), xs[*i].clone()]);
                    let sum = self.where_active(&sum, &acc[0], lane.prim);
                    next.extend(self.accumulator(&sum, lane.prim));
                }
                Part::Kept(_) => {}
                Part::Together(t) => {
                    let prims = prims(&t.op);
                    let (acc, after) = self.split(&prims, regs);
                    regs = after;
                    let operands = acc.iter().cloned().chain(some(xs, &t.components));
                    for ((x, p), before) in self.combined(&t.op, operands)?.iter().zip(prims).zip(&acc) {
                        let x = self.where_active(x, before, p);
                        next.extend(self.accumulator(&x, p));
                    }
                }
            }
        }
        Ok(next)
    }

    /// A value in the lanes that are here, another one in the others.
    fn where_active(&mut self, x: &Lanes, other: &Lanes, p: Prim) -> Lanes {
        match self.here.active.clone() {
            None => x.clone(),
            Some(active) => self.blend(&active, x, other, p, false),
        }
    }

    /// An operator on lanes.
    pub fn combined(&mut self, op: &Lambda, operands: impl Iterator<Item = Lanes>) -> Result<Vec<Lanes>> {
        self.bind_params(&op.params, operands);
        self.stms(&op.body.stms)?;
        op.body.results.iter().map(|a| self.atom(a)).collect()
    }

    pub fn bind_params(&mut self, params: &[Param], xs: impl Iterator<Item = Lanes>) {
        for (p, x) in params.iter().zip(xs) {
            self.e.bound.prims.insert(p.var, p.ty.prim());
            self.bind(p.var, x);
        }
    }

    /// Leaves the group unless elements leave an accumulator as it is. What is cheap and mostly enough is asked first.
    fn stay_if_kept(&mut self, kept: &Kept, acc: &[Value], xs: &[Lanes]) -> Result {
        let acc = some(acc, &kept.components).into_iter().map(Lanes::Same);
        self.bind_params(&kept.params, acc.chain(some(xs, &kept.components)));
        let on = self.e.b.create_block();
        let mut all: Option<Lanes> = None;
        for (stms, clause) in &kept.clauses {
            self.stms(stms)?;
            let Some(mask) = self.holds(clause)? else { continue };
            let mask = match all {
                Some(before) => self.either(&before, &mask),
                None => mask,
            };
            let (enough, more) = (self.all(&mask), self.e.b.create_block());
            self.e.b.ins().brif(enough, on, &[], more, &[]);
            self.e.b.switch_to_block(more);
            all = Some(mask);
        }
        self.leaving.leaves |= all.is_some();
        let to = if all.is_some() { self.alone } else { on };
        self.e.b.ins().jump(to, &[]);
        self.e.b.switch_to_block(on);
        Ok(())
    }

    /// Mask of the lanes in which a condition holds. `None`: all lanes; conditions that never hold do not get here.
    fn holds(&mut self, keep: &Keep) -> Result<Option<Lanes>> {
        Ok(Some(match keep {
            Keep::Always | Keep::Never => return Ok(None),
            Keep::Flag(v, value) => {
                let flag = self.atom(&Atom::Var(*v))?;
                match (flag, *value) {
                    (flag, true) => flag,
                    (Lanes::Same(x), false) => Lanes::Same(self.e.b.ins().bxor_imm_s(x, 1)),
                    (flag, false) => {
                        let regs = self.mask(&flag, None);
                        Lanes::Vector(regs.into_iter().map(|r| self.e.b.ins().bnot(r)).collect())
                    }
                }
            }
            Keep::Both(a, b) | Keep::Either(a, b) => {
                let (Some(x), Some(y)) = (self.holds(a)?, self.holds(b)?) else { return Ok(None) };
                if matches!(keep, Keep::Both(..)) { self.both(&x, &y) } else { self.either(&x, &y) }
            }
        }))
    }

    /// The accumulators after a run of positions in every lane from `pos`: lanes begin with `identities`, and are combined in order.
    pub fn reduce_in_order(
        &mut self,
        reduction: &Reduction,
        kernel: &Kernel,
        pos: Value,
        identities: &[Value],
        state: &[Value],
    ) -> Result<Values> {
        let (again, exit) = (self.e.b.create_block(), self.e.b.create_block());
        let first = [&[pos], identities].concat();
        let here = self.e.params_like(again, &first);
        let last = self.e.params_like(exit, identities);
        self.e.b.ins().jump(again, &args(&first));
        self.e.b.switch_to_block(again);
        let xs = self.elements(kernel, here[0])?;
        let next = self.accumulate(reduction, &here[1..], &xs)?;
        let i = self.e.b.ins().iadd_imm_s(here[0], 1);
        let end = self.e.b.ins().iadd_imm_s(pos, tuning::LANES_RUN);
        let repeat = self.e.b.ins().icmp(IntCC::SignedLessThan, i, end);
        self.e.b.ins().brif(repeat, again, &args(&[&[i], &next[..]].concat()), exit, &args(&next));
        self.e.b.switch_to_block(exit);
        self.e.nest.loops += 1;
        self.fold(reduction, &[], Accumulators { lanes: &last, scalars: state })
    }

    /// The scalar accumulators with those of the lanes; `into` has the types of those.
    pub fn fold(&mut self, reduction: &Reduction, into: &[Prim], acc: Accumulators) -> Result<Values> {
        let (mut results, mut regs) = (acc.scalars.to_vec(), acc.lanes);
        for part in &reduction.parts {
            match part {
                Part::Own(i, lane) => {
                    let (x, after) = self.split(&[lane.prim], regs);
                    regs = after;
                    results[*i] = self.fold_own(*lane, into[*i], &x[0], results[*i]);
                }
                Part::Kept(_) => {}
                Part::Together(t) => {
                    let (xs, after) = self.split(&prims(&t.op), regs);
                    regs = after;
                    let all = self.fold_together(t, &xs, some(&results, &t.components))?;
                    t.components.iter().zip(all).for_each(|(i, x)| results[*i] = x);
                }
            }
        }
        Ok(results)
    }

    fn fold_own(&mut self, lane: Lane, into: Prim, x: &Lanes, acc: Value) -> Value {
        let op = PrimOp::Bin(lane.op, lane.prim);
        let regs = self.vector(x, lane.prim);
        let scalars = self.fold_registers(op, &regs);
        let all = self.tree(&scalars, |s, a, b| s.e.prim(op, &[a, b], None));
        let all = self.e.prim(PrimOp::Conv(lane.prim, into), &[all], None);
        self.e.prim(PrimOp::Bin(lane.op, into), &[acc, all], None)
    }

    /// The lanes of components in their order, after what comes before them.
    fn fold_together(&mut self, t: &Together, xs: &[Lanes], acc: Vec<Value>) -> Result<Values> {
        let columns: Vec<Vec<Value>> = xs.iter().zip(prims(&t.op)).map(|(x, p)| self.apart(x, p)).collect();
        let lane = |l: usize| columns.iter().map(|c| c[l]).collect::<Vec<_>>();
        let mut lanes: Vec<Vec<Value>> = (0..self.lanes).map(lane).collect();
        while lanes.len() > 1 {
            let pair = |c: &[Vec<Value>]| match c {
                [a, b] => self.e.lambda(&t.op, &[&a[..], b].concat()),
                c => Ok(c[0].clone()),
            };
            lanes = lanes.chunks(2).map(pair).collect::<Result<_>>()?;
        }
        self.e.lambda(&t.op, &[&acc[..], &lanes[0]].concat())
    }
    /// The lanes of one register that combines all, as scalars.
    fn fold_registers(&mut self, op: PrimOp, regs: &[Value]) -> Vec<Value> {
        let one = |x: Value| Lanes::Vector(vec![x]);
        // Rounding wants the same order at every width of registers.
        let used = self.lanes * self.lane_bytes(regs[0]);
        let mut regs = self.parts(regs);
        regs.truncate(used.div_ceil(super::cost::BYTES));
        let register = self.tree(&regs, |s, a, b| match s.on_vectors(op, &[one(a), one(b)]) {
            Lanes::Vector(r) => r[0],
            _ => a,
        });
        let lanes = self.e.b.func.dfg.value_type(register).lane_count() as usize;
        self.unpack(&[register], lanes.min(self.lanes), op.result())
    }
}
