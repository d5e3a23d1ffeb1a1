//! The interface between a load and the formats: a format opens a file with an [`OpenRequest`] (settings and limits of the load), and returns
//! [`Opened`] (names and types of the columns, a sample, and [`Content`], which reads the rows).

use std::ops::Range;
use std::path::{Path, PathBuf};

use sqluice_core::error::{Error, Message, Place, Result};
use sqluice_core::source::chain::Counted;
use sqluice_core::source::columns::ColumnFrom;
use sqluice_core::source::recognised::Recognised;
use sqluice_reader::Snapshot;

use super::options::FormatOptions;
use super::sample::SampleFacts;
use crate::convert::Conversion;
use crate::infer::Inferred;
use crate::input::InputFile;

/// A request to open a file: the settings and the limits of the load.
pub struct OpenRequest<'a> {
    /// The path or URL of the file, as the user names it.
    pub path: &'a Path,
    /// The settings of the user about the format of the file.
    pub options: &'a FormatOptions,
    /// The tables that the user asks for; if empty, the format decides.
    pub tables: &'a [String],
    /// The columns that the user selects or, for a file without a header, names.
    pub columns: Option<&'a [String]>,
    /// The columns that the user or the database declares for the table; empty if the table is not declared.
    pub declared: &'a [&'a str],
    /// The names of columns in all settings. If the sample of a JSON file lacks one of them, the rest of the file is searched for it. CSV
    /// keeps the blanks around a name that is listed here with its blanks.
    pub named: &'a [String],
    /// `true` if the new tables are STRICT, which have no NUMERIC columns.
    pub strict: bool,
    /// `true` if conversions that lose digits are accepted.
    pub lossy: bool,
    /// The storage form of decimals and timestamps.
    #[cfg(feature = "parquet")]
    pub arrow: crate::arrow::ArrowOptions,
    /// The maximum number of rows to load.
    pub rows_max: u64,
    /// The number of bytes of text in the sample.
    pub sample_bytes: usize,
    /// The number of bytes of text that are decoded at once.
    pub part_bytes: usize,
    /// The maximum number of bytes of a record.
    pub record_bytes_max: usize,
    /// The number of bytes of memory for all buffers.
    pub memory_bytes: u64,
    /// The number of threads that read a whole file before the load, for example to find all keys of a JSON file.
    pub threads: usize,
    /// A function that returns the folder for temporary files.
    pub temp_folder: &'a (dyn Fn() -> Result<PathBuf> + Sync),
    /// A function that opens the database at [`OpenRequest::path`].
    pub open_database: &'a (dyn Fn() -> Result<Snapshot> + Sync),
    /// A function that opens the input at [`OpenRequest::path`] again, for another table of the file.
    pub open_again: &'a (dyn Fn() -> Result<InputFile> + Sync),
    /// The flag that cancels the run.
    pub cancel: &'a sqluice_core::progress::Cancel,
}

/// A file whose columns are known, or a table in such a file.
#[non_exhaustive]
pub struct Opened {
    /// The input. It can still be read from its start, although a sample of it was read.
    pub input: InputFile,
    /// The name of the table within the file; `None`: the file is a single table without a name.
    pub table: Option<String>,
    /// The columns that are known so far.
    pub columns: Columns,
    /// The types that the file declares for its columns; empty if the values decide the types.
    pub types: Vec<Option<&'static str>>,
    /// The guessed types of columns for which the file declares none. They hold until a value needs another type. Empty if the values of the
    /// sample decide.
    pub guesses: Vec<Option<Inferred>>,
    /// `true` for each column of timestamps that become text; empty if the file declares none.
    pub moments: Vec<bool>,
    /// The format and layout of the file, as data.
    pub recognised: Recognised,
    /// The format and layout of the file, in words.
    pub words: String,
    /// The size of the sample, and the properties of the file that it shows, such as the compression.
    pub sample: SampleFacts,
    /// The rows of the sample.
    pub rows: SampledRows,
    /// The error to report if all rows of the sample are malformed for one common reason.
    pub all_malformed: Option<Error>,
    /// The reader of the rows.
    pub content: Box<dyn Content>,
}

/// The columns of a file.
#[derive(Debug, Default)]
pub struct Columns {
    /// The names of the columns.
    pub names: Vec<String>,
    /// The place of each name in the file; `None` if the file does not name its columns.
    pub places: Option<Vec<Place>>,
    /// Notes about decisions that a user may not expect, such as a skipped first line.
    pub notes: Vec<Message>,
}

/// The rows of the sample, or their number.
pub enum SampledRows {
    /// Rows whose values show the types of their columns.
    Read(Box<dyn Counted>),
    /// The numbers of rows in a file that declares the types of its columns: no values of the sample are needed.
    Declared {
        /// The number of rows in the sample.
        sample: u64,
        /// The number of rows in the file, or in the table of a database, up to the row limit; `None` if it is not known.
        all: Option<u64>,
    },
}

/// The rows and columns to read.
pub struct WantedRows<'a> {
    /// The field or the constant that fills each column of the table.
    pub map: Vec<ColumnFrom>,
    /// `true` for each column of the table that has TEXT affinity.
    pub as_text: &'a [bool],
    /// `true` for each column of the table that is declared as BLOB.
    pub as_blob: &'a [bool],
    /// The numbers of the rows: the first row has the number `rows.start`, and reading stops before the row `rows.end`.
    pub rows: Range<u64>,
}

/// Reads the rows of an opened file, as often as needed.
pub trait Content: Send {
    /// Opens the file for its rows.
    ///
    /// # Errors
    /// If the file can't be read, or differs from its sample.
    fn source(&mut self, input: &mut InputFile, wanted: WantedRows<'_>) -> Result<Box<dyn Counted>>;

    /// Opens the first `sample_bytes` bytes of the file for its rows.
    ///
    /// # Errors
    /// If the file can't be read.
    fn sample_source(
        &mut self,
        input: &mut InputFile,
        sample_bytes: usize,
        wanted: WantedRows<'_>,
    ) -> Result<Box<dyn Counted>>;

    /// Returns `true` if the file declares no types, so that the values decide.
    fn has_untyped_values(&self) -> bool;

    /// Returns `true` if `conversion` applies to the values of the file: the values are text, or written as text.
    fn can_convert(&self, conversion: &Conversion) -> bool {
        let _ = conversion;
        false
    }

    /// Returns the number of rows of the last source in which missing fields were filled with NULL.
    fn padded(&self) -> u64 {
        0
    }

    /// Returns notes about the last source that are known only after the whole source is read.
    fn late_notes(&self) -> Vec<Message> {
        Vec::new()
    }

    /// Returns a warning if values of the last source may have been misread.
    fn warning(&self) -> Option<Message> {
        None
    }

    /// Returns `true` if all columns of the file are known. In JSON, any further row may have a new column.
    fn knows_all_columns(&self) -> bool {
        true
    }

    /// Makes [`Content::knows_all_columns`] return `false`, because rows outside of the sample may be loaded after all.
    fn forget_columns(&mut self) {}

    /// Returns `true` if a row of the last source had a column that is not known yet.
    fn met_new_column(&self) -> bool {
        false
    }

    /// Opens the file to read only its column names.
    ///
    /// # Errors
    /// As [`Content::source`].
    fn columns_source(&mut self, input: &mut InputFile, rows: Range<u64>) -> Result<Box<dyn Counted>> {
        self.source(input, WantedRows { map: Vec::new(), as_text: &[], as_blob: &[], rows })
    }

    /// Returns all columns, including those that the last [`Content::columns_source`] has found; `None` if the columns of the format never
    /// change.
    fn take_new_columns(&mut self) -> Option<Columns> {
        None
    }
}
