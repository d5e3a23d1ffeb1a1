//! The plan of a run, made before anything is written: plain data, printed by `--dry-run`.

mod columns;
mod existing;
mod left_out;
mod print;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use serde::{Serialize, Serializer};
use sqluice_core::error::{Error, Message, Result, Setting, message};
use sqluice_core::progress::Progress;
use sqluice_core::schema::index::{Index, IndexOrigin};
use sqluice_core::schema::{Object, Schema, Table};
use sqluice_core::size::Mebibytes;
use sqluice_format::page::{Geometry, PageSize};

pub use columns::{ChangedText, ColumnReport, MissedType, NullMarkers};
pub use existing::ExpectedRows;
pub(crate) use left_out::message_as_text;
pub use left_out::{LeftOutFile, left_out_in_words};

use crate::expressions::Expressions;
use crate::full_text::given;
use crate::full_text::triggers::misses_loaded_rows;
use crate::options::{
    Action, CHUNKS_PER_WORKER_MAX, CHUNKS_PER_WORKER_MIN, OnConflict, WriteOptions, WritePath,
};
use crate::output::{self, Replaced, Replacement, Target, Wanted};

/// The plan of a run.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Plan {
    /// The file or object to write; `None` if the pages are built and discarded.
    #[serde(serialize_with = "name_as_text")]
    pub target: Option<Target>,
    /// `true` if a file of this name exists, which the new file replaces.
    pub replaces: bool,
    /// The content of the replaced file, which will be lost. Set by [`Plan::look_at_replaced`].
    pub replaced: Option<Replaced>,
    /// The method that will replace the file. Set by [`Plan::look_at_replaced`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement: Option<Replacement>,
    /// The existing database that gets the rows; `None` if a new database is created.
    pub existing: Option<ExistingPlan>,
    /// The page size in bytes.
    pub page_bytes: usize,
    /// The number of worker threads.
    pub threads: usize,
    /// The size in bytes of a chunk, a buffer of finished pages.
    pub chunk_bytes: usize,
    /// The rowid of the first row of a new table whose rows have no rowids of their own.
    #[serde(skip)]
    pub first_rowid: i64,
    /// The number of chunks (buffers of finished pages) of each worker thread.
    pub chunks_per_worker: usize,
    /// The bytes of buffers that the run takes, without the largest single row.
    pub buffer_bytes: u64,
    /// The bytes of buffers for sorting.
    pub sort_bytes: u64,
    /// The rough size of a new file, or the rough growth of an existing database, if it can be estimated.
    pub estimated_bytes: Option<u64>,
    /// The plan of each table.
    pub tables: Vec<TablePlan>,
    /// The statements for everything but the tables in `tables` and their indexes: views, triggers, virtual tables without rows of their
    /// own, and PRAGMAs of the schema.
    pub others: Vec<String>,
    /// The full-text tables whose text is in other tables or views. Their indexes are built after all rows are stored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub full_text: Vec<String>,
    /// The work that the caller does with SQLite after all rows are stored, if any.
    #[serde(skip)]
    pub last: Option<LastWork>,
    /// `true` if CHECKs are not evaluated: rows that break a CHECK are stored, too.
    #[serde(skip)]
    pub ignores_checks: bool,
    /// Notes on results that a user may not expect.
    pub notes: Vec<Message>,
    /// The files of folders and archives that a load leaves out, because they are not named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutFile>,
    /// The folder for temporary files, if the user named one; otherwise `Plan::temp_dir` chooses it.
    #[serde(serialize_with = "path_as_text")]
    pub temp_dir: Option<PathBuf>,
    /// The treatment of rows with the same key.
    pub on_conflict: OnConflict,
    /// `true` if ANALYZE runs at the end.
    pub analyze: bool,
    /// `true` if every FOREIGN KEY must refer to a row.
    pub foreign_keys: bool,
    /// The offset of SQLite's lock byte.
    #[serde(skip)]
    pub pending_byte: u32,
    /// The memory budget of the run in bytes.
    #[serde(skip)]
    pub memory_bytes: u64,
}

/// Work that the caller does with SQLite in the new file, before the file gets its name. No other connection has the file open. The journal
/// of the connection is in memory, so the file is discarded after an error.
#[derive(Clone)]
pub struct LastWork(pub Arc<LastWorkFn>);

/// The function of a [`LastWork`].
pub type LastWorkFn = dyn Fn(&mut Connection, &dyn Progress) -> Result<()> + Send + Sync;

impl fmt::Debug for LastWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LastWork")
    }
}

/// The plan for an existing database.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ExistingPlan {
    /// The number of pages of the database.
    pub pages: u32,
    /// The journal mode, which does not change.
    pub journal_mode: String,
    /// The reason why no pages can be written into the database; `None` if they can.
    pub no_pages: Option<String>,
    /// The columns of an upsert, which are a key of the table.
    pub upsert: Vec<String>,
    /// The time to wait for other processes that use the database.
    #[serde(skip)]
    pub(crate) busy_timeout: Duration,
    /// The `PRAGMA schema_version` for which the plan was made.
    #[serde(skip)]
    pub(crate) schema_version: i64,
}

/// Full-text tables over a table that get the new rows because the user asks for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct AskedTexts {
    pub(crate) names: Vec<String>,
    /// `true` if triggers add the new rows, because only SQLite knows which rows are new, or how they are indexed.
    pub(crate) by_triggers: bool,
    /// `true` if the run replaces old rows, so that the full-text index is built again.
    pub(crate) is_remade: bool,
}

/// The plan of a table.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct TablePlan {
    /// The name of the table.
    pub name: String,
    /// The effect of the run on the table.
    pub action: Action,
    /// The statements that change the table before it gets rows.
    pub alter: Vec<String>,
    /// The number of rows that the table will get, if known.
    pub rows: Option<u64>,
    /// The sources of the rows, if any.
    pub sources: Vec<String>,
    /// The first rows for a message: each as it is in the input, and as the expressions of the load change it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub first_rows: Vec<String>,
    /// The write path of the rows.
    pub write_path: WritePath,
    /// The reason for the write path.
    pub why: String,
    /// The statement that creates the table.
    pub sql: String,
    /// The columns of the table.
    #[serde(rename = "columns")]
    pub all_columns: Vec<ColumnReport>,
    /// The plans of the indexes.
    pub indexes: Vec<IndexPlan>,
    /// The full-text tables that get the terms of the new rows without their triggers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub full_text: Vec<String>,
    /// The full-text tables over the table that do not get the new rows, as no trigger adds them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub full_text_behind: Vec<String>,
    /// The full-text tables over the table that get the new rows because the user asks for it.
    #[serde(skip)]
    pub(crate) asked: AskedTexts,
    /// `true` if the rows are encoded in sequence: NULL for a rowid means one more than the largest rowid before.
    #[serde(skip)]
    pub(crate) in_sequence: bool,
    /// `true` if the rows are generated so that their parents exist, which no query needs to check.
    #[serde(skip)]
    pub parents_known: bool,
    /// The columns that the rows have; `None` for all columns that take values. Other columns get their defaults.
    #[serde(skip)]
    pub(crate) columns: Option<Vec<usize>>,
    /// The expressions that are evaluated while rows are encoded.
    #[serde(skip)]
    pub(crate) expressions: Option<Arc<Expressions>>,
}

/// The plan of an index.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct IndexPlan {
    /// The name of the index.
    pub name: String,
    /// The write path of the entries.
    pub write_path: WritePath,
    /// The reason for the write path.
    pub why: String,
    /// The statement that creates the index; `None` for automatic indexes.
    pub sql: Option<String>,
}

impl Plan {
    /// Returns the plan for a new database with the tables of `schema`.
    ///
    /// # Errors
    /// If no thread is permitted, or the memory is too small.
    pub fn new(schema: &Schema, target: Option<Target>, options: &WriteOptions) -> Result<Plan> {
        let tables: Vec<TablePlan> =
            schema.tables.iter().map(|table| TablePlan::new(table, options.on_conflict)).collect();
        if options.threads == Some(0) {
            return Err(Error::usage("threads must be at least 1")
                .hint("leave the setting out for one thread per core"));
        }
        let memory = Memory::divide(options, tables.iter().any(TablePlan::sorts))?;
        let triggers = schema.others.iter().filter(|object| object.kind == "trigger");
        let triggers = triggers.filter(|trigger| misses_loaded_rows(trigger, schema));
        let replaces = options.overwrite && target.as_ref().is_some_and(Target::exists);
        Ok(Plan {
            target,
            replaces,
            replaced: None,
            replacement: None,
            existing: None,
            page_bytes: options.page_size.bytes(),
            threads: memory.threads,
            chunk_bytes: options.tuning.chunk_bytes,
            first_rowid: options.first_rowid,
            chunks_per_worker: memory.chunks_per_worker,
            buffer_bytes: memory.chunk_bytes(options) + memory.sort_bytes + Memory::for_upload(options),
            sort_bytes: memory.sort_bytes,
            estimated_bytes: None,
            tables,
            others: other_statements(schema),
            full_text: Vec::new(),
            last: None,
            ignores_checks: false,
            notes: triggers
                .map(|trigger| {
                    format!("trigger {} is made after the rows, and does not fire for them", trigger.name)
                        .into()
                })
                .collect(),
            left_out: Vec::new(),
            temp_dir: options.temp_dir.clone(),
            on_conflict: options.on_conflict,
            analyze: options.analyze,
            foreign_keys: options.foreign_keys.unwrap_or(true),
            pending_byte: options.tuning.pending_byte,
            memory_bytes: options.memory_bytes,
        })
    }

    /// Sorts the rows of a table, because they may arrive in any order of their rowids. With `in_sequence`, rowids may be NULL, and rows
    /// are encoded in sequence, or stored by SQLite if conflicts of keys leave rows out. `options` are the options of the plan.
    ///
    /// # Errors
    /// If the memory is too small to sort with.
    pub fn sort_rows(
        &mut self,
        (index, declared): (usize, &Table),
        in_sequence: bool,
        why: &str,
        options: &WriteOptions,
    ) -> Result<()> {
        let table = &mut self.tables[index];
        if table.write_path == WritePath::Pages {
            (table.write_path, table.why) = (WritePath::Sorted, why.to_owned());
        }
        let falls =
            self.on_conflict != OnConflict::Abort && declared.indexes.iter().any(|index| index.unique);
        if in_sequence && falls {
            let why = "the number that a row with NULL as its rowid gets depends on which rows before it are left out";
            match self.existing {
                None => table.leave_to_sqlite(why),
                Some(_) => table.insert(declared, why),
            }
        }
        table.in_sequence = in_sequence && table.write_path == WritePath::Sorted;
        self.divide_memory(options)
    }

    /// Divides the memory again after a change of write paths.
    fn divide_memory(&mut self, options: &WriteOptions) -> Result<()> {
        let memory = Memory::divide(options, self.tables.iter().any(TablePlan::sorts))?;
        (self.threads, self.chunks_per_worker) = (memory.threads, memory.chunks_per_worker);
        self.sort_bytes = memory.sort_bytes;
        self.buffer_bytes = memory.chunk_bytes(options) + memory.sort_bytes + Memory::for_upload(options);
        Ok(())
    }

    /// Returns the plan with its notes in the terms of a front end, ready to be printed or serialized.
    #[must_use]
    pub fn in_terms(&self, name: impl Fn(Setting, Option<&str>) -> String) -> Plan {
        Plan {
            notes: self.notes.iter().map(|note| note.in_terms(&name)).collect(),
            left_out: self.left_out.iter().map(|file| file.in_terms(&name)).collect(),
            ..self.clone()
        }
    }

    /// Returns the request for the new database, with which existing files are checked, or `None` if the run discards its pages or writes
    /// to an existing database.
    pub fn wanted(&self) -> Option<Wanted> {
        let target = self.target.as_ref().filter(|_| self.existing.is_none())?;
        let wanted = Wanted::new(target.clone(), self.replaces);
        Some(Wanted { estimated_bytes: self.estimated_bytes, ..wanted })
    }

    /// Refuses an existing file, or a disk with too little space, that the run would refuse. Changes nothing.
    ///
    /// # Errors
    /// The errors of [`Wanted::refuse`], or if an existing database has no space to grow.
    pub fn refuse(&self) -> Result<()> {
        if let Some(wanted) = self.wanted() {
            return wanted.refuse();
        }
        match (&self.target, self.estimated_bytes) {
            (Some(target), Some(bytes)) => output::refuse_growth(target, bytes),
            _ => Ok(()),
        }
    }

    /// Adds the content of the replaced database, and the method of the replacement. Changes nothing.
    ///
    /// # Errors
    /// The errors of [`Wanted::refuse`] and [`Wanted::replacement`].
    pub fn look_at_replaced(&mut self) -> Result<()> {
        let Some(wanted) = self.wanted() else { return Ok(()) };
        (self.replacement, self.replaced) =
            (wanted.replacement(Some(self.page_bytes))?, wanted.look_at_replaced()?);
        Ok(())
    }

    /// Returns the folder for temporary files: the folder that the user named, or the folder of the target, or the folder of the system if
    /// there is no target or the target is no file.
    pub(crate) fn temp_dir(&self) -> Result<PathBuf> {
        match (&self.target, &self.temp_dir) {
            (Some(target), _) => target.temp_dir(),
            (None, Some(folder)) => Ok(folder.clone()),
            (None, None) => Ok(std::env::temp_dir()),
        }
    }

    /// Returns the layout of the file's pages.
    pub fn geometry(&self) -> Geometry {
        PageSize::new(self.page_bytes as u32)
            .and_then(|size| Geometry::new(size, 0))
            .expect("a plan's page size is a legal one")
            .with_pending_byte(self.pending_byte)
    }
}

/// The division of the memory.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// The number of worker threads.
    pub threads: usize,
    /// The number of chunks of each thread.
    pub chunks_per_worker: usize,
    /// The number of bytes of memory for sorting.
    pub sort_bytes: u64,
}

impl Memory {
    /// Divides the memory: as many threads as the memory has chunks for, up to the wanted number. Sorting gets the memory that is left.
    pub fn divide(options: &WriteOptions, sorts: bool) -> Result<Memory> {
        let least = ((CHUNKS_PER_WORKER_MIN + usize::from(sorts)) * options.tuning.chunk_bytes) as u64;
        let given_bytes = options.memory_bytes.saturating_sub(Memory::for_upload(options));
        if given_bytes < least {
            let what = if sorts { " to sort with" } else { "" };
            // Uploads take a part of the memory, which has a minimum.
            let least = least + options.destination.as_ref().map_or(0, |to| to.memory_bytes(0));
            let (given, enough) = (Mebibytes(options.memory_bytes), Mebibytes::at_least(least));
            let message = format!("{given} of memory is too little{what}: {enough} is enough");
            let setting = Setting::Memory.to(enough.to_string().replace(' ', ""));
            return Err(Error::usage(message).hint(message!["give at least ", setting]));
        }
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = options.threads.unwrap_or_else(cores).min((given_bytes / least) as usize);
        let chunks = (given_bytes / options.tuning.chunk_bytes as u64) as usize;
        let chunks_per_worker = match sorts {
            true => CHUNKS_PER_WORKER_MIN,
            false => (chunks / threads).min(CHUNKS_PER_WORKER_MAX),
        };
        let memory = Memory { threads, chunks_per_worker, sort_bytes: 0 };
        let rest = given_bytes - memory.chunk_bytes(options);
        Ok(Memory { sort_bytes: if sorts { rest } else { 0 }, ..memory })
    }

    /// Returns the number of bytes of memory that uploads take; 0 if the target is a file.
    fn for_upload(options: &WriteOptions) -> u64 {
        options.destination.as_ref().map_or(0, |to| to.memory_bytes(options.memory_bytes))
    }

    /// Returns the memory that the chunks of all threads take, in bytes.
    fn chunk_bytes(self, options: &WriteOptions) -> u64 {
        (self.threads * self.chunks_per_worker * options.tuning.chunk_bytes) as u64
    }
}

impl TablePlan {
    /// Returns the plan of a new table.
    pub(crate) fn new(table: &Table, on_conflict: OnConflict) -> TablePlan {
        let expressions = Expressions::of(table).map(Arc::new);
        let of_table = expressions.as_deref();
        let numbered = || table.indexes.iter().enumerate();
        let indexes: Vec<IndexPlan> = numbered()
            .map(|(number, index)| IndexPlan::new(index, by_sqlite(number, table, of_table)))
            .collect();
        let unique = table.rowid_alias.is_some()
            || table.clustered.is_some()
            || table.indexes.iter().any(|index| index.unique);
        // SQLite refuses a row whose key it can't compute, also if a conflict would leave the row out.
        let computed = |(number, _): (usize, &Index)| unique && by_sqlite(number, table, of_table).is_some();
        let by_order = |key: &Index| key.order().is_none();
        let of_module = || match given::is_built_here(table, on_conflict) {
            Ok(()) => given::BUILT_HERE.to_owned(),
            Err(why) => why,
        };
        let of_module = if table.is_virtual { of_module() } else { String::new() };
        let (write_path, why) = match () {
            () if table.is_virtual => (WritePath::Sqlite, &*of_module),
            // SQLite refuses a row for which a generated column can't be computed, even a VIRTUAL column, which is not stored.
            () if of_table.is_some_and(|expressions| expressions.generated_by_sqlite().is_some()) => {
                (WritePath::Sqlite, "SQLite computes a column")
            }
            () if of_table.is_some_and(|expressions| !expressions.check_rows()) => {
                (WritePath::Sqlite, "SQLite checks its rows")
            }
            () if table.clustered.as_ref().is_some_and(by_order) => {
                (WritePath::Sqlite, "only SQLite knows the order of its key")
            }
            () if on_conflict != OnConflict::Abort && numbered().any(computed) => {
                (WritePath::Sqlite, "SQLite computes an index, and conflicts are decided with it")
            }
            () if table.clustered.is_some() => (WritePath::Sorted, "a new WITHOUT ROWID table"),
            () if on_conflict != OnConflict::Abort && unique => {
                (WritePath::Sorted, "conflicts of keys are decided before rows are written")
            }
            () if indexes.is_empty() => (WritePath::Pages, "a new rowid table without indexes"),
            () => (WritePath::Pages, "a new rowid table"),
        };
        let mut plan = TablePlan {
            name: table.name.clone(),
            action: Action::Make,
            alter: Vec::new(),
            rows: None,
            sources: Vec::new(),
            first_rows: Vec::new(),
            write_path,
            why: why.to_owned(),
            sql: table.sql.clone(),
            all_columns: ColumnReport::all(table),
            indexes,
            full_text: Vec::new(),
            full_text_behind: Vec::new(),
            asked: AskedTexts::default(),
            in_sequence: false,
            parents_known: false,
            columns: None,
            expressions,
        };
        if write_path == WritePath::Sqlite {
            plan.leave_to_sqlite(why);
        }
        plan
    }

    /// Lets SQLite store the rows, and with them the entries of all indexes.
    fn leave_to_sqlite(&mut self, why: &str) {
        (self.write_path, self.why) = (WritePath::Sqlite, why.to_owned());
        let indexes = std::mem::take(&mut self.indexes);
        self.indexes = indexes.into_iter().map(|index| index.by_sqlite(why)).collect();
    }

    /// Returns `true` if the rows or any index are sorted.
    pub(crate) fn sorts(&self) -> bool {
        self.write_path == WritePath::Sorted
            || self.indexes.iter().any(|index| index.write_path == WritePath::Sorted)
    }
}

/// Returns the reason why only SQLite can make the entries of the index at position `number` of [`Table::indexes`], if any.
fn by_sqlite(number: usize, table: &Table, expressions: Option<&Expressions>) -> Option<String> {
    if table.indexes[number].order().is_none() {
        return Some("only SQLite knows its order".to_owned());
    }
    expressions.and_then(|expressions| expressions.of_index(number).err()).map(str::to_owned)
}

impl IndexPlan {
    fn new(index: &Index, by_sqlite: Option<String>) -> IndexPlan {
        let of = match index.origin {
            IndexOrigin::Statement => "a new index",
            IndexOrigin::Unique => "the index of a UNIQUE constraint",
            IndexOrigin::PrimaryKey => "the index of the PRIMARY KEY",
        };
        let (name, sql) = (index.name.clone(), index.sql.clone());
        let new = IndexPlan { name, write_path: WritePath::Sorted, why: of.to_owned(), sql };
        match by_sqlite {
            Some(why) => new.by_sqlite(&why),
            None => new,
        }
    }

    fn by_sqlite(self, why: &str) -> IndexPlan {
        IndexPlan { write_path: WritePath::Sqlite, why: why.to_owned(), ..self }
    }
}

fn other_statements(schema: &Schema) -> Vec<String> {
    let versions = [("user_version", schema.user_version), ("application_id", schema.application_id)];
    let pragmas = versions.iter().filter(|(_, value)| *value != 0);
    let pragmas = pragmas.map(|(name, value)| format!("PRAGMA {name} = {value}"));
    // The statement of a virtual table with rows is in the plan of the table.
    let has_plan = |object: &&Object| {
        object.kind == "table" && schema.table(&object.name).is_some_and(|table| table.is_virtual)
    };
    let others = schema.others.iter().filter(|object| !has_plan(object));
    others.filter_map(|object| object.sql.clone()).chain(pragmas).collect()
}

/// Serializes a path as text. Invalid UTF-8 becomes U+FFFD, because JSON has only Unicode text.
pub fn path_as_text<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(to)
}

/// Serializes the name of a target, like [`path_as_text`].
fn name_as_text<S: Serializer>(target: &Option<Target>, to: S) -> Result<S::Ok, S::Error> {
    target.as_ref().map(|target| target.name().to_string_lossy()).serialize(to)
}
