//! `sqluice advise`: runs the measurements of `sqluice_lab`, and prints the report and recommendations.

use std::path::PathBuf;

use sqluice::error::Setting;
use sqluice::progress::Cancel;
use sqluice::schema::Schema;

use crate::Exit;
use crate::args::Advise;
use crate::printer::Printer;

pub(super) fn run(args: &Advise, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Exit> {
    let schema = Schema::read(&args.schema)?;
    let dir: PathBuf = args.flags.get(Setting::Dir).unwrap_or_default();
    let rows: Option<u64> = args.flags.get(Setting::Rows);
    let advise = sqluice_lab::advise::Advise::new(schema, &dir).rows(rows);
    let advised = printer.watched(cancel, |context| advise.run_with(context))?;
    if printer.is_json() {
        printer.json(&advised)?;
    } else {
        printer.data(&advised.to_string())?;
    }
    // A variant that wrote wrong rows is an error: this program or the disk is at fault.
    Ok(if advised.has_failed() { Exit::FAILURE } else { Exit::SUCCESS })
}
