//! Scatters: the kernel lists indices and values, which go to the ranks that have the elements. What comes later in the order of positions stays.

use super::array::Writable;
use super::kernel::Cut;
use super::lists::List;
use super::taken::Taken;
use super::{Dist, Shared, even_cuts};
use crate::array::Array;
use crate::check::{RuntimeError, Span};
use crate::exec::cpu::Cpu;
use crate::exec::device::{Held, Results};
use crate::exec::frame::{Frame, HostValue};
use crate::exec::launch::Arrays;
use crate::exec::{Run, internal, out_of_memory};
use crate::plan::{ForRanks, Kernel, KernelKind, Out};
use crate::prim::Scalar;
use std::ops::Range;

impl Run<'_, Dist> {
    /// Runs a kernel that writes by index.
    pub fn listed(
        &self,
        k: &Kernel,
        listed: &Kernel,
        info: &ForRanks,
        scalars: &[i64],
        mut taken: Taken,
        span: Span,
    ) -> Results<Dist> {
        match &k.kind {
            KernelKind::Map(outs) | KernelKind::Scan { outs: Some(outs), .. } => {
                self.scattered((k, listed), outs, (info, scalars), &mut taken, span)
            }
            KernelKind::Hist { dests, fold, exact, any_order } => {
                let operator = (fold, *exact, *any_order);
                self.histogram((k, listed), (dests, operator), (info, scalars), &mut taken, span)
            }
            _ => Err(internal("a list of what nothing writes")),
        }
    }

    fn scattered(
        &self,
        (k, listed): (&Kernel, &Kernel),
        outs: &[Out],
        (info, scalars): (&ForRanks, &[i64]),
        taken: &mut Taken,
        span: Span,
    ) -> Results<Dist> {
        let mut dests = Vec::new();
        for out in outs {
            let arrays = out.dests().iter().map(|d| taken.take_dest(*d, k));
            dests.push(arrays.collect::<Result<Vec<Shared>, RuntimeError>>()?);
        }
        let alone = self.alone();
        let cut = self.cut(None, &alone, (k, listed), info, scalars, taken, span)?;
        let (cut, lists) = cut.lists(&mut taken.frame)?;
        self.count(|c| *c += cut.launch.base_cost());
        let mut lists = lists.into_iter();
        let mut results = Vec::new();
        for (out, dests) in outs.iter().zip(dests) {
            match out {
                Out::Row(prim, n) => {
                    let a = lists.next().ok_or_else(|| internal("a result that is not there"))?;
                    let made = cut.launch.space.total.saturating_mul(n * prim.size());
                    self.count(|c| c.bytes_materialised += made as u64);
                    results.push(Shared::distributed(a, cut.position_cuts(*n)));
                }
                _ => {
                    let index = lists.next().ok_or_else(|| internal("indices that are not there"))?;
                    let values: Vec<Array> = lists.by_ref().take(dests.len()).collect();
                    results.extend(self.scatter(&cut, (index, values), dests)?);
                }
            }
        }
        Ok(results.into_iter().map(HostValue::Array).collect())
    }

    /// Writes listed values to arrays.
    fn scatter(
        &self,
        cut: &Cut,
        (index, values): (Array, Vec<Array>),
        dests: Vec<Shared>,
    ) -> Result<Vec<Shared>, RuntimeError> {
        let len = dests.iter().map(Held::len).min().unwrap_or(0);
        let own = cut.own();
        let list = List { index: &index, values: &values, positions: own.lo..own.hi };
        let small = !self.device.is_large(len) && dests.iter().all(Shared::is_whole);
        let received = if small {
            list.last_to_all(self.ranks(), len)?
        } else {
            list.to_owners(self.ranks(), &even_cuts(len, self.ranks().size()))?
        };
        let mut made = Vec::new();
        for dest in dests {
            made.push(self.for_update(dest, len, small, cut.span)?);
        }
        received.for_each(|i, values| {
            for (a, x) in made.iter().zip(values) {
                // SAFETY: the index is inside, and the array is nobody else's.
                unsafe { std::ptr::copy_nonoverlapping(x.as_ptr(), a.0.as_ptr().add(i * x.len()), x.len()) };
            }
        });
        Ok(made.into_iter().map(Shared::updated).collect())
    }

    /// An array that is about to be updated: whole, or with even cuts of its first `len` elements.
    pub fn for_update(
        &self,
        a: Shared,
        len: usize,
        whole: bool,
        span: Span,
    ) -> Result<Writable, RuntimeError> {
        if whole {
            let bytes = a.size();
            self.count_copy(&a);
            let mut a = a.into_array();
            let copied = a.try_make_unique().map_err(|e| out_of_memory(e, span));
            self.device.settle(bytes, copied)?;
            return Ok((a, None));
        }
        let mut cuts = even_cuts(len, self.ranks().size());
        let last = cuts.len() - 1;
        cuts[last] = a.len();
        self.for_update_at(a, cuts, span).map(|(a, cuts)| (a, Some(cuts)))
    }

    /// Counts the copy of an array that somebody else holds.
    fn count_copy(&self, a: &Shared) {
        let (elements, bytes) = (a.len(), a.size());
        if !a.is_held_once() {
            self.count(|c| c.copy(elements, bytes));
        }
    }

    /// An array that is about to be updated, each rank the elements between its cuts.
    pub fn for_update_at(
        &self,
        a: Shared,
        cuts: Vec<usize>,
        span: Span,
    ) -> Result<(Array, Vec<usize>), RuntimeError> {
        let bytes = a.size();
        self.count_copy(&a);
        let needed: Vec<Range<usize>> = cuts.windows(2).map(|c| c[0]..c[1]).collect();
        a.fetch(self.ranks(), &needed)?;
        let parts = a.into_parts(self.ranks(), cuts).map_err(|e| out_of_memory(e, span));
        self.device.settle(bytes, parts)
    }

    /// `n` times `x` where this rank has elements between its cuts.
    pub fn neutral(&self, x: Scalar, cuts: &[usize], span: Span) -> Result<Array, RuntimeError> {
        let (me, prim, len) = (self.ranks().rank(), x.prim(), cuts[cuts.len() - 1]);
        let (lo, hi) = (cuts[me], cuts[me + 1]);
        let a = Array::try_part(prim, len, hi - lo).map_err(|e| out_of_memory(e, span))?;
        let (word, size) = (x.bits().to_le_bytes(), prim.size());
        // SAFETY: the range is inside the array, which nobody else has.
        let bytes = unsafe { std::slice::from_raw_parts_mut(a.as_ptr().add(lo * size), (hi - lo) * size) };
        bytes.chunks_exact_mut(size).for_each(|b| b.copy_from_slice(&word[..size]));
        Ok(a)
    }
}

impl Cut<'_, '_> {
    /// Runs a kernel that lists what is written: its arrays, of which this rank has its positions.
    pub fn lists(mut self, frame: &mut Frame<Cpu>) -> Result<(Self, Arrays), RuntimeError> {
        let kernel = self.launch.kernel;
        let arrays = match &kernel.kind {
            KernelKind::Map(outs) => self.map(outs, frame)?,
            KernelKind::Scan { fold, reduce, dual, outs, .. } => {
                self.scan_arrays(fold, (*reduce, *dual), outs.as_deref(), frame)?
            }
            _ => return Err(internal("a list of what nothing writes")),
        };
        Ok((self, arrays))
    }
}
