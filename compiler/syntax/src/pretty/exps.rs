//! Expressions.

use super::pats::{self, params};
use super::types::{self, type_params};
use super::*;
use crate::infix::{APPLICATION, Associativity, PREFIX, precedence};

// Levels: what a place takes without parentheses, from everything to atoms.
pub const ANY: u8 = 0;
const RANGE: u8 = 1;
const UPDATE: u8 = 2;
/// The weakest infix operator; the others follow in their order.
const INFIX: u8 = 3;
const ATOM: u8 = INFIX + APPLICATION + 1;

/// Constructs that may stand at the right end of an expression, by what follows it.
#[derive(Clone, Copy)]
pub struct Place {
    /// `let`, `if`, … that extend to the right may.
    open: bool,
    /// So may a `match`, to which a `case` that follows would belong.
    matching: bool,
}

impl Place {
    /// Nothing follows that an open construct could take.
    pub const LAST: Place = Place { open: true, matching: true };
    const BEFORE_CASE: Place = Place { open: true, matching: false };
    const INNER: Place = Place { open: false, matching: false };
}

pub fn exp(e: &Exp, level: u8, place: Place, indent: usize) -> String {
    stacker::maybe_grow(128 << 10, 2 << 20, || {
        let closed = level_of(&e.kind) < level
            || (!place.open && ends(&e.kind, is_open))
            || (!place.matching && ends(&e.kind, |k| matches!(k, ExpKind::Match { .. })));
        match closed {
            true => format!("({})", kind(e, Place::LAST, indent + 1)),
            false => kind(e, place, indent),
        }
    })
}

fn level_of(kind: &ExpKind) -> u8 {
    match kind {
        ExpKind::Ascribe(..) | ExpKind::Coerce(..) => ANY,
        ExpKind::Range { .. } => RANGE,
        ExpKind::With { .. } => UPDATE,
        ExpKind::Binary { op, .. } => INFIX + precedence(&op.base).0,
        ExpKind::Negate(_) | ExpKind::Not(_) => INFIX + PREFIX,
        ExpKind::Apply(..) | ExpKind::Assert(..) => INFIX + APPLICATION,
        ExpKind::Constr(_, args) if !args.is_empty() => INFIX + APPLICATION,
        ExpKind::Literal(l) if literal(l).starts_with('-') => INFIX + PREFIX,
        // Open constructs are allowed at every level that is no atom, but only at the end.
        kind if is_open(kind) => INFIX + PREFIX,
        _ => ATOM,
    }
}

/// True if the construct extends as far to the right as possible.
fn is_open(kind: &ExpKind) -> bool {
    matches!(
        kind,
        ExpKind::Lambda { .. }
            | ExpKind::Let { .. }
            | ExpKind::LetFun { .. }
            | ExpKind::LetWith { .. }
            | ExpKind::If { .. }
            | ExpKind::Match { .. }
            | ExpKind::Loop { .. }
            | ExpKind::Attr(..)
    )
}

/// True if the expression or something at its right end has a property.
fn ends(kind: &ExpKind, property: fn(&ExpKind) -> bool) -> bool {
    let mut kind = kind;
    loop {
        if property(kind) {
            return true;
        }
        kind = match kind {
            ExpKind::Range { end: last, .. }
            | ExpKind::Binary { right: last, .. }
            | ExpKind::With { update: last, .. }
            | ExpKind::Lambda { body: last, .. }
            | ExpKind::Let { body: last, .. }
            | ExpKind::LetFun { body: last, .. }
            | ExpKind::LetWith { body: last, .. }
            | ExpKind::If { other: last, .. }
            | ExpKind::Loop { body: last, .. }
            | ExpKind::Attr(_, last) => &last.kind,
            ExpKind::Match { cases, .. } => match cases.last() {
                Some((_, last)) => &last.kind,
                None => return false,
            },
            ExpKind::Apply(_, args) | ExpKind::Constr(_, args) => match args.last() {
                Some(Exp { kind: last @ ExpKind::Lambda { .. }, .. }) => last,
                _ => return false,
            },
            _ => return false,
        }
    }
}

/// An expression that something follows.
fn inner(e: &Exp, level: u8, indent: usize) -> String {
    exp(e, level, Place::INNER, indent)
}

/// An expression in brackets of any kind, or before a keyword.
fn whole(e: &Exp, indent: usize) -> String {
    exp(e, ANY, Place::LAST, indent)
}

fn kind(e: &Exp, place: Place, indent: usize) -> String {
    match &e.kind {
        ExpKind::Name(n) => name(n),
        ExpKind::Literal(l) => literal(l),
        ExpKind::Tuple(parts) => format!("({})", comma(parts, |e| whole(e, indent + 1))),
        ExpKind::Record(fields) => format!("{{{}}}", comma(fields, |f| field(f, indent + 1))),
        ExpKind::Array(parts) => format!("[{}]", comma(parts, |e| whole(e, indent + 1))),
        ExpKind::Range { start, second, end, kind } => {
            range(start, second.as_deref(), end, *kind, place, indent)
        }
        ExpKind::Apply(f, args) => inner(f, ATOM, indent) + &arguments(args, place, indent),
        ExpKind::Binary { op, left, right } => binary(op, left, right, place, indent),
        ExpKind::Negate(e) => prefix("-", e, indent),
        ExpKind::Not(e) => prefix("!", e, indent),
        ExpKind::Operator(n) => format!("({})", operator(n)),
        ExpKind::SectionLeft(op, e) => format!("({} {})", inner(e, INFIX, indent + 1), operator(op)),
        ExpKind::SectionRight(op, e) => {
            format!("({} {})", operator(op), exp(e, RANGE, Place::LAST, indent + 1))
        }
        ExpKind::SectionField(fields) => {
            format!("({})", fields.iter().map(|f| format!(".{}", f.name)).collect::<String>())
        }
        ExpKind::SectionIndex(args) => format!("(.[{}])", comma(args, |a| index(a, indent))),
        ExpKind::Lambda { params: ps, ret, body } => {
            let ret = ret.as_ref().map_or(String::new(), |t| format!(" : {}", types::ty(t, types::TERM)));
            format!("\\{}{ret} -> {}", params(ps).trim_start(), exp(body, ANY, place, indent + STEP))
        }
        ExpKind::Let { .. } | ExpKind::LetFun { .. } | ExpKind::LetWith { .. } => let_chain(e, place, indent),
        ExpKind::If { cond, then, other } => branches(cond, then, other, place, indent),
        ExpKind::Match { value, cases } => match_exp(value, cases, place, indent),
        ExpKind::Loop { sizes, pat, init, form, body } => {
            loop_exp(sizes, pat, init, form, body, place, indent)
        }
        ExpKind::Index(a, args) => format!("{}[{}]", indexed(a, indent), comma(args, |a| index(a, indent))),
        ExpKind::With { value, place: to, update } => format!(
            "{} with {} = {}",
            inner(value, UPDATE, indent),
            steps(to, indent).trim_start_matches('.'),
            exp(update, INFIX, place, indent)
        ),
        ExpKind::Field(e, f) => projection(e, f, indent),
        ExpKind::Ascribe(e, t) => format!("{} : {}", inner(e, ANY, indent), type_exp(t)),
        ExpKind::Coerce(e, t) => format!("{} :> {}", inner(e, ANY, indent), type_exp(t)),
        ExpKind::Assert(c, e) => format!("assert {} {}", inner(c, ATOM, indent), inner(e, ATOM, indent)),
        ExpKind::Constr(name, args) => format!("#{}{}", name.name, arguments(args, place, indent)),
        ExpKind::Attr(a, e) => format!("{} {}", attr(a), exp(e, ANY, place, indent)),
        ExpKind::Hole => "???".into(),
        ExpKind::Parens(e) => format!("({})", whole(e, indent + 1)),
        ExpKind::OpenIn(m, e) if matches!(&e.kind, ExpKind::Tuple(parts) if parts.len() > 1) => {
            format!("{}.{}", qualified(m), whole(e, indent))
        }
        ExpKind::OpenIn(m, e) => format!("{}.({})", qualified(m), whole(e, indent + 1)),
    }
}

/// Arguments of a function. A lambda that is the last needs no parentheses.
fn arguments(args: &[Exp], place: Place, indent: usize) -> String {
    let last = |i: usize, a: &Exp| i + 1 == args.len() && matches!(a.kind, ExpKind::Lambda { .. });
    let argument = |(i, a): (usize, &Exp)| match last(i, a) {
        true => format!(" {}", exp(a, ANY, place, indent)),
        false => format!(" {}", inner(a, ATOM, indent)),
    };
    args.iter().enumerate().map(argument).collect()
}

fn field((name, e): &(Ident, Option<Exp>), indent: usize) -> String {
    match e {
        None => name.name.clone(),
        Some(e) => format!("{} = {}", name.name, whole(e, indent)),
    }
}

fn range(
    start: &Exp,
    second: Option<&Exp>,
    end: &Exp,
    kind: RangeKind,
    place: Place,
    indent: usize,
) -> String {
    let dots = match kind {
        RangeKind::Inclusive => "...",
        RangeKind::UpTo => "..<",
        RangeKind::DownTo => "..>",
        RangeKind::Plain => "..",
    };
    let second = second.map_or(String::new(), |e| format!("..{}", inner(e, UPDATE, indent)));
    format!("{}{second}{dots}{}", inner(start, UPDATE, indent), exp(end, UPDATE, place, indent))
}

fn binary(op: &Name, left: &Exp, right: &Exp, place: Place, indent: usize) -> String {
    let (level, associativity) = precedence(&op.base);
    let level = INFIX + level;
    let (l, r) = if associativity == Associativity::Left { (level, level + 1) } else { (level + 1, level) };
    format!("{} {} {}", inner(left, l, indent), operator(op), exp(right, r, place, indent))
}

/// Two prefix operators side by side would be read as one, or as a comment.
fn prefix(op: &str, e: &Exp, indent: usize) -> String {
    let operand = inner(e, INFIX + PREFIX, indent);
    let blank = if operand.starts_with(['-', '!']) { " " } else { "" };
    format!("{op}{blank}{operand}")
}

/// Operand of an index: a constructor directly before a bracket takes an array as its argument.
fn indexed(e: &Exp, indent: usize) -> String {
    let text = inner(e, ATOM, indent);
    parens_if(matches!(e.kind, ExpKind::Constr(..)), text)
}

/// With a blank where the dot would become part of a name or a number.
fn projection(e: &Exp, field: &Ident, indent: usize) -> String {
    let numeric = field.name.starts_with(|c: char| c.is_ascii_digit());
    let blank = match e.kind {
        ExpKind::Name(_) => !numeric,
        ExpKind::Literal(_) => true,
        _ => false,
    };
    format!("{}{}.{}", inner(e, ATOM, indent), if blank { " " } else { "" }, field.name)
}

fn index(arg: &IndexArg, indent: usize) -> String {
    let opt = |e: &Option<Exp>, place| e.as_ref().map_or(String::new(), |e| exp(e, RANGE, place, indent));
    match arg {
        IndexArg::Index(e) => exp(e, RANGE, Place::LAST, indent),
        IndexArg::Slice { start, end, stride: None, .. } => {
            format!("{}:{}", opt(start, Place::INNER), opt(end, Place::LAST))
        }
        IndexArg::Slice { start, end, stride, .. } => {
            format!("{}:{}:{}", opt(start, Place::INNER), opt(end, Place::INNER), opt(stride, Place::LAST))
        }
    }
}

/// The way to what an update replaces.
fn steps(place: &[Step], indent: usize) -> String {
    let step = |step: &Step| match step {
        Step::Index(args, _) => format!("[{}]", comma(args, |a| index(a, indent))),
        Step::Field(name) => format!(".{}", name.name),
    };
    place.iter().map(step).collect()
}

/// `let … let … in body`, each on a line.
fn let_chain(e: &Exp, place: Place, indent: usize) -> String {
    let mut text = String::new();
    let mut e = e;
    loop {
        let (binding, body) = match &e.kind {
            ExpKind::Let { sizes, pat: p, value, body } => (let_value(sizes, p, value, indent), body),
            ExpKind::LetFun { def, body } => (format!("let {}", definition(def, indent)), body),
            ExpKind::LetWith { name, place, value, body } => {
                let place = steps(place, indent);
                (format!("let {}{place} = {}", name.name, whole(value, indent + STEP)), body)
            }
            _ => return text + "in " + &exp(e, ANY, place, indent + STEP),
        };
        text += &(binding + &newline(indent));
        e = body;
    }
}

fn let_value(sizes: &[Ident], p: &Pat, value: &Exp, indent: usize) -> String {
    format!("let {}{} = {}", size_params(sizes), pats::pat(p, pats::ANY), whole(value, indent + STEP))
}

fn size_params(sizes: &[Ident]) -> String {
    sizes.iter().map(|s| format!("[{}] ", s.name)).collect()
}

/// Definition after `def`, `entry` or a local `let`; the body on its own line if it does not fit.
pub fn definition(def: &Def, indent: usize) -> String {
    let ret = def.ret.as_ref().map_or(String::new(), |t| format!(" : {}", type_exp(t)));
    let head = format!("{}{}{}{ret} =", bound(&def.name), type_params(&def.type_params), params(&def.params));
    let body = whole(&def.body, indent + STEP);
    if body.contains('\n') || indent + head.len() + body.len() > WIDTH {
        return head + &newline(indent + STEP) + &body;
    }
    format!("{head} {body}")
}

fn branches(cond: &Exp, then: &Exp, other: &Exp, place: Place, indent: usize) -> String {
    let parts = [
        format!("if {}", whole(cond, indent + 3)),
        format!("then {}", whole(then, indent + 5)),
        format!("else {}", exp(other, ANY, place, indent + 5)),
    ];
    let fits = indent + parts.iter().map(String::len).sum::<usize>() <= WIDTH;
    let one_line = fits && !parts.iter().any(|p| p.contains('\n'));
    parts.join(if one_line { " ".into() } else { newline(indent) }.as_str())
}

fn match_exp(value: &Exp, cases: &[(Pat, Exp)], place: Place, indent: usize) -> String {
    let mut text = format!("match {}", exp(value, ANY, Place::BEFORE_CASE, indent + STEP));
    for (i, (p, e)) in cases.iter().enumerate() {
        let place = if i + 1 == cases.len() { place } else { Place::BEFORE_CASE };
        let body = exp(e, ANY, place, indent + STEP);
        text += &format!("{}case {} -> {body}", newline(indent), pats::pat(p, pats::CASE));
    }
    text
}

fn loop_exp(
    sizes: &[Ident],
    pat: &Pat,
    init: &Exp,
    form: &LoopForm,
    body: &Exp,
    place: Place,
    indent: usize,
) -> String {
    let head = format!("loop {}{}", size_params(sizes), pats::pat(pat, pats::ANY));
    let form = match form {
        LoopForm::For(i, n) => format!("for {} < {}", i.name, whole(n, indent + STEP)),
        LoopForm::ForIn(p, xs) => format!("for {} in {}", pats::pat(p, pats::ANY), whole(xs, indent + STEP)),
        LoopForm::While(c) => format!("while {}", whole(c, indent + STEP)),
    };
    let body = exp(body, ANY, place, indent + STEP);
    let separator = newline(indent + STEP);
    format!("{head} = {} {form} do{separator}{body}", whole(init, indent + STEP))
}
