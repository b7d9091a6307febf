//! Kernels whose positions update an array in place. If what each rank's positions read and write of it does not overlap, the array is cut there, and
//! each rank updates its part.

use super::taken::Taken;
use super::{Dist, Shared};
use crate::check::{RuntimeError, Span};
use crate::exec::Run;
use crate::exec::device::Results;
use crate::exec::frame::HostValue;
use crate::exec::launch::Arrays;
use crate::plan::{ForRanks, Kernel, KernelKind, Operand, Out};
use smallvec::smallvec;
use std::ops::Range;

impl Run<'_, Dist> {
    /// The cuts of the array that a kernel updates; none if ranks would be in each other's way.
    pub fn own_cuts(
        &self,
        k: &Kernel,
        info: &ForRanks,
        scalars: &[i64],
        taken: &Taken,
        span: Span,
    ) -> Result<Option<Vec<usize>>, RuntimeError> {
        let (Some(reach), Some(dest)) = (&info.own, dest(k)) else { return Ok(None) };
        let len = taken.frame.clone().array(dest)?.len();
        let parts = self.parts(k, &taken.frame, span)?;
        let ranges: Vec<Range<usize>> =
            parts.iter().map(|p| reach.elements(scalars, p.row_lo..p.row_hi, p.lo..p.hi, len)).collect();
        let mut cuts = vec![0];
        for r in &ranges[1..] {
            cuts.push(if r.is_empty() { cuts[cuts.len() - 1] } else { r.start });
        }
        cuts.push(len);
        // A rank without positions has no elements: those before it go on to the next cut.
        for i in (1..ranges.len()).rev() {
            if ranges[i].is_empty() {
                cuts[i] = cuts[i + 1];
            }
        }
        let inside =
            |(r, cut): (&Range<usize>, &[usize])| r.is_empty() || cut[0] <= r.start && r.end <= cut[1];
        let apart = ranges.iter().zip(cuts.windows(2)).all(inside) && cuts.is_sorted();
        Ok(apart.then_some(cuts))
    }

    /// Runs a kernel whose positions update an array between cuts.
    pub fn in_place(
        &self,
        k: &Kernel,
        info: &ForRanks,
        scalars: &[i64],
        mut taken: Taken,
        cuts: Vec<usize>,
        span: Span,
    ) -> Results<Dist> {
        let (KernelKind::Map(outs), Some(dest)) = (&k.kind, dest(k)) else {
            return Err(crate::exec::internal("a kernel that updates in place is a map"));
        };
        let dest = taken.take_dest(dest, k)?;
        let (updated, cuts) = self.for_update_at(dest, cuts, span)?;
        let alone = self.alone();
        let mut cut = self.cut(None, &alone, (k, k), info, scalars, &mut taken, span)?;
        let mut word = 0;
        let mut arrays: Result<Arrays, RuntimeError> = Ok(Arrays::new());
        for out in outs {
            let made = match out {
                Out::Row(prim, n) => cut.launch.outputs(word, &[*prim], cut.launch.space.total * n),
                _ => {
                    let at = cut.launch.kernel.layout.outputs_at() + word;
                    cut.launch.env[at] = updated.len() as u64;
                    cut.launch.env[at + 1] = updated.as_ptr() as u64;
                    Ok(smallvec![updated.clone()])
                }
            };
            arrays = arrays.and_then(|mut all| {
                all.extend(made?);
                Ok(all)
            });
            word += out.words();
        }
        drop(updated);
        let arrays = cut.run_map(arrays)?;
        let results = cut.by_position(arrays, outs)?;
        let shared = |(x, out): (HostValue<Dist>, &Out)| match (x, out) {
            (HostValue::Array(a), Out::Own(_)) => {
                HostValue::Array(Shared::distributed(a.into_array(), cuts.clone()))
            }
            (x, _) => x,
        };
        Ok(results.into_iter().zip(outs).map(shared).collect())
    }
}

/// The array that a kernel updates in place.
fn dest(k: &Kernel) -> Option<Operand> {
    let KernelKind::Map(outs) = &k.kind else { return None };
    outs.iter().find_map(|o| if let Out::Own(dest) = o { Some(*dest) } else { None })
}
