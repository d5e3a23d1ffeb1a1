//! `BlobStore`: a store of many blobs by key in a single database.
//!
//! ```text
//!                    ┌─ reader ── connection ── pages ─┐
//!  get, range, len ──┼─ reader ──   one per thread     ├── store.db:  kv(k TEXT PRIMARY KEY, v BLOB)
//!                    └─ reader                         │              or the table sqlar of `sqlite3 -A`
//!  put, remove ──────── writer ── one transaction per batch
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
//! The store is an ordinary SQLite database: `sqlite3 store.db "SELECT k, length(v) FROM kv"` lists it. If the database has a table `kv`,
//! this table is the store; otherwise a table `sqlar` is opened as an archive, whose files are the blobs. Blobs put into an archive are not
//! compressed; deflated blobs are inflated when they are read. Keys are bytes, and are compared as bytes. A number in the place of a blob
//! is an error; a NULL in `kv` is an empty blob.
//!
//! * In a database with a rollback journal, the default for new stores, the store **holds a read lock** between reads and releases it ten
//!   times a second. Other processes can read the database at any time. They can write if they wait for half a second (`busy_timeout`,
//!   `.timeout`); a process that does not wait may find the database locked ([`Options::shared`] avoids this). In return, a read needs no
//!   lock and reads the pages directly: a binary search in the index and the table, and two reads for the blob.
//! * Readers of this store see a batch as soon as it is committed. Readers wait for a commit and, if a batch has more than 32 MiB (counting
//!   4 KiB more for each change), for the rest of the batch. In WAL mode ([`Journal::Wal`]), readers and writers do not wait for each
//!   other, but every read is an SQL statement.
//! * Any number of threads can use a store. Each thread reads with its own connection, up to [`Options::readers_max`] connections.
//!
//! Invariant: whenever the pages do not answer a read with certainty, SQLite does.

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

/// A store of blobs by key; see the module's description.
pub struct BlobStore {
    path: PathBuf,
    pool: Arc<Pool>,
    /// The clock, which makes readers release their locks. `None` in WAL mode, in which no process waits for readers.
    _clock: Option<Clock>,
    /// The writer; `None` if the store was opened for reading only.
    writer: Option<Mutex<Writer>>,
}

impl BlobStore {
    /// Opens the store in a file, or creates it if the file does not exist.
    ///
    /// # Errors
    /// When the file is not a store, or can't be read or created.
    pub fn open(path: impl AsRef<Path>) -> Result<BlobStore> {
        BlobStore::options().open(path)
    }

    /// Returns options for opening a store.
    pub fn options() -> Options {
        Options::default()
    }

    fn open_with(path: &Path, mut options: Options) -> Result<BlobStore> {
        refuse_memory(path)?;
        // SQLite would take a name that begins with `file:` for a URI.
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

    /// Returns the path as given to [`BlobStore::open`].
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a blob, or `None` if the key does not exist.
    ///
    /// # Errors
    /// When the blob can't be read.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        let mut blob = Vec::new();
        Ok(self.get_into(key, &mut blob)?.then_some(blob))
    }

    /// Replaces the content of `blob` by a blob of the store. Returns `false` if the key does not exist; `blob` is then empty. The memory
    /// of `blob` is reused, which makes repeated reads into the same vector faster than [`get`](Self::get).
    ///
    /// # Errors
    /// When the blob can't be read. The content of `blob` is then arbitrary.
    pub fn get_into(&self, key: impl AsRef<[u8]>, blob: &mut Vec<u8>) -> Result<bool> {
        self.read(key.as_ref(), &BlobPart::Whole, blob).map(|length| length.is_some())
    }

    /// Returns the bytes of a blob in a range, without reading other bytes. The range is cut off at the end of the blob. Returns `None` if
    /// the key does not exist.
    ///
    /// # Errors
    /// When the range can't be read.
    pub fn range(&self, key: impl AsRef<[u8]>, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        let length = self.read(key.as_ref(), &BlobPart::Range(range), &mut bytes)?;
        Ok(length.map(|_| bytes))
    }

    /// Returns the length of a blob in bytes, without reading the blob. Returns `None` if the key does not exist.
    ///
    /// # Errors
    /// When the length can't be read.
    pub fn len(&self, key: impl AsRef<[u8]>) -> Result<Option<u64>> {
        self.read(key.as_ref(), &BlobPart::Nothing, &mut Vec::new())
    }

    /// Returns `true` if the key exists.
    ///
    /// # Errors
    /// When the database can't be read.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.len(key)?.is_some())
    }

    /// Returns the number of blobs. This scans all keys.
    ///
    /// # Errors
    /// When the keys can't be read.
    pub fn count(&self) -> Result<u64> {
        let count = |reader: &mut Reader| {
            let count =
                reader.connection()?.query_row(self.pool.layout().count(), [], |row| row.get::<_, i64>(0));
            count.map_err(|error| failed(error, "read", &self.path))
        };
        self.pool.with(count).map(|count| count as u64)
    }

    /// Returns an iterator over keys and blobs in the order of the keys' bytes.
    pub fn iter(&self) -> Iter<'_> {
        Iter::new(&self.pool, None)
    }

    /// Returns an iterator over the blobs whose keys follow `key`.
    pub fn iter_after(&self, key: impl Into<Vec<u8>>) -> Iter<'_> {
        Iter::new(&self.pool, Some(key.into()))
    }

    /// Writes a blob, replacing an existing blob with the same key.
    ///
    /// # Errors
    /// When the blob can't be written. The store is then unchanged.
    pub fn put(&self, key: impl AsRef<[u8]>, blob: impl AsRef<[u8]>) -> Result<()> {
        self.put_many([(key, blob)]).map(drop)
    }

    /// Writes many blobs in one transaction and returns their number. If several blobs have the same key, the last one stays. The iterator
    /// is consumed while the batch is written, so the iterator must not read or write this store: such a call may wait forever.
    ///
    /// # Errors
    /// When a blob can't be written. The store is then unchanged.
    pub fn put_many<K: AsRef<[u8]>, B: AsRef<[u8]>>(
        &self,
        blobs: impl IntoIterator<Item = (K, B)>,
    ) -> Result<u64> {
        let mut blobs = blobs.into_iter();
        self.batch(&mut |change| {
            blobs.try_for_each(|(key, blob)| change(Change::Put(key.as_ref(), blob.as_ref())))
        })
    }

    /// Removes a blob. Returns `false` if the key did not exist.
    ///
    /// # Errors
    /// When the database can't be written. The store is then unchanged.
    pub fn remove(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.remove_many([key])? > 0)
    }

    /// Removes many blobs in one transaction. Returns the number of blobs that existed.
    ///
    /// # Errors
    /// When the database can't be written. The store is then unchanged.
    pub fn remove_many<K: AsRef<[u8]>>(&self, keys: impl IntoIterator<Item = K>) -> Result<u64> {
        let mut keys = keys.into_iter();
        self.batch(&mut |change| keys.try_for_each(|key| change(Change::Remove(key.as_ref()))))
    }

    fn read(&self, key: &[u8], part: &BlobPart, out: &mut Vec<u8>) -> Result<Option<u64>> {
        self.pool.with(|reader| reader.read(key, part, out))
    }

    fn batch(&self, changes: Changes<'_>) -> Result<u64> {
        let writer = self.writer.as_ref().ok_or_else(|| pool::read_only(&self.path))?;
        // If another thread has panicked while it wrote, its transaction was rolled back, so the writer can be used.
        let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.batch(&self.pool, changes)
    }
}

impl fmt::Debug for BlobStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlobStore").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Returns the error for a failed operation of SQLite on a store.
fn failed(error: rusqlite::Error, what: &str, path: &Path) -> Error {
    let name = path.display();
    if full_disk::is_it(&error, path) {
        return full_disk::error(error, what, path).about(path);
    }
    let failed = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::target(format!("{name} is in use")).hint(message![
                "another program writes to it, or still reads it, and a commit has to wait for that; wait longer: ",
                Setting::BusyTimeout
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
