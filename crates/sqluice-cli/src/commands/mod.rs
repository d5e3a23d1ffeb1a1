//! One file a verb: arguments in, the engine's call, its report out.

mod check;
mod completions;
mod generate;
mod info;
mod load;

use std::process::ExitCode;

use sqluice::plan::Plan;
use sqluice::progress::Cancel;
use sqluice::report::Report;
use sqluice::size::Bytes;

use crate::args::{Args, Command};
use crate::printer::{Printer, grouped};

/// Does what the arguments say.
pub(crate) fn run(args: &Args, printer: &Printer, cancel: &Cancel) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Generate(args) => generate::run(args, printer, cancel),
        Command::Load(args) => load::run(args, printer, cancel),
        Command::Check(args) => check::run(args, printer, cancel),
        Command::Info(args) => info::run(args, printer, cancel),
        Command::Completions(args) => completions::run(args, printer),
    }
}

/// Prints a plan that is not carried out.
fn print_plan(plan: &Plan, printer: &Printer) -> anyhow::Result<ExitCode> {
    if let Some(wanted) = plan.wanted() {
        wanted.refuse()?;
    }
    if printer.is_json() {
        printer.json(plan)?;
    } else {
        printer.data(&plan.to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what was written.
fn print_report(report: &Report, printer: &Printer) -> anyhow::Result<ExitCode> {
    if printer.is_json() {
        printer.json(report)?;
        return Ok(ExitCode::SUCCESS);
    }
    let target = report.target.as_ref().map_or("nowhere".to_owned(), |target| target.display().to_string());
    printer.note(&format!(
        "{} rows to {target}: {} in {:.2} s ({:.1} M rows/s), checksum {}",
        grouped(report.rows),
        Bytes(report.bytes),
        report.seconds,
        report.rows as f64 / report.seconds / 1e6,
        report.checksum,
    ));
    printer.detail(&format!(
        "{} threads, {} writes, {} pages of {} bytes",
        report.threads,
        report.output,
        grouped(u64::from(report.pages)),
        report.page_bytes
    ));
    for table in &report.tables {
        printer.detail(&format!(
            "  {}: {} rows; {} leaf, {} interior, {} overflow pages, root {}",
            table.name,
            grouped(table.rows),
            grouped(table.leaf_pages),
            grouped(table.interior_pages),
            grouped(table.overflow_pages),
            table.root_page
        ));
    }
    Ok(ExitCode::SUCCESS)
}
