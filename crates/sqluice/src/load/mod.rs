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

mod bad_files;
#[cfg(feature = "parquet")]
mod columnar;
mod converted;
mod csv;
pub(crate) mod default;
mod duplicate;
mod files;
mod format;
mod json;
pub(crate) mod keys;
mod missed;
mod notes;
mod options;
mod order;
mod paths;
mod request;
mod sampling;
mod tables;
mod there;
mod type_names;

use std::path::PathBuf;
use std::time::Instant;

use bad_files::BadFile;
use files::LoadFile;
pub use options::{FileKind, Format, Load, NameFrom, SAMPLE_BYTES};
use order::Order;
use request::Request;
use sqluice_core::error::{Error, ErrorKind, Result};
use sqluice_core::progress::{Amount, Cancel, Progress, Silent};
use sqluice_core::schema::Schema;
use sqluice_core::source::{NoRows, Source};
use sqluice_engine::encode::Conversions;
use sqluice_engine::existing_database;
use sqluice_engine::new_database;
use sqluice_engine::options::{WriteOptions, WritePath};
use sqluice_engine::output;
use sqluice_engine::pipeline::Job;
use sqluice_engine::plan::{Plan, TablePlan};
use sqluice_engine::reject::RejectFile;
use sqluice_engine::report::{InputReport, PhaseReport, Report, SkippedFile};
use sqluice_sources::infer::{self, Watch, Watched};
use sqluice_sources::input;
use tables::LoadTable;

/// The size of so many tables is measured by their samples.
const MEASURED_TABLES_MAX: usize = 32;

/// A load that knows its input.
pub struct PreparedLoad {
    load: Request,
    cancel: Cancel,
    /// Set by a failed attempt, too, and known to whoever waits for a pipe.
    stop: Cancel,
    tables: Vec<LoadTable>,
    schema: Schema,
    plan: Plan,
    /// Files that are left out.
    skipped: Vec<SkippedFile>,
    /// What was done so far.
    spent: Spent,
}

/// What the time went into before the last attempt.
#[derive(Default)]
struct Spent {
    seconds: f64,
    phases: Vec<PhaseReport>,
}

impl Spent {
    /// Notes a phase that ends now.
    fn phase(&mut self, name: &str, since: Instant) {
        let seconds = since.elapsed().as_secs_f64();
        self.phases.push(PhaseReport { name: name.to_owned(), seconds });
        self.seconds += seconds;
    }
}

impl Load {
    /// Looks at the files and decides what will be done. Nothing is written. `cancel` ends this, and the run, when it is set.
    ///
    /// # Errors
    /// When something is in the way of the database or it does not fit the disk, a file can't be read, or it does not fit the schema.
    pub fn prepare(self, cancel: &Cancel) -> Result<PreparedLoad> {
        self.prepare_watched(cancel, &Silent)
    }

    /// The same, and `progress` is told how many of the files were looked at, as rows of the phase `sample`, if that takes long.
    ///
    /// # Errors
    /// As [`Load::prepare`].
    pub fn prepare_watched(self, cancel: &Cancel, progress: &dyn Progress) -> Result<PreparedLoad> {
        let started = Instant::now();
        // Before a pipe loses anything.
        request::check(&self)?;
        let inputs = input::expand(&self.files)?;
        paths::refuse_shared(&self, &inputs)?;
        let load = Request::new(self, &inputs)?;
        load.check_targets()?;
        let stop = cancel.child();
        let mut spent = Spent::default();
        let (mut files, mut bad) = sampling::open_all(&load, &inputs, &stop, progress)?;
        if load.skip_bad_files || !bad.is_empty() {
            let (good, with_bad_rows) = bad_files::with_bad_rows(&load, files);
            files = good;
            bad.extend(with_bad_rows);
        }
        spent.phase("sample", started);
        let planning = Instant::now();
        let tables = tables::assign(&load, files, &mut bad)?;
        let good = tables.iter().map(|table| table.files.len()).sum();
        bad_files::in_order(&mut bad, &inputs);
        let skipped = bad_files::judge(&load, good, bad)?;
        let (schema, plan) = load.plan(&tables)?;
        let mut prepared =
            PreparedLoad { load, cancel: cancel.clone(), stop, tables, schema, plan, skipped, spent };
        prepared.complete_plan()?;
        prepared.plan.refuse()?;
        prepared.spent.phase("plan", planning);
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
    /// How each input is read.
    pub fn inputs(&self) -> Vec<InputReport> {
        self.tables.iter().flat_map(LoadTable::inputs).collect()
    }

    /// What will be done.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Makes the types final, by reading everything whose types are only guessed so far.
    ///
    /// # Errors
    /// When a file can't be read. Bad rows are no error yet.
    pub fn settle_types(&mut self, progress: &dyn Progress) -> Result<()> {
        self.settle_timed(progress)?
    }

    fn settle_timed(&mut self, progress: &dyn Progress) -> Result<Result<()>> {
        let started = Instant::now();
        let was_settled = self.tables.iter().all(LoadTable::is_settled);
        let settled = self.settle(progress);
        if !was_settled {
            self.spent.phase("types", started);
        }
        settled
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
        let PreparedLoad { load, stop, tables, plan, skipped, .. } = self;
        for table in tables.iter_mut().filter(|table| table.lacks_names()) {
            stop.check()?;
            let scanned = infer::scan(&mut *table.names_source(load), &[], plan.threads, stop, progress);
            read = read.and(scanned.1);
            stop.check()?;
            let bad = table.take_new_names(load)?;
            skipped.extend(bad_files::judge(load, table.files.len(), bad)?);
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
    ///
    /// Whether there were any.
    fn keep_streams(&mut self, progress: &dyn Progress) -> Result<bool> {
        let mut copied = false;
        let is_sure = |table: &LoadTable| table.is_settled() && !table.order.is_guess();
        if !self.load.skip_bad_files && self.tables.iter().all(is_sure) {
            return Ok(copied);
        }
        let files = self.tables.iter_mut().flat_map(|table| &mut table.files);
        for file in files.filter(|file| !file.can_reopen()) {
            progress.phase("copy", None);
            file.keep(&self.load.temp_folder()?, progress)?;
            copied = true;
        }
        Ok(copied)
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
        self.refuse_bad_files()?;
        let (began, before) = (Instant::now(), self.spent.seconds);
        if self.keep_streams(progress)? {
            self.spent.phase("copy", began);
        }
        // What can't be read is met again by the load, unless that finds a fault before it.
        let mut read = Ok(());
        // A second attempt would reject the same rows again.
        if self.load.reject.is_some() {
            read = self.settle_timed(progress)?;
            self.cancel.check()?;
        }
        let mut looks = 1;
        loop {
            let settled = self.tables.iter().all(LoadTable::is_settled);
            let started = Instant::now();
            let attempt = self.attempt(progress)?;
            if !matches!(attempt, Attempt::Done(_)) {
                self.spent.phase("abandoned load", started);
            }
            match attempt {
                Attempt::Done(mut report) => {
                    report.seconds = before + began.elapsed().as_secs_f64();
                    report.phases.splice(0..0, std::mem::take(&mut self.spent.phases));
                    report.inputs = self.inputs();
                    for table in &self.tables {
                        let padded = table.files.iter().map(LoadFile::padded).sum();
                        report.tables[table.index_in(&self.schema)].padded = padded;
                    }
                    report.skipped = self.skipped;
                    return Ok(*report);
                }
                Attempt::OtherTypes if settled => return Err(read.err().unwrap_or_else(changed)),
                Attempt::OtherTypes => {
                    read = self.settle_timed(progress)?;
                    self.cancel.check()?;
                }
                Attempt::OutOfOrder => self.sort_more()?,
                Attempt::BadFile(error) => self.leave_out(error)?,
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
        let now = sqluice_engine::existing::look(&self.load.target, &self.load.write)?;
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

    /// Leaves out the file that an error is about.
    fn leave_out(&mut self, error: Error) -> Result<()> {
        self.cancel.check()?;
        let PreparedLoad { load, tables, skipped, .. } = self;
        let Some(name) = error.place().map(|place| place.file.clone()) else { return Err(error) };
        let files: usize = tables.iter().map(|table| table.files.len()).sum();
        for table in tables.iter_mut() {
            if let Some(file) = table.take_out(&name, load)? {
                skipped.extend(bad_files::judge(load, files - 1, vec![BadFile::new(&file, error)])?);
                break;
            }
        }
        tables.retain(|table| !table.files.is_empty());
        (self.schema, self.plan) = self.load.plan(&self.tables)?;
        self.complete_plan()
    }

    /// Refuses files whose samples have bad rows, if there are several: the load itself would find the first only.
    fn refuse_bad_files(&mut self) -> Result<()> {
        let files = || self.tables.iter().flat_map(|table| &table.files);
        let total = files().count();
        if self.load.reject.is_some() || files().filter(|file| file.first_fault.is_some()).count() < 2 {
            return Ok(());
        }
        let files = self.tables.iter_mut().flat_map(|table| std::mem::take(&mut table.files));
        let (_, bad) = bad_files::with_bad_rows(&self.load, files.collect());
        bad_files::judge(&self.load, total - bad.len(), bad).map(drop)
    }

    /// Takes less for granted of the order of rows.
    fn sort_more(&mut self) -> Result<()> {
        let hoped = self.tables.iter().any(|table| table.order == Order::AssumedAscending);
        for table in &mut self.tables {
            if self.plan.tables[table.index_in(&self.schema)].appends() {
                table.amid = true;
            } else if table.order == Order::AssumedAscending || !hoped {
                table.order = table.order.next();
            }
        }
        (self.schema, self.plan) = self.load.plan(&self.tables)?;
        self.complete_plan()
    }

    /// Loads everything, unless the types turn out to be others, or the order of the rows.
    fn attempt(&mut self, progress: &dyn Progress) -> Result<Attempt> {
        progress.phase("load", self.total(|_| true));
        let PreparedLoad { load, cancel, stop, tables, schema, plan, .. } = self;
        let conversions = if load.lossy { Conversions::All } else { Conversions::Lossless };
        let mut sources: Vec<Option<Box<dyn Source + '_>>> = schema.tables.iter().map(|_| None).collect();
        let mut watches = Vec::new();
        let guessed = tables.iter().any(|table| table.order.is_guess())
            || plan.tables.iter().any(TablePlan::appends) && load.reject.is_none();
        let tallies = tables.iter().flat_map(|table| &table.files).map(|file| file.tally.clone()).collect();
        for table in &mut *tables {
            let watched: Vec<Watched> = table.watched(schema);
            let index = table.index_in(schema);
            let source = table.source(load, schema)?;
            let watch = Watch::new(&watched);
            sources[index] = Some(watch.over(source));
            watches.push(watch);
        }
        let rejects = match &load.reject {
            Some(file) => {
                Some(RejectFile::create(file, load.overwrite_reject, load.rejects_max)?.with_tallies(tallies))
            }
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
            Err(error) if load.skip_bad_files && is_of_rows(&error) => Ok(Attempt::BadFile(error)),
            Err(error) => Err(duplicate::located(error, load, tables, schema, progress, stop)),
        }
    }

    /// What the plan says of files, types and the order of rows, and how large the file will be.
    fn complete_plan(&mut self) -> Result<()> {
        for index in 0..self.tables.len() {
            self.plan_order(index)?;
        }
        self.plan.estimated_bytes = self.estimate();
        self.plan.notes.extend(self.load.type_notes.iter().map(Into::into));
        for table in &self.tables {
            let plan = &mut self.plan.tables[table.index_in(&self.schema)];
            plan.sources = table.files.iter().map(LoadFile::describe).collect();
            if !table.is_settled() {
                plan.why += "; types are those of a sample, and checked with every value";
            }
        }
        let files = || self.tables.iter().flat_map(|table| &table.files);
        let names: Vec<String> = files().map(LoadFile::name).collect();
        let noted = files().zip(&names);
        let noted = noted.flat_map(|(file, name)| file.notes.iter().map(move |note| (name.as_str(), note)));
        self.plan.notes.extend(notes::in_few(noted));
        for table in &mut self.tables {
            let index = table.index_in(&self.schema);
            let columns = &mut self.plan.tables[index].all_columns;
            converted::report(table, &self.schema.tables[index], columns);
            missed::report(table, &self.load, &self.schema.tables[index], columns);
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
            WritePath::Pages => {}
            WritePath::Sorted if table.order == Order::AssumedAscending => table.order = Order::Any,
            WritePath::Sorted => {}
            // To SQLite rows come as they like.
            WritePath::Sqlite | WritePath::Insert => {
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
            Order::AssumedAscending => {
                let why = &mut plan.tables[index].why;
                *why += &format!("; rows are taken to be in the order of {name}, and sorted if they are not");
                Ok(())
            }
            Order::Any | Order::AnyWithNulls => {
                let nulls = table.order == Order::AnyWithNulls;
                let why = format!("rows may be in any order of {name}");
                plan.sort_rows((index, &schema.tables[index]), nulls, &why, &load.write)
            }
        }
    }

    /// Bytes of the database, roughly: as many as the pages of the samples, each table's scaled. Of many tables some are measured,
    /// and the others are taken to be like them. `None` where the size of the input or a sample does not tell.
    fn estimate(&mut self) -> Option<u64> {
        let PreparedLoad { load, stop, tables, schema, plan, .. } = self;
        let scales = tables.iter().map(|table| table.scale(load)).collect::<Option<Vec<f64>>>()?;
        let mut sources: Vec<Option<Box<dyn Source + '_>>> = schema.tables.iter().map(|_| None).collect();
        let (count, mut measured, mut others) = (tables.len(), Vec::new(), Vec::new());
        for (place, (table, scale)) in tables.iter_mut().zip(scales).enumerate() {
            let (index, text_bytes) = (table.index_in(schema), table.files[0].sample_text_bytes as f64);
            // As many, at the same distance from each other.
            if place * MEASURED_TABLES_MAX % count.max(MEASURED_TABLES_MAX) < MEASURED_TABLES_MAX {
                sources[index] = Some(table.sample_source(load, schema).ok()?);
                measured.push((index, scale, text_bytes));
            } else {
                others.push(scale * text_bytes);
            }
        }
        // Without what only a file can get.
        let nowhere = match load.there {
            None => Plan { target: None, threads: 1, analyze: false, ..plan.clone() },
            Some(_) => alone(schema, load)?,
        };
        let jobs = jobs(schema, sources, Conversions::All);
        let report =
            new_database::write(&nowhere, schema, jobs, None, "load", &Silent, &stop.child()).ok()?;
        let (mut more_pages, mut pages_beyond_roots, mut bytes) = (0, 0.0, 0.0);
        for (index, scale, text_bytes) in measured {
            let table = &report.tables[index];
            let rows = table.leaf_pages + table.interior_pages + table.overflow_pages;
            let indexes = table.indexes.iter();
            let entries: u64 =
                indexes.map(|index| index.leaf_pages + index.interior_pages + index.overflow_pages).sum();
            let pages = (rows + entries) as f64;
            more_pages += (pages * (scale - 1.0)) as u64;
            pages_beyond_roots += pages - 1.0 - table.indexes.len() as f64;
            bytes += text_bytes;
        }
        let like_these = |text_bytes: f64| (pages_beyond_roots.max(0.0) / bytes.max(1.0) * text_bytes) as u64;
        more_pages += others.into_iter().map(like_these).sum::<u64>();
        Some(report.bytes + more_pages * report.page_bytes as u64)
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
    /// A file has a bad row, and is to be left out.
    BadFile(Error),
    /// The database has another schema than when it was looked at.
    OutOfDate(Error),
}

/// Whether an error is about the content of one file.
fn is_of_rows(error: &Error) -> bool {
    error.kind() == ErrorKind::Input && error.place().is_some()
}

fn changed() -> Error {
    Error::input("the input has changed while it was read").hint("wait until no program writes to it")
}
