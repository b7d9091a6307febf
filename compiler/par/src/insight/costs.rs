//! Times and sizes as a person reads them.

use std::time::Duration;

/// A time with three digits and its unit.
pub fn duration(t: Duration) -> String {
    let s = t.as_secs_f64();
    match s {
        _ if s >= 1.0 => format!("{} s", digits(s)),
        _ if s >= 1e-3 => format!("{} ms", digits(s * 1e3)),
        _ if s >= 1e-6 => format!("{} µs", digits(s * 1e6)),
        _ => format!("{:.0} ns", s * 1e9),
    }
}

/// A number of bytes with three digits and its unit, in powers of 1000.
pub fn bytes(n: u64) -> String {
    match n {
        0..1000 => format!("{n} B"),
        1000..1_000_000 => format!("{} kB", digits(n as f64 / 1e3)),
        1_000_000..1_000_000_000 => format!("{} MB", digits(n as f64 / 1e6)),
        _ => format!("{} GB", digits(n as f64 / 1e9)),
    }
}

/// A number with its thousands apart.
pub fn count(n: u64) -> String {
    let plain = n.to_string();
    let mut out = String::new();
    for (i, c) in plain.chars().enumerate() {
        if i > 0 && (plain.len() - i).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(c);
    }
    out
}

fn digits(x: f64) -> String {
    match x {
        _ if x >= 99.95 => format!("{x:.0}"),
        _ if x >= 9.995 => format!("{x:.1}"),
        _ => format!("{x:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit() {
        assert_eq!(duration(Duration::from_nanos(1_234_567)), "1.23 ms");
        assert_eq!(duration(Duration::from_nanos(99_960_000)), "100 ms");
        assert_eq!(duration(Duration::from_nanos(70)), "70 ns");
        assert_eq!(duration(Duration::from_secs(61)), "61.0 s");
        assert_eq!(
            [bytes(0), bytes(999), bytes(1000), bytes(12_345_678)],
            ["0 B", "999 B", "1.00 kB", "12.3 MB"]
        );
        assert_eq!(
            [count(7), count(1000), count(1_234_567)],
            ["7", "1\u{202f}000", "1\u{202f}234\u{202f}567"]
        );
    }
}
