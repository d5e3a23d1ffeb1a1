//! `sqluice lab`.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use sqluice::error::Error;
use sqluice::progress::Cancel;
use sqluice::size::Bytes;
use sqluice_lab::published::published;
use sqluice_lab::record::{Experiment, Outcome, Road, Run, Skip, Variant};
use sqluice_lab::{Scale, Settings, Step, bytes_to_write, ids, run as run_lab};

use crate::args::Lab;
use crate::printer::{Printer, grouped, wait};

/// How often a line is printed where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// What shells say of a program that Ctrl-C has ended.
const INTERRUPTED: u8 = 130;

pub(super) fn run(args: &Lab, printer: &Printer, cancel: &Cancel) -> anyhow::Result<ExitCode> {
    if args.list {
        printer.data(&format!("{}\n", ids().join("\n")))?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.export_html.is_some() {
        return Err(Error::usage("the page is not a part of this build").hint("--export-json").into());
    }
    let old = args.compare.as_deref().map(read).transpose()?;
    // Whatever is wrong with it shall be known before the hour is over.
    for file in [&args.export_json].into_iter().flatten() {
        let opened = OpenOptions::new().create(true).append(true).open(file);
        opened.map_err(|error| cannot("write", file, error))?;
    }
    let runs = args.runs.unwrap_or(args.scale.runs());
    let bytes = bytes_to_write(&args.experiments, args.scale, runs + args.warmup)?;
    if matches!(args.scale, Scale::Medium | Scale::Full) {
        printer
            .warn(&format!("warning: up to {} will be written, which wears out flash memory", Bytes(bytes)));
    }
    let (flag, watch) = (cancel.flag(), Watch::new(printer));
    let record = run_lab(&Settings {
        experiments: args.experiments.clone(),
        scale: args.scale,
        runs: args.runs,
        warmup: args.warmup,
        dir: args.dir.clone().unwrap_or_else(|| PathBuf::from(".")),
        command: std::env::args().skip(1).fold("sqluice".to_owned(), |all, one| format!("{all} {one}")),
        watch: &|step| watch.step(step),
        stop: &flag,
        drop_row: None,
    })?;
    drop(watch);
    if let Some(file) = &args.export_json {
        let json = serde_json::to_string_pretty(&record)? + "\n";
        fs::write(file, json).map_err(|error| cannot("write", file, error))?;
    }
    if printer.is_json() {
        printer.json(&record)?;
    } else {
        printer.data(&text(&record, old.as_ref()))?;
    }
    Ok(end(&record, printer))
}

/// What failed is told once more, where it can't be overlooked.
fn end(record: &Run, printer: &Printer) -> ExitCode {
    let mut failed = false;
    for (experiment, variant) in variants(record) {
        if let Outcome::Failed { why } = &variant.outcome {
            failed = true;
            printer.warn(&format!("failed: {}, {}: {why}", experiment.id, variant.name));
        }
    }
    if record.interrupted {
        printer.warn("interrupted: what was measured so far is shown");
    }
    match (failed, record.interrupted) {
        (_, true) => ExitCode::from(INTERRUPTED),
        (true, false) => ExitCode::FAILURE,
        (false, false) => ExitCode::SUCCESS,
    }
}

fn variants(record: &Run) -> impl Iterator<Item = (&Experiment, &Variant)> {
    record.experiments.iter().flat_map(|one| one.variants.iter().map(move |variant| (one, variant)))
}

fn read(file: &Path) -> Result<Run, Error> {
    let text = fs::read_to_string(file).map_err(|error| Error::read(file, error))?;
    serde_json::from_str(&text).map_err(|error| {
        Error::input(format!("{} is no record of the lab", file.display()))
            .because(error)
            .hint("name a file that --export-json has written")
    })
}

fn cannot(what: &str, file: &Path, error: io::Error) -> Error {
    Error::target(format!("cannot {what} {}", file.display())).because(error)
}

/// Shows how far the run is: a bar on a terminal, else a line now and then.
struct Watch {
    bar: Option<ProgressBar>,
    shown: Option<Mutex<Instant>>,
}

impl Watch {
    fn new(printer: &Printer) -> Watch {
        let shows = printer.shows_progress();
        if shows && io::stderr().is_terminal() {
            let bar = ProgressBar::new(1);
            if let Ok(style) = ProgressStyle::with_template("lab      {bar:20} {wide_msg}") {
                bar.set_style(style);
            }
            return Watch { bar: Some(bar), shown: None };
        }
        Watch { bar: None, shown: shows.then(|| Mutex::new(Instant::now())) }
    }

    fn step(&self, step: &Step<'_>) {
        if let Some(bar) = &self.bar {
            bar.set_length(step.of as u64);
            bar.set_position(step.number as u64 - 1);
            bar.set_message(said(step));
        }
        let Some(Ok(mut shown)) = self.shown.as_ref().map(Mutex::lock) else { return };
        if shown.elapsed() >= LINE_EVERY {
            *shown = Instant::now();
            // When nobody listens, that is no reason to stop.
            let _ = writeln!(io::stderr(), "lab: {}", said(step));
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// `12 of 340  2 min 5 s left  unroll-degree: 20`
fn said(step: &Step<'_>) -> String {
    let left = step.left.map_or(String::new(), |left| format!("  {} left", wait(left.as_secs_f64())));
    format!("{} of {}{left}  {}: {}", step.number, step.of, step.experiment, step.variant)
}

/// A table for each experiment.
fn text(record: &Run, old: Option<&Run>) -> String {
    let mut text = format!("{}\n", record.machine);
    for experiment in &record.experiments {
        let before = old.and_then(|old| old.experiments.iter().find(|one| one.id == experiment.id));
        table(experiment, before, old.is_some(), &mut text);
    }
    text
}

fn table(experiment: &Experiment, before: Option<&Experiment>, compared: bool, text: &mut String) {
    let Experiment { id, what, unit, count, source, .. } = experiment;
    let title = published().sources.get(source).map_or(source.as_str(), |source| source.title.as_str());
    let better = if experiment.more_is_better { "more" } else { "less" };
    let _ = write!(
        text,
        "\n{id}: {what}\n  {title}\n  {} {}, {unit}, {better} is better\n\n",
        grouped(*count),
        counted(unit)
    );
    let mut rows =
        vec![["", "median", "spread", "published", if compared { "before" } else { "" }].map(str::to_owned)];
    for variant in &experiment.variants {
        let old = before.and_then(|one| one.variants.iter().find(|old| old.name == variant.name));
        rows.push(row(variant, old, unit));
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3, 4].map(width);
    for row in &rows {
        let mut line = format!("  {:1$}", row[0], widths[0]);
        for (cell, width) in row.iter().zip(widths).skip(1) {
            let _ = write!(line, "  {cell:>width$}");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for note in &experiment.notes {
        let _ = writeln!(text, "  {note}");
    }
}

/// What is counted.
fn counted(unit: &str) -> &'static str {
    match unit {
        "rows/s" => "rows",
        "operations/s" => "operations",
        _ => "rows, blobs or entities",
    }
}

fn row(variant: &Variant, old: Option<&Variant>, unit: &str) -> [String; 5] {
    let mark = if variant.road == Road::Sqluice { "* " } else { "  " };
    let name = format!("{mark}{}", variant.name);
    let published = variant.published.map_or(String::new(), |value| figure(value, unit));
    let before = old.and_then(|old| old.outcome.median()).map_or(String::new(), |value| figure(value, unit));
    let (median, spread) = match &variant.outcome {
        Outcome::Measured { samples, .. } => {
            let median = variant.outcome.median().unwrap_or(f64::NAN);
            let least = samples.iter().copied().fold(f64::INFINITY, f64::min);
            let most = samples.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let spread = format!("{} to {}", figure(least, unit), figure(most, unit));
            (figure(median, unit), if samples.len() > 1 { spread } else { String::new() })
        }
        Outcome::Skipped { reason } => (skipped(*reason).to_owned(), String::new()),
        Outcome::Failed { .. } => ("FAILED".to_owned(), String::new()),
    };
    [name, median, spread, published, before]
}

fn skipped(reason: Skip) -> &'static str {
    match reason {
        Skip::NotInstalled => "not installed",
        Skip::OtherSystem => "another system's",
        Skip::TooLarge => "too large here",
        Skip::Interrupted => "interrupted",
    }
}

/// Three digits that count: `7.97 M`, `522 k`, `1.35`.
fn figure(value: f64, unit: &str) -> String {
    let (value, prefix) = match value {
        _ if unit == "times" || unit == "ms" => (value, ""),
        999_500_000.0.. => (value / 1e9, " G"),
        999_500.0.. => (value / 1e6, " M"),
        9_995.0.. => (value / 1e3, " k"),
        value => (value, ""),
    };
    let digits = match value {
        ..9.995 => 2,
        9.995..99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$}{prefix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_that_count() {
        let rates = [7_968_000.0, 522_000.0, 429.0, 9_994.0, 13.6, 1.352, 1_024_512_000.0, 999_499.0];
        let told = rates.map(|value| figure(value, "rows/s"));
        assert_eq!(told, ["7.97 M", "522 k", "429", "9994", "13.6", "1.35", "1.02 G", "999 k"]);
        assert_eq!((figure(2334.0, "ms"), figure(0.5, "times")), ("2334".to_owned(), "0.50".to_owned()));
    }
}
