//! The parameters and the report of a profile.

use std::path::{Path, PathBuf};

use serde::Serialize;
use sqluice_core::error::{Result, Setting};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::schema::Schema;
use sqluice_core::setters;
use sqluice_reader::snapshot::ReadOptions;

/// A database to describe; see the module's description.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Profile {
    /// The path of the database.
    pub source: PathBuf,
    /// The minimum number of rows in which a shown value occurs.
    pub keep_common: u64,
    /// `true` if no values are shown.
    pub no_values: bool,
    /// The tables and views that are described; empty: all.
    pub tables: Vec<String>,
    /// The tables and views that are left out.
    pub exclude_tables: Vec<String>,
    /// The number of threads; `None`: one for each core.
    pub threads: Option<usize>,
    /// The options for reading the database.
    pub read: ReadOptions,
}

impl Profile {
    /// Creates a profile of a database. Values that occur in 20 rows or more may be shown.
    pub fn new(source: impl Into<PathBuf>) -> Profile {
        Profile {
            source: source.into(),
            keep_common: 20,
            no_values: false,
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
            Setting::Table => self.tables = value.to()?,
            Setting::ExcludeTable => self.exclude_tables = value.to()?,
            Setting::Threads => self.threads = Some(value.to()?),
            _ => return self.read.set(setting, value),
        }
        Ok(true)
    }
}

setters! { Profile:
    /// Sets the minimum number of rows in which a shown value occurs.
    keep_common(rows: u64) = rows;
    /// Shows no values at all.
    no_values(no_values: bool) = no_values;
    /// Describes only these tables and views.
    tables(names: impl IntoIterator<Item = impl Into<String>>) = names.into_iter().map(Into::into).collect();
    /// Leaves these tables and views out.
    exclude_tables(names: impl IntoIterator<Item = impl Into<String>>) = names.into_iter().map(Into::into).collect();
    /// Sets the number of threads; `None`: one for each core.
    threads(threads: impl Into<Option<usize>>) = threads.into();
    /// Sets how the database is read.
    read(read: ReadOptions) = read;
}

/// The profile of a database.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ProfileReport {
    /// The path of the database.
    pub source: PathBuf,
    /// The profile: a schema with comments, which the generator reads.
    pub text: String,
    /// The number of rows of all tables.
    pub rows: u64,
    /// The tables, in the order of the schema.
    pub tables: Vec<ProfiledTable>,
    /// Columns whose common values are shown.
    pub kept: Vec<KeptValues>,
    /// Columns of which no values are shown because they look personal.
    pub personal: Vec<PersonalColumn>,
    /// Texts and blobs of the schema, which are shown.
    pub literals: Vec<String>,
    /// The parts that could not be described.
    pub notes: Vec<String>,
    /// The size of the database in bytes.
    pub bytes: u64,
    /// The number of threads.
    pub threads: usize,
    /// The time in seconds.
    pub seconds: f64,
}

impl ProfileReport {
    /// Parses the profile as a schema for the generator.
    ///
    /// # Errors
    /// When SQLite does not accept a statement of the database.
    pub fn schema(&self) -> Result<Schema> {
        Schema::parse(self.text.as_str(), Path::new("the profile"))
    }
}

/// A described table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ProfiledTable {
    /// The name of the table.
    pub name: String,
    /// The row count of the table.
    pub rows: u64,
    /// The number of columns with a comment.
    pub columns: usize,
}

/// A column whose common values are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KeptValues {
    /// The name of the table.
    pub table: String,
    /// The name of the column.
    pub column: String,
    /// The number of shown values.
    pub values: usize,
}

/// A column that looks personal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PersonalColumn {
    /// The name of the table.
    pub table: String,
    /// The name of the column.
    pub column: String,
    /// The kind of personal data: "an e-mail address".
    pub what: &'static str,
    /// The basis of the guess: `name` or `values`.
    pub by: &'static str,
}
