//! `sqluice load`.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use sqluice::error::Error;
use sqluice::input::Encoding;
use sqluice::load::{self, FormatOptions};
use sqluice::options::IfExists;
use sqluice::progress::Cancel;
use sqluice::report::{SkippedFile, padded_in_words, recognised_in_words};
use sqluice::schema::Schema;
#[cfg(feature = "parquet")]
use sqluice::source::arrow::ArrowOptions;
use sqluice::source::json::RecordsPath;
use sqluice_format::database::MAGIC;

use super::{
    columns, print_details, print_done, print_json, print_plan, print_side_effects, refuse_page_size,
    replaced,
};
use crate::Exit;
use crate::args::Load;
use crate::formats::Role;
use crate::printer::Printer;
use crate::quantities::counted;
use crate::terms;

pub(super) fn run(args: &Load, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Exit> {
    refuse_swapped(&args.db)?;
    refuse_page_size(&args.write, Some(&args.db))?;
    if io::stdin().is_terminal() && args.files.iter().any(|file| file == Path::new("-")) {
        printer.note("note: reading from the terminal; Ctrl-D ends the input");
    }
    let write = args
        .write
        .options()
        .on_conflict(args.on_conflict.map(Into::into).unwrap_or_default())
        .if_exists(if_exists(args));
    let mut load = load::Load::new(&args.db, &args.files)
        .format(format(args)?)
        .name_from(args.name_from.into())
        .schema(args.schema.as_deref().map(Schema::read).transpose()?)
        .types(args.types.clone())
        .convert(args.convert())
        .strict(args.strict)
        .add_columns(args.add_columns)
        .limit(args.limit)
        .lossy(args.lossy)
        .overwrite_reject(args.overwrite_reject)
        .rejects_max(args.max_rejects.unwrap_or(u64::MAX))
        .skip_bad_files(args.skip_bad_files)
        .primary_key(&args.primary_key)
        .indexes(&args.index)
        .uniques(&args.unique)
        .without_rowid(args.without_rowid)
        .write(write);
    #[cfg(feature = "parquet")]
    {
        load.arrow = ArrowOptions::new().decimal(args.decimal.into()).timestamp(args.timestamp.into());
    }
    load.table.clone_from(&args.table);
    load.columns.clone_from(&args.columns);
    load.reject.clone_from(&args.reject);
    let mut prepared = printer.watched(cancel, |context| load.prepare(context))?;
    if args.write.dry_run {
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
    replaced::confirm(prepared.plan().wanted(), args.write.yes, files, printer, cancel)?;
    let report = printer.watched(cancel, |context| prepared.run(context))?;
    if printer.is_json() {
        print_json(&report, printer)?;
    } else {
        print_done("Loaded", &counted(report.rows, "row"), &report, printer);
        let recognised = recognised_in_words(&report.inputs, |files| counted(files, "file"));
        printer.note(&format!("  read {recognised}"));
        print_side_effects(&report, args.reject.as_deref(), printer);
        if let Some(padded) = padded_in_words(&report.inputs, |rows| counted(rows, "row")) {
            printer.note(&format!("  {padded}"));
        }
        print_details(&report, printer);
        columns::summarize(&report.tables, printer);
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

/// How an existing table is handled.
fn if_exists(args: &Load) -> IfExists {
    match &args.upsert {
        Some(keys) => IfExists::Upsert(keys.clone()),
        None if args.append => IfExists::Append,
        None if args.replace_table => IfExists::Replace,
        None => IfExists::Fail,
    }
}

/// Refuses an existing database file that looks like a file to load: the two were named the wrong way round.
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

fn format(args: &Load) -> Result<FormatOptions, Error> {
    let mut format = FormatOptions::new()
        .format(args.format)
        .header(if args.header { Some(true) } else { args.no_header.then_some(false) })
        .skip_lines(args.skip_lines)
        .null(&args.null)
        .empty_as_text(args.empty_as_text)
        .pad(args.pad)
        .strict_quotes(args.strict_quotes)
        .encoding(args.encoding.as_deref().map(str::parse::<Encoding>).transpose()?)
        .records(args.records.as_deref().map(RecordsPath::parse).transpose()?);
    format.delimiter = args.delimiter;
    format.quote = args.quote.map(Role::character);
    format.escape = args.escape.map(Role::character);
    format.comment = args.comment.map(Role::character);
    Ok(format)
}
