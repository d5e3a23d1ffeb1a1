//! What is wrong with a request itself, before anything is read.

use std::path::{Path, PathBuf};

use super::Load;
use super::tables::quoted;
use crate::error::{Error, Result};
use crate::output::NewFile;
use crate::reject::RejectFile;
use crate::schema::Schema;

/// Whether the request makes sense, and nothing is in the way of what it makes.
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
    for (index, name) in load.columns.iter().flatten().enumerate() {
        if load.columns.iter().flatten().take(index).any(|before| before.eq_ignore_ascii_case(name)) {
            return Err(Error::usage(format!("--columns names the column {name} twice")));
        }
    }
    load.types.iter().try_for_each(|(name, declared)| check_type(name, declared, load.strict))?;
    check_targets(load)
}

/// Whether what follows a column's name in its declaration does not go on beyond that: it is the user's own text.
fn check_type(name: &str, declared: &str, strict: bool) -> Result<()> {
    let strict = if strict { " STRICT" } else { "" };
    let alone =
        Schema::parse(format!("CREATE TABLE t ({} {declared}\n){strict};\n", quoted(name)), Path::new(""));
    let refuse = |why: &str| {
        let message = format!("{declared:?} can't declare the column {name}: {why}");
        Error::usage(message).hint("for example: --type id=\"INTEGER PRIMARY KEY\"")
    };
    match alone {
        Err(error) => Err(refuse(error.message())),
        Ok(Schema { tables, others, .. }) if others.iter().all(|other| other.sql.is_none()) => {
            match &tables[..] {
                [table] if table.columns.len() == 1 => Ok(()),
                _ => Err(refuse("it declares more than that")),
            }
        }
        Ok(_) => Err(refuse("it declares more than that")),
    }
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
    NewFile::refuse(&load.target)?;
    let Some(reject) = &load.reject else { return Ok(()) };
    let mut others = load.files.iter().chain([&load.target]);
    if others.any(|other| resolved(other) == resolved(reject)) {
        let message = format!("the rejected rows can't go to {}, which the load needs", reject.display());
        return Err(Error::usage(message).hint("name another file: --reject FILE"));
    }
    RejectFile::refuse(reject, load.write.overwrite)
}

/// Where a path leads.
fn resolved(path: &Path) -> PathBuf {
    let in_folder = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(in_folder).unwrap_or_else(|| path.to_owned())
}
