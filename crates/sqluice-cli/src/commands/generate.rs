//! `sqluice generate`.

use std::path::PathBuf;

use sqluice::error::Error;
use sqluice::generate;
use sqluice::plan::{IfThere, WriteOptions};
use sqluice::progress::Cancel;
use sqluice::schema::Schema;

use super::{print_plan, print_report, refuse_page_size};
use crate::Exit;
use crate::args::Generate;
use crate::printer::Printer;

pub(super) fn run(args: &Generate, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Exit> {
    let (target, schema) = files(args)?;
    refuse_page_size(&args.write, target.as_deref())?;
    let generate = generate::Generate {
        target,
        schema: match (&args.preset, schema) {
            (Some(preset), _) => generate::preset(preset)?,
            (None, Some(file)) => Schema::read(&file)?,
            (None, None) => unreachable!("`files` finds one of the two"),
        },
        rows: args.rows.clone(),
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
