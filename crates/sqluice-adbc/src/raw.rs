//! Prepared statements that keep their connection open: a result may be read long after the call that created it.
//!
//! Invariant: a statement is used only while the lock of its connection is held.

use std::ffi::{CStr, c_int};
use std::ptr::NonNull;
use std::sync::Arc;

use adbc_core::error::{Error, Result, Status};
use rusqlite::ffi;
use sqluice_core::batch::Value;

use crate::errors::{error, of_code};
use crate::shared::{Shared, State};

/// A prepared statement.
pub(crate) struct Statement {
    raw: NonNull<ffi::sqlite3_stmt>,
    shared: Arc<Shared>,
}

// SAFETY: SQLite's connection is opened in serialized mode, and SQLite binds a statement to no thread.
unsafe impl Send for Statement {}

impl Statement {
    /// Prepares SQL text, which must have exactly one statement.
    pub(crate) fn new(shared: &Arc<Shared>, sql: &str) -> Result<Statement> {
        let state = shared.lock();
        // SQLite executes some PRAGMAs when they are prepared.
        if is_pragma(sql) {
            refuse_while_pages_are_written(&state)?;
        }
        let (first, rest) = prepared(&state, sql)?;
        let Some(raw) = first else {
            return Err(error(Status::InvalidArguments, "the SQL text has no statement"));
        };
        let statement = Statement { raw, shared: Arc::clone(shared) };
        let more = prepared(&state, rest);
        drop(state);
        match more {
            Ok((None, _)) => Ok(statement),
            Ok((Some(raw), _)) => {
                drop(Statement { raw, shared: Arc::clone(shared) });
                Err(error(
                    Status::InvalidArguments,
                    "the SQL text has several statements: execute one at a time",
                ))
            }
            // The rest may fail to compile only because the first statement has not been executed.
            Err(_) => Err(error(
                Status::InvalidArguments,
                "the SQL text has several statements: execute one at a time",
            )),
        }
    }

    /// Binds a value to a parameter, counted from 1.
    pub(crate) fn bind(&mut self, state: &State, parameter: usize, value: Value<'_>) -> Result<()> {
        let (raw, index) = (self.raw.as_ptr(), c_int::try_from(parameter).unwrap_or(c_int::MAX));
        let transient = ffi::SQLITE_TRANSIENT();
        // SAFETY: only `drop` finalizes the statement; SQLITE_TRANSIENT makes SQLite copy text and blobs during the call.
        let code = unsafe {
            match value {
                Value::Null => ffi::sqlite3_bind_null(raw, index),
                Value::Int(int) => ffi::sqlite3_bind_int64(raw, index, int),
                Value::Real(real) => ffi::sqlite3_bind_double(raw, index, real),
                Value::Text(text) => ffi::sqlite3_bind_text64(
                    raw,
                    index,
                    text.as_ptr().cast(),
                    text.len() as u64,
                    transient,
                    ffi::SQLITE_UTF8 as u8,
                ),
                Value::Blob(blob) => {
                    ffi::sqlite3_bind_blob64(raw, index, blob.as_ptr().cast(), blob.len() as u64, transient)
                }
            }
        };
        match code {
            ffi::SQLITE_OK => Ok(()),
            code => Err(failure(state, code, "cannot bind a parameter")),
        }
    }

    /// Steps to the next row; returns `false` after the last.
    pub(crate) fn step(&mut self, state: &State) -> Result<bool> {
        let was_open = !state.connection.is_autocommit();
        // SAFETY: only `drop` finalizes the statement.
        match unsafe { ffi::sqlite3_step(self.raw.as_ptr()) } {
            ffi::SQLITE_ROW => Ok(true),
            ffi::SQLITE_DONE => {
                state.note_transaction(was_open, false);
                Ok(false)
            }
            code => {
                let error = failure(state, code, "cannot execute the statement");
                self.reset();
                state.note_transaction(was_open, true);
                Err(error)
            }
        }
    }

    /// Makes the statement ready to be executed again.
    pub(crate) fn reset(&mut self) {
        // SAFETY: only `drop` finalizes the statement. The result is ignored: it repeats the error of the last step.
        unsafe { ffi::sqlite3_reset(self.raw.as_ptr()) };
    }

    /// Returns the number of columns; 0 if the statement returns no rows.
    pub(crate) fn columns(&self) -> usize {
        // SAFETY: only `drop` finalizes the statement.
        usize::try_from(unsafe { ffi::sqlite3_column_count(self.raw.as_ptr()) }).unwrap_or(0)
    }

    /// Returns the name of a column, counted from 0.
    pub(crate) fn column_name(&self, column: usize) -> String {
        // SAFETY: only `drop` finalizes the statement. `text` copies the name, which is valid until the next call with this statement.
        unsafe { text(ffi::sqlite3_column_name(self.raw.as_ptr(), column as c_int)) }
    }

    /// Returns the value of a column, counted from 0, in the current row. It is valid until the next step.
    pub(crate) fn value(&self, column: usize) -> Value<'_> {
        let (raw, index) = (self.raw.as_ptr(), column as c_int);
        // SAFETY: only `drop` finalizes the statement, which is at a row. SQLite reports the length of texts and blobs. They are valid
        // until the next step, which borrows the statement mutably.
        unsafe {
            match ffi::sqlite3_column_type(raw, index) {
                ffi::SQLITE_INTEGER => Value::Int(ffi::sqlite3_column_int64(raw, index)),
                ffi::SQLITE_FLOAT => Value::Real(ffi::sqlite3_column_double(raw, index)),
                ffi::SQLITE_TEXT => {
                    let start = ffi::sqlite3_column_text(raw, index);
                    Value::Text(bytes(start, ffi::sqlite3_column_bytes(raw, index)))
                }
                ffi::SQLITE_BLOB => {
                    let start = ffi::sqlite3_column_blob(raw, index);
                    Value::Blob(bytes(start.cast(), ffi::sqlite3_column_bytes(raw, index)))
                }
                _ => Value::Null,
            }
        }
    }

    /// Returns a number in the current row as text, as SQLite prints it.
    pub(crate) fn as_text(&self, column: usize) -> &[u8] {
        let (raw, index) = (self.raw.as_ptr(), column as c_int);
        // SAFETY: as in `value`.
        unsafe {
            let start = ffi::sqlite3_column_text(raw, index);
            bytes(start, ffi::sqlite3_column_bytes(raw, index))
        }
    }

    /// Returns `true` if the statement does not change a database directly.
    pub(crate) fn only_reads(&self) -> bool {
        // SAFETY: only `drop` finalizes the statement.
        unsafe { ffi::sqlite3_stmt_readonly(self.raw.as_ptr()) != 0 }
    }

    /// Returns the number of parameters.
    pub(crate) fn parameters(&self) -> usize {
        // SAFETY: only `drop` finalizes the statement.
        usize::try_from(unsafe { ffi::sqlite3_bind_parameter_count(self.raw.as_ptr()) }).unwrap_or(0)
    }

    /// Returns the name of a parameter, counted from 1, with its prefix (`:`, `@` or `$`); empty if it has no name.
    pub(crate) fn parameter_name(&self, parameter: usize) -> String {
        // SAFETY: only `drop` finalizes the statement. `text` copies the name, which is valid as long as the statement.
        unsafe { text(ffi::sqlite3_bind_parameter_name(self.raw.as_ptr(), parameter as c_int)) }
    }

    /// Returns the connection.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: the statement is finalized only here, and not used after this. SQLite's own mutex guards the connection.
        unsafe { ffi::sqlite3_finalize(self.raw.as_ptr()) };
    }
}

fn is_pragma(sql: &str) -> bool {
    sql.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("PRAGMA"))
}

/// Returns an error if this connection is writing rows as pages: until it has finished, it can execute only queries.
pub(crate) fn refuse_while_pages_are_written(state: &State) -> Result<()> {
    match state.writes_pages() {
        true => {
            let message = "rows are being written by this connection: until it has finished, it can execute only queries";
            Err(error(Status::InvalidState, message))
        }
        false => Ok(()),
    }
}

/// Prepares the first statement of SQL text, if there is one. Returns it with the rest of the text.
fn prepared<'t>(state: &State, sql: &'t str) -> Result<(Option<NonNull<ffi::sqlite3_stmt>>, &'t str)> {
    let mut raw = std::ptr::null_mut();
    let mut tail = std::ptr::null();
    let length = c_int::try_from(sql.len())
        .map_err(|_| error(Status::InvalidArguments, "the statement is longer than SQLite allows"))?;
    // SAFETY: the connection is open, and the text has this length. The tail points into the text, or is not set.
    let (code, used) = unsafe {
        let handle = state.connection.handle();
        let code = ffi::sqlite3_prepare_v2(handle, sql.as_ptr().cast(), length, &raw mut raw, &raw mut tail);
        let used = if tail.is_null() { sql.len() } else { tail.offset_from(sql.as_ptr().cast()) as usize };
        (code, used)
    };
    if code != ffi::SQLITE_OK {
        let error = failure(state, code, "cannot prepare the statement");
        return Err(match error.status {
            Status::Internal => Error { status: Status::InvalidArguments, ..error },
            _ => error,
        });
    }
    Ok((NonNull::new(raw), sql.get(used..).unwrap_or_default()))
}

/// Returns the error of the connection's last call.
fn failure(state: &State, code: c_int, doing: &str) -> Error {
    // SAFETY: the connection is open, and its lock is held, so that the message is that of the last call.
    let (code, message) = unsafe {
        let handle = state.connection.handle();
        (ffi::sqlite3_extended_errcode(handle).max(code), text(ffi::sqlite3_errmsg(handle)))
    };
    of_code(code, &message, doing)
}

/// Copies a C string of SQLite; empty for NULL.
///
/// # Safety
/// The pointer must be NULL or point to a NUL-terminated string that stays valid during the call.
unsafe fn text(start: *const std::ffi::c_char) -> String {
    if start.is_null() {
        return String::new();
    }
    // SAFETY: the caller guarantees that `start` points to a NUL-terminated string.
    unsafe { CStr::from_ptr(start) }.to_string_lossy().into_owned()
}

/// Borrows bytes that SQLite returned; empty for NULL.
///
/// # Safety
/// The pointer must be NULL, or point to `length` bytes that live as long as the result.
unsafe fn bytes<'a>(start: *const u8, length: c_int) -> &'a [u8] {
    if start.is_null() {
        return &[];
    }
    // SAFETY: the caller guarantees that `start` points to `length` bytes that live as long as the result.
    unsafe { std::slice::from_raw_parts(start, usize::try_from(length).unwrap_or(0)) }
}
