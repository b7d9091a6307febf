//! Branches whose arms are rows of one array: a select of where the row starts. No positions are selected.
//!
//! ```text
//! if i == k then a[p] else a[i]       ==>       the row of `a` at (if i == k then p * m else i * m)
//! ```

use super::Flattener;
use super::Result;
use super::ex::Ex;
use super::nest::{FDim, LevelId};
use super::rep::{Arr, Rep, Src};
use par_ir::core::{Body, Exp, Param, Stm};
use par_ir::cost::{Time, time};
use par_ir::{Atom, Type, Var};

impl Flattener<'_> {
    /// Handles a branch between rows of one array; false if it is another one.
    pub fn selected_rows(&mut self, level: LevelId, stm: &Stm, cond: &Ex, arms: [&Body; 2]) -> Result<bool> {
        let [then, other] = arms;
        let same_base = |k: usize| {
            let (a, b) = (self.base(then, then.results[k]), self.base(other, other.results[k]));
            a.is_some() && a == b
        };
        let all = arms.iter().all(|arm| is_view(arm)) && (0..stm.pat.len()).all(same_base);
        if !all {
            return Ok(false);
        }
        for arm in arms {
            self.stms(level, &arm.stms)?;
        }
        for (k, p) in stm.pat.iter().enumerate() {
            let rows = arms.map(|arm| arm.results[k].var().map(|v| self.arr(v)));
            let [Some(a), Some(b)] = rows else { unreachable!("arms result in rows") };
            let start = self.select(level, cond, [&a.start, &b.start])?;
            self.bind_rep(p, Rep::Array(Arr { start, ..a }));
        }
        Ok(true)
    }

    /// The first of two integers where a condition holds, else the second.
    fn select(&mut self, level: LevelId, cond: &Ex, numbers: [&Ex; 2]) -> Result<Ex> {
        let mut g = self.take_group(level);
        let cond = self.eval(&mut g, cond);
        let [then, other] = numbers.map(|ex| self.nested(&mut g, |f, g| Ok(vec![f.eval(g, ex)])));
        let p = Param { var: self.builder.vars.fresh("start"), ty: Type::I64 };
        let exp = Exp::If { cond, then: then?, other: other? };
        let start = self.add_scalar(&mut g, &[p], exp).remove(0);
        self.group = Some(g);
        Ok(start)
    }

    /// An array that the branch did not bind: what its arms bind has no representation yet.
    fn known_array(&self, v: Var) -> Option<Arr> {
        match self.env.get(&v)? {
            Rep::Array(a) => Some(a.clone()),
            Rep::Scalar(_) => None,
        }
    }

    /// The data that a row is of, and its own dimensions, if its elements are beside each other.
    fn base(&self, arm: &Body, row: Atom) -> Option<(Var, Vec<FDim>)> {
        let of = |arr: &Arr, depth: usize| match arr.src {
            Src::Data(v, _) if arr.stride.is_none() && depth <= arr.inner.len() => {
                let apart = arr.inner[..depth].iter().any(|d| matches!(d, FDim::Steps(..)));
                (!apart).then(|| (v, arr.inner[depth..].to_vec()))
            }
            _ => None,
        };
        let v = row.var()?;
        let Some(stm) = arm.stms.iter().find(|s| s.pat.iter().any(|p| p.var == v)) else {
            return of(&self.known_array(v)?, 0);
        };
        match &stm.exp {
            Exp::Atom(a) => self.base(arm, *a),
            Exp::Index(arr, at) => {
                let own = arm.stms.iter().any(|s| s.pat.iter().any(|p| p.var == *arr));
                if own { None } else { of(&self.known_array(*arr)?, at.len()) }
            }
            Exp::If { then, other, .. } => {
                let k = stm.pat.iter().position(|p| p.var == v)?;
                let (a, b) = (self.base(then, then.results[k])?, self.base(other, other.results[k])?);
                (a == b).then_some(a)
            }
            _ => None,
        }
    }
}

/// True if an arm computes indices, and takes rows at them.
fn is_view(arm: &Body) -> bool {
    arm.stms.iter().all(|s| match &s.exp {
        Exp::Atom(_) => true,
        Exp::Prim(op, _) => time(*op) == Time::Short,
        Exp::Index(..) => !s.pat[0].ty.is_scalar(),
        Exp::If { then, other, .. } => is_view(then) && is_view(other),
        _ => false,
    })
}
