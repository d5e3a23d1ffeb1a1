//! `write`: a database whose rows come from the caller's own sources: of a schema that is known ([`write_tables`]), or of rows that
//! are known by the names of their columns ([`Write`]).

#[cfg(feature = "load")]
mod declare;
#[cfg(feature = "load")]
mod named;

use std::path::Path;

#[cfg(feature = "load")]
pub use declare::NewTable;
#[cfg(feature = "load")]
pub use named::{NamedRows, PreparedWrite, Write, table_of};

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::{Amount, Cancel, Progress};
use sqluice_core::schema::Schema;
use sqluice_core::source::Source;
use sqluice_engine::encode::Conversions;
use sqluice_engine::existing_database;
use sqluice_engine::new_database;
use sqluice_engine::options::WriteOptions;
use sqluice_engine::pipeline::Job;
use sqluice_engine::plan::{ExpectedRows, Plan};
use sqluice_engine::report::Report;
use sqluice_engine::target::TargetSnapshot;

/// Writes the tables of `schema` to the database `target`, or, if that is `None`, makes its pages and throws them away. Where it is
/// there already, and not to be overwritten, tables that it has must be declared the same, and [`IfExists`](sqluice_engine::options::IfExists)
/// says what becomes of them. `sources` has one source of rows for each table, in the order of [`Schema::tables`].
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
    let there = target.map(|target| sqluice_engine::existing::look(target, options)).transpose()?.flatten();
    let (schema, plan) = match there {
        None => (schema.clone(), Plan::new(schema, target.map(Path::to_owned), options)?),
        Some(there) => into_existing(schema, &there, options)?,
    };
    progress.phase("write", sources.iter().map(|source| source.total()).try_fold(Amount::default(), add));
    let jobs = schema.tables.iter().zip(sources).map(|(table, source)| Job {
        table,
        conversions: Conversions::All,
        source,
    });
    let (jobs, cancel) = (jobs.collect(), cancel.child());
    match plan.existing {
        None => new_database::write(&plan, &schema, jobs, None, "write", progress, &cancel),
        Some(_) => existing_database::write(&plan, &schema, jobs, None, "write", progress, &cancel),
    }
}

/// Nothing is known of the rows: SQLite takes those of tables that are there.
pub(crate) fn into_existing(
    schema: &Schema,
    there: &TargetSnapshot,
    options: &WriteOptions,
) -> Result<(Schema, Plan)> {
    for table in &schema.tables {
        there.refuse_name(
            &table.name,
            &options.if_exists,
            message!["add to its rows, or replace them: ", Setting::Append, ", ", Setting::ReplaceTable],
        )?;
    }
    let schema = there.combine(schema.clone())?;
    let mut plan = Plan::into_existing(&schema, there, options)?;
    for (index, table) in schema.tables.iter().enumerate() {
        let rows = ExpectedRows { with_rowids: table.rowid_alias.is_some(), ..ExpectedRows::default() };
        plan.choose((index, table), there, rows, options)?;
    }
    Ok((schema, plan))
}

fn add(sum: Amount, more: Option<Amount>) -> Option<Amount> {
    more.map(|more| Amount { rows: sum.rows + more.rows, bytes: sum.bytes + more.bytes })
}
