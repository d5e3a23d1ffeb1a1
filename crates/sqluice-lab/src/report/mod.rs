//! Renders the report of a run: an HTML page, Markdown, or tables for a terminal.
//!
//! ```text
//!  Run, and perhaps an old one ──> compare: with published figures, with the old run ────┐
//!                                  spread: median, smallest, largest ────────────────────┼─> html (bars: chart, scale) │ text │ markdown
//!                                  quantity: 8.76 M rows/s ──────────────────────────────┘
//! ```
//!
//! Published figures are those in `data/published.toml`.
//!
//! Invariant: the page is self-contained. It has no script, and a Content-Security-Policy in its `<head>` forbids the browser to load
//! anything.

mod chart;
mod compare;
mod html;
mod markdown;
mod scale;
mod text;

use crate::figures::{grouped, quantity};
use crate::record::{Experiment, Run, Skip};

pub use compare::{Change, Contradiction, change, contradictions, times_published};

/// The maximum number of contradictions of an experiment that are reported in full; the others are only counted.
const CONTRADICTIONS_MAX: usize = 3;

/// Renders the run as an HTML page that needs no network. With `old`, changes since that run are marked.
pub fn html(run: &Run, old: Option<&Run>) -> String {
    html::page(run, old)
}

/// Renders the run as tables in Markdown.
pub fn markdown(run: &Run) -> String {
    markdown::tables(run)
}

/// Renders the run as tables for a terminal, at most 100 columns wide if names permit. With `old`, changes since that run are marked.
pub fn text(run: &Run, old: Option<&Run>) -> String {
    text::tables(run, old)
}

/// Returns the reason why a variant was not run, in words.
pub(crate) fn skipped(reason: Skip) -> &'static str {
    match reason {
        Skip::NotInstalled => "a program that it needs is not installed",
        Skip::OtherSystem => "it needs another operating system",
        Skip::TooLarge => "it needs more disk space or memory than is free",
        Skip::Interrupted => "the run was interrupted first",
    }
}

/// Returns `true` if a character may be printed: it is no control character, does not change the text direction, and is no noncharacter of
/// Unicode.
fn is_shown(c: char) -> bool {
    let is_direction = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_free = u32::from(c) & 0xfffe == 0xfffe || matches!(c, '\u{fdd0}'..='\u{fdef}');
    !c.is_control() && !is_direction && !is_free
}

/// Describes an experiment in a sentence: its unit, whether more is better, and the row counts here and in the publication.
fn measured(experiment: &Experiment) -> String {
    let better = if experiment.more_is_better { "more is better" } else { "less is better" };
    let count = grouped(experiment.count);
    let published = match experiment.published_count {
        Some(published) if published != experiment.count => {
            format!("; the publication has {}", grouped(published))
        }
        _ => String::new(),
    };
    let unit = quantity::unit_in_words(&experiment.unit);
    format!("Measured in {unit} ({better}), over {count} rows or operations{published}.")
}
