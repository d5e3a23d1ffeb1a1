//! The `sqluice` command.

mod args;
mod commands;
mod formats;
mod numbers;
mod printer;
mod progress;
mod signals;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = args::Args::parse();
    let printer = printer::Printer::new(&args.global);
    let cancel = sqluice::progress::Cancel::new();
    let done = signals::listen(&cancel).and_then(|()| commands::run(&args, &printer, &cancel));
    match done {
        Ok(code) => code,
        Err(error) => printer.error(&error),
    }
}
