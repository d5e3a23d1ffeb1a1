//! `archive`: a folder as the rows of a table, and back.
//!
//! ```text
//!  sqlar   what `sqlite3 -A` reads and writes: https://www.sqlite.org/sqlar.html
//!
//!     name           mode      mtime       sz     data
//!     notes          0o040755  1700000000      0  NULL               a folder, before what is in it
//!     notes/a.txt    0o100644  1700000000   5000  blob, 5000 bytes   a file: its bytes, where they number sz,
//!     notes/b.txt    0o100644  1700000000   5000  blob, 812 bytes    and else what zlib made of them
//!     notes/latest   0o120777  1700000000     -1  'b.txt'            a symbolic link, and what it names
//!
//!  kv      k              v
//!          notes/a.txt    blob, 5000 bytes                           files alone, as they are
//! ```
//!
//! Names are relative, with `/` between their components, and have whatever bytes the file system gave them. Rows come in the
//! order of their names' bytes: the automatic index of the PRIMARY KEY is in order, and the same folder makes the same file.
//! Each hard link is a file of its own. Times are whole seconds.
//!
//! * [`Pack`] walks the folder (`walk`), and its workers read files (`files`) as they would read a CSV file: what they read is
//!   encoded into pages by the same code as all rows.
//! * [`Unpack`] reads ranges of rowids, a connection each (`rows`), and makes the files (`restore`): names are checked first (`name`), and
//!   no step of a path is ever taken through a symbolic link.

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

/// The longest name, in bytes: with a NUL, what the system takes for a path.
const NAME_BYTES_MAX: usize = 4095;

/// The bits of a mode that say who may do what. Those that lend a file the rights of its owner are never given.
const PERMISSIONS: u32 = 0o777;

/// Which table files are kept in.
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

/// What is done to the bytes of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Compression {
    /// Nothing.
    #[default]
    None,
    /// They are deflated where that makes them fewer, as `sqlite3 -A` does.
    Deflate,
}

impl Compression {
    const WORDS: [(&str, Compression); 2] = [("none", Compression::None), ("deflate", Compression::Deflate)];
}

impl Layout {
    /// Reads the layout of a setting that says whether files are in a table `kv`.
    fn given(value: &Value) -> Result<Layout> {
        Ok(if value.to()? { Layout::Kv } else { Layout::Sqlar })
    }

    /// The name of its table.
    pub fn table(self) -> &'static str {
        match self {
            Layout::Sqlar => "sqlar",
            Layout::Kv => "kv",
        }
    }

    /// The statement that makes its table; that of `sqlar` is the one of `sqlite3 -A`, word for word.
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
