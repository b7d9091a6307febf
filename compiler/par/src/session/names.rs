//! Names of a session: all of them, for completion, and what is written about one.

use par_syntax::Sources;
use par_syntax::ast::{Dec, DecKind, File, ModExp, Span};

/// What is known of a definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Doc {
    /// Its head: `map [n] 'a 'b (f: a -> b) (xs: [n]a) : [n]b`.
    pub signature: String,
    /// Its documentation comment.
    pub text: Option<String>,
}

/// Modules in which a name without module is looked up last: `sum` is `i64.sum`, `f64.sum`, … by its argument.
const NUMERIC: [&str; 2] = ["i64", "f64"];

/// The names of all declarations.
pub(super) fn all(files: &[File]) -> Vec<String> {
    let mut out = Vec::new();
    files.iter().for_each(|file| add(&file.decs, "", &mut out));
    // Operators are no words to complete.
    out.retain(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'));
    out.sort();
    out.dedup();
    out
}

fn add(decs: &[Dec], prefix: &str, out: &mut Vec<String>) {
    for dec in decs {
        match &dec.kind {
            DecKind::Def(def) => out.push(format!("{prefix}{}", def.name.name)),
            DecKind::Type { name, .. } => out.push(format!("{prefix}{}", name.name)),
            DecKind::Module { name, body, .. } => {
                out.push(format!("{prefix}{}", name.name));
                if let ModExp::Struct(inner, _) = body {
                    add(inner, &format!("{prefix}{}.", name.name), out);
                }
            }
            DecKind::Open(ModExp::Struct(inner, _)) => add(inner, prefix, out),
            _ => {}
        }
    }
}

/// The last declaration of a name.
pub(super) fn doc(files: &[File], sources: &Sources, name: &str) -> Option<Doc> {
    let plain = name.trim().trim_start_matches('(').trim_end_matches(')').trim();
    let numeric = NUMERIC.iter().map(|module| format!("{module}.{plain}"));
    std::iter::once(plain.to_string())
        .chain(numeric)
        .find_map(|wanted| files.iter().rev().find_map(|file| find(&file.decs, &wanted, sources)))
}

fn find(decs: &[Dec], wanted: &str, sources: &Sources) -> Option<Doc> {
    decs.iter().rev().find_map(|dec| match &dec.kind {
        DecKind::Def(def) if def.name.name == wanted => {
            let start = after_keyword(sources.text(dec.span), dec.span);
            let head = Span { start, end: def.body.span.start, ..dec.span };
            Some(described(dec, sources.text(head)))
        }
        DecKind::Type { name, .. } | DecKind::ModuleType { name, .. } if name.name == wanted => {
            Some(described(dec, sources.text(dec.span)))
        }
        DecKind::Module { name, .. } if name.name == wanted => {
            Some(described(dec, &format!("module {wanted}")))
        }
        DecKind::Module { name, body: ModExp::Struct(inner, _), .. } => {
            let rest = wanted.strip_prefix(name.name.as_str())?.strip_prefix('.')?;
            find(inner, rest, sources)
        }
        DecKind::Open(ModExp::Struct(inner, _)) => find(inner, wanted, sources),
        DecKind::Local(inner) => find(std::slice::from_ref(inner), wanted, sources),
        _ => None,
    })
}

/// Where the head of a definition begins: behind attributes and the keyword.
fn after_keyword(text: &str, span: Span) -> u32 {
    let mut rest = text;
    while let Some((_, after)) = rest.strip_prefix("#[").and_then(|r| r.split_once(']')) {
        rest = after.trim_start();
    }
    for keyword in ["def", "let", "entry"] {
        rest = rest.strip_prefix(keyword).unwrap_or(rest);
    }
    span.end - rest.trim_start().len() as u32
}

fn described(dec: &Dec, head: &str) -> Doc {
    // A body in parentheses begins before its own range.
    let head = head.trim_end().trim_end_matches(['(', ' ', '\n']);
    let head = head.strip_suffix('=').unwrap_or(head);
    let signature = head.split_whitespace().collect::<Vec<_>>().join(" ");
    Doc { signature, text: dec.doc.clone() }
}
