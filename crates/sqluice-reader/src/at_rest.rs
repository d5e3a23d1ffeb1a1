//! WAL-mode databases that SQLite can't open because their folder is read-only for this user: SQLite can't create the files beside the
//! database that hold its locks.
//!
//! Without a write-ahead log and a journal, such a database is complete in its file. The file is read without locks, as `immutable`. The
//! content read is valid only if size, time and header of the file are unchanged afterwards.

use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use sqluice_core::error::{Error, Result};
use sqluice_format::database::Header;
use sqluice_format::page::DATABASE_HEADER_BYTES;
use sqluice_platform::positioned::Positioned;

use crate::descriptor::Descriptor;

/// The read version in the header of a database in WAL mode.
const WAL_VERSION: u8 = 2;

/// A WAL-mode database file without a log and a journal, which is read without locks.
#[derive(Debug)]
pub struct AtRest {
    descriptor: Descriptor,
    before: Seen,
}

/// The properties of a database file by which a later write to the file is noticed: they change when the database is written.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    bytes: u64,
    modified: SystemTime,
    header: [u8; DATABASE_HEADER_BYTES],
}

impl AtRest {
    /// Returns the database at `path` if it is in WAL mode, and both its log and its journal are missing or empty.
    ///
    /// # Errors
    /// When a file can't be read.
    pub(crate) fn find(path: &Path) -> io::Result<Option<AtRest>> {
        for suffix in ["-wal", "-journal"] {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            match fs::metadata(&name) {
                Ok(about) if about.len() > 0 => return Ok(None),
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        let descriptor = Descriptor::open(path)?;
        let before = match seen(&descriptor) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        };
        let is_wal =
            Header::from_bytes(&before.header).is_ok_and(|header| header.read_version == WAL_VERSION);
        Ok(is_wal.then_some(AtRest { descriptor, before }))
    }

    /// Checks that the file has not changed since it was opened.
    ///
    /// # Errors
    /// When the file has changed or can't be read.
    pub(crate) fn check(&self, name: &Path) -> Result<()> {
        let after = seen(&self.descriptor).map_err(|error| Error::read(name, error))?;
        if after == self.before {
            return Ok(());
        }
        Err(Error::target(format!("{} was written while it was read", name.display()))
            .because("its folder is read-only for this user, so it was read without locks")
            .hint("run again, or copy the file and what lies beside it to a folder that you may write to"))
    }
}

fn seen(descriptor: &Descriptor) -> io::Result<Seen> {
    let mut header = [0; DATABASE_HEADER_BYTES];
    descriptor.file().read_exact_at(&mut header, 0)?;
    let about = descriptor.file().metadata()?;
    Ok(Seen { bytes: about.len(), modified: about.modified()?, header })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    #[test]
    fn only_a_wal_database_without_log_and_journal_is_at_rest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let set = |mode: &str| {
            let connection = Connection::open(&path).unwrap();
            connection
                .execute_batch(&format!("PRAGMA journal_mode = {mode}; CREATE TABLE IF NOT EXISTS t (a)"))
                .unwrap();
        };
        set("delete");
        assert!(AtRest::find(&path).unwrap().is_none());
        set("wal");
        let rest = AtRest::find(&path).unwrap().unwrap();
        rest.check(&path).unwrap();
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("INSERT INTO t VALUES (1)").unwrap();
        assert!(AtRest::find(&path).unwrap().is_none(), "the log has a row");
        rest.check(&path).unwrap();
        drop(writer);
        let error = rest.check(&path).unwrap_err();
        assert!(error.message().contains("was written while it was read"), "{error}");
        let again = AtRest::find(&path).unwrap().unwrap();
        fs::write(folder.path().join("x.db-journal"), "x").unwrap();
        assert!(AtRest::find(&path).unwrap().is_none());
        again.check(&path).unwrap();
    }
}
