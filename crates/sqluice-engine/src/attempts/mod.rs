//! Writes into a new or an existing database. A run, one such write, makes attempts, each with its own plan, until an attempt succeeds.
//!
//! ```text
//!  plan ──> attempt ──> done: the report
//!   ^          │
//!   │          ├─ an assumption of the plan does not hold ──┐
//!   │          └─ any other error: the error of the run     │
//!   └────────────── another plan, without the assumption <──┘
//! ```
//!
//! A failed attempt leaves nothing behind: a new file appears only when it is complete, and an existing database changes in one
//! transaction. So each attempt starts from the same state.

pub mod copied_database;
pub mod copied_leaves;
mod existing_database;
mod new_database;
pub mod placed_leaves;

use std::path::Path;

use sqluice_core::error::{Assumption, Error, Result};
use sqluice_core::progress::{Cancel, Context};
use sqluice_core::remote;
use sqluice_core::schema::Schema;

use crate::options::{WriteOptions, WritePath};
use crate::output::{Output, Target};
use crate::phases::Phases;
use crate::plan::Plan;
use crate::reject::RejectFile;
use crate::report::Report;
use crate::sqlite::Work;
use crate::target::TargetSnapshot;
use crate::trees::Job;
use crate::{existing, output};

/// The largest number of plans that a run makes if other processes change the schema each time between the plan and the write lock.
const SCHEMAS_MAX: usize = 10;

/// The outcome of an attempt.
#[derive(Debug)]
pub enum Outcome<R = Report> {
    /// Everything is written. `R` is the report about it.
    Done(Box<R>),
    /// Nothing is written, because an assumption of the plan does not hold. The run may make another plan.
    Refuted(Refuted),
}

/// An assumption that does not hold, and the error that showed it.
#[derive(Debug)]
pub struct Refuted {
    /// The assumption that does not hold.
    pub assumption: Assumption,
    /// The error with which the run fails if no other plan is possible.
    pub error: Error,
}

impl<R> Outcome<R> {
    /// Converts the result of a write to the outcome of the attempt: an error that refutes an assumption becomes [`Outcome::Refuted`].
    ///
    /// # Errors
    /// Errors that refute no assumption.
    pub fn of(written: Result<R>) -> Result<Outcome<R>> {
        match written {
            Ok(report) => Ok(Outcome::Done(Box::new(report))),
            Err(error) => match error.refuted() {
                Some(assumption) => Ok(Outcome::refuted(assumption, error)),
                None => Err(error),
            },
        }
    }

    /// Returns the outcome of an attempt that failed with `error` because `assumption` does not hold.
    pub fn refuted(assumption: Assumption, error: Error) -> Outcome<R> {
        Outcome::Refuted(Refuted { assumption, error })
    }
}

impl Refuted {
    /// Returns `Ok` if the schema has changed since the plan was made. The caller then makes another plan for the new schema with the same
    /// code.
    ///
    /// # Errors
    /// The error of the attempt, if another assumption was refuted.
    pub fn by_schema(self) -> Result<()> {
        match self.assumption {
            Assumption::Schema => Ok(()),
            _ => Err(self.error),
        }
    }
}

/// Calls `attempt` until it returns [`Outcome::Done`]. After each attempt that refuted an assumption, `plan_again` prepares the next
/// attempt by changing `state`, which `attempt` reads.
///
/// # Errors
/// The errors of `attempt` and `plan_again`, and the error of the last attempt if other processes keep changing the schema.
pub fn run<S, R>(
    state: &mut S,
    mut attempt: impl FnMut(&mut S) -> Result<Outcome<R>>,
    mut plan_again: impl FnMut(&mut S, Refuted) -> Result<()>,
) -> Result<R> {
    let mut schemas = 1;
    loop {
        let refuted = match attempt(state)? {
            Outcome::Done(report) => return Ok(*report),
            Outcome::Refuted(refuted) => refuted,
        };
        if refuted.assumption == Assumption::Schema {
            if schemas == SCHEMAS_MAX {
                return Err(refuted.error);
            }
            schemas += 1;
        }
        plan_again(state, refuted)?;
    }
}

/// Looks at the target, and so decides if a run changes an existing database or creates a new one. Returns the schema and state of the
/// existing database, or `None` if a new one is created: no database exists, the database will be replaced, or there is no target and pages
/// are discarded.
///
/// # Errors
/// If the file is not a database that can be read and written, an object has the name and is not to be replaced, or the target is a URL
/// without a destination.
pub fn look(target: Option<&Target>, options: &WriteOptions) -> Result<Option<TargetSnapshot>> {
    let Some(target) = target else { return Ok(None) };
    match target.destination() {
        None if remote::is_url(target.name()) => Err(not_written(target.name())),
        None => existing::look(target, options),
        Some(destination) if destination.old_bytes().is_some() && !options.overwrite => {
            Err(output::exists_at(&**destination))
        }
        Some(_) => Ok(None),
    }
}

/// Adds a note to the plan about when the database is uploaded, if its target is not a local file. The write paths in the plan must be
/// final.
pub fn note_destination(schema: &Schema, plan: &mut Plan) {
    let destination = plan.target.as_ref().and_then(Target::destination);
    let note = match (destination, (Work { schema, plan }).is_needed()) {
        (None, _) => return,
        (Some(_), false) => "pages are uploaded as they are made",
        (Some(_), true) => "SQLite finishes the database in a temporary file, which is uploaded then",
    };
    plan.notes.push(note.into());
}

/// Returns the error for a target that is a URL, if the target must be a file.
fn not_written(target: &Path) -> Error {
    let name = remote::without_secrets(target);
    Error::usage(format!("{} is a URL, but the target must be a local file", name.display()))
        .hint("write a local file, then copy it to the URL")
}

/// Returns the positions in [`Plan::tables`] in the order in which [`write()`] reads the rows of the tables.
pub fn reading_order(plan: &Plan) -> Vec<usize> {
    // For a new database, the rows that SQLite inserts are read first, into a temporary database. For an existing database, they are read
    // last.
    let (last, is_last) = match plan.existing {
        None => (WritePath::Sqlite, false),
        Some(_) => (WritePath::Insert, true),
    };
    let mut order: Vec<usize> = (0..plan.tables.len()).collect();
    order.sort_by_key(|&table| (plan.tables[table].write_path == last) == is_last);
    order
}

/// Makes one attempt, which writes the rows of `jobs` to a new or an existing database as `plan` says. `jobs` has the rows of each table of
/// `schema`, in the order of the tables. Bad rows go to `rejects`, if given. `phase` names the phase that the caller has begun; the report
/// lists its time.
///
/// # Errors
/// If a row can't be stored or the database can't be written. An existing database is unchanged then, and a new database does not exist,
/// unless only the last step has failed: the state of an existing database is unknown if SQLite could not write while it committed, and a
/// new file may exist if its folder could not be synced. The error may refute an [`Assumption`] of the plan.
pub fn write(
    plan: &Plan,
    schema: &Schema,
    jobs: Vec<Job<'_>>,
    rejects: Option<RejectFile>,
    phase: &str,
    context: &Context<'_>,
) -> Result<Report> {
    match plan.existing {
        // Does not call `plan.refuse`: `output::create` checks the free space later, after it has removed the temporary files that killed
        // processes left behind.
        None => new_database::write(plan, schema, jobs, rejects, phase, context),
        Some(_) => {
            plan.refuse()?;
            existing_database::write(plan, schema, jobs, rejects, phase, context)
        }
    }
}

/// Writes the rows of `jobs` to the file `output` as `plan` says. `jobs` has the rows of each table of `schema`, in the order of the
/// tables. The file is neither synced nor renamed: it is a temporary database, or the caller finishes it. `plan.target` is the database
/// for which the file is needed.
///
/// # Errors
/// If a row can't be stored or the file can't be written.
pub fn write_unfinished(
    plan: &Plan,
    schema: &Schema,
    jobs: Vec<Job<'_>>,
    output: &mut dyn Output,
    phases: &mut Phases<'_>,
    cancel: &Cancel,
) -> Result<()> {
    new_database::write_unfinished(plan, schema, jobs, output, phases, cancel)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refuting(assumption: Assumption) -> Result<Outcome> {
        Outcome::of(Err(Error::input("assumed too much").refuting(assumption)))
    }

    #[test]
    fn a_schema_that_keeps_changing_ends_the_run_after_a_fixed_number_of_plans() {
        let mut plans = 1;
        let error = run(
            &mut plans,
            |_| refuting(Assumption::Schema),
            |plans, refuted| {
                *plans += 1;
                refuted.by_schema()
            },
        );
        assert_eq!(error.unwrap_err().refuted(), Some(Assumption::Schema));
        assert_eq!(plans, SCHEMAS_MAX);
    }

    #[test]
    fn an_error_for_which_no_other_plan_exists_ends_the_run() {
        let error = run(&mut (), |()| refuting(Assumption::RowOrder), |(), refuted| refuted.by_schema());
        assert_eq!(error.unwrap_err().refuted(), Some(Assumption::RowOrder));
        let bad = |_: &mut ()| Outcome::<Report>::of(Err(Error::input("bad")));
        let error = run(&mut (), bad, |(), _| unreachable!());
        assert_eq!(error.unwrap_err().message(), "bad");
    }
}
