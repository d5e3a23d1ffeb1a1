//! Writes structs from an iterator to a table: any type that `serde` can serialize.
//!
//! ```text
//!  iterator ──> source ──────────────> threads (one per core) ───────────────> pages
//!  structs      4,096 at a time,       struct -> columns -> Batch
//!               under a lock           the first rows name the columns and their types
//! ```
//!
//! Modules, from the bottom up:
//!
//! * `cell`: a value of a field; `row`: a struct, as a value for each column
//! * `source`: a source of rows from an iterator
//!
//! Invariant: a type that is inferred from the first rows never changes a later value. A later value that the type would change is an
//! error.

mod cell;
mod row;
mod source;

use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Context;
use sqluice_core::schema::Schema;
use sqluice_core::setters;
use sqluice_core::source::Source;
use sqluice_core::source::cells::Seen;
use sqluice_engine::options::{IfExists, WriteOptions};
use sqluice_engine::report::Report;

use super::{NamedRows, NewTable, Write, table_of};
use source::{BorrowingSource, Look, StructSource, Target, look};

/// Writes structs to a table, one row for each. Creates the database and the table as needed.
///
/// The fields are the columns. Their types follow from the values: integers and `bool` are INTEGER, floats are REAL, strings, `char`
/// and enums without data are TEXT, bytes (`serde_bytes`) are BLOB. `None` is NULL. A nested struct, sequence, map or enum with data is
/// stored as JSON text.
///
/// ```
/// #[derive(serde::Serialize)]
/// struct Reading {
///     sensor: u32,
///     celsius: f64,
///     note: Option<String>,
/// }
///
/// # let folder = tempfile::tempdir()?;
/// # let db = folder.path().join("readings.db");
/// let readings = (0..1_000_000).map(|n| Reading { sensor: n % 40, celsius: f64::from(n) / 1e5, note: None });
/// let report = sqluice::write::write_rows(&db, "reading", readings)?;
/// assert_eq!(report.rows, 1_000_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`WriteRows`] has options for keys, indexes, existing tables and more.
///
/// # Errors
/// If a row can't be stored (the message has the number of the row, counted from 1, and the field), the table exists, or the database can't
/// be written. The database is then unchanged.
pub fn write_rows<T, I>(target: impl Into<PathBuf>, table: impl Into<String>, rows: I) -> Result<Report>
where
    T: Serialize + Send + 'static,
    I: IntoIterator<Item = T, IntoIter: Send>,
{
    WriteRows::new(target, table).run(rows)
}

/// A write of structs to a table, with options. [`write_rows`] is the short form.
///
/// ```
/// use sqluice::options::IfExists;
/// use sqluice::write::WriteRows;
///
/// #[derive(serde::Serialize)]
/// struct Town {
///     id: i64,
///     name: &'static str,
/// }
///
/// # let folder = tempfile::tempdir()?;
/// # let db = folder.path().join("towns.db");
/// let write = WriteRows::new(&db, "town").primary_key(["id"]).indexes(["name"]);
/// write.run([Town { id: 2, name: "Rome" }, Town { id: 1, name: "Oslo" }])?;
///
/// let report = write.if_exists(IfExists::Append).run([Town { id: 3, name: "Bonn" }])?;
/// assert_eq!(report.rows, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct WriteRows {
    /// The database.
    pub target: PathBuf,
    /// The table.
    pub table: String,
    /// The columns, for rows without field names, such as tuples. Structs name their columns themselves.
    pub columns: Vec<String>,
    /// Declared types of columns, by name. They replace inferred types, and values are converted by SQLite's rules.
    pub types: Vec<(String, String)>,
    /// The declaration of the table, in place of the columns, types and keys of these options. `None` to infer it from the rows.
    pub schema: Option<Schema>,
    /// The columns of the PRIMARY KEY of a new table. A single INTEGER column is another name for the rowid, except in a table WITHOUT
    /// ROWID. Other key columns can't be NULL.
    pub primary_key: Vec<String>,
    /// Indexes of a new table, each as columns with commas between them: `name [COLLATE collation] [ASC|DESC], ...`.
    pub indexes: Vec<String>,
    /// Unique indexes of a new table, written as `indexes` are.
    pub uniques: Vec<String>,
    /// `true` if a new table is STRICT.
    pub strict: bool,
    /// `true` if a new table is WITHOUT ROWID.
    pub without_rowid: bool,
    /// `true` if rows ascend by their INTEGER PRIMARY KEY, so that they need not be sorted. A row out of order is an error.
    pub ascending: bool,
    /// The approximate number of rows; `None` for the iterator's `size_hint`. Rows of an existing table with indexes become pages only if
    /// many rows are expected.
    pub about: Option<u64>,
    /// The options for writing the database.
    pub options: WriteOptions,
}

setters! { WriteRows:
    /// Names the columns of rows without field names, such as tuples.
    columns(names: impl IntoIterator<Item = impl Into<String>>) = names.into_iter().map(Into::into).collect();
    /// Declares columns with these types, by name, instead of inferred types.
    types(types: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>) =
        types.into_iter().map(|(column, declared)| (column.into(), declared.into())).collect();
    /// Sets the declaration of the table, with its keys and indexes.
    schema(schema: impl Into<Option<Schema>>) = schema.into();
    /// Sets the columns of the PRIMARY KEY.
    primary_key(columns: impl IntoIterator<Item = impl Into<String>>) =
        columns.into_iter().map(Into::into).collect();
    /// Creates these indexes, each given as its columns with commas between them.
    indexes(indexes: impl IntoIterator<Item = impl Into<String>>) =
        indexes.into_iter().map(Into::into).collect();
    /// Creates these unique indexes, each given as its columns with commas between them.
    uniques(indexes: impl IntoIterator<Item = impl Into<String>>) =
        indexes.into_iter().map(Into::into).collect();
    /// Makes a new table STRICT.
    strict(strict: bool) = strict;
    /// Makes a new table WITHOUT ROWID.
    without_rowid(without_rowid: bool) = without_rowid;
    /// States that rows ascend by their INTEGER PRIMARY KEY: rows are not sorted, and a row out of order is an error.
    ascending(ascending: bool) = ascending;
    /// Sets the approximate number of rows, for iterators without a size hint.
    about(rows: impl Into<Option<u64>>) = rows.into();
    /// Sets the options for writing the database.
    options(options: WriteOptions) = options;
}

impl WriteRows {
    /// Creates a write to a table of the database at `target`.
    pub fn new(target: impl Into<PathBuf>, table: impl Into<String>) -> WriteRows {
        WriteRows {
            target: target.into(),
            table: table.into(),
            columns: Vec::new(),
            types: Vec::new(),
            schema: None,
            primary_key: Vec::new(),
            indexes: Vec::new(),
            uniques: Vec::new(),
            strict: false,
            without_rowid: false,
            ascending: false,
            about: None,
            options: WriteOptions::default(),
        }
    }

    /// Sets the treatment of an existing table: its rows can be kept, replaced or updated.
    #[must_use]
    pub fn if_exists(mut self, if_exists: IfExists) -> WriteRows {
        self.options.if_exists = if_exists;
        self
    }

    /// Replaces an existing database at the target. No connection of this process may have that database open.
    #[must_use]
    pub fn overwrite(mut self, overwrite: bool) -> WriteRows {
        self.options.overwrite = overwrite;
        self
    }

    /// Writes the rows without progress reports. The iterator runs on one thread at a time; the rows are converted and encoded on all
    /// cores.
    ///
    /// # Errors
    /// The errors of [`write_rows`].
    pub fn run<T, I>(&self, rows: I) -> Result<Report>
    where
        T: Serialize + Send + 'static,
        I: IntoIterator<Item = T, IntoIter: Send>,
    {
        self.run_with(rows, &Context::default())
    }

    /// Writes the rows like [`WriteRows::run`]. Reports progress to `context`, and stops if `context` is canceled.
    ///
    /// # Errors
    /// The errors of [`write_rows`].
    pub fn run_with<T, I>(&self, rows: I, context: &Context<'_>) -> Result<Report>
    where
        T: Serialize + Send + 'static,
        I: IntoIterator<Item = T, IntoIter: Send>,
    {
        self.try_run_with(rows.into_iter().map(Ok::<T, Infallible>), context)
    }

    /// Writes rows that may be errors, such as the rows of a parser. The first error ends the run, and is the cause of the returned error.
    ///
    /// # Errors
    /// The errors of [`write_rows`], or if an item is an error.
    pub fn try_run_with<T, E, I>(&self, rows: I, context: &Context<'_>) -> Result<Report>
    where
        T: Serialize + Send + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
        I: IntoIterator<Item = std::result::Result<T, E>, IntoIter: Send>,
    {
        let (look, rest) = look(rows.into_iter(), &self.columns)?;
        self.write(look, |target, look| Box::new(StructSource::new(target, look, rest)), context)
    }

    /// Writes rows that borrow data. Rows are converted on the iterator's thread, and then encoded on all cores as by [`WriteRows::run`].
    ///
    /// # Errors
    /// The errors of [`write_rows`].
    pub fn run_borrowing_with<T, I>(&self, rows: I, context: &Context<'_>) -> Result<Report>
    where
        T: Serialize,
        I: IntoIterator<Item = T, IntoIter: Send>,
    {
        let (look, rest) = look(rows.into_iter().map(Ok::<T, Infallible>), &self.columns)?;
        self.write(look, |target, look| Box::new(BorrowingSource::new(target, look, rest)), context)
    }

    fn write<'i>(
        &self,
        look: Look,
        source: impl FnOnce(Target, Look) -> Box<dyn Source + 'i>,
        context: &Context<'_>,
    ) -> Result<Report> {
        let existing = table_of(&self.target, &self.table, &self.options)?;
        let is_found = self.schema.is_none() && existing.is_none();
        let schema = match &self.schema {
            Some(schema) => schema.clone(),
            None if is_found => self.new_table(&look)?.schema(&self.target, &self.options)?,
            None => Schema::parse("", Path::new("schema"))?,
        };
        let mut names = look.names.clone();
        if let (0, Some(table)) = (look.rows, schema.table(&self.table).or(existing.as_ref())) {
            // If there are no rows, the columns of the table are used.
            let columns = table.columns.iter().filter(|column| column.generated.is_none());
            names = columns.map(|column| column.name.clone()).collect();
        }
        let watched = names
            .iter()
            .zip(&look.kinds)
            .map(|(name, kinds)| (is_found && self.given_type(name).is_none()).then_some(*kinds));
        let watched: Vec<Option<Seen>> = watched.collect();
        let rows = NamedRows::new(&self.table, names.clone())
            .in_any_order(!self.ascending)
            .about(self.about.or(look.about));
        let write = Write::new(&self.target, schema).rows([rows]).options(self.options.clone());
        let prepared = write.prepare(context)?;
        let target = Target::new(&self.table, names, prepared.filled(0).1.to_vec(), watched);
        prepared.run(vec![source(target, look)], context)
    }

    /// Returns the new table for the rows.
    fn new_table(&self, look: &Look) -> Result<NewTable> {
        let table = &self.table;
        if look.names.is_empty() {
            return Err(Error::usage(format!(
                "there are no rows, so the columns of table {table} are unknown"
            ))
            .hint("declare the table, or name an existing table"));
        }
        let is_unknown = |name: &&String| !look.names.iter().any(|column| column.eq_ignore_ascii_case(name));
        if let Some(name) = self.types.iter().map(|(name, _)| name).find(is_unknown) {
            let names: Vec<&str> = look.names.iter().map(String::as_str).take(20).collect();
            return Err(Error::usage(format!(
                "there is a type for column {name:?}, but the rows have no such field"
            ))
            .hint(format!("their fields are {}", names.join(", "))));
        }
        let columns =
            look.names.iter().zip(&look.kinds).map(|(name, kinds)| {
                (name, self.given_type(name).unwrap_or(kinds.declared_type()).to_owned())
            });
        Ok(NewTable::new(table, columns)
            .primary_key(&self.primary_key)
            .indexes(&self.indexes)
            .uniques(&self.uniques)
            .strict(self.strict)
            .without_rowid(self.without_rowid))
    }

    fn given_type(&self, name: &str) -> Option<&str> {
        let mut types = self.types.iter();
        types.find(|(column, _)| column.eq_ignore_ascii_case(name)).map(|(_, declared)| &**declared)
    }
}

impl fmt::Debug for WriteRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WriteRows { target, table, options, .. } = self;
        f.debug_struct("WriteRows")
            .field("target", target)
            .field("table", table)
            .field("options", options)
            .finish_non_exhaustive()
    }
}
