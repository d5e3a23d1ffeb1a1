//! `read`: a table, a view or a query as Arrow record batches, made on all cores while they are taken.
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
//! Several processes read a table together, each one part of its pages, as long as nothing is committed to it:
//!
//! ```no_run
//! # use sqluice::progress::Context;
//! # use sqluice::read::Read;
//! let basis = Read::table("shop.db", "orders").find_basis(&Context::default())?;
//! let third_of_seven = Read::table("shop.db", "orders").part((2, 7)).basis(basis).open(&Context::default())?;
//! # Ok::<(), sqluice::error::Error>(())
//! ```
//!
//! Invariant: all batches are of one committed state. Memory is that of a few batches a thread, for any number of rows; while no one
//! takes batches, none are made.

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

/// What is read.
#[derive(Clone, Debug)]
enum What {
    Table(String),
    Query(String),
}

/// A table, a view or a query to read; see the module's description.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Read {
    /// The database.
    pub source: PathBuf,
    what: What,
    /// The columns, in their order; `None`: all.
    pub columns: Option<Vec<String>>,
    /// A condition in SQL.
    pub filter: Option<String>,
    /// The number of rows at most.
    pub limit: Option<u64>,
    /// One part of the pages of a table: its number, counted from 0, and how many parts the table is cut into. Together they are the
    /// rows of the table, one part after another.
    pub part: Option<(u32, u32)>,
    /// What [`Read::find_basis`] has returned: the state that the database must have, and the types of the columns.
    pub basis: Option<String>,
    /// What happens to values of another kind than their column has.
    pub mixed: Mixed,
    /// Text of columns declared DATE, DATETIME or TIMESTAMP becomes dates and timestamps.
    pub dates: bool,
    /// Threads; `None`: one a core.
    pub threads: Option<usize>,
    /// How the database is read.
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
    /// Sets the number of rows at most.
    limit(limit: impl Into<Option<u64>>) = limit.into();
    /// Sets the part of the table that is read.
    part(part: impl Into<Option<(u32, u32)>>) = part.into();
    /// Sets the state that the database must have, and the types of the columns, as [`Read::find_basis`] has returned them.
    basis(basis: impl Into<Option<String>>) = basis.into();
    /// Sets what happens to values of another kind than their column has.
    mixed(mixed: Mixed) = mixed;
    /// Makes dates and timestamps of text in columns that are declared so.
    dates(dates: bool) = dates;
    /// Sets the number of threads; `None`: one for each core.
    threads(threads: impl Into<Option<usize>>) = threads.into();
    /// Sets how the database is read.
    read(read: ReadOptions) = read;
}

/// The record batches of what is read, in order.
pub struct RecordBatches {
    schema: SchemaRef,
    pieces: InOrder<ArrowEncoder>,
    ready: VecDeque<RecordBatch>,
}

impl Read {
    /// Reads a table, a view or a virtual table.
    pub fn table(source: impl Into<PathBuf>, table: impl Into<String>) -> Read {
        Read::of(source.into(), What::Table(table.into()))
    }

    /// Reads what a query returns.
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

    /// Finds the rows without reading them, and the types of the columns as far as they are given.
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
                "{} was changed while it is read in parts",
                self.source.display()
            ))
            .hint("read it again from the beginning, or read a copy"));
        }
        let types: Option<Vec<ColumnType>> = words.split(' ').map(ColumnType::from_word).collect();
        match types.filter(|types| types.len() == rows.columns().len()) {
            Some(types) => Ok((rows, snapshot, Some(types))),
            None => Err(Error::usage("the basis is of a reading of other columns")),
        }
    }

    /// The committed state of the database, and the types of the columns, as text for [`Read::basis`]. Readings that have it fail once
    /// something was committed, and share the types, also of columns whose declaration leaves them open.
    ///
    /// # Errors
    /// As [`Read::check`].
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

    /// Says whether it can be read, without reading rows.
    ///
    /// # Errors
    /// If the database can't be read, or has no such table or column; when SQLite does not accept the query.
    pub fn check(&self, context: &Context<'_>) -> Result<()> {
        self.rows(&context.child()).map(drop)
    }

    /// Begins to read. The database stays in its state until the batches are dropped. The cancel of `context` also ends the reading of batches.
    ///
    /// # Errors
    /// As [`Read::check`].
    pub fn open(&self, context: &Context<'_>) -> Result<RecordBatches> {
        let context = context.child();
        let (rows, _, types) = self.rows(&context)?;
        let Typed { encoder, source, .. } = self.typed(&rows, types, &context.cancel)?;
        let schema = Arc::clone(encoder.schema());
        let pieces = InOrder::start(source, encoder, self.cores(), &context.cancel);
        Ok(RecordBatches { schema, pieces, ready: VecDeque::new() })
    }

    /// The rows with the types of their columns, which are found where they are not given.
    fn typed(&self, rows: &Rows, types: Option<Vec<ColumnType>>, cancel: &Cancel) -> Result<Typed> {
        let names: Vec<String> = rows.columns().iter().map(|column| column.name.clone()).collect();
        let nulled = Arc::new(Nulled::new(names.len()));
        let values = ValueOptions { mixed: self.mixed, dates: self.dates };
        match types {
            Some(types) => Typed::of_types(rows, &names, types, self.mixed, &nulled, BATCH_BYTES, cancel),
            None => Typed::open(rows, &names, values, &nulled, BATCH_BYTES, self.cores(), cancel),
        }
    }

    /// The number of threads.
    fn cores(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.threads.unwrap_or_else(cores)
    }
}

impl RecordBatches {
    /// The columns.
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
