//! Sizes to be found, and equations between sizes.
//!
//! ```text
//! zip xs ys              the `n` of `zip` is the size of xs; that of ys must be the same
//! if c then xs else ys   the size of the result is that of both, if they agree, else it is unknown
//! ```
//!
//! A size that is asked for (of a parameter, of a result) *is* what it is found to be: whatever else it meets must agree.
//! Where values are only joined (arms, elements of a literal, arguments at one type parameter), sizes *flow* together and may
//! differ, unless something asks for the size of the result.

use super::Check;
use super::report::Site;
use super::term::{Atom, Term};
use super::types::Dim;
use crate::thir::{Expr, LocalId};
use par_runtime::Span;

/// Where a size to be found comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A parameter without a declared type has it.
    Parameter,
    /// A size parameter of a function that is used here.
    Implicit,
    /// Of values that are joined.
    Loose,
}

/// A size to be found.
pub(super) struct Meta {
    pub(super) kind: Kind,
    /// Nesting depth of functions at which it belongs: what is local to inner ones cannot be it.
    pub(super) level: u32,
    pub(super) is: Option<Term>,
    /// Where it was found.
    pub(super) at: Span,
    /// Not one size, or none that can be named.
    pub(super) any: bool,
    /// What is joined.
    flows: Vec<(Dim, Site)>,
}

/// A size that is computed.
pub(super) struct Opaque<'p> {
    pub(super) level: u32,
    /// How: the same computation gives the same size.
    pub(super) key: Option<(String, Vec<Term>)>,
    /// Sizes to be found are in it.
    open: bool,
    /// How many computations it is.
    weight: usize,
    pub(super) expr: Option<&'p Expr>,
    /// A number that is it, an array whose outermost size it is.
    pub(super) value_of: Option<LocalId>,
    pub(super) length_of: Option<LocalId>,
    pub(super) span: Span,
}

/// Computations of more parts than this are not compared.
const MAX_WEIGHT: usize = 40;

/// An equation that waits until more is known.
pub(super) type Equation = (Term, Term, Site);

/// The work that was there before a function.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    deferred: usize,
    soft: usize,
    joins: usize,
}

impl<'p> Check<'p> {
    pub(super) fn meta(&mut self, kind: Kind) -> Term {
        let (level, at) = (self.level, Span::default());
        self.metas.push(Meta { kind, level, is: None, at, any: false, flows: Vec::new() });
        Term::atom(Atom::Meta(self.metas.len() as u32 - 1))
    }

    /// A new unknown size.
    pub(super) fn unknown(&mut self, span: Span) -> Term {
        self.opaque(self.level, None, None, span)
    }

    fn opaque(
        &mut self,
        level: u32,
        key: Option<(String, Vec<Term>)>,
        expr: Option<&'p Expr>,
        span: Span,
    ) -> Term {
        let inner = |atom| match atom {
            Atom::Opaque(o) => (self.opaques[o as usize].open, self.opaques[o as usize].weight),
            Atom::Meta(_) => (true, 0),
            Atom::Local(_) => (false, 0),
        };
        let parts = key.iter().flat_map(|(_, args)| args).flat_map(Term::atoms).map(inner);
        let (open, weight) = parts.fold((false, 1), |(any, sum), (open, weight)| (any || open, sum + weight));
        let key = key.filter(|_| weight <= MAX_WEIGHT);
        self.opaques.push(Opaque { level, key, open, weight, expr, value_of: None, length_of: None, span });
        Term::atom(Atom::Opaque(self.opaques.len() as u32 - 1))
    }

    /// What a computation gives.
    pub(super) fn computed(&mut self, head: String, args: Vec<Term>, expr: Option<&'p Expr>) -> Term {
        let key = (head, args);
        if let Some(known) = self.computations.get(&key) {
            return Term::atom(Atom::Opaque(*known));
        }
        let level = key.1.iter().map(|t| self.level_of(t)).max().unwrap_or(0);
        let span = expr.map_or(Span::default(), |e| e.span);
        self.computations.insert(key.clone(), self.opaques.len() as u32);
        self.opaque(level, Some(key), expr, span)
    }

    fn level_of(&self, term: &Term) -> u32 {
        let level = |atom| match atom {
            Atom::Local(l) => self.levels.get(&l).copied().unwrap_or(0),
            Atom::Opaque(o) => self.opaques[o as usize].level,
            Atom::Meta(_) => 0,
        };
        term.atoms().map(level).max().unwrap_or(0)
    }

    /// The term with what was found put in; nothing if a part of it is unknown.
    pub(super) fn resolve(&mut self, term: &Term) -> Option<Term> {
        let plain = |atom| match atom {
            Atom::Local(_) => true,
            Atom::Meta(m) => self.metas[m as usize].is.is_none() && !self.metas[m as usize].any,
            Atom::Opaque(o) => !self.opaques[o as usize].open,
        };
        if term.atoms().all(plain) {
            return Some(term.clone());
        }
        super::deep(|| {
            term.replaced(&mut |atom| match atom {
                Atom::Local(_) => Some(Term::atom(atom)),
                Atom::Meta(m) => match &self.metas[m as usize] {
                    Meta { any: true, .. } => None,
                    Meta { is: Some(t), .. } => {
                        let t = t.clone();
                        self.resolve(&t)
                    }
                    _ => Some(Term::atom(atom)),
                },
                Atom::Opaque(o) => self.resolve_computation(o),
            })
        })
    }

    fn resolve_computation(&mut self, o: u32) -> Option<Term> {
        let opaque = &self.opaques[o as usize];
        let expr = opaque.expr;
        match opaque.key.clone().filter(|_| opaque.open) {
            Some((head, args)) => {
                let args = args.iter().map(|t| self.resolve(t)).collect::<Option<_>>()?;
                Some(self.computed(head, args, expr))
            }
            None => Some(Term::atom(Atom::Opaque(o))),
        }
    }

    pub(super) fn resolve_dim(&mut self, dim: &Dim) -> Dim {
        match dim {
            Dim::Is(term) => self.resolve(term).map_or(Dim::Any, Dim::Is),
            other => other.clone(),
        }
    }

    fn kind(&self, m: u32) -> Kind {
        self.metas[m as usize].kind
    }

    /// A value of one size where another is wanted.
    pub(super) fn equate(&mut self, from: &Dim, into: &Dim, site: &Site) {
        let Dim::Is(asked) = into else { return };
        let mut site = *site;
        if let Some(m) = asked.as_meta().filter(|m| self.metas[*m as usize].is.is_some()) {
            site.first = self.metas[m as usize].at;
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
            (Dim::Any | Dim::Exists(_), Some(m)) => self.metas[m as usize].any |= self.kind(m) == Kind::Loose,
            _ => {}
        }
    }

    fn equate_terms(&mut self, from: Term, into: Term, site: &Site) {
        let kind = |cx: &Self, t: &Term| t.as_meta().map(|m| (m, cx.kind(m)));
        match (kind(self, &from), kind(self, &into)) {
            _ if site.coerced => self.soft.push((from, into, *site)),
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
        let meta = &mut self.metas[m as usize];
        meta.kind = Kind::Implicit;
        let flows = std::mem::take(&mut meta.flows);
        flows.iter().for_each(|(from, site)| self.equate(from, &Dim::Is(joined.clone()), site));
    }

    fn join_with(&mut self, m: u32, from: Dim, site: &Site) {
        let level = self.metas[m as usize].level;
        if let Dim::Is(term) = &from {
            if self.level_of(term) > level {
                self.metas[m as usize].any = true;
                return;
            }
            self.lower_levels(term, level);
        }
        let flows = &mut self.metas[m as usize].flows;
        if flows.is_empty() {
            self.joins.push(m);
        }
        if !flows.iter().any(|(known, _)| *known == from) {
            flows.push((from, *site));
        }
    }

    fn lower_levels(&mut self, term: &Term, level: u32) {
        for atom in term.atoms() {
            if let Atom::Meta(m) = atom {
                let meta = &mut self.metas[m as usize];
                meta.level = meta.level.min(level);
            }
        }
    }

    /// True if a size stands in a term, perhaps in a computation that the term mentions.
    fn contains(&self, term: &Term, m: u32) -> bool {
        term.atoms().any(|atom| match atom {
            Atom::Local(_) => false,
            Atom::Meta(other) => other == m,
            Atom::Opaque(o) => {
                let key = self.opaques[o as usize].key.as_ref().filter(|_| self.opaques[o as usize].open);
                key.is_some_and(|(_, args)| args.iter().any(|t| self.contains(t, m)))
            }
        })
    }

    /// The size is found; what flows into it must agree.
    fn found_to_be(&mut self, m: u32, term: Term, site: &Site) {
        let Some(term) = self.resolve(&term) else { return };
        if self.metas[m as usize].is.is_some() {
            return self.equate(&Dim::Is(term), &Dim::Is(Term::atom(Atom::Meta(m))), site);
        }
        if term.as_meta() == Some(m) {
            return;
        }
        if term.atoms().any(|a| a == Atom::Meta(m)) {
            return self.solve(Term::atom(Atom::Meta(m)), term, site);
        }
        if self.contains(&term, m) {
            self.metas[m as usize].any = true;
            return;
        }
        let level = self.metas[m as usize].level;
        if self.level_of(&term) > level {
            // Another one for every call of a function inside.
            self.metas[m as usize].any = true;
            return;
        }
        if let Some(n @ ..=-1) = term.as_constant() {
            return self.negative(n, site);
        }
        self.lower_levels(&term, level);
        let meta = &mut self.metas[m as usize];
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
        self.deferred.push((from, into, *site));
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { deferred: self.deferred.len(), soft: self.soft.len(), joins: self.joins.len() }
    }

    /// Finds what can be found of the sizes since a mark.
    pub(super) fn settle(&mut self, mark: Mark) {
        loop {
            let mut progress = self.retry(mark);
            for i in mark.joins..self.joins.len() {
                progress |= self.join(self.joins[i], false);
            }
            if !progress {
                progress = self.follow_wishes(mark);
            }
            if !progress {
                break;
            }
        }
        for m in self.joins.split_off(mark.joins) {
            let meta = &mut self.metas[m as usize];
            meta.any |= meta.is.is_none() && meta.kind == Kind::Loose;
        }
        self.retry(mark);
        self.deferred.truncate(mark.deferred);
        self.soft.truncate(mark.soft);
    }

    /// True if fewer equations wait than before.
    fn retry(&mut self, mark: Mark) -> bool {
        let waiting = self.deferred.split_off(mark.deferred);
        let before = waiting.len();
        waiting.into_iter().for_each(|(from, into, site)| self.equate(&Dim::Is(from), &Dim::Is(into), &site));
        self.deferred.len() - mark.deferred < before
    }

    /// Where nothing asks for a size, it is what a coercion says or what it is joined with.
    fn follow_wishes(&mut self, mark: Mark) -> bool {
        for i in mark.soft..self.soft.len() {
            let (from, into, site) = self.soft[i].clone();
            let (Some(from), Some(into)) = (self.resolve(&from), self.resolve(&into)) else { continue };
            if from != into && (self.wish(&from, &into, &site) || self.wish_parts(&from, &into, &site)) {
                return true;
            }
        }
        for i in mark.deferred..self.deferred.len() {
            let (from, into, site) = self.deferred[i].clone();
            let (Some(from), Some(into)) = (self.resolve(&from), self.resolve(&into)) else { continue };
            if self.wish_parts(&from, &into, &site) {
                return true;
            }
        }
        (mark.joins..self.joins.len()).any(|i| self.join(self.joins[i], true))
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
        let flows = std::mem::take(&mut self.metas[m as usize].flows);
        self.found_to_be(m, term, site);
        let coerced = |(from, site): &(Dim, Site)| (from.clone(), Site { coerced: true, ..*site });
        let flows: Vec<_> = flows.iter().map(coerced).collect();
        flows.iter().for_each(|(from, site)| self.equate(from, &Dim::Is(Term::atom(Atom::Meta(m))), site));
        self.metas[m as usize].is.is_some()
    }

    /// Decides what a join is, if that is known; true if something was found.
    pub(super) fn join(&mut self, m: u32, softly: bool) -> bool {
        let meta = &self.metas[m as usize];
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
                _ => return !std::mem::replace(&mut self.metas[m as usize].any, true),
            }
        }
        let is_open = |cx: &Self, t: &Term| t.as_meta().is_some_and(|m| cx.kind(m) == Kind::Implicit);
        match &terms[..] {
            [] => false,
            [(term, site)] => {
                let (term, site) = (term.clone(), *site);
                self.metas[m as usize].flows.clear();
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
                self.metas[m as usize].any |= decided;
                decided
            }
        }
    }
}

/// What the atom is if the difference is zero and the atom stands in one of its products.
fn solved_for(difference: &Term, atom: Atom) -> Option<Term> {
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
