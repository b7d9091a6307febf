//! Sizes to be found, and equations between sizes.
//!
//! ```text
//! zip xs ys              the `n` of `zip` is the size of xs; that of ys must be the same
//! if c then xs else ys   the size of the result is that of both, if they agree, else it is unknown
//! ```
//!
//! A size that is asked for (of a parameter, of a result) *is* what it is found to be: whatever else it meets must agree.
//! If values are only joined (arms, elements of a literal, arguments at one type parameter), sizes *flow* together and may
//! differ, unless something asks for the size of the result.

use super::Check;
use super::report::Site;
use super::term::{Atom, Term};
use super::types::Dim;
use super::unknowns::Kind;

/// An equation that waits until more is known.
pub(super) type Equation = (Term, Term, Site);

impl<'p> Check<'p> {
    /// A value of one size where another is wanted.
    pub(super) fn equate(&mut self, from: &Dim, into: &Dim, site: &Site) {
        let Dim::Is(asked) = into else { return };
        let mut site = *site;
        if let Some(m) = asked.as_meta().filter(|m| self.terms.metas[*m as usize].is.is_some()) {
            site.first = self.terms.metas[m as usize].at;
            // Asked for a second time, of another value: what is joined there has one size.
            let is_other = self.resolve_dim(from) != self.resolve_dim(into);
            if is_other && self.kind(m) != Kind::Loose && !site.coerced {
                self.tighten(into);
                self.tighten(from);
            }
        }
        let Some(into) = self.resolve(asked) else { return };
        match (self.resolve_dim(from), into.as_meta()) {
            (Dim::Is(from), _) if from != into => self.equate_terms(from, into, &site),
            (Dim::Any | Dim::Exists(_), Some(m)) => {
                self.terms.metas[m as usize].any |= self.kind(m) == Kind::Loose
            }
            _ => {}
        }
    }

    pub(super) fn equate_terms(&mut self, from: Term, into: Term, site: &Site) {
        let kind = |cx: &Self, t: &Term| t.as_meta().map(|m| (m, cx.kind(m)));
        match (kind(self, &from), kind(self, &into)) {
            _ if site.coerced => self.equations.soft.push((from, into, *site)),
            (_, Some((m, Kind::Loose))) => self.join_with(m, Dim::Is(from), site),
            (_, Some((m, Kind::Implicit))) => self.found_to_be(m, from, site),
            (Some((m, Kind::Implicit)), _) => self.found_to_be(m, into, site),
            (_, Some((m, Kind::Parameter))) => self.found_to_be(m, from, site),
            (Some((m, Kind::Loose)), None) => self.found_to_be(m, into, site),
            (Some((m, Kind::Parameter)), None) => self.found_to_be(m, into, site),
            (None, None) => self.solve(from, into, site),
        }
    }

    /// A join whose size is asked for: what flows into it must agree, unless it is known to differ.
    fn tighten(&mut self, dim: &Dim) {
        let Dim::Is(joined) = self.resolve_dim(dim) else { return };
        let Some(m) = joined.as_meta().filter(|m| self.kind(*m) == Kind::Loose) else { return };
        if self.join(m, false) {
            return;
        }
        let meta = &mut self.terms.metas[m as usize];
        meta.kind = Kind::Implicit;
        let flows = std::mem::take(&mut meta.flows);
        flows.iter().for_each(|(from, site)| self.equate(from, &Dim::Is(joined.clone()), site));
    }

    fn join_with(&mut self, m: u32, from: Dim, site: &Site) {
        let level = self.terms.metas[m as usize].level;
        if let Dim::Is(term) = &from {
            if self.level_of(term) > level {
                self.terms.metas[m as usize].any = true;
                return;
            }
            self.lower_levels(term, level);
        }
        let flows = &mut self.terms.metas[m as usize].flows;
        if flows.is_empty() {
            self.equations.joins.push(m);
        }
        if !flows.iter().any(|(known, _)| *known == from) {
            flows.push((from, *site));
        }
    }

    fn lower_levels(&mut self, term: &Term, level: u32) {
        for atom in term.atoms() {
            if let Atom::Meta(m) = atom {
                let meta = &mut self.terms.metas[m as usize];
                meta.level = meta.level.min(level);
            }
        }
    }

    /// True if a size stands in a term, perhaps in a computation that the term mentions.
    pub(super) fn contains(&self, term: &Term, m: u32) -> bool {
        term.atoms().any(|atom| match atom {
            Atom::Local(_) => false,
            Atom::Meta(other) => other == m,
            Atom::Opaque(o) => {
                let key = self.terms.opaques[o as usize]
                    .key
                    .as_ref()
                    .filter(|_| self.terms.opaques[o as usize].open);
                key.is_some_and(|(_, args)| args.iter().any(|t| self.contains(t, m)))
            }
        })
    }

    /// The size is found; what flows into it must agree.
    pub(super) fn found_to_be(&mut self, m: u32, term: Term, site: &Site) {
        let Some(term) = self.resolve(&term) else { return };
        if self.terms.metas[m as usize].is.is_some() {
            return self.equate(&Dim::Is(term), &Dim::Is(Term::atom(Atom::Meta(m))), site);
        }
        if term.as_meta() == Some(m) {
            return;
        }
        if term.atoms().any(|a| a == Atom::Meta(m)) {
            return self.solve(Term::atom(Atom::Meta(m)), term, site);
        }
        if self.contains(&term, m) {
            self.terms.metas[m as usize].any = true;
            return;
        }
        let level = self.terms.metas[m as usize].level;
        if self.level_of(&term) > level {
            // Another one for every call of a function inside.
            self.terms.metas[m as usize].any = true;
            return;
        }
        if let Some(n @ ..=-1) = term.as_constant() {
            return self.negative(n, site);
        }
        self.lower_levels(&term, level);
        let meta = &mut self.terms.metas[m as usize];
        (meta.is, meta.at) = (Some(term.clone()), site.at);
        let flows = std::mem::take(&mut meta.flows);
        flows.iter().for_each(|(from, site)| self.equate(from, &Dim::Is(term.clone()), site));
    }

    /// Solves an equation for a size that stands in it once, or decides it if all is known.
    fn solve(&mut self, from: Term, into: Term, site: &Site) {
        let Some(difference) = from.minus(&into) else { return };
        let mut open: Vec<u32> = Vec::new();
        for atom in difference.atoms() {
            if let Atom::Meta(m) = atom
                && !open.contains(&m)
            {
                open.push(m);
            }
        }
        if open.is_empty() {
            return self.decide(from, into, &difference, site);
        }
        open.retain(|m| self.kind(*m) != Kind::Loose);
        if let [m] = open[..]
            && let Some(term) = solved_for(&difference, Atom::Meta(m))
        {
            return self.found_to_be(m, term, site);
        }
        self.equations.deferred.push((from, into, *site));
    }
}

/// Value of the atom if the difference is zero; `None` unless the atom occurs once in it and the rest can be divided by its factors.
pub(super) fn solved_for(difference: &Term, atom: Atom) -> Option<Term> {
    let mut with = difference.products().iter().filter(|(product, _)| product.contains(&atom));
    let (Some((product, factor)), None) = (with.next(), with.next()) else { return None };
    let mut rest = product.clone();
    rest.remove(rest.iter().position(|a| *a == atom)?);
    if rest.contains(&atom) {
        return None;
    }
    let part = Term::product(product.clone(), *factor);
    let divisor = Term::product(rest, -*factor);
    difference.minus(&part)?.divided(&divisor)
}
