//! The command line: the subcommands, their help texts, and the flags that all of them take.

mod archive;
mod copy;
mod export;
mod generate;
mod help;
mod lab;
mod load;
mod merge;
mod profile;
mod recover;
mod topics;

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Args as ClapArgs, ColorChoice, Parser, Subcommand};

use crate::settings::{self, Flags};
pub(crate) use archive::{Pack, Unpack};
pub(crate) use copy::Copy;
pub(crate) use export::Export;
pub(crate) use generate::Generate;
pub(crate) use help::{WELCOME, command};
pub(crate) use lab::Lab;
pub(crate) use load::Load;
pub(crate) use merge::Merge;
pub(crate) use profile::Profile;
pub(crate) use recover::Recover;
pub(crate) use topics::topic;

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
`sqluice FILE...` loads files into a new database. `sqluice COMMAND -h` is a short help, `--help`
the long one, `sqluice help WORD` finds a word. All take -q, -v, --json, --no-progress and --color.
Exit status: 0 done, 1 the input or target is at fault, 2 wrong usage, 3 damage, 130 interrupted.";

/// Returns the versions of this program and of its SQLite.
fn version() -> &'static str {
    static VERSION: LazyLock<String> =
        LazyLock::new(|| format!("{} (SQLite {})", env!("CARGO_PKG_VERSION"), sqluice::sqlite_version()));
    &VERSION
}

/// Returns the version, and the compiler, target, cargo profile and commit of the build.
fn long_version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let (rustc, target) = (env!("SQLUICE_RUSTC"), env!("SQLUICE_TARGET"));
        let (profile, commit) = (env!("SQLUICE_PROFILE"), env!("SQLUICE_COMMIT"));
        let commit = if commit.is_empty() { String::new() } else { format!("\ncommit {commit}") };
        format!("{}\nbuilt by {rustc} for {target}, {profile}{commit}", version())
    });
    &VERSION
}

/// The flags that every subcommand takes.
#[derive(Clone, Debug, Default, ClapArgs)]
#[command(next_help_heading = "Output")]
pub(crate) struct Global {
    /// Print only errors and warnings
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
    Recover(Box<Recover>),
    Pack(Box<Pack>),
    Unpack(Unpack),
    Advise(Advise),
    Lab(Lab),
    Completions(Completions),
    Man(Man),
}

impl Command {
    /// Returns `true` if the command writes its whole result or nothing, even if it is interrupted.
    pub(crate) fn is_all_or_nothing(&self) -> bool {
        use Command::{Copy, Generate, Index, Load, Merge, Recover};
        matches!(self, Load(_) | Generate(_) | Index(_) | Copy(_) | Merge(_) | Recover(_))
    }
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
    'CREATE INDEX by_name ON customers (name, id DESC)'
  sqluice index shop.db --fts 'products(name, description)' --tokenize porter
  sqluice index shop.db --fts-optimize products_fts")]
pub(crate) struct Index {
    /// The database
    #[arg(value_name = "DB")]
    pub(crate) db: PathBuf,
    /// CREATE INDEX statements
    #[arg(value_name = "SQL", required_unless_present_any = ["fts", "fts_optimize", "fts_rebuild"])]
    pub(crate) sql: Vec<String>,
    #[command(flatten)]
    pub(crate) flags: Flags<settings::Index>,
}

/// Measure which settings are fastest for your schema on your disk
///
/// Generates rows for each table as `sqluice generate` does, and writes them in several ways: as pages, through sqluice_rows, and by
/// prepared INSERTs, with safe and unsafe PRAGMAs, with WAL, with indexes created before and after, with small and large pages and
/// transactions. Everything is read back and compared. The report recommends settings, names what each gives up, and prints the command
/// lines. Without --rows, it takes about a minute at most.
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
    #[command(flatten)]
    pub(crate) flags: Flags<settings::Advise>,
}

/// Verify that a database is sound
///
/// Reads every page once, on all cores, and verifies the rules of the file format, the order of keys, every index entry against its row and
/// every row against its entries, UNIQUE, NOT NULL and types. Full-text indexes (FTS5) are compared with their texts. The exit status is 1
/// if the database is damaged. A deviation from the format that SQLite accepts is reported as a remark, not as damage.
///
/// The last line lists what was not verified: CHECK constraints, foreign keys, other virtual tables, and indexes that need functions or
/// collations of an application. With --full, SQLite verifies most of these.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice check shop.db
  sqluice check shop.db --full --json")]
pub(crate) struct Check {
    /// The database
    #[arg(value_name = "DB")]
    pub(crate) db: PathBuf,
    #[command(flatten)]
    pub(crate) flags: Flags<settings::Check>,
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
    use clap::CommandFactory;

    #[test]
    fn the_argument_parser_finds_no_mistake_in_the_declared_arguments() {
        Args::command().debug_assert();
    }
}
