//! `if`, `match` and loops as other languages write them, and their parts that are forgotten.

use super::look::{ident, is_op};
use super::{Failure, Slip};
use crate::diagnostic::Diagnostic;
use crate::token::Tok;

/// In the order in which they are tried.
pub(super) const SLIPS: &[Slip] = &[
    arrow_of_case,
    case_with_condition,
    match_with_bars,
    case_without_match,
    other_cases,
    braces_around_number,
    else_if_word,
    |f| f.missing_then(),
    |f| f.missing_do(),
    loop_in_parentheses,
    loop_statement,
    loop_head,
    condition_after_value,
    colon_after_condition,
    do_block,
    braces_around_body,
];

/// `case p => e`, `case p = e`, `case p: e`.
fn arrow_of_case(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let sign = f.found_is(|t| is_op(t, "=>") || matches!(t, Tok::Equals | Tok::Colon | Tok::Then));
    if !f.case_head() || !f.can_follow("->") || !sign {
        return None;
    }
    Some(f.foreign(f.span, "a case is written `case p -> e`", "write `->`"))
}

/// `case p if c -> e`, `case p | q -> e`.
fn case_with_condition(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    if !f.case_head() || !f.can_follow("->") {
        return None;
    }
    match &f.found {
        Some(Tok::Bar) => {
            let error = f.foreign(f.span, "a case has one pattern", "a second pattern is not possible");
            Some(error.note("write a `case` for each of the patterns; a condition stands in the value: case y -> if c then a else b"))
        }
        Some(Tok::If) => when(f),
        Some(Tok::Ident("when")) => when(f),
        _ => None,
    }
}

fn when(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let error = f.foreign(f.span, "a case has no condition", "expected `->`");
    Some(error.note("put the condition into the value: case y -> if c then a else b"))
}

/// `match x with | p -> e`, `match x { p -> e }`.
fn match_with_bars(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let start = f.find(|t| *t == Tok::Match)?;
    let rest = &f.before[start..];
    let case = rest.iter().any(|(_, t, _)| *t == Tok::Case);
    let with = rest.last().is_some_and(|(_, t, _)| *t == Tok::With);
    let bar = rest.iter().any(|(_, t, _)| *t == Tok::Bar) || f.found_is(|t| *t == Tok::Bar);
    let arrow = f.found_is(|t| *t == Tok::Arrow || is_op(t, "=>"));
    if case || !(with || bar && arrow || arrow && f.inside(&Tok::LBrace)) {
        return None;
    }
    let error = f.foreign(f.span, "each case of a `match` begins with `case`", "expected `case`");
    Some(error.label(f.place(start), "in this `match`").note("for example: match x case 0 -> a case _ -> b"))
}

/// `case x of …`.
fn case_without_match(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    if !f.found_is(|t| *t == Tok::Case) || !f.can_follow("if") {
        return None;
    }
    let error = f.foreign(f.span, "`case` stands in a `match`", "write `match`");
    Some(error.note("for example: match x case 0 -> a case _ -> b"))
}

/// `default -> e` or `else -> e` as the last case.
fn other_cases(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    f.find(|t| *t == Tok::Case)?;
    let word = |t: &Tok<'_>| matches!(t, Tok::Ident("default" | "otherwise"));
    let span = match f.found_is(|t| *t == Tok::Arrow) {
        true => f.place(f.find_near(1, word)?),
        false if f.found_is(|t| *t == Tok::Else) && f.ahead(0) == Some(&Tok::Arrow) => f.span,
        false => return None,
    };
    Some(f.foreign(span, "all other values are a `case` too", "write `case _`"))
}

/// `if c { 1 } else { 2 }`, whose brace looks like that of a record.
fn braces_around_number(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let brace = f.before.len().checked_sub(2).filter(|i| f.before[*i].1 == Tok::LBrace)?;
    let condition = f.find(|t| *t == Tok::If)? > f.find(|t| *t == Tok::Then).unwrap_or(0);
    if !condition || !f.found_is(|t| *t == Tok::RBrace) {
        return None;
    }
    Some(f.foreign(f.place(brace), CHOICE, "no braces here"))
}

/// `elif`, `elseif`, `elsif`.
fn else_if_word(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let words = ["elif", "elseif", "elsif"];
    let at = f.find(|t| ident(t).is_some_and(|name| words.contains(&name)))?;
    let then = f.find(|t| *t == Tok::Then).is_some_and(|i| i < at);
    then.then(|| f.foreign(f.place(at), format!("there is no `{}` in Par", f.spelled(at)), "write `else if`"))
}

impl Failure<'_, '_> {
    /// `if c a else b`, `if c { a } else { b }`.
    fn missing_then(&self) -> Option<Diagnostic> {
        if !self.can_follow("then") || self.can_follow("if") {
            return None;
        }
        let at_end = self.at_end() || self.found_is(|t| matches!(t, Tok::Else | Tok::RParen | Tok::RBrace));
        let brace = self.find(|t| *t == Tok::RBrace).filter(|i| i + 1 == self.before.len());
        if let Some(open) = brace.and_then(|i| self.opening(i)).filter(|_| at_end) {
            let error = self.foreign(self.place(open), CHOICE, "no braces here");
            return Some(self.point_at_open(error, &Tok::If, &[Tok::Else], "in this `if`"));
        }
        at_end.then(|| {
            let error = self.unexpected().here("expected `then` before this");
            let error = self.point_at_open(error, &Tok::If, &[Tok::Else], "this `if` needs a `then`");
            error.note("a choice reads: if c then a else b")
        })
    }

    /// `loop x = v for i < n` without `do`.
    fn missing_do(&self) -> Option<Diagnostic> {
        let operand = self.can_follow("if") || self.can_follow("for");
        let at_end = self.at_end() || self.found_is(|t| matches!(t, Tok::RParen | Tok::In));
        if !self.can_follow("do") || operand || !at_end {
            return None;
        }
        let error = self.unexpected().here("expected `do` before this");
        let error = self.point_at_open(error, &Tok::Loop, &[Tok::Do], "this `loop` needs a `do`");
        Some(error.note("a loop reads: loop x = v for i < n do e"))
    }
}

/// `loop (s = 0) for i < n do e`.
fn loop_in_parentheses(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let open = f.bracket().filter(|i| *i > 0 && f.before[i - 1].1 == Tok::Loop)?;
    if !f.found_is(|t| *t == Tok::Equals) {
        return None;
    }
    let error =
        f.foreign(f.place(open), "the initial value of a loop stands after its pattern", "not like this");
    Some(
        error.note(
            "for example: loop s = 0 for i < n do s + i, or loop (a, b) = (0, 1) for i < n do (b, a + b)",
        ),
    )
}

const CHOICE: &str = "a choice is written `if c then a else b`";

/// `a if c else b`.
fn condition_after_value(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let ahead = |tok: &Tok<'_>| f.after.iter().position(|(_, t, _)| t == tok);
    let otherwise = ahead(&Tok::Else)?;
    let reversed = ahead(&Tok::Then).is_none_or(|then| then > otherwise);
    if !f.found_is(|t| *t == Tok::If) || !f.after_expression() || !reversed {
        return None;
    }
    Some(f.foreign(f.span, CHOICE, "the condition stands first"))
}

/// `if c: a else: b`, whose `:` is read as that of a type.
fn colon_after_condition(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let colon = f.before.len().checked_sub(1).filter(|i| f.before[*i].1 == Tok::Colon)?;
    let condition = f.find(|t| matches!(t, Tok::If | Tok::Else))?;
    let then = f.find(|t| *t == Tok::Then).is_some_and(|then| then > condition);
    if then || f.bracket().is_some_and(|open| open > condition) || f.found_is(|t| *t == Tok::Colon) {
        return None;
    }
    Some(f.foreign(f.place(colon), CHOICE, "write `then`"))
}

/// `do` as in other languages.
fn do_block(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    if !f.found_is(|t| *t == Tok::Do) || !f.can_follow("if") {
        return None;
    }
    let error = f.foreign(f.span, "`do` stands in a `loop` only", "expected an expression");
    Some(error.note("values are named one after the other by `let`: let y = f x let z = g y in y + z"))
}

/// `def f (x: t) : t { e }`, `loop x = v for i < n { e }`, whose braces look like those of a record.
fn braces_around_body(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let brace = f.bracket().filter(|i| f.before[*i].1 == Tok::LBrace)?;
    let before = |is_it: fn(&Tok<'_>) -> bool| f.before[..brace].iter().rposition(|(_, t, _)| is_it(t));
    let since = |from: usize, end: &Tok<'_>| f.before[from..brace].iter().any(|(_, t, _)| t == end);
    let of_loop = before(|t| matches!(t, Tok::For | Tok::While)).filter(|at| !since(*at, &Tok::Do));
    let of_definition = before(|t| matches!(t, Tok::Def | Tok::Entry)).filter(|at| !since(*at, &Tok::Equals));
    let (message, here) = match () {
        () if of_loop.is_some() => ("the body of a loop follows `do`", "write `do`, without braces"),
        () if of_definition.is_some() => {
            ("the body of a definition follows `=`", "write `=`, without braces")
        }
        () => return None,
    };
    Some(f.foreign(f.place(brace), message, here))
}

/// `for …` or `while …` without `loop`.
fn loop_statement(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let possible = f.can_follow("if") || f.can_follow("in") && f.bracket().is_none();
    if !f.found_is(|t| matches!(t, Tok::For | Tok::While)) || !possible {
        return None;
    }
    let error =
        f.foreign(f.span, "a loop is an expression that begins with `loop`", "expected an expression");
    Some(error.note("a loop carries a value from iteration to iteration: loop s = 0 for i < n do s + i"))
}

/// A loop whose `for` or `while` is missing or wrong.
fn loop_head(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let after_name = f.find_near(2, |t| *t == Tok::For).is_some() && f.back(0) != Some(&Tok::For);
    if after_name && f.found_is(|t| *t == Tok::Equals || is_op(t, "<=")) {
        let error = f.foreign(f.span, "a `for` counts from 0 to below its limit", "write `<`");
        return Some(error.note("for example: loop s = 0 for i < n do s + i"));
    }
    if f.found_is(|t| *t == Tok::Comma)
        && f.can_follow("for")
        && f.find_near(8, |t| *t == Tok::Loop).is_some()
    {
        let error = f.foreign(f.span, "a loop carries one pattern", "expected `for` or `while`");
        return Some(error.note("several values are a tuple: loop (a, b) = (0, 1) for i < n do (b, a + b)"));
    }
    let missing = f.can_follow("for") && f.can_follow("while") && !f.can_follow("if");
    if !missing || !f.found_is(|t| matches!(t, Tok::Do | Tok::In)) && !f.at_end() {
        return None;
    }
    let error = f.unexpected().here("expected `for` or `while`");
    let error =
        f.point_at_open(error, &Tok::Loop, &[Tok::Do], "this `loop` does not say how often it repeats");
    Some(error.note("a loop reads: loop x = v for i < n do e, or loop x = v while c do e"))
}
