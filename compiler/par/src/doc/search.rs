//! Names that are found by words of their descriptions, by their types, or by their modules.

use super::types::Type;
use super::{Item, Kind};
use std::fmt::Write;

/// As many names as a search lists.
const MOST: usize = 20;

/// Columns of the names in a list, and of a line.
const NAMES: usize = 26;
const LINE: usize = 120;

/// Words that say nothing about what is searched for.
const SMALL: [&str; 12] = ["a", "an", "and", "by", "for", "from", "in", "of", "or", "the", "to", "with"];

/// The items whose names and descriptions have all the words, those with the words in their names first. If none has, those that lack
/// only what most others have: the rarest words count.
pub fn by_words<'a>(items: &'a [Item], words: &str) -> Vec<&'a Item> {
    let words: Vec<String> =
        words.split_whitespace().map(stem).filter(|w| !SMALL.contains(&w.as_str())).collect();
    let items = in_order(items.iter().map(|item| ((), item)).collect());
    let lacked = |item: &Item| -> Vec<bool> {
        let text = [item.name.to_lowercase(), item.text.as_deref().unwrap_or("").to_lowercase()];
        words.iter().map(|word| !text.iter().any(|t| has_word(t, word))).collect()
    };
    let lacked: Vec<Vec<bool>> = items.iter().map(|item| lacked(item)).collect();
    let having = |word: usize| lacked.iter().filter(|of| !of[word]).count().max(1);
    let weights: Vec<usize> = (0..words.len()).map(|word| items.len() * items.len() / having(word)).collect();
    let weight = |of: &Vec<bool>| -> Option<usize> {
        let weight = of.iter().zip(&weights).filter(|(lacks, _)| **lacks).map(|(_, weight)| weight).sum();
        (!of.iter().all(|lacks| *lacks)).then_some(weight)
    };
    let lacked: Vec<Option<usize>> = lacked.iter().map(weight).collect();
    let least = lacked.iter().flatten().min();
    let best = items.into_iter().zip(&lacked).filter(|(_, of)| of.is_some() && of.as_ref() == least);
    let rank = |(item, _): (&'a Item, _)| {
        let name = item.name.to_lowercase();
        let missing = words.iter().filter(|word| !has_word(&name, word)).count();
        ((missing, item.name.len()), item)
    };
    in_order(best.map(rank).collect())
}

/// A word without the ending of its plural.
fn stem(word: &str) -> String {
    let word = word.to_lowercase();
    match word.strip_suffix('s') {
        Some(one) if one.len() > 2 && !one.ends_with('s') => one.to_string(),
        _ => word,
    }
}

/// True if a word of the text begins like this.
fn has_word(text: &str, word: &str) -> bool {
    let between = |c: char| !c.is_alphanumeric();
    match word.contains(between) {
        true => text.contains(word),
        false => text.split(between).any(|of_text| of_text.starts_with(word)),
    }
}

/// The items whose types fit the one that is searched for, the nearest first.
pub fn by_type<'a>(items: &'a [Item], wanted: &Type) -> Vec<&'a Item> {
    let rank = |item: &'a Item| Some(((item.ty.as_ref()?.distance(wanted)?, item.name.len()), item));
    in_order(items.iter().filter_map(rank).collect())
}

/// The items of a module.
pub fn of_module<'a>(items: &'a [Item], module: &str) -> Vec<&'a Item> {
    items.iter().filter(|i| i.kind != Kind::Operator && i.module() == module).collect()
}

/// The modules: a list of names with what they are.
pub fn modules(items: &[Item]) -> Vec<&Item> {
    items.iter().filter(|i| i.kind == Kind::Module).collect()
}

/// Items in order of their ranks. Of a function that several modules have under one name, that of the first stands for all.
fn in_order<R: Ord>(mut found: Vec<(R, &Item)>) -> Vec<&Item> {
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
