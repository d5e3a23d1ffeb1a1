//! The settings that a message may name, in every front end.

/// Declares the settings with the names that the engine has for them.
macro_rules! settings {
    ($($(#[$docs:meta])* $variant:ident = $name:literal,)*) => {
        /// Something that the user can set. The command calls it a flag, Python a parameter: each front end names it in its own
        /// terms, so that no message speaks another's language.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Setting {
            $($(#[$docs])* $variant,)*
        }

        impl Setting {
            /// All of them.
            pub const ALL: &[Setting] = &[$(Setting::$variant,)*];

            /// The name in Rust, such as `temp_dir`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Setting::$variant => $name,)*
                }
            }
        }
    };
}

settings! {
    /// Columns that the table lacks are added.
    AddColumns = "add_columns",
    /// Statistics for SQLite's planner.
    Analyze = "analyze",
    /// New rows are added to those of an existing table.
    Append = "append",
    /// `PRAGMA application_id`.
    ApplicationId = "application_id",
    /// A database that is replaced has no users but those that are seen.
    AssumeUnused = "assume_unused",
    /// Whether a database gives free pages back.
    AutoVacuum = "auto_vacuum",
    /// Columns of booleans.
    Boolean = "boolean",
    /// How long a database may be read while others wait to write to it.
    BusyLimit = "busy_limit",
    /// How long to wait for a database that is in use.
    BusyTimeout = "busy_timeout",
    /// The columns to load.
    Columns = "columns",
    /// What begins a comment.
    Comment = "comment",
    /// All pages are packed again.
    Compact = "compact",
    /// How blobs are compressed.
    Compress = "compress",
    /// Columns of dates, and their formats.
    Date = "date",
    /// Text becomes dates and timestamps.
    Dates = "dates",
    /// How decimals are stored.
    Decimal = "decimal",
    /// Columns of numbers with a decimal comma.
    DecimalComma = "decimal_comma",
    /// What stands between fields.
    Delimiter = "delimiter",
    /// The folder that measurements use.
    Dir = "dir",
    /// Pages are made and thrown away.
    Discard = "discard",
    /// An unquoted empty field is empty text.
    EmptyAsText = "empty_as_text",
    /// The encoding of text.
    Encoding = "encoding",
    /// What makes the next character stand for itself.
    Escape = "escape",
    /// Files that are left out.
    Exclude = "exclude",
    /// A table that is left out.
    ExcludeTable = "exclude_table",
    /// Foreign keys are checked.
    ForeignKeys = "foreign_keys",
    /// Something is done although it breaks other things.
    Force = "force",
    /// What the files are.
    Format = "format",
    /// SQLite's own integrity check.
    Full = "full",
    /// The first record names the columns.
    Header = "header",
    /// Only these files.
    Include = "include",
    /// Indexes to create.
    Index = "index",
    /// Interior pages follow the first page.
    InteriorFirst = "interior_first",
    /// The journal mode of a file.
    JournalMode = "journal_mode",
    /// In how many rows a value occurs that a profile may show.
    KeepCommon = "keep_common",
    /// Rowids stay as they are.
    KeepRowids = "keep_rowids",
    /// The file that has the secret key of a masked copy.
    KeyFile = "key_file",
    /// A plain table of names and bytes.
    Kv = "kv",
    /// Records that are read at most.
    Limit = "limit",
    /// The names of an archive.
    List = "list",
    /// The database that generated data is to be like.
    Like = "like",
    /// What SQLite's conversions may lose.
    Lossy = "lossy",
    /// The masks of a masked copy.
    Mask = "mask",
    /// Bad rows that are accepted.
    MaxRejects = "max_rejects",
    /// Memory for buffers.
    Memory = "memory",
    /// What happens to values of another kind than their column has.
    Mixed = "mixed",
    /// What tables are named after.
    NameFrom = "name_from",
    /// The first record is a row.
    NoHeader = "no_header",
    /// Indexes that are not unique are left out.
    NoIndexes = "no_indexes",
    /// Index entries are not compared with rows.
    NoVerify = "no_verify",
    /// Columns that do not refer to a key.
    NoReference = "no_reference",
    /// What stands for NULL.
    Null = "null",
    /// What happens to rows with the same key.
    OnConflict = "on_conflict",
    /// Rows that refer to rows that are left out.
    Orphans = "orphans",
    /// The whole database is replaced.
    Overwrite = "overwrite",
    /// An existing file of bad rows is replaced.
    OverwriteReject = "overwrite_reject",
    /// Missing fields at the end of a record are NULL.
    Pad = "pad",
    /// Bytes of a page.
    PageSize = "page_size",
    /// One share of a database that is generated, or of a table that is read.
    Part = "part",
    /// A built-in schema.
    Preset = "preset",
    /// The first rows of each table.
    Preview = "preview",
    /// The columns of the PRIMARY KEY.
    PrimaryKey = "primary_key",
    /// A query instead of tables.
    Query = "query",
    /// What stands around fields.
    Quote = "quote",
    /// Where the records of a JSON document are.
    Records = "records",
    /// Columns that refer to a key.
    Reference = "reference",
    /// The file for bad rows.
    Reject = "reject",
    /// The number of times that a request is sent again.
    Retries = "retries",
    /// Rows of a table get new rowids.
    Renumber = "renumber",
    /// The rows of an existing table are replaced.
    ReplaceTable = "replace_table",
    /// References to rows with new rowids follow them.
    RewriteReferences = "rewrite_references",
    /// How many rows are generated.
    Rows = "rows",
    /// What the row counts of a schema or a database are multiplied by.
    RowsScale = "rows_scale",
    /// How large a TPC-H database is.
    Scale = "scale",
    /// The schema to use.
    Schema = "schema",
    /// The seed of generated values.
    Seed = "seed",
    /// Files that can't be loaded are left out.
    SkipBadFiles = "skip_bad_files",
    /// Lines to skip at the start of a file.
    SkipLines = "skip_lines",
    /// One file of an archive, to standard output.
    Stdout = "stdout",
    /// STRICT tables.
    Strict = "strict",
    /// Personal columns without a mask end a masked copy.
    StrictMask = "strict_mask",
    /// A quote inside an unquoted field is malformed.
    StrictQuotes = "strict_quotes",
    /// The table that rows go to.
    Table = "table",
    /// The folder for what does not fit the memory.
    TempDir = "temp_dir",
    /// The file or folder that is written.
    To = "to",
    /// Columns of numbers with separators of thousands.
    Thousands = "thousands",
    /// Worker threads.
    Threads = "threads",
    /// The time that a server may send nothing.
    Timeout = "timeout",
    /// How timestamps are stored.
    Timestamp = "timestamp",
    /// Files are stored with their folders.
    Tree = "tree",
    /// The declared type of a column.
    Type = "types",
    /// Unique indexes to create.
    Unique = "unique",
    /// Rows whose key exists are changed.
    Upsert = "upsert",
    /// `PRAGMA user_version`.
    UserVersion = "user_version",
    /// A condition in SQL.
    Where = "where",
    /// Tables without rowids.
    WithoutRowid = "without_rowid",
}

impl Setting {
    /// The setting with a value, such as `temp_dir` and `DIR`.
    pub fn to(self, value: impl Into<String>) -> SettingValue {
        SettingValue { setting: self, value: value.into() }
    }
}

/// A setting with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingValue {
    /// The setting.
    pub setting: Setting,
    /// The value: a word in capitals where the user must find one.
    pub value: String,
}
