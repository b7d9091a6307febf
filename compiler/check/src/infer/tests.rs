//! Types of small programs, and that the library and larger programs check.

use super::types::function;
use super::{infer, show_type};
use crate::thir::{Program, Ty};
use par_syntax::{Diagnostic, Severity, Sources, ast, parse};
use std::path::Path;

/// The standard library's files, templates filled in.
fn library() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stdlib");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a library file");
    let integers = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"];
    let floats = ["f32", "f64"];
    let mut files = vec![("prelude".to_string(), read("prelude.par"))];
    let mut template = |name: &str, types: &[&str]| {
        let text = read(name);
        files.extend(types.iter().map(|t| (format!("{name} at {t}"), text.replace("$t", t))));
    };
    template("numeric.par.in", &[&integers[..], &floats].concat());
    template("integer.par.in", &integers);
    template("float.par.in", &floats);
    files.extend(["f32.par", "f64.par", "bool.par"].map(|n| (n.to_string(), read(n))));
    files
}

/// Checks a program with the library in front of it.
fn check(text: &str) -> (Option<Program>, Vec<Diagnostic>, Sources) {
    let mut sources = Sources::default();
    let mut files: Vec<ast::File> = Vec::new();
    let mut wrong = Vec::new();
    let texts = library().into_iter().map(|(n, t)| (n, t, true)).chain([("test.par".into(), text.into(), false)]);
    for (name, text, is_library) in texts {
        let index = sources.add(name, text.clone(), is_library);
        let (file, diags) = parse(&text, index);
        files.push(file);
        wrong.extend(diags);
    }
    assert!(wrong.is_empty(), "{}", plain(&wrong, &sources));
    let (program, diags) = infer(&files, &sources);
    (program, diags, sources)
}

/// Diagnostics as short text: code, message, labels with the text they cover, notes.
fn plain(diags: &[Diagnostic], sources: &Sources) -> String {
    let mut out = String::new();
    for d in diags {
        let file = sources.files.get(d.labels[0].span.file as usize).map_or("", |f| f.name.as_str());
        out += &format!("{} {}", d.code, d.message);
        if file != "test.par" {
            out += &format!(" (in {file})");
        }
        for l in &d.labels {
            out += &format!("\n    `{}` {}", sources.text(l.span), l.text);
        }
        d.notes.iter().for_each(|n| out += &format!("\n    note: {n}"));
        out += "\n";
    }
    out
}

/// The types of the user's definitions, one per line.
fn types(text: &str) -> String {
    let (program, diags, sources) = check(text);
    let errors: Vec<Diagnostic> = diags.into_iter().filter(|d| d.severity >= Severity::Unsupported).collect();
    let Some(program) = program else { return plain(&errors, &sources) };
    let mut out = String::new();
    for def in program.defs.iter().filter(|d| !d.library) {
        let ty: Ty = function(def.params.iter().map(|p| &p.ty), super::types::erase(&def.ret));
        out += &format!("{} : {}\n", def.name, show_type(&ty, &program));
    }
    out
}

/// What is wrong with a program, as text.
fn errors(text: &str) -> String {
    let (program, diags, sources) = check(text);
    assert_eq!(program.is_none(), diags.iter().any(|d| d.severity >= Severity::Unsupported));
    plain(&diags, &sources)
}

#[test]
fn the_library_checks() {
    let (program, diags, sources) = check("");
    assert!(diags.is_empty(), "{}", plain(&diags, &sources));
    assert!(program.is_some());
}

#[test]
#[ignore]
fn bench() {
    for f in std::fs::read_dir("/work/shared/bench/par").unwrap() {
        let p = f.unwrap().path();
        let (_, diags, sources) = check(&std::fs::read_to_string(&p).unwrap());
        println!("{p:?}\n{}", plain(&diags, &sources));
    }
}
