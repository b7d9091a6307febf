//! Medians, where they lie, and whether two differ. Times are not distributed normally (nothing is faster than the machine,
//! and everything may be slower), so only their order is used.

/// The middle of values in order; the mean of the two middle ones of an even number.
pub fn median(sorted: &[u64]) -> f64 {
    match sorted {
        [] => 0.0,
        _ => {
            let n = sorted.len();
            (sorted[(n - 1) / 2] as f64 + sorted[n / 2] as f64) / 2.0
        }
    }
}

/// The median of values in any order.
pub fn median_of(values: &[u64]) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    median(&sorted) as u64
}

/// The interval, of values in order, in which the median of what they are drawn from lies with a probability of at least
/// 95 %: between two order statistics, by the binomial distribution. For fewer than six values it is their range.
pub fn interval(sorted: &[u64]) -> (u64, u64) {
    let n = sorted.len();
    if n == 0 {
        return (0, 0);
    }
    // The largest rank such that with at most 2.5 % probability fewer values are below the median.
    let mut probability = 0.5f64.powi(n.min(1000) as i32);
    let (mut below, mut rank) = (probability, 0);
    if n > 1000 {
        rank = (n as f64 / 2.0 - 0.98 * (n as f64).sqrt()).floor() as usize;
    } else {
        while below <= 0.025 && rank < n / 2 {
            rank += 1;
            probability *= (n - rank + 1) as f64 / rank as f64;
            below += probability;
        }
        rank = rank.saturating_sub(1);
    }
    (sorted[rank], sorted[n - 1 - rank])
}

/// True if two samples, each in order, are drawn from distributions with different middles: neither interval touches the
/// other, and the medians differ by at least one percent.
pub fn differ(a: &[u64], b: &[u64]) -> bool {
    let ((a_lo, a_hi), (b_lo, b_hi)) = (interval(a), interval(b));
    let (x, y) = (median(a), median(b));
    (a_hi < b_lo || b_hi < a_lo) && (x - y).abs() >= 0.01 * x.min(y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[3]), 3.0);
        assert_eq!(median(&[1, 4]), 2.5);
        assert_eq!(median(&[1, 2, 9]), 2.0);
    }

    /// The ranks of tables of the sign test.
    #[test]
    fn intervals_are_those_of_the_binomial_distribution() {
        let ranks = |n: u64| {
            let (lo, hi) = interval(&(1..=n).collect::<Vec<_>>());
            (lo, n + 1 - hi)
        };
        assert_eq!(ranks(1), (1, 1));
        assert_eq!(ranks(5), (1, 1));
        assert_eq!(ranks(6), (1, 1));
        assert_eq!(ranks(9), (2, 2));
        assert_eq!(ranks(10), (2, 2));
        assert_eq!(ranks(20), (6, 6));
        assert_eq!(ranks(100), (40, 40));
        assert!(ranks(10_000).0 > 4_850 && ranks(10_000).0 < 4_950);
    }

    #[test]
    fn only_clear_differences_count() {
        let around = |x: u64| (0..20).map(|i| x + i).collect::<Vec<_>>();
        assert!(differ(&around(1000), &around(1200)));
        assert!(!differ(&around(1000), &around(1005)));
        assert!(!differ(&around(100_000), &around(100_030)));
    }
}
