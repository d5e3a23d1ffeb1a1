//! `BlobStore`: many blobs by key in one database.
//!
//! ```text
//!                    ┌─ reader ── connection ── pages ─┐
//!  get, range, len ──┼─ reader ──     one a thread     ├── store.db:  kv(k TEXT PRIMARY KEY, v BLOB)
//!                    └─ reader                         │              or the table sqlar of `sqlite3 -A`
//!  put, remove ──────── writer ── one transaction a batch
//! ```
//!
//! ```
//! use sqluice_stores::blob_store::BlobStore;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("store.db");
//! let store = BlobStore::open(&path)?;
//! store.put("north/oslo", b"59.9")?;
//! store.put_many([("south/rome", b"41.9"), ("south/bari", b"41.1")])?;
//! assert_eq!(store.get("south/rome")?.as_deref(), Some(&b"41.9"[..]));
//! assert_eq!(store.range("north/oslo", 0..2)?.as_deref(), Some(&b"59"[..]));
//! assert_eq!(store.get("west/faro")?, None);
//! # Ok(()) }
//! ```
//!
//! The database is SQLite's: `sqlite3 store.db "SELECT k, length(v) FROM kv"` lists it. A database that has `kv` is opened as that, else
//! one that has `sqlar` as an archive, whose files are the blobs; what is put into an archive is not compressed, what is deflated
//! in it is read back inflated. Keys are bytes, and are compared as such. A number in the place of a blob is an error, a NULL in `kv`
//! is an empty blob.
//!
//! * With a rollback journal, which new stores have, the store **holds a read lock** from read to read, and lets go of it ten times a
//!   second: other processes can read the database at any time, and write to it when they wait for half a second (`busy_timeout`,
//!   `.timeout`); a process that does not wait may find it locked ([`Options::shared`] is for those). In return a read needs no lock, and
//!   takes the pages as they are: the index and the table by binary search, the blob in two reads.
//! * Batches of this store are seen by its readers as soon as they are committed. Readers wait for a commit, and, where a batch has
//!   more than 32 MiB (a change being 4 KiB at least), for the rest of the batch. In WAL mode
//!   ([`Journal::Wal`]) no reader or writer waits for another, but every read goes through SQLite's own statements.
//! * A store can be used by any number of threads; each reads with a connection of its own, up to [`Options::readers_max`].
//!
//! Invariant: SQLite is asked for everything that pages do not answer for sure.

mod clock;
mod file;
mod iter;
mod layout;
mod node;
mod options;
mod pages;
mod pool;
mod reader;
mod tree;
mod writer;

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::ErrorCode;

use sqluice_core::database_path::refuse_memory;
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::sqlite_error::{full_disk, said};

pub use iter::Iter;
pub use options::{Durability, Journal, Options, PAGE_SIZE};

use clock::Clock;
use pool::Pool;
use reader::{BlobPart, Reader};
use writer::{Change, Changes, Writer};

/// Blobs by key; see the module's description.
pub struct BlobStore {
    path: PathBuf,
    pool: Arc<Pool>,
    /// `None` in WAL mode, where no process waits.
    _clock: Option<Clock>,
    /// `None` when the store was opened for reading only.
    writer: Option<Mutex<Writer>>,
}

impl BlobStore {
    /// Opens the store in a file, or makes it where nothing is.
    ///
    /// # Errors
    /// When the file is something else, or can't be read or made.
    pub fn open(path: impl AsRef<Path>) -> Result<BlobStore> {
        BlobStore::options().open(path)
    }

    /// Options to open a store with.
    pub fn options() -> Options {
        Options::default()
    }

    fn open_with(path: &Path, mut options: Options) -> Result<BlobStore> {
        refuse_memory(path)?;
        // A name that begins with `file:` would be a URI to SQLite.
        let absolute = std::path::absolute(path).map_err(|error| Error::read(path, error))?;
        let read_only = options.read_only;
        let (writer, layout) = Writer::open(&absolute, &mut options)?;
        let log = options.journal == Journal::Wal;
        let pool = Arc::new(Pool::new(absolute, layout, options));
        Ok(BlobStore {
            path: path.to_owned(),
            _clock: if log { None } else { Some(Clock::start(&pool)?) },
            pool,
            writer: (!read_only).then(|| Mutex::new(writer)),
        })
    }

    /// The file, as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A blob; `None` if the key does not exist.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        let mut blob = Vec::new();
        Ok(self.get_into(key, &mut blob)?.then_some(blob))
    }

    /// Puts a blob in the place of what `blob` has, and returns whether the key exists; if not, `blob` is empty. Its
    /// memory is used again: many reads into the same are faster than [`get`](Self::get).
    ///
    /// # Errors
    /// When it can't be read; `blob` may have anything then.
    pub fn get_into(&self, key: impl AsRef<[u8]>, blob: &mut Vec<u8>) -> Result<bool> {
        self.read(key.as_ref(), &BlobPart::Whole, blob).map(|length| length.is_some())
    }

    /// Some bytes of a blob, as far as it has them, without reading the others; `None` if the key does not exist.
    ///
    /// # Errors
    /// When they can't be read.
    pub fn range(&self, key: impl AsRef<[u8]>, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        let length = self.read(key.as_ref(), &BlobPart::Range(range), &mut bytes)?;
        Ok(length.map(|_| bytes))
    }

    /// The length of a blob in bytes, without reading it; `None` if the key does not exist.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn len(&self, key: impl AsRef<[u8]>) -> Result<Option<u64>> {
        self.read(key.as_ref(), &BlobPart::Nothing, &mut Vec::new())
    }

    /// Whether the key exists.
    ///
    /// # Errors
    /// When that can't be found out.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.len(key)?.is_some())
    }

    /// The number of blobs. All keys are looked at.
    ///
    /// # Errors
    /// When they can't be read.
    pub fn count(&self) -> Result<u64> {
        let count = |reader: &mut Reader| {
            let count =
                reader.connection()?.query_row(self.pool.layout().count(), [], |row| row.get::<_, i64>(0));
            count.map_err(|error| failed(error, "read", &self.path))
        };
        self.pool.with(count).map(|count| count as u64)
    }

    /// Keys and blobs in the order of the keys' bytes.
    pub fn iter(&self) -> Iter<'_> {
        Iter::new(&self.pool, None)
    }

    /// The blobs whose keys follow `key`.
    pub fn iter_after(&self, key: impl Into<Vec<u8>>) -> Iter<'_> {
        Iter::new(&self.pool, Some(key.into()))
    }

    /// Puts a blob under a key, in the place of an existing one.
    ///
    /// # Errors
    /// When it can't be written: then all is as it was.
    pub fn put(&self, key: impl AsRef<[u8]>, blob: impl AsRef<[u8]>) -> Result<()> {
        self.put_many([(key, blob)]).map(drop)
    }

    /// Puts many blobs in one transaction; returns how many. Of several under the same key the last one stays. They are taken one by
    /// one while the batch is written, and must not be made by reading or writing this store, which waits for the batch.
    ///
    /// # Errors
    /// When one can't be written: then all is as it was.
    pub fn put_many<K: AsRef<[u8]>, B: AsRef<[u8]>>(
        &self,
        blobs: impl IntoIterator<Item = (K, B)>,
    ) -> Result<u64> {
        let mut blobs = blobs.into_iter();
        self.batch(&mut |change| {
            blobs.try_for_each(|(key, blob)| change(Change::Put(key.as_ref(), blob.as_ref())))
        })
    }

    /// Removes a blob; returns whether it existed.
    ///
    /// # Errors
    /// When the database can't be written: then all is as it was.
    pub fn remove(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.remove_many([key])? > 0)
    }

    /// Removes many blobs in one transaction; returns how many existed.
    ///
    /// # Errors
    /// When the database can't be written: then all is as it was.
    pub fn remove_many<K: AsRef<[u8]>>(&self, keys: impl IntoIterator<Item = K>) -> Result<u64> {
        let mut keys = keys.into_iter();
        self.batch(&mut |change| keys.try_for_each(|key| change(Change::Remove(key.as_ref()))))
    }

    fn read(&self, key: &[u8], part: &BlobPart, out: &mut Vec<u8>) -> Result<Option<u64>> {
        self.pool.with(|reader| reader.read(key, part, out))
    }

    fn batch(&self, changes: Changes<'_>) -> Result<u64> {
        let writer = self.writer.as_ref().ok_or_else(|| pool::read_only(&self.path))?;
        // A thread that panicked rolled back.
        let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.batch(&self.pool, changes)
    }
}

impl fmt::Debug for BlobStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlobStore").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The error for what SQLite could not do to a store.
fn failed(error: rusqlite::Error, what: &str, path: &Path) -> Error {
    let name = path.display();
    if full_disk::is_it(&error, path) {
        return full_disk::error(error, what, path).about(path);
    }
    let failed = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::target(format!("{name} is in use")).hint(message![
                "another program writes to it, or reads it, which a commit has to wait for: wait longer (",
                Setting::BusyTimeout,
                ")"
            ])
        }
        Some(ErrorCode::ReadOnly) => Error::target(format!("{name} is read-only"))
            .hint("permit writing to it, or open it for reading only"),
        Some(ErrorCode::CannotOpen) => Error::target(format!("cannot open {name}"))
            .hint("check that its folder exists, and its permissions"),
        Some(ErrorCode::NotADatabase) => {
            Error::target(format!("{name} is not a SQLite database")).hint("name another file")
        }
        Some(ErrorCode::TooBig) => {
            Error::input(format!("cannot {what} {name}")).hint("SQLite stores 1,000,000,000 bytes at most")
        }
        _ => Error::target(format!("cannot {what} {name}")),
    };
    failed.about(path).because(said(error))
}
