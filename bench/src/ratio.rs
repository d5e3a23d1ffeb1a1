//! Ratios, each computed within a round, since only times from the same minutes are comparable, and claims about
//! their medians. A claim is reported as met or short, and never asserted.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use serde::Serialize;

use crate::stats::Spread;

/// A ratio that can be computed from rounds of type `R`.
#[derive(Debug)]
pub struct Compared<R> {
    /// A description of the ratio.
    pub what: &'static str,
    /// The function that computes the ratio of a round; `None` if the round lacks a lap.
    pub ratio: fn(&R) -> Option<f64>,
    /// The claim about the median, if there is one: in words, and as a range.
    pub claim: Option<(&'static str, RangeInclusive<f64>)>,
}

/// The measured ratio.
#[derive(Debug, Serialize)]
pub struct Ratio {
    what: &'static str,
    spread: Spread,
    claim: Option<&'static str>,
    met: Option<bool>,
}

impl Ratio {
    /// Computes the ratio of at least one round; `None` if a round lacks a lap.
    pub fn new<R>(compared: &Compared<R>, rounds: &[R]) -> Option<Ratio> {
        let spread = Spread::of(rounds.iter().map(compared.ratio).collect::<Option<Vec<f64>>>()?);
        let claim = compared.claim.as_ref();
        Some(Ratio {
            what: compared.what,
            spread,
            claim: claim.map(|(claim, _)| *claim),
            met: claim.map(|(_, range)| range.contains(&spread.median)),
        })
    }

    /// Computes all ratios that the rounds have the laps for.
    pub fn all<R>(compared: &[Compared<R>], rounds: &[R]) -> Vec<Ratio> {
        compared.iter().filter_map(|compared| Ratio::new(compared, rounds)).collect()
    }

    /// Formats a row of the table.
    pub fn line(&self) -> String {
        let verdict = match self.met {
            Some(true) => "met",
            Some(false) => "short",
            None => "",
        };
        format!("| {} | {:.2} | {} | {verdict} |", self.what, self.spread, self.claim.unwrap_or(""))
    }
}

/// Formats the ratios as a table in Markdown.
pub fn table(ratios: &[Ratio]) -> String {
    let mut text = "| ratio, within a round | median (min..max) | claim | |\n|---|---|---|---|\n".to_owned();
    for ratio in ratios {
        let _ = writeln!(text, "{}", ratio.line());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: Compared<[f64; 2]> = Compared {
        what: "one to the other",
        ratio: |round| (round[1] > 0.0).then(|| round[0] / round[1]),
        claim: Some(("at least 2", 2.0..=f64::INFINITY)),
    };

    #[test]
    fn ratios_are_taken_within_a_round() {
        let ratio = Ratio::new(&HALF, &[[20.0, 1.0], [60.0, 2.0], [40.0, 1.0]]).unwrap();
        assert_eq!(ratio.line(), "| one to the other | 30.00 (20.00..40.00) | at least 2 | met |");
    }

    #[test]
    fn a_claim_is_short_or_missing() {
        let claimless = Compared { claim: None, ..HALF };
        let lines = table(&Ratio::all(&[HALF, claimless], &[[3.0, 2.0]]));
        let lines: Vec<&str> = lines.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| one to the other | 1.50 (1.50..1.50) | at least 2 | short |",
                "| one to the other | 1.50 (1.50..1.50) |  |  |"
            ]
        );
    }

    #[test]
    fn rounds_that_lack_a_lap_have_no_ratio() {
        assert!(Ratio::new(&HALF, &[[3.0, 2.0], [3.0, 0.0]]).is_none());
    }
}
