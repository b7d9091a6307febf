//! Histograms. If all ranks have the destinations, these are small, and grouping does not change results, each rank fills its own, and these are
//! combined in the order of ranks; else indices and values go to the ranks that have the elements. Chunks of positions that the processor would
//! combine separately are combined separately here, too.

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
use crate::exec::launch::{Arrays, Launch, as_row};
use crate::exec::space::Chunk;
use crate::plan::{Fold, ForRanks, Kernel, Operand};
use smallvec::smallvec;

impl Run<'_, Dist> {
    pub fn histogram(
        &self,
        (k, listed): (&Kernel, &Kernel),
        (dests, fold, exact): (&[Operand], &Fold, bool),
        (info, scalars): (&ForRanks, &[i64]),
        taken: &mut Taken,
        span: Span,
    ) -> Results<Dist> {
        let dests = dests.iter().map(|d| taken.take_dest(*d, k)).collect::<Result<Vec<Shared>, _>>()?;
        let len = dests.iter().map(Held::len).min().unwrap_or(0);
        let alone = self.alone();
        let mut frame = taken.frame.clone();
        let few = if dests.iter().all(Shared::is_whole) { self.few(k, &frame, (len, exact))? } else { None };
        let made = if let Some(groups) = few {
            let hull =
                |g: &Vec<Chunk>| Chunk { row_hi: g[g.len() - 1].row_hi, hi: g[g.len() - 1].hi, ..g[0] };
            let nothing = Chunk { row_lo: 0, row_hi: 0, lo: 0, hi: 0, part: None };
            let parts = groups.iter().map(|g| if g.is_empty() { nothing } else { hull(g) }).collect();
            let cut = self.cut(Some(parts), &alone, (k, k), info, scalars, taken, span)?;
            self.few_bins(cut, (fold, exact), &frame, (groups, dests))?
        } else {
            let cut = self.cut(None, &alone, (k, listed), info, scalars, taken, span)?;
            let (cut, lists) = cut.lists(&mut taken.frame)?;
            let mut update = alone.prepare(k, &mut frame, span)?;
            update.set_initial(fold, &frame)?;
            self.many_bins(cut, &mut update, (fold, exact), &frame, (lists, dests))?
        };
        Ok(made.into_iter().map(HostValue::Array).collect())
    }

    /// The chunks of each rank, if they fill destinations of their own: where grouping shows, the processor's chunks.
    fn few(
        &self,
        k: &Kernel,
        frame: &Frame<Cpu>,
        (len, exact): (usize, bool),
    ) -> Result<Option<Vec<Vec<Chunk>>>, RuntimeError> {
        let alone = self.alone();
        let launch = alone.prepare(k, &mut frame.clone(), Span::default())?;
        let (space, p) = (&launch.space, self.ranks().size());
        if len.saturating_mul(4 * p) > space.total {
            return Ok(None);
        }
        if exact {
            return Ok(Some(space.position_parts(p).into_iter().map(|part| vec![part]).collect()));
        }
        let chunks = chunks_of(space, len);
        let of = |r: usize| chunks[chunks.len() * r / p..chunks.len() * (r + 1) / p].to_vec();
        Ok((chunks.len() > 1).then(|| (0..p).map(of).collect()))
    }

    /// Every rank fills destinations of its own, one for each of its chunks.
    fn few_bins(
        &self,
        mut cut: Cut,
        (fold, exact): (&Fold, bool),
        frame: &Frame<Cpu>,
        (groups, dests): (Vec<Vec<Chunk>>, Vec<Shared>),
    ) -> Result<Vec<Shared>, RuntimeError> {
        let len = dests.iter().map(Held::len).min().unwrap_or(0);
        let own = &groups[self.ranks().rank()];
        let filled = self.fill(&mut cut, (fold, exact), frame, (own, &dests));
        let filled = cut.agree(filled)?;
        self.count(|c| *c += cut.launch.base_cost());
        // Per destination, the copies of all ranks.
        let mut copies: Vec<Vec<Array>> = vec![Vec::new(); groups.iter().map(Vec::len).sum()];
        for (i, dest) in dests.iter().enumerate() {
            let bytes = len.saturating_mul(dest.prim().size());
            let own = filled.iter().flat_map(|copy| copy[i].bytes().iter().copied()).collect();
            let counts: Vec<usize> = groups.iter().map(|g| g.len() * bytes).collect();
            let all = cut.gather_counted(own, &counts)?;
            for (copies, bytes) in copies.iter_mut().zip(all.chunks(bytes.max(1))) {
                let mut copy = Array::uninit(dest.prim(), len);
                copy.bytes_mut().copy_from_slice(bytes);
                copies.push(copy);
            }
        }
        let mut made = Vec::new();
        for dest in dests {
            made.push(self.for_update(dest, len, true, cut.span)?.0);
        }
        if !exact {
            // The first chunk has begun with the destinations.
            for (a, first) in made.iter_mut().zip(&copies.remove(0)) {
                let bytes = first.bytes();
                a.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
            }
        }
        set_destinations(&mut cut.launch, len, &made);
        if len > 0 {
            copies.iter().for_each(|copy| combine(&cut.launch, fold, copy, 0..len));
        }
        cut.launch.check()?;
        Ok(made.into_iter().map(Shared::from).collect())
    }

    /// Destinations with what each of this rank's chunks says.
    fn fill(
        &self,
        cut: &mut Cut,
        (fold, exact): (&Fold, bool),
        frame: &Frame<Cpu>,
        (own, dests): (&[Chunk], &[Shared]),
    ) -> Result<Vec<Vec<Array>>, RuntimeError> {
        let len = dests.iter().map(Held::len).min().unwrap_or(0);
        cut.launch.set_initial(fold, frame)?;
        let alone = self.alone();
        let mut filled = Vec::new();
        for chunk in own {
            let begin = |(x, dest): (&Operand, &Shared)| {
                let begun = match !exact && chunk.lo == 0 {
                    true => dest.array().try_slice(0, len),
                    false => alone.replicate(len, frame.scalar(*x)?),
                };
                begun.map_err(|e| super::out_of_memory(e, cut.span))
            };
            let copy = fold.neutral.iter().zip(dests).map(begin);
            let copy = copy.collect::<Result<Vec<Array>, RuntimeError>>()?;
            set_destinations(&mut cut.launch, len, &copy);
            if chunk.lo < chunk.hi {
                cut.launch.run_chunk(cut.launch.kernel.code, &cut.launch.env, chunk);
            }
            filled.push(copy);
        }
        Ok(filled)
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
        let shared = |(a, cuts): (Array, Option<Vec<usize>>)| match cuts {
            Some(cuts) => Shared::distributed(a, cuts),
            None => a.into(),
        };
        Ok(made.into_iter().map(shared).collect())
    }
}

/// Destinations in the environment, as a histogram has them.
fn set_destinations(launch: &mut Launch, len: usize, arrays: &[Array]) {
    let first = launch.kernel.layout.outputs_at();
    launch.env[first] = len as u64;
    write_addresses(&mut launch.env[first + 1..], arrays);
    write_addresses(&mut launch.env[first + 1 + arrays.len()..], arrays);
}

/// Combines these elements of copies with the destinations.
fn combine(launch: &Launch, fold: &Fold, copy: &[Array], elements: std::ops::Range<usize>) {
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
