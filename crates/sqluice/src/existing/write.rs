//! Tables that are added to a database, and tables that grow, by pages.

use std::path::Path;
use std::time::Duration;

use super::{Existing, Transaction};
use crate::encode::Conversions;
use crate::error::{Error, Result};
use crate::pipeline::{Job, Written};
use crate::plan::{Plan, WriteOptions};
use crate::progress::{Cancel, Progress};
use crate::reject::RejectFile;
use crate::report::{Phases, Report};
use crate::schema::{Schema, Table};
use crate::source::Source;

/// Stores the rows of a table by SQL, in the open transaction; the table and its indexes are there.
pub(crate) type BySql<'f> = dyn FnMut(&Transaction<'_>, &Table, Job<'_>) -> Result<Written> + 'f;

impl Transaction<'_> {
    /// Writes the tables of `schema` as `plan` says, with the rows of `jobs`: those that are not there are made. The rows of
    /// tables of [`Road::Sqlite`](crate::plan::Road::Sqlite) are given to `by_sql` when all others are in place. Views and triggers come
    /// last. Nothing is committed.
    ///
    /// # Errors
    /// When a row can't be stored or the disk says no. An error that [`Error::is_out_of_order`] says that rows did not come after
    /// the last of a table: by SQL they may be stored.
    pub(crate) fn write(
        &mut self,
        plan: &Plan,
        schema: &Schema,
        jobs: Vec<Job<'_>>,
        rejects: Option<&mut RejectFile>,
        phases: &mut Phases<'_>,
        by_sql: &mut BySql<'_>,
    ) -> Result<Vec<Written>> {
        let _ = (plan, schema, jobs, rejects, phases, by_sql);
        Err(Error::target("pages can't be written yet"))
    }
}

/// Writes what `plan` says into a database that is there, as one transaction.
///
/// # Errors
/// As [`Transaction::write`]; the database is as it was, then.
#[allow(clippy::too_many_arguments, reason = "what a new database takes, and where the rest goes")]
pub(crate) fn write(
    existing: &mut Existing,
    plan: &Plan,
    schema: &Schema,
    jobs: Vec<Job<'_>>,
    rejects: Option<RejectFile>,
    phase: &str,
    (progress, cancel): (&dyn Progress, &Cancel),
    by_sql: &mut BySql<'_>,
) -> Result<Report> {
    let _ = (plan, schema, jobs, rejects, phase, progress, by_sql);
    let transaction = existing.begin(cancel)?;
    transaction.commit()?;
    Err(Error::target("pages can't be written yet"))
}

/// Adds the tables of `schema` to the database at `target`, or rows to those that are there, by pages: for tests.
///
/// # Errors
/// When that is not possible, for the reason that is told; the database is as it was.
#[doc(hidden)]
pub fn write_into(
    target: &Path,
    schema: &Schema,
    sources: Vec<Box<dyn Source + '_>>,
    options: &WriteOptions,
    busy_timeout: Duration,
    (progress, cancel): (&dyn Progress, &Cancel),
) -> Result<Report> {
    let mut existing = Existing::open(target, busy_timeout)?.with_pending_byte(options.pending_byte);
    let plan = Plan::new(schema, Some(target.to_owned()), options)?;
    let jobs = schema.tables.iter().zip(sources).map(|(table, source)| Job {
        table,
        conversions: Conversions::All,
        source,
    });
    let mut by_sql = |_: &Transaction<'_>, table: &Table, _: Job<'_>| -> Result<Written> {
        Err(Error::usage(format!("the rows of {} are SQLite's to store", table.name)))
    };
    let jobs = jobs.collect();
    write(&mut existing, &plan, schema, jobs, None, "write", (progress, cancel), &mut by_sql)
}
