//! Runs the remaining statements of a dump in SQLite, in order, after the pages are written.

use std::sync::Arc;

use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Batch, Connection};
use sqluice_core::error::{Error, Place, Result};
use sqluice_core::progress::{Amount, Progress};
use sqluice_core::sqlite_error::failed;
use sqluice_sources::dump::DumpFile;

use super::super::request::options::Load;
use super::guard::Guard;
use super::selection::Deferred;
use super::statement::{explained, start_of, text_of};
use super::walk::Walked;

/// The statements of a dump that SQLite runs, and the settings of the run.
pub(super) struct Last {
    work: Vec<Deferred>,
    file: Arc<DumpFile>,
    foreign_keys: bool,
    writes_schema: bool,
    selects: bool,
}

impl Last {
    pub(super) fn new(walked: &Walked, file: &Arc<DumpFile>, load: &Load) -> Last {
        Last {
            work: walked.last.clone(),
            file: Arc::clone(file),
            foreign_keys: load.write.foreign_keys.unwrap_or(walked.foreign_keys),
            writes_schema: walked.writes_schema,
            selects: walked.selects,
        }
    }

    /// Runs all statements in one transaction.
    pub(super) fn run(&self, connection: &mut Connection, progress: &dyn Progress) -> Result<()> {
        let bytes = self.work.iter().map(|work| work.range.end - work.range.start).sum();
        progress.phase("statements", Some(Amount { rows: 0, bytes }));
        let cannot = |error| failed(error, "run the statements of the dump");
        let enforced =
            if self.foreign_keys { "PRAGMA foreign_keys = ON" } else { "PRAGMA foreign_keys = OFF" };
        connection.execute_batch(&format!("{enforced}; BEGIN")).map_err(cannot)?;
        let guard = Guard::set(connection)?;
        let done = self.work.iter().try_for_each(|work| {
            let done = self.statements(connection, &guard, work);
            progress.advance(Amount { rows: 0, bytes: work.range.end - work.range.start });
            done
        });
        Guard::remove(connection)?;
        done?;
        if self.selects {
            remove_other_rows(connection).map_err(cannot)?;
        }
        if self.foreign_keys {
            check_foreign_keys(connection, &self.file)?;
        }
        connection
            .execute_batch("COMMIT; PRAGMA foreign_keys = OFF; PRAGMA writable_schema = RESET")
            .map_err(cannot)?;
        match self.writes_schema {
            true => check(connection).map_err(|error| error.at(Place::file(self.file.name()))),
            false => Ok(()),
        }
    }

    /// Runs the statements of a range.
    fn statements(&self, connection: &Connection, guard: &Guard, work: &Deferred) -> Result<()> {
        guard.begin(work.declares);
        let sql = text_of(&self.file, work.range.clone())?;
        let mut batch = Batch::new(connection, &sql);
        let mut done = 0;
        let mut run = || -> rusqlite::Result<()> {
            while let Some(mut statement) = batch.next()? {
                let mut rows = statement.query([])?;
                while rows.next()?.is_some() {}
                done += 1;
            }
            Ok(())
        };
        run().map_err(|error| {
            let start = start_of(&sql, done);
            let range = work.range.start + start as u64..work.range.end;
            explained(&self.file, &range, &sql[start..], guard, error)
        })
    }
}

/// Removes the rows of SQLite's own tables that are about tables which are not loaded.
fn remove_other_rows(connection: &Connection) -> rusqlite::Result<()> {
    for (table, column) in [("sqlite_sequence", "name"), ("sqlite_stat1", "tbl"), ("sqlite_stat4", "tbl")] {
        let is = format!("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '{table}')");
        if connection.query_row(&is, [], |row| row.get(0))? {
            connection.execute_batch(&format!(
                "DELETE FROM {table} WHERE {column} COLLATE NOCASE NOT IN (SELECT name FROM sqlite_schema WHERE type = 'table')"
            ))?;
        }
    }
    Ok(())
}

/// Checks a database whose schema the dump has written by INSERT or UPDATE.
fn check(connection: &Connection) -> Result<()> {
    // SQLite returns an error instead of a list of faults if it can't read the schema.
    let cannot = |error| Error::input(format!("the dump makes a database that is not sound: {error}"));
    let foreign = "SELECT name FROM sqlite_schema WHERE coalesce(rootpage, 0) = 0 AND type NOT IN ('view', 'trigger') \
                   AND (type <> 'table' OR sql NOT LIKE 'CREATE VIRTUAL TABLE%')";
    let mut statement = connection.prepare(foreign).map_err(cannot)?;
    let mut rows = statement.query([]).map_err(cannot)?;
    if let Some(row) = rows.next().map_err(cannot)? {
        let name: String = row.get(0).map_err(cannot)?;
        return Err(Error::input(format!(
            "the dump writes {name} into sqlite_schema, but it is not a virtual table"
        )));
    }
    // Skip the CHECKs: they were tested when the rows were stored, unless the dump itself turns them off.
    connection.execute_batch("PRAGMA ignore_check_constraints = ON").map_err(cannot)?;
    let verdict: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(cannot)?;
    if verdict == "ok" {
        return Ok(());
    }
    Err(Error::input(format!("the dump makes a database that is not sound: {verdict}")))
}

/// Checks that each foreign key refers to an existing row. SQLite checks all tables, because statements may have dropped or altered some.
fn check_foreign_keys(connection: &Connection, file: &DumpFile) -> Result<()> {
    let cannot = |error| failed(error, "check the foreign keys of the dump");
    let mut check = connection.prepare("PRAGMA foreign_key_check").map_err(cannot)?;
    let mut rows = check.query([]).map_err(cannot)?;
    let Some(row) = rows.next().map_err(cannot)? else { return Ok(()) };
    let (child, rowid): (String, Option<i64>) = (row.get(0).map_err(cannot)?, row.get(1).map_err(cannot)?);
    let parent: String = row.get(2).map_err(cannot)?;
    let which = rowid.map_or_else(|| "a row".to_owned(), |rowid| format!("the row with rowid {rowid}"));
    Err(Error::input(format!(
        "FOREIGN KEY constraint failed: {which} of {child} refers to no row of {parent}"
    ))
    .at(Place::file(file.name())))
}
