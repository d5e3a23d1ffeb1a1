//! A database that is there, changed from start to end.

use crate::error::{Error, Result};
use crate::pipeline::Job;
use crate::plan::Plan;
use crate::progress::{Cancel, Progress};
use crate::reject::RejectFile;
use crate::report::Report;
use crate::schema::Schema;

/// Writes what `plan` says.
pub(crate) fn write(
    plan: &Plan,
    schema: &Schema,
    jobs: Vec<Job<'_>>,
    rejects: Option<RejectFile>,
    phase: &str,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Report> {
    let _ = (plan, schema, jobs, rejects, phase, progress, cancel);
    Err(Error::target("a database that is there can't be changed yet"))
}
