//! The scale of a run: row counts from a size for tests up to those of the publications (the write-ups of [`crate::published`]).

use std::fmt;
use std::str::FromStr;

/// The scale, which gives the number of rows, operations, blobs or entities of an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// All experiments in a minute: a test that they work, not a measurement.
    Tiny,
    /// All experiments in ten minutes.
    Small,
    /// Ten times the counts of `Small`, at most those of `Full`.
    Medium,
    /// The counts of the publications.
    Full,
    /// The counts of `Small` times this factor.
    Factor(f64),
}

/// The counts of rows, operations, blobs or entities of an experiment, at each scale.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) tiny: u64,
    pub(crate) small: u64,
    pub(crate) full: u64,
}

impl Counts {
    pub(crate) const fn new(tiny: u64, small: u64, full: u64) -> Counts {
        Counts { tiny, small, full }
    }

    /// Returns the count at a scale, at least one.
    pub(crate) fn at(self, scale: Scale) -> u64 {
        match scale {
            Scale::Tiny => self.tiny,
            Scale::Small => self.small,
            Scale::Medium => self.small.saturating_mul(10).min(self.full.max(self.small)),
            Scale::Full => self.full,
            Scale::Factor(factor) => ((self.small as f64 * factor) as u64).max(1),
        }
    }
}

impl Scale {
    /// Returns the default number of runs of a variant.
    pub fn runs(self) -> u32 {
        if self == Scale::Tiny { 1 } else { 3 }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scale::Tiny => f.write_str("tiny"),
            Scale::Small => f.write_str("small"),
            Scale::Medium => f.write_str("medium"),
            Scale::Full => f.write_str("full"),
            Scale::Factor(factor) => factor.fmt(f),
        }
    }
}

impl FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> Result<Scale, String> {
        Ok(match text {
            "tiny" => Scale::Tiny,
            "small" => Scale::Small,
            "medium" => Scale::Medium,
            "full" => Scale::Full,
            factor => match factor.parse() {
                Ok(factor) if (1e-6..=1e6).contains(&factor) => Scale::Factor(factor),
                _ => {
                    return Err(format!(
                        "{text:?} is not a scale: use tiny, small, medium, full, or a factor such as 0.5 (times small)"
                    ));
                }
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_scale_parses_to_the_same_scale() {
        for text in ["tiny", "small", "medium", "full", "0.5", "20"] {
            assert_eq!(text.parse::<Scale>().unwrap().to_string(), text);
        }
        for text in ["", "huge", "0", "-1", "nan", "inf", "1e9"] {
            assert!(text.parse::<Scale>().is_err(), "{text}");
        }
    }

    #[test]
    fn medium_counts_are_at_most_the_full_counts_and_no_count_is_zero() {
        let counts = Counts::new(1, 10, 50);
        let at = [Scale::Tiny, Scale::Small, Scale::Medium, Scale::Full, Scale::Factor(0.01)];
        assert_eq!(at.map(|scale| counts.at(scale)), [1, 10, 50, 50, 1]);
        // In this experiment, the count of `small` is already the published count.
        assert_eq!(Counts::new(1, 10, 10).at(Scale::Medium), 10);
    }
}
