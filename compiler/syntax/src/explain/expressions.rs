//! Expressions as other languages write them, and their parts that are forgotten.

use super::look::{ident, is_op};
use super::{Failure, Slip};
use crate::ast::Literal;
use crate::diagnostic::Diagnostic;
use crate::token::Tok;

/// In the order in which they are tried.
pub(super) const SLIPS: &[Slip] = &[
    arrow_in_binding,
    arrow_of_lambda,
    lambda_without_backslash,
    where_word,
    several_in_let,
    let_and,
    bare_tuple,
    membership,
    import_inside,
    comprehension,
    assignment,
    local_variable,
    equals_in_condition,
    comparison_in_update,
    block_in_braces,
    record_update,
    range_end,
    |f| f.missing_in(),
    |f| f.missing_else(),
    assert_arguments,
    increment,
    question,
    tilde,
    number_point,
    composition,
    index_brackets,
];

const LAMBDA: &str = "a function is written `\\x -> e`";

/// `let y <- e`, read as the definition of an operator.
fn arrow_in_binding(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let at = f.find(|t| is_op(t, "<-"))?;
    let binding = at >= 2 && matches!(f.before[at - 2].1, Tok::Let | Tok::Def);
    binding.then(|| f.foreign(f.place(at), "a name is bound with `=`", "write `=`"))
}

/// `\x => e`, `\x = e`, `\x: e`, `\x. e`, `\x, y -> e`.
fn arrow_of_lambda(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let start = f.lambda_head().filter(|_| f.can_follow("->"))?;
    if f.bracket().is_some_and(|i| i > start) {
        return None;
    }
    match &f.found {
        Some(Tok::Comma) => {
            let error = f.foreign(f.span, "parameters stand one after the other", "leave the comma out");
            let names: Vec<&str> = (start + 1..f.before.len()).map(|i| f.spelled(i)).collect();
            let next = f.ahead(0).and_then(ident).unwrap_or("y");
            let first = names.concat();
            Some(error.note(format!(
                "two parameters: \\{first} {next} -> …; one that is a pair: \\({first}, {next}) -> …"
            )))
        }
        Some(Tok::Equals | Tok::Dot | Tok::Colon) => Some(f.foreign(f.span, LAMBDA, "write `->`")),
        Some(tok) if is_op(tok, "=>") => Some(f.foreign(f.span, LAMBDA, "write `->`")),
        _ => None,
    }
}

/// `fun x -> e`, `lambda x: e`, `x -> e`.
fn lambda_without_backslash(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let word = f.find_near(6, |t| matches!(t, Tok::Ident("fun" | "fn" | "lambda" | "function" | "func")));
    let arrow = f.found_is(|t| *t == Tok::Arrow || is_op(t, "=>"));
    if let Some(at) = word.filter(|_| arrow || f.find_near(2, |t| *t == Tok::Colon).is_some()) {
        let error = f.foreign(f.place(at), LAMBDA, "write `\\`");
        return Some(error.note("for example: map (\\x -> x + 1) xs"));
    }
    if !arrow || !f.after_expression() || f.find(|t| *t == Tok::Match).is_some() {
        return None;
    }
    let last = f.before.len().checked_sub(1)?;
    let first = match f.before[last].1 {
        Tok::RParen => f.opening(last)?,
        Tok::Ident(_) | Tok::Underscore => last,
        _ => return None,
    };
    let written = f.text(f.places(first, last)).trim_start_matches('λ').to_string();
    let error = f.foreign(f.up_to_here(first), LAMBDA, "a `\\` is missing before the parameters");
    Some(error.note(format!("write \\{written} -> …")))
}

/// `e where x = v`.
fn where_word(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let at = f.find_near(8, |t| ident(t) == Some("where")).filter(|_| f.found_is(|t| *t == Tok::Equals))?;
    let error = f.foreign(f.place(at), "there is no `where` in Par", "not possible here");
    Some(error.note("bind the name before it is used: let x = … in …"))
}

/// `let x = a, y = b in …`.
fn several_in_let(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    if !f.found_is(|t| *t == Tok::Comma) || !f.can_follow("in") || f.bracket().is_some() {
        return None;
    }
    let error = f.foreign(f.span, "a `let` binds one pattern", "expected `in` or the next `let`");
    Some(error.note("for example: let x = 1 let y = 2 in x + y, or let (x, y) = (1, 2) in x + y"))
}

/// `let f x = a and g y = b in …`.
fn let_and(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let at = f.find_near(8, |t| ident(t) == Some("and")).filter(|_| f.found_is(|t| *t == Tok::Equals))?;
    f.find(|t| *t == Tok::Let).filter(|start| *start < at && f.can_follow("in"))?;
    let error = f.foreign(f.place(at), "a `let` binds one pattern or function", "write `let`");
    Some(error.note("for example: let f x = x + 1 let g y = f y in g 2"))
}

/// `a, b` where nothing holds it.
fn bare_tuple(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    if !f.found_is(|t| *t == Tok::Comma) || !f.body_may_end() || f.bracket().is_some() {
        return None;
    }
    let error = f.foreign(f.span, "a tuple stands in parentheses", "no comma is possible here");
    Some(error.note("for example: (x, y)"))
}

/// `x in xs`.
fn membership(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let last = f.before.len().checked_sub(1).filter(|_| f.find(|t| *t == Tok::Let).is_none())?;
    if !f.found_is(|t| *t == Tok::In) || !f.body_may_end() || f.can_follow("in") || !f.on_line_of(last) {
        return None;
    }
    let error = f.unexpected().here("there is no `let` or `for` that this could belong to");
    Some(error.note("whether an array contains a value is `any (== x) xs`"))
}

/// `let m = import "file" in …`.
fn import_inside(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    if !f.found_is(|t| *t == Tok::Import) || !f.can_follow("if") {
        return None;
    }
    let error = f.foreign(f.span, "files are imported by declarations", "expected an expression");
    Some(error.note(
        "for example: import \"lib/rows\", or with names of its own: module rows = import \"lib/rows\"",
    ))
}

/// `[e for x in xs]`.
fn comprehension(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    if !f.found_is(|t| *t == Tok::For) || !f.inside(&Tok::LBracket) {
        return None;
    }
    let error = f.foreign(f.span, "an array is made of another one with `map`", "not possible here");
    Some(error.note("for example: map (\\x -> x * 2) xs, with a condition: filter (\\x -> x > 0) xs"))
}

/// `s = e` or `a[i] = e` on a line of its own after a `let`.
fn assignment(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let last = f.before.len().checked_sub(1)?;
    if !f.found_is(|t| *t == Tok::Equals) || f.bracket().is_some() {
        return None;
    }
    let start = f.line_start(last);
    let name = ident(&f.before[start].1).filter(|_| start > 0 && f.begins_line(f.before[start].0))?;
    let whole = start == last || (f.before[last].1 == Tok::RBracket && f.opening(last) == Some(start + 1));
    let target = f.text(f.places(start, last));
    let words = ["var", "val", "const", "where"];
    if !whole || !f.after_expression() || words.contains(&name) {
        return None;
    }
    let error =
        f.foreign(f.up_to_here(start), "values do not change: there is no assignment", "not possible here");
    Some(error.note(format!("give the new value to a name: let {target} = … in …")))
}

/// `var y = e in …`.
fn local_variable(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let name = f.before.len().checked_sub(1).filter(|_| f.found_is(|t| *t == Tok::Equals))?;
    let word = name.checked_sub(1).filter(|i| f.begins_line(f.before[*i].0))?;
    let known = ["var", "val", "const", "auto", "int", "float", "double"];
    let text = ident(&f.before[word].1)?;
    let is_type = crate::ast::Prim::from_name(text).is_some();
    if !known.contains(&text) && !is_type {
        return None;
    }
    let error = f.foreign(f.place(word), "a local name is bound with `let`", "write `let`");
    Some(error.note(format!("for example: let {} = … in …", f.spelled(name))))
}

/// `if x = 1 then …`, and other comparisons with one sign.
fn equals_in_condition(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let condition = f.can_follow("then") || f.can_follow("do") || f.inside(&Tok::LParen);
    if !f.found_is(|t| *t == Tok::Equals) || !condition || !f.after_expression() {
        return None;
    }
    Some(f.foreign(f.span, "two values are compared with `==`", "write `==`"))
}

/// `a with [i] <- v`, `xs[i] = v` as an expression.
fn comparison_in_update(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    if f.found_is(|t| is_op(t, "<-")) && f.can_follow("=") {
        return Some(f.foreign(f.span, "an update is written `a with [i] = v`", "write `=`"));
    }
    let close = f.before.len().checked_sub(1).filter(|_| f.found_is(|t| *t == Tok::Equals))?;
    let open = Some(close).filter(|i| f.before[*i].1 == Tok::RBracket).and_then(|i| f.opening(i))?;
    let array =
        open.checked_sub(1).filter(|_| f.before[open].1 == Tok::IndexBracket && f.after_expression())?;
    let (name, index) = (f.spelled(array), f.text(f.places(open, close)));
    let error = f.foreign(f.up_to_here(array), "an update is written `a with [i] = v`", "not like this");
    Some(error.note(format!("write {name} with {index} = …, or let {name}{index} = … in …")))
}

/// `{ let x = e in b }` and the like.
fn block_in_braces(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let last = f.before.len().checked_sub(1)?;
    let begins =
        f.found_is(|t| super::opens_expression(t) || matches!(t, Tok::Let | Tok::LParen | Tok::Minus));
    if f.back(0) != Some(&Tok::LBrace) || !begins {
        return None;
    }
    let error = f.foreign(f.place(last), "braces make records, not blocks", "leave the braces out");
    Some(error.note("where something must be grouped, use parentheses"))
}

/// `{r with a = 2}`, `{...r, a = 2}`.
fn record_update(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let last = f.before.len().checked_sub(1).filter(|_| f.inside(&Tok::LBrace))?;
    let (span, record) = match &f.found {
        Some(Tok::With) => (f.up_to_here(last), f.spelled(last).to_string()),
        Some(Tok::DotDotDot | Tok::DotDot) => (f.span, f.ahead(0).and_then(ident).unwrap_or("r").to_string()),
        Some(Tok::Bar) => (f.up_to_here(last), f.spelled(last).to_string()),
        _ => return None,
    };
    let error = f.foreign(span, "an update of a record is written without braces", "not like this");
    Some(error.note(format!("write {record} with a = v, once for every field")))
}

/// `1..3..9`, `1..=9`.
fn range_end(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    if f.found_is(|t| *t == Tok::Equals) && matches!(f.back(0), Some(Tok::DotDot)) {
        let span = f.up_to_here(f.before.len() - 1);
        return Some(f.foreign(span, "a range with its end is written `a...b`", "write `...`"));
    }
    let from = f.find(|t| *t == Tok::DotDot)?;
    if !f.found_is(|t| *t == Tok::DotDot) || f.before[from..].iter().any(|(_, t, _)| *t == Tok::Comma) {
        return None;
    }
    let error =
        Diagnostic::error("E0110", "the end of a range is written with `...`, `..<` or `..>`", f.span);
    Some(error.here("not with `..`").label(f.place(from), "this is followed by the second element"))
}

/// `assert (c, e)`.
fn assert_arguments(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let at = f.find(|t| *t == Tok::Assert)?;
    let close = f.before.len() - 1;
    let whole = f.before[close].1 == Tok::RParen && f.opening(close) == Some(at + 1);
    let comma = f.before[at..].iter().any(|(_, t, _)| *t == Tok::Comma);
    if at + 1 != close && !whole {
        return None;
    }
    let error = Diagnostic::error("E0101", "`assert` takes a condition and a value", f.places(at, close));
    let here = if whole && comma { "one pair is given" } else { "the value is missing" };
    Some(error.here(here).note("for example: assert (n > 0) (sum / n)"))
}

/// `x++` at an end.
fn increment(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let last = f.before.len().checked_sub(1)?;
    if !is_op(&f.before[last].1, "++") || !(f.at_end() || f.found_is(|t| matches!(t, Tok::RParen | Tok::In)))
    {
        return None;
    }
    let error = Diagnostic::error("E0101", "`++` joins two arrays", f.place(last));
    Some(error.here("expected an array after this").note("values do not change; one more than `x` is x + 1"))
}

/// `c ? a : b`.
fn question(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    if !f.found_is(|t| *t == Tok::Question) || !f.after_expression() {
        return None;
    }
    Some(f.foreign(f.span, "a choice is written `if c then a else b`", "not like this"))
}

/// `a ~= b`, `~a`.
fn tilde(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    if !f.found_is(|t| *t == Tok::Tilde) || !(f.after_expression() || f.can_follow("if")) {
        return None;
    }
    let error = f.foreign(f.span, "`~` is no operator", "not possible here");
    Some(error.note("`a != b` compares, `!a` inverts the bits of an integer"))
}

/// `2.`, `.5`.
fn number_point(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let number = |t: Option<&Tok<'_>>| matches!(t, Some(Tok::Literal(l)) if matches!(**l, Literal::Int { .. } | Literal::Float { .. }));
    match &f.found {
        Some(Tok::Field(digits))
            if f.can_follow("if") && digits.starts_with(|c: char| c.is_ascii_digit()) =>
        {
            let error = Diagnostic::error("E0101", "a number begins with a digit", f.span);
            Some(error.here(format!("write 0.{digits}")))
        }
        Some(Tok::Dot) if number(f.back(0)) => {
            let last = f.before.len() - 1;
            let error = Diagnostic::error("E0101", "a number does not end with a point", f.up_to_here(last));
            Some(error.here(format!("write {}.0", f.spelled(last))))
        }
        _ => None,
    }
}

/// `f . g`.
fn composition(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    if !f.found_is(|t| *t == Tok::Dot) || !f.after_expression() {
        return None;
    }
    let error = f.foreign(f.span, "`.` does not compose functions", "not possible here");
    Some(error.note("`f <-< g` applies g first, `f >-> g` applies f first"))
}

/// `xs.[i]`, `xs[]`.
fn index_brackets(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let last = f.before.len().checked_sub(1)?;
    if f.found_is(|t| *t == Tok::DotBracket) {
        let error = f.foreign(f.span, "an index follows its array directly", "leave the point out");
        return Some(error.note(format!("write {}[…]", f.spelled(last))));
    }
    let empty =
        f.found_is(|t| *t == Tok::RBracket) && f.back(0) == Some(&Tok::IndexBracket) && f.can_follow("if");
    empty.then(|| {
        let error = Diagnostic::error("E0101", "an index is missing", f.up_to_here(last));
        error.here("expected an expression between the brackets")
    })
}
