//! Plans of kernels.

use super::kernel::Source;
use crate::Result;
use crate::plan::{Code, Operands, all_outs};
use crate::work;
use par_ir::flat::{self, Kernel};
use par_ir::hash::HashMap;
use par_ir::ty::Atom;
use par_runtime::cuda::{self, Fold};

/// The kernels that were written.
pub struct CudaCode<'a> {
    /// By the numbers of their statements.
    pub kernels: HashMap<u32, Source<'a>>,
    /// Functions that they call.
    pub locals: &'a [par_ir::core::Fun],
}

impl Code for CudaCode<'_> {
    type Kernel = cuda::Kernel;

    fn kernel(&mut self, number: u32, kernel: &Kernel, operands: &mut Operands) -> Result<cuda::Kernel> {
        let source = self.kernels.get(&number).ok_or("a kernel was not compiled")?;
        let kind = kind(kernel, source, operands);
        let captures = operands.vars(&source.captures);
        Ok(cuda::Kernel {
            number: source.number,
            name: source.name.clone(),
            space: operands.space(&kernel.space),
            captures,
            kind,
            tile: source.tile(),
            value_size: source.value_size(),
            needs_rows: super::map::needs_rows(kernel),
            recursive: source.is_recursive(self.locals),
            schedule: source.schedule.clone(),
            work: work::of_kernel(kernel),
        })
    }
}

fn kind(kernel: &Kernel, source: &Source, operands: &mut Operands) -> cuda::KernelKind {
    match &kernel.kind {
        flat::KernelKind::Map(outs) => {
            let (outs, elects) = (all_outs(outs, operands), source.elected(outs));
            cuda::KernelKind::Map { outs, elects, serial: source.is_serial() }
        }
        flat::KernelKind::Reduce { neutral, .. } => cuda::KernelKind::Reduce(fold(neutral, source, operands)),
        flat::KernelKind::Scan { neutral, after, .. } => {
            let after = after.as_ref().map(|a| (all_outs(&a.outs, operands), source.elected(&a.outs)));
            cuda::KernelKind::Scan { fold: fold(neutral, source, operands), after }
        }
        flat::KernelKind::Filter => cuda::KernelKind::Filter(source.elems.clone()),
        flat::KernelKind::Hist { dests, op, neutral } => {
            let fold = fold(neutral, source, operands);
            let combine = super::hist::combine(source, op);
            cuda::KernelKind::Hist { dests: operands.vars(dests), fold, combine }
        }
    }
}

fn fold(neutral: &[Atom], source: &Source, operands: &mut Operands) -> Fold {
    let (prims, elems) = (source.combined.clone(), source.elems.clone());
    Fold { prims, neutral: operands.operands(neutral), elems }
}
