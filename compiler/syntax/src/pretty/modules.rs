//! Module expressions and module types.

use super::types::{self, lifted, type_params};
use super::*;

pub fn module(m: &ModExp, indent: usize) -> String {
    match m {
        ModExp::Lambda(name, sig_exp, body, _) => {
            format!("\\({}: {}) -> {}", name.name, sig(sig_exp, indent), module(body, indent))
        }
        ModExp::Ascribe(m, s, _) => format!("{} : {}", ascribable(m, indent), sig(s, indent)),
        ModExp::Import(path, _) => format!("import {}", decs::import_path(path)),
        ModExp::Apply(f, arg, _) => {
            let f = match **f {
                ModExp::Apply(..) => module(f, indent),
                _ => atom(f, indent),
            };
            format!("{f} {}", atom(arg, indent))
        }
        ModExp::Name(n) => qualified(n),
        ModExp::Struct(decs, _) => block(decs.iter().map(|d| decs::dec(d, indent + STEP)).collect(), indent),
    }
}

fn ascribable(m: &ModExp, indent: usize) -> String {
    parens_if(matches!(m, ModExp::Lambda(..)), module(m, indent))
}

fn atom(m: &ModExp, indent: usize) -> String {
    parens_if(!matches!(m, ModExp::Name(_) | ModExp::Struct(..)), module(m, indent))
}

pub fn sig(s: &SigExp, indent: usize) -> String {
    match s {
        SigExp::Arrow(Some(name), a, b, _) => {
            format!("({}: {}) -> {}", name.name, sig(a, indent), sig(b, indent))
        }
        SigExp::Arrow(None, a, b, _) => format!("{} -> {}", sig_term(a, indent), sig(b, indent)),
        SigExp::With(s, name, params, ty, _) => format!(
            "{} with {}{} = {}",
            sig_term(s, indent),
            qualified(name),
            type_params(params),
            types::ty(ty, types::TERM)
        ),
        SigExp::Name(n) => qualified(n),
        SigExp::Specs(specs, _) => block(specs.iter().map(|s| spec(s, indent + STEP)).collect(), indent),
    }
}

fn sig_term(s: &SigExp, indent: usize) -> String {
    parens_if(matches!(s, SigExp::Arrow(..)), sig(s, indent))
}

fn spec(spec: &Spec, indent: usize) -> String {
    match spec {
        Spec::Val { name, params, ty } => {
            format!("val {}{} : {}", bound(name), type_params(params), type_exp(ty))
        }
        Spec::Type { name, params, ty, lifted: l } => {
            let ty = ty.as_ref().map_or(String::new(), |t| format!(" = {}", type_exp(t)));
            format!("type{} {}{}{ty}", lifted(*l), name.name, type_params(params))
        }
        Spec::Module { name, sig: s } => format!("module {} : {}", name.name, sig(s, indent)),
        Spec::Include(s) => format!("include {}", sig(s, indent)),
        Spec::Attr(a, s) => format!("{} {}", attr(a), self::spec(s, indent)),
    }
}

/// Items in braces, one per line.
fn block(items: Vec<String>, indent: usize) -> String {
    if items.is_empty() {
        return "{}".into();
    }
    let lines: String = items.iter().map(|item| newline(indent + STEP) + item).collect();
    format!("{{{lines}{}}}", newline(indent))
}
