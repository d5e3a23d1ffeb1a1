//! What can be asked of a load.

use std::path::PathBuf;

use sqluice_core::schema::Schema;
use sqluice_core::setters;
use sqluice_engine::options::{Tuning, WriteOptions};
use sqluice_sources::convert::Convert;
use sqluice_sources::formats::FormatOptions;

/// How much of each file is looked at before anything is decided, in bytes of text.
pub const SAMPLE_BYTES: usize = Tuning::DEFAULT.sample_bytes;

/// Files that become tables of a database, or rows of such.
///
/// ```
/// use sqluice::load::Load;
/// use sqluice::options::WriteOptions;
///
/// let load = Load::new("sales.db", ["2024.csv", "2025.csv"])
///     .table("sales")
///     .primary_key(["id"])
///     .write(WriteOptions::new().threads(4));
/// assert_eq!(load.table.as_deref(), Some("sales"));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Load {
    /// The database.
    pub target: PathBuf,
    /// The files; `-` is standard input. A name with `*`, `?` or `[` that is no file's stands for all that match.
    pub files: Vec<PathBuf>,
    /// How they are written.
    pub format: FormatOptions,
    /// The table that all go to; `None`: one for each, named after it.
    pub table: Option<String>,
    /// What tables are named after, if none is given.
    pub name_from: NameFrom,
    /// What the database declares; `None`: tables with the columns that the files have, of the types that their values have.
    /// Existing tables stay as they are, and must be declared the same.
    pub schema: Option<Schema>,
    /// Declared types of columns, by name, instead of those that the values have. Not with a schema.
    pub types: Vec<(String, String)>,
    /// Columns whose text is converted, by name: dates, booleans, numbers with a decimal comma or separators of thousands. Of files of
    /// text alone; JSON has numbers of its own.
    pub convert: Vec<(String, Convert)>,
    /// Tables are STRICT. Not with a schema.
    pub strict: bool,
    /// The columns to load, in this order; of files without a header: their names.
    pub columns: Option<Vec<String>>,
    /// Columns that the table, or its first file, does not have are added; otherwise they are an error.
    pub add_columns: bool,
    /// Records of each table that are read at most.
    pub limit: Option<u64>,
    /// How decimals and timestamps of Parquet and Arrow files are stored.
    #[cfg(feature = "parquet")]
    pub arrow: sqluice_sources::arrow::ArrowOptions,
    /// What SQLite's conversions may lose, such as the digits of `'12345678901234567890'` in an INTEGER column.
    pub lossy: bool,
    /// Where bad rows go; `None`: the first one ends the load.
    pub reject: Option<PathBuf>,
    /// A `reject` file that exists is replaced; otherwise it is an error.
    pub overwrite_reject: bool,
    /// Bad rows that the load takes. A file of which nearly all rows are bad ends the load, unless a number is given here.
    pub rejects_max: u64,
    /// Files that can't be loaded are left out, and the report lists them ([`Report::skipped`](sqluice_engine::report::Report::skipped));
    /// otherwise they end the load. At least one must be left.
    pub skip_bad_files: bool,
    /// The columns of the PRIMARY KEY, of each table that has them all. One INTEGER column is another name for the rowid; of
    /// others none may be NULL. Not with a schema.
    pub primary_key: Vec<String>,
    /// Indexes, each as columns with commas between them: `name [COLLATE collation] [ASC|DESC], ...`; a name may be quoted as in
    /// SQL. Each table that has all columns gets one.
    pub indexes: Vec<String>,
    /// Unique indexes, in the same way. Not with a schema.
    pub uniques: Vec<String>,
    /// Tables with a `primary_key` are WITHOUT ROWID.
    pub without_rowid: bool,
    /// How to write. Copies of pipes that must be read twice are kept in its `temp_dir`, too.
    pub write: WriteOptions,
}

/// What a table is named after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameFrom {
    /// The name of its file: `sales` of `2024/sales.csv`.
    #[default]
    File,
    /// That and the folders below those that all files share: `2024_sales`.
    Path,
}

impl Load {
    /// A load of `files` with nothing said about them.
    pub fn new(target: impl Into<PathBuf>, files: impl IntoIterator<Item = impl Into<PathBuf>>) -> Load {
        Load {
            target: target.into(),
            files: files.into_iter().map(Into::into).collect(),
            format: FormatOptions::default(),
            table: None,
            name_from: NameFrom::File,
            schema: None,
            types: Vec::new(),
            convert: Vec::new(),
            strict: false,
            columns: None,
            add_columns: false,
            limit: None,
            #[cfg(feature = "parquet")]
            arrow: sqluice_sources::arrow::ArrowOptions::default(),
            lossy: false,
            reject: None,
            overwrite_reject: false,
            rejects_max: u64::MAX,
            skip_bad_files: false,
            primary_key: Vec::new(),
            indexes: Vec::new(),
            uniques: Vec::new(),
            without_rowid: false,
            write: WriteOptions::default(),
        }
    }

    /// Changes the sizes and limits that only tests change.
    #[doc(hidden)]
    #[must_use]
    pub fn tune(mut self, tune: impl FnOnce(&mut Tuning)) -> Load {
        tune(&mut self.write.tuning);
        self
    }
}

setters! { Load:
    /// Sets how the files are written: their delimiter, header, encoding and so on.
    format(options: FormatOptions) = options;
    /// Loads all files into this table.
    table(name: impl Into<String>) = Some(name.into());
    /// Sets what tables are named after.
    name_from(name_from: NameFrom) = name_from;
    /// Sets the declarations of the tables, instead of inferring them from the files.
    schema(schema: impl Into<Option<Schema>>) = schema.into();
    /// Declares columns with these types, by name, instead of inferring them.
    types(types: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>) =
        types.into_iter().map(|(column, declared)| (column.into(), declared.into())).collect();
    /// Converts the text of these columns: dates, booleans, numbers with a decimal comma.
    convert(convert: impl IntoIterator<Item = (impl Into<String>, Convert)>) =
        convert.into_iter().map(|(column, convert)| (column.into(), convert)).collect();
    /// Creates STRICT tables.
    strict(strict: bool) = strict;
    /// Loads only these columns, in this order. For files without a header, these are the names of their columns.
    columns(columns: impl IntoIterator<Item = impl Into<String>>) =
        Some(columns.into_iter().map(Into::into).collect());
    /// Adds columns that the table, or its first file, does not have. Without this they are an error.
    add_columns(add: bool) = add;
    /// Reads at most this many records for each table.
    limit(records: impl Into<Option<u64>>) = records.into();
    /// Sets how decimals and timestamps of Parquet and Arrow files are stored.
    #[cfg(feature = "parquet")]
    arrow(options: sqluice_sources::arrow::ArrowOptions) = options;
    /// Accepts values that SQLite would round or overflow.
    lossy(lossy: bool) = lossy;
    /// Writes bad rows to this file and goes on. Without this the first bad row ends the load.
    reject(file: impl Into<PathBuf>) = Some(file.into());
    /// Replaces an existing file of bad rows.
    overwrite_reject(overwrite: bool) = overwrite;
    /// Sets how many bad rows the load accepts.
    rejects_max(rows: u64) = rows;
    /// Skips files that cannot be loaded and lists them in the report.
    skip_bad_files(skip: bool) = skip;
    /// Sets the columns of the PRIMARY KEY. It applies to each table that has all of them.
    primary_key(columns: impl IntoIterator<Item = impl Into<String>>) =
        columns.into_iter().map(Into::into).collect();
    /// Creates these indexes, each given as its columns with commas between them.
    indexes(indexes: impl IntoIterator<Item = impl Into<String>>) =
        indexes.into_iter().map(Into::into).collect();
    /// Creates these unique indexes, each given as its columns with commas between them.
    uniques(indexes: impl IntoIterator<Item = impl Into<String>>) =
        indexes.into_iter().map(Into::into).collect();
    /// Creates tables that have a primary key as WITHOUT ROWID tables.
    without_rowid(without_rowid: bool) = without_rowid;
    /// Sets how the database is written.
    write(options: WriteOptions) = options;
}
