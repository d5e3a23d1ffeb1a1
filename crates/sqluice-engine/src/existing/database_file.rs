//! The file of an existing database, for reads and writes past SQLite's page cache.
//!
//! A descriptor that this crate opens is read and written on all cores, and past the cache of the system. But while other connections of
//! this process have locks on the file, only the descriptor inside SQLite's file object may be used: closing any other descriptor of the
//! file would release these locks.

#![allow(unsafe_code, reason = "a file object of SQLite's is a struct of C functions")]

use std::fs::File;
use std::io;

use rusqlite::{Connection, ffi};
use sqluice_platform::durable;
use sqluice_platform::positioned::Positioned;

use crate::output::Direct;

/// The file of a database, through which pages are read and written beside SQLite.
#[derive(Debug)]
pub(super) enum DatabaseFile {
    /// A descriptor that this crate has opened.
    Own(File),
    /// The file object of a connection.
    OfConnection(FileOfConnection),
}

/// The file object that a connection has for its main database. It lives as long as the connection.
#[derive(Debug)]
pub(super) struct FileOfConnection(*mut ffi::sqlite3_file);

// SAFETY: the file object belongs to a connection with its own mutex, and its functions for reading and writing at a position have no
// state between two calls.
unsafe impl Send for FileOfConnection {}
// SAFETY: for the same reason as `Send`.
unsafe impl Sync for FileOfConnection {}

/// The largest number of bytes of one call: SQLite uses the lowest 17 bits of the number.
const CALL_BYTES: usize = 64 << 10;

impl DatabaseFile {
    /// Returns the file object of a connection, or `None` if its main database is no file. The connection must stay open as long as the
    /// file is used.
    pub(super) fn of_connection(connection: &Connection) -> Option<DatabaseFile> {
        let mut file: *mut ffi::sqlite3_file = std::ptr::null_mut();
        // SAFETY: the connection is open, and this operation sets a pointer to a file object, if there is one.
        let found = unsafe {
            ffi::sqlite3_file_control(
                connection.handle(),
                c"main".as_ptr(),
                ffi::SQLITE_FCNTL_FILE_POINTER,
                (&raw mut file).cast(),
            )
        };
        // SAFETY: SQLite has returned the file object; a file that is not open has no methods.
        let is_open = found == ffi::SQLITE_OK && !file.is_null() && unsafe { !(*file).pMethods.is_null() };
        is_open.then_some(DatabaseFile::OfConnection(FileOfConnection(file)))
    }

    /// Returns the descriptor, or `None` if only SQLite has one.
    pub(super) fn descriptor(&self) -> Option<&File> {
        match self {
            DatabaseFile::Own(file) => Some(file),
            DatabaseFile::OfConnection(_) => None,
        }
    }

    /// Returns the size of the file in bytes.
    pub(super) fn len(&self) -> io::Result<u64> {
        match self {
            DatabaseFile::Own(file) => file.metadata().map(|metadata| metadata.len()),
            DatabaseFile::OfConnection(file) => {
                let mut bytes = 0;
                // SAFETY: the file object is open, and SQLite sets the number.
                file.call(|methods, raw| unsafe { methods.xFileSize.map(|size| size(raw, &raw mut bytes)) })?;
                Ok(u64::try_from(bytes).unwrap_or(0))
            }
        }
    }

    /// Truncates or extends the file to `bytes` bytes.
    pub(super) fn set_len(&self, bytes: u64) -> io::Result<()> {
        match self {
            DatabaseFile::Own(file) => file.set_len(bytes),
            // SAFETY: the file object is open.
            DatabaseFile::OfConnection(file) => file.call(|methods, raw| unsafe {
                methods.xTruncate.map(|truncate| truncate(raw, position(bytes)))
            }),
        }
    }

    /// Reads bytes at an offset.
    pub(super) fn read_exact_at(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            DatabaseFile::Own(file) => file.read_exact_at(into, offset),
            // SAFETY: the file object is open, and the buffer has this number of bytes: a page has at most 64 KiB.
            DatabaseFile::OfConnection(file) => file.call(|methods, raw| unsafe {
                let bytes = i32::try_from(into.len()).unwrap_or(i32::MAX);
                methods.xRead.map(|read| read(raw, into.as_mut_ptr().cast(), bytes, position(offset)))
            }),
        }
    }

    /// Returns the mode for writing pages, direct or buffered.
    pub(super) fn direct(&self, page_bytes: usize) -> Direct {
        match self {
            DatabaseFile::Own(file) => Direct::new(file, page_bytes),
            DatabaseFile::OfConnection(_) => Direct::never(),
        }
    }

    /// Switches direct I/O off for the descriptor, if this crate has opened it.
    pub(super) fn end_direct(&self, direct: &mut Direct) {
        if let DatabaseFile::Own(file) = self {
            direct.off(file);
        }
    }

    /// Writes whole pages from an offset on, one slice after another.
    pub(super) fn write(&self, direct: &mut Direct, mut offset: u64, pages: &[&[u8]]) -> io::Result<()> {
        let file = match self {
            DatabaseFile::Own(file) => return direct.write(file, offset, pages),
            DatabaseFile::OfConnection(file) => file,
        };
        for bytes in pages.iter().flat_map(|pages| pages.chunks(CALL_BYTES)) {
            // SAFETY: the file object is open, and the slice has this number of bytes.
            file.call(|methods, raw| unsafe {
                let count = i32::try_from(bytes.len()).unwrap_or(i32::MAX);
                methods.xWrite.map(|write| write(raw, bytes.as_ptr().cast(), count, position(offset)))
            })?;
            offset += bytes.len() as u64;
        }
        Ok(())
    }

    /// Makes the written pages durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        match self {
            DatabaseFile::Own(file) => durable::sync_content(file),
            // SAFETY: the file object is open.
            DatabaseFile::OfConnection(file) => file
                .call(|methods, raw| unsafe { methods.xSync.map(|sync| sync(raw, ffi::SQLITE_SYNC_NORMAL)) }),
        }
    }
}

fn position(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

impl FileOfConnection {
    /// Calls a method of the file object.
    fn call(
        &self,
        method: impl FnOnce(&ffi::sqlite3_io_methods, *mut ffi::sqlite3_file) -> Option<i32>,
    ) -> io::Result<()> {
        // SAFETY: the file object is open, as its connection is.
        let methods = unsafe { &*(*self.0).pMethods };
        match method(methods, self.0) {
            Some(ffi::SQLITE_OK) => Ok(()),
            Some(ffi::SQLITE_IOERR_SHORT_READ) => Err(io::ErrorKind::UnexpectedEof.into()),
            Some(ffi::SQLITE_FULL) => Err(io::ErrorKind::StorageFull.into()),
            Some(code) => Err(self.last_error(methods, code)),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Returns the system error that made a call of the file object return this error code of SQLite.
    fn last_error(&self, methods: &ffi::sqlite3_io_methods, code: i32) -> io::Error {
        let mut number = 0_i32;
        // SAFETY: the file object is open, and this operation sets an integer.
        let found = methods.xFileControl.map(|control| unsafe {
            control(self.0, ffi::SQLITE_FCNTL_LAST_ERRNO, (&raw mut number).cast())
        });
        match found == Some(ffi::SQLITE_OK) && number != 0 {
            true => io::Error::from_raw_os_error(number),
            false => io::Error::other(format!("SQLite's error {code}")),
        }
    }
}
