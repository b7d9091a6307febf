//! Names at places of the program.

use super::Analysis;
use super::sizes::Sizes;
use super::walk::{bound, parts};
use crate::doc::Item;
use crate::session::definition_type;
use par_check::infer::show_type;
use par_check::thir::{Def, Expr, ExprKind, LocalId, Pat, Program, Ty};
use par_syntax::ast::Span;

/// Something at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// The text that it is about.
    pub span: Span,
    /// Its name; none for an expression that is no name.
    pub name: Option<String>,
    /// Its type.
    pub ty: String,
    /// Documentation of it.
    pub text: Option<String>,
    /// Source place of its definition, if that is in a file.
    pub definition: Option<Span>,
}

impl Named {
    /// Name and type in one line.
    pub fn heading(&self) -> String {
        self.name.as_ref().map_or_else(|| self.ty.clone(), |name| format!("{name} : {}", self.ty))
    }
}

/// A type that nobody has written, to be shown in the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Hint {
    /// Behind what, in bytes of the program's own file.
    pub at: u32,
    /// With its colon: `: [n]f32`.
    pub text: String,
}

/// A local name, and where it is known.
struct Local<'a> {
    id: LocalId,
    /// None if it is bound without a pattern.
    pat: Option<&'a Pat>,
    ty: String,
    /// Expression or definition in which it is bound.
    scope: Span,
}

pub(super) fn covers(span: Span, at: u32) -> bool {
    span.start <= at && at <= span.end
}

fn length(span: Span) -> u32 {
    span.end - span.start
}

impl Analysis {
    /// The innermost name or expression at a byte of the program's own file, if its types are known.
    pub fn at(&self, at: u32) -> Option<Named> {
        let typed = self.typed.as_ref()?;
        let mut best: Option<Named> = None;
        for def in self.own(typed) {
            if covers(def.name_span, at) {
                return Some(self.definition(typed, def, def.name_span));
            }
            let locals = locals(def, typed);
            self.search(typed, def, &locals, at, &mut best);
        }
        best
    }

    /// The types that may be shown: of names that `let` binds and of definitions' results, where none is written.
    pub fn hints(&self) -> Vec<Hint> {
        let Some(typed) = &self.typed else { return Vec::new() };
        let mut hints = Vec::new();
        for def in self.own(typed) {
            let head = def.params.last().map_or(def.name_span, |p| p.span);
            let parentheses = self.skipped(head.end, |c| c == ')' || c.is_whitespace());
            if def.ret_span == def.name_span && !def.entry && self.is_before(head.end + parentheses, "=") {
                let at = head.end + self.skipped(head.end, |c| c == ')');
                hints.push(Hint { at, text: format!(": {}", show_type(&def.ret, typed)) });
            }
            let sizes = Sizes::of(def, typed);
            let mut bodies = vec![&def.body];
            while let Some(e) = bodies.pop() {
                bodies.extend(parts(e).exprs);
                let ExprKind::Let { pat, .. } = &e.kind else { continue };
                let mut names = Vec::new();
                bound(pat, &mut names);
                for (id, pat) in names {
                    if pat.span.file == self.file() && !self.is_before(pat.span.end, ":") {
                        let text = format!(": {}", show_type(&sizes.ty(id, pat), typed));
                        hints.push(Hint { at: pat.span.end, text });
                    }
                }
            }
        }
        hints.sort_by_key(|h| h.at);
        hints.dedup();
        hints
    }

    /// The local names known at a byte of the program's own file, with their types.
    pub fn locals_at(&self, at: u32) -> Vec<(String, String)> {
        let Some(typed) = &self.typed else { return Vec::new() };
        let around = self.own(typed).filter(|d| covers(d.span, at));
        let mut names = Vec::new();
        for def in around {
            for local in locals(def, typed).iter().rev().filter(|l| covers(l.scope, at)) {
                let name = local_name(typed, local.id);
                if !names.iter().any(|(n, _)| *n == name) {
                    names.push((name, local.ty.clone()));
                }
            }
        }
        names
    }

    /// The definitions of the program's own file.
    pub(super) fn own<'a>(&self, typed: &'a Program) -> impl Iterator<Item = &'a Def> + use<'a> {
        let file = self.file();
        typed.defs.iter().filter(move |d| d.span.file == file)
    }

    fn search(&self, typed: &Program, def: &Def, locals: &[Local], at: u32, best: &mut Option<Named>) {
        let mut consider = |named: Named| {
            if best.as_ref().is_none_or(|b| length(named.span) <= length(b.span)) {
                *best = Some(named);
            }
        };
        let file = self.file();
        for local in locals {
            if let Some(pat) = local.pat.filter(|p| p.span.file == file && covers(p.span, at)) {
                consider(self.local(typed, local, pat.span));
            }
        }
        let mut around = vec![&def.body];
        while let Some(e) = around.pop() {
            // A chain of `let`s is no longer than the last of them, so that nothing is cut off here.
            around.extend(parts(e).exprs);
            if e.span.file == file && covers(e.span, at) {
                consider(self.expression(typed, locals, e));
            }
        }
    }

    fn expression(&self, typed: &Program, locals: &[Local], e: &Expr) -> Named {
        let ty = show_type(&e.ty, typed);
        let local = |id| locals.iter().find(|l| l.id == id).map(|l| self.local(typed, l, e.span));
        let found = match &e.kind {
            // A function is shown with the types that it has here.
            ExprKind::Def(id, _) => {
                let def = typed.defs.get(id.0 as usize).map(|d| self.definition(typed, d, e.span));
                def.map(|d| Named { ty: ty.clone(), ..d })
            }
            ExprKind::Poly(id, _) => local(*id).map(|l| Named { ty: ty.clone(), ..l }),
            // Of a local function nothing but its name is bound.
            ExprKind::Local(id) if matches!(e.ty, Ty::Fun(..)) => {
                local(*id).map(|l| Named { ty: ty.clone(), ..l })
            }
            ExprKind::Local(id) => local(*id),
            _ => None,
        };
        found.unwrap_or(Named { span: e.span, name: None, ty, text: None, definition: None })
    }

    fn definition(&self, typed: &Program, def: &Def, span: Span) -> Named {
        let item = self.item(def);
        Named {
            span,
            name: Some(def.name.clone()),
            ty: definition_type(def, typed),
            text: item.and_then(|i| i.text),
            definition: Some(def.name_span),
        }
    }

    fn local(&self, typed: &Program, local: &Local, span: Span) -> Named {
        let name = local_name(typed, local.id);
        let definition = self.find(&name, local.pat.map_or(local.scope, |p| p.span));
        let ty = local.ty.clone();
        Named { span, name: Some(name), ty, text: None, definition }
    }

    /// Documentation of a definition.
    fn item(&self, def: &Def) -> Option<Item> {
        let same = |name: &str| name == def.name || def.name.ends_with(&format!(".{name}"));
        self.items_where(same).into_iter().find(|i| i.file == def.span.file)
    }

    /// The first time that a word stands in a part of the program.
    pub(super) fn find(&self, name: &str, scope: Span) -> Option<Span> {
        let text = self.sources.text(scope);
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
        let at = text.match_indices(name).map(|m| m.0).find(|at| {
            let (before, after) = (&text[..*at], &text[at + name.len()..]);
            !before.ends_with(is_part) && !after.starts_with(is_part)
        })?;
        let start = scope.start + at as u32;
        Some(Span { start, end: start + name.len() as u32, ..scope })
    }

    /// The program's own text from a byte on.
    fn rest(&self, at: u32) -> &str {
        self.sources.files.last().and_then(|f| f.text.get(at as usize..)).unwrap_or("")
    }

    /// Number of bytes from there on that are of that kind.
    fn skipped(&self, at: u32, is_skipped: impl Fn(char) -> bool) -> u32 {
        let rest = self.rest(at);
        (rest.len() - rest.trim_start_matches(is_skipped).len()) as u32
    }

    /// True if that text is the next thing behind a byte of the program's own file.
    fn is_before(&self, at: u32, what: &str) -> bool {
        self.rest(at).trim_start().starts_with(what)
    }
}

fn local_name(typed: &Program, id: LocalId) -> String {
    typed.locals.get(id.0 as usize).cloned().unwrap_or_default()
}

/// All local names of a definition.
fn locals<'a>(def: &'a Def, typed: &Program) -> Vec<Local<'a>> {
    let sizes = Sizes::of(def, typed);
    let mut all = Vec::new();
    let mut add = |pats: &mut dyn Iterator<Item = &'a Pat>, ids: &[LocalId], scope| {
        let mut names = Vec::new();
        pats.for_each(|p| bound(p, &mut names));
        let named = |(id, pat): (LocalId, &'a Pat)| {
            let ty = show_type(&sizes.ty(id, pat), typed);
            Local { id, pat: Some(pat), ty, scope }
        };
        all.extend(names.into_iter().map(named));
        all.extend(ids.iter().map(|id| Local { id: *id, pat: None, ty: "i64".to_string(), scope }));
    };
    add(&mut def.params.iter(), &def.size_params, def.span);
    let mut bodies = vec![&def.body];
    while let Some(e) = bodies.pop() {
        let parts = parts(e);
        add(&mut parts.pats.into_iter(), &parts.names, e.span);
        bodies.extend(parts.exprs);
    }
    all
}
