//! The parts of the comparison, and in each part the ways from a file to a database.

use clap::ValueEnum;
use serde::Serialize;

/// The format of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Section {
    /// A CSV file, beside SQLite's .import
    Csv,
    /// A Parquet file, beside pyarrow and ADBC
    Parquet,
    /// A tenth of the rows, one JSON object a line, beside serde_json and sqlite-utils
    Json,
    /// 1,500 small CSV files, beside SQLite's .import of each, and an older sqluice
    Files,
    /// Dumps of a million rows with an index, beside SQLite's shell
    Dump,
    /// A ZIP archive of 20 CSV files, beside unzip; a folder of 1,000, beside SQLite's .import of each
    Archives,
    /// An XLSX workbook of a million cells, beside pandas
    Spreadsheets,
    /// The CSV file with a filter and computed columns, beside DuckDB
    Expressions,
}

impl Section {
    pub(crate) const ALL: [Section; 8] = [
        Section::Csv,
        Section::Parquet,
        Section::Json,
        Section::Files,
        Section::Dump,
        Section::Archives,
        Section::Spreadsheets,
        Section::Expressions,
    ];

    /// Returns the format's name in the table.
    pub(crate) fn format(self) -> &'static str {
        match self {
            Section::Csv => "CSV",
            Section::Parquet => "Parquet",
            Section::Json => "NDJSON",
            Section::Files | Section::Expressions => "CSV",
            Section::Dump => "SQL",
            Section::Archives => "ZIP",
            Section::Spreadsheets => "XLSX",
        }
    }
}

/// A method to load a file into a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    Import,
    Unsafe,
    Declared,
    Inferred,
    Ten,
    Adbc,
    Parquet,
    SqliteUtils,
    SerdeJson,
    Json,
    FilesImport,
    FilesOlder,
    Files,
    FilesTable,
    FilesTableOlder,
    Shell,
    Dump,
    MySqlDump,
    PostgresDump,
    ArchiveUnzip,
    Archive,
    FolderImport,
    Folder,
    Pandas,
    Spreadsheet,
    Whole,
    Filtered,
    Added,
    Half,
    #[serde(rename = "duckdb")]
    Duck,
}

impl Way {
    /// All ways, in the order of a round: other loaders precede sqluice, since their content is the expected content.
    pub(crate) const ALL: [Way; 30] = [
        Way::Import,
        Way::Unsafe,
        Way::Declared,
        Way::Inferred,
        Way::Ten,
        Way::Adbc,
        Way::Parquet,
        Way::SqliteUtils,
        Way::SerdeJson,
        Way::Json,
        Way::FilesImport,
        Way::FilesOlder,
        Way::Files,
        Way::FilesTable,
        Way::FilesTableOlder,
        Way::Shell,
        Way::Dump,
        Way::MySqlDump,
        Way::PostgresDump,
        Way::ArchiveUnzip,
        Way::Archive,
        Way::FolderImport,
        Way::Folder,
        Way::Pandas,
        Way::Spreadsheet,
        Way::Whole,
        Way::Filtered,
        Way::Added,
        Way::Half,
        Way::Duck,
    ];

    pub(crate) fn part(self) -> Section {
        match self {
            Way::Import | Way::Unsafe | Way::Declared | Way::Inferred | Way::Ten => Section::Csv,
            Way::Adbc | Way::Parquet => Section::Parquet,
            Way::SqliteUtils | Way::SerdeJson | Way::Json => Section::Json,
            Way::FilesImport | Way::FilesOlder | Way::Files | Way::FilesTable | Way::FilesTableOlder => {
                Section::Files
            }
            Way::Shell | Way::Dump | Way::MySqlDump | Way::PostgresDump => Section::Dump,
            Way::ArchiveUnzip | Way::Archive | Way::FolderImport | Way::Folder => Section::Archives,
            Way::Pandas | Way::Spreadsheet => Section::Spreadsheets,
            Way::Whole | Way::Filtered | Way::Added | Way::Half | Way::Duck => Section::Expressions,
        }
    }

    /// Returns `true` if the way runs an older sqluice.
    pub(crate) fn is_older(self) -> bool {
        matches!(self, Way::FilesOlder | Way::FilesTableOlder)
    }

    /// Returns the name that is printed during the run.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::Import => "import",
            Way::Unsafe => "unsafe",
            Way::Declared => "declared",
            Way::Inferred => "inferred",
            Way::Ten => "ten",
            Way::Adbc => "adbc",
            Way::Parquet => "parquet",
            Way::SqliteUtils => "utils",
            Way::SerdeJson => "serde",
            Way::Json => "json",
            Way::FilesImport => "files import",
            Way::FilesOlder => "files older",
            Way::Files => "files",
            Way::FilesTable => "files table",
            Way::FilesTableOlder => "files table older",
            Way::Shell => "shell",
            Way::Dump => "dump",
            Way::MySqlDump => "mysqldump",
            Way::PostgresDump => "pg_dump",
            Way::ArchiveUnzip => "archive unzip",
            Way::Archive => "archive",
            Way::FolderImport => "folder import",
            Way::Folder => "folder",
            Way::Pandas => "pandas",
            Way::Spreadsheet => "sheet",
            Way::Whole => "whole",
            Way::Filtered => "filtered",
            Way::Added => "added",
            Way::Half => "half",
            Way::Duck => "duckdb",
        }
    }

    /// Returns the title in the table.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Way::Import => "`sqlite3`, `.import` into declared columns",
            Way::Unsafe => "the same with unsafe PRAGMAs, fsync",
            Way::Declared => "`sqluice load --schema`, durable",
            Way::Inferred => "`sqluice load`, inferred, durable",
            Way::Ten => "`sqluice load --schema`, ten times the rows",
            Way::Adbc => "`pyarrow.parquet.read_table`, `adbc_ingest`, without Python's start",
            Way::Parquet | Way::Json | Way::Spreadsheet => "`sqluice load`, durable",
            Way::Whole => "`sqluice load`, without expressions, durable",
            Way::Filtered => "with `--where` on a number, which keeps all rows",
            Way::Added => {
                "with `lower(l_comment)`, `l_extendedprice * (1 - l_discount)`, `substr(l_shipdate, 1, 7)`"
            }
            Way::Half => "the same with half of the rows",
            Way::Duck => {
                "DuckDB, `CREATE TABLE ... AS SELECT` of the same in an attached SQLite file, without Python's start"
            }
            Way::FilesImport => "`sqlite3`, `.import` of each file",
            Way::FilesOlder => "an older `sqluice load`, a table for each file, durable",
            Way::Files => "`sqluice load`, a table for each file, durable",
            Way::FilesTable => "`sqluice load --table`, durable",
            Way::FilesTableOlder => "an older `sqluice load --table`, durable",
            Way::Shell => "`sqlite3`, `.read` of its `.dump`",
            Way::Dump => "`sqluice load` of the `.dump`, durable",
            Way::MySqlDump => "`sqluice load` of a dump as of mysqldump, durable",
            Way::PostgresDump => "`sqluice load` of a dump as of pg_dump, durable",
            Way::ArchiveUnzip => "`unzip`, and `sqluice load` of the 20 files, durable",
            Way::Archive => "`sqluice load` of the archive, durable",
            Way::FolderImport => "`sqlite3`, `.import` of each of 1,000 files",
            Way::Folder => "`sqluice load` of the folder of 1,000 files, durable",
            Way::Pandas => "`pandas.read_excel`, `to_sql`, without Python's start",
            Way::SqliteUtils => "`sqlite-utils insert --nl`",
            Way::SerdeJson => "`serde_json`, 50 rows a prepared INSERT, unsafe PRAGMAs, fsync",
        }
    }
}
