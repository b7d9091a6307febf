//! The elements that a loop reads at indices that grow with its counter: those between the first iteration's and the last one's.
//!
//! ```text
//! loop (h) = … for j < m do { let k = a + j let x = xs[k] … }            of xs, from a to a + (m - 1), if 0 < m
//! ```

use super::{Found, Indices, Level, NOWHERE};
use par_ir::build::Statements;
use par_ir::core::{Body, Exp, LoopForm, Param, Stm};
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::stack::deeper;
use par_ir::ty::Atom;
use par_ir::{Prim, Type, Var};
use std::collections::BTreeSet;

/// A loop with what is known before it.
struct Loop<'l> {
    level: &'l Level<'l>,
    counter: Var,
    /// Statements of an iteration, those of arms, too.
    stms: Vec<&'l Stm>,
    /// Those of them that every iteration does, which does not fail.
    always: &'l [Stm],
    known: &'l BTreeSet<Var>,
}

/// An index in an iteration.
#[derive(Clone, Copy, PartialEq)]
enum Growth {
    /// The same in all.
    None,
    /// It grows or falls with the counter, evenly.
    Even,
}

impl Level<'_> {
    /// Ranges of the reads of a loop over numbers below a known bound; gives the arrays of the reads that were found.
    pub(super) fn ranges(&self, stm: &Stm, known: &BTreeSet<Var>, indices: &mut Indices) -> Vec<Var> {
        let Exp::Loop { form: LoopForm::For { index, prim: Prim::I64, bound }, body, .. } = &stm.exp else {
            return Vec::new();
        };
        if bound.var().is_some_and(|v| !known.contains(&v)) {
            return Vec::new();
        }
        let mut stms = Vec::new();
        iteration(body, &mut stms);
        let fails = stms.iter().any(|s| matches!(s.exp, Exp::Check { .. }));
        let always = if fails { &[] } else { &body.stms[..] };
        let this = Loop { level: self, counter: *index, stms, always, known };
        let mut all = Vec::new();
        let mut code = Statements::new(stm.span);
        for read in &this.stms {
            let Exp::Index(array, at) = &read.exp else { continue };
            if !self.left.contains(array) || at.len() != 1 || this.growth(at[0]).is_none() {
                continue;
            }
            all.push(*array);
            indices.found.push(this.range((*array, at[0]), *bound, &mut code));
        }
        indices.stms.extend(code.stms);
        all
    }
}

/// The statements of an iteration but those of loops in it.
fn iteration<'b>(body: &'b Body, all: &mut Vec<&'b Stm>) {
    for stm in &body.stms {
        all.push(stm);
        if let Exp::If { then, other, .. } = &stm.exp {
            deeper(|| [then, other].into_iter().for_each(|arm| iteration(arm, all)));
        }
    }
}

impl Loop<'_> {
    fn definition(&self, v: Var) -> Option<&Stm> {
        self.stms.iter().find(|s| s.pat.len() == 1 && s.pat[0].var == v).copied()
    }

    /// Growth of an index that can be computed before the loop.
    fn growth(&self, a: Atom) -> Option<Growth> {
        let Some(v) = a.var().filter(|v| !self.known.contains(v)) else { return Some(Growth::None) };
        if v == self.counter {
            return Some(Growth::Even);
        }
        let exp = &self.definition(v)?.exp;
        let mut operands = Vec::new();
        exp.for_each_operand(&mut |a| operands.push(a));
        let inside = |a: &Atom| deeper(|| self.growth(*a));
        let all: Vec<Growth> = operands.iter().map(inside).collect::<Option<_>>()?;
        let grows = all.iter().filter(|g| **g == Growth::Even).count();
        let growth = if grows == 0 { Growth::None } else { Growth::Even };
        match exp {
            Exp::Atom(_) | Exp::Prim(PrimOp::Bin(BinOp::Add | BinOp::Sub, Prim::I64), _) => Some(growth),
            Exp::Prim(PrimOp::Bin(BinOp::Mul, Prim::I64), _) if grows <= 1 => Some(growth),
            Exp::Prim(..) if grows == 0 => Some(growth),
            Exp::Index(array, _) if grows == 0 && !self.level.left.contains(array) => {
                let is_v = |s: &Stm| s.pat.len() == 1 && s.pat[0].var == v;
                self.always.iter().any(is_v).then_some(growth)
            }
            _ => None,
        }
    }

    /// The least and the greatest index, if there are iterations.
    fn range(&self, (array, index): (Var, Atom), bound: Atom, code: &mut Statements) -> Found {
        let table = &mut *self.level.fresh.table();
        let mut inside = Statements::new(code.span);
        let end = inside.arith("end", BinOp::Sub, bound, Atom::i64(1), table);
        let ends = [Atom::i64(0), end].map(|j| self.at(index, j, &mut inside, table));
        let ends = [BinOp::Min, BinOp::Max].map(|op| inside.arith("at", op, ends[0], ends[1], table));
        let then = inside.results(ends.to_vec());
        let other = Body { stms: Vec::new(), results: vec![NOWHERE; 2] };
        let cond = code.compare("runs", CmpOp::Lt, Atom::i64(0), bound, table);
        let [first, last] = [(); 2].map(|()| table.fresh("at"));
        let pat = [first, last].map(|var| Param { var, ty: Type::I64 });
        code.bind(pat.to_vec(), Exp::If { cond, then, other });
        Found { array, first: first.into(), last: Some(last.into()) }
    }

    /// An index in iteration `j`.
    fn at(&self, a: Atom, j: Atom, code: &mut Statements, vars: &mut par_ir::Vars) -> Atom {
        let Some(v) = a.var().filter(|v| !self.known.contains(v)) else { return a };
        if v == self.counter {
            return j;
        }
        let Some(stm) = self.definition(v) else { return a };
        let mut exp = stm.exp.clone();
        deeper(|| exp.for_each_operand_mut(&mut |x| *x = self.at(*x, j, code, vars)));
        let ty: Type = stm.pat[0].ty.clone();
        let var = vars.fresh_like(v);
        code.bind(vec![Param { var, ty }], exp);
        var.into()
    }
}
