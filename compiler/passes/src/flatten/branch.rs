//! `if` with parallel arms.
//!
//! ```text
//! if c then A else B         -- c differs between positions
//!
//! yes = positions where c; no = the others          -- one compaction each
//! a = if length yes > 0 { A on the level of yes }   -- an arm without positions is not run
//! b = if length no > 0 { B on the level of no }
//! r = scatter a, b back: scalars by value, rows by where they start
//! ```
//!
//! Free variables stay where they are: an arm reads them through its index vector. A condition that is the host's
//! is a host branch.

use super::ex::Ex;
use super::nest::{Kind, LevelId};
use super::rep::{Arr, Rep};
use super::{Flattener, Result};
use par_ir::core::{Body, Param, Stm};
use par_ir::flat::{self, KernelKind, Op, Out, Ty};
use par_ir::prim::CmpOp;
use par_ir::{Atom, Prim, PrimOp, Var};
use std::rc::Rc;

/// One arm after it ran: its level, and the results as seen there.
struct Arm {
    level: LevelId,
    reps: Vec<Rep>,
}

impl Flattener<'_> {
    pub(crate) fn branch(
        &mut self,
        level: LevelId,
        stm: &Stm,
        cond: Atom,
        then: &Body,
        other: &Body,
    ) -> Result<()> {
        let cond = self.ex(cond);
        if let Some(c) = cond.atom() {
            return self.host_branch(level, stm, c, then, other);
        }
        let (yes, n_yes) = self.select_positions(level, &cond, true);
        let (no, n_no) = self.select_positions(level, &cond, false);
        let a = self.arm(level, stm, yes, n_yes, then)?;
        let b = self.arm(level, stm, no, n_no, other)?;
        self.merge(level, stm, &[a, b]);
        Ok(())
    }

    fn host_branch(&mut self, level: LevelId, stm: &Stm, c: Atom, then: &Body, other: &Body) -> Result<()> {
        let arm = |f: &mut Self, body: &Body| {
            f.block(|f| {
                f.stms(level, &body.stms)?;
                f.flush();
                Ok(f.canonical(level, &body.results))
            })
        };
        let then = arm(self, then)?;
        let other = arm(self, other)?;
        self.at(stm.span);
        let pat = self.canonical_params(level, &stm.pat);
        self.emit(pat.clone(), Op::If { cond: c, then, other });
        self.adopt_canonical(level, &stm.pat, &pat);
        Ok(())
    }

    /// `n > 0` on the host.
    pub(crate) fn any(&mut self, n: Atom) -> Atom {
        let op = PrimOp::Cmp(CmpOp::Lt, Prim::I64);
        self.bind("any", Ty::Scalar(Prim::Bool), Op::Prim(op, vec![Atom::i64(0), n])).into()
    }

    /// Runs an arm on the positions it was chosen at, if there are any.
    fn arm(&mut self, level: LevelId, stm: &Stm, idx: Var, n: Atom, body: &Body) -> Result<Arm> {
        let cond = self.any(n);
        let sub = self.push_level(level, Kind::Pack { idx, n });
        let pat = self.canonical_params(sub, &stm.pat);
        let then = self.block(|f| {
            f.stms(sub, &body.stms)?;
            f.flush();
            Ok(f.canonical(sub, &body.results))
        })?;
        self.at(stm.span);
        let other = self.block(|f| Ok(pat.iter().map(|p| f.nothing(p.ty)).collect()))?;
        self.emit(pat.clone(), Op::If { cond, then, other });
        self.adopt_canonical(sub, &stm.pat, &pat);
        let mut reps = Vec::new();
        for p in &stm.pat {
            reps.push(match self.rep(p.var.into()) {
                Rep::Array(a) => Rep::Array(self.viewable(sub, &a, &p.ty)),
                scalar => scalar,
            });
        }
        Ok(Arm { level: sub, reps })
    }

    /// Brings the arms' results together at the level of the branch.
    fn merge(&mut self, level: LevelId, stm: &Stm, arms: &[Arm]) {
        for (k, p) in stm.pat.iter().enumerate() {
            let reps: Vec<Rep> = arms.iter().map(|a| a.reps[k].clone()).collect();
            let rep = match &reps[0] {
                Rep::Scalar(_) => {
                    let values: Vec<Ex> = reps
                        .into_iter()
                        .filter_map(|r| match r {
                            Rep::Scalar(e) => Some(e),
                            Rep::Array(_) => None,
                        })
                        .collect();
                    Rep::Scalar(self.merge_scalars(level, p, arms, &values))
                }
                Rep::Array(_) => {
                    let arrs: Vec<Arr> = reps
                        .into_iter()
                        .filter_map(|r| match r {
                            Rep::Array(a) => Some(a),
                            Rep::Scalar(_) => None,
                        })
                        .collect();
                    Rep::Array(self.merge_rows(level, p, arms, &arrs))
                }
            };
            self.types.insert(p.var, p.ty.clone());
            self.env.insert(p.var, rep);
        }
    }

    fn merge_scalars(&mut self, level: LevelId, p: &Param, arms: &[Arm], values: &[Ex]) -> Ex {
        let prim = p.ty.prim();
        let n = self.count(level);
        let mut out = self.bind("merged", Ty::Array(prim), Op::Replicate(n, Self::zero(prim)));
        for (arm, value) in arms.iter().zip(values) {
            out = self.scatter_back(level, arm.level, out, prim, value);
        }
        let extent = self.extent(level);
        self.extents.insert(out, extent);
        Ex::Load(out, prim, Rc::new(Ex::Pos(level)))
    }

    fn merge_rows(&mut self, level: LevelId, p: &Param, arms: &[Arm], arrs: &[Arr]) -> Arr {
        let (src, inner, offsets) = self.join(arrs);
        let starts: Vec<Ex> =
            arrs.iter().zip(offsets).map(|(a, o)| self.add(a.start.clone(), Ex::Atom(o))).collect();
        let at = Param { var: p.var, ty: par_ir::Type::I64 };
        let start = self.merge_scalars(level, &at, arms, &starts);
        Arr { src, inner, start, stride: None }
    }

    /// Writes a value of every position of `sub` to the array over an enclosing level.
    pub(crate) fn scatter_back(
        &mut self,
        level: LevelId,
        sub: LevelId,
        dest: Var,
        prim: Prim,
        value: &Ex,
    ) -> Var {
        let mut g = self.group_at(sub);
        let results = vec![self.eval(&mut g, &Ex::Pos(level)), self.eval(&mut g, value)];
        let v = self.vars.fresh_like(dest);
        let pat = vec![flat::Param { var: v, ty: Ty::Array(prim) }];
        self.finish(g, KernelKind::Map(vec![Out::Scatter(vec![dest])]), results, pat);
        v
    }
}
