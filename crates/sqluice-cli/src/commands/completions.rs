//! `sqluice completions`, and the answers to the shells that run its script.
//!
//! The script calls this program each time the user presses Tab, with the words of the line. So it can complete what a fixed script can't
//! know, such as the tables of the database on the line.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use clap::Command;
use clap_complete::env::{CompleteEnv, Shells};
use clap_complete::{ArgValueCandidates, CompletionCandidate};
use sqluice::r#gen::PRESETS;
use sqluice::progress::Cancel;
use sqluice_reader::Snapshot;
use sqluice_reader::snapshot::ReadOptions;

use crate::Exit;
use crate::args::{self, Completions};
use crate::meant::begins_as_database;
use crate::printer::Printer;

/// The environment variable in which the script passes the name of its shell.
const SHELL: &str = "SQLUICE_COMPLETE";

/// The name of the program in the script.
const PROGRAM: &str = "sqluice";

pub(super) fn run(args: &Completions, printer: &Printer) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let shell = shells.completer(&args.shell.to_string()).expect("clap completes for its shells");
    shell.write_registration(SHELL, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    printer.data(&String::from_utf8(script)?)?;
    Ok(Exit::SUCCESS)
}

/// Prints completions if a shell's script has called this program. Returns `None` if a user has.
pub(crate) fn answer(given: &[OsString]) -> Option<Exit> {
    let words = given.to_vec();
    let completer = CompleteEnv::with_factory(|| with_values(args::command(), &words)).var(SHELL);
    let folder = std::env::current_dir().ok();
    match completer.try_complete(given.iter().cloned(), folder.as_deref()) {
        Ok(false) => None,
        Ok(true) => Some(Exit::SUCCESS),
        Err(error) => {
            // If the pipe is closed, nobody reads the error, so a failure to print it is ignored.
            let _ = error.print();
            Some(Exit::FAILURE)
        }
    }
}

/// Adds the completions of `--preset` and of arguments for tables, whose values clap does not know.
fn with_values(command: Command, words: &[OsString]) -> Command {
    command.mut_subcommands(|verb| {
        verb.mut_args(|arg| match arg.get_id().as_str() {
            "preset" => arg.add(ArgValueCandidates::new(presets)),
            "table" | "tables" => {
                let words = words.to_vec();
                arg.add(ArgValueCandidates::new(move || tables(&words)))
            }
            _ => arg,
        })
    })
}

fn presets() -> Vec<CompletionCandidate> {
    let presets = PRESETS.iter().map(|preset| (preset.name, preset.about));
    presets
        .chain([("tpch", "the tables of TPC-H")])
        .map(|(name, about)| CompletionCandidate::new(name).help(Some(about.into())))
        .collect()
}

/// Returns the tables and views of the databases among the words of a line.
fn tables(words: &[OsString]) -> Vec<CompletionCandidate> {
    let databases = words.iter().filter(|word| begins_as_database(Path::new(word)));
    databases.flat_map(|database| names(database)).map(CompletionCandidate::new).collect()
}

/// Returns the names of the tables and views of a database; none if it can't be read.
fn names(database: &OsStr) -> Vec<String> {
    let mut options = ReadOptions::new();
    // Don't wait for a locked database: the shell waits for the names.
    options.busy_timeout = Duration::ZERO;
    let snapshot = Snapshot::begin(Path::new(database), &options, &Cancel::new());
    let Ok(schema) = snapshot.and_then(|snapshot| snapshot.schema()) else { return Vec::new() };
    let objects = schema.objects.into_iter();
    objects.filter(|(kind, _)| matches!(&**kind, "table" | "view")).map(|(_, name)| name).collect()
}
