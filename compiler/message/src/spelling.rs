//! Spelling suggestions: the known name that was probably meant by an unknown one.

/// Longer names are not compared with others.
const MAX_LENGTH: usize = 100;

/// Letters of a name that another may begin with.
const PREFIX: usize = 3;

/// The candidate that is closest in spelling, if one is close: a third of the letters may differ, at most three; or it begins with the name, or the name
/// with it.
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let length = name.chars().count();
    // Names of one or two letters are close to too many others, and very long ones to none.
    let limit = (length / 3).min(3);
    if length > MAX_LENGTH {
        return None;
    }
    let letters = only_letters(name);
    let close = |c: &&str| **c != *name && c.len() <= 2 * MAX_LENGTH && c.chars().any(char::is_alphanumeric);
    let measured = candidates.into_iter().filter(close).filter_map(|c| {
        let far = match only_letters(c) {
            other if other == letters => 0,
            other => match distance(name, c) {
                d if d <= limit => d,
                _ if begins(&letters, &other) => limit + letters.len().abs_diff(other.len()),
                _ => return None,
            },
        };
        Some((far, c))
    });
    measured.min().map(|(_, c)| c)
}

/// A name without what is easily written otherwise: `tabulate_2d`, `tabulate2D` and `tabulate2` are one.
fn only_letters(name: &str) -> String {
    let name = name.to_lowercase().replace('_', "");
    match name.strip_suffix('d') {
        Some(start) if start.ends_with(|c: char| c.is_ascii_digit()) => start.to_string(),
        _ => name,
    }
}

/// True if one of two names begins with the other.
fn begins(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    short.chars().count() >= PREFIX && long.starts_with(short)
}

/// Edit distance: insertions, deletions, substitutions and swaps of neighbours.
pub fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let substitute = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = substitute.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before_last[j - 2] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn edit_distance() {
        assert_eq!(distance("map", "map"), 0);
        assert_eq!(distance("mpa", "map"), 1);
        assert_eq!(distance("redcue", "reduce"), 1);
        assert_eq!(distance("", "ab"), 2);
        assert_eq!(distance("länge", "lange"), 1);
    }

    #[test]
    fn close_names_are_found() {
        let names = ["reduce", "map", "red", "++"];
        assert_eq!(nearest("redcue", names), Some("reduce"));
        assert_eq!(nearest("Map", names), Some("map"));
        assert_eq!(nearest("zip", names), None);
        assert_eq!(nearest("re", names), None);
        assert_eq!(nearest("map", names), None);
        let names = ["tabulate", "tabulate_2d", "tabulate_3d", "abs", "transpose"];
        assert_eq!(nearest("tabulate2", names), Some("tabulate_2d"));
        assert_eq!(nearest("tabulate3D", names), Some("tabulate_3d"));
        assert_eq!(nearest("absolute", names), Some("abs"));
        assert_eq!(nearest("transp", names), Some("transpose"));
        assert_eq!(nearest("abstract", ["abs_2d"]), None);
    }
}
