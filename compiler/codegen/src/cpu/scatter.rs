//! Scatters on strips: indices and values are computed in vectors, the runtime stores the values.
//!
//! ```text
//! for s in 0 .. n by 512, e = min (s + 512) n
//!     for pos in s .. e      i[pos-s] = the index,  a[pos-s] = the value
//!     scatter ys i a
//! ```

use super::emit::{Unsupported, output};
use super::kernel::{KernelEmitter, KernelInfo};
use super::outputs::Target;
use super::stage::for_each_use;
use super::strips::{Buffer, Scalar};
use cranelift::prelude::*;
use par_ir::core::{Body, Exp, Stm};
use par_ir::flat::{KernelKind, Out};
use par_ir::{Prim, Var};
use par_runtime::op::call::scatter_symbol;
use std::collections::HashSet;

/// Whether there is a scatter whose indices depend on elements. The processor foresees where others go.
fn has_read_index(body: &Body, targets: &[Target]) -> bool {
    let mut read: HashSet<Var> = HashSet::new();
    for stm in &body.stms {
        let mut depends = reads(stm);
        for_each_use(stm, &mut |v| depends |= read.contains(&v));
        if depends {
            read.extend(stm.pat.iter().map(|p| p.var));
        }
    }
    let mut at = 0;
    targets.iter().any(|target| {
        let (first, count) = match target {
            Target::Scatter { dests, .. } => (body.results.get(at), 1 + dests.len()),
            Target::Row(_, n) => (None, *n),
            Target::Elem(_) | Target::Own(_) => (None, 1),
        };
        at += count;
        first.and_then(|a| a.var()).is_some_and(|v| read.contains(&v))
    })
}

/// Whether a statement reads an array.
pub fn reads(stm: &Stm) -> bool {
    matches!(stm.exp, Exp::Index(..)) || stm.exp.own_bodies().iter().any(|b| b.stms.iter().any(reads))
}

impl<'a, 'k> KernelEmitter<'_, 'a, 'k> {
    /// Whether results for these targets are scattered in strips: not if rows of any length would each begin a strip.
    pub fn scatters_strips(&self, targets: &[Target]) -> bool {
        let scatters = has_read_index(&self.info.kernel.body, targets);
        let known = targets.iter().all(|t| !matches!(t, Target::Own(_)));
        let in_a_row = self.info.kernel.space.as_flat().is_some() || self.info.ignores_rows();
        scatters && known && in_a_row && !self.e.counting
    }

    /// `map_positions` in strips.
    pub fn scatter_strips(
        &mut self,
        targets: &[Target],
        (start, end): (Value, Value),
    ) -> Result<(), Unsupported> {
        let buffer = |k: &mut Self, prim: Prim| {
            let var = k.e.fresh.var("buffer");
            k.strip_buffer(Scalar { var, prim }, 0)
        };
        let mut kernel = self.info.kernel.clone();
        let mut outs = Vec::new();
        let mut buffers: Vec<Vec<Buffer>> = Vec::new();
        let KernelKind::Map(before) = &kernel.kind else {
            return Err("a scatter that is not a map's".into());
        };
        for (target, out) in targets.iter().zip(before) {
            let Target::Scatter { dests, .. } = target else {
                outs.push(out.clone());
                continue;
            };
            let prims: Vec<Prim> = [Prim::I64].into_iter().chain(dests.iter().map(|d| d.prim)).collect();
            outs.extend(prims.iter().map(|p| Out::Elem(*p)));
            buffers.push(prims.into_iter().map(|p| buffer(self, p)).collect());
        }
        kernel.kind = KernelKind::Map(outs);
        let (types, role, params) = (self.types, self.role, self.params.clone());
        let info = KernelInfo::of_stage(&kernel);
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
                        Target::Elem(self.e.arrays[&b.name])
                    });
                    stored.extend(named);
                }
                other => stored.push(other.clone()),
            }
        }
        stored
    }

    fn scatter_strip(
        &mut self,
        targets: &[Target],
        buffers: &[Vec<Buffer>],
        (first, last): (Value, Value),
    ) -> Result<(), Unsupported> {
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
