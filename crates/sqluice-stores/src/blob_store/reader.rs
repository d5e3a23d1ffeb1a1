//! A connection for reading, which one thread uses at a time.
//!
//! ```text
//!  held:      BEGIN, SHARED lock ── get, get, get: pages, no lock, no statement ── COMMIT, before a commit of the store and every 0.1 s
//!  otherwise: SELECT, SELECT, SELECT: each a transaction
//! ```
//!
//! While a connection holds its SHARED lock, no process changes the file, so the reader reads the pages itself. It runs an SQL statement
//! only if the pages give no answer ([`super::tree`]). In WAL mode and in a shared store, no lock is held.

use std::mem;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row as SqlRow};
use sqluice_core::error::{Error, Result};
use sqluice_format::database::Header;
use sqluice_format::page::DATABASE_HEADER_BYTES;

use super::failed;
use super::file::RawFile;
use super::layout::Layout;
use super::options::Options;
use super::pages::{Cache, Pages};
use super::tree::{Roots, Row};
use crate::deflate::{InflateError, Inflater};

/// The read version in the header of a database with a rollback journal.
const ROLLBACK: u8 = 1;

/// A reader; see the module's description.
pub(super) struct Reader {
    connection: Connection,
    layout: Layout,
    path: PathBuf,
    holds: bool,
    mapped: bool,
    cache_bytes: usize,
    held: Option<Held>,
    /// The file header at the time when the cached pages were read; `None` if no page is cached. If the header of the file has changed
    /// since, the cache is emptied.
    cached: Option<Header>,
    cache: Cache,
    deflated: Vec<u8>,
    inflater: Option<Inflater>,
}

/// A transaction that is held between reads.
#[derive(Clone, Copy)]
struct Held {
    /// The header and root pages for reading pages; `None` if only SQLite can read the database.
    pages: Option<(Header, Roots)>,
}

/// A key as a parameter: text of arbitrary bytes.
pub(super) struct Key<'k>(pub(super) &'k [u8]);

impl ToSql for Key<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0)))
    }
}

/// The wanted part of a blob.
#[derive(Clone, Debug)]
pub(super) enum BlobPart {
    Whole,
    /// A range, cut off at the end of the blob.
    Range(Range<u64>),
    /// Only the length.
    Nothing,
}

impl BlobPart {
    /// Returns the range to read of a blob that has `bytes` bytes.
    fn of(&self, bytes: u64) -> Range<u64> {
        match self {
            BlobPart::Whole => 0..bytes,
            BlobPart::Range(range) => range.start.min(bytes)..range.end.min(bytes),
            BlobPart::Nothing => 0..0,
        }
    }
}

/// The stored form of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stored {
    /// A folder or a link, which is not a blob.
    Other,
    /// An uncompressed blob of this many bytes.
    Plain(u64),
    /// A deflated blob that inflates to this many bytes.
    Deflated(u64),
}

impl Stored {
    fn of(row: Row, layout: Layout) -> Stored {
        match (layout, row.stored, row.size) {
            (Layout::Kv, stored, _) => Stored::Plain(stored.unwrap_or(0)),
            (Layout::Sqlar, Some(stored), Some(size)) => match u64::try_from(size) {
                Ok(size) if size == stored => Stored::Plain(stored),
                Ok(size) => Stored::Deflated(size),
                Err(_) => Stored::Other,
            },
            (Layout::Sqlar, ..) => Stored::Other,
        }
    }
}

impl Reader {
    pub(super) fn open(path: &Path, layout: Layout, options: &Options) -> Result<Reader> {
        let mut flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        // SQLite needs write access even for reading if it must roll back the journal of a crashed process.
        flags |= match options.read_only {
            true => OpenFlags::SQLITE_OPEN_READ_ONLY,
            false => OpenFlags::SQLITE_OPEN_READ_WRITE,
        };
        let open = || {
            let connection = Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(options.busy_timeout)?;
            connection.execute_batch(&format!("PRAGMA mmap_size = {}", options.mmap_bytes))?;
            Ok(connection)
        };
        let connection = open().map_err(|error| failed(error, "open", path))?;
        Ok(Reader {
            connection,
            layout,
            path: path.to_owned(),
            holds: !options.shared,
            mapped: options.mmap_bytes > 0,
            cache_bytes: options.cache_bytes,
            held: None,
            cached: None,
            cache: Cache::default(),
            deflated: Vec::new(),
            inflater: None,
        })
    }

    /// Replaces `out` by the wanted part of a blob. Returns the length of the entire blob, or `None` if the key does not exist.
    pub(super) fn read(&mut self, key: &[u8], part: &BlobPart, out: &mut Vec<u8>) -> Result<Option<u64>> {
        out.clear();
        self.hold()?;
        match self.by_pages(key, part, out) {
            Some(read) => read,
            None => {
                out.clear();
                // The inflater is taken out while the connection is borrowed.
                let mut inflater = self.inflater.take();
                let read = self.by_sql(key, part, &mut inflater, out);
                self.inflater = inflater;
                read
            }
        }
    }

    /// Returns the connection, for statements of any kind.
    pub(super) fn connection(&mut self) -> Result<&Connection> {
        self.hold()?;
        Ok(&self.connection)
    }

    /// Ends the held transaction, because a writer of this store is about to commit, or to let other processes write.
    pub(super) fn release(&mut self) -> Result<()> {
        if self.held.take().is_some() {
            let ended = self.connection.execute_batch("COMMIT");
            ended.map_err(|error| failed(error, "read", &self.path))?;
        }
        Ok(())
    }

    /// Reads a blob from pages. Returns `None` if the pages give no answer and SQLite must be asked.
    fn by_pages(&mut self, key: &[u8], part: &BlobPart, out: &mut Vec<u8>) -> Option<Result<Option<u64>>> {
        let (header, roots) = self.held?.pages?;
        let mut pages = Pages {
            file: RawFile::of(&self.connection)?,
            cache: &mut self.cache,
            geometry: header.geometry,
            page_count: header.page_count,
            mapped: self.mapped,
        };
        let layout = self.layout;
        let mut wanted = |row: Row| match Stored::of(row, layout) {
            Stored::Other => 0..0,
            Stored::Plain(bytes) => part.of(bytes),
            Stored::Deflated(size) if part.of(size).is_empty() => 0..0,
            Stored::Deflated(_) => 0..u64::MAX,
        };
        let Some(row) = pages.look_up(roots, layout, key, &mut wanted, out)? else { return Some(Ok(None)) };
        match Stored::of(row, layout) {
            Stored::Other => Some(Ok(None)),
            Stored::Plain(bytes) => Some(Ok(Some(bytes))),
            Stored::Deflated(size) => {
                let range = part.of(size);
                if !range.is_empty() {
                    mem::swap(out, &mut self.deflated);
                    let inflated = inflate_part(&mut self.inflater, &self.deflated, size, range, out);
                    if let Err(error) = inflated {
                        return Some(Err(of_key(error, key, &self.path)));
                    }
                }
                Some(Ok(Some(size)))
            }
        }
    }

    fn by_sql(
        &self,
        key: &[u8],
        part: &BlobPart,
        inflater: &mut Option<Inflater>,
        out: &mut Vec<u8>,
    ) -> Result<Option<u64>> {
        if matches!(part, BlobPart::Whole) {
            return self.whole(key, inflater, out);
        }
        let failed = |error| failed(error, "read", &self.path);
        // The transaction keeps the row unchanged between measuring and reading.
        let transaction = match self.held {
            None => Some(self.connection.unchecked_transaction().map_err(failed)?),
            Some(_) => None,
        };
        let found = self.measured(key).map_err(failed)?;
        let Some((rowid, row)) = found else { return Ok(None) };
        let bytes = match Stored::of(row, self.layout) {
            Stored::Other => return Ok(None),
            Stored::Plain(bytes) => {
                let range = part.of(bytes);
                if !range.is_empty() {
                    self.bytes(rowid, range, out).map_err(|error| of_key(error, key, &self.path))?;
                }
                bytes
            }
            Stored::Deflated(size) => {
                let range = part.of(size);
                if !range.is_empty() {
                    let mut whole = Vec::new();
                    self.whole(key, inflater, &mut whole)?;
                    out.extend_from_slice(
                        whole.get(range.start as usize..range.end as usize).unwrap_or_default(),
                    );
                }
                size
            }
        };
        if let Some(transaction) = transaction {
            transaction.commit().map_err(failed)?;
        }
        Ok(Some(bytes))
    }

    /// Returns the rowid of a key and the lengths in its row, or `None` if the key does not exist. Does not read the blob.
    fn measured(&self, key: &[u8]) -> rusqlite::Result<Option<(i64, Row)>> {
        let mut measure = self.connection.prepare_cached(self.layout.measure())?;
        let found = measure.query_row([Key(key)], |row| {
            let stored = row.get::<_, Option<i64>>(1)?.and_then(|bytes| u64::try_from(bytes).ok());
            Ok((row.get(0)?, Row { stored, size: row.get(2)? }))
        });
        found.optional()
    }

    /// Replaces `out` by an entire blob. Returns its length, or `None` if the key does not exist or its row is not a blob.
    fn whole(&self, key: &[u8], inflater: &mut Option<Inflater>, out: &mut Vec<u8>) -> Result<Option<u64>> {
        let failed = |error| failed(error, "read", &self.path);
        let mut select = self.connection.prepare_cached(self.layout.select()).map_err(failed)?;
        let mut rows = select.query([Key(key)]).map_err(failed)?;
        let Some(row) = rows.next().map_err(failed)? else { return Ok(None) };
        take(row, self.layout, inflater, out).map_err(|error| of_key(error, key, &self.path))
    }

    /// Appends a range of a blob, read through a blob handle, which reads no more than necessary.
    fn bytes(&self, rowid: i64, range: Range<u64>, out: &mut Vec<u8>) -> Result<()> {
        let (table, blob) = (self.layout.table(), self.layout.blob());
        let start = out.len();
        let mut read = || -> rusqlite::Result<()> {
            let blob = self.connection.blob_open("main", table, blob, rowid, true)?;
            out.resize(start + (range.end - range.start) as usize, 0);
            blob.read_at_exact(&mut out[start..], range.start as usize)
        };
        read().map_err(|error| failed(error, "read a part of", &self.path))
    }

    /// Begins a transaction that is held, unless one is held already or the store is shared.
    fn hold(&mut self) -> Result<()> {
        if self.held.is_some() || !self.holds {
            return Ok(());
        }
        let (layout, path) = (self.layout, &self.path);
        let begin = || -> rusqlite::Result<Option<(u32, u32)>> {
            self.connection.execute_batch("BEGIN")?;
            let mut roots = self.connection.prepare_cached(layout.roots())?;
            roots.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()
        };
        let roots = begin().map_err(|error| {
            // The BEGIN may have failed, so the ROLLBACK may fail, too.
            let _ = self.connection.execute_batch("ROLLBACK");
            failed(error, "read", path)
        })?;
        let header = RawFile::of(&self.connection).and_then(header);
        if header.is_some_and(|header| header.read_version != ROLLBACK) {
            // In WAL mode, a held transaction would prevent the log from being reset.
            self.holds = false;
            return self.connection.execute_batch("COMMIT").map_err(|error| failed(error, "read", path));
        }
        let pages = header.and_then(|header| {
            if self.cached != Some(header) {
                self.cache.reset(self.cache_bytes, header.geometry);
                self.cached = Some(header);
            }
            let (geometry, page_count) = (header.geometry, header.page_count);
            let (table, index) = roots?;
            let file = RawFile::of(&self.connection)?;
            let mut pages = Pages { file, cache: &mut self.cache, geometry, page_count, mapped: self.mapped };
            Some((header, Roots { table, table_levels: pages.levels(table)?, index }))
        });
        self.held = Some(Held { pages });
        Ok(())
    }
}

/// Returns the header of the file if its page count is valid.
fn header(file: RawFile<'_>) -> Option<Header> {
    let mut bytes = [0; DATABASE_HEADER_BYTES];
    file.read(0, &mut bytes)?;
    let header = Header::from_bytes(&bytes).ok()?;
    (header.valid_for == header.change_counter).then_some(header)
}

/// Replaces `out` by the blob of a row from [`Layout::select`] or [`Layout::walk`]. Returns its length, or `None` if the row is not a blob.
pub(super) fn take(
    row: &SqlRow<'_>,
    layout: Layout,
    inflater: &mut Option<Inflater>,
    out: &mut Vec<u8>,
) -> Result<Option<u64>> {
    let read = |error: rusqlite::Error| Error::input("cannot read").because(error);
    let blob = match row.get_ref(1).map_err(read)? {
        ValueRef::Null => None,
        ValueRef::Blob(bytes) | ValueRef::Text(bytes) => Some(bytes),
        ValueRef::Integer(_) | ValueRef::Real(_) => {
            return Err(Error::input("a number is stored where a blob must be"));
        }
    };
    let size = row.get(2).map_err(read)?;
    let data = blob.unwrap_or_default();
    match Stored::of(Row { stored: blob.map(|blob| blob.len() as u64), size }, layout) {
        Stored::Other => Ok(None),
        Stored::Plain(bytes) => {
            out.clear();
            out.extend_from_slice(data);
            Ok(Some(bytes))
        }
        Stored::Deflated(size) => inflate(inflater, data, size, out).map(|()| Some(size)),
    }
}

/// Inflates data, and replaces `out` by a range of the result.
fn inflate_part(
    inflater: &mut Option<Inflater>,
    data: &[u8],
    size: u64,
    range: Range<u64>,
    out: &mut Vec<u8>,
) -> Result<()> {
    inflate(inflater, data, size, out)?;
    out.truncate(usize::try_from(range.end).unwrap_or(usize::MAX));
    out.drain(..(range.start as usize).min(out.len()));
    Ok(())
}

/// Inflates data into `out`. The result must have `size` bytes.
fn inflate(inflater: &mut Option<Inflater>, data: &[u8], size: u64, out: &mut Vec<u8>) -> Result<()> {
    out.clear();
    inflater.get_or_insert_with(Inflater::default).inflate(data, size, out).map_err(|error| {
        let failed = Error::input(format!("the stored data does not inflate to {size} bytes"));
        match error {
            InflateError::Wrong(why) => failed.because(why),
            InflateError::Write(error) => failed.because(error),
        }
    })
}

/// Adds the key to an error.
fn of_key(error: Error, key: &[u8], path: &Path) -> Error {
    error.with_words(format!(", key {:?} of {}", String::from_utf8_lossy(key), path.display()))
}
