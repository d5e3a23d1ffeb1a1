//! Ratios that matter: each taken within a round, since only what ran in the same minutes compares, and what is claimed of
//! their median. A claim is met or short, and never asserted.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use serde::Serialize;

use crate::stats::Spread;

/// A ratio that rounds of type `R` have.
#[derive(Debug)]
pub struct Compared<R> {
    /// What is compared with what.
    pub what: &'static str,
    /// Of a round that has all that it needs.
    pub ratio: fn(&R) -> Option<f64>,
    /// What is claimed of the median, if anything is: in words, and from where to where.
    pub claim: Option<(&'static str, RangeInclusive<f64>)>,
}

/// A ratio as it came out.
#[derive(Debug, Serialize)]
pub struct Ratio {
    what: &'static str,
    spread: Spread,
    claim: Option<&'static str>,
    met: Option<bool>,
}

impl Ratio {
    /// Of rounds that have what it needs, of which there is at least one; `None` when they don't.
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

    /// Of each that the rounds have.
    pub fn all<R>(compared: &[Compared<R>], rounds: &[R]) -> Vec<Ratio> {
        compared.iter().filter_map(|compared| Ratio::new(compared, rounds)).collect()
    }

    /// A row of the table.
    pub fn line(&self) -> String {
        let verdict = match self.met {
            Some(true) => "met",
            Some(false) => "short",
            None => "",
        };
        format!("| {} | {:.2} | {} | {verdict} |", self.what, self.spread, self.claim.unwrap_or(""))
    }
}

/// The ratios as a table in Markdown.
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
