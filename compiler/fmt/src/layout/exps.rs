//! Expressions.

use super::lists::index_parts;
use super::run::Mode;
use super::{Layout, STEP, align, fill};
use crate::doc::{Break, BreakKind, Doc};
use par_syntax::ast::{Exp, ExpKind, LoopForm, Pat, Step};

impl Layout<'_> {
    /// An expression.
    pub(super) fn exp(&mut self, e: &Exp) -> Doc {
        stacker::maybe_grow(128 << 10, 4 << 20, || {
            let end = self.end_of(e.span);
            let doc = self.kind(e, end);
            // Nothing is left unless a rule below does not know all of the notation.
            let rest = self.run(end, Mode::Plain);
            if matches!(rest, Doc::Empty) { doc } else { Doc::Cat(vec![doc, rest]) }
        })
    }

    fn kind(&mut self, e: &Exp, end: usize) -> Doc {
        match &e.kind {
            ExpKind::Parens(inner) | ExpKind::SectionRight(_, inner) | ExpKind::SectionLeft(_, inner) => {
                self.parens(inner, end)
            }
            ExpKind::Tuple(parts) | ExpKind::Array(parts) if self.at() != "#" => {
                self.list(end, &parts.iter().collect::<Vec<_>>())
            }
            ExpKind::Record(fields) => {
                self.list(end, &fields.iter().filter_map(|(_, e)| e.as_ref()).collect::<Vec<_>>())
            }
            ExpKind::SectionIndex(args) => self.section_index(end, &index_parts(args)),
            ExpKind::Index(array, args) => {
                let array = self.exp(array);
                let args = self.list(end, &index_parts(args));
                Doc::Cat(vec![array, args])
            }
            ExpKind::OpenIn(_, inner) => self.open_in(inner, end),
            ExpKind::Apply(f, args) => {
                let f = self.exp(f);
                self.application(f, args)
            }
            ExpKind::Constr(_, args) => {
                let name = self.token();
                self.application(name, args)
            }
            ExpKind::Assert(cond, value) => {
                let word = self.token();
                let cond = (self.place(BreakKind::Helpful), self.exp(cond));
                let value = (self.place(BreakKind::Helpful), self.exp(value));
                Doc::Nest(STEP, Box::new(fill(word, vec![cond, value])))
            }
            ExpKind::Binary { .. } => self.chain(e),
            ExpKind::Negate(operand) | ExpKind::Not(operand) => self.prefix(operand),
            ExpKind::Range { start, second, end: last, .. } => {
                let parts = [Some(start), second.as_ref(), Some(last)];
                self.sequence(end, &parts.into_iter().flatten().map(|e| &**e).collect::<Vec<_>>())
            }
            ExpKind::Field(record, _) => self.sequence(end, &[record]),
            ExpKind::Lambda { body, .. } => self.lambda(body),
            ExpKind::Let { .. } | ExpKind::LetFun { .. } | ExpKind::LetWith { .. } => self.lets(e),
            ExpKind::If { .. } => self.branches(e),
            ExpKind::Match { value, cases } => self.match_exp(value, cases),
            ExpKind::Loop { pat, init, form, body, .. } => self.loop_exp(pat, init, form, body),
            ExpKind::With { value, place, update } => self.with(value, place, update),
            ExpKind::Ascribe(value, _) | ExpKind::Coerce(value, _) => {
                let value = self.exp(value);
                let place = self.place(BreakKind::Soft);
                let ty = self.run(end, Mode::Plain);
                Doc::Nest(STEP, Box::new(fill(value, vec![(place, ty)])))
            }
            ExpKind::Attr(_, inner) => {
                let attr = self.run(self.token_at(inner.span.start), Mode::Plain);
                let place = self.place(BreakKind::Rigid);
                let inner = self.exp(inner);
                align(fill(attr, vec![(place, inner)]))
            }
            _ => self.run(end, Mode::Plain),
        }
    }

    /// `(e)`, `(+ e)`, `(e +)`.
    fn parens(&mut self, inner: &Exp, end: usize) -> Doc {
        let open = self.token();
        let close = end.saturating_sub(1);
        self.enclosed(open, close, |layout| {
            let mut docs = Vec::new();
            if layout.next < layout.token_at(inner.span.start) {
                docs.extend([layout.token(), Doc::Space]);
            }
            docs.push(layout.exp(inner));
            if layout.next < close {
                docs.extend([Doc::Space, layout.token()]);
            }
            Doc::Cat(docs)
        })
    }

    /// `(.[i, j])`.
    fn section_index(&mut self, end: usize, parts: &[&Exp]) -> Doc {
        let open = self.token();
        let index = self.list(end.saturating_sub(1), parts);
        Doc::Cat(vec![open, index, self.token()])
    }

    /// `m.(e)`.
    fn open_in(&mut self, inner: &Exp, end: usize) -> Doc {
        let mut docs = Vec::new();
        while self.next < end && self.at() != ".(" {
            docs.push(self.token());
        }
        let parts: Vec<&Exp> = match &inner.kind {
            // The tuple's parentheses are those of the whole.
            ExpKind::Tuple(parts) if parts.len() > 1 && self.text(self.next + 1) != "(" => {
                parts.iter().collect()
            }
            _ => vec![inner],
        };
        docs.push(self.list(end, &parts));
        Doc::Cat(docs)
    }

    /// Expressions with single tokens between them.
    fn sequence(&mut self, end: usize, parts: &[&Exp]) -> Doc {
        let mut docs = Vec::new();
        let mut parts = parts.iter().peekable();
        while self.next < end {
            if !docs.is_empty() && self.blank(Mode::Plain) {
                docs.push(Doc::Space);
            }
            match parts.next_if(|e| self.next >= self.token_at(e.span.start)) {
                Some(e) => docs.push(self.exp(e)),
                None => docs.push(self.token()),
            }
        }
        Doc::Cat(docs)
    }

    /// Arguments that do not fit begin where the first one does. The lines of a function at the end may be indented as if
    /// they stood in the application itself.
    fn application(&mut self, head: Doc, args: &[Exp]) -> Doc {
        if let Some((last, first)) = args.split_last()
            && let Some(body) = self.function_on_lines(last)
            && self.next_lines(first, last) == 0
        {
            let mut docs = vec![head];
            first.iter().for_each(|arg| docs.extend([Doc::Space, self.exp(arg)]));
            docs.extend([Doc::Space, self.token(), self.run(self.token_at(body.span.start), Mode::Head)]);
            let body = Doc::Cat(vec![Doc::Hard, self.exp(body)]);
            docs.extend([Doc::Nest(STEP, Box::new(body)), self.token()]);
            return align(Doc::Cat(docs));
        }
        let mut items: Vec<(Break, Doc)> =
            args.iter().map(|arg| (self.place(BreakKind::Helpful), self.exp(arg))).collect();
        if items.is_empty() {
            return head;
        }
        if items[0].0.forced {
            return align(Doc::Nest(STEP, Box::new(fill(head, items))));
        }
        let (_, first) = items.remove(0);
        if items.is_empty() {
            // What a bracket has on lines of its own is indented from the function, not from the bracket.
            return align(Doc::Cat(vec![head, Doc::Space, first]));
        }
        Doc::Cat(vec![head, Doc::Space, align(fill(first, items))])
    }

    /// The body of a function in parentheses that the author put on lines of its own.
    fn function_on_lines<'e>(&self, e: &'e Exp) -> Option<&'e Exp> {
        let ExpKind::Parens(inner) = &e.kind else { return None };
        let ExpKind::Lambda { body, .. } = &inner.kind else { return None };
        let begins = self.token_at(body.span.start);
        let ends = self.end_of(e.span).saturating_sub(1);
        let broken = self.source.is_broken_before(begins) && !self.source.is_broken_before(ends);
        let head = self.token_at(e.span.start) + 1..begins;
        (broken && head.into_iter().all(|i| !self.source.is_broken_before(i))).then_some(body)
    }

    /// Number of lines that the author ended before these arguments and inside all but the last.
    fn next_lines(&self, first: &[Exp], last: &Exp) -> usize {
        let begins = first.first().unwrap_or(last).span.start;
        let tokens = self.token_at(begins)..=self.token_at(last.span.start);
        tokens.filter(|i| self.source.is_broken_before(*i)).count()
    }

    /// Two prefix operators side by side would be read as one, or as a comment.
    fn prefix(&mut self, operand: &Exp) -> Doc {
        let op = self.token();
        let blank = if self.at().starts_with(['-', '!']) { Doc::Space } else { Doc::Empty };
        Doc::Cat(vec![op, blank, self.exp(operand)])
    }

    /// Operands with operators of one precedence between them. A line ends before an operator, unless the author ended
    /// it after one. A pipeline has a line for each step, or is on one line.
    fn chain(&mut self, e: &Exp) -> Doc {
        let class = operator_class(e);
        let mut operands = Vec::new();
        flatten(e, class, &mut operands);
        let mut operands = operands.into_iter();
        let Some(first) = operands.next() else { return Doc::Empty };
        let mut current = self.exp(first);
        let mut items: Vec<(Break, Doc)> = Vec::new();
        for operand in operands {
            let mut place = self.place(BreakKind::Soft);
            let op = self.token();
            let after = self.place(BreakKind::Soft);
            if after.forced && !place.forced {
                let last = items.last_mut().map_or(&mut current, |(_, doc)| doc);
                *last = Doc::Cat(vec![std::mem::replace(last, Doc::Empty), Doc::Space, op]);
                place = after;
                let operand = self.exp(operand);
                items.push((place, operand));
            } else {
                let operand = self.exp(operand);
                items.push((place, Doc::Cat(vec![op, Doc::Space, align(operand)])));
            }
        }
        if class != Class::Pipe {
            return align(fill(current, items));
        }
        let broken = items.iter().any(|(place, _)| place.forced);
        let mut docs = vec![current];
        items.into_iter().for_each(|(_, doc)| docs.extend([Doc::Line, doc]));
        align(Doc::Group { broken, body: Box::new(Doc::Cat(docs)) })
    }

    fn lambda(&mut self, body: &Exp) -> Doc {
        let head = self.run(self.token_at(body.span.start), Mode::Head);
        align(self.hang(head, BreakKind::Soft, |layout| layout.exp(body)))
    }

    /// Bindings one below the other, or everything on one line.
    fn lets(&mut self, e: &Exp) -> Doc {
        let mut docs = Vec::new();
        let mut broken = false;
        let mut e = e;
        loop {
            let (mode, value, body) = match &e.kind {
                ExpKind::Let { value, body, .. } => (Mode::Plain, &**value, body),
                ExpKind::LetFun { def, body } => (Mode::Head, &def.body, body),
                ExpKind::LetWith { value, body, .. } => (Mode::Plain, &**value, body),
                _ => break,
            };
            let mut binding = self.binding(value, mode);
            let chained =
                matches!(body.kind, ExpKind::Let { .. } | ExpKind::LetFun { .. } | ExpKind::LetWith { .. });
            if chained && self.at() == "in" {
                binding = Doc::Cat(vec![binding, Doc::Space, self.token()]);
            }
            broken |= binding.is_broken() || self.is_broken();
            docs.extend([binding, Doc::Line]);
            e = body;
        }
        docs.extend([self.token(), Doc::Space]);
        let body = self.exp(e);
        docs.push(align(body));
        align(Doc::Group { broken, body: Box::new(Doc::Cat(docs)) })
    }

    fn binding(&mut self, value: &Exp, mode: Mode) -> Doc {
        let word = self.token();
        let head = self.run(self.token_at(value.span.start), mode);
        let head = Doc::Cat(vec![word, Doc::Space, align(head)]);
        self.hang(head, BreakKind::Soft, |layout| layout.exp(value))
    }

    /// `if … then … else if …`: one line, or a line for each part, or as the author arranged the parts.
    fn branches(&mut self, e: &Exp) -> Doc {
        let mut items = Vec::new();
        let mut e = e;
        let mut word = self.token();
        let mut first = Doc::Empty;
        let mut inner_lines = false;
        let mut place = Break::default();
        while let ExpKind::If { cond, then, other } = &e.kind {
            let cond = Doc::Cat(vec![word, Doc::Space, align(self.exp(cond))]);
            inner_lines |= cond.is_broken();
            if matches!(first, Doc::Empty) {
                first = cond;
            } else {
                items.push((place, cond));
            }
            place = self.place(BreakKind::Soft);
            let then = self.branch(then, true);
            inner_lines |= then.is_broken();
            items.push((place, then));
            place = self.place(BreakKind::Soft);
            if matches!(other.kind, ExpKind::If { .. }) && !self.source.is_broken_before(self.next + 1) {
                word = Doc::Cat(vec![self.token(), Doc::Space, self.token()]);
                e = other;
            } else {
                // After `if … then … else` on one line nothing is indented: an early result.
                let other = self.branch(other, place.forced);
                items.push((place, other));
                break;
            }
        }
        if items.iter().any(|(place, _)| place.forced) {
            return align(fill(first, items));
        }
        let mut docs = vec![first];
        items.into_iter().for_each(|(_, doc)| docs.extend([Doc::Line, doc]));
        align(Doc::Group { broken: inner_lines, body: Box::new(Doc::Cat(docs)) })
    }

    /// `then e`, `else e`.
    fn branch(&mut self, e: &Exp, indented: bool) -> Doc {
        let word = self.token();
        let nest = if indented { STEP } else { 0 };
        let place = Break { nest, ..self.place(BreakKind::Helpful) };
        let branch = align(self.exp(e));
        fill(word, vec![(place, branch)])
    }

    /// Cases one below the other, or everything on one line.
    fn match_exp(&mut self, value: &Exp, cases: &[(Pat, Exp)]) -> Doc {
        let word = self.token();
        let mut docs = vec![word, Doc::Space, align(self.exp(value))];
        let mut broken = docs[2].is_broken();
        for (i, (_, body)) in cases.iter().enumerate() {
            broken |= self.is_broken();
            let head = self.run(self.token_at(body.span.start), Mode::Plain);
            let case = self.hang(head, BreakKind::Soft, |layout| layout.exp(body));
            broken |= i + 1 < cases.len() && case.is_broken();
            docs.extend([Doc::Line, case]);
        }
        align(Doc::Group { broken, body: Box::new(Doc::Cat(docs)) })
    }

    fn loop_exp(&mut self, pat: &Pat, init: &Exp, form: &LoopForm, body: &Exp) -> Doc {
        let head = if init.span.start > pat.span.start {
            let head = self.run(self.token_at(init.span.start), Mode::Plain);
            self.hang(head, BreakKind::Helpful, |layout| align(layout.exp(init)))
        } else {
            let end =
                (self.next..self.source.tokens.len()).find(|i| matches!(self.text(*i), "for" | "while"));
            self.run(end.unwrap_or(self.next), Mode::Plain)
        };
        let (LoopForm::For(_, bound) | LoopForm::ForIn(_, bound) | LoopForm::While(bound)) = form;
        let place = Break { outdent: STEP, ..self.place(BreakKind::Soft) };
        let words = self.run(self.token_at(bound.span.start), Mode::Head);
        let bound = align(self.exp(bound));
        let form = Doc::Cat(vec![words, Doc::Space, bound, Doc::Space, self.token()]);
        let mut before_body = self.place(BreakKind::Soft);
        let is_loop = matches!(body.kind, ExpKind::Loop { .. });
        let body = self.exp(body);
        // Loops inside loops stand on one line together, or each on its own.
        before_body.forced |= is_loop && body.is_broken();
        align(Doc::Nest(STEP, Box::new(fill(head, vec![(place, form), (before_body, body)]))))
    }

    /// `value with [i, j] = update`, `value with a.b = update`.
    fn with(&mut self, value: &Exp, to: &[Step], update: &Exp) -> Doc {
        let value = self.exp(value);
        let place = self.place(BreakKind::Soft);
        let mut docs = vec![self.token(), Doc::Space];
        let equals = self.token_at(update.span.start).saturating_sub(1);
        let parts = index_parts(Step::indices(to));
        docs.push(match to {
            [Step::Index(..)] => self.list(equals, &parts),
            _ => self.sequence(equals, &parts),
        });
        docs.extend([Doc::Space, self.token(), Doc::Space, self.exp(update)]);
        align(Doc::Nest(STEP, Box::new(fill(value, vec![(place, Doc::Cat(docs))]))))
    }
}

/// Operators whose chains are laid out together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Pipe,
    Or,
    And,
    Sum,
    Product,
    Other,
}

fn operator_class(e: &Exp) -> Class {
    let ExpKind::Binary { op, .. } = &e.kind else { return Class::Other };
    match op.base.as_str() {
        "|>" | "<|" | ">->" | "<-<" => Class::Pipe,
        "||" => Class::Or,
        "&&" => Class::And,
        "+" | "-" | "++" => Class::Sum,
        "*" | "/" | "%" => Class::Product,
        _ => Class::Other,
    }
}

/// The operands of a chain from left to right.
fn flatten<'e>(e: &'e Exp, class: Class, out: &mut Vec<&'e Exp>) {
    match &e.kind {
        ExpKind::Binary { left, right, .. } if operator_class(e) == class => {
            stacker::maybe_grow(64 << 10, 1 << 20, || {
                // Operators of no class form chains of two.
                let deeper = |e: &'e Exp, out: &mut Vec<&'e Exp>| match class {
                    Class::Other => out.push(e),
                    _ => flatten(e, class, out),
                };
                deeper(left, out);
                deeper(right, out);
            });
        }
        _ => out.push(e),
    }
}
