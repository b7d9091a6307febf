//! Declarations.

use super::types::{lifted, type_params};
use super::*;

pub fn dec(dec: &Dec, indent: usize) -> String {
    let mut text = String::new();
    if let Some(doc) = &dec.doc {
        for (i, line) in doc.lines().enumerate() {
            let line = if i == 0 { format!("-- | {line}") } else { format!("-- {line}") };
            text += &(line.trim_end().to_string() + &newline(indent));
        }
        if doc.is_empty() {
            text += &("-- |".to_string() + &newline(indent));
        }
    }
    for a in &dec.attrs {
        text += &(attr(a) + &newline(indent));
    }
    text + &kind(&dec.kind, indent)
}

fn kind(kind: &DecKind, indent: usize) -> String {
    match kind {
        DecKind::Def(def) => {
            let keyword = if def.entry { "entry" } else { "def" };
            format!("{keyword} {}", exps::definition(def, indent))
        }
        DecKind::Type { name, params, ty, lifted: l } => {
            format!("type{} {}{} = {}", lifted(*l), name.name, type_params(params), type_exp(ty))
        }
        DecKind::Module { name, params, sig, body } => {
            let params: String = params
                .iter()
                .map(|(name, sig)| format!(" ({}: {})", name.name, modules::sig(sig, indent)))
                .collect();
            let sig = sig.as_ref().map_or(String::new(), |s| format!(" : {}", modules::sig(s, indent)));
            format!("module {}{params}{sig} = {}", name.name, modules::module(body, indent))
        }
        DecKind::ModuleType { name, sig } => {
            format!("module type {} = {}", name.name, modules::sig(sig, indent))
        }
        DecKind::Open(m) => format!("open {}", modules::module(m, indent)),
        DecKind::Local(inner) if inner.doc.is_some() => {
            format!("local{}{}", newline(indent), dec(inner, indent))
        }
        DecKind::Local(inner) => format!("local {}", dec(inner, indent)),
        DecKind::Import { path, .. } => format!("import {}", import_path(path)),
    }
}

pub fn import_path(path: &str) -> String {
    literal(&Literal::String(path.as_bytes().to_vec()))
}
