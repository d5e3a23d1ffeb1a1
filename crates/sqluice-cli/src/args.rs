//! What can be said on the command line.

mod archive;
mod copy;
mod export;
mod generate;
mod lab;
mod load;
mod merge;
mod rows;

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use clap::{Args as ClapArgs, ColorChoice, Parser, Subcommand};
use sqluice::options::WriteOptions;
use sqluice_format::page::PageSize;

use crate::numbers;
pub(crate) use archive::{Compress, Pack, Unpack};
pub(crate) use copy::Copy;
pub(crate) use export::Export;
pub(crate) use generate::Generate;
pub(crate) use lab::Lab;
pub(crate) use load::Load;
pub(crate) use merge::Merge;
pub(crate) use rows::RowCount;

/// Fill SQLite files at the speed of the disk.
#[derive(Debug, Parser)]
#[command(name = "sqluice", version = version(), long_version = long_version(), about = "Fill SQLite files at the speed of the disk", propagate_version = false, max_term_width = 100)]
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

/// That, and what the program was built with.
fn long_version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let (rustc, target) = (env!("SQLUICE_RUSTC"), env!("SQLUICE_TARGET"));
        let (profile, commit) = (env!("SQLUICE_PROFILE"), env!("SQLUICE_COMMIT"));
        let commit = if commit.is_empty() { String::new() } else { format!("\ncommit {commit}") };
        format!("{}\nbuilt by {rustc} for {target}, {profile}{commit}", version())
    });
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
    /// Print the report, or else an error, as JSON on standard output, and nothing else there
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
    Copy(Box<Copy>),
    Merge(Box<Merge>),
    Export(Box<Export>),
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
    /// Replace an existing database as a whole. On a terminal, its tables are listed and you are asked first
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Do not ask before an existing database is replaced
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// How long to wait for a database that another program uses, in seconds, or such as 500ms or 2min
    #[arg(long, value_name = "DURATION", default_value = "5", value_parser = numbers::duration)]
    pub(crate) busy_timeout: Duration,
    /// Refuse rows whose FOREIGN KEY names no row [default: yes in a new database, no in an existing one]
    #[arg(long)]
    pub(crate) foreign_keys: bool,
    /// Run ANALYZE at the end, so that SQLite can choose between indexes [default: not run]
    #[arg(long)]
    pub(crate) analyze: bool,
    /// Print what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl Write {
    pub(crate) fn options(&self) -> WriteOptions {
        let mut options = WriteOptions::new()
            .threads(self.threads.map(usize::from))
            .memory_bytes(self.memory)
            .page_size(self.page_size.unwrap_or(PageSize::DEFAULT))
            .overwrite(self.overwrite)
            .busy_timeout(self.busy_timeout)
            .foreign_keys(self.foreign_keys.then_some(true))
            .analyze(self.analyze);
        options.temp_dir.clone_from(&self.temp_dir);
        options
    }
}

fn page_size(text: &str) -> Result<PageSize, String> {
    let bytes = numbers::bytes(text)?;
    u32::try_from(bytes)
        .ok()
        .and_then(PageSize::new)
        .ok_or_else(|| "a page size is a power of two from 512 to 65536".to_owned())
}

/// Make indexes in a database, sorted and written on all cores
///
/// All statements are one transaction: either all indexes are created, or none. The database can be read meanwhile. SQLite itself
/// creates what only it can compute, such as an index with a WHERE or on an expression.
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
    /// How long to wait while another program has locked the database, in seconds, or such as 500ms or 2min
    #[arg(long, value_name = "DURATION", default_value = "5", value_parser = numbers::duration, help_heading = "Writing")]
    pub(crate) busy_timeout: Duration,
    /// Print what would be done, and do nothing
    #[arg(long, help_heading = "Writing")]
    pub(crate) dry_run: bool,
}

/// Measure which settings are best for a schema on a disk, in less than a minute
///
/// Rows are made for each table as `sqluice generate` makes them, and written in several ways: as pages by sqluice, by sqluice_rows
/// and by prepared INSERTs, with safe and unsafe PRAGMAs, with WAL, with indexes made before and after, with small and large pages and
/// transactions. What was written is read back and compared. The report says what to use, what that gives up, and what to type.
///
/// Everything is written into a temporary folder in DIR, which is removed afterwards.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice advise schema.sql --dir /mnt/data
  sqluice advise schema.sql --rows 1M --json > advice.json")]
pub(crate) struct Advise {
    /// The CREATE TABLE and CREATE INDEX statements; comments such as `-- gen: int(1, 100)` say what columns hold
    #[arg(value_name = "SCHEMA.sql")]
    pub(crate) schema: PathBuf,
    /// The folder to measure in, on the disk to be measured
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Rows of each table, which are kept in memory [default: as many as there is time for]
    #[arg(short = 'n', long, value_name = "N", value_parser = numbers::count)]
    pub(crate) rows: Option<u64>,
}

/// Say whether a database is sound
///
/// Every page is read once, on all cores: the rules of the file format, the order of keys, every index entry against its row and
/// the other way round, UNIQUE, NOT NULL and types. What breaks a rule of the format and SQLite accepts all the same is a
/// remark, and no damage. The last line lists what was not verified: CHECK constraints, foreign keys, virtual tables, what
/// partial indexes and indexes on expressions hold, and the order by collations that an application brings. With --full,
/// SQLite verifies most of these.
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
    use crate::formats::{Role, character, role};
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
            (role(""), role("none"), role("'")),
            (Ok(Role::None), Ok(Role::None), Ok(Role::Character(b'\'')))
        );
    }
}
