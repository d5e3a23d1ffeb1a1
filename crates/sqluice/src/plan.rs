//! What will be done, before anything is written: plain data, printed by `--dry-run`.

use std::fmt;
use std::path::PathBuf;

use serde::{Serialize, Serializer};
use sqluice_format::page::{Geometry, PENDING_BYTE, PageSize};

use crate::error::{Error, Place, Result};
use crate::pipeline::{CHUNKS_PER_WORKER_MAX, CHUNKS_PER_WORKER_MIN};
use crate::schema::{Schema, Table};

/// How a new database is written, whatever its rows come from.
#[derive(Clone, Copy, Debug)]
pub struct WriteOptions {
    /// Worker threads; `None`: one a core.
    pub threads: Option<usize>,
    /// Bytes that the run may take, besides the largest single row: at least 24 MiB.
    pub memory_bytes: u64,
    /// The page size of the new file.
    pub page_size: PageSize,
    /// Bytes of pages that go to the writer at a time. The file depends on it, so it is no user's choice: tests make it
    /// small.
    #[doc(hidden)]
    pub chunk_bytes: usize,
    /// Where SQLite's lock byte is: tests move it to where small files reach it.
    #[doc(hidden)]
    pub pending_byte: u32,
    /// Replace what is there.
    pub overwrite: bool,
}

impl Default for WriteOptions {
    fn default() -> WriteOptions {
        WriteOptions {
            threads: None,
            memory_bytes: 256 << 20,
            page_size: PageSize::DEFAULT,
            chunk_bytes: 8 << 20,
            pending_byte: PENDING_BYTE,
            overwrite: false,
        }
    }
}

/// The way that a table's rows take into the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Road {
    /// Encoded into pages by sqluice.
    Pages,
}

/// What will be done; see the module's description.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// The file that will be written; `None`: the pages are made and thrown away.
    #[serde(serialize_with = "path_as_text")]
    pub target: Option<PathBuf>,
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
    /// The file's size, roughly, where it can be told.
    pub estimated_bytes: Option<u64>,
    /// What happens to each table.
    pub tables: Vec<TablePlan>,
    /// The statements that declare what is no table: views, triggers, versions.
    pub others: Vec<String>,
    /// What a user might expect otherwise.
    pub notes: Vec<String>,
    #[serde(skip)]
    pub(crate) pending_byte: u32,
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
}

impl Plan {
    /// The plan for a new database with the tables of `schema`.
    ///
    /// # Errors
    /// When the schema holds something that can't be done yet, or the memory is too small.
    pub(crate) fn new(schema: &Schema, target: Option<PathBuf>, options: &WriteOptions) -> Result<Plan> {
        // Before the indexes: those that a constraint brings are explained by it.
        let tables =
            schema.tables.iter().map(|table| TablePlan::new(schema, table)).collect::<Result<_>>()?;
        if let Some(object) =
            schema.others.iter().find(|object| object.kind != "view" && object.kind != "trigger")
        {
            let kind = if object.kind == "table" { "virtual table" } else { object.kind.as_str() };
            let message = match kind {
                "index" => format!("index {} of table {} can't be made yet", object.name, object.table),
                _ => format!("{kind} {} can't be made yet", object.name),
            };
            return Err(Error::input(message)
                .at(Place::file(&schema.file))
                .hint("leave it out of the schema, and make it with sqlite3 afterwards"));
        }
        let least = (CHUNKS_PER_WORKER_MIN * options.chunk_bytes) as u64;
        if options.memory_bytes < least {
            let message = format!("{} bytes of memory are too few", options.memory_bytes);
            return Err(
                Error::usage(message).hint(format!("--memory {}MiB or more", least.div_ceil(1 << 20)))
            );
        }
        if options.threads == Some(0) {
            return Err(Error::usage("no threads can do no work").hint("give at least 1"));
        }
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = options.threads.unwrap_or_else(cores);
        let threads = threads.min((options.memory_bytes / least) as usize);
        let chunks = (options.memory_bytes / options.chunk_bytes as u64) as usize;
        let chunks_per_worker = (chunks / threads).min(CHUNKS_PER_WORKER_MAX);
        let triggers = schema.others.iter().filter(|object| object.kind == "trigger");
        Ok(Plan {
            target,
            page_bytes: options.page_size.bytes(),
            threads,
            chunk_bytes: options.chunk_bytes,
            chunks_per_worker,
            buffer_bytes: (threads * chunks_per_worker * options.chunk_bytes) as u64,
            estimated_bytes: None,
            tables,
            others: other_statements(schema),
            notes: triggers
                .map(|trigger| {
                    format!("trigger {} is made after the rows, and does not fire for them", trigger.name)
                })
                .collect(),
            pending_byte: options.pending_byte,
        })
    }

    pub(crate) fn geometry(&self) -> Geometry {
        PageSize::new(self.page_bytes as u32)
            .and_then(|size| Geometry::new(size, 0))
            .expect("a plan's page size is a legal one")
            .with_pending_byte(self.pending_byte)
    }
}

impl TablePlan {
    fn new(schema: &Schema, table: &Table) -> Result<TablePlan> {
        let obstacle = [
            (table.without_rowid, "is WITHOUT ROWID"),
            (table.autoincrement, "is AUTOINCREMENT"),
            (table.automatic_indexes, "has UNIQUE or a PRIMARY KEY that is not its rowid"),
            (table.checks, "has a CHECK"),
            (table.columns.iter().any(|column| column.generated), "has a generated column"),
        ];
        if let Some((_, why)) = obstacle.iter().find(|(there, _)| *there) {
            return Err(Error::input(format!("table {} {why}, which can't be filled yet", table.name))
                .at(schema.place_of_table(&table.name))
                .hint("declare it without, and add what is missing with sqlite3 afterwards"));
        }
        Ok(TablePlan {
            name: table.name.clone(),
            rows: None,
            sources: Vec::new(),
            road: Road::Pages,
            why: "a new rowid table without indexes".to_owned(),
            sql: table.sql.clone(),
        })
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

/// A name as part of a comment, which ends with its line: so must no name.
fn in_line(name: &impl fmt::Display) -> String {
    name.to_string().replace(['\n', '\r'], "\u{fffd}")
}

/// A schema file, ready to be used: what is no SQL is a comment.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Some(target) => writeln!(f, "-- target   {} (new)", in_line(&target.display()))?,
            None => writeln!(f, "-- target   none: pages are made and thrown away")?,
        }
        if let Some(bytes) = self.estimated_bytes {
            writeln!(f, "-- size     about {bytes} bytes")?;
        }
        let (page_bytes, pages) = (self.page_bytes, self.chunk_bytes / self.page_bytes);
        writeln!(f, "-- pages    of {page_bytes} bytes, {pages} at a time")?;
        let (threads, bytes) = (self.threads, self.buffer_bytes);
        writeln!(f, "-- threads  {threads} and a writer, {bytes} bytes of buffers")?;
        for note in &self.notes {
            writeln!(f, "-- note     {}", in_line(note))?;
        }
        for table in &self.tables {
            table.write_sources(f)?;
            writeln!(f, "--   road   pages: {}", table.why)?;
            writeln!(f, "{};", table.sql)?;
        }
        self.others.iter().try_for_each(|sql| writeln!(f, "{sql};"))
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
