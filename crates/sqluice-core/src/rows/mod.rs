//! `sqluice_rows(?1)`: columns in memory as a table of SQLite's, on any connection.
//!
//! ```text
//!  Rows [ &[i64], &[&str], ... ] ──bind──> ?1      SELECT rowid, c1, c2 FROM sqluice_rows(?1)
//!                                                         1      7   Oslo
//!                                                         2      9   Rome
//! ```
//!
//! [`register`] the function once a connection, make [`Rows`] of slices, vectors or a [`Batch`], and bind them: rows that own what
//! they hold are a parameter like any other, rows that borrow are lent ([`Rows::lend`]).
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
//! Put arrays side by side: a row is found by its number at once, so this takes one pass.
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
//! * The rowid is the number of the row, counted from 1. A condition on it is a lookup, or a part of the scan; scans go by rowid.
//! * Columns are c1 to c1999: with its argument the function then has as many columns as SQLite lets a table have (2,000, or what
//!   `SQLITE_LIMIT_COLUMN` says when the connection first uses it). They have no declared type: values are returned unchanged. It is an
//!   error to read one that the rows don't have.
//! * To insert rows whose `INTEGER PRIMARY KEY` would be the same if SQLite gave it, leave that column out: SQLite then appends,
//!   and need not look for each key first.
//! * NULL instead of rows means no rows. Anything else is an error.
//! * A NaN is NULL. Text is UTF-8, and may hold NULs.
//! * Schemas can't use the function, in a view or a trigger: they have no parameters.

mod cells;
mod column;
mod keys;
mod table;

use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::{Connection, Statement};
use sqluice_format::limits;

use crate::batch::{Batch, Value};
use crate::error::{Error, Result};

pub use cells::Cells;
pub use column::Column;
pub use table::Lent;

/// The name of the function.
const NAME: &CStr = c"sqluice_rows";

/// Columns that rows may have: SQLite's own limit less one, which the argument takes.
pub const COLUMNS_MAX: usize = limits::COLUMNS_MAX - 1;

/// Makes the function known to a connection. Cheap; doing it again changes nothing.
///
/// # Errors
/// What SQLite says.
pub fn register(connection: &Connection) -> rusqlite::Result<()> {
    table::register(connection)
}

/// Columns of the same length, to be bound to a parameter. Clones share them.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    shared: Arc<Shared<'a>>,
}

/// What statements point to.
#[derive(Debug)]
struct Shared<'a> {
    rows: usize,
    columns: Vec<Column<'a>>,
    /// The row, counted from 0, at which the last scan ended.
    stopped_at: AtomicUsize,
}

impl<'a> Rows<'a> {
    /// Rows of these columns.
    ///
    /// # Errors
    /// When some columns have more rows than others, or the columns are too many.
    pub fn new(columns: impl IntoIterator<Item = Column<'a>>) -> Result<Rows<'a>> {
        let columns: Vec<Column<'a>> = columns.into_iter().collect();
        let rows = columns.first().map_or(0, |column| column.rows);
        if let Some((at, column)) = columns.iter().enumerate().find(|(_, column)| column.rows != rows) {
            let (number, found) = (at + 1, column.rows);
            return Err(Error::usage(format!("column 1 has {rows} rows, and column {number} has {found}")));
        }
        Rows::of(rows, columns)
    }

    /// Rows of one column.
    pub fn column(column: impl Into<Column<'a>>) -> Rows<'a> {
        let column = column.into();
        Rows::share(column.rows, vec![column])
    }

    /// Keys to look rows up by: in order, each once. SQLite puts the keys of an `IN` in order itself, one by one; keys that are in order
    /// already take it less than half the time (`benches/rows.rs`), and may be joined instead, which takes even less.
    pub fn keys(mut keys: Vec<i64>) -> Rows<'static> {
        keys::in_order(&mut keys);
        Rows::column(keys)
    }

    /// The rows of a batch. What it says of them is believed only as far as its slices reach: a missing value is an error
    /// when it is read.
    ///
    /// # Errors
    /// When the columns are too many.
    pub fn from_batch(batch: &Batch<'a>) -> Result<Rows<'a>> {
        let columns = batch.columns.iter().map(|column| Column::of_batch(*column, batch.rows));
        Rows::of(batch.rows, columns.collect())
    }

    /// Rows of columns that lie in cells, each as long.
    pub fn from_cells(rows: usize, cells: Vec<Cells>) -> Rows<'static> {
        Rows::share(rows, cells.into_iter().map(Column::from).collect())
    }

    /// Takes the cells out again, unless the rows have another owner.
    pub fn into_cells(self) -> Vec<Cells> {
        let columns = Arc::into_inner(self.shared).map_or_else(Vec::new, |shared| shared.columns);
        columns.into_iter().filter_map(Column::into_cells).collect()
    }

    fn of(rows: usize, columns: Vec<Column<'a>>) -> Result<Rows<'a>> {
        if columns.len() > COLUMNS_MAX {
            let message = format!("{} columns, and SQLite can take {COLUMNS_MAX} at a time", columns.len());
            return Err(Error::usage(message));
        }
        Ok(Rows::share(rows, columns))
    }

    fn share(rows: usize, columns: Vec<Column<'a>>) -> Rows<'a> {
        Rows { shared: Arc::new(Shared { rows, columns, stopped_at: AtomicUsize::new(0) }) }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.shared.rows
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row, counted from 0, at which the last scan ended: of a statement that failed, the one that is to blame, if it takes the
    /// rows one by one in their order.
    pub fn stopped_at(&self) -> usize {
        self.shared.stopped_at.load(Ordering::Relaxed)
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.shared.columns.len()
    }

    /// A value, row and column counted from 0; `None` if it does not exist.
    pub fn get(&self, row: usize, column: usize) -> Option<Value<'_>> {
        self.shared.columns.get(column)?.get(row)
    }

    /// The same rows, copied where they are borrowed: so they can be bound like any other parameter, to any number of
    /// statements, which keep them as long as they need to.
    pub fn into_owned(self) -> Rows<'static> {
        Rows::share(self.len(), self.shared.columns.iter().map(Column::owned).collect())
    }

    /// Binds the rows to a parameter of a statement, counted from 1, while `use_it` runs the statement, as often as it likes.
    /// Then the statement is reset and the parameter is NULL again. SQLite reads text and blobs where they are, without a copy.
    ///
    /// # Errors
    /// When the parameter does not exist.
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
    /// Why a value could not be read. Row and column are counted from 0.
    fn nothing_there(&self, column: usize, row: usize) -> String {
        let (columns, number) = (self.columns.len(), column + 1);
        if column >= columns {
            format!("no column c{number}: the rows of sqluice_rows have {columns}")
        } else {
            format!("column c{number} of sqluice_rows has no row {}", row + 1)
        }
    }
}
