//! What is wrong with a request itself, before anything is read.

use std::path::Path;

use super::Load;
use super::keys;
use crate::error::{Error, Result};
use crate::output::Wanted;
use crate::plan::Plan;
use crate::reject::RejectFile;
use crate::schema::{Schema, quoted};

/// Whether the request makes sense.
pub(super) fn check(load: &Load) -> Result<()> {
    if load.files.is_empty() {
        return Err(Error::usage("no file is named").hint("name one, or - for standard input"));
    }
    if load.schema.is_some() && (load.strict || !load.types.is_empty()) {
        return Err(Error::usage(
            "a schema declares the tables, so it says what is STRICT and of which type",
        )
        .hint("leave out --strict and --type, or the schema"));
    }
    keys::refuse_twice("--columns", load.columns.as_deref().unwrap_or_default())?;
    keys::check(load)?;
    load.types.iter().try_for_each(|(name, declared)| check_type(load, name, declared))
}

/// Whether what the user gives as a type declares its column, and nothing else.
fn check_type(load: &Load, name: &str, declared: &str) -> Result<()> {
    // A type that takes what follows for its own, as a comment does, takes the second column.
    let (first, second) = (quoted(name), quoted(&format!("{name}2")));
    let (any, strict) = if load.strict { (" ANY", " STRICT") } else { ("", "") };
    let sql = format!("CREATE TABLE t ({first} {declared}, {second}{any}\n){strict}");
    let plan = Schema::parse(sql, Path::new("--type")).and_then(|schema| {
        let alone = schema.others.iter().all(|made| made.sql.is_none()) && schema.tables.len() == 1;
        let columns = schema.tables.first().map_or(0, |table| table.columns.len());
        if !alone || columns != 2 {
            return Err(Error::input("that declares more or less than a column"));
        }
        Plan::new(&schema, None, &load.write)
    });
    plan.map(drop).map_err(|error| {
        let message = format!("--type {name}={declared}: {}", error.message());
        Error::usage(message).hint("INTEGER, REAL, TEXT, BLOB, ANY or what else SQLite takes")
    })
}

/// An error about SQL that was made here: a place in it would say nothing to the user.
pub(super) fn of_made_sql(error: Error) -> Error {
    if error.place().is_none() {
        return error;
    }
    Error::usage(error.message())
        .hint("--type declares a column, --table names the table, --schema declares it all")
}

/// Whether nothing is in the way of what the load writes.
pub(super) fn check_targets(load: &Load) -> Result<()> {
    let replaces = load.write.overwrite && load.target.exists();
    Wanted { path: &load.target, replaces, estimated_bytes: None }.refuse()?;
    match &load.reject {
        Some(reject) => RejectFile::refuse(reject, load.write.overwrite),
        None => Ok(()),
    }
}
