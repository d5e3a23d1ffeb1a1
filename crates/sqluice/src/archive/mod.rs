//! `archive`: stores a folder as the rows of a table, and restores it.
//!
//! ```text
//!  sqlar   the format of `sqlite3 -A`: https://www.sqlite.org/sqlar.html
//!
//!     name           mode      mtime       sz     data
//!     notes          0o040755  1700000000      0  NULL               a folder, before its contents
//!     notes/a.txt    0o100644  1700000000   5000  blob, 5000 bytes   a file: its bytes if there are sz of them,
//!     notes/b.txt    0o100644  1700000000   5000  blob, 812 bytes    otherwise its bytes deflated by zlib
//!     notes/latest   0o120777  1700000000     -1  'b.txt'            a symbolic link, and its target
//!
//!  kv      k              v
//!          notes/a.txt    blob, 5000 bytes                           files only, not compressed
//! ```
//!
//! Names are relative, with `/` between their components, and have the bytes of the file system. Rows are sorted by the bytes of
//! their names: the automatic index of the PRIMARY KEY is in order, and the same folder gives the same file.
//! Each hard link is a separate file. Times are whole seconds.
//!
//! * [`Pack`] walks the folder (`walk`), and its workers read files (`files`) like the source of any other rows, which the same code
//!   encodes into pages.
//! * [`Unpack`] reads ranges of rowids, on a connection for each thread (`rows`), and creates the files (`restore`): names are checked
//!   first (`name`), and no step of a path follows a symbolic link.

mod contradiction;
mod files;
mod list;
mod name;
mod order;
mod pack;
mod restore;
mod rows;
mod select;
mod unpack;
mod walk;

use serde::Serialize;
use sqluice_core::error::Result;
use sqluice_core::given::Value;
use sqluice_format::limits;
use sqluice_format::page::PageSize;

pub use self::list::{Listed, list, utc, write_file};
pub use self::name::shown;
pub use self::pack::{Pack, PackReport, PreparedPack};
pub use self::rows::Kind;
pub use self::select::Selection;
pub use self::unpack::{Refusal, Unpack, UnpackReport};
pub use self::walk::Skipped;

/// The page size of a new archive.
pub const PAGE_SIZE: PageSize = PageSize::DEFAULT;

/// The maximum size of a value in SQLite, in bytes: `SQLITE_MAX_LENGTH`.
pub(crate) const FILE_BYTES_MAX: u64 = limits::LENGTH_MAX as u64;

/// The maximum length of a name, in bytes: with a NUL, the system's limit of a path.
const NAME_BYTES_MAX: usize = 4095;

/// The permission bits of a mode. The set-user-ID and set-group-ID bits are never restored.
const PERMISSIONS: u32 = 0o777;

/// The table in which files are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Layout {
    /// `sqlar(name, mode, mtime, sz, data)`, the SQLite Archive.
    #[default]
    Sqlar,
    /// `kv(k, v)`: only names and bytes of files.
    Kv,
}

/// The compression of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Compression {
    /// No compression.
    #[default]
    None,
    /// Files are deflated if this makes them smaller, as `sqlite3 -A` does.
    Deflate,
}

impl Compression {
    const WORDS: [(&str, Compression); 2] = [("none", Compression::None), ("deflate", Compression::Deflate)];
}

impl Layout {
    /// Parses the layout from a setting that is true for a table `kv`.
    fn given(value: &Value) -> Result<Layout> {
        Ok(if value.to()? { Layout::Kv } else { Layout::Sqlar })
    }

    /// Returns the name of the table.
    pub fn table(self) -> &'static str {
        match self {
            Layout::Sqlar => "sqlar",
            Layout::Kv => "kv",
        }
    }

    /// Returns the statement that creates the table; the statement of `sqlar` is exactly that of `sqlite3 -A`.
    pub fn sql(self) -> &'static str {
        match self {
            Layout::Sqlar => {
                "CREATE TABLE sqlar(
  name TEXT PRIMARY KEY,  -- name of the file
  mode INT,               -- access permissions
  mtime INT,              -- last modification time
  sz INT,                 -- original file size
  data BLOB               -- compressed content
)"
            }
            Layout::Kv => "CREATE TABLE kv(k TEXT PRIMARY KEY, v BLOB)",
        }
    }
}
