//! `sqluice lab`: runs experiments of `sqluice_lab`, shows their progress, writes the reports, and can compare with an earlier run.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use sqluice::error::Error;
use sqluice::progress::Cancel;
use sqluice::size::Bytes;
use sqluice::waits;
use sqluice_lab::record::{Experiment, Outcome, Run, Variant};
use sqluice_lab::{Scale, Settings, Step, bytes_to_write, ids, report, run as run_lab};

use crate::Exit;
use crate::args::Lab;
use crate::printer::{Printer, ProgressDisplay};
use crate::progress::LINE_EVERY;
use crate::quantities::wait;

/// The exit status of a program that Ctrl-C has ended, as in shells.
const INTERRUPTED: u8 = 130;

pub(super) fn run(args: &Lab, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Exit> {
    if args.list {
        printer.data(&format!("{}\n", ids().join("\n")))?;
        return Ok(Exit::SUCCESS);
    }
    let old = args.compare.as_deref().map(read).transpose()?;
    // An export file that can't be written must fail before the run, not after an hour.
    let exports = [&args.export_json, &args.export_html, &args.export_markdown];
    for file in exports.into_iter().flatten() {
        let opened = OpenOptions::new().create(true).append(true).open(file);
        opened.map_err(|error| cannot("write", file, error))?;
    }
    let runs = args.runs.unwrap_or(args.scale.runs());
    let bytes = bytes_to_write(&args.experiments, args.scale, runs + args.warmup)?;
    let is_large = match args.scale {
        Scale::Medium | Scale::Full => true,
        Scale::Factor(factor) => factor >= 10.0,
        Scale::Tiny | Scale::Small => false,
    };
    if is_large {
        let words =
            format!("warning: at least {} will be written, which wears out flash memory", Bytes(bytes));
        printer.warn(&words);
    }
    let (flag, watch) = (cancel.flag(), Watch::new(printer));
    let dir = args.dir.clone().unwrap_or_else(|| PathBuf::from("."));
    let command = std::env::args_os()
        .skip(1)
        .fold("sqluice".to_owned(), |all, one| format!("{all} {}", one.to_string_lossy()));
    let watched = |step: &Step<'_>| watch.step(step);
    let settings = Settings::new(args.scale, dir, &watched, &flag)
        .experiments(&args.experiments)
        .runs(args.runs)
        .warmup(args.warmup)
        .command(command);
    let record = run_lab(&settings)?;
    drop(watch);
    if let Some(file) = &args.export_json {
        let json = serde_json::to_string_pretty(&record)? + "\n";
        fs::write(file, json).map_err(|error| cannot("write", file, error))?;
    }
    if let Some(file) = &args.export_html {
        fs::write(file, report::html(&record, old.as_ref())).map_err(|error| cannot("write", file, error))?;
    }
    if let Some(file) = &args.export_markdown {
        fs::write(file, report::markdown(&record)).map_err(|error| cannot("write", file, error))?;
    }
    if printer.is_json() {
        printer.json(&record)?;
    } else {
        printer.data(&report::text(&record, old.as_ref()))?;
    }
    Ok(end(&record, printer))
}

/// Prints the failed variants again after the report, and returns the exit status.
fn end(record: &Run, printer: &Printer) -> Exit {
    let mut failed = false;
    for (experiment, variant) in variants(record) {
        if let Outcome::Failed { why } = &variant.outcome {
            failed = true;
            printer.warn(&format!("failed: {}, {}: {why}", experiment.id, variant.name));
        }
    }
    if record.interrupted {
        printer.warn("interrupted: only the figures measured so far are shown");
    }
    match (failed, record.interrupted) {
        (_, true) => Exit::from(INTERRUPTED),
        (true, false) => Exit::FAILURE,
        (false, false) => Exit::SUCCESS,
    }
}

fn variants(record: &Run) -> impl Iterator<Item = (&Experiment, &Variant)> {
    record.experiments.iter().flat_map(|one| one.variants.iter().map(move |variant| (one, variant)))
}

fn read(file: &Path) -> Result<Run, Error> {
    let text = fs::read_to_string(file).map_err(|error| Error::read(file, error))?;
    serde_json::from_str(&text).map_err(|error| {
        Error::input(format!("{} is not a record of the lab", file.display()))
            .because(error)
            .hint("name a file that --export-json has written")
    })
}

fn cannot(what: &str, file: &Path, error: io::Error) -> Error {
    Error::target(format!("cannot {what} {}", file.display())).because(error)
}

/// Displays the progress of the run: a bar on a terminal, or lines at intervals.
struct Watch {
    bar: Option<ProgressBar>,
    shown: Option<Mutex<Instant>>,
}

impl Watch {
    fn new(printer: &Printer) -> Watch {
        match printer.progress_display() {
            ProgressDisplay::Bar => {
                let bar = ProgressBar::new(1);
                if let Ok(style) = ProgressStyle::with_template("lab      {bar:20} {wide_msg}") {
                    bar.set_style(style);
                }
                Watch { bar: Some(bar), shown: None }
            }
            ProgressDisplay::Lines => Watch { bar: None, shown: Some(Mutex::new(Instant::now())) },
            ProgressDisplay::Hidden => Watch { bar: None, shown: None },
        }
    }

    fn step(&self, step: &Step<'_>) {
        if let Some(bar) = &self.bar {
            bar.set_length(step.of as u64);
            bar.set_position(step.number as u64 - 1);
            bar.set_message(said(step));
        }
        let Some(Ok(mut shown)) = self.shown.as_ref().map(Mutex::lock) else { return };
        if shown.elapsed() >= waits::scaled(LINE_EVERY) {
            *shown = Instant::now();
            // A closed standard error does not stop the run.
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

/// Describes a step: `12 of 340  2 min 5 s left  unroll-degree: 20`
fn said(step: &Step<'_>) -> String {
    let left = step.left.map_or(String::new(), |left| format!("  {} left", wait(left.as_secs_f64())));
    format!("{} of {}{left}  {}: {}", step.number, step.of, step.experiment, step.variant)
}
