//! `advise`: which settings for this schema, on this disk, found by trying.
//!
//! ```text
//!  schema ──generator──> a database ──read back──> rows in memory ──> each way: a new database, timed, compared with the rows, removed
//!                            │                                             │  in turns, and the other way round
//!                            └── the page path is timed with the generator  └──> experiments ──> recommendations
//! ```
//!
//! * Ways that insert get rows that lie in memory, so that their time is SQLite's. The page path makes its rows itself, on all cores, and is
//!   timed with that, from the plan to the file that is on the disk.
//! * The clock of an insert runs from the first PRAGMA to the closed database, COMMIT and indexes included.
//! * Triggers and virtual tables of the schema are left out: no row reaches them while a database is filled.
//!
//! Invariant: a figure belongs to rows that were read back and found equal; else the way has failed, and says why.
//!
//! Invariant: everything is written into a folder of its own, which is gone afterwards.

mod recommend;
mod rows;
mod ways;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use sqluice::error::{Error, Result, Setting, message};
use sqluice::progress::{Amount, Cancel, Context};
use sqluice::schema::Schema;
use sqluice::setters;
use sqluice::size::Bytes;

use crate::record::{Experiment, Outcome, Skip};
pub use recommend::Recommendation;
use rows::SampleRows;
use ways::{Way, WayRun};

/// Rows of the first try, from which is seen how many there is time for.
const TRIAL_ROWS: u64 = 2_000;

/// Rows of a table, at most, unless somebody asks for more: what is known then does not change.
const ROWS_MAX: u64 = 500_000;

/// Bytes of the values that are kept in memory, unless somebody asks for more.
const MEMORY_BYTES: u64 = 128 << 20;

/// What to find out.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Advise {
    /// What the database declares; comments say what its columns hold, as for [`sqluice::generate`].
    pub schema: Schema,
    /// A folder on the disk that it is about.
    pub dir: PathBuf,
    /// Rows of each table; `None`: as many as there is time for.
    pub rows: Option<u64>,
    /// How often each way is tried, at least once.
    pub runs: u32,
    /// About how long all of it may take; no way is tried again after that.
    pub time: Duration,
}

/// What was found out.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Advised {
    /// The version of SQLite.
    pub sqlite: String,
    /// The folder that was measured in.
    pub dir: PathBuf,
    /// The schema's file.
    pub schema: PathBuf,
    /// Rows of each table.
    pub rows: u64,
    /// The tables that were filled.
    pub tables: Vec<String>,
    /// Bytes of the database that the page path wrote, with pages of 4096 bytes.
    pub database_bytes: u64,
    /// Seconds of everything.
    pub seconds: f64,
    /// What to do, the most important first.
    pub recommendations: Vec<Recommendation>,
    /// What was measured.
    pub experiments: Vec<Experiment>,
}

setters! { Advise:
    /// Sets the row count of each table; `None`: as many as the time allows.
    rows(rows: impl Into<Option<u64>>) = rows.into();
    /// Sets how often each way is tried.
    runs(runs: u32) = runs;
    /// Sets how long all of it may take, about.
    time(time: Duration) = time;
}

impl Advise {
    /// This schema in this folder, in less than a minute.
    pub fn new(schema: Schema, dir: impl Into<PathBuf>) -> Advise {
        Advise { schema, dir: dir.into(), rows: None, runs: 3, time: Duration::from_secs(45) }
    }

    /// Measures, and says what to do, silently.
    ///
    /// # Errors
    /// As [`Advise::run_with`].
    pub fn run(&self) -> Result<Advised> {
        self.run_with(&Context::default())
    }

    /// Measures, and says what to do, watched and stopped by `context`.
    ///
    /// # Errors
    /// When the schema is one that no rows can be made for, the folder can't be written to, or the run is cancelled.
    pub fn run_with(&self, context: &Context<'_>) -> Result<Advised> {
        let Context { progress, cancel, .. } = context;
        let started = Instant::now();
        let folder =
            tempfile::Builder::new().prefix(".sqluice-advise-").tempdir_in(&self.dir).map_err(|error| {
                let message = format!("cannot make a folder in {}", self.dir.display());
                Error::target(message).about(&self.dir).because(error).hint(message![
                    Setting::Dir,
                    " names a folder that can be written to, on the disk to measure"
                ])
            })?;
        progress.phase("prepare", None);
        let rows = match self.rows {
            Some(rows) => SampleRows::make(&self.schema, folder.path(), rows, cancel)?,
            None => {
                let trial = SampleRows::make(&self.schema, folder.path(), TRIAL_ROWS, cancel)?;
                let rows = self.rows_in_time(&trial, folder.path(), cancel)?;
                SampleRows::make(&self.schema, folder.path(), rows, cancel)?
            }
        };
        if rows.tables.is_empty() || rows.per_table == 0 {
            return Err(
                Error::usage("without rows there is nothing to measure").hint(Setting::Rows.to("10k"))
            );
        }
        let ways = ways::all(&self.schema);
        let mut tried = vec![Vec::new(); ways.len()];
        let each: u64 = ways.iter().map(|way| way.rows(&rows)).sum();
        progress.phase("measure", Some(Amount { rows: each * u64::from(self.runs.max(1)), bytes: 0 }));
        for round in 0..self.runs.max(1) {
            let forward = 0..ways.len();
            // In turns, forwards and backwards: each variant follows different ones, and changes in the speed of the disk affect all.
            let order: Vec<usize> = if round % 2 == 0 { forward.collect() } else { forward.rev().collect() };
            for at in order {
                cancel.check()?;
                if round == 0 || started.elapsed() < self.time {
                    tried[at].push(ways[at].run(&self.schema, &rows, folder.path(), cancel)?);
                }
                progress.advance(Amount { rows: ways[at].rows(&rows), bytes: 0 });
            }
        }
        let experiments = ways::experiments(&ways, &tried, &rows);
        let names: Vec<String> = rows.tables.iter().map(|table| table.name.clone()).collect();
        Ok(Advised {
            sqlite: sqluice::sqlite_version().to_owned(),
            dir: self.dir.clone(),
            schema: self.schema.file.clone(),
            rows: rows.per_table,
            tables: names,
            database_bytes: rows.database_bytes,
            seconds: started.elapsed().as_secs_f64(),
            recommendations: recommend::recommendations(&self.schema, &experiments),
            experiments,
        })
    }

    /// How many rows of each table leave time for all ways. Of a few rows, most of the time is that of syncing, which does not grow with
    /// them; what does is seen without syncs.
    fn rows_in_time(&self, trial: &SampleRows, folder: &Path, cancel: &Cancel) -> Result<u64> {
        let ways = ways::all(&self.schema);
        let (mut fixed, mut growing): (f64, f64) = (0.0, 0.0);
        let whole: Vec<&Way> =
            ways.iter().filter(|way| way.rows_max.is_none() && way.transaction_rows.is_none()).collect();
        for way in &whole {
            if let WayRun::Done { seconds } = way.run(&self.schema, trial, folder, cancel)? {
                let grows = if way.is_unsynced() { &mut growing } else { &mut fixed };
                *grows = grows.max(seconds);
            }
        }
        // Half of the time goes into what is not timed: what is read back and compared.
        let of_way = self.time.as_secs_f64() * 0.5 / (whole.len() as f64 * f64::from(self.runs.max(1)));
        let left = (of_way - fixed).max(of_way * 0.25);
        let by_time = TRIAL_ROWS as f64 * left / (2.0 * growing).max(1e-3);
        let by_memory = MEMORY_BYTES as f64 / (trial.memory_bytes() as f64 / TRIAL_ROWS as f64).max(1.0);
        Ok((by_time.min(by_memory) as u64).clamp(TRIAL_ROWS, ROWS_MAX))
    }
}

impl Advised {
    /// Whether a way wrote something else than it should have.
    pub fn has_failed(&self) -> bool {
        let mut variants = self.experiments.iter().flat_map(|experiment| &experiment.variants);
        variants.any(|variant| matches!(variant.outcome, Outcome::Failed { .. }))
    }
}

impl std::fmt::Display for Advised {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "{}: {} rows in each of {} ({}), {} in all, SQLite {}, {:.0} s of measuring in {}",
            self.schema.display(),
            crate::figures::grouped(self.rows),
            if self.tables.len() == 1 {
                "1 table".to_owned()
            } else {
                format!("{} tables", self.tables.len())
            },
            self.tables.join(", "),
            Bytes(self.database_bytes),
            self.sqlite,
            self.seconds,
            self.dir.display()
        )?;
        recommend::write(f, &self.recommendations, &self.experiments)
    }
}

/// What several tries of a way came to.
fn outcome(tried: &[WayRun], rows: u64) -> Outcome {
    let mut seconds = Vec::new();
    for one in tried {
        match one {
            WayRun::Done { seconds: of_run } => seconds.push(*of_run),
            WayRun::Wrong(why) => return Outcome::Failed { why: why.clone() },
        }
    }
    if seconds.is_empty() {
        return Outcome::Skipped { reason: Skip::Interrupted };
    }
    let samples = seconds.iter().map(|seconds| rows as f64 / seconds.max(1e-9)).collect();
    Outcome::Measured { samples, seconds, also: std::collections::BTreeMap::new() }
}
