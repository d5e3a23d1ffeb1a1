//! Ratios between two ways, each computed within a round, since only times from the same minutes are comparable, and claims about their
//! medians. A claim is reported as met or short (not met); a claim that is short does not fail the run.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use serde::Serialize;
use sqluice_lab::figures::Spread;

use crate::lap::Lap;
use crate::rounds::Round;

/// A ratio to be computed: its description, the function that computes it for a round (`None` if the round lacks a lap), and a claim about
/// its median in the words that [`range`] parses. The claim is empty if nothing is claimed.
pub type Compared = (&'static str, fn(&Round) -> Option<f64>, &'static str);

/// A measured ratio.
#[derive(Debug, Serialize)]
pub struct Ratio {
    what: &'static str,
    spread: Spread,
    claim: Option<&'static str>,
    met: Option<bool>,
}

impl Ratio {
    /// Computes the ratios of `compared` for which every round has the needed laps; leaves the others out.
    pub fn all(compared: &[Compared], rounds: &[Round]) -> Vec<Ratio> {
        compared.iter().filter_map(|compared| Ratio::new(compared, rounds)).collect()
    }

    fn new(&(what, ratio, claim): &Compared, rounds: &[Round]) -> Option<Ratio> {
        Ratio::of(what, ratio, claim, rounds)
    }

    /// Computes a ratio. Returns `None` if a round lacks a lap.
    pub fn of(
        what: &'static str,
        ratio: impl Fn(&Round) -> Option<f64>,
        claim: &'static str,
        rounds: &[Round],
    ) -> Option<Ratio> {
        let ratios: Option<Vec<f64>> = rounds.iter().map(ratio).collect();
        let spread = Spread::of_samples(&ratios?)?;
        let claim = (!claim.is_empty()).then_some(claim);
        let met = claim.map(|claim| range(claim).is_some_and(|range| range.contains(&spread.median)));
        Some(Ratio { what, spread, claim, met })
    }

    fn line(&self) -> String {
        let verdict = match self.met {
            Some(true) => "met",
            Some(false) => "short",
            None => "",
        };
        format!("| {} | {:.2} | {} | {verdict} |", self.what, self.spread, self.claim.unwrap_or(""))
    }
}

/// Parses a claim, such as `at least 5, aim 8`, `at most 1.5`, `aim 20` or `10 within 15%`. Returns the range in which it is met; `None` if
/// nothing is claimed or the text is no claim.
pub fn range(claim: &str) -> Option<RangeInclusive<f64>> {
    let after = |words: &str| {
        let (_, rest) = claim.split_once(words)?;
        rest.split([' ', ',', '%']).next()?.parse::<f64>().ok()
    };
    if let Some(percent) = after(" within ") {
        let middle: f64 = claim.split(' ').next()?.parse().ok()?;
        return Some(middle * (1.0 - percent / 100.0)..=middle * (1.0 + percent / 100.0));
    }
    match after("at most ") {
        Some(most) => Some(f64::NEG_INFINITY..=most),
        None => Some(after("at least ").or_else(|| after("aim "))?..=f64::INFINITY),
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

/// Returns the value of the way `one`, divided by the value of `other` in the same round; `None` if the round lacks one of them.
pub fn ratio(round: &Round, one: &str, other: &str, value: impl Fn(&Lap) -> f64) -> Option<f64> {
    Some(value(round.get(one)?) / value(round.get(other)?))
}

/// Returns the seconds of the way `one`, divided by the seconds of `other`; `None` if the round lacks one of them.
pub fn time(round: &Round, one: &str, other: &str) -> Option<f64> {
    ratio(round, one, other, |lap| lap.seconds)
}

/// Returns the CPU seconds of the way `one`, divided by the CPU seconds of `other`; `None` if the round lacks one of them.
pub fn processors(round: &Round, one: &str, other: &str) -> Option<f64> {
    ratio(round, one, other, |lap| lap.cpu_seconds)
}

/// Returns the rows per second of the way `one`, divided by the rows per second of `other`; `None` if the round lacks one of them.
pub fn rate(round: &Round, one: &str, other: &str) -> Option<f64> {
    ratio(round, one, other, Lap::rate)
}

/// Returns the seconds of the fastest of `ways`, divided by the seconds of `other`; `None` if the round lacks one of them.
pub fn fastest(round: &Round, ways: &[&str], other: &str) -> Option<f64> {
    let times = ways.iter().map(|way| time(round, way, other)).collect::<Option<Vec<f64>>>()?;
    times.into_iter().reduce(f64::min)
}

/// Returns the table lines of the ratios in a round whose laps took these seconds.
#[cfg(test)]
pub(crate) fn lines<const N: usize>(compared: &[Compared], laps: [(&'static str, f64); N]) -> Vec<String> {
    let lap =
        |seconds| Lap { rows: 1, bytes: 1, seconds, cpu_seconds: seconds, memory_bytes: 1, ..Lap::default() };
    lines_of(compared, laps.map(|(way, seconds)| (way, lap(seconds))).into())
}

/// Returns the table lines of the ratios in a round.
#[cfg(test)]
pub(crate) fn lines_of(compared: &[Compared], round: Round) -> Vec<String> {
    Ratio::all(compared, &[round]).iter().map(Ratio::line).collect()
}

/// Returns the number of ratios that can be computed if only the ways of a single part run, summed over all parts.
#[cfg(test)]
pub(crate) fn ratios_of_parts<T, R>(
    ways: &[crate::rounds::Way<T, R>],
    compared: &[Compared],
    parts: &[&str],
) -> Vec<usize> {
    let of = |part: &&str| {
        let ways = ways.iter().filter(|way| way.part == *part);
        lines_of(
            compared,
            ways.map(|way| {
                (
                    way.name,
                    Lap {
                        rows: 1,
                        bytes: 1,
                        seconds: 1.0,
                        cpu_seconds: 1.0,
                        memory_bytes: 1,
                        ..Lap::default()
                    },
                )
            })
            .collect(),
        )
        .len()
    };
    parts.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(seconds: &[[f64; 2]]) -> Vec<Round> {
        let lap = |seconds| Lap { seconds, ..Lap::default() };
        seconds.iter().map(|[one, other]| Round::from([("one", lap(*one)), ("other", lap(*other))])).collect()
    }

    const HALF: Compared = ("one to the other", |round| time(round, "one", "other"), "at least 2");

    #[test]
    fn ratios_are_computed_within_a_round() {
        let ratio = Ratio::new(&HALF, &rounds(&[[20.0, 1.0], [60.0, 2.0], [40.0, 1.0]])).unwrap();
        assert_eq!(ratio.line(), "| one to the other | 30.00 (20.00..40.00) | at least 2 | met |");
    }

    #[test]
    fn the_table_says_short_for_a_missed_claim_and_nothing_without_a_claim() {
        let claimless = (HALF.0, HALF.1, "");
        let lines = table(&Ratio::all(&[HALF, claimless], &rounds(&[[3.0, 2.0]])));
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
    fn a_ratio_needs_a_measurement_in_every_round() {
        let mut lacking = rounds(&[[3.0, 2.0], [3.0, 2.0]]);
        lacking[1].remove("other");
        assert!(Ratio::new(&HALF, &lacking).is_none());
    }

    #[test]
    fn the_text_of_a_claim_such_as_at_least_5_gives_the_range_of_ratios_that_meet_the_claim() {
        for (claim, met, short) in [
            ("at least 5, aim 8", 5.0, 4.9),
            ("aim 20", 20.0, 19.0),
            ("at most 1.25", 1.25, 1.3),
            ("at most 0.90, aim 0.85", 0.9, 0.91),
            ("10 within 15%", 11.4, 11.6),
        ] {
            let range = range(claim).unwrap();
            assert!(range.contains(&met) && !range.contains(&short), "{claim}: {range:?}");
        }
        assert_eq!(range("fast"), None);
    }
}
