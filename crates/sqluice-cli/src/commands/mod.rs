//! The commands. The file of a command calls the engine with the arguments, and prints the report.

#[cfg(feature = "lab")]
mod advise;
mod check;
mod columns;
pub(crate) mod completions;
mod copy;
mod export;
mod generate;
mod index;
mod info;
#[cfg(feature = "lab")]
mod lab;
mod load;
mod man;
mod merge;
mod pack;
mod profile;
mod recover;
mod replaced;
mod typed;
mod unpack;

use std::fmt::Display;
use std::path::Path;

use serde::Serialize;
use sqluice::error::{Error, Setting, message};
use sqluice::given::Given;
use sqluice::options::{Action, WritePath};
use sqluice::plan::Plan;
use sqluice::progress::Cancel;
use sqluice::report::{ExistingReport, PhaseReport, Report, TableReport};

use crate::Exit;
use crate::args::{Args, Command};
use crate::printer::Printer;
use crate::quantities::{counted, elapsed, grouped, rate, size};
use crate::terms;

/// Runs the command of the arguments.
pub(crate) fn run(args: &Args, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Generate(args) => generate::run(args, printer, cancel),
        Command::Profile(args) => profile::run(args, printer, cancel),
        Command::Load(args) => load::run(args, printer, cancel),
        Command::Copy(args) => copy::run(args, printer, cancel),
        Command::Merge(args) => merge::run(args, printer, cancel),
        Command::Export(args) => export::run(args, printer, cancel),
        Command::Index(args) => index::run(args, printer, cancel),
        Command::Pack(args) => pack::run(args, printer, cancel),
        Command::Unpack(args) => unpack::run(args, printer, cancel),
        #[cfg(feature = "lab")]
        Command::Lab(args) => lab::run(args, printer, cancel),
        #[cfg(feature = "lab")]
        Command::Advise(args) => advise::run(args, printer, cancel),
        #[cfg(not(feature = "lab"))]
        Command::Lab(_) => Err(Error::without_feature("this build has no command lab", "lab").into()),
        #[cfg(not(feature = "lab"))]
        Command::Advise(_) => Err(Error::without_feature("this build has no command advise", "lab").into()),
        Command::Recover(args) => recover::run(args, printer, cancel),
        Command::Check(args) => check::run(args, printer, cancel),
        Command::Info(args) => info::run(args, printer, cancel),
        Command::Completions(args) => completions::run(args, printer),
        Command::Man(args) => man::run(args, printer),
    }
}

/// Returns an error if a page size is given for an existing database that is not overwritten.
fn refuse_page_size(given: &Given, target: Option<&Path>) -> Result<(), Error> {
    let has_pages = |target: &&Path| target.metadata().is_ok_and(|about| about.is_file() && about.len() > 0);
    let has_no_effect = given.has(Setting::PageSize) && !given.has(Setting::Overwrite);
    match target.filter(has_pages).filter(|_| has_no_effect) {
        Some(target) => Err(Error::usage(format!("{} exists, and has its own page size", target.display()))
            .hint(message!["leave ", Setting::PageSize, " out: an existing database keeps its own"])),
        None => Ok(()),
    }
}

/// Prints a plan for `--dry-run`.
fn print_plan(plan: &Plan, printer: &Printer) -> anyhow::Result<Exit> {
    plan.refuse()?;
    let mut plan = plan.in_terms(terms::flag);
    plan.look_at_replaced()?;
    print_planned(&plan, printer)
}

/// Prints the plan of any command, as text or as JSON.
fn print_planned(plan: &(impl Serialize + Display), printer: &Printer) -> anyhow::Result<Exit> {
    if printer.is_json() {
        printer.json(plan)?;
    } else {
        printer.data(&plan.to_string())?;
    }
    Ok(Exit::SUCCESS)
}

/// A report, with notes on results that a user may not expect.
#[derive(Serialize)]
struct Noted<'r> {
    #[serde(flatten)]
    report: &'r Report,
    notes: Vec<String>,
}

/// Prints a report as JSON.
fn print_json(report: &Report, printer: &Printer) -> anyhow::Result<()> {
    let notes = report.notes.iter().map(terms::rendered).collect();
    printer.json(&Noted { report: &report.clone().in_terms(terms::flag), notes })
}

/// Prints the result in a line, such as `Loaded 3 rows into x.db: 8.2 kB in 7 ms (428 rows/s)`.
fn print_done(verb: &str, what: &str, report: &Report, printer: &Printer) {
    let Report { target, existing, seconds, .. } = report;
    let (bytes, time, rate) = (size(report.bytes), elapsed(*seconds), rate(report.rows, *seconds));
    let rest = match (target.as_ref().map(|target| target.display()), existing) {
        (None, _) => format!("{what}, written nowhere: {bytes} in {time} ({rate})"),
        (Some(target), None) => format!("{what} into {target}: {bytes} in {time} ({rate})"),
        (Some(target), Some(_)) => format!("{what} into {target}, now {bytes}, in {time} ({rate})"),
    };
    printer.done(verb, &rest);
}

/// Prints details about the written files, with `--verbose`.
fn print_details(report: &Report, printer: &Printer) {
    if !report.checksum.is_empty() {
        let checksum = format!("  checksum {}", report.checksum);
        // With --discard there is no target: the checksum is the result of the run, so it is printed without --verbose.
        if report.target.is_none() { printer.note(&checksum) } else { printer.detail(&checksum) }
    }
    printer.detail(&format!(
        "  {}, {} writes, {} of {} bytes",
        counted(report.threads as u64, "thread"),
        report.output,
        counted(u64::from(report.pages), "page"),
        report.page_bytes
    ));
    if let Some(existing) = &report.existing {
        let ExistingReport { journal_mode_before: before, journal_mode_after: after, .. } = existing;
        let mode = if before == after { after.clone() } else { format!("{before}, and now {after}") };
        printer.detail(&format!(
            "  journal mode {mode}; {} before, {} past SQLite",
            counted(u64::from(existing.pages_before), "page"),
            counted(existing.pages_written, "page")
        ));
    }
    print_phases(&report.phases, printer);
    for name in &report.full_text {
        printer.detail(&format!("  {name}: full-text index has the new rows"));
    }
    for table in &report.tables {
        if table.write_path == WritePath::Insert {
            printer.detail(&format!(
                "  {}: {} by insert, root {}",
                table.name,
                changes(table),
                table.root_page
            ));
            continue;
        }
        printer.detail(&format!(
            "  {}: {}; {} leaf, {} interior, {} overflow pages, root {}",
            table.name,
            counted(table.rows, "row"),
            grouped(table.leaf_pages),
            grouped(table.interior_pages),
            grouped(table.overflow_pages),
            table.root_page
        ));
        for index in &table.indexes {
            printer.detail(&format!(
                "  {}: {}; {} leaf, {} interior, {} overflow pages, root {}",
                index.name,
                counted(index.entries, "entry"),
                grouped(index.leaf_pages),
                grouped(index.interior_pages),
                grouped(index.overflow_pages),
                index.root_page
            ));
        }
    }
}

/// Prints the time of each phase, with `--verbose`.
fn print_phases(phases: &[PhaseReport], printer: &Printer) {
    let phases = phases.iter().map(|phase| format!("{} {}", phase.name, elapsed(phase.seconds)));
    let phases: Vec<String> = phases.collect();
    if !phases.is_empty() {
        printer.detail(&format!("  {}", phases.join(", ")));
    }
}

/// Prints side effects: replaced databases, removed temporary files, rows that a filter left out, repeated keys, bad rows.
fn print_side_effects(report: &Report, rejects: Option<&Path>, printer: &Printer) {
    let (replaced, replacement) = (report.replaced.as_ref(), report.replacement.as_ref());
    replaced::summarize(replaced, replacement, report.target.as_deref(), printer);
    replaced::summarize_removed(&report.removed, printer);
    print_conflicts(report, printer);
    match rejects {
        Some(file) if report.rejected > 0 => {
            let lines = match report.rejected_lines {
                lines if lines == report.rejected => String::new(),
                lines => format!(" ({})", counted(lines, "line")),
            };
            let rows = counted(report.rejected, "row");
            printer.note(&format!("  {rows}{lines} rejected, see {}", file.display()));
        }
        Some(_) => printer.note("  no rows rejected"),
        None => {}
    }
}

/// Prints how many rows a filter left out, and how rows with repeated keys were treated.
fn print_conflicts(report: &Report, printer: &Printer) {
    let sum = |of: fn(&TableReport) -> Option<u64>| report.tables.iter().filter_map(of).sum::<u64>();
    let filtered: u64 = report.tables.iter().map(|table| table.filtered).sum();
    let nulls = match report.tables.iter().map(|table| table.filtered_null).sum() {
        0 => String::new(),
        nulls => format!(", for {} of them it is NULL", grouped(nulls)),
    };
    let filtered_by = format!("left out by --{}{nulls}", terms::flag_name(Setting::Where));
    for (number, what) in [
        (filtered, filtered_by.as_str()),
        (report.ignored, "ignored (repeated key, or a trigger)"),
        (sum(|table| table.updated), "updated"),
        (sum(|table| table.replaced), "replaced by a later row with the same key"),
    ] {
        if number > 0 {
            printer.note(&format!("  {} {what}", counted(number, "row")));
        }
    }
}

/// Describes how many rows SQLite's INSERT has added to a table and, for an upsert, how many it has changed.
fn changes(table: &TableReport) -> String {
    match (table.action, table.updated) {
        (Action::Upsert, None) => format!("{} added or changed", counted(table.rows, "row")),
        (Action::Upsert, Some(updated)) => {
            format!(
                "{} added, {} changed",
                counted(table.rows - updated.min(table.rows), "row"),
                grouped(updated)
            )
        }
        _ => format!("{} added", counted(table.rows, "row")),
    }
}
