//! The end of a definition: equations that are left are tried again, wishes are followed, and sizes that flowed together are joined.

use super::Check;
use super::report::Site;
use super::solve::solved_for;
use super::term::{Atom, Term};
use super::types::Dim;
use super::unknowns::Kind;

/// The work that was there before a function.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    deferred: usize,
    soft: usize,
    joins: usize,
}

impl<'p> Check<'p> {
    pub(super) fn mark(&self) -> Mark {
        Mark {
            deferred: self.equations.deferred.len(),
            soft: self.equations.soft.len(),
            joins: self.equations.joins.len(),
        }
    }

    /// Finds what can be found of the sizes since a mark.
    pub(super) fn settle(&mut self, mark: Mark) {
        loop {
            let mut progress = self.retry(mark);
            for i in mark.joins..self.equations.joins.len() {
                progress |= self.join(self.equations.joins[i], false);
            }
            if !progress {
                progress = self.follow_wishes(mark);
            }
            if !progress {
                break;
            }
        }
        for m in self.equations.joins.split_off(mark.joins) {
            let meta = &mut self.terms.metas[m as usize];
            meta.any |= meta.is.is_none() && meta.kind == Kind::Loose;
        }
        self.retry(mark);
        self.equations.deferred.truncate(mark.deferred);
        self.equations.soft.truncate(mark.soft);
    }

    /// True if fewer equations wait than before.
    fn retry(&mut self, mark: Mark) -> bool {
        let waiting = self.equations.deferred.split_off(mark.deferred);
        let before = waiting.len();
        waiting.into_iter().for_each(|(from, into, site)| self.equate(&Dim::Is(from), &Dim::Is(into), &site));
        self.equations.deferred.len() - mark.deferred < before
    }

    /// Gives a size that nothing asks for the value that a coercion says, or that of a size it is joined with. True if there was one.
    fn follow_wishes(&mut self, mark: Mark) -> bool {
        for i in mark.soft..self.equations.soft.len() {
            let (from, into, site) = self.equations.soft[i].clone();
            let (Some(from), Some(into)) = (self.resolve(&from), self.resolve(&into)) else { continue };
            if from != into && (self.wish(&from, &into, &site) || self.wish_parts(&from, &into, &site)) {
                return true;
            }
        }
        for i in mark.deferred..self.equations.deferred.len() {
            let (from, into, site) = self.equations.deferred[i].clone();
            let (Some(from), Some(into)) = (self.resolve(&from), self.resolve(&into)) else { continue };
            if self.wish_parts(&from, &into, &site) {
                return true;
            }
        }
        (mark.joins..self.equations.joins.len()).any(|i| self.join(self.equations.joins[i], true))
    }

    /// Two sums or products of which the parts are equal.
    fn wish_parts(&mut self, from: &Term, into: &Term, site: &Site) -> bool {
        let (Some(a), Some(b)) = (from.written(), into.written()) else { return false };
        if a.is_sum != b.is_sum {
            return false;
        }
        let parts: Vec<(Term, Term)> = a.parts.iter().cloned().zip(b.parts.iter().cloned()).collect();
        let found = parts.iter().map(|(a, b)| self.wish(a, b, site) || self.wish_parts(a, b, site));
        found.fold(false, |any, one| any | one)
    }

    fn wish(&mut self, from: &Term, into: &Term, site: &Site) -> bool {
        let Some(difference) = from.minus(into) else { return false };
        let open: Vec<u32> =
            difference.atoms().filter_map(|a| if let Atom::Meta(m) = a { Some(m) } else { None }).collect();
        let [m] = open[..] else { return false };
        let (Kind::Implicit | Kind::Loose, Some(term)) =
            (self.kind(m), solved_for(&difference, Atom::Meta(m)))
        else {
            return false;
        };
        let flows = std::mem::take(&mut self.terms.metas[m as usize].flows);
        self.found_to_be(m, term, site);
        let coerced = |(from, site): &(Dim, Site)| (from.clone(), Site { coerced: true, ..*site });
        let flows: Vec<_> = flows.iter().map(coerced).collect();
        flows.iter().for_each(|(from, site)| self.equate(from, &Dim::Is(Term::atom(Atom::Meta(m))), site));
        self.terms.metas[m as usize].is.is_some()
    }

    /// Decides what a join is, if that is known; true if something was found.
    pub(super) fn join(&mut self, m: u32, softly: bool) -> bool {
        let meta = &self.terms.metas[m as usize];
        if meta.is.is_some() || meta.any {
            return false;
        }
        let (level, flows) = (meta.level, meta.flows.clone());
        let own = Term::atom(Atom::Meta(m));
        let mut terms: Vec<(Term, Site)> = Vec::new();
        for (from, site) in &flows {
            match self.resolve_dim(from) {
                Dim::Is(term) if term == own || terms.iter().any(|(t, _)| *t == term) => {}
                Dim::Is(term) if self.level_of(&term) <= level && !self.contains(&term, m) => {
                    terms.push((term, *site));
                }
                _ => return !std::mem::replace(&mut self.terms.metas[m as usize].any, true),
            }
        }
        let is_open = |cx: &Self, t: &Term| t.as_meta().is_some_and(|m| cx.kind(m) == Kind::Implicit);
        match &terms[..] {
            [] => false,
            [(term, site)] => {
                let (term, site) = (term.clone(), *site);
                self.terms.metas[m as usize].flows.clear();
                self.found_to_be(m, term, &site);
                true
            }
            [(a, site), (b, _), ..] if softly && (is_open(self, a) || is_open(self, b)) => {
                let (a, b, site) = (a.clone(), b.clone(), *site);
                match is_open(self, &a) {
                    true => self.equate_terms(b, a, &site),
                    false => self.equate_terms(a, b, &site),
                }
                true
            }
            _ => {
                let decided = terms.iter().all(|(t, _)| !t.atoms().any(|a| matches!(a, Atom::Meta(_))));
                self.terms.metas[m as usize].any |= decided;
                decided
            }
        }
    }
}
