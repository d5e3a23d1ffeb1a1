//! `sqluice_rows(?1)`: columns in memory as a table of SQLite, on any connection.
//!
//! ```text
//!  Rows [ &[i64], &[&str], ... ] ──bind──> ?1      SELECT rowid, c1, c2 FROM sqluice_rows(?1)
//!                                                         1      7   Oslo
//!                                                         2      9   Rome
//! ```
//!
//! [`register`] the function once on each connection, make [`Rows`] from slices, vectors or a [`Batch`], and bind them. Rows that own their
//! values are a parameter like any other; rows that borrow values are lent ([`Rows::lend`]).
//!
//! Insert rows, all columns at once:
//!
//! ```
//! use sqluice_core::rows::{self, Column, Rows};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let connection = rusqlite::Connection::open_in_memory()?;
//! rows::register(&connection)?;
//! connection.execute_batch("CREATE TABLE town (id INTEGER PRIMARY KEY, name TEXT, height REAL)")?;
//!
//! let rows = Rows::new([
//!     Column::from(&[7, 9]),
//!     Column::from(&["Oslo", "Rome"]),
//!     Column::from(&[None, Some(21.0)]),
//! ])?;
//! let mut insert = connection.prepare("INSERT INTO town SELECT c1, c2, c3 FROM sqluice_rows(?1)")?;
//! let inserted = rows.lend(&mut insert, 1, |insert| insert.execute())??;
//! assert_eq!(inserted, 2);
//! # Ok(()) }
//! ```
//!
//! Look rows up by many keys:
//!
//! ```
//! # use sqluice_core::rows::{self, Rows};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let connection = rusqlite::Connection::open_in_memory()?;
//! # rows::register(&connection)?;
//! # connection.execute_batch("CREATE TABLE town (id INTEGER PRIMARY KEY, name TEXT)")?;
//! # connection.execute_batch("INSERT INTO town VALUES (7, 'Oslo'), (8, 'Bonn'), (9, 'Rome')")?;
//! let ids = Rows::keys(vec![9, 7, 1000]);
//! let mut query = connection.prepare("SELECT name FROM town WHERE id IN (SELECT c1 FROM sqluice_rows(?1)) ORDER BY id")?;
//! let names: Result<Vec<String>, _> = query.query_map([&ids], |row| row.get(0))?.collect();
//! assert_eq!(names?, ["Oslo", "Rome"]);
//! # Ok(()) }
//! ```
//!
//! Put arrays side by side: SQLite finds a row by its number at once, so this takes one pass.
//!
//! ```
//! # use sqluice_core::rows::{self, Rows};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let connection = rusqlite::Connection::open_in_memory()?;
//! # rows::register(&connection)?;
//! let prices = Rows::column(vec![2.5, 4.0]);
//! let pieces = Rows::column(vec![4, 100]);
//! let sum: f64 = connection.query_row(
//!     "SELECT sum(price.c1 * piece.c1) FROM sqluice_rows(?1) AS price
//!      JOIN sqluice_rows(?2) AS piece ON piece.rowid = price.rowid",
//!     [&prices, &pieces],
//!     |row| row.get(0),
//! )?;
//! assert_eq!(sum, 410.0);
//! # Ok(()) }
//! ```
//!
//! * The rowid is the number of the row, counted from 1. A condition on the rowid is a lookup, or narrows the scan. Scans go by rowid.
//! * Columns are c1 to c1999: with its argument the function then has as many columns as SQLite lets a table have (2,000, or
//!   `SQLITE_LIMIT_COLUMN` when the connection first uses the function). They have no declared type: values are returned unchanged. Reading
//!   a column that the rows don't have is an error.
//! * If SQLite would assign the `INTEGER PRIMARY KEY` values that the rows have, leave this column out of the INSERT: then SQLite appends,
//!   and need not look for each key first.
//! * NULL instead of rows means no rows. Any other argument is an error.
//! * A NaN is NULL. Text is UTF-8, and may hold NULs.
//! * A schema can't use the function: views and triggers have no parameters.

mod cells;
mod column;
mod expressions;
mod keys;
mod table;
mod taking;

use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::{Connection, Statement};
use sqluice_format::limits;

use crate::batch::{Batch, Value};
use crate::error::{Error, Result};

pub use cells::Cells;
pub use column::Column;
pub use expressions::{Evaluator, Fault, Named, NamedColumn, Query};
pub use table::Lent;
pub use taking::Results;

/// The table-valued function, as SQL calls it.
const NAME: &CStr = c"sqluice_rows";

/// The largest number of columns of rows: SQLite's own limit minus one for the argument.
pub const COLUMNS_MAX: usize = limits::COLUMNS_MAX - 1;

/// Registers the function on a connection. This is cheap; doing it again changes nothing.
///
/// # Errors
/// The error of SQLite.
pub fn register(connection: &Connection) -> rusqlite::Result<()> {
    table::register(connection)
}

/// Columns of the same length, which can be bound to a parameter. Clones share the columns.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    shared: Arc<Shared<'a>>,
}

/// The rows, which SQLite gets as a pointer that is bound to a statement.
#[derive(Debug)]
struct Shared<'a> {
    rows: usize,
    columns: Vec<Column<'a>>,
    /// The row, counted from 0, that the last scan has reached, or at which it has ended.
    stopped_at: AtomicUsize,
}

impl<'a> Rows<'a> {
    /// Creates rows of the given columns.
    ///
    /// # Errors
    /// If some columns have more rows than others, or there are more than [`COLUMNS_MAX`] columns.
    pub fn new(columns: impl IntoIterator<Item = Column<'a>>) -> Result<Rows<'a>> {
        let columns: Vec<Column<'a>> = columns.into_iter().collect();
        let rows = columns.first().map_or(0, |column| column.rows);
        if let Some((at, column)) = columns.iter().enumerate().find(|(_, column)| column.rows != rows) {
            let (number, found) = (at + 1, column.rows);
            return Err(Error::usage(format!(
                "all columns must have the same number of rows: column 1 has {rows}, and column {number} has {found}"
            )));
        }
        Rows::of(rows, columns)
    }

    /// Creates rows of one column.
    pub fn column(column: impl Into<Column<'a>>) -> Rows<'a> {
        let column = column.into();
        Rows::share(column.rows, vec![column])
    }

    /// Creates rows of keys for lookups: the keys are sorted, and each is kept once. SQLite itself sorts the keys of an `IN`, one by one,
    /// which takes less than half the time if they are sorted already (`benches/rows.rs`). A join with sorted keys is even faster.
    pub fn keys(mut keys: Vec<i64>) -> Rows<'static> {
        keys::in_order(&mut keys);
        Rows::column(keys)
    }

    /// Creates the rows of a batch. If its slices are shorter than the batch, SQLite reports an error when it reads a missing value.
    ///
    /// # Errors
    /// If there are more than [`COLUMNS_MAX`] columns.
    pub fn from_batch(batch: &Batch<'a>) -> Result<Rows<'a>> {
        let columns = batch.columns.iter().map(|column| Column::of_batch(*column, batch.rows));
        Rows::of(batch.rows, columns.collect())
    }

    /// Creates rows of cells, which all have `rows` values.
    pub fn from_cells(rows: usize, cells: Vec<Cells>) -> Rows<'static> {
        Rows::share(rows, cells.into_iter().map(Column::from).collect())
    }

    /// Returns the cells of [`Rows::from_cells`], for reuse; an empty vector if a clone or a statement still has the rows.
    pub fn into_cells(self) -> Vec<Cells> {
        let columns = Arc::into_inner(self.shared).map_or_else(Vec::new, |shared| shared.columns);
        columns.into_iter().filter_map(Column::into_cells).collect()
    }

    fn of(rows: usize, columns: Vec<Column<'a>>) -> Result<Rows<'a>> {
        if columns.len() > COLUMNS_MAX {
            let message = format!(
                "{} columns are too many: at most {COLUMNS_MAX} can be passed at a time",
                columns.len()
            );
            return Err(Error::usage(message));
        }
        Ok(Rows::share(rows, columns))
    }

    fn share(rows: usize, columns: Vec<Column<'a>>) -> Rows<'a> {
        Rows { shared: Arc::new(Shared { rows, columns, stopped_at: AtomicUsize::new(0) }) }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.shared.rows
    }

    /// Returns `true` if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the row, counted from 0, that the last scan has reached, or at which it has ended. If a statement that takes the rows one by
    /// one in their order has failed, this is the row at fault.
    pub fn stopped_at(&self) -> usize {
        self.shared.stopped_at.load(Ordering::Relaxed)
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.shared.columns.len()
    }

    /// Returns a value; `None` if it does not exist. Row and column are counted from 0.
    pub fn get(&self, row: usize, column: usize) -> Option<Value<'_>> {
        self.shared.columns.get(column)?.get(row)
    }

    /// Returns rows that consist of this one row. A column that has no value for the row gets NULL.
    pub fn alone(&self, row: usize) -> Rows<'_> {
        let values = self.shared.columns.iter().map(|column| column.get(row).unwrap_or(Value::Null));
        Rows::share(1, values.map(|value| std::iter::once(value).collect()).collect())
    }

    /// Returns the same rows, which own copies of borrowed values. They can be bound like any other parameter, to any number of statements,
    /// which keep them as long as needed.
    pub fn into_owned(self) -> Rows<'static> {
        Rows::share(self.len(), self.shared.columns.iter().map(Column::owned).collect())
    }

    /// Binds the rows to a parameter of a statement, counted from 1, while `use_it` runs the statement, any number of times. Then the
    /// statement is reset, and the parameter is NULL again. SQLite reads text and blobs without a copy.
    ///
    /// # Errors
    /// If the parameter does not exist.
    pub fn lend<R>(
        &self,
        statement: &mut Statement<'_>,
        parameter: usize,
        use_it: impl FnOnce(&mut Lent<'_, '_>) -> R,
    ) -> rusqlite::Result<R> {
        table::lend(self, statement, parameter, use_it)
    }
}

impl Shared<'_> {
    /// Returns the error message for a value that does not exist. Row and column are counted from 0.
    fn nothing_there(&self, column: usize, row: usize) -> String {
        let (columns, number) = (self.columns.len(), column + 1);
        if column >= columns {
            format!("no column c{number}: the rows of sqluice_rows have {columns}")
        } else {
            format!("column c{number} of sqluice_rows has no row {}", row + 1)
        }
    }
}
