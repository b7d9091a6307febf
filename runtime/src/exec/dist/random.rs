//! Indirect reads, by inspector and executor: inspectors compute the indices, each rank asks the owners of the elements that it lacks for them, and puts them to their places in the
//! array. As long as an inspector's operands stay the same, so do the requests, which are cached. If ranks would ask for nearly everything, the array is gathered.
//!
//! The same for the arrays of ropes: their indices are those of the window, which are the same on all ranks.

use super::runs::{Run as Elements, Runs};
use super::taken::Taken;
use super::{Dist, Shared, lost};
use crate::array::Array;
use crate::check::{RuntimeError, Span};
use crate::exec::device::Held;
use crate::exec::frame::HostValue;
use crate::exec::launch::Arrays;
use crate::exec::space::Chunk;
use crate::exec::{Run, internal, threads};
use crate::plan::{Inspector, Kernel, KernelKind, Operand};
use crate::rope::Part;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Requests in the cache.
const REMEMBERED: usize = 8;

/// Indices that one rank asks others for, and those that they ask it for, by rank.
#[derive(Debug)]
struct Requests {
    own: Vec<Runs>,
    others: Vec<Runs>,
}

/// An array or scalar that indices are computed from.
#[derive(Debug)]
enum Input {
    Scalar(u64),
    /// Held, so that no other array is there.
    Array(Array),
}

/// Requests of an inspector, with what they depend on.
#[derive(Debug)]
struct Entry {
    kernel: *const Kernel,
    inputs: Vec<Input>,
    parts: Vec<Chunk>,
    cuts: Vec<usize>,
    array: usize,
    requests: Rc<Requests>,
}

/// Cached requests of a run.
#[derive(Clone, Debug, Default)]
pub struct Memory(Rc<RefCell<Vec<Entry>>>);

/// A distributed array, or those of a rope.
pub struct Source {
    /// Address of the element of index 0.
    pub base: *mut u8,
    /// Distributed arrays, in the order of their indices.
    pub members: Vec<Shared>,
    /// Of a rope, fetched elements are noted, for several kernels read the same rows.
    pub is_rope: bool,
}

impl Source {
    /// Index of the first element of an array.
    fn origin(&self, a: &Shared) -> u64 {
        if self.is_rope { a.origin() as u64 } else { 0 }
    }

    /// Bytes of an element.
    fn size(&self) -> usize {
        self.members.first().map_or(0, |a| a.prim().size())
    }

    /// Elements that this rank lacks, with their owners.
    fn lacking(&self, me: usize) -> Vec<(Elements, usize)> {
        let mut all = Vec::new();
        for a in &self.members {
            let Some(cuts) = a.cuts() else { continue };
            let origin = self.origin(a);
            for (r, cut) in cuts.windows(2).enumerate().filter(|(r, _)| *r != me) {
                let range = origin + cut[0] as u64..origin + cut[1] as u64;
                let missing = if self.is_rope { a.fetched().missing(range) } else { vec![range] };
                all.extend(missing.into_iter().filter(|m| !m.is_empty()).map(|m| (m, r)));
            }
        }
        all
    }

    /// Notes the elements that were fetched.
    fn note(&self, requests: &Requests) {
        for a in self.members.iter().filter(|_| self.is_rope) {
            let (start, end) = (self.origin(a), self.origin(a) + a.len() as u64);
            let inside = |r: &&Elements| start <= r.start && r.start < end;
            let came = requests.own.iter().flat_map(Runs::iter).filter(inside).cloned();
            a.note_fetched(Runs::of(came.collect()));
        }
    }
}

impl Input {
    fn is_same(&self, other: &Input) -> bool {
        match (self, other) {
            (Input::Scalar(a), Input::Scalar(b)) => a == b,
            (Input::Array(a), Input::Array(b)) => (a.as_ptr(), a.len()) == (b.as_ptr(), b.len()),
            _ => false,
        }
    }
}

impl Run<'_, Dist> {
    /// Fetches the elements of indirect reads to the ranks of the positions that read them. `captures` are those of the kernel.
    pub fn fetch_random(
        &self,
        inspectors: &[Inspector],
        captures: &[Operand],
        taken: &Taken,
        parts: &[Chunk],
        span: Span,
    ) -> Result<(), RuntimeError> {
        inspectors.iter().try_for_each(|i| self.fetch_found(i, captures, taken, parts, span))
    }

    /// The same for the reads of one inspector.
    fn fetch_found(
        &self,
        inspector: &Inspector,
        captures: &[Operand],
        taken: &Taken,
        parts: &[Chunk],
        span: Span,
    ) -> Result<(), RuntimeError> {
        let mut outputs: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (output, array) in inspector.of.iter().enumerate().filter(|(o, _)| !inspector.is_last[*o]) {
            outputs.entry(*array).or_default().push(output);
        }
        let own = parts[self.ranks().rank()];
        let own = match inspector.by_row {
            true => Chunk { row_lo: 0, row_hi: 1, lo: own.row_lo, hi: own.row_hi, part: None },
            false => own,
        };
        let inputs = self.inputs(&inspector.kernel, taken);
        let mut found: Option<Option<Arrays>> = None;
        for (number, outputs) in outputs {
            let source = captures.get(number).and_then(|x| taken.source(*x, self.device.window.base()));
            let Some(source) = source else { continue };
            // The arrays of a rope change.
            let inputs = inputs.as_ref().filter(|_| !source.is_rope);
            let cuts = source.members[0].cuts().unwrap_or_default().to_vec();
            let known = inputs.and_then(|i| self.remembered(&inspector.kernel, i, (parts, &cuts, number)));
            let requests = match known {
                Some(requests) => requests,
                None => {
                    if found.is_none() {
                        found = Some(self.inspect(&inspector.kernel, taken, &own, span)?);
                    }
                    // Of indices that a check refuses there are none: the kernel itself finds the error.
                    let indices = found.as_ref().and_then(|f| f.as_deref());
                    let is_last = |o: usize| inspector.is_last.get(o) == Some(&true);
                    let range = |all: &'_ [Array], o: usize| {
                        [o, o + usize::from(is_last(o + 1))].map(|o| all[o].clone())
                    };
                    let indices = indices.map(|all| outputs.iter().map(|o| range(all, *o)).collect());
                    match (self.requests(&source, indices, &own)?, inputs) {
                        (Some(new), Some(inputs)) => {
                            self.remember(&inspector.kernel, inputs, (parts, cuts, number), new)
                        }
                        (Some(new), None) => Rc::new(new),
                        (None, _) => {
                            source.members.iter().try_for_each(|a| a.make_whole(self.ranks()))?;
                            continue;
                        }
                    }
                }
            };
            self.answer(&source, &requests)?;
        }
        Ok(())
    }

    /// Operands of an inspector, which its cached requests depend on; none if it reads a rope, for its requests are not cached.
    fn inputs(&self, kernel: &Kernel, taken: &Taken) -> Option<Vec<Input>> {
        let input = |x: &Operand| match x {
            Operand::Const(c) => Some(Input::Scalar(c.bits())),
            Operand::Copy(_) | Operand::Move(_) if taken.is_rope(*x) => None,
            Operand::Copy(s) | Operand::Move(s) => Some(match taken.frame.value(*s) {
                HostValue::Scalar(c) => Input::Scalar(c.bits()),
                HostValue::Array(a) => Input::Array(a.clone()),
                _ => Input::Scalar(0),
            }),
        };
        kernel.captures.iter().map(input).collect()
    }

    fn remembered(
        &self,
        kernel: &Kernel,
        inputs: &[Input],
        (parts, cuts, array): (&[Chunk], &[usize], usize),
    ) -> Option<Rc<Requests>> {
        let memory = self.device.memory.0.borrow();
        let is_it = |e: &&Entry| {
            std::ptr::eq(e.kernel, kernel)
                && e.array == array
                && e.cuts == cuts
                && e.parts == parts
                && e.inputs.iter().zip(inputs).all(|(a, b)| a.is_same(b))
        };
        memory.iter().find(is_it).map(|e| e.requests.clone())
    }

    fn remember(
        &self,
        kernel: &Kernel,
        inputs: &[Input],
        (parts, cuts, array): (&[Chunk], Vec<usize>, usize),
        requests: Requests,
    ) -> Rc<Requests> {
        let copy = |i: &Input| match i {
            Input::Scalar(x) => Input::Scalar(*x),
            Input::Array(a) => Input::Array(a.clone()),
        };
        let (inputs, requests) = (inputs.iter().map(copy).collect(), Rc::new(requests));
        let mut memory = self.device.memory.0.borrow_mut();
        memory.retain(|e| !(std::ptr::eq(e.kernel, kernel) && e.array == array));
        if memory.len() >= REMEMBERED {
            memory.remove(0);
        }
        let parts = parts.to_vec();
        memory.push(Entry { kernel, inputs, parts, cuts, array, requests: requests.clone() });
        requests
    }

    /// The indices at this rank's positions; none if a check has failed.
    fn inspect(
        &self,
        kernel: &Kernel,
        taken: &Taken,
        own: &Chunk,
        span: Span,
    ) -> Result<Option<Arrays>, RuntimeError> {
        let alone = self.alone();
        let mut frame = taken.frame.clone();
        let mut launch = alone.prepare(kernel, &mut frame, span)?;
        launch.here = Some((own.hi - own.lo, launch.space.total));
        let KernelKind::Map(outs) = &kernel.kind else {
            return Err(internal("an inspector is a map"));
        };
        let arrays = launch.all_outputs(outs, &mut frame);
        let arrays = self.device.settle(8 * launch.space.total, arrays)?;
        if own.lo < own.hi {
            let chunks = launch.space.balanced_chunks_of(own, launch.threads);
            threads::run(launch.threads, chunks.len(), |i| {
                launch.run_chunk(kernel.code, &launch.env, &chunks[i]);
            });
        }
        Ok(launch.failed_at().is_none().then_some(arrays))
    }

    /// Requests of all ranks for the elements from the first to the last index of each position's range; none if that is nearly everything, or a rank does not know.
    fn requests(
        &self,
        source: &Source,
        ranges: Option<Vec<[Array; 2]>>,
        own: &Chunk,
    ) -> Result<Option<Requests>, RuntimeError> {
        let (ranks, size) = (self.ranks(), source.size() as u64);
        let lacking = source.lacking(ranks.rank());
        let mut asked: Vec<Vec<Elements>> = vec![Vec::new(); ranks.size()];
        let is_known = ranges.is_some();
        // SAFETY: these positions are this rank's, whose elements were just written.
        let here = |a: &Array| unsafe {
            std::slice::from_raw_parts((a.as_ptr() as *const i64).add(own.lo), own.hi - own.lo)
        };
        for [first, last] in ranges.iter().flatten() {
            ask(here(first).iter().zip(here(last)), &lacking, &mut asked);
        }
        let asked: Vec<Runs> = asked.into_iter().map(Runs::of).collect();
        let words: Vec<Vec<u8>> = asked.iter().map(Runs::to_words).collect();
        let bytes: u64 = asked.iter().zip(&words).map(|(a, w)| a.count() * size + w.len() as u64).sum();
        let all = ranks.all_gather_number(if is_known { bytes } else { u64::MAX }).map_err(lost)?;
        let all = all.iter().fold(0u64, |sum, n| sum.saturating_add(*n));
        let elements: u64 = source.members.iter().map(|a| a.len() as u64).sum();
        if all >= elements * size * (ranks.size() as u64 - 1) {
            return Ok(None);
        }
        if all == 0 {
            return Ok(Some(Requests { own: asked, others: vec![Runs::default(); ranks.size()] }));
        }
        let received = ranks.exchange_unknown(words).map_err(lost)?;
        let others = received.iter().map(|bytes| Runs::from_words(bytes)).collect();
        Ok(Some(Requests { own: asked, others }))
    }

    /// Sends what other ranks ask for, and puts what comes to its place.
    fn answer(&self, source: &Source, requests: &Requests) -> Result<(), RuntimeError> {
        let (size, base) = (source.size(), source.base);
        let place = |run: &Elements| (run.start as usize * size, (run.end - run.start) as usize * size);
        let bytes_of = |runs: &Runs| {
            let mut all = Vec::with_capacity(runs.count() as usize * size);
            for run in runs.iter() {
                let (at, len) = place(run);
                // SAFETY: the elements are this rank's, for others ask their owner.
                all.extend_from_slice(unsafe { std::slice::from_raw_parts(base.add(at), len) });
            }
            all
        };
        let send: Vec<Vec<u8>> = requests.others.iter().map(bytes_of).collect();
        let mut received: Vec<Vec<u8>> =
            requests.own.iter().map(|runs| vec![0; runs.count() as usize * size]).collect();
        let send: Vec<&[u8]> = send.iter().map(|s| &s[..]).collect();
        let mut receive: Vec<&mut [u8]> = received.iter_mut().map(|r| &mut r[..]).collect();
        self.ranks().exchange(&send, &mut receive).map_err(lost)?;
        for (runs, bytes) in requests.own.iter().zip(&received) {
            let mut rest = &bytes[..];
            for run in runs.iter() {
                let (at, len) = place(run);
                let (these, after) = rest.split_at(len);
                rest = after;
                // SAFETY: the elements are inside the array, are another rank's, and nobody reads them now.
                unsafe { std::ptr::copy_nonoverlapping(these.as_ptr(), base.add(at), len) };
            }
        }
        source.note(requests);
        Ok(())
    }
}

/// Adds the elements that a rank lacks to what it asks their owners for: those from a first to a last index, unless the first one is negative.
fn ask<'i>(
    ranges: impl Iterator<Item = (&'i i64, &'i i64)>,
    lacking: &[(Elements, usize)],
    asked: &mut [Vec<Elements>],
) {
    let mut k = 0;
    for (first, last) in ranges.filter(|(first, last)| **first >= 0 && first <= last) {
        let (start, end) = (*first as u64, *last as u64 + 1);
        // Mostly the same as before.
        let is_behind = |k: usize| lacking.get(k).is_none_or(|(r, _)| start < r.end);
        if !is_behind(k) || k > 0 && is_behind(k - 1) {
            k = lacking.partition_point(|(r, _)| r.end <= start);
        }
        for (r, owner) in lacking[k..].iter().take_while(|(r, _)| r.start < end) {
            let part = start.max(r.start)..end.min(r.end);
            match asked[*owner].last_mut() {
                Some(run) if run.start <= part.start && part.start <= run.end => {
                    run.end = run.end.max(part.end)
                }
                _ => asked[*owner].push(part),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for() {
        let lacking = [(0..10, 0), (20..30, 2), (30..40, 3)];
        let mut asked = vec![Vec::new(); 4];
        let first = [-1, 5, 6, 5, 15, 28, 8, 50, 3];
        let last = [-1, 5, 6, 5, 15, 31, 22, 60, 2];
        ask(first.iter().zip(&last), &lacking, &mut asked);
        let runs = |r: &[Elements]| Runs::of(r.to_vec()).iter().map(|r| (r.start, r.end)).collect::<Vec<_>>();
        assert_eq!(
            asked.iter().map(|r| runs(r)).collect::<Vec<_>>(),
            [vec![(5, 7), (8, 10)], vec![], vec![(20, 23), (28, 30)], vec![(30, 32)]]
        );
    }
}
