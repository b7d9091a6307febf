//! Prints a tree as source text that parses to the same tree, places aside.
//!
//! Parentheses that were written are in the tree (of expressions) and come back; others are added where the
//! tree needs them. `let`, `match` and long branches are broken into lines; everything else stays on one.

mod decs;
mod exps;
mod modules;
mod pats;
mod types;

use crate::ast::*;
use crate::infix;

/// The whole file, with a blank line between declarations.
pub fn file(file: &File) -> String {
    let decs: Vec<String> = file.decs.iter().map(|d| decs::dec(d, 0) + "\n").collect();
    decs.join("\n")
}

/// An expression.
pub fn exp(exp: &Exp) -> String {
    exps::exp(exp, exps::ANY, exps::Place::LAST, 0)
}

/// A type.
pub fn type_exp(ty: &TypeExp) -> String {
    types::ty(ty, types::ANY)
}

/// A pattern.
pub fn pat(pat: &Pat) -> String {
    pats::pat(pat, pats::ANY)
}

/// Steps of indentation.
const STEP: usize = 2;
/// Lines are broken, where that is possible, if they would be longer.
const WIDTH: usize = 100;

fn newline(indent: usize) -> String {
    format!("\n{:indent$}", "")
}

fn parens_if(needed: bool, text: String) -> String {
    if needed { format!("({text})") } else { text }
}

fn comma<T>(items: &[T], print: impl FnMut(&T) -> String) -> String {
    items.iter().map(print).collect::<Vec<_>>().join(", ")
}

/// A name with its module path, as an operand; an operator in parentheses.
fn name(name: &Name) -> String {
    parens_if(infix::is_symbolic(&name.base), qualified(name))
}

fn qualified(name: &Name) -> String {
    name.path.iter().chain([&name.base]).map(String::as_str).collect::<Vec<_>>().join(".")
}

/// A name between operands: an operator, or a backticked name.
fn operator(name: &Name) -> String {
    let text = qualified(name);
    if infix::is_symbolic(&name.base) { text } else { format!("`{text}`") }
}

/// A name that is being bound.
fn bound(ident: &Ident) -> String {
    bound_name(&ident.name)
}

/// A name that is bound; an operator in parentheses.
fn bound_name(name: &str) -> String {
    parens_if(infix::is_symbolic(name), name.to_string())
}

fn attr(attr: &Attr) -> String {
    if attr.args.is_empty() {
        return format!("#[{}]", attr.name);
    }
    format!("#[{}({})]", attr.name, attr.args.join(", "))
}

fn literal(literal: &Literal) -> String {
    match literal {
        Literal::Int { value, suffix } => format!("{value}{}", suffix_name(*suffix)),
        Literal::Float { text, suffix } => format!("{text}{}", suffix_name(*suffix)),
        Literal::Bool(value) => value.to_string(),
        Literal::Char(c) => format!("'{}'", escape(*c, '\'')),
        Literal::String(bytes) => {
            let text: String = String::from_utf8_lossy(bytes).chars().map(|c| escape(c, '"')).collect();
            format!("\"{text}\"")
        }
    }
}

fn suffix_name(suffix: Option<Prim>) -> &'static str {
    suffix.map_or("", Prim::name)
}

/// Only what cannot stand between the quotes is escaped.
fn escape(c: char, quote: char) -> String {
    match c {
        '\n' => "\\n".into(),
        '\t' => "\\t".into(),
        '\r' => "\\r".into(),
        '\\' => "\\\\".into(),
        c if c == quote => format!("\\{c}"),
        c => c.to_string(),
    }
}
