//! Reads the pages of a database whose newest pages are in the WAL. SQLite returns the pages as its read transaction sees them.
//!
//! ```text
//!  connection  time ──>
//!  watch       data_version ─────────────── data_version again: if it is unchanged, the other two see one state
//!  schema                  BEGIN                  reads the schema, runs integrity_check
//!  reader                         BEGIN           reads pages from sqlite_dbpage
//! ```
//!
//! The file alone has old pages, and only the shared memory of the WAL shows which frames are valid.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_reader::connection::unreadable;
use sqluice_reader::dbpage;

use super::connection::{Keeps, begin, begin_with, open};

/// The maximum number of attempts to begin both connections. An attempt fails if another process commits in between.
const TRIES: usize = 100;

/// One state of a database. Any number of threads can read its pages.
#[derive(Debug)]
pub(super) struct Snapshot {
    reader: Mutex<Connection>,
    page_bytes: usize,
    page_count: u32,
}

impl Snapshot {
    /// Begins to read. Returns a connection in a read transaction, and the pages of the same state. `keeps` says whether `integrity_check`
    /// on this connection also checks CHECK constraints; for this, SQLite must be able to open the file for writing.
    pub(super) fn begin(
        path: &Path,
        target: &Path,
        keeps: Keeps,
        cancel: &Cancel,
    ) -> Result<(Connection, Snapshot)> {
        let failed = |error| unreadable(target, error);
        let watch = open(path, Keeps::NoChecks, cancel).map_err(failed)?;
        let version =
            || watch.query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0)).map_err(failed);
        for _ in 0..TRIES {
            cancel.check()?;
            let before = version()?;
            let (connection, reader) =
                (begin_with(path, keeps, cancel).map_err(failed)?, begin(path, cancel).map_err(failed)?);
            if version()? == before {
                return Ok((connection, Snapshot::new(reader, target)?));
            }
        }
        Err(Error::target(format!("{} is in use: others write to it all the time", target.display()))
            .hint("run again when less is written"))
    }

    fn new(reader: Connection, target: &Path) -> Result<Snapshot> {
        let failed = |error| unreadable(target, error);
        if !dbpage::is_available(&reader).map_err(failed)? {
            let message = format!("the newest pages of {} are in its write-ahead log", target.display());
            return Err(Error::target(message)
                .because(
                    "this build of SQLite has no sqlite_dbpage (SQLITE_ENABLE_DBPAGE_VTAB) to read them with",
                )
                .hint("have SQLite copy them into the file: PRAGMA wal_checkpoint(TRUNCATE)"));
        }
        let number = |pragma: &str| reader.query_row(pragma, [], |row| row.get::<_, u32>(0)).map_err(failed);
        let (page_bytes, page_count) = (number("PRAGMA page_size")? as usize, number("PRAGMA page_count")?);
        Ok(Snapshot { reader: Mutex::new(reader), page_bytes, page_count })
    }

    /// Returns the number of bytes of all pages.
    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.page_count) * self.page_bytes as u64
    }

    /// Reads bytes at the offset `at`, the start of a page. `into` must end at the end of a page, or within the first page.
    pub(super) fn read_at(&self, into: &mut [u8], at: u64) -> rusqlite::Result<()> {
        let first = at / self.page_bytes as u64 + 1;
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, part) in (first..).zip(into.chunks_mut(self.page_bytes)) {
            let page = dbpage::read(&reader, u32::try_from(number).unwrap_or(u32::MAX))?;
            let page = page.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
            part.copy_from_slice(&page[..part.len()]);
        }
        Ok(())
    }
}
