//! Very long lines, cut around the places that a diagnostic is about.
//!
//! ```text
//! def a = [1, 2, 3, … ten thousand characters …, x + y, … and as many again
//! ...8, 2, 9, 1, x + y, 7, 0, 3, 3...
//! ```

use std::ops::Range;

/// Lines with more bytes are cut.
const LONG: usize = 240;
/// Characters that are kept before and after the ends of a place.
const AROUND: usize = 36;
/// Sign for the omitted rest.
const GAP: &str = "…";

/// A text in which some lines are cut.
pub(crate) struct Excerpt {
    /// The text; it has the same lines.
    pub text: String,
    /// Kept pieces: where they were, and where they are now.
    pieces: Vec<(Range<usize>, usize)>,
}

impl Excerpt {
    /// Cuts the long lines on which one of the places begins or ends, or that lie between its ends. None if there are none.
    pub fn new(text: &str, places: &[Range<usize>]) -> Option<Excerpt> {
        let mut out = Excerpt { text: String::new(), pieces: Vec::new() };
        let mut cut = false;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let whole = at..at + line.trim_end_matches(['\n', '\r']).len();
            let touched = places.iter().any(|p| p.start <= whole.end && p.end >= whole.start);
            if touched && whole.len() > LONG {
                out.cut(text, &whole, places);
                out.keep(text, whole.end..at + line.len());
                cut = true;
            } else {
                out.keep(text, at..at + line.len());
            }
            at += line.len();
        }
        cut.then_some(out)
    }

    /// Place in the excerpt of a byte of the whole text.
    pub fn place(&self, at: usize) -> usize {
        let next = self.pieces.partition_point(|(old, _)| old.start <= at);
        match next.checked_sub(1).map(|i| &self.pieces[i]) {
            Some((old, new)) => new + at.min(old.end) - old.start,
            None => 0,
        }
    }

    fn keep(&mut self, text: &str, range: Range<usize>) {
        self.pieces.push((range.clone(), self.text.len()));
        self.text.push_str(&text[range]);
    }

    fn cut(&mut self, text: &str, line: &Range<usize>, places: &[Range<usize>]) {
        let mut at = line.start;
        for window in windows(text, line, places) {
            if window.start > at {
                self.text.push_str(GAP);
            }
            at = window.end;
            self.keep(text, window);
        }
        if at < line.end {
            self.text.push_str(GAP);
        }
    }
}

/// Parts of a line that are kept, in order and separate from one another.
fn windows(text: &str, line: &Range<usize>, places: &[Range<usize>]) -> Vec<Range<usize>> {
    let ends = places.iter().flat_map(|p| [p.start, p.end]).filter(|at| (line.start..=line.end).contains(at));
    let around = |at: usize| {
        let start = text.floor_char_boundary(at.saturating_sub(AROUND)).max(line.start);
        start..text.ceil_char_boundary((at + AROUND).min(line.end)).min(line.end)
    };
    let mut all: Vec<Range<usize>> = ends.map(around).collect();
    if all.is_empty() {
        all.push(around(line.start));
    }
    all.sort_by_key(|w| w.start);
    let mut out: Vec<Range<usize>> = Vec::new();
    for window in all {
        match out.last_mut() {
            Some(last) if window.start <= last.end + GAP.len() => last.end = last.end.max(window.end),
            _ => out.push(window),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice::from_ref;

    #[test]
    fn short_lines_stay() {
        assert!(Excerpt::new("def f = x\n", from_ref(&(4..5))).is_none());
        assert!(Excerpt::new(&format!("{}\nx", "a".repeat(1000)), from_ref(&(1001..1002))).is_none());
    }

    #[test]
    fn places_keep_their_text() {
        let text =
            format!("one\n{}<here>{}<there>{}\nlast", "ä".repeat(500), "b".repeat(500), "c".repeat(500));
        let find = |what: &str| text.find(what).map(|at| at..at + what.len()).unwrap_or_default();
        let places = [find("<here>"), find("<there>"), find("last")];
        let cut = Excerpt::new(&text, &places).expect("a long line");
        assert!(cut.text.len() < 600 && cut.text.lines().count() == 3, "{}", cut.text);
        for place in places {
            assert_eq!(cut.text[cut.place(place.start)..cut.place(place.end)], text[place]);
        }
    }

    #[test]
    fn long_places_lose_their_middle() {
        let text = format!("({})", "x".repeat(10_000));
        let cut = Excerpt::new(&text, from_ref(&(0..text.len()))).expect("a long line");
        assert_eq!((cut.place(0), cut.place(text.len())), (0, cut.text.len()));
        assert!(cut.text.contains(GAP) && cut.text.len() < 200);
    }
}
