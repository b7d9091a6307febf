//! Smaller values, as text: elements left out, numbers nearer to zero.

/// Values to try in place of one, smallest first.
pub fn candidates(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for (open, close) in lists(text) {
        let cuts = elements(text, open, close);
        if cuts.len() > 1 {
            out.push(without(text, open + 1, close));
            let half = cuts.len() / 2;
            out.push(without(text, cuts[0].0, cuts[half].0));
            out.push(without(text, cuts[half - 1].1, close));
        }
        for (i, (start, end)) in cuts.iter().enumerate() {
            // With the comma after it, or for the last one the comma before.
            let end = cuts.get(i + 1).map_or(*end, |next| next.0);
            let start = if i > 0 && i + 1 == cuts.len() { cuts[i - 1].1 } else { *start };
            out.push(without(text, start, end));
        }
    }
    out.extend(smaller_numbers(text));
    out
}

fn without(text: &str, start: usize, end: usize) -> String {
    format!("{}{}", &text[..start], &text[end..])
}

/// The brackets of arrays: positions of `[` and of its `]`.
fn lists(text: &str) -> Vec<(usize, usize)> {
    let (mut open, mut out) = (Vec::new(), Vec::new());
    for (i, c) in text.char_indices() {
        match c {
            '[' => open.push(i),
            ']' => out.extend(open.pop().map(|start| (start, i))),
            _ => {}
        }
    }
    out.sort_unstable();
    out
}

/// Start and end of each element between two brackets, in bytes.
fn elements(text: &str, open: usize, close: usize) -> Vec<(usize, usize)> {
    let (mut depth, mut start, mut out) = (0, open + 1, Vec::new());
    for (i, c) in text[open + 1..close].char_indices() {
        let i = open + 1 + i;
        match c {
            '[' | '(' | '{' => depth += 1,
            ']' | ')' | '}' => depth -= 1,
            ',' if depth == 0 => {
                out.push((start, i));
                start = i + 1;
            }
            _ => {}
        }
    }
    if !text[start..close].trim().is_empty() {
        out.push((start, close));
    }
    out
}

/// The text with one number made 0, or 1.
fn smaller_numbers(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        let begins = bytes[i].is_ascii_digit() || bytes[i] == b'-';
        if !begins || (i > 0 && (bytes[i - 1].is_ascii_alphanumeric() || bytes[i - 1] == b'.')) {
            i += 1;
            continue;
        }
        let digits = text[i..].find(|c: char| !(c.is_ascii_digit() || c == '-' || c == '.'));
        let end = digits.map_or(text.len(), |n| i + n);
        for smaller in ["0", "1"] {
            if &text[i..end] != smaller && text[i..end] != *"0.0" {
                out.push(format!("{}{smaller}{}", &text[..i], &text[end..]));
            }
        }
        i = end;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_left_out() {
        let found = candidates("[[1i64, 2i64], []]");
        for wanted in ["[]", "[[], []]", "[[1i64], []]", "[[ 2i64], []]", "[[1i64, 2i64]]"] {
            assert!(found.iter().any(|f| f == wanted), "{wanted} is not among {found:?}");
        }
    }

    #[test]
    fn numbers_become_small() {
        assert_eq!(
            candidates("(7i64, #a -3i8)"),
            ["(0i64, #a -3i8)", "(1i64, #a -3i8)", "(7i64, #a 0i8)", "(7i64, #a 1i8)"]
        );
        assert!(candidates("0i64").contains(&"1i64".to_string()));
        assert!(candidates("true").is_empty());
    }
}
