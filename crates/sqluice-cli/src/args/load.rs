//! The command line of `load` and the text of `--help`. Most flags are declared in `settings::Load`. Here are the arguments `DB` and
//! `FILE`, and the flag `--ask-password`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::settings::{self, Flags};

/// Load CSV, JSON, Parquet, Avro, SQL and Excel files, or tables of databases, into a database
///
/// The database and its tables are created as needed. By default each file becomes a table named after it. An existing table is an error
/// unless --append, --replace-table or --upsert is given; columns are then matched by name, the table declares their types, and columns
/// that the file lacks get their DEFAULT.
///
/// Loads are all or nothing. A new database appears only once complete. An existing database changes in one transaction, even if several
/// tables are loaded. A load that fails or is killed changes nothing.
///
/// CSV: delimiter, quote and header are recognised. gzip, zstd, bzip2 and xz are decompressed, and UTF-16 is recognised by its byte order
/// mark. Each column gets a type that fits all of its values, INTEGER, REAL or TEXT, so that no value changes. --type and --schema declare
/// other types.
///
/// JSON: one object per line, objects one after another, or an array of objects, which --records finds within a larger document. Each key
/// becomes a column. Nested arrays and objects are stored as their JSON text, true and false as 1 and 0.
///
/// Parquet, Arrow IPC and Avro: the file declares the types. Dates, times and timestamps become ISO 8601 text, with a time zone in UTC.
/// Lists, structs and maps become JSON text.
///
/// Spreadsheets (XLSX, XLSB, ODS, XLS): each sheet that is not hidden becomes a table, or those that --sheet names. --range chooses cells.
/// The header is recognised as that of CSV; dates and times become ISO 8601 text, and formulas have the values that are stored with them.
///
/// SQLite databases: all tables are loaded, or those that --table names. Rows and column types are kept; keys and indexes are not, unless
/// --schema or other flags declare them.
///
/// SQL dumps of SQLite, MySQL, MariaDB and PostgreSQL: the statements declare the tables, with keys and indexes. A dump is loaded alone;
/// --table loads some of its tables, and --database chooses one of several databases.
///
/// Folders, and ZIP and tar archives: each file below becomes a table, if its extension is that of a format. Hidden files, databases,
/// dumps, text without columns and others are left out and listed; a file that is named is loaded in any case. data.zip/a.csv and
/// 'data.zip/*.csv' name files in an archive. Files of the same name in different folders make tables named after folder and file.
///
/// URLs: DB and FILE may be s3://bucket/name, gs://bucket/name or az://container/name, and FILE also https://host/name. Credentials are
/// read from the environment, such as AWS_ACCESS_KEY_ID. A database in an object store is uploaded as it is written and appears only once
/// complete; rows cannot be added to it later.
///
/// Servers: in the place of files, postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE. Passwords are read from ~/.pgpass,
/// PGPASSWORD, ~/.my.cnf and MYSQL_PWD, or typed after --ask-password.
///
/// The first bad row ends the load, and nothing is written. --reject writes bad rows to a file instead and continues.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice load shop.db orders.csv customers.tsv.gz
  sqluice load log.db 'log-*.csv.zst' --table log
  sqluice load feed.db gtfs.zip
  sqluice load shop.db orders.csv --primary-key id --index 'customer, date desc'")]
#[command(after_long_help = "Examples:
  One table per file, named after the file:
    sqluice load shop.db orders.csv customers.tsv.gz
  Many files into one table:
    sqluice load log.db 'log-*.csv.zst' --table log
  All files in a folder or an archive, or some files in an archive:
    sqluice load shop.db exports/
    sqluice load feed.db gtfs.zip
    sqluice load feed.db 'gtfs.zip/stop*.txt'
  JSON, one object per line:
    sqluice load app.db events.ndjson.gz --index time
  GeoJSON, and other documents with an array of records inside:
    sqluice load map.db places.geojson --records features
  Some columns of a Parquet file:
    sqluice load trips.db trips.parquet --columns vendor,start,fare
  A sheet of a workbook, from its third row on:
    sqluice load shop.db orders.xlsx --sheet Orders --range A3:F
  From one object store to another, only the columns that are needed:
    sqluice load s3://bucket/trips.db 's3://bucket/2026/*.parquet' --table trips --columns vendor,fare
  From standard input:
    curl -s https://example.org/x.csv | sqluice load x.db - --table x
  Tables of another database, with other types, keys or columns:
    sqluice load new.db old.db --schema new.sql
  A dump of a database server, or of another SQLite database:
    sqluice load shop.db dump.sql.gz
  The tables of a server, in one snapshot:
    sqluice load shop.db postgres://ann@db.example.org/shop
  Other types than the recognised ones: print the schema, edit it, use it:
    sqluice load shop.db orders.csv --dry-run > schema.sql
    sqluice load shop.db orders.csv --schema schema.sql
  Dates, booleans and numbers in local notation:
    sqluice load shop.db orders.csv --date placed=%d.%m.%Y --boolean paid=ja/nein --decimal-comma price --thousands price=.
  A primary key and an index:
    sqluice load shop.db orders.csv --primary-key id --index 'customer, date desc'
  Bad rows into a file of their own:
    sqluice load shop.db orders.csv --reject bad.csv
  More rows for an existing table, or new values for some of its rows:
    sqluice load shop.db orders-may.csv --table orders --append
    sqluice load shop.db prices.csv --upsert product")]
pub(crate) struct Load {
    /// The database; it is created if needed
    #[arg(value_name = "DB")]
    pub(crate) db: PathBuf,
    /// Files, folders and archives; - is standard input, 'log-*.csv' all files that match
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// `true` if the command line names only files and no command. The next commands are then suggested after the load.
    #[arg(skip)]
    pub(crate) is_first: bool,
    #[command(flatten)]
    pub(crate) flags: Flags<settings::Load>,
    /// Ask for the password of a server on the terminal [default: it is read from files and variables]
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    #[arg(long, help_heading = "Servers", hide_short_help = true)]
    pub(crate) ask_password: bool,
}
