//! What can be said on the command line.

mod lab;
mod rows;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args as ClapArgs, ColorChoice, Parser, Subcommand, ValueEnum};
use sqluice::r#gen::{FUNCTIONS, PRESETS, Preset};
use sqluice::plan::{self, WriteOptions};
use sqluice_format::page::PageSize;

use crate::formats::{Decimal, Format, Quote, Timestamp, character, quote};
use crate::numbers;
pub(crate) use lab::Lab;
pub(crate) use rows::Rows;

/// Fill SQLite files at the speed of the disk.
#[derive(Debug, Parser)]
#[command(name = "sqluice", version = version(), about = "Fill SQLite files at the speed of the disk", propagate_version = false, max_term_width = 100)]
#[command(
    after_help = "Exit status: 0 done, 1 the input or the target is at fault, 2 wrong usage, 130 interrupted."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

/// The version of this program and of the SQLite in it.
fn version() -> &'static str {
    static VERSION: LazyLock<String> =
        LazyLock::new(|| format!("{} (SQLite {})", env!("CARGO_PKG_VERSION"), sqluice::sqlite_version()));
    &VERSION
}

/// Flags of every verb.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Output")]
pub(crate) struct Global {
    /// Say nothing but errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say more about what was done
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// Print the report as JSON on standard output, and nothing else there
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, global = true)]
    pub(crate) no_progress: bool,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    pub(crate) color: ColorChoice,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Generate(Generate),
    Load(Box<Load>),
    Index(Index),
    Pack(Box<Pack>),
    Unpack(Unpack),
    Lab(Lab),
    Advise(Advise),
    Check(Check),
    Info(Info),
    Completions(Completions),
}

/// Flags of the verbs that write a database.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Writing")]
pub(crate) struct Write {
    /// Worker threads [default: one a core]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Memory for buffers, such as 512MiB
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = numbers::bytes)]
    pub(crate) memory: u64,
    /// Where to keep what does not fit the memory, and what must be read twice and is no file [default: the folder of the
    /// database]
    #[arg(long, value_name = "DIR")]
    pub(crate) temp_dir: Option<PathBuf>,
    /// Bytes of a page of a new file: a power of two from 512 to 65536 [default: 4096]
    #[arg(long, value_name = "BYTES", value_parser = page_size)]
    pub(crate) page_size: Option<PageSize>,
    /// Replace the whole database, if there is one of that name
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// How long to wait for a database that others use, in seconds, or such as 500ms or 2min
    #[arg(long, value_name = "DURATION", default_value = "5", value_parser = numbers::duration)]
    pub(crate) busy_timeout: Duration,
    /// Refuse rows whose FOREIGN KEY names no row [default: yes in a new database, no in one that is there]
    #[arg(long)]
    pub(crate) foreign_keys: bool,
    /// Run ANALYZE at the end, so that SQLite knows what its indexes are good for [default: not run]
    #[arg(long)]
    pub(crate) analyze: bool,
    /// Print what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl Write {
    pub(crate) fn options(&self) -> WriteOptions {
        WriteOptions {
            threads: self.threads.map(usize::from),
            memory_bytes: self.memory,
            page_size: self.page_size.unwrap_or(PageSize::DEFAULT),
            overwrite: self.overwrite,
            busy_timeout: self.busy_timeout,
            foreign_keys: self.foreign_keys.then_some(true),
            temp_dir: self.temp_dir.clone(),
            analyze: self.analyze,
            ..WriteOptions::default()
        }
    }
}

fn page_size(text: &str) -> Result<PageSize, String> {
    let bytes = numbers::bytes(text)?;
    u32::try_from(bytes)
        .ok()
        .and_then(PageSize::new)
        .ok_or_else(|| "a page size is a power of two from 512 to 65536".to_owned())
}

/// Make a test database from a schema, or add to one that is there
///
/// The schema is ordinary CREATE TABLE statements, with a comment such as `-- gen: int(1, 100)` on a column that needs more
/// than its type says.
#[derive(Debug, ClapArgs)]
#[command(after_help = generate_help(), override_usage = "sqluice generate [OPTIONS] [DB] [SCHEMA.sql]")]
pub(crate) struct Generate {
    /// The database to make, and the schema file (not with --preset); with --discard the schema file alone
    #[arg(value_name = "DB] [SCHEMA.sql", num_args = 0..=2)]
    pub(crate) files: Vec<PathBuf>,
    /// Rows: of each table, or of one; TABLE=3x: 3 for each row of the table that its first FOREIGN KEY names; may be repeated
    /// [default: 3x]. Of a preset a number alone counts its main table, and the others follow
    #[arg(short = 'n', long, value_name = "[TABLE=]N", value_parser = rows::rows)]
    pub(crate) rows: Vec<Rows>,
    /// Use a built-in schema: user, integers, kv, shop, events, or tpch with a --scale
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<String>,
    /// How large TPC-H is: 1 is 8.7 million rows and 1.3 GB
    #[arg(long, value_name = "FACTOR", requires = "preset", conflicts_with_all = ["rows", "seed", "append", "preview", "part"])]
    pub(crate) scale: Option<f64>,
    /// Print the first N rows of each table, and write nothing
    #[arg(long, value_name = "N", value_parser = numbers::count)]
    pub(crate) preview: Option<u64>,
    /// Make the I-th of N shares: all of them together are the whole
    #[arg(long, value_name = "I/N", value_parser = rows::share, conflicts_with = "append")]
    pub(crate) part: Option<(u64, u64)>,
    /// The same seed makes the same file
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Add to the rows of tables that are there, those that come next; the schema must declare them the same [default: an error]
    #[arg(long, conflicts_with_all = ["overwrite", "discard"])]
    pub(crate) append: bool,
    /// Make all pages, write none, and report their checksum
    #[arg(long, conflicts_with = "overwrite")]
    pub(crate) discard: bool,
    #[command(flatten)]
    pub(crate) write: Write,
}

/// Examples, and the functions that the engine knows.
fn generate_help() -> String {
    let mut help = "Examples:
  sqluice generate big.db --preset user --rows 1e9
  sqluice generate shop.db schema.sql --rows customer=10k --rows orders=1M --seed 7
  sqluice generate shop.db --preset shop --rows 1M
  sqluice generate tpch.db --preset tpch --scale 0.1
  sqluice generate --preset user --rows 500M --discard
  sqluice generate shop.db schema.sql --rows customer=0 --rows orders=1M --append
  sqluice generate shop.db schema.sql --rows customer=10k --rows orders=2.5x --preview 5
  sqluice generate part-2.db schema.sql --rows 100M --part 2/4

Presets:\n"
        .to_owned();
    for Preset { name, about, .. } in PRESETS {
        let _ = writeln!(help, "  {name:28} {about}");
    }
    let _ = writeln!(
        help,
        "  {:28} the benchmark's eight tables with their keys; --scale says how large",
        "tpch"
    );
    help += "\nFunctions of a `-- gen:` comment:\n";
    for function in FUNCTIONS {
        let _ = writeln!(help, "  {:32} {}", function.signature, function.about);
    }
    help
}

/// Load CSV, TSV, JSON, Parquet and Arrow files into a database
///
/// It is made if it is not there, and so is a table. One that is there stays as it is, unless you say what becomes of its rows:
/// --append, --replace-table or --upsert. Then columns are those of the table, by name: it says their types, and the DEFAULT of those
/// that the file does not have. A database that is there changes by one transaction, also for several tables: a load that
/// fails or is killed changes nothing.
///
/// Delimiter, quote and header are recognised, gzip and zstd are unpacked, UTF-16 is read by its byte order mark. Columns get
/// the type that all of their values have: INTEGER, REAL or TEXT, so that nothing is lost; --schema declares them instead.
///
/// JSON is objects, one a line, or an array of them. Each key is a column, wherever it comes first; arrays and objects within are
/// text, as they stand in the file, and true and false are 1 and 0.
///
/// Parquet and Arrow IPC files say which types their columns have. Dates, times and timestamps are text as ISO 8601 has it, with a
/// zone in UTC; lists, structs and maps are JSON.
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
  Parquet, some columns of it:
    sqluice load trips.db trips.parquet --columns vendor,start,fare
  from standard input:
    curl -s https://example.org/x.csv | sqluice load x.db - --table x
  other types than the values have: print the tables, change them, declare them:
    sqluice load shop.db orders.csv --dry-run > schema.sql
    sqluice load shop.db orders.csv --schema schema.sql
  with a key and indexes:
    sqluice load shop.db orders.csv --primary-key id --index 'customer, date desc'
  bad rows go to a file of their own:
    sqluice load shop.db orders.csv --reject bad.csv
  more rows for a table that is there, or other values for some of its rows:
    sqluice load shop.db orders-may.csv --table orders --append
    sqluice load shop.db prices.csv --upsert product")]
pub(crate) struct Load {
    /// The database, a new one or one that is there
    #[arg(value_name = "DB")]
    pub(crate) db: PathBuf,
    /// The files to load; - is standard input, and a pattern such as 'log-*.csv' stands for all that match
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// The table that all files go to [default: a table for each file, named after it]
    #[arg(short, long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), help_heading = "Table")]
    pub(crate) table: Option<String>,
    /// A file with the CREATE TABLE statements, such as --dry-run prints; what is there already must be the same [default: made
    /// from the files]
    #[arg(long, value_name = "FILE.sql", help_heading = "Table")]
    pub(crate) schema: Option<PathBuf>,
    /// The type of a column, such as zip=TEXT; may be repeated [default: INTEGER, REAL or TEXT, which all its values have]
    #[arg(long = "type", value_name = "COL=TYPE", value_parser = column_type, conflicts_with = "schema", help_heading = "Table")]
    pub(crate) types: Vec<(String, String)>,
    /// Make STRICT tables [default: ordinary ones]
    #[arg(long, conflicts_with = "schema", help_heading = "Table")]
    pub(crate) strict: bool,
    /// Load these columns only, in this order; with --no-header: the names of the columns [default: all]
    #[arg(long, value_name = "A,B,...", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new(), help_heading = "Table")]
    pub(crate) columns: Option<Vec<String>>,
    /// Add the columns that the table, or the first file of a new one, does not have [default: an error]
    #[arg(long, visible_alias = "alter", help_heading = "Table")]
    pub(crate) add_columns: bool,
    /// Read so many records of each table at most, bad ones among them [default: all]
    #[arg(long, value_name = "N", value_parser = numbers::count, help_heading = "Table")]
    pub(crate) limit: Option<u64>,

    /// Add the rows to those of a table that is there [default: such a table is an error]
    #[arg(long, conflicts_with_all = ["overwrite", "replace_table", "upsert"], help_heading = "A table that is there")]
    pub(crate) append: bool,
    /// Put the rows in the place of all those that a table has. Its columns, indexes and triggers stay; its rows go by DELETE, for
    /// which its triggers fire [default: such a table is an error]
    #[arg(long, conflicts_with_all = ["overwrite", "upsert"], help_heading = "A table that is there")]
    pub(crate) replace_table: bool,
    /// Change the rows that have the same values in these columns, which are a key of the table, and add the others. Columns that
    /// the file does not have stay as they are [default: such a table is an error]
    #[arg(long, value_name = "A,B,...", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new(), conflicts_with_all = ["overwrite", "on_conflict"], help_heading = "A table that is there")]
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
    /// Make an index that takes each key once, NULL aside; may be repeated [default: none]
    #[arg(long, value_name = "COLUMNS", conflicts_with = "schema", help_heading = "Keys and indexes")]
    pub(crate) unique: Vec<String>,
    /// What becomes of a row with a key that another row has; ON CONFLICT clauses in the schema are not followed [default: abort]
    #[arg(long, value_name = "WHAT", help_heading = "Keys and indexes")]
    pub(crate) on_conflict: Option<OnConflict>,

    /// What the files are [default: recognised by name and content]
    #[arg(short, long, value_name = "FORMAT", help_heading = "Format")]
    pub(crate) format: Option<Format>,
    /// The character between fields, or \t for a tab [default: recognised: comma, tab, semicolon or |]
    #[arg(short, long, value_name = "CHAR", value_parser = character, help_heading = "Format")]
    pub(crate) delimiter: Option<u8>,
    /// The character around fields, or none [default: recognised: " or ']
    #[arg(long, value_name = "CHAR", value_parser = quote, help_heading = "Format")]
    pub(crate) quote: Option<Quote>,
    /// The character that makes the next one within quotes stand for itself [default: none; a quote is doubled]
    #[arg(long, value_name = "CHAR", value_parser = character, help_heading = "Format")]
    pub(crate) escape: Option<u8>,
    /// The first record names the columns [default: recognised]
    #[arg(long, conflicts_with = "no_header", help_heading = "Format")]
    pub(crate) header: bool,
    /// The first record is a row; the columns are called column1, column2, ... [default: recognised]
    #[arg(long, help_heading = "Format")]
    pub(crate) no_header: bool,
    /// Skip so many lines at the start
    #[arg(long, value_name = "N", default_value = "0", value_parser = numbers::count, help_heading = "Format")]
    pub(crate) skip_lines: u64,
    /// Skip lines that begin with this character [default: none]
    #[arg(long, value_name = "CHAR", value_parser = character, help_heading = "Format")]
    pub(crate) comment: Option<u8>,
    /// An unquoted field that is NULL, such as NA, besides the empty one; may be repeated [default: none]
    #[arg(long, value_name = "TOKEN", help_heading = "Format")]
    pub(crate) null: Vec<String>,
    /// Take an unquoted empty field for empty text, not for NULL
    #[arg(long, help_heading = "Format")]
    pub(crate) empty_as_text: bool,
    /// The encoding of the files, such as windows-1252 or utf-16le [default: UTF-8, or what a byte order mark says]
    #[arg(short = 'E', long, value_name = "NAME", help_heading = "Format")]
    pub(crate) encoding: Option<String>,

    /// What decimals of Parquet and Arrow files become
    #[arg(long, value_name = "WHAT", default_value = "auto", help_heading = "Format")]
    pub(crate) decimal: Decimal,
    /// What timestamps of Parquet and Arrow files become
    #[arg(long, value_name = "WHAT", default_value = "iso", help_heading = "Format")]
    pub(crate) timestamp: Timestamp,

    /// Put bad rows into this new CSV file, with line and reason, and go on [default: the first one ends the load]
    #[arg(long, value_name = "FILE", help_heading = "Bad rows")]
    pub(crate) reject: Option<PathBuf>,
    /// Stop when more rows than this are bad [default: any number may be]
    #[arg(long, value_name = "N", value_parser = numbers::count, requires = "reject", help_heading = "Bad rows")]
    pub(crate) max_rejects: Option<u64>,
    /// Take what SQLite makes of integers beyond 64 bits, of those that it rounds, and of numbers beyond the range of floats
    /// [default: such a row is bad]
    #[arg(long, help_heading = "Bad rows")]
    pub(crate) lossy: bool,

    #[command(flatten)]
    pub(crate) write: Write,
}

/// What becomes of a row that has the key of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnConflict {
    /// It ends the load
    Abort,
    /// It is left out
    Ignore,
    /// The one before it is left out
    Replace,
}

impl From<OnConflict> for plan::OnConflict {
    fn from(what: OnConflict) -> plan::OnConflict {
        match what {
            OnConflict::Abort => plan::OnConflict::Abort,
            OnConflict::Ignore => plan::OnConflict::Ignore,
            OnConflict::Replace => plan::OnConflict::Replace,
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

/// Make indexes in a database, sorted and written on all cores
///
/// All statements are one transaction: there are all indexes at the end, or none. The database can be read meanwhile. What only
/// SQLite can compute, such as an index with a WHERE or of an expression, is made by SQLite.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice index shop.db 'CREATE INDEX orders_by_date ON orders (date)'
  sqluice index shop.db 'CREATE UNIQUE INDEX IF NOT EXISTS by_mail ON customers (mail COLLATE NOCASE)' \\
    'CREATE INDEX by_name ON customers (name, id DESC)'")]
pub(crate) struct Index {
    /// The database
    #[arg(value_name = "DB")]
    pub(crate) db: PathBuf,
    /// CREATE INDEX statements
    #[arg(value_name = "SQL", required = true)]
    pub(crate) sql: Vec<String>,
    /// Worker threads [default: one a core]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "Writing")]
    pub(crate) threads: Option<u16>,
    /// Memory for buffers, such as 512MiB
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = numbers::bytes, help_heading = "Writing")]
    pub(crate) memory: u64,
    /// Where to keep what does not fit the memory [default: the folder of the database]
    #[arg(long, value_name = "DIR", help_heading = "Writing")]
    pub(crate) temp_dir: Option<PathBuf>,
    /// How long to wait while others have locked the database, in seconds, or such as 500ms or 2min
    #[arg(long, value_name = "DURATION", default_value = "5", value_parser = numbers::duration, help_heading = "Writing")]
    pub(crate) busy_timeout: Duration,
    /// Print what would be done, and do nothing
    #[arg(long, help_heading = "Writing")]
    pub(crate) dry_run: bool,
}

/// Pack a folder into a database
///
/// Every file, folder and symbolic link below DIR becomes a row of the table sqlar, which is what `sqlite3 -A` lists and
/// extracts; names are relative to DIR, and DIR itself is no row. Mode and time (whole seconds) are kept, owners are not.
/// Each hard link is a file of its own. Sockets, FIFOs, devices and the database itself are left out, which is said. With --kv
/// the table is kv (k, v): files alone, by name.
///
/// A database that is not there is made, and appears when it is whole. One that is there gets the table, by one transaction; if it has
/// that table, you say what becomes of its rows: --append or --replace-table. A file that can't be read ends the run, and then
/// nothing is written.
///
/// Names and what is known of files stay in memory, about 100 bytes each, and each thread holds the file that it reads, up to
/// four times. SQLite holds files of up to 1,000,000,000 bytes.
///
/// Patterns: * and ? stand for no /, ** for any number of folders. A pattern without / is compared with each component of a
/// name, one with / with the whole name. What matches a folder matches all that is below it.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice pack photos.db photos
  sqluice pack site.sqlar public --compress deflate --exclude '*.map' --exclude node_modules
  sqluice pack code.db . --include '*.rs' --include Cargo.toml
  more files for an archive that is there; those with a name that it has take their place:
    sqluice pack site.sqlar updates --append
  what others make of it:
    sqlite3 site.sqlar -Atv
    sqlite3 site.sqlar \"SELECT sum(sz) FROM sqlar WHERE name GLOB '*.png'\"")]
pub(crate) struct Pack {
    /// The database, a new one or one that is there
    #[arg(value_name = "DB")]
    pub(crate) db: PathBuf,
    /// The folder
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// What is done to the bytes of files; those that deflate does not make fewer stay as they are
    #[arg(long, value_name = "HOW", default_value = "none", help_heading = "Files")]
    pub(crate) compress: Compress,
    /// Make a plain table kv (k, v), name and bytes, instead of an archive [default: sqlar]
    #[arg(long, help_heading = "Files")]
    pub(crate) kv: bool,
    /// Pack what matches, and nothing else; may be repeated [default: everything]
    #[arg(long, value_name = "GLOB", help_heading = "Files")]
    pub(crate) include: Vec<String>,
    /// Leave out what matches, also of what is included; may be repeated [default: nothing]
    #[arg(long, value_name = "GLOB", help_heading = "Files")]
    pub(crate) exclude: Vec<String>,
    /// Add to the rows of a table that is there; one of the same name gives way [default: such a table is an error]
    #[arg(long, conflicts_with_all = ["overwrite", "replace_table"], help_heading = "A table that is there")]
    pub(crate) append: bool,
    /// Put the rows in the place of all those that the table has [default: such a table is an error]
    #[arg(long, conflicts_with = "overwrite", help_heading = "A table that is there")]
    pub(crate) replace_table: bool,
    #[command(flatten)]
    pub(crate) write: Write,
}

/// What is done to the bytes of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compress {
    /// They stay as they are
    None,
    /// zlib, as sqlite3 -A does it
    Deflate,
}

/// Unpack a folder from a database
///
/// Restores what `sqluice pack` or `sqlite3 -Ac` has stored in the table sqlar, or the files of a table kv (k, v), below DIR,
/// which is made if it is not there. Permissions and times are those of the rows, whatever the umask; set-user-id, set-group-id and sticky bits are
/// never given, nor are owners. Rows of kv become ordinary new files.
///
/// A row whose name leaves DIR (.., a name from the root on, a way through a symbolic link) is refused, and so is one that is broken: data that
/// do not inflate to their size, a size that no file can have. It is named, the rest is restored, and the exit status is 1. Symbolic links
/// are made last, so no file is written through them; what they name is nobody's business.
///
/// A file that is there already is such a row, too, unless --overwrite is given: then the new one is written beside it and takes its
/// name. Unpacking that is killed leaves what it has restored so far, and perhaps a part of a new file. Files are not synced to the disk.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice unpack photos.db restored
  sqluice unpack site.sqlar --list -v
  sqluice unpack site.sqlar --stdout index.html | less
  sqluice unpack site.sqlar docs --include 'docs/**/*.md' --overwrite
  the blobs of a table kv (k INTEGER PRIMARY KEY, v), no more than 100 a folder:
    sqluice unpack blobs.db blobs --tree")]
pub(crate) struct Unpack {
    /// The database
    #[arg(value_name = "DB")]
    pub(crate) db: PathBuf,
    /// The folder to restore into
    #[arg(value_name = "DIR", required_unless_present_any = ["list", "stdout"])]
    pub(crate) dir: Option<PathBuf>,
    /// List the names, with -v modes, sizes and times (UTC) as well, and restore nothing
    #[arg(short, long, conflicts_with_all = ["dir", "stdout", "json"])]
    pub(crate) list: bool,
    /// Write the file of that name to standard output, and restore nothing
    #[arg(long, value_name = "NAME", conflicts_with_all = ["dir", "json", "include", "exclude"])]
    pub(crate) stdout: Option<OsString>,
    /// Put at most 100 entries into a folder: an integer key 1234 becomes 00/12/34, a name without / goes to the folder of its rowid
    #[arg(long, conflicts_with_all = ["list", "stdout"])]
    pub(crate) tree: bool,
    /// Read the table kv, also where there is a table sqlar [default: sqlar, if it is there]
    #[arg(long)]
    pub(crate) kv: bool,
    /// Restore what matches, and nothing else; may be repeated [default: everything]
    #[arg(long, value_name = "GLOB")]
    pub(crate) include: Vec<String>,
    /// Leave out what matches, also of what is included; may be repeated [default: nothing]
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
    /// Replace files and links that are there already [default: they are refused]
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Threads [default: one a core]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}

/// Measure which settings are best for a schema on a disk, in less than a minute
///
/// Rows are made for each table as `sqluice generate` makes them, and written in several ways: as pages by sqluice, by sqluice_rows
/// and by prepared INSERTs, with safe and unsafe PRAGMAs, with WAL, with indexes made before and after, with small and large pages and
/// transactions. What was written is read back and compared. Then it is said what to use, what that gives up, and what to type.
///
/// Everything is written into a folder of its own in DIR, which is gone afterwards.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice advise schema.sql --dir /mnt/data
  sqluice advise schema.sql --rows 1M --json > advice.json")]
pub(crate) struct Advise {
    /// The CREATE TABLE and CREATE INDEX statements; comments such as `-- gen: int(1, 100)` say what columns hold
    #[arg(value_name = "SCHEMA.sql")]
    pub(crate) schema: PathBuf,
    /// The folder to measure in, on the disk that it is about
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Rows of each table, which are kept in memory [default: as many as there is time for]
    #[arg(short = 'n', long, value_name = "N", value_parser = numbers::count)]
    pub(crate) rows: Option<u64>,
}

/// Say whether a database is sound
///
/// Every page is read once, on all cores: the rules of the file format, the order of keys, every index entry against its row and
/// the other way round, UNIQUE, NOT NULL and types. Left to SQLite, which --full asks: CHECK constraints, virtual
/// tables, what partial indexes and indexes on expressions hold, and the order by collations that an application brings.
#[derive(Debug, ClapArgs)]
pub(crate) struct Check {
    /// The database
    #[arg(value_name = "DB")]
    pub(crate) db: PathBuf,
    /// Run SQLite's integrity_check, too
    #[arg(long)]
    pub(crate) full: bool,
    /// Threads that read [default: one a core]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}

/// Say what is in a database: its header, tables, rows and pages
#[derive(Debug, ClapArgs)]
pub(crate) struct Info {
    /// The database
    #[arg(value_name = "DB")]
    pub(crate) db: PathBuf,
}

/// Print a script that completes commands in a shell
#[derive(Debug, ClapArgs)]
#[command(after_help = "Example, for bash:
  sqluice completions bash > ~/.local/share/bash-completion/completions/sqluice")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn characters_have_names_where_shells_make_them_hard_to_type() {
        assert_eq!(character("\\t"), Ok(b'\t'));
        assert_eq!(character("tab"), Ok(b'\t'));
        assert_eq!(character(";"), Ok(b';'));
        assert!(["", "||", "§", "\n", "\0"].into_iter().all(|text| character(text).is_err()));
        assert_eq!(
            (quote(""), quote("none"), quote("'")),
            (Ok(Quote::None), Ok(Quote::None), Ok(Quote::Character(b'\'')))
        );
    }

    #[test]
    fn a_type_belongs_to_a_column_whose_name_may_hold_anything() {
        assert_eq!(column_type("a=b=TEXT"), Ok(("a=b".to_owned(), "TEXT".to_owned())));
        assert!(["a", "=TEXT", "a=", "a= "].into_iter().all(|text| column_type(text).is_err()));
    }
}
