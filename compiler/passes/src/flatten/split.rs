//! Nests in chunks: every level of a nest but the innermost, and every batch of calls, is worked through in ranges of its positions.
//!
//! ```text
//! map n (\ i -> sum (map f (iota i)))
//!
//! sums = split n \ first count {                       -- as many rows at a time as memory allows
//!     lens = kernel map flat count { first + pos }
//!     d    = make_desc lens
//!     sums = kernel reduce rows count seg d { … }      -- only this chunk's elements are ever there
//! }
//! ```
//!
//! Below the split everything is flattened as ever, for a level that is a range of the level above ([`Kind::Part`]): what is free
//! in the nest is read where it is. The results of the chunks are appended to each other by the executor, so they leave
//! in packed form, or as views.

use super::canonical::{Form, has_view};
use super::nest::{Kind, LevelId};
use super::rep::Rep;
use super::{Flattener, Result};
use par_ir::core::{Body, Exp, Lambda, Param};
use par_ir::flat::{self, Op, Ty};
use par_ir::visit::{Code, Subst};
use par_ir::{Atom, Prim, Var};

/// When nests are split into chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Splitting {
    /// All positions at once.
    #[default]
    Never,
    /// In chunks, if memory does not suffice for all at once.
    Memory,
    /// Always, in chunks of so many positions at most.
    Rows(u64),
}

impl Splitting {
    /// Positions in a chunk at most; none: there are no chunks.
    pub fn most(self) -> Option<u64> {
        match self {
            Splitting::Never => None,
            Splitting::Memory => Some(u64::MAX),
            Splitting::Rows(n) => Some(n.max(1)),
        }
    }
}

impl Flattener<'_> {
    /// True if the body of a nest is to run in chunks: it has parallel operators of its own, whose results might need more
    /// memory than there is. So has a nest inside: where one position of the outer one alone is too much, that one is cut.
    /// A body that shows values, or changes state from outside, runs for all rows together.
    pub fn is_split(&self, lam: &Lambda) -> bool {
        self.facts.options.splitting != Splitting::Never
            && !self.sequential(&lam.body)
            && !self.is_whole(&lam.body)
    }

    /// True for code that runs for all positions together: it shows values, or changes state from outside.
    pub fn is_whole(&self, body: &Body) -> bool {
        traces(body) || self.changes_state(body)
    }

    /// Flattens a lambda's body in chunks of the positions of `child`, where its parameters are bound; its results there.
    pub fn lambda_in_chunks(&mut self, child: LevelId, lam: &Lambda) -> Result<Vec<Rep>> {
        let mut names = Subst::default();
        let (mut made, mut params) = (Vec::new(), Vec::new());
        for (a, ty) in lam.body.results.iter().zip(&lam.ret) {
            if let Some(v) = a.var().filter(|v| is_bound_in(&lam.body, *v) && !names.contains_key(v)) {
                let var = self.builder.vars.fresh_like(v);
                params.push(Param { var, ty: ty.substituted(&names) });
                names.insert(v, var.into());
                made.push(*a);
            }
        }
        let (span, rows) = (self.builder.span, self.count(child));
        let mut forms = Vec::new();
        let split = self.split(child, rows, |f, part| {
            f.stms(part, &lam.body.stms)?;
            f.flush();
            for (a, p) in made.iter().zip(&params) {
                let as_view = has_view(&p.ty) && f.is_shared(part, *a);
                forms.push(if as_view { Form::View } else { Form::Packed });
            }
            let values = f.formed(part, &made, &forms);
            Ok(f.compacted(part, &made, &forms, values))
        })?;
        self.at(span);
        let pat = self.form_params(child, &params, &forms);
        self.builder.emit(pat.clone(), split);
        self.adopt(child, &params, &forms, &pat);
        Ok(lam.body.results.iter().map(|a| self.rep(a.substituted(&names))).collect())
    }

    /// The operation that works through `rows` positions of a level in chunks.
    pub fn split(
        &mut self,
        level: LevelId,
        rows: Atom,
        build: impl FnOnce(&mut Self, LevelId) -> Result<Vec<Atom>>,
    ) -> Result<Op> {
        let size = |f: &mut Self, name: &str| flat::Param {
            var: f.builder.vars.fresh(name),
            ty: Ty::Scalar(Prim::I64),
        };
        let (first, count) = (size(self, "first"), size(self, "count"));
        let part = self.shapes.push_level(level, Kind::Part { first: first.var.into(), n: count.var.into() });
        let body = self.block(|f| {
            [first, count].iter().for_each(|p| f.builder.declare(p));
            build(f, part)
        })?;
        let most = self.facts.options.splitting.most().unwrap_or(u64::MAX);
        Ok(Op::Split { rows, most, first: first.var, count: count.var, body })
    }
}

/// True if a statement of the body itself binds a variable.
pub fn is_bound_in(body: &Body, v: Var) -> bool {
    body.stms.iter().any(|s| s.pat.iter().any(|p| p.var == v))
}

/// True if a body shows values.
pub fn traces(body: &Body) -> bool {
    body.stms.iter().any(|s| matches!(s.exp, Exp::Trace { .. }) || s.exp.bodies().into_iter().any(traces))
}
