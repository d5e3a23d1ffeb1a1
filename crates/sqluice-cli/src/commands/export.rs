//! `sqluice export`.

use std::path::Path;

use sqluice::error::Error;
use sqluice::export::{self, ExportReport, ReadOptions};
use sqluice::progress::Cancel;
use sqluice::size::Bytes;

use crate::Exit;
use crate::args::Export;
use crate::printer::Printer;
use crate::quantities::{counted, rate};

pub(super) fn run(args: &Export, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Exit> {
    let to_stdout = args.to == Path::new("-");
    if to_stdout && printer.is_json() && !args.dry_run {
        return Err(Error::usage("--json prints its report where the rows go")
            .hint("leave --json out, or name a file: --to FILE")
            .into());
    }
    let export = match to_stdout {
        true => export::Export::to_stdout(&args.source),
        false => export::Export::new(&args.source, &args.to),
    };
    let mut read = ReadOptions::new();
    (read.busy_timeout, read.busy_limit) = (args.busy_timeout, args.busy_limit);
    let export = export
        .tables(&args.tables)
        .query(args.query.clone())
        .columns(args.columns.clone())
        .filter(args.filter.clone())
        .limit(args.limit)
        .format(args.format.map(Into::<export::FileFormat>::into))
        .overwrite(args.overwrite)
        .mixed(args.mixed.map(Into::into).unwrap_or_default())
        .dates(args.dates)
        .threads(args.threads.map(usize::from))
        .read(read);
    if args.dry_run {
        let plan = export.plan(cancel)?;
        if printer.is_json() {
            printer.json(&plan)?;
        } else {
            printer.data(&plan.to_string())?;
        }
        return Ok(Exit::SUCCESS);
    }
    let report = export.run(&*printer.progress(), cancel)?;
    if printer.is_json() {
        printer.json(&report)?;
    } else {
        summarize(&report, printer);
    }
    Ok(Exit::SUCCESS)
}

fn summarize(report: &ExportReport, printer: &Printer) {
    if report.fetched {
        printer.detail(&format!("{} was fetched to a temporary file", report.source.display()));
    }
    for file in &report.files {
        let path = file.path.as_ref().map_or("standard output".to_owned(), |path| path.display().to_string());
        for (column, values) in &file.nulled {
            printer.note(&format!(
                "note: {} of column {column} became NULL in {path}",
                counted(*values, "value")
            ));
        }
        for note in &file.notes {
            printer.note(&format!("note: {path}: {note}"));
        }
        let line = format!("{} to {path}: {}", counted(file.rows, "row"), Bytes(file.bytes));
        match report.files.len() {
            1 => printer.note(&format!(
                "{line} in {:.2} s ({})",
                report.seconds,
                rate(file.rows, report.seconds)
            )),
            _ => printer.detail(&line),
        }
    }
    if report.files.len() != 1 {
        let (files, rows) = (counted(report.files.len() as u64, "file"), counted(report.rows(), "row"));
        let (bytes, seconds) = (Bytes(report.bytes()), report.seconds);
        printer.note(&format!(
            "{rows} to {files}: {bytes} in {seconds:.2} s ({})",
            rate(report.rows(), seconds)
        ));
    }
    let others = match report.lets_others_commit {
        true => "others could commit meanwhile",
        false => "others could not commit meanwhile",
    };
    let threads = counted(report.threads as u64, "thread");
    printer.detail(&format!("{threads}, journal mode {}, {others}", report.journal_mode));
}
