//! The load of a dump: SQL text that makes a database.
//!
//! ```text
//!  guard        an authorizer for SQLite: a dump may fill its database, and nothing else
//!  declared     a database in memory that has run many declarations
//!  statement    the text of statements, and the errors about them
//!  selection    the tables that are loaded, if some are named
//!  walk         each statement, in order: a declaration, literal rows, or work for SQLite
//!  last         the work for SQLite, after the pages
//!  translated   the walk over a dump of MySQL or Postgres: its declarations become those of SQLite
//! ```
//!
//! Literal rows become pages, whatever statements stand between them, as long as no other statement has read or changed their table: from
//! then on, the rows of the table are inserted by SQLite, in the order of the dump.
//!
//! Invariant: the database has what SQLite makes of the dump.

mod declared;
mod guard;
mod last;
mod selection;
mod statement;
#[cfg(feature = "dialects")]
mod translated;
mod walk;

use std::sync::Arc;
use std::time::Instant;

use sqluice_core::error::{
    Assumption, Duplicate, DuplicateRows, Error, Message, Place, Result, Setting, message,
};
use sqluice_core::progress::{Amount, Context};
use sqluice_core::schema::Schema;
use sqluice_core::source::recognised::Recognised;
use sqluice_engine::attempts::{self, Outcome, Refuted};
use sqluice_engine::encode::Coercion;
use sqluice_engine::options::{IfExists, WriteOptions};
use sqluice_engine::plan::{ExpectedRows, LastWork, Plan};
use sqluice_engine::report::{InputReport, PhaseReport, Report};
use sqluice_engine::target::TargetSnapshot;
use sqluice_engine::trees::Job;
use sqluice_sources::dump::rows::TableRows;
use sqluice_sources::dump::split::{Script, Splitter};
use sqluice_sources::dump::{Dialect, DumpFile, recognise};
use sqluice_sources::input::InputFile;

use super::request::Request;
use super::request::options::Load;
use last::Last;
use statement::{first_words, text_of};
use walk::{Walk, Walked};

/// The share of the memory that a statement may take: it exists as text, as tokens and in SQLite.
const STATEMENT_SHARE: u64 = 8;

/// The number of bytes that show which program wrote a dump.
const HEAD_BYTES: usize = 64 << 10;

/// The largest number of bytes of a statement: SQLite takes no longer ones.
const STATEMENT_BYTES_MAX: u64 = 1_000_000_000;

/// A dump that was read once, and the plan of its load.
pub(super) struct PreparedDump {
    load: Load,
    file: Arc<DumpFile>,
    script: Script,
    dialect: Dialect,
    walked: Walked,
    /// `true` if rows are sorted by their rowids, because some are out of order.
    sorts: bool,
    /// The tables and columns that are declared without NOT NULL, because their rows have NaN.
    with_nan: Vec<(String, String)>,
    /// The database that gets the rows; `None` for a new one.
    existing: Option<TargetSnapshot>,
    pub(super) schema: Schema,
    pub(super) plan: Plan,
    recognised: Recognised,
    phases: Vec<PhaseReport>,
    seconds: f64,
}

impl PreparedDump {
    /// Reads the dump, and plans the load.
    pub(super) fn prepare(
        request: &Request,
        mut input: InputFile,
        context: &Context<'_>,
    ) -> Result<PreparedDump> {
        let started = Instant::now();
        let load = Load::clone(request);
        refuse_settings(&load, &input)?;
        let folder = request.temp_folder()?;
        let sample = input.sample(HEAD_BYTES)?;
        let mut recognised = Recognised::new("sql");
        recognised.compression = sample.compression.map(|compression| compression.to_string());
        recognised.encoding = sample.encoding.map(|encoding| encoding.to_string());
        context.progress.phase("copy", None);
        input.decode(&folder, context.progress)?;
        input.keep(&folder, context.progress)?;
        let file = Arc::new(DumpFile::new(&input)?);
        let statement_bytes_max =
            (load.write.memory_bytes / STATEMENT_SHARE).min(STATEMENT_BYTES_MAX) as usize;
        let head = input.sample(HEAD_BYTES)?.text;
        refuse_other_database(&head, &input)?;
        let dialect = recognise::dialect(&head);
        let script = Splitter::new(&file, dialect.rules(), statement_bytes_max, context).split()?;
        let walked = match dialect {
            Dialect::Sqlite => match Walk::new(&load, &file, &script, true)?.run(context)? {
                walked if walked.asks_session => Walk::new(&load, &file, &script, false)?.run(context)?,
                walked => walked,
            },
            _ => translated(&load, &file, (&script, dialect), &[], context)?,
        };
        let schema = walked.schema.clone();
        let plan = Plan::new(&schema, Some(request.to.clone()), &load.write)?;
        let mut prepared = PreparedDump {
            load,
            file,
            script,
            dialect,
            walked,
            sorts: false,
            with_nan: Vec::new(),
            existing: request.existing.clone(),
            schema,
            plan,
            recognised,
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

    /// Returns the report about the dump. Its table is empty, unless the dump makes only one.
    pub(super) fn input(&self) -> InputReport {
        let table = match &*self.schema.tables {
            [only] => &*only.name,
            _ => "",
        };
        let mut input =
            InputReport::new(self.file.name().display().to_string(), table, self.recognised.clone());
        let without_not_null = self.with_nan.iter().map(|(table, column)| {
            format!("{table}.{column} is declared without NOT NULL, because rows have NaN, which SQLite stores as NULL")
        });
        input.notes.extend(without_not_null.map(Message::from));
        input
    }

    /// Plans again with all facts known by now.
    fn plan_again(&mut self) -> Result<()> {
        self.schema = self.walked.schema.clone();
        let options = self.options();
        let target = self.plan.target.clone();
        if let Some(existing) = &self.existing {
            self.refuse_other_statements()?;
            let hint = message![Setting::Append, " adds the rows of the dump to it"];
            self.schema = existing.combine_all(self.schema.clone(), &options.if_exists, &hint)?;
        }
        let mut plan = Plan::of(&self.schema, target.as_ref(), self.existing.as_ref(), &options)?;
        if let Some(existing) = &self.existing {
            for (index, table) in self.schema.tables.iter().enumerate() {
                let expected = ExpectedRows {
                    about: Some(self.walked.rows[index].rows()),
                    with_rowids: table.rowid_alias.is_some(),
                    ascending: !self.sorts,
                    overlaps: self.sorts && plan.tables[index].appends(),
                    ..ExpectedRows::default()
                };
                plan.choose((index, table), existing, expected, &options)?;
            }
        }
        for (index, table) in self.schema.tables.iter().enumerate() {
            let rows = &self.walked.rows[index];
            plan.tables[index].rows = Some(rows.rows());
            plan.tables[index].sources = vec![self.file.name().display().to_string()];
            if self.sorts && table.rowid_alias.is_some() && !plan.tables[index].appends() {
                plan.sort_rows((index, table), true, "rows are not in the order of their rowids", &options)?;
            }
        }
        plan.ignores_checks = self.walked.ignores_checks;
        plan.estimated_bytes = Some(self.file.bytes());
        plan.notes.extend(self.walked.notes.iter().cloned());
        if !self.walked.last.is_empty() && self.existing.is_none() {
            let last = Last::new(&self.walked, &self.file, &self.load);
            plan.last = Some(LastWork(Arc::new(move |connection, progress| last.run(connection, progress))));
        }
        self.plan = plan;
        Ok(())
    }

    /// Refuses statements that an existing database would have to run. The numbers of AUTOINCREMENT follow from the rows.
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
                "the dump gives the rows of {} rowids, which an existing table may have given away",
                table.name
            ))
            .at(Place::file(self.file.name()))
            .hint("load the dump into a new database")),
            None => Ok(()),
        }
    }

    fn options(&self) -> WriteOptions {
        let options = self.load.write.clone();
        let checked = options.foreign_keys.unwrap_or(self.walked.foreign_keys);
        // The foreign keys are checked after the statements for SQLite.
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
        report.inputs = vec![self.input()];
        Ok(report)
    }

    fn attempt(&self, context: &Context<'_>) -> Result<Report> {
        let bytes = self.walked.rows.iter().map(|rows| rows.bytes()).sum();
        context.progress.phase("load", Some(Amount { rows: 0, bytes }));
        let tables = self.schema.tables.iter().zip(&self.walked.rows);
        let jobs = tables.map(|(table, rows)| {
            let source = Box::new(Arc::clone(rows).source(Arc::clone(&self.file)));
            Job { table, coercion: Coercion::All, source }
        });
        let written =
            attempts::write(&self.plan, &self.schema, jobs.collect(), None, "load", &context.child());
        written.map_err(|error| self.located(error))
    }

    fn assume_less(&mut self, Refuted { assumption, error }: Refuted, context: &Context<'_>) -> Result<()> {
        match assumption {
            Assumption::RowOrder if !self.sorts => self.sorts = true,
            Assumption::Schema => {
                let target = self.plan.target.clone();
                self.existing = attempts::look(target.as_ref(), &self.load.write)?;
            }
            // SQLite reads all rows that are not literals, and all rows after them.
            Assumption::LiteralRows if self.walked.by_pages && self.dialect == Dialect::Sqlite => {
                self.walked = Walk::new(&self.load, &self.file, &self.script, false)?.run(context)?;
            }
            Assumption::StoredValues => match self.refusing_column(&error) {
                Some(column) => {
                    self.with_nan.push(column);
                    let (script, with_nan) = ((&self.script, self.dialect), &self.with_nan);
                    self.walked = translated(&self.load, &self.file, script, with_nan, context)?;
                }
                None => return Err(error),
            },
            _ => return Err(error),
        }
        self.plan_again()
    }

    /// Returns the table and the NOT NULL column that refuse a value, if the table is new and the column may be declared otherwise.
    fn refusing_column(&self, error: &Error) -> Option<(String, String)> {
        let offset = error.place()?.byte?;
        let has_row = |rows: &Arc<TableRows>| {
            rows.pieces.iter().any(|(piece, _)| (piece.start..piece.end).contains(&offset))
        };
        let place = self.walked.rows.iter().position(has_row)?;
        let table = &self.walked.schema.tables[place].name;
        let is_new = self.existing.as_ref().is_none_or(|existing| existing.table(table).is_none());
        let column = (table.clone(), error.column()?.to_owned());
        (is_new && !self.with_nan.contains(&column)).then_some(column)
    }

    /// Adds the place in the dump to an error about a row, or about two rows with the same key.
    fn located(&self, mut error: Error) -> Error {
        let row = match (error.take_duplicate(), error.record()) {
            (Some(Duplicate { table, rows: DuplicateRows::Records(_, row), .. }), _) => Some((table, row)),
            // Records count from 1.
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

/// Walks over a dump of another database.
#[cfg(feature = "dialects")]
use translated::walk as translated;

/// Refuses a dump of another database: this build does not translate its schema.
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

/// Refuses a script of a database whose SQL is not read.
fn refuse_other_database(head: &[u8], input: &InputFile) -> Result<()> {
    let Some(database) = recognise::other_database(head) else { return Ok(()) };
    Err(Error::input(format!(
        "this is a script of {database}, and scripts of SQLite, MySQL and PostgreSQL are loaded"
    ))
    .at(Place::file(input.name()))
    .hint("export each table as CSV, and load these files"))
}

/// Refuses settings about tables that the dump itself declares.
fn refuse_settings(load: &Load, input: &InputFile) -> Result<()> {
    let given = [
        (load.schema.is_some(), Setting::Schema),
        (!load.types.is_empty(), Setting::Type),
        (load.strict, Setting::Strict),
        (load.columns.is_some(), Setting::Columns),
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
        let message =
            message![setting, format!(" is about tables of files, and {} is a dump", input.name().display())];
        return Err(Error::usage(message).hint("leave it out: the statements of the dump declare its tables"));
    }
    if !matches!(load.write.if_exists, IfExists::Fail | IfExists::Append) {
        let message = format!("{} is a dump, whose rows are added to others at most", input.name().display());
        return Err(Error::usage(message).hint(message!["load it into a new database, or ", Setting::Append]));
    }
    if load.files.len() > 1 {
        return Err(Error::usage(format!(
            "{} is a dump, and a dump is loaded alone",
            input.name().display()
        ))
        .hint(message!["load the other files afterwards, with ", Setting::Append]));
    }
    Ok(())
}
