//! Checkpoints: a loop of which too much would be kept becomes a loop over strips of iterations, if memory is short.
//!
//! ```text
//! loop x = a for i < n do f x i
//!
//! loop x = a for s < n / c + 1 do                        c about the root of n
//!   loop x = x for j < min c (n - s * c) do f x (s * c + j)
//! ```
//!
//! The state at the start of each strip is kept, and that in a strip is made again when the backward sweep enters it: of twice the root of n
//! iterations instead of n, for one more evaluation. With k loops around, it is the root of order k + 1, for k evaluations. Programs ask for
//! the same with `#[stripmine(k)]`.

use super::undo::overwrites;
use super::{Lower, R, Reverse};
use par_ir::core::{Body, Exp, LoopForm, Param};
use par_ir::prim::BinOp;
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Prim, Type};

/// Of a loop with so few iterations all are kept.
const FEW: i64 = 16;

/// Parts of a loop.
pub(super) struct Loop {
    pub params: Vec<(Param, Atom)>,
    pub form: LoopForm,
    pub body: Body,
}

impl Reverse {
    /// A loop that binds the same, and keeps less when it is differentiated; the loop given, if that cannot be had.
    pub(super) fn with_checkpoints(&mut self, lo: &mut Lower, pat: &[Param], l: Loop) -> R<Loop> {
        let around = match &l.form {
            LoopForm::For { index, .. } => self.around.get(index).copied(),
            LoopForm::While(_) => None,
        };
        let around = around.unwrap_or(lo.options.checkpoints);
        if around == 0 || is_short(&l.form) || updates_elements(&l) {
            return Ok(l);
        }
        let n = match &l.form {
            LoopForm::For { prim, bound, .. } => {
                let n = lo.conv(*prim, Prim::I64, *bound);
                lo.bin(BinOp::Max, Prim::I64, n, Atom::i64(0))
            }
            LoopForm::While(_) => {
                let none = vec![false; l.params.len()];
                self.measured(lo, pat, (&l.params, &l.form, &l.body), &none)?[0]
            }
        };
        let (size, count) = lo.strip_sizes(n, around);
        let (block, (strip, params, results)) = lo.in_block(|lo| {
            let strip = lo.fresh("strip", Type::I64);
            let mut subst = Subst::default();
            let params = self.state_again(lo, l.params.iter().map(|(p, _)| p), &mut subst);
            let (first, bound) = lo.strip_bounds(n, size, strip.into());
            let inits = params.iter().map(|p| p.var.into()).collect();
            let results = self.strip(lo, pat, &l, (first, bound, inits), around - 1)?;
            Ok((strip, params, results))
        })?;
        self.around.insert(strip, 0);
        let inits = l.params.iter().map(|(_, init)| *init);
        let form = LoopForm::For { index: strip, prim: Prim::I64, bound: count };
        let results = results.into_iter().map(|p| p.var.into()).collect();
        Ok(Loop {
            params: params.into_iter().zip(inits).collect(),
            form,
            body: Body { stms: block.stms, results },
        })
    }

    /// Emits the loop over the iterations of a strip, with so many loops around it later: what it binds.
    fn strip(
        &mut self,
        lo: &mut Lower,
        pat: &[Param],
        l: &Loop,
        (first, bound, inits): (Atom, Atom, Vec<Atom>),
        around: u32,
    ) -> R<Vec<Param>> {
        let (block, (index, params, results)) = lo.in_block(|lo| {
            let mut subst = Subst::default();
            let params = self.state_again(lo, l.params.iter().map(|(p, _)| p), &mut subst);
            let index = lo.fresh("i", Type::I64);
            if let LoopForm::For { index: old, prim, .. } = &l.form {
                let i = lo.add(first, index.into());
                subst.insert(*old, lo.conv(Prim::I64, *prim, i));
            }
            let body = self.copy(lo, &l.body, &mut subst);
            body.stms.into_iter().for_each(|stm| lo.push_stm(stm));
            Ok((index, params, body.results))
        })?;
        self.around.insert(index, around);
        let made = self.state_again(lo, pat.iter(), &mut Subst::default());
        let form = LoopForm::For { index, prim: Prim::I64, bound };
        let params = params.into_iter().zip(inits).collect();
        lo.push(made.clone(), Exp::Loop { params, form, body: Body { stms: block.stms, results } });
        Ok(made)
    }

    /// Fresh variables for the state of a loop, which depend on the argument if those given do.
    pub(super) fn state_again<'a>(
        &mut self,
        lo: &mut Lower,
        state: impl Iterator<Item = &'a Param>,
        subst: &mut Subst,
    ) -> Vec<Param> {
        let mut out = Vec::new();
        for p in state {
            let name = lo.out.vars.name(p.var).to_string();
            let copy = lo.param(&name, p.ty.substituted(subst));
            if lo.facts.sizes.contains(&p.var) {
                lo.facts.sizes.insert(copy.var);
            }
            for known in [&mut self.active, &mut self.bits] {
                if known.contains(&p.var) {
                    known.insert(copy.var);
                }
            }
            subst.insert(p.var, copy.var.into());
            out.push(copy);
        }
        out
    }
}

/// True if a loop is known to have few iterations.
fn is_short(form: &LoopForm) -> bool {
    match form {
        LoopForm::For { bound: Atom::Const(n), .. } => n.as_i64().is_some_and(|n| n <= FEW),
        _ => false,
    }
}

/// True if an array of the state is updated element by element: then only what is overwritten is kept.
fn updates_elements(l: &Loop) -> bool {
    let state = l.params.iter().map(|(p, _)| p).zip(&l.body.results);
    let mut arrays = state.filter(|(p, _)| !p.ty.is_scalar());
    arrays.any(|(p, result)| overwrites(&l.body, p.var, *result, &p.ty).is_some())
}
