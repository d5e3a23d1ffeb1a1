//! The plan of a run, made before anything is written: plain data, printed by `--dry-run`.

mod columns;
mod existing;
mod print;

use std::path::PathBuf;
use std::time::Duration;

use serde::{Serialize, Serializer};
use sqluice_core::error::{Error, Message, Result, Setting, message};
use sqluice_core::schema::index::{Index, IndexOrigin, Indexed};
use sqluice_core::schema::{Column, Generated, Schema, Table};
use sqluice_core::size::Mebibytes;
use sqluice_format::page::{Geometry, PageSize};

pub use columns::{ChangedText, ColumnReport, MissedType, NullMarkers};
pub use existing::ExpectedRows;

use crate::options::{
    Action, CHUNKS_PER_WORKER_MAX, CHUNKS_PER_WORKER_MIN, OnConflict, WriteOptions, WritePath,
};
use crate::output::{self, Replaced, Replacement, Target, Wanted};

/// The plan of a run; see the module's description.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Plan {
    /// The file that will be written; `None`: the pages are made and discarded.
    #[serde(serialize_with = "name_as_text")]
    pub target: Option<Target>,
    /// Whether a file of that name exists, which the new one replaces.
    pub replaces: bool,
    /// The content of that file, which will be lost; set by [`Plan::look_at_replaced`].
    pub replaced: Option<Replaced>,
    /// The method by which that file will be replaced; set by [`Plan::look_at_replaced`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement: Option<Replacement>,
    /// The database of that name that the rows go into; `None`: a new one is created.
    pub existing: Option<ExistingPlan>,
    /// Bytes of a page.
    pub page_bytes: usize,
    /// Worker threads.
    pub threads: usize,
    /// Bytes of pages that go to the writer at a time.
    pub chunk_bytes: usize,
    /// The rowid of the first row of a new table whose rows have no numbers of their own.
    #[serde(skip)]
    pub first_rowid: i64,
    /// The chunks of that size that each worker has.
    pub chunks_per_worker: usize,
    /// Bytes of buffers that the run takes, besides the largest single row.
    pub buffer_bytes: u64,
    /// The part of these bytes that sorting takes.
    pub sort_bytes: u64,
    /// The file's rough size, if it can be estimated; of an existing database: by how much it grows.
    pub estimated_bytes: Option<u64>,
    /// The plan of each table.
    pub tables: Vec<TablePlan>,
    /// The statements that declare other objects than tables: views, triggers, versions.
    pub others: Vec<String>,
    /// Notes on what a user might not expect.
    pub notes: Vec<Message>,
    /// The folder for temporary files; `None`: the folder of the target.
    #[serde(serialize_with = "path_as_text")]
    pub temp_dir: Option<PathBuf>,
    /// How rows with the same key are handled.
    pub on_conflict: OnConflict,
    /// Whether ANALYZE runs at the end.
    pub analyze: bool,
    /// Whether every FOREIGN KEY must point to a row.
    pub foreign_keys: bool,
    /// Where SQLite's lock byte is.
    #[serde(skip)]
    pub pending_byte: u32,
    /// Bytes that the run may take.
    #[serde(skip)]
    pub memory_bytes: u64,
}

/// An existing database.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ExistingPlan {
    /// The number of its pages.
    pub pages: u32,
    /// Its journal mode, which stays.
    pub journal_mode: String,
    /// Why no pages can be written into it; `None`: they can.
    pub no_pages: Option<String>,
    /// The columns whose values are the key of a row that may exist already.
    pub upsert: Vec<String>,
    /// How long to wait for another process that uses it.
    #[serde(skip)]
    pub(crate) busy_timeout: Duration,
    /// `PRAGMA schema_version` when the plan was made.
    #[serde(skip)]
    pub(crate) schema_version: i64,
}

/// The plan of a table.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct TablePlan {
    /// Its name.
    pub name: String,
    /// What is done to it.
    pub action: Action,
    /// Statements that change it before it gets rows.
    pub alter: Vec<String>,
    /// Rows that it will get, where that is known.
    pub rows: Option<u64>,
    /// Their sources; empty without any.
    pub sources: Vec<String>,
    /// The write path of its rows.
    pub write_path: WritePath,
    /// The reason for that write path.
    pub why: String,
    /// The statement that creates the table.
    pub sql: String,
    /// Its columns.
    #[serde(rename = "columns")]
    pub all_columns: Vec<ColumnReport>,
    /// The plans of its indexes.
    pub indexes: Vec<IndexPlan>,
    /// Its rows are encoded one after another: NULL for a rowid means one more than the largest before.
    #[serde(skip)]
    pub(crate) in_sequence: bool,
    /// Its rows are generated so that the rows that they reference exist: no query checks this.
    #[serde(skip)]
    pub parents_known: bool,
    /// The columns that its rows have; the others get their defaults. `None`: all that take values.
    #[serde(skip)]
    pub(crate) columns: Option<Vec<usize>>,
}

/// The plan of an index.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct IndexPlan {
    /// Its name.
    pub name: String,
    /// The write path of its entries.
    pub write_path: WritePath,
    /// The reason for that write path.
    pub why: String,
    /// The statement that creates it; `None` for automatic indexes.
    pub sql: Option<String>,
}

impl Plan {
    /// The plan for a new database with the tables of `schema`.
    ///
    /// # Errors
    /// If the schema has an unsupported object, or the memory is too small.
    pub fn new(schema: &Schema, target: Option<Target>, options: &WriteOptions) -> Result<Plan> {
        let tables: Vec<TablePlan> =
            schema.tables.iter().map(|table| TablePlan::new(table, options.on_conflict)).collect();
        if options.threads == Some(0) {
            return Err(Error::usage("no threads can do no work").hint("give at least 1"));
        }
        let memory = Memory::divide(options, tables.iter().any(TablePlan::sorts))?;
        let triggers = schema.others.iter().filter(|object| object.kind == "trigger");
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
            notes: triggers
                .map(|trigger| {
                    format!("trigger {} is made after the rows, and does not fire for them", trigger.name)
                        .into()
                })
                .collect(),
            temp_dir: options.temp_dir.clone(),
            on_conflict: options.on_conflict,
            analyze: options.analyze,
            foreign_keys: options.foreign_keys.unwrap_or(true),
            pending_byte: options.tuning.pending_byte,
            memory_bytes: options.memory_bytes,
        })
    }

    /// Sorts the rows of a table, because they may arrive in any order of their rowids; `in_sequence`: these may include NULL,
    /// and rows are encoded one after another. `options` are those of the plan.
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
            let why = "what NULL means for a rowid depends on which rows stay";
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

    /// The plan with its notes in the terms of a front end, ready to be printed or serialized.
    #[must_use]
    pub fn in_terms(&self, name: impl Fn(Setting, Option<&str>) -> String) -> Plan {
        Plan { notes: self.notes.iter().map(|note| note.in_terms(&name)).collect(), ..self.clone() }
    }

    /// The new file that will be written, so that an existing one can be checked before.
    pub fn wanted(&self) -> Option<Wanted> {
        let target = self.target.as_ref().filter(|_| self.existing.is_none())?;
        let wanted = Wanted::new(target.clone(), self.replaces);
        Some(Wanted { estimated_bytes: self.estimated_bytes, ..wanted })
    }

    /// Refuses what the run would refuse because of an existing file or too little room. Nothing is changed.
    ///
    /// # Errors
    /// As [`Wanted::refuse`]; of an existing database, when it has no room to grow.
    pub fn refuse(&self) -> Result<()> {
        if let Some(wanted) = self.wanted() {
            return wanted.refuse();
        }
        match (&self.target, self.estimated_bytes) {
            (Some(target), Some(bytes)) => output::refuse_growth(target, bytes),
            _ => Ok(()),
        }
    }

    /// Adds the content of the database that is replaced, and how it will be replaced. Nothing is changed.
    ///
    /// # Errors
    /// As [`Wanted::refuse`] and [`Wanted::replacement`].
    pub fn look_at_replaced(&mut self) -> Result<()> {
        let Some(wanted) = self.wanted() else { return Ok(()) };
        (self.replacement, self.replaced) =
            (wanted.replacement(Some(self.page_bytes))?, wanted.look_at_replaced()?);
        Ok(())
    }

    /// The folder for temporary files: that of the target, if the user names no other.
    pub(crate) fn temp_dir(&self) -> Result<PathBuf> {
        match (&self.target, &self.temp_dir) {
            (Some(target), _) => target.temp_dir(),
            (None, Some(folder)) => Ok(folder.clone()),
            (None, None) => Ok(std::env::temp_dir()),
        }
    }

    /// The pages of the file.
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
    /// Worker threads.
    pub threads: usize,
    /// Chunks that each has.
    pub chunks_per_worker: usize,
    /// Bytes for sorting.
    pub sort_bytes: u64,
}

impl Memory {
    /// As many threads as the memory has chunks for, up to the wanted number. Sorting gets the rest of the memory.
    pub fn divide(options: &WriteOptions, sorts: bool) -> Result<Memory> {
        let least = ((CHUNKS_PER_WORKER_MIN + usize::from(sorts)) * options.tuning.chunk_bytes) as u64;
        let given_bytes = options.memory_bytes.saturating_sub(Memory::for_upload(options));
        if given_bytes < least {
            let what = if sorts { " to sort with" } else { "" };
            // What uploading takes is a part of the memory, and has a minimum.
            let least = least + options.destination.as_ref().map_or(0, |to| to.memory_bytes(0));
            let (given, enough) = (Mebibytes(options.memory_bytes), Mebibytes::at_least(least));
            let message = format!("{given} of memory are too little{what}: {enough} are enough");
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

    /// Bytes that uploading takes.
    fn for_upload(options: &WriteOptions) -> u64 {
        options.destination.as_ref().map_or(0, |to| to.memory_bytes(options.memory_bytes))
    }

    /// Bytes of all chunks.
    fn chunk_bytes(self, options: &WriteOptions) -> u64 {
        (self.threads * self.chunks_per_worker * options.tuning.chunk_bytes) as u64
    }
}

impl TablePlan {
    /// The plan of a new table.
    pub(crate) fn new(table: &Table, on_conflict: OnConflict) -> TablePlan {
        let indexes: Vec<IndexPlan> =
            table.indexes.iter().map(|index| IndexPlan::new(index, table)).collect();
        let stored = |column: &Column| column.generated == Some(Generated::Stored);
        let checked = |(index, column): (usize, &Column)| {
            column.generated.is_some()
                && (column.not_null || table.strict)
                && table.rowid_alias != Some(index)
        };
        let unique = table.rowid_alias.is_some()
            || table.clustered.is_some()
            || table.indexes.iter().any(|index| index.unique);
        let computed = |index: &Index| index.unique && by_sqlite(index, table).is_some();
        let by_order = |key: &Index| key.order().is_none();
        let (write_path, why) = match () {
            () if table.columns.iter().any(stored) => (WritePath::Sqlite, "SQLite computes a STORED column"),
            () if table.columns.iter().enumerate().any(checked) => {
                (WritePath::Sqlite, "SQLite checks what it computes")
            }
            () if table.clustered.as_ref().is_some_and(by_order) => {
                (WritePath::Sqlite, "only SQLite knows the order of its key")
            }
            () if on_conflict != OnConflict::Abort && table.indexes.iter().any(computed) => {
                (WritePath::Sqlite, "SQLite computes a unique key, and conflicts are decided by it")
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
            write_path,
            why: why.to_owned(),
            sql: table.sql.clone(),
            all_columns: ColumnReport::all(table),
            indexes,
            in_sequence: false,
            parents_known: false,
            columns: None,
        };
        if write_path == WritePath::Sqlite {
            plan.leave_to_sqlite(why);
        }
        plan
    }

    /// SQLite stores the rows, and with them the entries of all indexes.
    fn leave_to_sqlite(&mut self, why: &str) {
        (self.write_path, self.why) = (WritePath::Sqlite, why.to_owned());
        let indexes = std::mem::take(&mut self.indexes);
        self.indexes = indexes.into_iter().map(|index| index.by_sqlite(why)).collect();
    }

    /// Whether its rows or any of its indexes are sorted.
    pub(crate) fn sorts(&self) -> bool {
        self.write_path == WritePath::Sorted
            || self.indexes.iter().any(|index| index.write_path == WritePath::Sorted)
    }
}

/// The reason why only SQLite can make the entries of an index, if any.
fn by_sqlite(index: &Index, table: &Table) -> Option<&'static str> {
    let computed = |value: Indexed| match value {
        Indexed::Column(column) => table.columns[column].generated.is_some(),
        Indexed::Rowid => false,
        Indexed::Expression => true,
    };
    match () {
        () if index.partial => Some("it has a WHERE"),
        () if index.columns.iter().any(|column| computed(column.value)) => Some("SQLite computes its key"),
        () if index.order().is_none() => Some("only SQLite knows its order"),
        () => None,
    }
}

impl IndexPlan {
    fn new(index: &Index, table: &Table) -> IndexPlan {
        let of = match index.origin {
            IndexOrigin::Statement => "a new index",
            IndexOrigin::Unique => "the index of a UNIQUE constraint",
            IndexOrigin::PrimaryKey => "the index of the PRIMARY KEY",
        };
        let (name, sql) = (index.name.clone(), index.sql.clone());
        let new = IndexPlan { name, write_path: WritePath::Sorted, why: of.to_owned(), sql };
        match by_sqlite(index, table) {
            Some(why) => new.by_sqlite(why),
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
    schema.others.iter().filter_map(|object| object.sql.clone()).chain(pragmas).collect()
}

/// A path as text: invalid UTF-8 becomes U+FFFD, because JSON has only Unicode text.
pub fn path_as_text<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(to)
}

/// The name of a target, as [`path_as_text`] gives a path.
fn name_as_text<S: Serializer>(target: &Option<Target>, to: S) -> Result<S::Ok, S::Error> {
    target.as_ref().map(|target| target.name().to_string_lossy()).serialize(to)
}
