//! Names that are found by words of their descriptions, by their types, or by their modules.

use super::types::Type;
use super::{Item, Kind};
use std::fmt::Write;

/// As many names as a search lists.
const MOST: usize = 20;

/// Columns of the names in a list, and of a line.
const NAMES: usize = 26;
const LINE: usize = 120;

/// The items whose names and descriptions have all the words, those with the words in their names first.
pub fn by_words<'a>(items: &'a [Item], words: &str) -> Vec<&'a Item> {
    let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    let rank = |item: &Item| {
        let name = item.name.to_lowercase();
        let text = item.text.as_deref().unwrap_or("").to_lowercase();
        let all = words.iter().all(|w| name.contains(w) || text.contains(w));
        let missing = words.iter().filter(|w| !name.contains(*w)).count();
        (all && !words.is_empty()).then_some((missing, item.name.len()))
    };
    ranked(items, rank)
}

/// The items whose types fit the one that is searched for, the nearest first.
pub fn by_type<'a>(items: &'a [Item], wanted: &Type) -> Vec<&'a Item> {
    ranked(items, |item| Some((item.ty.as_ref()?.distance(wanted)?, item.name.len())))
}

/// The items of a module.
pub fn of_module<'a>(items: &'a [Item], module: &str) -> Vec<&'a Item> {
    items.iter().filter(|i| i.kind != Kind::Operator && i.module() == module).collect()
}

/// The modules: a list of names with what they are.
pub fn modules(items: &[Item]) -> Vec<&Item> {
    items.iter().filter(|i| i.kind == Kind::Module).collect()
}

/// Items in order of their rank. Of a function that several modules have under one name, that of the first stands for all.
fn ranked<R: Ord>(items: &[Item], rank: impl Fn(&Item) -> Option<R>) -> Vec<&Item> {
    let mut found: Vec<(R, &Item)> = items.iter().filter_map(|i| Some((rank(i)?, i))).collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let mut out: Vec<&Item> = Vec::new();
    for (_, item) in found {
        let same = |other: &&Item| other.base() == item.base() && other.line == item.line;
        if !out.iter().any(same) {
            out.push(item);
        }
    }
    out
}

/// The best of what was found, as a list.
pub fn best(items: &[&Item]) -> String {
    let mut out = list(&items[..items.len().min(MOST)]);
    if items.len() > MOST {
        let _ = writeln!(out, "and {} more", items.len() - MOST);
    }
    out
}

/// A line for each item: its name and the first sentence about it.
pub fn list(items: &[&Item]) -> String {
    let mut out = String::new();
    for item in items {
        let summary = item.summary();
        let room = LINE.saturating_sub(NAMES.max(item.name.chars().count()) + 2);
        let short: String = summary.chars().take(room).collect();
        let dots = if short.len() < summary.len() { "…" } else { "" };
        let _ = writeln!(out, "{:NAMES$} {short}{dots}", item.name);
    }
    out
}
