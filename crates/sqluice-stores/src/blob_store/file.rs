//! The bytes of a database as SQLite's own connection reads them.
//!
//! ```text
//!  Connection ── FILE_POINTER ──> sqlite3_file ── xRead ──> a buffer of ours     one call for all pages
//!                                             └── xFetch ─> its memory map       no copy
//! ```
//!
//! A descriptor of our own would be simpler, and wrong: when any descriptor of a file is closed, the process loses all the locks
//! that it has on that file, those of connections of which nothing is known here included. SQLite closes its own only when no connection
//! holds a lock.
//!
//! All that is `unsafe` about a store is in this file. It saves the statement, and all of a blob's overflow pages are read at once; what
//! that buys beside a SELECT and beside files, `bench/stores --only read` measures. The store asks SQLite the plain way wherever
//! this way does not know, and both ways run the same tests.
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
    /// `None` when SQLite has not opened it.
    pub(super) fn of(connection: &'c Connection) -> Option<RawFile<'c>> {
        let mut file: *mut sqlite3_file = ptr::null_mut();
        // SAFETY: the handle is that of an open connection, which no other thread uses meanwhile, since it can't be shared; the
        // operation writes one pointer.
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

    /// Fills a buffer with the bytes that begin at `at`; `None` if they do not exist, or can't be read.
    pub(super) fn read(self, at: u64, buffer: &mut [u8]) -> Option<()> {
        let (bytes, at) = (c_int::try_from(buffer.len()).ok()?, i64::try_from(at).ok()?);
        // SAFETY: the file is open as long as the connection, which is borrowed; xRead writes at most that number of bytes.
        let code = unsafe {
            let read = (*self.methods).xRead?;
            read(self.file, buffer.as_mut_ptr().cast(), bytes, at)
        };
        (code == ffi::SQLITE_OK).then_some(())
    }

    /// Bytes of the memory map; `None` without a map.
    pub(super) fn fetch(self, at: u64, bytes: usize) -> Option<Fetched<'c>> {
        let (length, at) = (c_int::try_from(bytes).ok()?, i64::try_from(at).ok()?);
        let mut start = ptr::null_mut();
        // SAFETY: as for `read`; methods before version 3 have no xFetch. It writes one pointer.
        let code = unsafe {
            if (*self.methods).iVersion < 3 {
                return None;
            }
            let fetch = (*self.methods).xFetch?;
            fetch(self.file, at, length, &raw mut start)
        };
        // Nothing that was not fetched is made, for it would be given back: SQLite takes a null pointer for the end of the whole map.
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
        // SAFETY: gives back what xFetch gave, once.
        unsafe {
            if let Some(unfetch) = (*self.file.methods).xUnfetch {
                unfetch(self.file.file, self.at, self.start);
            }
        }
    }
}
