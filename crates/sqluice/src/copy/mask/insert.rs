//! Inserts the masked rows of a table with SQL statements.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, Statement, params_from_iter};
use sqluice_core::batch::{Batch, Column, Value, Values};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Amount, Context};
use sqluice_core::sqlite_error::{failed, said};
use sqluice_format::check::spec::Constant;

use super::source::{Masking, Spaces};

/// The number of rows masked at a time.
const BATCH: usize = 256;

/// A copy of masked rows from one connection to another.
pub(super) struct Insertion<'a> {
    /// The table, for messages.
    pub(super) table: &'a str,
    pub(super) masking: &'a Masking,
    /// `true` if SQLite converts texts when it reads them, because the database stores UTF-16.
    pub(super) is_converted: bool,
    pub(super) context: &'a Context<'a>,
}

impl Insertion<'_> {
    /// Copies the rows of the query `select` with the statement `insert`, and masks them in between. `select` must return the columns
    /// that the masks read, and `insert` must take the masked row as parameters.
    ///
    /// # Errors
    /// If a row can't be read, masked or stored.
    pub(super) fn copy(&self, from: &Connection, select: &str, to: &Connection, insert: &str) -> Result<()> {
        let cannot_read = |error| failed(error, &format!("read table {}", self.table));
        let mut select = from.prepare(select).map_err(cannot_read)?;
        let mut insert =
            to.prepare(insert).map_err(|error| failed(error, &format!("fill table {}", self.table)))?;
        let columns = select.column_count();
        let mut rows = select.query([]).map_err(cannot_read)?;
        let mut old: Vec<Vec<Constant>> = vec![Vec::new(); columns];
        let mut spaces = Spaces::new();
        loop {
            let row = rows.next().map_err(cannot_read)?;
            let is_last = row.is_none();
            if let Some(row) = row {
                for (column, values) in old.iter_mut().enumerate() {
                    values.push(self.owned(row.get_ref(column).map_err(cannot_read)?)?);
                }
            }
            let count = old.first().map_or(0, Vec::len);
            if count > 0 && (is_last || count == BATCH) {
                self.context.cancel.check()?;
                self.store(&old, count, &mut spaces, &mut insert)?;
                self.context.progress.advance(Amount { rows: count as u64, bytes: 0 });
                old.iter_mut().for_each(Vec::clear);
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Returns a copy of a value. Refuses malformed UTF-16, which SQLite would convert to other text.
    fn owned(&self, value: ValueRef<'_>) -> Result<Constant> {
        Ok(match value {
            ValueRef::Null => Constant::Null,
            ValueRef::Integer(int) => Constant::Int(int),
            ValueRef::Real(real) => Constant::Real(real),
            ValueRef::Text(text) if self.is_converted && str::from_utf8(text).is_err() => {
                let what = format!("table {} has text that is not valid Unicode", self.table);
                return Err(Error::input(what).hint("UPDATE such rows first"));
            }
            ValueRef::Text(text) => Constant::Text(text.to_vec()),
            ValueRef::Blob(blob) => Constant::Blob(blob.to_vec()),
        })
    }

    fn store(
        &self,
        old: &[Vec<Constant>],
        rows: usize,
        spaces: &mut Spaces,
        insert: &mut Statement<'_>,
    ) -> Result<()> {
        let values: Vec<Vec<Value<'_>>> =
            old.iter().map(|values| values.iter().map(Constant::value).collect()).collect();
        let columns = values.iter().map(|values| Column::new(Values::Any(values))).collect();
        let stored = self.masking.apply(&Batch { rows, columns }, spaces, |batch| {
            for row in 0..batch.rows {
                let given = self.masking.read.iter().map(|&column| given(batch.columns[column].get(row)));
                insert.execute(params_from_iter(given)).map_err(|error| self.refused(error))?;
            }
            Ok(())
        });
        stored.map_err(|refused| refused.first().1)
    }

    /// Returns the error for a refused row. SQLite's message names the constraint, but no value.
    fn refused(&self, error: rusqlite::Error) -> Error {
        if error.sqlite_error_code() != Some(ErrorCode::ConstraintViolation) {
            return failed(error, &format!("fill table {}", self.table));
        }
        let (masked, hint) = match self.masking.masks.is_masked() {
            true => ("masked ", "choose masks whose values keep the constraints of the table"),
            false => ("", "the table has rows that break its constraints: change them, or copy all rows"),
        };
        let message = format!("a {masked}row of table {} can't be stored: {}", self.table, said(error));
        Error::input(message).hint(hint)
    }
}

fn given(value: Value<'_>) -> ToSqlOutput<'_> {
    ToSqlOutput::Borrowed(match value {
        Value::Null => ValueRef::Null,
        Value::Int(int) => ValueRef::Integer(int),
        Value::Real(real) => ValueRef::Real(real),
        Value::Text(text) => ValueRef::Text(text),
        Value::Blob(blob) => ValueRef::Blob(blob),
    })
}
