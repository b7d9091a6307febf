//! Loops. What the body consumes of the loop's state is consumed of its initial value, before the first iteration.
//!
//! ```text
//! loop (xs, k) = (ys, 0) while k < n do (step xs, k + 1)     -- consumes ys
//! ```
//!
//! So the body is walked twice: first to see what it consumes, then, with that consumed, for its errors.

use super::alias::{Alias, Root, Roots, leaves};
use super::bind::Kind;
use super::calls::{Given, Site};
use super::{Check, Frame};
use crate::thir::{Expr, ExprKind, LoopForm, Pat};
use par_ir::hash::HashMap;
use std::rc::Rc;

/// The state of a loop in one walk over its body.
struct State {
    /// With a root at every leaf.
    pattern: Alias,
    /// Result of the body, for the next iteration.
    next: Alias,
    mark: Root,
}

impl<'p> Check<'p> {
    /// `loop pat = init for … do body`.
    pub(super) fn loop_do(
        &mut self,
        e: &'p Expr,
        pat: &Pat,
        init: &'p Expr,
        form: &'p LoopForm,
        body: &'p Expr,
    ) -> Alias {
        let start = self.operand(init);
        let elements = match form {
            LoopForm::For(_, bound) | LoopForm::ForIn(_, bound) => self.expr(bound),
            LoopForm::While(_) => Alias::Scalar,
        };
        self.still_there(&start);
        let start = start.alias.fit(&pat.ty);
        let consumed = self.consumed_state(e, pat, form, &elements, body);
        let start = self.consume_start(init, pat, start, &consumed);
        let state = self.iteration(pat, form, &elements, body);
        self.next_is_new(&state, &consumed, body);
        self.loop_result(&state, start)
    }

    /// For each leaf of the state, whether the body consumes it, and where.
    fn consumed_state(
        &mut self,
        e: &'p Expr,
        pat: &Pat,
        form: &'p LoopForm,
        elements: &Alias,
        body: &'p Expr,
    ) -> Vec<Option<Rc<Site>>> {
        if let Some(known) = self.loops.get(&(e as *const Expr)) {
            return known.clone();
        }
        let before = self.consumed.clone();
        let quiet = std::mem::replace(&mut self.quiet, true);
        let state = self.iteration(pat, form, elements, body);
        let taken = std::mem::replace(&mut self.consumed, before);
        self.quiet = quiet;
        let pairs = leaves(&state.pattern, &state.next);
        let mut sites: Vec<Option<Rc<Site>>> =
            pairs.iter().map(|(root, _)| taken.get(root).cloned()).collect();
        // What takes the place of a consumed part in the next iteration is consumed then.
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for (i, (_, next)) in pairs.iter().enumerate() {
                let Some(site) = sites[i].clone() else { continue };
                let next = next.flat();
                for (j, (root, _)) in pairs.iter().enumerate() {
                    if next.contains(root) && sites[j].is_none() {
                        sites[j] = Some(site.clone());
                        changed = true;
                    }
                }
            }
        }
        self.loops.insert(e, sites.clone());
        sites
    }

    /// One iteration of the loop, with a state that is not known.
    fn iteration(&mut self, pat: &Pat, form: &'p LoopForm, elements: &Alias, body: &'p Expr) -> State {
        let mark = self.mark();
        self.frames.push(Frame { mark, is_loop: true, captured: Roots::new() });
        let pattern = self.open(pat, Kind::Own, false);
        match form {
            LoopForm::For(..) => {}
            LoopForm::ForIn(element, _) => self.bind(element, &Alias::Array(elements.flat())),
            LoopForm::While(cond) => drop(self.expr(cond)),
        }
        let next = self.expr(body).fit(&pat.ty);
        self.frames.pop();
        State { pattern, next, mark }
    }

    /// Consumes the parts of the initial value that the body consumes. Gives what is left of it.
    fn consume_start(
        &mut self,
        init: &'p Expr,
        pat: &Pat,
        start: Alias,
        consumed: &[Option<Rc<Site>>],
    ) -> Alias {
        if consumed.iter().all(Option::is_none) {
            return start;
        }
        let pattern = self.open(pat, Kind::Own, false);
        let parts = leaves(&pattern, &start);
        let given: Vec<Given> = parts
            .iter()
            .zip(consumed)
            .enumerate()
            .map(|(argument, ((_, part), site))| Given {
                argument,
                roots: part.flat(),
                span: init.span,
                place: None,
                consumed: site.is_some(),
            })
            .collect();
        self.overlaps(&given, &Roots::new(), "the loop");
        for (part, site) in given.iter().zip(consumed) {
            let Some(site) = site else { continue };
            let owner =
                part.roots.iter().find_map(|r| Some((self.info(*r).owner?, self.info(*r).name.clone())));
            let place = owner.or_else(|| site.place.clone());
            let site = Site { place, init: Some(init.span), ..(**site).clone() };
            self.consume(&part.roots, &Rc::new(site));
        }
        let left = parts.into_iter().zip(consumed);
        let left: HashMap<Root, Alias> = left
            .map(|((root, part), site)| (root, if site.is_some() { part.cleared() } else { part }))
            .collect();
        pattern.substituted(&left)
    }

    /// A part of the state that is consumed must be made anew by the body.
    fn next_is_new(&mut self, state: &State, consumed: &[Option<Rc<Site>>], body: &'p Expr) {
        let pairs = leaves(&state.pattern, &state.next);
        for (i, ((root, next), site)) in pairs.iter().zip(consumed).enumerate() {
            let Some(site) = site else { continue };
            let next = next.flat();
            let old = next.iter().find(|r| self.outlives(**r, state.mark));
            let twice = pairs
                .iter()
                .enumerate()
                .find(|(j, (_, p))| *j != i && !p.flat().is_disjoint(&next))
                .map(|(_, (r, _))| *r);
            if let Some(old) = old {
                return self.not_new(*root, *old, site, last(body));
            }
            if let Some(other) = twice {
                return self.not_apart(*root, other, site, last(body));
            }
        }
    }

    /// The initial value, or what the body gives.
    fn loop_result(&self, state: &State, start: Alias) -> Alias {
        let first: HashMap<Root, Alias> = leaves(&state.pattern, &start).into_iter().collect();
        let next = state.next.pruned(&|r| first.contains_key(&r) || self.outlives(r, state.mark));
        start.join(next.substituted(&first))
    }
}

/// The part of a body that is its value.
fn last(mut e: &Expr) -> &Expr {
    while let ExprKind::Let { body, .. } | ExprKind::LetFun { body, .. } | ExprKind::Attr(_, body) = &e.kind {
        e = body;
    }
    e
}
