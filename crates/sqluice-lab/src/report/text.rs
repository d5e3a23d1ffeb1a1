//! Renders the report as plain text, for a terminal: a table for each experiment.
//!
//! ```text
//!  Ways to insert integers (insert-method)
//!    32-bit integers into ...
//!    the title of the publication
//!    rows/s, more is better; 1,000,000 here
//!                                                        median     smallest to largest   published
//!    carray                                              8.05 M      7.90 M to 8.21 M      7.97 M
//!    page path                              [sqluice]    94.1 M      90.0 M to 95.2 M
//!    Rust, sqlx (async)                                  not run: a program that it needs is not installed
//! ```

use std::fmt::Write as _;

use crate::advice;
use crate::published::published;
use crate::record::{Experiment, Outcome, Provenance, Run, Variant};
use crate::titles::title;

use super::chart::published_in_words;
use super::{CONTRADICTIONS_MAX, change, contradictions, is_shown, measured, skipped};
use crate::figures::{Spread, quantity};

/// The width of the column of names, in characters; a longer name gets a line for itself.
const NAME: usize = 44;

/// Renders the run as tables. The advice is at the end, where a terminal shows it without scrolling.
pub(super) fn tables(run: &Run, old: Option<&Run>) -> String {
    let mut text = String::new();
    for experiment in &run.experiments {
        table(&mut text, experiment, old);
    }
    let advice = advice::of(run);
    if !advice.is_empty() {
        text += "What to do here\n";
    }
    for one in &advice {
        let _ = writeln!(text, "\n  {}\n    {}", one.question, plain(&one.say));
        for line in &one.because {
            let _ = writeln!(text, "      {}", plain(line));
        }
        for line in &one.gives_up {
            let _ = writeln!(text, "    gives up: {}", plain(line));
        }
    }
    text
}

fn table(text: &mut String, experiment: &Experiment, old: Option<&Run>) {
    let Experiment { id, what, .. } = experiment;
    let source =
        published().sources.get(&experiment.source).map_or(experiment.source.as_str(), |one| &one.title);
    let (title, id, what) = (plain(&title(id)), plain(id), plain(what));
    let _ = writeln!(text, "{title} ({id})\n  {what}\n  {}\n  {}", plain(source), measured(experiment));
    let before = if old.is_some() { "  change" } else { "" };
    let _ = writeln!(
        text,
        "  {:NAME$} {:>11} {:>24} {:>11}{before}",
        "", "median", "smallest to largest", "published"
    );
    for variant in &experiment.variants {
        line(text, experiment, variant, old);
    }
    let found = contradictions(experiment);
    for one in found.iter().take(CONTRADICTIONS_MAX) {
        let (better, worse) = (plain(&one.better.0.name), plain(&one.worse.0.name));
        let (times, published) = (quantity::ratio(one.times), quantity::ratio(one.published_times));
        let _ = writeln!(
            text,
            "  contradicts the publication: {better} is better than {worse} here, {times}; published is the reverse, {published}"
        );
    }
    if let Some(more) = found.len().checked_sub(CONTRADICTIONS_MAX).filter(|more| *more > 0) {
        let _ = writeln!(text, "  and {more} more pairs are in another order than published");
    }
    for note in &experiment.notes {
        let _ = writeln!(text, "  note: {}", plain(note));
    }
    text.push('\n');
}

fn line(text: &mut String, experiment: &Experiment, variant: &Variant, old: Option<&Run>) {
    let whose = match variant.provenance {
        Provenance::Published => "",
        Provenance::Added => " [added]",
        Provenance::Sqluice => " [sqluice]",
    };
    let name = plain(&format!("{}{whose}", variant.name));
    if name.chars().count() > NAME {
        let _ = write!(text, "  {name}\n  {:NAME$}", "");
    } else {
        let _ = write!(text, "  {name:NAME$}");
    }
    let figure = |value: f64| plain(&quantity::without_unit(value, &experiment.unit));
    let published = published_in_words(experiment, variant).unwrap_or_default();
    let rest = match (&variant.outcome, Spread::of(variant)) {
        (Outcome::Failed { why }, _) => format!("   FAILED: {}", plain(why)),
        (Outcome::Skipped { reason }, _) => format!("   not run: {}", skipped(*reason)),
        (Outcome::Measured { .. }, None) => "   no figure".to_owned(),
        (Outcome::Measured { .. }, Some(spread)) => {
            let range = match spread.runs {
                1 => "one run".to_owned(),
                _ => format!("{} to {}", figure(spread.min), figure(spread.max)),
            };
            format!(" {:>11} {range:>24} {:>11}", figure(spread.median), plain(&published))
        }
    };
    let changed = match old.and_then(|old| change(experiment, variant, old)) {
        Some(change) if change.is_beyond_spreads => {
            let word = if change.times > 1.0 { "better" } else { "worse" };
            format!("  {word}, {}", quantity::either_way(change.times))
        }
        _ => String::new(),
    };
    let _ = writeln!(text, "{}{changed}", rest.trim_end());
}

/// Replaces control characters and no-break spaces by spaces.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c == '\u{a0}' || !is_shown(c) { ' ' } else { c }).collect()
}
