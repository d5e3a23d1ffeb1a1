//! `sqluice export`: writes tables or a query to files or standard output, and prints a summary.

use std::path::{Path, PathBuf};

use sqluice::error::{Error, Setting};
use sqluice::export::{self, ExportReport};
use sqluice::progress::{Cancel, Context};

use super::print_planned;
use super::replaced::summarize_removed;
use crate::Exit;
use crate::args::Export;
use crate::printer::Printer;
use crate::quantities::{counted, elapsed, rate, size};

pub(super) fn run(args: &Export, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Exit> {
    let to: PathBuf = args.flags.get(Setting::To).unwrap_or_default();
    let (to_stdout, is_dry) = (to == Path::new("-"), args.flags.has(Setting::DryRun));
    if to_stdout && printer.is_json() && !is_dry {
        return Err(Error::usage(
            "--json prints the report to standard output, where the rows are also written",
        )
        .hint("leave --json out, or name a file: --to FILE")
        .into());
    }
    let mut export = match to_stdout {
        true => export::Export::to_stdout(&args.source),
        false => export::Export::new(&args.source, &to),
    };
    export.tables.clone_from(&args.tables);
    args.flags.hand_over(&mut [&mut export])?;
    if is_dry {
        let prepared = export.prepare(&Context::default().cancel(cancel))?;
        return print_planned(prepared.plan(), printer);
    }
    let progress = if to_stdout { printer.progress_beside_data() } else { printer.progress() };
    let report = export.run_with(&Context::default().progress(&*progress).cancel(cancel))?;
    drop(progress);
    if printer.is_json() {
        printer.json(&report)?;
    } else {
        summarize(&report, printer);
    }
    Ok(Exit::SUCCESS)
}

fn summarize(report: &ExportReport, printer: &Printer) {
    let place =
        |path: Option<&PathBuf>| path.map_or("standard output".to_owned(), |path| path.display().to_string());
    let (rows, time) = (counted(report.rows(), "row"), elapsed(report.seconds));
    let (bytes, rate) = (size(report.bytes()), rate(report.rows(), report.seconds));
    match &report.files[..] {
        // The rows went to the terminal or to another program, so no line is needed.
        [file] if file.path.is_none() => {
            printer.detail(&format!("Exported {rows} to standard output in {time} ({rate})"));
        }
        [file] => {
            let path = place(file.path.as_ref());
            printer.done("Exported", &format!("{rows} to {path}: {bytes} in {time} ({rate})"));
            for table in &file.tables {
                printer.detail(&format!("  table {}: {}", table.table, counted(table.rows, "row")));
            }
        }
        files => {
            let number = counted(files.len() as u64, "file");
            printer.done("Exported", &format!("{rows} to {number}: {bytes} in {time} ({rate})"));
            for file in files {
                let (path, rows) = (place(file.path.as_ref()), counted(file.rows, "row"));
                printer.detail(&format!("  {path}: {rows}, {}", size(file.bytes)));
            }
        }
    }
    for file in &report.files {
        let path = place(file.path.as_ref());
        for (column, values) in &file.nulled {
            printer
                .note(&format!("note: {path}: {} of column {column} became NULL", counted(*values, "value")));
        }
        for note in &file.notes {
            printer.note(&format!("note: {path}: {note}"));
        }
    }
    summarize_removed(&report.removed, printer);
    if report.fetched {
        printer.detail(&format!("  {} was fetched to a temporary file", report.source.display()));
    }
    let others = match report.lets_others_commit {
        true => "other programs could commit meanwhile",
        false => "other programs could not commit meanwhile",
    };
    let threads = counted(report.threads as u64, "thread");
    printer.detail(&format!("  {threads}, journal mode {}, {others}", report.journal_mode));
}
