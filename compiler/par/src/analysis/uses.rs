//! All places of a name.

use super::Analysis;
use super::places::covers;
use super::walk::{bound, parts};
use par_check::thir::{Def, ExprKind, LocalId, Program};
use par_syntax::ast::Span;

/// Something that has a name of its own.
#[derive(Clone, Debug, PartialEq)]
pub enum Symbol {
    /// A definition, by the file and the place of its name.
    Definition {
        /// The file's name, as in [`Analysis::sources`].
        file: String,
        /// Byte offset of the name in it.
        at: u32,
    },
    /// A local name of this analysis.
    Local(LocalId),
}

impl Analysis {
    /// The symbol at a byte offset of the program's own file.
    pub fn symbol(&self, at: u32) -> Option<Symbol> {
        let found = self.all_uses()?.into_iter().filter(|(_, span)| covers(*span, at));
        found.min_by_key(|(_, span)| span.end - span.start).map(|(symbol, _)| symbol)
    }

    /// Its name, and whether it is defined in the program's own file.
    pub fn name_of(&self, symbol: &Symbol) -> Option<(String, bool)> {
        let uses = self.uses(symbol);
        let name = self.sources.text(*uses.first()?).to_string();
        let own = match symbol {
            Symbol::Local(_) => true,
            Symbol::Definition { file, .. } => self.sources.files.last().is_some_and(|f| f.name == *file),
        };
        Some((name, own))
    }

    /// All places in the program's own file where it is named, that of its definition included, in order.
    pub fn uses(&self, symbol: &Symbol) -> Vec<Span> {
        let all = self.all_uses().unwrap_or_default();
        let mut spans: Vec<Span> =
            all.into_iter().filter(|(s, _)| s == symbol).map(|(_, span)| span).collect();
        spans.sort_by_key(|s| (s.start, s.end));
        spans.dedup();
        spans
    }

    fn all_uses(&self) -> Option<Vec<(Symbol, Span)>> {
        let typed = self.typed.as_ref()?;
        let mut all = Vec::new();
        for def in self.own(typed) {
            self.push(&mut all, self.definition_symbol(def), def.name_span, &def.name);
            self.of_body(typed, def, &mut all);
        }
        Some(all)
    }

    fn definition_symbol(&self, def: &Def) -> Symbol {
        let file = self.sources.files.get(def.name_span.file as usize);
        Symbol::Definition {
            file: file.map_or_else(String::new, |f| f.name.clone()),
            at: def.name_span.start,
        }
    }

    fn of_body(&self, typed: &Program, def: &Def, all: &mut Vec<(Symbol, Span)>) {
        let local = |id: LocalId| typed.locals.get(id.0 as usize).map_or("", String::as_str);
        let mut names = Vec::new();
        def.params.iter().for_each(|p| bound(p, &mut names));
        let mut binders: Vec<(LocalId, Span)> = def.size_params.iter().map(|id| (*id, def.span)).collect();
        let mut bodies = vec![&def.body];
        while let Some(e) = bodies.pop() {
            let parts = parts(e);
            parts.pats.iter().for_each(|p| bound(p, &mut names));
            binders.extend(parts.names.iter().map(|id| (*id, e.span)));
            bodies.extend(parts.exprs);
            match &e.kind {
                ExprKind::Def(id, _) => {
                    if let Some(def) = typed.defs.get(id.0 as usize) {
                        self.push(all, self.definition_symbol(def), e.span, &def.name);
                    }
                }
                ExprKind::Poly(id, _) | ExprKind::Local(id) => {
                    self.push(all, Symbol::Local(*id), e.span, local(*id));
                }
                _ => {}
            }
        }
        for (id, pat) in names {
            self.push(all, Symbol::Local(id), pat.span, local(id));
        }
        for (id, scope) in binders {
            if let Some(span) = self.find(local(id), scope) {
                self.push(all, Symbol::Local(id), span, local(id));
            }
            self.in_types(local(id), id, scope, all);
        }
    }

    /// Adds the places where a name is the size in a type, which has no place in the typed tree: those in brackets that are nothing else.
    fn in_types(&self, name: &str, id: LocalId, scope: Span, all: &mut Vec<(Symbol, Span)>) {
        let bracketed = format!("[{name}]");
        for (at, _) in self.sources.text(scope).match_indices(&bracketed) {
            let start = scope.start + at as u32 + 1;
            let span = Span { start, end: start + name.len() as u32, ..scope };
            if !all.iter().any(|(_, other)| other.start == start) {
                self.push(all, Symbol::Local(id), span, name);
            }
        }
    }

    /// Adds a place if the name stands there: the last part of a qualified one, the first of a pattern with a type.
    fn push(&self, all: &mut Vec<(Symbol, Span)>, symbol: Symbol, span: Span, name: &str) {
        let base = name.rsplit('.').next().unwrap_or(name);
        if span.file != self.file() || base.is_empty() {
            return;
        }
        let text = self.sources.text(span);
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
        let length = base.len() as u32;
        if text.strip_suffix(base).is_some_and(|before| !before.ends_with(is_part)) {
            all.push((symbol, Span { start: span.end - length, ..span }));
        } else if text.strip_prefix(base).is_some_and(|after| !after.starts_with(is_part)) {
            all.push((symbol, Span { end: span.start + length, ..span }));
        }
    }
}
