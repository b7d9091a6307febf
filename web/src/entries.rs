//! Entry points, and inputs to begin with: those of the first test, or some that fit the types.

use par::analysis::Analysis;
use par::{Entry, Prim, ValueType, choose_entry, print_value, read_values, testing};
use serde_json::{Value, json};
use std::path::Path;

/// The entry points of a program with its text.
pub fn of(program: &Analysis, text: &str) -> Value {
    let tested = testing::inputs(text, Path::new("")).unwrap_or_default();
    let entries = program.entries();
    let chosen = choose_entry(&entries, None).ok().map(|e| e.name.clone());
    entries
        .into_iter()
        .map(|entry| {
            let inputs = inputs(entry, &tested);
            let param = |((name, ty), input): (&(String, ValueType), &String)| {
                json!({ "name": name, "type": ty.to_string(), "input": input })
            };
            let params: Vec<Value> = entry.params.iter().zip(&inputs).map(param).collect();
            let is_chosen = chosen.as_ref() == Some(&entry.name);
            json!({
                "name": entry.name, "params": params, "result": entry.ret.to_string(), "chosen": is_chosen,
            })
        })
        .collect()
}

/// An input for each parameter.
fn inputs(entry: &Entry, tested: &[(String, String)]) -> Vec<String> {
    /// Longer ones are hard to look at.
    const LONGEST: usize = 20_000;
    let types: Vec<ValueType> = entry.params.iter().map(|p| p.1.clone()).collect();
    let fitting = tested
        .iter()
        .filter(|(name, text)| *name == entry.name && text.len() <= LONGEST)
        .find_map(|(_, text)| read_values(text, &types).ok());
    match fitting {
        Some(values) => values.iter().map(|value| without_suffixes(&print_value(value))).collect(),
        None => types.iter().map(|ty| example(ty, 0)).collect(),
    }
}

/// A value's text without the types of its numbers, which are known where it is read.
fn without_suffixes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive(|c: char| !c.is_alphanumeric() && c != '.' && c != '_') {
        let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '.' && c != '_');
        let number = word.starts_with(|c: char| c.is_ascii_digit());
        let suffix = Prim::ALL.iter().map(|p| p.name()).find(|name| number && word.ends_with(*name));
        out.push_str(&word[..word.len() - suffix.map_or(0, str::len)]);
        out.push_str(&piece[word.len()..]);
    }
    out
}

/// A value of a type, as text; in arrays the one at a place.
fn example(ty: &ValueType, at: usize) -> String {
    let all = |types: &[ValueType]| types.iter().map(|t| example(t, at)).collect::<Vec<_>>().join(", ");
    match ty {
        ValueType::Prim(Prim::Bool) => at.is_multiple_of(2).to_string(),
        ValueType::Prim(p) if p.is_float() => format!("{}.5", at + 1),
        ValueType::Prim(_) => (at + 1).to_string(),
        ValueType::Tuple(types) => format!("({})", all(types)),
        ValueType::Record(fields) => {
            let field = |(name, ty): &(String, ValueType)| format!("{name} = {}", example(ty, at));
            format!("{{{}}}", fields.in_order().map(field).collect::<Vec<_>>().join(", "))
        }
        ValueType::Sum(cases) => {
            let (name, payload) = &cases[at % cases.len().max(1)];
            let parts: Vec<String> = payload.iter().map(|t| format!(" {}", example(t, at))).collect();
            format!("#{name}{}", parts.concat())
        }
        ValueType::Array { ragged, size, elem } => {
            let fixed = size.as_ref().and_then(|s| s.parse().ok());
            // Rows of different lengths, one of them empty.
            let len = fixed.unwrap_or(if *ragged { [2, 0, 3][at % 3] } else { 3 });
            let elems: Vec<String> = (0..len).map(|i| example(elem, at + i)).collect();
            format!("[{}]", elems.join(", "))
        }
        ValueType::Opaque { .. } => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::without_suffixes;

    #[test]
    fn only_numbers_lose_their_types() {
        let text = "([1i64, -2i64], {x = 1.5f64, i32 = 3u8}, f64.nan, 1e10f32, #a8 true)";
        assert_eq!(without_suffixes(text), "([1, -2], {x = 1.5, i32 = 3}, f64.nan, 1e10, #a8 true)");
    }
}
