//! The arguments of the command.

mod archive;
mod copy;
mod export;
mod generate;
mod help;
mod lab;
mod load;
mod merge;
mod profile;
mod rows;

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use clap::{Args as ClapArgs, ColorChoice, Parser, Subcommand};
use sqluice::options::PageSize;
use sqluice::options::WriteOptions;
use sqluice::remote::RequestLimits;

use crate::numbers;
pub(crate) use archive::{Compress, Pack, Unpack};
pub(crate) use copy::Copy;
pub(crate) use export::Export;
pub(crate) use generate::Generate;
pub(crate) use help::{WELCOME, command};
pub(crate) use lab::Lab;
pub(crate) use load::Load;
pub(crate) use merge::Merge;
pub(crate) use profile::Profile;
pub(crate) use rows::RowCount;

/// Fill SQLite databases at the speed of the disk.
#[derive(Debug, Parser)]
#[command(name = "sqluice", bin_name = "sqluice", version = version(), long_version = long_version(), about = "Fill SQLite databases at the speed of the disk", propagate_version = false, max_term_width = 100)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

const AFTER_HELP: &str = "\
`sqluice COMMAND -h` is a short help, `--help` describes every option. All commands take
--quiet, --verbose, --json, --no-progress and --color.

Exit status: 0 done, 1 the input or the target is at fault, 2 wrong usage, 130 interrupted.";

/// The version of this program and of the SQLite in it.
fn version() -> &'static str {
    static VERSION: LazyLock<String> =
        LazyLock::new(|| format!("{} (SQLite {})", env!("CARGO_PKG_VERSION"), sqluice::sqlite_version()));
    &VERSION
}

/// The version, and what the program was built with.
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
    /// Print errors only
    #[arg(short, long, global = true, conflicts_with = "verbose", hide_short_help = true)]
    pub(crate) quiet: bool,
    /// Print details of what was done
    #[arg(short, long, global = true, hide_short_help = true)]
    pub(crate) verbose: bool,
    /// Print the report, or the error, as JSON on standard output, and nothing else
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) no_progress: bool,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto, hide_short_help = true)]
    pub(crate) color: ColorChoice,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Load(Box<Load>),
    Generate(Box<Generate>),
    Profile(Box<Profile>),
    Index(Index),
    Copy(Box<Copy>),
    Merge(Box<Merge>),
    Export(Box<Export>),
    Info(Info),
    Check(Check),
    Pack(Box<Pack>),
    Unpack(Unpack),
    Advise(Advise),
    Lab(Lab),
    Completions(Completions),
    #[command(hide = true)]
    Man(Man),
}

/// Flags of the verbs that write a database.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct Write {
    /// Replace an existing database; on a terminal, you are asked first
    #[arg(
        long_help = "Replace an existing database as a whole. On a terminal, its tables are listed and you are asked first",
        long
    )]
    pub(crate) overwrite: bool,
    /// Replace an existing database without asking
    #[arg(short, long, hide_short_help = true)]
    pub(crate) yes: bool,
    /// Print the plan, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Refuse rows whose FOREIGN KEY refers to a missing row [default: yes in a new database, no in an existing one]
    #[arg(long, help_heading = "Writing", hide_short_help = true)]
    pub(crate) foreign_keys: bool,
    /// Run ANALYZE at the end, so that SQLite can choose between indexes [default: not run]
    #[arg(long, help_heading = "Writing", hide_short_help = true)]
    pub(crate) analyze: bool,
    /// Page size of a new database in bytes: a power of two from 512 to 65536 [default: 4096]
    #[arg(long, value_name = "BYTES", value_parser = page_size, help_heading = "Writing", hide_short_help = true)]
    pub(crate) page_size: Option<PageSize>,
    /// How long to wait for a database that another program has locked: seconds, or such as 500ms or 2min
    #[arg(long, value_name = "DURATION", default_value = "5", value_parser = numbers::duration, help_heading = "Writing", hide_short_help = true)]
    pub(crate) busy_timeout: Duration,
    /// Replace a database by a rename even if others could have it open unseen [default: write its pages in one transaction then]
    #[arg(long, help_heading = "Writing", hide_short_help = true)]
    pub(crate) assume_unused: bool,
    /// Number of worker threads [default: one per core]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "Resources", hide_short_help = true)]
    pub(crate) threads: Option<u16>,
    /// Memory for buffers, such as 512MiB
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = numbers::bytes, help_heading = "Resources", hide_short_help = true)]
    pub(crate) memory: u64,
    /// Folder for temporary files: data that exceeds --memory, and piped input that is read twice [default: the folder of the
    /// database]
    #[arg(long, value_name = "DIR", help_heading = "Resources", hide_short_help = true)]
    pub(crate) temp_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) requests: Requests,
}

/// Flags of the verbs that read or write URLs.
#[derive(Clone, Copy, Debug, ClapArgs)]
#[command(next_help_heading = "URLs")]
pub(crate) struct Requests {
    /// Give up when a server has sent nothing for this time, repeated requests included: seconds, or such as 500ms or 5min [default: 2min]
    #[arg(long, value_name = "DURATION", value_parser = numbers::duration, hide_short_help = true)]
    timeout: Option<Duration>,
    /// Send a request that fails for now again up to N times; a read goes on where it broke off [default: 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000), hide_short_help = true)]
    retries: Option<u32>,
}

impl Requests {
    /// The limits that are given, and the defaults of others.
    pub(crate) fn limits(self) -> RequestLimits {
        let RequestLimits { timeout, retries } = RequestLimits::default();
        RequestLimits { timeout: self.timeout.unwrap_or(timeout), retries: self.retries.unwrap_or(retries) }
    }
}

impl Write {
    pub(crate) fn options(&self) -> WriteOptions {
        let mut options = WriteOptions::new()
            .threads(self.threads.map(usize::from))
            .memory_bytes(self.memory)
            .page_size(self.page_size.unwrap_or(PageSize::DEFAULT))
            .overwrite(self.overwrite)
            .busy_timeout(self.busy_timeout)
            .assume_unused(self.assume_unused)
            .foreign_keys(self.foreign_keys.then_some(true))
            .analyze(self.analyze)
            .requests(self.requests.limits());
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

/// Create indexes on all cores
///
/// Entries are sorted on all cores and written as pages. All statements are one transaction: either all indexes are created, or none. Other
/// programs can read the database meanwhile. SQLite itself creates what only it can compute, such as a partial index or an index on an
/// expression.
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
    /// Print the plan, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// How long to wait for a database that another program has locked: seconds, or such as 500ms or 2min
    #[arg(long, value_name = "DURATION", default_value = "5", value_parser = numbers::duration, help_heading = "Writing", hide_short_help = true)]
    pub(crate) busy_timeout: Duration,
    /// Number of worker threads [default: one per core]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "Resources", hide_short_help = true)]
    pub(crate) threads: Option<u16>,
    /// Memory for buffers, such as 512MiB
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = numbers::bytes, help_heading = "Resources", hide_short_help = true)]
    pub(crate) memory: u64,
    /// Folder for temporary files: data that exceeds --memory [default: the folder of the database]
    #[arg(long, value_name = "DIR", help_heading = "Resources", hide_short_help = true)]
    pub(crate) temp_dir: Option<PathBuf>,
}

/// Measure which settings are fastest for your schema on your disk
///
/// Generates rows for each table as `sqluice generate` does, and writes them in several ways: as pages, through sqluice_rows, and by prepared
/// INSERTs, with safe and unsafe PRAGMAs, with WAL, with indexes created before and after, with small and large pages and transactions.
/// Everything is read back and compared. The report recommends settings, names what each gives up, and prints the command lines. It takes
/// less than a minute.
///
/// All files are written to a temporary folder in DIR, which is removed afterwards.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice advise schema.sql --dir /mnt/data
  sqluice advise schema.sql --rows 1M --json > advice.json")]
pub(crate) struct Advise {
    /// A file with CREATE TABLE and CREATE INDEX statements; comments such as `-- gen: int(1, 100)` describe the values of a column
    #[arg(value_name = "SCHEMA.sql")]
    pub(crate) schema: PathBuf,
    /// The folder to measure in, on the disk to be measured
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Rows of each table, which are kept in memory [default: as many as the time allows]
    #[arg(short = 'n', long, value_name = "N", value_parser = numbers::count)]
    pub(crate) rows: Option<u64>,
}

/// Verify that a database is sound
///
/// Reads every page once, on all cores, and verifies the rules of the file format, the order of keys, every index entry against its row and
/// every row against its entries, UNIQUE, NOT NULL and types. The exit status is 1 if the database is damaged. A deviation from the format
/// that SQLite accepts is reported as a remark, not as damage.
///
/// The last line lists what was not verified: CHECK constraints, foreign keys, virtual tables, the contents of partial indexes and of
/// indexes on expressions, and orders by collations of an application. With --full, SQLite verifies most of these.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice check shop.db
  sqluice check shop.db --full --json")]
pub(crate) struct Check {
    /// The database
    #[arg(value_name = "DB")]
    pub(crate) db: PathBuf,
    /// Also run SQLite's integrity_check
    #[arg(long)]
    pub(crate) full: bool,
    /// Number of threads that read [default: one per core]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}

/// Show the tables of a database: rows, pages, fill
///
/// Prints the properties in the header of the file, then each table and index with its rows, pages, overflow pages, the depth of its tree,
/// and the share of its bytes that is in use.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice info shop.db
  sqluice info shop.db --json | jq '.trees[].rows'")]
pub(crate) struct Info {
    /// The database
    #[arg(value_name = "DB")]
    pub(crate) db: PathBuf,
}

/// Print a completion script for a shell
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice completions bash > ~/.local/share/bash-completion/completions/sqluice
  sqluice completions zsh > ~/.zfunc/_sqluice
  sqluice completions fish > ~/.config/fish/completions/sqluice.fish")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// Print the man page, or write the pages of all commands into a folder
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice man | man -l -
  sqluice man ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// The folder, which is created if needed [default: print the page of sqluice itself]
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
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
