//! Draws the chart of an experiment: a row for each variant, with its name, which can wrap, and a bar.
//!
//! ```text
//!  carray                 |██████████████████|-----|        8.05 M   <- the median, and a line from the smallest to the largest sample
//!                         |▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒         published 7.97 M
//!  page path  [sqluice]   |████████████████████████|-|      94.1 M
//!                         0        25 M      50 M      75 M
//! ```
//!
//! Each bar is an SVG that fills the available width. Lengths of bars are percentages, all other sizes are pixels: so text keeps its size
//! on a phone, and labels do not overlap.

use maud::{Markup, html};

use crate::record::{Experiment, Outcome, Provenance, Run, Variant};

use super::scale::Scale;
use super::{Change, change, compare, skipped};
use crate::figures::{Spread, quantity};

/// The top of the bar within its row, in pixels. The constants below are the other sizes in a row, also in pixels.
const BAR_Y: u32 = 7;
const BAR_HEIGHT: u32 = 14;
const PUBLISHED_Y: u32 = 24;
const PUBLISHED_HEIGHT: u32 = 5;

/// Draws all variants of an experiment.
pub(super) fn chart(experiment: &Experiment, old: Option<&Run>) -> Markup {
    let unit = &experiment.unit;
    let spreads: Vec<Spread> = experiment.variants.iter().filter_map(Spread::of).collect();
    let published = experiment.variants.iter().filter_map(compare::published);
    let bars: Vec<f64> = spreads.iter().map(|spread| spread.median).chain(published).collect();
    let ends: Vec<f64> = spreads.iter().map(|spread| spread.max).collect();
    let scale = Scale::new(&bars, &ends);
    let log = scale.as_ref().is_some_and(|scale| scale.log);
    let better = if experiment.more_is_better { "longer is better" } else { "shorter is better" };
    html! {
        figure.chart {
            figcaption {
                b { (quantity::unit_in_words(unit)) } ", " (better)
                @if log { " · " b { "logarithmic scale" } ": each mark is a number of times the one before" }
            }
            @for variant in &experiment.variants {
                (row(experiment, variant, scale.as_ref(), old))
            }
            @if let Some(scale) = &scale { (axis(scale, unit)) }
        }
    }
}

/// Draws a variant: its name, its bar, its figures.
fn row(experiment: &Experiment, variant: &Variant, scale: Option<&Scale>, old: Option<&Run>) -> Markup {
    let class = match variant.outcome {
        Outcome::Failed { .. } => "failed",
        Outcome::Skipped { .. } => "skipped",
        Outcome::Measured { .. } => "measured",
    };
    let change =
        old.and_then(|old| change(experiment, variant, old)).filter(|change| change.is_beyond_spreads);
    html! {
        div class={ "row " (class) " " (provenance(variant.provenance).0) } {
            div.name { (variant.name) (chip(variant.provenance)) }
            @match (&variant.outcome, Spread::of(variant), scale) {
                (Outcome::Failed { why }, ..) => div.why { strong { "FAILED" } " " (why) },
                (Outcome::Skipped { reason }, ..) => div.why { "not run: " (skipped(*reason)) (publication_note(experiment, variant)) },
                (_, Some(spread), Some(scale)) => {
                    (bar(experiment, variant, &spread, scale))
                    div.value {
                        b { (quantity::without_unit(spread.median, &experiment.unit)) }
                        (publication_note(experiment, variant))
                        @if let Some(change) = change { (changed(&change)) }
                    }
                }
                (_, Some(spread), None) => div.why { (quantity::without_unit(spread.median, &experiment.unit)) },
                (_, None, _) => div.why { "measured, but without a valid figure" },
            }
        }
    }
}

/// Draws the bar of a measured variant.
fn bar(experiment: &Experiment, variant: &Variant, spread: &Spread, scale: &Scale) -> Markup {
    let place = |value: f64| percent(scale.place(value));
    let published = compare::published(variant);
    // Without a bar for the published figure, the bar is in the middle of the row.
    let bar_y = if published.is_some() { BAR_Y } else { BAR_Y + 4 };
    let middle = bar_y + BAR_HEIGHT / 2;
    let (from, to) = (place(spread.min), place(spread.max));
    html! {
        svg.bar role="img" width="100%" height="36" {
            title { (variant.name) ", " (provenance(variant.provenance).1) }
            desc { (in_words(experiment, variant, spread)) }
            @for mark in &scale.marks {
                line.grid x1=(place(*mark)) x2=(place(*mark)) y1="0" y2="100%" {}
            }
            rect.median x="0" y=(bar_y) height=(BAR_HEIGHT) width=(place(spread.median)) rx="2" {}
            @if let Some(published) = published {
                rect.published x="0" y=(PUBLISHED_Y) height=(PUBLISHED_HEIGHT) width=(place(published)) rx="1" {}
            }
            @if spread.runs > 1 {
                line.spread x1=(from) x2=(to) y1=(middle) y2=(middle) {}
                @for end in [from, to] {
                    line.spread x1=(end) x2=(end) y1=(middle - 4) y2=(middle + 4) {}
                }
            }
        }
    }
}

/// Draws the labels of the axis below the bars.
fn axis(scale: &Scale, unit: &str) -> Markup {
    html! {
        div.row.axis aria-hidden="true" {
            div.name {}
            svg.bar width="100%" height="22" {
                line.grid x1="0" x2="100%" y1="0" y2="0" {}
                @for mark in &scale.marks {
                    @let place = scale.place(*mark);
                    @let anchor = if place < 4.0 { "start" } else if place > 94.0 { "end" } else { "middle" };
                    line.grid x1=(percent(place)) x2=(percent(place)) y1="0" y2="5" {}
                    text x=(percent(place)) y="17" text-anchor=(anchor) { (quantity::mark(*mark, unit)) }
                }
            }
            div.value {}
        }
    }
}

/// Writes the published figure and the publication's remark below the measured figure.
fn publication_note(experiment: &Experiment, variant: &Variant) -> Markup {
    html! {
        @if let Some(published) = published_in_words(experiment, variant) {
            span.told { "published " (published) }
        }
    }
}

/// Formats the published figure; `None` if the variant has none.
pub(super) fn published_in_words(experiment: &Experiment, variant: &Variant) -> Option<String> {
    let published = variant.published?;
    if published.is_nan() {
        return Some("without a figure".to_owned());
    }
    Some(quantity::without_unit(published, &experiment.unit))
}

/// Writes the label of a change: `▲ better, 2.00×`.
pub(super) fn changed(change: &Change) -> Markup {
    let (class, mark, word) =
        if change.times > 1.0 { ("better", "▲", "better") } else { ("worse", "▼", "worse") };
    html! { span class={ "change " (class) } { (mark) " " (word) ", " (quantity::either_way(change.times)) } }
}

/// Describes a bar in words, for screen readers.
fn in_words(experiment: &Experiment, variant: &Variant, spread: &Spread) -> String {
    let figure = |value: f64| quantity::figure(value, &experiment.unit);
    let mut words = format!("median {}", figure(spread.median));
    if spread.runs > 1 {
        words += &format!(", {} runs from {} to {}", spread.runs, figure(spread.min), figure(spread.max));
    }
    if let Some(published) = published_in_words(experiment, variant) {
        words += &format!(", published {published}");
    }
    words
}

/// Returns the CSS class and the description of a variant's origin.
pub(super) fn provenance(provenance: Provenance) -> (&'static str, &'static str) {
    match provenance {
        Provenance::Published => ("of-publication", "from the publication"),
        Provenance::Added => ("of-sqlite", "added: SQLite or the system"),
        Provenance::Sqluice => ("of-sqluice", "sqluice's own"),
    }
}

/// Writes the label beside the name of a variant that is not published.
pub(super) fn chip(provenance: Provenance) -> Markup {
    html! {
        @match provenance {
            Provenance::Published => {},
            Provenance::Added => { " " span.chip { "added" } },
            Provenance::Sqluice => { " " span.chip { "sqluice" } },
        }
    }
}

fn percent(place: f64) -> String {
    format!("{place:.2}%")
}
