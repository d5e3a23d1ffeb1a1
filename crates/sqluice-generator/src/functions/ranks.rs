//! The row counts of the values in `pool(n, x, s)`: each value has at least one row, and the other rows follow Zipf's distribution.

/// The maximum number of values whose sums of weights are kept in memory.
const KEPT_MAX: usize = 1 << 14;

/// The sums of the weights of the values in a pool. The k-th value has the weight 1 / k^s, where s is `exponent`.
#[derive(Clone, Debug)]
pub(super) struct Ranks {
    count: u64,
    exponent: f64,
    /// The sums of the weights of the first 0, 1, 2, ... values, [`KEPT_MAX`] at most.
    sums: Vec<f64>,
    total: f64,
}

impl Ranks {
    pub(super) fn new(count: u64, exponent: f64) -> Ranks {
        let mut sums = vec![0.0];
        for rank in 1..=count.min(KEPT_MAX as u64) {
            sums.push(sums[rank as usize - 1] + (rank as f64).powf(-exponent));
        }
        let mut ranks = Ranks { count, exponent, sums, total: 0.0 };
        ranks.total = ranks.sum(count);
        ranks
    }

    /// Returns the sum of the weights of the first `values` values. Beyond the kept sums, the result is approximated by an integral.
    fn sum(&self, values: u64) -> f64 {
        let kept = self.sums.len() - 1;
        if values as usize <= kept {
            return self.sums[values as usize];
        }
        let (from, to) = (kept as f64 + 0.5, values as f64 + 0.5);
        let power = 1.0 - self.exponent;
        let more =
            if power.abs() < 1e-9 { (to / from).ln() } else { (to.powf(power) - from.powf(power)) / power };
        self.sums[kept] + more
    }

    /// Returns the position of the first row that has the value with number `value`, if `all` rows are ordered by value.
    pub(super) fn first(&self, value: u64, all: u64) -> u64 {
        if all <= self.count {
            return value.min(all);
        }
        let more = (all - self.count) as f64 * (self.sum(value) / self.total);
        (value + more.round() as u64).min(all)
    }

    /// Returns the number of the value at a position among `all` rows, which are ordered by value.
    pub(super) fn value(&self, position: u64, all: u64) -> u64 {
        let (mut low, mut high) = (0, self.count.saturating_sub(1));
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.first(middle, all) <= position { low = middle } else { high = middle - 1 }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_has_a_row_and_the_first_values_have_the_most_rows() {
        for (count, all) in [(50, 1000), (100_000, 300_000), (10, 10), (10, 4)] {
            let ranks = Ranks::new(count, 1.0);
            let mut rows = vec![0_u64; count as usize];
            (0..all).for_each(|position| rows[ranks.value(position, all) as usize] += 1);
            if all >= count {
                assert!(rows.iter().all(|rows| *rows > 0), "{count}");
            }
            assert!(rows.windows(2).filter(|pair| pair[0] + 1 < pair[1]).count() == 0, "{count}");
        }
    }
}
