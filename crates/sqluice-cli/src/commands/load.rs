//! `sqluice load`: refuses arguments in the wrong order, asks for a password, loads, and suggests the next commands.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use sqluice::error::{Error, Setting};
use sqluice::load::formats::{is_named_as_data, is_named_as_database};
use sqluice::load::{self, is_named_as_archive};
use sqluice::progress::Cancel;
use sqluice::remote;
use sqluice::report::{Report, SkippedFile, left_out_in_words, padded_in_words, recognised_in_words};

#[cfg(any(feature = "mysql", feature = "postgres"))]
use super::typed;
use super::{
    columns, print_details, print_done, print_json, print_plan, print_side_effects, refuse_page_size,
    replaced,
};
use crate::Exit;
use crate::args::Load;
use crate::meant::{self, begins_as_database};
use crate::printer::Printer;
use crate::quantities::counted;
use crate::terms;

pub(super) fn run(args: &Load, printer: &Printer, cancel: &Cancel) -> anyhow::Result<Exit> {
    refuse_password(args)?;
    refuse_swapped(args, printer)?;
    refuse_unquoted(args, printer)?;
    refuse_page_size(&args.flags, Some(&args.db))?;
    if io::stdin().is_terminal() && args.files.iter().any(|file| file == Path::new("-")) {
        printer.note("note: reading from the terminal; Ctrl-D ends the input");
    }
    let mut load = load::Load::new(&args.db, &args.files);
    args.flags.hand_over(&mut [&mut load])?;
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    if args.ask_password {
        load.server.password = Some(password(args, printer, cancel)?);
    }
    let reject = load.reject.clone();
    let mut prepared = printer.watched(cancel, |context| load.prepare(context))?;
    if args.flags.has(Setting::DryRun) {
        printer.watched(cancel, |context| prepared.settle_types(context))?;
        let plan = prepared.plan();
        if !printer.is_json() {
            let remarks =
                plan.tables.iter().flat_map(|table| columns::remarks(&table.name, &table.all_columns));
            columns::say(remarks, printer);
        }
        return print_plan(plan, printer);
    }
    for note in &prepared.plan().notes {
        printer.note(&format!("note: {}", terms::rendered(note)));
    }
    let inputs = prepared.inputs();
    for input in inputs.iter().filter(|_| inputs.len() > 1) {
        printer.detail(&format!("  {}: {}", input.name, input.recognised.words()));
        input.notes.iter().for_each(|note| printer.detail(&format!("    {}", terms::rendered(note))));
    }
    let files = args.files.iter().map(PathBuf::as_path);
    replaced::confirm(prepared.plan().wanted(), args.flags.has(Setting::Yes), files, printer, cancel)?;
    let report = printer.watched(cancel, |context| prepared.run(context))?;
    if printer.is_json() {
        print_json(&report, printer)?;
    } else {
        print_done("Loaded", &counted(report.rows, "row"), &report, printer);
        let recognised = recognised_in_words(&report.inputs, |files| counted(files, "file"));
        printer.note(&format!("  read {recognised}"));
        print_left_out(&report, printer);
        print_side_effects(&report, reject.as_deref(), printer);
        if let Some(padded) = padded_in_words(&report.inputs, |rows| counted(rows, "row")) {
            printer.note(&format!("  {padded}"));
        }
        print_details(&report, printer);
        columns::summarize(&report.tables, printer);
        // Skip the notes on an input that were printed before the load.
        for (input, before) in report.inputs.iter().zip(&inputs) {
            for note in input.notes.iter().filter(|note| !before.notes.contains(note)) {
                printer.note(&format!("  {}: {}", input.name, terms::rendered(note)));
            }
        }
        for warning in report.inputs.iter().flat_map(|input| &input.warnings) {
            printer.warn(&format!("warning: {}", terms::rendered(warning)));
        }
    }
    if report.skipped.is_empty() {
        if args.is_first && !printer.is_json() {
            go_on(args, &report, printer);
        }
        return Ok(Exit::SUCCESS);
    }
    for SkippedFile { name, why, .. } in &report.skipped {
        printer.warn(&format!("skipped {name}: {}", terms::rendered(why)));
    }
    printer.warn(&format!("{} skipped", counted(report.skipped.len() as u64, "file")));
    Ok(Exit::FAILURE)
}

/// Prints the files in folders and archives that were not loaded.
fn print_left_out(report: &Report, printer: &Printer) {
    if report.left_out.is_empty() {
        return;
    }
    printer.note(&format!("  left out {}", counted(report.left_out.len() as u64, "file")));
    for line in left_out_in_words(&report.left_out) {
        printer.note(&format!("    {line}"));
    }
}

/// Returns an error if a URL has a password: every user of this machine can read it in the list of processes.
fn refuse_password(args: &Load) -> Result<(), Error> {
    match args.files.iter().find(|file| remote::has_password(file)) {
        None => Ok(()),
        Some(url) => {
            let name = remote::without_secrets(url);
            let message = format!(
                "the URL of {} has a password, which the list of processes shows to all users",
                name.display()
            );
            let places = places_of_password(url);
            let hint = format!(
                "leave it out of the URL: it is read from {places}, or asked for with --ask-password"
            );
            Err(Error::usage(message).hint(hint))
        }
    }
}

/// Asks for the password of the user of a server.
#[cfg(any(feature = "mysql", feature = "postgres"))]
fn password(args: &Load, printer: &Printer, cancel: &Cancel) -> anyhow::Result<String> {
    let Some(url) = args.files.iter().find(|file| remote::is_server(file)) else {
        return Err(Error::usage("--ask-password is for the URL of a server").into());
    };
    let name = remote::without_secrets(url);
    let silent = sqluice_platform::streams::without_echo().map_err(|error| {
        Error::usage(format!("no terminal can ask for the password of {}", name.display()))
            .because(error)
            .hint(format!("the password is also read from {}", places_of_password(url)))
    })?;
    printer.ask(&format!("Password for {}: ", name.display()));
    let line = typed::line(cancel);
    drop(silent);
    Ok(line?.trim_end_matches(['\r', '\n']).to_owned())
}

/// Returns a phrase for hints that says where a user can give the password of the server in `url`.
fn places_of_password(url: &Path) -> &'static str {
    match remote::server_scheme(url) {
        Some("mysql" | "mariadb") => "~/.my.cnf or the variable MYSQL_PWD",
        _ => "~/.pgpass or the variable PGPASSWORD",
    }
}

/// Returns an error if the first argument, the database, is a file to load: the arguments are in the wrong order.
fn refuse_swapped(args: &Load, printer: &Printer) -> Result<(), Error> {
    let db = &args.db;
    if !(is_named_as_data(db) || is_named_as_archive(db)) || begins_as_database(db) {
        return Ok(());
    }
    let database = args.files.iter().position(|file| is_named_as_database(file));
    if !db.is_file() && database.is_none() {
        return Ok(());
    }
    let error =
        Error::usage(format!("{} is named as the database, and looks like a file to load", db.display()));
    let mut words = printer.words().to_vec();
    let place = |path: &Path| words.iter().position(|word| word == path.as_os_str());
    let Some(first) = place(db) else {
        return Err(error.hint("name the database first, then the files"));
    };
    match database.and_then(|database| place(&args.files[database])) {
        Some(second) => words.swap(first, second),
        None => words.insert(first, meant::database_for(db.as_os_str()).into()),
    }
    Err(error.hint(meant::line(&words)))
}

/// Returns an error if the files do not exist, but their names joined by spaces are an existing file: its name was not quoted in the shell.
fn refuse_unquoted(args: &Load, printer: &Printer) -> Result<(), Error> {
    const PARTS_MAX: usize = 8;
    let words = printer.words();
    let is_missing = |file: &&PathBuf| !file.exists() && words.iter().any(|word| word == file.as_os_str());
    let Some(missing) = args.files.iter().find(is_missing) else { return Ok(()) };
    let Some(at) = words.iter().position(|word| word == missing.as_os_str()) else { return Ok(()) };
    for first in at.saturating_sub(PARTS_MAX)..=at {
        for end in at.max(first + 1) + 1..=words.len().min(at + PARTS_MAX) {
            let whole = words[first..end].join(OsStr::new(" "));
            if Path::new(&whole).is_file() {
                let line = [&words[..first], std::slice::from_ref(&whole), &words[end..]].concat();
                let message = format!("{} is one file, and its name has spaces", Path::new(&whole).display());
                return Err(Error::usage(message).hint(meant::line(&line)));
            }
        }
    }
    Ok(())
}

/// Prints two commands that a user may want to run next: `info`, and an `export` of the first rows.
fn go_on(args: &Load, report: &Report, printer: &Printer) {
    let Some(table) = report.tables.first() else { return };
    let database = args.db.as_os_str();
    let info = [OsStr::new("info"), database];
    let export = [OsStr::new("export"), database, table.name.as_ref()];
    let first_rows = ["--to", "-", "--format", "csv", "--limit", "10"].map(OsStr::new);
    let line = |words: &[&OsStr]| meant::line(&words.iter().map(OsString::from).collect::<Vec<_>>());
    printer.note(&format!(
        "Go on with:\n  {}\n  {}",
        line(&info),
        line(&[&export[..], &first_rows].concat())
    ));
}
