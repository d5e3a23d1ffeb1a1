//! Loads a dump: an SQL text that creates the tables and rows of a database.
//!
//! ```text
//!  guard        an authorizer for SQLite: a dump may fill its database, and nothing else
//!  declared     a database in memory that has run many declarations
//!  statement    the text of statements, and the errors about them
//!  selection    the tables that are loaded, if some are named
//!  walk         each statement, in order: a declaration, rows given as literals, or a statement for SQLite
//!  last         the statements for SQLite, after the pages
//!  translated   the walk over a dump of MySQL or Postgres: its declarations become those of SQLite
//! ```
//!
//! A load from a server runs through the same code: it reads the declarations first, and receives the rows while it writes them as pages.
//!
//! Rows that INSERT statements give as literals are encoded as pages, whatever other statements are between them. Once another statement
//! reads or changes a table, the later rows of this table are no longer encoded: SQLite inserts them, in the order of the dump.
//!
//! Invariant: a dump of SQLite of which all tables are loaded makes the content that it would make if SQLite ran it.

mod declared;
mod guard;
mod last;
mod selection;
mod statement;
#[cfg(feature = "dialects")]
mod translated;
mod walk;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use sqluice_core::affinity::{Rowid, to_rowid};
use sqluice_core::batch::Batch;
use sqluice_core::error::{
    Assumption, Duplicate, DuplicateRows, Error, Message, Place, Result, Setting, message,
};
use sqluice_core::progress::{Amount, Context};
use sqluice_core::remote::is_server;
use sqluice_core::schema::Schema;
use sqluice_core::source::recognised::Recognised;
use sqluice_core::source::{Refused, Source};
use sqluice_engine::attempts::{self, Outcome, Refuted};
use sqluice_engine::encode::Coercion;
use sqluice_engine::options::{IfExists, WriteOptions};
use sqluice_engine::plan::{ExpectedRows, LastWork, Plan};
use sqluice_engine::report::{InputReport, PhaseReport, Report};
use sqluice_engine::target::TargetSnapshot;
use sqluice_engine::trees::Job;
use sqluice_format::page::PageSize;
use sqluice_sources::dump::rows::TableRows;
use sqluice_sources::dump::sent::SentRows;
use sqluice_sources::dump::split::{Script, Splitter};
use sqluice_sources::dump::{Dialect, DumpFile, recognise};
use sqluice_sources::input::InputFile;

use super::files::file::LoadFile;
use super::request::options::Load;
use super::request::{Request, if_exists, not_to_change};
use super::server::Sender;
use super::tables::existing::check_key;
use crate::expressions::functions::Functions;
use last::Last;
use statement::{first_words, text_of};
use walk::{Walk, Walked};

/// The divisor of the load's memory that gives the limit for a single statement, which exists as text, as tokens and in SQLite at the same
/// time.
const STATEMENT_SHARE: u64 = 8;

/// The number of bytes, from the start of a dump, that are searched for the name of the program that wrote it.
const HEAD_BYTES: usize = 64 << 10;

/// The maximum number of bytes of a statement that SQLite accepts.
const STATEMENT_BYTES_MAX: u64 = 1_000_000_000;

/// A dump that was read once, or the declarations of a server, and the plan of its load.
pub(super) struct PreparedDump {
    load: Load,
    /// The functions for expressions of DEFAULTs.
    functions: Functions,
    file: Arc<DumpFile>,
    script: Script,
    dialect: Dialect,
    walked: Walked,
    /// `true` if rows are sorted by their rowids, because some are out of order, or may be in the answer of a server.
    sorts: bool,
    /// The columns, as table and column, whose NOT NULL is left out, because a row has a NaN, which SQLite stores as NULL.
    with_nan: Vec<(String, String)>,
    /// The existing database that gets the rows; `None` if a new one is created.
    existing: Option<TargetSnapshot>,
    pub(super) schema: Schema,
    pub(super) plan: Plan,
    /// The names of the files, or that of the server's database, each with the format that was recognised.
    recognised: Vec<(String, Recognised)>,
    /// The server that sends the rows while they are loaded; `None` for a dump in files.
    server: Option<Sender>,
    phases: Vec<PhaseReport>,
    seconds: f64,
}

impl PreparedDump {
    /// Reads the files of the dump, in their order, and plans the load.
    pub(super) fn prepare(
        request: &Request,
        mut inputs: Vec<InputFile>,
        context: &Context<'_>,
    ) -> Result<PreparedDump> {
        let started = Instant::now();
        let (load, functions) = (Load::clone(request), request.functions.clone());
        let folder = request.temp_folder()?;
        let mut dialect = Dialect::Sqlite;
        let mut recognised = Vec::with_capacity(inputs.len());
        for input in &mut inputs {
            refuse_settings(&load, input.name())?;
            let sample = input.sample(HEAD_BYTES)?;
            let mut of_input = Recognised::new("sql");
            of_input.compression = sample.compression.map(|compression| compression.to_string());
            of_input.encoding = sample.encoding.map(|encoding| encoding.to_string());
            context.progress.phase("copy", None);
            input.decode(&folder, context.progress)?;
            input.keep(&folder, context.progress)?;
            let head = input.sample(HEAD_BYTES)?.text;
            refuse_other_database(&head, input)?;
            // A file that has only plain INSERTs fits the SQL of any database. It is recognised as a dump of SQLite, which contradicts no
            // other file.
            match (dialect, recognise::dialect(&head)) {
                (Dialect::Sqlite, of_head) => dialect = of_head,
                (known, of_head) if of_head != Dialect::Sqlite && of_head != known => {
                    return Err(two_dialects(input, known, of_head));
                }
                _ => {}
            }
            recognised.push((input.name().display().to_string(), of_input));
        }
        recognised.iter_mut().for_each(|(_, of_input)| of_input.dialect = Some(dialect.name()));
        let file = Arc::new(DumpFile::new(&inputs)?);
        let script = Splitter::new(&file, dialect.rules(), statement_bytes_max(&load), context).split()?;
        let walked = match dialect {
            Dialect::Sqlite => match Walk::new((&load, &functions), &file, &script, true)?.run(context)? {
                walked if walked.asks_session => {
                    Walk::new((&load, &functions), &file, &script, false)?.run(context)?
                }
                walked => walked,
            },
            _ => translated(&load, &file, (&script, dialect), &[], context)?,
        };
        let read = Read { file, script, dialect, walked };
        PreparedDump::planned(request, (load, functions), read, recognised, None, started)
    }

    /// Reads the declarations of a server, and plans the load.
    pub(super) fn of_server(
        request: &Request,
        mut server: Sender,
        context: &Context<'_>,
    ) -> Result<PreparedDump> {
        let started = Instant::now();
        let (load, functions) = (Load::clone(request), request.functions.clone());
        refuse_settings(&load, server.name())?;
        let read = Read::of_server(&load, &mut server, &[], context)?;
        let mut recognised = Recognised::new("tables");
        recognised.dialect = Some(read.dialect.name());
        let recognised = vec![(server.name().display().to_string(), recognised)];
        PreparedDump::planned(request, (load, functions), read, recognised, Some(server), started)
    }

    /// Plans the load of a dump that was read.
    fn planned(
        request: &Request,
        (load, functions): (Load, Functions),
        Read { file, script, dialect, walked }: Read,
        recognised: Vec<(String, Recognised)>,
        server: Option<Sender>,
        started: Instant,
    ) -> Result<PreparedDump> {
        let schema = walked.schema.clone();
        let plan = Plan::new(&schema, Some(request.to.clone()), &load.write)?;
        // A second attempt would read the server twice. So rows of a server are sorted from the start if they may be out of order.
        let sorts = server.as_ref().is_some_and(|server| {
            let mut tables = schema.tables.iter().zip(&walked.rows);
            tables.any(|(table, rows)| {
                table.rowid_alias.is_some()
                    && rows.sent.iter().any(|(number, _)| !server.is_in_order(*number))
            })
        });
        let mut prepared = PreparedDump {
            load,
            functions,
            file,
            script,
            dialect,
            walked,
            sorts,
            with_nan: Vec::new(),
            existing: request.existing.clone(),
            schema,
            plan,
            recognised,
            server,
            phases: Vec::new(),
            seconds: 0.0,
        };
        prepared.plan_again()?;
        attempts::note_destination(&prepared.schema, &mut prepared.plan);
        prepared.plan.refuse()?;
        prepared.seconds = started.elapsed().as_secs_f64();
        prepared.phases.push(PhaseReport::new("split", prepared.seconds));
        Ok(prepared)
    }

    /// Returns the number of rows of a table: the exact count of a dump, the estimate of a server, or `None` if unknown.
    fn rows_of(&self, index: usize) -> Option<u64> {
        let rows = &self.walked.rows[index];
        match &self.server {
            None => Some(rows.rows()),
            Some(server) => rows.sent.iter().map(|(table, _)| server.rows_of(*table)).sum(),
        }
    }

    /// Returns the reports about the files. The name of the table is empty, unless the dump creates only one table.
    pub(super) fn inputs(&self) -> Vec<InputReport> {
        let table = match &*self.schema.tables {
            [only] => &*only.name,
            _ => "",
        };
        let files = self.recognised.iter();
        let mut inputs: Vec<InputReport> =
            files.map(|(name, recognised)| InputReport::new(name, table, recognised.clone())).collect();
        let without_not_null = self.with_nan.iter().map(|(table, column)| {
            format!("{table}.{column} is declared without NOT NULL, because rows have NaN, which SQLite stores as NULL")
        });
        if let Some(first) = inputs.first_mut() {
            first.notes.extend(without_not_null.map(Message::from));
        }
        inputs
    }

    /// Plans the load again, with the facts that a failed attempt has added: the schema, the order of rows, and the statements for
    /// SQLite.
    fn plan_again(&mut self) -> Result<()> {
        self.schema = self.walked.schema.clone();
        let options = self.options();
        let target = self.plan.target.clone();
        if let Some(existing) = &self.existing {
            self.refuse_other_statements()?;
            self.schema = existing.combine_all(self.schema.clone(), &options.if_exists, &if_exists())?;
        }
        if let IfExists::Upsert(keys) = &options.if_exists {
            for table in &self.schema.tables {
                match self.existing.as_ref().and_then(|existing| existing.table(&table.name)) {
                    Some(own) => check_key(keys, own)?,
                    None => {
                        let hint = message![
                            "create it first: load it alone, without ",
                            Setting::Upsert,
                            ": ",
                            Setting::Table.to(&table.name)
                        ];
                        return Err(not_to_change(&self.load.target, &table.name).hint(hint));
                    }
                }
            }
        }
        let mut plan = Plan::of(&self.schema, target.as_ref(), self.existing.as_ref(), &options)?;
        if let Some(existing) = &self.existing {
            for (index, table) in self.schema.tables.iter().enumerate() {
                let expected = ExpectedRows {
                    about: self.rows_of(index),
                    with_rowids: table.rowid_alias.is_some(),
                    ascending: !self.sorts,
                    overlaps: self.sorts && plan.tables[index].appends(),
                    ..ExpectedRows::default()
                };
                plan.choose((index, table), existing, expected, &options)?;
            }
        }
        for (index, table) in self.schema.tables.iter().enumerate() {
            plan.tables[index].rows = self.rows_of(index);
            plan.tables[index].sources = self.recognised.iter().map(|(name, _)| name.clone()).collect();
            if self.sorts && table.rowid_alias.is_some() && !plan.tables[index].appends() {
                plan.sort_rows((index, table), true, "rows are not in the order of their rowids", &options)?;
            }
        }
        plan.ignores_checks = self.walked.ignores_checks;
        plan.estimated_bytes = self.server.is_none().then(|| self.file.bytes());
        plan.notes.extend(self.server.iter().flat_map(Sender::notes));
        plan.notes.extend(self.walked.notes.iter().cloned());
        if !self.walked.last.is_empty() && self.existing.is_none() {
            let last = Last::new(&self.walked, &self.file, &self.load);
            plan.last = Some(LastWork(Arc::new(move |connection, progress| last.run(connection, progress))));
        }
        plan.left_out = std::mem::take(&mut self.plan.left_out);
        self.plan = plan;
        Ok(())
    }

    /// Refuses statements that SQLite would have to run in an existing database. Statements about `sqlite_sequence` are skipped, because
    /// its numbers follow from the rows. Also refuses rows with rowids that are in no column of their table.
    fn refuse_other_statements(&self) -> Result<()> {
        for work in &self.walked.last {
            let words = first_words(&text_of(&self.file, work.range.clone())?);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            if let ["DELETE", "FROM", "SQLITE_SEQUENCE", ..] | ["INSERT", "INTO", "SQLITE_SEQUENCE", ..] =
                words[..]
            {
                continue;
            }
            return Err(Error::input(
                "only rows and declarations are added to an existing database, and this statement is neither",
            )
            .at(self.file.place(work.range.start))
            .hint("load the dump into a new database"));
        }
        let with_rowids =
            self.walked.schema.tables.iter().find(|table| {
                table.rowid_alias.is_some_and(|alias| table.columns[alias].generated.is_some())
            });
        match with_rowids {
            Some(table) => Err(Error::input(format!(
                "the dump has rowids for the rows of {}, and the existing table may already have rows with these rowids",
                table.name
            ))
            .at(Place::file(self.file.name()))
            .hint("load the dump into a new database")),
            None => Ok(()),
        }
    }

    fn options(&self) -> WriteOptions {
        let mut options = self.load.write.clone();
        if options.page_size == PageSize::DEFAULT
            && let Some(size) = self.walked.page_size
        {
            options.page_size = size;
        }
        let checked = options.foreign_keys.unwrap_or(self.walked.foreign_keys);
        // If statements for SQLite follow, the foreign keys are checked after these.
        options.foreign_keys(checked && self.walked.last.is_empty())
    }

    /// Loads the dump.
    pub(super) fn run(mut self, context: &Context<'_>) -> Result<Report> {
        let began = Instant::now();
        let attempt = |dump: &mut PreparedDump| {
            let started = Instant::now();
            let outcome = Outcome::of(dump.attempt(context))?;
            if let Outcome::Refuted(_) = outcome {
                dump.phases.push(PhaseReport::new("abandoned load", started.elapsed().as_secs_f64()));
            }
            Ok(outcome)
        };
        let mut report =
            attempts::run(&mut self, attempt, |dump, refuted| dump.assume_less(refuted, context))?;
        report.seconds = self.seconds + began.elapsed().as_secs_f64();
        report.phases.splice(0..0, std::mem::take(&mut self.phases));
        report.rows += self.walked.rows_by_sqlite;
        report.inputs = self.inputs();
        Ok(report)
    }

    fn attempt(&mut self, context: &Context<'_>) -> Result<Report> {
        // A child context: an attempt that fails cancels its own connections, but not those of the next attempt.
        let context = &context.child();
        let rows = (0..self.schema.tables.len()).map(|table| self.rows_of(table)).sum::<Option<u64>>();
        let bytes = self.walked.rows.iter().map(|rows| rows.bytes()).sum();
        let (sent, total) = match &mut self.server {
            Some(server) => {
                let in_order = attempts::reading_order(&self.plan).into_iter();
                let sent = in_order.flat_map(|table| &self.walked.rows[table].sent);
                let tables: Vec<usize> = sent.map(|(number, _)| *number).collect();
                let blocks = server.rows(&tables, &context.cancel)?;
                let name = Arc::new(server.name().to_owned());
                (Some((blocks, name)), rows.map(|rows| Amount { rows, bytes: 0 }))
            }
            None => (None, Some(Amount { rows: 0, bytes })),
        };
        context.progress.phase("load", total);
        let tables = self.schema.tables.iter().zip(&self.walked.rows);
        let jobs = tables.map(|(table, rows)| {
            let rows = Arc::clone(rows);
            let source: Box<dyn Source> = match &sent {
                Some((blocks, name)) => Box::new(SentRows::new(rows, blocks, Arc::clone(name))),
                None => Box::new(rows.source(Arc::clone(&self.file))),
            };
            Job { table, coercion: Coercion::All, source }
        });
        let written = attempts::write(&self.plan, &self.schema, jobs.collect(), None, "load", context);
        written.map_err(|error| self.located(error))
    }

    fn assume_less(&mut self, Refuted { assumption, error }: Refuted, context: &Context<'_>) -> Result<()> {
        match assumption {
            Assumption::RowOrder if !self.sorts => self.sorts = true,
            Assumption::Schema => {
                let target = self.plan.target.clone();
                self.existing = attempts::look(target.as_ref(), &self.load.write)?;
            }
            // In the next attempt, SQLite itself reads all rows that are no plain literals, and all rows after them.
            Assumption::LiteralRows if self.walked.by_pages && self.dialect == Dialect::Sqlite => {
                self.walked = Walk::new((&self.load, &self.functions), &self.file, &self.script, false)?
                    .run(context)?;
            }
            Assumption::StoredValues => match self.refusing_column(&error) {
                Some(column) if self.server.is_some() => self.with_nan.push(column),
                Some(column) => {
                    self.with_nan.push(column);
                    let (script, with_nan) = ((&self.script, self.dialect), &self.with_nan);
                    self.walked = translated(&self.load, &self.file, script, with_nan, context)?;
                }
                None => return Err(error),
            },
            _ => return Err(error),
        }
        // A snapshot of a server ends when its rows have been sent. The next attempt needs another one.
        if let Some(server) = &mut self.server {
            let read = Read::of_server(&self.load, server, &self.with_nan, context)?;
            (self.file, self.script, self.walked) = (read.file, read.script, read.walked);
        }
        self.plan_again()
    }

    /// Returns the table and the column of an error about a NOT NULL column that has refused a value. Returns `None` if the table exists
    /// already, its NOT NULL was left out before, or the error names no column or no row.
    fn refusing_column(&self, error: &Error) -> Option<(String, String)> {
        let place = match (error.record(), error.place().and_then(|place| self.file.offset_of(place))) {
            (Some((table, _)), _) => self.walked.schema.place(table)?,
            (None, Some(offset)) => {
                let has_row = |rows: &Arc<TableRows>| {
                    rows.pieces.iter().any(|(piece, _)| (piece.start..piece.end).contains(&offset))
                };
                self.walked.rows.iter().position(has_row)?
            }
            (None, None) => return None,
        };
        let table = &self.walked.schema.tables[place].name;
        let is_new = self.existing.as_ref().is_none_or(|existing| existing.table(table).is_none());
        let column = (table.clone(), error.column()?.to_owned());
        (is_new && !self.with_nan.contains(&column)).then_some(column)
    }

    /// Returns the second record of a table, in the order of the dump, that has one of these rowids. Both rowids may be the same. Records
    /// are counted from 0; `None` if fewer than two records have the rowids, or a row before the second one can't be read.
    fn later_record(&self, table: &str, rowids: [i64; 2]) -> Option<u64> {
        let place = self.schema.place(table)?;
        let declared = &self.schema.tables[place];
        // If rows come with rowids that are in no column, the rowids follow the columns.
        let column = declared.rowid_alias.unwrap_or(declared.columns.len());
        let mut source = Arc::clone(&self.walked.rows[place]).source(Arc::clone(&self.file));
        let (mut before, mut found) = (0u64, Vec::new());
        while found.len() < 2
            && let Ok(Some(mut part)) = source.next_part()
        {
            let mut look = |batch: &Batch<'_>| -> std::result::Result<(), Refused> {
                let of_row = |row: usize| batch.columns.get(column).map(|values| to_rowid(values.get(row)));
                let wanted = |row: &usize| matches!(of_row(*row), Some(Rowid::Given(rowid)) if rowids.contains(&rowid));
                found.extend((0..batch.rows).filter(wanted).map(|row| before + row as u64));
                before += batch.rows as u64;
                Ok(())
            };
            if part.decode(&mut look).is_err() {
                break;
            }
        }
        found.get(1).copied()
    }

    /// Adds the place in the dump to an error about a row, or about two rows with the same key.
    fn located(&self, mut error: Error) -> Error {
        let row = match (error.take_duplicate(), error.record()) {
            (Some(Duplicate { table, rows: DuplicateRows::Records(_, row), .. }), _) => Some((table, row)),
            (Some(Duplicate { table, rows: DuplicateRows::Rowids(first, second), .. }), _) => {
                self.later_record(&table, [first, second]).map(|row| (table, row))
            }
            // The error counts records from 1, and the search for the place counts them from 0.
            (None, Some((table, record))) if error.place().is_none() => Some((table.to_owned(), record - 1)),
            _ => None,
        };
        let offset = row.and_then(|(table, row)| {
            let rows: &TableRows = &self.walked.rows[self.schema.place(&table)?];
            rows.offset_of(&self.file, row)
        });
        match offset {
            Some(offset) => error.at(self.file.place(offset)),
            None => error,
        }
    }
}

/// A dump with its statements, and the result of the walk over them.
struct Read {
    file: Arc<DumpFile>,
    script: Script,
    dialect: Dialect,
    walked: Walked,
}

impl Read {
    /// Reads the declarations of a server, in a new snapshot. `with_nan` has the columns (table and column) whose NOT NULL is left out,
    /// because they get NULL for NaN.
    fn of_server(
        load: &Load,
        server: &mut Sender,
        with_nan: &[(String, String)],
        context: &Context<'_>,
    ) -> Result<Read> {
        let text = server.begin(&context.cancel)?;
        let dialect = recognise::dialect(&text.as_bytes()[..text.len().min(HEAD_BYTES)]);
        let file = Arc::new(DumpFile::of_text(text, server.name().to_owned()));
        let splitter = Splitter::new(&file, dialect.rules(), statement_bytes_max(load), context);
        let script = splitter.split_before(server.inserts())?;
        let walked = translated(load, &file, (&script, dialect), with_nan, context)?;
        Ok(Read { file, script, dialect, walked })
    }
}

/// Returns the maximum number of bytes of a statement: a share of the load's memory, but no more than SQLite's limit.
fn statement_bytes_max(load: &Load) -> usize {
    (load.write.memory_bytes / STATEMENT_SHARE).min(STATEMENT_BYTES_MAX) as usize
}

/// Walks over a dump of another database.
#[cfg(feature = "dialects")]
use translated::walk as translated;

/// Refuses a dump of MySQL or PostgreSQL: this build can't translate its schema.
#[cfg(not(feature = "dialects"))]
fn translated(
    _: &Load,
    file: &DumpFile,
    _: (&Script, Dialect),
    _: &[(String, String)],
    _: &Context<'_>,
) -> Result<Walked> {
    let what = format!(
        "{} is a dump of another database than SQLite, which this build does not read",
        file.name().display()
    );
    Err(Error::without_feature(what, "dialects"))
}

/// Returns the error about a file with SQL of another database system than the files before it.
fn two_dialects(input: &InputFile, known: Dialect, other: Dialect) -> Error {
    let message =
        format!("this is SQL of {}, and the files before it are SQL of {}", other.name(), known.name());
    Error::input(message)
        .at(Place::file(input.name()))
        .hint("load the files into two databases, and merge them")
}

/// Refuses a dump of a database system whose SQL can't be loaded.
fn refuse_other_database(head: &[u8], input: &InputFile) -> Result<()> {
    let Some(database) = recognise::other_database(head) else { return Ok(()) };
    Err(Error::input(format!(
        "this is a script of {database}, and scripts of SQLite, MySQL and PostgreSQL are loaded"
    ))
    .at(Place::file(input.name()))
    .hint("export each table as CSV, and load these files"))
}

/// Refuses files of another format beside a dump.
pub(super) fn refuse_other_files(dump: &InputFile, files: &[LoadFile]) -> Result<()> {
    let Some(other) = files.first() else { return Ok(()) };
    let message =
        format!("{} is a dump, and {} has the rows of a table", dump.name().display(), other.name());
    Err(Error::usage(message).hint("load the dump first, and then the other files into its database"))
}

/// Returns words for messages about a source that brings a whole database: a dump or a server.
fn kind_of(name: &Path) -> &'static str {
    if is_server(name) { "database of a server" } else { "dump" }
}

/// Refuses settings about tables that the dump itself declares.
fn refuse_settings(load: &Load, name: &Path) -> Result<()> {
    let given = [
        (load.schema.is_some(), Setting::Schema),
        (!load.types.is_empty(), Setting::Type),
        (load.strict, Setting::Strict),
        (load.columns.is_some(), Setting::Columns),
        (load.filter.is_some(), Setting::Where),
        (!load.sets.is_empty(), Setting::Set),
        (!load.excluded.is_empty(), Setting::ExcludeColumns),
        (!load.renames.is_empty(), Setting::Rename),
        (load.select.is_some(), Setting::Select),
        (load.add_columns, Setting::AddColumns),
        (load.limit.is_some(), Setting::Limit),
        (load.lossy, Setting::Lossy),
        (load.reject.is_some(), Setting::Reject),
        (!load.primary_key.is_empty(), Setting::PrimaryKey),
        (!load.indexes.is_empty(), Setting::Index),
        (!load.uniques.is_empty(), Setting::Unique),
        (load.without_rowid, Setting::WithoutRowid),
    ];
    if let Some((_, setting)) = given.into_iter().find(|(is_given, _)| *is_given) {
        let message = message![
            setting,
            format!(" is for tables of files, but {} is a {}", name.display(), kind_of(name))
        ];
        let hint = match is_server(name) {
            true => "leave it out: the server declares its tables",
            false => "leave it out: the statements of the dump declare its tables",
        };
        return Err(Error::usage(message).hint(hint));
    }
    Ok(())
}
