//! The processor as a device: arrays in its memory, work on its threads.

use super::device::{ArrayResult, Device, Held, Results, Rows, Values};
use super::frame::Frame;
use super::{Desc, Run, device, out_of_memory, threads};
use crate::array::{Array, OutOfMemory};
use crate::check::{RuntimeError, Span};
use crate::plan::{Code, Kernel};
use crate::prim::{Prim, Scalar};
use crate::profile::{self, Counters};
use crate::rope::Rope;
use std::sync::Arc;

/// The processor as a device: the code of its kernels, and options of their runs.
#[derive(Clone, Debug)]
pub struct Cpu {
    /// The functions of the kernels.
    pub code: Arc<Code>,
    /// Number of threads.
    pub threads: usize,
    /// See [`super::Options`].
    pub smallest_chunks: bool,
    /// All elements of an array are in memory: there are no other ranks.
    pub has_whole_arrays: bool,
    /// See [`super::Options`].
    pub reproducible: bool,
}

impl Held for Array {
    fn prim(&self) -> Prim {
        Array::prim(self)
    }

    fn len(&self) -> usize {
        Array::len(self)
    }

    fn is_unique(&mut self) -> bool {
        Array::is_unique(self)
    }
}

impl Device for Cpu {
    type Array = Array;
    type Rope = Arc<Rope>;
    type Desc = Arc<Desc>;
    type Kernel = Kernel;
    const HAS_FAST_THREADS: bool = true;

    fn upload(_: &Run, a: Array) -> ArrayResult<Cpu> {
        Ok(a)
    }

    fn fetch(_: &Run, all: Vec<Array>) -> Result<Vec<Array>, RuntimeError> {
        Ok(all)
    }

    fn kernel(run: &Run, k: &Kernel, frame: &mut Frame, span: Span) -> Results<Cpu> {
        run.kernel(k, frame, span)
    }

    fn read(_: &Run, a: &Array, i: i64) -> Result<Option<Scalar>, RuntimeError> {
        let index = usize::try_from(i).ok().filter(|i| *i < a.len());
        Ok(index.map(|i| a.get(i)))
    }

    fn read_rope(_: &Run, b: &Arc<Rope>, i: i64) -> Result<Option<Scalar>, RuntimeError> {
        Ok(b.get(i))
    }

    fn write(_: &Run, mut a: Array, i: usize, x: Scalar, span: Span) -> ArrayResult<Cpu> {
        a.try_make_unique().map_err(|e| out_of_memory(e, span))?;
        a.set(i, x);
        Ok(a)
    }

    fn literal(_: &Run, prim: Prim, xs: &[Scalar], _: Span) -> ArrayResult<Cpu> {
        Ok(Array::from_scalars(prim, xs))
    }

    fn iota(run: &Run, n: usize, span: Span) -> ArrayResult<Cpu> {
        let mut a = Array::try_uninit(Prim::I64, n).map_err(|e| out_of_memory(e, span))?;
        threads::fill(run.device.threads, a.slice_mut::<i64>(), |start, part| {
            part.iter_mut().enumerate().for_each(|(i, x)| *x = (start + i) as i64);
        });
        Ok(a)
    }

    fn replicate(run: &Run, n: usize, x: Scalar, span: Span) -> ArrayResult<Cpu> {
        run.replicate(n, x).map_err(|e| out_of_memory(e, span))
    }

    fn slice(_: &Run, mut a: Array, start: usize, len: usize, span: Span) -> ArrayResult<Cpu> {
        if start == 0 && len >= a.len() / 2 && a.is_unique() {
            a.truncate(len);
            return Ok(a);
        }
        a.try_slice(start, len).map_err(|e| out_of_memory(e, span))
    }

    fn concat(run: &Run, parts: Vec<Array>, prim: Prim, span: Span) -> ArrayResult<Cpu> {
        let mut cost = Counters::default();
        let appended = Array::concat(parts, prim, &mut cost).map_err(|e| out_of_memory(e, span))?;
        run.count(|c| *c += cost);
        Ok(appended)
    }

    fn append(_: &Run, parts: Values, prim: Prim, _: Span) -> Result<(Arc<Rope>, Vec<i64>), RuntimeError> {
        device::append(parts, prim, |_| Ok(()))
    }

    fn sort(
        run: &Run,
        rows: &Rows<Cpu>,
        keys: Array,
        values: Option<Array>,
        span: Span,
    ) -> Result<Vec<Array>, RuntimeError> {
        run.sort(rows, keys, values, span)
    }

    fn compact(
        run: &Run,
        mut rope: Arc<Rope>,
        (starts, lens): (Array, Array),
        kept: Option<Arc<Rope>>,
        span: Span,
    ) -> Result<(Arc<Rope>, Array), RuntimeError> {
        if rope.count() <= 1 {
            return Ok((rope, starts));
        }
        let compacted = Arc::make_mut(&mut rope).compact(starts.slice(), lens.slice(), kept.as_deref());
        let moved = compacted.map_err(|e| out_of_memory(e, span))?;
        let copied = moved.as_ref().map_or(0, |m| m.copied);
        let size = rope.prim().size();
        run.count(|c| c.launch(2 * starts.len() + 2 * copied, copied * size));
        Ok((rope, moved.map_or(starts, |m| m.starts)))
    }

    fn needs_collection(mut rope: Arc<Rope>, base: Option<Arc<Rope>>) -> (Arc<Rope>, bool) {
        let needs_collection = Arc::make_mut(&mut rope).needs_collection(base.as_deref());
        (rope, needs_collection)
    }

    fn collect(
        run: &Run,
        rope: Arc<Rope>,
        starts: Arc<Rope>,
        weight: i64,
    ) -> Result<(Arc<Rope>, bool), RuntimeError> {
        device::collect(run, rope, starts, weight)
    }

    fn make_desc(run: &Run, lengths: Array, span: Span) -> Result<Arc<Desc>, RuntimeError> {
        run.new_desc(Desc::from_lengths(lengths, run.device.threads), span)
    }

    fn uniform_desc(run: &Run, rows: usize, m: usize, span: Span) -> Result<Arc<Desc>, RuntimeError> {
        run.new_desc(Desc::uniform(rows, m).map(Some), span)
    }

    fn concat_desc(run: &Run, parts: &[Arc<Desc>], span: Span) -> Result<Arc<Desc>, RuntimeError> {
        run.new_desc(Desc::concat(parts), span)
    }

    fn desc_of(_: &Run, offsets: Array) -> Result<Arc<Desc>, RuntimeError> {
        Ok(Arc::new(Desc::new(offsets)))
    }

    fn rows(d: &Arc<Desc>) -> usize {
        d.rows()
    }

    fn total(_: &Run, d: &Arc<Desc>) -> Result<usize, RuntimeError> {
        Ok(d.total())
    }

    fn offsets(d: &Arc<Desc>) -> Array {
        d.offsets().clone()
    }

    fn lengths(run: &Run, d: &Arc<Desc>, span: Span) -> ArrayResult<Cpu> {
        if !d.has_lengths() {
            run.count(|c| c.launch(2 * d.rows(), 8 * d.rows()));
        }
        d.lengths(run.device.threads).map_err(|e| out_of_memory(e, span))
    }

    fn seg_ids(run: &Run, d: &Arc<Desc>, span: Span) -> ArrayResult<Cpu> {
        if !d.has_seg_ids() {
            run.count(|c| c.launch(d.rows() + d.total(), 8 * d.total()));
        }
        d.seg_ids(run.device.threads).map_err(|e| out_of_memory(e, span))
    }
}

impl Run<'_> {
    /// `n` copies of `x`.
    pub fn replicate(&self, n: usize, x: Scalar) -> Result<Array, OutOfMemory> {
        let a = Array::try_uninit(x.prim(), n)?;
        let bits = x.bits();
        match x.prim().size() {
            1 => self.fill(&a, bits as u8),
            2 => self.fill(&a, bits as u16),
            4 => self.fill(&a, bits as u32),
            _ => self.fill(&a, bits),
        }
        Ok(a)
    }

    /// Fills a fresh array; `T` has the size of its elements.
    fn fill<T: Copy + Send + Sync>(&self, a: &Array, x: T) {
        // SAFETY: the caller has just made the array, and nobody else holds it; sizes agree.
        let out = unsafe { std::slice::from_raw_parts_mut(a.as_ptr() as *mut T, a.len()) };
        threads::fill(self.device.threads, out, |_, part| part.fill(x));
    }

    /// A descriptor that was made: there may have been no memory, or the total is none that integers count.
    fn new_desc(
        &self,
        made: Result<Option<Desc>, OutOfMemory>,
        span: Span,
    ) -> Result<Arc<Desc>, RuntimeError> {
        let made = made.and_then(|d| d.ok_or(OutOfMemory(u64::MAX)));
        let d = made.map_err(|e| out_of_memory(e, span))?;
        self.count(|c| c.launch(2 * d.rows() + 1, 8 * (d.rows() + 1)));
        self.note_rows(|| profile::Rows::of(&d));
        Ok(Arc::new(d))
    }
}
