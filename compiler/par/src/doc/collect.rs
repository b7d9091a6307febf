//! The declarations of files as items.

use super::{Item, Kind, Type};
use par_syntax::Sources;
use par_syntax::ast::{Dec, DecKind, File, ModExp, Span};
use std::borrow::Borrow;

/// The declarations of the files, those inside modules included, in order. What is `local` is left out, and a module
/// that is declared in several places counts once, with all that is written about it.
pub fn items<F: Borrow<File>>(files: &[F], sources: &Sources) -> Vec<Item> {
    items_where(files, sources, &|_| true)
}

/// Of these declarations the ones with the wanted names; the other ones are not looked into.
pub fn items_where<F: Borrow<File>>(
    files: &[F],
    sources: &Sources,
    wanted: &dyn Fn(&str) -> bool,
) -> Vec<Item> {
    let mut collect = Collect { sources, wanted, out: Vec::new() };
    files.iter().for_each(|file| collect.decs(&file.borrow().decs, ""));
    collect.out
}

struct Collect<'a> {
    sources: &'a Sources,
    wanted: &'a dyn Fn(&str) -> bool,
    out: Vec<Item>,
}

impl Collect<'_> {
    fn decs(&mut self, decs: &[Dec], prefix: &str) {
        decs.iter().for_each(|dec| self.dec(dec, prefix));
    }

    fn dec(&mut self, dec: &Dec, prefix: &str) {
        match &dec.kind {
            DecKind::Def(def) if !(self.wanted)(&format!("{prefix}{}", def.name().name)) => {}
            DecKind::Def(def) => {
                let kind = if def.entry { Kind::Entry } else { Kind::Value };
                let start = self.after_keyword(dec.span);
                let head = Span { start, end: def.body.span.start, ..dec.span };
                self.add(kind, prefix, &def.name.name, head, dec);
                self.out.last_mut().expect("it was added").ty = Type::of(def);
            }
            DecKind::Type { name, ty, .. } => {
                let builtin = dec.attrs.iter().any(|a| a.name == "intrinsic");
                // What a built-in type is made of does not stand there.
                let end = if builtin { ty.span.start } else { dec.span.end };
                let head = Span { start: self.after_keyword(dec.span), end, ..dec.span };
                self.add(Kind::Type, prefix, &name.name, head, dec);
            }
            DecKind::ModuleType { name, .. } => self.add(Kind::ModuleType, prefix, &name.name, dec.span, dec),
            DecKind::Module { name, body, .. } => {
                let qualified = format!("{prefix}{}", name.name);
                match self.out.iter_mut().find(|i| i.kind == Kind::Module && i.name == qualified) {
                    Some(first) => first.text = joined(first.text.take(), dec.doc.as_deref()),
                    None => {
                        let head = Span { end: name.span.end, ..dec.span };
                        self.add(Kind::Module, prefix, &name.name, head, dec);
                    }
                }
                self.module(body, &format!("{qualified}."));
            }
            DecKind::Open(body) => self.module(body, prefix),
            DecKind::Local(_) | DecKind::Import { .. } => {}
        }
    }

    fn module(&mut self, body: &ModExp, prefix: &str) {
        match body {
            ModExp::Struct(decs, _) => self.decs(decs, prefix),
            ModExp::Ascribe(body, ..) | ModExp::Lambda(_, _, body, _) => self.module(body, prefix),
            ModExp::Name(_) | ModExp::Apply(..) | ModExp::Import(..) => {}
        }
    }

    fn add(&mut self, kind: Kind, prefix: &str, name: &str, head: Span, dec: &Dec) {
        let name = format!("{prefix}{name}");
        if !(self.wanted)(&name) {
            return;
        }
        let signature = signature(self.sources.text(head));
        let line = self.line(head);
        self.out.push(Item { name, kind, signature, text: dec.doc.clone(), file: head.file, line, ty: None });
    }

    fn line(&self, at: Span) -> usize {
        let text = self.sources.files.get(at.file as usize).map_or("", |f| &f.text);
        text.get(..at.start as usize).map_or(0, |before| before.matches('\n').count() + 1)
    }

    /// Start of the head of a definition: behind attributes and the keyword.
    fn after_keyword(&self, span: Span) -> u32 {
        let mut rest = self.sources.text(span);
        while let Some((_, after)) = rest.strip_prefix("#[").and_then(|r| r.split_once(']')) {
            rest = after.trim_start();
        }
        for keyword in ["def", "let", "entry"] {
            let after = rest.strip_prefix(keyword).filter(|after| after.starts_with(char::is_whitespace));
            rest = after.unwrap_or(rest);
        }
        span.end - rest.trim_start().len() as u32
    }
}

/// Documentation of a module from several places, as paragraphs.
fn joined(first: Option<String>, more: Option<&str>) -> Option<String> {
    match (first, more) {
        (Some(first), Some(more)) => Some(format!("{first}\n\n{more}")),
        (first, more) => first.or_else(|| more.map(str::to_string)),
    }
}

/// The head of a declaration on one line.
fn signature(head: &str) -> String {
    // A body in parentheses begins before its own range.
    let head = head.trim_end().trim_end_matches(['(', ' ', '\n']);
    let head = head.strip_suffix('=').unwrap_or(head);
    head.split_whitespace().collect::<Vec<_>>().join(" ")
}
