//! Comparison of a program's meaning before and after the passes: both versions are run by the interpreter of CORE on the
//! same arguments, made up from the parameters' types.

use par_ir::core::{Fun, FunId, Program};
use par_ir::interp::run_core;
use par_ir::ty::{Atom, Dim, Elem, Type, Var};
use par_runtime::{Array, Column, ErrorKind, Prim, Scalar};
use std::collections::HashMap;

/// Panics if some arguments give another result or error. Arguments for which `before` breaks a promise (tests leave
/// out checks) are passed over.
pub fn assert_same_meaning(before: &Program, after: &Program) {
    for seed in 0..8 {
        let args = Arguments::new(seed).columns(&before.funs[0]);
        let expected = run_core(before, FunId(0), args.clone());
        if matches!(&expected, Err(e) if e.kind == ErrorKind::Internal) {
            continue;
        }
        let found = run_core(after, FunId(0), args.clone());
        assert_eq!(found, expected, "for the arguments {args:?}");
    }
}

/// A supply of arguments.
struct Arguments {
    state: u64,
    /// Values of sizes, and lengths of descriptors.
    sizes: HashMap<Var, i64>,
    lengths: HashMap<Var, Vec<i64>>,
}

impl Arguments {
    fn new(seed: u64) -> Arguments {
        Arguments { state: seed, sizes: HashMap::new(), lengths: HashMap::new() }
    }

    /// 0 to `n - 1`, by a linear congruence.
    fn below(&mut self, n: u64) -> i64 {
        self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.state >> 33) % n) as i64
    }

    fn columns(&mut self, fun: &Fun) -> Vec<Column> {
        fun.params.iter().map(|p| self.column(p.var, &p.ty)).collect()
    }

    fn column(&mut self, v: Var, ty: &Type) -> Column {
        let rows = self.rows(&ty.dims);
        match ty.elem {
            Elem::Prim(p) if ty.is_scalar() => {
                let x = self.below(6);
                self.sizes.insert(v, x);
                Column::Scalar(Scalar::from_i64(p, x))
            }
            Elem::Prim(p) => Column::Data(self.data(p, rows)),
            Elem::Acc(_) => unreachable!("entry points take no accumulators"),
            Elem::Desc => {
                let lengths: Vec<i64> = (0..rows).map(|_| self.below(4)).collect();
                let mut offsets = vec![0];
                offsets.extend(lengths.iter().scan(0, |sum, n| {
                    *sum += n;
                    Some(*sum)
                }));
                self.lengths.insert(v, lengths);
                Column::Offsets(Array::from_slice(&offsets))
            }
        }
    }

    /// Number of rows (or elements) of these dimensions.
    fn rows(&self, dims: &[Dim]) -> i64 {
        dims.iter().fold(1, |rows, d| match d {
            Dim::Size(Atom::Const(c)) => rows * c.as_i64().unwrap_or(0),
            Dim::Size(Atom::Var(n)) => rows * self.sizes[n],
            Dim::Seg(s) => self.lengths[s].iter().sum(),
        })
    }

    fn data(&mut self, p: Prim, len: i64) -> Array {
        let xs: Vec<Scalar> = (0..len).map(|_| Scalar::from_i64(p, self.below(7))).collect();
        Array::from_scalars(p, &xs)
    }
}
