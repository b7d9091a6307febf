//! Host scalars computed twice, and arrays copied whole.
//!
//! ```text
//! let m = mul h w                               let m = mul h w
//! let ys = kernel map (scatter …) …      ==>    let ys = kernel map (scatter …) …
//! let n = mul h w
//! let zs = kernel map over n { ys[pos] }        let zs = ys
//! ```

use par_ir::core::Exp;
use par_ir::flat::{Block, Kernel, KernelKind, Op, Out, Stm};
use par_ir::hash::HashMap;
use par_ir::prim::PrimOp;
use par_ir::ty::{Atom, Var};
use par_ir::visit::{Code, Subst};

/// Facts of a block and those around it.
#[derive(Default)]
pub struct Known {
    scalars: HashMap<Computed, Var>,
    /// Lengths of arrays.
    lengths: HashMap<Var, Atom>,
    /// Facts to forget at the end of the block.
    added: Vec<Added>,
}

type Computed = (PrimOp, Vec<Atom>);

enum Added {
    Scalar(Computed),
    Length(Var),
}

impl Known {
    /// In a block and those in it.
    pub fn block(&mut self, block: &mut Block) {
        let before = self.added.len();
        let mut names = Subst::default();
        let mut kept = Vec::with_capacity(block.stms.len());
        for mut stm in std::mem::take(&mut block.stms) {
            stm.substitute(&names);
            if let Op::Prim(op, args) = &stm.op {
                let key = (*op, args.clone());
                if let Some(known) = self.scalars.get(&key) {
                    names.insert(stm.pat[0].var, Atom::Var(*known));
                    continue;
                }
                self.added.push(Added::Scalar(key.clone()));
                self.scalars.insert(key, stm.pat[0].var);
            }
            stm.op.for_each_block_mut(|b| self.block(b));
            if let Some(array) = self.copied(&stm) {
                stm.op = Op::Atom(Atom::Var(array));
            }
            self.note(&stm);
            kept.push(stm);
        }
        block.stms = kept;
        block.results.substitute(&names);
        for added in self.added.drain(before..) {
            match added {
                Added::Scalar(key) => _ = self.scalars.remove(&key),
                Added::Length(array) => _ = self.lengths.remove(&array),
            }
        }
    }

    fn add_length(&mut self, array: Var, length: Atom) {
        self.lengths.insert(array, length);
        self.added.push(Added::Length(array));
    }

    /// The array of which a statement makes a copy.
    fn copied(&self, stm: &Stm) -> Option<Var> {
        let Op::Kernel(k) = &stm.op else { return None };
        let (KernelKind::Map(outs), Some(n)) = (&k.kind, k.space.as_flat()) else { return None };
        let ([Out::Elem(_)], [only], [result]) =
            (outs.as_slice(), k.body.stms.as_slice(), k.body.results.as_slice())
        else {
            return None;
        };
        let Exp::Index(array, is) = &only.exp else { return None };
        let whole = is[0] == Atom::Var(k.pos) && *result == Atom::Var(only.pat[0].var);
        (whole && self.lengths.get(array) == Some(&n)).then_some(*array)
    }

    fn note(&mut self, stm: &Stm) {
        match &stm.op {
            Op::Replicate(n, _) | Op::Iota(n) => self.add_length(stm.pat[0].var, *n),
            Op::Atom(Atom::Var(v)) => {
                if let Some(n) = self.lengths.get(v) {
                    self.add_length(stm.pat[0].var, *n);
                }
            }
            Op::Kernel(k) => self.outputs(stm, k),
            _ => {}
        }
    }

    fn outputs(&mut self, stm: &Stm, k: &Kernel) {
        let KernelKind::Map(outs) = &k.kind else { return };
        let mut made = stm.pat.iter().map(|p| p.var);
        for out in outs {
            let lengths: Vec<Option<Atom>> = match (out, k.space.as_flat()) {
                (Out::Elem(_), Some(n)) => vec![Some(n)],
                (Out::Elem(_) | Out::Row(..), _) => vec![None],
                (Out::Scatter(dests), _) => dests.iter().map(|d| self.lengths.get(d).copied()).collect(),
                (Out::Own { dest, .. }, _) => vec![self.lengths.get(dest).copied()],
            };
            for (v, n) in made.by_ref().take(lengths.len()).collect::<Vec<_>>().into_iter().zip(lengths) {
                if let Some(n) = n {
                    self.add_length(v, n);
                }
            }
        }
    }
}
