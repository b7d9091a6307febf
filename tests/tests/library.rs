//! The standard library's documentation: every example is run, and nothing is left without work, span and example.

use par::doc::{self, Item, Kind};
use par::io::compare::{Tolerance, values_equal};
use par::{Backend, Options, Program, compile, print_value, read_values};
use std::collections::{BTreeMap, BTreeSet};

/// Examples in one program: compiling the library's part of it is paid once for all of them.
const BATCH: usize = 60;

const TOLERANCE: Tolerance = Tolerance { relative: 2e-6, absolute: 1e-6 };

#[test]
fn every_example_is_right() {
    let (items, _) = doc::library();
    // Examples by the file that a program imports for them; none for what it sees anyhow.
    let mut all: BTreeMap<&str, BTreeSet<doc::Example>> = BTreeMap::new();
    for item in &items {
        let text = item.text.as_deref().unwrap_or("");
        let examples = doc::examples(text).unwrap_or_else(|e| panic!("{}: {e}", item.name));
        all.entry(imported(item)).or_default().extend(examples);
    }
    assert!(all[""].len() > 100, "only {} examples were found", all[""].len());
    assert!(all["lib/graph"].len() > 5 && all["lib/random"].len() > 5 && all["lib/text"].len() > 5);
    let mut wrong = Vec::new();
    for (file, examples) in all {
        let examples: Vec<doc::Example> = examples.into_iter().collect();
        wrong.extend(examples.chunks(BATCH).flat_map(|batch| check_batch(file, batch)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The file that a program must import for an item.
fn imported(item: &Item) -> &str {
    if item.name.starts_with("lib/") { item.name.split('.').next().unwrap_or("") } else { "" }
}

/// Mistakes in the examples of a batch.
fn check_batch(file: &str, batch: &[doc::Example]) -> Vec<String> {
    match program(file, batch) {
        Ok(program) => batch.iter().enumerate().flat_map(|(i, e)| check(&program, i, e)).collect(),
        // One of them does not compile: which?
        Err(message) if batch.len() == 1 => vec![format!("`{}`: {message}", batch[0].expression)],
        Err(_) => batch.iter().flat_map(|e| check_batch(file, std::slice::from_ref(e))).collect(),
    }
}

fn program(file: &str, batch: &[doc::Example]) -> Result<Program, String> {
    let import = if file.is_empty() { String::new() } else { format!("import \"{file}\"\n") };
    let entry = |(i, e): (usize, &doc::Example)| format!("entry e{i} = {}\n", e.expression);
    let text: String = std::iter::once(import).chain(batch.iter().enumerate().map(entry)).collect();
    compile(&text, "examples.par", &Options::default()).map_err(|failure| match failure {
        par::Failure::Rejected { diagnostics, .. } => {
            diagnostics.iter().map(|d| d.message.clone()).collect::<Vec<_>>().join("; ")
        }
        other => format!("{other:?}"),
    })
}

fn check(program: &Program, index: usize, example: &doc::Example) -> Vec<String> {
    let name = format!("e{index}");
    let entry = program.entry(&name).expect("every example is an entry point");
    let expected = match read_values(&example.value, std::slice::from_ref(&entry.ret)) {
        Ok(mut values) => values.remove(0),
        Err(e) => return vec![format!("`{}`: the value cannot be read: {e:?}", example.expression)],
    };
    let run = |backend| match program.run(&name, Vec::new(), backend, 1) {
        Ok(found) if values_equal(&found, &expected, TOLERANCE) => None,
        Ok(found) => Some(format!("`{}` is {} on {backend}", example.expression, print_value(&found))),
        Err(e) => Some(format!("`{}` fails on {backend}: {e:?}", example.expression)),
    };
    [Backend::Cpu, Backend::Interp].into_iter().filter_map(run).collect()
}

#[test]
fn everything_is_documented() {
    let (items, _) = doc::library();
    // What parametric modules have works at no type yet.
    let functions = items
        .iter()
        .filter(|i| matches!(i.kind, Kind::Value | Kind::Operator) && !i.module().contains(".mk_"));
    let missing: Vec<String> = functions.filter_map(missing).collect();
    assert!(missing.is_empty(), "{} are incomplete:\n{}", missing.len(), missing.join("\n"));
}

/// Facts that the comment of an item lacks. Types and module types need not say what they cost.
fn missing(item: &Item) -> Option<String> {
    let text = item.text.as_deref().unwrap_or("").to_lowercase();
    let parts: &[&str] = match item.kind {
        Kind::Value | Kind::Entry | Kind::Operator => &["work", "span", "example:"],
        _ if text.trim().is_empty() => &["a text"],
        _ => &[],
    };
    let parts: Vec<&str> = parts.iter().copied().filter(|p| !text.contains(p)).collect();
    (!parts.is_empty()).then(|| format!("{}: {}", item.name, parts.join(", ")))
}
