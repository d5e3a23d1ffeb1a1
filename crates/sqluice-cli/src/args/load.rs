//! The arguments of `load`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::settings::{self, Flags};

/// Load CSV, JSON, Parquet, Arrow and Avro files, or tables of other databases, into a database
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
/// SQLite databases: all tables are loaded, or those that --table names. Rows and column types are kept; keys and indexes are not, unless
/// --schema or other flags declare them.
///
/// SQL dumps of SQLite, MySQL, MariaDB and PostgreSQL: the statements declare the tables, with keys and indexes. A dump is loaded alone; --table
/// loads some of its tables, and --database chooses one of several databases.
///
/// URLs: DB and FILE may be s3://bucket/name, gs://bucket/name or az://container/name, and FILE also https://host/name. Credentials are
/// read from the environment, such as AWS_ACCESS_KEY_ID. A database in an object store is uploaded as it is written and appears only once
/// complete; rows cannot be added to it later.
///
/// The first bad row ends the load, and nothing is written. --reject writes bad rows to a file instead and continues.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice load shop.db orders.csv customers.tsv.gz
  sqluice load log.db 'log-*.csv.zst' --table log
  sqluice load shop.db orders.csv --primary-key id --index 'customer, date desc'
  sqluice load shop.db orders-may.csv --table orders --append")]
#[command(after_long_help = "Examples:
  One table per file, named after the file:
    sqluice load shop.db orders.csv customers.tsv.gz
  Many files into one table:
    sqluice load log.db 'log-*.csv.zst' --table log
  JSON, one object per line:
    sqluice load app.db events.ndjson.gz --index time
  GeoJSON, and other documents with an array of records inside:
    sqluice load map.db places.geojson --records features
  Some columns of a Parquet file:
    sqluice load trips.db trips.parquet --columns vendor,start,fare
  From one object store to another, only the columns that are needed:
    sqluice load s3://bucket/trips.db 's3://bucket/2026/*.parquet' --table trips --columns vendor,fare
  From standard input:
    curl -s https://example.org/x.csv | sqluice load x.db - --table x
  Tables of another database, with other types, keys or columns:
    sqluice load new.db old.db --schema new.sql
  A dump of a database server, or of another SQLite database:
    sqluice load shop.db dump.sql.gz
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
    /// The files; - is standard input, and a pattern such as 'log-*.csv' all files that match
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// `true` if the command line names files alone: such a user learns how to go on.
    #[arg(skip)]
    pub(crate) is_first: bool,
    #[command(flatten)]
    pub(crate) flags: Flags<settings::Load>,
}
