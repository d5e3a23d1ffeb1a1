//! Renders the report as an HTML page.
//!
//! ```text
//!  title, problems of this run
//!  advice
//!  contents ── at the side if the window is wide enough
//!  an experiment ── description, contradictions, notes, chart, table
//!  ...
//!  environment
//! ```
//!
//! maud escapes all text of the record.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::advice::{self, Advice};
use crate::published::published;
use crate::record::{Experiment, Machine, Outcome, Run, Variant};
use crate::titles::title;

use super::chart::{changed, chart, chip, provenance, published_in_words};
use super::{
    CONTRADICTIONS_MAX, change, compare, contradictions, is_shown, measured, skipped, times_published,
};
use crate::figures::{Spread, quantity};

/// The style sheet of the page.
const STYLE: &str = include_str!("style.css");

/// The Content-Security-Policy of the page: it loads no resources and runs no scripts.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// Renders the page of a run.
pub(super) fn page(run: &Run, old: Option<&Run>) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="color-scheme" content="light dark";
                // Without this link, browsers request an icon from the server.
                link rel="icon" href="data:,";
                title { "sqluice lab, " (run.machine.cpu) ", " (day(&run.taken)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#experiments" { "To the experiments" }
                div.page {
                    (head(run))
                    (contents(run))
                    main {
                        (state(run, old))
                        (advices(&advice::of(run)))
                        div #experiments {
                            (legend(old.is_some()))
                            @for (at, experiment) in run.experiments.iter().enumerate() {
                                (section(experiment, at, old))
                            }
                        }
                        (environment(run))
                    }
                }
            }
        }
    };
    // Characters that HTML forbids are replaced in the whole page.
    let replaced =
        |c: char| if matches!(c, '\n' | '\t') || is_shown(c) { c } else { char::REPLACEMENT_CHARACTER };
    markup.into_string().chars().map(replaced).collect()
}

fn head(run: &Run) -> Markup {
    let sources = &published().sources;
    // The record of another program, such as `advise`, may have no published experiment.
    let is_published =
        run.experiments.is_empty() || run.experiments.iter().any(|one| sources.contains_key(&one.source));
    html! {
        header {
            p.brand { "sqluice lab" }
            h1 { "Which way into SQLite is fastest on this machine?" }
            p.lead {
                @if is_published { "Every experiment of five publications, run again on " } @else { "Measured on " }
                b { (run.machine.cpu) } " with " (run.machine.cores) " cores, " (run.machine.file_system)
                " and SQLite " (run.machine.sqlite) ", on " (day(&run.taken)) "; sqluice's own ways beside them."
            }
        }
    }
}

/// Returns the day of a time such as `2026-11-22T03:16:00Z`.
fn day(taken: &str) -> &str {
    taken.split('T').next().unwrap_or(taken)
}

/// Writes warnings about the run: wrong rows, an interruption, a tiny scale, a busy machine.
fn state(run: &Run, old: Option<&Run>) -> Markup {
    let failed = || {
        let of_experiment = |experiment| failed_of(experiment).map(move |variant| (experiment, variant));
        run.experiments.iter().flat_map(of_experiment)
    };
    html! {
        @if failed().next().is_some() {
            section.alarm role="alert" {
                h2 { "Wrong results: " (failed().count()) }
                p { "These variants failed or wrote wrong rows, so they have no figures." }
                ul { @for (experiment, variant) in failed() { li { (title(&experiment.id)) ": " (variant.name) } } }
            }
        }
        @if run.interrupted {
            p.warning { strong { "Cut short. " } "The run was interrupted before all variants were measured. The variants that were measured follow." }
        }
        @if run.scale == "tiny" {
            p.warning { strong { "Tiny. " } "This shows that everything works; figures need " code { "--scale small" } " or more." }
        }
        @if run.machine.load_before >= 0.5 {
            p.warning {
                strong { "Disturbed. " } "In the minute before, " (format!("{:.1}", run.machine.load_before))
                " other processes ran or waited for the disk: figures may be too low."
            }
        }
        @if let Some(old) = old { (beside_old(run, old)) }
    }
}

/// Writes how many variants changed since the old run, and what else differs between the runs.
fn beside_old(run: &Run, old: &Run) -> Markup {
    let mut changes = (0, 0);
    for experiment in &run.experiments {
        let each = experiment.variants.iter().filter_map(|variant| change(experiment, variant, old));
        for change in each.filter(|change| change.is_beyond_spreads) {
            if change.times > 1.0 { changes.0 += 1 } else { changes.1 += 1 }
        }
    }
    let differences = compare::differences(run, old);
    html! {
        div.compared {
            p {
                strong { "Compared with the run of " (old.taken) ". " }
                "Beyond the spreads: " (changes.0) " better, " (changes.1) " worse."
            }
            @if !differences.is_empty() {
                p { "The two runs differ in the following, which may explain changes:" }
                ul { @for difference in differences { li { (difference) } } }
            }
        }
    }
}

fn advices(advice: &[Advice]) -> Markup {
    html! {
        section.advices #advice {
            h2 { "What to do here" }
            @if advice.is_empty() {
                p { "Too little was measured to say anything." }
            } @else {
                p.quiet { "From the figures of this run alone. A ratio says how many times as fast." }
            }
            @for one in advice {
                article.advice {
                    h3 { (one.question) }
                    p.say { (one.say) }
                    @if !one.because.is_empty() {
                        ul.because { @for line in &one.because { li { (line) } } }
                    }
                    @if one.gives_up.is_empty() {
                        p.gives-up { b { "Gives up: " } "nothing." }
                    } @else {
                        div.gives-up {
                            b { "Gives up:" }
                            ul { @for line in &one.gives_up { li { (line) } } }
                        }
                    }
                    p.see { "From " @for (at, id) in one.experiments.iter().enumerate() {
                        @if at > 0 { ", " }
                        a href={ "#x-" (anchor(id)) } { (title(id)) }
                    } }
                }
            }
        }
    }
}

/// Converts the id of an experiment to an anchor.
fn anchor(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

fn contents(run: &Run) -> Markup {
    html! {
        nav aria-label="Contents" {
            h2 { "Contents" }
            ul {
                li { a href="#advice" { "What to do here" } }
                @for experiment in &run.experiments {
                    li {
                        a href={ "#x-" (anchor(&experiment.id)) } { (title(&experiment.id)) }
                        @if failed_of(experiment).next().is_some() { " " span.chip.bad { "failed" } }
                    }
                }
                li { a href="#environment" { "Environment" } }
            }
        }
    }
}

fn failed_of(experiment: &Experiment) -> impl Iterator<Item = &Variant> {
    experiment.variants.iter().filter(|variant| matches!(variant.outcome, Outcome::Failed { .. }))
}

/// Writes the legend, once for all charts.
fn legend(compared: bool) -> Markup {
    html! {
        section.legend aria-label="How to read the charts" {
            h2 { "The experiments" }
            ul {
                li { span.swatch.of-publication {} "a way from the publication, measured here: the median" }
                li { span.swatch.of-sqlite {} "added: SQLite or the system" }
                li { span.swatch.of-sqluice {} "sqluice's own" }
                li { span.swatch.published {} "what the publication says, from its own machine" }
                li { span.swatch.spread {} "from the smallest run to the largest" }
                @if compared { li { b { "▲ ▼" } "better or worse than in the old run, beyond the spreads of both" } }
            }
        }
    }
}

fn section(experiment: &Experiment, at: usize, old: Option<&Run>) -> Markup {
    let about = published().sources.get(&experiment.source);
    html! {
        section.experiment id={ "x-" (anchor(&experiment.id)) } aria-labelledby={ "h-" (at) } {
            h2 id={ "h-" (at) } { (title(&experiment.id)) " " small { code { (experiment.id) } } }
            p.what { (sentence(&experiment.what)) " " (measured(experiment)) }
            @if let Some(about) = about {
                p.source { "Published in " cite { (about.title) } ", measured on: " (about.machine) "." }
            } @else {
                p.source { "Source: " (experiment.source) }
            }
            (contradicted(experiment))
            @if !experiment.notes.is_empty() {
                ul.notes { @for note in &experiment.notes { li { (note) } } }
            }
            (chart(experiment, old))
            (table(experiment, old))
        }
    }
}

/// Adds a full stop to a description, and capitalizes the first word unless this is a name such as `user(id, ...)`.
fn sentence(words: &str) -> String {
    let words = words.trim();
    let is_word = words.split(' ').next().is_some_and(|word| word.chars().all(char::is_alphabetic));
    let mut chars = words.chars();
    let capital: Option<String> =
        chars.next().filter(|_| is_word).map(|first| first.to_uppercase().collect());
    let text = capital.map_or_else(|| words.to_owned(), |capital| capital + chars.as_str());
    if text.is_empty() || text.ends_with(['.', '?', '!']) { text } else { text + "." }
}

fn contradicted(experiment: &Experiment) -> Markup {
    let found = contradictions(experiment);
    let figure = |spread: &Spread| quantity::figure(spread.median, &experiment.unit);
    html! {
        @if !found.is_empty() {
            div.contradicts {
                p { strong { "This contradicts the publication." } }
                ul {
                    @for one in found.iter().take(CONTRADICTIONS_MAX) {
                        @let ((better, spread), (worse, other)) = (one.better, one.worse);
                        li {
                            i { (better.name) } " is better here than " i { (worse.name) } ", " (figure(&spread)) " against " (figure(&other))
                            " (" (quantity::ratio(one.times)) "); published was the reverse, " (quantity::ratio(one.published_times)) "."
                        }
                    }
                }
                @if let Some(more) = found.len().checked_sub(CONTRADICTIONS_MAX).filter(|more| *more > 0) {
                    p { "And " (more) " more " (if more == 1 { "pair" } else { "pairs" }) " in another order, beyond the spreads." }
                }
            }
        }
    }
}

/// Writes the figures of the chart as a table, with the command of each variant.
fn table(experiment: &Experiment, old: Option<&Run>) -> Markup {
    html! {
        div.scroll {
            table {
                caption { "The figures of “" (title(&experiment.id)) "”; a name opens its settings and its command" }
                thead {
                    tr {
                        th scope="col" { "Variant" }
                        th.n scope="col" { "Median" }
                        th.n scope="col" { "Smallest to largest" }
                        th.n scope="col" { "Published" }
                        th.n scope="col" { "Times the published" }
                        @if old.is_some() {
                            th.n scope="col" { "Before" }
                            th.n scope="col" { "Change" }
                        }
                    }
                }
                tbody { @for variant in &experiment.variants { (line(experiment, variant, old)) } }
            }
        }
    }
}

fn line(experiment: &Experiment, variant: &Variant, old: Option<&Run>) -> Markup {
    let spread = Spread::of(variant);
    let figure = |value: f64| quantity::without_unit(value, &experiment.unit);
    let change = old.map(|old| change(experiment, variant, old));
    html! {
        tr class=(provenance(variant.provenance).0) {
            th scope="row" { (how(experiment, variant)) }
            @match (&variant.outcome, spread) {
                (Outcome::Failed { why }, _) => td.failed colspan="2" { strong { "FAILED" } " " (why) },
                (Outcome::Skipped { reason }, _) => td.quiet colspan="2" { "not run: " (skipped(*reason)) },
                (Outcome::Measured { .. }, None) => td.quiet colspan="2" { "no figure" },
                (Outcome::Measured { .. }, Some(spread)) => {
                    td.n data-label="Median" { b { (figure(spread.median)) } }
                    td.n data-label="Smallest to largest" {
                        @if spread.runs > 1 { (figure(spread.min)) " to " (figure(spread.max)) } @else { "one run" }
                    }
                }
            }
            td.n data-label="Published" { (published_in_words(experiment, variant).unwrap_or_else(|| "–".to_owned())) }
            td.n data-label="Times the published" { (times_published(variant).map_or_else(|| "–".to_owned(), quantity::ratio)) }
            @if let Some(change) = change {
                td.n data-label="Before" { (change.map_or_else(|| "–".to_owned(), |change| figure(change.before.median))) }
                td.n data-label="Change" {
                    @match change {
                        Some(change) if change.is_beyond_spreads => (changed(&change)),
                        Some(_) => "within the spread",
                        None => "–",
                    }
                }
            }
        }
    }
}

/// Writes the name of a variant, which expands to its settings and its command.
fn how(experiment: &Experiment, variant: &Variant) -> Markup {
    html! {
        details {
            summary { (variant.name) (chip(variant.provenance)) }
            dl {
                @if !variant.settings.is_empty() {
                    dt { "Settings" }
                    dd { code { (variant.settings.join("; ")) } }
                }
                dt { "Command" }
                dd { pre { code { (variant.command) } } }
                @if let Some(note) = &variant.published_note {
                    dt { "Published" }
                    dd { (note) }
                }
                @if let Outcome::Measured { samples, seconds, also } = &variant.outcome {
                    dt { "Runs" }
                    dd { (list(samples, &experiment.unit)) }
                    @if !seconds.is_empty() {
                        dt { "Time of each" }
                        dd { (list(seconds, "s")) }
                    }
                    @for (name, value) in also {
                        dt { (name.replace('_', " ")) }
                        dd { (also_figure(name, *value)) }
                    }
                }
            }
        }
    }
}

fn list(values: &[f64], unit: &str) -> String {
    let figures: Vec<String> = values.iter().map(|value| quantity::figure(*value, unit)).collect();
    if figures.is_empty() { "none".to_owned() } else { figures.join(", ") }
}

/// Formats a figure whose name ends with its unit: `database_bytes`.
fn also_figure(name: &str, value: f64) -> String {
    match name.rsplit('_').next() {
        Some("bytes") => quantity::figure(value, "bytes"),
        Some("ms") => quantity::figure(value, "ms"),
        Some("s" | "seconds") => quantity::figure(value, "s"),
        _ => quantity::without_unit(value, ""),
    }
}

fn environment(run: &Run) -> Markup {
    let Machine {
        cpu,
        cores,
        memory_bytes,
        kernel,
        file_system,
        device,
        sqlite,
        compile_options,
        python,
        load_before,
    } = &run.machine;
    let runs = format!("{} measured, {} before that without being measured", run.runs, run.warmup);
    let pairs = [
        ("Processor", cpu.clone()),
        ("Cores", cores.to_string()),
        ("Memory", quantity::figure(*memory_bytes as f64, "bytes")),
        ("System", kernel.clone()),
        ("File system", file_system.clone()),
        ("Device", device.clone()),
        ("SQLite", sqlite.clone()),
        ("Python", python.clone().unwrap_or_else(|| "none".to_owned())),
        ("sqluice", run.sqluice.clone()),
        ("Load before", format!("{load_before:.2}")),
        ("Taken", run.taken.clone()),
        ("Scale", run.scale.clone()),
        ("Runs of each variant", runs),
        ("Time of all", quantity::figure(run.seconds, "s")),
    ];
    html! {
        section.environment #environment {
            h2 { "Environment" }
            dl.facts { @for (name, value) in pairs { div { dt { (name) } dd { (value) } } } }
            h3 { "Command" }
            pre { code { (run.command) } }
            details {
                summary { "What SQLite was compiled with (" (compile_options.len()) " options)" }
                pre { code { (compile_options.join("\n")) } }
            }
        }
    }
}
