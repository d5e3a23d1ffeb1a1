//! `archive`: packs a folder into the rows of a table, and unpacks it again.
//!
//! ```text
//!  sqlar   the format of `sqlite3 -A`: https://www.sqlite.org/sqlar.html
//!
//!     name           mode      mtime       sz     data
//!     notes          0o040755  1700000000      0  NULL               a folder, before its content
//!     notes/a.txt    0o100644  1700000000   5000  blob, 5000 bytes   a file that is not compressed: the blob has sz bytes
//!     notes/b.txt    0o100644  1700000000   5000  blob, 812 bytes    a file that zlib has compressed: the blob has fewer
//!     notes/latest   0o120777  1700000000     -1  'b.txt'            a symbolic link, and its target
//!
//!  kv      k              v
//!          notes/a.txt    blob, 5000 bytes                           only files, uncompressed
//! ```
//!
//! Names are relative, with `/` between their components, and keep the bytes of the file system. Rows come in the byte order of their
//! names; without compression, those of each part (`files`) are then reordered so that they fill their pages (`order`). The order depends
//! on the folder and the options alone, so the same folder makes the same database. Each hard link is a file of its own. Times are whole
//! seconds.
//!
//! * [`Pack`] walks the folder (`walk`), and reads the files on several threads (`files`). The code that writes rows of a CSV file as pages
//!   writes these rows, too.
//! * [`Unpack`] reads ranges of rowids, with a connection for each thread (`rows`), and creates the files (`restore`): names are checked
//!   first (`name`), and symbolic links are never followed.

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

/// The longest value that SQLite stores, in bytes: `SQLITE_MAX_LENGTH`.
pub(crate) const FILE_BYTES_MAX: u64 = limits::LENGTH_MAX as u64;

/// The longest name, in bytes. With the NUL at its end, it is as long as the longest path of Linux (`PATH_MAX`).
const NAME_BYTES_MAX: usize = 4095;

/// The permission bits of a mode. The setuid and setgid bits are never restored.
const PERMISSIONS: u32 = 0o777;

/// The layout of the table with the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Layout {
    /// `sqlar(name, mode, mtime, sz, data)`, the SQLite Archive.
    #[default]
    Sqlar,
    /// `kv(k, v)`: names and bytes of files, nothing else.
    Kv,
}

/// The compression of file contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Compression {
    /// No compression.
    #[default]
    None,
    /// Contents are deflated if this makes them smaller, as by `sqlite3 -A`.
    Deflate,
}

impl Compression {
    const WORDS: [(&str, Compression); 2] = [("none", Compression::None), ("deflate", Compression::Deflate)];
}

impl Layout {
    /// Parses the layout of a boolean setting: `true` means a table `kv`.
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

    /// Returns the statement that creates the table. The statement for `sqlar` is exactly that of `sqlite3 -A`.
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
