//! Estimated work of a kernel per element: it decides when a second thread pays, and how finely a space is cut.

use par_ir::core::{Body, Exp, LoopForm, Stm};
use par_ir::flat::Kernel;
use par_ir::prim::PrimOp;
use par_ir::tuning;
use par_runtime::op::call::is_call;

/// Units of work per element, at least 1.
pub fn of_kernel(kernel: &Kernel) -> usize {
    let all = kernel.bodies().into_iter().map(body).fold(0, usize::saturating_add);
    (all / tuning::WORK_UNIT).clamp(1, 1 << 16)
}

fn body(b: &Body) -> usize {
    b.stms.iter().map(stm).fold(0, usize::saturating_add)
}

fn stm(s: &Stm) -> usize {
    match &s.exp {
        Exp::Prim(op, _) => operator(*op),
        Exp::Call(..) => tuning::WORK_RECURSION,
        Exp::If { then, other, .. } => 1 + body(then).max(body(other)),
        Exp::Loop { form, body: iteration, .. } => {
            let condition = match form {
                LoopForm::For { .. } => 1,
                LoopForm::While(cond) => body(cond),
            };
            let trips = match form {
                LoopForm::For { bound, .. } => {
                    bound.as_i64().map_or(tuning::WORK_ITERATIONS, |n| n.clamp(1, 1 << 16) as usize)
                }
                LoopForm::While(_) => tuning::WORK_ITERATIONS,
            };
            trips.saturating_mul(condition + body(iteration))
        }
        _ => 1,
    }
}

fn operator(op: PrimOp) -> usize {
    if is_call(op) { tuning::WORK_CALL } else { 1 }
}
