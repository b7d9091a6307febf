//! Meaning of the name of a definition or local function inside its body: itself, or another one.
//!
//! Functions are recursive without a word for it, unless they cannot be: what would call itself in every case never ends.
//! `def zip a b = zip a b` of a module means the `zip` around it, and so does the `+` in `def (+) a b = a.x + b.x`.

use super::scope::is_operator;
use par_syntax::ast::{Def, Exp, ExpKind, IndexArg, LoopForm, Name, Step};

/// True if a definition cannot be recursive, so that its name means another one in its body, if there is one: it is a
/// value, has the name of a built-in operator, or calls itself in every case.
pub(super) fn means_another(def: &Def) -> bool {
    is_value(def) || is_operator(&def.name.name) || calls(&def.body, &def.name.name)
}

/// True if it has no parameters and is no function written out.
fn is_value(def: &Def) -> bool {
    let mut body = &def.body;
    while let ExpKind::Parens(inner) | ExpKind::Attr(_, inner) = &body.kind {
        body = inner;
    }
    def.params.is_empty() && !matches!(body.kind, ExpKind::Lambda { .. })
}

/// True if the value of an expression cannot be found without calling `own`. What functions do that are only handed on
/// does not count: they need not be called.
fn calls(e: &Exp, own: &str) -> bool {
    super::deep(|| match &e.kind {
        ExpKind::Apply(f, args) => is_name(f, own) || calls(f, own) || args.iter().any(|e| calls(e, own)),
        ExpKind::Binary { op, left, right } => match op.base.as_str() {
            "&&" | "||" => calls(left, own),
            "|>" => is_name(right, own) || calls(left, own) || calls(right, own),
            "<|" => is_name(left, own) || calls(left, own) || calls(right, own),
            _ => is_own(op, own) || calls(left, own) || calls(right, own),
        },
        ExpKind::If { cond, then, other } => calls(cond, own) || (calls(then, own) && calls(other, own)),
        ExpKind::Match { value, cases } => calls(value, own) || cases.iter().all(|(_, e)| calls(e, own)),
        ExpKind::Let { value, body, .. } => calls(value, own) || calls(body, own),
        ExpKind::LetFun { body, .. } => calls(body, own),
        ExpKind::LetWith { place, value, body, .. } => {
            calls(value, own) || calls(body, own) || indexing(Step::indices(place), own)
        }
        ExpKind::Loop { init, form, .. } => match form {
            LoopForm::For(_, e) | LoopForm::ForIn(_, e) | LoopForm::While(e) => {
                calls(init, own) || calls(e, own)
            }
        },
        ExpKind::Tuple(es) | ExpKind::Array(es) | ExpKind::Constr(_, es) => es.iter().any(|e| calls(e, own)),
        ExpKind::Record(fields) => fields.iter().filter_map(|(_, e)| e.as_ref()).any(|e| calls(e, own)),
        ExpKind::Range { start, second, end, .. } => {
            calls(start, own) || calls(end, own) || second.iter().any(|e| calls(e, own))
        }
        ExpKind::Index(e, index) => calls(e, own) || indexing(index, own),
        ExpKind::With { value, place, update } => {
            calls(value, own) || calls(update, own) || indexing(Step::indices(place), own)
        }
        ExpKind::Assert(a, b) => calls(a, own) || calls(b, own),
        ExpKind::Negate(e)
        | ExpKind::Not(e)
        | ExpKind::Field(e, _)
        | ExpKind::Ascribe(e, _)
        | ExpKind::Coerce(e, _)
        | ExpKind::Attr(_, e)
        | ExpKind::Parens(e) => calls(e, own),
        ExpKind::SectionLeft(_, e) | ExpKind::SectionRight(_, e) => calls(e, own),
        ExpKind::Name(_)
        | ExpKind::Literal(_)
        | ExpKind::Operator(_)
        | ExpKind::SectionField(_)
        | ExpKind::SectionIndex(_)
        | ExpKind::Lambda { .. }
        | ExpKind::Hole
        | ExpKind::OpenIn(..) => false,
    })
}

fn indexing<'e>(args: impl IntoIterator<Item = &'e IndexArg>, own: &str) -> bool {
    args.into_iter().any(|arg| match arg {
        IndexArg::Index(e) => calls(e, own),
        IndexArg::Slice { start, end, stride, .. } => {
            [start, end, stride].into_iter().flatten().any(|e| calls(e, own))
        }
    })
}

fn is_own(name: &Name, own: &str) -> bool {
    name.path.is_empty() && name.base == own
}

/// True if it is `own`, perhaps with its first arguments.
fn is_name(e: &Exp, own: &str) -> bool {
    match &e.kind {
        ExpKind::Name(name) | ExpKind::Operator(name) => is_own(name, own),
        ExpKind::Parens(e) | ExpKind::Attr(_, e) | ExpKind::Apply(e, _) => is_name(e, own),
        _ => false,
    }
}
