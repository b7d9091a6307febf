//! Many ranks as one device, around the processor of each.
//!
//! The host's part runs on all ranks alike. A large array has a part on each ([`array`]), and a kernel over many positions is cut at the same
//! places on all of them ([`kernel`]): a rank gets what its positions read and does not have, runs the processor's code on them, and combines
//! results with those of the others in the order of ranks. Cuts are where the processor combines anyway, so results are the same bits for every
//! number of ranks. What is small is computed by every rank.
//!
//! Descriptors are whole on all ranks.
//!
//! An error is the one at the smallest position of all ranks, and all of them have it ([`agree`]).

mod agree;
mod array;
mod bins;
mod filter;
mod hist;
mod kernel;
mod lists;
mod own;
mod random;
mod reduce;
mod rope;
mod runs;
mod scan;
mod scatter;
mod sort;
mod taken;
mod window;

use super::cpu::Cpu;
use super::device::{ArrayResult, Device, Held, Results, Rows, Values, append};
use super::frame::{Frame, HostValue};
use super::{Desc, Run, out_of_memory};
use crate::array::Array;
use crate::check::{RuntimeError, Span};
use crate::plan::Kernel;
use crate::prim::{Prim, Scalar};
use crate::ranks::values::Parts;
use crate::ranks::{Lost, Ranks};
use crate::rope::Rope;
pub use array::{Shared, even_cuts};
use std::cell::{Cell, OnceCell};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use window::Window;

/// This rank.
#[derive(Clone, Debug)]
pub struct Dist {
    cpu: Cpu,
    ranks: Ranks,
    window: Arc<Window>,
    memory: random::Memory,
    /// Memory is limited, so that one rank may have none where others have.
    is_limited: bool,
}

/// A descriptor, and the rows of its elements.
#[derive(Debug)]
pub struct SharedDesc {
    desc: Arc<Desc>,
    rows: OnceCell<Shared>,
}

impl From<Arc<Desc>> for SharedDesc {
    fn from(desc: Arc<Desc>) -> SharedDesc {
        SharedDesc { desc, rows: OnceCell::new() }
    }
}

/// Another rank is gone.
pub(crate) fn lost(e: Lost) -> RuntimeError {
    RuntimeError::plain(e.0)
}

impl Dist {
    /// A rank whose processor is used like this.
    pub fn new(cpu: Cpu, ranks: Ranks, is_limited: bool) -> Dist {
        // Where order is not told, threads would have to agree on it with those of other ranks.
        let cpu = Cpu { reproducible: true, has_whole_arrays: false, ..cpu };
        Dist { cpu, ranks, window: Arc::default(), memory: random::Memory::default(), is_limited }
    }

    fn is_large(&self, n: usize) -> bool {
        n >= self.ranks.least
    }
}

impl Run<'_, Dist> {
    /// This rank alone, for work that every rank does.
    fn alone(&self) -> Run<'_, Cpu> {
        Run {
            plan: self.plan,
            device: self.device.cpu.clone(),
            max_depth: self.max_depth,
            depth: Cell::new(self.depth.get()),
            recorder: self.recorder,
            cancel: self.cancel,
            traces: self.traces,
        }
    }

    fn ranks(&self) -> &Ranks {
        &self.device.ranks
    }

    /// The elements of an array that all ranks have then.
    fn whole(&self, a: Shared) -> Result<Array, RuntimeError> {
        a.make_whole(self.ranks())?;
        Ok(a.into_array())
    }

    /// The same for lengths or starts of rows.
    fn whole_rows(&self, a: Shared) -> Result<Array, RuntimeError> {
        a.make_whole_packed(self.ranks())?;
        Ok(a.into_array())
    }

    /// Copies parts of arrays, `from[i]` on, to a fresh array one after the other.
    fn gathered(
        &self,
        prim: Prim,
        parts: &[(Shared, usize, usize)],
        span: Span,
    ) -> Result<Shared, RuntimeError> {
        let len = parts.iter().map(|p| p.2).sum();
        let ranks = self.ranks();
        let cuts = if self.device.is_large(len) { Some(even_cuts(len, ranks.size())) } else { None };
        let of_rank = |r: usize| cuts.as_ref().map_or(0..len, |c| c[r]..c[r + 1]);
        let mut at = 0;
        let mut places = Vec::new();
        for (a, start, n) in parts {
            let inside = |r: usize| overlap(&of_rank(r), at, *start, *n);
            let needed: Vec<Range<usize>> = (0..ranks.size()).map(inside).collect();
            a.fetch(ranks, &needed)?;
            places.push((a, needed[ranks.rank()].clone(), at));
            at += n;
        }
        let size = prim.size();
        self.device.filled(prim, len, span, |here, bytes| {
            for (a, range, at) in places.into_iter().filter(|(_, range, _)| !range.is_empty()) {
                let to = (at.max(here.start) - here.start) * size;
                let from = &a.array().bytes()[range.start * size..range.end * size];
                bytes[to..to + from.len()].copy_from_slice(from);
            }
        })
    }
}

/// The elements of a part of `n` from `start`, which comes to `at`, that come to some places.
fn overlap(places: &Range<usize>, at: usize, start: usize, n: usize) -> Range<usize> {
    let lo = places.start.clamp(at, at + n);
    let hi = places.end.clamp(lo, at + n);
    start + lo - at..start + hi - at
}

impl Device for Dist {
    type Array = Shared;
    type Rope = Arc<Rope<Shared>>;
    type Desc = Rc<SharedDesc>;
    type Kernel = Kernel;

    fn upload(_: &Run<Dist>, a: Array) -> ArrayResult<Dist> {
        Ok(Parts::shared(&a))
    }

    fn keep(_: &Run<Dist>, a: &Shared) -> Option<Array> {
        let cuts = a.cuts()?.to_vec();
        Some(Parts::of(a.array().clone(), cuts))
    }

    /// Only rank 0 has the elements then: it shows and writes them.
    fn fetch(run: &Run<Dist>, all: Vec<Shared>) -> Result<Vec<Array>, RuntimeError> {
        all.iter().try_for_each(|a| a.gather(run.ranks()))?;
        Ok(all.into_iter().map(Shared::into_array).collect())
    }

    /// Nothing is still to be done.
    fn settle(_: &Run<Dist>) -> Result<(), RuntimeError> {
        Ok(())
    }

    fn is_so_anywhere(run: &Run<Dist>, so: bool) -> Result<bool, RuntimeError> {
        let all = run.ranks().all_gather_number(u64::from(so)).map_err(lost)?;
        Ok(all.contains(&1))
    }

    fn kernel(run: &Run<Dist>, k: &Kernel, frame: &mut Frame<Dist>, span: Span) -> Results<Dist> {
        run.shared_kernel(k, frame, span)
    }

    fn read(run: &Run<Dist>, a: &Shared, i: i64) -> Result<Option<Scalar>, RuntimeError> {
        let index = usize::try_from(i).ok().filter(|i| *i < a.len());
        index.map(|i| run.device.element(a, i)).transpose()
    }

    fn read_rope(run: &Run<Dist>, b: &Arc<Rope<Shared>>, i: i64) -> Result<Option<Scalar>, RuntimeError> {
        b.find(i).map(|(a, at)| run.device.element(a, at)).transpose()
    }

    fn write(run: &Run<Dist>, a: Shared, i: usize, x: Scalar, span: Span) -> ArrayResult<Dist> {
        let (len, size) = (a.len(), a.prim().size());
        let Some(cuts) = a.cuts().map(<[usize]>::to_vec) else {
            let mut a = a.into_array();
            let copied = a.try_make_unique().map_err(|e| out_of_memory(e, span));
            run.device.settle(len * size, copied)?;
            a.set(i, x);
            return Ok(a.into());
        };
        let parts = a.into_parts(run.ranks(), cuts).map_err(|e| out_of_memory(e, span));
        let (a, cuts) = run.device.settle(len * size, parts)?;
        let me = run.ranks().rank();
        if (cuts[me]..cuts[me + 1]).contains(&i) {
            let bytes = x.bits().to_le_bytes();
            // SAFETY: the element is inside the array, which nobody else has.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), a.as_ptr().add(i * size), size) };
        }
        Ok(Shared::distributed(a, cuts))
    }

    fn literal(_: &Run<Dist>, prim: Prim, xs: &[Scalar], _: Span) -> ArrayResult<Dist> {
        Ok(Array::from_scalars(prim, xs).into())
    }

    fn iota(run: &Run<Dist>, n: usize, span: Span) -> ArrayResult<Dist> {
        run.device.filled(Prim::I64, n, span, |here, bytes| {
            let numbers = bytes.chunks_exact_mut(8).zip(here);
            numbers.for_each(|(x, i)| x.copy_from_slice(&(i as i64).to_le_bytes()));
        })
    }

    fn replicate(run: &Run<Dist>, n: usize, x: Scalar, span: Span) -> ArrayResult<Dist> {
        run.device.filled(x.prim(), n, span, |_, bytes| {
            let word = x.bits().to_le_bytes();
            let size = x.prim().size();
            bytes.chunks_exact_mut(size).for_each(|b| b.copy_from_slice(&word[..size]));
        })
    }

    fn slice(run: &Run<Dist>, a: Shared, start: usize, len: usize, span: Span) -> ArrayResult<Dist> {
        if a.is_whole() {
            let bytes = len.saturating_mul(a.prim().size());
            let part = Cpu::slice(&run.alone(), a.into_array(), start, len, span);
            return run.device.settle(bytes, part).map(Shared::from);
        }
        run.gathered(a.prim(), &[(a.clone(), start, len)], span)
    }

    fn concat(run: &Run<Dist>, mut parts: Vec<Shared>, prim: Prim, span: Span) -> ArrayResult<Dist> {
        if parts.iter().all(Shared::is_whole) {
            let bytes = parts.iter().map(Held::size).sum();
            let arrays = parts.into_iter().map(Shared::into_array).collect();
            let all = Cpu::concat(&run.alone(), arrays, prim, span);
            return run.device.settle(bytes, all).map(Shared::from);
        }
        if parts.iter().skip(1).all(|a| a.len() == 0) {
            run.count(|c| c.launch(0, 0));
            return Ok(parts.swap_remove(0));
        }
        // What one processor would have written.
        let in_place = parts[0].is_unique();
        let written = || parts[usize::from(in_place)..].iter();
        run.count(|c| c.launch(2 * written().map(Held::len).sum::<usize>(), written().map(Held::size).sum()));
        let whole = |a: Shared| (a.clone(), 0, a.len());
        run.gathered(prim, &parts.into_iter().map(whole).collect::<Vec<_>>(), span)
    }

    fn append(
        run: &Run<Dist>,
        parts: Values<Dist>,
        prim: Prim,
        span: Span,
    ) -> Result<(Arc<Rope<Shared>>, Vec<i64>), RuntimeError> {
        let placed = |part| match part {
            HostValue::Array(a) => run.placed(a, span).map(HostValue::Array),
            other => Ok(other),
        };
        let parts = parts.into_iter().map(placed).collect::<Result<_, RuntimeError>>()?;
        append(parts, prim, |_| Ok(()))
    }

    fn sort(
        run: &Run<Dist>,
        rows: &Rows<Dist>,
        keys: Shared,
        values: Option<Shared>,
        span: Span,
    ) -> Result<Vec<Shared>, RuntimeError> {
        run.shared_sort(rows, keys, values, span)
    }

    fn compact(
        run: &Run<Dist>,
        rope: Arc<Rope<Shared>>,
        rows: (Shared, Shared),
        kept: Option<Arc<Rope<Shared>>>,
        span: Span,
    ) -> Result<(Arc<Rope<Shared>>, Shared), RuntimeError> {
        run.compact_shared(rope, rows, kept, span)
    }

    fn needs_collection(
        mut rope: Arc<Rope<Shared>>,
        base: Option<Arc<Rope<Shared>>>,
    ) -> (Arc<Rope<Shared>>, bool) {
        let needs_collection = Arc::make_mut(&mut rope).needs_collection(base.as_deref());
        (rope, needs_collection)
    }

    fn collect(
        run: &Run<Dist>,
        mut rope: Arc<Rope<Shared>>,
        starts: Arc<Rope<Shared>>,
        weight: i64,
    ) -> Result<(Arc<Rope<Shared>>, bool), RuntimeError> {
        let Some(cost) = rope.pay_for_collection(&starts) else { return Ok((rope, false)) };
        run.count(|c| c.launch(cost, 0));
        starts.parts().try_for_each(|a| a.make_whole_packed(run.ranks()))?;
        let starts = starts.parts().map(|a| a.array().slice::<i64>());
        let sparse = Arc::make_mut(&mut rope).collect(starts, weight);
        Ok((rope, sparse))
    }

    fn make_desc(run: &Run<Dist>, lengths: Shared, span: Span) -> Result<Rc<SharedDesc>, RuntimeError> {
        let bytes = lengths.size();
        let lengths = run.whole_rows(lengths)?;
        let desc = Cpu::make_desc(&run.alone(), lengths, span);
        run.device.settle(bytes, desc).map(described)
    }

    fn uniform_desc(
        run: &Run<Dist>,
        rows: usize,
        m: usize,
        span: Span,
    ) -> Result<Rc<SharedDesc>, RuntimeError> {
        run.device.settle(8 * rows, Cpu::uniform_desc(&run.alone(), rows, m, span)).map(described)
    }

    fn concat_desc(
        run: &Run<Dist>,
        parts: &[Rc<SharedDesc>],
        span: Span,
    ) -> Result<Rc<SharedDesc>, RuntimeError> {
        let parts: Vec<Arc<Desc>> = parts.iter().map(|d| d.desc.clone()).collect();
        let bytes = 8 * parts.iter().map(|d| d.rows()).sum::<usize>();
        run.device.settle(bytes, Cpu::concat_desc(&run.alone(), &parts, span)).map(described)
    }

    fn desc_of(_: &Run<Dist>, offsets: Array) -> Result<Rc<SharedDesc>, RuntimeError> {
        Ok(described(Arc::new(Desc::new(offsets))))
    }

    fn rows(d: &Rc<SharedDesc>) -> usize {
        d.desc.rows()
    }

    fn total(_: &Run<Dist>, d: &Rc<SharedDesc>) -> Result<usize, RuntimeError> {
        Ok(d.desc.total())
    }

    fn offsets(d: &Rc<SharedDesc>) -> Shared {
        d.desc.offsets().clone().into()
    }

    fn lengths(run: &Run<Dist>, d: &Rc<SharedDesc>, span: Span) -> ArrayResult<Dist> {
        let lengths = Cpu::lengths(&run.alone(), &d.desc, span);
        run.device.settle(8 * d.desc.rows(), lengths).map(Shared::from)
    }

    fn seg_ids(run: &Run<Dist>, d: &Rc<SharedDesc>, span: Span) -> ArrayResult<Dist> {
        let total = d.desc.total();
        if let Some(rows) = d.rows.get() {
            return Ok(rows.clone());
        }
        if !run.device.is_large(total) {
            let rows = Cpu::seg_ids(&run.alone(), &d.desc, span)?;
            return Ok(d.rows.get_or_init(|| rows.into()).clone());
        }
        run.count(|c| c.launch(d.desc.rows() + total, 8 * total));
        let offsets = d.desc.offsets().slice::<i64>();
        let rows = run.device.filled(Prim::I64, total, span, |here, bytes| {
            let mut row = offsets.partition_point(|o| *o as usize <= here.start).saturating_sub(1);
            for (x, i) in bytes.chunks_exact_mut(8).zip(here) {
                while offsets[row + 1] as usize <= i {
                    row += 1;
                }
                x.copy_from_slice(&(row as i64).to_le_bytes());
            }
        })?;
        Ok(d.rows.get_or_init(|| rows).clone())
    }
}

fn described(desc: Arc<Desc>) -> Rc<SharedDesc> {
    Rc::new(desc.into())
}
