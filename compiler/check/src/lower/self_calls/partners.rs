//! Functions that call each other in turn.
//!
//! ```text
//! def even (xs: []i64) (i: i64) : bool = if i == length xs then true else odd xs (i + 1)
//! def odd (xs: []i64) (i: i64) : bool = if i == length xs then false else even xs (i + 1)
//!
//! def even xs i = if i == length xs then true else let i = i + 1 in
//!                 if i == length xs then false else even xs (i + 1)
//! ```

use super::super::build::Block;
use super::super::{Lower, R, deep};
use super::{MAX_INLINE, branch};
use par_ir::core::{Body, Exp, FunId, Stm};
use std::collections::HashSet;

impl Lower<'_> {
    /// The body of a function in which those stand in place of their calls that call it in turn; nothing if there are none, or it becomes too large.
    pub(super) fn with_partners(&mut self, id: FunId, body: &Body) -> R<Option<Body>> {
        if !self.calls_partner(id, body) {
            return Ok(None);
        }
        self.blocks.push(Block::default());
        let mut left = MAX_INLINE;
        let placed = self.place_partners(id, body.clone(), &mut left);
        let stms = self.blocks.pop().unwrap_or_default().stms;
        placed?;
        Ok((left > 0).then(|| Body { stms, results: body.results.clone() }))
    }

    /// Emits a body's statements, while statements may be added.
    fn place_partners(&mut self, id: FunId, body: Body, left: &mut usize) -> R<()> {
        for stm in body.stms {
            let Stm { pat, exp, span } = stm;
            match exp {
                Exp::Call(to, args) if *left > 0 && self.comes_back(id, to, &mut HashSet::new()) => {
                    let copy = self.body_of_call(to, &args);
                    *left = left.saturating_sub(copy.statements());
                    let results = copy.results.clone();
                    deep(|| self.place_partners(id, copy, left))?;
                    for (p, a) in pat.into_iter().zip(results) {
                        self.push_stm(Stm { pat: vec![p], exp: Exp::Atom(a), span });
                    }
                }
                Exp::If { cond, then, other } => {
                    let arms = [then, other].map(|arm| {
                        let results = arm.results.clone();
                        let (block, ()) = self.in_block(|lo| deep(|| lo.place_partners(id, arm, left)))?;
                        Ok(Body { stms: block.stms, results })
                    });
                    let arms = arms.into_iter().collect::<R<Vec<Body>>>()?;
                    self.push_stm(Stm { pat, exp: branch(cond, arms), span });
                }
                exp => self.push_stm(Stm { pat, exp, span }),
            }
        }
        Ok(())
    }

    /// True if one of a function's calls outside of loops and operators leads to `id` in turn.
    fn calls_partner(&self, id: FunId, body: &Body) -> bool {
        calls_of(body).into_iter().any(|to| self.comes_back(id, to, &mut HashSet::new()))
    }

    /// True if a function other than `id` whose body is known calls `id`, itself or by others.
    fn comes_back(&self, id: FunId, from: FunId, seen: &mut HashSet<FunId>) -> bool {
        let is_new = from != id && seen.insert(from);
        is_new
            && calls_of(&self.out.funs[from.0 as usize].body)
                .into_iter()
                .any(|to| to == id || self.comes_back(id, to, seen))
    }
}

/// The functions that a body calls outside of loops and operators.
fn calls_of(body: &Body) -> Vec<FunId> {
    let of = |stm: &Stm| match &stm.exp {
        Exp::Call(to, _) => vec![*to],
        Exp::If { then, other, .. } => {
            [then, other].into_iter().flat_map(|arm| deep(|| calls_of(arm))).collect()
        }
        _ => Vec::new(),
    };
    body.stms.iter().flat_map(of).collect()
}
