//! Functions of the runtime on all lanes at once, through memory.
//!
//! ```text
//! y = log x      of a vector in each lane      store x to a; call log of strips (b, a, lanes); y = load b
//! ```

use super::cost::Size;
use super::value::Lanes;
use super::{BYTES, Group};
use crate::cpu::emit::Base;
use par_ir::Prim;
use par_ir::prim::PrimOp;
use par_runtime::math::Function;
use par_runtime::op::call::strip_symbol;

/// The function of strips that gives the results of an operator, where the processor multiplies and adds with one rounding, as that does: otherwise it is no
/// faster than one call for each lane.
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
        let [from, to] = [(); 2].map(|()| self.room(p));
        let zero = self.e.i64(0);
        let each = (self.lanes * p.size()).min(self.bytes);
        for (r, x) in self.vector(x, p).into_iter().enumerate() {
            self.store_bytes(x, (from.address, (r * each) as i32), each);
        }
        let lanes = self.e.i64(self.lanes as i64);
        self.e.runtime_function(strip_symbol(function, p), &[to.address, from.address, lanes], &[]);
        self.load_row(to, zero)
    }

    /// Memory for one number of each lane.
    fn room(&mut self, prim: Prim) -> Base {
        Base { address: self.slot((self.lanes * prim.size()) as i64), prim, changes: true }
    }
}
