//! Arrays that are read at computed indices: the indices are found first (inspector), then the elements that this rank lacks are fetched, each once, to
//! their places in the array (executor). As long as a kernel finds the same indices, what ranks ask each other for stays the same. If they would ask
//! for nearly everything, the array is gathered.

use super::kernel::Taken;
use super::{Dist, Shared, lost};
use crate::array::Array;
use crate::check::{RuntimeError, Span};
use crate::exec::device::Held;
use crate::exec::frame::{Frame, HostValue};
use crate::exec::launch::Arrays;
use crate::exec::space::Chunk;
use crate::exec::{Run, internal, threads};
use crate::plan::{Inspector, Kernel, KernelKind, Operand};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

/// Kernels whose requests are remembered.
const REMEMBERED: usize = 8;

/// Indices that one rank asks others for, and those that they ask it for, by rank.
#[derive(Debug)]
struct Requests {
    own: Vec<Vec<u64>>,
    others: Vec<Vec<u64>>,
}

/// An array or scalar that indices are computed from.
#[derive(Debug)]
enum Input {
    Scalar(u64),
    /// Held, so that no other array is there.
    Array(Array),
}

/// Requests that a kernel has made.
#[derive(Debug)]
struct Entry {
    kernel: *const Kernel,
    inputs: Vec<Input>,
    cuts: Vec<usize>,
    array: usize,
    requests: Rc<Requests>,
}

/// Requests of the kernels of a run.
#[derive(Clone, Debug, Default)]
pub struct Memory(Rc<RefCell<Vec<Entry>>>);

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
    /// Gets the elements at indices that positions compute to the ranks of these positions.
    pub fn fetch_random(
        &self,
        inspector: &Inspector,
        taken: &Taken,
        arrays: &[Option<Shared>],
        parts: &[Chunk],
        span: Span,
    ) -> Result<(), RuntimeError> {
        let mut outputs: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (output, array) in inspector.of.iter().enumerate() {
            outputs.entry(*array).or_default().push(output);
        }
        let inputs = self.inputs(&inspector.kernel, &taken.frame);
        let mut found: Option<Option<Arrays>> = None;
        for (number, outputs) in outputs {
            let Some(a) = arrays.get(number).and_then(Option::as_ref) else { continue };
            let Some(cuts) = a.cuts().map(<[usize]>::to_vec) else { continue };
            let known = self.remembered(&inspector.kernel, &inputs, &cuts, number);
            let requests = match known {
                Some(requests) => requests,
                None => {
                    if found.is_none() {
                        found = Some(self.inspect(&inspector.kernel, taken, parts, span)?);
                    }
                    // Of indices that a check refuses there are none: the kernel itself finds the error.
                    let indices = found.as_ref().and_then(|f| f.as_deref());
                    let indices =
                        indices.map(|all| outputs.iter().map(|o| &all[*o]).collect::<Vec<&Array>>());
                    match self.requests(a, &cuts, indices, &parts[self.ranks().rank()])? {
                        Some(requests) => self.remember(&inspector.kernel, &inputs, (cuts, number), requests),
                        None => {
                            a.make_whole(self.ranks())?;
                            continue;
                        }
                    }
                }
            };
            self.answer(a, &requests)?;
        }
        Ok(())
    }

    fn inputs(&self, kernel: &Kernel, frame: &Frame) -> Vec<Input> {
        let input = |x: &Operand| match x {
            Operand::Const(c) => Input::Scalar(c.bits()),
            Operand::Copy(s) | Operand::Move(s) => match frame.value(*s) {
                HostValue::Scalar(c) => Input::Scalar(c.bits()),
                HostValue::Array(a) => Input::Array(a.clone()),
                _ => Input::Scalar(0),
            },
        };
        kernel.captures.iter().map(input).collect()
    }

    fn remembered(
        &self,
        kernel: &Kernel,
        inputs: &[Input],
        cuts: &[usize],
        array: usize,
    ) -> Option<Rc<Requests>> {
        let memory = self.device.memory.0.borrow();
        let is_it = |e: &&Entry| {
            std::ptr::eq(e.kernel, kernel)
                && e.array == array
                && e.cuts == cuts
                && e.inputs.iter().zip(inputs).all(|(a, b)| a.is_same(b))
        };
        memory.iter().find(is_it).map(|e| e.requests.clone())
    }

    fn remember(
        &self,
        kernel: &Kernel,
        inputs: &[Input],
        (cuts, array): (Vec<usize>, usize),
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
        memory.push(Entry { kernel, inputs, cuts, array, requests: requests.clone() });
        requests
    }

    /// The indices at this rank's positions; none if a check has failed.
    fn inspect(
        &self,
        kernel: &Kernel,
        taken: &Taken,
        parts: &[Chunk],
        span: Span,
    ) -> Result<Option<Arrays>, RuntimeError> {
        let alone = self.alone();
        let mut frame = taken.frame.clone();
        let mut launch = alone.prepare(kernel, &mut frame, span)?;
        let own = parts[self.ranks().rank()];
        launch.here = Some((own.hi - own.lo, launch.space.total));
        let KernelKind::Map(outs) = &kernel.kind else {
            return Err(internal("an inspector is a map"));
        };
        let arrays = launch.all_outputs(outs, &mut frame);
        let arrays = self.device.settle(8 * launch.space.total, arrays)?;
        if own.lo < own.hi {
            let chunks = launch.space.balanced_chunks_of(&own, launch.threads);
            threads::run(launch.threads, chunks.len(), |i| {
                launch.run_chunk(kernel.code, &launch.env, &chunks[i]);
            });
        }
        Ok(launch.failed_at().is_none().then_some(arrays))
    }

    /// The requests of all ranks; none if that is nearly everything, or a rank does not know.
    fn requests(
        &self,
        a: &Shared,
        cuts: &[usize],
        indices: Option<Vec<&Array>>,
        own: &Chunk,
    ) -> Result<Option<Requests>, RuntimeError> {
        let (ranks, me, len) = (self.ranks(), self.ranks().rank(), a.len());
        let here = cuts[me]..cuts[me + 1];
        let mut missing: Vec<u64> = Vec::new();
        let is_known = indices.is_some();
        for array in indices.unwrap_or_default() {
            // SAFETY: these positions are this rank's, whose elements were just written.
            let indices = unsafe {
                std::slice::from_raw_parts((array.as_ptr() as *const i64).add(own.lo), own.hi - own.lo)
            };
            let far =
                indices.iter().filter(|i| (0..len as i64).contains(*i) && !here.contains(&(**i as usize)));
            missing.extend(far.map(|i| *i as u64));
            missing.sort_unstable();
            missing.dedup();
        }
        let size = a.prim().size() as u64;
        let number = if is_known { missing.len() as u64 } else { u64::MAX };
        let all = ranks.all_gather_number(number).map_err(lost)?;
        let asked = all.iter().fold(0u64, |sum, n| sum.saturating_add(*n)).saturating_mul(8 + size);
        if asked >= len as u64 * size * (ranks.size() as u64 - 1) {
            return Ok(None);
        }
        let mut by_owner: Vec<Vec<u64>> = vec![Vec::new(); ranks.size()];
        for i in missing {
            by_owner[cuts.partition_point(|c| *c as u64 <= i) - 1].push(i);
        }
        let send: Vec<Vec<u8>> =
            by_owner.iter().map(|list| list.iter().flat_map(|i| i.to_le_bytes()).collect()).collect();
        let received = ranks.exchange_unknown(&send).map_err(lost)?;
        let number = |b: &[u8]| u64::from_le_bytes(std::array::from_fn(|i| b[i]));
        let others = received.iter().map(|bytes| bytes.chunks_exact(8).map(number).collect()).collect();
        Ok(Some(Requests { own: by_owner, others }))
    }

    /// Sends what other ranks ask for, and puts what comes to its place.
    fn answer(&self, a: &Shared, requests: &Requests) -> Result<(), RuntimeError> {
        let size = a.prim().size();
        let base = a.array().as_ptr();
        let element = |i: &u64| -> Range<usize> { *i as usize * size..(*i as usize + 1) * size };
        let send: Vec<Vec<u8>> = requests
            .others
            .iter()
            .map(|list| {
                let bytes = |i: &u64| {
                    // SAFETY: the element is this rank's, for others ask its owner.
                    unsafe { std::slice::from_raw_parts(base.add(element(i).start), size) }
                };
                list.iter().flat_map(|i| bytes(i).iter().copied()).collect()
            })
            .collect();
        let mut received: Vec<Vec<u8>> = requests.own.iter().map(|list| vec![0; list.len() * size]).collect();
        let send: Vec<&[u8]> = send.iter().map(|s| &s[..]).collect();
        let mut receive: Vec<&mut [u8]> = received.iter_mut().map(|r| &mut r[..]).collect();
        self.ranks().exchange(&send, &mut receive).map_err(lost)?;
        for (list, bytes) in requests.own.iter().zip(&received) {
            for (i, x) in list.iter().zip(bytes.chunks_exact(size)) {
                // SAFETY: the element is inside the array, is another rank's, and nobody reads it now.
                unsafe { std::ptr::copy_nonoverlapping(x.as_ptr(), base.add(element(i).start), size) };
            }
        }
        Ok(())
    }
}
