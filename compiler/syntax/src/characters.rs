//! Characters that mean nothing in Par, with what was probably meant.

const HINTS: &[(&str, &str)] = &[
    (";", "the parts of records and arrays are separated by `,`; a `let` ends with `in` or the next `let`"),
    ("@", "arrays are joined with `xs ++ ys`; attributes are written `#[name]`"),
    ("$", "`f <| x` applies a function to everything that follows"),
    ("“”„‟″", "text is written in plain double quotes: \"…\""),
    ("‘’‚‛′", "a character is written in plain single quotes: 'c'"),
    ("−–—‐", "minus is written `-`"),
    ("×⋅·∙", "times is written `*`"),
    ("÷", "divided by is written `/`"),
    ("→⇒↦", "the arrow is written `->`"),
    ("←⇐", "a name is bound with `=`"),
    ("≤≦", "less or equal is written `<=`"),
    ("≥≧", "greater or equal is written `>=`"),
    ("≠", "different is written `!=`"),
    ("≡", "equal is written `==`"),
    ("∧", "and is written `&&`"),
    ("∨", "or is written `||`"),
    ("¬", "not is written `!`"),
    ("…", "a range is written `a..<b` or `a...b`"),
    ("∘", "`f <-< g` applies g first, `f >-> g` applies f first"),
    ("²³", "powers are written `x ** 2`"),
    ("∞", "infinity is written `f64.inf`"),
    ("（）", "parentheses are written `(` and `)`"),
    ("，", "a comma is written `,`"),
    ("：", "a colon is written `:`"),
];

/// True if nothing can be seen of a character, although it is no ordinary blank.
pub(crate) fn is_invisible(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

/// Suggestion in place of a character.
pub(crate) fn hint(c: char) -> Option<&'static str> {
    if is_invisible(c) {
        return Some("programs copied from web pages may have such characters; write an ordinary blank");
    }
    HINTS.iter().find(|(characters, _)| characters.contains(c)).map(|(_, hint)| *hint)
}
