//! Advice about values of a wrong type: what was probably meant.

use super::Cx;
use super::types::Clash;
use crate::thir::{Expr, ExprKind, Ty};
use par_runtime::{Prim, Span};
use par_syntax::ast::{Exp, ExpKind, Name};
use par_syntax::{Diagnostic, Severity, parse_expression};

/// For a function of several arguments where the elements are tuples.
pub(super) const PAIRS: &str = "the function gets each element as one tuple: \\(x, y) -> …";

/// For a function of several arguments in `map`.
pub(super) const MORE_ARRAYS: &str = "for more arrays there are `map2` to `map5`";

/// For a function of too many arguments in `map`.
pub(super) const TOO_MANY_PARAMETERS: &str = "its elements are functions: the function takes more arguments than it is given; for two arrays there is `map2`";

impl Cx<'_> {
    /// A type in a sentence: `` `i32` ``, or "a number" if that is all that is known.
    pub(super) fn in_words(&self, ty: &Ty) -> String {
        let text = self.show(ty);
        match text.as_str() {
            "integer" => "an integer".to_string(),
            "float" | "number" => format!("a {text}"),
            "integer or bool" => "an integer or a bool".to_string(),
            "number or bool" => "a number or a bool".to_string(),
            "_" => "some type".to_string(),
            _ => format!("`{text}`"),
        }
    }

    /// Adds to a mismatch what converts between the types, or that an argument is missing.
    pub(super) fn advise(&self, diag: Diagnostic, clash: &Clash, expected: &Ty, found: &Ty) -> Diagnostic {
        let (expected, found) = (self.types.shallow(expected), self.types.shallow(found));
        let numeric = matches!(clash, Clash::Mismatch | Clash::Class(super::types::Class::Prims(_)));
        match (&expected, &found) {
            _ if !diag.notes.is_empty() => diag,
            (Ty::Prim(to), Ty::Prim(from)) if convertible(*to, *from) && diag.code != "E0304" => {
                self.advise_conversion(diag, *to, *from)
            }
            (Ty::Prim(Prim::Bool), Ty::Prim(_)) if diag.code == "E0308" => {
                let text = self.as_argument(diag.labels[0].span);
                diag.note(format!("a number is no condition; compare it: {text} != 0"))
            }
            (Ty::Prim(from), Ty::Meta(_)) | (Ty::Meta(_), Ty::Prim(from))
                if from.is_integer() && diag.message.starts_with("the operands of") && self.one_is_float(&expected, &found) =>
            {
                let label = if matches!(expected, Ty::Prim(_)) { diag.labels.len() - 1 } else { 0 };
                let text = self.as_argument(diag.labels[label].span);
                diag.note(format!("a number with a point is a float; `f64.{from} {text}` makes one of this {from}"))
            }
            (Ty::Prim(to), Ty::Meta(_)) if to.is_integer() && self.show(&found) == "float" => diag
                .note(format!("a number with a point is a float; `f64.{to} x` makes a float of an integer")),
            (Ty::Meta(_), Ty::Var(_)) | (Ty::Var(_), Ty::Meta(_)) if matches!(clash, Clash::Class(super::types::Class::Prims(_))) => {
                diag.note("a type parameter stands for every type: take what compares or computes as a parameter, or write a type of numbers")
            }
            (Ty::Prim(Prim::U8), Ty::Array(_, element)) | (Ty::Array(_, element), Ty::Prim(Prim::U8))
                if matches!(self.types.shallow(element), Ty::Prim(Prim::U8)) && self.character_as_text(&diag).is_some() =>
            {
                let text = self.character_as_text(&diag).unwrap_or_default();
                diag.note(one_character(&text))
            }
            (Ty::Array(..), Ty::Prim(_) | Ty::Meta(_)) if diag.message.contains(" of `++` ") && !self.is_character(&diag) => {
                let text = self.sources.text(diag.labels[0].span);
                diag.note(format!("one element is joined as an array of one: [{text}]"))
            }
            (Ty::Prim(_), Ty::Array(..)) if extreme(&diag.message).is_some() => {
                let of_all = extreme(&diag.message).unwrap_or_default();
                let text = self.as_argument(diag.labels[0].span);
                diag.note(format!("of all elements: `{of_all} {text}`"))
            }
            (Ty::Array(..), _) if self.is_character(&diag) => {
                diag.note("text, of one character too, is written in double quotes: \"a\"")
            }
            (Ty::Array(..), Ty::Array(..)) => self.advise_elements(diag, &expected, &found),
            (Ty::Fun(..), _) => self.advise_function(diag, &expected, &found),
            (_, Ty::Fun(..)) if self.sources.text(diag.labels[0].span) == "null" => {
                diag.note("`null xs` says whether an array is empty; what may be missing is a sum type: `#some x` or `#none`")
            }
            (_, Ty::Fun(..)) if numeric => diag.note("a function was found: is an argument missing?"),
            (Ty::Record(wanted), Ty::Record(given)) => {
                let diag = advise_fields(diag, wanted, given);
                self.explain_abbreviations(diag, [&expected, &found])
            }
            _ => self.explain_abbreviations(diag, [&expected, &found]),
        }
    }

    /// Conversion of a number to another type.
    fn advise_conversion(&self, diag: Diagnostic, to: Prim, from: Prim) -> Diagnostic {
        // Of two operands the narrower one is converted.
        let (to, from, label) = match diag.message.starts_with("the operands of") && wider(from, to) {
            true => (from, to, diag.labels.len() - 1),
            false => (to, from, 0),
        };
        let span = diag.labels[label].span;
        let text = self.sources.text(span);
        let literal = is_number(text) && (to.is_float() || from.is_integer() || !text.contains('.'));
        match quotient(text).filter(|_| to.is_float() && from.is_integer()) {
            _ if literal => diag.note(format!("write the number with the suffix `{to}`, or without one")),
            Some([a, b]) => {
                let [a, b] = [a, b].map(|e| match is_number(&e) {
                    true => e,
                    false => format!("{to}.{from} {}", argument(&e)),
                });
                diag.note(format!("`/` of integers is an integer; of floats: {a} / {b}"))
            }
            None => {
                let text = self.as_argument(span);
                diag.note(format!("`{to}.{from} {text}` makes {} {to} of it", article(to)))
            }
        }
    }

    /// Two arrays of different elements: what converts these, or that they are tuples where several arguments are meant.
    fn advise_elements(&self, diag: Diagnostic, expected: &Ty, found: &Ty) -> Diagnostic {
        let (Ty::Array(_, to), Ty::Array(_, from)) = (expected, found) else { return diag };
        let is_mapped = diag.message.starts_with("argument 2 of `map");
        match (self.types.shallow(to), self.types.shallow(from)) {
            (Ty::Prim(to), Ty::Prim(from)) if convertible(to, from) => {
                let text = self.as_argument(diag.labels[0].span);
                diag.note(format!("`map {to}.{from} {text}` converts the elements"))
            }
            (Ty::Meta(_), Ty::Prim(Prim::Bool)) if diag.message.ends_with("`sum` has the wrong type") => {
                let text = self.as_argument(diag.labels[0].span);
                diag.note(format!("how many of them are true is `count id {text}`"))
            }
            (to, Ty::Fun(..)) if !matches!(to, Ty::Fun(..)) => diag.note(TOO_MANY_PARAMETERS),
            (Ty::Tuple(_), found) if is_mapped && !matches!(found, Ty::Tuple(_)) => {
                diag.note("the function gets one element, which is no tuple here: \\x -> …")
            }
            (to, Ty::Tuple(_)) if is_mapped && !matches!(to, Ty::Array(..)) => diag.note(PAIRS),
            _ => self.explain_abbreviations(diag, [expected, found]),
        }
    }

    fn one_is_float(&self, a: &Ty, b: &Ty) -> bool {
        [a, b].iter().any(|ty| self.show(ty) == "float")
    }

    /// One of the places of a message, if it is a text of one character.
    fn character_as_text(&self, diag: &Diagnostic) -> Option<String> {
        diag.labels.iter().find_map(|label| text_of_one(self.sources.text(label.span)))
    }

    fn is_character(&self, diag: &Diagnostic) -> bool {
        self.sources.text(diag.labels[0].span).starts_with('\'')
    }

    /// Explanation of the abbreviations that are named.
    pub(super) fn explain_abbreviations<const N: usize>(
        &self,
        diag: Diagnostic,
        types: [&Ty; N],
    ) -> Diagnostic {
        types.into_iter().fold(diag, |diag, ty| match (self.show(ty), self.show_expanded(ty)) {
            (short, long) if short != long && matches!(ty, Ty::Record(_) | Ty::Sum(_) | Ty::Tuple(_)) => {
                diag.note(format!("`{short}` is `{long}`"))
            }
            _ => diag,
        })
    }

    /// Something else where a function is expected.
    fn advise_function(&self, diag: Diagnostic, expected: &Ty, found: &Ty) -> Diagnostic {
        let text = self.sources.text(diag.labels[0].span);
        match found {
            Ty::Fun(..) => self.advise_parameters(diag, expected, found),
            Ty::Array(..) if diag.message.starts_with("argument 1 of") => {
                diag.note("the function stands before the arrays: map f xs")
            }
            _ if text.starts_with('-') => {
                let subtraction = text.trim_start_matches(['-', ' ']);
                diag.note(format!(
                    "this is a number; the function that subtracts is (\\x -> x - {subtraction})"
                ))
            }
            _ => diag,
        }
    }

    /// Two functions of different types: the number of arguments, or pairs where several arguments are meant.
    fn advise_parameters(&self, diag: Diagnostic, expected: &Ty, found: &Ty) -> Diagnostic {
        let (expected, found) = (self.types.resolve(expected), self.types.resolve(found));
        let (wanted, takes) = (arity(&expected), arity(&found));
        let pair = |t: &Ty| matches!(t, Ty::Fun(p, _) if matches!(**p, Ty::Tuple(_)));
        match () {
            () if wanted > takes && pair(&found) => {
                diag.note("it gets its arguments one after the other, not as one tuple: \\x y -> …")
            }
            () if wanted < takes && pair(&expected) => {
                diag.note("it gets one tuple, not several arguments: \\(x, y) -> …")
            }
            () if wanted == takes && self.gives_number(&expected, &found) => {
                diag.note("it must give a bool: compare what it gives, as in \\x -> x % 2 != 0")
            }
            () if wanted > takes => diag.note(format!("it must take {wanted} arguments, but takes {takes}")),
            () => diag,
        }
    }

    /// True if a function gives a number where a condition is wanted.
    fn gives_number(&self, expected: &Ty, found: &Ty) -> bool {
        let (Ty::Fun(_, wanted), Ty::Fun(_, given)) = (expected, found) else { return false };
        matches!(**wanted, Ty::Prim(Prim::Bool))
            && matches!(self.show(given).as_str(), "number" | "integer" | "float" | "i32" | "i64")
    }

    /// The source of an operand, as an argument: in parentheses if it needs them, dots if it is long.
    pub(super) fn as_argument(&self, span: Span) -> String {
        argument(self.sources.text(span).trim())
    }

    /// Advice for something applied that is not a function: `xs [0]`, `xs(0)`, `1 2`, `a and b`.
    pub(super) fn advise_call(&self, diag: Diagnostic, f: &Expr, arg: &Expr) -> Diagnostic {
        let name = self.sources.text(f.span);
        let given = self.sources.text(arg.span);
        let ty = self.types.shallow(&f.ty);
        match (&ty, &arg.kind) {
            (_, ExprKind::Def(..)) if given == "and" => diag.note("both of two conditions: `a && b`"),
            (_, ExprKind::Def(..)) if given == "or" => diag.note("one of two conditions: `a || b`"),
            (Ty::Array(..), ExprKind::Array(index)) if !index.is_empty() => {
                diag.note(format!("an index follows without a space: {name}{given}"))
            }
            (Ty::Array(..), _) if self.is_integer(&arg.ty) => {
                let index = given.trim_start_matches('(').trim_end_matches(')');
                diag.note(format!("an index is written in brackets: {name}[{index}]"))
            }
            _ => diag.note("is an operator or a comma missing before it?"),
        }
    }

    fn is_integer(&self, ty: &Ty) -> bool {
        let text = self.show(ty);
        text == "number" || text == "integer" || Prim::from_name(&text).is_some_and(Prim::is_integer)
    }

    /// Advice for an operator on operands that it does not take.
    pub(super) fn advise_operand(&self, diag: Diagnostic, op: &str, left: &Expr) -> Diagnostic {
        let compares = ["<", "<=", ">", ">=", "==", "!="];
        let chained = match &left.kind {
            ExprKind::Apply(f, _) => matches!(&f.kind, ExprKind::Op(o) if compares.contains(&o.as_str())),
            _ => false,
        };
        let name = self.sources.text(left.span);
        match (op, self.types.shallow(&left.ty)) {
            (op, Ty::Prim(Prim::Bool)) if chained && compares.contains(&op) => {
                diag.note("comparisons are joined with `&&`: a < b && b < c")
            }
            ("|", Ty::Fun(..)) => diag.note("a function is written `\\x -> e`"),
            (_, Ty::Fun(first, _)) if op != "-" && matches!(self.types.shallow(&first), Ty::Fun(..)) => {
                diag.note(format!("an operator as an argument stands in parentheses: {name} ({op})"))
            }
            ("-", Ty::Fun(..)) => {
                diag.note(format!("an argument that begins with `-` stands in parentheses: {name} (-1)"))
            }
            ("+", Ty::Array(..)) => {
                diag.note("`xs ++ ys` joins two arrays, `map2 (+) xs ys` adds their elements")
            }
            ("-" | "*" | "/" | "%" | "**", Ty::Array(..)) => {
                diag.note(format!("element by element: map2 ({op}) xs ys, or map (\\x -> x {op} …) xs"))
            }
            ("<" | "<=" | ">" | ">=", Ty::Array(..)) => diag
                .note(format!("element by element: map2 ({op}) xs ys, or map (\\x -> x {op} …) xs; filter (\\x -> x {op} …) xs has the elements for which it holds"))
                .note(compound_order(op)),
            ("<" | "<=" | ">" | ">=", Ty::Tuple(_) | Ty::Record(_)) => diag.note(compound_order(op)),
            ("^", Ty::Prim(p)) if p.is_float() => diag.note("the power of a number is `x ** y`"),
            (_, Ty::Var(_)) if !matches!(op, "==" | "!=") => diag.note(format!(
                "a type parameter stands for every type: take the function for `{op}` as a parameter, or write a type of numbers"
            )),
            ("*" | "+", Ty::Prim(Prim::Bool)) => diag.note("for conditions there are `&&` and `||`"),
            _ => diag,
        }
    }

    /// Advice for a value without fields: `xs.length`.
    pub(super) fn advise_field(&self, diag: Diagnostic, of: &Ty, field: &str) -> Diagnostic {
        let at = diag.labels[0].span;
        let value = self.sources.text(at).trim_end_matches(field).trim_end_matches('.');
        let value = if value.is_empty() { "xs" } else { value };
        let is_array = matches!(self.types.shallow(of), Ty::Array(..));
        match field {
            "length" | "size" | "len" | "count" if is_array => {
                diag.note(format!("the number of elements is `length {value}`"))
            }
            _ if !is_array
                && self.env.value(value).is_none()
                && self.scopes.value(self.module, at, value).is_some() =>
            {
                diag.note(format!("`{value}` is a value: there is no module of this name"))
            }
            _ if is_array && self.scopes.value(self.module, at, field).is_some() => {
                diag.note(format!("`{field}` is a function, not a part of an array: {field} … {value}"))
            }
            _ => diag,
        }
    }

    /// Warns of bitwise operators without parentheses that C would group otherwise.
    pub(super) fn warn_of_one_precedence(&mut self, op: &Name, left: &Exp, span: Span) {
        // From weakest to strongest, as in C.
        let strength = |op: &Name| ["|", "^", "&"].iter().position(|s| op.path.is_empty() && *s == op.base);
        let ExpKind::Binary { op: inner, .. } = &left.kind else { return };
        let (Some(outer), Some(first)) = (strength(op), strength(inner)) else { return };
        if first < outer {
            let (outer, first) = (&op.base, &inner.base);
            let message = format!(
                "`{first}` and `{outer}` have one precedence: the `{first}` is done before the `{outer}`"
            );
            let diag = Diagnostic::new(Severity::Warning, "W0208", message, span)
                .label(left.span, format!("the `{first}` is done first"))
                .note("write parentheses: around this part if it is meant so, else around the other");
            self.diags.push(diag);
        }
    }
}

/// Adds notes on the fields that are missing, and on those that the expected type does not have.
fn advise_fields(diag: Diagnostic, wanted: &[(String, Ty)], given: &[(String, Ty)]) -> Diagnostic {
    let without = |all: &[(String, Ty)], others: &[(String, Ty)]| -> Vec<String> {
        let lacks = |name: &String| !others.iter().any(|(other, _)| other == name);
        all.iter().filter(|(name, _)| lacks(name)).map(|(name, _)| format!("`{name}`")).collect()
    };
    let (missing, extra) = (without(wanted, given), without(given, wanted));
    let diag = match missing.len() {
        0 => diag,
        1 => diag.note(format!("the field {} is missing", missing[0])),
        _ => diag.note(format!("the fields {} are missing", missing.join(", "))),
    };
    match extra.len() {
        0 => diag,
        1 => diag.note(format!("there is no field {} in the expected type", extra[0])),
        _ => diag.note(format!("there are no fields {} in the expected type", extra.join(", "))),
    }
}

/// An expression as an argument: in parentheses if it needs them, dots if it is long.
fn argument(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_'.".contains(c);
    let wrapped = text.starts_with('(') && text.ends_with(')') && text.matches('(').count() == 1;
    match text {
        _ if text.is_empty() || text.chars().count() > 24 || text.contains('\n') => "(…)".to_string(),
        _ if text.chars().all(plain) || wrapped => text.to_string(),
        _ => format!("({text})"),
    }
}

/// True for the text of a number.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_')
}

/// The operands of a division.
fn quotient(text: &str) -> Option<[String; 2]> {
    let part = |e: &Exp| text.get(e.span.start as usize..e.span.end as usize).map(str::to_string);
    match parse_expression(text, 0).0?.kind {
        ExpKind::Binary { op, left, right } if op.base == "/" && op.path.is_empty() => {
            Some([part(&left)?, part(&right)?])
        }
        _ => None,
    }
}

/// The first text of one character in a piece of a program.
pub(super) fn text_of_one(source: &str) -> Option<String> {
    let (_, rest) = source.split_once('"')?;
    let (text, _) = rest.split_once('"')?;
    (text.chars().count() == 1 || text.len() == 2 && text.starts_with('\\')).then(|| text.to_string())
}

pub(super) fn one_character(text: &str) -> String {
    format!("`\"{text}\"` is a text, an array of characters; the character alone is `'{text}'`")
}

/// True if the module of one type has a conversion from the other.
fn convertible(to: Prim, from: Prim) -> bool {
    to != from && to != Prim::Bool && from != Prim::Bool
}

/// True if a type holds more numbers than another: floats before integers, then the number of bits.
fn wider(a: Prim, b: Prim) -> bool {
    (a.is_float(), a.bits()) > (b.is_float(), b.bits())
}

fn article(prim: Prim) -> &'static str {
    if matches!(prim, Prim::U8 | Prim::U16 | Prim::U32 | Prim::U64) { "a" } else { "an" }
}

pub(super) fn arity(ty: &Ty) -> usize {
    if let Ty::Fun(_, result) = ty { 1 + arity(result) } else { 0 }
}

/// Note on the order of values that an operator does not order.
fn compound_order(op: &str) -> String {
    let written = match op {
        "<" => "!(leq y x)",
        "<=" => "leq x y",
        ">" => "!(leq x y)",
        _ => "leq y x",
    };
    format!("arrays, tuples and records are ordered by `leq`: `x {op} y` is {written}")
}

/// For what is wrong with an argument of `f64.max` or the like: `f64.maximum`.
fn extreme(message: &str) -> Option<String> {
    let called = message.strip_prefix("argument 1 of `")?.split('`').next()?;
    let (prim, of_two) = called.split_once('.').filter(|(prim, _)| Prim::from_name(prim).is_some())?;
    let of_all = match of_two {
        "max" => "maximum",
        "min" => "minimum",
        _ => return None,
    };
    Some(format!("{prim}.{of_all}"))
}
