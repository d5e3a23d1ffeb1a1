//! `sqluice profile`.

use sqluice::output::WholeFile;
use sqluice::profile::ProfileReport;
use sqluice::progress::Cancel;

use crate::Exit;
use crate::args::Profile;
use crate::printer::Printer;
use crate::quantities::{counted, elapsed, rate};

pub(super) fn run(args: &Profile, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Exit> {
    // Before the work.
    let file = args.to.as_deref().map(|path| WholeFile::create(path, args.overwrite)).transpose()?;
    let report = printer.watched(cancel, |context| args.wanted().run_with(context))?;
    if let Some(mut file) = file {
        file.write(report.text.as_bytes())?;
        file.finish()?;
    }
    if printer.is_json() {
        printer.json(&report)?;
    } else if args.to.is_none() {
        printer.data(&report.text)?;
    } else {
        print_done(args, &report, printer);
    }
    Ok(Exit::SUCCESS)
}

fn print_done(args: &Profile, report: &ProfileReport, printer: &Printer) {
    let ProfileReport { rows, tables, seconds, .. } = report;
    let tables = counted(tables.len() as u64, "table");
    let to = args.to.as_ref().map_or(String::new(), |path| format!(" in {}", path.display()));
    let (rows, time, rate) = (counted(*rows, "row"), elapsed(*seconds), rate(*rows, *seconds));
    printer.done("Described", &format!("{rows} of {tables}{to}: {time} ({rate})"));
    let shown: u64 = report.kept.iter().map(|kept| kept.values as u64).sum();
    printer.note(&match report.kept.len() {
        0 => "  no values of the database are shown".to_owned(),
        columns => format!("  {} of {} shown", counted(shown, "value"), counted(columns as u64, "column")),
    });
    for note in &report.notes {
        printer.warn(&format!("warning: {note}"));
    }
}
