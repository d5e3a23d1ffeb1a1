//! `sqluice completions`.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::args::{Args, Completions};
use crate::printer::Printer;

pub(super) fn run(args: &Completions, printer: &Printer) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "sqluice", &mut script);
    printer.data(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}
