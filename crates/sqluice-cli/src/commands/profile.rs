//! `sqluice profile`: writes a schema that describes the values of a database, from which `sqluice generate` makes a lookalike.

use std::path::{Path, PathBuf};

use sqluice::error::Setting;
use sqluice::output::WholeFile;
use sqluice::profile::{self, ProfileReport};
use sqluice::progress::Cancel;

use crate::Exit;
use crate::args::Profile;
use crate::printer::Printer;
use crate::quantities::{counted, elapsed, rate};

pub(super) fn run(args: &Profile, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Exit> {
    // Checked first: an existing file must be an error before the database is read.
    let to: Option<PathBuf> = args.flags.get(Setting::To);
    let overwrite = args.flags.has(Setting::Overwrite);
    let file = to.as_deref().map(|path| WholeFile::create(path, overwrite)).transpose()?;
    let mut profile = profile::Profile::new(&args.source);
    args.flags.hand_over(&mut [&mut profile])?;
    let report = printer.watched(cancel, |context| profile.run_with(context))?;
    if let Some(mut file) = file {
        file.write(report.text.as_bytes())?;
        file.finish()?;
    }
    if printer.is_json() {
        printer.json(&report)?;
    } else if to.is_none() {
        printer.data(&report.text)?;
    } else {
        print_done(to.as_deref(), &report, printer);
    }
    Ok(Exit::SUCCESS)
}

fn print_done(to: Option<&Path>, report: &ProfileReport, printer: &Printer) {
    let ProfileReport { rows, tables, seconds, .. } = report;
    let tables = counted(tables.len() as u64, "table");
    let to = to.map_or(String::new(), |path| format!(" in {}", path.display()));
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
