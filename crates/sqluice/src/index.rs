//! `index`: creates indexes on tables of an existing database, with the sorter and page writer of this crate.
//!
//! ```no_run
//! use sqluice::index::Index;
//!
//! let index = Index::new("shop.db", ["CREATE INDEX orders_by_date ON orders (date)"]);
//! let report = index.run()?;
//! println!("{} entries in {:.1} s", report.indexes[0].entries, report.seconds);
//! # Ok::<(), sqluice::error::Error>(())
//! ```
//!
//! Full-text indexes (FTS5) are built in the same way:
//!
//! ```no_run
//! use sqluice::index::{FullText, Index};
//!
//! let full_text = FullText::new(["products(name, description)"]).tokenize("porter".to_owned());
//! let report = Index::new("shop.db", [""; 0]).full_text(full_text).run()?;
//! println!("{} terms", report.full_text[0].terms);
//! # Ok::<(), sqluice::error::Error>(())
//! ```
//!
//! All statements of a call are one transaction: all indexes are created, or none. Meanwhile, other processes can read the old state of the
//! database.

mod full_text;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::progress::Context;
use sqluice_core::schema::Schema;
use sqluice_core::setters;
use sqluice_core::size::Bytes;
use sqluice_engine::existing::full_text as text_indexes;
use sqluice_engine::existing::full_text::declared::DeclaredTextIndex;
use sqluice_engine::existing::full_text::remake::{Kind, Remake, remake, remakes};
use sqluice_engine::existing::full_text::request::Request;
use sqluice_engine::existing::indexes::declared::{Declared, declared};
use sqluice_engine::existing::indexes::statement::{Statement, statements};
use sqluice_engine::existing::{Existing, Transaction, indexes};
use sqluice_engine::options::{OnConflict, WriteOptions, WritePath};
use sqluice_engine::output::Target;
use sqluice_engine::phases::Phases;
use sqluice_engine::plan::Memory;
use sqluice_engine::report::{IndexReport, PhaseReport};
use sqluice_engine::trees::Settings;

pub use full_text::{FullText, FullTextReport, FullTextWork, PlannedFullText};

/// Indexes to create.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Index {
    /// The database.
    pub target: PathBuf,
    /// CREATE INDEX statements, one or more in each text.
    pub statements: Vec<String>,
    /// The full-text indexes.
    pub full_text: FullText,
    /// The time to wait for locks of other processes.
    pub busy_timeout: Duration,
    /// The options for threads, memory and temporary space. Options for new files are ignored.
    pub write: WriteOptions,
}

/// The plan of an index run.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct IndexPlan {
    /// The database.
    pub target: PathBuf,
    /// The journal mode of the database, which does not change.
    pub journal_mode: String,
    /// The page size in bytes.
    pub page_bytes: usize,
    /// The number of worker threads.
    pub threads: usize,
    /// The number of bytes of buffers that the run needs, not counting its largest row.
    pub buffer_bytes: u64,
    /// The plan for each index.
    pub indexes: Vec<PlannedIndex>,
    /// The indexes that exist already and are skipped, because their statements have IF NOT EXISTS.
    pub existing: Vec<String>,
    /// The plan for each full-text index.
    pub full_text: Vec<PlannedFullText>,
}

/// Indexes with their plan, which [`Index::prepare`] returns.
#[derive(Clone, Debug)]
pub struct PreparedIndex {
    index: Index,
    plan: IndexPlan,
}

impl PreparedIndex {
    /// Returns the plan of the indexes.
    pub fn plan(&self) -> &IndexPlan {
        &self.plan
    }

    /// Creates the indexes in the present state of the database. Reports progress to `context`, and stops if `context` is canceled.
    ///
    /// # Errors
    /// As [`Index::run_with`].
    pub fn run(self, context: &Context<'_>) -> Result<Report> {
        self.index.run_with(context)
    }
}

/// The plan for an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlannedIndex {
    /// The name of the index.
    pub name: String,
    /// The name of the table that the index belongs to.
    pub table: String,
    /// The way in which the entries are written.
    pub write_path: WritePath,
    /// The reason for the write path.
    pub why: String,
    /// The statement.
    pub sql: String,
}

/// The report of an index run.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The database.
    pub target: PathBuf,
    /// The journal mode before the run.
    pub journal_mode_before: String,
    /// The journal mode after the run, which is always the mode before the run.
    pub journal_mode_after: String,
    /// The number of pages of the database before the run.
    pub pages_before: u32,
    /// The number of pages of the database after the run.
    pub pages: u32,
    /// The page size in bytes.
    pub page_bytes: usize,
    /// The number of worker threads.
    pub threads: usize,
    /// The duration of the run in seconds.
    pub seconds: f64,
    /// The time of each phase, in order.
    pub phases: Vec<PhaseReport>,
    /// The created indexes, in the order of their statements.
    pub indexes: Vec<IndexReport>,
    /// The indexes that existed already and were skipped, because their statements have IF NOT EXISTS.
    pub existing: Vec<String>,
    /// The full-text indexes that were created, rebuilt or optimized, in this order.
    pub full_text: Vec<FullTextReport>,
}

/// The default time to wait for a lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

setters! { Index:
    /// Sets the full-text indexes.
    full_text(full_text: FullText) = full_text;
    /// Sets the time to wait for locks of other processes.
    busy_timeout(timeout: Duration) = timeout;
    /// Sets the options for threads, memory and temporary space.
    write(options: WriteOptions) = options;
}

impl TakesSettings for Index {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        match setting {
            Setting::BusyTimeout => self.busy_timeout = value.to()?,
            _ => return Ok(self.full_text.set(setting, value)? || self.write.set(setting, value)?),
        }
        Ok(true)
    }
}

impl Index {
    /// Creates a run of the CREATE INDEX `statements` in the database at `target`.
    pub fn new(target: impl Into<PathBuf>, statements: impl IntoIterator<Item = impl Into<String>>) -> Index {
        Index {
            target: target.into(),
            statements: statements.into_iter().map(Into::into).collect(),
            full_text: FullText::default(),
            busy_timeout: BUSY_TIMEOUT,
            write: WriteOptions::default(),
        }
    }

    /// Examines the database and plans the indexes. Writes nothing.
    ///
    /// # Errors
    /// As [`Index::run_with`], except for errors that only the run finds.
    pub fn prepare(&self, context: &Context<'_>) -> Result<PreparedIndex> {
        context.cancel.check()?;
        let plan = self.plan()?;
        Ok(PreparedIndex { index: self.clone(), plan })
    }

    fn plan(&self) -> Result<IndexPlan> {
        let Opened { existing, memory, wanted } = self.open()?;
        let schema = existing.schema()?;
        let obstacle = existing.obstacle()?;
        let found = look(&existing, &schema, wanted, obstacle.as_deref())?;
        Ok(self.plan_of(&existing, memory, &found))
    }

    /// Creates the indexes without progress reports.
    ///
    /// # Errors
    /// As [`Index::run_with`].
    pub fn run(&self) -> Result<Report> {
        self.run_with(&Context::default())
    }

    /// Creates the indexes. Reports progress to `context`, and stops if `context` is canceled.
    ///
    /// # Errors
    /// If a statement is no CREATE INDEX or malformed, a name is taken, rows share a key of a unique index, or the database is in use,
    /// damaged, or can't be written. The database is then unchanged.
    pub fn run_with(&self, context: &Context<'_>) -> Result<Report> {
        let started = Instant::now();
        let mut opened = self.open()?;
        context.progress.phase("lock", None);
        let mut phases = Phases::new(context.progress, "lock");
        let transaction = opened.existing.begin(&context.cancel)?;
        let schema = transaction.existing().schema()?;
        let obstacle = transaction.obstacle()?;
        let Found { declared, made_before, full_text, remakes } =
            look(transaction.existing(), &schema, opened.wanted, obstacle.as_deref())?;
        let tables = declared.iter().map(|declared| &*declared.table.name);
        let tables = tables.chain(full_text.iter().map(|declared| &*declared.table.name));
        transaction.refuse_damaged(&tables.collect::<Vec<&str>>())?;
        let settings = self.settings(&transaction, opened.memory)?;
        let journal_mode_before = transaction.existing().journal_mode().to_owned();
        let pages_before = settings.page_count;
        let made = indexes::make(&transaction, &declared, &settings, &mut phases)?;
        let made_texts = text_indexes::make(&transaction, &full_text, &settings, &mut phases)?;
        let remade = remakes.iter().map(|one| remake(&transaction, one, &settings, &mut phases));
        let remade = remade.collect::<Result<Vec<_>>>()?;
        let pages = transaction.page_count()?;
        phases.begin("commit", None);
        let indexes = declared.iter().zip(made).map(|(declared, made)| {
            IndexReport::new(&declared.statement.name, declared.write_path(), made.unwrap_or_default())
        });
        let indexes = indexes.collect();
        let texts = full_text.iter().zip(made_texts);
        let texts = texts.map(|(declared, made)| FullTextReport::new(declared, made));
        let remade = remakes.iter().zip(&remade);
        let remade = remade.map(|(remake, remade)| FullTextReport::of_remake(remake, remade));
        let texts = texts.chain(remade).collect();
        // If there is no index to make, nothing is committed.
        if declared.is_empty() && full_text.is_empty() && remakes.is_empty() {
            drop(transaction);
        } else {
            transaction.commit()?;
        }
        Ok(Report {
            target: self.target.clone(),
            journal_mode_before,
            journal_mode_after: opened.existing.journal_mode().to_owned(),
            pages_before,
            pages,
            page_bytes: settings.geometry.page_bytes(),
            threads: settings.workers,
            seconds: started.elapsed().as_secs_f64(),
            phases: phases.finish(),
            indexes,
            existing: names(&made_before),
            full_text: texts,
        })
    }

    /// Checks the statements, and opens the database.
    fn open(&self) -> Result<Opened> {
        let statements = self.statements.iter().map(|sql| statements(sql));
        let statements: Vec<Statement> =
            statements.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        let (full_text, remakes) = (self.full_text.requests()?, self.full_text.remakes());
        if statements.is_empty() && full_text.is_empty() && remakes.is_empty() {
            return Err(Error::usage("no index to create").hint(message![
                "give a CREATE INDEX statement, or the columns of a full-text index by ",
                Setting::Fts
            ]));
        }
        if self.write.threads == Some(0) {
            return Err(Error::usage("threads must be at least 1")
                .hint("leave the setting out for one thread per core"));
        }
        let memory = Memory::divide(&self.write, true)?;
        let existing = Existing::open(&Target::resolve(&self.target, &self.write), self.busy_timeout)?;
        let existing = existing.with_pending_byte(self.write.tuning.pending_byte);
        Ok(Opened { existing, memory, wanted: Wanted { statements, full_text, remakes } })
    }

    fn settings(&self, transaction: &Transaction<'_>, memory: Memory) -> Result<Settings> {
        let existing = transaction.existing();
        let folder = existing.path().parent().map(Path::to_owned);
        Ok(Settings {
            geometry: existing.geometry(),
            workers: memory.threads,
            chunk_bytes: self.write.tuning.chunk_bytes,
            chunks_per_worker: memory.chunks_per_worker,
            sort_bytes: memory.sort_bytes as usize,
            temp_dir: self.write.temp_dir.clone().or(folder).unwrap_or_else(std::env::temp_dir),
            ignores_checks: false,
            on_conflict: OnConflict::Abort,
            page_count: transaction.page_count()?,
            counted_from: 0,
        })
    }

    fn plan_of(&self, existing: &Existing, memory: Memory, found: &Found<'_>) -> IndexPlan {
        let indexes = found.declared.iter().map(|declared| PlannedIndex {
            name: declared.statement.name.clone(),
            table: declared.table.name.clone(),
            write_path: declared.write_path(),
            why: declared.why.clone(),
            sql: declared.statement.sql.trim_end().to_owned(),
        });
        let chunks = memory.threads * memory.chunks_per_worker * self.write.tuning.chunk_bytes;
        IndexPlan {
            target: self.target.clone(),
            journal_mode: existing.journal_mode().to_owned(),
            page_bytes: existing.geometry().page_bytes(),
            threads: memory.threads,
            buffer_bytes: chunks as u64 + memory.sort_bytes,
            indexes: indexes.collect(),
            existing: names(&found.made_before),
            full_text: found
                .full_text
                .iter()
                .map(PlannedFullText::new)
                .chain(found.remakes.iter().map(PlannedFullText::of_remake))
                .collect(),
        }
    }
}

/// An open database, and the indexes to create in it.
struct Opened {
    existing: Existing,
    memory: Memory,
    wanted: Wanted,
}

/// The indexes that the user wants, as given.
struct Wanted {
    statements: Vec<Statement>,
    full_text: Vec<Request>,
    remakes: Vec<(String, Kind)>,
}

/// The indexes that the user wants, compared with the present schema of the database.
struct Found<'s> {
    declared: Vec<Declared<'s>>,
    /// The statements with IF NOT EXISTS whose indexes exist already.
    made_before: Vec<Statement>,
    full_text: Vec<DeclaredTextIndex<'s>>,
    /// The existing full-text tables whose index is rebuilt or optimized.
    remakes: Vec<Remake>,
}

/// Compares the wanted indexes with the present schema. `obstacle` is a reason why SQLite must create all indexes, instead of this crate.
fn look<'s>(
    existing: &Existing,
    schema: &'s Schema,
    wanted: Wanted,
    obstacle: Option<&str>,
) -> Result<Found<'s>> {
    let read_names = || {
        let mut names = existing.connection().prepare("SELECT type, name FROM main.sqlite_schema")?;
        names.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<Vec<_>>>()
    };
    let names = read_names().map_err(|error| {
        Error::target(format!("SQLite cannot read the schema of {}", existing.name().display()))
            .because(error)
    })?;
    let (declared, made_before) = declared(wanted.statements, schema, &names, obstacle)?;
    let full_text = text_indexes::declared::declared(wanted.full_text, schema, &names, obstacle)?;
    let remakes = remakes(existing.connection(), &wanted.remakes)?;
    Ok(Found { declared, made_before, full_text, remakes })
}

fn names(statements: &[Statement]) -> Vec<String> {
    statements.iter().map(|statement| statement.name.clone()).collect()
}

/// Formats the plan as `--dry-run` prints it.
impl fmt::Display for IndexPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let IndexPlan {
            target,
            journal_mode,
            page_bytes,
            threads,
            buffer_bytes,
            indexes,
            existing: made_before,
            full_text,
        } = self;
        let buffers = Bytes(*buffer_bytes);
        writeln!(f, "-- {}: one transaction, journal mode {journal_mode}", target.display())?;
        writeln!(f, "-- pages of {page_bytes} bytes, {threads} threads, {buffers} of buffers")?;
        for index in indexes {
            writeln!(f, "-- {} on {}: {}, {}", index.name, index.table, index.write_path.name(), index.why)?;
            writeln!(f, "{};", index.sql)?;
        }
        made_before.iter().try_for_each(|name| writeln!(f, "-- {name}: exists already"))?;
        for PlannedFullText { work, name, table, write_path, why, sql, triggers } in full_text {
            let what = match work {
                FullTextWork::Create => format!("{name} on {table}: full-text index"),
                FullTextWork::Optimize => format!("optimize full-text index {name}"),
                FullTextWork::Rebuild => format!("rebuild full-text index {name} from {table}"),
            };
            writeln!(f, "-- {what}, {}, {why}", write_path.name())?;
            writeln!(f, "{sql};")?;
            if !triggers.is_empty() {
                writeln!(
                    f,
                    "-- triggers keep {name} up to date, and make each later statement on {table} slower"
                )?;
            }
            triggers.iter().try_for_each(|trigger| writeln!(f, "{trigger};"))?;
        }
        Ok(())
    }
}
