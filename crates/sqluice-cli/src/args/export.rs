//! The command line of `export` and the text of `--help`. The flags are declared in `settings::Export`. Here are the arguments `DB` and
//! `TABLE`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::settings::{self, Flags};

/// Export tables, views or a query to CSV, JSON, Parquet or Arrow files, or a database to SQL
///
/// Tables are read page by page and encoded on all cores. SQLite reads views, virtual tables, computed columns and queries. All files show
/// one committed state of the database, and each file appears only once complete. In WAL mode, other programs can write to the database
/// meanwhile; in other journal modes their commits wait, at most as long as --busy-limit.
///
/// The database may be a URL: s3://bucket/name, gs://bucket/name, az://container/name or https://host/name. It is fetched to a temporary
/// file first.
///
/// `sqluice load` reads exported files other than SQL back as the same values. In CSV and TSV, NULL is an empty field and empty text is "".
/// Numbers keep all digits. CSV and JSON cannot hold blobs and infinities: these are errors that name table, row and column, unless --mixed
/// null writes NULL instead.
///
/// Columns of Parquet and Arrow files have types. Columns declared INTEGER become 64-bit integers, REAL doubles, TEXT strings, BLOB binary;
/// other columns get the type of their values. A value of another type is an error, unless --mixed says how to write it.
///
/// A .sql file has the statements that make the whole database, or the named tables with their indexes and triggers: `sqlite3 new.db <
/// dump.sql`. Rowids, sequences, statistics, virtual tables, user_version, application_id, page size and encoding are kept. For virtual
/// tables and sqlite_stat4, newer versions of sqlite3 need -cmd '.dbconfig defensive off'.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice export shop.db orders --to orders.csv
  sqluice export shop.db --to backup/ --format parquet
  sqluice export shop.db --to dump.sql.gz
  sqluice export shop.db orders --to large.csv --columns id,total --where 'total > 1000' --limit 100
  sqluice export shop.db orders --to - --format csv | head")]
#[command(after_long_help = "Examples:
  A table, in the format that the file name says:
    sqluice export shop.db orders --to orders.csv
    sqluice export shop.db orders --to orders.ndjson.gz
    sqluice export shop.db orders --to orders.parquet
  All tables, one file each:
    sqluice export shop.db --to backup/ --format parquet
  The whole database as SQL statements:
    sqluice export shop.db --to dump.sql.gz
  Some columns and rows:
    sqluice export shop.db orders --to large.csv --columns id,total --where 'total > 1000' --limit 100
  A query:
    sqluice export shop.db --query 'SELECT day, sum(total) AS total FROM orders GROUP BY day' --to days.csv
  Into another program:
    sqluice export shop.db orders --to - --format csv | head")]
pub(crate) struct Export {
    /// The database
    #[arg(value_name = "DB")]
    pub(crate) source: PathBuf,
    /// Tables and views to export [default: the only table, or all tables if --to is a folder or a .sql file]
    #[arg(value_name = "TABLE")]
    pub(crate) tables: Vec<String>,
    #[command(flatten)]
    pub(crate) flags: Flags<settings::Export>,
}
