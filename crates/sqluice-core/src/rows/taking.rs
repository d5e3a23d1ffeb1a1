//! `"sqluice take"(...)`: a function of SQLite that hands the results of each row to a closure.
//!
//! ```text
//!  SELECT "sqluice take"(lower(name), id * 2) FROM batch(?1) WHERE name <> ''        one step for all rows
//!            └── xStep, for each row ──> Results ──> the closure of the call that runs the statement
//! ```
//!
//! The function is an aggregate, so its statement is stepped once. A statement that returns rows would leave and enter SQLite for each row,
//! and read each value through the connection: these calls take longer than a simple filter (`bench/load --only expressions`).
//!
//! * [`Taker::run`] puts the closure where the function finds it, and takes it away when the statement has ended. The function fails
//!   without a closure.
//! * An error or a panic of the closure ends the statement, and is then passed on by [`Taker::run`]: neither unwinds through SQLite.
//!
//! Invariant: the pointer of a [`Taker`] is null, or the [`Call`] that it points to is running. A connection, and so the taker beside it,
//! is used by one thread at a time.
#![allow(unsafe_code)]

use std::any::Any;
use std::ffi::{CStr, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use rusqlite::ffi::{self, sqlite3_context, sqlite3_value};
use rusqlite::types::{FromSql, ValueRef};
use rusqlite::{Connection, Row};

use crate::batch::Value;

/// The name of the function, in lower case.
pub(super) const NAME: &CStr = c"sqluice take";

/// The function on one connection, and the closure that it passes results to.
#[derive(Debug)]
pub(super) struct Taker {
    /// The pointer to the [`Call`] that is running, or null. The function in SQLite reads it.
    running: Arc<AtomicPtr<c_void>>,
}

/// A statement that runs, with its closure.
struct Call<'c> {
    take: &'c mut dyn FnMut(Results<'_>) -> rusqlite::Result<()>,
    ended_by: Option<Ending>,
}

/// The reason why a closure ended its statement.
enum Ending {
    Error(rusqlite::Error),
    Panic(Box<dyn Any + Send>),
}

impl Taker {
    /// Registers the function on a connection.
    ///
    /// # Errors
    /// The error of SQLite.
    pub(super) fn register(connection: &Connection) -> rusqlite::Result<Taker> {
        let running: Arc<AtomicPtr<c_void>> = Arc::default();
        let shared = Arc::into_raw(Arc::clone(&running)).cast_mut().cast::<c_void>();
        // SAFETY: the handle is open for as long as the connection is borrowed. SQLite owns a count of the pointer, and gives the count
        // back to `forget`, also if this call fails.
        let code = unsafe {
            ffi::sqlite3_create_function_v2(
                connection.handle(),
                NAME.as_ptr(),
                -1,
                ffi::SQLITE_UTF8 | ffi::SQLITE_DIRECTONLY,
                shared,
                None,
                Some(step),
                Some(last),
                Some(forget),
            )
        };
        match code {
            ffi::SQLITE_OK => Ok(Taker { running }),
            code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
        }
    }

    /// Calls `run`, which runs a statement. The function passes the results of each row to `take`.
    ///
    /// # Errors
    /// The error of `take`, or of `run`.
    pub(super) fn run(
        &self,
        take: &mut dyn FnMut(Results<'_>) -> rusqlite::Result<()>,
        run: impl FnOnce() -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        let mut call = Call { take, ended_by: None };
        let before = self.running.swap((&raw mut call).cast(), Ordering::Relaxed);
        let restore = Restore { running: &self.running, before };
        let done = run();
        drop(restore);
        match call.ended_by {
            None => done,
            Some(Ending::Error(error)) => Err(error),
            Some(Ending::Panic(panic)) => resume_unwind(panic),
        }
    }
}

/// Restores the pointer of the [`Taker`] when a call ends, also after a panic.
struct Restore<'t> {
    running: &'t AtomicPtr<c_void>,
    before: *mut c_void,
}

impl Drop for Restore<'_> {
    fn drop(&mut self) {
        self.running.store(self.before, Ordering::Relaxed);
    }
}

unsafe extern "C" fn step(context: *mut sqlite3_context, count: c_int, values: *mut *mut sqlite3_value) {
    // SAFETY: the function was registered with this pointer, of which SQLite owns a count.
    let running = unsafe { &*ffi::sqlite3_user_data(context).cast::<AtomicPtr<c_void>>() };
    let call = running.load(Ordering::Relaxed).cast::<Call<'_>>();
    // SAFETY: a pointer that is not null points to the call that is running in this thread, and only this function uses the call meanwhile.
    let Some(call) = (unsafe { call.as_mut() }) else {
        // SAFETY: the context is valid during this call.
        unsafe { ffi::sqlite3_result_error_code(context, ffi::SQLITE_MISUSE) };
        return;
    };
    let values: &[*mut sqlite3_value] = match usize::try_from(count) {
        Ok(count) if count > 0 => {
            // SAFETY: SQLite passes this number as the length.
            unsafe { std::slice::from_raw_parts(values, count) }
        }
        _ => &[],
    };
    let results = Results { of: Of::Arguments(values) };
    let ended_by = match catch_unwind(AssertUnwindSafe(|| (call.take)(results))) {
        Ok(Ok(())) => return,
        Ok(Err(error)) => Ending::Error(error),
        Err(panic) => Ending::Panic(panic),
    };
    call.ended_by = Some(ended_by);
    // SAFETY: the context is valid during this call. The error ends the statement.
    unsafe { ffi::sqlite3_result_error_code(context, ffi::SQLITE_ABORT) };
}

/// Ends the aggregate, whose result is NULL.
unsafe extern "C" fn last(_context: *mut sqlite3_context) {}

/// Drops a pointer that SQLite no longer needs.
unsafe extern "C" fn forget(running: *mut c_void) {
    // SAFETY: the pointer was made by `register`, and SQLite calls this function once for it.
    drop(unsafe { Arc::from_raw(running.cast_const().cast::<AtomicPtr<c_void>>()) });
}

/// The results of the expressions for one row.
#[derive(Clone, Copy, Debug)]
pub struct Results<'r> {
    of: Of<'r>,
}

/// The place of the results of a row.
#[derive(Clone, Copy, Debug)]
enum Of<'r> {
    /// The arguments of the function. They are valid while the closure runs.
    Arguments(&'r [*mut sqlite3_value]),
    /// The columns of a row that a statement returns.
    Row(&'r Row<'r>),
}

impl<'r> Results<'r> {
    /// Returns the results of a row that a statement returns.
    pub(super) fn of_row(row: &'r Row<'r>) -> Results<'r> {
        Results { of: Of::Row(row) }
    }

    /// Returns a result, counted from 0.
    ///
    /// # Errors
    /// If the result can't become a `T`.
    pub fn get<T: FromSql>(&self, result: usize) -> rusqlite::Result<T> {
        let value = match self.value(result)? {
            Value::Null => ValueRef::Null,
            Value::Int(int) => ValueRef::Integer(int),
            Value::Real(real) => ValueRef::Real(real),
            Value::Text(text) => ValueRef::Text(text),
            Value::Blob(blob) => ValueRef::Blob(blob),
        };
        T::column_result(value).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(result, value.data_type(), Box::new(error))
        })
    }

    /// Returns a result as a value, which is valid until the next row.
    ///
    /// # Errors
    /// If the result does not exist, or SQLite has no memory for it.
    #[inline]
    pub fn value(&self, result: usize) -> rusqlite::Result<Value<'_>> {
        match self.of {
            Of::Arguments(values) => {
                let value = *values.get(result).ok_or(rusqlite::Error::InvalidColumnIndex(result))?;
                // SAFETY: the call of `step` that has made these results is running, as the closure has them only for that time. The values
                // of its arguments stay where they are until it ends.
                unsafe { argument(value) }
            }
            Of::Row(row) => Ok(match row.get_ref(result)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(int) => Value::Int(int),
                ValueRef::Real(real) => Value::Real(real),
                ValueRef::Text(text) => Value::Text(text),
                ValueRef::Blob(blob) => Value::Blob(blob),
            }),
        }
    }
}

/// Returns the value of an argument.
///
/// # Safety
/// The argument must be valid for `'v`, and not change meanwhile.
#[inline]
unsafe fn argument<'v>(value: *mut sqlite3_value) -> rusqlite::Result<Value<'v>> {
    // SAFETY: the caller passes a valid value. `sqlite3_value_bytes` returns the size of the text or blob whose address SQLite has returned
    // before.
    unsafe {
        Ok(match ffi::sqlite3_value_type(value) {
            ffi::SQLITE_INTEGER => Value::Int(ffi::sqlite3_value_int64(value)),
            ffi::SQLITE_FLOAT => Value::Real(ffi::sqlite3_value_double(value)),
            ffi::SQLITE_TEXT => {
                // sqlite3_value_text copies a text that has no NUL behind it; sqlite3_value_blob does not.
                let start = match ffi::sqlite3_value_encoding(value) {
                    ffi::SQLITE_UTF8 => ffi::sqlite3_value_blob(value).cast(),
                    _ => ffi::sqlite3_value_text(value),
                };
                Value::Text(bytes(start, ffi::sqlite3_value_bytes(value))?)
            }
            ffi::SQLITE_BLOB => {
                let start = ffi::sqlite3_value_blob(value).cast();
                Value::Blob(bytes(start, ffi::sqlite3_value_bytes(value))?)
            }
            _ => Value::Null,
        })
    }
}

/// Returns the bytes at an address from SQLite. A null address means that SQLite had no memory, unless `count` is 0.
///
/// # Safety
/// The bytes must be valid for `'v`, unless the address is null.
#[inline]
unsafe fn bytes<'v>(start: *const u8, count: c_int) -> rusqlite::Result<&'v [u8]> {
    match usize::try_from(count) {
        Ok(count) if count > 0 => {
            if start.is_null() {
                return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_NOMEM), None));
            }
            // SAFETY: the address is not null, so the caller guarantees that the bytes are valid.
            Ok(unsafe { std::slice::from_raw_parts(start, count) })
        }
        _ => Ok(&[]),
    }
}
