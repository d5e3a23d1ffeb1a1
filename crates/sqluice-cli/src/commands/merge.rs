//! `sqluice merge`: merges databases into one, and prints the rows of each table and which rows were left out.

use std::path::Path;

use sqluice::error::Setting;
use sqluice::merge::{self, MergeReport, MergedTable, Renumbered};
use sqluice::progress::{Cancel, Context};
use sqluice::remote;
use sqluice::report::Replaced;

use super::{print_phases, print_planned, replaced};
use crate::Exit;
use crate::args::Merge;
use crate::printer::Printer;
use crate::quantities::{counted, elapsed, grouped, listed, rate, size};

/// The maximum number of tables listed without `--verbose`.
const TABLES_MAX: usize = 20;

/// The maximum number of databases whose new numbers are listed without `--verbose`.
const RENUMBERED_MAX: usize = 5;

pub(super) fn run(args: &Merge, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Exit> {
    let mut merge = merge::Merge::new(&args.target, &args.sources);
    args.flags.hand_over(&mut [&mut merge])?;
    merge.sources = remote::expand_within(&merge.sources, &merge.write.requests, cancel)?;
    let context = Context::default().cancel(cancel);
    let merge = merge.connect(&context)?;
    if args.flags.has(Setting::DryRun) {
        return print_planned(merge.prepare(&context)?.plan(), printer);
    }
    replaced::confirm(Some(merge.wanted()), args.flags.has(Setting::Yes), [], printer, cancel)?;
    let report = printer.watched(cancel, |context| merge.run_with(context))?;
    if printer.is_json() {
        printer.json(&report)?;
    } else {
        summarize(args, &report, printer);
    }
    Ok(Exit::SUCCESS)
}

fn summarize(args: &Merge, report: &MergeReport, printer: &Printer) {
    let MergeReport { target, sources, seconds, tables, indexes, .. } = report;
    let source_bytes = sources.iter().map(|source| source.bytes).sum();
    let mut of = vec![counted(tables.len() as u64, "table")];
    of.extend((!indexes.is_empty()).then(|| counted(indexes.len() as u64, "index")));
    printer.done(
        "Merged",
        &format!(
            "{} into {}: {} of {}, {} (sources: {}) in {} ({})",
            counted(sources.len() as u64, "database"),
            target.display(),
            counted(report.rows, "row"),
            listed(&of),
            size(report.bytes),
            size(source_bytes),
            elapsed(*seconds),
            rate(report.rows, *seconds)
        ),
    );
    replaced::summarize(report.replaced.as_ref(), report.replacement.as_ref(), Some(target), printer);
    replaced::summarize_removed(&report.removed, printer);
    for source in &report.fetched {
        printer.detail(&format!("  {} was fetched to a temporary file", source.display()));
    }
    if let Some(before) = &report.before {
        printer.note(&added(target, before, report.rows));
    }
    for table in tables.iter().take(if printer.is_verbose() { usize::MAX } else { TABLES_MAX }) {
        summarize_table(table, printer);
    }
    if let Some(more @ 1..) = tables.len().checked_sub(TABLES_MAX).filter(|_| !printer.is_verbose()) {
        printer.note(&format!("  and {}; --verbose lists them", counted(more as u64, "more table")));
    }
    for orphans in &report.orphans {
        printer.note(&format!("  orphans: {orphans}"));
    }
    for table in &report.virtual_tables {
        printer.note(&format!("  virtual table {table}: made again, with the rows of all databases"));
    }
    for index in indexes.iter().filter(|index| index.sorted) {
        printer.note(&format!("  index {} was sorted", index.name));
    }
    summarize_left_out(args, report, printer);
    for source in sources {
        printer.detail(&format!(
            "  {}: {}, journal mode {}",
            source.path.display(),
            size(source.bytes),
            source.journal_mode
        ));
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
    for index in indexes {
        printer.detail(&format!("  {}: {}", index.name, counted(index.entries, "entry")));
    }
}

/// Returns the line about a target that existed before the merge: its number of rows before and after the merge.
fn added(target: &Path, before: &Replaced, rows: u64) -> String {
    let target = target.display();
    match before {
        Replaced { unread: Some(_), .. } => format!("  {target} existed; the rows were added to it"),
        Replaced { estimated, rows: before, .. } => {
            let about = if *estimated { "about " } else { "" };
            format!("  {target} had {about}{} before and has {} now", counted(*before, "row"), grouped(rows))
        }
    }
}

/// Prints the method by which a table was merged, its new rowids or keys, and the number of rows that were left out.
fn summarize_table(table: &MergedTable, printer: &Printer) {
    let MergedTable { name, rows, sources, .. } = table;
    let rows = counted(*rows, "row");
    let of = match sources {
        1 => String::new(),
        _ => format!(" of {sources} databases"),
    };
    printer.note(&format!("  {name}: {rows}{of}{}", how(table)));
    // Without `--verbose`, new rowids are listed only if a column is the rowid: other rowids are not visible to users.
    let listed = match (printer.is_verbose(), table.new_keys) {
        (true, _) => usize::MAX,
        (false, true) => RENUMBERED_MAX,
        (false, false) => 0,
    };
    for Renumbered { source, added, .. } in table.renumbered.iter().take(listed) {
        let (added, source) = (grouped(added.unsigned_abs()), source.display());
        let keys = if table.new_keys { "keys" } else { "rowids" };
        printer.note(&format!("    the {keys} of {source} are raised by {added}"));
    }
    if let Some(more @ 1..) = table.renumbered.len().checked_sub(listed).filter(|_| table.new_keys) {
        printer.note(&format!("    and {}; --verbose lists them", counted(more as u64, "more database")));
    }
    for column in &table.following {
        printer.note(&format!("    column {column} follows the new numbers"));
    }
    for note in &table.notes {
        printer.note(&format!("    {note}"));
    }
    if table.left_out > 0 {
        let (was, their) = if table.left_out == 1 { ("was", "its key") } else { ("were", "their keys") };
        printer.note(&format!(
            "    {} {was} left out, because other rows have {their}",
            counted(table.left_out, "row")
        ));
    }
    printer.detail(&format!(
        "    {}, {} copied as they are",
        counted(table.leaf_pages, "leaf page"),
        grouped(table.relocated_leaves)
    ));
}

/// Describes how a table was merged.
fn how(table: &MergedTable) -> String {
    let how = match (table.method, &table.why) {
        ("inserted", Some(why)) => return format!(", inserted by SQLite: {why}"),
        ("copied", _) if table.sources == 1 => return String::new(),
        ("copied", _) if table.rows == 0 => return String::new(),
        ("copied", _) => "only one of them has rows",
        ("concatenated", _) => "one after another",
        ("interleaved", _) => "merged by their keys",
        ("renumbered", _) if table.new_keys => "one after another, with new keys",
        ("renumbered", _) => "one after another, with new rowids",
        (other, _) => other,
    };
    format!(", {how}")
}

/// Prints the objects that were left out, by request or because they are statistics.
fn summarize_left_out(args: &Merge, report: &MergeReport, printer: &Printer) {
    let (statistics, objects): (Vec<&String>, Vec<_>) =
        report.left_out.iter().partition(|object| object.starts_with("statistics"));
    for object in objects {
        printer.note(&format!("  left out: {object}"));
    }
    if args.flags.has(Setting::Analyze) {
        printer.note("  statistics: created by ANALYZE");
    } else if !statistics.is_empty() {
        printer.note("  statistics of the sources were dropped; --analyze creates new ones");
    }
}
