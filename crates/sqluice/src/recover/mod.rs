//! `recover`: saves what is left of a damaged database into a new one.
//!
//! ```text
//!  damaged file ──> pages ──> trees, then leaves of no tree ──> plan        `found`, sqluice_reader::salvage
//!                                                                 │
//!  rows of clean leaves ──> engine, on all cores ─────────────────┼──> new database
//!  other rows ──> SQLite: one by one, contradictions put aside ───┘
//! ```
//!
//! * The source is read only, under SQLite's read lock where SQLite can read its header.
//! * A row is saved once. Rows that break a key or a constraint go to tables `conflicts_T` and `rejected_T`.
//! * If no tree is known to have a leaf, the leaf is assigned to a table if its rowids fill a gap of the table's tree, or by its **shape**:
//!   the table can have rows with this number of values, of these types. Shape is no proof, so such rows are counted separately.
//! * Rows of leaves that are assigned to no table go to tables `lost_and_found_N`.
//!
//! Modules, from the bottom up: `report`: the plan and the report; `layout`: the columns of records; `source`: clean leaves as a source;
//! `indexed`: lost rows that indexes know; `found`: all that is left; `insert`: rows that SQLite inserts; `from_indexes`: tables with columns of
//! lost rows; `virtual_tables`: full-text and spatial tables; `write`: the new database.

mod found;
mod from_indexes;
mod indexed;
mod insert;
mod layout;
mod report;
mod source;
mod virtual_tables;
mod write;

use std::path::PathBuf;
use std::sync::Arc;

use sqluice_core::error::{Error, Result, Setting};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::progress::Context;
use sqluice_core::schema::Schema;
use sqluice_core::setters;
use sqluice_engine::options::WriteOptions;
use sqluice_engine::output::{Target, Wanted};
use sqluice_platform::identity::is_same;

use found::Found;
pub use report::{
    FoundRows, LostPageReport, RecoverPlan, RecoverReport, RowidRange, SavedTable, WitnessReport,
};

/// A recovery of a damaged database.
///
/// ```
/// use sqluice::recover::Recover;
///
/// # use sqluice::generate::Generate;
/// # use sqluice::schema::Schema;
/// # let folder = tempfile::tempdir()?;
/// # let (db, new) = (folder.path().join("people.db"), folder.path().join("new.db"));
/// # let schema = Schema::parse("CREATE TABLE people (born INT)", "schema.sql".as_ref())?;
/// # Generate::new(&db, schema).rows(10_000).run()?;
/// let report = Recover::new(&db, &new).run()?;
/// assert_eq!(report.saved.rows, 10_000);
/// assert!(!report.saved.damaged);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Recover {
    /// The damaged database.
    pub source: PathBuf,
    /// The new database.
    pub target: PathBuf,
    /// The declarations of tables, for a database whose schema is lost.
    pub schema: Option<Schema>,
    /// `true` if rows are not added to a table to which only the number and types of their values assign them. They go to `lost_and_found`
    /// tables instead.
    pub strict: bool,
    /// `true` if the rows on freed pages are saved, too.
    pub deleted: bool,
    /// `true` if the columns of lost rows that are in entries of indexes are saved, in `lost_and_found` tables.
    pub from_indexes: bool,
    /// `true` if the write-ahead log and the journal are not used.
    pub ignore_wal: bool,
    /// The options for writing the new database. Its page size is that of the source.
    pub write: WriteOptions,
}

setters! { Recover:
    /// Sets the declarations of tables, for a database whose schema is lost.
    schema(schema: impl Into<Option<Schema>>) = schema.into();
    /// Does not add rows to a table to which only the number and types of their values assign them.
    strict(strict: bool) = strict;
    /// Saves the rows of freed pages, too.
    deleted(deleted: bool) = deleted;
    /// Saves the columns of lost rows that are in entries of indexes, in `lost_and_found` tables.
    from_indexes(from_indexes: bool) = from_indexes;
    /// Does not use the write-ahead log and the journal.
    ignore_wal(ignore: bool) = ignore;
    /// Sets the options for writing the new database.
    write(options: WriteOptions) = options;
}

impl TakesSettings for Recover {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        match setting {
            Setting::Schema => self.schema = Some(Schema::given(value, "schema")?),
            Setting::Strict => self.strict = value.to()?,
            Setting::Deleted => self.deleted = value.to()?,
            Setting::FromIndexes => self.from_indexes = value.to()?,
            Setting::IgnoreWal => self.ignore_wal = value.to()?,
            _ => return self.write.set(setting, value),
        }
        Ok(true)
    }
}

/// A recovery whose rows are found, which [`Recover::prepare`] returns. While it exists, SQLite's read lock on the source is held, if
/// SQLite can read the header.
#[derive(Clone, Debug)]
pub struct PreparedRecover {
    recover: Recover,
    found: Arc<Found>,
}

impl PreparedRecover {
    /// Returns the rows that can be saved.
    pub fn plan(&self) -> &RecoverPlan {
        &self.found.plan
    }

    /// Writes the new database. Reports progress to `context`, and stops if `context` is canceled.
    ///
    /// # Errors
    /// As [`Recover::run_with`].
    pub fn run(self, context: &Context<'_>) -> Result<RecoverReport> {
        context.cancel.check()?;
        write::write(&self.recover, &self.found, context)
    }
}

impl Recover {
    /// Creates a recovery of the database `source` into the new file `target`.
    pub fn new(source: impl Into<PathBuf>, target: impl Into<PathBuf>) -> Recover {
        Recover {
            source: source.into(),
            target: target.into(),
            schema: None,
            strict: false,
            deleted: false,
            from_indexes: false,
            ignore_wal: false,
            write: WriteOptions::default(),
        }
    }

    /// Recovers the database without progress reports.
    ///
    /// # Errors
    /// As [`Recover::run_with`].
    pub fn run(&self) -> Result<RecoverReport> {
        self.run_with(&Context::default())
    }

    /// Recovers the database. Reports progress to `context`, and stops if `context` is canceled.
    ///
    /// # Errors
    /// If the source can't be read, is in use by a writer, or has no page of a database, or the target can't be written. The target is
    /// complete, or does not exist.
    pub fn run_with(&self, context: &Context<'_>) -> Result<RecoverReport> {
        self.prepare(context)?.run(context)
    }

    /// Finds the rows that can be saved. Writes nothing.
    ///
    /// # Errors
    /// As [`Recover::run_with`], except for errors that only the run finds.
    pub fn prepare(&self, context: &Context<'_>) -> Result<PreparedRecover> {
        context.cancel.check()?;
        if self.write.threads == Some(0) {
            return Err(Error::usage("threads must be at least 1")
                .hint("leave the setting out for one thread per core"));
        }
        crate::remote::refuse_url(&self.source, "recovered", "copy the database to a local file first")?;
        let hint = "recover into a local file, and copy that to the URL afterwards";
        crate::remote::refuse_url(&self.target, "made by a recovery", hint)?;
        if is_same(&self.source, &self.target) {
            return Err(Error::usage("a damaged database is not recovered in place")
                .hint("name a new file: the damaged one stays as it is"));
        }
        self.wanted().refuse()?;
        let found = Arc::new(Found::of(self, context)?);
        Ok(PreparedRecover { recover: self.clone(), found })
    }

    /// Returns the request for the new file: its path, and the replacement of an existing file.
    pub fn wanted(&self) -> Wanted {
        Wanted::new(Target::resolve(&self.target, &self.write), self.write.overwrite)
    }

    fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.write.threads.unwrap_or_else(cores).max(1)
    }
}
