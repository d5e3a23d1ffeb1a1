//! The command line of `pack` and `unpack` and the text of `--help`. The flags are declared in `settings::Pack` and
//! `settings::Unpack`. Here are the arguments `DB` and `DIR`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::settings::{self, Flags};

/// Pack a folder into a database
///
/// Every file, folder and symbolic link below DIR becomes a row of the table sqlar, the SQLite Archive format that `sqlite3 -A` lists and
/// extracts. Names are relative to DIR. Modes and times (whole seconds) are kept; owners are not. Each hard link becomes a file of its own.
/// Sockets, FIFOs, devices and the database itself are left out and reported. With --kv, the table is kv (k, v): only files, by name.
///
/// A new database appears only once complete. An existing database gets the table in one transaction; if it already has that table, choose
/// --append or --replace-table. A file that cannot be read ends the run, and nothing is written.
///
/// Memory: about 100 bytes per file, and each thread holds the file that it reads up to four times. SQLite stores files of up to
/// 1,000,000,000 bytes.
///
/// Patterns: * and ? do not match /; ** matches any number of folders. A pattern without / is compared with each component of a name, a
/// pattern with / with the whole name. A pattern that matches a folder matches everything below it.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice pack photos.db photos
  sqluice pack site.sqlar public --compress deflate --exclude '*.map' --exclude node_modules
  sqluice pack code.db . --include '*.rs' --include Cargo.toml
  sqluice pack site.sqlar updates --append
  sqlite3 site.sqlar -Atv")]
pub(crate) struct Pack {
    /// The database, new or existing
    #[arg(value_name = "DB")]
    pub(crate) db: PathBuf,
    /// The folder to pack
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) flags: Flags<settings::Pack>,
}

/// Unpack a folder from a database
///
/// Restores the files that `sqluice pack` or `sqlite3 -Ac` stored in the table sqlar, or the files of a table kv (k, v), below DIR, which
/// is created if needed. Permissions and times are those of the rows, independent of the umask. Set-user-id, set-group-id and sticky bits
/// and owners are never restored. Rows of kv become ordinary new files.
///
/// Unpacking untrusted archives is safe: a row whose name leaves DIR (.., an absolute name, a path through a symbolic link) is refused, and
/// so is a broken row, such as data that do not inflate to the declared size. Each refused row is named, the others are restored, and the
/// exit status is 1. Symbolic links are created last, so no file is written through them; their targets are not checked.
///
/// A row whose file exists already is refused unless --overwrite is given; then the new file is written beside the old one and takes its
/// name. A run that is killed leaves the files restored so far, and perhaps a part of a new file. Files are not synced to the disk.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice unpack photos.db restored
  sqluice unpack site.sqlar --list -v
  sqluice unpack site.sqlar --stdout index.html | less
  sqluice unpack site.sqlar docs --include 'docs/**/*.md' --overwrite")]
pub(crate) struct Unpack {
    /// The database
    #[arg(value_name = "DB")]
    pub(crate) db: PathBuf,
    /// The folder to restore into
    #[arg(value_name = "DIR", required_unless_present_any = ["list", "stdout"])]
    pub(crate) dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) flags: Flags<settings::Unpack>,
}
