//! Expressions: the table of kinds, and the simple ones.

use super::holes::Hole;
use super::scope::Found;
use super::types::{BOOL, Class, array};
use super::{Binding, Cx, collect, errors, foreign, typeexps};
use crate::thir::{DefId, Expr, ExprKind, RangeKind, Ty};
use par_runtime::{Fields, Prim, Scalar, Span};
use par_syntax::ast::{Exp, ExpKind, Ident, Literal, Name};
use par_syntax::{Diagnostic, Severity};

impl Cx<'_> {
    /// An expression with its type.
    pub(super) fn exp(&mut self, e: &Exp) -> Expr {
        super::deep(|| self.exp_here(e))
    }

    fn exp_here(&mut self, e: &Exp) -> Expr {
        let span = e.span;
        match &e.kind {
            ExpKind::Name(name) | ExpKind::Operator(name) => self.name(name),
            ExpKind::Literal(literal) => self.literal(literal, false, span),
            ExpKind::Tuple(es) => self.tuple(es, span),
            ExpKind::Record(fields) => self.record(fields, span),
            ExpKind::Array(es) => self.array_literal(es, span),
            ExpKind::Range { start, second, end, kind } => {
                self.range(start, second.as_deref(), end, *kind, span)
            }
            ExpKind::Apply(f, args) => self.application(f, args, span),
            ExpKind::Binary { op, left, right } => self.operation(op, left, right, span),
            ExpKind::Negate(inner) => self.negate(inner, span),
            ExpKind::Not(inner) => self.not(inner, span),
            ExpKind::SectionLeft(op, e) => self.section(op, e, true, span),
            ExpKind::SectionRight(op, e) => self.section(op, e, false, span),
            ExpKind::SectionField(fields) => self.field_section(fields, span),
            ExpKind::SectionIndex(index) => self.index_section(index, span),
            ExpKind::Lambda { params, ret, body } => self.lambda(params, ret.as_ref(), body, span),
            ExpKind::Let { sizes, pat, value, body } => self.let_in(sizes, pat, value, body, span),
            ExpKind::LetFun { def, body } => self.let_fun(def, body, span),
            ExpKind::LetWith { name, place, value, body } => self.let_with(name, place, value, body, span),
            ExpKind::If { cond, then, other } => self.if_then_else(cond, then, other, span),
            ExpKind::Match { value, cases } => self.match_with(value, cases, span),
            ExpKind::Loop { sizes, pat, init, form, body } => {
                self.loop_do(sizes, pat, init, form, body, span)
            }
            ExpKind::Index(value, index) => {
                let value = self.exp(value);
                self.index(value, index, span)
            }
            ExpKind::With { value, place, update } => {
                let value = self.exp(value);
                self.with(value, place, update, span)
            }
            ExpKind::Field(value, field) => {
                let value = self.exp(value);
                self.field(value, field, span)
            }
            ExpKind::Ascribe(inner, t) => self.ascribe(inner, t, ExprKind::Ascribe, span),
            ExpKind::Coerce(inner, t) => self.ascribe(inner, t, ExprKind::Coerce, span),
            ExpKind::Assert(cond, inner) => {
                let cond = self.condition(cond, "the condition of `assert`");
                let inner = self.exp(inner);
                let ty = inner.ty.clone();
                Expr { kind: ExprKind::Assert(Box::new(cond), Box::new(inner)), ty, span }
            }
            ExpKind::Constr(name, es) => self.constructor(name, es, span),
            ExpKind::Attr(attr, inner) => {
                self.diags.extend(collect::unknown_attribute(attr));
                let inner = self.exp(inner);
                let ty = inner.ty.clone();
                Expr { kind: ExprKind::Attr(attr.clone(), Box::new(inner)), ty, span }
            }
            ExpKind::Hole => self.hole(span),
            ExpKind::Parens(inner) => self.exp(inner),
            ExpKind::OpenIn(name, inner) => self.open_in(name, inner),
        }
    }

    fn application(&mut self, f: &Exp, args: &[Exp], span: Span) -> Expr {
        if let Some(word) = std::iter::once(f).chain(args).find_map(|e| self.foreign_word(e)) {
            return self.name(word);
        }
        let f = self.exp(f);
        let args = args.iter().map(|a| self.exp(a)).collect();
        self.apply(f, args, span)
    }

    /// A binary operator on its operands.
    fn operation(&mut self, op: &Name, left: &Exp, right: &Exp, span: Span) -> Expr {
        // What stands around an operator that does not exist is probably no expression either.
        if self.scopes.resolve(&self.env, self.module, op).is_none() {
            self.name(op);
            return self.poison(span);
        }
        self.warn_of_one_precedence(op, left, span);
        let (left, right) = (self.exp(left), self.exp(right));
        self.binary(op, left, right, span)
    }

    /// The name, if it is a word of another language's syntax: what is applied to or stands beside it is no mistake.
    fn foreign_word<'e>(&self, e: &'e Exp) -> Option<&'e Name> {
        let ExpKind::Name(name) = &e.kind else { return None };
        let unknown = foreign::is_word(name) && self.scopes.resolve(&self.env, self.module, name).is_none();
        unknown.then_some(name)
    }

    /// Stands for something wrong that was reported.
    pub(super) fn poison(&mut self, span: Span) -> Expr {
        Expr { kind: ExprKind::Tuple(Vec::new()), ty: self.types.poison(), span }
    }

    /// W0204: a name means the library's although the file defines it, after this place.
    pub(super) fn note_later(&mut self, name: &Name) {
        let known = self.scopes.get(self.module).library || !name.path.is_empty();
        let later = if known { None } else { self.scopes.defined_later(self.module, name.span, &name.base) };
        let Some(later) = later else { return };
        if self.diags.iter().any(|d| d.code == "W0204" && d.labels.iter().any(|l| l.span == later)) {
            return;
        }
        let message = format!("`{0}` is that of the standard library here", name.base);
        let diag = Diagnostic::new(Severity::Warning, "W0204", message, name.span);
        self.diags.push(diag.here("stands before the definition in this file").label(later, "defined here"));
    }

    /// A value by its name; the rest of a dotted name selects fields.
    pub(super) fn name(&mut self, name: &Name) -> Expr {
        let Some((found, fields)) = self.scopes.resolve(&self.env, self.module, name) else {
            if self.scopes.is_parametric(&self.env, self.module, name) {
                self.diags.push(errors::unapplied(name.span));
                return self.poison(name.span);
            }
            let diag = self.unknown_name(name);
            self.diags.push(diag);
            return self.poison(name.span);
        };
        let span = name.span;
        match &found {
            Found::Op(..) | Found::PerType(_) => self.note_later(name),
            Found::Def(id) if self.defs[id.0 as usize].library => self.note_later(name),
            _ => {}
        }
        let value = match found {
            Found::Local(binding) => self.local(binding, span),
            Found::Def(id) => self.def_use(id, span),
            Found::Op(op, prim) => self.operator_value(&op, prim, span),
            Found::PerType(function) => self.per_type(function, span),
            Found::Broken => self.poison(span),
        };
        fields.into_iter().fold(value, |value, field| self.field(value, &Ident { name: field, span }, span))
    }

    /// E0201, with what the surroundings say about it.
    pub(super) fn unknown_name(&mut self, name: &Name) -> Diagnostic {
        let known = self.scopes.candidates(&self.env, self.module, name);
        let mut of_numbers = [Prim::F64, Prim::F32, Prim::I64, Prim::I32]
            .into_iter()
            .filter(|p| self.scopes.of_prim(*p, &name.base).is_some());
        let of_number = of_numbers.next();
        let of_others: Vec<Prim> = of_numbers.collect();
        if let Some(first) = name.path.first()
            && known.is_empty()
        {
            let diag = errors::unknown_name(name, &[]);
            let diag = diag.note(format!("there is no module and no value `{first}`"));
            return match of_number {
                Some(prim) if name.path.len() == 1 => {
                    diag.note(format!("did you mean `{prim}.{}`?", name.base))
                }
                _ => diag,
            };
        }
        if let (Some(prim), true) = (par_runtime::Prim::from_name(&name.base), name.path.is_empty()) {
            let from = if prim == par_runtime::Prim::I32 { "i64" } else { "i32" };
            let note = format!(
                "this is the name of a type; a conversion names both: `{prim}.{from} x` for an {from}"
            );
            return errors::unknown_name(name, &[]).note(note);
        }
        if let (Some(prim), true) = (of_number, name.path.is_empty()) {
            let diag = errors::unknown_name(name, &[]);
            let all = std::iter::once(prim).chain(of_others).map(|p| format!("`{p}.{}`", name.base));
            let all = all.collect::<Vec<_>>().join(", ");
            return diag.note(format!("functions of numbers belong to the modules of the types: {all}"));
        }
        if self.scopes.is_hidden(&self.env, self.module, name) {
            let note = format!("`{}` is `local`: only its own module sees it", name.base);
            return errors::unknown_name(name, &[]).note(note);
        }
        let diag = errors::unknown_name(name, &known);
        if name.path.len() == 1
            && par_runtime::Prim::from_name(&name.path[0]).is_some()
            && self.scopes.value(self.module, name.span, &name.base).is_some()
        {
            let note = format!("did you mean `{}`? It is not a function of one type", name.base);
            return errors::unknown_name(name, &[]).note(note);
        }
        if !name.path.is_empty() {
            return if diag.notes.is_empty() { members_noted(diag, name, known) } else { diag };
        }
        if self.scopes.find_type(&self.env, self.module, name).is_some() {
            let diag = errors::unknown_name(name, &[]);
            return diag.note(
                "this is the name of a type; values are written (a, b), {x = a, y = b} or #constructor a",
            );
        }
        if self.scopes.find_module(&self.env, self.module, name).is_some() {
            let diag = errors::unknown_name(name, &[]);
            return diag
                .note(format!("this is the name of a module; what is in it is written `{}.x`", name.base));
        }
        self.word_of_another(name, diag)
    }

    /// For a name that exists nowhere: what else the words around it say, or the closest name, which `diag` says.
    fn word_of_another(&self, name: &Name, diag: Diagnostic) -> Diagnostic {
        let closest = diag.clone();
        let diag = Diagnostic { notes: Vec::new(), ..diag };
        let before = self.sources.files.get(name.span.file as usize).and_then(|f| {
            let line = f.text.get(..name.span.start as usize)?.rsplit('\n').next()?;
            Some(line.to_string())
        });
        let before = before.unwrap_or_default();
        match &name.base {
            base if Prim::from_name(base).is_some() => {
                diag.note(format!("a conversion names both types: `{base}.i32 x` makes a value of type {base} of an i32"))
            }
            _ if self.env.value("rec").is_some()
                || self.scopes.value(self.module, name.span, "rec").is_some() =>
            {
                diag.note("functions may call themselves without a word for it: write `let f …`, not `let rec f …`, which defines a function `rec`")
            }
            _ if self.env.value("mut").is_some() => {
                diag.note("values do not change, but `let` may give a name another one, and `loop` carries one along: write `let x = …`, not `let mut x = …`, which defines a function `mut`")
            }
            _ if before.contains("//") => diag.note("a comment begins with `--`; `//` divides"),
            _ if before.trim_end().ends_with("(|") => diag.note("a function is written `\\x -> e`"),
            _ => closest,
        }
    }

    fn local(&mut self, binding: Binding, span: Span) -> Expr {
        match binding {
            Binding::Value { id, scheme } => {
                let (ty, args) = self.types.instantiate(&scheme);
                let kind = if args.is_empty() { ExprKind::Local(id) } else { ExprKind::Poly(id, args) };
                Expr { kind, ty, span }
            }
            Binding::Size(e) => *e,
            Binding::OwnSize(..) | Binding::AnonymousSize => {
                self.reading.anonymous_size = true;
                Expr { kind: ExprKind::Tuple(Vec::new()), ty: super::types::I64, span }
            }
        }
    }

    pub(super) fn def_use(&mut self, id: DefId, span: Span) -> Expr {
        let Some(scheme) = &self.checked.schemes[id.0 as usize] else { return self.poison(span) };
        let (ty, args) = self.types.instantiate(scheme);
        Expr { kind: ExprKind::Def(id, args), ty, span }
    }

    /// A literal, with the sign in front of it.
    pub(super) fn literal(&mut self, literal: &Literal, negative: bool, span: Span) -> Expr {
        let (kind, ty) = match literal {
            Literal::Bool(b) => (ExprKind::Literal(Scalar::Bool(*b)), BOOL),
            Literal::String(bytes) => (ExprKind::String(bytes.clone()), array(Ty::Prim(Prim::U8))),
            number => match self.number(number, negative, span) {
                Some((index, ty)) => (ExprKind::Literal(index), ty),
                None => return self.poison(span),
            },
        };
        Expr { kind, ty, span }
    }

    fn tuple(&mut self, es: &[Exp], span: Span) -> Expr {
        let es: Vec<Expr> = es.iter().map(|e| self.exp(e)).collect();
        let ty = Ty::Tuple(es.iter().map(|e| e.ty.clone()).collect());
        Expr { kind: ExprKind::Tuple(es), ty, span }
    }

    fn constructor(&mut self, name: &Ident, es: &[Exp], span: Span) -> Expr {
        let es: Vec<Expr> = es.iter().map(|e| self.exp(e)).collect();
        let ty = self.types.any();
        self.has_constr(ty.clone(), name, es.iter().map(|e| (e.ty.clone(), e.span)).collect(), span);
        Expr { kind: ExprKind::Constr(name.name.clone(), es), ty, span }
    }

    fn hole(&mut self, span: Span) -> Expr {
        let ty = self.types.any();
        let locals = self.locals_in_scope();
        self.component.holes.push(Hole { ty: ty.clone(), span, locals });
        Expr { kind: ExprKind::Hole(String::new()), ty, span }
    }

    fn record(&mut self, fields: &[(Ident, Option<Exp>)], span: Span) -> Expr {
        self.distinct(fields.iter().map(|(f, _)| f), "field");
        let mut values: Vec<(String, Expr)> = Vec::new();
        for (field, e) in fields {
            let value = match e {
                Some(e) => self.exp(e),
                None => self.name(&super::deps::field_name(field)),
            };
            values.push((field.name.clone(), value));
        }
        if typeexps::is_tuple(values.iter().map(|(f, _)| f.as_str())) {
            let parts = typeexps::in_order(values);
            let ty = Ty::Tuple(parts.iter().map(|e| e.ty.clone()).collect());
            return Expr { kind: ExprKind::Tuple(parts), ty, span };
        }
        let types = Fields::written(values.iter().map(|(f, e)| (f.clone(), e.ty.clone())).collect());
        Expr { kind: ExprKind::Record(values), ty: Ty::Record(types), span }
    }

    fn array_literal(&mut self, es: &[Exp], span: Span) -> Expr {
        let element = self.types.any();
        let mut values: Vec<Expr> = Vec::new();
        for e in es {
            let value = self.exp(e);
            let first = values.first().map(|e| e.span);
            self.agree(&element, &value.ty, |clash, expected, found| {
                let diag = Diagnostic::error("E0301", "the elements of an array have one type", value.span)
                    .here(format!("expected {expected}, found {found}"));
                let diag = first.into_iter().fold(diag, |d, s| d.label(s, format!("this is {expected}")));
                errors::explain(diag, clash)
            });
            values.push(value);
        }
        let element = match self.types.restrict(&element, Class::Data) {
            Ok(()) => element,
            Err(_) => {
                values
                    .iter()
                    .take(1)
                    .for_each(|first| self.must_be_data(first, Class::Data, "an element of an array"));
                self.types.poison()
            }
        };
        Expr { kind: ExprKind::Array(values), ty: array(element), span }
    }

    fn range(&mut self, start: &Exp, second: Option<&Exp>, end: &Exp, kind: RangeKind, span: Span) -> Expr {
        let start = self.exp(start);
        let ty = self.integer_type(&start, "a range starts at an integer");
        let second = second.map(|e| Box::new(self.range_part(e, &ty, start.span)));
        let end = Box::new(self.range_part(end, &ty, start.span));
        Expr { kind: ExprKind::Range { start: Box::new(start), second, end, kind }, ty: array(ty), span }
    }

    fn range_part(&mut self, e: &Exp, ty: &Ty, start: Span) -> Expr {
        let e = self.exp(e);
        self.agree(ty, &e.ty, |clash, expected, found| {
            let diag = Diagnostic::error("E0301", "the parts of a range have one type", e.span);
            let diag = diag.here(format!("expected {expected}, found {found}"));
            errors::explain(diag.label(start, format!("this is {expected}")), clash)
        });
        e
    }

    fn ascribe(
        &mut self,
        inner: &Exp,
        t: &par_syntax::ast::TypeExp,
        how: fn(Box<Expr>, Ty) -> ExprKind,
        span: Span,
    ) -> Expr {
        let inner = self.exp(inner);
        let declared = self.ty(t);
        self.agree(&declared, &inner.ty, |clash, expected, found| {
            let diag = Diagnostic::error("E0301", "the value does not have the type it is given", inner.span);
            let diag = diag.here(format!("found {found}")).label(t.span, format!("expected {expected}"));
            errors::explain(diag, clash)
        });
        let ty = super::types::erase(&declared);
        Expr { kind: how(Box::new(inner), declared), ty, span }
    }

    fn open_in(&mut self, name: &Name, inner: &Exp) -> Expr {
        let Some(module) = self.scopes.find_module(&self.env, self.module, name) else {
            let known = self.scopes.names_like(self.module, name, |m| m.modules.keys().cloned().collect());
            self.diags.push(errors::unknown_module(name, &known));
            return self.poison(name.span);
        };
        if self.scopes.get(module).functor.is_some() {
            self.diags.push(errors::unapplied(name.span));
            return self.poison(name.span);
        }
        self.scoped(|cx| {
            cx.env.open(module);
            cx.exp(inner)
        })
    }
}

/// Note on the members of a module that has few values.
fn members_noted(diag: Diagnostic, name: &Name, mut known: Vec<String>) -> Diagnostic {
    const FEW: usize = 8;
    known.sort();
    if !(1..=FEW).contains(&known.len()) {
        return diag;
    }
    let list = known.iter().map(|m| format!("`{m}`")).collect::<Vec<_>>().join(", ");
    diag.note(format!("`{}` has {list}", name.path.join(".")))
}
