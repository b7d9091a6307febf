//! Ranges of the reads of a loop at indices that are affine in its counter: from the first iteration's index to the last one's.
//!
//! ```text
//! loop (h) = … for j < m do { let k = a + j let x = xs[k] … }            of xs, from a to a + (m - 1), if 0 < m
//! ```

use super::{Found, Indices, Level, NOWHERE};
use par_ir::build::Statements;
use par_ir::core::{Body, Exp, LoopForm, Param, Stm};
use par_ir::effects::Effects as _;
use par_ir::prim::{BinOp, CmpOp, PrimOp};
use par_ir::stack::deeper;
use par_ir::ty::Atom;
use par_ir::{Prim, Type, Var};
use std::collections::BTreeSet;

/// A loop, and the variables that are known before it.
struct Loop<'l> {
    level: &'l Level<'l>,
    counter: Var,
    /// Statements of an iteration, in branches, too.
    stms: Vec<&'l Stm>,
    /// Statements that each iteration executes unconditionally; none if one of them can fail.
    always: &'l [Stm],
    known: &'l BTreeSet<Var>,
}

/// Dependence of an index on the counter.
#[derive(Clone, Copy, PartialEq)]
enum Dependence {
    Invariant,
    Affine,
}

impl Level<'_> {
    /// Ranges of the reads of a counted loop with a known bound; returns the array of each of these reads.
    pub(super) fn ranges(&self, stm: &Stm, known: &BTreeSet<Var>, indices: &mut Indices) -> Vec<Var> {
        let Exp::Loop { form: LoopForm::For { index, prim: Prim::I64, bound }, body, .. } = &stm.exp else {
            return Vec::new();
        };
        if bound.var().is_some_and(|v| !known.contains(&v)) {
            return Vec::new();
        }
        let mut stms = Vec::new();
        iteration(body, &mut stms);
        let always = if body.may_fail() { &[] } else { &body.stms[..] };
        let this = Loop { level: self, counter: *index, stms, always, known };
        let mut all = Vec::new();
        let mut code = Statements::new(stm.span);
        for read in &this.stms {
            let Exp::Index(array, at) = &read.exp else { continue };
            if !self.left.contains(array) || at.len() != 1 || this.dependence(at[0]).is_none() {
                continue;
            }
            all.push(*array);
            indices.found.push(this.range((*array, at[0]), *bound, &mut code));
        }
        indices.stms.extend(code.stms);
        all
    }
}

/// Adds the statements of an iteration except those of inner loops.
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

    /// Dependence of an index that can be computed before the loop.
    fn dependence(&self, a: Atom) -> Option<Dependence> {
        let Some(v) = a.var().filter(|v| !self.known.contains(v)) else { return Some(Dependence::Invariant) };
        if v == self.counter {
            return Some(Dependence::Affine);
        }
        let exp = &self.definition(v)?.exp;
        let mut operands = Vec::new();
        exp.for_each_operand(&mut |a| operands.push(a));
        let inside = |a: &Atom| deeper(|| self.dependence(*a));
        let all: Vec<Dependence> = operands.iter().map(inside).collect::<Option<_>>()?;
        let affine = all.iter().filter(|d| **d == Dependence::Affine).count();
        let dependence = if affine == 0 { Dependence::Invariant } else { Dependence::Affine };
        let is_linear = match exp {
            Exp::Atom(_) | Exp::Prim(PrimOp::Bin(BinOp::Add | BinOp::Sub, Prim::I64), _) => true,
            Exp::Prim(PrimOp::Bin(BinOp::Mul, Prim::I64), _) => affine <= 1,
            // Others trap where a branch or a check before does not let them be executed.
            Exp::Prim(..) => affine == 0 && self.is_always_executed(v),
            Exp::Index(array, _) => {
                affine == 0 && !self.level.left.contains(array) && self.is_always_executed(v)
            }
            _ => false,
        };
        is_linear.then_some(dependence)
    }

    fn is_always_executed(&self, v: Var) -> bool {
        self.always.iter().any(|s| s.pat.len() == 1 && s.pat[0].var == v)
    }

    /// Least and greatest index of all iterations; -1 if there are none.
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
