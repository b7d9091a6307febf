//! Patterns.

use super::*;

/// Also with a type.
pub const ANY: u8 = 0;
/// After `case`.
pub const CASE: u8 = 1;
/// A parameter.
pub const ATOM: u8 = 2;

pub fn pat(p: &Pat, level: u8) -> String {
    parens_if(level_of(&p.kind) < level, stacker::maybe_grow(64 << 10, 1 << 20, || kind(&p.kind)))
}

fn level_of(kind: &PatKind) -> u8 {
    match kind {
        PatKind::Ascribe(..) => ANY,
        PatKind::Constr(_, args) if !args.is_empty() => CASE,
        PatKind::Attr(..) => CASE,
        PatKind::Literal(l) if literal(l).starts_with('-') => CASE,
        _ => ATOM,
    }
}

fn kind(kind: &PatKind) -> String {
    match kind {
        PatKind::Name(name) => super::bound_name(name),
        PatKind::Wildcard => "_".into(),
        PatKind::Tuple(parts) => format!("({})", comma(parts, |p| pat(p, ANY))),
        PatKind::Record(fields) => format!("{{{}}}", comma(fields, field)),
        PatKind::Ascribe(p, t) => format!("{}: {}", pat(p, CASE), type_exp(t)),
        PatKind::Literal(l) => literal(l),
        PatKind::Constr(name, args) => format!("#{}{}", name.name, params(args)),
        PatKind::Attr(a, p) => format!("{} {}", attr(a), pat(p, CASE)),
    }
}

fn field((name, p): &(Ident, Option<Pat>)) -> String {
    match p {
        None => name.name.clone(),
        Some(p) => format!("{} = {}", name.name, pat(p, ANY)),
    }
}

/// Parameters, each with a blank before it.
pub fn params(params: &[Pat]) -> String {
    params.iter().map(|p| format!(" {}", pat(p, ATOM))).collect()
}
