//! Statistics of several rounds.

use std::fmt;

use serde::Serialize;

/// The median of some measurements, and their range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The median; of an even number of measurements, the mean of the two middle ones.
    pub median: f64,
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
}

impl Spread {
    /// Computes the spread of measurements, of which there must be at least one.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Spread {
        let mut values: Vec<f64> = values.into_iter().collect();
        assert!(!values.is_empty(), "nothing was measured");
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let median = match values.len() % 2 {
            1 => values[middle],
            _ => f64::midpoint(values[middle - 1], values[middle]),
        };
        Spread { median, min: values[0], max: values[values.len() - 1] }
    }

    /// Converts the spread to another unit.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Spread {
        Spread { median: self.median * factor, min: self.min * factor, max: self.max * factor }
    }
}

/// Writes `1.10 (1.08..1.14)`; the precision is that of all three.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(2);
        let Spread { median, min, max } = self;
        f.pad_integral(true, "", &format!("{median:.digits$} ({min:.digits$}..{max:.digits$})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        assert_eq!(Spread::of([4.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 4.0 });
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 8.0]).median, 3.0);
        assert_eq!(Spread::of([7.0]), Spread { median: 7.0, min: 7.0, max: 7.0 });
    }

    #[test]
    fn a_spread_shows_its_ends() {
        assert_eq!(format!("{:.1}", Spread::of([1.0, 2.0, 4.0])), "2.0 (1.0..4.0)");
        assert_eq!(format!("{:18.1}|", Spread::of([1.0, 2.0, 4.0])), "    2.0 (1.0..4.0)|");
    }
}
