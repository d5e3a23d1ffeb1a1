//! The `sqluice` command as a function, which the binary and the Python package's console script call.
//!
//! The modules, from the bottom up. Each module uses only modules above it in this list:
//!
//! * `quantities`: numbers for people; `shell`: command lines as text; `table`: text in columns; `terms`: settings as flags
//! * `settings`: declared settings as flags; `failure`, `signals`, `progress`
//! * `args`: the arguments; `meant`: command lines without a command or with a mistake; `printer`: the output
//! * `commands`: the commands, a file for each

mod args;
mod commands;
mod failure;
mod meant;
mod printer;
mod progress;
mod quantities;
mod settings;
mod shell;
mod signals;
mod table;
mod terms;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use args::Args;
use clap::{ColorChoice, Command, FromArgMatches};
use meant::{Meaning, Mistake};

/// The exit code of the command: 0 for success, 1 for an error of the input or the target, 2 for wrong usage, 3 if a recovery succeeded and
/// found damage, 130 if interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(u8);

impl Exit {
    /// The command succeeded.
    pub const SUCCESS: Exit = Exit(0);
    /// The input or the target is at fault.
    pub const FAILURE: Exit = Exit(1);
    /// A recovery succeeded, and found that the database is damaged.
    pub const DAMAGED: Exit = Exit(3);

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
    if is_valid { Ok(()) } else { Err(wrong().hint("unset this variable: it is for tests").into()) }
}

/// Parses a command line.
fn parse(command: &mut Command, given: &[OsString]) -> Result<Args, clap::Error> {
    let matches = command.try_get_matches_from_mut(given)?;
    Args::from_arg_matches(&matches)
}

/// Handles a command line that the parser refuses. If it names only files, such as `sqluice orders.csv`, returns the arguments of the
/// command that fits the files. If not, prints the error, or the help, which the parser also returns as an error.
fn of_files(command: &mut Command, given: &[OsString], error: clap::Error) -> Result<Args, Exit> {
    if !error.use_stderr() {
        return Err(print_refused(given, &error));
    }
    match meant::of_files(given, command) {
        Some(Meaning::Run(whole)) => {
            let mut args = parse(command, &whole).map_err(|error| refuse(command, &whole, &error))?;
            if let args::Command::Load(load) = &mut args.command {
                load.is_first = true;
            }
            Ok(args)
        }
        Some(Meaning::Refused(mistake)) => Err(print_mistake(given, mistake)),
        None => Err(refuse(command, given, &error)),
    }
}

/// Prints why a command line is refused, and the corrected line if it can be guessed.
fn refuse(command: &mut Command, given: &[OsString], error: &clap::Error) -> Exit {
    let program = command.clone();
    let mistake = meant::mistake(given, &program, error, |words| parse(command, words).map(|_| ()));
    match mistake {
        Some(mistake) => print_mistake(given, mistake),
        None => print_refused(given, error),
    }
}

/// Prints the part of the help about a word: `sqluice help WORD`.
fn print_topic(command: &Command, given: &[OsString], word: &str) -> Exit {
    match args::topic(command, word) {
        Some(topic) => printer::print(topic.as_bytes()).map_or(Exit::FAILURE, |()| Exit::SUCCESS),
        None => {
            let message = format!("the help has nothing about {word}");
            print_mistake(given, Mistake { message, line: "sqluice --help".to_owned() })
        }
    }
}

fn print_mistake(given: &[OsString], Mistake { message, line }: Mistake) -> Exit {
    let global = args::Global { json: wants_json(given), color: color(given), ..args::Global::default() };
    let error = sqluice::error::Error::usage(message).hint(line);
    printer::Printer::new(&global, given).error(&error.into())
}

fn print_refused(given: &[OsString], error: &clap::Error) -> Exit {
    // If the pipe is closed, nobody reads the error, so a failure to print it is ignored.
    let _ = match wants_json(given) && error.use_stderr() {
        true => printer::print_json(&failure::Failure::of_arguments(error)),
        false => error.print().map_err(Into::into),
    };
    Exit(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn wants_json(given: &[OsString]) -> bool {
    given.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json")
}

/// Runs the command with its arguments, beginning with its name. Handles the signals that request to stop, and writes to standard output
/// and standard error.
pub fn run(args: impl IntoIterator<Item = OsString>) -> Exit {
    let given: Vec<OsString> = args.into_iter().collect();
    if let Some(exit) = commands::completions::answer(&given) {
        return exit;
    }
    if given.len() < 2 {
        // If standard error is closed, nobody reads the text, so a failure to write it is ignored.
        let _ = io::stderr().write_all(args::WELCOME.as_bytes());
        return Exit(2);
    }
    let mut command = args::command().color(color(&given));
    let given = meant::with_help_behind(given, &command);
    if let [_, help, word] = &given[..]
        && help == "help"
        && command.find_subcommand(word).is_none()
    {
        return print_topic(&command, &given, &word.to_string_lossy());
    }
    let args = match parse(&mut command, &given).or_else(|error| of_files(&mut command, &given, error)) {
        Ok(args) => args,
        Err(exit) => return exit,
    };
    let printer =
        printer::Printer::new(&args.global, &given).all_or_nothing(args.command.is_all_or_nothing());
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
