//! The values of a kernel's operands on a rank.

use super::random::Source;
use super::window::Window;
use super::{Dist, Shared};
use crate::check::RuntimeError;
use crate::exec::cpu::Cpu;
use crate::exec::device::Held;
use crate::exec::frame::{Frame, HostValue};
use crate::exec::internal;
use crate::plan::{self, ForRanks, Kernel, KernelKind, Operand, Out, Reach, Slot};
use crate::prim::Scalar;
use crate::ranks::Ranks;
use crate::rope::Rope;
use std::sync::Arc;

/// The values of a kernel's operands, as the processor takes them.
pub struct Taken {
    /// For the processor.
    pub frame: Frame<Cpu>,
    /// Arrays that are not whole, by slot.
    pub parts: Vec<(Slot, Shared)>,
    /// Ropes, held as long as the kernel runs.
    ropes: Vec<(Slot, Arc<Rope<Shared>>)>,
}

/// The operands of a kernel.
fn operands(k: &Kernel) -> Vec<Operand> {
    let mut all = k.captures.clone();
    match &k.space {
        plan::Space::Flat(n) => all.push(*n),
        plan::Space::Uniform { rows, m } => all.extend([*rows, *m]),
        plan::Space::Ragged { rows, desc } => all.extend([*rows, *desc]),
    }
    let dests = |outs: &[Out]| outs.iter().flat_map(Out::dests).copied().collect::<Vec<_>>();
    match &k.kind {
        KernelKind::Map(outs) => all.extend(dests(outs)),
        KernelKind::Reduce(fold) => all.extend(&fold.neutral),
        KernelKind::Scan { fold, outs, .. } => {
            all.extend(&fold.neutral);
            all.extend(dests(outs.as_deref().unwrap_or_default()));
        }
        KernelKind::Hist { dests, fold, .. } => {
            all.extend(dests);
            all.extend(&fold.neutral);
        }
        KernelKind::Filter(_) => {}
    }
    all
}

fn slot_of(x: Operand) -> Option<Slot> {
    match x {
        Operand::Const(_) => None,
        Operand::Copy(s) | Operand::Move(s) => Some(s),
    }
}

/// True if one operand of a kernel is in a slot: none is written that is read, too.
fn is_used_once(k: &Kernel, slot: Slot) -> bool {
    operands(k).into_iter().filter(|x| slot_of(*x) == Some(slot)).count() == 1
}

impl Taken {
    /// Takes the operands out of a frame, those for the last time if they are used for the last time.
    pub fn new(k: &Kernel, frame: &mut Frame<Dist>, window: &Window) -> Result<Taken, RuntimeError> {
        let mut slots: Vec<(Slot, bool)> = Vec::new();
        for x in operands(k) {
            let Some(slot) = slot_of(x) else { continue };
            let last = matches!(x, Operand::Move(_));
            match slots.iter_mut().find(|(s, _)| *s == slot) {
                Some((_, moved)) => *moved |= last,
                None => slots.push((slot, last)),
            }
        }
        let most = slots.iter().map(|(s, _)| *s as usize + 1).max().unwrap_or(0);
        let mut taken = Taken { frame: Frame::new(most), parts: Vec::new(), ropes: Vec::new() };
        for (slot, last) in slots {
            let value = frame.take(if last { Operand::Move(slot) } else { Operand::Copy(slot) });
            taken.add(slot, value, window)?;
        }
        Ok(taken)
    }

    fn add(&mut self, slot: Slot, value: HostValue<Dist>, window: &Window) -> Result<(), RuntimeError> {
        let value = match value {
            HostValue::Scalar(x) => HostValue::Scalar(x),
            HostValue::Array(a) => {
                if !a.is_whole() {
                    self.parts.push((slot, a.clone()));
                }
                HostValue::Array(a.into_array())
            }
            HostValue::Desc(d) => HostValue::Desc(d.desc.clone()),
            HostValue::Rope(rope) => {
                self.ropes.push((slot, rope));
                // Indices of elements are relative to it.
                HostValue::Scalar(Scalar::U64(window.base() as u64))
            }
            HostValue::Empty => return Err(internal("an operand that is not there")),
        };
        self.frame.set(slot, value);
        Ok(())
    }

    /// The array of an operand, if it is not whole.
    pub fn part(&self, x: Operand) -> Option<Shared> {
        let slot = slot_of(x)?;
        self.parts.iter().find(|(s, _)| *s == slot).map(|(_, a)| a.clone())
    }

    /// A destination of a kernel, which the processor does not take unless the kernel also reads it.
    pub fn take_dest(&mut self, x: Operand, k: &Kernel) -> Result<Shared, RuntimeError> {
        let part = self.part(x);
        let Some(slot) = slot_of(x) else { return Err(internal("a destination is an array")) };
        let is_read = k.captures.iter().any(|c| slot_of(*c) == Some(slot));
        if !is_read {
            self.parts.retain(|(s, _)| *s != slot);
        }
        let array = self.frame.array(if is_read { Operand::Copy(slot) } else { x })?;
        Ok(part.unwrap_or_else(|| array.into()))
    }

    /// Gets to all ranks what all positions of a kernel read of arrays, where that is known: few positions may read little of a large array.
    pub fn fetch_near(
        &mut self,
        k: &Kernel,
        info: &ForRanks,
        scalars: &[i64],
        (rows, positions): (usize, usize),
        ranks: &Ranks,
    ) -> Result<(), RuntimeError> {
        for (x, reach) in k.captures.iter().zip(&info.reads) {
            // What is read by a kernel that also writes it is another matter.
            let is_local = |slot: &Slot| *reach != Reach::Any && is_used_once(k, *slot);
            let Some(slot) = slot_of(*x).filter(is_local) else { continue };
            let Some(at) = self.parts.iter().position(|(s, _)| *s == slot) else { continue };
            let (_, a) = self.parts.swap_remove(at);
            let needed = reach.elements(scalars, 0..rows, 0..positions, a.len());
            a.fetch(ranks, &vec![needed; ranks.size()])?;
        }
        Ok(())
    }

    /// Gathers arrays on all ranks, except those whose reads have inspectors.
    pub fn make_whole(&mut self, k: &Kernel, info: &ForRanks, ranks: &Ranks) -> Result<(), RuntimeError> {
        let captured = |slot: Slot| k.captures.iter().position(|x| slot_of(*x) == Some(slot));
        let is_inspected =
            |slot: Slot| captured(slot).is_some_and(|i| info.is_inspected(i)) && is_used_once(k, slot);
        let ropes = self.ropes.iter().filter(|(slot, _)| !is_inspected(*slot));
        ropes.flat_map(|(_, rope)| rope.parts()).try_for_each(|a| a.make_whole(ranks))?;
        let others: Vec<(Slot, Shared)> =
            self.parts.extract_if(.., |(slot, _)| !is_inspected(*slot)).collect();
        others.iter().try_for_each(|(_, a)| a.make_whole(ranks))
    }

    /// The rope of an operand.
    pub fn rope(&self, x: Operand) -> Option<&Arc<Rope<Shared>>> {
        let slot = slot_of(x)?;
        self.ropes.iter().find(|(s, _)| *s == slot).map(|(_, rope)| rope)
    }

    /// True for a rope.
    pub fn is_rope(&self, x: Operand) -> bool {
        self.rope(x).is_some()
    }

    /// Distributed arrays of an operand, if there are any; those of ropes are in the window that begins at `window`.
    pub fn source(&self, x: Operand, window: usize) -> Option<Source> {
        if let Some(rope) = self.rope(x) {
            let members: Vec<Shared> = rope.parts().filter(|a| !a.is_whole()).cloned().collect();
            return (!members.is_empty()).then(|| Source { base: window as *mut u8, members, is_rope: true });
        }
        let a = self.part(x).filter(|a| !a.is_whole())?;
        Some(Source { base: a.array().as_ptr(), members: vec![a], is_rope: false })
    }
}
