//! Programs as text, and snapshots.

use std::collections::HashMap;

/// `%name` becomes `name_id`.
pub fn numbered(text: &str) -> String {
    let mut ids: HashMap<&str, usize> = HashMap::new();
    let mut parts = text.split('%');
    let mut out = parts.next().unwrap_or("").to_string();
    for part in parts {
        let end = part.find(|c: char| !c.is_alphanumeric()).unwrap_or(part.len());
        let fresh = ids.len();
        let id = *ids.entry(&part[..end]).or_insert(fresh);
        out += &format!("{}_{id}{}", &part[..end], &part[end..]);
    }
    out
}

/// A snapshot of the text, without the expression that made it.
#[macro_export]
macro_rules! assert_shows {
    ($text:expr) => {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($text) })
    };
}
