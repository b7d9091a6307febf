//! Uses of the results of a kernel's body.

use crate::emit::{Base, Done, Emitter, Operand, Origin};
use crate::frame::{self, Layout};
use crate::kernel::{components, keep, slot_local};
use crate::{Unsupported, prim};
use par_ir::Atom;
use par_ir::core::Lambda;
use par_ir::flat::{Kernel, KernelKind, Out};
use par_ir::prim::{CmpOp, PrimOp};
use par_runtime::Prim;
use wasm_encoder::{BlockType, Instruction as I};

/// Use of the results of a kernel's body, with the locals that it needs.
pub struct Sink<'k> {
    kernel: &'k Kernel,
    layout: Layout,
    /// Prefixes that an operator has combined so far, or the number that a filter has kept in the row.
    prefixes: Vec<(u32, Prim)>,
    neutral: Vec<u32>,
    /// Begins of the outputs, and the number of elements of the first.
    outputs: Vec<u32>,
    /// Elements of the outputs.
    lengths: Vec<u32>,
    /// Of a filter: positions kept, and a condition.
    kept: Option<(u32, u32)>,
}

impl<'k> Sink<'k> {
    pub fn new(e: &mut Emitter, kernel: &'k Kernel, layout: Layout) -> Result<Sink<'k>, Unsupported> {
        let filters = matches!(kernel.kind, KernelKind::Filter);
        let prims = if filters { vec![Prim::I64] } else { components(kernel) };
        let locals = |e: &mut Emitter, slot: &dyn Fn(usize) -> usize| -> Vec<u32> {
            prims.iter().enumerate().map(|(i, p)| slot_local(e, slot(i), *p)).collect()
        };
        let prefixes = locals(e, &|i| layout.prefix(i));
        let neutral = locals(e, &|i| layout.neutral(i));
        let outputs = (0..layout.outputs).map(|i| slot_local(e, layout.output(i), Prim::U32)).collect();
        let lengths = (0..layout.outputs).map(|i| slot_local(e, layout.output(i) + 1, Prim::I64)).collect();
        let kept =
            filters.then(|| (slot_local(e, frame::KEPT, Prim::I64), slot_local(e, frame::STORE, Prim::U32)));
        let sink = Sink {
            kernel,
            layout,
            prefixes: prefixes.into_iter().zip(prims).collect(),
            neutral,
            outputs,
            lengths,
            kept,
        };
        sink.bind_owned(e)?;
        Ok(sink)
    }

    /// Makes the arrays that the body owns known to it.
    fn bind_owned(&self, e: &mut Emitter) -> Done {
        let KernelKind::Map(outs) = &self.kernel.kind else { return Ok(()) };
        let mut number = 0;
        for out in outs {
            if let Out::Own { state, .. } = out {
                let at = Origin::Address(self.outputs[number]);
                e.bind_array(state.var, Base { at, prim: state.ty.prim() });
            }
            number += out.arrays();
        }
        Ok(())
    }

    /// Before a row's first position.
    pub fn begin_row(&self, e: &mut Emitter) {
        for ((prefix, _), neutral) in self.prefixes.iter().zip(&self.neutral) {
            e.emit([I::LocalGet(*neutral), I::LocalSet(*prefix)]);
        }
    }

    /// After a row's last position.
    pub fn end_row(&self, e: &mut Emitter, row: u32) {
        if let KernelKind::Reduce { .. } | KernelKind::Filter = self.kernel.kind {
            for (i, (prefix, prim)) in self.prefixes.iter().enumerate() {
                self.store(e, i, *prim, row, 1, 0, Operand::Local(*prefix));
            }
        }
    }

    /// Before the function is left.
    pub fn leave(&self, e: &mut Emitter) {
        for (i, (prefix, prim)) in self.prefixes.iter().enumerate() {
            keep(e, self.layout.prefix(i), *prim, *prefix);
        }
        if let Some((kept, _)) = self.kept {
            keep(e, frame::KEPT, Prim::I64, kept);
        }
    }

    /// Results at a position.
    pub fn element(&self, e: &mut Emitter, results: &[Atom], pos: u32) -> Done {
        match &self.kernel.kind {
            KernelKind::Map(outs) => self.map(e, outs, results, pos),
            KernelKind::Reduce { op, .. } => {
                let (folded, stored) = results.split_at(self.prefixes.len());
                let next = self.combine(e, op, folded)?;
                self.advance(e, &next);
                self.stored(e, self.prefixes.len(), stored, pos)
            }
            KernelKind::Scan { op, exclusive, after, .. } => {
                let (folded, stored) = results.split_at(self.prefixes.len());
                let next = self.combine(e, op, folded)?;
                let now: Vec<Operand> = self.prefixes.iter().map(|(n, _)| Operand::Local(*n)).collect();
                let shown = if *exclusive { &now } else { &next };
                let prims = self.prefixes.iter().map(|p| p.1);
                match after {
                    None => {
                        for (i, (x, p)) in shown.iter().zip(prims).enumerate() {
                            self.store(e, i, p, pos, 1, 0, *x);
                        }
                        self.stored(e, self.prefixes.len(), stored, pos)?;
                    }
                    Some(after) => {
                        for ((param, x), p) in after.params.iter().zip(shown).zip(prims) {
                            e.bind(param.var, *x, p);
                        }
                        e.body(&after.body)?;
                        self.map(e, &after.outs, &after.body.results, pos)?;
                    }
                }
                self.advance(e, &next);
                Ok(())
            }
            KernelKind::Filter => self.filter(e, results),
            KernelKind::Hist { op, .. } => self.histogram(e, op, results),
        }
    }

    /// The prefixes combined with values.
    fn combine(&self, e: &mut Emitter, op: &Lambda, values: &[Atom]) -> Result<Vec<Operand>, Unsupported> {
        let mut operands: Vec<(Operand, Prim)> =
            self.prefixes.iter().map(|(n, p)| (Operand::Local(*n), *p)).collect();
        for a in values {
            operands.push(e.operand(a)?);
        }
        apply(e, op, &operands)
    }

    fn advance(&self, e: &mut Emitter, next: &[Operand]) {
        next.iter().for_each(|x| e.push(*x));
        e.emit(self.prefixes.iter().rev().map(|(n, _)| I::LocalSet(*n)));
    }

    /// Stores element `part` of `count` for each position.
    #[expect(clippy::too_many_arguments, reason = "a place in an array, and what goes there")]
    fn store(
        &self,
        e: &mut Emitter,
        output: usize,
        p: Prim,
        pos: u32,
        count: usize,
        part: usize,
        x: Operand,
    ) {
        e.emit([I::LocalGet(self.outputs[output]), I::LocalGet(pos), I::I32WrapI64]);
        let size = count * p.size();
        if size.is_power_of_two() {
            if size > 1 {
                e.emit([I::I32Const(size.trailing_zeros() as i32), I::I32Shl]);
            }
        } else {
            e.emit([I::I32Const(size as i32), I::I32Mul]);
        }
        e.emit([I::I32Add]);
        e.push(x);
        e.store_at(p, (part * p.size()) as u64);
    }

    /// One element of each further output for each position.
    fn stored(&self, e: &mut Emitter, first: usize, atoms: &[Atom], pos: u32) -> Done {
        for (i, a) in atoms.iter().enumerate() {
            let (x, p) = e.operand(a)?;
            self.store(e, first + i, p, pos, 1, 0, x);
        }
        Ok(())
    }

    fn map(&self, e: &mut Emitter, outs: &[Out], mut results: &[Atom], pos: u32) -> Done {
        let mut number = 0;
        for out in outs {
            let (own, rest) = results.split_at(out.results());
            match out {
                Out::Elem(_) => self.stored(e, number, own, pos)?,
                Out::Row(p, n) => {
                    for (i, a) in own.iter().enumerate() {
                        let (x, _) = e.operand(a)?;
                        self.store(e, number, *p, pos, *n, i, x);
                    }
                }
                Out::Scatter(dests) => {
                    let (index, values) = (e.operand(&own[0])?.0, &own[1..]);
                    self.if_inside(e, index, number)?;
                    debug_assert_eq!(values.len(), dests.len());
                    for (i, value) in values.iter().enumerate() {
                        let (x, p) = e.operand(value)?;
                        let base = self.base(number + i, p);
                        e.element(base, index);
                        e.push(x);
                        e.store_at(p, 0);
                    }
                    e.emit([I::End]);
                }
                // It was written where it is.
                Out::Own { .. } => {}
            }
            (results, number) = (rest, number + out.arrays());
        }
        Ok(())
    }

    fn base(&self, output: usize, prim: Prim) -> Base {
        Base { at: Origin::Address(self.outputs[output]), prim }
    }

    /// Opens a branch for an index inside an output.
    fn if_inside(&self, e: &mut Emitter, index: Operand, output: usize) -> Done {
        prim::emit(e, PrimOp::Cmp(CmpOp::Lt, Prim::U64), &[index, Operand::Local(self.lengths[output])])?;
        e.emit([I::If(BlockType::Empty)]);
        Ok(())
    }

    fn filter(&self, e: &mut Emitter, results: &[Atom]) -> Done {
        let Some((kept, store)) = self.kept else { return Ok(()) };
        let more = |n| [I::LocalGet(n), I::I64Const(1), I::I64Add, I::LocalSet(n)];
        e.push_atom(&results[0])?;
        e.emit([I::If(BlockType::Empty), I::LocalGet(store), I::If(BlockType::Empty)]);
        self.stored(e, 1, &results[1..], kept)?;
        e.emit([I::End]);
        e.emit(more(kept));
        e.emit(more(self.prefixes[0].0));
        e.emit([I::End]);
        Ok(())
    }

    fn histogram(&self, e: &mut Emitter, op: &Lambda, results: &[Atom]) -> Done {
        let (index, values) = (e.operand(&results[0])?.0, &results[1..]);
        self.if_inside(e, index, 0)?;
        let values: Vec<(Operand, Prim)> =
            values.iter().map(|a| e.operand(a)).collect::<Result<_, Unsupported>>()?;
        let mut operands = Vec::new();
        for (i, (_, p)) in values.iter().enumerate() {
            let base = self.base(i, *p);
            e.load(base, index);
            let local = e.local_for(*p);
            e.emit([I::LocalSet(local)]);
            operands.push((Operand::Local(local), *p));
        }
        let prims: Vec<Prim> = values.iter().map(|v| v.1).collect();
        operands.extend(values);
        let combined = apply(e, op, &operands)?;
        for (i, (x, p)) in combined.into_iter().zip(prims).enumerate() {
            let base = self.base(i, p);
            e.element(base, index);
            e.push(x);
            e.store_at(p, 0);
        }
        e.emit([I::End]);
        Ok(())
    }
}

/// The results of an operator.
fn apply(e: &mut Emitter, op: &Lambda, operands: &[(Operand, Prim)]) -> Result<Vec<Operand>, Unsupported> {
    for (param, (x, p)) in op.params.iter().zip(operands) {
        e.bind(param.var, *x, *p);
    }
    e.body(&op.body)?;
    op.body.results.iter().map(|a| Ok(e.operand(a)?.0)).collect()
}
