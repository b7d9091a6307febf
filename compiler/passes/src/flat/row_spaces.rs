//! A flat space in which positions are divided by the length of rows is a space of rows.
//!
//! ```text
//! n = rows * m
//! ys = kernel map over [n] \row pos {
//!     i = pos quot m                     ==>   ys = kernel map over [rows] [m] \row pos j { f row j }
//!     j = pos rem m
//!     in f i j }
//! ```
//!
//! A division takes longer than all else that is done for most elements. What is stored by position, scattered or put into a histogram comes out the
//! same; a reduction or a scan would not.

use crate::flat::bulk::reads;
use par_ir::Vars;
use par_ir::core::{self, Exp};
use par_ir::flat::{Block, Kernel, KernelKind, Op, Out, Program, Space, Stm, Ty};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::ty::{Atom, Dim, Type, Var};
use par_runtime::Prim;
use par_runtime::value::ColumnType;
use std::collections::{HashMap, HashSet};

/// In every function of a program.
pub(crate) fn run(program: &mut Program) {
    let vars = &mut program.vars;
    for f in &mut program.funs {
        let mut known = Known::default();
        // What entry points are called with are the lengths of arrays, but for their own numbers.
        if f.entry.is_some() {
            known.note_sizes(f);
        }
        in_block(&mut f.body, &mut known, vars);
    }
}

/// What is known of host scalars.
#[derive(Default)]
struct Known {
    products: HashMap<Var, [Atom; 2]>,
    /// Those that are not negative.
    sizes: HashSet<Var>,
}

impl Known {
    fn note_sizes(&mut self, f: &par_ir::flat::Fun) {
        let columns = f.entry.iter().flat_map(|e| e.params.iter()).flat_map(|(_, ty)| ty.columns());
        for (p, column) in f.params.iter().zip(columns) {
            if matches!(column, ColumnType::Size) {
                self.sizes.insert(p.var);
            }
        }
    }

    fn note(&mut self, stm: &Stm) {
        let Some(p) = stm.pat.first() else { return };
        let is_size = match &stm.op {
            Op::Prim(PrimOp::Bin(BinOp::Mul, Prim::I64), xs) => {
                self.products.insert(p.var, [xs[0], xs[1]]);
                false
            }
            Op::Prim(PrimOp::Bin(BinOp::Max, Prim::I64), xs) => xs.iter().any(|x| self.is_size(*x)),
            Op::Length(_) | Op::Rows(_) | Op::Total(_) => true,
            Op::Kernel(k) => matches!(k.kind, KernelKind::Filter) && p.ty == Ty::Scalar(Prim::I64),
            _ => false,
        };
        if is_size {
            self.sizes.insert(p.var);
        }
    }

    fn is_size(&self, a: Atom) -> bool {
        a.as_i64().is_some_and(|n| n >= 0) || a.var().is_some_and(|v| self.sizes.contains(&v))
    }
}

fn in_block(block: &mut Block, known: &mut Known, vars: &mut Vars) {
    for stm in &mut block.stms {
        known.note(stm);
        stm.op.for_each_block_mut(|b| in_block(b, known, vars));
        if let Op::Kernel(k) = &mut stm.op {
            by_rows(k, known, vars);
        }
    }
}

/// Makes rows of a kernel's space, if it finds them by division.
fn by_rows(k: &mut Kernel, known: &Known, vars: &mut Vars) {
    let Some(n) = k.space.as_flat() else { return };
    let by_element = match &k.kind {
        KernelKind::Map(outs) => outs.iter().all(|o| !matches!(o, Out::Own { .. })),
        KernelKind::Hist { .. } => true,
        _ => false,
    };
    let Some([a, b]) = n.var().and_then(|n| known.products.get(&n)).copied().filter(|_| by_element) else {
        return;
    };
    let divided = |m: Atom| k.body.stms.iter().any(|s| division(s, k.pos, m).is_some());
    let fits = |(rows, m): &(Atom, Atom)| known.is_size(*rows) && m.var().is_some() && divided(*m);
    let Some((rows, m)) = [(a, b), (b, a)].into_iter().find(fits) else { return };
    let (i, start) = (vars.fresh("i"), vars.fresh("start"));
    for stm in &mut k.body.stms {
        match division(stm, k.pos, m) {
            Some(Part::Quotient) => stm.exp = Exp::Atom(k.row.into()),
            Some(Part::Remainder) => stm.exp = Exp::Atom(i.into()),
            None => {}
        }
    }
    // Where the row starts, if the body computes it: what is left of the position is the index then too.
    let pat = vec![core::Param { var: start, ty: Type::I64 }];
    let exp = Exp::Prim(PrimOp::Bin(BinOp::Mul, Prim::I64), vec![k.row.into(), m]);
    k.prologue.push(core::Stm { pat, exp, span: k.body.stms[0].span });
    (k.space, k.index) = (Space::rows(rows, Dim::Size(m)), vec![k.row, i]);
    reads::tidy(k);
    let rest = Exp::Prim(PrimOp::Bin(BinOp::Sub, Prim::I64), vec![k.pos.into(), start.into()]);
    k.body.stms.iter_mut().filter(|s| s.exp == rest).for_each(|s| s.exp = Exp::Atom(i.into()));
    reads::tidy(k);
}

/// What a division of the position gives.
enum Part {
    Quotient,
    Remainder,
}

/// If a statement divides the position by `m`.
fn division(stm: &core::Stm, pos: Var, m: Atom) -> Option<Part> {
    let Exp::Prim(PrimOp::Bin(op, Prim::I64), xs) = &stm.exp else { return None };
    if xs[..] != [Atom::Var(pos), m] {
        return None;
    }
    match op {
        BinOp::Quot | BinOp::Div => Some(Part::Quotient),
        BinOp::Rem | BinOp::Mod => Some(Part::Remainder),
        _ => None,
    }
}
