//! Reads of a database file through SQLite's own file handle.
//!
//! ```text
//!  Connection ── FILE_POINTER ──> sqlite3_file ── xRead ──> our buffer     one call for all pages
//!                                             └── xFetch ─> its memory map       no copy
//! ```
//!
//! A descriptor of our own would be simpler, but wrong: when a process closes any descriptor of a file, it loses all its locks on the file,
//! including those of unknown connections. SQLite closes its own descriptor only when no connection holds a lock.
//!
//! All `unsafe` code of a store is in this file. Reading through the file handle needs no SQL statement, and reads all overflow pages of a
//! blob at once. `bench/stores --only read` measures the gain over a SELECT and over files. If the handle gives no bytes, the store runs an
//! SQL statement. The tests run with and without the file handle.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr;

use rusqlite::Connection;
use rusqlite::ffi::{self, sqlite3_file, sqlite3_io_methods};

/// The file of a connection's main database.
#[derive(Clone, Copy)]
pub(super) struct RawFile<'c> {
    file: *mut sqlite3_file,
    methods: *const sqlite3_io_methods,
    connection: PhantomData<&'c Connection>,
}

impl<'c> RawFile<'c> {
    /// Returns the file, or `None` if SQLite has not opened it.
    pub(super) fn of(connection: &'c Connection) -> Option<RawFile<'c>> {
        let mut file: *mut sqlite3_file = ptr::null_mut();
        // SAFETY: the handle belongs to an open connection. `Connection` is not `Sync`, so no other thread uses the handle meanwhile. The
        // operation writes only the pointer `file`, which is read only if it is not null.
        let methods = unsafe {
            let code = ffi::sqlite3_file_control(
                connection.handle(),
                c"main".as_ptr(),
                ffi::SQLITE_FCNTL_FILE_POINTER,
                (&raw mut file).cast::<c_void>(),
            );
            if code != ffi::SQLITE_OK || file.is_null() {
                return None;
            }
            (*file).pMethods
        };
        (!methods.is_null()).then_some(RawFile { file, methods, connection: PhantomData })
    }

    /// Fills a buffer with the bytes from offset `at`. Returns `None` if they do not exist or can't be read.
    pub(super) fn read(self, at: u64, buffer: &mut [u8]) -> Option<()> {
        let (bytes, at) = (c_int::try_from(buffer.len()).ok()?, i64::try_from(at).ok()?);
        // SAFETY: the connection is borrowed, so it and its file stay open. xRead writes at most the given number of bytes, the length of
        // the buffer.
        let code = unsafe {
            let read = (*self.methods).xRead?;
            read(self.file, buffer.as_mut_ptr().cast(), bytes, at)
        };
        (code == ffi::SQLITE_OK).then_some(())
    }

    /// Returns `bytes` bytes of the memory map from offset `at`, or `None` if SQLite has not mapped all of them.
    pub(super) fn fetch(self, at: u64, bytes: usize) -> Option<Fetched<'c>> {
        let (length, at) = (c_int::try_from(bytes).ok()?, i64::try_from(at).ok()?);
        let mut start = ptr::null_mut();
        // SAFETY: the connection is borrowed, so its file stays open. The version is checked first, as methods before version 3 have no
        // xFetch. xFetch writes one pointer.
        let code = unsafe {
            if (*self.methods).iVersion < 3 {
                return None;
            }
            let fetch = (*self.methods).xFetch?;
            fetch(self.file, at, length, &raw mut start)
        };
        // A null pointer must not become a `Fetched` value: dropping it would pass the null pointer to xUnfetch, which then removes the
        // whole map.
        (code == ffi::SQLITE_OK && !start.is_null()).then(|| Fetched { file: self, at, start, bytes })
    }
}

/// Bytes of a memory map, which stays in place as long as this value lives.
pub(super) struct Fetched<'c> {
    file: RawFile<'c>,
    at: i64,
    start: *mut c_void,
    bytes: usize,
}

impl Deref for Fetched<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: xFetch gave that number of bytes and keeps the map until xUnfetch. Nothing writes to them: the connection holds a
        // SHARED lock, under which no process changes the file, and this process commits with no reader at work.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.bytes) }
    }
}

impl Drop for Fetched<'_> {
    fn drop(&mut self) {
        // SAFETY: `start` is the pointer that xFetch returned for the offset `at`. It is given back only here, once.
        unsafe {
            if let Some(unfetch) = (*self.file.methods).xUnfetch {
                unfetch(self.file.file, self.at, self.start);
            }
        }
    }
}
