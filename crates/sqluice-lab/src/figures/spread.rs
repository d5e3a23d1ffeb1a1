//! The spread of samples: median, minimum and maximum.

use std::fmt;

use serde::Serialize;

use crate::record::{Outcome, Variant};

/// The spread of samples, in their unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The median; of an even number of samples, the mean of the two middle ones.
    pub median: f64,
    /// The smallest sample.
    pub min: f64,
    /// The largest sample.
    pub max: f64,
    /// The number of samples.
    pub runs: usize,
}

impl Spread {
    /// Returns the spread of a variant, without samples that are not finite; `None` if no sample is left.
    pub fn of(variant: &Variant) -> Option<Spread> {
        let Outcome::Measured { samples, .. } = &variant.outcome else { return None };
        Spread::of_samples(samples)
    }

    /// Returns the spread of these samples; `None` if none of them is finite.
    pub fn of_samples(samples: &[f64]) -> Option<Spread> {
        let mut sorted: Vec<f64> = samples.iter().copied().filter(|sample| sample.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
            _ => sorted[middle],
        };
        Some(Spread { median, min, max, runs: sorted.len() })
    }

    /// Returns `true` if the samples of two variants do not overlap: all samples of one are above all samples of the other. Returns `false`
    /// if a variant has only one sample.
    pub fn is_apart(&self, other: &Spread) -> bool {
        self.runs > 1 && other.runs > 1 && (self.max < other.min || other.max < self.min)
    }

    /// Returns `true` if `self` is better than `other`.
    pub fn is_better(&self, other: &Spread, more_is_better: bool) -> bool {
        if more_is_better { self.median > other.median } else { self.median < other.median }
    }

    /// Returns the ratio of the medians, above 1 if `self` is better than `other`; `None` if a median is 0.
    pub fn times(&self, other: &Spread, more_is_better: bool) -> Option<f64> {
        let (over, under) = if more_is_better { (self, other) } else { (other, self) };
        let times = over.median / under.median;
        (times.is_finite() && times > 0.0).then_some(times)
    }
}

/// Writes median, minimum and maximum: `1.10 (1.08..1.14)`. A precision of the format applies to all three.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(2);
        let Spread { median, min, max, .. } = self;
        write!(f, "{median:.digits$} ({min:.digits$}..{max:.digits$})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn half_of_the_samples_lie_on_either_side_of_the_median(samples in prop::collection::vec(-1e9f64..1e9, 1..40)) {
            let spread = Spread::of_samples(&samples).unwrap();
            let below = samples.iter().filter(|sample| **sample < spread.median).count();
            let above = samples.iter().filter(|sample| **sample > spread.median).count();
            prop_assert!(below * 2 <= samples.len() && above * 2 <= samples.len());
            prop_assert!(samples.iter().all(|sample| (spread.min..=spread.max).contains(sample)));
        }
    }

    #[test]
    fn the_median_of_an_even_number_of_samples_is_the_mean_of_the_middle_two() {
        let spread = |samples: &[f64]| {
            let Spread { median, min, max, .. } = Spread::of_samples(samples).unwrap();
            [median, min, max]
        };
        assert_eq!(spread(&[4.0, 1.0, 2.0]), [2.0, 1.0, 4.0]);
        assert_eq!(spread(&[4.0, 1.0, 2.0, 8.0]), [3.0, 1.0, 8.0]);
        assert_eq!(spread(&[7.0]), [7.0; 3]);
    }

    #[test]
    fn a_spread_prints_median_minimum_and_maximum() {
        assert_eq!(format!("{:.1}", Spread::of_samples(&[1.0, 2.0, 4.0]).unwrap()), "2.0 (1.0..4.0)");
    }

    #[test]
    fn measured_samples_that_are_not_finite_are_ignored() {
        assert_eq!(Spread::of_samples(&[]), None);
        assert_eq!(Spread::of_samples(&[f64::NAN, f64::INFINITY]), None);
        assert_eq!(
            Spread::of_samples(&[f64::NAN, 2.0]),
            Some(Spread { median: 2.0, min: 2.0, max: 2.0, runs: 1 })
        );
    }

    #[test]
    fn a_single_sample_never_counts_as_different_from_others() {
        let one = Spread::of_samples(&[1.0]).unwrap();
        let two = Spread::of_samples(&[5.0, 6.0]).unwrap();
        let three = Spread::of_samples(&[5.9, 8.0, 9.0]).unwrap();
        let far = Spread::of_samples(&[7.0, 8.0]).unwrap();
        assert!(!one.is_apart(&two) && !two.is_apart(&three) && two.is_apart(&far) && far.is_apart(&two));
    }
}
