//! Guesses the meaning of command lines that name no command, or that have a mistake.
//!
//! ```text
//!  sqluice orders.csv                     is run as    sqluice load orders.db orders.csv
//!  sqluice shop.db                        is run as    sqluice info shop.db
//!  sqluice import shop.db orders.csv      is refused with the line to type: sqluice load shop.db orders.csv
//!  sqluice load shop.db x.csv --sep ';'   is refused with the line to type: sqluice load shop.db x.csv --delimiter ';'
//! ```
//!
//! Modules, from the bottom up: `kind`: the kinds of words; `words`: a command line as words; `verbs` and `flags`: the commands and flags
//! of other tools.
//!
//! Invariants: only a command line that the parser accepts is suggested; a database that exists is never guessed as the target.

mod flags;
mod kind;
mod verbs;
mod words;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;

use sqluice::error::{Message, Setting};
use sqluice_platform::shell::quoted;
use sqluice_platform::streams::standard_input_path;

pub(crate) use kind::begins_as_database;

use crate::{args, shell, terms};
use kind::Kind;
use words::Words;

/// The maximum number of mistakes that are corrected in one command line.
const MISTAKES_MAX: usize = 8;

/// The meaning of a command line that names no command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The complete command line, which is run.
    Run(Vec<OsString>),
    /// Nothing is run, because several commands may be meant.
    Refused(Mistake),
}

/// The error message for a mistake in a command line, and the corrected line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub(crate) message: String,
    pub(crate) line: String,
}

/// Moves a help flag after the command that follows it: `--help load` means `load --help`.
pub(crate) fn with_help_behind(given: Vec<OsString>, program: &Command) -> Vec<OsString> {
    match &given[..] {
        [_, help, verb] if help == "--help" || help == "-h" => match program.find_subcommand(verb) {
            Some(_) => vec![given[0].clone(), verb.clone(), help.clone()],
            None => given,
        },
        _ => given,
    }
}

/// Returns the meaning of a command line whose first word is a file and not a command; `None` for other command lines.
pub(crate) fn of_files(given: &[OsString], program: &Command) -> Option<Meaning> {
    let words = Words(given[1..].to_vec());
    let at = words.verb(program)?;
    if program.find_subcommand(&words.0[at]).is_some() {
        return None;
    }
    let load = program.find_subcommand("load")?;
    let places = words.positions(load, 0);
    let kinds: Vec<Kind> = places.iter().map(|place| Kind::of(&words.0[*place])).collect();
    if kinds[..] == [Kind::Database, Kind::Sql] {
        let line = verbs::queried(&Words([&["query".into()], &words.0[..]].concat()), 0, program)?;
        return Some(refused(line.0, "a database and a query are named, and no command"));
    }
    if !kinds.iter().all(|kind| kind.is_database() || kind.is_data()) {
        return None;
    }
    let run = |words: Vec<OsString>| Meaning::Run([&given[..1], &words].concat());
    let databases: Vec<usize> =
        (0..kinds.len()).filter(|&place| kinds[place].is_database()).map(|place| places[place]).collect();
    let mut rest = words.0.clone();
    match databases[..] {
        [_] if kinds[..] == [Kind::Database] => {
            rest.insert(0, "info".into());
            Some(run(rest))
        }
        [only] if places.len() > 1 => {
            let database = rest.remove(only);
            rest.splice(0..0, ["load".into(), database]);
            Some(run(rest))
        }
        [] if kinds.contains(&Kind::Stdin) => {
            rest.splice(0..0, ["load".into(), "data.db".into()]);
            if !words.has("--table") && !words.has("-t") {
                rest.extend(["--table".into(), "data".into()]);
            }
            Some(refused(rest, "the database and the table of standard input are not named"))
        }
        [] => {
            let database = kind::database_of(&words.0[places[0]]);
            let name = kind::free_name(database.clone());
            rest.splice(0..0, ["load".into(), name.clone().into()]);
            match name == database {
                true => Some(run(rest)),
                false => Some(refused(rest, &format!("{} exists, so name the database", database.display()))),
            }
        }
        [_, ..] if kinds.iter().all(|kind| *kind == Kind::Database) => {
            let merged = kind::free_name(PathBuf::from("merged.db"));
            rest.splice(0..0, ["merge".into(), merged.into()]);
            Some(refused(rest, "several databases are named, and no command"))
        }
        _ => None,
    }
}

fn refused(words: Vec<OsString>, message: &str) -> Meaning {
    Meaning::Refused(Mistake { message: message.to_owned(), line: redirected(&Words(words)) })
}

/// Returns the message and the corrected line for a command line that the parser refuses with `error`; `None` if its meaning can't be
/// guessed. `parse` parses a command line.
pub(crate) fn mistake(
    given: &[OsString],
    program: &Command,
    error: &clap::Error,
    mut parse: impl FnMut(&[OsString]) -> Result<(), clap::Error>,
) -> Option<Mistake> {
    let mut words = Words(given[1..].to_vec());
    let message = message(&words, program, error)?;
    let mut corrected = step(&words, program, error)?;
    for _ in 0..MISTAKES_MAX {
        if corrected == words {
            return None;
        }
        words = corrected;
        match parse(&[&given[..1], &words.0].concat()) {
            // clap also returns help and version as errors; they do not use standard error, and need no correction.
            Err(error) if error.use_stderr() => corrected = step(&words, program, &error)?,
            _ => {
                let words = verbs::with_database_first(words, program);
                return Some(Mistake { message, line: redirected(&words) });
            }
        }
    }
    None
}

/// Returns the words with the mistake corrected that the parser reports as `error`; `None` if no correction is known.
fn step(words: &Words, program: &Command, error: &clap::Error) -> Option<Words> {
    let at = words.verb(program)?;
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let similar = || first(error.get(ContextKind::SuggestedSubcommand));
            verbs::corrected(words, at, program, similar)
        }
        ErrorKind::UnknownArgument => {
            let similar = first(error.get(ContextKind::SuggestedArg));
            flags::corrected(words, &first(error.get(ContextKind::InvalidArg))?, similar.as_deref())
        }
        ErrorKind::MissingRequiredArgument => {
            verbs::completed(words, at, program.find_subcommand(&words.0[at])?)
        }
        _ => None,
    }
}

/// Describes the mistake in a command line; `None` for mistakes that are not corrected.
fn message(words: &Words, program: &Command, error: &clap::Error) -> Option<String> {
    let verb = words.0[words.verb(program)?].to_string_lossy();
    Some(match error.kind() {
        ErrorKind::InvalidSubcommand => format!("sqluice has no command {verb}"),
        ErrorKind::UnknownArgument => {
            let flag = first(error.get(ContextKind::InvalidArg))?;
            match program.find_subcommand(&*verb) {
                Some(_) => format!("{verb} has no flag {flag}"),
                None => format!("sqluice has no flag {flag}"),
            }
        }
        ErrorKind::MissingRequiredArgument => match &*verb {
            "load" => "a load names the database, and then the files; - is standard input".to_owned(),
            "export" => "the file to write is not named".to_owned(),
            _ => return None,
        },
        _ => return None,
    })
}

/// Returns the text, or the first of the texts, in the context of a clap error.
fn first(value: Option<&ContextValue>) -> Option<String> {
    match value? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    }
}

/// Returns a command line for a shell. If it reads a redirected file, adds `< FILE`, provided that the system reports the file's name.
fn redirected(words: &Words) -> String {
    let line = line(&words.0);
    match standard_input_path().filter(|_| words.has("-")) {
        Some(file) => {
            let here = std::env::current_dir().unwrap_or_default();
            let file = file.strip_prefix(here).unwrap_or(&file);
            format!("{line} < {}", quoted(&file.to_string_lossy()))
        }
        None => line,
    }
}

/// Returns the name of a new database for data.
pub(crate) fn database_for(data: &OsStr) -> PathBuf {
    kind::free_name(kind::database_of(data))
}

/// The longest command line that follows a hint, in characters.
const LINE_CHARACTERS_MAX: usize = 100;

/// Settings that remove, leave out, change or reveal data. A hint may name them, but no ready command line has them.
const HARMFUL: [Setting; 11] = [
    Setting::Allow,
    Setting::CommitAnyway,
    Setting::ExcludeTable,
    Setting::Force,
    Setting::Lossy,
    Setting::Mixed,
    Setting::NoReference,
    Setting::Orphans,
    Setting::Overwrite,
    Setting::OverwriteReject,
    Setting::ReplaceTable,
];

/// Returns the given command line with the flag that a hint names. Returns `None` if the hint names several flags, a harmful one or a
/// placeholder, if the flag is given already or can't be added, or if the line would be long.
pub(crate) fn with_flag_of(hint: &Message, given: &[OsString]) -> Option<String> {
    let mut settings = hint.settings_with_values();
    let (setting, value) = settings.next()?;
    if settings.next().is_some() || value.is_some_and(is_placeholder) || HARMFUL.contains(&setting) {
        return None;
    }
    let program = OsString::from("sqluice");
    let parsed =
        |words: &[OsString]| args::command().try_get_matches_from([&program].into_iter().chain(words)).ok();
    let matches = parsed(given)?;
    let (_, of_verb) = matches.subcommand()?;
    let id = setting.name();
    let is_given =
        of_verb.try_contains_id(id).ok()? && of_verb.value_source(id) == Some(ValueSource::CommandLine);
    // After `--`, a flag would be read as the name of a file.
    if is_given || given.iter().any(|word| word == "--") {
        return None;
    }
    let flag = OsString::from(terms::flag(setting, None));
    let whole: Vec<OsString> = given.iter().cloned().chain([flag]).chain(value.map(OsString::from)).collect();
    let line = line(&whole);
    let is_short = line.chars().count() <= LINE_CHARACTERS_MAX && !line.contains('\n');
    (is_short && parsed(&whole).is_some()).then_some(line)
}

/// Returns `true` if a value is a placeholder in capitals: `FILE`, `A,B`, `TABLE=N`.
fn is_placeholder(value: &str) -> bool {
    value.chars().all(|character| character.is_ascii_uppercase() || ",=.:".contains(character))
}

/// Returns a command line for a shell, beginning with the name of the program.
pub(crate) fn line(words: &[OsString]) -> String {
    format!("sqluice {}", shell::line(words))
}
