//! `load`: files into a database, a new one or one that is there.
//!
//! ```text
//!  prepare   files ──> a sample of each ──> dialect, header, evidence for types ──> tables ──> plan
//!  run       parts of all files ──> pages; the values are watched: types that do not hold for all of them end the attempt
//!            ... then everything is read once for its types, and loaded again
//!            ... rows that do not come in the order of their INTEGER PRIMARY KEY end it, too: they are loaded again, sorted,
//!                or, where they do not come after the rows that are there, by SQLite
//!            ... another program that was waited for may have changed the schema: then the database is looked at again
//! ```
//!
//! Types are guessed from the first [`SAMPLE_BYTES`] of each file, which for most files is all. A wrong guess costs time, never
//! a value: what the database holds is decided by all values (`infer`).
//!
//! Invariant: types follow from the well-formed records that are read, those among them that the table refuses included: they
//! may come again, mended. So the database depends on the input alone, not on where a sample ends.
//!
//! Invariant: the first fault of the input is the one that is told. So reading for types passes over what is bad: it is the
//! load's to find.

#[cfg(feature = "parquet")]
mod columnar;
mod csv;
pub(crate) mod default;
mod duplicate;
mod files;
mod format;
mod json;
pub(crate) mod keys;
mod order;
mod paths;
mod request;
mod tables;
mod there;

use std::path::PathBuf;

use crate::encode::Conversions;
use crate::error::{Error, Result};
use crate::existing_database;
use crate::infer::{self, Watch, Watched};
use crate::input::{self, Encoding};
use crate::new_database;
use crate::output;
use crate::pipeline::Job;
use crate::plan::{Plan, Road, TablePlan, There, WriteOptions};
use crate::progress::{Amount, Cancel, Progress, Silent};
use crate::reject::RejectFile;
use crate::report::Report;
use crate::schema::Schema;
use crate::source::csv::{Given, PART_BYTES};
use crate::source::{NoRows, Source};
use files::LoadFile;
use order::Order;
use request::Request;
use tables::LoadTable;

/// How much of each file is looked at before anything is decided, in bytes of text.
pub const SAMPLE_BYTES: usize = 2 << 20;

/// Files that become tables of a database, or rows of such.
#[derive(Clone, Debug)]
pub struct Load {
    /// The database.
    pub target: PathBuf,
    /// The files; `-` is standard input. A name with `*`, `?` or `[` that is no file's stands for all that match.
    pub files: Vec<PathBuf>,
    /// How they are written.
    pub format: Format,
    /// The table that all go to; `None`: one for each, named after it.
    pub table: Option<String>,
    /// What the database declares; `None`: tables with the columns that the files have, of the types that their values have.
    /// Tables that are there already are as they are, and must be declared the same.
    pub schema: Option<Schema>,
    /// Declared types of columns, by name, instead of those that the values have. Not with a schema.
    pub types: Vec<(String, String)>,
    /// Tables are STRICT. Not with a schema.
    pub strict: bool,
    /// The columns to load, in this order; of files without a header: their names.
    pub columns: Option<Vec<String>>,
    /// Columns that the table, or its first file, does not have are added; otherwise they are an error.
    pub add_columns: bool,
    /// Records of each table that are read at most.
    pub limit: Option<u64>,
    /// How decimals and timestamps of Parquet and Arrow files are stored.
    #[cfg(feature = "parquet")]
    pub arrow: crate::source::arrow::ArrowOptions,
    /// What SQLite's conversions may lose, such as the digits of `'12345678901234567890'` in an INTEGER column.
    pub lossy: bool,
    /// Where bad rows go; `None`: the first one ends the load.
    pub reject: Option<PathBuf>,
    /// Bad rows that the load takes.
    pub rejects_max: u64,
    /// The columns of the PRIMARY KEY, of each table that has them all. One INTEGER column is another name for the rowid; of
    /// others none may be NULL. Not with a schema.
    pub primary_key: Vec<String>,
    /// Indexes, each as columns with commas between them: `name [COLLATE collation] [ASC|DESC], ...`; a name may be quoted as in
    /// SQL. Each table that has all columns gets one.
    pub indexes: Vec<String>,
    /// Unique indexes, in the same way. Not with a schema.
    pub uniques: Vec<String>,
    /// Tables with a `primary_key` are WITHOUT ROWID.
    pub without_rowid: bool,
    /// How to write. Copies of pipes that must be read twice are kept in its `temp_dir`, too.
    pub write: WriteOptions,
    /// How much of each file is looked at before anything is decided, in bytes of text: tests make it small.
    #[doc(hidden)]
    pub sample_bytes: usize,
    /// How much of a file one part is, in bytes. The file depends on it, so it is no user's choice: tests make it small.
    #[doc(hidden)]
    pub part_bytes: usize,
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Fields between delimiters.
    Csv,
    /// JSON, an object a line.
    Ndjson,
    /// JSON: an array of objects, or, where it begins with none, an object a line.
    Json,
    /// Parquet.
    Parquet,
    /// An Arrow IPC file or stream.
    Arrow,
}

/// How files are written. What is `None` is recognised. All but the kind and the encoding is about CSV.
#[derive(Clone, Debug, Default)]
pub struct Format {
    /// What they are; `None`: what their names and first bytes say.
    pub kind: Option<FileKind>,
    /// Between fields.
    pub delimiter: Option<u8>,
    /// Around fields; `Some(None)`: nothing is.
    pub quote: Option<Option<u8>>,
    /// Within quotes, makes the next character stand for itself.
    pub escape: Option<u8>,
    /// Lines that begin with it are skipped.
    pub comment: Option<u8>,
    /// The first record names the columns.
    pub header: Option<bool>,
    /// Lines to skip at the start.
    pub skip_lines: u64,
    /// Unquoted fields that are NULL, besides the empty one.
    pub null: Vec<String>,
    /// An unquoted empty field is empty text.
    pub empty_as_text: bool,
    /// The encoding; `None`: UTF-8, or what the byte order mark says.
    pub encoding: Option<Encoding>,
}

impl Format {
    fn given(&self) -> Given<'static> {
        Given {
            delimiter: self.delimiter,
            quote: self.quote,
            escape: self.escape,
            comment: self.comment,
            header: self.header,
            skip_lines: usize::try_from(self.skip_lines).unwrap_or(usize::MAX),
            ..Given::default()
        }
    }
}

/// A load that knows its input.
pub struct PreparedLoad {
    load: Request,
    cancel: Cancel,
    /// Set by a failed attempt, too, and known to whoever waits for a pipe.
    stop: Cancel,
    tables: Vec<LoadTable>,
    schema: Schema,
    plan: Plan,
}

impl Load {
    /// A load of `files` with nothing said about them.
    pub fn new(target: impl Into<PathBuf>, files: impl IntoIterator<Item = impl Into<PathBuf>>) -> Load {
        Load {
            target: target.into(),
            files: files.into_iter().map(Into::into).collect(),
            format: Format::default(),
            table: None,
            schema: None,
            types: Vec::new(),
            strict: false,
            columns: None,
            add_columns: false,
            limit: None,
            #[cfg(feature = "parquet")]
            arrow: crate::source::arrow::ArrowOptions::default(),
            lossy: false,
            reject: None,
            rejects_max: u64::MAX,
            primary_key: Vec::new(),
            indexes: Vec::new(),
            uniques: Vec::new(),
            without_rowid: false,
            write: WriteOptions::default(),
            sample_bytes: SAMPLE_BYTES,
            part_bytes: PART_BYTES,
        }
    }

    /// Looks at the files and decides what will be done. Nothing is written. `cancel` ends this, and the run, when it is set.
    ///
    /// # Errors
    /// When something is in the way of the database or it does not fit the disk, a file can't be read, or it does not fit the schema.
    pub fn prepare(self, cancel: &Cancel) -> Result<PreparedLoad> {
        // Before a pipe loses anything.
        request::check(&self)?;
        let inputs = input::expand(&self.files)?;
        paths::refuse_shared(&self, &inputs)?;
        let load = Request::new(self)?;
        load.check_targets()?;
        let stop = cancel.child();
        let files = files::open_all(&load, &inputs, &stop)?;
        let tables = tables::assign(&load, files)?;
        let (schema, plan) = load.plan(&tables)?;
        let mut prepared = PreparedLoad { load, cancel: cancel.clone(), stop, tables, schema, plan };
        prepared.complete_plan()?;
        prepared.plan.refuse()?;
        Ok(prepared)
    }

    /// Where what does not fit the memory is kept.
    fn temp_folder(&self) -> Result<PathBuf> {
        match &self.write.temp_dir {
            Some(folder) => Ok(folder.clone()),
            None => Ok(output::place(&self.target)?.folder),
        }
    }
}

impl Request {
    fn plan(&self, tables: &[LoadTable]) -> Result<(Schema, Plan)> {
        let schema = tables::declare(self, tables)?;
        let plan = match &self.there {
            None => Plan::new(&schema, Some(self.target.clone()), &self.write),
            Some(there) => Plan::into_existing(&schema, there, &self.write),
        };
        let plan = if self.schema.is_none() { plan.map_err(request::of_made_sql) } else { plan };
        let mut plan = plan?;
        for table in tables.iter().filter(|table| table.is_there()) {
            plan.tables[table.index_in(&schema)].alter = table.alter().collect();
        }
        Ok((schema, plan))
    }
}

impl PreparedLoad {
    /// What will be done.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Makes the types final, by reading everything whose types are only guessed so far.
    ///
    /// # Errors
    /// When a file can't be read. Bad rows are no error yet.
    pub fn settle_types(&mut self, progress: &dyn Progress) -> Result<()> {
        self.settle(progress)?
    }

    /// The same; that something can't be read to its end is another matter than that what was read does not fit.
    fn settle(&mut self, progress: &dyn Progress) -> Result<Result<()>> {
        if self.tables.iter().all(LoadTable::is_settled) {
            return Ok(Ok(()));
        }
        self.keep_streams(progress)?;
        let mut read = self.settle_names(progress)?;
        progress.phase("types", self.total(|table| !table.is_settled()));
        for index in 0..self.tables.len() {
            if !self.tables[index].is_settled() {
                read = read.and(self.settle_table(index, progress));
            }
        }
        (self.schema, self.plan) = self.load.plan(&self.tables)?;
        self.complete_plan()?;
        Ok(read)
    }

    /// Reads all that may bring columns, for their names. What can't be read to its end is no error yet.
    fn settle_names(&mut self, progress: &dyn Progress) -> Result<Result<()>> {
        let mut read = Ok(());
        if !self.tables.iter().any(LoadTable::lacks_names) {
            return Ok(read);
        }
        progress.phase("columns", self.total(LoadTable::lacks_names));
        let PreparedLoad { load, stop, tables, plan, .. } = self;
        for table in tables.iter_mut().filter(|table| table.lacks_names()) {
            stop.check()?;
            let scanned = infer::scan(&mut *table.names_source(load), &[], plan.threads, stop, progress);
            read = read.and(scanned.1);
            stop.check()?;
            table.take_new_names(load)?;
        }
        there::check(&self.load, &self.tables)?;
        (self.schema, self.plan) = self.load.plan(&self.tables)?;
        Ok(read)
    }

    /// What can be known of a file that can't be read to its end is taken for all.
    fn settle_table(&mut self, index: usize, progress: &dyn Progress) -> Result<()> {
        let PreparedLoad { load, stop, tables, schema, plan, .. } = self;
        stop.check()?;
        let table = &mut tables[index];
        let columns = table.inferred_columns(schema);
        let (evidence, read) = {
            let mut source = table.source(load, schema)?;
            infer::scan(&mut *source, &columns, plan.threads, stop, progress)
        };
        table.settle(&evidence);
        read
    }

    /// Copies to temporary files what can be read only once, if it may have to be read twice: a wrong guess about one table
    /// makes all be loaded again.
    fn keep_streams(&mut self, progress: &dyn Progress) -> Result<()> {
        if self.tables.iter().all(|table| table.is_settled() && !table.order.is_guess()) {
            return Ok(());
        }
        let files = self.tables.iter_mut().flat_map(|table| &mut table.files);
        for file in files.filter(|file| !file.can_reopen()) {
            progress.phase("copy", None);
            file.keep(&self.load.temp_folder()?, progress)?;
        }
        Ok(())
    }

    /// Bytes of input of some tables, when that is known of all their files.
    fn total(&self, which: impl Fn(&LoadTable) -> bool) -> Option<Amount> {
        let tables = self.tables.iter().filter(|table| which(table));
        let bytes = tables.map(LoadTable::bytes).try_fold(0, |sum, bytes| Some(sum + bytes?));
        bytes.map(|bytes| Amount { rows: 0, bytes })
    }

    /// Does it.
    ///
    /// # Errors
    /// When the input is bad or the database can't be written: there is none, then.
    pub fn run(mut self, progress: &dyn Progress) -> Result<Report> {
        self.load.check_targets()?;
        self.keep_streams(progress)?;
        // What can't be read is met again by the load, unless that finds a fault before it.
        let mut read = Ok(());
        // A second attempt would reject the same rows again.
        if self.load.reject.is_some() {
            read = self.settle(progress)?;
            self.cancel.check()?;
        }
        let mut looks = 1;
        loop {
            let settled = self.tables.iter().all(LoadTable::is_settled);
            match self.attempt(progress)? {
                Attempt::Done(report) => return Ok(*report),
                Attempt::OtherTypes if settled => return Err(read.err().unwrap_or_else(changed)),
                Attempt::OtherTypes => {
                    read = self.settle(progress)?;
                    self.cancel.check()?;
                }
                Attempt::OutOfOrder => self.sort_more()?,
                Attempt::OutOfDate(error) if looks == existing_database::LOOKS_MAX => return Err(error),
                Attempt::OutOfDate(error) => {
                    looks += 1;
                    self.look_again(error)?;
                }
            }
        }
    }

    /// Plans for the database as it is now. If the tables of this load are others than they were, that is `changed`.
    fn look_again(&mut self, changed: Error) -> Result<()> {
        self.cancel.check()?;
        let now = There::look(&self.load.target, &self.load.write)?;
        let before = std::mem::replace(&mut self.load.there, now);
        for table in &self.tables {
            let before = before.as_ref().and_then(|there| there.table(table.name()));
            if before.map(|table| &table.sql) != self.load.has(table.name()).map(|table| &table.sql) {
                return Err(changed);
            }
            self.load.refuse_table(table.name())?;
        }
        there::check(&self.load, &self.tables)?;
        (self.schema, self.plan) = self.load.plan(&self.tables)?;
        self.complete_plan()?;
        self.plan.refuse()
    }

    /// Takes less for granted of the order of rows.
    fn sort_more(&mut self) -> Result<()> {
        let hoped = self.tables.iter().any(|table| table.order == Order::Hoped);
        for table in &mut self.tables {
            if self.plan.tables[table.index_in(&self.schema)].appends() {
                table.amid = true;
            } else if table.order == Order::Hoped || !hoped {
                table.order = table.order.next();
            }
        }
        (self.schema, self.plan) = self.load.plan(&self.tables)?;
        self.complete_plan()
    }

    /// Loads everything, unless the types turn out to be others, or the order of the rows.
    fn attempt(&mut self, progress: &dyn Progress) -> Result<Attempt> {
        progress.phase("load", self.total(|_| true));
        let PreparedLoad { load, cancel, stop, tables, schema, plan } = self;
        let conversions = if load.lossy { Conversions::All } else { Conversions::Lossless };
        let mut sources: Vec<Option<Box<dyn Source + '_>>> = schema.tables.iter().map(|_| None).collect();
        let mut watches = Vec::new();
        let guessed = tables.iter().any(|table| table.order.is_guess())
            || plan.tables.iter().any(TablePlan::appends) && load.reject.is_none();
        for table in &mut *tables {
            let watched: Vec<Watched> = table.watched(schema);
            let index = table.index_in(schema);
            let source = table.source(load, schema)?;
            let watch = Watch::new(&watched);
            sources[index] = Some(watch.over(source));
            watches.push(watch);
        }
        let rejects = match &load.reject {
            Some(file) => Some(RejectFile::create(file, load.write.overwrite, load.rejects_max)?),
            None => None,
        };
        let jobs = jobs(schema, sources, conversions);
        let written = match plan.existing {
            None => new_database::write(plan, schema, jobs, rejects, "load", progress, stop),
            Some(_) => existing_database::write(plan, schema, jobs, rejects, "load", progress, stop),
        };
        stop.reset();
        match written {
            Ok(report) => Ok(Attempt::Done(Box::new(report))),
            Err(error) if cancel.check().is_err() => Err(error),
            Err(_) if watches.iter().any(Watch::broken) => Ok(Attempt::OtherTypes),
            Err(_) if tables.iter().any(LoadTable::met_new_name) => Ok(Attempt::OtherTypes),
            Err(error) if error.is_out_of_date() => Ok(Attempt::OutOfDate(error)),
            Err(error) if guessed && error.is_out_of_order() => Ok(Attempt::OutOfOrder),
            Err(error) => Err(duplicate::located(error, load, tables, schema, progress, stop)),
        }
    }

    /// What the plan says of files, types and the order of rows, and how large the file will be.
    fn complete_plan(&mut self) -> Result<()> {
        for index in 0..self.tables.len() {
            self.plan_order(index)?;
        }
        self.plan.estimated_bytes = self.estimate();
        for table in &self.tables {
            let plan = &mut self.plan.tables[table.index_in(&self.schema)];
            plan.sources = table.files.iter().map(LoadFile::describe).collect();
            if !table.is_settled() {
                plan.why += "; types are those of a sample, and checked with every value";
            }
            self.plan.notes.extend(table.files.iter().flat_map(LoadFile::notes));
        }
        Ok(())
    }

    /// Whether the rows of a table are sorted, as far as anybody knows.
    fn plan_order(&mut self, table: usize) -> Result<()> {
        let PreparedLoad { load, tables, schema, plan, .. } = self;
        let table = &mut tables[table];
        let index = table.index_in(schema);
        if !matches!(table.order, Order::Any | Order::AnyWithNulls) {
            table.order = order::of_samples(table, load, schema);
        }
        if let Some(there) = &load.there {
            let rows = table.rows(&schema.tables[index], load);
            plan.choose((index, &schema.tables[index]), there, rows, &load.write)?;
        }
        match plan.tables[index].road {
            Road::Pages => {}
            Road::Sorted if table.order == Order::Hoped => table.order = Order::Any,
            Road::Sorted => {}
            // To SQLite rows come as they like.
            Road::Sqlite | Road::Insert => {
                table.order = Order::Ascending;
                return Ok(());
            }
        }
        // A second attempt would reject the same rows again.
        if table.order.is_guess() && load.reject.is_some() {
            table.order = Order::AnyWithNulls;
        }
        let Some(alias) = schema.tables[index].rowid_alias else { return Ok(()) };
        let name = &schema.tables[index].columns[alias].name;
        match table.order {
            Order::Ascending => Ok(()),
            Order::Hoped => {
                let why = &mut plan.tables[index].why;
                *why += &format!("; rows are taken to be in the order of {name}, and sorted if they are not");
                Ok(())
            }
            Order::Any | Order::AnyWithNulls => {
                let nulls = table.order == Order::AnyWithNulls;
                let why = format!("rows may come in any order of {name}");
                plan.sort_rows((index, &schema.tables[index]), nulls, &why, &load.write)
            }
        }
    }

    /// Bytes of the database, roughly: as many as the pages of the samples, each table's scaled. `None` where the size of the
    /// input or a sample does not tell.
    fn estimate(&mut self) -> Option<u64> {
        let PreparedLoad { load, stop, tables, schema, plan, .. } = self;
        let mut sources: Vec<Option<Box<dyn Source + '_>>> = schema.tables.iter().map(|_| None).collect();
        let mut loaded = Vec::new();
        for table in tables {
            let index = table.index_in(schema);
            loaded.push((index, table.scale(load)?));
            sources[index] = Some(table.sample_source(load, schema).ok()?);
        }
        // Without what only a file can get.
        let nowhere = match load.there {
            None => Plan { target: None, threads: 1, analyze: false, ..plan.clone() },
            Some(_) => alone(schema, load)?,
        };
        let jobs = jobs(schema, sources, Conversions::All);
        let report =
            new_database::write(&nowhere, schema, jobs, None, "load", &Silent, &stop.child()).ok()?;
        let more_pages = loaded.into_iter().map(|(index, scale)| {
            let table = &report.tables[index];
            let rows = table.leaf_pages + table.interior_pages + table.overflow_pages;
            let indexes = table.indexes.iter();
            let entries: u64 =
                indexes.map(|index| index.leaf_pages + index.interior_pages + index.overflow_pages).sum();
            ((rows + entries) as f64 * (scale - 1.0)) as u64
        });
        Some(report.bytes + more_pages.sum::<u64>() * report.page_bytes as u64)
    }
}

/// The plan for the rows alone, in any order, as if nothing were there.
fn alone(schema: &Schema, load: &Request) -> Option<Plan> {
    let page_size = load.there.as_ref().map_or(load.write.page_size, |there| there.page_size);
    let options = WriteOptions { page_size, threads: Some(1), analyze: false, ..load.write.clone() };
    let mut plan = Plan::new(schema, None, &options).ok()?;
    for (index, table) in schema.tables.iter().enumerate().filter(|(_, table)| table.rowid_alias.is_some()) {
        plan.sort_rows((index, table), true, "", &options).ok()?;
    }
    Some(plan)
}

/// The tables of `schema`, in their order, each with its source, if it has one.
fn jobs<'a>(
    schema: &'a Schema,
    sources: Vec<Option<Box<dyn Source + 'a>>>,
    conversions: Conversions,
) -> Vec<Job<'a>> {
    let jobs = schema.tables.iter().zip(sources).map(|(table, source)| Job {
        table,
        conversions,
        source: source.unwrap_or_else(|| Box::new(NoRows)),
    });
    jobs.collect()
}

/// What came of an attempt.
enum Attempt {
    Done(Box<Report>),
    /// Some column has values that are not of the guessed type, or was not known.
    OtherTypes,
    /// Rows do not come in the order of their rowids.
    OutOfOrder,
    /// The database has another schema than when it was looked at.
    OutOfDate(Error),
}

fn changed() -> Error {
    Error::input("the input has changed while it was read").hint("wait until nobody writes to it any more")
}
