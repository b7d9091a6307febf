//! The tables of `docs/from-futhark.md`: every line has programs that do what the line says.
//!
//! ```text
//! | `iota` | yes | `iota 3` is `[0, 1, 2]` |
//! | `def`  | yes | `def f x = x + 1`, `f 2` is `3` |                 declarations before the expression
//! | `with_vjp` | no | not yet: `with_vjp f g 3f64` is rejected |
//! ```

use par::io::compare::{Tolerance, values_equal};
use par::{Backend, Options, compile, print_value, read_values};

/// A program in a line.
struct Claim {
    line: usize,
    declarations: Vec<String>,
    expression: String,
    /// None if it is rejected.
    value: Option<String>,
}

/// A line of a table.
struct Row {
    state: String,
    claims: Vec<Claim>,
    line: usize,
}

/// The first words of a declaration.
const DECLARATIONS: [&str; 9] =
    ["def ", "let ", "entry ", "type", "module ", "open ", "local ", "import ", "#["];

const TOLERANCE: Tolerance = Tolerance { relative: 1e-9, absolute: 1e-9 };

#[test]
fn every_line_does_what_it_says() {
    let rows = rows(include_str!("../../docs/from-futhark.md"));
    assert!(rows.len() > 250, "only {} lines were found", rows.len());
    let wrong: Vec<String> = rows.iter().flat_map(check_row).collect();
    assert!(wrong.is_empty(), "{} lines are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// The lines of the tables that say `yes`, `different` or `no`.
fn rows(text: &str) -> Vec<Row> {
    let lines = text.lines().enumerate().filter(|(_, l)| l.starts_with('|'));
    lines.filter_map(|(i, l)| row(&cells(l), i + 1)).collect()
}

fn row(cells: &[String], line: usize) -> Option<Row> {
    let [_, state, text] = cells else { return None };
    let state = state.clone();
    ["yes", "different", "no"].contains(&state.as_str()).then(|| Row {
        state,
        claims: claims(text, line),
        line,
    })
}

/// The cells of a line, where a bar that belongs to a text is written `\|`.
fn cells(line: &str) -> Vec<String> {
    let line = line.replace("\\|", "\u{0}");
    let inner = line.trim().trim_matches('|');
    inner.split('|').map(|cell| cell.replace('\u{0}', "|").trim().to_string()).collect()
}

/// The programs in a text.
fn claims(text: &str, line: usize) -> Vec<Claim> {
    let parts = spans(text);
    let (mut all, mut declarations) = (Vec::new(), Vec::new());
    for (i, (code, after)) in parts.iter().enumerate() {
        let is_declaration = DECLARATIONS.iter().any(|d| code.starts_with(d)) && after.starts_with(", ");
        let value = match after.as_str() {
            " is " => parts.get(i + 1).map(|(value, _)| Some(value.clone())),
            after if after.starts_with(" is rejected") => Some(None),
            _ => None,
        };
        if let Some(value) = value {
            let expression = code.clone();
            all.push(Claim { line, declarations: std::mem::take(&mut declarations), expression, value });
        } else if is_declaration {
            declarations.push(code.clone());
        }
    }
    all
}

/// Code in backticks, each with the text up to the next one.
fn spans(text: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('`') {
        if let Some(last) = all.last_mut() {
            last.1 = rest[..start].to_string();
        }
        let ticks: String = rest[start..].chars().take_while(|c| *c == '`').collect();
        let code = &rest[start + ticks.len()..];
        let end = code.find(&ticks).expect("code ends");
        all.push((code[..end].to_string(), String::new()));
        rest = &code[end + ticks.len()..];
    }
    if let Some(last) = all.last_mut() {
        last.1 = rest.to_string();
    }
    all
}

fn check_row(row: &Row) -> Vec<String> {
    let wanted = |c: &Claim| c.value.is_some() == (row.state != "no");
    let mut wrong: Vec<String> = row.claims.iter().filter_map(check).collect();
    if row.state != "different" && !row.claims.iter().any(wanted) {
        wrong.push(format!("line {}: \"{}\", but no program shows it", row.line, row.state));
    }
    wrong
}

fn check(claim: &Claim) -> Option<String> {
    let Claim { line, declarations, expression, value } = claim;
    let wrong = |what: String| Some(format!("line {line}: `{expression}` {what}"));
    let text = format!("{}\nentry result = {expression}\n", declarations.join("\n"));
    let program = match (compile(&text, "line.par", &Options::default()), value) {
        (Ok(program), Some(_)) => program,
        (Err(_), None) => return None,
        (Ok(_), None) => return wrong("is accepted".to_string()),
        (Err(failure), Some(_)) => return wrong(format!("does not compile: {}", reason(failure))),
    };
    let entry = program.entry("result").expect("the entry point");
    let expected = match read_values(value.as_deref().unwrap_or(""), std::slice::from_ref(&entry.ret)) {
        Ok(mut values) => values.remove(0),
        Err(e) => return wrong(format!("has a value that cannot be read: {e:?}")),
    };
    [Backend::Cpu, Backend::Interp].into_iter().find_map(|b| match program.run("result", Vec::new(), b, 1) {
        Ok(found) if values_equal(&found, &expected, TOLERANCE) => None,
        Ok(found) => wrong(format!("is {} on {b}", print_value(&found))),
        Err(e) => wrong(format!("fails on {b}: {e:?}")),
    })
}

fn reason(failure: par::Failure) -> String {
    match failure {
        par::Failure::Rejected { diagnostics, .. } => {
            diagnostics.iter().map(|d| format!("{}: {}", d.code, d.message)).collect::<Vec<_>>().join("; ")
        }
        other => format!("{other:?}"),
    }
}
