//! Filters of flat spaces, on strips: which elements are kept is computed in vectors, the runtime packs them.
//!
//! ```text
//! for s in 0 .. n by 512, e = min (s + 512) n
//!     for pos in s .. e      flag[pos-s] = the element is kept,  a[pos-s] = xs[pos] * 2
//!     end += pack flag a -> behind ys[end]
//! ```

use super::emit::Result;
use super::fresh::Fresh;
use super::kernel::KernelEmitter;
use super::prefix::Splitter;
use super::strips::Scalar;
use cranelift::prelude::*;
use par_ir::Var;
use par_ir::flat::{Kernel, KernelKind, Ty};
use par_ir::hash::HashMap;
use par_ir::tuning;
use par_runtime::op::call::pack_symbol;
use par_runtime::plan::Step;

/// A filter on strips.
pub struct Packing {
    /// Stores the flags and those values that are not read at the position.
    produce: Kernel,
    /// Buffers of its results.
    stored: Vec<Scalar>,
    /// The flags, and the values of each result: arrays that are read at the position, or buffers.
    flags: Var,
    sources: Vec<Var>,
}

/// The steps of a filter, if it can be done so.
pub fn split(kernel: &Kernel, types: &HashMap<Var, Ty>, fresh: &Fresh) -> Option<Packing> {
    if !matches!(kernel.kind, KernelKind::Filter) || kernel.space.as_flat().is_none() {
        return None;
    }
    let (keep, values) = kernel.body.results.split_first()?;
    let mut splitter = Splitter::new(kernel, types, fresh);
    let flags = splitter.source(*keep);
    let sources: Vec<Var> = values.iter().map(|a| splitter.source(*a)).collect();
    let stored: Vec<Scalar> = splitter.buffers.iter().map(|b| b.0).collect();
    let fits = stored.len() <= tuning::FILTER_BUFFERS && !sources.is_empty();
    fits.then(|| Packing { produce: splitter.produce(), stored, flags, sources })
}

impl Packing {
    /// The kernel of the step, and its buffers.
    pub fn parts(&self) -> (Vec<&Kernel>, Vec<Scalar>) {
        (vec![&self.produce], self.stored.clone())
    }

    /// The steps, as the plan stores them.
    pub fn steps(&self) -> Vec<Step> {
        let computed = (!self.stored.is_empty()).then_some(Step::Compute(self.stored.len()));
        computed.into_iter().chain([Step::Pack(self.sources.len())]).collect()
    }
}

impl<'a, 'k> KernelEmitter<'_, 'a, 'k> {
    /// The filter in strips.
    pub fn pack_strips(&mut self, packing: &Packing) -> Result<Value> {
        let values = self.kept_arrays();
        let buffers = self.strip_buffers(&packing.stored);
        self.kept(|k, ends, cursor| {
            k.by_strips(ends, cursor, |k, ends, cursor| {
                let first = ends.0;
                k.name_strips(&buffers, first);
                if !buffers.is_empty() {
                    k.store_step(&packing.produce, &packing.stored, ends)?;
                }
                let n = k.e.b.ins().isub(ends.1, first);
                let flags = k.strip_address(packing.flags, first)?;
                let mut kept = n;
                for (base, source) in values.iter().zip(&packing.sources) {
                    let (to, from) = (k.e.element(*base, cursor[0]), k.strip_address(*source, first)?);
                    kept = k.runtime_result(pack_symbol(base.prim.size()), &[to, from, flags, n]);
                }
                Ok(vec![k.e.b.ins().iadd(cursor[0], kept)])
            })
        })
    }
}
