//! Scatters on strips: indices and values are computed in vectors, the runtime stores the values.
//!
//! ```text
//! for s in 0 .. n by 512, e = min (s + 512) n
//!     for pos in s .. e      i[pos-s] = the index,  a[pos-s] = the value
//!     scatter ys i a
//! ```

use super::emit::{Ends, Result, output};
use super::fresh::Fresh;
use super::kernel::{KernelEmitter, KernelInfo, array_prim};
use super::outputs::Target;
use super::strips::{Buffer, Scalar};
use crate::free::for_each_use;
use cranelift::prelude::*;
use par_ir::core::{Body, Exp, Stm};
use par_ir::flat::{Kernel, KernelKind, Out, Ty};
use par_ir::hash::{HashMap, HashSet};
use par_ir::{Prim, Var};
use par_runtime::op::call::scatter_symbol;
use par_runtime::plan::Step;

/// Scatters of a map on strips.
pub struct Scattering {
    /// Stores indices and values in buffers.
    kernel: Kernel,
    /// Of each scatter: the buffers of its indices, and of the values for each destination.
    buffers: Vec<Vec<Scalar>>,
}

impl Scattering {
    /// The kernel that stores in buffers.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Number of buffered values per position: indices and values of the scatters.
    pub fn values(&self) -> usize {
        self.buffers.iter().map(Vec::len).sum()
    }

    /// The step that stores, as the plan has it.
    pub fn step(&self) -> Step {
        Step::Scatter(self.values() - self.buffers.len())
    }
}

/// The steps of a map with scatters, where that pays: not if rows of any length would each begin a strip, nor if the processor foresees where
/// elements go, since no index depends on one.
pub fn split(
    kernel: &Kernel,
    ignores_rows: bool,
    types: &HashMap<Var, Ty>,
    fresh: &Fresh,
) -> Option<Scattering> {
    let KernelKind::Map(outs) = &kernel.kind else { return None };
    let updates = outs.iter().any(|o| matches!(o, Out::Own { .. }));
    let in_a_row = kernel.space.as_flat().is_some() || ignores_rows;
    if updates || !in_a_row || !has_read_index(&kernel.body, outs) {
        return None;
    }
    let buffer = |prim: Prim| Scalar { var: fresh.var("buffer"), prim };
    let (mut stored, mut buffers) = (Vec::new(), Vec::new());
    for out in outs {
        let Out::Scatter(dests) = out else {
            stored.push(out.clone());
            continue;
        };
        let prims = dests.iter().map(|d| types.get(d).and_then(|t| array_prim(*t)));
        let prims: Vec<Prim> = std::iter::once(Some(Prim::I64)).chain(prims).collect::<Option<_>>()?;
        stored.extend(prims.iter().map(|p| Out::Elem(*p)));
        buffers.push(prims.into_iter().map(buffer).collect());
    }
    Some(Scattering { kernel: Kernel { kind: KernelKind::Map(stored), ..kernel.clone() }, buffers })
}

/// True if there is a scatter whose indices depend on elements.
fn has_read_index(body: &Body, outs: &[Out]) -> bool {
    let mut read: HashSet<Var> = HashSet::default();
    for stm in &body.stms {
        let mut depends = reads(stm);
        for_each_use(stm, &mut |v| depends |= read.contains(&v));
        if depends {
            read.extend(stm.pat.iter().map(|p| p.var));
        }
    }
    let mut results = body.results.iter();
    outs.iter().any(|out| {
        let first = results.by_ref().take(out.results()).collect::<Vec<_>>().first().and_then(|a| a.var());
        matches!(out, Out::Scatter(_)) && first.is_some_and(|v| read.contains(&v))
    })
}

/// True if a statement reads an array.
pub fn reads(stm: &Stm) -> bool {
    matches!(stm.exp, Exp::Index(..)) || stm.exp.own_bodies().iter().any(|b| b.stms.iter().any(reads))
}

impl<'a, 'k> KernelEmitter<'_, 'a, 'k> {
    /// `map_positions` in strips.
    pub fn scatter_strips(
        &mut self,
        scattering: &Scattering,
        targets: &[Target],
        (start, end): Ends,
    ) -> Result {
        let buffers: Vec<Vec<Buffer>> = scattering.buffers.iter().map(|b| self.strip_buffers(b)).collect();
        let (types, role, params) = (self.types, self.role, self.params.clone());
        let info = KernelInfo::of_stage(&scattering.kernel);
        let mut k = KernelEmitter { e: self.e, info: &info, types, role, params };
        k.by_strips((start, end), &[], |k, ends, _| {
            let stored = k.buffer_targets(targets, &buffers, ends.0);
            k.map_positions(&stored, ends)?;
            k.scatter_strip(targets, &buffers, ends)?;
            Ok(vec![])
        })?;
        Ok(())
    }

    /// The targets with buffers in place of arrays that are written by index.
    fn buffer_targets(&mut self, targets: &[Target], buffers: &[Vec<Buffer>], first: Value) -> Vec<Target> {
        let mut buffers = buffers.iter();
        let mut stored = Vec::new();
        for target in targets {
            match target {
                Target::Scatter { .. } => {
                    let buffers = buffers.next().into_iter().flatten();
                    let named = buffers.map(|b| {
                        self.name_strips(std::slice::from_ref(b), first);
                        Target::Elem(self.e.bound.arrays[&b.name])
                    });
                    stored.extend(named);
                }
                other => stored.push(other.clone()),
            }
        }
        stored
    }

    fn scatter_strip(&mut self, targets: &[Target], buffers: &[Vec<Buffer>], (first, last): Ends) -> Result {
        let n = self.e.b.ins().isub(last, first);
        let scatters = targets.iter().filter_map(|t| match t {
            Target::Scatter { number, len, dests } => Some((*number, *len, dests)),
            _ => None,
        });
        for ((number, len, dests), buffers) in scatters.zip(buffers) {
            let indices = self.strip_address(buffers[0].name, first)?;
            for (dest, buffer) in dests.iter().zip(&buffers[1..]) {
                let from = self.strip_address(buffer.name, first)?;
                let args = [dest.address, len, from, indices, n];
                self.runtime_call(scatter_symbol(dest.prim.size()), &args);
            }
            let bytes = self.e.b.ins().ishl_imm_u(n, 3);
            let end = self.e.b.ins().iadd(indices, bytes);
            let last = self.e.b.ins().load(types::I64, output(), end, -8);
            self.e.note_index(number, last);
        }
        Ok(())
    }
}
