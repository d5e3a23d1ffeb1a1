//! What can be said on the command line.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Args as ClapArgs, ColorChoice, Parser, Subcommand};
use sqluice::r#gen::FUNCTIONS;
use sqluice::plan::WriteOptions;
use sqluice_format::page::PageSize;

use crate::numbers;

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
    /// Make a test database from a schema
    Generate(Generate),
    /// Load a CSV file into a new database
    Load(Load),
    /// Say whether a database is sound
    Check(Check),
    /// Say what is in a database
    Info(Info),
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
    /// Bytes of a page of the new file: a power of two from 512 to 65536
    #[arg(long, value_name = "BYTES", default_value = "4096", value_parser = page_size)]
    pub(crate) page_size: PageSize,
    /// Replace the database, if there is one of that name
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Print what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl Write {
    pub(crate) fn options(&self) -> WriteOptions {
        WriteOptions {
            threads: self.threads.map(usize::from),
            memory_bytes: self.memory,
            page_size: self.page_size,
            overwrite: self.overwrite,
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

/// Make a test database from a schema: ordinary CREATE TABLE statements, with a comment such as
/// `-- gen: int(1, 100)` on a column that needs more than its type says.
#[derive(Debug, ClapArgs)]
#[command(after_help = generate_help(), override_usage = "sqluice generate [OPTIONS] [DB] [SCHEMA.sql]")]
pub(crate) struct Generate {
    /// The database to make, and the schema file (not with --preset); with --discard the schema file alone
    #[arg(value_name = "DB] [SCHEMA.sql", num_args = 0..=2)]
    pub(crate) files: Vec<PathBuf>,
    /// Rows: of each table, or of one; may be repeated
    #[arg(short = 'n', long, value_name = "[TABLE=]N", value_parser = rows)]
    pub(crate) rows: Vec<(Option<String>, u64)>,
    /// Use a built-in schema: user
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<String>,
    /// The same seed makes the same file
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
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
  sqluice generate --preset user --rows 500M --discard

Functions of a `-- gen:` comment:\n"
        .to_owned();
    for function in FUNCTIONS {
        let _ = writeln!(help, "  {:28} {}", function.signature, function.about);
    }
    help
}

fn rows(text: &str) -> Result<(Option<String>, u64), String> {
    match text.rsplit_once('=') {
        Some((table, rows)) => Ok((Some(table.to_owned()), numbers::count(rows)?)),
        None => Ok((None, numbers::count(text)?)),
    }
}

/// Load a CSV file into a new database: RFC 4180, UTF-8, its first line the names of the columns.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice load airports.db airports.csv
  sqluice load shop.db orders.csv --schema schema.sql")]
pub(crate) struct Load {
    /// The database to make
    #[arg(value_name = "DB")]
    pub(crate) db: PathBuf,
    /// The file to load
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The table [default: named after the file]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) table: Option<String>,
    /// A file with the CREATE TABLE statement [default: a TEXT column for each column of the file]
    #[arg(long, value_name = "FILE.sql")]
    pub(crate) schema: Option<PathBuf>,
    /// Take an unquoted empty field for empty text, not for NULL
    #[arg(long)]
    pub(crate) empty_as_text: bool,
    #[command(flatten)]
    pub(crate) write: Write,
}

/// Say whether a database is sound: read by sqluice, which asserts the rules of the file format but the order of index
/// keys, and by SQLite's own check.
#[derive(Debug, ClapArgs)]
pub(crate) struct Check {
    /// The database
    #[arg(value_name = "DB")]
    pub(crate) db: PathBuf,
    /// Run SQLite's integrity_check instead of its quick_check: compares each index with its table
    #[arg(long)]
    pub(crate) full: bool,
}

/// Say what is in a database: its header, tables, rows and pages.
#[derive(Debug, ClapArgs)]
pub(crate) struct Info {
    /// The database
    #[arg(value_name = "DB")]
    pub(crate) db: PathBuf,
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
    fn rows_may_name_a_table() {
        assert_eq!(rows("1e3"), Ok((None, 1000)));
        assert_eq!(rows("a=b=10k"), Ok((Some("a=b".to_owned()), 10_000)));
        assert!(rows("a=").is_err());
    }
}
