//! Functions of the runtime on all lanes at once, through memory.
//!
//! ```text
//! y = log x      of a vector in each lane      store x to a; call log of strips (b, a, lanes); y = load b
//! ```

use super::cost::Size;
use super::value::Lanes;
use super::{BYTES, Group};
use par_ir::Prim;
use par_ir::prim::PrimOp;
use par_runtime::math::Function;
use par_runtime::op::call::strip_symbol;

/// The function of strips for an operator, on processors with fused multiply-add: without it takes longer than one call for each lane.
pub fn strip_function(op: PrimOp, size: &Size) -> Option<(Function, Prim)> {
    let has_fused = size.bytes > BYTES || !cfg!(target_arch = "x86_64");
    match op {
        PrimOp::Un(op, p @ (Prim::F32 | Prim::F64)) if has_fused && size.lanes * p.size() > BYTES => {
            op.function().map(|f| (f, p))
        }
        _ => None,
    }
}

impl Group<'_, '_> {
    /// The results of a function.
    pub fn by_strip(&mut self, (function, p): (Function, Prim), x: &Lanes) -> Lanes {
        let [from, to] = [(); 2].map(|()| self.row_slot(p));
        let zero = self.e.i64(0);
        let regs = self.vector(x, p);
        self.store_whole(p, from.address, &regs);
        let lanes = self.e.i64(self.lanes as i64);
        self.e.runtime_function(strip_symbol(function, p), &[to.address, from.address, lanes], &[]);
        self.load_row(to, zero)
    }
}
