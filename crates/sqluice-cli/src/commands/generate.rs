//! `sqluice generate`.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use sqluice::error::Error;
use sqluice::generate::{self, Extent, Preview, PreviewValue};
use sqluice::plan::{IfThere, WriteOptions};
use sqluice::progress::Cancel;
use sqluice::schema::Schema;

use super::{print_plan, print_report, refuse_page_size};
use crate::args::{Generate, Rows};
use crate::printer::Printer;

pub(super) fn run(args: &Generate, printer: &Printer, cancel: &Cancel) -> anyhow::Result<ExitCode> {
    let (target, schema) = files(args)?;
    refuse_page_size(&args.write, target.as_deref())?;
    let generate = generate::Generate {
        target,
        schema: match (&args.preset, schema) {
            (Some(preset), _) => generate::preset(preset)?,
            (None, Some(file)) => Schema::read(&file)?,
            (None, None) => unreachable!("`files` finds one of the two"),
        },
        rows: args.rows.iter().filter_map(count).collect(),
        seed: args.seed,
        write: WriteOptions {
            if_there: if args.append { IfThere::Append } else { IfThere::Refuse },
            ..args.write.options()
        },
    };
    let per_parent = args.rows.iter().filter_map(|rows| match rows {
        Rows::PerParent(table, factor) => Some((table.clone(), *factor)),
        Rows::Count(..) => None,
    });
    let extent = Extent { per_parent: per_parent.collect(), share: args.part };
    let prepared = generate.prepare_extent(&extent)?;
    if let Some(rows) = args.preview {
        return print_preview(&prepared.preview(rows)?, printer);
    }
    if args.write.dry_run {
        return print_plan(prepared.plan(), printer);
    }
    for note in &prepared.spec().notes {
        printer.warn(note);
    }
    let report = prepared.run(&*printer.progress(), cancel)?;
    print_report(&report, None, printer)
}

fn count(rows: &Rows) -> Option<(Option<String>, u64)> {
    match rows {
        Rows::Count(table, rows) => Some((table.clone(), *rows)),
        Rows::PerParent(..) => None,
    }
}

/// Characters of a value that a preview shows.
const WIDTH_MAX: usize = 40;

/// Prints a table for each table, its columns below each other.
fn print_preview(previews: &[Preview], printer: &Printer) -> anyhow::Result<ExitCode> {
    if printer.is_json() {
        printer.json(&previews)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for (index, Preview { table, columns, rows }) in previews.iter().enumerate() {
        let shown = |value: &PreviewValue| {
            let line = value.to_string().replace(['\n', '\r', '\t'], " ");
            let cut = line.chars().count() > WIDTH_MAX;
            if cut { line.chars().take(WIDTH_MAX - 3).chain("...".chars()).collect() } else { line }
        };
        let lines: Vec<Vec<String>> = std::iter::once(columns.clone())
            .chain(rows.iter().map(|row| row.iter().map(shown).collect()))
            .collect();
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns.len()).map(width).collect();
        if index > 0 {
            text.push('\n');
        }
        let _ = writeln!(text, "{table}");
        for line in &lines {
            let cells = line.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
            let _ = writeln!(text, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
    }
    printer.data(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The database and the schema file among the arguments: each is there or not, as --discard and --preset say.
fn files(args: &Generate) -> Result<(Option<PathBuf>, Option<PathBuf>), Error> {
    let mut files = args.files.iter().cloned();
    // A preview is of no database; one may be named, because only --preview was added.
    let nowhere =
        args.discard || (args.preview.is_some() && args.files.len() < 2 - usize::from(args.preset.is_some()));
    let target = if nowhere { None } else { files.next() };
    let schema = if args.preset.is_some() { None } else { files.next() };
    if !nowhere && target.is_none() {
        return Err(
            Error::usage("no database is named").hint("name one, or make pages for nobody: --discard")
        );
    }
    if args.preset.is_none() && schema.is_none() {
        return Err(Error::usage("no schema is named")
            .hint("name a file with CREATE TABLE statements, or a built-in schema: --preset user"));
    }
    match files.next() {
        None => Ok((target, schema)),
        Some(extra) => {
            let reason = match (args.discard, args.preset.is_some()) {
                (true, true) => "with --discard no database is named, and with --preset no schema file",
                (true, false) => "with --discard no database is named, only a schema file",
                (false, _) => "with --preset no schema file is named, only a database",
            };
            Err(Error::usage(format!("{} is one file too many", extra.display())).hint(reason))
        }
    }
}
