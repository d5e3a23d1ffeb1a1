//! The command line of `copy` and the text of `--help`. The flags are declared in `settings::Copy`. Here are the arguments `SOURCE` and
//! `TARGET`.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use sqluice::r#gen::MASK_FUNCTIONS;

use crate::settings::{self, Flags};

/// Copy a database, or some of its tables, without free pages
///
/// The copy has every table, index, view and trigger of the source, with the same SQL text, order and rowids, and no free pages. It is one
/// committed state: in WAL mode, other programs can write to the source meanwhile; in other journal modes their commits wait, at most as
/// long as --busy-limit.
///
/// Full pages are copied as they are; other pages are packed again. Every page and record is verified, and every index is compared with its
/// table. An index that is out of order is sorted and reported.
///
/// SOURCE and TARGET may be URLs: s3://bucket/name, gs://bucket/name or az://container/name, and SOURCE also https://host/name. A source at
/// a URL is fetched to a temporary file first. A target in an object store is uploaded as it is written and appears only once complete.
///
/// With --mask, columns that a file names get other values, by a secret key: a person gets the same new name in every table, and keys,
/// joins and constraints hold. No byte of an old value of these columns is in the copy.
///
/// With --where and --sample, only some rows of a table are copied. Rows that refer to left-out rows are an error, unless
/// --sample-children leaves them out, too, or --orphans keep keeps them.
///
/// If TARGET is SOURCE, the copy replaces it, as VACUUM does; no other program may use the database meanwhile.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice copy app.db backup.db
  sqluice copy app.db app.db
  sqluice copy app.db shared.db --exclude-table users
  sqluice copy app.db safe.db --mask mask.sql
  sqluice copy app.db s3://bucket/site.db --for http")]
#[command(after_long_help = long_help())]
pub(crate) struct Copy {
    /// The database to copy
    #[arg(value_name = "SOURCE")]
    pub(crate) source: PathBuf,
    /// The new file; with --for d1, a new folder
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,
    #[command(flatten)]
    pub(crate) flags: Flags<settings::Copy>,
}

/// Returns the help text with all examples, and the additional functions of masks.
fn long_help() -> String {
    let mut help = "Examples:
  A backup:
    sqluice copy app.db backup.db
  Without the bytes of deleted rows, with larger pages:
    sqluice copy app.db small.db --compact --page-size 16384
  In place, as VACUUM does:
    sqluice copy app.db app.db
  Without a table:
    sqluice copy app.db shared.db --exclude-table users
  The rows of a year, and a hundredth of the customers with all that belongs to them:
    sqluice copy app.db y2024.db --where \"orders=placed >= '2024-01-01'\"
    sqluice copy app.db few.db --sample customers=1% --sample-children
  Without the people in it, as comments in mask.sql say (-- gen: email()):
    sqluice copy app.db safe.db --mask mask.sql --preview 5
    sqluice copy app.db safe.db --mask mask.sql --strict-mask
  For readers that fetch ranges over a network:
    sqluice copy app.db s3://bucket/site.db --for http
  As SQL for Cloudflare D1, in a folder:
    sqluice copy app.db app-d1 --for d1\n\n"
        .to_owned();
    help += "Functions of masks:\n";
    for function in MASK_FUNCTIONS {
        let _ = writeln!(help, "  {:32} {}", function.signature, function.about);
    }
    help
}
