//! Plans of kernels.

use super::lanes::any_order;
use super::reads::Reads;
use super::{ForRanks, Functions, KernelCode, inspect};
use crate::Result;
use crate::plan::{Code, Operands, all_outs};
use crate::{cost, work};
use par_ir::Var;
use par_ir::flat::{Kernel, KernelKind};
use par_ir::ty::Atom;
use par_runtime::plan::{self, Fold, Inspector, Operand};

impl Code for KernelCode {
    type Kernel = plan::Kernel;

    fn kernel(&mut self, number: u32, kernel: &Kernel, operands: &mut Operands) -> Result<plan::Kernel> {
        let mut functions = self.take(number)?;
        let kind = kernel_kind(kernel, &functions, operands)?;
        let captures = operands.vars(&functions.captures);
        let space = operands.space(&kernel.space);
        let ranks = functions.ranks.take();
        let ranks = ranks.map(|r| for_ranks(r, (&functions.captures, &captures, space), operands));
        let mut plan = plan_of(kernel, functions, (space, captures), kind, ranks.transpose()?)?;
        // What depends on cost, the parts of giant rows, is then the same; and counted is what the program does.
        if let Some(ranks) = &mut plan.ranks {
            let inspectors = ranks.inspectors.iter_mut().map(|i| &mut i.kernel);
            for other in ranks.listed.as_mut().into_iter().chain(inspectors) {
                (other.cost, other.work) = (plan.cost, plan.work);
            }
        }
        Ok(plan)
    }
}

fn plan_of(
    kernel: &Kernel,
    functions: Functions,
    (space, captures): (plan::Space, Vec<Operand>),
    kind: plan::KernelKind,
    ranks: Option<plan::ForRanks>,
) -> Result<plan::Kernel> {
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
        ranks,
    })
}

/// Facts for ranks about a kernel with these captures and this space. The kernels that run in its place, or before it, have its operands.
fn for_ranks(
    ranks: ForRanks,
    (vars, captures, space): (&[Var], &[Operand], plan::Space),
    operands: &mut Operands,
) -> Result<plan::ForRanks> {
    let at = |v: &Var| vars.iter().position(|w| w == v).map(|i| captures[i]);
    let rows = match space {
        plan::Space::Uniform { rows, .. } | plan::Space::Ragged { rows, .. } => plan::Space::Flat(rows),
        flat => flat,
    };
    let mut same = |kernel: &Kernel, functions: Functions, space: plan::Space| {
        let captures = functions.captures.iter().map(at).collect::<Option<Vec<Operand>>>();
        let captures = captures.ok_or("a kernel for ranks reads something else")?;
        let kind = kernel_kind(kernel, &functions, operands)?;
        plan_of(kernel, functions, (space, captures), kind, None).map(Box::new)
    };
    let listed = ranks
        .listed
        .map(|l| {
            let (kernel, functions) = *l;
            same(&kernel, functions, space)
        })
        .transpose()?;
    let planned = |(found, functions): (inspect::Inspector, Functions)| {
        let inspect::Inspector { kernel, of, is_last, by_row } = found;
        let kernel = same(&kernel, functions, if by_row { rows } else { space })?;
        Ok::<_, String>(Inspector { kernel, of, is_last, by_row })
    };
    let inspectors = ranks.inspectors.into_iter().map(planned).collect::<Result<_>>()?;
    let scalars = operands.vars(&ranks.reads.scalars);
    let Reads { reaches: reads, arrays, own, .. } = ranks.reads;
    Ok(plan::ForRanks { scalars, reads, arrays, own, listed, inspectors })
}

fn kernel_kind(kernel: &Kernel, functions: &Functions, operands: &mut Operands) -> Result<plan::KernelKind> {
    Ok(match &kernel.kind {
        KernelKind::Map(outs) => plan::KernelKind::Map(all_outs(outs, operands)),
        KernelKind::Reduce { neutral, .. } => plan::KernelKind::Reduce(fold(neutral, functions, operands)?),
        KernelKind::Scan { neutral, after, .. } => {
            let (reduce, dual) = functions.scan()?;
            let exact = functions.is_exact();
            let outs = after.as_ref().map(|a| all_outs(&a.outs, operands));
            let fold = fold(neutral, functions, operands)?;
            plan::KernelKind::Scan { fold, reduce, dual, exact, outs }
        }
        KernelKind::Filter => plan::KernelKind::Filter(functions.elems.clone()),
        KernelKind::Hist { dests, neutral, op } => {
            let dests = operands.vars(dests);
            let fold = fold(neutral, functions, operands)?;
            let exact = functions.is_exact();
            plan::KernelKind::Hist { dests, fold, exact, any_order: exact && any_order(op) }
        }
    })
}

fn fold(neutral: &[Atom], functions: &Functions, operands: &mut Operands) -> Result<Fold> {
    Ok(Fold {
        prims: functions.combined.clone(),
        neutral: operands.operands(neutral),
        elems: functions.elems.clone(),
        combine: functions.combine()?,
    })
}
