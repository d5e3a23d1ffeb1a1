//! The request of a load, and the checks of the request before anything is read.

pub(crate) mod key_specs;
pub(crate) mod names;
mod of_server;
pub(crate) mod options;
pub(crate) mod server;
pub(crate) mod shared_paths;
pub(crate) mod type_names;

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sqluice_core::error::{Error, Message, Result, Setting, message};
use sqluice_core::progress::Cancel;
use sqluice_core::schema::{Schema, Table, quoted};
use sqluice_engine::attempts;
use sqluice_engine::options::{IfExists, OnConflict};
use sqluice_engine::output::{Target, Wanted};
use sqluice_engine::plan::Plan;
use sqluice_engine::reject::RejectFile;
use sqluice_engine::target::TargetSnapshot;
use sqluice_sources::convert::{Conversion, MomentForm};
use sqluice_sources::input::InputOptions;

use crate::expressions::functions::Functions;
use crate::full_text::taking_rows;
use names::{moment_forms, refuse_twice};
use options::Load;
use type_names::{GivenType, VALID};

/// Returns the hint for a table that already exists: the settings that add to its rows, replace them or change them.
pub(crate) fn if_exists() -> Message {
    message![
        Setting::Append,
        " adds to its rows, ",
        Setting::ReplaceTable,
        " replaces them, ",
        Setting::Upsert.to("KEYS"),
        " changes those whose keys are repeated"
    ]
}

/// Returns the error for an upsert into a table that the database does not have.
pub(crate) fn not_to_change(target: &Path, table: &str) -> Error {
    Error::target(format!("{} has no table {table} whose rows could be changed", target.display()))
}

/// A load, and the existing database that it changes, if any.
pub(crate) struct Request {
    load: Load,
    /// The target that the database is written to.
    pub(crate) to: Target,
    /// Notes about types whose name in SQLite differs from the name that the user gives.
    pub(crate) type_notes: Vec<Message>,
    pub(crate) existing: Option<TargetSnapshot>,
    /// The full-text tables of the schema that take rows.
    pub(crate) full_text: Vec<Table>,
    /// The conversions of the text of columns, with the names of the columns.
    pub(crate) conversions: Vec<(String, Arc<Conversion>)>,
    /// The functions that expressions call.
    pub(crate) functions: Functions,
    /// The deepest folder that contains all files of the load. Tables may be named after the folders below it.
    pub(crate) shared_folder: PathBuf,
}

impl Deref for Request {
    type Target = Load;

    fn deref(&self) -> &Load {
        &self.load
    }
}

impl Request {
    /// Returns the request of a load into a new database.
    #[cfg(test)]
    pub(crate) fn of_new(load: Load) -> Request {
        let conversions = Conversion::all(&load.convert, load.lossy).unwrap();
        let to = Target::resolve(&load.target, &load.write);
        let (type_notes, shared_folder, functions) =
            (Vec::new(), PathBuf::new(), Functions::of_run(&load.write).unwrap());
        Request {
            load,
            to,
            type_notes,
            existing: None,
            full_text: Vec::new(),
            conversions,
            functions,
            shared_folder,
        }
    }

    /// Completes a load: reads the tables of an existing database, translates the names of types, and builds the conversions.
    pub(crate) fn new(mut load: Load) -> Result<Request> {
        let to = Target::resolve(&load.target, &load.write);
        let existing = attempts::look(Some(&to), &load.write)?;
        let mut type_notes = Vec::new();
        for (column, given) in &mut load.types {
            if let GivenType::Meant { name, is, declared } = type_names::meaning(given, load.strict) {
                type_notes.push(format!("column {column}: {name} is {is} in SQLite").into());
                *given = declared;
            }
        }
        let conversions = Conversion::all(&load.convert, load.lossy)?;
        let functions = Functions::of_run(&load.write)?;
        let shared_folder = PathBuf::new();
        let full_text = load.schema.as_ref().map_or(Vec::new(), taking_rows);
        Ok(Request { load, to, type_notes, existing, full_text, conversions, functions, shared_folder })
    }

    /// Returns the type that the user gives the column of this name; `None` without one.
    pub(crate) fn type_of(&self, name: &str) -> Option<&str> {
        let mut types = self.load.types.iter().rev();
        let given = types.find(|(column, _)| column.eq_ignore_ascii_case(name));
        given.map(|(_, declared)| declared.as_str())
    }

    /// Sets the folder that contains all of `files`.
    pub(crate) fn share_folder_of<'p>(&mut self, files: impl IntoIterator<Item = &'p Path>) {
        self.shared_folder = shared_folder(files);
    }

    /// Returns, for each column of an existing table, the notation of its timestamps, in which new timestamps are written, too; `None` if
    /// it is the notation of a new table.
    pub(crate) fn moment_forms(&self, table: &str) -> Vec<Option<MomentForm>> {
        self.existing.as_ref().map_or(Vec::new(), |existing| moment_forms(existing, table))
    }

    /// Returns the functions that compute DEFAULTs, in the text encoding of the database.
    pub(crate) fn functions_of_defaults(&self) -> Functions {
        let encoding = self.existing.as_ref().map_or("UTF-8", |existing| existing.encoding);
        self.functions.of_schema().in_encoding(encoding)
    }

    /// Returns the table of this name in the existing database; `None` if the database has no such table.
    pub(crate) fn has(&self, name: &str) -> Option<&Table> {
        self.existing.as_ref().and_then(|existing| existing.table(name))
    }

    /// Returns the table of this name that the existing database has or the schema declares; `None` if neither does.
    pub(crate) fn declared(&self, name: &str) -> Option<&Table> {
        let of_schema = || self.schema.as_ref().and_then(|schema| schema.table(name));
        let full_text = || self.full_text.iter().find(|table| table.name.eq_ignore_ascii_case(name));
        self.has(name).or_else(of_schema).or_else(full_text)
    }

    /// Returns an error if the load may not write to a table: the table exists already, or the load is an upsert and the table does not
    /// exist.
    pub(crate) fn refuse_table(&self, name: &str) -> Result<()> {
        if let Some(existing) = &self.existing {
            existing.refuse_name(name, &self.write.if_exists, if_exists())?;
        }
        match &self.write.if_exists {
            IfExists::Upsert(keys) if self.has(name).is_none() => Err(not_to_change(&self.target, name)
                .hint(message![
                    "create it first: load without ",
                    Setting::Upsert,
                    ", and with ",
                    Setting::PrimaryKey.to(keys.join(","))
                ])),
            _ => Ok(()),
        }
    }

    /// Returns the options for opening a file of the load.
    pub(crate) fn input_options(&self, cancel: &Cancel) -> InputOptions {
        let may_be_workbook = self.format.format.is_none_or(|format| format.is_spreadsheet());
        InputOptions::new().encoding(self.format.encoding).cancel(cancel.clone()).workbooks(may_be_workbook)
    }

    /// Returns the folder for data that does not fit the memory.
    pub(crate) fn temp_folder(&self) -> Result<PathBuf> {
        self.to.temp_dir()
    }

    /// Checks that no existing file or folder prevents the load from writing its files.
    pub(crate) fn check_targets(&self) -> Result<()> {
        if self.existing.is_none() {
            let is_remote = self.write.destination.is_some();
            let replaces = self.write.overwrite && (is_remote || self.target.exists());
            Wanted::new(self.to.clone(), replaces).refuse()?;
        }
        match &self.reject {
            Some(reject) => RejectFile::refuse(reject, self.overwrite_reject),
            None => Ok(()),
        }
    }
}

/// Returns the deepest folder that contains all files.
fn shared_folder<'p>(files: impl IntoIterator<Item = &'p Path>) -> PathBuf {
    let mut folders = files.into_iter().filter_map(Path::parent);
    let Some(first) = folders.next() else { return PathBuf::new() };
    folders.fold(first.to_owned(), |shared, folder| {
        let both = shared.components().zip(folder.components());
        both.take_while(|(one, other)| one == other).map(|(one, _)| one).collect()
    })
}

/// Checks that the settings of the load do not contradict each other, before any file is opened.
pub(crate) fn check(load: &Load) -> Result<()> {
    if load.files.is_empty() {
        return Err(Error::usage("no file is named").hint("name one, or - for standard input"));
    }
    if load.schema.is_some() && (load.strict || !load.types.is_empty()) {
        return Err(Error::usage("the schema decides the types of the columns, and which tables are STRICT")
            .hint(message!["leave out ", Setting::Strict, " and ", Setting::Type, ", or the schema"]));
    }
    if load.format.strict_quotes && load.format.quote == Some(None) {
        let message = message![Setting::StrictQuotes, " is about quotes, and the files have none"];
        return Err(Error::usage(message).hint(message![
            "leave one of the two out: ",
            Setting::StrictQuotes,
            " or ",
            Setting::Quote.to("none")
        ]));
    }
    check_if_exists(load)?;
    let replaced = [
        (!load.sets.is_empty(), Setting::Set),
        (!load.excluded.is_empty(), Setting::ExcludeColumns),
        (!load.renames.is_empty(), Setting::Rename),
    ];
    if let (Some(_), Some((_, other))) = (&load.select, replaced.into_iter().find(|(given, _)| *given)) {
        let message = message![
            Setting::Select,
            " decides all columns of the table, so ",
            other,
            " would have no effect"
        ];
        return Err(Error::usage(message).hint("leave one of the two out"));
    }
    refuse_twice(Setting::ExcludeColumns, &load.excluded)?;
    let renamed: Vec<String> = load.renames.iter().map(|(old, _)| old.clone()).collect();
    refuse_twice(Setting::Rename, &renamed)?;
    refuse_twice(Setting::Columns, load.columns.as_deref().unwrap_or_default())?;
    key_specs::check(load)?;
    Conversion::all(&load.convert, load.lossy)?;
    load.types.iter().try_for_each(|(name, declared)| check_type(load, name, declared))
}

/// Checks that the setting for existing tables fits the other settings.
fn check_if_exists(load: &Load) -> Result<()> {
    let (flag, keys): (_, &[String]) = match &load.write.if_exists {
        IfExists::Fail => return Ok(()),
        IfExists::Append => (Setting::Append, &[]),
        IfExists::Replace => (Setting::ReplaceTable, &[]),
        IfExists::Upsert(keys) => (Setting::Upsert, keys),
    };
    if load.write.overwrite {
        return Err(Error::usage(message![
            Setting::Overwrite,
            " replaces the whole database, and ",
            flag,
            " keeps it"
        ])
        .hint("leave one of the two out"));
    }
    if flag != Setting::Upsert {
        return Ok(());
    }
    if keys.is_empty() {
        return Err(Error::usage(message![Setting::Upsert, " names no column"])
            .hint(message!["name those of a key: ", Setting::Upsert.to("A,B")]));
    }
    if load.write.on_conflict != OnConflict::Abort {
        return Err(Error::usage(message![
            Setting::Upsert,
            " decides about a row whose key exists, and so does ",
            Setting::OnConflict
        ])
        .hint("leave one of the two out"));
    }
    refuse_twice(Setting::Upsert, keys)
}

/// Checks that a type of the user is known, and declares its column and nothing else.
fn check_type(load: &Load, name: &str, given: &str) -> Result<()> {
    let meaning = type_names::meaning(given, load.strict);
    let declared = match &meaning {
        GivenType::Meant { declared, .. } => declared,
        GivenType::Same | GivenType::Unknown { .. } => given,
    };
    let refused = |why: Message, hint: Message| {
        let given = Setting::Type.to(format!("{name}={given}"));
        Error::usage(message![given, ": ", why]).hint(hint)
    };
    // If `declared` contains more than a type, for example an open comment, it swallows the second column.
    let (first, second) = (quoted(name), quoted(&format!("{name}2")));
    let (any, strict) = if load.strict { (" ANY", " STRICT") } else { ("", "") };
    // An unknown type is refused below, with a better message than SQLite's, so the table is not STRICT here.
    let strict = if matches!(meaning, GivenType::Unknown { .. }) { "" } else { strict };
    let sql = format!("CREATE TABLE t ({first} {declared}, {second}{any}\n){strict}");
    let plan = Schema::parse(sql, Path::new("")).and_then(|schema| {
        let alone = schema.others.iter().all(|made| made.sql.is_none()) && schema.tables.len() == 1;
        let columns = schema.tables.first().map_or(0, |table| table.columns.len());
        if !alone || columns != 2 {
            return Err(Error::input("that declares more or less than a column"));
        }
        Plan::of(&schema, None, None, &load.write)
    });
    plan.map_err(|error| refused(error.what().into(), message!["types are ", VALID]))?;
    let GivenType::Unknown { name, near } = meaning else { return Ok(()) };
    let hint = match near {
        Some(near) => message!["did you mean ", near.to_uppercase(), "? Types are ", VALID],
        None => message!["types are ", VALID],
    };
    Err(refused(message!["there is no type called ", name], hint))
}

/// Removes the place from an error about generated SQL, which the user does not see.
pub(crate) fn of_made_sql(error: Error) -> Error {
    if error.place().is_none() {
        return error;
    }
    Error::usage(error.what()).hint(message![
        Setting::Type,
        " declares a column, ",
        Setting::Table,
        " names the table, ",
        Setting::Schema,
        " declares everything"
    ])
}
