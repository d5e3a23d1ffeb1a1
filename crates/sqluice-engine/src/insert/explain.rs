//! Finds the row of a failed batch that SQLite refused, and the reason.
//!
//! ```text
//!  the failed statement has left
//!    the rows before the refused row   the cursor of the statement is at the refused row
//!    no rows                           rows 1 ................ 4096      fails
//!                                           1 ..... 2048                 succeeds, so the refused row is a later one
//!                                                  2049 .. 3072          fails, and so on
//! ```
//!
//! A row without a parent is reported only if no other row of the batch can be its parent, or can replace the row.
//!
//! In both cases of the drawing, the refused row is then inserted alone, which gives the message. The caller rolls back these inserts.

use rusqlite::{Connection, ErrorCode, Statement, ffi};
use sqluice_core::batch::describe;
use sqluice_core::error::Error;
use sqluice_core::rows::Rows;
use sqluice_core::schema::Table;
use sqluice_core::sqlite_error::{is_of_values, said};

use super::statement::{Statements, cannot_insert};

/// The number of values of a row that a message shows; `...` stands for further values.
const VALUES_MAX: usize = 8;

/// A batch of rows that SQLite failed to insert.
pub(super) struct Failure<'a> {
    pub(super) connection: &'a Connection,
    pub(super) table: &'a Table,
    pub(super) columns: &'a [usize],
    pub(super) statements: &'a Statements,
    pub(super) rows: &'a Rows<'a>,
    pub(super) records: &'a [(usize, u64)],
}

impl Failure<'_> {
    pub(super) fn explain(&self, error: rusqlite::Error) -> Error {
        if self.connection.is_autocommit() {
            // SQLite also ends a transaction after some other errors, such as a full disk.
            let by_rollback = error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation);
            let failed = self.somewhere(&said(error));
            return match by_rollback {
                true => failed.hint(
                    "RAISE(ROLLBACK) in a trigger, or ON CONFLICT ROLLBACK, has ended the transaction of the load: use ABORT there",
                ),
                false => failed,
            };
        }
        if self.statements.rows_cure && is_of_foreign_key(&error) {
            return self.somewhere(&said(error));
        }
        match self.find() {
            Ok(Some((row, error))) if is_of_values(&error) => self.of_row(row, &said(error)),
            Ok(Some((_, error))) => cannot_insert(self.connection, self.table, error),
            Ok(None) | Err(_) => self.somewhere(&said(error)),
        }
    }

    /// Returns the refused row, counted from 0, and SQLite's error for this row alone, or `None` if SQLite accepts the row alone.
    fn find(&self) -> rusqlite::Result<Option<(usize, rusqlite::Error)>> {
        let mut range = self.connection.prepare(&self.statements.range)?;
        if self.statements.fails_half_done {
            let row = self.rows.stopped_at();
            return Ok(self.insert(&mut range, row, row + 1)?.map(|error| (row, error)));
        }
        if self.statements.savepoint {
            self.connection.execute_batch("ROLLBACK TO sqluice_batch")?;
        }
        let (mut from, mut to) = (0, self.rows.len());
        while to - from > 1 {
            let middle = from + (to - from) / 2;
            match self.insert(&mut range, from, middle)? {
                None => from = middle,
                Some(_) => to = middle,
            }
        }
        Ok(self.insert(&mut range, from, to)?.map(|error| (from, error)))
    }

    /// Inserts some rows of the batch, all of them or none. Returns SQLite's error if it refuses them.
    fn insert(
        &self,
        range: &mut Statement<'_>,
        from: usize,
        to: usize,
    ) -> rusqlite::Result<Option<rusqlite::Error>> {
        self.connection.execute_batch("SAVEPOINT sqluice_rows")?;
        let inserted = self.rows.lend(range, 1, |insert| {
            insert.bind(2, from as i64 + 1)?;
            insert.bind(3, to as i64)?;
            insert.execute()
        })?;
        let undo = if inserted.is_err() { "ROLLBACK TO sqluice_rows;" } else { "" };
        self.connection.execute_batch(&format!("{undo} RELEASE sqluice_rows"))?;
        Ok(inserted.err())
    }

    fn of_row(&self, row: usize, message: &str) -> Error {
        let record = self.record(row);
        let values = self.columns.iter().enumerate().take(VALUES_MAX).map(|(index, &column)| {
            let value = self.rows.get(row, index).map_or_else(String::new, |value| describe(&value));
            format!("{} = {value}", self.table.columns[column].name)
        });
        let values: Vec<String> = values.collect();
        let more = if self.columns.len() > VALUES_MAX { ", ..." } else { "" };
        Error::input(format!("record {record}: {message}"))
            .of_record(&self.table.name, record)
            .hint(format!("it has {}{more}", values.join(", ")))
    }

    /// Returns the error for a refused row that was not found: it names the records of the whole batch.
    fn somewhere(&self, message: &str) -> Error {
        let (first, last) = (self.record(0), self.record(self.rows.len().saturating_sub(1)));
        Error::input(format!("table {}, one of the records {first} to {last}: {message}", self.table.name))
    }

    /// Returns the number of a row's record, counted from 1.
    fn record(&self, row: usize) -> u64 {
        let run = self.records.partition_point(|(first, _)| *first <= row).checked_sub(1);
        let (first, record) = run.map_or((0, 0), |run| self.records[run]);
        record + (row - first) as u64 + 1
    }
}

fn is_of_foreign_key(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_CONSTRAINT_FOREIGNKEY)
}
