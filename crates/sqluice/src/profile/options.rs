//! What can be asked of a profile, and what it returns.

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
    /// The database.
    pub source: PathBuf,
    /// In how many rows a value must occur that the profile may show.
    pub keep_common: u64,
    /// Whether no values are shown.
    pub no_values: bool,
    /// Only these tables and views; empty: all.
    pub tables: Vec<String>,
    /// Tables and views that are left out.
    pub exclude_tables: Vec<String>,
    /// Threads; `None`: one a core.
    pub threads: Option<usize>,
    /// How the database is read.
    pub read: ReadOptions,
}

impl Profile {
    /// Describes a database. Values may be shown that occur in 20 rows or more.
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
    /// Sets in how many rows a value must occur that the profile may show.
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

/// What was found.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ProfileReport {
    /// The database.
    pub source: PathBuf,
    /// The profile: a schema with comments, which the generator reads.
    pub text: String,
    /// Rows of all tables.
    pub rows: u64,
    /// The tables, in their order.
    pub tables: Vec<ProfiledTable>,
    /// Columns whose common values are shown.
    pub kept: Vec<KeptValues>,
    /// Columns of which no values are shown because they look personal.
    pub personal: Vec<PersonalColumn>,
    /// Texts and blobs of the schema itself, which are shown.
    pub literals: Vec<String>,
    /// What could not be described.
    pub notes: Vec<String>,
    /// Bytes of the database.
    pub bytes: u64,
    /// Threads.
    pub threads: usize,
    /// Seconds that it took.
    pub seconds: f64,
}

impl ProfileReport {
    /// The profile as the schema that the generator takes.
    ///
    /// # Errors
    /// When SQLite does not accept a statement of the database any more.
    pub fn schema(&self) -> Result<Schema> {
        Schema::parse(self.text.as_str(), Path::new("the profile"))
    }
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ProfiledTable {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// Its columns with a comment.
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
    /// How many values.
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
    /// What it looks like: "an e-mail address".
    pub what: &'static str,
    /// What that rests on: `name` or `values`.
    pub by: &'static str,
}
