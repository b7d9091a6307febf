//! Numbers as `f16`, rounded once. What `half` offers goes through `f32` and rounds twice on the way from `f64` and
//! from text, which gives another result where the first rounding meets the middle between two numbers.

use half::f16;
use std::cmp::Ordering;

/// The nearest `f16`, ties to the one with an even last bit.
pub fn from_f64(x: f64) -> f16 {
    // Adding 1.5 * 2^(e + 42) to a number with exponent `e` leaves the 10 bits behind its first one, rounded; below the
    // normal numbers the last bit is worth 2^-24 for all.
    let exponent = ((x.to_bits() >> 52) & 0x7ff).clamp(1023 - 14, 1023 + 16);
    let magic = f64::from_bits(((exponent + 42) << 52) | (1 << 51));
    let rounded = ((x + magic) - magic).copysign(x);
    f16::from_f32(rounded as f32)
}

/// The nearest `f16` to a decimal number in text, which `f64` can be read from.
pub fn from_decimal(text: &str) -> Option<f16> {
    let x: f64 = text.parse().ok()?;
    if !is_tie(x) {
        return Some(from_f64(x));
    }
    // The number was rounded to the middle between two `f16`, so that it counts from where.
    let nudged = match compare_decimals(text, &format!("{x:.30}")) {
        Ordering::Less => f64::from_bits(x.to_bits() - 1),
        Ordering::Equal => x,
        Ordering::Greater => f64::from_bits(x.to_bits() + 1),
    };
    Some(from_f64(nudged))
}

/// True if `x` is the middle between two neighbouring numbers.
fn is_tie(x: f64) -> bool {
    if x.abs() < f16::MIN_POSITIVE.to_f64() {
        return x.abs() * 2f64.powi(25) % 2.0 == 1.0;
    }
    x.to_bits() & ((1 << 42) - 1) == 1 << 41
}

/// Compares the magnitudes of two positive or two negative decimal numbers.
fn compare_decimals(a: &str, b: &str) -> Ordering {
    let (a, b) = (decimal(a), decimal(b));
    a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0))
}

/// Digits `d` without zeros around them, and `p`, so that the number is `0.d * 10^p`.
fn decimal(text: &str) -> (String, i64) {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.trim_start_matches(['-', '+']).split_once('.').unwrap_or((mantissa, ""));
    let whole = whole.trim_start_matches(['-', '+']);
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0');
    let point = whole.len() as i64 - (digits.len() - significant.len()) as i64;
    (significant.trim_end_matches('0').to_string(), point + exponent.parse::<i64>().unwrap_or(0))
}

/// The shortest decimal number that reads back exactly, as Rust writes floats; an integer with all its digits.
pub fn shortest(x: f16) -> String {
    let exact = x.to_f64();
    if exact.fract() == 0.0 || !exact.is_finite() {
        return format!("{exact:?}");
    }
    let digits = (0..5).map(|n| format!("{exact:.n$e}"));
    let mut fitting = digits.filter(|text| from_decimal(text).map(f16::to_bits) == Some(x.to_bits()));
    let decimal = fitting.next().and_then(|text| text.parse::<f64>().ok()).unwrap_or(exact);
    format!("{decimal:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = f16> {
        (0..=u16::MAX).map(f16::from_bits)
    }

    /// All finite numbers, and the middle between each and the next.
    #[test]
    fn rounding_to_the_nearest_even() {
        for bits in 0..0x7bffu16 {
            let (x, next) = (f16::from_bits(bits), f16::from_bits(bits + 1));
            let middle = (x.to_f64() + next.to_f64()) / 2.0;
            let even = if bits % 2 == 0 { x } else { next };
            assert_eq!(from_f64(x.to_f64()), x);
            assert_eq!(from_f64(middle), even);
            assert_eq!(from_f64(middle * (1.0 + f64::EPSILON)), next);
            assert_eq!(from_f64(middle * (1.0 - f64::EPSILON)), x);
            assert_eq!(from_f64(-middle).to_bits(), even.to_bits() | 0x8000);
        }
    }

    #[test]
    fn the_ends_of_the_range() {
        let bits = |x: f64| from_f64(x).to_bits();
        assert_eq!(bits(65519.999), 0x7bff);
        assert_eq!(bits(65520.0), 0x7c00);
        assert_eq!(bits(-1e300), 0xfc00);
        assert_eq!(bits(f64::INFINITY), 0x7c00);
        assert_eq!(bits(2f64.powi(-25)), 0);
        assert_eq!(bits(2f64.powi(-25) * 1.0000001), 1);
        assert_eq!(bits(-1e-300), 0x8000);
        assert_eq!(bits(-0.0), 0x8000);
        assert!(from_f64(f64::NAN).is_nan());
    }

    #[test]
    fn text_reads_back() {
        for x in all().filter(|x| x.is_finite()) {
            let text = shortest(x);
            assert_eq!(from_decimal(&text).map(f16::to_bits), Some(x.to_bits()), "{text}");
        }
        assert_eq!(shortest(f16::from_f32(0.1)), "0.1");
        assert_eq!(shortest(f16::MAX), "65504.0");
        assert_eq!(shortest(f16::from_bits(1)), "6e-8");
        assert_eq!(shortest(f16::NEG_ZERO), "-0.0");
    }

    /// 1 + 2^-11 lies between 1 and the next number; a digit far behind decides, which `f64` drops.
    #[test]
    fn decimals_round_once() {
        let middle = "1.00048828125";
        assert_eq!(from_decimal(middle), Some(f16::ONE));
        assert_eq!(from_decimal("1.000488281250000000000000000001"), Some(f16::from_bits(0x3c01)));
        assert_eq!(from_decimal("-0.1000488281250000000000000000001e+1"), Some(f16::from_bits(0xbc01)));
        assert_eq!(from_decimal("1.000488281249999999999999999999"), Some(f16::ONE));
        assert_eq!(from_decimal("0.00146484375e3"), Some(f16::from_f64(1.46484375)));
        assert_eq!(from_decimal("65519.99999999999999999999"), Some(f16::MAX));
        assert_eq!(from_decimal("65520"), Some(f16::INFINITY));
        assert_eq!(from_decimal("0"), Some(f16::ZERO));
        assert_eq!(from_decimal("1e-400"), Some(f16::ZERO));
        assert_eq!(from_decimal("x"), None);
    }
}
