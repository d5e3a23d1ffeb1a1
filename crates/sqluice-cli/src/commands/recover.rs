//! `sqluice recover`: saves the rows of a damaged database in a new one, and prints what was lost.

use sqluice::error::Setting;
use sqluice::progress::{Cancel, Context};
use sqluice::recover::{self, RecoverReport, SavedTable};

use super::{print_phases, print_planned, replaced};
use crate::Exit;
use crate::args::Recover;
use crate::printer::Printer;
use crate::quantities::{counted, elapsed, rate, size};

pub(super) fn run(args: &Recover, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Exit> {
    let mut recover = recover::Recover::new(&args.source, &args.target);
    args.flags.hand_over(&mut [&mut recover])?;
    let exit = |damaged: bool| if damaged { Exit::DAMAGED } else { Exit::SUCCESS };
    if args.flags.has(Setting::DryRun) {
        let prepared = recover.prepare(&Context::default().cancel(cancel))?;
        print_planned(prepared.plan(), printer)?;
        return Ok(exit(prepared.plan().damaged));
    }
    replaced::confirm(Some(recover.wanted()), args.flags.has(Setting::Yes), [], printer, cancel)?;
    let report = printer.watched(cancel, |context| recover.run_with(context))?;
    if printer.is_json() {
        printer.json(&report)?;
    } else {
        summarize(&report, printer);
    }
    Ok(exit(report.saved.damaged))
}

fn summarize(report: &RecoverReport, printer: &Printer) {
    let saved = &report.saved;
    printer.done(
        "Recovered",
        &format!(
            "{} of {} to {}: {} in {} ({})",
            counted(saved.rows, "row"),
            counted(saved.tables.len() as u64, "table"),
            saved.target.display(),
            size(report.bytes),
            elapsed(report.seconds),
            rate(saved.rows, report.seconds)
        ),
    );
    let is_notable = |table: &&SavedTable| {
        let SavedTable {
            by_gap,
            by_shape,
            conflicts,
            repeated,
            rejected,
            orphans,
            lost_rows,
            lost_page_count,
            ..
        } = table;
        by_gap + by_shape + conflicts + repeated + rejected + orphans + lost_rows + lost_page_count > 0
    };
    for table in saved.tables.iter().filter(is_notable) {
        printer.note(&format!("  {table}"));
        table.lost_pages.iter().for_each(|page| printer.detail(&format!("    {page}")));
        table.witnesses.iter().for_each(|witness| printer.note(&format!("    {witness}")));
    }
    saved.lost_and_found.iter().for_each(|found| printer.note(&format!("  {found}")));
    saved.remarks.iter().for_each(|remark| printer.note(&format!("  {remark}")));
    match saved.damaged {
        true => {
            let (source, target) = (saved.source.display(), saved.target.display());
            printer.warn(&format!("warning: {source} is damaged: rows may be missing in {target}"));
        }
        false => printer.note(&format!("  {} shows no damage", saved.source.display())),
    }
    print_phases(&report.phases, printer);
}
