//! Histograms: privatised if bins are few compared with positions ([`bins`](super::bins)); else indices and values go to the ranks that have the bins.
//! Chunks of positions that the processor would combine separately are combined separately here, too.

use super::bins::Bins;
use super::kernel::Cut;
use super::lists::{List, Received};
use super::taken::Taken;
use super::{Dist, Shared, even_cuts};
use crate::array::Array;
use crate::check::{RuntimeError, Span};
use crate::exec::Run;
use crate::exec::cpu::Cpu;
use crate::exec::device::{Held, Results};
use crate::exec::frame::{Frame, HostValue};
use crate::exec::hist::{chunks_of, write_addresses};
use crate::exec::launch::{Arrays, Env, Launch, as_row};
use crate::exec::space::Chunk;
use crate::plan::{Fold, ForRanks, Kernel, Operand};
use smallvec::smallvec;
use std::ops::Range;

impl Run<'_, Dist> {
    pub fn histogram(
        &self,
        (k, listed): (&Kernel, &Kernel),
        (dests, (fold, exact, any_order)): (&[Operand], (&Fold, bool, bool)),
        (info, scalars): (&ForRanks, &[i64]),
        taken: &mut Taken,
        span: Span,
    ) -> Results<Dist> {
        let dests = dests.iter().map(|d| taken.take_dest(*d, k)).collect::<Result<Vec<Shared>, _>>()?;
        let len = dests.iter().map(Held::len).min().unwrap_or(0);
        let alone = self.alone();
        let mut frame = taken.frame.clone();
        let made = if let Some(chunks) = self.few(k, &frame, (len, exact))? {
            let cut = self.cut(None, &alone, (k, k), info, scalars, taken, span)?;
            let bins = Bins::new(&chunks, &cut, &dests);
            bins.histogram(cut, (fold, exact, any_order), &frame, dests)?
        } else {
            let cut = self.cut(None, &alone, (k, listed), info, scalars, taken, span)?;
            let (cut, lists) = cut.lists(&mut taken.frame)?;
            let mut update = alone.prepare(k, &mut frame, span)?;
            update.set_initial(fold, &frame)?;
            self.many_bins(cut, &mut update, (fold, exact), &frame, (lists, dests))?
        };
        Ok(made.into_iter().map(HostValue::Array).collect())
    }

    /// Chunks of positions with private copies of the bins, if these are few: the processor's chunks, unless the operator is associative to the bit.
    fn few(
        &self,
        k: &Kernel,
        frame: &Frame<Cpu>,
        (len, exact): (usize, bool),
    ) -> Result<Option<Vec<Chunk>>, RuntimeError> {
        let alone = self.alone();
        let launch = alone.prepare(k, &mut frame.clone(), Span::default())?;
        let (space, p) = (&launch.space, self.ranks().size());
        if len.saturating_mul(4 * p) > space.total {
            return Ok(None);
        }
        if exact {
            return Ok(Some(space.position_parts(p)));
        }
        let chunks = chunks_of(space, len);
        Ok((chunks.len() > 1).then(|| chunks.to_vec()))
    }

    /// Indices and values go to the ranks that have the elements.
    fn many_bins(
        &self,
        cut: Cut,
        update: &mut Launch,
        (fold, exact): (&Fold, bool),
        frame: &Frame<Cpu>,
        (lists, dests): (Arrays, Vec<Shared>),
    ) -> Result<Vec<Shared>, RuntimeError> {
        self.count(|c| *c += update.base_cost());
        let len = dests.iter().map(Held::len).min().unwrap_or(0);
        let (me, own) = (self.ranks().rank(), cut.own());
        let cuts = even_cuts(len, self.ranks().size());
        let mut made = Vec::new();
        for dest in dests {
            made.push(self.for_update(dest, len, false, cut.span)?);
        }
        let arrays: Vec<Array> = made.iter().map(|m| m.0.clone()).collect();
        let chunks = if exact { smallvec![update.space.whole()] } else { chunks_of(&update.space, len) };
        let mut copies = Vec::new();
        for (number, chunk) in chunks.iter().enumerate() {
            let positions = own.lo.clamp(chunk.lo, chunk.hi)..own.hi.clamp(chunk.lo, chunk.hi);
            let list = List { index: &lists[0], values: &lists[1..], positions };
            let received = list.to_owners(self.ranks(), &cuts)?;
            if number == 0 {
                set_destinations(update, len, &arrays);
            } else {
                let neutral = fold.neutral.iter().map(|x| self.neutral(frame.scalar(*x)?, &cuts, cut.span));
                let copy = neutral.collect::<Result<Vec<Array>, RuntimeError>>();
                let copy = self.device.settle(8 * len, copy)?;
                set_destinations(update, len, &copy);
                copies.push(copy);
            }
            apply(update, fold, &received);
        }
        set_destinations(update, len, &arrays);
        if cuts[me] < cuts[me + 1] {
            copies.iter().for_each(|copy| combine(update, fold, copy, cuts[me]..cuts[me + 1]));
        }
        let failed = update.check().map_err(|e| (update.failed_at().unwrap_or(0), e));
        if !update.kernel.checks.is_empty() {
            self.device.agree(failed.err())?;
        }
        drop(arrays);
        Ok(made.into_iter().map(Shared::updated).collect())
    }
}

/// Sets the destinations in the environment of a histogram.
pub fn set_destinations(launch: &mut Launch, len: usize, arrays: &[Array]) {
    launch.env = with_destinations(launch, len, arrays);
}

/// Environment of a histogram with these destinations.
pub fn with_destinations(launch: &Launch, len: usize, arrays: &[Array]) -> Env {
    let (first, mut env) = (launch.kernel.layout.outputs_at(), launch.env.clone());
    env[first] = len as u64;
    write_addresses(&mut env[first + 1..], arrays);
    write_addresses(&mut env[first + 1 + arrays.len()..], arrays);
    env
}

/// Combines these elements of copies with the destinations.
pub fn combine(launch: &Launch, fold: &Fold, copy: &[Array], elements: Range<usize>) {
    let mut env = launch.env.clone();
    write_addresses(&mut env[launch.kernel.layout.partials_at()..], copy);
    let all = Chunk { row_lo: 0, row_hi: 1, lo: elements.start, hi: elements.end, part: None };
    launch.run_chunk(fold.combine, &env, &all);
}

/// Combines values with the destinations, one after the other.
fn apply(launch: &Launch, fold: &Fold, received: &Received) {
    let mut env = launch.env.clone();
    let at = launch.kernel.layout.partials_at();
    // Values are aligned there.
    let mut words = vec![0u64; fold.prims.len()];
    received.for_each(|i, values| {
        for (k, x) in values.iter().enumerate() {
            let mut bytes = [0u8; 8];
            bytes[..x.len()].copy_from_slice(x);
            words[k] = u64::from_le_bytes(bytes);
            env[at + k] = as_row(&raw const words[k] as *const u8, i, x.len());
        }
        let one = Chunk { row_lo: 0, row_hi: 1, lo: i, hi: i + 1, part: None };
        launch.run_chunk(fold.combine, &env, &one);
    });
}
