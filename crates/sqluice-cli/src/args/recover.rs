//! The command line of `recover` and the text of `--help`. The flags are declared in `settings::Recover`. Here are the arguments `SOURCE`
//! and `TARGET`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::settings::{self, Flags};

/// Save what is left of a damaged database
///
/// Reads all pages of the damaged file on all cores, and writes the rows that are sound to a new database with the same schema. Indexes are
/// made anew. The damaged file is only read. Its -wal or -journal is used as SQLite would use it, so copy these files with it.
///
/// Rows come from the trees of the tables first, and then from pages that no tree names any more. Such a page joins a table if its rowids
/// fill a gap of that table, or if exactly one table has such columns: the latter rows are counted by shape, and --strict leaves them out
/// of the table. All other rows go to tables lost_and_found_1, lost_and_found_2 and so on. Rows whose key another row has go to
/// conflicts_TABLE, and rows that break a constraint to rejected_TABLE.
///
/// If an index still has entries of lost rows, the report says which rows, and --from-indexes saves the columns that the index has, in
/// lost_and_found tables.
///
/// If the start of the file is lost, page size and encoding follow from the pages, and --schema gives the tables. The exit status is 0 if
/// no damage was found, and 3 if some was, also with --dry-run.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice recover damaged.db new.db
  sqluice recover damaged.db new.db --dry-run
  sqluice recover damaged.db new.db --schema schema.sql --json")]
pub(crate) struct Recover {
    /// The damaged database
    #[arg(value_name = "SOURCE")]
    pub(crate) source: PathBuf,
    /// The new database
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,
    #[command(flatten)]
    pub(crate) flags: Flags<settings::Recover>,
}
