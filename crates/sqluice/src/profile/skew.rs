//! Finds how skewed the row counts of a column's values are: the exponent of the Zipf distribution that they follow.

use super::sketch::Counts;

/// The number of commonest values from which the exponent is computed.
const COMMONEST: usize = 20;

/// The largest exponent that is returned, also for values with a more skewed distribution.
const EXPONENT_MAX: f64 = 4.0;

/// Returns the exponent by which generated values have as skewed row counts as the commonest values of the column, or `None` if all
/// values have about the same number of rows. The generator gives one row to each value, and the other rows follow the distribution.
pub(super) fn exponent(counts: &Counts) -> Option<f64> {
    let sorted = counts.counts();
    let each = counts.each_stands_for();
    let (values, rows) = (sorted.len() as f64 * each, sorted.iter().sum::<u64>() as f64 * each);
    let top: Vec<f64> = sorted.iter().rev().take(COMMONEST).map(|count| *count as f64).collect();
    let found: f64 = top.iter().sum();
    let ranks: Vec<f64> = (0..top.len()).map(|at| (at as f64 + 0.5) * each + 0.5).collect();
    let of = |exponent: f64| {
        let total = sum(values, exponent);
        let other = (rows - values).max(0.0);
        ranks.iter().map(|rank| 1.0 + other * rank.powf(-exponent) / total).sum::<f64>()
    };
    // The numbers of rows of evenly drawn values differ by chance, too, so only a larger difference is skew.
    let even = of(1e-9);
    let chance = 4.0 * (rows / values).sqrt() * top.len() as f64;
    if sorted.len() < 3 || found < even + chance {
        return None;
    }
    let (mut low, mut high) = (0.0, EXPONENT_MAX);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if of(middle) < found { low = middle } else { high = middle }
    }
    let rounded = (low * 100.0).round() / 100.0;
    (rounded > 0.0).then_some(rounded)
}

/// Returns the sum of the weights of all values: the first weights are added up, and the sum of the others is computed as an integral.
fn sum(values: f64, exponent: f64) -> f64 {
    let single = values.min(1000.0) as u64;
    let first: f64 = (1..=single).map(|rank| (rank as f64).powf(-exponent)).sum();
    let (from, to) = (single as f64 + 0.5, values + 0.5);
    let power = 1.0 - exponent;
    let rest = match to > from {
        true if power.abs() < 1e-9 => (to / from).ln(),
        true => (to.powf(power) - from.powf(power)) / power,
        false => 0.0,
    };
    first + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::sketch::hash_int;

    #[test]
    fn the_exponent_of_a_zipf_distribution_is_estimated() {
        let mut counts = Counts::new();
        for rank in 1..=500_i64 {
            (0..1 + 20_000 / rank).for_each(|_| counts.add(hash_int(rank)));
        }
        let found = exponent(&counts).unwrap();
        assert!((found - 1.0).abs() < 0.05, "{found}");
        let mut even = Counts::new();
        (0..5000).for_each(|row| even.add(hash_int(row % 100)));
        assert_eq!(exponent(&even), None);
    }
}
