//! Diagnostics about sizes that differ, or that nothing says to be equal.

use super::Check;
use super::term::{Atom, Term};
use crate::thir::{DefId, LocalId, PatKind};
use par_runtime::Span;
use par_syntax::{Diagnostic, Severity};

/// A function that is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Callee {
    Def(DefId),
    Local(LocalId),
    Other,
}

/// Why sizes must be equal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// An argument, by its number.
    Argument(Callee, usize),
    Result(Callee),
    Ascribed,
    Pattern,
    /// Of a slice.
    Update,
    /// The new value of a row, which may have another length.
    Row,
    Loop,
    Joined,
}

/// A place where sizes must be equal.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Site {
    /// The value.
    pub(super) at: Span,
    /// The place that requires the size; the default if it has none.
    pub(super) asked: Span,
    pub(super) what: What,
    /// The place where the size was found first, if it has one.
    pub(super) first: Span,
    /// Looked at when the program runs only.
    pub(super) coerced: bool,
}

impl Site {
    pub(super) fn new(at: Span, what: What) -> Site {
        Site { at, asked: Span::default(), what, first: Span::default(), coerced: false }
    }
}

/// As much of an expression is shown as a size.
const MAX_TEXT: usize = 30;

impl Check<'_> {
    /// No reports from here on, or again; gives back what was before.
    pub(super) fn silence(&mut self, silent: bool) -> bool {
        std::mem::replace(&mut self.silent, silent)
    }

    /// The place, if something may be said there.
    fn reported(&self, site: &Site) -> Option<Site> {
        let at = if site.at == Span::default() { self.here } else { site.at };
        let silent = self.silent || site.coerced || self.library.contains(&at.file);
        (!silent).then_some(Site { at, ..*site })
    }

    /// Two sizes of which all is known that will be: the value's, and the one that is asked for. Rows without elements say nothing about
    /// what replaces them, and a row of unknown size may become longer or shorter.
    pub(super) fn decide(&mut self, has: Term, asked: Term, difference: &Term, site: &Site) {
        let Some(site) = &self.reported(site) else { return };
        let replaces_empty = site.what == What::Row && asked.as_constant() == Some(0);
        match self.never_zero(difference) {
            true if replaces_empty => {}
            true => self.differ(&has, &asked, site),
            false if site.what == What::Row || [&has, &asked].into_iter().any(|t| self.is_unknown(t)) => {
                self.unknown_sizes(&has, &asked, site)
            }
            false => self.must_be_equal(&has, &asked, site),
        }
    }

    /// True if a difference is not zero, whatever the sizes are.
    fn never_zero(&self, difference: &Term) -> bool {
        let products = difference.products();
        let is_size = |a: &Atom| matches!(a, Atom::Local(l) if self.bindings.size_params.contains(l));
        let sizes = products.iter().all(|(product, _)| product.iter().all(is_size));
        let constant = products.iter().find(|(product, _)| product.is_empty()).map(|(_, n)| n.signum());
        sizes && constant.is_some_and(|sign| products.iter().all(|(_, n)| n.signum() == sign))
    }

    /// True if a size is that of a value which is computed, and has no name.
    fn is_unknown(&self, term: &Term) -> bool {
        term.atoms().any(|atom| match atom {
            Atom::Opaque(o) => match &self.terms.opaques[o as usize].key {
                Some((_, args)) => args.iter().any(|t| self.is_unknown(t)),
                None => true,
            },
            Atom::Local(_) | Atom::Meta(_) => false,
        })
    }

    fn report(&mut self, diag: Diagnostic) {
        let place = |d: &Diagnostic| (d.labels[0].span, d.severity);
        if !self.diagnostics.iter().any(|d| place(d) == place(&diag)) {
            self.diagnostics.push(diag);
        }
    }

    /// E0401 for a size that would be negative.
    pub(super) fn negative(&mut self, n: i64, site: &Site) {
        let Some(site) = &self.reported(site) else { return };
        let message = format!("the size of {} is {} too small", self.described(site.what), n.unsigned_abs());
        let diag = Diagnostic::error("E0401", message, site.at).here("no size fits this");
        self.report(asked_for(diag, site, "what is asked for".to_string()));
    }

    /// E0401.
    fn differ(&mut self, has: &Term, asked: &Term, site: &Site) {
        let what = self.described(site.what);
        let (has, asked) = (self.text(has), self.text(asked));
        let message = format!("sizes differ: {asked} and {has} ({what})");
        let diag = Diagnostic::error("E0401", message, site.at).here(format!("this has size {has}"));
        let first = site.first != Span::default() && site.first != site.at && site.first.file == site.at.file;
        self.report(match first {
            true => diag.label(site.first, format!("this has size {asked}")),
            false => asked_for(diag, site, format!("size {asked} is asked for here")),
        });
    }

    /// W0401.
    fn must_be_equal(&mut self, has: &Term, asked: &Term, site: &Site) {
        let what = self.described(site.what);
        let (a, b) = (self.text(asked), self.text(has));
        let message = format!("the sizes `{a}` and `{b}` must be equal, but nothing says so ({what})");
        let mut diag = Diagnostic::new(Severity::Warning, "W0401", message, site.at)
            .here(format!("this has size `{b}`, and `{a}` is needed"));
        for atom in [asked, has].into_iter().filter_map(Term::as_atom) {
            if let Atom::Local(l) = atom
                && let Some(place) = self.bindings.places.get(&l).filter(|p| p.file == site.at.file)
            {
                let name = &self.program.locals[l.0 as usize];
                diag = diag.label(*place, format!("`{name}` is the size of this"));
            }
        }
        let note = format!(
            "if they always are, use one name for both; if not, `:> [{a}]…` checks it when the program runs"
        );
        self.report(diag.note(note));
    }

    /// W0402.
    fn unknown_sizes(&mut self, has: &Term, asked: &Term, site: &Site) {
        let what = self.described(site.what);
        let (a, b) = (self.text(asked), self.text(has));
        let message = format!(
            "whether the sizes `{a}` and `{b}` are equal is known only when the program runs ({what})"
        );
        let diag = Diagnostic::new(Severity::Warning, "W0402", message, site.at)
            .here(format!("this has size `{b}`, and `{a}` is needed"));
        self.report(diag.note(format!("`:> [{a}]…` says that it is meant, and checks it")));
    }

    fn described(&self, what: What) -> String {
        let function = |callee: Callee| match callee {
            Callee::Def(d) => format!("`{}`", self.program.defs[d.0 as usize].name),
            Callee::Local(l) => format!("`{}`", self.program.locals[l.0 as usize]),
            Callee::Other => "a function".to_string(),
        };
        match what {
            What::Argument(callee, i) => match self.parameter(callee, i) {
                Some(name) => format!("argument `{name}` of {}", function(callee)),
                None => format!("argument {} of {}", i + 1, function(callee)),
            },
            What::Result(callee) => format!("result of {}", function(callee)),
            What::Ascribed => "the ascribed type".to_string(),
            What::Pattern => "the pattern's type".to_string(),
            What::Update => "the slice and its new values".to_string(),
            What::Row => "the row and its new value".to_string(),
            What::Loop => "the state of the loop".to_string(),
            What::Joined => "values of one type".to_string(),
        }
    }

    /// Name of a parameter.
    fn parameter(&self, callee: Callee, i: usize) -> Option<&str> {
        let Callee::Def(d) = callee else { return None };
        match self.program.defs[d.0 as usize].params.get(i)?.kind {
            PatKind::Var(l) => Some(self.program.locals[l.0 as usize].as_str()).filter(|name| *name != "_"),
            _ => None,
        }
    }

    /// A size in words of the source.
    pub(super) fn text(&self, term: &Term) -> String {
        let mut out = String::new();
        for (product, factor) in term.products().iter().rev() {
            let atoms: Vec<String> = product.iter().map(|a| self.atom_text(*a)).collect();
            let sign = match (out.is_empty(), *factor < 0) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            let number = factor.unsigned_abs();
            let body = match (number, atoms.is_empty()) {
                (n, true) => n.to_string(),
                (1, false) => atoms.join(" * "),
                (n, false) => format!("{n} * {}", atoms.join(" * ")),
            };
            out += &format!("{sign}{body}");
        }
        if out.is_empty() { "0".to_string() } else { out }
    }

    fn atom_text(&self, atom: Atom) -> String {
        match atom {
            Atom::Local(l) => self.program.locals[l.0 as usize].clone(),
            Atom::Meta(_) => "…".to_string(),
            Atom::Opaque(o) => {
                let opaque = &self.terms.opaques[o as usize];
                match (opaque.value_of, opaque.length_of, opaque.expr) {
                    (Some(l), ..) => self.program.locals[l.0 as usize].clone(),
                    (_, Some(l), _) => format!("length {}", self.program.locals[l.0 as usize]),
                    (_, _, Some(e)) => self.source(e.span),
                    _ => format!("length ({})", self.source(opaque.span)),
                }
            }
        }
    }

    fn source(&self, span: Span) -> String {
        let text = self.sources.text(span).split_whitespace().collect::<Vec<_>>().join(" ");
        match text.char_indices().nth(MAX_TEXT) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None if text.is_empty() => "…".to_string(),
            None => text,
        }
    }
}

/// The diagnostic with the place that asks for a size.
fn asked_for(diag: Diagnostic, site: &Site, text: String) -> Diagnostic {
    match site.asked == Span::default() || site.asked == site.at {
        true => diag,
        false => diag.label(site.asked, text),
    }
}
