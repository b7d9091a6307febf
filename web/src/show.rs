//! Values as trees that a page can draw.
//!
//! ```text
//! 1i64                    "1"
//! [[1, 2], []]            {"rows": [{"rows": ["1", "2"], "count": 2}, {"rows": [], "count": 0}], "count": 2, "ragged": true}
//! {x = 1, y = [true]}     {"fields": [["x", "1"], ["y", {…}]]}
//! #some 1                 {"name": "some", "parts": ["1"]}
//! ```
//!
//! Only the first elements of what is large are there; `count` is how many there are.

use par::io::view::View;
use par::{Array, Scalar};
use serde_json::{Value, json};

/// Scalars that are shown.
const MOST: usize = 4_000;
/// Elements of one array that are shown.
const LONGEST: usize = 500;

/// The tree of a value.
pub fn tree(value: &par::Value) -> Result<Value, String> {
    let view = View::new(value)?.with_texts();
    Ok(show(&view, 0, &mut MOST.clone()))
}

fn show(view: &View, row: usize, left: &mut usize) -> Value {
    let mut all = |views: &[View]| views.iter().map(|v| show(v, row, left)).collect::<Vec<Value>>();
    match view {
        View::Scalar(x) => {
            *left = left.saturating_sub(1);
            number(*x).into()
        }
        View::Data(data) => {
            *left = left.saturating_sub(1);
            element(data, row).into()
        }
        View::Tuple(views) => {
            let parts = all(views).into_iter().enumerate();
            json!({ "fields": parts.map(|(i, v)| json!([i.to_string(), v])).collect::<Vec<_>>(), "tuple": true })
        }
        View::Record(fields, order) => {
            let written = order.places().map(|place| &fields[place]);
            json!({ "fields": written.map(|(name, v)| json!([name, show(v, row, left)])).collect::<Vec<_>>() })
        }
        View::Sum(tag, cases) => match cases.get(tag.tag(row)) {
            Some((name, payload)) => json!({ "name": name, "parts": all(payload) }),
            None => Value::Null,
        },
        View::Opaque(name, _) => json!({ "name": name, "parts": [], "hidden": true }),
        View::Texts(lengths, bytes) => {
            let (start, len) = lengths.row(row);
            texts(&bytes[start..start + len], left)
        }
        View::Array { lengths, elem, ty } => {
            let (start, len) = lengths.row(row);
            let mut rows = Vec::new();
            for i in 0..len.min(LONGEST) {
                if *left == 0 {
                    break;
                }
                rows.push(show(elem, start + i, left));
            }
            json!({ "rows": rows, "count": len, "ragged": ty.is_ragged() })
        }
    }
}

/// Bytes, and the text that they are, if they are one.
fn texts(bytes: &[u8], left: &mut usize) -> Value {
    let shown = &bytes[..bytes.len().min(LONGEST).min((*left).max(1))];
    *left = left.saturating_sub(shown.len());
    let is_plain = |c: char| !c.is_control() || matches!(c, '\n' | '\t' | '\r');
    let text = std::str::from_utf8(bytes).ok().filter(|t| !t.is_empty() && t.chars().all(is_plain));
    let rows: Vec<String> = shown.iter().map(u8::to_string).collect();
    let begin = text.map(|t| t.chars().take(20 * LONGEST).collect::<String>());
    json!({ "rows": rows, "count": bytes.len(), "ragged": false, "text": begin })
}

fn element(data: &Array, row: usize) -> String {
    number(data.get(row))
}

/// A scalar without the name of its type.
fn number(x: Scalar) -> String {
    let text = x.to_string();
    let name = x.prim().name();
    match text.strip_suffix(name) {
        Some(number) if number.ends_with(|c: char| c.is_ascii_digit()) => number.to_string(),
        _ => text.strip_prefix(name).and_then(|t| t.strip_prefix('.')).map_or(text.clone(), str::to_string),
    }
}
