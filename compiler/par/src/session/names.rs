//! Names of a session, for completion.

use par_syntax::ast::{Dec, DecKind, File, ModExp};

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
