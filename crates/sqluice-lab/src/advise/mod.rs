//! `advise`: measures which way to insert rows, and which settings, are the fastest for a schema and a disk. A "way" is a combination of
//! method and settings.
//!
//! ```text
//!  schema ──generator──> a database ──read back──> rows in memory ──> each way: fill a new database (timed), compare its rows, remove it
//!                            │                                             │  (every second round in reverse order)
//!                            └── the page path is timed with the generator  └──> experiments ──> recommendations
//! ```
//!
//! * Ways that insert get rows from memory, so that their time is SQLite's. The page path, on which sqluice itself writes the
//!   pages, generates its rows on all cores, and its time includes generating and syncing the file.
//! * The time of an insert is measured from the first PRAGMA to the closed database, with COMMIT and indexes.
//! * Triggers and virtual tables of the schema are ignored.
//!
//! Invariant: a way has a figure only if the rows that it wrote were read back and equal the expected rows. If not, it has failed.
//!
//! Invariant: all files are in a temporary folder, which is removed at the end.

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
use crate::turns::turn;
pub use recommend::Recommendation;
use rows::SampleRows;
use ways::{Way, WayRun};

/// The row count of the first trial, which estimates for how many rows the time suffices.
const TRIAL_ROWS: u64 = 2_000;

/// The maximum number of rows of a table if the user gives none: more rows do not change the results.
const ROWS_MAX: u64 = 500_000;

/// The maximum size of the values in memory, in bytes, if the user gives no row count.
const MEMORY_BYTES: u64 = 128 << 20;

/// A measurement to be run: the schema, the folder, and the limits of rows and time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Advise {
    /// The schema of the database. Its `gen:` comments set the values of columns, as for [`sqluice::generate`].
    pub schema: Schema,
    /// A folder on the disk to measure.
    pub dir: PathBuf,
    /// The row count of each table; `None`: as many as the time and the memory allow, at most 500,000.
    pub rows: Option<u64>,
    /// The number of runs of each way, at least one.
    pub runs: u32,
    /// The approximate time for all runs; no way is run again after this time.
    pub time: Duration,
}

/// The results of a measurement.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Advised {
    /// The version of SQLite.
    pub sqlite: String,
    /// The folder of the measurement.
    pub dir: PathBuf,
    /// The file of the schema.
    pub schema: PathBuf,
    /// The row count of each table.
    pub rows: u64,
    /// The names of the filled tables.
    pub tables: Vec<String>,
    /// The size of the database that the page path wrote, in bytes, with pages of 4096 bytes.
    pub database_bytes: u64,
    /// The total time in seconds.
    pub seconds: f64,
    /// The recommendations, the most important first.
    pub recommendations: Vec<Recommendation>,
    /// The measured experiments.
    pub experiments: Vec<Experiment>,
}

setters! { Advise:
    /// Sets the row count of each table; `None`: as many as the time and the memory allow, at most 500,000.
    rows(rows: impl Into<Option<u64>>) = rows.into();
    /// Sets the number of runs of each way.
    runs(runs: u32) = runs;
    /// Sets the approximate time for all runs.
    time(time: Duration) = time;
}

impl Advise {
    /// Measures a schema in a folder. Unless the number of rows is set, this takes about a minute at most.
    pub fn new(schema: Schema, dir: impl Into<PathBuf>) -> Advise {
        Advise { schema, dir: dir.into(), rows: None, runs: 3, time: Duration::from_secs(45) }
    }

    /// Measures all ways and derives recommendations, without reporting progress.
    ///
    /// # Errors
    /// The errors of [`Advise::run_with`].
    pub fn run(&self) -> Result<Advised> {
        self.run_with(&Context::default())
    }

    /// Measures all ways and derives recommendations; `context` reports progress and can cancel the run.
    ///
    /// # Errors
    /// When no rows can be generated for the schema, the folder can't be written to, or the run is cancelled.
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
            return Err(Error::usage("there are no rows to measure").hint(Setting::Rows.to("10k")));
        }
        let ways = ways::all(&self.schema);
        let mut tried = vec![Vec::new(); ways.len()];
        let each: u64 = ways.iter().map(|way| way.rows(&rows)).sum();
        progress.phase("measure", Some(Amount { rows: each * u64::from(self.runs.max(1)), bytes: 0 }));
        for round in 1..=self.runs.max(1) {
            for at in turn(round, ways.len()) {
                cancel.check()?;
                if round == 1 || started.elapsed() < self.time {
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

    /// Returns the row count per table for which the time suffices. With the few rows of the trial, ways that sync spend most of their time
    /// on syncs, independent of the row count. So the time per row is taken from ways that do not sync.
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
        // Half of the time is spent outside of the measurement, on reading back and comparing.
        let of_way = self.time.as_secs_f64() * 0.5 / (whole.len() as f64 * f64::from(self.runs.max(1)));
        let left = (of_way - fixed).max(of_way * 0.25);
        let by_time = TRIAL_ROWS as f64 * left / (2.0 * growing).max(1e-3);
        let by_memory = MEMORY_BYTES as f64 / (trial.memory_bytes() as f64 / TRIAL_ROWS as f64).max(1.0);
        Ok((by_time.min(by_memory) as u64).clamp(TRIAL_ROWS, ROWS_MAX))
    }
}

impl Advised {
    /// Returns `true` if a way failed or wrote wrong rows.
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

/// Summarizes several runs of a way.
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
