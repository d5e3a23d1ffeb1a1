//! What will be done, before anything is written: plain data, printed by `--dry-run`.

use std::fmt;
use std::path::PathBuf;

use serde::{Serialize, Serializer};
use sqluice_format::page::{Geometry, PENDING_BYTE, PageSize};

use crate::error::{Error, Result};
use crate::output::Wanted;
use crate::pipeline::{CHUNKS_PER_WORKER_MAX, CHUNKS_PER_WORKER_MIN};
use crate::schema::index::{Index, IndexOrigin, Indexed};
use crate::schema::{Column, Generated, Schema, Table, token};
use crate::size::Bytes;

/// How a new database is written, whatever its rows come from.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// Worker threads; `None`: one a core.
    pub threads: Option<usize>,
    /// Bytes that the run may take, besides the largest single row: at least 24 MiB.
    pub memory_bytes: u64,
    /// The page size of the new file.
    pub page_size: PageSize,
    /// Whether a database that has the target's name is replaced. No connection of this process may have it open, not even
    /// an idle one: it would lose its locks.
    pub overwrite: bool,
    /// Where to keep what does not fit the memory; `None`: in the folder of the target.
    pub temp_dir: Option<PathBuf>,
    /// What becomes of a row that has a key which another row has. ON CONFLICT clauses of the schema are not followed.
    pub on_conflict: OnConflict,
    /// Whether to run ANALYZE.
    pub analyze: bool,
    /// Whether rows whose FOREIGN KEY points nowhere end the run.
    pub foreign_keys: bool,
    /// Bytes of pages that go to the writer at a time. The file depends on it, so it is no user's choice: tests make it
    /// small.
    #[doc(hidden)]
    pub chunk_bytes: usize,
    /// Where SQLite's lock byte is: tests move it to where small files reach it.
    #[doc(hidden)]
    pub pending_byte: u32,
}

impl Default for WriteOptions {
    fn default() -> WriteOptions {
        WriteOptions {
            threads: None,
            memory_bytes: 256 << 20,
            page_size: PageSize::DEFAULT,
            overwrite: false,
            temp_dir: None,
            on_conflict: OnConflict::Abort,
            analyze: false,
            foreign_keys: true,
            chunk_bytes: 8 << 20,
            pending_byte: PENDING_BYTE,
        }
    }
}

/// What becomes of a row that has a PRIMARY KEY or UNIQUE key which a row before it has
/// ([ON CONFLICT](https://www.sqlite.org/lang_conflict.html)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OnConflict {
    /// It ends the run.
    #[default]
    Abort,
    /// It is left out.
    Ignore,
    /// Those before it are left out.
    Replace,
}

/// The way that rows or index entries take into the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Road {
    /// Encoded into pages as they come.
    Pages,
    /// Sorted, and then encoded into pages.
    Sorted,
    /// By SQLite, when the pages of the rest are in place.
    Sqlite,
}

/// What will be done; see the module's description.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// The file that will be written; `None`: the pages are made and thrown away.
    #[serde(serialize_with = "path_as_text")]
    pub target: Option<PathBuf>,
    /// Whether there is a file of that name, which the new one replaces.
    pub replaces: bool,
    /// Bytes of a page.
    pub page_bytes: usize,
    /// Worker threads.
    pub threads: usize,
    /// Bytes of pages that go to the writer at a time.
    pub chunk_bytes: usize,
    /// Chunks of so many bytes that each worker has.
    pub chunks_per_worker: usize,
    /// Bytes of buffers that the run takes, besides the largest single row.
    pub buffer_bytes: u64,
    /// Bytes of them that sorting takes.
    pub sort_bytes: u64,
    /// The file's size, roughly, where it can be told.
    pub estimated_bytes: Option<u64>,
    /// What happens to each table.
    pub tables: Vec<TablePlan>,
    /// The statements that declare what is no table: views, triggers, versions.
    pub others: Vec<String>,
    /// What a user might expect otherwise.
    pub notes: Vec<String>,
    /// Where what does not fit the memory is kept; `None`: in the folder of the target.
    #[serde(serialize_with = "path_as_text")]
    pub temp_dir: Option<PathBuf>,
    /// What becomes of rows with the same key.
    pub on_conflict: OnConflict,
    /// Whether ANALYZE runs at the end.
    pub analyze: bool,
    /// Whether every FOREIGN KEY must point to a row.
    pub foreign_keys: bool,
    #[serde(skip)]
    pub(crate) pending_byte: u32,
    /// Bytes that the run may take.
    #[serde(skip)]
    pub(crate) memory_bytes: u64,
}

/// What will be done with a table.
#[derive(Clone, Debug, Serialize)]
pub struct TablePlan {
    /// Its name.
    pub name: String,
    /// Rows that it will get, where that is known.
    pub rows: Option<u64>,
    /// Where they come from; nowhere, if there is none.
    pub sources: Vec<String>,
    /// The way that they take.
    pub road: Road,
    /// Why that way.
    pub why: String,
    /// The statement that makes the table.
    pub sql: String,
    /// What happens to its indexes.
    pub indexes: Vec<IndexPlan>,
    /// Its rows are encoded one after another: NULL for a rowid means one more than the largest before.
    #[serde(skip)]
    pub(crate) in_sequence: bool,
}

/// What will be done with an index.
#[derive(Clone, Debug, Serialize)]
pub struct IndexPlan {
    /// Its name.
    pub name: String,
    /// The way that its entries take.
    pub road: Road,
    /// Why that way.
    pub why: String,
    /// The statement that makes it; `None` for automatic indexes.
    pub sql: Option<String>,
}

impl Road {
    /// Its name in plans and reports.
    pub fn name(self) -> &'static str {
        match self {
            Road::Pages => "pages",
            Road::Sorted => "sorted",
            Road::Sqlite => "sqlite",
        }
    }
}

impl Plan {
    /// The plan for a new database with the tables of `schema`.
    ///
    /// # Errors
    /// When the schema holds something that can't be done yet, or the memory is too small.
    pub(crate) fn new(schema: &Schema, target: Option<PathBuf>, options: &WriteOptions) -> Result<Plan> {
        let tables: Vec<TablePlan> =
            schema.tables.iter().map(|table| TablePlan::new(table, options.on_conflict)).collect();
        if options.threads == Some(0) {
            return Err(Error::usage("no threads can do no work").hint("give at least 1"));
        }
        let memory = Memory::divide(options, tables.iter().any(TablePlan::sorts))?;
        let triggers = schema.others.iter().filter(|object| object.kind == "trigger");
        let replaces = options.overwrite && target.as_ref().is_some_and(|target| target.exists());
        Ok(Plan {
            target,
            replaces,
            page_bytes: options.page_size.bytes(),
            threads: memory.threads,
            chunk_bytes: options.chunk_bytes,
            chunks_per_worker: memory.chunks_per_worker,
            buffer_bytes: memory.chunk_bytes(options) + memory.sort_bytes,
            sort_bytes: memory.sort_bytes,
            estimated_bytes: None,
            tables,
            others: other_statements(schema),
            notes: triggers
                .map(|trigger| {
                    format!("trigger {} is made after the rows, and does not fire for them", trigger.name)
                })
                .collect(),
            temp_dir: options.temp_dir.clone(),
            on_conflict: options.on_conflict,
            analyze: options.analyze,
            foreign_keys: options.foreign_keys,
            pending_byte: options.pending_byte,
            memory_bytes: options.memory_bytes,
        })
    }

    /// Sorts the rows of a table, because they may come in any order of their rowids; `in_sequence`: there may be NULL among these,
    /// and rows are encoded one after another. `options` are those of the plan.
    ///
    /// # Errors
    /// When the memory is too small to sort with.
    pub(crate) fn sort_rows(
        &mut self,
        (index, declared): (usize, &Table),
        in_sequence: bool,
        why: &str,
        options: &WriteOptions,
    ) -> Result<()> {
        let table = &mut self.tables[index];
        if table.road == Road::Pages {
            (table.road, table.why) = (Road::Sorted, why.to_owned());
        }
        let falls =
            self.on_conflict != OnConflict::Abort && declared.indexes.iter().any(|index| index.unique);
        if in_sequence && falls {
            table.leave_to_sqlite("what NULL means for a rowid depends on which rows stay");
        }
        table.in_sequence = in_sequence && table.road == Road::Sorted;
        let memory = Memory::divide(options, self.tables.iter().any(TablePlan::sorts))?;
        (self.threads, self.chunks_per_worker) = (memory.threads, memory.chunks_per_worker);
        self.sort_bytes = memory.sort_bytes;
        self.buffer_bytes = memory.chunk_bytes(options) + memory.sort_bytes;
        Ok(())
    }

    /// The file that will be written: what lies there can be asked before.
    pub fn wanted(&self) -> Option<Wanted<'_>> {
        let Plan { replaces, estimated_bytes, .. } = *self;
        self.target.as_deref().map(|path| Wanted { path, replaces, estimated_bytes })
    }

    pub(crate) fn geometry(&self) -> Geometry {
        PageSize::new(self.page_bytes as u32)
            .and_then(|size| Geometry::new(size, 0))
            .expect("a plan's page size is a legal one")
            .with_pending_byte(self.pending_byte)
    }
}

/// What the memory is used for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) threads: usize,
    pub(crate) chunks_per_worker: usize,
    pub(crate) sort_bytes: u64,
}

impl Memory {
    /// As many threads as the memory has chunks for, up to those wanted. What sorts gets all that the chunks do not need.
    pub(crate) fn divide(options: &WriteOptions, sorts: bool) -> Result<Memory> {
        let least = ((CHUNKS_PER_WORKER_MIN + usize::from(sorts)) * options.chunk_bytes) as u64;
        if options.memory_bytes < least {
            let what = if sorts { " to sort with" } else { "" };
            let message = format!("{} bytes of memory are too few{what}", options.memory_bytes);
            return Err(
                Error::usage(message).hint(format!("--memory {}MiB or more", least.div_ceil(1 << 20)))
            );
        }
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = options.threads.unwrap_or_else(cores).min((options.memory_bytes / least) as usize);
        let chunks = (options.memory_bytes / options.chunk_bytes as u64) as usize;
        let chunks_per_worker = match sorts {
            true => CHUNKS_PER_WORKER_MIN,
            false => (chunks / threads).min(CHUNKS_PER_WORKER_MAX),
        };
        let memory = Memory { threads, chunks_per_worker, sort_bytes: 0 };
        let rest = options.memory_bytes - memory.chunk_bytes(options);
        Ok(Memory { sort_bytes: if sorts { rest } else { 0 }, ..memory })
    }

    /// Bytes of all chunks.
    fn chunk_bytes(self, options: &WriteOptions) -> u64 {
        (self.threads * self.chunks_per_worker * options.chunk_bytes) as u64
    }
}

impl TablePlan {
    /// What will be done with a new table.
    pub(crate) fn new(table: &Table, on_conflict: OnConflict) -> TablePlan {
        let indexes: Vec<IndexPlan> =
            table.indexes.iter().map(|index| IndexPlan::new(index, table)).collect();
        let stored = |column: &Column| column.generated == Some(Generated::Stored);
        let checked = |column: &Column| column.generated.is_some() && (column.not_null || table.strict);
        let unique = table.rowid_alias.is_some()
            || table.clustered.is_some()
            || table.indexes.iter().any(|index| index.unique);
        let computed = |index: &Index| index.unique && by_sqlite(index, table).is_some();
        let by_order = |key: &Index| key.order().is_none();
        let (road, why) = match () {
            () if table.columns.iter().any(stored) => (Road::Sqlite, "SQLite computes a STORED column"),
            () if table.columns.iter().any(checked) => (Road::Sqlite, "SQLite checks what it computes"),
            () if table.clustered.as_ref().is_some_and(by_order) => {
                (Road::Sqlite, "only SQLite knows the order of its key")
            }
            () if on_conflict != OnConflict::Abort && table.indexes.iter().any(computed) => {
                (Road::Sqlite, "SQLite computes a unique key, and conflicts are decided by it")
            }
            () if table.clustered.is_some() => (Road::Sorted, "a new WITHOUT ROWID table"),
            () if on_conflict != OnConflict::Abort && unique => {
                (Road::Sorted, "conflicts of keys are decided before rows are written")
            }
            () if indexes.is_empty() => (Road::Pages, "a new rowid table without indexes"),
            () => (Road::Pages, "a new rowid table"),
        };
        let mut plan = TablePlan {
            name: table.name.clone(),
            rows: None,
            sources: Vec::new(),
            road,
            why: why.to_owned(),
            sql: table.sql.clone(),
            indexes,
            in_sequence: false,
        };
        if road == Road::Sqlite {
            plan.leave_to_sqlite(why);
        }
        plan
    }

    /// SQLite stores the rows, and with them the entries of all indexes.
    fn leave_to_sqlite(&mut self, why: &str) {
        (self.road, self.why) = (Road::Sqlite, why.to_owned());
        let indexes = std::mem::take(&mut self.indexes);
        self.indexes = indexes.into_iter().map(|index| index.by_sqlite(why)).collect();
    }

    /// Whether anything of it is sorted.
    pub(crate) fn sorts(&self) -> bool {
        self.road == Road::Sorted || self.indexes.iter().any(|index| index.road == Road::Sorted)
    }
}

/// Why only SQLite can make the entries of an index, if that is so.
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
        let new = IndexPlan { name, road: Road::Sorted, why: of.to_owned(), sql };
        match by_sqlite(index, table) {
            Some(why) => new.by_sqlite(why),
            None => new,
        }
    }

    fn by_sqlite(self, why: &str) -> IndexPlan {
        IndexPlan { road: Road::Sqlite, why: why.to_owned(), ..self }
    }
}

impl TablePlan {
    fn write_sources(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SOURCES_MAX: usize = 10;
        let rows = self.rows.map_or("rows".to_owned(), |rows| format!("{rows} rows"));
        write!(f, "-- table    {}: {rows} from ", in_line(&self.name))?;
        match &self.sources[..] {
            [] => writeln!(f, "nothing"),
            [one] => writeln!(f, "{}", in_line(one)),
            several => {
                writeln!(f, "{} files", several.len())?;
                for source in several.iter().take(SOURCES_MAX) {
                    writeln!(f, "--   from   {}", in_line(source))?;
                }
                match several.len().saturating_sub(SOURCES_MAX) {
                    0 => Ok(()),
                    more => writeln!(f, "--   from   {more} more"),
                }
            }
        }
    }
}

/// A statement with its semicolon, which is no part of a comment that it may end with.
fn ended(sql: &str) -> String {
    match token::tokens(sql).last() {
        Some(last) if last.is_comment() && last.at.end == sql.len() => format!("{sql}\n;"),
        _ => format!("{sql};"),
    }
}

/// A name as part of a comment, which ends with its line: so must no name.
fn in_line(name: &impl fmt::Display) -> String {
    name.to_string().replace(['\n', '\r'], "\u{fffd}")
}

/// A schema file, ready to be used: what is no SQL is a comment.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Some(target) if self.replaces => {
                writeln!(f, "-- target   {} (replaces the old one)", in_line(&target.display()))?;
            }
            Some(target) => writeln!(f, "-- target   {} (new)", in_line(&target.display()))?,
            None => writeln!(f, "-- target   none: pages are made and thrown away")?,
        }
        if let Some(bytes) = self.estimated_bytes {
            writeln!(f, "-- size     about {:.1}", Bytes(bytes))?;
        }
        let (page_bytes, pages) = (self.page_bytes, self.chunk_bytes / self.page_bytes);
        writeln!(f, "-- pages    of {page_bytes} bytes, {pages} at a time")?;
        let (threads, bytes) = (self.threads, self.buffer_bytes);
        writeln!(f, "-- threads  {threads} and a writer, {bytes} bytes of buffers")?;
        if self.sort_bytes > 0 {
            let folder = self.temp_dir.as_ref().map(|folder| in_line(&folder.display()));
            let folder = folder.unwrap_or("the folder of the target".to_owned());
            writeln!(
                f,
                "-- sorting  in {} bytes of them; what does not fit goes to {folder}",
                self.sort_bytes
            )?;
        }
        match self.on_conflict {
            OnConflict::Abort => {}
            OnConflict::Ignore => writeln!(f, "-- conflict a row whose key is there already is left out")?,
            OnConflict::Replace => writeln!(f, "-- conflict a row whose key comes again is left out")?,
        }
        if self.analyze {
            writeln!(f, "-- analyze  at the end")?;
        }
        for note in &self.notes {
            writeln!(f, "-- note     {}", in_line(note))?;
        }
        for table in &self.tables {
            table.write_sources(f)?;
            writeln!(f, "--   road   {}: {}", table.road.name(), table.why)?;
            writeln!(f, "{}", ended(&table.sql))?;
            for index in &table.indexes {
                writeln!(f, "-- index    {}", in_line(&index.name))?;
                writeln!(f, "--   road   {}: {}", index.road.name(), index.why)?;
                index.sql.iter().try_for_each(|sql| writeln!(f, "{}", ended(sql)))?;
            }
        }
        self.others.iter().try_for_each(|sql| writeln!(f, "{}", ended(sql)))
    }
}

fn other_statements(schema: &Schema) -> Vec<String> {
    let versions = [("user_version", schema.user_version), ("application_id", schema.application_id)];
    let pragmas = versions.iter().filter(|(_, value)| *value != 0);
    let pragmas = pragmas.map(|(name, value)| format!("PRAGMA {name} = {value}"));
    schema.others.iter().filter_map(|object| object.sql.clone()).chain(pragmas).collect()
}

/// A path as text: what is no UTF-8 in it becomes U+FFFD, for JSON has no other.
pub(crate) fn path_as_text<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(to)
}
