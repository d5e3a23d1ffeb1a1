//! `sqluice completions`.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Command, CommandFactory};
use sqluice::r#gen::PRESETS;

use crate::Exit;
use crate::args::{Args, Completions};
use crate::printer::Printer;

/// The flag of built-in schemas.
const PRESET: &str = "preset";

pub(super) fn run(args: &Completions, printer: &Printer) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut with_presets(Args::command()), "sqluice", &mut script);
    printer.data(&String::from_utf8(script)?)?;
    Ok(Exit::SUCCESS)
}

/// Lists the presets as the values of their flag. The parser takes any name, since its error about an unknown one says more.
fn with_presets(command: Command) -> Command {
    let has_presets = |verb: &Command| verb.get_arguments().any(|arg| arg.get_id() == PRESET);
    command.mut_subcommands(|verb| match has_presets(&verb) {
        true => verb.mut_arg(PRESET, |arg| {
            let presets = PRESETS.iter().map(|preset| PossibleValue::new(preset.name).help(preset.about));
            let tpch = PossibleValue::new("tpch").help("the tables of TPC-H");
            arg.value_parser(PossibleValuesParser::new(presets.chain([tpch])))
        }),
        false => verb,
    })
}
