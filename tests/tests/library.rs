//! The standard library's documentation: every example is run, and nothing is left without work, span and example.

use par::doc::{self, Item, Kind};
use par::io::compare::{Tolerance, values_equal};
use par::{Backend, Options, Program, compile, print_value, read_values};
use std::collections::BTreeSet;

/// Examples in one program: compiling the library's part of it is paid once for all of them.
const BATCH: usize = 60;

const TOLERANCE: Tolerance = Tolerance { relative: 2e-6, absolute: 1e-6 };

#[test]
fn every_example_is_right() {
    let (items, _) = doc::library();
    let mut all: BTreeSet<doc::Example> = BTreeSet::new();
    for item in &items {
        let text = item.text.as_deref().unwrap_or("");
        all.extend(doc::examples(text).unwrap_or_else(|e| panic!("{}: {e}", item.name)));
    }
    let all: Vec<doc::Example> = all.into_iter().collect();
    assert!(all.len() > 100, "only {} examples were found", all.len());
    let wrong: Vec<String> = all.chunks(BATCH).flat_map(check_batch).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Mistakes in the examples of a batch.
fn check_batch(batch: &[doc::Example]) -> Vec<String> {
    match program(batch) {
        Ok(program) => batch.iter().enumerate().flat_map(|(i, e)| check(&program, i, e)).collect(),
        // One of them does not compile: which?
        Err(message) if batch.len() == 1 => vec![format!("`{}`: {message}", batch[0].expression)],
        Err(_) => batch.iter().flat_map(|e| check_batch(std::slice::from_ref(e))).collect(),
    }
}

fn program(batch: &[doc::Example]) -> Result<Program, String> {
    let entry = |(i, e): (usize, &doc::Example)| format!("entry e{i} = {}\n", e.expression);
    let text: String = batch.iter().enumerate().map(entry).collect();
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
    let functions = items.iter().filter(|i| matches!(i.kind, Kind::Value | Kind::Operator));
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
