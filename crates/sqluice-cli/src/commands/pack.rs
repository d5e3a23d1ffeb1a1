//! `sqluice pack`: stores the files of a folder in a SQLite archive, and prints a summary.

use sqluice::archive::{self, PackReport};
use sqluice::error::Setting;
use sqluice::progress::{Cancel, Context};

use super::{print_details, print_done, print_plan, print_side_effects, refuse_page_size, replaced};
use crate::Exit;
use crate::args::Pack;
use crate::printer::Printer;
use crate::quantities::{counted, listed, size};

/// The maximum number of skipped entries that are named.
const SKIPPED_MAX: usize = 20;

pub(super) fn run(args: &Pack, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Exit> {
    refuse_page_size(&args.flags, Some(&args.db))?;
    let mut pack = archive::Pack::new(&args.db, &args.dir);
    args.flags.hand_over(&mut [&mut pack])?;
    let prepared = pack.prepare(&Context::default().cancel(cancel))?;
    for skipped in prepared.skipped().iter().take(SKIPPED_MAX) {
        printer.note(&format!("note: {} is left out: {}", skipped.name, skipped.why));
    }
    if let more @ 1.. = prepared.skipped().len().saturating_sub(SKIPPED_MAX) {
        printer.note(&format!("note: {more} more entries are left out; --json names them all"));
    }
    if args.flags.has(Setting::DryRun) {
        return print_plan(prepared.plan(), printer);
    }
    replaced::confirm(prepared.plan().wanted(), args.flags.has(Setting::Yes), [], printer, cancel)?;
    let report = printer.watched(cancel, |context| prepared.run(context))?;
    if printer.is_json() {
        printer.json(&report)?;
        return Ok(Exit::SUCCESS);
    }
    let PackReport { files, folders, links, file_bytes, report, .. } = report;
    let mut what = vec![counted(files, "file")];
    what.extend((folders > 0).then(|| counted(folders, "folder")));
    what.extend((links > 0).then(|| counted(links, "link")));
    print_done("Packed", &format!("{} ({})", listed(&what), size(file_bytes)), &report, printer);
    print_side_effects(&report, None, printer);
    print_details(&report, printer);
    Ok(Exit::SUCCESS)
}
