//! `write`: a new database whose rows come from the caller's own sources.

use std::path::Path;

use crate::encode::Conversions;
use crate::error::{Error, Result};
use crate::new_database;
use crate::pipeline::Job;
use crate::plan::{Plan, WriteOptions};
use crate::progress::{Amount, Cancel, Progress};
use crate::report::Report;
use crate::schema::Schema;
use crate::source::Source;

/// Writes the tables of `schema` to a new database, `target`, or, if that is `None`, makes its pages and throws them away.
/// `sources` has one source of rows for each table, in the order of [`Schema::tables`].
///
/// # Errors
/// When the schema holds something that can't be done yet, a source fails, a value can't be stored, or the database can't
/// be written: there is none, then.
pub fn write_tables(
    target: Option<&Path>,
    schema: &Schema,
    sources: Vec<Box<dyn Source + '_>>,
    options: &WriteOptions,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Report> {
    let (tables, given) = (schema.tables.len(), sources.len());
    if tables != given {
        return Err(Error::usage(format!("{given} sources of rows for {tables} tables")));
    }
    let plan = Plan::new(schema, target.map(Path::to_owned), options)?;
    progress.phase("write", sources.iter().map(|source| source.total()).try_fold(Amount::default(), add));
    let jobs = schema.tables.iter().zip(sources).map(|(table, source)| Job {
        table,
        conversions: Conversions::All,
        source,
    });
    new_database::write(&plan, schema, jobs.collect(), None, "write", progress, &cancel.child())
}

fn add(sum: Amount, more: Option<Amount>) -> Option<Amount> {
    more.map(|more| Amount { rows: sum.rows + more.rows, bytes: sum.bytes + more.bytes })
}
