//! Operators of scans that the runtime has ready made: component by component a sum, a minimum or a maximum, over all or over
//! segments that begin where a flag is set.
//!
//! ```text
//! (f, x) (g, y) -> (f || g, if g then y else x + y)       flags; sums of segments that begin where g
//! (a, b) (c, d) -> (a + c, max b d)                       a sum and a maximum
//! ```

use par_ir::core::{Exp, Lambda, Stm};
use par_ir::prim::{BinOp, PrimOp};
use par_ir::{Atom, Prim, Var};
use par_runtime::prefix::Operator;

/// One component of an operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    pub operator: Operator,
    pub prim: Prim,
    /// The component whose flags say where segments begin.
    pub flags: Option<usize>,
}

/// The components of an operator, if the runtime has all of them.
pub fn parts(op: &Lambda) -> Option<Vec<Part>> {
    let k = op.ret.len();
    let recognizer = Recognizer { op, k };
    let parts: Option<Vec<Part>> = (0..k).map(|i| recognizer.part(i)).collect();
    let parts = parts?;
    let flagged = |p: &Part| p.flags.is_none_or(|f| parts[f].prim == Prim::Bool && parts[f].flags.is_none());
    let is_there = |p: &Part| p.operator.prefixes(p.prim, p.flags.is_some()).is_some();
    (parts.iter().all(flagged) && parts.iter().all(is_there)).then_some(parts)
}

struct Recognizer<'o> {
    op: &'o Lambda,
    /// Number of components.
    k: usize,
}

impl Recognizer<'_> {
    fn part(&self, i: usize) -> Option<Part> {
        let result = self.op.body.results[i];
        if let Some((operator, prim)) = self.combines(&self.op.body.stms, result, i) {
            return Some(Part { operator, prim, flags: None });
        }
        let (number, stm) = bound(&self.op.body.stms, result)?;
        match &stm.exp {
            Exp::Prim(PrimOp::Select(_), xs) if xs[1] == self.right(i) => {
                let (operator, prim) = self.combines(&self.op.body.stms, xs[2], i)?;
                Some(Part { operator, prim, flags: Some(self.flag(xs[0])?) })
            }
            Exp::If { cond, then, other } if then.results[number] == self.right(i) => {
                let stms: Vec<Stm> = self.op.body.stms.iter().chain(&other.stms).cloned().collect();
                let (operator, prim) = self.combines(&stms, other.results[number], i)?;
                Some(Part { operator, prim, flags: Some(self.flag(*cond)?) })
            }
            _ => None,
        }
    }

    /// Component `i` of the left operand.
    fn left(&self, i: usize) -> Atom {
        self.op.params[i].var.into()
    }

    /// Component `i` of the right operand.
    fn right(&self, i: usize) -> Atom {
        self.op.params[self.k + i].var.into()
    }

    /// The component of the right operand that this is.
    fn flag(&self, a: Atom) -> Option<usize> {
        (0..self.k).find(|i| self.right(*i) == a)
    }

    /// The operator that a value is of both components `i`.
    fn combines(&self, stms: &[Stm], a: Atom, i: usize) -> Option<(Operator, Prim)> {
        let (_, stm) = bound(stms, a)?;
        let Exp::Prim(PrimOp::Bin(op, prim), xs) = &stm.exp else { return None };
        let (x, y) = (self.left(i), self.right(i));
        // Which of two zeros is the smaller depends on which comes first.
        let is_ordered = prim.is_float() && *op != BinOp::Add;
        let both = xs[..] == [x, y] || xs[..] == [y, x] && !is_ordered;
        let operator = match op {
            BinOp::Add => Operator::Add,
            BinOp::Min => Operator::Min,
            BinOp::Max => Operator::Max,
            BinOp::Or if *prim == Prim::Bool => Operator::Max,
            _ => return None,
        };
        both.then_some((operator, *prim))
    }
}

/// The statement that binds a variable, and the number of its result.
fn bound(stms: &[Stm], a: Atom) -> Option<(usize, &Stm)> {
    let v: Var = a.var()?;
    stms.iter().find_map(|s| s.pat.iter().position(|p| p.var == v).map(|i| (i, s)))
}
