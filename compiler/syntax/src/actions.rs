//! Actions of the grammar: they build nodes with their ranges, and report what a grammar cannot exclude.

use std::cell::RefCell;

use crate::ast::*;
use crate::diagnostic::Diagnostic;
use crate::infix;
use crate::lexer;

/// Parsed text, as it was asked for.
#[derive(Debug)]
pub(crate) enum Parsed {
    File(Vec<Dec>),
    Exp(Box<Exp>),
    Type(TypeExp),
}

/// Left-hand side of a `let`; the body comes later.
#[derive(Debug)]
pub(crate) enum Binding {
    Value(Vec<Ident>, Pat, Exp),
    Function(Def),
    Update(Ident, Vec<Step>, Exp),
}

/// Name, type parameters and parameters of a definition.
pub(crate) type Head = (Ident, Vec<TypeParam>, Vec<Pat>);

/// The surroundings of the actions.
pub(crate) struct Context<'a> {
    /// The whole text of the file.
    pub text: &'a str,
    /// Its index.
    pub file: u32,
    /// Documentation comments by the place of the token that follows.
    pub docs: &'a [(usize, String)],
    /// Found by actions.
    pub errors: RefCell<Vec<Diagnostic>>,
}

impl Context<'_> {
    pub fn span(&self, start: usize, end: usize) -> Span {
        Span { file: self.file, start: start as u32, end: end as u32 }
    }

    pub fn name(&self, start: usize, text: &str, end: usize) -> Name {
        lexer::qualified(text, self.span(start, end))
    }

    pub fn symbol(&self, start: usize, text: &str, end: usize) -> Name {
        Name { path: Vec::new(), base: text.into(), span: self.span(start, end) }
    }

    pub fn ident(&self, start: usize, text: &str, end: usize) -> Ident {
        Ident { name: text.into(), span: self.span(start, end) }
    }

    pub fn exp(&self, start: usize, kind: ExpKind, end: usize) -> Exp {
        Exp { kind, span: self.span(start, end) }
    }

    pub fn pat(&self, start: usize, kind: PatKind, end: usize) -> Pat {
        Pat { kind, span: self.span(start, end) }
    }

    pub fn ty(&self, start: usize, kind: TypeKind, end: usize) -> TypeExp {
        TypeExp { kind, span: self.span(start, end) }
    }

    pub fn source(&self, start: usize, end: usize) -> String {
        self.text.get(start..end).unwrap_or("").to_string()
    }

    pub fn doc(&self, start: usize) -> Option<String> {
        let found = self.docs.binary_search_by_key(&start, |(at, _)| *at).ok()?;
        Some(self.docs[found].1.clone())
    }

    pub fn error(&self, error: Diagnostic) {
        self.errors.borrow_mut().push(error);
    }

    /// The name that an operator in parentheses, or `def x op y`, binds.
    pub fn bound_operator(&self, op: Name) -> Ident {
        if !op.path.is_empty() {
            let error =
                Diagnostic::error("E0109", "a definition binds a name without a module path", op.span);
            self.error(error.here(format!("write `{}`", op.base)));
        }
        if matches!(op.base.as_str(), "&&" | "||") {
            let message = format!("`{}` cannot be defined", op.base);
            let error =
                Diagnostic::error("E0111", message, op.span).here("evaluates its right side only if it must");
            self.error(error.note("a function always gets the values of both sides; give it another name"));
        }
        Ident { name: op.base, span: op.span }
    }

    /// A number as the name of a field: `{0 = x, 1 = y}`.
    pub fn numeric_field(&self, start: usize, literal: Literal, end: usize) -> Ident {
        if !matches!(literal, Literal::Int { suffix: None, .. }) {
            let span = self.span(start, end);
            self.error(
                Diagnostic::error("E0101", "expected the name of a field", span).here("this is not one"),
            );
        }
        Ident { name: self.source(start, end), span: self.span(start, end) }
    }

    /// The same in `t with 0 = v`, or `t with 0.1 = v`, which looks like a number with a point.
    pub fn numeric_fields(&self, start: usize, literal: Literal, end: usize) -> Vec<Step> {
        let is_path =
            |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'.') && !text.ends_with('.');
        match &literal {
            Literal::Float { text, suffix: None } if is_path(text) => {
                self.field_path(start, &self.source(start, end))
            }
            _ => vec![Step::Field(self.numeric_field(start, literal, end))],
        }
    }

    /// The path of an `import`.
    pub fn import_path(&self, literal: Literal, span: Span) -> (String, Span) {
        match literal {
            Literal::String(bytes) => (String::from_utf8_lossy(&bytes).into_owned(), span),
            _ => {
                let error = Diagnostic::error("E0101", "expected the path of a file after `import`", span);
                self.error(error.here("a path is a string: \"lib/sort\""));
                (String::new(), span)
            }
        }
    }

    /// The parts of `a.b`, which is one token.
    pub fn path(&self, start: usize, text: &str) -> Vec<Ident> {
        let mut at = start;
        let mut parts: Vec<Ident> = Vec::new();
        for part in text.split('.') {
            parts.push(self.ident(at, part, at + part.len()));
            at += part.len() + 1;
        }
        parts
    }

    /// The same as fields in `r with a.b = v`.
    pub fn field_path(&self, start: usize, text: &str) -> Vec<Step> {
        self.path(start, text).into_iter().map(Step::Field).collect()
    }

    /// A number or other literal in a pattern, negated if there is a `-` before it.
    pub fn negative(&self, start: usize, literal: Literal, end: usize) -> Pat {
        let literal = match literal {
            Literal::Int { value, suffix } => Literal::Int { value: -value, suffix },
            Literal::Float { text, suffix } => Literal::Float { text: format!("-{text}"), suffix },
            other => {
                let span = self.span(start, end);
                self.error(Diagnostic::error("E0101", "only a number can follow `-` in a pattern", span));
                other
            }
        };
        self.pat(start, PatKind::Literal(literal), end)
    }

    /// The initial values of a loop without `=`: the pattern as an expression.
    pub fn pattern_value(&self, pat: &Pat) -> Exp {
        let span = pat.span;
        let kind = match &pat.kind {
            PatKind::Name(name) => ExpKind::Name(Name { path: Vec::new(), base: name.clone(), span }),
            PatKind::Tuple(parts) => ExpKind::Tuple(parts.iter().map(|p| self.pattern_value(p)).collect()),
            PatKind::Record(fields) => ExpKind::Record(
                fields.iter().map(|(f, p)| (f.clone(), p.as_ref().map(|p| self.pattern_value(p)))).collect(),
            ),
            PatKind::Ascribe(pat, _) | PatKind::Attr(_, pat) => return self.pattern_value(pat),
            PatKind::Literal(literal) => ExpKind::Literal(literal.clone()),
            PatKind::Constr(name, args) => {
                ExpKind::Constr(name.clone(), args.iter().map(|p| self.pattern_value(p)).collect())
            }
            PatKind::Wildcard => {
                let error = Diagnostic::error("E0108", "a loop without initial values needs names", span)
                    .here("`_` is the name of no variable")
                    .note("write the initial values: loop pattern = values for …");
                self.error(error);
                ExpKind::Hole
            }
        };
        Exp { kind, span }
    }

    /// `f a b`, or `#c a b`.
    pub fn apply(&self, head: Exp, args: Vec<Exp>) -> Exp {
        let end = args.last().map_or(head.span.end, |arg| arg.span.end);
        let span = Span { end, ..head.span };
        let kind = match head.kind {
            ExpKind::Constr(name, none) if none.is_empty() => ExpKind::Constr(name, args),
            _ => ExpKind::Apply(Box::new(head), args),
        };
        Exp { kind, span }
    }

    /// `a op b op c`.
    pub fn chain(&self, operands: Vec<(Exp, Name)>, last: Exp) -> Exp {
        infix::resolve(operands, last)
    }

    /// `(a op b op)`.
    pub fn section(&self, start: usize, mut operands: Vec<(Exp, Name)>, end: usize) -> Exp {
        let Some((last, op)) = operands.pop() else { return self.exp(start, ExpKind::Hole, end) };
        let left = self.chain(operands, last);
        self.exp(start, ExpKind::SectionLeft(op, Box::new(left)), end)
    }

    /// A binding and its body.
    pub fn let_in(&self, start: usize, binding: Binding, body: Exp) -> Exp {
        let span = Span { file: self.file, start: start as u32, end: body.span.end };
        let body = Box::new(body);
        let kind = match binding {
            Binding::Value(sizes, pat, value) => ExpKind::Let { sizes, pat, value: Box::new(value), body },
            Binding::Function(def) => ExpKind::LetFun { def: Box::new(def), body },
            Binding::Update(name, place, value) => {
                ExpKind::LetWith { name, place, value: Box::new(value), body }
            }
        };
        Exp { kind, span }
    }

    /// A loop; without initial values the names of the pattern have them.
    pub fn loop_exp(
        &self,
        start: usize,
        sizes: Vec<Ident>,
        pat: Pat,
        init: Option<Exp>,
        form: LoopForm,
        body: Exp,
    ) -> Exp {
        let init = Box::new(init.unwrap_or_else(|| self.pattern_value(&pat)));
        let end = body.span.end as usize;
        self.exp(start, ExpKind::Loop { sizes, pat, init, form, body: Box::new(body) }, end)
    }
}

/// From the beginning of one expression to the end of another.
pub(crate) fn join(first: Span, last: Span) -> Span {
    Span { end: last.end, ..first }
}

/// A definition out of its parts.
pub(crate) fn definition(head: Head, entry: bool, ret: Option<TypeExp>, body: Exp) -> Def {
    let (name, type_params, params) = head;
    Def { name, entry, type_params, params, ret, body }
}

/// `'t`, `'^t`, `'~t` as the lexer found it.
pub(crate) fn type_variable(text: &str, span: Span) -> TypeParam {
    let name = text.trim_start_matches(['\'', '^', '~']);
    let kind = text.chars().nth(1).filter(|c| matches!(c, '^' | '~'));
    TypeParam::Type(Ident { name: name.into(), span }, kind)
}

/// `a..b...c` and its shorter forms.
pub(crate) fn range(start: Exp, second: Option<Exp>, kind: RangeKind, end: Exp) -> Exp {
    let span = join(start.span, end.span);
    let kind =
        ExpKind::Range { start: Box::new(start), second: second.map(Box::new), end: Box::new(end), kind };
    Exp { kind, span }
}
