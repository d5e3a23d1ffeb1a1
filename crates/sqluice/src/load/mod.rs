//! `load`: files into a new database.
//!
//! ```text
//!  prepare   files ──> a sample of each ──> dialect, header, evidence for types ──> tables ──> plan
//!  run       parts of all files ──> pages; the values are watched: types that do not hold for all of them end the attempt
//!            ... then everything is read once for its types, and loaded again
//! ```
//!
//! Types are guessed from the first [`SAMPLE_BYTES`] of each file, which for most files is all. A wrong guess costs time, never
//! a value: what the database holds is decided by all values (`infer`).

mod default;
mod files;
mod paths;
mod tables;

use std::path::PathBuf;

use crate::encode::Conversions;
use crate::error::{Error, Result};
use crate::infer::{self, Watch, Watched};
use crate::input::Encoding;
use crate::new_database;
use crate::pipeline::Job;
use crate::plan::{Plan, WriteOptions};
use crate::progress::{Amount, Cancel, Progress};
use crate::reject::RejectFile;
use crate::report::Report;
use crate::schema::Schema;
use crate::source::csv::Given;
use crate::source::{NoRows, Source};
use files::LoadFile;
use tables::LoadTable;

/// How much of each file is looked at before anything is decided, in bytes of text.
pub const SAMPLE_BYTES: usize = 2 << 20;

/// Files that become tables of a new database.
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
    /// What SQLite's conversions may lose, such as the digits of `'12345678901234567890'` in an INTEGER column.
    pub lossy: bool,
    /// Where bad rows go; `None`: the first one ends the load.
    pub reject: Option<PathBuf>,
    /// Bad rows that the load takes.
    pub rejects_max: u64,
    /// Where to keep what is read from a pipe, when it must be read twice.
    pub temp_dir: PathBuf,
    /// How to write.
    pub write: WriteOptions,
}

/// How files of text are written. What is `None` is recognised.
#[derive(Clone, Debug, Default)]
pub struct Format {
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
    load: Load,
    cancel: Cancel,
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
            lossy: false,
            reject: None,
            rejects_max: u64::MAX,
            temp_dir: std::env::temp_dir(),
            write: WriteOptions::default(),
        }
    }

    /// Looks at the files and decides what will be done. Nothing is written. `cancel` ends this, and the run, when it is set.
    ///
    /// # Errors
    /// When a file can't be read or does not fit the schema, or the target is in the way or does not fit the disk.
    pub fn prepare(self, cancel: &Cancel) -> Result<PreparedLoad> {
        let files = files::open_all(&self, cancel)?;
        paths::refuse_shared(&self, files.iter().map(LoadFile::path))?;
        let tables = tables::assign(&self, files)?;
        let schema = tables::declare(&self, &tables)?;
        let plan = Plan::new(&schema, Some(self.target.clone()), &self.write)?;
        let mut prepared = PreparedLoad { load: self, cancel: cancel.clone(), tables, schema, plan };
        prepared.update_plan();
        // Before anything is read from a pipe.
        prepared.plan.wanted().map_or(Ok(()), |wanted| wanted.refuse())?;
        Ok(prepared)
    }
}

impl PreparedLoad {
    /// What will be done.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What the database will declare, as far as it is known: see [`PreparedLoad::settle_types`].
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Makes the types final, by reading everything whose types are only guessed so far.
    ///
    /// # Errors
    /// When a file can't be read, or has a bad row.
    pub fn settle_types(&mut self, progress: &dyn Progress) -> Result<()> {
        if self.tables.iter().all(LoadTable::is_settled) {
            return Ok(());
        }
        self.keep_streams(progress)?;
        progress.phase("types", self.total(|table| !table.is_settled()));
        for index in 0..self.tables.len() {
            if !self.tables[index].is_settled() {
                self.settle_table(index, progress)?;
            }
        }
        self.schema = tables::declare(&self.load, &self.tables)?;
        self.plan = Plan::new(&self.schema, self.plan.target.clone(), &self.load.write)?;
        self.update_plan();
        Ok(())
    }

    fn settle_table(&mut self, index: usize, progress: &dyn Progress) -> Result<()> {
        let PreparedLoad { load, cancel, tables, schema, plan } = self;
        let table = &mut tables[index];
        let columns = table.inferred_columns(schema);
        let tolerant = load.reject.is_some();
        let evidence = {
            let mut source = table.source(load, schema)?;
            infer::scan(&mut *source, &columns, tolerant, plan.threads, cancel, progress)?
        };
        table.settle(&evidence);
        Ok(())
    }

    /// Copies to temporary files what can be read only once, but must be read twice.
    fn keep_streams(&mut self, progress: &dyn Progress) -> Result<()> {
        for table in self.tables.iter_mut().filter(|table| !table.is_settled()) {
            for file in &mut table.files {
                file.keep(&self.load.temp_dir, progress)?;
            }
        }
        Ok(())
    }

    /// Bytes of input of some tables, when that is known of all their files.
    fn total(&self, which: impl Fn(&LoadTable) -> bool) -> Option<Amount> {
        let files = self.tables.iter().filter(|table| which(table)).flat_map(|table| &table.files);
        let bytes = files.map(LoadFile::bytes).try_fold(0, |sum, bytes| Some(sum + bytes?));
        bytes.map(|bytes| Amount { rows: 0, bytes })
    }

    /// Does it.
    ///
    /// # Errors
    /// When the input is bad or the database can't be written: there is none, then.
    pub fn run(mut self, progress: &dyn Progress) -> Result<Report> {
        self.keep_streams(progress)?;
        if self.load.reject.is_some() {
            // A second attempt would reject the same rows again.
            self.settle_types(progress)?;
        }
        let guessed = !self.tables.iter().all(LoadTable::is_settled);
        match self.attempt(progress)? {
            Attempt::Done(report) => Ok(report),
            Attempt::OtherTypes if guessed => {
                self.settle_types(progress)?;
                match self.attempt(progress)? {
                    Attempt::Done(report) => Ok(report),
                    Attempt::OtherTypes => Err(changed()),
                }
            }
            Attempt::OtherTypes => Err(changed()),
        }
    }

    /// Loads everything, unless the types turn out to be others.
    fn attempt(&mut self, progress: &dyn Progress) -> Result<Attempt> {
        progress.phase("load", self.total(|_| true));
        let PreparedLoad { load, cancel, tables, schema, plan } = self;
        let conversions = if load.lossy { Conversions::All } else { Conversions::Lossless };
        let mut sources: Vec<Option<Box<dyn Source + '_>>> = schema.tables.iter().map(|_| None).collect();
        let mut watches = Vec::new();
        for table in tables {
            let watched: Vec<Watched> = table.watched(schema);
            let index = table.index_in(schema);
            let source = table.source(load, schema)?;
            let watch = Watch::new(&watched);
            sources[index] = Some(watch.over(source));
            watches.push(watch);
        }
        let jobs = schema.tables.iter().zip(sources).map(|(table, source)| Job {
            table,
            conversions,
            source: source.unwrap_or_else(|| Box::new(NoRows)),
        });
        let rejects = match &load.reject {
            Some(file) => Some(RejectFile::create(file, load.write.overwrite, load.rejects_max)?),
            None => None,
        };
        match new_database::write(plan, schema, jobs.collect(), rejects, progress, cancel) {
            Ok(report) => Ok(Attempt::Done(report)),
            Err(_) if watches.iter().any(Watch::broken) && cancel.check().is_ok() => Ok(Attempt::OtherTypes),
            Err(error) => Err(error),
        }
    }

    /// What the plan says of files and types, and how large the file will be.
    fn update_plan(&mut self) {
        self.plan.estimated_bytes = self.estimate();
        for table in &self.tables {
            let plan = &mut self.plan.tables[table.index_in(&self.schema)];
            plan.sources = table.files.iter().map(LoadFile::describe).collect();
            if !table.is_settled() {
                plan.why += "; types are those of a sample, and checked with every value";
            }
            self.plan.notes.extend(table.files.iter().flat_map(LoadFile::notes));
        }
    }

    /// How large the file will be: as large as the pages of the samples, scaled. `None` where the size of the input or a sample
    /// does not tell.
    fn estimate(&mut self) -> Option<u64> {
        let mut bytes = 0;
        for table in &mut self.tables {
            bytes += table.estimate(&self.load, &self.schema, &self.plan, &self.cancel)?;
        }
        Some(bytes)
    }
}

/// What came of an attempt.
enum Attempt {
    Done(Report),
    /// Some column has values that are not of the guessed type.
    OtherTypes,
}

fn changed() -> Error {
    Error::input("the input has changed while it was read").hint("wait until nobody writes to it any more")
}
