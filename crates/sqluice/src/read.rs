//! `read`: returns a table, a view or a query as Arrow record batches, which are built on all cores while they are taken.
//!
//! ```no_run
//! use sqluice::progress::Context;
//! use sqluice::read::Read;
//!
//! let batches = Read::table("shop.db", "orders").columns(vec!["id".to_owned(), "total".to_owned()]).open(&Context::default())?;
//! println!("{}", batches.schema());
//! for batch in batches {
//!     println!("{} rows", batch?.num_rows());
//! }
//! # Ok::<(), sqluice::error::Error>(())
//! ```
//!
//! Several processes can read a table together, each a part of its pages, if no process commits to the database meanwhile:
//!
//! ```no_run
//! # use sqluice::progress::Context;
//! # use sqluice::read::Read;
//! let basis = Read::table("shop.db", "orders").find_basis(&Context::default())?;
//! let third_of_seven = Read::table("shop.db", "orders").part((2, 7)).basis(basis).open(&Context::default())?;
//! # Ok::<(), sqluice::error::Error>(())
//! ```
//!
//! Invariant: all batches come from one committed state. The memory is that of a few batches per thread, for any number of rows. No batches
//! are built while none are taken.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::progress::{Cancel, Context};
use sqluice_core::setters;
use sqluice_reader::Snapshot;
use sqluice_reader::rows::{Rows, Selection};
use sqluice_reader::snapshot::ReadOptions;
use sqluice_writers::arrow::{ArrowEncoder, ArrowPiece};
use sqluice_writers::in_order::InOrder;
use sqluice_writers::types::ColumnType;
use sqluice_writers::unfit::{Mixed, Nulled};

use crate::export::given_mixed;
use crate::export::typed::{BATCH_BYTES, Typed, ValueOptions};
use crate::remote;

/// The object to read.
#[derive(Clone, Debug)]
enum What {
    Table(String),
    Query(String),
}

/// A table, a view or a query to read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Read {
    /// The database.
    pub source: PathBuf,
    what: What,
    /// The columns, in order; `None` for all.
    pub columns: Option<Vec<String>>,
    /// An SQL condition: only rows for which it is true are read. `None` for all rows.
    pub filter: Option<String>,
    /// The maximum number of rows to read; `None` for all.
    pub limit: Option<u64>,
    /// The part of the table's pages to read: its number, counted from 0, and the number of parts; `None` for the whole table. Put
    /// together in order, the rows of all parts are the rows of the table.
    pub part: Option<(u32, u32)>,
    /// The text that [`Read::find_basis`] has returned: the state that the database must have, and the types of the columns. `None` for
    /// any state.
    pub basis: Option<String>,
    /// The treatment of values of another kind than their column, such as a text in a column of integers.
    pub mixed: Mixed,
    /// `true` if text in columns declared DATE, DATETIME or TIMESTAMP becomes dates and timestamps.
    pub dates: bool,
    /// The number of threads; `None` for one per core.
    pub threads: Option<usize>,
    /// The options for reading the database.
    pub read: ReadOptions,
}

impl TakesSettings for Read {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        match setting {
            Setting::Columns => self.columns = Some(value.to()?),
            Setting::Where => self.filter = Some(value.to()?),
            Setting::Limit => self.limit = Some(value.to()?),
            Setting::Mixed => self.mixed = given_mixed(value)?,
            Setting::Dates => self.dates = value.to()?,
            Setting::Threads => self.threads = Some(value.to()?),
            _ => return self.read.set(setting, value),
        }
        Ok(true)
    }
}

setters! { Read:
    /// Sets the columns of a table.
    columns(columns: impl Into<Option<Vec<String>>>) = columns.into();
    /// Sets a condition in SQL for the rows of a table.
    filter(filter: impl Into<Option<String>>) = filter.into();
    /// Sets the maximum number of rows to read; `None` for all.
    limit(limit: impl Into<Option<u64>>) = limit.into();
    /// Sets the part of the table to read.
    part(part: impl Into<Option<(u32, u32)>>) = part.into();
    /// Sets the required state of the database and the types of the columns, as returned by [`Read::find_basis`].
    basis(basis: impl Into<Option<String>>) = basis.into();
    /// Sets the treatment of values of another kind than their column, such as a text in a column of integers.
    mixed(mixed: Mixed) = mixed;
    /// Converts text in columns declared DATE, DATETIME or TIMESTAMP to dates and timestamps.
    dates(dates: bool) = dates;
    /// Sets the number of threads; `None` for one per core.
    threads(threads: impl Into<Option<usize>>) = threads.into();
    /// Sets the options for reading the database.
    read(read: ReadOptions) = read;
}

/// The record batches of a read, in order.
pub struct RecordBatches {
    schema: SchemaRef,
    pieces: InOrder<ArrowEncoder>,
    ready: VecDeque<RecordBatch>,
}

impl Read {
    /// Creates a read of a table, a view or a virtual table.
    pub fn table(source: impl Into<PathBuf>, table: impl Into<String>) -> Read {
        Read::of(source.into(), What::Table(table.into()))
    }

    /// Creates a read of the rows of a query.
    pub fn query(source: impl Into<PathBuf>, sql: impl Into<String>) -> Read {
        Read::of(source.into(), What::Query(sql.into()))
    }

    fn of(source: PathBuf, what: What) -> Read {
        Read {
            source,
            what,
            columns: None,
            filter: None,
            limit: None,
            part: None,
            basis: None,
            mixed: Mixed::default(),
            dates: false,
            threads: None,
            read: ReadOptions::new(),
        }
    }

    /// Opens the rows without reading them. Also returns the types of the columns if a basis gives them.
    fn rows(&self, context: &Context<'_>) -> Result<(Rows, Arc<Snapshot>, Option<Vec<ColumnType>>)> {
        if self.threads == Some(0) {
            return Err(Error::usage(message![Setting::Threads, " must be at least 1"]));
        }
        let folder = std::env::temp_dir();
        let snapshot = Arc::new(remote::snapshot(&self.source, &folder, &self.read, context)?);
        let rows = match &self.what {
            What::Table(table) => {
                let selection = Selection::default()
                    .columns(self.columns.clone())
                    .filter(self.filter.clone())
                    .limit(self.limit)
                    .part(self.part);
                let schema = snapshot.schema()?;
                Rows::of_table(&snapshot, &schema, table, &selection)
            }
            What::Query(_) if self.columns.is_some() || self.filter.is_some() => {
                Err(Error::usage("a query names its columns and conditions itself"))
            }
            What::Query(_) if self.part.is_some() => {
                Err(Error::usage("a query has no parts").hint("name a table, or read the query as a whole"))
            }
            What::Query(sql) => Rows::of_query(&snapshot, sql, self.limit),
        }?;
        let Some(basis) = &self.basis else { return Ok((rows, snapshot, None)) };
        let (state, words) = basis.split_once(' ').unwrap_or((basis, ""));
        if snapshot.state()? != state {
            return Err(Error::input(format!(
                "{} has changed since the read of its parts began (since `basis` was taken)",
                self.source.display()
            ))
            .hint("take a new basis and read all parts again, or read a copy of the database"));
        }
        let types: Option<Vec<ColumnType>> = words.split(' ').map(ColumnType::from_word).collect();
        match types.filter(|types| types.len() == rows.columns().len()) {
            Some(types) => Ok((rows, snapshot, Some(types))),
            None => Err(Error::usage("`basis` was taken with different columns")),
        }
    }

    /// Returns the committed state of the database and the types of the columns, as text for [`Read::basis`]. Reads with this basis fail
    /// after a commit to the database, and give a column the same type even if its declaration leaves the type open.
    ///
    /// # Errors
    /// As [`Read::check`], or if the values that determine the types of columns can't be read.
    pub fn find_basis(&self, context: &Context<'_>) -> Result<String> {
        let context = context.child();
        let (rows, snapshot, types) = self.rows(&context)?;
        let types = match types {
            Some(types) => types,
            None => self.typed(&rows, None, &context.cancel)?.types,
        };
        let words: Vec<String> = types.iter().map(ColumnType::word).collect();
        Ok(format!("{} {}", snapshot.state()?, words.join(" ")))
    }

    /// Checks that the object can be read, without reading rows.
    ///
    /// # Errors
    /// If the database can't be read, has no such table or column, or has changed since `basis` was taken, if options contradict each
    /// other, or SQLite does not accept the query.
    pub fn check(&self, context: &Context<'_>) -> Result<()> {
        self.rows(&context.child()).map(drop)
    }

    /// Begins to read. The read transaction lasts until the batches are dropped. The cancel flag of `context` also ends later reads of
    /// batches.
    ///
    /// # Errors
    /// As [`Read::check`], or if the values that determine the types of columns can't be read.
    pub fn open(&self, context: &Context<'_>) -> Result<RecordBatches> {
        let context = context.child();
        let (rows, _, types) = self.rows(&context)?;
        let Typed { encoder, source, .. } = self.typed(&rows, types, &context.cancel)?;
        let schema = Arc::clone(encoder.schema());
        let pieces = InOrder::start(source, encoder, self.cores(), &context.cancel);
        Ok(RecordBatches { schema, pieces, ready: VecDeque::new() })
    }

    /// Returns the rows with the types of their columns. Missing types are inferred.
    fn typed(&self, rows: &Rows, types: Option<Vec<ColumnType>>, cancel: &Cancel) -> Result<Typed> {
        let names: Vec<String> = rows.columns().iter().map(|column| column.name.clone()).collect();
        let nulled = Arc::new(Nulled::new(names.len()));
        let values = ValueOptions { mixed: self.mixed, dates: self.dates };
        match types {
            Some(types) => Typed::of_types(rows, &names, types, self.mixed, &nulled, BATCH_BYTES, cancel),
            None => Typed::open(rows, &names, values, &nulled, BATCH_BYTES, self.cores(), cancel),
        }
    }

    /// Returns the number of threads.
    fn cores(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.threads.unwrap_or_else(cores)
    }
}

impl RecordBatches {
    /// Returns the schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }
}

impl Iterator for RecordBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Some(Ok(batch));
            }
            match self.pieces.next()? {
                Ok(ArrowPiece { batches, .. }) => self.ready.extend(batches),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
