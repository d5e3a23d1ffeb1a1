//! `sqluice load`.

use std::process::ExitCode;

use sqluice::load;
use sqluice::progress::Cancel;
use sqluice::schema::Schema;

use super::{print_plan, print_report};
use crate::args::Load;
use crate::printer::Printer;

pub(super) fn run(args: &Load, printer: &Printer, cancel: &Cancel) -> anyhow::Result<ExitCode> {
    let load = load::Load {
        target: args.db.clone(),
        file: args.file.clone(),
        table: args.table.clone(),
        schema: args.schema.as_deref().map(Schema::read).transpose()?,
        empty_as_text: args.empty_as_text,
        write: args.write.options(),
    };
    let prepared = load.prepare()?;
    if args.write.dry_run {
        return print_plan(prepared.plan(), printer);
    }
    let report = prepared.run(&*printer.progress(), cancel)?;
    print_report(&report, printer)
}
