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

impl Lower<'_> {
    /// The body of a function in which those stand in place of their calls that call it in turn; nothing if there are none, or it becomes too large.
    pub(super) fn with_partners(&mut self, id: FunId, body: &Body) -> R<Option<Body>> {
        if !self.calls_partner(id, body) {
            return Ok(None);
        }
        self.scope.blocks.push(Block::default());
        let mut left = MAX_INLINE;
        let placed = self.place_partners(id, body.clone(), &mut left);
        let stms = self.scope.blocks.pop().unwrap_or_default().stms;
        placed?;
        Ok((left > 0).then(|| Body { stms, results: body.results.clone() }))
    }

    /// Emits a body's statements, while statements may be added.
    fn place_partners(&mut self, id: FunId, body: Body, left: &mut usize) -> R<()> {
        for stm in body.stms {
            let Stm { pat, exp, span } = stm;
            match exp {
                Exp::Call(to, args) if *left > 0 && self.is_partner(id, to) => {
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

    /// True if one of a body's calls leads to `id` in turn.
    fn calls_partner(&self, id: FunId, body: &Body) -> bool {
        let mut called = Vec::new();
        body.callees(&mut called);
        called.into_iter().any(|to| self.is_partner(id, to))
    }

    /// True if a function other than `id` whose body is known calls `id`, itself or by others.
    fn is_partner(&self, id: FunId, other: FunId) -> bool {
        other != id && self.out.leads_to(other, id)
    }
}
