//! Decodes literals: numbers in all bases with suffixes, characters and strings with escapes.

use crate::ast::{Literal, Prim};

const SUFFIXES: [(&str, Prim); 11] = [
    ("i8", Prim::I8),
    ("i16", Prim::I16),
    ("i32", Prim::I32),
    ("i64", Prim::I64),
    ("u8", Prim::U8),
    ("u16", Prim::U16),
    ("u32", Prim::U32),
    ("u64", Prim::U64),
    ("f16", Prim::F16),
    ("f32", Prim::F32),
    ("f64", Prim::F64),
];

/// Decodes a number as the lexer found it: digits, letters, `_`, a point, an exponent. The error is the reason why it is
/// none.
pub(crate) fn number(text: &str) -> Result<Literal, String> {
    let lower = text.to_ascii_lowercase();
    match lower.get(..2) {
        Some("0x") if lower.contains('p') => hex_float(&lower),
        Some("0x") => integer(&lower[2..], 16, |c| c.is_ascii_hexdigit()),
        Some("0b") => integer(&lower[2..], 2, |c| c.is_ascii_digit()),
        Some("0r") => roman(&text[2..]),
        _ => decimal(&lower),
    }
}

/// `MCMXCIX` after the `0r`: capital letters, where a smaller one before a larger one is subtracted.
fn roman(text: &str) -> Result<Literal, String> {
    let value = |c: char| match c {
        'I' => Some(1),
        'V' => Some(5),
        'X' => Some(10),
        'L' => Some(50),
        'C' => Some(100),
        'D' => Some(500),
        'M' => Some(1000),
        _ => None,
    };
    let end = text.find(|c| value(c).is_none()).unwrap_or(text.len());
    let suffix = suffix(&text[end..])?;
    let digits: Vec<i128> = text[..end].chars().filter_map(value).collect();
    if digits.is_empty() {
        return Err("a Roman numeral is written with the letters I V X L C D M".into());
    }
    if let Some(prim) = suffix.filter(|p| p.is_float()) {
        return Err(format!("a Roman numeral takes no suffix {prim}"));
    }
    let signed = |i: usize| if digits.get(i + 1) > digits.get(i) { -digits[i] } else { digits[i] };
    Ok(Literal::Int { value: (0..digits.len()).map(signed).sum(), suffix })
}

fn decimal(text: &str) -> Result<Literal, String> {
    let digits = mantissa_end(text);
    let is_float = text[..digits].contains(['.', 'e']);
    let suffix = suffix(&text[digits..])?;
    if !is_float && !suffix.is_some_and(Prim::is_float) {
        return integer(text, 10, |c| c.is_ascii_digit());
    }
    if let Some(prim) = suffix.filter(|p| !p.is_float()) {
        return Err(format!("a number with a fraction or exponent is not an {prim}"));
    }
    let text: String = text[..digits].chars().filter(|c| *c != '_').collect();
    match text.parse::<f64>() {
        Ok(_) => Ok(Literal::Float { text, suffix }),
        Err(_) => Err("the exponent has no digits".into()),
    }
}

/// End of digits, point and exponent, where the suffix begins.
fn mantissa_end(text: &str) -> usize {
    let is_digit = |c: char| c.is_ascii_digit() || c == '_';
    let skip = |from: usize| text[from..].find(|c| !is_digit(c)).map_or(text.len(), |i| from + i);
    let mut end = skip(0);
    if text[end..].starts_with('.') {
        end = skip(end + 1);
    }
    if text[end..].starts_with('e') {
        end += 1;
        end += usize::from(text[end..].starts_with(['+', '-']));
        end = skip(end);
    }
    end
}

fn integer(text: &str, base: u32, is_digit: fn(char) -> bool) -> Result<Literal, String> {
    let end = text.find(|c| !is_digit(c) && c != '_').unwrap_or(text.len());
    let suffix = suffix(&text[end..])?;
    if let Some(prim) = suffix.filter(|p| p.is_float()) {
        return Err(format!("a number in base {base} takes no suffix {prim}"));
    }
    let digits: String = text[..end].chars().filter(|c| *c != '_').collect();
    if digits.is_empty() {
        return Err("there are no digits after the prefix".into());
    }
    if let Some(bad) = digits.chars().find(|c| c.to_digit(base).is_none()) {
        return Err(format!("`{bad}` is not a digit in base {base}"));
    }
    match i128::from_str_radix(&digits, base) {
        // A larger decimal number may be meant as a float.
        Ok(value) if value <= i128::from(u64::MAX) || base == 10 => Ok(Literal::Int { value, suffix }),
        _ => Err("it does not fit in 64 bits".into()),
    }
}

/// `0x1.8p3`: at least one digit before the `p`, and a decimal exponent after it.
fn hex_float(text: &str) -> Result<Literal, String> {
    let (mantissa, rest) = text[2..].split_once('p').unwrap_or((&text[2..], ""));
    let sign = usize::from(rest.starts_with(['+', '-']));
    let end = rest[sign..].find(|c: char| !c.is_ascii_digit() && c != '_').map_or(rest.len(), |i| i + sign);
    let suffix = suffix(&rest[end..])?;
    if let Some(prim) = suffix.filter(|p| !p.is_float()) {
        return Err(format!("a number with a fraction or exponent is not an {prim}"));
    }
    let has_digits = |s: &str| s.contains(|c: char| c.is_ascii_hexdigit());
    if !has_digits(mantissa) || !has_digits(&rest[..end]) {
        return Err("a hexadecimal float has digits before and after the `p`".into());
    }
    let text = format!("0x{mantissa}p{}", &rest[..end]).replace('_', "");
    Ok(Literal::Float { text, suffix })
}

fn suffix(text: &str) -> Result<Option<Prim>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    match SUFFIXES.iter().find(|(name, _)| *name == text) {
        Some((_, prim)) => Ok(Some(*prim)),
        None => Err(match text {
            "f" => "the suffix is written `f32`".to_string(),
            "d" => "the suffix is written `f64`".to_string(),
            "l" | "ll" => "the suffix is written `i64`".to_string(),
            "u" => "the suffix is written `u32`".to_string(),
            "ul" | "ull" | "lu" => "the suffix is written `u64`".to_string(),
            _ => format!("`{text}` is not a suffix of a number"),
        }),
    }
}

/// Decodes what stands between the quotes of a character.
pub(crate) fn character(body: &str) -> Result<char, String> {
    let mut chars = body.chars();
    let c = unescape(&mut chars)?.ok_or("there is nothing between the quotes")?;
    match chars.next() {
        None => Ok(c),
        Some(_) => Err("a character literal holds one character".into()),
    }
}

/// Decodes what stands between the quotes of a string to its UTF-8 bytes.
pub(crate) fn string(body: &str) -> Result<Vec<u8>, String> {
    let mut chars = body.chars();
    let mut text = String::new();
    while let Some(c) = unescape(&mut chars)? {
        text.push(c);
    }
    Ok(text.into_bytes())
}

/// The next character, with escapes resolved.
fn unescape(chars: &mut std::str::Chars<'_>) -> Result<Option<char>, String> {
    let Some(c) = chars.next() else { return Ok(None) };
    if c != '\\' {
        return Ok(Some(c));
    }
    let Some(escape) = chars.next() else { return Err("there is nothing after the `\\`".into()) };
    let c = match escape {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'a' => '\x07',
        'b' => '\x08',
        'f' => '\x0c',
        'v' => '\x0b',
        '\\' | '\'' | '"' => escape,
        'x' => code_point(chars, 16, 0)?,
        digit if digit.is_ascii_digit() => code_point(chars, 10, digit as u32 - '0' as u32)?,
        other => return Err(format!("`\\{other}` is not an escape sequence")),
    };
    Ok(Some(c))
}

/// The rest of a numeric escape: as many digits of the base as there are.
fn code_point(chars: &mut std::str::Chars<'_>, base: u32, first: u32) -> Result<char, String> {
    let mut code = first;
    let mut digits = u32::from(base == 10);
    while let Some(digit) = chars.clone().next().and_then(|c| c.to_digit(base)) {
        code = code.saturating_mul(base).saturating_add(digit);
        digits += 1;
        chars.next();
    }
    if digits == 0 {
        return Err("a hexadecimal escape needs digits".into());
    }
    char::from_u32(code).ok_or_else(|| format!("{code} is not the number of a character"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(value: i128, suffix: Option<Prim>) -> Result<Literal, String> {
        Ok(Literal::Int { value, suffix })
    }

    fn float(text: &str, suffix: Option<Prim>) -> Result<Literal, String> {
        Ok(Literal::Float { text: text.into(), suffix })
    }

    #[test]
    fn integers_in_every_base() {
        assert_eq!(number("1_000i64"), int(1000, Some(Prim::I64)));
        assert_eq!(number("0xFFu8"), int(255, Some(Prim::U8)));
        assert_eq!(number("0b1010_1010"), int(170, None));
        assert_eq!(number("0x1f32"), int(0x1f32, None));
        assert_eq!(number("18446744073709551615"), int(u64::MAX.into(), None));
        assert_eq!(number("18446744073709551616"), int(i128::from(u64::MAX) + 1, None));
    }

    #[test]
    fn roman_numerals() {
        assert_eq!(number("0rMCMXCIX"), int(1999, None));
        assert_eq!(number("0rXIVu8"), int(14, Some(Prim::U8)));
        assert!(number("0r").is_err());
        assert!(number("0rXf32").is_err());
    }

    #[test]
    fn floats() {
        assert_eq!(number("1f32"), float("1", Some(Prim::F32)));
        assert_eq!(number("1.5f16"), float("1.5", Some(Prim::F16)));
        assert_eq!(number("1.5e-3f64"), float("1.5e-3", Some(Prim::F64)));
        assert_eq!(number("1E5"), float("1e5", None));
        assert_eq!(number("0x1.8p-3f32"), float("0x1.8p-3", Some(Prim::F32)));
    }

    #[test]
    fn wrong_numbers() {
        for text in ["12abc", "0x", "0b12", "1e", "1.5i32", "0b1f32", "0x10000000000000000", "0xp", "1i31"] {
            assert!(number(text).is_err(), "{text}");
        }
    }

    #[test]
    fn escapes() {
        assert_eq!(string("a\\n\\\"\\x41\\955é").unwrap(), "a\n\"Aλé".as_bytes());
        assert_eq!(character("\\''"), Err("a character literal holds one character".into()));
        assert_eq!(character("\\'"), Ok('\''));
        assert!(string("\\q").is_err());
        assert!(character("\\x110000").is_err());
    }
}
