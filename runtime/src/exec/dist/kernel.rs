//! Kernels on ranks.

use super::taken::Taken;
use super::{Dist, Shared};
use crate::array::Array;
use crate::check::{RuntimeError, Span};
use crate::exec::cpu::Cpu;
use crate::exec::device::{Held, Results};
use crate::exec::frame::{Frame, HostValue};
use crate::exec::launch::{Arrays, Launch};
use crate::exec::space::{Chunk, Space};
use crate::exec::{Run, internal, threads};
use crate::plan::{self, ForRanks, Kernel, KernelKind, Operand, Out, Products};
use crate::ranks::Ranks;
use std::ops::Range;

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
            if info.is_inspected(i) {
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

    /// Fails on all ranks if a check has failed on one, or memory was short there. `elements` is what the operation allocates on all ranks together.
    pub fn agree<T>(&self, elements: usize, result: Result<T, RuntimeError>) -> Result<T, RuntimeError> {
        let device = &self.run.device;
        let result = result.and_then(|x| self.launch.check().map(|()| x));
        if self.launch.kernel.checks.is_empty() {
            return device.settle(elements.saturating_mul(8), result);
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
        self.agree(self.launch.space.total, outputs)
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
