//! `sqluice index`: adds indexes and full-text indexes to a database, and prints how they were built.

use sqluice::error::Setting;
use sqluice::index::{self, FullTextReport, FullTextWork, Report};
use sqluice::options::WritePath;
use sqluice::progress::{Cancel, Context};
use sqluice::report::IndexReport;

use super::{print_phases, print_planned};
use crate::Exit;
use crate::args::Index;
use crate::printer::Printer;
use crate::quantities::{counted, elapsed, grouped, rate};

pub(super) fn run(args: &Index, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Exit> {
    let mut index = index::Index::new(&args.db, &args.sql);
    args.flags.hand_over(&mut [&mut index])?;
    if args.flags.has(Setting::DryRun) {
        let prepared = index.prepare(&Context::default().cancel(cancel))?;
        return print_planned(prepared.plan(), printer);
    }
    let report = printer.watched(cancel, |context| index.run_with(context))?;
    if printer.is_json() {
        printer.json(&report)?;
    } else {
        summarize(&report, printer);
    }
    Ok(Exit::SUCCESS)
}

fn summarize(report: &Report, printer: &Printer) {
    for name in &report.existing {
        printer.note(&format!("note: index {name} exists already and was not changed"));
    }
    let all: u64 = report.indexes.iter().map(|index| index.entries).sum();
    let what = |index: &IndexReport| match index.write_path {
        WritePath::Sqlite => "made by SQLite".to_owned(),
        _ => counted(index.entries, "entry"),
    };
    let (target, time) = (report.target.display(), elapsed(report.seconds));
    let rate = rate(all, report.seconds).replace("rows", "entries");
    match &report.indexes[..] {
        [] => {}
        [index] => printer.done(
            "Created",
            &format!("index {} in {target}: {} in {time} ({rate})", index.name, what(index)),
        ),
        indexes => {
            let number = counted(indexes.len() as u64, "index");
            printer.done(
                "Created",
                &format!("{number} in {target}: {} in {time} ({rate})", counted(all, "entry")),
            );
            indexes
                .iter()
                .for_each(|index| printer.note(&format!("  index {}: {}", index.name, what(index))));
        }
    }
    for of in &report.full_text {
        let done = match of.work {
            FullTextWork::Optimize => "Optimized",
            FullTextWork::Rebuild => "Rebuilt",
            _ => "Created",
        };
        printer.done(done, &full_text(of, report));
    }
    printer.detail(&format!(
        "  {}, journal mode {}, {} to {} pages of {} bytes",
        counted(report.threads as u64, "thread"),
        report.journal_mode_after,
        grouped(u64::from(report.pages_before)),
        grouped(u64::from(report.pages)),
        report.page_bytes
    ));
    print_phases(&report.phases, printer);
    for index in report.indexes.iter().filter(|index| index.write_path != WritePath::Sqlite) {
        printer.detail(&format!(
            "  {}: {} leaf, {} interior, {} overflow pages, root {}",
            index.name,
            grouped(index.leaf_pages),
            grouped(index.interior_pages),
            grouped(index.overflow_pages),
            index.root_page
        ));
    }
}

/// Describes the result for a full-text index.
fn full_text(of: &FullTextReport, report: &Report) -> String {
    let (name, target, time) = (&of.name, report.target.display(), elapsed(report.seconds));
    match of.write_path {
        WritePath::Sqlite => format!("full-text index {name} in {target}: made by SQLite in {time}"),
        _ if of.work == FullTextWork::Optimize => match of.merged_segments {
            0 => format!("full-text index {name} in {target}: nothing to merge, in {time}"),
            merged => format!(
                "full-text index {name} in {target}: {} merged into one, {} in {time}",
                counted(merged as u64, "segment"),
                counted(of.terms, "term")
            ),
        },
        _ => format!(
            "full-text index {name} in {target}: {}, {}, {} in {time}",
            counted(of.rows, "row"),
            counted(of.tokens, "token"),
            counted(of.terms, "term")
        ),
    }
}
