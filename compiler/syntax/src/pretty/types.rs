//! Types. The levels say what a place takes without parentheses.

use super::*;

/// Arrows and existential sizes.
pub const ANY: u8 = 0;
/// Sums, without parentheses around.
pub const TERM: u8 = 1;
const ELEMENT: u8 = 2;
const APPLICATION: u8 = 3;
const ATOM: u8 = 4;

pub fn ty(t: &TypeExp, level: u8) -> String {
    parens_if(level_of(&t.kind) < level, stacker::maybe_grow(64 << 10, 1 << 20, || kind(&t.kind)))
}

fn level_of(kind: &TypeKind) -> u8 {
    match kind {
        TypeKind::Arrow(..) | TypeKind::Exists(..) => ANY,
        TypeKind::Sum(_) => TERM,
        TypeKind::Array(..) | TypeKind::Unique(_) => ELEMENT,
        TypeKind::Name(_, args) if !args.is_empty() => APPLICATION,
        TypeKind::Name(..) | TypeKind::Tuple(_) | TypeKind::Record(_) => ATOM,
    }
}

fn kind(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Name(name, args) => {
            let args: String = args.iter().map(|a| format!(" {}", arg(a))).collect();
            qualified(name) + &args
        }
        TypeKind::Tuple(parts) => format!("({})", comma(parts, |t| ty(t, ANY))),
        TypeKind::Record(fields) => {
            format!("{{{}}}", comma(fields, |(f, t)| format!("{}: {}", f.name, ty(t, ANY))))
        }
        TypeKind::Array(s, elem) => size(s) + &ty(elem, ELEMENT),
        TypeKind::Unique(t) => format!("*{}", ty(t, ELEMENT)),
        TypeKind::Arrow(Some(name), a, b) => format!("({}: {}) -> {}", name.name, ty(a, ANY), ty(b, ANY)),
        TypeKind::Arrow(None, a, b) => format!("{} -> {}", ty(a, TERM), ty(b, ANY)),
        TypeKind::Sum(clauses) => clauses.iter().map(clause).collect::<Vec<_>>().join(" | "),
        TypeKind::Exists(sizes, t) => {
            let sizes: String = sizes.iter().map(|s| format!("[{}]", s.name)).collect();
            format!("?{sizes}.{}", ty(t, ANY))
        }
    }
}

fn clause((name, payload): &(Ident, Vec<TypeExp>)) -> String {
    let payload: String = payload.iter().map(|t| format!(" {}", payload_type(t))).collect();
    format!("#{}{payload}", name.name)
}

/// In a sum, an array type needs no parentheses, but its element does unless it is an atom.
fn payload_type(t: &TypeExp) -> String {
    match &t.kind {
        TypeKind::Array(s, elem) => size(s) + &payload_type(elem),
        _ => ty(t, ATOM),
    }
}

fn arg(arg: &TypeArg) -> String {
    match arg {
        TypeArg::Size(s) => size(s),
        TypeArg::Type(t) => ty(t, ATOM),
    }
}

fn size(size: &SizeExp) -> String {
    match size {
        SizeExp::Anonymous(_) => "[]".into(),
        SizeExp::Exp(e) => format!("[{}]", exp(e)),
    }
}

/// The parameters of a definition or a type, each with a blank before it.
pub fn type_params(params: &[TypeParam]) -> String {
    params.iter().map(|p| format!(" {}", type_param(p))).collect()
}

fn type_param(param: &TypeParam) -> String {
    match param {
        TypeParam::Size(name) => format!("[{}]", name.name),
        TypeParam::Type(name, kind) => format!("'{}{}", lifted(*kind), name.name),
    }
}

/// `^`, `~` or nothing.
pub fn lifted(kind: Option<char>) -> String {
    kind.map(String::from).unwrap_or_default()
}
