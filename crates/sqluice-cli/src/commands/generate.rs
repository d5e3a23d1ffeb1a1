//! `sqluice generate`.

use std::path::PathBuf;
use std::process::ExitCode;

use sqluice::error::Error;
use sqluice::generate;
use sqluice::plan::{IfThere, WriteOptions};
use sqluice::progress::Cancel;
use sqluice::schema::Schema;
use sqluice::tpch::Tpch;

use super::{print_plan, print_report, refuse_page_size};
use crate::args::Generate;
use crate::printer::Printer;

pub(super) fn run(args: &Generate, printer: &Printer, cancel: &Cancel) -> anyhow::Result<ExitCode> {
    let (target, schema) = files(args)?;
    refuse_page_size(&args.write, target.as_deref())?;
    if let Some(scale) = scale(args)? {
        return tpch(args, target, scale, printer, cancel);
    }
    let (schema, rows) = match (&args.preset, schema) {
        (Some(preset), _) => {
            let preset = generate::Preset::find(preset)?;
            (preset.schema(&args.rows)?, preset.rows(&args.rows))
        }
        (None, Some(file)) => (Schema::read(&file)?, args.rows.clone()),
        (None, None) => unreachable!("`files` finds one of the two"),
    };
    let generate = generate::Generate {
        target,
        schema,
        rows,
        seed: args.seed,
        write: WriteOptions {
            if_there: if args.append { IfThere::Append } else { IfThere::Refuse },
            ..args.write.options()
        },
    };
    let prepared = generate.prepare()?;
    if args.write.dry_run {
        return print_plan(prepared.plan(), printer);
    }
    let report = prepared.run(&*printer.progress(), cancel)?;
    print_report(&report, None, printer)
}

/// The scale of TPC-H, if that is asked for.
fn scale(args: &Generate) -> Result<Option<f64>, Error> {
    match (args.preset.as_deref(), args.scale) {
        (Some("tpch"), None) => Err(Error::usage("how large shall TPC-H be?")
            .hint("--scale 1 is 8.7 million rows and 1.3 GB, --scale 0.01 a hundredth of that")),
        (Some("tpch"), scale) => Ok(scale),
        (_, Some(_)) => {
            Err(Error::usage("only the preset tpch has a scale").hint("--rows says how many rows"))
        }
        (_, None) => Ok(None),
    }
}

fn tpch(
    args: &Generate,
    target: Option<PathBuf>,
    scale: f64,
    printer: &Printer,
    cancel: &Cancel,
) -> anyhow::Result<ExitCode> {
    let prepared = Tpch { target, scale, write: args.write.options() }.prepare()?;
    if args.write.dry_run {
        return print_plan(prepared.plan(), printer);
    }
    let report = prepared.run(&*printer.progress(), cancel)?;
    print_report(&report, None, printer)
}

/// The database and the schema file among the arguments: each is there or not, as --discard and --preset say.
fn files(args: &Generate) -> Result<(Option<PathBuf>, Option<PathBuf>), Error> {
    let mut files = args.files.iter().cloned();
    let target = if args.discard { None } else { files.next() };
    let schema = if args.preset.is_some() { None } else { files.next() };
    if !args.discard && target.is_none() {
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
