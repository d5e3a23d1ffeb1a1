//! `sqluice completions`.

use clap::CommandFactory;

use crate::Exit;
use crate::args::{Args, Completions};
use crate::printer::Printer;

pub(super) fn run(args: &Completions, printer: &Printer) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "sqluice", &mut script);
    printer.data(&String::from_utf8(script)?)?;
    Ok(Exit::SUCCESS)
}
