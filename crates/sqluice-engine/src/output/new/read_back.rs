//! Reads a finished file back after SQLite has changed its pages, and returns the number of pages and their checksum.
//!
//! The file is opened again. SQLite must have closed it before, because closing this descriptor drops all locks that the process has on the
//! file.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use sqluice_format::database::Header;
use sqluice_format::page::{DATABASE_HEADER_BYTES, Geometry};

use sqluice_core::checksum::{self, Checksum};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Amount, Context};

/// The number of bytes that are read at once.
const READ_BYTES: usize = 1 << 20;

/// The page count and the checksum of a file that was read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadBack {
    /// The number of pages of the file.
    pub(crate) page_count: u32,
    /// The checksum of all pages.
    pub(crate) checksum: Checksum,
}

/// Reads the database at `path`. Its pages have `geometry`.
///
/// # Errors
/// If the file can't be read, is no valid database, or has another size than its header states.
pub(crate) fn read_back(path: &Path, geometry: Geometry, context: &Context<'_>) -> Result<ReadBack> {
    let cannot_read = |error| Error::target("cannot read the new file back").because(error);
    let file = File::open(path).map_err(cannot_read)?;
    let bytes = file.metadata().map_err(cannot_read)?.len();
    context.progress.phase("read", Some(Amount { rows: 0, bytes }));
    let mut reader = BufReader::with_capacity(READ_BYTES, file);
    let mut first = [0; DATABASE_HEADER_BYTES];
    reader.read_exact(&mut first).map_err(cannot_read)?;
    let header = Header::from_bytes(&first).map_err(|error| {
        Error::target("the new file is not a valid database").because(format!("{error:?}"))
    })?;
    let page_count = header.page_count;
    if u64::from(page_count) * geometry.page_bytes() as u64 != bytes {
        let message = format!("the new file has {bytes} bytes, but says that it has {page_count} pages");
        return Err(Error::target(message).hint("check the disk, and run again"));
    }
    // The header was already read from the first page. Its bytes are put before the rest again.
    let mut reader = first.chain(reader);
    let checksum = checksum::of_pages(geometry, page_count, |number, page| {
        if number % 256 == 1 {
            context.cancel.check()?;
        }
        context.progress.advance(Amount { rows: 0, bytes: page.len() as u64 });
        // The page before this one is the lock-byte page. The checksum skips it, so the reader must skip its bytes.
        if number.checked_sub(1) == Some(geometry.lock_page()) {
            reader.read_exact(page).map_err(cannot_read)?;
        }
        reader.read_exact(page).map_err(cannot_read)
    })?;
    Ok(ReadBack { page_count, checksum })
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;
    use sqluice_format::page::PageSize;

    use super::*;
    use sqluice_core::checksum::PageHash;
    use sqluice_core::progress::Cancel;

    #[test]
    fn a_file_is_read_back_page_by_page_without_the_lock_byte_page() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.db");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch("PRAGMA page_size = 512; CREATE TABLE t AS SELECT randomblob(9000) AS a")
            .unwrap();
        connection.close().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let geometry = Geometry::new(PageSize::new(512).unwrap(), 0).unwrap();
        for lock_byte in [1 << 30, 512 * 3, 512 * 4 + 7] {
            let geometry = geometry.with_pending_byte(lock_byte);
            let mut expected = Checksum::default();
            for (number, page) in (1..).zip(bytes.chunks(512)) {
                if number != geometry.lock_page() {
                    expected.add(number, PageHash::of(page));
                }
            }
            let read = read_back(&path, geometry, &Context::default()).unwrap();
            assert_eq!((read.checksum, read.page_count as usize), (expected, bytes.len() / 512));
        }
        let cancel = Cancel::new();
        cancel.cancel();
        assert!(read_back(&path, geometry, &Context::default().cancel(&cancel)).is_err());
        std::fs::write(&path, &bytes[..bytes.len() - 512]).unwrap();
        assert!(read_back(&path, geometry, &Context::default()).is_err());
    }
}
