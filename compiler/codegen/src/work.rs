//! Cost of a kernel per row and element, as the FLAT interpreter counts it: one per scalar operator and per element
//! read or written. What depends on the data, conditions and loops inside and writes that may miss, is counted by
//! code, see `cpu::emit`.

use par_ir::core::{Body, Exp, Stm};
use par_ir::flat::{Kernel, KernelKind, Out};
use par_runtime::plan::Work;

/// Cost of every row and every element of a kernel.
pub fn of_kernel(kernel: &Kernel) -> Work {
    let ragged = kernel.space.is_ragged();
    let results = kernel.body.results.len();
    let (row, element) = match &kernel.kind {
        KernelKind::Map(outs) => (0, elems(outs)),
        KernelKind::Reduce { op, neutral } => (neutral.len(), of_body(&op.body) + results - neutral.len()),
        KernelKind::Scan { op, after: None, .. } => (0, of_body(&op.body) + results),
        KernelKind::Scan { op, after: Some(after), .. } => {
            (0, of_body(&op.body) + of_body(&after.body) + elems(&after.outs))
        }
        KernelKind::Filter => (1, 0),
        KernelKind::Hist { .. } => (0, 0),
    };
    Work {
        row: row + usize::from(ragged) + of_statements(&kernel.prologue),
        element: element + of_body(&kernel.body),
    }
}

/// Number of elements written per position whatever the data: those of `Elem` and `Row` outputs.
fn elems(outs: &[Out]) -> usize {
    outs.iter().filter(|o| matches!(o, Out::Elem(_) | Out::Row(..))).map(Out::results).sum()
}

/// Cost of a body each time it runs, without the bodies in it.
pub fn of_body(body: &Body) -> usize {
    of_statements(&body.stms)
}

fn of_statements(stms: &[Stm]) -> usize {
    stms.iter().filter(|s| matches!(s.exp, Exp::Prim(..) | Exp::Index(..) | Exp::Update { .. })).count()
}
