//! Declarations as other languages write them.

use super::look::ident;
use super::{Failure, Slip, Whole};
use crate::ast::Prim;
use crate::diagnostic::Diagnostic;
use crate::token::Tok;

/// In the order in which they are tried.
pub(super) const SLIPS: &[Slip] = &[
    comment,
    fixity,
    other_keyword,
    signature_above,
    without_keyword,
    |f| f.not_a_declaration(),
    |f| f.keyword_as_name(),
    import_path,
    module_head,
    default_value,
    open_path,
    name_with_dash,
    angle_parameters,
    result_arrow,
    parameter_without_parentheses,
    type_before_name,
    defined_by_colon,
    return_word,
    body_in_braces,
    missing_equals,
];

/// Words that begin declarations elsewhere, with what to say and to write instead.
const KEYWORDS: [(&[&str], &str, &str); 6] = [
    (
        &["fun", "fn", "func", "function", "proc", "procedure", "sub", "defn", "define", "method"],
        "a function is defined with `def`",
        "def f (x: i32) : i32 = 2 * x",
    ),
    (
        &["const", "var", "val", "final", "static", "constant", "auto"],
        "a value is defined with `def`",
        "def size = 10i64",
    ),
    (
        &["data", "enum", "union", "variant", "datatype"],
        "a sum type is defined with `type`",
        "type color = #red | #green | #other u8",
    ),
    (
        &["struct", "record", "class", "interface", "object"],
        "a record type is defined with `type`",
        "type point = {x: f32, y: f32}",
    ),
    (
        &["typedef", "newtype", "alias", "using"],
        "a type is given a name with `type`",
        "type row [n] = [n]f32",
    ),
    (
        &["from", "use", "require", "include", "load"],
        "a file is read with `import`",
        "import \"lib/rows\" or module rows = import \"lib/rows\"",
    ),
];

/// Words before declarations that have no counterpart.
const MODIFIERS: [&str; 8] = ["pub", "public", "private", "export", "extern", "async", "unsafe", "global"];

/// `// text`, `/* text */`, `{- text -}`, `(* text *)`.
fn comment(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let first = f.before.is_empty();
    let opens = |tok: &Tok<'_>| matches!(tok, Tok::Op(op) if op.base.starts_with("/*"));
    let slashes = |tok: &Tok<'_>| matches!(tok, Tok::Op(op) if op.base.starts_with("//"));
    let span = if f.found_is(opens) || f.found_is(slashes) {
        f.span
    } else if let Some(at) = f.find(opens) {
        f.place(at)
    } else if let Some(at) =
        f.find(slashes).filter(|at| f.on_line_of(*at) && !f.found_is(|t| *t == Tok::Tilde))
    {
        f.place(at)
    } else if first && f.found_is(|t| *t == Tok::LBrace) && f.ahead(0) == Some(&Tok::Minus) {
        f.span
    } else {
        return None;
    };
    Some(
        f.foreign(span, "a comment begins with `--`", "this begins no comment")
            .note("it goes to the end of its line"),
    )
}

fn at_declaration(f: &Failure<'_, '_>) -> bool {
    f.whole == Whole::Declaration && f.before.is_empty()
}

/// `fun f …`, `struct s …`, `pub def …`.
fn other_keyword(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    // After a declaration the word was taken for an argument; it stands at the margin.
    let margin = f.find_near(8, |_| true).map(|last| f.line_start(last)).filter(|i| *i > 0 && f.margin(*i));
    let (span, word) = match (&f.found, margin) {
        (Some(Tok::Val), _) if at_declaration(f) => (f.span, "val"),
        (Some(Tok::Ident(word) | Tok::Constr(word)), _) if at_declaration(f) => (f.span, *word),
        (_, Some(i)) => (f.place(i), ident(&f.before[i].1)?),
        _ => return None,
    };
    if MODIFIERS.contains(&word) {
        let error = f.foreign(span, format!("there is no `{word}` in Par"), "leave this out");
        return Some(error.note("what only its own file or module may use is marked with `local`"));
    }
    let (_, message, example) = KEYWORDS.iter().find(|(words, ..)| words.contains(&word))?;
    Some(f.foreign(span, *message, "not like this").note(format!("for example: {example}")))
}

impl Failure<'_, '_> {
    /// True if a token stands at the beginning of a line, without blanks before it.
    fn margin(&self, index: usize) -> bool {
        let at = self.before[index].0;
        at == 0 || self.ctx.text[..at].ends_with('\n')
    }
}

/// `infixl 6 <+>`.
fn fixity(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let word = f.found_is(|t| matches!(t, Tok::Ident("infix" | "infixl" | "infixr" | "operator" | "prefix")));
    if !word || !at_declaration(f) {
        return None;
    }
    let error = f.foreign(f.span, "the precedence of an operator is not declared", "leave this out");
    Some(
        error.note(
            "it is that of the built-in operator that it begins with: `+.` binds like `+`, `*.` like `*`",
        ),
    )
}

/// `f :: i32 -> i32`.
fn signature_above(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let colon = |n: usize| f.ahead(n) == Some(&Tok::Colon);
    if !at_declaration(f) || !f.found_is(|t| ident(t).is_some()) || !colon(0) {
        return None;
    }
    let error =
        f.foreign(f.span, "the type of a definition stands in the definition", "a type alone says nothing");
    Some(error.note("for example: def f (x: i32) : i32 = 2 * x"))
}

/// `f x = e`, at the beginning or after another declaration.
fn without_keyword(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let (span, name) = if at_declaration(f) {
        let equals = f.after.iter().position(|(_, t, _)| *t == Tok::Equals)?;
        let head = f.after[..equals].iter().all(|(_, t, _)| !t.begins_declaration());
        let name = f.found.as_ref().and_then(ident).filter(|_| head)?;
        (f.span, name)
    } else {
        let last = f.before.len().checked_sub(1).filter(|_| f.found_is(|t| *t == Tok::Equals))?;
        let start = Some(f.line_start(last)).filter(|i| *i > 0 && f.margin(*i))?;
        (f.place(start), ident(&f.before[start].1)?)
    };
    let message = format!("the definition of `{name}` does not begin with `def`");
    Some(Diagnostic::error("E0101", message, span).here("`def` is missing before this"))
}

/// `import name`.
fn import_path(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let name = f.found.as_ref().filter(|_| f.back(0) == Some(&Tok::Import))?;
    let (Tok::Ident(name) | Tok::Qual(name)) = name else { return None };
    let error = Diagnostic::error("E0101", "the path of a file is written in quotes", f.span);
    Some(error.here(format!("write \"{}\"", name.replace('.', "/"))))
}

/// `module m where`, `module m`.
fn module_head(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    if f.before.len() != 2 || f.before[0].1 != Tok::Module || !f.can_follow("=") {
        return None;
    }
    let where_word = f.found_is(|t| matches!(t, Tok::Ident("where") | Tok::LBrace));
    let error = match where_word || f.at_end() {
        true => f.foreign(f.span, "the declarations of a module stand in braces after `=`", "expected `=`"),
        false => return None,
    };
    Some(error.note(format!("for example: module {} = {{ def f x = x + 1 }}", f.spelled(1))))
}

/// `(x: i32 = 5)` as a parameter.
fn default_value(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    f.head()?;
    if !f.found_is(|t| *t == Tok::Equals) || !f.inside(&Tok::LParen) {
        return None;
    }
    let error = f.foreign(f.span, "a parameter has no default value", "not possible here");
    Some(error.note("every call gives all arguments; a second definition can fill one in: def g = f 5"))
}

/// `open "path"`.
fn open_path(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let string = f.found_is(|t| matches!(t, Tok::Literal(_)));
    if f.back(0) != Some(&Tok::Open) || !string {
        return None;
    }
    let error = Diagnostic::error("E0101", "`open` takes a module, not a path", f.span);
    Some(error.here(format!("write `import {}`", f.text(f.span))))
}

/// `def my-name …`, read as the definition of an operator.
fn name_with_dash(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let start = f.head()?;
    let [(_, Tok::Ident(a), _), (_, Tok::Minus, _), (_, Tok::Ident(b), _)] =
        f.read().get(start + 1..start + 4)?
    else {
        return None;
    };
    let span = f.places(start + 1, start + 3);
    Some(Diagnostic::error("E0101", "a name cannot contain `-`", span).here(format!("write `{a}_{b}`")))
}

/// `def f<t> …`.
fn angle_parameters(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let start = f.find(|t| matches!(t, Tok::Def | Tok::Entry | Tok::Type))?;
    let [(_, Tok::Ident(name), _), (_, Tok::Less, _), (_, param, _)] = f.read().get(start + 1..start + 4)?
    else {
        return None;
    };
    let param = ident(param).unwrap_or("t").trim_start_matches('\'');
    let last = f.before.len().min(start + 4) - 1;
    let error =
        f.foreign(f.places(start + 2, last), "type parameters are written without brackets", "not like this");
    let keyword = f.spelled(start);
    Some(error.note(format!("for example: {keyword} {name} '{param} …")))
}

/// `def f (x: t) -> t = e`.
fn result_arrow(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    f.head()?;
    if !f.found_is(|t| *t == Tok::Arrow) || !f.can_follow(":") {
        return None;
    }
    Some(f.foreign(f.span, "the type of the result stands after a `:`", "write `:` here"))
}

/// `def f x: t : t = e`, `def f x: t, y: t = e`.
fn parameter_without_parentheses(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let head = f.head()?;
    let separator = f.found_is(|t| matches!(t, Tok::Colon | Tok::Comma));
    if f.bracket().is_some() || !separator {
        return None;
    }
    let colon = f.before[head..].iter().position(|(_, t, _)| *t == Tok::Colon).map(|i| i + head);
    let name = colon.map_or(f.before.len(), |i| i).checked_sub(1).filter(|i| *i > head + 1)?;
    let span = f.places(name, f.before.len() - 1);
    let error = f.foreign(span, "a parameter with a type stands in parentheses", "not like this");
    let name = f.spelled(name);
    Some(error.note(format!("parameters are written one after the other: ({name}: i32) (y: i32)")))
}

/// `(i32 x)` as a parameter.
fn type_before_name(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    f.head()?;
    let Some(Tok::Ident(name)) = &f.found else { return None };
    let Some(Tok::Ident(ty)) = f.back(0) else { return None };
    let at = f.before.len() - 1;
    Prim::from_name(ty).filter(|_| f.bracket() == at.checked_sub(1))?;
    let error =
        f.foreign(f.up_to_here(at), "the name of a parameter stands before its type", "the wrong way round");
    Some(error.note(format!("write ({name}: {ty})")))
}

/// `def x := e`, `let x := e`, `a with [i] := e`.
fn defined_by_colon(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let span = if f.found_is(|t| *t == Tok::Equals) && f.back(0) == Some(&Tok::Colon) {
        f.up_to_here(f.before.len() - 1)
    } else if f.found_is(|t| *t == Tok::Colon) && f.ahead(0) == Some(&Tok::Equals) {
        crate::actions::join(f.span, f.ctx.span(f.after[0].0, f.after[0].2))
    } else {
        return None;
    };
    Some(f.foreign(span, "there is no `:=` in Par", "write `=`"))
}

/// `return e`.
fn return_word(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let at = f.find_near(6, |t| ident(t) == Some("return"))?;
    let error = f.foreign(f.place(at), "there is no `return` in Par", "leave this out");
    Some(error.note("the value of a function is its body: def double x = 2 * x"))
}

/// `def f x { e }`.
fn body_in_braces(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    f.head()?;
    let open = f.bracket().filter(|_| f.inside(&Tok::LBrace))?;
    // A single name could be that of a field.
    let name = open + 2 == f.before.len() && f.found_is(|t| *t == Tok::RBrace);
    if open + 1 != f.before.len() && !name {
        return None;
    }
    let outside = f.before[..open].iter().filter(|(_, t, _)| t.opens_bracket()).count();
    let closed =
        f.before.iter().filter(|(_, t, _)| matches!(t, Tok::RParen | Tok::RBracket | Tok::RBrace)).count();
    let error = f.foreign(f.place(open), "the body of a definition stands after `=`", "not in braces");
    (outside == closed).then(|| error.note("for example: def double (x: i32) : i32 = 2 * x"))
}

/// `def f (x: t) : t` and then the body.
fn missing_equals(f: &Failure<'_, '_>) -> Option<Diagnostic> {
    let head = f.head()?;
    let last = f.before.len().checked_sub(1).filter(|last| *last > head && f.bracket().is_none())?;
    let begun = f.find(|_| true).map(|i| f.line_start(i)).filter(|i| *i > head + 1);
    let line = match begun {
        _ if f.found.is_none() => last,
        _ if f.begins_line(f.span.start as usize) => last,
        Some(start) => start - 1,
        None => return None,
    };
    let binds = f.found.is_none() || f.can_follow("=") || begun.is_some();
    // At the end of the text a session waits for the rest.
    let message = match f.found {
        None => "unexpected end of a definition: it has no body",
        Some(_) => "a definition without a body",
    };
    let error =
        Diagnostic::error("E0101", message, f.place(line)).here("expected `=` and an expression after this");
    let error = error.unfinished();
    let signature = f.before[head..].iter().any(|(_, t, _)| *t == Tok::Arrow);
    binds.then(|| match signature {
        true => error.note("the type stands in the definition: def f (x: i32) : i32 = 2 * x"),
        false => error,
    })
}
