//! `scatter`, `hist`, `reduce_by_index`.

use super::value::{Defined, Fun, Shape, Val};
use super::{Lower, R};
use crate::thir::DefId;
use par_ir::core::{Exp, Lambda, Param};
use par_ir::prim::CmpOp;
use par_ir::visit::Code;
use par_ir::{Atom, CheckKind, Dim, Prim, Var};
use std::rc::Rc;

/// Name of a histogram whose operator no kernel can take.
pub(super) const REDUCE_GROUPS: &str = "reduce_groups";

/// Name of the search for an index to which a scatter writes two different values.
pub(super) const SCATTER_CONFLICT: &str = "scatter_conflict";

impl<'p> Lower<'p> {
    /// `scatter dest is vs`.
    pub fn scatter(&mut self, dest: &Val<'p>, is: Val<'p>, vs: Val<'p>) -> R<Val<'p>> {
        if !self.elem_of(dest)?.dims().is_empty() {
            return self.scatter_rows(dest, is, vs);
        }
        let (dests, pat) = self.destinations(dest)?;
        let (width, pairs) = self.written(is, vs, "the arguments of scatter")?;
        if dests.is_empty() {
            return Ok(dest.clone());
        }
        let (inputs, lam) = self.identity(&pairs)?;
        let leaves = pat.iter().map(|p| Atom::Var(p.var)).collect();
        self.push(pat, Exp::Scatter { dests, width, inputs, lam });
        self.with_leaves(dest, leaves)
    }

    /// The same, with a check for conflicts if the program is to have such checks.
    pub fn checked_scatter(&mut self, dest: &Val<'p>, is: Val<'p>, vs: Val<'p>) -> R<Val<'p>> {
        if self.options.check_scatter {
            self.check_conflicts(dest, &is, &vs)?;
        }
        self.scatter(dest, is, vs)
    }

    /// Fails if one index gets two different values.
    fn check_conflicts(&mut self, dest: &Val<'p>, is: &Val<'p>, vs: &Val<'p>) -> R<()> {
        let k = Val::i64(self.size_of(dest)?);
        let element = self.elem_of(dest)?.shape();
        let args = vec![k, is.clone(), vs.clone()];
        let found = self.library(SCATTER_CONFLICT, vec![element], args)?;
        let args: Vec<Atom> = found.leaves().iter().map(|l| l.0).collect();
        let [index, ..] = args[..] else {
            return Err(self.internal("a conflict is an index and two positions"));
        };
        let none = self.cmp(CmpOp::Lt, index, Atom::i64(0));
        self.check(none, CheckKind::Conflict, args);
        Ok(())
    }

    /// Calls a function of the library.
    pub(super) fn library(&mut self, name: &str, types: Vec<Shape>, args: Vec<Val<'p>>) -> R<Val<'p>> {
        let defs = &self.program.defs;
        let Some(i) = defs.iter().position(|d| d.library && d.name == name) else {
            return Err(self.internal(&format!("the library has no `{name}`")));
        };
        let f = Val::Fun(Rc::new(Fun::Def(Defined {
            id: DefId(i as u32),
            types: Rc::new(types),
            sizes: Vec::new(),
        })));
        self.apply(&f, args, None)
    }

    /// Rows that are arrays: which row goes where is scattered, then every row of the result is an old or a new one.
    ///
    /// ```text
    /// owner = scatter (replicate n (-1)) is (iota m)
    /// map (\i -> if owner[i] >= 0 then vs[owner[i]] else dest[i]) (iota n)
    /// ```
    fn scatter_rows(&mut self, dest: &Val<'p>, is: Val<'p>, vs: Val<'p>) -> R<Val<'p>> {
        let (m, arrays) = self.together(vec![is, vs], "the arguments of scatter")?;
        let vs = arrays[1].clone();
        let n = self.size_of(dest)?;
        let nobody = self.replicate(n, &Val::i64(Atom::i64(-1)))?;
        let numbers = Val::vector(m, self.iota(m), Prim::I64);
        let owners = self.scatter(&nobody, arrays[0].clone(), numbers)?;
        let is = Val::vector(n, self.iota(n), Prim::I64);
        self.map_over(n, &[is, owners], &mut |lo, rows| {
            let [Val::Scalar(i, _), Val::Scalar(owner, _)] = rows[..] else {
                return Err(lo.internal("an index is a scalar"));
            };
            let new = lo.cmp(CmpOp::Le, Atom::i64(0), owner);
            lo.if_val(new, &mut |lo| lo.row(&vs, owner), &mut |lo| lo.row(dest, i))
        })
    }

    /// `reduce_by_index dest op ne is vs`.
    pub fn reduce_by_index(
        &mut self,
        dest: &Val<'p>,
        op: &Val<'p>,
        ne: &Val<'p>,
        is: Val<'p>,
        vs: Val<'p>,
    ) -> R<Val<'p>> {
        if !self.elem_of(dest)?.dims().is_empty() {
            return match self.hist_columns(dest, (op, ne), &is, &vs)? {
                Some(hist) => Ok(hist),
                None => self.reduce_groups(dest, op, ne, is, vs),
            };
        }
        let combine = self.op_lambda(op, ne)?;
        let varies = combine.free().iter().any(|v| self.may_vary(*v))
            || ne.leaves().iter().any(|(a, _)| a.var().is_some_and(|v| self.may_vary(v)));
        if !combine.is_scalar() || varies {
            return self.reduce_groups(dest, op, ne, is, vs);
        }
        let neutral = ne.leaves().iter().map(|l| l.0).collect();
        self.histogram(dest, (combine, neutral), is, vs)
    }

    /// A histogram whose operator is scalar code.
    pub(super) fn histogram(
        &mut self,
        dest: &Val<'p>,
        (op, neutral): (Lambda, Vec<Atom>),
        is: Val<'p>,
        vs: Val<'p>,
    ) -> R<Val<'p>> {
        let (dests, pat) = self.destinations(dest)?;
        let (width, pairs) = self.written(is, vs, "the arguments of reduce_by_index")?;
        if dests.is_empty() {
            return Ok(dest.clone());
        }
        let (inputs, lam) = self.identity(&pairs)?;
        let leaves = pat.iter().map(|p| Atom::Var(p.var)).collect();
        self.push(pat, Exp::Hist { dests, width, inputs, lam, op, neutral });
        self.with_leaves(dest, leaves)
    }

    /// True if a variable may differ between the rows of a map that encloses this place: functions are called in maps.
    pub(super) fn may_vary(&self, v: Var) -> bool {
        self.context.inside > 0 || !self.is_outside(Atom::Var(v), 1)
    }

    /// Elements or operators that a histogram of scalars cannot have: the library's function brings the values of one
    /// index together and reduces them.
    fn reduce_groups(
        &mut self,
        dest: &Val<'p>,
        op: &Val<'p>,
        ne: &Val<'p>,
        is: Val<'p>,
        vs: Val<'p>,
    ) -> R<Val<'p>> {
        let element = self.elem_of(dest)?.shape();
        self.library(REDUCE_GROUPS, vec![element], vec![dest.clone(), op.clone(), ne.clone(), is, vs])
    }

    /// The arrays written to, and the pattern for their new versions.
    fn destinations(&mut self, dest: &Val<'p>) -> R<(Vec<Var>, Vec<Param>)> {
        let dests: R<Vec<Var>> = dest.leaves().iter().map(|l| self.leaf_var(l.0)).collect();
        let dests = dests?;
        let mut pat = Vec::new();
        for d in &dests {
            let ty = self.type_of(*d).clone();
            let name = self.out.vars.name(*d).to_string();
            pat.push(self.param(&name, ty));
        }
        Ok((dests, pat))
    }

    /// Indices and values as one array of pairs.
    fn written(&mut self, is: Val<'p>, vs: Val<'p>, what: &str) -> R<(Atom, Val<'p>)> {
        let (width, arrays) = self.together(vec![is, vs], what)?;
        let elems: R<Vec<_>> = arrays.iter().map(|a| Ok(self.elem_of(a)?.clone())).collect();
        Ok((width, Val::Array(Dim::Size(width), Box::new(Val::Tuple(elems?)))))
    }
}
