//! SQLite's part of a check: the read transaction, the schema, and `PRAGMA integrity_check`.

use std::path::Path;

use rusqlite::Connection;
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::schema::{Schema, quoted, quoted_text};
use sqluice_format::check::spec::Table;
use sqluice_platform::paths::canonical;
use sqluice_reader::connection::unreadable;

use super::connection::{Keeps, begin_with, beside};
use super::snapshot::Snapshot;
use super::unverified::{self, Found, Unverified, UnverifiedKind};
use super::{PROBLEMS_MAX, computed, spec};

/// A database in a read transaction.
pub(super) struct Held {
    /// The connection in a read transaction, which keeps the file unchanged.
    pub(super) connection: Connection,
    /// SQLite's view of the pages if the newest pages are in the WAL; `None` if the file has all pages.
    pub(super) log: Option<Snapshot>,
}

/// Begins to read the database. If SQLite can't because of the content of the file, which may be no database or damaged, returns
/// SQLite's message instead; this crate's reader will then report the fault in detail.
pub(super) fn hold(
    target: &Path,
    keeps: Keeps,
    cancel: &Cancel,
) -> Result<std::result::Result<Held, String>> {
    // The WAL is beside the file itself, not beside a symbolic link to the file, so links are resolved first.
    let path = canonical(target).map_err(|e| Error::read(target, e))?;
    let connection = match begin_with(&path, keeps, cancel) {
        Ok(connection) => connection,
        Err(error) if is_unsound(&error) => return Ok(Err(message(error))),
        Err(error) => return Err(unreadable(target, error)),
    };
    // An empty WAL has no pages for this transaction, also if it grows meanwhile: the lock prevents a checkpoint, so the file does not
    // change.
    if beside(&path, "-wal").is_none_or(|bytes| bytes == 0) {
        return Ok(Ok(Held { connection, log: None }));
    }
    drop(connection);
    let (connection, log) = Snapshot::begin(&path, target, keeps, cancel)?;
    Ok(Ok(Held { connection, log: Some(log) }))
}

/// The tables of the schema and their unverifiable parts, or the reason why SQLite can't read the schema.
type Known = std::result::Result<(Vec<Table>, Vec<Found>), String>;

/// Returns the tables of the schema and their unverifiable parts. The inner error is SQLite's message if it can't read the schema.
pub(super) fn tables(connection: &Connection, target: &Path, encoding: u32) -> Result<Known> {
    let read = Schema::from_catalogue(connection, String::new(), target).and_then(|schema| {
        let mut tables = spec::tables(&schema, encoding)?;
        let refused = computed::add(&schema, &mut tables, encoding);
        let unverified = unverified::of_schema(&schema, &tables, &refused);
        Ok((tables, unverified))
    });
    match read {
        Ok(read) => Ok(Ok(read)),
        Err(error) if is_temporary(&error) => Err(unreadable(target, error)),
        Err(error) => Ok(Err(format!("the schema cannot be read: {}", message(error)))),
    }
}

/// The results of `PRAGMA integrity_check`.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// The faults that SQLite found.
    pub(super) problems: Vec<String>,
    /// The tables that SQLite can't check, with the reasons: they need a collation, function or tokenizer of an application, or their name
    /// is a number.
    pub(super) unanswered: Vec<(String, String)>,
    /// `true` if SQLite kept the CHECK constraints, and checked them.
    pub(super) kept_checks: bool,
}

/// Returns the objects of `all` that SQLite's `integrity_check` has not verified either. `said` is its result, `None` if it did not run.
pub(super) fn left_unverified(all: Vec<Found>, said: Option<&Said>) -> Vec<Unverified> {
    let is_verified = |Found { unverified, table }: &Found| {
        said.is_some_and(|said| {
            let is_answered = !said.unanswered.iter().any(|(name, _)| name.eq_ignore_ascii_case(table));
            let is_kept = said.kept_checks || unverified.what != UnverifiedKind::CheckConstraint;
            unverified.what.is_known_to_sqlite() && is_answered && is_kept
        })
    };
    let own = said.iter().flat_map(|said| &said.unanswered).map(|(table, why)| Unverified {
        what: UnverifiedKind::IntegrityCheck,
        name: format!("{table} ({why})"),
    });
    let left = all.into_iter().filter(|found| !is_verified(found)).map(|found| found.unverified);
    left.chain(own).collect()
}

/// Runs `PRAGMA integrity_check` on the database. If SQLite lacks a collation, function or tokenizer of an application for this, runs it on
/// each table separately.
pub(super) fn integrity_check(connection: &Connection) -> rusqlite::Result<Said> {
    let mut said = Said { kept_checks: !connection.is_readonly("main")?, ..Said::default() };
    match lines(connection, &PROBLEMS_MAX.to_string()) {
        Ok(lines) if !lines.iter().any(|line| is_no_answer(line)) => said.problems = lines,
        Ok(_) => said.table_by_table(connection)?,
        Err(error) if is_application(&error) => said.table_by_table(connection)?,
        Err(error) if is_unsound(&error) => said.problems.push(message(error)),
        Err(error) => return Err(error),
    }
    Ok(said)
}

impl Said {
    fn table_by_table(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut tables = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
        let tables = tables.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
        for table in tables {
            // Skip a table whose name is a number: SQLite would take it for the maximum number of problems to report.
            let is_number = table.trim_start_matches(['+', '-']).bytes().all(|byte| byte.is_ascii_digit());
            if is_number {
                self.unanswered.push((table, "its name is a number".to_owned()));
                continue;
            }
            match lines(connection, &quoted_text(&table)) {
                Ok(lines) => {
                    let (no_answers, problems) =
                        lines.into_iter().partition::<Vec<_>, _>(|line| is_no_answer(line));
                    if !no_answers.is_empty() {
                        let why = why_unanswered(connection, &table);
                        self.unanswered.push((table, why.unwrap_or_else(|| no_answers.join("; "))));
                    }
                    let is_new = |problem: &String| !self.problems.contains(problem);
                    let new: Vec<String> = problems.into_iter().filter(is_new).collect();
                    self.problems.extend(new);
                }
                Err(error) if is_application(&error) => {
                    let why = why_unanswered(connection, &table).unwrap_or_else(|| message(error));
                    self.unanswered.push((table, why));
                }
                Err(error) if is_unsound(&error) => {
                    let problem = message(error);
                    if !self.problems.contains(&problem) {
                        self.problems.push(problem);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        self.problems.truncate(PROBLEMS_MAX);
        Ok(())
    }
}

/// Returns the problems that `PRAGMA integrity_check(what)` reports, a line each; empty if SQLite found no fault.
fn lines(connection: &Connection, what: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({what})"))?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
    let lines = lines.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(if lines == ["ok"] { Vec::new() } else { lines })
}

/// Returns `true` if a line of `integrity_check` says that a full-text table could not be checked, and not that it is damaged.
fn is_no_answer(line: &str) -> bool {
    line.starts_with("unable to validate the inverted index") && line.ends_with("SQL logic error")
}

/// Reads from a table that SQLite could not check. Returns SQLite's message, or `None` if the read succeeds.
fn why_unanswered(connection: &Connection, table: &str) -> Option<String> {
    let name = quoted(table);
    let read =
        |sql: String| -> rusqlite::Result<()> { connection.prepare(&sql)?.query([])?.next().map(drop) };
    // Some modules load a tokenizer only when they need it, so a search is tried, too.
    let tried = [format!("SELECT * FROM {name}"), format!("SELECT * FROM {name} WHERE {name} MATCH 'a'")];
    tried.into_iter().find_map(|sql| read(sql).err()).map(message)
}

/// Returns `true` if SQLite can't run a statement because it needs a function, collation or tokenizer of an application. Damage has other
/// error codes.
fn is_application(error: &rusqlite::Error) -> bool {
    let refused = matches!(error, rusqlite::Error::SqlInputError { .. });
    refused || error.sqlite_error_code() == Some(rusqlite::ErrorCode::Unknown)
}

/// Returns `true` if the error is about the content of the database: damage, a newer format, or a missing function or collation of an
/// application.
fn is_unsound(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
    let refused = matches!(error, rusqlite::Error::SqlInputError { .. });
    refused || matches!(error.sqlite_error_code(), Some(NotADatabase | DatabaseCorrupt | Unknown))
}

/// Returns SQLite's message, without the SQL statement that rusqlite appends.
fn message(error: rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg,
        other => other.to_string(),
    }
}

fn is_temporary(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, OperationInterrupted, OutOfMemory};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | OperationInterrupted | OutOfMemory))
}
