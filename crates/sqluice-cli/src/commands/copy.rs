//! `sqluice copy`: copies a database, or a sample or masked rows of it, and prints what differs in the copy.

use sqluice::copy::{self, ChosenSetting, CopyReport, MaskPlan, Purpose, SelectedRows};
use sqluice::error::Setting;
use sqluice::progress::{Cancel, Context};

use super::generate::print_preview;
use super::{print_phases, print_planned, replaced};
use crate::Exit;
use crate::args::Copy;
use crate::printer::Printer;
use crate::quantities::{counted, elapsed, grouped, listed, rate, size};

pub(super) fn run(args: &Copy, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Exit> {
    let mut copy = copy::Copy::new(&args.source, &args.target);
    args.flags.hand_over(&mut [&mut copy])?;
    let context = Context::default().cancel(cancel);
    if let Some(rows) = args.flags.get(Setting::Preview) {
        return print_preview(&copy.preview(rows, &context)?, printer);
    }
    let copy = copy.connect(&context)?;
    if args.flags.has(Setting::DryRun) {
        return print_planned(copy.prepare(&context)?.plan(), printer);
    }
    let is_file = !copy.is_in_place() && copy.purpose != Some(Purpose::D1);
    let wanted = Some(copy.wanted()).filter(|_| is_file);
    replaced::confirm(wanted, args.flags.has(Setting::Yes), [], printer, cancel)?;
    let report = printer.watched(cancel, |context| copy.run_with(context))?;
    if printer.is_json() {
        printer.json(&report)?;
    } else {
        summarize(&report, printer);
    }
    Ok(Exit::SUCCESS)
}

fn summarize_masks(plan: &MaskPlan, printer: &Printer) {
    let columns = counted(plan.columns.len() as u64, "column");
    match plan.random_key {
        true => printer.note(&format!("  {columns} masked with a random key, which is not stored")),
        false => printer.note(&format!("  {columns} masked; the same key gives the same values")),
    }
    plan.columns.iter().for_each(|column| printer.detail(&format!("  {column}")));
    plan.rebuilt
        .iter()
        .for_each(|table| printer.note(&format!("  table {table} was rebuilt from the new rows")));
    plan.dropped.iter().for_each(|table| {
        printer.note(&format!("  left out: table {table}, which has samples of column values"))
    });
    if !plan.comments.is_empty() {
        printer.detail(&format!("  comments were removed: {}", plan.comments.join(", ")));
    }
    plan.stripped.iter().for_each(|text| printer.note(&format!("  {text}")));
    plan.warnings.iter().for_each(|warning| printer.warn(&format!("warning: {warning}")));
    plan.second_places.iter().for_each(|place| printer.warn(&format!("warning: {place}")));
    plan.remarks.iter().for_each(|remark| printer.note(&format!("  not masked: {remark}")));
    plan.weak.iter().for_each(|remark| printer.note(&format!("  weak mask: {remark}")));
    plan.literals.iter().for_each(|literal| printer.note(&format!("  {literal}")));
}

fn summarize_rows(rows: &SelectedRows, printer: &Printer) {
    rows.tables.iter().for_each(|table| printer.note(&format!("  left out: {table}")));
    for reference in &rows.references {
        match reference.orphans {
            0 => printer.note(&format!("  {reference}")),
            _ => printer.warn(&format!("warning: {reference}")),
        }
    }
    if rows.sees_old_values {
        printer.note("  --where conditions were tested with the old values of masked columns");
    }
}

fn summarize(report: &CopyReport, printer: &Printer) {
    let CopyReport { target, seconds, tables, indexes, .. } = report;
    let mut of = vec![counted(tables.len() as u64, "table")];
    of.extend((!indexes.is_empty()).then(|| counted(indexes.len() as u64, "index")));
    printer.done(
        "Copied",
        &format!(
            "{} of {} to {}: {} (source: {}) in {} ({})",
            counted(report.rows, "row"),
            listed(&of),
            target.display(),
            size(report.bytes),
            size(report.source_bytes),
            elapsed(*seconds),
            rate(report.rows, *seconds)
        ),
    );
    if report.fetched {
        printer.detail(&format!("  {} was fetched to a temporary file", report.source.display()));
    }
    for ChosenSetting { name, value, why, .. } in &report.chosen {
        let purpose = report.purpose.map_or("", Purpose::name);
        printer.note(&format!("  for {purpose}: {} {value}: {why}", name.replace('_', " ")));
    }
    match (report.purpose, &report.files[..]) {
        (Some(Purpose::D1), files) => printer.note(&format!(
            "  {}; run them in order: for f in {}/*.sql; do npx wrangler d1 execute DATABASE --remote --file \"$f\"; done",
            counted(files.len() as u64, "file"),
            target.display()
        )),
        (_, [file, ..]) => printer.note(&format!(
            "  for datasette: {}; serve both with: datasette -i {} --inspect-file {}",
            file.display(),
            target.display(),
            file.display()
        )),
        _ => {}
    }
    replaced::summarize(report.replaced.as_ref(), report.replacement.as_ref(), Some(target), printer);
    replaced::summarize_removed(&report.removed, printer);
    report.selected.iter().for_each(|rows| summarize_rows(rows, printer));
    report.mask.iter().for_each(|plan| summarize_masks(plan, printer));
    for table in tables.iter().filter(|table| table.sorted) {
        printer.note(&format!("  table {} was out of order and was sorted", table.name));
    }
    for index in indexes {
        if index.sorted {
            printer.note(&format!("  index {} was out of order and was sorted", index.name));
        }
        if let Some(why) = &index.unverified {
            printer.note(&format!(
                "  index {} was copied unchanged; its order was not verified: {why}",
                index.name
            ));
        }
    }
    for object in &report.left_out {
        printer.note(&format!("  left out: {object}"));
    }
    for broken in &report.broken {
        printer.warn(&format!("warning: {broken} does not work in the copy"));
    }
    if report.source_journal_mode == "wal" {
        printer.detail("  the source is in journal mode wal");
    }
    if report.pages == 0 {
        // The copy is a folder of SQL files: it has no pages to report.
        return;
    }
    printer.detail(&format!(
        "  {}, {} writes, {} of {} bytes",
        counted(report.threads as u64, "thread"),
        report.output,
        counted(u64::from(report.pages), "page"),
        report.page_bytes
    ));
    printer.detail(&format!(
        "  {} copied as they are, {} rewritten",
        counted(report.relocated_leaves, "leaf page"),
        grouped(report.rewritten_leaves)
    ));
    print_phases(&report.phases, printer);
    for table in tables {
        printer.detail(&format!(
            "  {}: {}, {}, {} copied as they are, {}{}",
            table.name,
            counted(table.rows, "row"),
            counted(table.leaf_pages, "leaf page"),
            grouped(table.relocated_leaves),
            counted(table.overflow_pages, "overflow page"),
            root(table.root_page)
        ));
    }
    for index in indexes {
        printer.detail(&format!(
            "  {}: {}, {}, {} copied as they are{}",
            index.name,
            counted(index.entries, "entry"),
            counted(index.leaf_pages, "leaf page"),
            grouped(index.relocated_leaves),
            root(index.root_page)
        ));
    }
}

fn root(page: Option<u32>) -> String {
    page.map_or(String::new(), |page| format!(", root {page}"))
}
