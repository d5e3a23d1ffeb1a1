//! What was done.

use sqluice_writers::formats::OutputFormat;
use std::path::PathBuf;

use serde::Serialize;
use sqluice_engine::plan::path_as_text;

/// What an export did.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ExportReport {
    /// The database.
    pub source: PathBuf,
    /// Whether it was fetched to a temporary file first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fetched: bool,
    /// Its journal mode.
    pub journal_mode: String,
    /// Whether other processes could commit to the database meanwhile.
    pub lets_others_commit: bool,
    /// Threads.
    pub threads: usize,
    /// Seconds that it took.
    pub seconds: f64,
    /// The files, in the order of their tables.
    pub files: Vec<ExportedFile>,
    /// The temporary files of killed runs, which were removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<PathBuf>,
}

/// What was written to a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExportedFile {
    /// The table or view; `None`: a query.
    pub table: Option<String>,
    /// The file; `None`: standard output.
    #[serde(serialize_with = "path_as_text")]
    pub path: Option<PathBuf>,
    /// Its format.
    pub format: &'static OutputFormat,
    /// The number of rows.
    pub rows: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// Values that became NULL, by column, for those that had any.
    pub nulled: Vec<(String, u64)>,
    /// What loading the file would change.
    pub notes: Vec<String>,
}

impl ExportReport {
    /// Rows of all files.
    pub fn rows(&self) -> u64 {
        self.files.iter().map(|file| file.rows).sum()
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}
