//! The `sqluice` command as a function, which the binary and the Python package's console script call.
//!
//! The modules, from the bottom up. Each module uses only modules above it in this list:
//!
//! * `quantities`: numbers for people; `table`: text in columns; `terms`: settings as flags
//! * `settings`: declared settings as flags; `failure`, `signals`, `progress`
//! * `args`: the arguments; `printer`: the output; `commands`: the commands, a file for each

mod args;
mod commands;
mod failure;
mod printer;
mod progress;
mod quantities;
mod settings;
mod signals;
mod table;
mod terms;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{ColorChoice, FromArgMatches};

/// The exit code of the command: 0 for success, 1 for a fault of the input or the target, 2 for wrong usage, 130 if interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(u8);

impl Exit {
    /// The command succeeded.
    pub const SUCCESS: Exit = Exit(0);
    /// The input or the target is at fault.
    pub const FAILURE: Exit = Exit(1);

    /// Returns the exit status of the process.
    pub fn code(self) -> u8 {
        self.0
    }
}

impl From<u8> for Exit {
    fn from(code: u8) -> Exit {
        Exit(code)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.0)
    }
}

/// Returns the colour choice of the arguments. It is needed before the arguments are parsed, because the parser prints help and errors,
/// too.
fn color(args: &[OsString]) -> ColorChoice {
    let args: Vec<_> = args.iter().take_while(|arg| *arg != "--").filter_map(|arg| arg.to_str()).collect();
    let after = |flag: &&[&str]| flag[0] == "--color";
    let given = args.iter().find_map(|arg| arg.strip_prefix("--color="));
    let given = given.or(args.windows(2).find(after).map(|flag| flag[1]));
    given.and_then(|choice| choice.parse().ok()).unwrap_or(ColorChoice::Auto)
}

/// Scales all waits by the factor in `SQLUICE_WAITS`, which tests set.
fn scale_waits() -> anyhow::Result<()> {
    let Some(factor) = std::env::var_os("SQLUICE_WAITS") else { return Ok(()) };
    let is_valid = factor.to_str().and_then(|text| text.parse().ok()).is_some_and(sqluice::waits::scale);
    let wrong = || sqluice::error::Error::usage("SQLUICE_WAITS is not a number from 0 to 1000");
    if is_valid { Ok(()) } else { Err(wrong().hint("unset this variable: it is one of tests").into()) }
}

/// Runs the command with its arguments, beginning with its name. Handles the signals that request to stop, and writes to standard output
/// and standard error.
pub fn run(args: impl IntoIterator<Item = OsString>) -> Exit {
    let given: Vec<OsString> = args.into_iter().collect();
    if given.len() < 2 {
        // A closed standard error is ignored.
        let _ = io::stderr().write_all(args::WELCOME.as_bytes());
        return Exit(2);
    }
    let mut command = args::command().color(color(&given));
    let matches = command.try_get_matches_from_mut(&given);
    let args = match matches.and_then(|matches| args::Args::from_arg_matches(&matches)) {
        Ok(args) => args,
        // Clap also returns help as an error.
        Err(error) => {
            let is_flag = |arg: &&OsString| *arg != "--";
            let wants_json = given.iter().take_while(is_flag).any(|arg| arg == "--json");
            // A closed pipe is ignored.
            let _ = match wants_json && error.use_stderr() {
                true => printer::print_json(&failure::Failure::of_arguments(&error)),
                false => error.print().map_err(Into::into),
            };
            return Exit(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let printer = printer::Printer::new(&args.global);
    if let Err(error) = scale_waits() {
        return printer.error(&error);
    }
    let cancel = sqluice::progress::Cancel::new();
    let done = signals::listen(&cancel).and_then(|()| commands::run(&args, &printer, &cancel));
    match done {
        Ok(exit) => exit,
        Err(error) => printer.error(&error),
    }
}
