//! The command line of `profile` and the text of `--help`. The flags are declared in `settings::Profile`. Here is the argument `DB`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::settings::{self, Flags};

/// Describe a database without its rows, as a schema for `generate`
///
/// Reads every table once, on all cores, and prints the schema with a comment for each column that reproduces its statistics: kinds of
/// values, NULLs, distinct counts, quantiles of numbers, lengths and dates, text patterns, rows per parent, and columns that depend on each
/// other. The file is text to read and edit; `sqluice generate new.db FILE` generates a database like the original.
///
/// A value of the database appears in the file only if its column has few distinct values and does not look personal, and the value
/// occurs in at least --keep-common rows. Integer keys at equal steps show where they begin and end. Literals in the schema itself, such as
/// those of a CHECK, are part of it unless --strip-literals removes them. The head of the file lists what it shows.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice profile prod.db > shop.sql
  sqluice profile prod.db --no-values -o shop.sql
  sqluice generate test.db shop.sql --rows-scale 10")]
pub(crate) struct Profile {
    /// The database to describe
    #[arg(value_name = "DB")]
    pub(crate) source: PathBuf,
    #[command(flatten)]
    pub(crate) flags: Flags<settings::Profile>,
}
