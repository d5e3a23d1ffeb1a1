//! Runs SQLite transactions in files that nobody else uses: a new file whose pages have been written, or a temporary database.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Cancel, Context};
use sqluice_core::sqlite_error::failed;
use sqluice_engine::full_text::table::Means;
use sqluice_engine::options::WriteOptions;
use sqluice_engine::plan::Memory;
use sqluice_format::database::{Header, encoding_name};

/// Opens the new file at `path`, and calls `make` in one transaction. The file must still have its temporary name, so that nobody else
/// uses it.
///
/// # Errors
/// The errors of `make`, or if SQLite can't open or write the file.
pub(crate) fn in_new_file(
    path: &Path,
    cancel: &Cancel,
    make: impl FnOnce(&Connection) -> Result<()>,
) -> Result<()> {
    let set = "PRAGMA secure_delete = ON; PRAGMA trusted_schema = ON";
    let connection = begin(path, set, cancel, "open the new file")?;
    make(&connection)?;
    connection.execute_batch("COMMIT").map_err(|error| failed(error, "write the new file"))?;
    connection.close().map_err(|(_, error)| failed(error, "close the new file"))?;
    cancel.check()
}

/// Returns the threads, memory and temporary folder for building full-text indexes in the new file at `path`, once all pages are written.
///
/// # Errors
/// If the memory is too small.
pub(crate) fn means_of_text<'m>(
    options: &WriteOptions,
    path: &Path,
    context: &'m Context<'_>,
) -> Result<Means<'m>> {
    let folder = options.temp_dir.as_deref().or(path.parent());
    Ok(Means {
        workers: Memory::divide(options, false)?.threads,
        // The other half of the memory is for SQLite's cache.
        memory_bytes: (options.memory_bytes / 2) as usize,
        temp_dir: folder.map_or_else(std::env::temp_dir, Path::to_owned),
        cancel: &context.cancel,
        progress: context.progress,
    })
}

/// Makes the empty file at `path` a temporary database with the page size and text encoding of `header`, and begins a transaction.
///
/// # Errors
/// If SQLite can't create the database.
pub(crate) fn begin_temporary(path: &Path, header: &Header, cancel: &Cancel) -> Result<Connection> {
    let set = format!(
        "PRAGMA page_size = {}; PRAGMA encoding = '{}'; PRAGMA secure_delete = ON; PRAGMA temp_store = FILE",
        header.geometry.page_bytes(),
        encoding_name(header.used_text_encoding())
    );
    begin(path, &set, cancel, "make a temporary database")
}

/// Runs the statements `set`, such as PRAGMAs, and begins a transaction, in a file without other users. `what` names the operation in error
/// messages.
fn begin(path: &Path, set: &str, cancel: &Cancel, what: &str) -> Result<Connection> {
    let path = std::path::absolute(path).map_err(|error| Error::read(path, error))?;
    let cannot = |error| failed(error, what);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(&path, flags).map_err(cannot)?;
    let stop = cancel.clone();
    connection.progress_handler(1000, Some(move || stop.check().is_err())).map_err(cannot)?;
    connection
        .execute_batch(&format!(
            "{set}; PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;
             PRAGMA foreign_keys = OFF; BEGIN"
        ))
        .map_err(cannot)?;
    Ok(connection)
}
