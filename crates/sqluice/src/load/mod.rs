//! `load`: loads files, dumps and databases of servers into a new or an existing database.
//!
//! ```text
//!  request   the options, and checks of them before a file is opened
//!  inputs    the files that are named, and those in the folders and archives that are named
//!  expressions  filters and computed columns, between files and tables
//!  files     a sample of each file: its format, header, columns, and evidence for their types
//!  tables    the files that fill each table, and the columns that each table needs
//!  order     sorted or unsorted writes, by the order of the rowids in the samples
//!  plan      schema, write paths, and an estimate of the database's size
//!  server    the declarations and rows that a server sends
//!  dump      a dump, or the database of a server as one
//!  run       parts of all files become pages; if an assumption of the plan proves wrong, again with a new plan
//! ```
//!
//! Types are guessed from the first [`SAMPLE_BYTES`] of each file: most files are not longer. A wrong guess costs time, but never changes
//! the database: its types follow from all values (`infer`).
//!
//! The modules are these stages. Each module uses only modules above it in this drawing.
//!
//! Invariant: types follow from all well-formed records that are read, including records that the table refuses: a user may repair and load
//! them again. So the database depends on the input alone, not on the end of a sample.
//!
//! Invariant: the first fault of the input is reported. So reading for types skips bad rows: the load finds the first of them.

mod dump;
pub(crate) mod expressions;
pub(crate) mod files;
mod inputs;
mod order;
mod plan;
pub(crate) mod request;
mod run;
mod server;
mod tables;

use std::path::PathBuf;
use std::time::Instant;

use dump::PreparedDump;
use files::bad_files::BadFile;
use files::open_all::OpenedFiles;
use files::{bad_files, open_all};
use inputs::Inputs;
pub use request::options::{Load, NameFrom, SAMPLE_BYTES};
pub use request::server::ServerOptions;
use request::{Request, shared_paths};
use server::Sender;
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Amount, Cancel, Context};
use sqluice_core::schema::Schema;
use sqluice_engine::attempts;
use sqluice_engine::plan::Plan;
use sqluice_engine::report::{InputReport, PhaseReport, Report, SkippedFile};
pub use sqluice_sources::formats::{self, CellRange, FileFormat, FormatOptions};
use sqluice_sources::infer::Watch;
pub use sqluice_sources::input::{is_named_as_archive, stem};
use tables::table::LoadTable;

use crate::remote;

/// A load whose files were sampled and whose plan is made. [`PreparedLoad::run`] carries it out.
pub struct PreparedLoad {
    load: Request,
    /// The cancel flag that open files hold. A failed attempt or the flag of the running call sets it, which ends the wait for a pipe.
    stop: Cancel,
    tables: Vec<LoadTable>,
    schema: Schema,
    plan: Plan,
    /// The bad files that are left out.
    skipped: Vec<SkippedFile>,
    /// The error that ended the reading of the files for their types, if any.
    unread: Option<Error>,
    /// The values watched in the last attempt, for each table in order.
    watches: Vec<Watch>,
    /// The time spent so far.
    spent: Spent,
    /// The dump that makes the database; `None` if files with tables do.
    dump: Option<PreparedDump>,
    /// The URL of a server, whose rows are read when the load runs: `dump` has only its declarations. `None` for a load of files.
    server: Option<PathBuf>,
}

/// The time spent before the last attempt: in total, and by phase.
#[derive(Default)]
struct Spent {
    seconds: f64,
    phases: Vec<PhaseReport>,
}

impl Spent {
    /// Records a phase that ends now.
    fn phase(&mut self, name: &str, since: Instant) {
        let seconds = since.elapsed().as_secs_f64();
        self.phases.push(PhaseReport::new(name, seconds));
        self.seconds += seconds;
    }
}

impl Load {
    /// Loads the files without progress reports.
    ///
    /// # Errors
    /// As [`Load::prepare`] and [`PreparedLoad::run`].
    pub fn run(&self) -> Result<Report> {
        self.run_with(&Context::default())
    }

    /// Loads the files. Reports progress to `context`, and stops if `context` is canceled.
    ///
    /// # Errors
    /// As [`Load::prepare`] and [`PreparedLoad::run`].
    pub fn run_with(&self, context: &Context<'_>) -> Result<Report> {
        self.prepare(context)?.run(context)
    }

    /// Samples the files and plans the load. The target is not written to. If sampling takes long, the number of sampled files is reported
    /// to the progress of `context`, as rows of the phase `sample`.
    ///
    /// # Errors
    /// If settings contradict each other, the target has a file or a table that the load may not change or replace, the database does not
    /// fit the disk, a file can't be read, or a file does not fit the schema.
    pub fn prepare(&self, context: &Context<'_>) -> Result<PreparedLoad> {
        let started = Instant::now();
        // The request is checked before anything is read from a pipe, as a pipe can't be read again.
        request::check(self)?;
        let server = self.of_server()?;
        let mut load = self.clone();
        remote::connect(Some(&load.target), &mut load.write, &context.cancel)?;
        if let Some(url) = server {
            shared_paths::refuse_shared(&load, [])?;
            let load = Request::new(load)?;
            load.check_targets()?;
            let context = context.child();
            let dump = PreparedDump::of_server(&load, Sender::new(&load, url, true)?, &context)?;
            let prepared = PreparedLoad::of_dump(load, dump, context.cancel);
            return Ok(PreparedLoad { server: Some(url.to_owned()), ..prepared });
        }
        let named = remote::named_within(&load.files, &load.write.requests, &context.cancel)?;
        shared_paths::refuse_shared(&load, named.iter().map(|named| named.path.as_path()))?;
        let mut load = Request::new(load)?;
        load.check_targets()?;
        let context = context.child();
        let mut spent = Spent::default();
        let Inputs { files: inputs, mut left_out, bad: unlisted } = inputs::find(&load, named, &context)?;
        load.share_folder_of(inputs.iter().map(|input| &*input.named_after));
        let opened = open_all::open_all(&load, &inputs, &context)?;
        let OpenedFiles { mut files, dumps, left_out: by_content, mut bad } = opened;
        left_out.extend(by_content);
        inputs::sort(&mut left_out);
        bad.extend(unlisted.into_iter().map(|(name, error)| BadFile { name, error }));
        if files.is_empty() && dumps.is_empty() && bad.is_empty() && !left_out.is_empty() {
            return Err(inputs::nothing_left(&left_out));
        }
        if let Some(dump) = dumps.first() {
            dump::refuse_other_files(dump, &files)?;
            bad_files::judge(&load, 0, bad)?;
            let mut dump = PreparedDump::prepare(&load, dumps, &context)?;
            dump.plan.left_out = left_out;
            return Ok(PreparedLoad::of_dump(load, dump, context.cancel));
        }
        if load.skip_bad_files || !bad.is_empty() {
            let (good, with_bad_rows) = bad_files::with_bad_rows(&load, files);
            files = good;
            bad.extend(with_bad_rows);
        }
        spent.phase("sample", started);
        let planning = Instant::now();
        let mut tables = tables::assign(&load, files, &mut bad)?;
        let good = tables.iter().map(|table| table.files.len()).sum();
        bad_files::in_order(&mut bad, &inputs);
        let skipped = bad_files::judge(&load, good, bad)?;
        let (schema, mut plan) = plan::plan(&load, &mut tables)?;
        plan.left_out = left_out;
        let stop = context.cancel;
        let mut prepared = PreparedLoad {
            load,
            stop,
            tables,
            schema,
            plan,
            skipped,
            unread: None,
            watches: Vec::new(),
            spent,
            dump: None,
            server: None,
        };
        prepared.estimate();
        attempts::note_destination(&prepared.schema, &mut prepared.plan);
        prepared.plan.refuse()?;
        prepared.spent.phase("plan", planning);
        Ok(prepared)
    }
}

impl PreparedLoad {
    /// Returns a report about each input: its format, and its table.
    pub fn inputs(&self) -> Vec<InputReport> {
        let of_dump = self.dump.iter().flat_map(PreparedDump::inputs);
        of_dump.chain(self.tables.iter().flat_map(LoadTable::inputs)).collect()
    }

    /// Returns the plan of the load.
    pub fn plan(&self) -> &Plan {
        self.dump.as_ref().map_or(&self.plan, |dump| &dump.plan)
    }

    /// Creates the load of a dump.
    fn of_dump(load: Request, dump: PreparedDump, stop: Cancel) -> PreparedLoad {
        PreparedLoad {
            load,
            stop,
            tables: Vec::new(),
            schema: dump.schema.clone(),
            plan: dump.plan.clone(),
            skipped: Vec::new(),
            unread: None,
            watches: Vec::new(),
            spent: Spent::default(),
            dump: Some(dump),
            server: None,
        }
    }

    /// Returns the context of the running call, with the cancel flag that open files hold. From now on, this flag follows the flag of the
    /// running call instead of the flag of the call before.
    fn begin<'c>(&self, context: &Context<'c>) -> Context<'c> {
        self.stop.follow(&context.cancel);
        context.clone().cancel(&self.stop)
    }

    /// Plans the load again, with the types and row orders that are known by now. The size of the database is not measured again.
    fn plan_again(&mut self) -> Result<()> {
        let (estimated_bytes, left_out) =
            (self.plan.estimated_bytes, std::mem::take(&mut self.plan.left_out));
        (self.schema, self.plan) = plan::plan(&self.load, &mut self.tables)?;
        (self.plan.estimated_bytes, self.plan.left_out) = (estimated_bytes, left_out);
        Ok(())
    }

    /// Estimates the size of the database by encoding the samples.
    fn estimate(&mut self) {
        let PreparedLoad { load, tables, schema, plan, stop, .. } = self;
        plan.estimated_bytes = plan::estimate::bytes(load, tables, schema, plan, stop);
    }

    /// Returns the bytes of input of the tables that `which` selects, if known for all their files.
    fn total(&self, which: impl Fn(&LoadTable) -> bool) -> Option<Amount> {
        let tables = self.tables.iter().filter(|table| which(table));
        let bytes = tables.map(LoadTable::bytes).try_fold(0, |sum, bytes| Some(sum + bytes?));
        bytes.map(|bytes| Amount { rows: 0, bytes })
    }
}
