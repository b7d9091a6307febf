//! Which of some names was meant by one that is unknown.

/// Longer names are not compared with others.
const MAX_LENGTH: usize = 100;

/// The candidate that is closest in spelling, if one is close: a third of the letters may differ, at most three.
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let length = name.chars().count();
    // Names of one or two letters are close to too many others, and very long ones to none.
    let limit = (length / 3).min(3);
    if length > MAX_LENGTH {
        return None;
    }
    let lower = name.to_lowercase();
    let close = |c: &&str| **c != *name && c.len() <= 2 * MAX_LENGTH && c.chars().any(char::is_alphanumeric);
    let measured = candidates.into_iter().filter(close).map(|c| match c.to_lowercase() == lower {
        true => (0, c),
        false => (distance(name, c), c),
    });
    measured.filter(|(d, _)| *d <= limit).min().map(|(_, c)| c)
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
    }
}
