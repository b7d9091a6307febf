//! Rows of a few elements, as many in each, are written out: a position is a row then.
//!
//! ```text
//! ys = kernel map (elem f32) over [n] [3] \row pos j {     ys = kernel map (row 3 f32) over [n] \_ row {
//!     s = sums[row]                                            s = sums[row]
//!     x = xs[pos]                                    ==>       x0 = xs[row * 3]
//!     in x / s }                                               x1 = xs[row * 3 + 1]
//!                                                              x2 = xs[row * 3 + 2]
//!                                                              in (x0 / s, x1 / s, x2 / s) }
//! ```
//!
//! A row would end before a group of vectors is full. So rows themselves are the lanes, and what is the same in a row is computed once.

use super::bulk::reads;
use super::walk;
use par_ir::Vars;
use par_ir::core::{self, Body, Exp};
use par_ir::effects::Effects;
use par_ir::flat::{Kernel, KernelKind, Out, Program, Space};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::tuning;
use par_ir::ty::{Atom, Dim, Type, Var};
use par_ir::visit::{Code, Subst};
use par_runtime::{Prim, Scalar, Span};

/// In every function of a program.
pub(crate) fn run(program: &mut Program) {
    walk::kernels(program, |k, _, vars| {
        if let Some(n) = short(k) {
            write_out(k, n, vars);
        }
    });
}

/// The length of a kernel's rows, if they are to be written out.
fn short(k: &Kernel) -> Option<i64> {
    let (Dim::Size(n), KernelKind::Map(outs)) = (k.space.innermost(), &k.kind) else { return None };
    let n = n.as_i64().filter(|n| k.space.0.len() > 1 && (2..=tuning::SHORT_ROW).contains(n))?;
    let is_straight = |s: &core::Stm| !s.has_effect() && s.exp.own_bodies().is_empty();
    let fits = outs.iter().all(|o| matches!(o, Out::Elem(_)))
        && k.body.stms.len() as i64 * n <= tuning::SHORT_ROW_STATEMENTS
        && k.body.stms.iter().all(is_straight)
        && k.uses_rows();
    fits.then_some(n)
}

fn write_out(k: &mut Kernel, n: i64, vars: &mut Vars) {
    let KernelKind::Map(outs) = &mut k.kind else { return };
    let span = k.body.stms.first().map_or(Span::default(), |s| s.span);
    let mut rows = Rows { stms: std::mem::take(&mut k.prologue), span, vars };
    let (inner, start) = (k.index[k.index.len() - 1], rows.sum(BinOp::Mul, k.row, n));
    let each: Vec<Vec<Atom>> = (0..n)
        .map(|j| {
            let at = if j == 0 { start } else { rows.sum(BinOp::Add, start, j) };
            let place = [(inner, Atom::i64(j)), (k.pos, at.into())];
            rows.element(&k.body, Subst::from(place))
        })
        .collect();
    let results = (0..outs.len()).flat_map(|o| each.iter().map(move |row| row[o])).collect();
    k.body = Body { stms: rows.stms, results };
    for out in outs {
        if let Out::Elem(p) = *out {
            *out = Out::Row(p, n as usize);
        }
    }
    k.space = Space(k.space.0[..k.space.0.len() - 1].to_vec());
    k.index.pop();
    k.pos = k.row;
    k.row = match k.index.len() {
        2 => k.index[0],
        _ => rows.vars.fresh("row"),
    };
    if k.index.len() == 1 {
        k.index = vec![k.pos];
    }
    reads::simplify(k);
}

/// The statements of a row so far.
struct Rows<'v> {
    stms: Vec<core::Stm>,
    span: Span,
    vars: &'v mut Vars,
}

impl Rows<'_> {
    fn sum(&mut self, op: BinOp, x: Var, y: i64) -> Var {
        let var = self.vars.fresh("i");
        let exp = Exp::Prim(PrimOp::Bin(op, Prim::I64), vec![x.into(), Atom::i64(y)]);
        self.stms.push(core::Stm { pat: vec![core::Param { var, ty: Type::I64 }], exp, span: self.span });
        var
    }

    /// The results at one element, whose place is known.
    fn element(&mut self, body: &Body, mut place: Subst) -> Vec<Atom> {
        for stm in &body.stms {
            let mut new = stm.substituted(&place);
            for p in &mut new.pat {
                let var = self.vars.fresh_like(p.var);
                place.insert(std::mem::replace(&mut p.var, var), var.into());
            }
            match constant(&new.exp) {
                Some(x) => _ = place.insert(stm.pat[0].var, x),
                None => self.stms.push(new),
            }
        }
        body.results.substituted(&place)
    }
}

/// The value of an expression on indices that are known.
fn constant(exp: &Exp) -> Option<Atom> {
    if let Exp::Prim(PrimOp::Conv(Prim::I64, to), xs) = exp {
        return converted(xs[0].as_i64()?, *to);
    }
    let Exp::Prim(PrimOp::Bin(op, Prim::I64), xs) = exp else { return None };
    let (x, y) = (xs[0].as_i64()?, xs[1].as_i64()?);
    match op {
        BinOp::Add => Some(Atom::i64(x.wrapping_add(y))),
        BinOp::Sub => Some(Atom::i64(x.wrapping_sub(y))),
        BinOp::Mul => Some(Atom::i64(x.wrapping_mul(y))),
        _ => None,
    }
}

/// A known index as another type of integers.
fn converted(x: i64, to: Prim) -> Option<Atom> {
    let x = match to {
        Prim::I32 => Scalar::I32(x as i32),
        Prim::U32 => Scalar::U32(x as u32),
        Prim::U8 => Scalar::U8(x as u8),
        Prim::U64 => Scalar::U64(x as u64),
        _ => return None,
    };
    Some(Atom::Const(x))
}
