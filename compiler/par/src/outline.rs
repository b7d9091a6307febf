//! Trees as text over several lines.
//!
//! ```text
//! If { cond: Name("x"), then: … }     ==>     If {
//!                                               cond: Name("x"),
//!                                               then: …
//!                                             }
//! ```
//!
//! The form with `{:#?}` takes time by the square of the depth, and a program may be nested by thousands.

use std::fmt::Debug;

/// Length up to which brackets stay on one line.
const LINE: usize = 72;

/// Deeper lines are not indented any further.
const MAX_INDENT: usize = 40;

/// The debug form of a tree, a part to a line.
pub(crate) fn outline(tree: &impl Debug) -> String {
    let text = format!("{tree:?}");
    let marks = marks(&text);
    let mut out = String::with_capacity(2 * text.len());
    let (mut depth, mut done) = (0, 0);
    for (i, mark) in marks {
        match mark {
            Mark::Open => {
                out.push_str(&text[done..=i]);
                depth += 1;
            }
            Mark::Close => {
                out.push_str(text[done..i].trim_end());
                depth -= 1;
            }
            Mark::Comma => out.push_str(&text[done..=i]),
        }
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth.min(MAX_INDENT)));
        done = if let Mark::Close = mark { i } else { i + 1 };
        done += text[done..].len() - text[done..].trim_start().len();
    }
    out.push_str(&text[done..]);
    out.push('\n');
    out
}

#[derive(Clone, Copy)]
enum Mark {
    Open,
    Close,
    Comma,
}

/// Places of line breaks, in order: around and in brackets that hold more than a line.
fn marks(text: &str) -> Vec<(usize, Mark)> {
    let (mut found, mut open) = (Vec::new(), Vec::new());
    let mut quoted = None;
    let mut bytes = text.bytes().enumerate();
    while let Some((i, b)) = bytes.next() {
        match (quoted, b) {
            (Some(_), b'\\') => _ = bytes.next(),
            (Some(quote), _) if b == quote => quoted = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quoted = Some(b),
            (None, b'(' | b'[' | b'{') => {
                open.push((i, found.len()));
                found.push((i, Mark::Open));
            }
            (None, b')' | b']' | b'}') => {
                let Some((start, at)) = open.pop() else { continue };
                match i - start <= LINE {
                    true => found.truncate(at),
                    false => found.push((i, Mark::Close)),
                }
            }
            (None, b',') if !open.is_empty() => found.push((i, Mark::Comma)),
            (None, _) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::outline;
    use std::fmt::{Debug, Formatter, Result};

    enum Tree {
        Leaf(&'static str, char),
        Node(Vec<Tree>),
    }

    impl Debug for Tree {
        fn fmt(&self, f: &mut Formatter) -> Result {
            match self {
                Tree::Leaf(text, c) => f.debug_tuple("Leaf").field(text).field(c).finish(),
                Tree::Node(trees) => f.debug_tuple("Node").field(trees).finish(),
            }
        }
    }

    #[test]
    fn short_parts_stay_on_a_line() {
        let leaf = || Tree::Leaf("a, (b\" ]", ')');
        assert_eq!(outline(&leaf()), "Leaf(\"a, (b\\\" ]\", ')')\n");
        let tree = Tree::Node(vec![leaf(), Tree::Node(Vec::new()), leaf(), leaf()]);
        let leaf = "Leaf(\"a, (b\\\" ]\", ')')";
        let lines = ["Node(", "  [", &format!("    {leaf},"), "    Node([]),"];
        let rest = [&format!("    {leaf},") as &str, &format!("    {leaf}"), "  ]", ")", ""];
        assert_eq!(outline(&tree), [lines.as_slice(), &rest].concat().join("\n"));
    }

    #[test]
    fn depth_costs_nothing_more() {
        let deep = (0..2000).fold(Tree::Leaf("", ' '), |t, _| Tree::Node(vec![t]));
        assert!(outline(&deep).len() < 2000 * 400);
    }
}
