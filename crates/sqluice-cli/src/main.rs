//! The program `sqluice`: runs the command with the arguments of the process.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(feature = "parquet")]
    sqluice::source::arrow::silence_reader_panics();
    sqluice_cli::run(std::env::args_os()).into()
}
