//! The command line of `merge` and the text of `--help`. The flags are declared in `settings::Merge`. Here are the arguments `TARGET` and
//! `SOURCE`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::settings::{self, Flags};

/// Merge databases into one
///
/// Tables that are declared alike become one table, with the rows of one database after another. Other tables, indexes, views and triggers
/// are copied. Each source is read in one committed state: in WAL mode, other programs can write to it meanwhile; in other journal modes
/// their commits wait, at most as long as --busy-limit.
///
/// Rows whose rowid is not a column get new rowids if databases share some. If databases share values of a PRIMARY KEY or a UNIQUE column,
/// the merge ends with an error, unless --on-conflict chooses a row or --renumber assigns new numbers. Foreign keys are not checked, with
/// one exception: if --on-conflict leaves out a row that other rows refer to, the merge ends with an error, unless --orphans keeps those
/// rows.
///
/// With --renumber, columns that refer to a renumbered key change with it: foreign keys if --rewrite-references is given, other columns if
/// --reference names them. If another column seems to refer to the key, by its name and its values, the merge ends with an error, unless
/// --reference or --no-reference decides.
///
/// SOURCE and TARGET may be URLs: s3://bucket/name, gs://bucket/name or az://container/name, and SOURCE also https://host/name. Sources at
/// URLs are fetched to temporary files first. A target in an object store is uploaded as it is written; it must not exist, unless
/// --overwrite replaces it.
///
/// An existing TARGET is the first of the databases: it keeps its rows and gets those of the others, all or none. No other program may use
/// it meanwhile.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice merge all.db shard1.db shard2.db shard3.db
  sqluice merge all.db 'shard*.db' --dry-run
  sqluice merge all.db monday.db tuesday.db --on-conflict replace")]
#[command(after_long_help = "Examples:
  Three databases into one:
    sqluice merge all.db shard1.db shard2.db shard3.db
  All databases that match a pattern; print the plan only:
    sqluice merge all.db 'shard*.db' --dry-run
  If databases share a key, keep the last row:
    sqluice merge all.db monday.db tuesday.db --on-conflict replace
  Renumber customers, and the orders that refer to them:
    sqluice merge all.db berlin.db oslo.db --renumber customer --rewrite-references
  Renumber places, and a column that refers to them without REFERENCES:
    sqluice merge all.db laptop.db phone.db --renumber places --reference visits.place_id=places.id
  Add a column with the source of each row:
    sqluice merge all.db 'shard*.db' --source-column shard")]
pub(crate) struct Merge {
    /// The merged database: a new file, or an existing database that keeps its rows
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,
    /// The databases, in the order of their rows; a pattern such as 'shard*.db' means all files that match
    #[arg(value_name = "SOURCE", required = true)]
    pub(crate) sources: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) flags: Flags<settings::Merge>,
}
