//! Maps on vectors of 128 bits: straight-line bodies that read arrays at their own position.
//!
//! ```text
//! for pos in start .. end            for pos in start .. end - 15 by 16
//!     out[pos] = a * xs[pos] + 1         4 times: out[pos..+4] = splat a * xs[pos..+4] + splat 1
//!                              ==>   for pos in … .. end
//!                                        out[pos] = a * xs[pos] + 1
//! ```
//!
//! Every lane is computed by the same operators as the scalar, so that results are the same to the bit. All values that
//! differ between elements have one width in registers; what is the same for all elements stays scalar and is copied to the
//! lanes.

use super::convert;
use super::emit::{Base, Emitter, Unsupported, clif_type, input, output};
use super::half;
use super::kernel::KernelInfo;
use super::math;
use cranelift::prelude::*;
use par_ir::core::{Exp, Stm};
use par_ir::flat::{KernelKind, Out};
use par_ir::prim::{BinOp, PrimOp, UnOp};
use par_ir::ty::Atom;
use par_ir::{Prim, Var};
use std::collections::{HashMap, HashSet};

/// Bytes of a vector.
const BYTES: usize = 16;
/// Vectors a turn.
const UNROLL: usize = 4;

/// The width in bytes of a map's values in registers, if it can be done on vectors.
pub fn width(info: &KernelInfo, arrays: &HashMap<Var, Base>) -> Option<usize> {
    let KernelKind::Map(outs) = &info.kernel.kind else { return None };
    let prims: Vec<Prim> = outs.iter().map(element).collect::<Option<_>>()?;
    let size = lane(*prims.first()?);
    if size < 4 || prims.iter().any(|p| lane(*p) != size) {
        return None;
    }
    let (body, pos) = (&info.kernel.body, info.kernel.pos);
    let mut lanes = HashSet::new();
    for stm in &body.stms {
        if !fits(stm, pos, size, &mut lanes, arrays) {
            return None;
        }
    }
    let varies = |a: &Atom| a.var().is_some_and(|v| lanes.contains(&v));
    let mentions_pos = body.results.iter().any(|a| a.var() == Some(pos));
    (!mentions_pos && body.results.iter().any(varies)).then_some(size)
}

/// The width of a scalar in registers, in bytes.
fn lane(p: Prim) -> usize {
    clif_type(p).bytes() as usize
}

fn element(out: &Out) -> Option<Prim> {
    match out {
        Out::Elem(p) => Some(*p),
        Out::Scatter(_) | Out::Own { .. } => None,
    }
}

/// Whether a statement can be done on vectors; adds what it binds to `lanes` if that differs between elements.
fn fits(stm: &Stm, pos: Var, size: usize, lanes: &mut HashSet<Var>, arrays: &HashMap<Var, Base>) -> bool {
    let [p] = stm.pat.as_slice() else { return false };
    let varies = |a: &Atom| a.var().is_some_and(|v| lanes.contains(&v));
    let is_pos = |a: &Atom| a.var() == Some(pos);
    let in_lanes = match &stm.exp {
        Exp::Index(arr, index) => {
            let fits = arrays.get(arr).is_some_and(|base| lane(base.prim) == size);
            if !fits || index.len() != 1 || !is_pos(&index[0]) {
                return false;
            }
            true
        }
        Exp::Atom(a) if !is_pos(a) => varies(a),
        Exp::Prim(op, xs) if !xs.iter().any(is_pos) => {
            let on_lanes = xs.iter().any(varies);
            let fits = if on_lanes { has_vector_form(*op, size) } else { !math::is_call(*op) };
            if !fits {
                return false;
            }
            on_lanes
        }
        _ => return false,
    };
    if in_lanes {
        lanes.insert(p.var);
    }
    true
}

/// Operators whose instruction is the same on vectors.
fn has_vector_form(op: PrimOp, size: usize) -> bool {
    match op {
        PrimOp::Bin(op, p) if p.is_float() => {
            matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div)
        }
        PrimOp::Un(op, p) if p.is_float() => matches!(op, UnOp::Neg | UnOp::Abs | UnOp::Sqrt),
        PrimOp::Conv(Prim::F16, Prim::F32) | PrimOp::Conv(Prim::F32, Prim::F16) => true,
        PrimOp::Bin(BinOp::Mul, p) => p.size() == size && size == 4,
        PrimOp::Bin(op, p) => {
            let plain = matches!(op, BinOp::Add | BinOp::Sub | BinOp::And | BinOp::Or | BinOp::Xor);
            plain && p.size() == size
        }
        PrimOp::Un(UnOp::Neg | UnOp::Not, p) => p.size() == size,
        _ => false,
    }
}

/// Emits the loop over whole vectors from `start`; the position where it ends.
pub fn strips(
    e: &mut Emitter,
    info: &KernelInfo,
    size: usize,
    targets: &[Base],
    (start, end): (Value, Value),
) -> Result<Value, Unsupported> {
    let lanes = (BYTES / size) as i64;
    let step = lanes * UNROLL as i64;
    let limit = e.b.ins().iadd_imm_s(end, 1 - step);
    let last = e.counted_by(step, IntCC::SignedLessThan, start, limit, &[start], |e, pos, _| {
        for i in 0..UNROLL {
            let first = i as i32 * lanes as i32;
            let mut strip = Strip { e, info, lanes: lanes as u32, first, values: HashMap::new() };
            strip.emit(pos, targets)?;
        }
        Ok(vec![e.b.ins().iadd_imm_s(pos, step)])
    })?;
    Ok(last[0])
}

/// One vector of elements.
struct Strip<'s, 'a, 'k> {
    e: &'s mut Emitter<'a>,
    info: &'s KernelInfo<'k>,
    lanes: u32,
    /// Its first element's number in the turn.
    first: i32,
    values: HashMap<Var, Value>,
}

impl Strip<'_, '_, '_> {
    fn emit(&mut self, pos: Value, targets: &[Base]) -> Result<(), Unsupported> {
        let body = &self.info.kernel.body;
        for stm in &body.stms {
            self.stm(stm, pos)?;
        }
        for (base, a) in targets.iter().zip(&body.results) {
            let x = self.operand(a)?;
            self.store(*base, pos, x);
        }
        Ok(())
    }

    fn load(&mut self, base: Base, pos: Value) -> Result<Value, Unsupported> {
        let address = self.e.element(base, pos);
        let offset = self.first * base.prim.size() as i32;
        let ty = self.vector(clif_type(base.prim))?;
        if base.prim == Prim::F16 {
            let bits = self.e.b.ins().uload16x4(input(), address, offset);
            return Ok(half::expand(&mut self.e.b, bits));
        }
        Ok(self.e.b.ins().load(ty, input(), address, offset))
    }

    fn store(&mut self, base: Base, pos: Value, mut x: Value) {
        let address = self.e.element(base, pos);
        let offset = self.first * base.prim.size() as i32;
        if base.prim == Prim::F16 {
            let bits = half::compress(&mut self.e.b, x);
            let narrow = self.e.b.ins().unarrow(bits, bits);
            let words = self.e.b.ins().bitcast(types::I64X2, convert::bits(), narrow);
            x = self.e.b.ins().extractlane(words, 0);
        }
        self.e.b.ins().store(output(), x, address, offset);
    }

    fn stm(&mut self, stm: &Stm, pos: Value) -> Result<(), Unsupported> {
        let var = stm.pat[0].var;
        let value = match &stm.exp {
            Exp::Index(arr, _) => {
                let base = *self.e.arrays.get(arr).ok_or("an array is not bound")?;
                self.load(base, pos)?
            }
            Exp::Atom(a) if self.varies(a) => self.operand(a)?,
            Exp::Prim(op, xs) if xs.iter().any(|a| self.varies(a)) => {
                let xs: Vec<Value> = xs.iter().map(|a| self.operand(a)).collect::<Result<_, _>>()?;
                self.e.prim(*op, &xs, None)
            }
            _ => return self.e.stms(std::slice::from_ref(stm)),
        };
        self.values.insert(var, value);
        Ok(())
    }

    fn varies(&self, a: &Atom) -> bool {
        a.var().is_some_and(|v| self.values.contains_key(&v))
    }

    /// An operand's lanes.
    fn operand(&mut self, a: &Atom) -> Result<Value, Unsupported> {
        if let Some(x) = a.var().and_then(|v| self.values.get(&v)) {
            return Ok(*x);
        }
        let x = self.e.atom(a)?;
        let ty = self.vector(self.e.b.func.dfg.value_type(x))?;
        Ok(self.e.b.ins().splat(ty, x))
    }

    fn vector(&self, lane: Type) -> Result<Type, Unsupported> {
        lane.by(self.lanes).ok_or_else(|| format!("there are no vectors of {lane}"))
    }
}
