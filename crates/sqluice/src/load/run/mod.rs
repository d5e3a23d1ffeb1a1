//! Runs a load. If an assumption of its plan proves wrong, plans the load again without this assumption, and repeats it.
//!
//! ```text
//!  parts of all files ──> pages; every value is compared with the types of the plan
//!
//!  a value of another type, a new column    all values are read for their types, and loaded again
//!  rows out of the order of their rowids    the rows are loaded again, sorted; if their rowids are not above those of an existing
//!                                           table, SQLite may insert them
//!  a file with a bad row                    with `skip_bad_files`, the other files are loaded again
//!  another schema when the lock is held     the load is planned again for the present schema
//! ```

mod duplicate_rows;
mod settle_types;

use std::time::Instant;

use sqluice_core::error::{Assumption, Error, ErrorKind, Result};
use sqluice_core::progress::Context;
use sqluice_core::source::Source;
use sqluice_engine::attempts::{self, Outcome, Refuted};
use sqluice_engine::encode::Coercion;
use sqluice_engine::plan::TablePlan;
use sqluice_engine::reject::RejectFile;
use sqluice_engine::report::Report;
use sqluice_sources::infer::{Watch, Watched};

use crate::load::PreparedLoad;
use crate::load::dump::PreparedDump;
use crate::load::files::bad_files;
use crate::load::files::bad_files::BadFile;
use crate::load::files::file::LoadFile;
use crate::load::files::rowid_order::Order;
use crate::load::server::Sender;
use crate::load::tables::existing;
use crate::load::tables::jobs;
use crate::load::tables::table::LoadTable;
use sqluice_sources::formats::changed;

impl PreparedLoad {
    /// Loads all tables. Reports progress to `context`, and stops if `context` is canceled.
    ///
    /// # Errors
    /// If the input is bad or the database can't be written. The database is then as it was before, or absent.
    pub fn run(mut self, context: &Context<'_>) -> Result<Report> {
        let context = &self.begin(context);
        self.load.check_targets()?;
        if let Some(url) = self.server.take() {
            let server = Sender::new(&self.load, &url, false)?;
            return PreparedDump::of_server(&self.load, server, context)?.run(context);
        }
        if let Some(dump) = self.dump.take() {
            let left_out = dump.plan.left_out.clone();
            let mut report = dump.run(context)?;
            report.left_out = left_out;
            return Ok(report);
        }
        self.refuse_bad_files()?;
        let (began, before) = (Instant::now(), self.spent.seconds);
        if self.keep_streams(context)? {
            self.spent.phase("copy", began);
        }
        // With a `reject` file all types must be final first: a second attempt would write the same bad rows to the file again.
        if self.load.reject.is_some() {
            self.settle_again(context)?;
        }
        let attempt = |load: &mut PreparedLoad| {
            let started = Instant::now();
            let outcome = load.attempt(context)?;
            if let Outcome::Refuted(_) = outcome {
                load.spent.phase("abandoned load", started);
            }
            Ok(outcome)
        };
        let report = attempts::run(&mut self, attempt, |load, refuted| load.assume_less(refuted, context))?;
        Ok(self.completed(report, before + began.elapsed().as_secs_f64()))
    }

    /// Completes the report of the engine with the inputs, skipped files, padded rows and phases of the load.
    fn completed(mut self, mut report: Report, seconds: f64) -> Report {
        report.seconds = seconds;
        report.inputs = self.inputs();
        for table in &self.tables {
            let padded = table.files.iter().map(LoadFile::padded).sum();
            let report = &mut report.tables[table.index_in(&self.schema)];
            report.padded = padded;
            (report.filtered, report.filtered_null) = table.filtered();
        }
        self.explain_types(&mut report);
        report.phases.splice(0..0, self.spent.phases);
        report.skipped = self.skipped;
        report.left_out = self.plan.left_out;
        report
    }

    /// Prepares the next attempt, without the assumption that the last attempt refuted.
    fn assume_less(&mut self, Refuted { assumption, error }: Refuted, context: &Context<'_>) -> Result<()> {
        match assumption {
            // All types are final, so reading again would not help: the file has changed since its values were read for the types.
            Assumption::Types if self.tables.iter().all(LoadTable::is_settled) => {
                Err(self.unread.take().unwrap_or_else(changed))
            }
            Assumption::Types => self.settle_again(context),
            Assumption::RowOrder => self.sort_more(),
            Assumption::SoundFiles => self.leave_out(error, context),
            Assumption::Schema => self.look_again(error, context),
            Assumption::EntryOrder | Assumption::LiteralRows | Assumption::StoredValues => Err(error),
        }
    }

    /// Makes the types final. A read error is not returned: the load itself will meet it, or an earlier error, again.
    fn settle_again(&mut self, context: &Context<'_>) -> Result<()> {
        self.unread = self.settle_timed(context)?.err();
        context.cancel.check()
    }

    /// Loads all tables once. Returns the report, or the assumption of the plan that has proved wrong.
    fn attempt(&mut self, context: &Context<'_>) -> Result<Outcome> {
        context.progress.phase("load", self.total(|_| true));
        let PreparedLoad { load, tables, schema, plan, .. } = self;
        let coercion = if load.lossy { Coercion::All } else { Coercion::Lossless };
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
        let jobs = jobs(schema, sources, coercion);
        let written = attempts::write(plan, schema, jobs, rejects, "load", context);
        context.cancel.reset();
        let error = match written {
            Ok(report) => {
                self.watches = watches;
                return Ok(Outcome::Done(Box::new(report)));
            }
            Err(error) if context.cancel.check().is_err() => return Err(error),
            Err(error) => error,
        };
        let wrong = |table: &LoadTable| table.met_new_name() || table.has_wrong_inputs();
        let new_types = watches.iter().any(Watch::broken) || tables.iter().any(wrong);
        let refuted = match error.refuted() {
            _ if new_types => Some(Assumption::Types),
            Some(Assumption::RowOrder) if guessed => Some(Assumption::RowOrder),
            Some(Assumption::Schema) => Some(Assumption::Schema),
            _ if load.skip_bad_files && is_of_rows(&error) => Some(Assumption::SoundFiles),
            _ => None,
        };
        match refuted {
            Some(assumption) => Ok(Outcome::refuted(assumption, error)),
            None => Err(duplicate_rows::located(error, load, tables, schema, context)),
        }
    }

    /// Some rows were not in the assumed order: assumes less about the order, and plans again.
    fn sort_more(&mut self) -> Result<()> {
        let assumed = self.tables.iter().any(|table| table.order == Order::AssumedAscending);
        for table in &mut self.tables {
            if self.plan.tables[table.index_in(&self.schema)].appends() {
                table.overlaps = true;
            } else if table.order == Order::AssumedAscending || !assumed {
                table.order = table.order.next();
            }
        }
        self.plan_again()
    }

    /// Removes the file that `error` is about from the load, and plans again. With `skip_bad_files`, the report lists the file.
    fn leave_out(&mut self, error: Error, context: &Context<'_>) -> Result<()> {
        context.cancel.check()?;
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
        self.plan_again()
    }

    /// Plans again, because the schema of the database has changed since the first plan.
    ///
    /// # Errors
    /// Returns `changed` itself if the tables of this load are declared differently now.
    fn look_again(&mut self, changed: Error, context: &Context<'_>) -> Result<()> {
        context.cancel.check()?;
        let now = attempts::look(Some(&self.load.to), &self.load.write)?;
        let before = std::mem::replace(&mut self.load.existing, now);
        for table in &self.tables {
            let before = before.as_ref().and_then(|existing| existing.table(table.name()));
            if before.map(|table| &table.sql) != self.load.has(table.name()).map(|table| &table.sql) {
                return Err(changed);
            }
            self.load.refuse_table(table.name())?;
        }
        existing::check(&self.load, &self.tables)?;
        self.plan_again()?;
        self.plan.refuse()
    }

    /// Refuses the files whose samples have bad rows, if several have: the load itself would find only the first of these files.
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

    /// Copies inputs that can be read only once to temporary files, if the load may have to read them twice: after a wrong guess about one
    /// table, all tables are loaded again.
    ///
    /// Returns `true` if any file was copied.
    pub(crate) fn keep_streams(&mut self, context: &Context<'_>) -> Result<bool> {
        let mut copied = false;
        let is_sure = |table: &LoadTable| table.is_settled() && !table.order.is_guess();
        if !self.load.skip_bad_files && self.tables.iter().all(is_sure) {
            return Ok(copied);
        }
        let files = self.tables.iter_mut().flat_map(|table| &mut table.files);
        for file in files.filter(|file| !file.can_reopen()) {
            context.progress.phase("copy", None);
            file.keep(&self.load.temp_folder()?, context.progress)?;
            copied = true;
        }
        Ok(copied)
    }
}

/// Returns `true` if an error is about the content of one file.
fn is_of_rows(error: &Error) -> bool {
    error.kind() == ErrorKind::Input && error.place().is_some()
}
