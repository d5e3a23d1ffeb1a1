//! Lets SQLite write the pages of a new database into an existing database in one transaction, as VACUUM does.
//!
//! The connection has the exclusive lock on the old database before and after the transfer, so that no other process changes the database
//! meanwhile. After a kill or a power failure, SQLite recovers the old or the new content from its own journal or WAL.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::sqlite_error::{failed, said};
use sqluice_format::database::VERSIONS_AT;
use sqluice_platform::positioned::Positioned;

use crate::output::explained;

/// The number of pages between two checks for cancellation.
const STEP_PAGES: i32 = 1000;

/// The time between two attempts of a step.
const AGAIN: Duration = Duration::from_millis(1);

/// The two bytes of the header that state the journal mode: `ROLLBACK` for all modes with a rollback journal, `WAL` for WAL mode.
pub(crate) const ROLLBACK: [u8; 2] = [1, 1];
pub(crate) const WAL: [u8; 2] = [2, 2];

/// Sets the journal mode of a database that no process has open. The PRAGMA would leave a WAL beside the database.
pub(crate) fn set_versions(path: &Path, versions: [u8; 2]) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all_at(&versions, VERSIONS_AT as u64)
}

/// Returns the two bytes of the header that hold the journal mode.
fn versions(path: &Path) -> io::Result<[u8; 2]> {
    let mut versions = [0; 2];
    OpenOptions::new().read(true).open(path)?.read_exact_at(&mut versions, VERSIONS_AT as u64)?;
    Ok(versions)
}

/// The existing database that gets the pages.
pub(super) struct Into<'a> {
    /// The connection to the database, which holds the exclusive lock throughout.
    pub(super) connection: &'a mut Connection,
    /// The path that the user gave, for messages.
    pub(super) name: &'a Path,
    /// `true` if the database is in WAL mode.
    pub(super) is_wal: bool,
}

/// Writes the pages of the database at `from` into another database, commits, and gives the other database the journal mode of `from`.
/// Afterwards, `from` is in a rollback mode.
///
/// # Errors
/// If SQLite can't write, or `cancel` is set: the old content stays then. Also if the journal mode can't be set after the commit: the
/// database then has its new content.
pub(super) fn transfer(from: &Path, into: Into<'_>, cancel: &Cancel) -> Result<()> {
    let Into { connection, name, is_wal } = into;
    let cannot =
        |error| explained(Error::target(format!("cannot replace {}", name.display())).about(name), error);
    let becomes_wal = versions(from).map_err(cannot)? == WAL;
    // In a rollback mode, SQLite reads the new file without a WAL beside it.
    set_versions(from, ROLLBACK).map_err(cannot)?;
    let failed = |error| failed(error, &format!("replace {}", name.display()));
    if !write_pages(from, connection, is_wal, cancel).map_err(failed)? {
        return Err(Error::interrupted());
    }
    if becomes_wal != is_wal {
        set_mode(connection, if becomes_wal { "WAL" } else { "DELETE" }).map_err(|error| {
            let what = format!("{} has its new content, but still its old journal mode", name.display());
            Error::target(what).about(name).because(said(error))
        })?;
    }
    // The end of the exclusive locking mode removes the journal. Otherwise the next program that opens the database would find an empty
    // journal.
    let _ = connection.execute_batch("PRAGMA locking_mode = NORMAL; SELECT count(*) FROM sqlite_schema");
    Ok(())
}

/// Writes the pages of the database at `from`, and commits. Returns `false` if `cancel` was set before the commit.
fn write_pages(from: &Path, into: &mut Connection, is_wal: bool, cancel: &Cancel) -> rusqlite::Result<bool> {
    if !into.is_autocommit() {
        into.execute_batch("ROLLBACK")?;
    }
    if !is_wal {
        set_mode(into, "DELETE")?;
    }
    let from = std::path::absolute(from).unwrap_or_else(|_| from.to_owned());
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let source = Connection::open_with_flags(from, flags)?;
    let backup = Backup::new(&source, into)?;
    while cancel.check().is_ok() {
        match backup.step(STEP_PAGES)? {
            StepResult::Done => return Ok(true),
            StepResult::More => {}
            // This connection holds SQLite's exclusive lock. So only a program that scans all files, such as a virus scanner, can have
            // locked the file, and only briefly.
            _ => std::thread::sleep(AGAIN),
        }
    }
    Ok(false)
}

fn set_mode(connection: &Connection, mode: &str) -> rusqlite::Result<()> {
    connection.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |_| Ok(()))
}
