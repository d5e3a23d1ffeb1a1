//! What `pack` and `unpack` take.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::Write;

/// Pack a folder into a database
///
/// Every file, folder and symbolic link below DIR becomes a row of the table sqlar, which is what `sqlite3 -A` lists and
/// extracts; names are relative to DIR, and DIR itself is no row. Mode and time (whole seconds) are kept, owners are not.
/// Each hard link is a file of its own. Sockets, FIFOs, devices and the database itself are left out, which is said. With --kv
/// the table is kv (k, v): files alone, by name.
///
/// A new database appears only once complete. An existing one gets the table in one transaction; if it already has that table, choose
/// --append or --replace-table. A file that can't be read ends the run, and then nothing is written.
///
/// Names and what is known of files stay in memory, about 100 bytes each, and each thread holds the file that it reads, up to
/// four times. SQLite holds files of up to 1,000,000,000 bytes.
///
/// Patterns: * and ? stand for no /, ** for any number of folders. A pattern without / is compared with each component of a
/// name, one with / with the whole name. What matches a folder matches all that is below it.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice pack photos.db photos
  sqluice pack site.sqlar public --compress deflate --exclude '*.map' --exclude node_modules
  sqluice pack code.db . --include '*.rs' --include Cargo.toml
  more files for an existing archive; those with the same name are replaced:
    sqluice pack site.sqlar updates --append
  with the sqlite3 shell:
    sqlite3 site.sqlar -Atv
    sqlite3 site.sqlar \"SELECT sum(sz) FROM sqlar WHERE name GLOB '*.png'\"")]
pub(crate) struct Pack {
    /// The database, new or existing
    #[arg(value_name = "DB")]
    pub(crate) db: PathBuf,
    /// The folder
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// What is done to the bytes of files; those that deflate does not make fewer stay as they are
    #[arg(long, value_name = "HOW", default_value = "none", help_heading = "Files")]
    pub(crate) compress: Compress,
    /// Make a plain table kv (k, v), name and bytes, instead of an archive [default: sqlar]
    #[arg(long, help_heading = "Files")]
    pub(crate) kv: bool,
    /// Pack what matches, and nothing else; may be repeated [default: everything]
    #[arg(long, value_name = "GLOB", help_heading = "Files")]
    pub(crate) include: Vec<String>,
    /// Leave out what matches, also of what is included; may be repeated [default: nothing]
    #[arg(long, value_name = "GLOB", help_heading = "Files")]
    pub(crate) exclude: Vec<String>,
    /// Add to the rows of an existing table; a row with the same name is replaced [default: an existing table is an error]
    #[arg(long, conflicts_with_all = ["overwrite", "replace_table"], help_heading = "Existing tables")]
    pub(crate) append: bool,
    /// Replace all rows of an existing table [default: an existing table is an error]
    #[arg(long, conflicts_with = "overwrite", help_heading = "Existing tables")]
    pub(crate) replace_table: bool,
    #[command(flatten)]
    pub(crate) write: Write,
}

/// What is done to the bytes of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compress {
    /// They stay as they are
    None,
    /// zlib, as sqlite3 -A does it
    Deflate,
}

/// Unpack a folder from a database
///
/// Restores what `sqluice pack` or `sqlite3 -Ac` has stored in the table sqlar, or the files of a table kv (k, v), below DIR,
/// which is created if needed. Permissions and times are those of the rows, whatever the umask; set-user-id, set-group-id and sticky bits are
/// never given, nor are owners. Rows of kv become ordinary new files.
///
/// A row whose name leaves DIR (.., a name from the root on, a way through a symbolic link) is refused, and so is one that is broken: data that
/// do not inflate to their size, a size that no file can have. It is named, the rest is restored, and the exit status is 1. Symbolic links
/// are made last, so no file is written through them; their targets are not checked.
///
/// A row whose file exists already is refused, too, unless --overwrite is given: then the new file is written beside it and takes its
/// name. A run that is killed leaves what it has restored so far, and perhaps a part of a new file. Files are not synced to the disk.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  sqluice unpack photos.db restored
  sqluice unpack site.sqlar --list -v
  sqluice unpack site.sqlar --stdout index.html | less
  sqluice unpack site.sqlar docs --include 'docs/**/*.md' --overwrite
  the blobs of a table kv (k INTEGER PRIMARY KEY, v), no more than 100 a folder:
    sqluice unpack blobs.db blobs --tree")]
pub(crate) struct Unpack {
    /// The database
    #[arg(value_name = "DB")]
    pub(crate) db: PathBuf,
    /// The folder to restore into
    #[arg(value_name = "DIR", required_unless_present_any = ["list", "stdout"])]
    pub(crate) dir: Option<PathBuf>,
    /// List the names, with -v or --json modes, sizes and times (UTC) as well, and restore nothing
    #[arg(short, long, conflicts_with_all = ["dir", "stdout"])]
    pub(crate) list: bool,
    /// Write the file of that name to standard output, and restore nothing
    #[arg(long, value_name = "NAME", conflicts_with_all = ["dir", "json", "include", "exclude"])]
    pub(crate) stdout: Option<OsString>,
    /// Put at most 100 entries into a folder: an integer key 1234 becomes 00/12/34, a name without / goes to the folder of its rowid
    #[arg(long, conflicts_with_all = ["list", "stdout"])]
    pub(crate) tree: bool,
    /// Read the table kv even if a table sqlar exists [default: sqlar, if it exists]
    #[arg(long)]
    pub(crate) kv: bool,
    /// Restore what matches, and nothing else; may be repeated [default: everything]
    #[arg(long, value_name = "GLOB")]
    pub(crate) include: Vec<String>,
    /// Leave out what matches, also of what is included; may be repeated [default: nothing]
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
    /// Replace existing files and links [default: they are refused]
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Threads [default: one a core]
    #[arg(short = 'j', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}
