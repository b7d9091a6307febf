//! Values for a person: over several lines where one does not do, and only the beginning of what is long.
//!
//! ```text
//! [[0i64, 1i64, 2i64],          rows below each other
//!  [],
//!  [3i64, 4i64,                 elements as many as fit
//!   5i64]]
//! [0i64, 1i64, 2i64, … 1_000_000 elements]
//! ```

use super::print::{is_empty, lacks_scalars, print, print_type};
use crate::io::view::View;
use crate::{Column, Value};

/// The space there is for a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Columns of a line.
    pub width: usize,
    /// Elements that are shown; of more only the beginning, spread over the rows.
    pub limit: usize,
    /// Rows of bytes are shown as texts, where they are texts.
    pub texts: bool,
}

impl Layout {
    /// Everything on one line: as [`print_value`](super::print_value).
    pub const PLAIN: Layout = Layout { width: usize::MAX, limit: usize::MAX, texts: false };
}

/// Of every array at least so many elements are shown.
const FEW: usize = 3;

/// A value as text of several lines, without a line break at the end.
pub fn print_pretty(value: &Value, layout: Layout) -> String {
    let view = match View::new(value) {
        Ok(view) if layout.texts => view.with_texts(),
        Ok(view) => view,
        Err(message) => return format!("<malformed value: {message}>"),
    };
    let budget = if elements(value) <= layout.limit { usize::MAX } else { layout.limit };
    let mut out = String::new();
    part(&view, 0, budget).write(0, layout.width, 0, &mut out);
    if lacks_scalars(value) {
        out.push_str(" : ");
        // Writing to a string does not fail.
        let _ = print_type(&view, 0, &mut out);
    }
    out
}

/// The length of the longest column.
fn elements(value: &Value) -> usize {
    let len = |c: &Column| if let Column::Data(data) = c { data.len() } else { 0 };
    value.columns.iter().map(len).max().unwrap_or(0)
}

/// A piece of text that may be broken between its items.
struct Part {
    /// Opening text; all of it if there are no items.
    open: String,
    items: Vec<Part>,
    separator: &'static str,
    close: &'static str,
    /// Columns if on one line.
    width: usize,
}

impl Part {
    fn text(text: String) -> Part {
        Part { width: text.chars().count(), open: text, items: Vec::new(), separator: "", close: "" }
    }

    fn group(open: String, items: Vec<Part>, separator: &'static str, close: &'static str) -> Part {
        let separators = separator.len() * items.len().saturating_sub(1);
        let inner: usize = items.iter().map(|i| i.width).sum();
        let width = open.chars().count() + inner + separators + close.len();
        Part { open, items, separator, close, width }
    }

    fn write_flat(&self, out: &mut String) {
        out.push_str(&self.open);
        for (i, item) in self.items.iter().enumerate() {
            out.push_str(if i > 0 { self.separator } else { "" });
            item.write_flat(out);
        }
        out.push_str(self.close);
    }

    /// Writes from column `at` on; behind it `after` columns are needed.
    fn write(&self, at: usize, width: usize, after: usize, out: &mut String) {
        if self.items.is_empty() || at.saturating_add(self.width).saturating_add(after) <= width {
            return self.write_flat(out);
        }
        out.push_str(&self.open);
        // What would begin too far to the right begins on a line of its own.
        let inner = at + self.open.chars().count().min(width / 2);
        let wrap = self.items.iter().all(|i| i.items.is_empty());
        let mut column = at + self.open.chars().count();
        for (i, item) in self.items.iter().enumerate() {
            let last = i + 1 == self.items.len();
            let behind = if last { self.close.len() + after } else { self.separator.trim_end().len() };
            if i > 0 {
                out.push_str(self.separator.trim_end());
                column += self.separator.len();
                if wrap && column + item.width + behind <= width {
                    out.push_str(&self.separator[self.separator.trim_end().len()..]);
                } else {
                    out.push('\n');
                    out.extend(std::iter::repeat_n(' ', inner));
                    column = inner;
                }
            }
            item.write(column, width, behind, out);
            column += item.width;
        }
        out.push_str(self.close);
    }
}

/// Row `row` of a view, with at most about `budget` elements.
fn part(view: &View, row: usize, budget: usize) -> Part {
    match view {
        View::Tuple(views) => {
            let share = share(budget, views.len());
            let items = views.iter().map(|v| part(v, row, share)).collect();
            Part::group("(".into(), items, ", ", ")")
        }
        View::Record(fields, order) => {
            let share = share(budget, fields.len());
            let field = |(name, v): &(&str, View)| {
                let mut inner = part(v, row, share);
                inner.open = format!("{name} = {}", inner.open);
                inner.width += name.chars().count() + 3;
                inner
            };
            Part::group("{".into(), order.places().map(|place| field(&fields[place])).collect(), ", ", "}")
        }
        View::Sum(tag, cases) => {
            let Some((name, payload)) = cases.get(tag.tag(row)).filter(|c| !c.1.is_empty()) else {
                return flat(view, row);
            };
            let share = share(budget, payload.len());
            let items = payload.iter().map(|v| payload_part(v, row, share)).collect();
            Part::group(format!("#{name} "), items, " ", "")
        }
        View::Array { ty, .. } if !ty.is_ragged() && is_empty(view) => flat(view, row),
        View::Array { lengths, elem, .. } => {
            let (start, len) = lengths.row(row);
            array(elem, start, len, budget)
        }
        _ => flat(view, row),
    }
}

/// A payload stands in parentheses if it has one of its own.
fn payload_part(view: &View, row: usize, budget: usize) -> Part {
    match view {
        View::Sum(tag, cases) if cases.get(tag.tag(row)).is_some_and(|c| !c.1.is_empty()) => {
            Part::group("(".into(), vec![part(view, row, budget)], "", ")")
        }
        _ => part(view, row, budget),
    }
}

fn array(elem: &View, start: usize, len: usize, budget: usize) -> Part {
    let nested = holds_arrays(elem);
    let most = if nested { budget.isqrt() } else { budget }.max(FEW);
    let shown = if len <= most.saturating_add(1) { len } else { most };
    let share = share(budget, if nested { shown } else { 1 });
    let mut items: Vec<Part> = (start..start + shown).map(|i| part(elem, i, share)).collect();
    if shown < len {
        let what = if nested { "rows" } else { "elements" };
        items.push(Part::text(format!("… {} {what}", grouped(len))));
    }
    if items.is_empty() {
        return Part::text("[]".into());
    }
    Part::group("[".into(), items, ", ", "]")
}

fn share(budget: usize, parts: usize) -> usize {
    if budget == usize::MAX { budget } else { budget / parts.max(1) }
}

fn holds_arrays(view: &View) -> bool {
    match view {
        View::Array { .. } | View::Texts(..) => true,
        View::Tuple(views) => views.iter().any(holds_arrays),
        View::Record(fields, _) => fields.iter().any(|(_, v)| holds_arrays(v)),
        View::Sum(_, cases) => cases.iter().flat_map(|(_, vs)| vs).any(holds_arrays),
        _ => false,
    }
}

fn flat(view: &View, row: usize) -> Part {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = print(view, row, &mut text);
    Part::text(text)
}

/// `1_000_000`.
fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('_');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::text::{print_value, read_any, read_values};
    use crate::value::ValueType;

    fn value(text: &str) -> Value {
        read_any(text).unwrap().remove(0)
    }

    fn same_type(text: &str, as_of: &Value) -> Value {
        read_values(text, std::slice::from_ref(&as_of.ty)).unwrap().remove(0)
    }

    /// `[](#none | #some i32)`; a sum cannot be read without its type.
    fn options(text: &str) -> Value {
        let payload = vec![ValueType::Prim(crate::Prim::I32)];
        let elem = ValueType::Sum(vec![("none".into(), Vec::new()), ("some".into(), payload)]);
        let ty = ValueType::Array { ragged: false, size: None, elem: Box::new(elem) };
        read_values(text, &[ty]).unwrap().remove(0)
    }

    fn samples() -> Vec<Value> {
        let options = options("[#some 1, #none]");
        SAMPLES.iter().map(|text| value(text)).chain([options]).collect()
    }

    fn pretty(text: &str, width: usize, limit: usize) -> String {
        print_pretty(&value(text), Layout { width, limit, texts: false })
    }

    const SAMPLES: [&str; 6] = [
        "[[1, 2, 3], [], [4]]",
        "{a = 1, b = [(1.5, true), (2.5, false)]}",
        "([[1], [2]], [3])",
        "[[], []] : [][]i32",
        "empty([0][3]i32)",
        "-f64.inf",
    ];

    #[test]
    fn without_limits_it_is_the_plain_form() {
        for value in samples() {
            assert_eq!(print_pretty(&value, Layout::PLAIN), print_value(&value));
        }
    }

    #[test]
    fn broken_lines_are_the_same_value() {
        for value in samples() {
            for width in 1..40 {
                let broken = print_pretty(&value, Layout { width, limit: usize::MAX, texts: false });
                assert_eq!(print_value(&same_type(&broken, &value)), print_value(&value), "{broken}");
            }
        }
    }

    #[test]
    fn rows_stand_below_each_other() {
        assert_eq!(
            pretty("[[1, 2, 3], [], [4, 5, 6, 7]]", 18, 100),
            "[[1i32, 2i32,\n  3i32],\n [],\n [4i32, 5i32,\n  6i32, 7i32]]"
        );
        assert_eq!(
            pretty("[{a = 1, b = [1, 2]}, {a = 2, b = []}]", 24, 100),
            "[{a = 1i32,\n  b = [1i32, 2i32]},\n {a = 2i32, b = []}]"
        );
    }

    #[test]
    fn elements_fill_lines() {
        let text = pretty("[1, 2, 3, 4, 5, 6, 7]", 20, 100);
        assert_eq!(text, "[1i32, 2i32, 3i32,\n 4i32, 5i32, 6i32,\n 7i32]");
        assert!(text.lines().all(|line| line.chars().count() <= 20));
    }

    #[test]
    fn long_values_are_cut() {
        let numbers: Vec<String> = (0..1234567).map(|i| i.to_string()).collect();
        let row = format!("[{}]", numbers.join(", "));
        assert_eq!(pretty(&row, 100, 5), "[0i32, 1i32, 2i32, 3i32, 4i32, … 1_234_567 elements]");
        let rows = ["[1, 2, 3, 4, 5, 6, 7, 8, 9]"; 10].join(", ");
        assert_eq!(
            pretty(&format!("[{rows}]"), 60, 16),
            "[[1i32, 2i32, 3i32, 4i32, … 9 elements],\n [1i32, 2i32, 3i32, 4i32, … 9 elements],\n \
             [1i32, 2i32, 3i32, 4i32, … 9 elements],\n [1i32, 2i32, 3i32, 4i32, … 9 elements], … 10 rows]"
                .replace("], …", "],\n …")
        );
        // One more than the limit is as short as saying so.
        assert_eq!(pretty("[1, 2, 3, 4]", 60, 3), "[1i32, 2i32, 3i32, 4i32]");
    }
}
