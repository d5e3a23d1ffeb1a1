//! What `load` takes.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args as ClapArgs, ValueEnum};
use sqluice::convert::{Convert, DIRECTIVES};
use sqluice::load::FileFormat;
use sqluice::{load, options};

use super::Write;
use crate::formats::{self, Decimal, Role, Timestamp, delimiter, role};
use crate::numbers;
use sqluice::source::csv::Delimiter;

/// Load CSV, JSON, Parquet, Arrow and Avro files, or tables of other databases, into a database
///
/// The database and its tables are created as needed. By default each file becomes a table named after it. An existing table is an error
/// unless --append, --replace-table or --upsert is given; columns are then matched by name, the table declares their types, and columns
/// that the file lacks get their DEFAULT.
///
/// Loads are all or nothing. A new database appears only once complete. An existing database changes in one transaction, even if several
/// tables are loaded. A load that fails or is killed changes nothing.
///
/// CSV: delimiter, quote and header are recognised. gzip and zstd are decompressed, and UTF-16 is recognised by its byte order mark. Each
/// column gets a type that fits all of its values, INTEGER, REAL or TEXT, so that no value changes. --type and --schema declare other types.
///
/// JSON: one object per line, objects one after another, or an array of objects, which --records finds within a larger document. Each key
/// becomes a column. Nested arrays and objects are stored as their JSON text, true and false as 1 and 0.
///
/// Parquet, Arrow IPC and Avro: the file declares the types. Dates, times and timestamps become ISO 8601 text, with a time zone in UTC.
/// Lists, structs and maps become JSON text.
///
/// SQLite databases: all tables are loaded, or the one that --table names. Rows and column types are kept; keys and indexes are not, unless
/// --schema or other flags declare them.
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

    /// Load all files into this table [default: one table per file]
    #[arg(short, long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) table: Option<String>,
    /// Take the tables and types from this file [default: recognised]
    #[arg(
        long_help = "Declare the tables by the CREATE TABLE statements in this file, such as --dry-run prints. Existing tables must be declared the same [default: the tables follow from the files]",
        long,
        value_name = "FILE.sql"
    )]
    pub(crate) schema: Option<PathBuf>,
    /// Name tables after the file alone, or also after its folders, below the folder that all files share
    #[arg(long, value_name = "WHAT", default_value = "file", hide_short_help = true)]
    pub(crate) name_from: NameFrom,
    /// Read at most N records of each table, including bad ones [default: all]
    #[arg(long, value_name = "N", value_parser = numbers::count, hide_short_help = true)]
    pub(crate) limit: Option<u64>,

    /// Declare the type of a column, such as zip=TEXT; repeatable
    #[arg(long_help = "Declare the type of a column, such as zip=TEXT; repeatable [default: INTEGER, REAL or TEXT, whichever fits all values]", long = "type", value_name = "COL=TYPE", value_parser = column_type, conflicts_with = "schema", help_heading = "Columns and types")]
    pub(crate) types: Vec<(String, String)>,
    /// Load only these columns, in this order [default: all]
    #[arg(long_help = "Load only these columns, in this order. With --no-header, these are the names of the columns [default: all columns]", long, value_name = "A,B,...", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new(), help_heading = "Columns and types")]
    pub(crate) columns: Option<Vec<String>>,
    /// Add columns that the table lacks, or that the first file of a new table lacks [default: such columns are an error]
    #[arg(long, visible_alias = "alter", help_heading = "Columns and types", hide_short_help = true)]
    pub(crate) add_columns: bool,
    /// Read a column as dates in this format, such as 'placed=%d.%m.%Y'
    #[arg(long, value_name = "COL=FORMAT", value_parser = date, long_help = date_help(), help_heading = "Columns and types", hide_short_help = true)]
    pub(crate) date: Vec<(String, String)>,
    /// Read a column as booleans and store 1 and 0; repeatable
    #[arg(long_help = "Read a column as booleans and store 1 and 0: true/false, t/f, yes/no, y/n, on/off or 1/0 in any case, or the two words that are given, as in 'paid=ja/nein'; repeatable [default: such words are stored as text]", long, value_name = "COL[=TRUE/FALSE]", value_parser = boolean, help_heading = "Columns and types", hide_short_help = true)]
    pub(crate) boolean: Vec<(String, Option<(String, String)>)>,
    /// Read a column as numbers with a decimal comma, such as 3,14; repeatable [default: such numbers are stored as text]
    #[arg(long, value_name = "COL", value_parser = NonEmptyStringValueParser::new(), help_heading = "Columns and types", hide_short_help = true)]
    pub(crate) decimal_comma: Vec<String>,
    /// Read a column as numbers with this character between groups of three digits; repeatable
    #[arg(long_help = "Read a column as numbers with this character between groups of three digits: with 'price=,' 1,234,567 is 1234567; repeatable [default: such numbers are stored as text]", long, value_name = "COL=CHAR", value_parser = thousands, help_heading = "Columns and types", hide_short_help = true)]
    pub(crate) thousands: Vec<(String, String)>,
    /// Create STRICT tables [default: ordinary tables]
    #[arg(long, conflicts_with = "schema", help_heading = "Columns and types", hide_short_help = true)]
    pub(crate) strict: bool,
    /// Accept values that SQLite would round or overflow: integers beyond 64 bits and numbers beyond the range of floats
    /// [default: such a row is bad]
    #[arg(long, help_heading = "Columns and types", hide_short_help = true)]
    pub(crate) lossy: bool,
    /// Store decimals of Parquet, Arrow and Avro files as
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "auto",
        help_heading = "Columns and types",
        hide_short_help = true
    )]
    pub(crate) decimal: Decimal,
    /// Store timestamps of Parquet, Arrow and Avro files as
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "iso",
        help_heading = "Columns and types",
        hide_short_help = true
    )]
    pub(crate) timestamp: Timestamp,

    /// Add the rows to an existing table
    #[arg(long_help = "Add the rows to an existing table [default: an existing table is an error]", long, conflicts_with_all = ["overwrite", "replace_table", "upsert"], help_heading = "Existing tables")]
    pub(crate) append: bool,
    /// Replace all rows of an existing table
    #[arg(long_help = "Replace all rows of an existing table. Its columns, indexes and triggers stay. The old rows are deleted by DELETE, which fires triggers [default: an existing table is an error]", long, conflicts_with_all = ["overwrite", "upsert"], help_heading = "Existing tables")]
    pub(crate) replace_table: bool,
    /// Update rows that have the same values in this key; insert the others
    #[arg(long_help = "Update the existing rows that have the same values in these columns, which must be a key of the table, and insert the other rows. Columns that the file lacks are not changed [default: an existing table is an error]", long, value_name = "A,B,...", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new(), conflicts_with_all = ["overwrite", "on_conflict"], help_heading = "Existing tables")]
    pub(crate) upsert: Option<Vec<String>>,

    /// Make these columns the PRIMARY KEY
    #[arg(long_help = "Make these columns the PRIMARY KEY. A single INTEGER column becomes the rowid, and SQLite numbers its NULLs; other key columns must not be NULL. With several tables, the key applies to each table that has all those columns [default: none]", long, visible_alias = "pk", value_name = "A,B,...", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new(), conflicts_with = "schema", help_heading = "Keys and indexes")]
    pub(crate) primary_key: Vec<String>,
    /// Create an index, such as 'a, b DESC'; repeatable
    #[arg(
        long_help = "Create an index, such as 'a, b DESC' or 'name COLLATE NOCASE'; repeatable. Put a column name that contains a comma between \". With several tables, the index applies to each table that has all those columns [default: none]",
        long,
        value_name = "COLUMNS",
        help_heading = "Keys and indexes"
    )]
    pub(crate) index: Vec<String>,
    /// Create a unique index; repeatable [default: none]
    #[arg(
        long,
        value_name = "COLUMNS",
        conflicts_with = "schema",
        help_heading = "Keys and indexes",
        hide_short_help = true
    )]
    pub(crate) unique: Vec<String>,
    /// Create WITHOUT ROWID tables, whose rows are kept in the order of the PRIMARY KEY [default: tables with rowids]
    #[arg(long, requires = "primary_key", help_heading = "Keys and indexes", hide_short_help = true)]
    pub(crate) without_rowid: bool,
    /// What to do with a row whose key exists already; ON CONFLICT clauses in the schema are not used [default: abort]
    #[arg(long, value_name = "WHAT", help_heading = "Keys and indexes", hide_short_help = true)]
    pub(crate) on_conflict: Option<OnConflict>,

    #[arg(
        help = "The format, such as csv or json [default: recognised]",
        long_help = format!("The format of the files: {} [default: recognised by name and content]", load::formats::names()),
        short,
        long,
        value_name = "FORMAT",
        value_parser = formats::input(),
        help_heading = "File format",
        hide_possible_values = true
    )]
    pub(crate) format: Option<&'static FileFormat>,
    /// What separates fields: ';', tab, whitespace, none [default: recognised]
    #[arg(long_help = "What separates fields: one or several characters, tab, whitespace (runs of blanks), or none for a single column [default: recognised]", short, long, value_name = "TEXT", value_parser = delimiter, help_heading = "File format")]
    pub(crate) delimiter: Option<Delimiter>,
    /// The character around fields, or none [default: recognised: " or ']
    #[arg(long, value_name = "CHAR", value_parser = role, help_heading = "File format", hide_short_help = true)]
    pub(crate) quote: Option<Role>,
    /// The character that escapes the next one within quotes, or none [default: recognised: none or \; a quote is doubled]
    #[arg(long, value_name = "CHAR", value_parser = role, help_heading = "File format", hide_short_help = true)]
    pub(crate) escape: Option<Role>,
    /// The first record names the columns [default: recognised]
    #[arg(long, conflicts_with = "no_header", help_heading = "File format", hide_short_help = true)]
    pub(crate) header: bool,
    /// The first record is a row; the columns are named column1, column2, ... [default: recognised]
    #[arg(long, help_heading = "File format", hide_short_help = true)]
    pub(crate) no_header: bool,
    /// Skip N lines at the start; 0 keeps all [default: recognised: lines before the table]
    #[arg(long, value_name = "N", value_parser = numbers::count, help_heading = "File format", hide_short_help = true)]
    pub(crate) skip_lines: Option<u64>,
    /// Skip lines that begin with this character, or none [default: recognised: none or #]
    #[arg(long, value_name = "CHAR", value_parser = role, help_heading = "File format", hide_short_help = true)]
    pub(crate) comment: Option<Role>,
    /// Read this unquoted text, such as NA, as NULL, in addition to the empty field; repeatable [default: none]
    #[arg(long, value_name = "TOKEN", help_heading = "File format", hide_short_help = true)]
    pub(crate) null: Vec<String>,
    /// Read an unquoted empty field as empty text, not as NULL
    #[arg(long, help_heading = "File format", hide_short_help = true)]
    pub(crate) empty_as_text: bool,
    /// The encoding of the files, such as windows-1252 or utf-16le [default: UTF-8, or what the byte order mark says]
    #[arg(short = 'E', long, value_name = "NAME", help_heading = "File format", hide_short_help = true)]
    pub(crate) encoding: Option<String>,
    /// The path to the array of records in a JSON document, such as features or data.items [default: the whole document]
    #[arg(long, value_name = "PATH", help_heading = "File format", hide_short_help = true)]
    pub(crate) records: Option<String>,

    /// Write bad rows to this new CSV file and continue [default: stop]
    #[arg(
        long_help = "Write bad rows to this new CSV file, with line and reason, and continue [default: the first bad row ends the load]",
        long,
        value_name = "FILE",
        help_heading = "Bad rows"
    )]
    pub(crate) reject: Option<PathBuf>,
    /// Replace the --reject file if it exists [default: an existing file is an error]
    #[arg(long, requires = "reject", help_heading = "Bad rows", hide_short_help = true)]
    pub(crate) overwrite_reject: bool,
    /// Stop if more rows than this are bad [default: no limit]
    #[arg(long, value_name = "N", value_parser = numbers::count, requires = "reject", help_heading = "Bad rows", hide_short_help = true)]
    pub(crate) max_rejects: Option<u64>,
    /// Fill fields that are missing at the end of a record with NULL [default: such a row is bad]
    #[arg(long, help_heading = "Bad rows", hide_short_help = true)]
    pub(crate) pad: bool,
    /// Treat a quote inside an unquoted field as an error [default: it is an ordinary character]
    #[arg(long, help_heading = "Bad rows", hide_short_help = true)]
    pub(crate) strict_quotes: bool,
    /// Leave out files that cannot be loaded, list them at the end, and exit with 1 [default: they end the load]
    #[arg(long, help_heading = "Bad rows", hide_short_help = true)]
    pub(crate) skip_bad_files: bool,

    #[command(flatten)]
    pub(crate) write: Write,
}

/// What tables are named after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NameFrom {
    /// The file: sales for 2024/sales.csv
    File,
    /// The file and its folders: 2024_sales
    Path,
}

impl From<NameFrom> for load::NameFrom {
    fn from(what: NameFrom) -> load::NameFrom {
        match what {
            NameFrom::File => load::NameFrom::File,
            NameFrom::Path => load::NameFrom::Path,
        }
    }
}

/// How a row is handled whose key exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnConflict {
    /// End the load with an error
    Abort,
    /// Keep the first row
    Ignore,
    /// Keep the last row
    Replace,
}

impl From<OnConflict> for options::OnConflict {
    fn from(what: OnConflict) -> options::OnConflict {
        match what {
            OnConflict::Abort => options::OnConflict::Abort,
            OnConflict::Ignore => options::OnConflict::Ignore,
            OnConflict::Replace => options::OnConflict::Replace,
        }
    }
}

fn column_type(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once('=') {
        Some((column, declared)) if !column.is_empty() && !declared.trim().is_empty() => {
            Ok((column.to_owned(), declared.trim().to_owned()))
        }
        _ => Err(format!("{text:?} is not COLUMN=TYPE, such as zip=TEXT")),
    }
}

/// A column and a format, which begins before its first directive.
fn date(text: &str) -> Result<(String, String), String> {
    let directive = text.find('%').unwrap_or(text.len());
    match text[..directive].rsplit_once('=') {
        Some((column, before)) if !column.is_empty() => {
            Ok((column.to_owned(), text[directive - before.len()..].to_owned()))
        }
        _ => Err(format!("{text:?} is not COLUMN=FORMAT, such as placed=%d.%m.%Y")),
    }
}

fn date_help() -> String {
    format!(
        "Read a column as dates in this format, such as 'placed=%d.%m.%Y', and store ISO 8601 text, which SQLite's date functions read: \
         2024-01-31, with a time 2024-01-31 13:45:00, with a time zone 2024-01-31 12:45:00+00:00 in UTC. A value that does not match makes a \
         bad row; repeatable [default: dates are stored as written]\n\nDirectives: {DIRECTIVES}"
    )
}

fn boolean(text: &str) -> Result<(String, Option<(String, String)>), String> {
    match text.rsplit_once('=').map(|(column, words)| (column, words.split_once('/'))) {
        None if !text.is_empty() => Ok((text.to_owned(), None)),
        Some((column, Some((yes, no)))) if !column.is_empty() => {
            Ok((column.to_owned(), Some((yes.to_owned(), no.to_owned()))))
        }
        _ => Err(format!("{text:?} is not COLUMN or COLUMN=TRUE/FALSE, such as paid=ja/nein")),
    }
}

fn thousands(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once('=') {
        Some((column, separator)) if !column.is_empty() && !separator.is_empty() => {
            Ok((column.to_owned(), separator.to_owned()))
        }
        _ => Err(format!("{text:?} is not COLUMN=CHAR, such as price=,")),
    }
}

impl Load {
    /// The columns whose text means something else.
    pub(crate) fn convert(&self) -> Vec<(String, Convert)> {
        Convert::all(&self.date, &self.boolean, &self.decimal_comma, &self.thousands)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_converted_column_is_named_before_what_its_text_is() {
        let pair = |column: &str, what: &str| Ok((column.to_owned(), what.to_owned()));
        assert_eq!(date("a=b=%Y=%m"), pair("a=b", "%Y=%m"));
        assert_eq!(date("a=on %d"), pair("a", "on %d"));
        assert_eq!(thousands("a=b=,"), pair("a=b", ","));
        assert_eq!(boolean("a"), Ok(("a".to_owned(), None)));
        let words = Some(("ja".to_owned(), "nein".to_owned()));
        assert_eq!(boolean("a=b=ja/nein"), Ok(("a=b".to_owned(), words)));
        assert!(["%d", "=%d", "", "a"].into_iter().all(|text| date(text).is_err()));
        assert!(["a=b", "=ja/nein", ""].into_iter().all(|text| boolean(text).is_err()));
        assert!(["a", "=,", "a="].into_iter().all(|text| thousands(text).is_err()));
    }

    #[test]
    fn a_type_belongs_to_a_column_whose_name_may_hold_anything() {
        assert_eq!(column_type("a=b=TEXT"), Ok(("a=b".to_owned(), "TEXT".to_owned())));
        assert!(["a", "=TEXT", "a=", "a= "].into_iter().all(|text| column_type(text).is_err()));
    }
}
