//! Parameters of the function that is being applied.

use crate::text;
use lsp_types::{ParameterInformation, ParameterLabel, Position, SignatureHelp, SignatureInformation};
use par::analysis::Analysis;
use par::doc::Kind;
use par_syntax::classes::{Class, classify};

/// The function that the cursor is behind, and which of its arguments comes there. `source` is the present text.
pub fn help(source: &str, analysis: &Analysis, at: Position) -> Option<SignatureHelp> {
    let offset = text::offset(source, at);
    let (name, argument) = application(&source[..offset as usize])?;
    let (label, documentation) = declared(analysis, offset, name)?;
    let parts = parameters(&label);
    let parameter = |(start, end): &(usize, usize)| ParameterInformation {
        label: ParameterLabel::LabelOffsets([units(&label, *start), units(&label, *end)]),
        documentation: None,
    };
    let information = SignatureInformation {
        parameters: Some(parts.iter().map(parameter).collect()),
        documentation: documentation.map(lsp_types::Documentation::String),
        active_parameter: (argument < parts.len()).then_some(argument as u32),
        label,
    };
    Some(SignatureHelp {
        active_parameter: information.active_parameter,
        signatures: vec![information],
        active_signature: Some(0),
    })
}

fn units(text: &str, at: usize) -> u32 {
    text[..at].encode_utf16().count() as u32
}

/// The head of the application at the end of a text, and how many whole arguments stand behind it.
fn application(before: &str) -> Option<(&str, usize)> {
    let pieces = classify(before);
    let ends_in_word = pieces.last().is_some_and(|(range, _)| range.end == before.len());
    let mut depth = 0;
    let mut atoms: Vec<Option<&str>> = Vec::new();
    for (range, class) in pieces.iter().rev() {
        match class {
            Class::Close => depth += 1,
            Class::Open if depth == 0 => break,
            Class::Open => {
                depth -= 1;
                if depth == 0 {
                    atoms.push(None);
                }
            }
            _ if depth > 0 => {}
            Class::Name => atoms.push(Some(&before[range.clone()])),
            Class::Constant | Class::Text | Class::Constructor => atoms.push(None),
            Class::Comment => {}
            _ => break,
        }
    }
    let name = (*atoms.last()?)?;
    let arguments = atoms.len() - 1;
    // A word that is still being written is the argument that comes there.
    let whole = arguments - usize::from(ends_in_word && arguments > 0);
    (arguments > 0 || !ends_in_word).then_some((name, whole))
}

/// The head of a function's declaration, or a local name with its type.
fn declared(analysis: &Analysis, offset: u32, name: &str) -> Option<(String, Option<String>)> {
    let local = analysis.locals_at(offset).into_iter().find(|(n, _)| n == name);
    if let Some((name, ty)) = local {
        return ty.contains("->").then(|| (format!("{name} : {ty}"), None));
    }
    let mut items = analysis.items_where(|n| n == name);
    items.retain(|i| matches!(i.kind, Kind::Value | Kind::Entry));
    // The program's own come last and hide the library's.
    items.pop().map(|i| (i.signature, i.text))
}

/// Spans of the parameters: groups in parentheses before the result's type, or the parts of a function's type.
fn parameters(label: &str) -> Vec<(usize, usize)> {
    let mut depth = 0;
    let (mut groups, mut arrows, mut colon, mut start) = (Vec::new(), Vec::new(), None, 0);
    for (at, c) in label.char_indices() {
        match c {
            '(' | '[' | '{' => {
                if depth == 0 && c == '(' {
                    start = at;
                }
                depth += 1;
            }
            ')' | ']' | '}' => {
                depth -= 1;
                if depth == 0 && c == ')' && colon.is_none() {
                    groups.push((start, at + 1));
                }
            }
            ':' if depth == 0 => colon = Some(at + 1),
            '>' if depth == 0 && label[..at].ends_with('-') => arrows.push(at - 1),
            _ => {}
        }
    }
    if !groups.is_empty() {
        return groups;
    }
    let mut from = colon.unwrap_or(0);
    let mut parts = Vec::new();
    for arrow in arrows {
        let part = &label[from..arrow];
        let begin = from + part.len() - part.trim_start().len();
        parts.push((begin, from + part.trim_end().len()));
        from = arrow + 2;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{application, parameters};

    #[test]
    fn applications_are_seen_while_they_are_written() {
        for (text, expected) in [
            ("let y = map ", Some(("map", 0))),
            ("let y = map", None),
            ("map f", Some(("map", 0))),
            ("map f ", Some(("map", 1))),
            ("map (\\x -> x) xs", Some(("map", 1))),
            ("reduce (+) 0 ", Some(("reduce", 2))),
            ("f (g x ", Some(("g", 1))),
            ("a + f32.max b ", Some(("f32.max", 1))),
            ("xs[f ", Some(("f", 0))),
            ("", None),
        ] {
            assert_eq!(application(text), expected, "{text}");
        }
    }

    #[test]
    fn parameters_are_parts_of_the_label() {
        let shown = |label: &str| -> Vec<String> {
            parameters(label).into_iter().map(|(a, b)| label[a..b].to_string()).collect()
        };
        assert_eq!(shown("map 'a [n] 'x (f: a -> x) (as: [n]a) : [n]x"), ["(f: a -> x)", "(as: [n]a)"]);
        assert_eq!(shown("g : (a -> b) -> [n]a -> b"), ["(a -> b)", "[n]a"]);
        assert!(shown("pi : f32").is_empty());
    }
}
