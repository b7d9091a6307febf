//! Scans and scatters that are partitions, on strips: the classes of the elements are computed in vectors, the runtime moves the elements.
//!
//! ```text
//! for s in 0 .. n by 512, e = min (s + 512) n
//!     for pos in s .. e      class[pos-s] = the class of the element,  a[pos-s] = xs[pos] * 2
//!     count class, move class a -> ys
//!     move class zs -> ws                                                     zs is read at the position
//! ```
//!
//! The places of the classes are the executor's, one set for each chunk: see `plan::Partition`.

use super::emit::{Base, Ends, Result};
use super::fresh::Fresh;
use super::kernel::KernelEmitter;
use super::prefix::Splitter;
use super::strips::Scalar;
use crate::partition::{self, Classes};
use cranelift::prelude::*;
use par_ir::core::{Exp, Param, Stm};
use par_ir::flat::{Kernel, Out, Ty};
use par_ir::hash::HashMap;
use par_ir::prim::{CmpOp, PrimOp};
use par_ir::ty::Type as IrType;
use par_ir::{Atom, Prim, Var};
use par_runtime::op::call::mover_symbol;
use par_runtime::plan::Partition;

/// A partition on strips.
pub struct Moves {
    /// Stores the classes, and those values that are not read at the position.
    produce: Kernel,
    /// Buffers of its results.
    stored: Vec<Scalar>,
    class: Var,
    /// Source of each destination: an array that is read at the position, or a buffer.
    sources: Vec<Var>,
    dests: Vec<Var>,
    /// The executor's part of the plan.
    pub plan: Partition,
}

impl Moves {
    /// The kernel of the step, and its buffers.
    pub fn parts(&self) -> (Vec<&Kernel>, Vec<Scalar>) {
        (vec![&self.produce], self.stored.clone())
    }
}

/// The steps of a kernel, if it is a partition.
pub fn split(kernel: &Kernel, types: &HashMap<Var, Ty>, fresh: &Fresh) -> Option<Moves> {
    let classes = partition::find(kernel, &crate::free::captures(kernel))?;
    let after = kernel.after()?;
    let [Out::Scatter(dests)] = after.outs.as_slice() else { return None };
    let mut kernel = kernel.clone();
    kernel.body.stms.extend(classes.early.iter().cloned());
    let mut chooser = Chooser { fresh, stms: vec![] };
    let class = chooser.named(&classes);
    kernel.body.stms.extend(chooser.stms);
    let mut splitter = Splitter::new(&kernel, types, fresh);
    let class = splitter.buffer(class.into());
    let sources = after.body.results[1..].iter().map(|a| splitter.source(*a)).collect();
    let stored = splitter.buffers.iter().map(|b| b.0).collect();
    let produce = splitter.produce();
    Some(Moves { produce, stored, class, sources, dests: dests.clone(), plan: classes.plan })
}

/// Statements that compute an element's class from the selectors.
struct Chooser<'f> {
    fresh: &'f Fresh,
    stms: Vec<Stm>,
}

impl Chooser<'_> {
    /// A variable with the class.
    fn named(&mut self, classes: &Classes) -> Var {
        let class = match &classes.selectors[..] {
            // The class is the number itself.
            [s] if classes.of.iter().copied().eq(0..s.values.len()) => {
                self.prim(PrimOp::Conv(s.values[0].prim(), Prim::I32), vec![s.var.into()])
            }
            selectors => self.choose(selectors, &classes.of),
        };
        match class {
            Atom::Var(v) => v,
            constant => self.bind(Exp::Atom(constant), Prim::I32),
        }
    }

    /// The class for what is left of the selectors.
    fn choose(&mut self, selectors: &[partition::Selector], of: &[usize]) -> Atom {
        if of.iter().all(|c| *c == of[0]) {
            return Atom::Const(par_ir::Scalar::I32(of[0] as i32));
        }
        let (first, rest) = (&selectors[0], &selectors[1..]);
        let mut parts = first.values.iter().zip(of.chunks(of.len() / first.values.len())).rev();
        let last = parts.next().map(|(_, part)| self.choose(rest, part));
        parts.fold(last.unwrap_or(Atom::Const(par_ir::Scalar::I32(0))), |other, (value, part)| {
            let here = self.choose(rest, part);
            let (prim, xs) = (value.prim(), vec![first.var.into(), Atom::Const(*value)]);
            // The last of two conditions is the other's opposite.
            if prim == Prim::Bool {
                return self.prim(PrimOp::Select(Prim::I32), vec![first.var.into(), other, here]);
            }
            let is_it = self.bind(Exp::Prim(PrimOp::Cmp(CmpOp::Eq, prim), xs), Prim::Bool);
            self.prim(PrimOp::Select(Prim::I32), vec![is_it.into(), here, other])
        })
    }

    fn prim(&mut self, op: PrimOp, xs: Vec<Atom>) -> Atom {
        self.bind(Exp::Prim(op, xs), op.result()).into()
    }

    fn bind(&mut self, exp: Exp, prim: Prim) -> Var {
        let var = self.fresh.var("class");
        let pat = vec![Param { var, ty: IrType::scalar(prim) }];
        self.stms.push(Stm { pat, exp, span: Default::default() });
        var
    }
}

impl<'a, 'k> KernelEmitter<'_, 'a, 'k> {
    /// The partition in strips.
    pub fn move_strips(&mut self, moves: &Moves) -> Result {
        let at = self.info.layout.outputs_at() + 1;
        let dests = self.destinations(&moves.dests, at)?;
        let places = self.env(types::I64, at + dests.len());
        let buffers = self.strip_buffers(&moves.stored);
        self.each_row(|k, _, ends| {
            k.by_strips(ends, &[], |k, ends, _| {
                k.name_strips(&buffers, ends.0);
                k.store_step(&moves.produce, &moves.stored, ends)?;
                k.move_strip(moves, &dests, places, ends)?;
                Ok(vec![])
            })?;
            Ok(())
        })
    }

    fn move_strip(&mut self, moves: &Moves, dests: &[Base], places: Value, (first, last): Ends) -> Result {
        let n = self.e.b.ins().isub(last, first);
        let classes = self.strip_address(moves.class, first)?;
        for (i, (dest, source)) in dests.iter().zip(&moves.sources).enumerate() {
            let from = self.strip_address(*source, first)?;
            let args = [dest.address, from, classes, n, places];
            self.runtime_call(mover_symbol(dest.prim.size(), i == 0), &args);
        }
        Ok(())
    }
}
