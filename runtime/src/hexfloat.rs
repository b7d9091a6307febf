//! Hexadecimal numbers with a fraction.

/// `1.8p-3`, as it stands after `0x`: hexadecimal digits times a power of two. None if it is no such number.
///
/// Rounded once, to the nearest, but where the result is subnormal.
pub fn hex_float(text: &str) -> Option<f64> {
    let (digits, exponent) = text.split_once(['p', 'P']).unwrap_or((text, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (mut mantissa, mut dropped) = (0u64, 0i32);
    for c in whole.chars().chain(fraction.chars()) {
        let digit = u64::from(c.to_digit(16)?);
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | digit;
        } else {
            // Of what has no room only whether there is any matters to rounding.
            mantissa |= u64::from(digit != 0);
            dropped = dropped.saturating_add(4);
        }
    }
    let exponent: i32 = exponent.parse().ok()?;
    if mantissa == 0 {
        return Some(0.0);
    }
    let exponent = exponent.saturating_add(dropped).saturating_sub(4 * fraction.len() as i32);
    // In two steps, so that a power outside the range does not spoil a result inside it.
    let half = exponent / 2;
    Some(mantissa as f64 * 2f64.powi(half) * 2f64.powi(exponent - half))
}

#[cfg(test)]
mod tests {
    use super::hex_float;

    #[test]
    fn numbers() {
        assert_eq!(hex_float("1.8p-3"), Some(0.1875));
        assert_eq!(hex_float("p1"), None);
        assert_eq!(hex_float("0p5000"), Some(0.0));
        assert_eq!(hex_float("1p5000"), Some(f64::INFINITY));
        assert_eq!(hex_float("0.00000000000000000000000000001p116"), Some(1.0));
        assert_eq!(hex_float("1p-1074"), Some(f64::from_bits(1)));
    }

    #[test]
    fn long_numbers_are_rounded_once() {
        let next = 1.0 + f64::EPSILON;
        assert_eq!(hex_float("1.00000000000008"), Some(1.0));
        assert_eq!(hex_float("1.00000000000008000000000001"), Some(next));
        assert_eq!(hex_float("1.0000000000001"), Some(next));
    }
}
