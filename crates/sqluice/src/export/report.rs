//! The report of an export.

use sqluice_writers::formats::OutputFormat;
use std::path::PathBuf;

use serde::Serialize;
use sqluice_engine::plan::path_as_text;

/// The report of an export.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ExportReport {
    /// The database.
    pub source: PathBuf,
    /// `true` if the database was downloaded to a temporary file first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fetched: bool,
    /// The journal mode of the database.
    pub journal_mode: String,
    /// `true` if other processes could commit to the database meanwhile.
    pub lets_others_commit: bool,
    /// The number of threads.
    pub threads: usize,
    /// The duration of the export in seconds.
    pub seconds: f64,
    /// The files, in the order of their tables.
    pub files: Vec<ExportedFile>,
    /// The temporary files of killed runs, which were removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<PathBuf>,
}

/// The rows of a table in a dump.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DumpedTable {
    /// The table.
    pub table: String,
    /// The number of rows.
    pub rows: u64,
}

/// The content of a written file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExportedFile {
    /// The table or view; `None` for a query and for a dump.
    pub table: Option<String>,
    /// The file; `None` for standard output.
    #[serde(serialize_with = "path_as_text")]
    pub path: Option<PathBuf>,
    /// The format.
    pub format: &'static OutputFormat,
    /// The number of rows.
    pub rows: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The number of values that became NULL, for each column with such values.
    pub nulled: Vec<(String, u64)>,
    /// Notes about differences that loading the file back would make.
    pub notes: Vec<String>,
    /// The tables of a dump, in the order of `sqlite_schema`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<DumpedTable>,
}

impl ExportReport {
    /// Returns the number of rows of all files.
    pub fn rows(&self) -> u64 {
        self.files.iter().map(|file| file.rows).sum()
    }

    /// Returns the number of bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}
