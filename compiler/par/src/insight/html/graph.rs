//! The graph of operations: each below what it uses, drawn in layers.

use super::super::Insight;
use super::super::costs::duration;
use super::super::operations::{Group, Operation};
use super::escape;
use super::source::group;
use std::fmt::Write;

const WIDTH: usize = 190;
const HEIGHT: usize = 46;
const GAP: usize = 22;
const DROP: usize = 40;

/// The drawing, in a box that scrolls.
pub(super) fn section(insight: &Insight) -> String {
    let ops = &insight.operations;
    if ops.is_empty() {
        return String::new();
    }
    let layout = Layout::new(ops.len(), &insight.edges);
    let mut svg = String::new();
    let (width, height) = layout.size();
    let _ = writeln!(
        svg,
        "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"operations and what flows between them\">"
    );
    for (a, b) in &insight.edges {
        let ((x1, y1), (x2, y2)) = (layout.place(*a), layout.place(*b));
        let (x1, y1, x2) = (x1 + WIDTH / 2, y1 + HEIGHT, x2 + WIDTH / 2);
        let bend = if y2 > y1 { (y2 - y1) / 2 } else { DROP };
        let _ = writeln!(
            svg,
            "<path class=\"edge\" d=\"M{x1} {y1} C{x1} {} {x2} {} {x2} {y2}\"/>",
            y1 + bend,
            y2.saturating_sub(bend)
        );
    }
    for (i, op) in ops.iter().enumerate() {
        svg += &node(insight, op, layout.place(i));
    }
    svg.push_str("</svg>");
    let legend = "<p class=\"dim\">Each operation stands below what it uses. \
                  <span class=\"key kernel\">kernel</span> <span class=\"key array\">array</span> \
                  <span class=\"key rows\">row lengths</span> <span class=\"key sync\">the host waits</span> \
                  <span class=\"key call\">call</span></p>";
    format!("<section><h2>Operations</h2>\n{legend}\n<div class=\"graph\">{svg}</div></section>\n")
}

fn node(insight: &Insight, op: &Operation, (x, y): (usize, usize)) -> String {
    let title = cut(&format!("{} {}", op.number, op.name), 24);
    let below = match op.cost {
        Some(c) if c.runs > 0 && op.group != Group::Call => {
            format!("line {} · {}", op.at.line, duration(c.time))
        }
        _ => format!("line {} · {}", op.at.line, op.detail),
    };
    let share = op.cost.map_or(0.0, |c| c.time.as_secs_f64() / insight.longest_time().as_secs_f64());
    let bar = (share * WIDTH as f64).round() as usize;
    let (group, middle) = (group(op.group), x + WIDTH / 2);
    let mut out = format!(
        "<a href=\"#op{}\"><g class=\"node {group}\"><title>{}</title>\
         <rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"6\"/>",
        op.number,
        escape(&format!("{} {}", op.name, op.detail))
    );
    if bar > 0 {
        let at = y + HEIGHT - 5;
        let _ =
            write!(out, "<rect class=\"spent\" x=\"{x}\" y=\"{at}\" width=\"{bar}\" height=\"5\" rx=\"2\"/>");
    }
    let _ = writeln!(
        out,
        "<text class=\"name\" x=\"{middle}\" y=\"{}\">{}</text><text x=\"{middle}\" y=\"{}\">{}</text></g></a>",
        y + 18,
        escape(&title),
        y + 34,
        escape(&cut(&below, 28))
    );
    out
}

fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_string();
    }
    text.chars().take(room - 1).chain(['…']).collect()
}

/// Position of each node: a layer, and a column in it.
struct Layout {
    layer: Vec<usize>,
    column: Vec<usize>,
    /// Nodes of the widest layer.
    widest: usize,
}

impl Layout {
    /// A node's layer is below all it uses. In a layer nodes are ordered by the middle of what they use.
    fn new(n: usize, edges: &[(usize, usize)]) -> Layout {
        let mut layer = vec![0; n];
        let mut uses: Vec<Vec<usize>> = vec![Vec::new(); n];
        for (a, b) in edges.iter().filter(|(a, b)| a < b) {
            uses[*b].push(*a);
        }
        for i in 0..n {
            layer[i] = uses[i].iter().map(|a| layer[*a] + 1).max().unwrap_or(0);
        }
        // What uses nothing stands right above its first user.
        for i in (0..n).filter(|i| uses[*i].is_empty()) {
            let users = edges.iter().filter(|(a, b)| *a == i && a < b).map(|(_, b)| layer[*b]);
            layer[i] = users.min().map_or(0, |l: usize| l.saturating_sub(1));
        }
        let mut column = vec![0; n];
        let mut widest = 0;
        for l in 0..=layer.iter().copied().max().unwrap_or(0) {
            let mut nodes: Vec<usize> = (0..n).filter(|i| layer[*i] == l).collect();
            let middle = |i: &usize| {
                let sum: usize = uses[*i].iter().map(|a| column[*a]).sum();
                (2 * sum / uses[*i].len().max(1), *i)
            };
            nodes.sort_by_key(middle);
            widest = widest.max(nodes.len());
            nodes.into_iter().enumerate().for_each(|(c, i)| column[i] = c);
        }
        Layout { layer, column, widest }
    }

    fn size(&self) -> (usize, usize) {
        let layers = self.layer.iter().copied().max().unwrap_or(0) + 1;
        (self.widest * (WIDTH + GAP) + GAP, layers * (HEIGHT + DROP) - DROP + 2 * GAP)
    }

    /// The upper left corner of a node; layers are centred.
    fn place(&self, i: usize) -> (usize, usize) {
        let in_layer = self.layer.iter().filter(|l| **l == self.layer[i]).count();
        let left = (self.widest - in_layer) * (WIDTH + GAP) / 2;
        (GAP + left + self.column[i] * (WIDTH + GAP), GAP + self.layer[i] * (HEIGHT + DROP))
    }
}
