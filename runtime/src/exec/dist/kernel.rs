//! Kernels on ranks.

use super::random::Source;
use super::window::Window;
use super::{Dist, Shared, lost};
use crate::array::Array;
use crate::check::{RuntimeError, Span};
use crate::exec::cpu::Cpu;
use crate::exec::device::{Held, Results};
use crate::exec::frame::{Frame, HostValue};
use crate::exec::launch::{Arrays, Launch};
use crate::exec::space::{Chunk, Space};
use crate::exec::{Run, internal, threads};
use crate::plan::{self, ForRanks, Kernel, KernelKind, Operand, Out, Products, Reach, Slot};
use crate::prim::Scalar;
use crate::ranks::Ranks;
use crate::rope::Rope;
use std::ops::Range;
use std::sync::Arc;

/// The values of a kernel's operands, as the processor takes them.
pub struct Taken {
    /// For the processor.
    pub frame: Frame<Cpu>,
    /// Arrays that are not whole, by slot.
    parts: Vec<(Slot, Shared)>,
    /// Ropes, held as long as the kernel runs.
    ropes: Vec<(Slot, Arc<Rope<Shared>>)>,
}

/// A kernel that is cut among ranks, about to run.
pub struct Cut<'r, 'k> {
    pub run: &'r Run<'r, Dist>,
    pub launch: Launch<'k>,
    /// Part of each rank.
    pub parts: Vec<Chunk>,
    pub span: Span,
}

impl Run<'_, Dist> {
    /// Runs a kernel.
    pub fn shared_kernel(&self, k: &Kernel, frame: &mut Frame<Dist>, span: Span) -> Results<Dist> {
        let Some(info) = &k.ranks else { return Err(internal("a program that was not compiled for ranks")) };
        let (rows, total) = extent(&k.space, frame)?;
        let scalars = info.scalars.iter().map(|x| frame.int(*x)).collect::<Result<Vec<i64>, _>>()?;
        let positions = rows.saturating_add(total);
        let mut taken = Taken::new(k, frame, &self.device.window)?;
        if self.device.is_large(positions) {
            if let Some(listed) = &info.listed {
                return self.listed(k, listed, info, &scalars, taken, span);
            }
            if let Some(cuts) = self.own_cuts(k, info, &scalars, &taken, span)? {
                return self.in_place(k, info, &scalars, taken, cuts, span);
            }
            if is_cut(&k.kind) {
                let alone = self.alone();
                let cut = self.cut(None, &alone, (k, k), info, &scalars, &mut taken, span)?;
                return cut.results(&mut taken.frame);
            }
        }
        self.ranks().traffic.repeated();
        taken.fetch_near(k, info, &scalars, (rows, total), self.ranks())?;
        taken.make_whole(k, info, self.ranks())?;
        let all = Chunk { row_lo: 0, row_hi: rows, lo: 0, hi: total, part: None };
        self.fetch_random(&info.inspectors, &k.captures, &taken, &vec![all; self.ranks().size()], span)?;
        // Destinations must be held by the frame alone.
        taken.parts.clear();
        let results = self.alone().kernel(k, &mut taken.frame, span);
        let results = self.device.settle(positions.saturating_mul(8), results)?;
        results.into_iter().map(whole).collect()
    }

    /// Prepares a kernel to be run in parts, those given or the usual ones: each rank gets what its positions read. `of` is the kernel that it runs
    /// for, whose reads are known.
    #[allow(clippy::too_many_arguments)]
    pub fn cut<'r>(
        &'r self,
        parts: Option<Vec<Chunk>>,
        alone: &'r Run<'r, Cpu>,
        (of, k): (&Kernel, &'r Kernel),
        info: &ForRanks,
        scalars: &[i64],
        taken: &mut Taken,
        span: Span,
    ) -> Result<Cut<'r, 'r>, RuntimeError> {
        let parts = match parts {
            Some(parts) => parts,
            None => self.parts(k, &taken.frame, span)?,
        };
        let ranks = self.ranks();
        self.fetch_reads((&of.captures, info), scalars, taken, &parts, span)?;
        taken.parts.clear();
        let mut launch = alone.prepare(k, &mut taken.frame, span)?;
        self.note_rows(|| launch.space.summary());
        let own = &parts[ranks.rank()];
        ranks.traffic.cut(own.hi - own.lo);
        launch.here =
            Some((own.hi - own.lo + own.row_hi - own.row_lo, launch.space.total + launch.space.rows));
        Ok(Cut { run: self, launch, parts, span })
    }
}

impl Run<'_, Dist> {
    /// The parts of a kernel's space.
    pub fn parts(&self, k: &Kernel, frame: &Frame<Cpu>, span: Span) -> Result<Vec<Chunk>, RuntimeError> {
        let alone = self.alone();
        let launch = alone.prepare(k, &mut frame.clone(), span)?;
        let (space, ranks) = (&launch.space, self.ranks().size());
        if let Some((c, sizes)) = k.contraction().and_then(|c| Some((c, launch.contraction_sizes(c)?))) {
            return Ok(contraction_parts(space, c.by_row, &sizes, ranks));
        }
        Ok(match &k.kind {
            KernelKind::Map(_) | KernelKind::Hist { .. } => space.position_parts(ranks),
            _ => space.rank_parts(ranks),
        })
    }

    /// Gets to each rank what its part reads.
    fn fetch_reads(
        &self,
        (captures, info): (&[Operand], &ForRanks),
        scalars: &[i64],
        taken: &Taken,
        parts: &[Chunk],
        span: Span,
    ) -> Result<(), RuntimeError> {
        for (i, (x, reach)) in captures.iter().zip(&info.reads).enumerate() {
            if is_found(info, i) {
                continue;
            }
            taken.rope(*x).map_or(Ok(()), |r| r.parts().try_for_each(|a| a.make_whole(self.ranks())))?;
            let Some(a) = taken.part(*x) else { continue };
            let needed = |p: &Chunk| reach.elements(scalars, p.row_lo..p.row_hi, p.lo..p.hi, a.len());
            a.fetch(self.ranks(), &parts.iter().map(needed).collect::<Vec<_>>())?;
        }
        self.fetch_random(&info.inspectors, captures, taken, parts, span)
    }
}

/// True if an inspector finds where a capture is read.
fn is_found(info: &ForRanks, capture: usize) -> bool {
    info.inspectors.iter().any(|i| i.of.contains(&capture))
}

impl<'k> Cut<'_, 'k> {
    /// Runs the kernel, and what ranks have to tell each other for its results.
    pub fn results(mut self, frame: &mut Frame<Cpu>) -> Results<Dist> {
        let kernel: &'k Kernel = self.launch.kernel;
        match &kernel.kind {
            KernelKind::Map(outs) => {
                let results = self.map(outs, frame)?;
                self.by_position(results, outs)
            }
            KernelKind::Reduce(fold) => self.reduce(fold, frame),
            KernelKind::Scan { fold, reduce, dual, outs, .. } => {
                self.scan(fold, (*reduce, *dual), outs.as_deref(), frame)
            }
            KernelKind::Filter(prims) => self.filter(prims),
            KernelKind::Hist { .. } => Err(internal("a histogram that is not listed")),
        }
    }

    pub fn ranks(&self) -> &Ranks {
        &self.run.device.ranks
    }

    /// This rank's part.
    pub fn own(&self) -> Chunk {
        self.parts[self.ranks().rank()]
    }

    /// Fails on all ranks if a check has failed on one, or memory was short there.
    pub fn agree<T>(&self, result: Result<T, RuntimeError>) -> Result<T, RuntimeError> {
        let device = &self.run.device;
        let result = result.and_then(|x| self.launch.check().map(|()| x));
        let bytes = self.launch.space.total.saturating_add(self.launch.space.rows).saturating_mul(8);
        if self.launch.kernel.checks.is_empty() {
            return device.settle(bytes, result);
        }
        match result {
            Ok(x) => device.agree(None).map(|()| x),
            Err(e) => {
                let at = self.launch.failed_at().unwrap_or(i64::MAX - 1);
                Err(device.agree(Some((at, e.clone()))).err().unwrap_or(e))
            }
        }
    }

    pub fn map(&mut self, outs: &[Out], frame: &mut Frame<Cpu>) -> Result<Arrays, RuntimeError> {
        let arrays = self.launch.all_outputs(outs, frame);
        self.run_map(arrays)
    }

    /// Runs the kernel at this rank's positions, if there is memory for its outputs.
    pub fn run_map(&mut self, outputs: Result<Arrays, RuntimeError>) -> Result<Arrays, RuntimeError> {
        let own = self.own();
        let is_product =
            outputs.as_ref().is_ok_and(|a| !a.is_empty() && self.contract_own(&a[0], own.lo..own.hi));
        if outputs.is_ok() && own.lo < own.hi && !is_product {
            let launch = &self.launch;
            let chunks = launch.space.balanced_chunks_of(&own, launch.threads);
            threads::run(launch.threads, chunks.len(), |i| {
                launch.run_chunk(launch.kernel.code, &launch.env, &chunks[i]);
            });
        }
        self.agree(outputs)
    }

    /// Computes this rank's results of a product of matrices: whether it is one.
    pub fn contract_own(&self, out: &Array, results: Range<usize>) -> bool {
        let c = self.launch.kernel.contraction();
        let Some(sizes) = c.and_then(|c| self.launch.contraction_sizes(c)) else { return false };
        self.launch.contract_rows(out, Some(results.start / sizes.columns..results.end / sizes.columns))
    }

    /// Cuts of arrays with so many elements per position.
    pub fn position_cuts(&self, n: usize) -> Vec<usize> {
        let ends = self.parts.iter().map(|p| p.hi * n);
        std::iter::once(0).chain(ends).collect()
    }

    /// Results of which each position has some elements.
    pub fn by_position(&self, arrays: Arrays, outs: &[Out]) -> Results<Dist> {
        let results: Vec<HostValue> = arrays.iter().cloned().map(HostValue::Array).collect();
        self.run.count(|c| *c += self.launch.cost(&results));
        drop(results);
        let number = |o: &Out| if let Out::Row(_, n) = o { *n } else { 1 };
        let shared = |(a, o): (Array, &Out)| {
            Ok(HostValue::Array(Shared::distributed(a, self.position_cuts(number(o)))))
        };
        arrays.into_iter().zip(outs).map(shared).collect()
    }

    /// As many bytes of every rank as `counts` say, one after the other.
    pub fn gather_counted(&self, own: Vec<u8>, counts: &[usize]) -> Result<Vec<u8>, RuntimeError> {
        let (me, p) = (self.ranks().rank(), counts.len());
        let mut all = vec![0; counts.iter().sum()];
        let mut receive: Vec<&mut [u8]> = Vec::with_capacity(p);
        let mut rest = &mut all[..];
        for (r, n) in counts.iter().enumerate() {
            let (room, after) = rest.split_at_mut(*n);
            rest = after;
            if r == me {
                room.copy_from_slice(&own);
            }
            receive.push(if r == me { &mut [] } else { room });
        }
        let send: Vec<&[u8]> = (0..p).map(|r| if r == me { &[][..] } else { &own[..] }).collect();
        self.ranks().exchange(&send, &mut receive).map_err(lost)?;
        Ok(all)
    }

    /// The rows whose results each rank has: those that begin in its part.
    pub fn row_cuts(&self) -> Vec<usize> {
        let space = &self.launch.space;
        let first = |p: &Chunk| {
            let begun = p.row_lo < space.rows && p.lo > space.start(p.row_lo);
            p.row_lo + usize::from(begun)
        };
        self.parts.iter().map(first).chain([space.rows]).collect()
    }
}

/// Parts of whole rows of a product of matrices.
fn contraction_parts(space: &Space, by_row: bool, sizes: &Products, ranks: usize) -> Vec<Chunk> {
    let rows = sizes.batch.iter().product::<usize>() * sizes.rows;
    let cut = |r: usize| rows * r / ranks * sizes.columns;
    let part = |r: usize| {
        let (first, end) = (cut(r), cut(r + 1));
        match by_row {
            true => {
                let (lo, hi) = (space.start(first), space.start(end));
                Chunk { row_lo: first, row_hi: end, lo, hi, part: None }
            }
            false if first == end => Chunk { row_lo: 0, row_hi: 0, lo: first, hi: end, part: None },
            false => {
                let (row_lo, row_hi) = (space.row_of(first), space.row_of(end - 1) + 1);
                Chunk { row_lo, row_hi, lo: first, hi: end, part: None }
            }
        }
    };
    (0..ranks).map(part).collect()
}

/// True if parts of the kernel can run on different ranks, by themselves.
fn is_cut(kind: &KernelKind) -> bool {
    let fresh = |outs: &[Out]| outs.iter().all(|o| matches!(o, Out::Row(..)));
    match kind {
        KernelKind::Map(outs) | KernelKind::Scan { outs: Some(outs), .. } => fresh(outs),
        KernelKind::Scan { outs: None, .. } | KernelKind::Reduce(_) | KernelKind::Filter(_) => true,
        KernelKind::Hist { .. } => false,
    }
}

/// Rows and positions of a space.
pub fn extent(space: &plan::Space, frame: &Frame<Dist>) -> Result<(usize, usize), RuntimeError> {
    Ok(match space {
        plan::Space::Flat(n) => (1, frame.size(*n)?),
        plan::Space::Uniform { rows, m } => {
            let (rows, m) = frame.rows_of(*rows, *m)?;
            (rows, rows.saturating_mul(m))
        }
        plan::Space::Ragged { desc: Operand::Copy(s) | Operand::Move(s), .. } => match frame.value(*s) {
            HostValue::Desc(d) => (d.desc.rows(), d.desc.total()),
            other => return Err(internal(&format!("{other:?} where a descriptor is needed"))),
        },
        plan::Space::Ragged { .. } => return Err(internal("a descriptor is needed")),
    })
}

/// A value that every rank has computed for itself.
pub fn whole(x: HostValue) -> Result<HostValue<Dist>, RuntimeError> {
    Ok(match x {
        HostValue::Scalar(x) => HostValue::Scalar(x),
        HostValue::Array(a) => HostValue::Array(a.into()),
        other => return Err(internal(&format!("{other:?} as the result of a kernel"))),
    })
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
    fn fetch_near(
        &mut self,
        k: &Kernel,
        info: &ForRanks,
        scalars: &[i64],
        (rows, positions): (usize, usize),
        ranks: &Ranks,
    ) -> Result<(), RuntimeError> {
        let all = operands(k);
        let uses = |slot: Slot| all.iter().filter(|x| slot_of(**x) == Some(slot)).count();
        for (x, reach) in k.captures.iter().zip(&info.reads) {
            // What is read by a kernel that also writes it is another matter.
            let Some(slot) = slot_of(*x).filter(|slot| *reach != Reach::Any && uses(*slot) == 1) else {
                continue;
            };
            let Some(at) = self.parts.iter().position(|(s, _)| *s == slot) else { continue };
            let (_, a) = self.parts.swap_remove(at);
            let needed = reach.elements(scalars, 0..rows, 0..positions, a.len());
            a.fetch(ranks, &vec![needed; ranks.size()])?;
        }
        Ok(())
    }

    /// Gets all arrays to all ranks but those of which inspectors find where they are read.
    fn make_whole(&mut self, k: &Kernel, info: &ForRanks, ranks: &Ranks) -> Result<(), RuntimeError> {
        let all = operands(k);
        let uses = |slot: Slot| all.iter().filter(|x| slot_of(**x) == Some(slot)).count();
        let captured = |slot: Slot| k.captures.iter().position(|x| slot_of(*x) == Some(slot));
        let is_found = |slot: Slot| captured(slot).is_some_and(|i| is_found(info, i)) && uses(slot) == 1;
        let ropes = self.ropes.iter().filter(|(slot, _)| !is_found(*slot));
        ropes.flat_map(|(_, rope)| rope.parts()).try_for_each(|a| a.make_whole(ranks))?;
        let (found, others) =
            std::mem::take(&mut self.parts).into_iter().partition(|(slot, _)| is_found(*slot));
        self.parts = found;
        let others: Vec<(Slot, Shared)> = others;
        others.iter().try_for_each(|(_, a)| a.make_whole(ranks))
    }

    /// The rope of an operand.
    fn rope(&self, x: Operand) -> Option<&Arc<Rope<Shared>>> {
        let slot = slot_of(x)?;
        self.ropes.iter().find(|(s, _)| *s == slot).map(|(_, rope)| rope)
    }

    /// True for a rope.
    pub fn is_rope(&self, x: Operand) -> bool {
        self.rope(x).is_some()
    }

    /// The arrays of an operand that are not whole, if there are any; those of ropes are in the window that begins at `window`.
    pub fn source(&self, x: Operand, window: usize) -> Option<Source> {
        if let Some(rope) = self.rope(x) {
            let members: Vec<Shared> = rope.parts().filter(|a| !a.is_whole()).cloned().collect();
            return (!members.is_empty()).then(|| Source { base: window as *mut u8, members, is_rope: true });
        }
        let a = self.part(x).filter(|a| !a.is_whole())?;
        Some(Source { base: a.array().as_ptr(), members: vec![a], is_rope: false })
    }
}
