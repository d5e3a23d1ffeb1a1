//! The `sqluice` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    sqluice_cli::run(std::env::args_os()).into()
}
