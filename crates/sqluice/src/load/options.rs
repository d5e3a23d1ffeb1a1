//! What can be asked of a load.

use std::path::PathBuf;

use sqluice_core::schema::Schema;
use sqluice_engine::options::WriteOptions;
use sqluice_sources::convert::Convert;
use sqluice_sources::csv::{Delimiter, Given, PART_BYTES};
use sqluice_sources::input::Encoding;
use sqluice_sources::json::RecordsPath;

/// How much of each file is looked at before anything is decided, in bytes of text.
pub const SAMPLE_BYTES: usize = 2 << 20;

/// Files that become tables of a database, or rows of such.
#[derive(Clone, Debug)]
pub struct Load {
    /// The database.
    pub target: PathBuf,
    /// The files; `-` is standard input. A name with `*`, `?` or `[` that is no file's stands for all that match.
    pub files: Vec<PathBuf>,
    /// How they are written.
    pub format: Format,
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
    /// How much of each file is looked at before anything is decided, in bytes of text: tests make it small.
    #[doc(hidden)]
    pub sample_bytes: usize,
    /// How much of a file one part is, in bytes. The file depends on it, so it is no user's choice: tests make it small.
    #[doc(hidden)]
    pub part_bytes: usize,
}

/// What a table is named after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameFrom {
    /// The name of its file: `sales` of `2024/sales.csv`.
    #[default]
    File,
    /// That and the folders below those that all files share: `2024_sales`.
    Path,
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Fields between delimiters.
    Csv,
    /// JSON, an object a line.
    Ndjson,
    /// JSON: an array of objects, or, where it begins with none, an object a line.
    Json,
    /// Parquet.
    Parquet,
    /// An Arrow IPC file or stream.
    Arrow,
}

/// How files are written. What is `None` is recognised. All but the kind, the encoding and `records` is about CSV.
#[derive(Clone, Debug, Default)]
pub struct Format {
    /// What they are; `None`: what their names and first bytes say.
    pub kind: Option<FileKind>,
    /// Between fields.
    pub delimiter: Option<Delimiter>,
    /// Around fields; `Some(None)`: nothing is.
    pub quote: Option<Option<u8>>,
    /// Within quotes, makes the next character stand for itself; `Some(None)`: nothing does.
    pub escape: Option<Option<u8>>,
    /// Lines that begin with it are skipped; `Some(None)`: none is.
    pub comment: Option<Option<u8>>,
    /// The first record names the columns.
    pub header: Option<bool>,
    /// Lines to skip at the start; `Some(0)`: the first line belongs to the table.
    pub skip_lines: Option<u64>,
    /// Unquoted fields that are NULL, besides the empty one.
    pub null: Vec<String>,
    /// An unquoted empty field is empty text.
    pub empty_as_text: bool,
    /// Fields that are missing at the end of a record are NULL; otherwise such a row is bad, as one with too many fields always is.
    pub pad: bool,
    /// A quote inside an unquoted field makes a bad row; otherwise it is a character like any other.
    pub strict_quotes: bool,
    /// The array of records in a JSON document that is one object; `None`: the file is an array, or objects.
    pub records: Option<RecordsPath>,
    /// The encoding; `None`: UTF-8, or what the byte order mark says.
    pub encoding: Option<Encoding>,
}

impl Format {
    pub(super) fn given(&self) -> Given<'static> {
        Given {
            delimiter: self.delimiter,
            quote: self.quote,
            escape: self.escape,
            comment: self.comment,
            header: self.header,
            skip_lines: self.skip_lines.map(|lines| usize::try_from(lines).unwrap_or(usize::MAX)),
            pad: self.pad,
            ..Given::default()
        }
    }
}

impl Load {
    /// A load of `files` with nothing said about them.
    pub fn new(target: impl Into<PathBuf>, files: impl IntoIterator<Item = impl Into<PathBuf>>) -> Load {
        Load {
            target: target.into(),
            files: files.into_iter().map(Into::into).collect(),
            format: Format::default(),
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
            sample_bytes: SAMPLE_BYTES,
            part_bytes: PART_BYTES,
        }
    }
}
