//! The options of a profile, and its report.

use std::path::{Path, PathBuf};

use serde::Serialize;
use sqluice_core::error::{Result, Setting};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::schema::Schema;
use sqluice_core::setters;
use sqluice_reader::snapshot::ReadOptions;

/// A profile of a database.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Profile {
    /// The database.
    pub source: PathBuf,
    /// A value is shown only if it occurs in at least this number of rows, and in at least two. Values in the schema are shown anyway.
    pub keep_common: u64,
    /// `true` if no values are shown, except those in the schema.
    pub no_values: bool,
    /// `true` if literals of the schema are left out where the schema allows it.
    pub strip_literals: bool,
    /// The tables and views to describe; empty for all.
    pub tables: Vec<String>,
    /// The tables and views to leave out.
    pub exclude_tables: Vec<String>,
    /// The number of threads; `None` for one per core.
    pub threads: Option<usize>,
    /// The options for reading the database.
    pub read: ReadOptions,
}

impl Profile {
    /// Creates a profile of a database, which shows only values that occur in at least 20 rows.
    pub fn new(source: impl Into<PathBuf>) -> Profile {
        Profile {
            source: source.into(),
            keep_common: 20,
            no_values: false,
            strip_literals: false,
            tables: Vec::new(),
            exclude_tables: Vec::new(),
            threads: None,
            read: ReadOptions::new(),
        }
    }
}

impl TakesSettings for Profile {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        match setting {
            Setting::KeepCommon => self.keep_common = value.to()?,
            Setting::NoValues => self.no_values = value.to()?,
            Setting::StripLiterals => self.strip_literals = value.to()?,
            Setting::Table => self.tables = value.to()?,
            Setting::ExcludeTable => self.exclude_tables = value.to()?,
            Setting::Threads => self.threads = Some(value.to()?),
            _ => return self.read.set(setting, value),
        }
        Ok(true)
    }
}

setters! { Profile:
    /// Shows a value only if it occurs in at least this number of rows.
    keep_common(rows: u64) = rows;
    /// Shows no values.
    no_values(no_values: bool) = no_values;
    /// Removes literals from the schema. CHECKs, and indexes that are not unique, are left out if they have literals.
    strip_literals(strip_literals: bool) = strip_literals;
    /// Describes only these tables and views.
    tables(names: impl IntoIterator<Item = impl Into<String>>) = names.into_iter().map(Into::into).collect();
    /// Leaves these tables and views out.
    exclude_tables(names: impl IntoIterator<Item = impl Into<String>>) = names.into_iter().map(Into::into).collect();
    /// Sets the number of threads; `None` for one per core.
    threads(threads: impl Into<Option<usize>>) = threads.into();
    /// Sets the options for reading the database.
    read(read: ReadOptions) = read;
}

/// The report of a profile.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ProfileReport {
    /// The database.
    pub source: PathBuf,
    /// The profile: a schema with comments for the generator.
    pub text: String,
    /// The number of rows of all tables.
    pub rows: u64,
    /// The tables, in order.
    pub tables: Vec<ProfiledTable>,
    /// The columns whose common values are shown.
    pub kept: Vec<KeptValues>,
    /// The columns whose values are not shown because they look personal.
    pub personal: Vec<PersonalColumn>,
    /// The texts and blobs in the statements of the schema, which the profile shows.
    pub literals: Vec<String>,
    /// Notes about parts that could not be described.
    pub notes: Vec<String>,
    /// The number of bytes of the database.
    pub bytes: u64,
    /// The number of threads.
    pub threads: usize,
    /// The duration of the profile in seconds.
    pub seconds: f64,
}

impl ProfileReport {
    /// Returns the profile as a schema for the generator.
    ///
    /// # Errors
    /// If SQLite does not accept a statement of the database any more.
    pub fn schema(&self) -> Result<Schema> {
        Schema::parse(self.text.as_str(), Path::new("the profile"))
    }
}

/// A described table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ProfiledTable {
    /// The name.
    pub name: String,
    /// The number of rows.
    pub rows: u64,
    /// The number of columns with a comment.
    pub columns: usize,
}

/// A column whose common values are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KeptValues {
    /// The table.
    pub table: String,
    /// The column.
    pub column: String,
    /// The number of shown values.
    pub values: usize,
}

/// A column that looks personal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PersonalColumn {
    /// The table.
    pub table: String,
    /// The column.
    pub column: String,
    /// The kind of data that the column seems to have: "an e-mail address".
    pub what: &'static str,
    /// The evidence for this kind: `name` or `values`.
    pub by: &'static str,
}
