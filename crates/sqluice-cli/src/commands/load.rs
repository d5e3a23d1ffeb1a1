//! `sqluice load`.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use sqluice::error::{Error, Setting};
use sqluice::load;
use sqluice::progress::Cancel;
use sqluice::report::{SkippedFile, padded_in_words, recognised_in_words};
use sqluice_format::database::MAGIC;

use super::{
    columns, print_details, print_done, print_json, print_plan, print_side_effects, refuse_page_size,
    replaced,
};
use crate::Exit;
use crate::args::Load;
use crate::printer::Printer;
use crate::quantities::counted;
use crate::terms;

pub(super) fn run(args: &Load, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Exit> {
    refuse_swapped(&args.db)?;
    refuse_page_size(&args.flags, Some(&args.db))?;
    if io::stdin().is_terminal() && args.files.iter().any(|file| file == Path::new("-")) {
        printer.note("note: reading from the terminal; Ctrl-D ends the input");
    }
    let mut load = load::Load::new(&args.db, &args.files);
    args.flags.hand_over(&mut [&mut load])?;
    let reject = load.reject.clone();
    let mut prepared = printer.watched(cancel, |context| load.prepare(context))?;
    if args.flags.has(Setting::DryRun) {
        printer.watched(cancel, |context| prepared.settle_types(context))?;
        let plan = prepared.plan();
        if !printer.is_json() {
            let remarks =
                plan.tables.iter().flat_map(|table| columns::remarks(&table.name, &table.all_columns));
            columns::say(remarks, printer);
        }
        return print_plan(plan, printer);
    }
    for note in &prepared.plan().notes {
        printer.note(&format!("note: {}", terms::rendered(note)));
    }
    let inputs = prepared.inputs();
    for input in inputs.iter().filter(|_| inputs.len() > 1) {
        printer.detail(&format!("  {}: {}", input.name, input.recognised.words()));
        input.notes.iter().for_each(|note| printer.detail(&format!("    {}", terms::rendered(note))));
    }
    let files = args.files.iter().map(PathBuf::as_path);
    replaced::confirm(prepared.plan().wanted(), args.flags.has(Setting::Yes), files, printer, cancel)?;
    let report = printer.watched(cancel, |context| prepared.run(context))?;
    if printer.is_json() {
        print_json(&report, printer)?;
    } else {
        print_done("Loaded", &counted(report.rows, "row"), &report, printer);
        let recognised = recognised_in_words(&report.inputs, |files| counted(files, "file"));
        printer.note(&format!("  read {recognised}"));
        print_side_effects(&report, reject.as_deref(), printer);
        if let Some(padded) = padded_in_words(&report.inputs, |rows| counted(rows, "row")) {
            printer.note(&format!("  {padded}"));
        }
        print_details(&report, printer);
        columns::summarize(&report.tables, printer);
        // Notes that were known before the load are already printed.
        for (input, before) in report.inputs.iter().zip(&inputs) {
            for note in input.notes.iter().filter(|note| !before.notes.contains(note)) {
                printer.note(&format!("  {}: {}", input.name, terms::rendered(note)));
            }
        }
        for warning in report.inputs.iter().flat_map(|input| &input.warnings) {
            printer.warn(&format!("warning: {}", terms::rendered(warning)));
        }
    }
    if report.skipped.is_empty() {
        return Ok(Exit::SUCCESS);
    }
    for SkippedFile { name, why, .. } in &report.skipped {
        printer.warn(&format!("skipped {name}: {}", terms::rendered(why)));
    }
    printer.warn(&format!("{} skipped", counted(report.skipped.len() as u64, "file")));
    Ok(Exit::FAILURE)
}

/// Refuses an existing file that looks like a file to load in place of the database: the arguments may be in the wrong order.
fn refuse_swapped(db: &Path) -> Result<(), Error> {
    let extension = db.extension().unwrap_or_default();
    let others = load::formats::ALL.iter().filter(|format| **format != &load::formats::SQLITE);
    let extensions = others.flat_map(|format| format.extensions).chain(&["gz", "zst"]);
    let of_data = extensions.into_iter().any(|data| extension.eq_ignore_ascii_case(data));
    if !of_data || !db.is_file() || begins_as_database(db) {
        return Ok(());
    }
    Err(Error::usage(format!("{} is named as the database, and looks like a file to load", db.display()))
        .hint("name the database first: sqluice load DB FILE"))
}

fn begins_as_database(file: &Path) -> bool {
    let mut start = [0; 16];
    File::open(file).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *MAGIC
}
