//! `sqluice generate`: generates rows for a schema, a preset or a profile, or shows some of them (`--preview`).

use std::fmt::Write as _;
use std::path::PathBuf;

use sqluice::error::{Error, Setting};
use sqluice::generate::{self, Extent, Preview, PreviewValue};
use sqluice::given::RowCount;
use sqluice::profile::Profile;
use sqluice::progress::{Cancel, Context};
use sqluice::report::Report;
use sqluice::schema::Schema;
#[cfg(feature = "tpch")]
use sqluice::tpch::Tpch;

use super::{
    print_details, print_done, print_json, print_plan, print_side_effects, refuse_page_size, replaced,
};
use crate::Exit;
use crate::args::Generate;
use crate::printer::Printer;
use crate::quantities::counted;
use crate::table::{Align, Table};

pub(super) fn run(args: &Generate, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Exit> {
    let (target, schema) = files(args)?;
    refuse_page_size(&args.flags, target.as_deref())?;
    let preset: Option<String> = args.flags.get(Setting::Preset);
    if preset.as_deref() == Some("tpch") {
        return tpch(args, target, printer, cancel);
    }
    if args.flags.has(Setting::Scale) {
        let error = Error::usage("only the preset tpch has a scale").hint("--rows says how many rows");
        return Err(error.into());
    }
    let given: Vec<RowCount> = args.flags.get(Setting::Rows).unwrap_or_default();
    let counts: Vec<_> = given.iter().filter_map(count).collect();
    let (schema, rows) = match (&preset, schema) {
        (Some(preset), _) => {
            let preset = generate::Preset::find(preset)?;
            (preset.schema()?, preset.rows(&counts))
        }
        (None, Some(file)) => (Schema::read(&file)?, counts),
        (None, None) => (like(args, printer, cancel)?, counts),
    };
    let mut generate = generate::Generate::without_target(schema).target(target);
    generate.rows = rows;
    let per_parent = given.iter().filter_map(|rows| match rows {
        RowCount::PerParent(table, factor) => Some((table.clone(), *factor)),
        RowCount::Count(..) => None,
    });
    generate.extent = Extent::new().per_parent(per_parent).share(args.flags.get::<(u64, u64)>(Setting::Part));
    args.flags.hand_over(&mut [&mut generate])?;
    let context = Context::default().cancel(cancel);
    if let Some(rows) = args.flags.get(Setting::Preview) {
        return print_preview(&generate.preview(rows, &context)?, printer);
    }
    let prepared = generate.prepare(&context)?;
    if args.flags.has(Setting::DryRun) {
        return print_plan(prepared.plan(), printer);
    }
    for note in &prepared.spec().notes {
        printer.warn(&format!("warning: {note}"));
    }
    replaced::confirm(prepared.plan().wanted(), args.flags.has(Setting::Yes), [], printer, cancel)?;
    let report = printer.watched(cancel, |context| prepared.run(context))?;
    print_report(&report, printer)
}

/// Describes the database that `--like` names, as a schema with `gen:` comments.
fn like(args: &Generate, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Schema> {
    let source: Option<PathBuf> = args.flags.get(Setting::Like);
    let source = source.ok_or_else(|| Error::usage("no schema is named"))?;
    let threads: Option<usize> = args.flags.get(Setting::Threads);
    let report =
        printer.watched(cancel, |context| Profile::new(source).threads(threads).run_with(context))?;
    for note in &report.notes {
        printer.warn(&format!("warning: {note}"));
    }
    Ok(report.schema()?)
}

fn print_report(report: &Report, printer: &Printer) -> anyhow::Result<Exit> {
    if printer.is_json() {
        print_json(report, printer)?;
    } else {
        print_done("Generated", &counted(report.rows, "row"), report, printer);
        print_side_effects(report, None, printer);
        print_details(report, printer);
    }
    Ok(Exit::SUCCESS)
}

#[cfg(feature = "tpch")]
fn tpch(
    args: &Generate,
    target: Option<PathBuf>,
    printer: &Printer,
    cancel: &Cancel,
) -> anyhow::Result<Exit> {
    let scale = args.flags.get(Setting::Scale).ok_or_else(|| {
        Error::usage("the scale of TPC-H is missing")
            .hint("--scale 1 is 8.7 million rows and 1.3 GB, --scale 0.01 a hundredth of that")
    })?;
    let mut tpch = Tpch::without_target(scale).target(target);
    args.flags.hand_over(&mut [&mut tpch])?;
    let prepared = tpch.prepare(&Context::default().cancel(cancel))?;
    if args.flags.has(Setting::DryRun) {
        return print_plan(prepared.plan(), printer);
    }
    replaced::confirm(prepared.plan().wanted(), args.flags.has(Setting::Yes), [], printer, cancel)?;
    let report = printer.watched(cancel, |context| prepared.run(context))?;
    print_report(&report, printer)
}

#[cfg(not(feature = "tpch"))]
fn tpch(_: &Generate, _: Option<PathBuf>, _: &Printer, _: &Cancel) -> anyhow::Result<Exit> {
    Err(Error::without_feature("this build does not have the preset tpch", "tpch").into())
}

fn count(rows: &RowCount) -> Option<(Option<String>, u64)> {
    match rows {
        RowCount::Count(table, rows) => Some((table.clone(), *rows)),
        RowCount::PerParent(..) => None,
    }
}

/// The maximum number of characters of a value in a preview.
const WIDTH_MAX: usize = 40;

/// Prints a plain-text table for each table.
pub(super) fn print_preview(previews: &[Preview], printer: &Printer) -> anyhow::Result<Exit> {
    if printer.is_json() {
        printer.json(&previews)?;
        return Ok(Exit::SUCCESS);
    }
    let mut text = String::new();
    for (index, Preview { table, columns, rows, .. }) in previews.iter().enumerate() {
        let shown = |value: &PreviewValue| {
            let line = value.to_string().replace(['\n', '\r', '\t'], " ");
            let cut = line.chars().count() > WIDTH_MAX;
            if cut { line.chars().take(WIDTH_MAX - 3).chain("...".chars()).collect() } else { line }
        };
        if index > 0 {
            text.push('\n');
        }
        let mut lines = Table::new(
            columns.iter().zip(aligns(columns.len(), rows)).map(|(name, align)| (name.clone(), align)),
        );
        rows.iter().for_each(|row| lines.row(row.iter().map(shown).collect()));
        let _ = writeln!(text, "{}", printer.bold_data(table));
        lines.render(|line| printer.bold_data(line)).lines().for_each(|line| {
            let _ = writeln!(text, "  {line}");
        });
    }
    printer.data(&text)?;
    Ok(Exit::SUCCESS)
}

/// Aligns numbers to the right, and other values to the left.
fn aligns(columns: usize, rows: &[Vec<PreviewValue>]) -> Vec<Align> {
    let is_number = |row: &Vec<PreviewValue>, column: usize| {
        matches!(row[column], PreviewValue::Int(_) | PreviewValue::Real(_))
    };
    let align = |column: usize| match rows.iter().all(|row| is_number(row, column)) {
        true => Align::Right,
        false => Align::Left,
    };
    (0..columns).map(align).collect()
}

/// Returns the database and the schema file among the arguments. With `--discard` there is no database, with `--preset` or `--like` no
/// schema file.
fn files(args: &Generate) -> Result<(Option<PathBuf>, Option<PathBuf>), Error> {
    let mut files = args.files.iter().cloned();
    let [has_preset, is_like, discards] =
        [Setting::Preset, Setting::Like, Setting::Discard].map(|setting| args.flags.has(setting));
    let has_schema = has_preset || is_like;
    // A preview needs no database, but one may be named: the user may just have added `--preview` to a command line.
    let shows = args.flags.has(Setting::Preview);
    let nowhere = discards || (shows && args.files.len() < 2 - usize::from(has_schema));
    let target = if nowhere { None } else { files.next() };
    let schema = if has_schema { None } else { files.next() };
    if !nowhere && target.is_none() {
        return Err(Error::usage("no database is named").hint("name one, or write nothing: --discard"));
    }
    if !has_schema && schema.is_none() {
        return Err(Error::usage("no schema is named")
            .hint("name a file with CREATE TABLE statements, or a built-in schema: --preset user"));
    }
    match files.next() {
        None => Ok((target, schema)),
        Some(extra) => {
            let by = if is_like { "--like" } else { "--preset" };
            let reason = match (discards, has_schema) {
                (true, true) => format!(
                    "--discard makes no database, and {by} takes the place of the schema file: name no file"
                ),
                (true, false) => "--discard makes no database: name only the schema file".to_owned(),
                (false, _) => format!("{by} takes the place of the schema file: name only the database"),
            };
            Err(Error::usage(format!("unexpected argument {}", extra.display())).hint(reason))
        }
    }
}
