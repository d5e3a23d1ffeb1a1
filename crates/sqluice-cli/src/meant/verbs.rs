//! Replaces commands that other tools have, such as `import`, by the command of `sqluice` with the same effect.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::Path;

use clap::Command;
use sqluice::load::formats::is_named_as_data;
use sqluice::load::is_named_as_archive;
use sqluice_platform::streams::standard_input_path;

use super::kind::{self, Kind};
use super::words::Words;

/// The commands of `sqluice`, with the names that other tools give them. `anonymize` and similar words for `copy` are missing: a copy
/// without a mask would reveal the values that the user wants to hide.
const SAME: [(&str, &[&str]); 10] = [
    (
        "load",
        &["import", "insert", "ingest", "read", "add", "create", "in", "csv", "csv2sqlite", "put", "write"],
    ),
    ("info", &["tables", "schema", "ls", "list", "show", "describe", "inspect", "stat", "stats"]),
    ("check", &["verify", "validate", "integrity", "integrity-check", "integrity_check", "fsck"]),
    ("copy", &["backup", "clone", "cp", "vacuum", "shrink"]),
    ("merge", &["combine", "join", "concat", "union"]),
    ("generate", &["fake", "mock", "seed", "gen", "random"]),
    ("lab", &["bench", "benchmark", "measure"]),
    ("export", &["out", "unload", "dump", "save"]),
    ("pack", &["zip", "archive"]),
    ("unpack", &["unzip", "extract"]),
];

/// Returns the words with the unknown command at `at` replaced by the one that was most likely meant. `similar` returns the command with
/// the most similar name; `None` if no command is meant.
pub(super) fn corrected(
    words: &Words,
    at: usize,
    program: &Command,
    similar: impl Fn() -> Option<String>,
) -> Option<Words> {
    let unknown = words.0[at].to_string_lossy().to_ascii_lowercase();
    let with = |verb: &str| {
        let mut words = words.clone();
        words.0[at] = verb.into();
        Some(words)
    };
    if program.find_subcommand(&unknown).is_some() {
        return with(&unknown);
    }
    match &*unknown {
        "version" => return with("--version"),
        "convert" | "transform" => return converted(words, at, program),
        "query" | "sql" | "select" | "exec" | "execute" | "run" | "shell" => {
            return queried(words, at, program);
        }
        _ => {}
    }
    let same = SAME.iter().find(|(_, names)| names.contains(&&*unknown)).map(|(verb, _)| (*verb).to_owned());
    with(&same.or_else(similar)?)
}

/// Replaces a command such as `convert`: a load if data is converted to a database, an export if a database is converted to a file.
fn converted(words: &Words, at: usize, program: &Command) -> Option<Words> {
    let files = words.positions(program.find_subcommand("load")?, at + 1);
    let kind = |place: &usize| Kind::of(&words.0[*place]);
    let is_export = kind(files.first()?) == Kind::Database && !kind(files.last()?).is_database();
    let mut words = words.clone();
    words.0[at] = if is_export { "export" } else { "load" }.into();
    Some(words)
}

/// Returns the words; if they are a load, moves the database before the files.
pub(super) fn with_database_first(mut words: Words, program: &Command) -> Words {
    let Some(load) = program.find_subcommand("load") else { return words };
    let Some(at) = words.verb(program).filter(|at| words.0[*at] == "load") else { return words };
    let places = words.positions(load, at + 1);
    let is_database = |place: &&usize| Kind::of(&words.0[**place]).is_database();
    if let Some(database) = places.iter().find(is_database).copied() {
        let database = words.0.remove(database);
        words.0.insert(places[0], database);
    }
    words
}

/// Replaces a command such as `query`: an export of the query to standard output, or `info` if there is no query.
pub(super) fn queried(words: &Words, at: usize, program: &Command) -> Option<Words> {
    let places = words.positions(program.find_subcommand("export")?, at + 1);
    let mut words = words.clone();
    let database = places.iter().copied().find(|place| Kind::of(&words.0[*place]).is_database())?;
    let query = places.iter().copied().find(|place| *place != database);
    words.0[at] = if query.is_some() { "export" } else { "info" }.into();
    if let Some(query) = query {
        words.0.insert(query, "--query".into());
        words.0.extend(["--to", "-", "--format", "csv"].map(OsString::from));
    }
    Some(words)
}

/// Returns the words with a missing argument of `load` or `export` added, if the other arguments determine it.
pub(super) fn completed(words: &Words, at: usize, command: &Command) -> Option<Words> {
    let places = words.positions(command, at + 1);
    match command.get_name() {
        "load" => loaded(words, at, &places),
        "export" => exported(words, &places),
        _ => None,
    }
}

/// Adds the missing database of a load, named after the data, or `-` for data on standard input.
fn loaded(words: &Words, at: usize, places: &[usize]) -> Option<Words> {
    let [only] = places else { return None };
    let given = words.0[*only].clone();
    let mut words = words.clone();
    match Kind::of(&given) {
        Kind::Data => {
            words.0.insert(at + 1, super::database_for(&given).into());
        }
        kind if kind.is_database() && !io::stdin().is_terminal() => {
            words.0.insert(only + 1, "-".into());
            // An archive needs no name for its table: its files have names.
            let is_archive = standard_input_path().is_some_and(|file| is_named_as_archive(&file));
            if !is_archive && !words.has("--table") && !words.has("-t") {
                // The table is named after the redirected file, or after the database.
                let named = standard_input_path()
                    .map_or_else(|| given.into(), |file| kind::database_of(file.as_os_str()));
                let table = Path::new(&named).file_stem()?.to_owned();
                words.0.extend(["--table".into(), table]);
            }
        }
        _ => return None,
    }
    Some(words)
}

/// Adds the missing `--to` of an export, with a file that is among the words or named after the table or database.
fn exported(words: &Words, places: &[usize]) -> Option<Words> {
    let [database, rest @ ..] = places else { return None };
    let mut words = words.clone();
    if words.has("--to") || words.has("-t") {
        return None;
    }
    match rest {
        // `export orders.csv shop.db`: the file and the database are in the wrong order.
        [only]
            if Kind::of(&words.0[*only]) == Kind::Database && Kind::of(&words.0[*database]) == Kind::Data =>
        {
            words.0.swap(*database, *only);
            words.0.insert(*only, "--to".into());
        }
        [.., last] if is_named_as_data(Path::new(&words.0[*last])) => words.0.insert(*last, "--to".into()),
        [only] => {
            let mut file = words.0[*only].clone();
            file.push(".csv");
            words.0.extend(["--to".into(), kind::free_name(file.into()).into()]);
        }
        _ => {
            let mut folder = Path::new(&words.0[*database]).file_stem()?.to_owned();
            folder.push("/");
            words.0.extend(["--to".into(), folder, "--format".into(), "csv".into()]);
        }
    }
    Some(words)
}
