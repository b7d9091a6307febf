//! Maps and filters; operators of scalars, run forward and backward.

use super::inner::{Adjoints, Rows};
use super::{Lower, R, Reverse};
use par_ir::core::{Exp, Lambda, Param};
use par_ir::prim::BinOp;
use par_ir::visit::Subst;
use par_ir::{Atom, Dim, Prim, PrimOp, Type, Var};

/// Operations on one component of the operands, if it depends on no other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Componentwise {
    Add,
    Min,
    Max,
}

/// An operator on given operands, run forward.
pub(super) struct Applied {
    pub results: Vec<Atom>,
    /// Copies of the operands.
    pub operands: Vec<Atom>,
    steps: Vec<super::sweep::Step>,
}

impl Reverse {
    pub(super) fn back_map(&mut self, lo: &mut Lower, mut rows: Rows, adjoints: &[Option<Atom>]) -> R<()> {
        let given = self.per_row(lo, &mut rows, adjoints.iter().copied().enumerate())?;
        self.back_rows(lo, &rows, &mut |_, _, results, extra| {
            Ok(given.iter().zip(extra).map(|(i, d)| (results[*i], *d)).collect())
        })
    }

    /// Adds the arrays there are to what rows are needed of. Gives their numbers.
    pub(super) fn per_row(
        &mut self,
        lo: &Lower,
        rows: &mut Rows,
        arrays: impl Iterator<Item = (usize, Option<Atom>)>,
    ) -> R<Vec<usize>> {
        let mut given = Vec::new();
        for (i, d) in arrays {
            if let Some(d) = d {
                rows.extra.push(lo.leaf_var(d)?);
                given.push(i);
            }
        }
        Ok(given)
    }

    /// A filter that keeps positions, too: the array of these.
    pub(super) fn filter_with_places(
        &mut self,
        lo: &mut Lower,
        pat: &[Param],
        (width, inputs, lam): (Atom, &[Var], &Lambda),
        places: Var,
    ) -> R<Var> {
        let (mut pat, mut inputs, mut lam) = (pat.to_vec(), inputs.to_vec(), lam.clone());
        let (_, row) = lo.in_block(|lo| Ok(lo.param("i", Type::I64)))?;
        let kept = lo.param("places", Type::array(vec![Dim::Size(pat[0].var.into())], Prim::I64));
        let var = kept.var;
        inputs.push(places);
        lam.body.results.push(row.var.into());
        lam.ret.push(Type::I64);
        lam.params.push(row);
        pat.push(kept);
        lo.push(pat, Exp::Filter { width, inputs, lam });
        Ok(var)
    }

    pub(super) fn back_filter(
        &mut self,
        lo: &mut Lower,
        mut rows: Rows,
        adjoints: &[Option<Atom>],
        places: Var,
    ) -> R<()> {
        let mut spread = vec![None];
        for d in &adjoints[1..] {
            spread.push(match d {
                Some(d) => Some(lo.spread(lo.leaf_var(*d)?, places, rows.width)?.into()),
                None => None,
            });
        }
        let given = self.per_row(lo, &mut rows, spread.into_iter().enumerate())?;
        self.back_rows(lo, &rows, &mut |_, _, results, extra| {
            Ok(given.iter().zip(extra).map(|(i, d)| (results[*i], *d)).collect())
        })
    }

    /// The adjoints of `x` in `op (op l x) r`. What the operator uses from outside gets only what it gets from `op l x`.
    pub(super) fn through<'p>(
        &mut self,
        lo: &mut Lower<'p>,
        op: &Lambda,
        (l, x, r): (&[Atom], &[Atom], &[Atom]),
        adjoints: &[Option<Atom>],
    ) -> R<Adjoints> {
        let k = x.len();
        let first = self.applied(lo, op, l, x)?;
        let (scope, whole) = self.inside(lo.depth(), [], |rev| {
            let whole = rev.applied(lo, op, &first.results, r)?;
            rev.unapplied(lo, whole, adjoints)
        })?;
        drop(scope);
        let inner = self.unapplied(lo, first, &whole[..k])?;
        Ok(x.iter().zip(&inner[k..]).filter_map(|(x, d)| Some((*x, (*d)?))).collect())
    }

    /// Runs an operator forward.
    pub(super) fn applied(&mut self, lo: &mut Lower, op: &Lambda, a: &[Atom], b: &[Atom]) -> R<Applied> {
        let mut subst = Subst::default();
        let mut operands = Vec::new();
        for (p, a) in op.params.iter().zip(a.iter().chain(b)) {
            let copy = lo.emit("x", p.ty.clone(), Exp::Atom(*a));
            if self.active.contains(&p.var) {
                self.input(copy);
            }
            if self.bits.contains(&p.var) {
                self.bits.insert(copy);
            }
            subst.insert(p.var, copy.into());
            operands.push(copy.into());
        }
        let body = self.copy(lo, &op.body, &mut subst);
        // Its calls are on no tape.
        let tape = self.tape.take();
        let steps = self.forward(lo, body.stms);
        self.tape = tape;
        Ok(Applied { results: body.results, operands, steps: steps? })
    }

    /// Goes back through an operator: the adjoints of its operands.
    pub(super) fn unapplied(
        &mut self,
        lo: &mut Lower,
        applied: Applied,
        adjoints: &[Option<Atom>],
    ) -> R<Vec<Option<Atom>>> {
        for (a, d) in applied.results.iter().zip(adjoints) {
            if let Some(d) = d {
                self.contribute(lo, *a, *d)?;
            }
        }
        self.back(lo, applied.steps)?;
        let operands = applied.operands.iter();
        Ok(operands.map(|a| self.scope().adjoints.remove(&a.var()?)).collect())
    }

    /// The first `k` results of an operator's function for all rows.
    pub(super) fn evaluated(&mut self, lo: &mut Lower, rows: &Rows, k: usize) -> R<Vec<Var>> {
        let (block, lam) = lo.in_block(|lo| {
            let mut lam = self.copy(lo, rows.lam, &mut Subst::default());
            lam.body.results.truncate(k);
            lam.ret.truncate(k);
            Ok(lam)
        })?;
        drop(block);
        let size = vec![Dim::Size(rows.width)];
        let pat: Vec<Param> =
            lam.ret.iter().map(|ty| lo.param("x", Type::array(size.clone(), ty.prim()))).collect();
        let vars = pat.iter().map(|p| p.var).collect();
        lo.push(pat, Exp::Map { width: rows.width, inputs: rows.inputs.to_vec(), lam });
        Ok(vars)
    }

    /// A scan of arrays.
    pub(super) fn scanned(
        &mut self,
        lo: &mut Lower,
        width: Atom,
        arrays: &[Var],
        op: &Lambda,
        neutral: &[Atom],
        exclusive: bool,
    ) -> R<Vec<Var>> {
        let lam = lo.identity_of(&op.ret)?;
        let (_, op) = lo.in_block(|lo| Ok(self.copy(lo, op, &mut Subst::default())))?;
        let size = vec![Dim::Size(width)];
        let pat: Vec<Param> =
            op.ret.iter().map(|ty| lo.param("x", Type::array(size.clone(), ty.prim()))).collect();
        let vars = pat.iter().map(|p| p.var).collect();
        let (inputs, neutral) = (arrays.to_vec(), neutral.to_vec());
        lo.push(pat, Exp::Scan { width, inputs, lam, op, neutral, exclusive });
        Ok(vars)
    }
}

/// An operator with its operands exchanged.
pub(super) fn flipped(op: &Lambda) -> Lambda {
    let (left, right) = op.params.split_at(op.params.len() / 2);
    Lambda { params: right.iter().chain(left).cloned().collect(), ..op.clone() }
}

/// The operation on component `i`.
pub(super) fn componentwise(op: &Lambda, i: usize) -> Option<Componentwise> {
    let result = op.body.results[i].var()?;
    let stm = op.body.stms.iter().find(|s| s.pat.iter().any(|p| p.var == result))?;
    let Exp::Prim(PrimOp::Bin(bin, _), args) = &stm.exp else { return None };
    let (a, b) = (op.params[i].var.into(), op.params[i + op.params.len() / 2].var.into());
    if args[..] != [a, b] && args[..] != [b, a] {
        return None;
    }
    match bin {
        BinOp::Add => Some(Componentwise::Add),
        BinOp::Min => Some(Componentwise::Min),
        BinOp::Max => Some(Componentwise::Max),
        _ => None,
    }
}

impl<'p> Lower<'p> {
    /// The values at their positions in an array of `n` zeros.
    pub(super) fn spread(&mut self, values: Var, places: Var, n: Atom) -> R<Var> {
        let prim = self.type_of(values).prim();
        let Dim::Size(width) = self.type_of(values).dims[0] else {
            return Err(self.internal("values in one dimension"));
        };
        let ty = Type::array(vec![Dim::Size(n)], prim);
        let zeros = self.zeros(&ty)?;
        let dests = vec![self.leaf_var(zeros)?];
        let lam = self.identity_of(&[Type::I64, Type::scalar(prim)])?;
        let places = self.retype_var(places, Type::array(vec![Dim::Size(width)], Prim::I64));
        Ok(self.emit("d", ty, Exp::Scatter { dests, width, inputs: vec![places, values], lam }))
    }
}
