//! Renders the report as Markdown, for documents: a table for each experiment.
//!
//! ```text
//!  ### A table of mixed types (`mixed-user`)
//!
//!  | rows/s | median (smallest..largest) | published |
//!  |---|---|---|
//!  | random data, bound | 4.61 M (4.40 M..4.70 M) | 3.81 M |
//!  | **sqluice pages** | 71.2 M (70.0 M..75.1 M) | |
//! ```

use std::fmt::Write as _;

use crate::record::{Experiment, Outcome, Provenance, Run, Variant};
use crate::titles::title;

use super::chart::published_in_words;
use super::{is_shown, skipped};
use crate::figures::{Spread, quantity};

pub(super) fn tables(run: &Run) -> String {
    run.experiments.iter().map(table).collect::<Vec<_>>().join("\n")
}

fn table(experiment: &Experiment) -> String {
    let unit = quantity::unit_in_words(&experiment.unit);
    let mut text = format!(
        "### {} (`{}`)\n\n| {} | median (smallest..largest) | published |\n|---|---|---|\n",
        cell(&title(&experiment.id)),
        experiment.id.replace('`', " "),
        cell(unit)
    );
    for variant in &experiment.variants {
        let name = match variant.provenance {
            Provenance::Sqluice => format!("**{}**", cell(&variant.name)),
            Provenance::Added | Provenance::Published => cell(&variant.name),
        };
        let published = published_in_words(experiment, variant).unwrap_or_default();
        let _ = writeln!(text, "| {name} | {} | {} |", outcome(experiment, variant), cell(&published));
    }
    text
}

fn outcome(experiment: &Experiment, variant: &Variant) -> String {
    let figure = |value: f64| cell(&quantity::without_unit(value, &experiment.unit));
    match (&variant.outcome, Spread::of(variant)) {
        (Outcome::Failed { why }, _) => format!("failed: {}", cell(why)),
        (Outcome::Skipped { reason }, _) => format!("not run: {}", skipped(*reason)),
        (Outcome::Measured { .. }, None) => "no figure".to_owned(),
        (Outcome::Measured { .. }, Some(spread)) if spread.runs == 1 => figure(spread.median),
        (Outcome::Measured { .. }, Some(spread)) => {
            format!("{} ({}..{})", figure(spread.median), figure(spread.min), figure(spread.max))
        }
    }
}

/// Escapes text for a cell: bars, marks of emphasis, and tags.
fn cell(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '<' | '`' | '\\' | '[' => out.extend(['\\', c]),
            '\u{a0}' => out.push(' '),
            c if is_shown(c) => out.push(c),
            _ => out.push(' '),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Machine;

    fn variant(name: &str, provenance: Provenance, samples: &[f64]) -> Variant {
        let seconds = vec![1.0; samples.len()];
        let outcome = Outcome::Measured { samples: samples.to_vec(), seconds, also: Default::default() };
        Variant {
            name: name.to_owned(),
            provenance,
            published: (provenance == Provenance::Published).then_some(4e6),
            published_note: None,
            settings: Vec::new(),
            command: String::new(),
            outcome,
        }
    }

    #[test]
    fn a_table_has_a_line_for_each_variant_whatever_its_name() {
        let experiment = Experiment {
            id: "growth".to_owned(),
            source: String::new(),
            what: String::new(),
            unit: "rows/s".to_owned(),
            more_is_better: true,
            count: 1,
            published_count: None,
            variants: vec![
                variant("a|b\n*c*", Provenance::Published, &[1e6, 3e6, 2e6]),
                variant("pages", Provenance::Sqluice, &[5e7]),
            ],
            notes: Vec::new(),
        };
        let run = Run {
            taken: String::new(),
            sqluice: String::new(),
            scale: String::new(),
            runs: 1,
            warmup: 0,
            command: String::new(),
            seconds: 1.0,
            interrupted: false,
            experiments: vec![experiment],
            machine: Machine::default(),
        };
        assert_eq!(
            tables(&run),
            "### Time as the table grows (`growth`)\n\n| rows/s | median (smallest..largest) | published |\n|---|---|---|\n\
             | a\\|b \\*c\\* | 2.00 M (1.00 M..3.00 M) | 4.00 M |\n| **pages** | 50.0 M |  |\n"
        );
    }
}
