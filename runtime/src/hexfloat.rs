//! Hexadecimal numbers with a fraction.

/// `1.8p-3`, as it stands after `0x`: hexadecimal digits times a power of two. None if it is no such number.
pub fn hex_float(text: &str) -> Option<f64> {
    let (digits, exponent) = text.split_once(['p', 'P']).unwrap_or((text, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0f64;
    for c in whole.chars().chain(fraction.chars()) {
        value = value * 16.0 + f64::from(c.to_digit(16)?);
    }
    let exponent: i32 = exponent.parse().ok()?;
    let exponent = exponent.saturating_sub(4 * fraction.len() as i32);
    // In two steps, so that a power outside the range does not spoil a result inside it.
    let half = exponent / 2;
    Some(value * 2f64.powi(half) * 2f64.powi(exponent - half))
}
