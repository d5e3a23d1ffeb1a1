//! `write`: writes the caller's rows to a database: structs from an iterator ([`write_rows`]), or batches of columns from sources, for the
//! tables of a schema ([`write_tables`]) or for named columns ([`Write`]).

#[cfg(feature = "load")]
mod declare;
#[cfg(feature = "load")]
mod named;
#[cfg(feature = "serde")]
mod structs;

use std::path::Path;

#[cfg(feature = "load")]
pub use declare::NewTable;
#[cfg(feature = "load")]
pub use named::{NamedRows, PreparedWrite, Write, moment_forms, table_of};
#[cfg(feature = "serde")]
pub use structs::{WriteRows, write_rows};

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::{Amount, Context};
use sqluice_core::schema::Schema;
use sqluice_core::source::Source;
use sqluice_engine::attempts;
use sqluice_engine::encode::Coercion;
use sqluice_engine::options::WriteOptions;
use sqluice_engine::output::Target;
use sqluice_engine::plan::{ExpectedRows, Plan};
use sqluice_engine::report::Report;
use sqluice_engine::trees::Job;

use crate::full_text::OverOthers;
use crate::remote;

/// Writes the tables of `schema` to the database `target`, or builds the pages and discards them if `target` is `None`. If the database
/// exists and is not overwritten, the declarations of its tables must be the same, and [`IfExists`](sqluice_engine::options::IfExists)
/// determines what happens to their rows. `sources` has one source of rows for each table, in the order of [`Schema::tables`].
///
/// # Errors
/// If the schema is not supported, a source fails, a value can't be stored, or the database can't be written. After an error, a new
/// database does not exist, and an existing one is unchanged.
pub fn write_tables(
    target: Option<&Path>,
    schema: &Schema,
    sources: Vec<Box<dyn Source + '_>>,
    options: &WriteOptions,
    context: &Context<'_>,
) -> Result<Report> {
    let (tables, given) = (schema.tables.len(), sources.len());
    if tables != given {
        return Err(Error::usage(format!("{given} sources of rows for {tables} tables")));
    }
    let mut options = options.clone();
    remote::connect(target, &mut options, &context.cancel)?;
    let target = target.map(|target| Target::resolve(target, &options));
    let (schema, plan) = plan_tables(schema, target.as_ref(), &options)?;
    context
        .progress
        .phase("write", sources.iter().map(|source| source.total()).try_fold(Amount::default(), add));
    let jobs = schema.tables.iter().zip(sources).map(|(table, source)| Job {
        table,
        coercion: Coercion::All,
        source,
    });
    attempts::write(&plan, &schema, jobs.collect(), None, "write", &context.child())
}

/// Returns the schema of the tables that are written, and the plan. Because nothing is known about the rows, SQLite inserts the rows of
/// existing tables.
pub(crate) fn plan_tables(
    schema: &Schema,
    target: Option<&Target>,
    options: &WriteOptions,
) -> Result<(Schema, Plan)> {
    let existing = attempts::look(target, options)?;
    let mut schema = schema.clone();
    if let Some(existing) = &existing {
        let hint =
            message!["add to its rows, or replace them: ", Setting::Append, ", ", Setting::ReplaceTable];
        schema = existing.combine_all(schema, &options.if_exists, &hint)?;
    }
    let mut plan = Plan::of(&schema, target, existing.as_ref(), options)?;
    if existing.is_none() {
        OverOthers::of(&schema)?.add_to(&mut plan);
    }
    if let Some(existing) = &existing {
        for (index, table) in schema.tables.iter().enumerate() {
            let rows = ExpectedRows { with_rowids: table.rowid_alias.is_some(), ..ExpectedRows::default() };
            plan.choose((index, table), existing, rows, options)?;
        }
    }
    Ok((schema, plan))
}

fn add(sum: Amount, more: Option<Amount>) -> Option<Amount> {
    more.map(|more| Amount { rows: sum.rows + more.rows, bytes: sum.bytes + more.bytes })
}
