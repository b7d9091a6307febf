//! The messages.

use super::Check;
use super::alias::{Root, Roots};
use super::bind::Kind;
use super::calls::{Given, Operand, Site};
use super::walk::Place;
use crate::thir::{Expr, ExprKind};
use par_runtime::Span;
use par_syntax::Diagnostic;

impl Check<'_> {
    /// Keeps a diagnostic, unless there is one already about the same consumption.
    fn report(&mut self, consumed: Span, diagnostic: Diagnostic) {
        if !self.quiet && self.reported.insert(consumed) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// E0601 and E0602: something was consumed and is used afterwards.
    pub(super) fn after_consume(&mut self, place: Option<&Place>, root: Root, site: &Site, span: Span) {
        let used = place.map_or_else(|| "an array".to_string(), |(_, name)| format!("`{name}`"));
        let taken = match site.through {
            Some(_) => format!("consumed here: {} hands this to a function that consumes it", site.by),
            None => format!("consumed here: {} takes this argument as `*`", site.by),
        };
        let same = matches!((place, &site.place), (Some(a), Some(b)) if a.0 == b.0);
        let diagnostic = if let Some((given, argument)) = &site.held {
            let message = format!("{used} is used again, but its first call has consumed `{argument}`");
            Diagnostic::error("E0601", message, span)
                .here("used here")
                .label(site.span, "the first call")
                .label(*given, format!("`{argument}` is given here, to be consumed by one call"))
                .note(format!("give all arguments in each call, with a copy of this one (`copy {argument}`)"))
        } else if same {
            Diagnostic::error("E0601", format!("{used} is used after it was consumed"), span)
                .here("used here")
                .label(site.span, taken)
                .note(self.instead(root, &site.by, || {
                    let name = name_of(site.place.as_ref());
                    format!("give {} a copy (`copy {name}`), or use its result instead", site.by)
                }))
        } else {
            let other = match &site.place {
                Some((_, name)) => format!("`{name}`, with which it may share elements,"),
                None => "an array with which it may share elements".to_string(),
            };
            let diagnostic =
                Diagnostic::error("E0602", format!("{used} is used after {other} was consumed"), span)
                    .here("used here")
                    .label(site.span, taken);
            self.shared_label(diagnostic, place, root, site).note(self.instead(root, &site.by, || {
                format!("give {} a copy of its argument, or use its result instead", site.by)
            }))
        };
        self.report(site.span, started(diagnostic, site));
    }

    /// Shows where the name was introduced by which two things share.
    fn shared_label(&self, diag: Diagnostic, place: Option<&Place>, root: Root, site: &Site) -> Diagnostic {
        let owner = self.info(root).owner;
        let alias = [place, site.place.as_ref()].into_iter().flatten().find(|(id, _)| Some(*id) != owner);
        match alias.and_then(|(id, name)| Some((name, self.locals.get(id)?.span))) {
            Some((name, span)) => {
                diag.label(span, format!("`{name}` may share elements with `{}`", self.info(root).name))
            }
            None => diag,
        }
    }

    /// E0607: a result that is not the caller's alone.
    pub(super) fn shared_result(&mut self, root: Root, body: &Expr) {
        let info = self.info(root);
        let (name, span) = (info.name.clone(), info.span);
        let message = format!("the result is declared with `*`, but may share elements with `{name}`");
        let at = last(body).span;
        let diagnostic = Diagnostic::error("E0607", message, at)
            .here("this may be what the caller goes on using")
            .label(span, format!("`{name}` is not given up by the caller"))
            .note("give back a copy, or declare the parameter with `*`, or the result without");
        self.report(at, diagnostic);
    }

    /// E0609: an accumulator that the function was not given.
    pub(super) fn other_accumulator(&mut self, root: Root, at: Span) {
        let info = self.info(root);
        let (name, span) = (&info.name, info.span);
        let diagnostic = Diagnostic::error("E0609", "the accumulator that is given back is another one", at)
            .here(format!("the result may be `{name}`"))
            .label(span, format!("`{name}` comes from outside of the function"))
            .note("give back the accumulator that is the function's parameter, or what `write` makes of it");
        self.report(at, diagnostic);
    }

    /// E0603: a parameter without `*`, or a definition.
    pub(super) fn not_consumable(&mut self, root: Root, site: &Site) {
        let info = self.info(root);
        let (name, span) = (&info.name, info.span);
        let shared = match &site.place {
            Some((id, _)) if Some(*id) == info.owner => "",
            _ => "the argument may share elements with it, and ",
        };
        let diagnostic = if info.kind == Kind::Global {
            let message = format!("the definition `{name}` cannot be consumed");
            Diagnostic::error("E0603", message, site.span)
                .label(span, "defined for the whole program")
                .note(format!("give {} a copy (`copy {name}`)", site.by))
        } else {
            let message = format!("`{name}` cannot be consumed: {shared}it is a parameter without `*`");
            Diagnostic::error("E0603", message, site.span)
                .label(span, "the callers of this function go on using it")
                .note(format!(
                    "declare the parameter with `*` in front of its type, or give {} a copy",
                    site.by
                ))
        };
        let diagnostic = diagnostic.here(format!("{} consumes this argument", site.by));
        self.report(site.span, started(diagnostic, site));
    }

    /// E0604: consumed once for every call of a function, or every iteration of a loop.
    pub(super) fn consumed_inside(&mut self, root: Root, site: &Site, is_loop: bool) {
        let info = self.info(root);
        let (name, span) = (&info.name, info.span);
        let (inside, often, remedy) = match is_loop {
            true => ("a loop", "in every iteration of the loop", "make it part of the loop's state"),
            false => {
                ("a function", "in every call of the function", "take it as a parameter written with `*`")
            }
        };
        let message = format!("`{name}` is consumed inside {inside}, but is defined outside of it");
        let diagnostic = Diagnostic::error("E0604", message, site.span);
        let diagnostic = match site.held {
            Some(_) => diagnostic
                .here(format!("this function is called {often}, which consumes `{name}`"))
                .label(span, format!("`{name}` is given here, to be consumed by one call"))
                .note(format!("give all arguments in each call, with a copy of this one (`copy {name}`)")),
            None => diagnostic
                .here(format!("{} consumes this argument {often}", site.by))
                .label(span, format!("`{name}` is defined here"))
                .note(self.instead(root, &site.by, || format!("{remedy}, or give {} a copy", site.by))),
        };
        self.report(site.span, started(diagnostic, site));
    }

    /// E0604: a built-in function calls one that was given an argument to consume.
    pub(super) fn held_in_every_call(&mut self, root: Root, function: &Operand, by: &str) {
        let info = self.info(root);
        let message = format!("{by} calls this function many times, but each call consumes `{}`", info.name);
        let diagnostic = Diagnostic::error("E0604", message, function.span)
            .here("called once for every element")
            .label(info.span, "given here, to be consumed by one call")
            .note(format!("give all arguments in each call, with a copy of this one (`copy {}`)", info.name));
        self.report(function.span, diagnostic);
    }

    /// E0608: a function that consumes its argument is handed to one that goes on using that, or does not own it.
    pub(super) fn not_allowed(&mut self, function: &Operand, by: &str, wrong: &Diagnostic) {
        let what = match &function.place {
            Some((_, name)) => format!("`{name}`"),
            None => "this function".to_string(),
        };
        let message = format!("{what} consumes its argument, which {by} does not allow");
        let diagnostic = Diagnostic::error("E0608", message, function.span).here(format!("given to {by}"));
        let inside = &wrong.labels[0];
        let diagnostic = match self.library.contains(&inside.span.file) {
            true => diagnostic,
            false => diagnostic.label(inside.span, format!("there, {}", wrong.message)),
        };
        self.report(
            function.span,
            diagnostic.note("give it a function that does not consume: `\\x -> f (copy x)`"),
        );
    }

    /// E0605: two arguments share, and one of them is consumed.
    pub(super) fn given_twice(&mut self, taken: &Given, other: &Given, name: &str) {
        let what = self.common(&taken.roots, &other.roots);
        let message = format!("{what} is given twice to {name}, which consumes it");
        let diagnostic = Diagnostic::error("E0605", message, taken.span);
        let diagnostic = if other.span == taken.span {
            diagnostic.here("two parts of this may share elements")
        } else {
            diagnostic.here("consumed here").label(other.span, "and given here too")
        };
        let note = match taken.roots.first() {
            Some(root) => self.instead(*root, name, || format!("give {name} a copy in one of the places")),
            None => String::new(),
        };
        self.report(taken.span, diagnostic.note(note));
    }

    /// E0605: a function that uses an array already is given it to consume.
    pub(super) fn captured_too(&mut self, taken: &Given, captured: &Roots, name: &str) {
        let what = self.common(&taken.roots, captured);
        let message =
            format!("{what} is given to {name}, which consumes it, but is used inside of it as well");
        let diagnostic = Diagnostic::error("E0605", message, taken.span).here("consumed here");
        self.report(taken.span, diagnostic.note(format!("give {name} a copy")));
    }

    /// Advice for an array or accumulator that is consumed and used elsewhere, by the name of the consumer.
    fn instead(&self, root: Root, by: &str, otherwise: impl FnOnce() -> String) -> String {
        match self.info(root).accumulator {
            true => format!("an accumulator is used once: go on with the one that {by} gives"),
            false => otherwise(),
        }
    }

    fn common(&self, a: &Roots, b: &Roots) -> String {
        a.intersection(b).next().map_or_else(String::new, |r| format!("`{}`", self.info(*r).name))
    }

    /// E0606: a part of a loop's state is consumed, and something older takes its place.
    pub(super) fn not_new(&mut self, part: Root, old: Root, site: &Site, result: &Expr) {
        let (name, old) = (&self.info(part).name, &self.info(old).name);
        let message = format!("the loop consumes `{name}`, but its body does not make a new one");
        let diagnostic = Diagnostic::error("E0606", message, result.span)
            .here(format!("the next `{name}` may share elements with `{old}`, which is older than the loop"));
        self.next_iteration(diagnostic, site);
    }

    /// E0606: a part of a loop's state is consumed, and shares with another part.
    pub(super) fn not_apart(&mut self, part: Root, other: Root, site: &Site, result: &Expr) {
        let (name, other) = (&self.info(part).name, &self.info(other).name);
        let message = format!("the loop consumes `{name}`, but its body gives it together with `{other}`");
        let diagnostic = Diagnostic::error("E0606", message, result.span)
            .here(format!("the next `{name}` may share elements with the next `{other}`"));
        self.next_iteration(diagnostic, site);
    }

    fn next_iteration(&mut self, diagnostic: Diagnostic, site: &Site) {
        let label = format!("{} consumes it here in the next iteration", site.by);
        let diagnostic = diagnostic.label(site.span, label).note("let the body give a copy");
        self.report(site.span, diagnostic);
    }
}

/// Shows the loop by which something is consumed, and the function that is handed over.
fn started(diagnostic: Diagnostic, site: &Site) -> Diagnostic {
    let diagnostic = match site.init {
        Some(init) => diagnostic.label(init, "the loop that consumes it starts with this"),
        None => diagnostic,
    };
    match site.through {
        Some(function) => diagnostic.label(function, "this function consumes what it is called with"),
        None => diagnostic,
    }
}

fn name_of(place: Option<&Place>) -> &str {
    place.map_or("…", |(_, name)| name)
}

/// The expression that gives a body its value.
fn last(body: &Expr) -> &Expr {
    match &body.kind {
        ExprKind::Let { body, .. } | ExprKind::LetFun { body, .. } => last(body),
        _ => body,
    }
}
