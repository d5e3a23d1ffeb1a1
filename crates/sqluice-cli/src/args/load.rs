//! What `load` takes.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args as ClapArgs, ValueEnum};
use sqluice::convert::{Convert, DIRECTIVES};
use sqluice::{load, options};

use super::Write;
use crate::formats::{Decimal, Format, Role, Timestamp, delimiter, role};
use crate::numbers;
use sqluice::source::csv::Delimiter;

/// Load CSV, TSV, JSON, Parquet and Arrow files, and tables of databases, into a database
///
/// Creates the database and the tables as needed. An existing table is an error, unless --append, --replace-table or --upsert says
/// what to do with its rows. Then columns are matched by name: the table declares their types, and the DEFAULT of those that the
/// file does not have. An existing database changes in one transaction, even if several tables are loaded: a load that fails or
/// is killed changes nothing.
///
/// Delimiter, quote and header are recognised, gzip and zstd are unpacked, UTF-16 is read by its byte order mark. Columns get
/// the type that all of their values have: INTEGER, REAL or TEXT, so that nothing is lost; --schema declares them instead.
///
/// JSON is objects, one a line or one after another, or an array of them, which --records finds in a larger document. Each key is a column, wherever it first appears; arrays and objects within are
/// text, as they stand in the file, and true and false are 1 and 0.
///
/// Parquet and Arrow IPC files say which types their columns have. Dates, times and timestamps are text as ISO 8601 has it, with a
/// zone in UTC; lists, structs and maps are JSON.
///
/// Of a database all tables are loaded, or the one that --table names: rows and types of columns, not keys and indexes, which --schema
/// or other flags declare.
///
/// DB and FILES may be URLs: s3://bucket/name, gs://bucket/name, az://container/name, and for FILES https://host/name. Credentials are those of
/// the environment (AWS_ACCESS_KEY_ID and so on). A database in a store is uploaded as it is made, and is complete or absent; rows can't
/// be added to it.
///
/// The first bad row ends the load, and then nothing is written; --reject puts such rows into a file and goes on.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  one table a file, named after it:
    sqluice load shop.db orders.csv customers.tsv.gz
  many files, one table:
    sqluice load log.db 'log-*.csv.zst' --table log
  JSON, an object a line:
    sqluice load app.db events.ndjson.gz --index time
  GeoJSON, and other documents that hold the array of records further down:
    sqluice load map.db places.geojson --records features
  Parquet, some columns of it:
    sqluice load trips.db trips.parquet --columns vendor,start,fare
  from a store to a store, in the columns that are needed:
    sqluice load s3://bucket/trips.db 's3://bucket/2026/*.parquet' --table trips --columns vendor,fare
  from standard input:
    curl -s https://example.org/x.csv | sqluice load x.db - --table x
  tables of another database, with other types, keys or columns:
    sqluice load new.db old.db --schema new.sql
  other types than the values have: print the tables, change them, declare them:
    sqluice load shop.db orders.csv --dry-run > schema.sql
    sqluice load shop.db orders.csv --schema schema.sql
  dates, booleans and numbers as they are written elsewhere:
    sqluice load shop.db orders.csv --date placed=%d.%m.%Y --boolean paid=ja/nein --decimal-comma price --thousands price=.
  with a key and indexes:
    sqluice load shop.db orders.csv --primary-key id --index 'customer, date desc'
  bad rows go to a file of their own:
    sqluice load shop.db orders.csv --reject bad.csv
  more rows for an existing table, or new values for some of its rows:
    sqluice load shop.db orders-may.csv --table orders --append
    sqluice load shop.db prices.csv --upsert product")]
pub(crate) struct Load {
    /// The database, new or existing
    #[arg(value_name = "DB")]
    pub(crate) db: PathBuf,
    /// The files to load; - is standard input, and a pattern such as 'log-*.csv' stands for all that match
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// The table that all files go to [default: a table for each file, named after it]
    #[arg(short, long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), help_heading = "Table")]
    pub(crate) table: Option<String>,
    /// What tables are named after: the file, or the folders that it is in, too, below those that all files share
    #[arg(long, value_name = "WHAT", default_value = "file", help_heading = "Table")]
    pub(crate) name_from: NameFrom,
    /// A file with the CREATE TABLE statements, such as --dry-run prints; existing tables must be the same [default: made
    /// from the files]
    #[arg(long, value_name = "FILE.sql", help_heading = "Table")]
    pub(crate) schema: Option<PathBuf>,
    /// The type of a column, such as zip=TEXT; may be repeated [default: INTEGER, REAL or TEXT, which all its values have]
    #[arg(long = "type", value_name = "COL=TYPE", value_parser = column_type, conflicts_with = "schema", help_heading = "Table")]
    pub(crate) types: Vec<(String, String)>,
    /// The format of dates in a column, such as 'placed=%d.%m.%Y'; they become ISO 8601 text, which SQLite's date functions read. May be
    /// repeated [default: dates stay as they are written]
    #[arg(long, value_name = "COL=FORMAT", value_parser = date, long_help = date_help(), help_heading = "Table")]
    pub(crate) date: Vec<(String, String)>,
    /// A column of booleans, which become 1 and 0: true/false, t/f, yes/no, y/n, on/off, 1/0 in any case, or the two words that are given,
    /// as in 'paid=ja/nein'. May be repeated [default: such words are text]
    #[arg(long, value_name = "COL[=TRUE/FALSE]", value_parser = boolean, help_heading = "Table")]
    pub(crate) boolean: Vec<(String, Option<(String, String)>)>,
    /// A column of numbers with a decimal comma, such as 3,14; may be repeated [default: such numbers are text]
    #[arg(long, value_name = "COL", value_parser = NonEmptyStringValueParser::new(), help_heading = "Table")]
    pub(crate) decimal_comma: Vec<String>,
    /// The character between groups of three digits in the numbers of a column, such as 'price=,' where 1234567 is 1,234,567; may be
    /// repeated [default: such numbers are text]
    #[arg(long, value_name = "COL=CHAR", value_parser = thousands, help_heading = "Table")]
    pub(crate) thousands: Vec<(String, String)>,
    /// Make STRICT tables [default: ordinary ones]
    #[arg(long, conflicts_with = "schema", help_heading = "Table")]
    pub(crate) strict: bool,
    /// Load these columns only, in this order; with --no-header: the names of the columns [default: all]
    #[arg(long, value_name = "A,B,...", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new(), help_heading = "Table")]
    pub(crate) columns: Option<Vec<String>>,
    /// Add the columns that the table, or the first file of a new one, does not have [default: an error]
    #[arg(long, visible_alias = "alter", help_heading = "Table")]
    pub(crate) add_columns: bool,
    /// Read at most N records of each table, bad ones included [default: all]
    #[arg(long, value_name = "N", value_parser = numbers::count, help_heading = "Table")]
    pub(crate) limit: Option<u64>,

    /// Add the rows to those of an existing table [default: an existing table is an error]
    #[arg(long, conflicts_with_all = ["overwrite", "replace_table", "upsert"], help_heading = "Existing tables")]
    pub(crate) append: bool,
    /// Replace all rows of an existing table. Its columns, indexes and triggers stay; its rows are removed by DELETE, for
    /// which its triggers fire [default: an existing table is an error]
    #[arg(long, conflicts_with_all = ["overwrite", "upsert"], help_heading = "Existing tables")]
    pub(crate) replace_table: bool,
    /// Update the existing rows that have the same values in these columns, which must be a key of the table, and insert the others.
    /// Columns that the file does not have stay as they are [default: an existing table is an error]
    #[arg(long, value_name = "A,B,...", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new(), conflicts_with_all = ["overwrite", "on_conflict"], help_heading = "Existing tables")]
    pub(crate) upsert: Option<Vec<String>>,

    /// The columns of the PRIMARY KEY. One INTEGER column names the rowid itself, and SQLite gives the next number for NULL; of
    /// others none may be NULL [default: none]
    #[arg(long, visible_alias = "pk", value_name = "A,B,...", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new(), conflicts_with = "schema", help_heading = "Keys and indexes")]
    pub(crate) primary_key: Vec<String>,
    /// Make the tables WITHOUT ROWID: rows are kept in the order of the PRIMARY KEY [default: in the order of rowids]
    #[arg(long, requires = "primary_key", help_heading = "Keys and indexes")]
    pub(crate) without_rowid: bool,
    /// Make an index, such as 'a, b DESC' or 'name COLLATE NOCASE'; may be repeated. A name with a comma in it goes between "
    /// [default: none]
    #[arg(long, value_name = "COLUMNS", help_heading = "Keys and indexes")]
    pub(crate) index: Vec<String>,
    /// Make a unique index; may be repeated [default: none]
    #[arg(long, value_name = "COLUMNS", conflicts_with = "schema", help_heading = "Keys and indexes")]
    pub(crate) unique: Vec<String>,
    /// What to do with a row whose key another row has already; ON CONFLICT clauses in the schema are not followed [default: abort]
    #[arg(long, value_name = "WHAT", help_heading = "Keys and indexes")]
    pub(crate) on_conflict: Option<OnConflict>,

    /// What the files are [default: recognised by name and content]
    #[arg(short, long, value_name = "FORMAT", help_heading = "Format")]
    pub(crate) format: Option<Format>,
    /// What stands between fields: one character or several, tab, whitespace for runs of blanks, none for one column [default:
    /// recognised]
    #[arg(short, long, value_name = "TEXT", value_parser = delimiter, help_heading = "Format")]
    pub(crate) delimiter: Option<Delimiter>,
    /// The character around fields, or none [default: recognised: " or ']
    #[arg(long, value_name = "CHAR", value_parser = role, help_heading = "Format")]
    pub(crate) quote: Option<Role>,
    /// The character that makes the next one within quotes stand for itself, or none [default: recognised: none or \; a quote is
    /// doubled]
    #[arg(long, value_name = "CHAR", value_parser = role, help_heading = "Format")]
    pub(crate) escape: Option<Role>,
    /// The first record names the columns [default: recognised]
    #[arg(long, conflicts_with = "no_header", help_heading = "Format")]
    pub(crate) header: bool,
    /// The first record is a row; the columns are called column1, column2, ... [default: recognised]
    #[arg(long, help_heading = "Format")]
    pub(crate) no_header: bool,
    /// Skip N lines at the start; 0 keeps all [default: recognised: lines before the table]
    #[arg(long, value_name = "N", value_parser = numbers::count, help_heading = "Format")]
    pub(crate) skip_lines: Option<u64>,
    /// Skip lines that begin with this character, or none [default: recognised: none or #]
    #[arg(long, value_name = "CHAR", value_parser = role, help_heading = "Format")]
    pub(crate) comment: Option<Role>,
    /// An unquoted field that is NULL, such as NA, besides the empty one; may be repeated [default: none]
    #[arg(long, value_name = "TOKEN", help_heading = "Format")]
    pub(crate) null: Vec<String>,
    /// Take an unquoted empty field for empty text, not for NULL
    #[arg(long, help_heading = "Format")]
    pub(crate) empty_as_text: bool,
    /// Fill fields that are missing at the end of a record with NULL [default: such a row is bad]
    #[arg(long, help_heading = "Format")]
    pub(crate) pad: bool,
    /// Take a quote inside an unquoted field for a fault [default: it is a character like any other]
    #[arg(long, help_heading = "Format")]
    pub(crate) strict_quotes: bool,
    /// The encoding of the files, such as windows-1252 or utf-16le [default: UTF-8, or what a byte order mark says]
    #[arg(short = 'E', long, value_name = "NAME", help_heading = "Format")]
    pub(crate) encoding: Option<String>,

    /// Where a JSON document has its array of records, such as features or data.items [default: it is the array, or objects]
    #[arg(long, value_name = "PATH", help_heading = "Format")]
    pub(crate) records: Option<String>,
    /// What decimals of Parquet and Arrow files become
    #[arg(long, value_name = "WHAT", default_value = "auto", help_heading = "Format")]
    pub(crate) decimal: Decimal,
    /// What timestamps of Parquet and Arrow files become
    #[arg(long, value_name = "WHAT", default_value = "iso", help_heading = "Format")]
    pub(crate) timestamp: Timestamp,

    /// Put bad rows into this new CSV file, with line and reason, and go on [default: the first one ends the load]
    #[arg(long, value_name = "FILE", help_heading = "Bad rows")]
    pub(crate) reject: Option<PathBuf>,
    /// Replace the --reject file if it exists [default: an existing one is an error]
    #[arg(long, requires = "reject", help_heading = "Bad rows")]
    pub(crate) overwrite_reject: bool,
    /// Stop when more rows than this are bad [default: any number may be]
    #[arg(long, value_name = "N", value_parser = numbers::count, requires = "reject", help_heading = "Bad rows")]
    pub(crate) max_rejects: Option<u64>,
    /// Leave out files that can't be loaded, list them at the end, and exit with 1 [default: they end the load]
    #[arg(long, help_heading = "Bad rows")]
    pub(crate) skip_bad_files: bool,
    /// Accept values that SQLite would round or overflow: integers beyond 64 bits and numbers beyond the range of floats
    /// [default: such a row is bad]
    #[arg(long, help_heading = "Bad rows")]
    pub(crate) lossy: bool,

    #[command(flatten)]
    pub(crate) write: Write,
}

/// What a table is named after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NameFrom {
    /// The name of its file: sales of 2024/sales.csv
    File,
    /// That and its folders: 2024_sales
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

/// How a row is handled that has the key of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnConflict {
    /// It ends the load
    Abort,
    /// It is left out
    Ignore,
    /// The one before it is left out
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
        "The format of dates in a column, such as 'placed=%d.%m.%Y'. They become ISO 8601 text, which SQLite's date functions read: \
         2024-01-31, with a time 2024-01-31 13:45:00, and with a zone in UTC 2024-01-31 12:45:00+00:00. What does not match is a bad row. \
         May be repeated [default: dates stay as they are written]\n\nDirectives: {DIRECTIVES}"
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
