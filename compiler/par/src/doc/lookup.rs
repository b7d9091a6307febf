//! From a name to what is known of it.

use super::{Item, Kind};
use par_syntax::distance;

/// Target of a name.
#[derive(Debug)]
pub struct Found<'a> {
    /// The item.
    pub item: &'a Item,
    /// The other modules with a function of that name, if the name was given without module.
    pub also: Vec<&'a str>,
}

/// The modules that are shown first for a name without module.
const FIRST: [&str; 4] = ["i64", "f64", "i32", "bool"];

/// Maximum number of names that are suggested.
const SUGGESTIONS: usize = 3;

/// The last declaration of a name, which may be in parentheses or in backticks as operators are; else that of a module.
/// If there is none, the names that are close in spelling.
pub fn lookup<'a>(items: &'a [Item], name: &str) -> Result<Found<'a>, Vec<String>> {
    let plain = name.trim().trim_start_matches(['(', '`']).trim_end_matches([')', '`']).trim();
    if let Some(item) = items.iter().rev().find(|i| i.name == plain) {
        return Ok(Found { item, also: Vec::new() });
    }
    let inside: Vec<&Item> = items.iter().filter(|i| i.base() == plain).collect();
    let rank = |i: &Item| FIRST.iter().position(|m| *m == i.module()).unwrap_or(FIRST.len());
    let Some(item) = inside.iter().copied().min_by_key(|i| rank(i)) else {
        return Err(suggestions(items, plain));
    };
    let mut also: Vec<&str> = inside.iter().map(|i| i.module()).filter(|m| *m != item.module()).collect();
    also.dedup();
    Ok(Found { item, also })
}

fn suggestions(items: &[Item], name: &str) -> Vec<String> {
    let limit = name.chars().count().div_ceil(2).saturating_sub(1).min(3);
    let mut close: Vec<(usize, &str)> = items
        .iter()
        .filter(|i| i.kind != Kind::Operator)
        .flat_map(|i| [i.name.as_str(), i.base()])
        .filter(|candidate| candidate.len() <= 3 * name.len().max(3))
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(d, _)| (1..=limit).contains(d))
        .collect();
    close.sort();
    close.dedup();
    let best = close.first().map_or(0, |c| c.0);
    close.retain(|c| c.0 == best);
    close.into_iter().take(SUGGESTIONS).map(|(_, name)| name.to_string()).collect()
}
