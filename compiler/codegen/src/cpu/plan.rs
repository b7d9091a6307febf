//! Plans of kernels.

use super::lanes::any_order;
use super::{Functions, KernelCode};
use crate::plan::{Code, Live, Operands, all_outs};
use crate::{cost, work};
use par_ir::flat::{Kernel, KernelKind};
use par_ir::ty::Atom;
use par_runtime::plan::{self, Fold};

impl Code for KernelCode {
    type Kernel = plan::Kernel;

    fn kernel(
        &mut self,
        number: u32,
        kernel: &Kernel,
        operands: &mut Operands,
        live: &mut Live,
    ) -> Result<plan::Kernel, String> {
        let functions = self.take(number)?;
        let kind = kernel_kind(kernel, &functions, operands, live)?;
        let captures = operands.vars(&functions.captures, live);
        let space = operands.space(&kernel.space, live);
        let code = functions.main()?;
        Ok(plan::Kernel {
            name: functions.name,
            space,
            captures,
            layout: functions.layout,
            checks: functions.checks,
            work: work::of_kernel(kernel),
            recursive: functions.recursive,
            cost: cost::of_kernel(kernel),
            code,
            kind,
            schedule: functions.schedule,
        })
    }
}

fn kernel_kind(
    kernel: &Kernel,
    functions: &Functions,
    operands: &mut Operands,
    live: &mut Live,
) -> Result<plan::KernelKind, String> {
    Ok(match &kernel.kind {
        KernelKind::Map(outs) => plan::KernelKind::Map(all_outs(outs, operands, live)),
        KernelKind::Reduce { neutral, .. } => {
            plan::KernelKind::Reduce(fold(neutral, functions, operands, live)?)
        }
        KernelKind::Scan { neutral, after, .. } => {
            let (reduce, dual) = functions.scan()?;
            let exact = functions.is_exact();
            let outs = after.as_ref().map(|a| all_outs(&a.outs, operands, live));
            let fold = fold(neutral, functions, operands, live)?;
            plan::KernelKind::Scan { fold, reduce, dual, exact, outs }
        }
        KernelKind::Filter => plan::KernelKind::Filter(functions.elems.clone()),
        KernelKind::Hist { dests, neutral, op } => {
            let dests = operands.vars(dests, live);
            let fold = fold(neutral, functions, operands, live)?;
            let exact = functions.is_exact();
            plan::KernelKind::Hist { dests, fold, exact, any_order: exact && any_order(op) }
        }
    })
}

fn fold(
    neutral: &[Atom],
    functions: &Functions,
    operands: &mut Operands,
    live: &mut Live,
) -> Result<Fold, String> {
    Ok(Fold {
        prims: functions.combined.clone(),
        neutral: operands.operands(neutral, live),
        elems: functions.elems.clone(),
        combine: functions.combine()?,
    })
}
