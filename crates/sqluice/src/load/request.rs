//! What is asked for, and what is wrong with that before anything is read.

use std::ops::Deref;
use std::path::Path;

use super::Load;
use super::keys;
use crate::error::{Error, Result};
use crate::output::Wanted;
use crate::plan::{IfThere, OnConflict, Plan, There};
use crate::reject::RejectFile;
use crate::schema::{Schema, Table, quoted};

/// What may become of a table that is there.
const IF_THERE: &str = "--append adds to its rows, --replace-table puts the new ones in their place, --upsert KEYS changes those \
                        whose keys come again";

/// A load, and the database that is there for it.
pub(super) struct Request {
    load: Load,
    pub(super) there: Option<There>,
}

impl Deref for Request {
    type Target = Load;

    fn deref(&self) -> &Load {
        &self.load
    }
}

impl Request {
    /// A load into a new database.
    #[cfg(test)]
    pub(super) fn of_new(load: Load) -> Request {
        Request { load, there: None }
    }

    /// Looks at the database.
    pub(super) fn new(load: Load) -> Result<Request> {
        let there = There::look(&load.target, &load.write)?;
        Ok(Request { load, there })
    }

    /// The table of that name that the database has.
    pub(super) fn has(&self, name: &str) -> Option<&Table> {
        self.there.as_ref().and_then(|there| there.table(name))
    }

    /// The table of that name that the database has or the schema declares.
    pub(super) fn declared(&self, name: &str) -> Option<&Table> {
        self.has(name).or_else(|| self.schema.as_ref().and_then(|schema| schema.table(name)))
    }

    /// Refuses a table that can't be loaded.
    pub(super) fn refuse_table(&self, name: &str) -> Result<()> {
        if let Some(there) = &self.there {
            there.refuse_name(name, &self.write.if_there, IF_THERE)?;
        }
        match &self.write.if_there {
            IfThere::Upsert(keys) if self.has(name).is_none() => {
                let message =
                    format!("{} has no table {name} whose rows could be changed", self.target.display());
                Err(Error::target(message).hint(format!(
                    "make it first: load without --upsert, and with --primary-key {}",
                    keys.join(",")
                )))
            }
            _ => Ok(()),
        }
    }

    /// Whether nothing is in the way of what the load writes.
    pub(super) fn check_targets(&self) -> Result<()> {
        if self.there.is_none() {
            let replaces = self.write.overwrite && self.target.exists();
            Wanted { path: &self.target, replaces, estimated_bytes: None }.refuse()?;
        }
        match &self.reject {
            Some(reject) => RejectFile::refuse(reject, self.write.overwrite),
            None => Ok(()),
        }
    }
}

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
    check_if_there(load)?;
    keys::refuse_twice("--columns", load.columns.as_deref().unwrap_or_default())?;
    keys::check(load)?;
    load.types.iter().try_for_each(|(name, declared)| check_type(load, name, declared))
}

/// Whether what is to become of a table that is there goes with the rest.
fn check_if_there(load: &Load) -> Result<()> {
    let (flag, keys): (_, &[String]) = match &load.write.if_there {
        IfThere::Refuse => return Ok(()),
        IfThere::Append => ("--append", &[]),
        IfThere::Replace => ("--replace-table", &[]),
        IfThere::Upsert(keys) => ("--upsert", keys),
    };
    if load.write.overwrite {
        return Err(Error::usage(format!("--overwrite replaces the whole database, and {flag} keeps it"))
            .hint("leave one of the two out"));
    }
    if flag != "--upsert" {
        return Ok(());
    }
    if keys.is_empty() {
        return Err(Error::usage("--upsert names no column").hint("name those of a key: --upsert A,B"));
    }
    if load.write.on_conflict != OnConflict::Abort {
        return Err(Error::usage(
            "--upsert says what becomes of a row whose key is there, and so does --on-conflict",
        )
        .hint("leave one of the two out"));
    }
    keys::refuse_twice("--upsert", keys)
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
