//! Reductions with an accumulator in every lane.

use super::Group;
use super::prim::has_form;
use super::value::Lanes;
use crate::cpu::emit::Unsupported;
use cranelift::prelude::*;
use par_ir::core::{Exp, Lambda};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::ty::Atom;
use par_ir::{Prim, Scalar};

/// A component of an operator that takes elements in any order: it combines with its own accumulator only.
#[derive(Clone, Copy)]
pub struct Lane {
    /// Its operator.
    pub op: BinOp,
    /// Its type.
    pub prim: Prim,
    /// The type of the scalar that all lanes are combined with at last.
    pub into: Prim,
}

/// The components of an operator, if it takes elements in any order.
pub fn operators(op: &Lambda) -> Option<Vec<Lane>> {
    let k = op.params.len() / 2;
    let component = |i: usize| {
        let (x, y) = (op.params[i].var, op.params[k + i].var);
        let result = op.body.results.get(i)?.var()?;
        let stm = op.body.stms.iter().find(|s| s.pat.iter().any(|p| p.var == result))?;
        let Exp::Prim(PrimOp::Bin(bin, prim), xs) = &stm.exp else { return None };
        let fits = xs[..] == [Atom::Var(x), Atom::Var(y)] || xs[..] == [Atom::Var(y), Atom::Var(x)];
        identity(*bin, *prim)?;
        let fits = fits && has_form(PrimOp::Bin(*bin, *prim));
        fits.then_some(Lane { op: *bin, prim: *prim, into: *prim })
    };
    if op.body.stms.len() != k {
        return None;
    }
    (0..k).map(component).collect()
}

/// What changes nothing when combined.
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

impl Group<'_, '_> {
    /// Accumulators before the first group.
    pub fn identities(&mut self, lanes: &[Lane]) -> Vec<Value> {
        let mut all = Vec::new();
        for lane in lanes {
            let x = identity(lane.op, lane.prim).unwrap_or(Scalar::zero(lane.prim));
            let x = Lanes::Same(self.e.constant(x));
            all.extend(self.accumulator(&x, lane.prim));
        }
        all
    }

    fn accumulator(&mut self, x: &Lanes, p: Prim) -> Vec<Value> {
        self.flatten(x, p, super::value::Form::Vector)
    }

    /// Registers of every component.
    fn split(&mut self, lanes: &[Lane], state: &[Value]) -> Vec<Lanes> {
        let mut rest = state;
        let mut all = Vec::new();
        for lane in lanes {
            let bytes =
                if lane.prim == Prim::Bool { super::value::MASK } else { super::cost::width(lane.prim) };
            let (mine, after) = rest.split_at(self.registers(bytes));
            all.push(Lanes::Vector(mine.to_vec()));
            rest = after;
        }
        all
    }

    /// The accumulators after a group's elements.
    pub fn accumulate(&mut self, lanes: &[Lane], state: &[Value], xs: &[Lanes]) -> Vec<Value> {
        let accumulators = self.split(lanes, state);
        let mut next = Vec::new();
        for ((lane, acc), x) in lanes.iter().zip(accumulators).zip(xs) {
            let sum = self.on_vectors(PrimOp::Bin(lane.op, lane.prim), &[acc, x.clone()]);
            next.extend(self.accumulator(&sum, lane.prim));
        }
        next
    }

    /// The scalar accumulators with those of the lanes.
    pub fn fold(
        &mut self,
        lanes: &[Lane],
        state: &[Value],
        acc: &[Value],
    ) -> Result<Vec<Value>, Unsupported> {
        let accumulators = self.split(lanes, state);
        let mut results = Vec::new();
        for ((lane, x), acc) in lanes.iter().zip(accumulators).zip(acc) {
            let op = PrimOp::Bin(lane.op, lane.prim);
            let Lanes::Vector(regs) = x else { continue };
            let scalars = self.fold_registers(op, &regs);
            let all = self.tree(&scalars, |s, a, b| s.e.prim(op, &[a, b], None));
            let all = self.e.prim(PrimOp::Conv(lane.prim, lane.into), &[all], None);
            results.push(self.e.prim(PrimOp::Bin(lane.op, lane.into), &[*acc, all], None));
        }
        Ok(results)
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
