//! The arguments of `pack` and `unpack`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::Write;

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
    /// Compress files: none or deflate
    #[arg(long, value_name = "HOW", default_value = "none", help_heading = "Files")]
    pub(crate) compress: Compress,
    /// Write a plain table kv (k, v), name and bytes, instead of an archive
    #[arg(long, help_heading = "Files")]
    pub(crate) kv: bool,
    /// Pack only names that match; repeatable [default: everything]
    #[arg(long, value_name = "GLOB", help_heading = "Files")]
    pub(crate) include: Vec<String>,
    /// Leave out names that match, also included ones; repeatable [default: nothing]
    #[arg(long, value_name = "GLOB", help_heading = "Files")]
    pub(crate) exclude: Vec<String>,
    /// Add to an existing table; a row with the same name is replaced
    #[arg(long, conflicts_with_all = ["overwrite", "replace_table"], help_heading = "Existing tables")]
    pub(crate) append: bool,
    /// Replace all rows of an existing table
    #[arg(long, conflicts_with = "overwrite", help_heading = "Existing tables")]
    pub(crate) replace_table: bool,
    #[command(flatten)]
    pub(crate) write: Write,
}

/// How the bytes of files are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compress {
    /// As they are
    None,
    /// As zlib streams, if these are smaller, as sqlite3 -A does
    Deflate,
}

/// Unpack a folder from a database
///
/// Restores the files that `sqluice pack` or `sqlite3 -Ac` stored in the table sqlar, or the files of a table kv (k, v), below DIR, which is
/// created if needed. Permissions and times are those of the rows, independent of the umask. Set-user-id, set-group-id and sticky bits and
/// owners are never restored. Rows of kv become ordinary new files.
///
/// Unpacking untrusted archives is safe: a row whose name leaves DIR (.., an absolute name, a path through a symbolic link) is refused, and so
/// is a broken row, such as data that do not inflate to the declared size. Each refused row is named, the others are restored, and the exit
/// status is 1. Symbolic links are created last, so no file is written through them; their targets are not checked.
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
    /// List the names, and restore nothing; -v and --json add modes, sizes and times (UTC)
    #[arg(short, long, conflicts_with_all = ["dir", "stdout"])]
    pub(crate) list: bool,
    /// Write the file of this name to standard output, and restore nothing
    #[arg(long, value_name = "NAME", conflicts_with_all = ["dir", "json", "include", "exclude"])]
    pub(crate) stdout: Option<OsString>,
    /// Put at most 100 entries into a folder: the integer key 1234 becomes 00/12/34, a name without / goes to the folder of its rowid
    #[arg(long, conflicts_with_all = ["list", "stdout"])]
    pub(crate) tree: bool,
    /// Read the table kv even if a table sqlar exists [default: sqlar, if it exists]
    #[arg(long)]
    pub(crate) kv: bool,
    /// Restore only names that match; repeatable [default: everything]
    #[arg(long, value_name = "GLOB")]
    pub(crate) include: Vec<String>,
    /// Leave out names that match, also included ones; repeatable [default: nothing]
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
    /// Replace existing files and links [default: refuse such rows]
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Number of threads [default: one per core]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}
