//! Colours for a line while it is typed, from the compiler's own lexer.

use par::classes::{Class, classify};
use std::ops::Range;

const RESET: &str = "\x1b[0m";
const COMMAND: &str = "\x1b[36m";
/// Both brackets of a pair.
const PAIR: &str = "\x1b[1;4m";
/// A bracket without a partner.
const ALONE: &str = "\x1b[31m";

/// Escape sequence for the style of a class of text; empty if it has none.
fn style(class: Class) -> &'static str {
    match class {
        Class::Keyword => "\x1b[1;34m",
        Class::Constant => "\x1b[33m",
        Class::Text => "\x1b[32m",
        Class::Comment => "\x1b[90m",
        Class::Constructor => "\x1b[35m",
        Class::TypeParam => "\x1b[36m",
        Class::Open | Class::Close | Class::Name | Class::Other => "",
    }
}

/// An input with colours. `cursor` is a byte position: the bracket there, or just before, is shown with its partner.
pub fn highlight(text: &str, cursor: Option<usize>) -> String {
    let mut out = String::with_capacity(2 * text.len());
    let code = if text.trim_start().starts_with(':') { command_end(text) } else { 0 };
    paint(&text[..code], COMMAND, &mut out);
    let pieces = classify(&text[code..]);
    let marked = cursor.and_then(|at| pair(&pieces, at.wrapping_sub(code)));
    let mut end = code;
    for (i, (range, class)) in pieces.iter().enumerate() {
        let (start, stop) = (code + range.start, code + range.end);
        out.push_str(&text[end..start]);
        let look = match &marked {
            Some((a, Some(b))) if *a == i || *b == i => PAIR,
            Some((a, None)) if *a == i && *class == Class::Close => ALONE,
            _ => style(*class),
        };
        paint(&text[start..stop], look, &mut out);
        end = stop;
    }
    out.push_str(&text[end..]);
    out
}

fn paint(text: &str, look: &str, out: &mut String) {
    if look.is_empty() || text.is_empty() {
        return out.push_str(text);
    }
    out.push_str(look);
    out.push_str(text);
    out.push_str(RESET);
}

/// End of the name of a command, in bytes.
fn command_end(text: &str) -> usize {
    let start = text.len() - text.trim_start().len();
    text[start..].find(char::is_whitespace).map_or(text.len(), |at| start + at)
}

/// The bracket at a position or just before, and its partner.
fn pair(pieces: &[(Range<usize>, Class)], cursor: usize) -> Option<(usize, Option<usize>)> {
    let is_bracket = |class: Class| matches!(class, Class::Open | Class::Close);
    let found = |at: usize| pieces.iter().position(|(r, class)| is_bracket(*class) && r.contains(&at));
    let at = found(cursor).or_else(|| found(cursor.wrapping_sub(1)))?;
    let mut depth = 0i32;
    let mut partner = |i: usize| {
        depth += match pieces[i].1 {
            Class::Open => 1,
            Class::Close => -1,
            _ => 0,
        };
        depth == 0
    };
    let other = match pieces[at].1 {
        Class::Open => (at..pieces.len()).find(|i| partner(*i)),
        _ => (0..=at).rev().find(|i| partner(*i)),
    };
    Some((at, other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('\x1b') {
            out.push_str(&rest[..at]);
            rest = &rest[at + rest[at..].find('m').unwrap() + 1..];
        }
        out + rest
    }

    #[test]
    fn colours_change_nothing_else() {
        for text in
            ["let x = 1 in f \"ä\" -- §", ":type map (\\x -> x)", "", ":", "  :load a b", "f (((", "\"", "x'"]
        {
            for cursor in 0..=text.len() {
                assert_eq!(plain(&highlight(text, Some(cursor))), text);
            }
        }
    }

    #[test]
    fn keywords_and_brackets_stand_out() {
        assert_eq!(highlight("let x", Some(5)), "\x1b[1;34mlet\x1b[0m x");
        assert_eq!(highlight("(x)", Some(0)), "\x1b[1;4m(\x1b[0mx\x1b[1;4m)\x1b[0m");
        assert_eq!(highlight("(x)", Some(3)), highlight("(x)", Some(0)));
        assert_eq!(highlight("x)", Some(2)), "x\x1b[31m)\x1b[0m");
        assert_eq!(highlight(":type 1", None), "\x1b[36m:type\x1b[0m \x1b[33m1\x1b[0m");
    }
}
