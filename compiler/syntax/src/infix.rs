//! Precedence of infix operators. The grammar hands over a flat chain `a op b op c`; here it becomes a tree.
//!
//! An operator has the precedence of its longest built-in prefix: `+.` binds like `+`, `>->` like `>`, `|>>`
//! like `|>`. Backticked names bind weakest.

use crate::ast::{Exp, ExpKind, Name, Span};

/// Associativity: the side from which operators of the same precedence are grouped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Associativity {
    Left,
    Right,
}

/// Strength of backticked names, the weakest of all infix operators.
const BACKTICK: u8 = 0;
/// Stronger than every infix operator: prefix operators.
pub(crate) const PREFIX: u8 = 11;
/// Stronger than prefix operators: function application.
pub(crate) const APPLICATION: u8 = 12;

/// Prefixes by strength; among those that fit, the longest counts.
const LEVELS: [(&str, u8); 22] = [
    ("|>", 1),
    ("<|", 2),
    ("||", 3),
    ("&&", 4),
    ("<", 5),
    ("<=", 5),
    (">", 5),
    (">=", 5),
    ("=", 5),
    ("!", 5),
    ("&", 6),
    ("^", 6),
    ("|", 6),
    ("<<", 7),
    (">>", 7),
    ("+", 8),
    ("-", 8),
    ("*", 9),
    ("/", 9),
    ("%", 9),
    ("//", 9),
    ("**", 10),
];

/// Strength and associativity of an operator or of a backticked name.
pub(crate) fn precedence(operator: &str) -> (u8, Associativity) {
    let fitting = LEVELS.iter().filter(|(prefix, _)| operator.starts_with(prefix));
    let level = fitting.max_by_key(|(prefix, _)| prefix.len()).map_or(BACKTICK, |(_, level)| *level);
    let associativity = if operator.starts_with("<|") { Associativity::Right } else { Associativity::Left };
    (level, associativity)
}

/// True if a name is made of operator symbols (and not written in backticks).
pub(crate) fn is_symbolic(name: &str) -> bool {
    name.starts_with(|c| "+-*/%=!><|&^".contains(c))
}

/// The tree of a chain: `operands` are followed by an operator each, `last` is the last operand.
pub(crate) fn resolve(operands: Vec<(Exp, Name)>, last: Exp) -> Exp {
    let mut pending: Vec<(Exp, Name)> = Vec::new();
    for (operand, op) in operands {
        let left = reduce_before(&mut pending, operand, &op);
        pending.push((left, op));
    }
    pending.into_iter().rev().fold(last, |right, (left, op)| binary(left, op, right))
}

/// Takes `right` as an operand of those pending operators that bind it more tightly than `op` does.
fn reduce_before(pending: &mut Vec<(Exp, Name)>, mut right: Exp, op: &Name) -> Exp {
    let (level, associativity) = precedence(&op.base);
    while let Some((_, before)) = pending.last() {
        let (other, _) = precedence(&before.base);
        if other < level || (other == level && associativity == Associativity::Right) {
            break;
        }
        if let Some((left, before)) = pending.pop() {
            right = binary(left, before, right);
        }
    }
    right
}

fn binary(left: Exp, op: Name, right: Exp) -> Exp {
    let span = Span { file: left.span.file, start: left.span.start, end: right.span.end };
    Exp { kind: ExpKind::Binary { op, left: Box::new(left), right: Box::new(right) }, span }
}
