//! `sqluice index`.

use sqluice::index::{self, Report};
use sqluice::options::{WriteOptions, WritePath};
use sqluice::progress::Cancel;

use super::entries;
use crate::Exit;
use crate::args::Index;
use crate::printer::Printer;
use crate::quantities::{counted, grouped, rate};

pub(super) fn run(args: &Index, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Exit> {
    let mut write = WriteOptions::new().threads(args.threads.map(usize::from)).memory_bytes(args.memory);
    write.temp_dir.clone_from(&args.temp_dir);
    let index = index::Index::new(&args.db, &args.sql).busy_timeout(args.busy_timeout).write(write);
    if args.dry_run {
        let plan = index.plan()?;
        if printer.is_json() {
            printer.json(&plan)?;
        } else {
            printer.data(&plan.to_string())?;
        }
        return Ok(Exit::SUCCESS);
    }
    let report = index.run(&*printer.progress(), cancel)?;
    if printer.is_json() {
        printer.json(&report)?;
    } else {
        summarize(&report, printer);
    }
    Ok(Exit::SUCCESS)
}

fn summarize(report: &Report, printer: &Printer) {
    for name in &report.existing {
        printer.note(&format!("note: index {name} exists already, and was left as it is"));
    }
    let all: u64 = report.indexes.iter().map(|index| index.entries).sum();
    for index in &report.indexes {
        let what = if index.write_path == WritePath::Sqlite {
            "by SQLite".to_owned()
        } else {
            entries(index.entries)
        };
        printer.note(&format!("index {}: {what}", index.name));
    }
    if !report.indexes.is_empty() {
        printer.note(&format!(
            "{} in {}: {:.2} s ({})",
            counted_indexes(report.indexes.len()),
            report.target.display(),
            report.seconds,
            rate(all, report.seconds).replace("rows", "entries"),
        ));
    }
    printer.detail(&format!(
        "{}, journal mode {}, {} to {} pages of {} bytes",
        counted(report.threads as u64, "thread"),
        report.journal_mode_after,
        grouped(u64::from(report.pages_before)),
        grouped(u64::from(report.pages)),
        report.page_bytes
    ));
    let phases = report.phases.iter().map(|phase| format!("{} {:.2} s", phase.name, phase.seconds));
    printer.detail(&phases.collect::<Vec<_>>().join(", "));
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

fn counted_indexes(number: usize) -> String {
    if number == 1 { "1 index".to_owned() } else { format!("{} indexes", grouped(number as u64)) }
}
